//! Work kept aside, and what a team leaves behind.

use shipmate_workspace::{Aside, Keep, LeftoverKind, LetGoFailure, RemoveFailure, WorkKey};

use crate::scene::{Scene, alone, bytes_of, commit_all, files, git, key, land, read, save, write};

#[test]
fn work_is_kept_aside_and_the_tree_stays_byte_for_byte() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        assert_eq!(repository.keep_aside(&tree, "crew", "ana-1").unwrap().kept, None);
        write(tree.path(), "committed.txt", "x\n");
        let own = commit_all(tree.path(), "own");
        write(tree.path(), "a.txt", "changed\n");
        write(tree.path(), "staged.txt", "x\n");
        git(tree.path(), &["add", "staged.txt"]);
        write(tree.path(), "untracked.txt", "x\n");
        write(tree.path(), "some.log", "ignored\n");
        git(tree.path(), &["init", "-q", "nested"]);
        let before = bytes_of(tree.path());

        let rescued = repository.keep_aside(&tree, "crew", "ana-1").unwrap();
        assert_eq!(rescued.left_out, ["nested"]);
        let kept = rescued.kept.unwrap();
        assert_eq!(bytes_of(tree.path()), before);
        assert_eq!(kept.refname, "refs/shipmate/crew/aside/ana-1");
        assert_eq!(kept.files, ["a.txt", "committed.txt", "staged.txt", "untracked.txt"]);
        let parent = git(&scene.user(), &["rev-parse", &format!("{}~", kept.commit)]);
        assert_eq!(parent, own.as_str());
        assert!(!files(&scene.user(), &kept.commit).contains(&"some.log".to_owned()));

        // Again, as after a crash: the same. With other content: another name.
        let again = repository.keep_aside(&tree, "crew", "ana-1").unwrap().kept.unwrap();
        assert_eq!(again, kept);
        write(tree.path(), "a.txt", "changed again\n");
        let other = repository.keep_aside(&tree, "crew", "ana-1").unwrap().kept.unwrap();
        assert_eq!(other.refname, "refs/shipmate/crew/aside/ana-1-2");
    });
}

#[test]
fn commits_alone_are_kept_aside_and_landed_ones_are_not() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        let work = save(&tree);
        let kept = repository.keep_aside(&tree, "crew", "x").unwrap().kept.unwrap();
        assert_eq!(kept.commit, work);
        land(&repository, &tree, &work, &key(1, 1));
        assert_eq!(repository.keep_aside(&tree, "crew", "y").unwrap().kept, None);
    });
}

#[test]
fn a_clone_without_a_readable_head_still_gives_up_its_files() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        write(tree.path(), ".git/HEAD", "nonsense");
        let kept = repository.keep_aside(&tree, "crew", "x").unwrap().kept.unwrap();
        assert_eq!(kept.files, ["a.txt"]);
        tree.bring_up(&base, Keep::Nothing).unwrap();
        assert!(tree.is_clean().unwrap());
    });
}

#[test]
fn leftovers_are_listed_and_removed_one_by_one() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        assert!(repository.keep_aside(&tree, "crew", "ana").unwrap().kept.is_some());
        land(&repository, &tree, &save(&tree), &key(3, 4));
        let left = repository.leftovers().unwrap();
        let shown: Vec<_> = left.iter().map(|one| (&*one.refname, &*one.team, one.kind)).collect();
        let expected = [
            ("refs/heads/shipmate/crew", "crew", LeftoverKind::Branch),
            ("refs/shipmate/crew/aside/ana", "crew", LeftoverKind::Aside),
            ("refs/shipmate/crew/work/3-4", "crew", LeftoverKind::Work),
        ];
        assert_eq!(shown, expected);

        git(&scene.user(), &["checkout", "-q", "shipmate/crew"]);
        let refused = repository.remove(&left[0]).unwrap_err();
        assert!(matches!(refused, RemoveFailure::CheckedOut { .. }), "{refused}");
        git(&scene.user(), &["checkout", "-q", "main"]);
        git(&scene.user(), &["update-ref", "refs/shipmate/crew/aside/ana", "main"]);
        let refused = repository.remove(&left[1]).unwrap_err();
        assert!(matches!(refused, RemoveFailure::Moved { .. }), "{refused}");
        for one in repository.leftovers().unwrap() {
            repository.remove(&one).unwrap();
        }
        assert_eq!(repository.leftovers().unwrap(), []);
        repository.remove(&left[0]).unwrap();
    });
}

