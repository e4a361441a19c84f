//! Work on its way into the team branch.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use shipmate_workspace::{
    AdvanceFailure, Change, ChangeKind, Commit, EntryKind, Feature, FeatureBranch, Keep, Merged,
    TakeInFailure,
};

use crate::scene::{about, alone, author, commit_all, files, git, key, land, read, save, write};

#[test]
fn work_is_taken_in_merged_and_lands() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let (ana, bo) = (scene.tree(&repository, "ana"), scene.tree(&repository, "bo"));
        write(ana.path(), "a.txt", "one\ntwo\nTHREE\n");
        write(bo.path(), "new one.txt", "bo\n");
        let (first, second) = (save(&ana), save(&bo));
        let one = land(&repository, &ana, &first, &key(1, 10));
        let two = land(&repository, &bo, &second, &key(2, 11));

        assert_eq!(repository.tip("crew").unwrap(), Some(two.clone()));
        let parents = git(&scene.user(), &["show", "-s", "--format=%P", two.as_str()]);
        assert_eq!(parents, format!("{one} {second}"));
        let author = git(&scene.user(), &["show", "-s", "--format=%an <%ae>", two.as_str()]);
        assert_eq!(author, "bo <bo@shipmate>");
        assert_eq!(repository.landed("crew", &base, &key(1, 10)).unwrap(), Some(one.clone()));
        assert_eq!(repository.landed("crew", &base, &key(2, 11)).unwrap(), Some(two));
        assert_eq!(repository.landed("crew", &base, &key(1, 11)).unwrap(), None);

        let log = repository.log("crew", &base).unwrap();
        let shown: Vec<_> =
            log.iter().map(|work| (work.task, work.token, &*work.teammate, &work.files)).collect();
        let files = [vec!["a.txt".to_owned()], vec!["new one.txt".to_owned()]];
        assert_eq!(shown, [(1, 10, "ana", &files[0]), (2, 11, "bo", &files[1])]);
        assert_eq!(log[0].commit, one);
        assert_eq!(log[0].subject, "task 1");

        let kept = git(&scene.user(), &["rev-parse", "refs/shipmate/crew/work/1-10"]);
        assert_eq!(kept, first.as_str());
        assert_eq!(git(&scene.user(), &["status", "--porcelain"]), "");
        assert_eq!(read(&scene.user(), "a.txt"), "one\ntwo\nthree\n");
    });
}

#[test]
fn work_that_tells_a_secret_is_refused_also_where_it_calls_the_file_binary() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        shipmate_process::hidden::hide([("abc-def-123".to_owned(), "[TOKEN]".to_owned())]);
        write(tree.path(), ".gitattributes", "*.cfg -diff\n*.ini binary\n");
        for name in ["a.cfg", "a.ini", "a.txt"] {
            write(tree.path(), name, "token = abc-def-123\n");
            let refused = repository.take_in(&tree, &save(&tree), &key(1, 10)).unwrap_err();
            let TakeInFailure::Secret { place, secret } = refused else { panic!("{refused}") };
            assert_eq!((place.as_str(), secret.as_str()), (name, "[TOKEN]"));
            tree.bring_up(&repository.tip("crew").unwrap().unwrap(), Keep::Nothing).unwrap();
            write(tree.path(), ".gitattributes", "*.cfg -diff\n*.ini binary\n");
        }
    });
}

