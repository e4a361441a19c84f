//! Opening the user's repository, what it is like, and the beginning of a team.

use std::fs;

use shipmate_workspace::{BeginFailure, Commit, Judges, OpenFailure, Repository};

use crate::scene::{alone, commit_all, git, write};

#[test]
fn a_folder_that_cannot_serve_is_refused_with_its_reason() {
    alone(|scene| {
        let plain = scene.path("plain");
        fs::create_dir(&plain).unwrap();
        let open = |path: &std::path::Path| Repository::open(path).unwrap_err();
        assert!(matches!(open(&plain), OpenFailure::NotARepository { .. }));
        // Who stands elsewhere would make a repository of the wrong folder.
        assert!(!open(&plain).to_string().contains("git init"));
        assert!(matches!(open(&scene.path("none")), OpenFailure::NoSuchFolder { .. }));

        git(&plain, &["init", "-q"]);
        assert!(matches!(open(&plain), OpenFailure::NoCommits { .. }));
        assert!(matches!(open(&plain.join(".git")), OpenFailure::InsideGitFolder { .. }));
        assert!(matches!(open(&plain.join(".git/refs")), OpenFailure::InsideGitFolder { .. }));

        let bare = scene.path("bare");
        git(&scene.user(), &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        assert!(matches!(open(&bare), OpenFailure::Bare { .. }));
    });
}

#[test]
fn a_folder_below_the_root_opens_the_repository() {
    alone(|scene| {
        let repository = Repository::open(&scene.user().join("src")).unwrap();
        assert_eq!(repository.root(), scene.user());
    });
}

#[test]
fn a_lock_on_packed_refs_goes_unless_somebodys_git_is_at_work() {
    alone(|scene| {
        let lock = scene.user().join(".git/packed-refs.lock");
        fs::write(&lock, "").unwrap();
        let mut at_work = crate::scene::plain_git(&scene.user());
        at_work.args(["cat-file", "--batch"]).stdin(std::process::Stdio::piped());
        let mut at_work = at_work.stdout(std::process::Stdio::piped()).spawn().unwrap();
        // It has answered: it stands in its folder by now.
        std::io::Write::write_all(at_work.stdin.as_mut().unwrap(), b"HEAD\n").unwrap();
        std::io::Read::read_exact(at_work.stdout.as_mut().unwrap(), &mut [0; 1]).unwrap();
        Repository::unlock_packed(&scene.user());
        assert!(lock.exists(), "it may be that one's");
        drop(at_work.stdin.take());
        at_work.wait().unwrap();
        Repository::unlock_packed(&scene.user());
        assert!(!lock.exists());
    });
}

#[test]
fn head_names_the_branch_or_none_when_detached() {
    alone(|scene| {
        let repository = scene.open();
        let head = repository.head().unwrap();
        assert_eq!(head.branch.as_deref(), Some("main"));
        git(&scene.user(), &["checkout", "-q", "--detach"]);
        assert_eq!(repository.head().unwrap().branch, None);
        assert_eq!(repository.head().unwrap().commit, head.commit);
    });
}

#[test]
fn the_condition_tells_what_a_team_will_not_see() {
    alone(|scene| {
        let repository = scene.open();
        assert_eq!(repository.condition().unwrap(), Default::default());
        write(&scene.user(), "sub/.gitattributes", "*.bin filter=lfs\n");
        write(&scene.user(), ".gitmodules", "");
        commit_all(&scene.user(), "more");
        write(&scene.user(), "a.txt", "changed\n");
        for number in 0..30 {
            write(&scene.user(), &format!("new file {number}"), "x");
        }
        let condition = repository.condition().unwrap();
        assert_eq!((condition.dirty.len(), condition.dirty_count), (20, 31));
        assert_eq!(condition.dirty[0], "a.txt");
        assert!(condition.lfs && condition.submodules && !condition.shallow);

        let clone = scene.path("shallow");
        let from = format!("file://{}", scene.user().display());
        git(&scene.path(""), &["clone", "-q", "--depth=1", &from, clone.to_str().unwrap()]);
        assert!(Repository::open(&clone).unwrap().condition().unwrap().shallow);
    });
}

#[test]
fn a_team_begins_once_and_never_on_another_s_branch() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        assert_eq!(repository.tip("crew").unwrap(), Some(base.clone()));
        assert_eq!(repository.tip("none").unwrap(), None);
        repository.begin("crew", &base).unwrap();

        write(&scene.user(), "a.txt", "next\n");
        let next = commit_all(&scene.user(), "next");
        let refused = repository.begin("crew", &next).unwrap_err();
        assert!(matches!(&refused, BeginFailure::Exists { found, .. } if *found == base));
        assert!(refused.to_string().contains("git branch -D shipmate/crew"));
        assert_eq!(repository.tip("crew").unwrap(), Some(base));

        git(&scene.user(), &["update-ref", "-d", "refs/heads/shipmate/crew"]);
        git(&scene.user(), &["branch", "shipmate"]);
        let refused = repository.begin("crew", &next).unwrap_err();
        assert!(matches!(refused, BeginFailure::NameTaken { .. }), "{refused}");
    });
}

