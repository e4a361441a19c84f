//! A teammate's tree: made, brought up, committed from, made anew.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use shipmate_workspace::{BroughtUp, Failure, Keep, Parent, Paths, SnapshotFailure, Tree};

use crate::scene::{
    alone, author, commit_all, files, git, key, land, plain_git, read, save, write,
};

#[test]
fn a_tree_has_its_own_branch_identity_and_files() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        assert_eq!(tree.head().unwrap(), Some(base));
        assert!(tree.is_clean().unwrap());
        assert_eq!(git(tree.path(), &["branch", "--show-current"]), "ana");
        assert_eq!(git(tree.path(), &["status", "--porcelain"]), "");
        write(tree.path(), "a.txt", "by ana\n");
        assert!(!tree.is_clean().unwrap());
        let own = commit_all(tree.path(), "as an agent commits");
        assert_eq!(tree.head().unwrap(), Some(own));
        assert!(tree.is_clean().unwrap());
        assert_eq!(git(tree.path(), &["log", "-1", "--format=%an <%ae>"]), "ana <ana@shipmate>");
        let pushed = plain_git(tree.path()).args(["push", "origin", "ana"]).output().unwrap();
        assert!(String::from_utf8_lossy(&pushed.stderr).contains("submit-the-task-instead"));
        git(tree.path(), &["fsck", "--strict"]);

        // Opened again it is the same, with its work.
        let again = Tree::prepare(&repository, tree.path(), "ana", &author("ana")).unwrap();
        assert_eq!(again.head().unwrap(), tree.head().unwrap());
        repository.let_go(again, "crew", "ana").unwrap();
        assert!(!tree.path().exists() && !tree.shadow().exists());
    });
}

#[test]
fn many_trees_can_be_prepared_at_once() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        std::thread::scope(|scope| {
            for number in 0..8 {
                // Two for each name: the second opens what the first made.
                let name = format!("mate{}", number / 2);
                let repository = &repository;
                scope.spawn(move || {
                    let path = scene.tree_path(&name);
                    Tree::prepare(repository, &path, &name, &author(&name)).unwrap();
                });
            }
        });
        for number in 0..4 {
            assert_eq!(
                scene.tree(&repository, &format!("mate{number}")).head().unwrap(),
                Some(base.clone())
            );
        }
    });
}

#[test]
fn what_a_crash_leaves_of_a_clone_is_made_anew() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let path = scene.tree_path("ana");
        // Killed in the middle of making it, in its old place and in the new one.
        write(&path, ".git/objects/half", "");
        write(&scene.tree_path("ana.making"), ".git/HEAD", "");
        write(&scene.tree_path("ana.shadow"), "HEAD", "");
        write(&scene.tree_path("ana.shadow-making"), "HEAD", "");
        let tree = scene.tree(&repository, "ana");
        assert_eq!(tree.head().unwrap(), Some(base.clone()));
        assert!(scene.tree_path("ana.broken-1").join(".git/objects/half").exists());

        fs::remove_dir_all(tree.shadow()).unwrap();
        let tree = scene.tree(&repository, "ana");
        assert!(tree.is_clean().unwrap());

        fs::remove_dir_all(tree.path().join(".git")).unwrap();
        let broken = tree.bring_up(&base, Keep::Nothing).unwrap_err();
        assert!(matches!(broken, Failure::BrokenTree { .. }), "{broken}");
        let tree = scene.tree(&repository, "ana");
        assert_eq!(tree.head().unwrap(), Some(base));
        assert!(scene.tree_path("ana.broken-2").join("a.txt").exists());
    });
}