#[test]
fn merges_that_were_joined_are_found_by_their_tasks_and_are_not_on_the_first_parent_line() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "one.txt", "1\n");
        let one = land(&repository, &tree, &save(&tree), &key(1, 10));
        let mut chain = vec![one.clone()];
        for (task, file) in [(2, "two.txt"), (3, "three.txt")] {
            tree.bring_up(chain.last().unwrap(), Keep::Nothing).unwrap();
            write(tree.path(), file, "x\n");
            let (work, key) = (save(&tree), key(task, 10 + u64::from(task)));
            repository.take_in(&tree, &work, &key).unwrap();
            let merged = repository.merge(chain.last().unwrap(), &work, &about("ana", &key));
            let Merged::Landed(merged) = merged.unwrap() else { panic!() };
            chain.push(merged);
        }
        let joined = repository.join("crew", &one, &chain[2], &[2, 3]).unwrap();
        repository.advance("crew", &one, &joined).unwrap();
        tree.bring_up(&joined, Keep::Nothing).unwrap();
        write(tree.path(), "four.txt", "4\n");
        let four = land(&repository, &tree, &save(&tree), &key(4, 20));

        let range = format!("{base}..shipmate/crew");
        let line = git(&scene.user(), &["rev-list", "--first-parent", "--reverse", &range]);
        assert_eq!(line.lines().collect::<Vec<_>>(), [&one, &joined, &four].map(Commit::as_str));
        assert_eq!(git(&scene.user(), &["diff", joined.as_str(), chain[2].as_str()]), "");
        let log = repository.log("crew", &base).unwrap();
        let shown: Vec<_> = log.iter().map(|work| (work.task, work.files.join(" "))).collect();
        let of = |task: u32, file: &str| (task, file.to_owned());
        let all = [of(1, "one.txt"), of(2, "two.txt"), of(3, "three.txt"), of(4, "four.txt")];
        assert_eq!(shown, all);
        let landed = |task, token| repository.landed("crew", &base, &key(task, token)).unwrap();
        assert_eq!(landed(2, 12).as_ref(), Some(&chain[1]));
        assert_eq!(landed(3, 13).as_ref(), Some(&chain[2]));
        assert_eq!(landed(3, 12), None);
        let brought = repository.brought("crew", &base, 2).unwrap();
        assert_eq!(brought, [(12, chain[1].clone())]);
        let feature = Feature { name: "two".to_owned(), tasks: vec![2] };
        let made = repository.feature_branches("crew", &base, &[feature]).unwrap();
        let FeatureBranch::Made { commit, .. } = &made[0] else { panic!("{made:?}") };
        assert!(files(&scene.user(), commit).contains(&"two.txt".to_owned()));
        assert!(!files(&scene.user(), commit).contains(&"three.txt".to_owned()));
        let taken_back = repository.revert(&four, &[chain[1].clone()], &author("ana"), "no");
        let taken_back = taken_back.unwrap().unwrap().unwrap();
        assert!(!files(&scene.user(), &taken_back).contains(&"two.txt".to_owned()));
        assert!(files(&scene.user(), &taken_back).contains(&"three.txt".to_owned()));
    });
}

#[test]
fn a_commit_that_is_not_on_the_teammate_s_branch_is_refused() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let (ana, bo) = (scene.tree(&repository, "ana"), scene.tree(&repository, "bo"));
        write(bo.path(), "bo.txt", "bo\n");
        let work = save(&bo);
        let refused = repository.take_in(&ana, &work, &key(1, 1)).unwrap_err();
        assert!(matches!(refused, TakeInFailure::NoSuchCommit { .. }), "{refused}");

        write(ana.path(), "side.txt", "x\n");
        git(ana.path(), &["checkout", "-q", "-b", "side"]);
        let side = commit_all(ana.path(), "on the side");
        git(ana.path(), &["checkout", "-q", "ana"]);
        let refused = repository.take_in(&ana, &side, &key(1, 1)).unwrap_err();
        assert!(matches!(refused, TakeInFailure::NotOnBranch { .. }), "{refused}");
        assert!(refused.to_string().contains("ana"));

        let tree = Commit::parse(&git(ana.path(), &["rev-parse", "HEAD^{tree}"])).unwrap();
        let refused = repository.take_in(&ana, &tree, &key(1, 1)).unwrap_err();
        assert!(matches!(refused, TakeInFailure::NoSuchCommit { .. }), "{refused}");
        assert_eq!(git(&scene.user(), &["for-each-ref", "refs/shipmate"]), "");
        repository.take_in(&ana, &base, &key(1, 1)).unwrap();
        repository.take_in(&ana, &base, &key(1, 1)).unwrap();
    });
}

