//! A merge into the user's branch, killed at one moment after the other.

use std::fs;
use std::path::{Path, PathBuf};

use shipmate_workspace::{
    Begun, Commit, Intent, PlannedMerge, Repository, Settled, UserMergeFailure,
};

use crate::scene::{
    Scene, alone, commit_all, deliver, git, hook, key, land, plain_git, read, save, write,
};

/// In which git is killed with everything it holds: by a hook, under a condition, or by a filter in
/// the middle of writing the files.
const MOMENTS: [(&str, &str); 11] = [
    ("smudge", ""),
    ("smudge", "cat"),
    ("post-index-change", ""),
    ("pre-merge-commit", ""),
    ("prepare-commit-msg", ""),
    ("commit-msg", ""),
    ("reference-transaction", "[ $1 = prepared ]"),
    ("reference-transaction", "[ $1 = committed ]"),
    ("reference-transaction", "[ $1 = prepared ] && grep -q refs/heads/main"),
    ("reference-transaction", "[ $1 = committed ] && grep -q refs/heads/main"),
    ("post-merge", ""),
];

/// Work of the team that changes, adds and removes files, and a commit of the user's beside it.
fn work(scene: &Scene) -> Repository {
    let _ = fs::remove_dir_all(scene.path("state of it/trees"));
    write(&scene.user(), "first", "a file\n");
    write(&scene.user(), "gone/deep", "x\n");
    write(&scene.user(), ".gitattributes", "m.txt filter=late\n");
    write(&scene.user(), "m.txt", "m\n");
    commit_all(&scene.user(), "more");
    let (repository, _) = scene.begun();
    let tree = scene.tree(&repository, "ana");
    write(tree.path(), "a.txt", "one\ntwo\nTHREE\n");
    write(tree.path(), "m.txt", "changed\n");
    write(tree.path(), "new/deep/file", "new\n");
    write(tree.path(), "z.txt", "new\n");
    fs::remove_dir_all(tree.path().join("gone")).unwrap();
    fs::remove_file(tree.path().join("first")).unwrap();
    write(tree.path(), "first/is a folder", "now\n");
    land(&repository, &tree, &save(&tree), &key(1, 1));
    write(&scene.user(), "b.txt", "the user's own\n");
    commit_all(&scene.user(), "meanwhile");
    write(&scene.user(), "untracked", "x\n");
    repository
}

/// Once: who puts things right is not killed for it.
fn set(scene: &Scene, (name, first): (&str, &str)) {
    let once = scene.path("once");
    let _ = fs::remove_dir(&once);
    let first = if first.is_empty() { "true" } else { first };
    let killed = format!("{first} && mkdir '{}' 2>/dev/null && kill -9 $PPID", once.display());
    match name {
        "smudge" => {
            let line = format!("{killed}; cat");
            git(&scene.user(), &["config", "filter.late.smudge", &line]);
        }
        name => hook(scene, name, &format!("{killed}; exit 0")),
    }
}

fn unset(scene: &Scene, name: &str) {
    match name {
        "smudge" => drop(git(&scene.user(), &["config", "--unset", "filter.late.smudge"])),
        name => fs::remove_file(scene.user().join(".git/hooks").join(name)).unwrap(),
    }
}

fn locks(at: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![at.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|end| end == "lock") {
                found.push(entry);
            }
        }
    }
    found
}

/// Nothing is half done in the user's checkout.
#[track_caller]
fn is_whole(scene: &Scene, before: &str, moment: &str) -> bool {
    assert!(!scene.user().join(".git/MERGE_HEAD").exists(), "{moment}");
    assert_eq!(locks(&scene.user().join(".git")), Vec::<PathBuf>::new(), "{moment}");
    assert_eq!(git(&scene.user(), &["status", "--porcelain"]), "?? untracked", "{moment}");
    assert!(!scene.path("merge/intent.json").exists(), "{moment}");
    let head = git(&scene.user(), &["rev-parse", "main"]);
    head == before || git(&scene.user(), &["rev-parse", "main^1"]) == before
}

#[test]
fn a_git_that_is_killed_in_the_merge_leaves_all_or_nothing_of_it() {
    alone(|scene| {
        for moment in MOMENTS {
            scene.make_repository("sha1");
            let repository = work(scene);
            let before = git(&scene.user(), &["rev-parse", "main"]);
            set(scene, moment);
            let merged = deliver(scene, &repository);
            assert!(is_whole(scene, &before, &format!("{moment:?}")), "{moment:?}");
            unset(scene, moment.0);
            if merged.is_err() {
                assert_eq!(git(&scene.user(), &["rev-parse", "main"]), before);
                deliver(scene, &repository).unwrap();
            }
            assert_eq!(read(&scene.user(), "new/deep/file"), "new\n");
            assert_eq!(read(&scene.user(), "b.txt"), "the user's own\n");
        }
    });
}

/// Merges by hand what was planned, as a git does whose coordinator is gone.
fn begin(scene: &Scene, repository: &Repository) -> Intent {
    let planned = repository.plan_merge("crew").unwrap();
    let PlannedMerge::Ready(ready) = planned else { panic!("{planned:?}") };
    let intent = Intent {
        team: "crew".to_owned(),
        branch: ready.branch,
        head: ready.head.to_string(),
        tip: ready.tip.to_string(),
        tree: ready.tree,
        marker: "d1:merge:crew:0".to_owned(),
        pid: None,
    };
    let text = serde_json::to_string(&intent).unwrap();
    write(&scene.path("merge"), "intent.json", &text);
    let args = ["merge", "-q", "--no-ff", "-m", "Merge the work of team crew", &intent.tip];
    drop(plain_git(&scene.user()).args(args).output().unwrap());
    intent
}