#[test]
fn a_tree_goes_when_all_that_is_in_it_is_kept_and_stays_when_it_cannot_be() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let held = |file: &str| {
            let refs =
                git(&scene.user(), &["for-each-ref", "--format=%(refname)", "refs/shipmate"]);
            let has = |name: &str| git(&scene.user(), &["ls-tree", "-r", "--name-only", name]);
            refs.lines().any(|name| has(name).lines().any(|line| line == file))
        };

        let tree = scene.tree(&repository, "ana");
        git(tree.path(), &["checkout", "-q", "-b", "deep/side"]);
        write(tree.path(), "side.txt", "x\n");
        commit_all(tree.path(), "side");
        git(tree.path(), &["pack-refs", "--all"]);
        git(tree.path(), &["checkout", "-q", "ana"]);
        for name in ["one.txt", "two.txt"] {
            write(tree.path(), name, "x\n");
            git(tree.path(), &["add", name]);
            git(tree.path(), &["stash", "-q"]);
        }
        write(tree.path(), "files.txt", "x\n");
        let path = tree.path().to_owned();
        repository.let_go(tree, "crew", "1-2").unwrap();
        assert!(!path.exists() && !path.with_added_extension("shadow").exists());
        for file in ["side.txt", "one.txt", "two.txt", "files.txt"] {
            assert!(held(file), "{file}");
        }

        // Without its `.git` a folder still has its files.
        let tree = scene.tree(&repository, "bo");
        write(tree.path(), "bo.txt", "x\n");
        std::fs::remove_dir_all(tree.path().join(".git")).unwrap();
        repository.let_go(tree, "crew", "3-4").unwrap();
        assert!(held("bo.txt"));

        // A repository inside, whether there is anything beside it or not.
        let tree = scene.tree(&repository, "cy");
        git(tree.path(), &["init", "-q", "nested"]);
        let rescued = repository.keep_aside(&tree, "crew", "5-6").unwrap();
        assert_eq!((rescued.kept, rescued.left_out), (None, vec!["nested".to_owned()]));
        let path = tree.path().to_owned();
        let failure = repository.let_go(tree.clone(), "crew", "5-6").unwrap_err();
        assert!(matches!(failure, LetGoFailure::Nested { .. }), "{failure}");
        write(&path, "beside.txt", "x\n");
        repository.let_go(tree, "crew", "5-6").unwrap_err();
        assert!(path.join("nested").exists() && held("beside.txt"));
    });
}

#[test]
fn a_commit_that_only_a_tag_leads_to_is_kept_and_the_users_own_tags_are_not() {
    alone(|scene| {
        let user = scene.user();
        write(&user, "users.txt", "x\n");
        commit_all(&user, "on no branch any more");
        git(&user, &["tag", "v1"]);
        git(&user, &["reset", "-q", "--hard", "HEAD~1"]);
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "plain.txt", "x\n");
        commit_all(tree.path(), "plain");
        git(tree.path(), &["tag", "keep"]);
        write(tree.path(), "noted.txt", "x\n");
        let noted = commit_all(tree.path(), "noted");
        git(tree.path(), &["tag", "-a", "-m", "x", "noted"]);
        git(tree.path(), &["reset", "-q", "--hard", "HEAD~2"]);
        repository.let_go(tree, "crew", "1-2").unwrap();
        let refs = git(&user, &["for-each-ref", "--format=%(refname)", "refs/shipmate"]);
        let aside = "refs/shipmate/crew/aside/1-2-tags-";
        assert_eq!(refs, format!("{aside}keep\n{aside}noted"));
        assert_eq!(git(&user, &["rev-parse", &format!("{aside}noted")]), noted.as_str());
    });
}