#[test]
fn only_a_full_id_is_a_commit() {
    assert!(Commit::parse(&"a".repeat(40)).is_some());
    assert!(Commit::parse(&"0".repeat(64)).is_some());
    for text in ["", "HEAD", "--all", &"a".repeat(39), &"A".repeat(40), &"g".repeat(40)] {
        assert_eq!(Commit::parse(text), None, "{text}");
    }
}

#[test]
fn what_no_tree_can_have_is_left_out_of_another_programs_list_and_refused_in_ones_own() {
    alone(|scene| {
        let user = scene.user();
        write(&user, ".env", "A=1\n");
        write(&user, "local/b.cfg", "b\n");
        std::os::unix::fs::symlink("/etc/hosts", user.join("local/out.cfg")).unwrap();
        std::os::unix::fs::symlink("nowhere", user.join("local/gone.cfg")).unwrap();
        let large = fs::File::create(user.join("large.img")).unwrap();
        large.set_len(300 << 20).unwrap();
        let names = [".env", "local/*.cfg", "large.img", "absent.json", ".git/config"];
        let names = names.map(str::to_owned);
        let repository = scene.open();
        let found = repository.unversioned_loosely(&names).unwrap();
        assert_eq!(found.copies, [".env", "local/b.cfg"]);
        for part in [
            "out.cfg leads out",
            "gone.cfg cannot be read",
            "300 MB",
            "no absent.json",
            ".git/config",
        ] {
            let is_said = found.left_out.iter().any(|reason| reason.contains(part));
            assert!(is_said, "{part}: {:?}", found.left_out);
        }
        for name in &names[1..] {
            repository.unversioned(std::slice::from_ref(name), &[]).unwrap_err();
        }
    });
}

#[test]
fn in_a_tree_that_judges_copies_and_links_are_the_checkouts_whatever_ran_there() {
    alone(|scene| {
        let user = scene.user();
        write(&user, "target/data.db", "empty\n");
        write(&user, "own/d.log", "d\n");
        write(&user, "packages/e", "e\n");
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let copies = ["target/data.db", "own/d.log"].map(str::to_owned);
        let found = repository.unversioned(&copies, &["packages".to_owned()]).unwrap();
        let add = |judges| tree.add_unversioned(&repository, &found, judges).unwrap();
        let text = |name: &str| std::fs::read_to_string(tree.path().join(name)).unwrap();
        add(Judges::No);
        write(tree.path(), "target/data.db", "mine!\n");
        add(Judges::No);
        assert_eq!(text("target/data.db"), "mine!\n", "what an agent made of it is its own");
        add(Judges::Yes);
        let at =
            |name: &str| std::fs::metadata(tree.path().join(name)).unwrap().modified().unwrap();
        let before = at("own/d.log");
        // In one of them a folder, above another a file, and of a link a folder of its own.
        std::fs::remove_file(tree.path().join("own/d.log")).unwrap();
        write(tree.path(), "own/d.log/x", "x\n");
        std::fs::remove_dir_all(tree.path().join("target")).unwrap();
        write(tree.path(), "target", "x\n");
        std::fs::remove_file(tree.path().join("packages")).unwrap();
        write(tree.path(), "packages/e", "other\n");
        add(Judges::Yes);
        let all = ["target/data.db", "own/d.log", "packages/e"].map(text);
        assert_eq!(all, ["empty\n", "d\n", "e\n"]);
        let put = at("own/d.log");
        assert!(put >= before);
        add(Judges::Yes);
        assert_eq!(at("own/d.log"), put, "what is as it was put there is not put there again");
    });
}

#[test]
fn what_was_installed_goes_before_a_set_up_and_copies_and_links_stay() {
    alone(|scene| {
        let user = scene.user();
        write(&user, "target/c [1].cfg", "c\n");
        write(&user, "own/d.log", "d\n");
        write(&user, "packages/e", "e\n");
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let copies = ["target/c*", "own/d.log"].map(str::to_owned);
        let found = repository.unversioned(&copies, &["packages".to_owned()]).unwrap();
        tree.add_unversioned(&repository, &found, Judges::No).unwrap();
        tree.begin_set_up().unwrap();
        for name in ["target/x", "own/x.log", "made/it"] {
            write(tree.path(), name, "x\n");
        }
        tree.settle_set_up().unwrap();
        tree.remove_uncommitted().unwrap();
        for name in ["target/c [1].cfg", "own/d.log", "packages/e", "a.txt"] {
            assert!(tree.path().join(name).exists(), "{name}");
            assert!(user.join(name).exists(), "{name}");
        }
        for name in ["target/x", "own/x.log", "made"] {
            assert!(!tree.path().join(name).exists(), "{name}");
        }
        assert!(tree.is_clean().unwrap());
    });
}
