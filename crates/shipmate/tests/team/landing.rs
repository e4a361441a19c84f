//! How work comes to the team branch: in batches, past gates that are killed, and after a
//! coordinator that was killed under its git.

use std::process::Command;

use shipmate_protocol::verbs::{Setup, TaskNew};
use shipmate_protocol::{Answer, Ask, verbs};

use crate::processes::{self, is_alive};
use crate::stage::{Stage, TEAM, task_of};

fn gate(line: &str) -> Setup {
    Setup { gate: vec![line.to_owned()], ..Setup::default() }
}

/// Red while `use` needs what `lib` has not, or a file holds `bad`.
const USED: &str = "if [ -e use ]; then grep -q x lib || exit 1; fi; ! grep -qs bad f*";

/// A gate that passes at every commit of the team's first-parent line.
#[track_caller]
pub(crate) fn passes_everywhere(stage: &Stage, line: &str) {
    let look = stage.root().join("look");
    let look = look.to_str().unwrap();
    stage.git(&["clone", "--quiet", "--no-checkout", ".", look]);
    let range = format!("{}..shipmate/{TEAM}", stage.base);
    for commit in stage.git(&["rev-list", "--first-parent", &range]).lines() {
        stage.git(&["-C", look, "checkout", "--quiet", "--force", commit]);
        let passed = Command::new("bash").args(["-c", line]).current_dir(look).status().unwrap();
        let shown = stage.git(&["show", "--no-patch", "--format=%h %s", commit]);
        assert!(passed.success(), "the gate is red at {shown}");
    }
    std::fs::remove_dir_all(look).unwrap();
}

/// A team whose first task is held in its gate while the rest are handed in, so that they are one
/// batch.
fn as_one_batch(stage: &mut Stage, rest: &[TaskNew]) {
    stage.write("lib", "x\n");
    stage.write("use", "it\n");
    stage.commit();
    stage.door("gate");
    let root = stage.root();
    let root = root.display();
    let held = format!(
        "if [ -e f1 ] && mkdir {root}/notes/gated 2>/dev/null; then echo '0 gate 0 '$$ > {root}/here; read -r _ < \
         {root}/gate.door; fi"
    );
    stage.team(gate(&format!("{held}; {USED}")), &["a", "b", "c", "d"]);
    stage.tasks(&["put f1 good"]);
    assert_eq!(stage.arrival().name, "gate");
    let tasks = stage.create(rest.to_vec());
    let mut missing = tasks.clone();
    while !missing.is_empty() {
        let submitted = task_of(&stage.event("task.submitted"));
        missing.retain(|task| *task != submitted);
    }
    stage.open("gate", 1);
    stage.finished(1 + tasks.len());
}

fn task(line: &str) -> TaskNew {
    TaskNew { subject: line.to_owned(), retries_max: Some(0), ..TaskNew::default() }
}

#[test]
fn work_that_is_green_only_together_leaves_no_red_commit_on_the_branch() {
    let mut stage = Stage::new("");
    as_one_batch(&mut stage, &[task(": > lib"), task("rm use")]);
    passes_everywhere(&stage, USED);
    let range = format!("{}..shipmate/{TEAM}", stage.base);
    let line = stage.git(&["log", "--first-parent", "--format=%s", &range]);
    assert_eq!(line.lines().next(), Some("Land tasks 2, 3 together"), "{line}");
    let Answer::Diff(diff) = stage.ask(Ask::TaskDiff(verbs::TaskDiff { task: "2".to_owned() }))
    else {
        panic!()
    };
    assert_eq!(diff.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["lib"]);
    let branches = stage.shipmate(&["merge", "--branches"]);
    assert!(branches.status.success(), "{branches:?}");
    assert_eq!(stage.git(&["show", &format!("shipmate/{TEAM}.task-2:lib")]), "");
    stage.all_once(&[1, 2, 3]);
}

#[test]
fn a_red_batch_that_is_halved_leaves_no_red_commit_on_the_branch() {
    let mut stage = Stage::new("");
    let rest = [task("put f2 good"), task("put f3 bad"), task(": > lib"), task("rm use")];
    as_one_batch(&mut stage, &rest);
    assert_eq!(stage.events("task.failed").iter().map(task_of).collect::<Vec<_>>(), [3]);
    passes_everywhere(&stage, USED);
    stage.all_once(&[1, 2, 4, 5]);
}

