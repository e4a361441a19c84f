//! The team's work on its way to the user: their merge, and a branch per feature.

use std::fs;

use shipmate_runtime::workspace::{Feature, FeatureBranch, Keep, PlannedMerge, UserMergeFailure};

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
