//! Commits on their way between the repositories of two machines.

use std::fs;
use std::path::{Path, PathBuf};

use shipmate_workspace::{Commit, Repository, UnpackFailure};

use crate::scene::{Scene, alone, files, git, key, land, plain_git, save, write};

/// The same repository as another machine has it: a clone at the base.
fn other_machine(scene: &Scene) -> (Repository, PathBuf) {
    let place = scene.path("other");
    git(&scene.user(), &["clone", "--quiet", "--no-local", ".", place.to_str().unwrap()]);
    (Repository::open(&place).unwrap(), place)
}

fn pack_of(at: &Path, name: &str) -> Vec<u8> {
    fs::read(at.join(name)).unwrap()
}

#[test]
fn work_of_one_machine_lands_on_another_and_its_branch_comes_back() {
    alone(|scene| {
        let (home, base) = scene.begun();
        let (away, place) = other_machine(scene);
        away.begin("crew", &base).unwrap();
        let tree = scene.tree(&away, "ana");
        write(tree.path(), "from away.txt", "hello\n");
        let work = save(&tree);
        away.take_in(&tree, &work, &key(1, 10)).unwrap();

        let pack = scene.path("work.pack");
        assert!(away.pack_work(&key(1, 10), std::slice::from_ref(&base), &pack).unwrap());
        assert_eq!(home.work(&key(1, 10)).unwrap(), None);
        home.unpack_work(&pack, &work, &key(1, 10)).unwrap();
        home.unpack_work(&pack, &work, &key(1, 10)).unwrap();
        assert_eq!(home.work(&key(1, 10)).unwrap(), Some(work.clone()));
        assert!(files(&scene.user(), &work).contains(&"from away.txt".to_owned()));

        let other = scene.tree(&home, "bo");
        write(other.path(), "from home.txt", "hello\n");
        let landed = land(&home, &other, &save(&other), &key(2, 11));
        let back = scene.path("branch.pack");
        assert!(home.pack_branch("crew", &landed, std::slice::from_ref(&base), &back).unwrap());
        away.unpack_branch(&[(landed.clone(), &back)], "crew", Some(&base)).unwrap();
        assert_eq!(away.tip("crew").unwrap(), Some(landed.clone()));
        // Nothing of the way is left, and a branch that moved meanwhile is not moved back.
        assert_eq!(git(&place, &["for-each-ref", "refs/shipmate/crew/arriving"]), "");
        assert!(away.unpack_branch(&[(landed.clone(), &back)], "crew", Some(&base)).is_err());
        assert!(
            !home
                .pack_branch(
                    "crew",
                    &landed,
                    std::slice::from_ref(&landed),
                    &scene.path("none.pack")
                )
                .unwrap()
        );
        assert!(!scene.path("none.pack").exists());
        // What a person has committed there stays when the branch goes where it is on record.
        git(&place, &["config", "user.name", "P"]);
        git(&place, &["config", "user.email", "p@example.com"]);
        let own = git(&place, &["commit-tree", "HEAD^{tree}", "-p", landed.as_str(), "-m", "own"]);
        git(&place, &["update-ref", "refs/heads/shipmate/crew", &own]);
        away.point_branch("crew", &landed, Commit::parse(&own).as_ref()).unwrap();
        assert_eq!(away.tip("crew").unwrap(), Some(landed));
        let kept = ["for-each-ref", "--format=%(objectname)", "refs/heads/shipmate-kept/"];
        assert_eq!(git(&place, &kept), own);
    });
}

#[test]
fn a_branch_that_is_checked_out_is_left_where_it_is() {
    alone(|scene| {
        let (home, base) = scene.begun();
        let (away, place) = other_machine(scene);
        away.begin("crew", &base).unwrap();
        git(&place, &["checkout", "--quiet", "shipmate/crew"]);
        let tree = scene.tree(&home, "ana");
        write(tree.path(), "one.txt", "1\n");
        let landed = land(&home, &tree, &save(&tree), &key(1, 10));
        let pack = scene.path("branch.pack");
        assert!(home.pack_branch("crew", &landed, std::slice::from_ref(&base), &pack).unwrap());
        let refused = away.unpack_branch(&[(landed.clone(), &pack)], "crew", Some(&base));
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("is checked out in") && said.contains("switch"), "{said}");
        assert_eq!(git(&place, &["status", "--porcelain", "--untracked-files=no"]), "");
        assert_eq!(away.tip("crew").unwrap(), Some(base.clone()));

        git(&place, &["checkout", "--quiet", "--detach"]);
        away.point_branch("crew", &landed, Some(&base)).unwrap();
        assert_eq!(away.tip("crew").unwrap(), Some(landed));
    });
}