#[test]
fn a_submodule_that_the_team_does_not_have_is_left_out_like_any_repository() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let from = scene.user().display().to_string();
        git(
            tree.path(),
            &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"],
        );
        commit_all(tree.path(), "with a submodule");
        let rescued = repository.keep_aside(&tree, "crew", "x").unwrap();
        assert_eq!(rescued.left_out, ["sub"]);
        assert_eq!(rescued.kept.unwrap().files, [".gitmodules", "sub"]);
        let failure = repository.let_go(tree, "crew", "x").unwrap_err();
        assert!(matches!(failure, LetGoFailure::Submodules), "{failure}");
    });
}

/// The refs of the team in the user's repository.
fn team_refs(scene: &Scene) -> Vec<String> {
    let refs = git(&scene.user(), &["for-each-ref", "--format=%(refname)", "refs/shipmate"]);
    refs.lines().map(str::to_owned).collect()
}

#[test]
fn commits_that_only_the_reflog_of_a_clone_has_are_kept_when_it_goes() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let at = tree.path();
        git(at, &["checkout", "-q", "--detach"]);
        write(at, "detached.txt", "x\n");
        commit_all(at, "before the last one");
        let detached = commit_all(at, "on no branch");
        git(at, &["checkout", "-q", "ana"]);
        write(at, "reset.txt", "x\n");
        let reset = commit_all(at, "to be reset");
        git(at, &["reset", "-q", "--hard", "HEAD~1"]);
        // What an agent writes there by hand names nothing, or not enough.
        let log = read(at, ".git/logs/HEAD");
        let made_up = format!("{} {} x <x@x> 1 +0000\tx\n", "0".repeat(40), "e".repeat(40));
        write(at, ".git/logs/HEAD", &format!("{log}{made_up}--all --all x\n\n\0"));

        // Until the clone goes, its log has them.
        assert_eq!(repository.keep_aside(&tree, "crew", "1-2").unwrap().kept, None);
        assert_eq!(team_refs(scene), [] as [&str; 0]);
        repository.let_go(tree, "crew", "1-2").unwrap();
        assert_eq!(team_refs(scene), ["refs/shipmate/crew/aside/1-2-log"]);
        let user = scene.user();
        let parents = git(&user, &["log", "-1", "--format=%P", "refs/shipmate/crew/aside/1-2-log"]);
        assert_eq!(parents, format!("{reset} {detached}"));

        // A single one is kept as it is.
        let tree = scene.tree(&repository, "bo");
        write(tree.path(), "bo.txt", "x\n");
        let lost = commit_all(tree.path(), "lost");
        git(tree.path(), &["reset", "-q", "--hard", "HEAD~1"]);
        repository.let_go(tree, "crew", "3-4").unwrap();
        assert_eq!(git(&user, &["rev-parse", "refs/shipmate/crew/aside/3-4-log"]), lost.as_str());
    });
}

#[test]
fn a_clone_whose_work_was_handed_in_leaves_nothing_aside() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let user = scene.user();
        let tree = scene.tree(&repository, "ana");
        // The user goes on meanwhile, and amends what the next clone begins with.
        write(&user, "users.txt", "x\n");
        commit_all(&user, "to be amended");
        let late = scene.tree(&repository, "bo");
        git(&user, &["commit", "-q", "--amend", "-m", "amended"]);
        for round in 1..4 {
            for text in ["one", "two"] {
                write(tree.path(), "a.txt", &format!("{text} {round}\n"));
                commit_all(tree.path(), text);
            }
            write(tree.path(), "b.txt", &format!("{round}\n"));
            let work = save(&tree);
            match round {
                3 => drop(repository.take_in(&tree, &work, &key(round, 1)).unwrap()),
                _ => drop(land(&repository, &tree, &work, &key(round, 1))),
            }
            assert_eq!(repository.keep_aside(&tree, "crew", "x").unwrap().kept, None);
            let tip = repository.tip("crew").unwrap().unwrap();
            tree.bring_up(&tip, Keep::Nothing).unwrap();
        }
        repository.let_go(tree, "crew", "ana").unwrap();
        repository.let_go(late, "crew", "bo").unwrap();
        let work = (1..4).map(|round| format!("refs/shipmate/crew/work/{round}-1"));
        assert_eq!(team_refs(scene), work.collect::<Vec<_>>());
    });
}