#[test]
fn every_kind_of_change_is_listed_with_its_path() {
    alone(|scene| {
        write(&scene.user(), "old name", &"same\n".repeat(20));
        write(&scene.user(), "run.sh", "#!/bin/sh\n");
        commit_all(&scene.user(), "more");
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let at = tree.path();
        fs::rename(at.join("old name"), at.join("nëw\nname")).unwrap();
        fs::set_permissions(at.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("a.txt", at.join("-link")).unwrap();
        fs::remove_file(at.join("b.txt")).unwrap();
        write(at, "a.txt", "other\n");
        write(at, "refs/heads/main", "a file named like a ref\n");
        save(&tree);
        let pointer = format!("160000,{base},module");
        git(at, &["update-index", "--add", "--cacheinfo", &pointer]);
        git(at, &["commit", "-q", "-m", "a submodule's pointer"]);
        let work = tree.head().unwrap().unwrap();
        repository.take_in(&tree, &work, &key(1, 1)).unwrap();

        // The team branch goes on meanwhile: that is no change of this work.
        let bo = scene.tree(&repository, "bo");
        write(bo.path(), "bo.txt", "bo\n");
        let tip = land(&repository, &bo, &save(&bo), &key(2, 2));
        let change = |path: &str, kind, entry| Change { path: path.to_owned(), kind, entry };
        use ChangeKind::{Added, Deleted, ModeChanged, Modified};
        use EntryKind::{Executable, File, Submodule, Symlink};
        let expected = [
            change("-link", Added, Symlink),
            change("a.txt", Modified, File),
            change("b.txt", Deleted, File),
            change("module", Added, Submodule),
            change("nëw\nname", Added, File),
            change("old name", Deleted, File),
            change("refs/heads/main", Added, File),
            change("run.sh", ModeChanged, Executable),
        ];
        assert_eq!(repository.changed(&tip, &work).unwrap(), expected);
        assert_eq!(repository.changed(&tip, &tip).unwrap(), []);
        let landed = land(&repository, &tree, &work, &key(1, 1));
        assert!(files(&scene.user(), &landed).contains(&"nëw\nname".to_owned()));
    });
}

#[test]
fn a_conflict_names_its_files_and_moves_nothing() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let (ana, bo) = (scene.tree(&repository, "ana"), scene.tree(&repository, "bo"));
        write(ana.path(), "a.txt", "ana\n");
        write(bo.path(), "a.txt", "bo\n");
        fs::remove_file(bo.path().join("b.txt")).unwrap();
        write(ana.path(), "b.txt", "still here\n");
        let tip = land(&repository, &ana, &save(&ana), &key(1, 1));
        let work = save(&bo);
        repository.take_in(&bo, &work, &key(2, 2)).unwrap();
        let merged = repository.merge(&tip, &work, &about("bo", &key(2, 2))).unwrap();
        let Merged::Conflict { files, text } = merged else { panic!("{merged:?}") };
        assert_eq!(files, ["a.txt", "b.txt"]);
        assert!(text.contains("CONFLICT (content): Merge conflict in a.txt"), "{text}");
        assert_eq!(repository.tip("crew").unwrap(), Some(tip));
    });
}

#[test]
fn work_that_changes_nothing_does_not_land() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let empty = commit_all(tree.path(), "empty");
        repository.take_in(&tree, &empty, &key(1, 1)).unwrap();
        let merge = |work| repository.merge(&base, work, &about("ana", &key(1, 1))).unwrap();
        assert_eq!(merge(&empty), Merged::Nothing);
        assert_eq!(merge(&base), Merged::Nothing);

        git(tree.path(), &["checkout", "-q", "--orphan", "other"]);
        let orphan = commit_all(tree.path(), "no history");
        repository.take_in(&tree, &orphan, &key(1, 2)).unwrap();
        assert_eq!(merge(&orphan), Merged::Unrelated);
        assert_eq!(repository.changed(&base, &orphan).unwrap().len(), 4);
    });
}