#[test]
fn a_commit_builds_on_its_history_and_on_nothing_beside_it() {
    alone(|scene| {
        let (home, base) = scene.begun();
        let tree = scene.tree(&home, "ana");
        write(tree.path(), "one.txt", "1\n");
        let one = land(&home, &tree, &save(&tree), &key(1, 10));
        let made = ["commit-tree", "HEAD^{tree}", "-p", base.as_str(), "-m", "beside"];
        let beside = Commit::parse(&git(&scene.user(), &made)).unwrap();
        assert!(home.builds_on(&one, &base).unwrap());
        assert!(home.builds_on(&one, &one).unwrap());
        assert!(!home.builds_on(&one, &beside).unwrap());
        assert!(!home.builds_on(&one, &Commit::parse(&"a".repeat(40)).unwrap()).unwrap());
    });
}

#[test]
fn what_builds_on_something_that_is_not_there_names_it_and_changes_nothing() {
    alone(|scene| {
        let (home, base) = scene.begun();
        let (away, place) = other_machine(scene);
        let tree = scene.tree(&home, "ana");
        write(tree.path(), "one.txt", "1\n");
        let one = land(&home, &tree, &save(&tree), &key(1, 10));
        write(tree.path(), "two.txt", "2\n");
        let two = land(&home, &tree, &save(&tree), &key(2, 11));
        let pack = scene.path("second.pack");
        assert!(home.pack_branch("crew", &two, std::slice::from_ref(&one), &pack).unwrap());
        let before = git(&place, &["for-each-ref"]);
        match away.unpack_branch(&[(two.clone(), &pack)], "crew", None) {
            Err(UnpackFailure::Incomplete { missing }) => {
                assert!(missing.contains(&one.to_string()), "{missing:?}")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(git(&place, &["for-each-ref"]), before);
        let whole = scene.path("first.pack");
        assert!(home.pack_branch("crew", &two, &[base], &whole).unwrap());
        away.unpack_branch(&[(two.clone(), &whole)], "crew", None).unwrap();
    });
}

#[test]
fn a_pack_is_believed_in_nothing() {
    alone(|scene| {
        let (home, base) = scene.begun();
        let (away, place) = other_machine(scene);
        let tree = scene.tree(&home, "ana");
        write(tree.path(), "one.txt", "1\n");
        let work = save(&tree);
        home.take_in(&tree, &work, &key(1, 10)).unwrap();
        let pack = scene.path("work.pack");
        assert!(home.pack_work(&key(1, 10), std::slice::from_ref(&base), &pack).unwrap());
        let before = git(&place, &["for-each-ref"]);

        // Another commit than the one that was announced.
        let announced = Commit::parse(&"a".repeat(40)).unwrap();
        let refused = away.unpack_work(&pack, &announced, &key(1, 10));
        assert!(matches!(refused, Err(UnpackFailure::OtherCommit { .. })), "{refused:?}");

        // Every byte behind the header, cut and turned.
        let bytes = pack_of(&scene.path(""), "work.pack");
        let begins = bytes.windows(4).position(|four| four == b"PACK").unwrap();
        let bad = scene.path("bad.pack");
        for at in (begins..bytes.len()).step_by(7) {
            let mut turned = bytes.clone();
            turned[at] ^= 0x41;
            for damaged in [&bytes[..at], &turned[..]] {
                fs::write(&bad, damaged).unwrap();
                let refused = away.unpack_work(&bad, &work, &key(1, 10));
                assert!(matches!(refused, Err(UnpackFailure::Damaged { .. })), "{at}: {refused:?}");
            }
        }
        for nonsense in [&b""[..], b"# v2 git bundle\n", b"not a bundle", b"\0\0\0"] {
            fs::write(&bad, nonsense).unwrap();
            assert!(away.unpack_work(&bad, &work, &key(1, 10)).is_err());
        }
        assert_eq!(git(&place, &["for-each-ref"]), before);

        // A link in the place of git's own folder: an object that git must not have.
        let evil = scene.path("evil");
        git(&scene.user(), &["clone", "--quiet", "--no-local", ".", evil.to_str().unwrap()]);
        git(&evil, &["config", "user.name", "Evil"]);
        git(&evil, &["config", "user.email", "evil@example.com"]);
        let blob = git(&evil, &["hash-object", "-w", "a.txt"]);
        let listing = evil.join("listing");
        fs::write(&listing, format!("100644 blob {blob}\t.git\n")).unwrap();
        let input = fs::File::open(&listing).unwrap();
        let made = plain_git(&evil).arg("mktree").stdin(input).output().unwrap();
        let made = String::from_utf8(made.stdout).unwrap();
        let commit = git(&evil, &["commit-tree", made.trim(), "-p", base.as_str(), "-m", "evil"]);
        git(&evil, &["update-ref", "refs/heads/evil", &commit]);
        let range = format!("^{base}");
        git(&evil, &["bundle", "create", bad.to_str().unwrap(), "refs/heads/evil", &range]);
        let commit = Commit::parse(&commit).unwrap();
        let refused = away.unpack_work(&bad, &commit, &key(1, 10));
        assert!(matches!(refused, Err(UnpackFailure::Damaged { .. })), "{refused:?}");
        assert_eq!(git(&place, &["for-each-ref"]), before);
    });
}
