//! Many at once, in trees of their own and in one shared by all: nobody's file in another's commit.

use std::collections::BTreeSet;

use shipmate_protocol::verbs::{Setup, TaskNew};

use crate::stage::{Stage, TEAM};

const MANY: usize = 20;

fn many_at_once(mode: &str) {
    let mut stage = Stage::new("");
    stage.door("go");
    let trees = Some(mode.to_owned());
    stage.team(Setup { trees, ..Setup::default() }, &[]);
    for n in 1..=MANY {
        stage.add(&format!("dev-{n}"), |add| add);
    }
    let line = "here $SHIPMATE_TREE; pass go; put f$SHIPMATE_TASK/x 1; \
                [ $SHIPMATE_TREE = ${SHIPMATE_TREE%.shared} ] && \
                [ $((SHIPMATE_TASK % 2)) = 0 ] && git add -A && git commit -qm own; put f$SHIPMATE_TASK/y 2";
    let task = |n: usize| TaskNew {
        subject: line.to_owned(),
        files: vec![format!("f{n}/")],
        ..TaskNew::default()
    };
    let tasks = stage.create((1..=MANY).map(task).collect());
    let arrived = stage.arrivals(MANY);
    let trees: BTreeSet<&str> = arrived.iter().map(|one| one.words.as_str()).collect();
    assert_eq!(trees.len(), if mode == "shared" { 1 } else { MANY }, "{trees:?}");
    stage.open("go", MANY);
    stage.finished(MANY);
    let range = format!("{}..shipmate/{TEAM}", stage.base);
    let merges = stage.git(&["log", "--first-parent", "--format=%H %s", &range]);
    for merge in merges.lines() {
        let (commit, subject) = merge.split_once(' ').unwrap();
        let task = subject.strip_prefix("task ").unwrap().split(':').next().unwrap();
        let changed = stage.git(&["diff", "--name-only", &format!("{commit}^1"), commit]);
        assert_eq!(changed, format!("f{task}/x\nf{task}/y\n"), "{subject}");
    }
    stage.all_once(&tasks);
}

#[test]
fn twenty_that_commit_at_once_in_their_own_trees_keep_apart() {
    many_at_once("own");
}

#[test]
fn twenty_that_commit_at_once_in_one_tree_keep_apart() {
    many_at_once("shared");
}

#[test]
fn work_left_by_another_attempt_is_set_aside_under_its_own_task() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put half 1; here; pass go; put f1 x"]);
    stage.arrival();
    let next = TaskNew {
        subject: "put f2 x; here".to_owned(),
        assignee: Some("a".to_owned()),
        priority: Some(1),
        ..TaskNew::default()
    };
    stage.create(vec![next]);
    crate::processes::kill(stage.supervisor("a"));
    let aside = stage.event("task.work_set_aside");
    assert_eq!(aside["task"], 1, "{aside}");
    assert_eq!(stage.git(&["show", &format!("{}:half", aside["work"].as_str().unwrap())]), "1\n");
    stage.arrivals(2);
    stage.open("go", 1);
    stage.finished(2);
    assert!(stage.has_file("f2") && stage.has_file("f1"));
    stage.all_once(&[1, 2]);
}

#[test]
fn a_teammate_called_merge_does_not_work_where_work_is_merged() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup { gate: vec!["true".to_owned()], ..Setup::default() }, &["merge"]);
    stage.tasks(&["put f1 x; here; pass go; put f2 x"]);
    stage.arrival();
    stage.add("b", |add| add);
    stage.tasks(&["put f3 x"]);
    stage.finished(1);
    assert!(stage.tree("merge").join("f1").exists(), "the landing of f3 has taken it away");
    stage.open("go", 1);
    stage.finished(2);
    assert!(stage.has_file("f1") && stage.has_file("f2") && stage.has_file("f3"));
    stage.all_once(&[1, 2]);
}

#[test]
fn a_disk_that_is_full_for_a_moment_costs_no_teammate_and_no_attempt() {
    let mut stage = Stage::new("");
    let full = stage.root().join("full");
    stage.replace_git(&format!(
        "case \"$*\" in *clone*alpha.a.making*) if [ -e {} ]; then echo '0 git 0 0 ' > {}/here; \
         echo 'no space left' >&2; exit 128; fi;; esac; exec git \"$@\"",
        full.display(),
        stage.root().display()
    ));
    std::fs::write(&full, "").unwrap();
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["put f1 $SHIPMATE_EPOCH"]);
    // Twice in the first try, in the place of the tree and beside it; then later.
    stage.arrivals(3);
    std::fs::remove_file(&full).unwrap();
    stage.finished(1);
    stage.catch_up();
    for loss in ["teammate.disappeared", "task.released", "task.returned"] {
        assert_eq!(stage.events(loss), Vec::<serde_json::Value>::new(), "{}", stage.story());
    }
    assert_eq!(stage.file("f1"), "1\n");
    stage.all_once(&tasks);
}