#[test]
fn a_batch_that_landed_before_its_coordinator_died_is_not_landed_again() {
    let mut stage = Stage::new("");
    let (once, lock) = (stage.root().join("once"), stage.place().lock());
    let (once, lock) = (once.display(), lock.display());
    let repository = stage.place().workspace;
    let repository = repository.display();
    // Moves the branch to a batch, and takes its caller with it.
    stage.replace_git(&format!(
        "git \"$@\" || exit $?; case \"$*\" in *update-ref*'work landed'*) git -C {repository} log -1 \
         --format=%s shipmate/{TEAM} | grep -q together && mkdir {once} 2>/dev/null && kill -9 \
         $(cat {lock});; esac; exit 0"
    ));
    as_one_batch(&mut stage, &[task(": > lib"), task("rm use")]);
    assert!(stage.root().join("once").exists(), "the coordinator was killed");
    let completed = stage.events("task.completed");
    assert!(completed.iter().all(|event| event["commit"].is_string()), "{completed:?}");
    passes_everywhere(&stage, USED);
    stage.all_once(&[1, 2, 3]);
}

#[test]
fn a_gate_that_is_killed_is_run_again_and_nobody_is_blamed() {
    // The gate's own shell, and a command that its shell waits for.
    for killed in ["kill -9 $$", "sh -c 'kill -9 $$'; exit $?", "sh -c 'kill $$'; exit $?"] {
        let mut stage = Stage::new("");
        let root = stage.root();
        let root = root.display();
        let twice = format!("mkdir {root}/notes/1 2>/dev/null || mkdir {root}/notes/2 2>/dev/null");
        stage.team(gate(&format!("if [ -e f1 ] && {{ {twice}; }}; then {killed}; fi")), &["a"]);
        stage.create(vec![task("put f1 x")]);
        stage.finished(1);
        assert_eq!(stage.events("task.returned").len(), 0, "{}", stage.story());
        let runs = stage.events("gate.ran");
        assert!(runs.iter().all(|run| run["passed"] == true), "{runs:?}");
        let notes = stage.events("hook.noted");
        assert_eq!(notes.len(), 2, "{notes:?}");
        stage.all_once(&[1]);
    }
}

#[test]
fn a_gate_that_is_killed_on_the_branch_as_well_pauses_the_team_until_a_person_says_so() {
    let mut stage = Stage::new("");
    let room = stage.root().join("room");
    stage.team(gate(&format!("[ -e {} ] || kill -9 $$", room.display())), &["a"]);
    stage.create(vec![task("put f1 x")]);
    let paused = stage.event("team.paused");
    let reason = paused["reason"].to_string();
    assert!(reason.contains("signal 9") && reason.contains("shipmate continue"), "{reason}");
    assert_eq!(stage.events("task.returned").len() + stage.events("task.failed").len(), 0);
    std::fs::write(room, "").unwrap();
    stage.ask(Ask::TeamContinue);
    stage.finished(1);
    stage.all_once(&[1]);
}

#[test]
fn work_whose_gate_is_killed_while_the_branch_passes_comes_back() {
    let mut stage = Stage::new("");
    stage.team(gate("[ ! -e f1 ] || kill -9 $$"), &["a"]);
    stage.create(vec![task("put f1 x"), task("put f2 x")]);
    stage.finished(2);
    let failed = stage.events("task.failed");
    assert_eq!(failed.iter().map(task_of).collect::<Vec<_>>(), [1]);
    assert!(failed[0]["reason"].to_string().contains("signal 9"), "{failed:?}");
    assert_eq!(stage.events("team.paused").len(), 0);
    stage.all_once(&[2]);
}

#[test]
fn a_program_that_crashes_in_its_gate_is_red_at_once() {
    let mut stage = Stage::new("");
    stage.team(gate("[ ! -e f1 ] || kill -SEGV $$"), &["a"]);
    stage.create(vec![task("put f1 x")]);
    stage.finished(1);
    assert_eq!(stage.events("task.failed").len(), 1);
    assert_eq!(stage.events("hook.noted").len(), 0);
    stage.all_once(&[]);
}

#[test]
fn a_git_that_outlives_its_coordinator_is_ended_before_the_next_one_begins() {
    let mut stage = Stage::new("");
    let root = stage.root();
    let root = root.display();
    stage.replace_git(&format!(
        "case \"$*\" in *clone*{TEAM}._merge*) if mkdir {root}/slow 2>/dev/null; then echo '0 git 0 '$$ > \
         {root}/here; exec sleep 600; fi;; esac; exec git \"$@\""
    ));
    stage.team(gate("true"), &["a"]);
    stage.create(vec![task("put f1 x")]);
    let git = stage.arrival();
    assert_eq!(git.name, "git");
    processes::kill(stage.coordinator());
    stage.ask(Ask::Status);
    assert!(!is_alive(git.pid), "it outlived its coordinator");
    stage.finished(1);
    assert_eq!(stage.events("team.paused").len(), 0);
    stage.all_once(&[1]);
}
