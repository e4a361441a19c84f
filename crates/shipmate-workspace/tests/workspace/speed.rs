//! How long things take in a repository of 2,000 files. Prints; asserts nothing about time.

use std::time::Instant;

use shipmate_workspace::{Keep, Parent, Paths, Tree};

use crate::scene::{about, alone, author, commit_all, key, write};

#[test]
#[ignore = "prints times; run it by name with --run-ignored=all --no-capture"]
fn two_thousand_files() {
    alone(|scene| {
        for number in 0..2000 {
            let name = format!("folder {}/file {number}.txt", number % 50);
            write(&scene.user(), &name, &format!("{number}\n").repeat(100));
        }
        commit_all(&scene.user(), "many");
        let (repository, base) = scene.begun();
        let time = |what: &str, start: Instant| println!("{what:<24}{:?}", start.elapsed());

        let start = Instant::now();
        let path = scene.tree_path("ana");
        let tree = Tree::prepare(&repository, &path, "ana", &author("ana")).unwrap();
        time("prepare", start);
        let start = Instant::now();
        tree.bring_up(&base, Keep::Nothing).unwrap();
        time("bring_up, first", start);
        let start = Instant::now();
        tree.bring_up(&base, Keep::Nothing).unwrap();
        time("bring_up, there", start);
        write(tree.path(), "folder 1/file 1.txt", "ana\n");
        let start = Instant::now();
        let made = tree.snapshot(Paths::All, "x", Parent::Head).unwrap();
        time("snapshot", start);
        let work = made.commit.unwrap();
        let start = Instant::now();
        repository.take_in(&tree, &work, &key(1, 1)).unwrap();
        time("take_in", start);
        let start = Instant::now();
        repository.merge(&base, &work, &about("ana", &key(1, 1))).unwrap();
        time("merge", start);
        let start = Instant::now();
        let _ = repository.keep_aside(&tree, "crew", "x").unwrap();
        time("keep_aside", start);
    });
}