fn settle(scene: &Scene, repository: &Repository) -> Settled {
    let folder = scene.path("merge");
    let intent = Intent::read(&folder).unwrap();
    assert_eq!(intent.at_work(), None);
    repository.settle(&intent, Begun::Before, &folder).unwrap()
}

#[test]
fn a_merge_that_lost_its_git_and_its_coordinator_is_settled_by_the_next() {
    alone(|scene| {
        for moment in MOMENTS {
            scene.make_repository("sha1");
            let repository = work(scene);
            let before = git(&scene.user(), &["rev-parse", "main"]);
            set(scene, moment);
            begin(scene, &repository);
            unset(scene, moment.0);
            let settled = settle(scene, &repository);
            assert!(is_whole(scene, &before, &format!("{moment:?}")), "{moment:?}");
            match settled {
                Settled::Merged(commit) => {
                    assert_eq!(git(&scene.user(), &["rev-parse", "main"]), commit.as_str());
                }
                Settled::Undone => drop(deliver(scene, &repository).unwrap()),
                Settled::LeftAlone => panic!("{moment:?}"),
            }
        }
    });
}

#[test]
fn what_git_had_no_time_to_take_away_goes_and_nothing_of_something_else() {
    alone(|scene| {
        // Git takes away `MERGE_HEAD` first, and each of the others may be left.
        let all = ["MERGE_MSG", "MERGE_MODE", "AUTO_MERGE"];
        for left in [&all[..], &all[1..], &all[2..]] {
            scene.make_repository("sha1");
            let repository = work(scene);
            begin(scene, &repository);
            left.iter().for_each(|name| write(&scene.user().join(".git"), name, ""));
            assert!(matches!(settle(scene, &repository), Settled::Merged(_)));
            let stays =
                all.into_iter().filter(|name| scene.user().join(".git").join(name).exists());
            assert_eq!(stays.collect::<Vec<_>>(), Vec::<&str>::new(), "{left:?}");
        }
        // The user has gone on with something that has a message of its own.
        scene.make_repository("sha1");
        let repository = work(scene);
        begin(scene, &repository);
        let mine = [("CHERRY_PICK_HEAD", "x"), ("MERGE_MSG", "my words")];
        mine.iter().for_each(|(name, text)| write(&scene.user().join(".git"), name, text));
        settle(scene, &repository);
        assert_eq!(read(&scene.user(), ".git/MERGE_MSG"), "my words");
    });
}

#[test]
fn what_the_user_did_after_a_killed_merge_is_theirs() {
    alone(|scene| {
        // They have edited a file that the merge was about to change.
        let repository = work(scene);
        set(scene, ("smudge", ""));
        begin(scene, &repository);
        unset(scene, "smudge");
        write(&scene.user(), "a.txt", "my own words\n");
        assert_eq!(settle(scene, &repository), Settled::Undone);
        assert_eq!(read(&scene.user(), "a.txt"), "my own words\n");
        let status = git(&scene.user(), &["status", "--porcelain"]);
        assert_eq!(status.lines().collect::<Vec<_>>(), [" M a.txt", "?? untracked"]);

        // They merge something else.
        scene.make_repository("sha1");
        let repository = work(scene);
        set(scene, ("commit-msg", ""));
        begin(scene, &repository);
        unset(scene, "commit-msg");
        git(&scene.user(), &["merge", "--abort"]);
        git(&scene.user(), &["checkout", "-q", "-b", "other"]);
        write(&scene.user(), "other", "x\n");
        commit_all(&scene.user(), "other");
        git(&scene.user(), &["checkout", "-q", "main"]);
        git(&scene.user(), &["merge", "-q", "--no-ff", "--no-commit", "other"]);
        assert_eq!(settle(scene, &repository), Settled::LeftAlone);
        let merging = fs::read_to_string(scene.user().join(".git/MERGE_HEAD")).unwrap();
        assert!(Commit::parse(merging.trim()).is_some());
        assert_eq!(read(&scene.user(), "other"), "x\n");

        // They stand on another branch.
        scene.make_repository("sha1");
        let repository = work(scene);
        set(scene, ("commit-msg", ""));
        begin(scene, &repository);
        unset(scene, "commit-msg");
        git(&scene.user(), &["merge", "--abort"]);
        git(&scene.user(), &["checkout", "-q", "-b", "elsewhere"]);
        write(&scene.user(), "a.txt", "my own words\n");
        assert_eq!(settle(scene, &repository), Settled::LeftAlone);
        assert_eq!(read(&scene.user(), "a.txt"), "my own words\n");
    });
}

#[test]
fn a_merge_that_cannot_be_taken_back_yet_is_taken_back_by_the_next() {
    alone(|scene| {
        let repository = work(scene);
        let before = git(&scene.user(), &["rev-parse", "main"]);
        set(scene, ("smudge", ""));
        // Where git cannot write, as on a full disk.
        fs::create_dir_all(scene.path("merge/index")).unwrap();
        let refused = deliver(scene, &repository).unwrap_err();
        unset(scene, "smudge");
        let said = refused.to_string();
        assert!(matches!(refused, UserMergeFailure::Unsettled { .. }), "{said}");
        assert!(said.contains("make room") && said.contains("next `shipmate merge`"), "{said}");
        fs::remove_dir(scene.path("merge/index")).unwrap();
        assert_eq!(settle(scene, &repository), Settled::Undone);
        assert!(is_whole(scene, &before, "taken back"));
        deliver(scene, &repository).unwrap();
    });
}
