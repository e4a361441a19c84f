//! The team's work on its way to the user: their merge, and a branch per feature.

use std::fs;

use shipmate_workspace::{
    Commit, Feature, FeatureBranch, Keep, LandedWorkStands, LookFor, MissingFrom, PlannedMerge,
    Repository, UserMergeFailure,
};

use crate::scene::{
    Scene, alone, bytes_of, commit_all, deliver, files, git, hook, key, land, read, save, write,
};

#[test]
fn the_user_gets_the_work_with_their_own_identity_and_hooks() {
    alone(|scene| {
        hook(scene, "post-merge", "echo ran > .git/post-merge-ran");
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "one\ntwo\nTHREE\n");
        land(&repository, &tree, &save(&tree), &key(1, 1));
        assert!(!scene.user().join(".git/post-merge-ran").exists());
        write(&scene.user(), "b.txt", "the user's own\n");
        commit_all(&scene.user(), "meanwhile");
        write(&scene.user(), "untracked", "x");

        let commit = deliver(scene, &repository).unwrap();
        assert_eq!(git(&scene.user(), &["rev-parse", "main"]), commit.as_str());
        assert_eq!(read(&scene.user(), "a.txt"), "one\ntwo\nTHREE\n");
        assert_eq!(git(&scene.user(), &["log", "-1", "--format=%an"]), "User");
        assert_eq!(git(&scene.user(), &["status", "--porcelain"]), "?? untracked");
        assert!(scene.user().join(".git/post-merge-ran").exists());
        let again = repository.plan_merge("crew").unwrap();
        assert_eq!(again, PlannedMerge::AlreadyMerged { branch: "main".to_owned() });
    });
}

#[test]
fn a_merge_that_cannot_be_leaves_the_checkout_as_it_was() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        land(&repository, &tree, &save(&tree), &key(1, 1));
        let merge = || deliver(scene, &repository);
        let files_before = |scene: &Scene| {
            let mut found = bytes_of(&scene.user());
            found.retain(|(path, _)| !path.components().any(|part| part.as_os_str() == ".git"));
            found
        };

        let before = git(&scene.user(), &["rev-parse", "main"]);
        hook(scene, "pre-merge-commit", "echo not today >&2; exit 1");
        let refused = merge().unwrap_err();
        let said = refused.to_string();
        assert!(matches!(refused, UserMergeFailure::Refused { .. }) && said.contains("not today"));
        assert_eq!(git(&scene.user(), &["status", "--porcelain"]), "");
        assert_eq!(git(&scene.user(), &["rev-parse", "main"]), before);
        assert!(!scene.user().join(".git/MERGE_HEAD").exists());
        fs::remove_file(scene.user().join(".git/hooks/pre-merge-commit")).unwrap();

        write(&scene.user(), "b.txt", "uncommitted\n");
        let refused = merge().unwrap_err();
        assert!(matches!(&refused, UserMergeFailure::Dirty { files } if files == &["b.txt"]));
        assert!(refused.to_string().contains("git stash"));
        git(&scene.user(), &["checkout", "-q", "b.txt"]);

        write(&scene.user(), "a.txt", "the user's own\n");
        commit_all(&scene.user(), "meanwhile");
        let before = files_before(scene);
        let conflict = repository.plan_merge("crew").unwrap();
        let PlannedMerge::Conflict { files, .. } = conflict else { panic!("{conflict:?}") };
        assert_eq!(files, ["a.txt"]);
        assert_eq!(files_before(scene), before);
        assert_eq!(git(&scene.user(), &["status", "--porcelain"]), "");

        git(&scene.user(), &["checkout", "-q", "--detach"]);
        assert!(matches!(merge().unwrap_err(), UserMergeFailure::Detached));
        git(&scene.user(), &["checkout", "-q", "shipmate/crew"]);
        assert!(matches!(merge().unwrap_err(), UserMergeFailure::OnTeamBranch { .. }));
        let none = repository.plan_merge("none").unwrap_err();
        assert!(matches!(none, UserMergeFailure::NoSuchTeam { .. }));
    });
}

