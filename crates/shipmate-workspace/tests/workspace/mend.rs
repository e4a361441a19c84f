//! Trees that were left in a bad state: git is not held up by them, and nothing of them is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shipmate_workspace::{Keep, Parent, Paths, Tree};

use crate::scene::{alone, alone_without_rights, author, git, read, write};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn folders_that_are_closed_to_their_owner_are_rescued_and_cleared_away() {
    alone_without_rights(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        for (name, closed) in [("secret", 0o000), ("cache/mod", 0o555), ("src/deep", 0o200)] {
            write(tree.path(), &format!("{name}/f"), "work");
            mode(&tree.path().join(name), closed);
        }
        let kept = repository.keep_aside(&tree, "crew", "x").unwrap().kept.unwrap();
        assert_eq!(kept.files, ["cache/mod/f", "secret/f", "src/deep/f"]);
        mode(&tree.path().join("secret"), 0o000);
        tree.bring_up(&base, Keep::Nothing).unwrap();
        assert!(tree.is_clean().unwrap());
        assert!(!tree.path().join("secret").exists() && !tree.path().join("cache").exists());
    });
}

#[test]
fn pipes_that_git_would_read_are_taken_away_before_it_comes() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let plant = || {
            for name in [".gitignore", "src/.gitattributes", ".gitmodules", ".git/objects/x"] {
                let path = tree.path().join(name);
                let _ = fs::remove_file(&path);
                fifo(&path);
            }
            write(tree.path(), "new", "work");
        };
        plant();
        let kept = repository.keep_aside(&tree, "crew", "x").unwrap().kept.unwrap();
        assert!(kept.files.contains(&"new".to_owned()), "{kept:?}");
        plant();
        tree.snapshot(Paths::All, "work\n", Parent::Head).unwrap();
        plant();
        tree.difference(&base, Paths::All).unwrap();
        plant();
        tree.bring_up(&base, Keep::Work).unwrap();
        plant();
        tree.bring_up(&base, Keep::Nothing).unwrap();
        assert!(tree.is_clean().unwrap());
    });
}

#[test]
fn a_tree_that_is_put_aside_is_whole_and_can_be_put_back() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "new", "work");
        let work = tree.snapshot(Paths::All, "work\n", Parent::Head).unwrap().commit.unwrap();
        let path = tree.path().to_owned();
        let aside = Tree::set_aside(&repository, &path).unwrap().unwrap();
        assert!(!path.exists() && aside.place != path);
        // Its own git finds the commit, which the runtime had put into the shadow.
        assert_eq!(git(&aside.place, &["show", &format!("{work}:new")]), "work");
        let found = Tree::at(&aside.place, "ana", &author("ana")).unwrap();
        assert_eq!(found.head().unwrap(), Some(work.clone()));

        let fresh = scene.tree(&repository, "ana");
        assert_eq!(fresh.head().unwrap(), Some(base));
        aside.put_back(&repository, &path).unwrap();
        assert_eq!(tree.head().unwrap(), Some(work));
        assert_eq!(read(&path, "new"), "work");
        assert_eq!(Tree::set_aside(&repository, &scene.tree_path("nobody")).unwrap(), None);
    });
}

#[test]
fn what_a_gate_leaves_is_no_obstacle_to_the_next_check_out() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "merge");
        fs::remove_dir_all(tree.path().join(".git")).unwrap();
        tree.check_out_afresh(&repository, &base).unwrap();
        assert!(tree.is_clean().unwrap());
        fs::remove_dir_all(tree.path()).unwrap();
        tree.check_out_afresh(&repository, &base).unwrap();
        assert!(tree.is_clean().unwrap());
        let beside = fs::read_dir(tree.path().parent().unwrap()).unwrap();
        let left = beside.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| name.contains("broken")).count(), 0);
    });
}