#[test]
fn bringing_up_with_nothing_kept_gives_exactly_the_tip() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let bo = scene.tree(&repository, "bo");
        let ana = scene.tree(&repository, "ana");
        write(bo.path(), "c.txt", "bo\n");
        fs::remove_file(bo.path().join("b.txt")).unwrap();
        let tip = land(&repository, &bo, &save(&bo), &key(1, 1));

        let at = ana.path();
        write(at, "a.txt", "uncommitted\n");
        write(at, "own.log", "ignored, but committed by force\n");
        git(at, &["add", "-f", "own.log"]);
        git(at, &["commit", "-q", "-m", "own"]);
        write(at, "untracked dir/x", "x");
        write(at, "target/cache", "kept");
        git(at, &["init", "-q", "nested"]);
        git(at, &["checkout", "-q", "-b", "elsewhere"]);
        write(at, ".git/index.lock", "left by a git that died");
        write(at, ".git/refs/heads/ana.lock", "");
        write(at, ".git/rebase-merge/done", "");

        assert_eq!(ana.bring_up(&tip, Keep::Nothing).unwrap(), BroughtUp::At(tip.clone()));
        assert_eq!(git(at, &["status", "--porcelain", "--ignored"]), "!! target/");
        assert_eq!(git(at, &["branch", "--show-current"]), "ana");
        assert_eq!(ana.head().unwrap(), Some(tip.clone()));
        assert_eq!(read(at, "target/cache"), "kept");
        assert!(at.join("c.txt").exists() && !at.join("b.txt").exists());
        assert!(!at.join("own.log").exists() && !at.join("nested").exists());
        assert!(!at.join(".git/rebase-merge").exists() && !at.join(".git/index.lock").exists());
        assert_eq!(ana.bring_up(&tip, Keep::Nothing).unwrap(), BroughtUp::AlreadyThere);
        assert_eq!(ana.bring_up(&base, Keep::Nothing).unwrap(), BroughtUp::At(base));
    });
}

#[test]
fn a_packed_branch_is_read_like_a_loose_one() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        let work = commit_all(tree.path(), "work");
        git(tree.path(), &["gc", "-q"]);
        assert!(!tree.path().join(".git/refs/heads/ana").exists());
        assert_eq!(tree.head().unwrap(), Some(work.clone()));
        repository.take_in(&tree, &work, &key(1, 1)).unwrap();
        write(tree.path(), "b.txt", "ana\n");
        let next = save(&tree);
        assert_eq!(git(tree.path(), &["rev-parse", "ana~"]), work.as_str());
        assert_eq!(git(tree.path(), &["rev-parse", "ana"]), next.as_str());
        tree.bring_up(&base, Keep::Nothing).unwrap();
        assert_eq!(git(tree.path(), &["rev-parse", "ana"]), base.as_str());
    });
}

#[test]
fn kept_work_gets_the_tip_merged_into_it() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let (ana, bo) = (scene.tree(&repository, "ana"), scene.tree(&repository, "bo"));
        write(bo.path(), "c.txt", "bo\n");
        let first = land(&repository, &bo, &save(&bo), &key(1, 1));
        assert_eq!(ana.bring_up(&first, Keep::Work).unwrap(), BroughtUp::At(first.clone()));
        assert_eq!(ana.bring_up(&first, Keep::Work).unwrap(), BroughtUp::AlreadyThere);

        write(ana.path(), "b.txt", "committed\n");
        let own = commit_all(ana.path(), "own");
        write(ana.path(), "new.txt", "uncommitted\n");
        write(bo.path(), "c.txt", "bo again\n");
        let second = land(&repository, &bo, &save(&bo), &key(2, 2));
        let BroughtUp::At(merged) = ana.bring_up(&second, Keep::Work).unwrap() else { panic!() };
        assert_eq!(git(ana.path(), &["status", "--porcelain"]), "");
        assert_eq!(read(ana.path(), "c.txt"), "bo again\n");
        assert_eq!(read(ana.path(), "new.txt"), "uncommitted\n");
        let parents = git(ana.path(), &["log", "-1", "--format=%P", merged.as_str()]);
        assert!(parents.ends_with(second.as_str()));
        git(ana.path(), &["merge-base", "--is-ancestor", own.as_str(), "HEAD"]);
        assert_eq!(ana.bring_up(&second, Keep::Work).unwrap(), BroughtUp::AlreadyThere);
    });
}

#[test]
fn a_conflict_stays_in_the_tree_until_it_is_resolved() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let (ana, bo) = (scene.tree(&repository, "ana"), scene.tree(&repository, "bo"));
        write(bo.path(), "a.txt", "bo\n");
        write(bo.path(), "other.txt", "bo\n");
        let tip = land(&repository, &bo, &save(&bo), &key(1, 1));
        write(ana.path(), "a.txt", "ana\n");
        let conflicts = BroughtUp::Conflicts(vec!["a.txt".to_owned()]);
        assert_eq!(ana.bring_up(&tip, Keep::Work).unwrap(), conflicts);
        assert_eq!(ana.bring_up(&tip, Keep::Work).unwrap(), conflicts);
        let marked = read(ana.path(), "a.txt");
        assert!(marked.contains("<<<<<<< YOUR_WORK\nana\n=======\nbo\n>>>>>>> TEAM_BRANCH"));
        assert_eq!(read(ana.path(), "other.txt"), "bo\n");
        let status = git(ana.path(), &["status", "--porcelain"]);
        assert_eq!(status, "UU a.txt\nA  other.txt");
        assert_eq!(ana.unfinished_conflicts().unwrap(), ["a.txt"]);
        assert!(!ana.is_clean().unwrap());

        // Saying that it is resolved is not resolving it.
        git(ana.path(), &["add", "a.txt"]);
        let refused = ana.snapshot(Paths::All, "done", Parent::Head).unwrap_err();
        assert!(matches!(&refused, SnapshotFailure::Conflicts { files } if files == &["a.txt"]));

        write(ana.path(), "a.txt", "ana and bo\n");
        assert_eq!(ana.unfinished_conflicts().unwrap(), [""; 0]);
        let work = save(&ana);
        let parents = git(ana.path(), &["log", "-1", "--format=%P", work.as_str()]);
        assert!(parents.ends_with(tip.as_str()) && parents.contains(' '));
        assert_eq!(git(ana.path(), &["status", "--porcelain", "--branch"]), "## ana");
        assert!(!ana.path().join(".git/MERGE_HEAD").exists());
        land(&repository, &ana, &work, &key(2, 2));
    });
}