#[test]
fn each_feature_gets_a_branch_or_the_name_of_what_it_needs() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        let work = |task: u32, name: &str, text: &str| {
            let tip = repository.tip("crew").unwrap().unwrap();
            tree.bring_up(&tip, Keep::Nothing).unwrap();
            write(tree.path(), name, text);
            land(&repository, &tree, &save(&tree), &key(task, task.into()));
        };
        work(1, "login.txt", "login\n");
        work(2, "pay.txt", "pay\n");
        work(3, "login.txt", "login\nlogout\n");
        work(4, "login.txt", "login\nlogout\npay\n");
        let feature =
            |name: &str, tasks: &[u32]| Feature { name: name.to_owned(), tasks: tasks.to_vec() };
        let features = [feature("login", &[1, 3]), feature("pay", &[2, 4]), feature("later", &[9])];
        let made = repository.feature_branches("crew", &base, &features).unwrap();
        let FeatureBranch::Made { branch, commit, .. } = &made[0] else { panic!("{made:?}") };
        assert_eq!(branch, "shipmate/crew.login");
        assert_eq!(git(&scene.user(), &["rev-parse", branch]), commit.as_str());
        assert_eq!(git(&scene.user(), &["log", "--format=%s", branch]), "task 3\ntask 1\nfirst");
        assert!(!files(&scene.user(), commit).contains(&"pay.txt".to_owned()));
        let needs = FeatureBranch::Needs {
            feature: "pay".to_owned(),
            task: 4,
            features: vec!["login".to_owned()],
            files: vec!["login.txt".to_owned()],
        };
        assert_eq!(made[1], needs);
        assert_eq!(made[2], FeatureBranch::Empty { feature: "later".to_owned() });

        // Again it is the same; with one more task it grows; a user's commit on it is not lost.
        assert_eq!(repository.feature_branches("crew", &base, &features).unwrap(), made);
        work(9, "login.txt", "login\nlogout\npay\nlater\n");
        work(5, "other login.txt", "x\n");
        let more = [feature("login", &[1, 3, 5])];
        let grown = repository.feature_branches("crew", &base, &more).unwrap();
        let FeatureBranch::Made { commit: new, .. } = &grown[0] else { panic!("{grown:?}") };
        assert_eq!(git(&scene.user(), &["rev-parse", &format!("{new}~")]), commit.as_str());
        git(&scene.user(), &["checkout", "-q", branch]);
        write(&scene.user(), "b.txt", "the user's\n");
        commit_all(&scene.user(), "the user's own");
        let refused = repository.feature_branches("crew", &base, &more).unwrap();
        assert!(matches!(refused[0], FeatureBranch::Exists { .. }), "{refused:?}");
    });
}

/// A merge in whose way something of the user's lies: it is refused, and nothing is changed.
#[track_caller]
fn is_kept(scene: &Scene, repository: &Repository, way: &str) {
    let outside_git = || {
        let mut found = bytes_of(&scene.user());
        found.retain(|(path, _)| !path.components().any(|part| part.as_os_str() == ".git"));
        found
    };
    let (before, head) = (outside_git(), git(&scene.user(), &["rev-parse", "main"]));
    let refused = deliver(scene, repository).unwrap_err();
    let UserMergeFailure::InTheWay { files, more, .. } = &refused else { panic!("{refused}") };
    assert_eq!((files.as_slice(), *more), ([way.to_owned()].as_slice(), 0));
    let said = refused.to_string();
    assert!(said.contains("Move it away") && said.contains("shipmate/crew"), "{said}");
    assert_eq!(outside_git(), before);
    assert_eq!(git(&scene.user(), &["rev-parse", "main"]), head);
    assert!(!scene.path("merge/intent.json").exists());
}

#[test]
fn what_git_does_not_keep_is_never_written_over() {
    alone(|scene| {
        // Each: what the user's commit has, what the team adds, what lies in the way.
        let cases = [
            ("", "x.log", "x.log", "x.log"),
            ("", "plain", "plain", "plain"),
            ("", "x.log/deep/file", "x.log", "x.log"),
            ("", "target", "target/built", "target/"),
            ("tool/kept", "tool", "tool/my.log", "tool/"),
        ];
        for (has, adds, mine, way) in cases {
            scene.make_repository("sha1");
            let _ = fs::remove_dir_all(scene.path("state of it/trees"));
            if !has.is_empty() {
                write(&scene.user(), has, "x\n");
                commit_all(&scene.user(), "more");
            }
            let (repository, _) = scene.begun();
            let at = scene.path("by hand");
            let _ = fs::remove_dir_all(&at);
            let at_text = at.display().to_string();
            git(&scene.user(), &["worktree", "prune"]);
            git(&scene.user(), &["worktree", "add", "-q", &at_text, "shipmate/crew"]);
            if !has.is_empty() {
                git(&at, &["rm", "-q", has]);
            }
            write(&at, adds, "the team's\n");
            git(&at, &["add", "-f", adds]);
            git(&at, &["commit", "-q", "-m", "theirs"]);
            write(&scene.user(), mine, "mine\n");
            is_kept(scene, &repository, way);
            // And again where it appears after the plan, while the gate runs.
            let path = scene.user().join(mine);
            fs::remove_file(&path).unwrap();
            let planned = repository.plan_merge("crew").unwrap();
            let PlannedMerge::Ready(ready) = planned else { panic!("{planned:?}") };
            write(&scene.user(), mine, "mine\n");
            let refused = repository.merge_into_user(&ready, &scene.path("merge"), "d1");
            assert!(matches!(refused, Err(UserMergeFailure::InTheWay { .. })), "{refused:?}");
            assert_eq!(read(&scene.user(), mine), "mine\n");
            fs::remove_file(&path).unwrap();
            deliver(scene, &repository).unwrap();
            assert_eq!(read(&scene.user(), adds), "the team's\n");
        }
    });
}

