//! Work kept aside, and what a team leaves behind.

use shipmate_runtime::workspace::{Keep, LeftoverKind, RemoveFailure};

use crate::scene::{alone, bytes_of, commit_all, files, git, key, land, save, write};

#[test]
fn work_is_kept_aside_and_the_tree_stays_byte_for_byte() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        assert_eq!(repository.keep_aside(&tree, "crew", "ana-1").unwrap(), None);
        write(tree.path(), "committed.txt", "x\n");
        let own = commit_all(tree.path(), "own");
        write(tree.path(), "a.txt", "changed\n");
        write(tree.path(), "staged.txt", "x\n");
        git(tree.path(), &["add", "staged.txt"]);
        write(tree.path(), "untracked.txt", "x\n");
        write(tree.path(), "some.log", "ignored\n");
        git(tree.path(), &["init", "-q", "nested"]);
        let before = bytes_of(tree.path());

        let kept = repository.keep_aside(&tree, "crew", "ana-1").unwrap().unwrap();
        assert_eq!(bytes_of(tree.path()), before);
        assert_eq!(kept.refname, "refs/shipmate/crew/aside/ana-1");
        assert_eq!(kept.files, ["a.txt", "committed.txt", "staged.txt", "untracked.txt"]);
        assert_eq!(kept.left_out, ["nested"]);
        let parent = git(&scene.user(), &["rev-parse", &format!("{}~", kept.commit)]);
        assert_eq!(parent, own.as_str());
        assert!(!files(&scene.user(), &kept.commit).contains(&"some.log".to_owned()));

        // Again, as after a crash: the same. With other content: another name.
        let again = repository.keep_aside(&tree, "crew", "ana-1").unwrap().unwrap();
        assert_eq!(again, kept);
        write(tree.path(), "a.txt", "changed again\n");
        let other = repository.keep_aside(&tree, "crew", "ana-1").unwrap().unwrap();
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
        let kept = repository.keep_aside(&tree, "crew", "x").unwrap().unwrap();
        assert_eq!(kept.commit, work);
        land(&repository, &tree, &work, &key(1, 1));
        assert_eq!(repository.keep_aside(&tree, "crew", "y").unwrap(), None);
    });
}

#[test]
fn a_clone_without_a_readable_head_still_gives_up_its_files() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        write(tree.path(), ".git/HEAD", "nonsense");
        let kept = repository.keep_aside(&tree, "crew", "x").unwrap().unwrap();
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
        repository.keep_aside(&tree, "crew", "ana").unwrap();
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