#[test]
fn commits_under_any_name_of_a_clone_are_kept_but_for_those_that_are_the_users() {
    alone(|scene| {
        let user = scene.user();
        let (repository, base) = scene.begun();
        git(&user, &["notes", "add", "-m", "the user's", "HEAD"]);
        let tree = scene.tree(&repository, "ana");
        let at = tree.path();
        git(at, &["fetch", "-q", "origin", "refs/notes/*:refs/users-notes/*"]);
        git(at, &["notes", "add", "-m", "the agent's", "HEAD"]);
        write(at, "custom.txt", "x\n");
        let custom = commit_all(at, "custom");
        git(at, &["update-ref", "refs/custom/x", "HEAD"]);
        git(at, &["reset", "-q", "--hard", base.as_str()]);
        let kept = repository.keep_aside(&tree, "crew", "1-2").unwrap().kept;
        assert_eq!(kept, None);
        let aside = "refs/shipmate/crew/aside/1-2-";
        let expected = [format!("{aside}custom-x"), format!("{aside}notes-commits")];
        assert_eq!(team_refs(scene), expected);
        assert_eq!(git(&user, &["rev-parse", &expected[0]]), custom.as_str());
        // And nothing twice when it goes.
        repository.let_go(tree, "crew", "1-2").unwrap();
        assert_eq!(team_refs(scene), expected);
    });
}

#[test]
fn what_is_staged_and_nowhere_else_is_kept_when_a_clone_goes() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let at = tree.path();
        for (name, staged) in [("a.txt", "staged\n"), ("only staged.txt", "x\n")] {
            write(at, name, staged);
            git(at, &["add", name]);
        }
        write(at, "a.txt", "in the file\n");
        std::fs::remove_file(at.join("only staged.txt")).unwrap();
        write(at, "b.txt", "staged as it is\n");
        git(at, &["add", "b.txt"]);
        // Any version of an index is read.
        git(at, &["update-index", "--index-version", "4"]);
        repository.let_go(tree, "crew", "1-2").unwrap();
        let aside = "refs/shipmate/crew/aside/1-2";
        assert_eq!(team_refs(scene), [aside.to_owned(), format!("{aside}-staged")]);
        let show = |name: &str| git(&scene.user(), &["show", name]);
        assert_eq!(show(&format!("{aside}:a.txt")), "in the file");
        assert_eq!(show(&format!("{aside}-staged:a.txt")), "staged");
        assert_eq!(show(&format!("{aside}-staged:only staged.txt")), "x");
        assert_eq!(show(&format!("{aside}-staged:b.txt")), "staged as it is");
    });
}

#[test]
fn what_was_brought_in_and_never_handed_in_is_late_work() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "done.txt", "x\n");
        let commit = commit_all(tree.path(), "done");
        let key = WorkKey { team: "crew".to_owned(), task: 1, token: 2 };
        repository.take_in(&tree, &commit, &key).unwrap();

        // Whoever uses the tree next takes it for handed in; who knows what was is told better.
        assert_eq!(repository.keep_aside(&tree, "crew", "1-2").unwrap().kept, None);
        let known = std::slice::from_ref(&commit);
        assert_eq!(repository.keep_late(&tree, "crew", "1-2", known).unwrap().kept, None);
        let kept = repository.keep_late(&tree, "crew", "1-2", &[]).unwrap().kept.unwrap();
        assert_eq!(kept.refname, "refs/shipmate/crew/aside/1-2");
        assert_eq!((&kept.commit, kept.files.as_slice()), (&commit, &["done.txt".to_owned()][..]));
        // Repeated after a crash it is the same.
        let again = repository.keep_late(&tree, "crew", "1-2", &[]).unwrap().kept.unwrap();
        assert_eq!(again, kept);
        // What a machine says of itself names no other ref.
        let here = repository.aside_of(&key, &kept.refname, &commit).unwrap();
        assert_eq!(here, Aside::Here { name: kept.refname });
        let other = repository.head().unwrap().commit;
        let free = Aside::Free { name: "refs/shipmate/crew/aside/1-2-2".to_owned() };
        assert_eq!(repository.aside_of(&key, "refs/heads/main", &other).unwrap(), free);
    });
}