#[test]
fn a_file_behind_a_tracked_symlink_is_not_in_the_way() {
    alone(|scene| {
        write(&scene.path("elsewhere"), "file", "not here\n");
        std::os::unix::fs::symlink(scene.path("elsewhere"), scene.user().join("link")).unwrap();
        commit_all(&scene.user(), "a link");
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        fs::remove_file(tree.path().join("link")).unwrap();
        write(tree.path(), "link/file", "the team's\n");
        land(&repository, &tree, &save(&tree), &key(1, 1));
        deliver(scene, &repository).unwrap();
        assert_eq!(read(&scene.user(), "link/file"), "the team's\n");
        assert_eq!(read(&scene.path("elsewhere"), "file"), "not here\n");
    });
}

#[test]
fn a_hook_that_fails_is_told_with_what_it_left_and_without_gits_advice() {
    alone(|scene| {
        let (repository, _) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        land(&repository, &tree, &save(&tree), &key(1, 1));
        hook(scene, "commit-msg", "echo not today >&2; exit 1");
        let said = deliver(scene, &repository).unwrap_err().to_string();
        assert!(said.contains("nothing was changed") && said.contains("not today"), "{said}");
        assert!(!said.contains("git commit"), "{said}");
        hook(scene, "commit-msg", "echo more >> b.txt; exit 1");
        let refused = deliver(scene, &repository).unwrap_err();
        let said = refused.to_string();
        let UserMergeFailure::LeftChanges { files, .. } = refused else { panic!("{said}") };
        assert_eq!(files, ["b.txt"]);
        assert!(!said.contains("nothing was changed"), "{said}");
        assert_eq!(read(&scene.user(), "b.txt"), "b\nmore\n");
        assert_eq!(git(&scene.user(), &["status", "--porcelain"]), " M b.txt");
    });
}

#[test]
fn work_that_landed_is_missed_wherever_its_branch_was_moved_to() {
    alone(|scene| {
        let (repository, base) = scene.begun();
        let tree = scene.tree(&repository, "ana");
        write(tree.path(), "a.txt", "ana\n");
        let first = land(&repository, &tree, &save(&tree), &key(1, 1));
        tree.bring_up(&first, Keep::Nothing).unwrap();
        write(tree.path(), "c.txt", "ana\n");
        let last = land(&repository, &tree, &save(&tree), &key(2, 2));
        // A person's own commit, and one that nobody has, are no work of the team's.
        git(&scene.user(), &["checkout", "-q", "-b", "other"]);
        let other = commit_all(&scene.user(), "other");
        git(&scene.user(), &["checkout", "-q", "main"]);
        let nobodys = Commit::parse(&"1".repeat(40)).unwrap();
        let landed = [last.clone(), first.clone(), other, nobodys];
        let of = |landed: &[Commit], look_for| {
            repository.landed_work_stands("crew", &base, landed, look_for).unwrap()
        };
        let stands = |look_for| of(&landed, look_for);
        let missing = |team_branch| LandedWorkStands::Missing { last: last.clone(), team_branch };
        for look_for in [LookFor::OnTeamBranch, LookFor::OnEither] {
            assert_eq!(stands(look_for), LandedWorkStands::There);
            git(&scene.user(), &["branch", "-q", "-f", "shipmate/crew", first.as_str()]);
            assert_eq!(stands(look_for), missing(MissingFrom::Moved));
            git(&scene.user(), &["branch", "-q", "-f", "shipmate/crew", "main"]);
            assert_eq!(stands(look_for), missing(MissingFrom::Moved));
            git(&scene.user(), &["branch", "-q", "-D", "shipmate/crew"]);
            assert_eq!(stands(look_for), missing(MissingFrom::Gone));
            git(&scene.user(), &["branch", "-q", "shipmate/crew", last.as_str()]);
        }
        deliver(scene, &repository).unwrap();
        git(&scene.user(), &["branch", "-q", "-D", "shipmate/crew"]);
        let merged = LandedWorkStands::MergedAndGone { branch: "main".to_owned() };
        assert_eq!(of(&landed[..2], LookFor::OnEither), merged);
        assert_eq!(stands(LookFor::OnEither), LandedWorkStands::There, "not known to be merged");
        assert_eq!(stands(LookFor::OnTeamBranch), missing(MissingFrom::Gone));
    });
}