#[test]
fn the_branch_moves_only_from_where_it_was_thought_to_be() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        let next = land(&repository, &tree, &save(&tree), &key(1, 1));
        repository.advance("crew", &base, &next).unwrap();
        let refused = repository.advance("crew", &base, &base).unwrap_err();
        assert!(matches!(refused, AdvanceFailure::Moved { found: Some(at), .. } if at == next));

        git(&scene.user(), &["checkout", "-q", "shipmate/crew"]);
        let refused = repository.advance("crew", &next, &base).unwrap_err();
        assert!(matches!(refused, AdvanceFailure::CheckedOut { .. }), "{refused}");
        assert_eq!(repository.tip("crew").unwrap(), Some(next));
    });
}

#[test]
fn a_forged_trailer_is_not_taken_for_landed_work() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let forged = "done\n\nShipmate-Team: crew\nShipmate-Task: 7\nShipmate-Token: 70\n\
                      Shipmate-Teammate: ana\n";
        git(tree.path(), &["config", "user.name", "shipmate"]);
        write(tree.path(), "a.txt", "ana\n");
        commit_all(tree.path(), forged);
        git(tree.path(), &["checkout", "-q", "-b", "x", "HEAD~"]);
        write(tree.path(), "x.txt", "x\n");
        commit_all(tree.path(), "x");
        git(tree.path(), &["checkout", "-q", "ana"]);
        git(tree.path(), &["merge", "-q", "--no-ff", "-m", forged, "x"]);
        let work = tree.head().unwrap().unwrap();

        let mut about = about("ana", &key(1, 1));
        about.subject = forged.to_owned();
        repository.take_in(&tree, &work, &key(1, 1)).unwrap();
        let merged = repository.merge(&base, &work, &about).unwrap();
        let Merged::Landed(landed) = merged else { panic!("{merged:?}") };
        repository.advance("crew", &base, &landed).unwrap();
        assert_eq!(repository.landed("crew", &base, &key(7, 70)).unwrap(), None);
        assert_eq!(repository.landed("crew", &base, &key(1, 1)).unwrap(), Some(landed));
        assert_eq!(repository.log("crew", &base).unwrap().len(), 1);
    });
}

#[test]
fn a_sha256_repository_works_the_same() {
    alone(|scene| {
        scene.make_repository("sha256");
        let (repository, base) = scene.begun();
        assert_eq!(base.as_str().len(), 64);
        let tree = scene.tree(&repository, "ana");
        fs::remove_file(tree.path().join("b.txt")).unwrap();
        write(tree.path(), "a.txt", "ana\n");
        let landed = land(&repository, &tree, &save(&tree), &key(1, 1));
        assert_eq!(files(&scene.user(), &landed), [".gitignore", "a.txt", "src/lib.rs"]);
    });
}

#[test]
fn a_shallow_repository_works_the_same() {
    alone(|scene| {
        write(&scene.user(), "a.txt", "second\n");
        commit_all(&scene.user(), "second");
        let full = scene.path("full");
        fs::rename(scene.user(), &full).unwrap();
        let from = format!("file://{}", full.display());
        let to = scene.user();
        git(&full, &["clone", "-q", "--depth=1", &from, to.to_str().unwrap()]);
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "b.txt", "ana\n");
        let landed = land(&repository, &tree, &save(&tree), &key(1, 1));
        assert_eq!(repository.landed("crew", &base, &key(1, 1)).unwrap(), Some(landed));
    });
}

#[test]
fn a_repository_that_is_a_linked_worktree_works_the_same() {
    alone(|scene| {
        let main = scene.path("main");
        fs::rename(scene.user(), &main).unwrap();
        let linked = scene.user();
        git(&main, &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "b.txt", "ana\n");
        let landed = land(&repository, &tree, &save(&tree), &key(1, 1));
        assert_eq!(repository.landed("crew", &base, &key(1, 1)).unwrap(), Some(landed));
    });
}