#[test]
fn half_of_a_merge_is_not_taken_for_the_teammate_s_work() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let (ana, bo) = (scene.tree(&repository, "ana"), scene.tree(&repository, "bo"));
        write(bo.path(), "a.txt", "bo\n");
        write(bo.path(), "new.txt", "bo\n");
        let tip = land(&repository, &bo, &save(&bo), &key(1, 1));
        write(ana.path(), "a.txt", "ana\n");
        let conflicts = BroughtUp::Conflicts(vec!["a.txt".to_owned()]);
        assert_eq!(ana.bring_up(&tip, Keep::Work).unwrap(), conflicts);

        // As if killed once the files had changed and before anything else had.
        let head = ana.head().unwrap().unwrap();
        let merge = ["merge-tree", "--write-tree", "ana", tip.as_str()];
        let merged = plain_git(ana.path()).args(merge).output().unwrap().stdout;
        let merged = String::from_utf8(merged).unwrap();
        let tree = merged.lines().next().unwrap();
        write(ana.shadow(), "on-the-way", &format!("{head} {tree}"));
        fs::remove_file(ana.path().join(".git/MERGE_HEAD")).unwrap();
        git(ana.path(), &["read-tree", "ana"]);
        fs::remove_file(ana.path().join("new.txt")).unwrap();
        assert_eq!(ana.bring_up(&tip, Keep::Work).unwrap(), conflicts);
        assert_eq!(ana.head().unwrap(), Some(head));
        assert_eq!(read(ana.path(), "a.txt").matches("<<<<<<<").count(), 1);
        assert_eq!(read(ana.path(), "new.txt"), "bo\n");
        assert_eq!(git(ana.path(), &["status", "--porcelain"]), "UU a.txt\nA  new.txt");
    });
}

#[test]
fn an_agent_can_conclude_the_merge_with_its_own_git() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let (ana, bo) = (scene.tree(&repository, "ana"), scene.tree(&repository, "bo"));
        write(bo.path(), "a.txt", "bo\n");
        let tip = land(&repository, &bo, &save(&bo), &key(1, 1));
        write(ana.path(), "a.txt", "ana\n");
        ana.bring_up(&tip, Keep::Work).unwrap();
        write(ana.path(), "a.txt", "both\n");
        git(ana.path(), &["commit", "-q", "-a", "--no-edit"]);
        assert!(ana.is_clean().unwrap());
        assert_eq!(ana.bring_up(&tip, Keep::Work).unwrap(), BroughtUp::AlreadyThere);
    });
}

