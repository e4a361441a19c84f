//! A clone whose agent has made its checkout sparse: what is left out was not deleted.

use std::fs;

use shipmate_workspace::{BroughtUp, Commit, Keep, Repository, Tree};

use crate::scene::{Scene, alone, commit_all, files, git, key, land, read, save, write};

/// A tree with `src` alone in it, and files at the top.
fn sparse(scene: &Scene, how: &[&str]) -> (Repository, Tree) {
    write(&scene.user(), "docs/deep/one.md", "1\n");
    write(&scene.user(), "docs/two.md", "2\n");
    commit_all(&scene.user(), "docs");
    let (repository, _) = scene.begun();
    let tree = scene.tree(&repository, "ana");
    git(tree.path(), &[&["sparse-checkout", "set"], how, &["src"]].concat());
    assert!(!tree.path().join("docs").exists());
    (repository, tree)
}

fn has_docs(scene: &Scene, commit: &Commit) -> bool {
    let found = files(&scene.user(), commit);
    ["docs/deep/one.md", "docs/two.md"].iter().all(|file| found.contains(&(*file).to_owned()))
}

fn check_hand_in(scene: &Scene, how: &[&str]) {
    let (repository, tree) = sparse(scene, how);
    assert!(tree.is_clean().unwrap());
    // Twice: the index that the first hand-in gives to the clone leaves it out as well.
    for round in 1..3 {
        write(tree.path(), "src/new.rs", &format!("{round}\n"));
        let landed = land(&repository, &tree, &save(&tree), &key(round, 1));
        assert!(has_docs(scene, &landed));
        assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
    }
    // What is really deleted is, inside and outside of what is left out.
    fs::remove_file(tree.path().join("b.txt")).unwrap();
    git(tree.path(), &["rm", "-q", "--sparse", "docs/two.md"]);
    let landed = land(&repository, &tree, &save(&tree), &key(3, 1));
    let found = files(&scene.user(), &landed);
    let mut left = vec![".gitignore", "a.txt", "docs/deep/one.md", "src/lib.rs", "src/new.rs"];
    // A sparse index may have the folder as one entry: then all of it counts as it was.
    if how.contains(&"--sparse-index") {
        left.insert(3, "docs/two.md");
    }
    assert_eq!(found, left);
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_deleted_by_handing_in() {
    alone(|scene| check_hand_in(scene, &["--cone"]));
}

#[test]
fn patterns_that_leave_files_out_do_not_delete_them() {
    alone(|scene| check_hand_in(scene, &["--no-cone", "/*", "!/docs/"]));
}

#[test]
fn a_sparse_index_that_leaves_whole_folders_out_does_not_delete_them() {
    alone(|scene| check_hand_in(scene, &["--cone", "--sparse-index"]));
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_deleted_by_a_rescue() {
    alone(|scene| {
        let (repository, tree) = sparse(scene, &[]);
        assert_eq!(repository.keep_aside(&tree, "crew", "1-2").unwrap().kept, None);
        write(tree.path(), "src/new.rs", "x\n");
        let kept = repository.keep_aside(&tree, "crew", "1-2").unwrap().kept.unwrap();
        assert_eq!(kept.files, ["src/new.rs"]);
        // A file that came back counts as it is.
        write(tree.path(), "docs/two.md", "changed\n");
        let kept = repository.keep_aside(&tree, "crew", "3-4").unwrap().kept.unwrap();
        assert_eq!(kept.files, ["docs/two.md", "src/new.rs"]);
        // The next task finds all files.
        let tip = repository.tip("crew").unwrap().unwrap();
        tree.bring_up(&tip, Keep::Nothing).unwrap();
        assert_eq!(read(tree.path(), "docs/two.md"), "2\n");
        assert!(tree.path().join("docs/deep/one.md").exists());
    });
}

#[test]
fn a_merge_in_a_sparse_checkout_has_what_the_other_side_did_to_files_left_out() {
    alone(|scene| {
        let (repository, tree) = sparse(scene, &[]);
        let bo = scene.tree(&repository, "bo");
        write(bo.path(), "docs/two.md", "bo\n");
        write(bo.path(), "docs/new.md", "bo\n");
        let theirs = land(&repository, &bo, &save(&bo), &key(1, 1));

        // By the agent itself, left for the hand-in to conclude.
        write(tree.path(), "src/new.rs", "x\n");
        commit_all(tree.path(), "own");
        git(tree.path(), &["fetch", "-q", "origin"]);
        git(tree.path(), &["merge", "-q", "--no-ff", "--no-commit", theirs.as_str()]);
        let landed = land(&repository, &tree, &save(&tree), &key(2, 1));
        assert!(has_docs(scene, &landed));
        let show = |name: &str| git(&scene.user(), &["show", &format!("{landed}:{name}")]);
        assert_eq!([show("docs/two.md"), show("docs/new.md")], ["bo", "bo"]);

        // By the runtime, at the next claim.
        write(bo.path(), "a.txt", "bo\n");
        land(&repository, &bo, &save(&bo), &key(3, 1));
        write(tree.path(), "src/new.rs", "y\n");
        let tip = repository.tip("crew").unwrap().unwrap();
        assert!(matches!(tree.bring_up(&tip, Keep::Work).unwrap(), BroughtUp::At(_)));
        write(tree.path(), "src/new.rs", "z\n");
        let landed = land(&repository, &tree, &save(&tree), &key(4, 1));
        assert!(has_docs(scene, &landed));
    });
}
