//! One tree for all teammates: snapshots of named files, all at once.

use shipmate_workspace::{Merged, Parent, Paths};

use crate::scene::{about, alone, git, key, write};

#[test]
fn twenty_snapshots_at_once_hold_each_exactly_its_own_file() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "all");
        let commits: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..20)
                .map(|number| {
                    let (tree, base) = (&tree, &base);
                    scope.spawn(move || {
                        let name = format!("part {number}/file.txt");
                        write(tree.path(), &name, &format!("{number}\n"));
                        let named = [name];
                        let parent = Parent::Commit(base);
                        let made = tree.snapshot(Paths::Named(&named), "part\n", parent).unwrap();
                        made.commit.unwrap()
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let mut tip = base.clone();
        for (number, commit) in (0..).zip(&commits) {
            let key = key(number, number.into());
            repository.take_in(&tree, commit, &key).unwrap();
            let changed = repository.changed(&base, commit).unwrap();
            let paths: Vec<_> = changed.iter().map(|change| change.path.clone()).collect();
            assert_eq!(paths, [format!("part {number}/file.txt")]);
            let merged = repository.merge(&tip, commit, &about("all", &key)).unwrap();
            let Merged::Landed(next) = merged else { panic!("{merged:?}") };
            tip = next;
        }
        repository.advance("crew", &base, &tip).unwrap();
        assert_eq!(repository.log("crew", &base).unwrap().len(), 20);
        assert_eq!(tree.head().unwrap(), Some(base));
        assert_eq!(git(tree.path(), &["status", "--porcelain"]).lines().count(), 20);
    });
}

#[test]
fn a_named_snapshot_holds_deletions_and_leaves_others_changes_alone() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "all");
        std::fs::remove_file(tree.path().join("b.txt")).unwrap();
        write(tree.path(), "a.txt", "another teammate's, half done\n");
        let named = ["b.txt".to_owned()];
        let made = tree.snapshot(Paths::Named(&named), "x\n", Parent::Commit(&base)).unwrap();
        let commit = made.commit.unwrap();
        let changed = git(tree.path(), &["diff", "--name-status", base.as_str(), commit.as_str()]);
        assert_eq!(changed, "D\tb.txt");
    });
}