#[test]
fn a_snapshot_holds_every_kind_of_file_and_nothing_ignored() {
    alone(|scene| {
        write(&scene.user(), "folder/file", "x\n");
        write(&scene.user(), "was file", "x\n");
        write(&scene.user(), "was folder/x", "x\n");
        write(&scene.user(), "linked/x", "x\n");
        commit_all(&scene.user(), "more");
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let at = tree.path();
        fs::remove_file(at.join("folder/file")).unwrap();
        fs::remove_file(at.join("was file")).unwrap();
        write(at, "was file/inside", "x\n");
        fs::remove_dir_all(at.join("was folder")).unwrap();
        write(at, "was folder", "now a file\n");
        fs::remove_dir_all(at.join("linked")).unwrap();
        symlink("src", at.join("linked")).unwrap();
        fs::set_permissions(at.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        write(at, "-a\n[x]*.txt", "odd\n");
        write(at, "target/x", "ignored\n");
        git(at, &["init", "-q", "nested"]);
        write(at, "nested/file", "x\n");

        let snapshot = tree.snapshot(Paths::All, "all", Parent::Head).unwrap();
        let commit = snapshot.commit.unwrap();
        assert_eq!(snapshot.left_out, ["nested"]);
        let expected = [
            "-a\n[x]*.txt",
            ".gitignore",
            "a.txt",
            "b.txt",
            "linked",
            "src/lib.rs",
            "was file/inside",
            "was folder",
        ];
        assert_eq!(files(at, &commit), expected);
        assert!(git(at, &["ls-tree", "HEAD", "a.txt"]).starts_with("100755"));
        assert!(git(at, &["ls-tree", "HEAD", "linked"]).starts_with("120000"));
        assert_eq!(git(at, &["status", "--porcelain"]), "?? nested/");
        let again = tree.snapshot(Paths::All, "again", Parent::Head).unwrap();
        assert_eq!(again.commit, None);
    });
}

#[test]
fn a_change_of_the_same_size_and_moment_is_seen() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        for number in 0..30 {
            write(tree.path(), "a.txt", &format!("{number:04}\n"));
            let commit = save(&tree);
            let text = git(tree.path(), &["show", &format!("{commit}:a.txt")]);
            assert_eq!(text, format!("{number:04}"));
        }
    });
}

#[test]
fn named_paths_are_files_folders_and_patterns() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        for name in ["app/[id]/x.ts", "app/i/x.ts", "src/a.rs", "src/deep/b.rs", "top.rs"] {
            write(tree.path(), name, "x\n");
        }
        let named = |patterns: &[&str]| {
            let patterns: Vec<_> = patterns.iter().map(|text| (*text).to_owned()).collect();
            let parent = Parent::Commit(&base);
            let made = tree.snapshot(Paths::Named(&patterns), "x", parent).unwrap();
            let Some(commit) = made.commit else { return Vec::new() };
            let old = [".gitignore", "a.txt", "b.txt", "src/lib.rs"];
            let mut found = files(tree.path(), &commit);
            found.retain(|name| !old.contains(&name.as_str()));
            found
        };
        assert_eq!(named(&["app/[id]"]), ["app/[id]/x.ts"]);
        assert_eq!(named(&["app/[id]/*.ts"]), ["app/[id]/x.ts"]);
        assert_eq!(named(&["src/*.rs"]), ["src/a.rs"]);
        assert_eq!(named(&["src/d*"]), ["src/deep/b.rs"]);
        assert_eq!(named(&["**/b.rs", "top.rs"]), ["src/deep/b.rs", "top.rs"]);
        assert_eq!(named(&["."]).len(), 5);
        assert_eq!(named(&["nothing"]), [""; 0]);
        assert_eq!(named(&[]), [""; 0]);
        assert_eq!(tree.head().unwrap(), Some(base.clone()));
    });
}

#[test]
fn a_git_at_work_is_waited_for_and_a_dead_one_is_not() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        let lock = tree.path().join(".git/index.lock");
        File::create(&lock).unwrap();
        let busy = tree.snapshot(Paths::All, "x", Parent::Head).unwrap_err();
        assert!(matches!(&busy, SnapshotFailure::Failed(Failure::Busy { .. })), "{busy}");
        assert!(busy.to_string().contains("index.lock"));
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(&lock).unwrap().set_modified(long_ago).unwrap();
        save(&tree);
        assert!(!lock.exists());
    });
}

#[test]
fn the_integration_clone_is_exact_and_keeps_its_caches() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "c.txt", "ana\n");
        let merged = land(&repository, &tree, &save(&tree), &key(1, 1));
        let path = scene.tree_path("integration");
        let place = Tree::prepare(&repository, &path, "integration", &author("gate")).unwrap();
        assert_eq!(place.check_out(&merged).unwrap(), BroughtUp::At(merged.clone()));
        assert_eq!(read(&path, "c.txt"), "ana\n");
        write(&path, "target/cache", "kept");
        write(&path, "made by a test", "x");
        write(&path, "a.txt", "formatted\n");
        place.check_out(&merged).unwrap();
        assert_eq!(git(&path, &["status", "--porcelain", "--ignored"]), "!! target/");
        assert_eq!(place.check_out(&merged).unwrap(), BroughtUp::AlreadyThere);
        place.check_out(&base).unwrap();
        assert!(!path.join("c.txt").exists());
        assert_eq!(place.head().unwrap(), Some(base));
        assert_eq!(git(&path, &["branch", "--show-current"]), "");
    });
}
