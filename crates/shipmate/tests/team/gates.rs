//! The gate between submitted and completed: red, green, red before anybody came, and batches.

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{Setup, TaskNew};

use crate::processes;
use crate::stage::{Stage, task_of};

fn gate(line: &str) -> Setup {
    Setup { gate: vec![line.to_owned()], ..Setup::default() }
}

/// Run for work alone: nobody is there yet to meet a gate that is tried first.
fn gate_of_work(line: &str) -> Setup {
    Setup { red_base: true, ..gate(line) }
}

/// Red while a file holds `bad`, in the words of a test runner.
const STRICT: &str = "if grep -qs bad f*; then echo 'test sums::adds_up ... FAILED'; exit 1; fi";

#[test]
fn red_goes_back_to_the_same_teammate_with_the_failing_test() {
    let mut stage = Stage::new("");
    stage.team(gate(STRICT), &["a", "b", "c"]);
    let line = "here $SHIPMATE_FEEDBACK; if [ -n \"$SHIPMATE_FEEDBACK\" ]; then put f1 good; else \
                put f1 bad; fi";
    let tasks = stage.tasks(&[line]);
    let first = stage.arrival();
    assert_eq!(first.words, "");
    let second = stage.arrival();
    assert_eq!((&second.name, second.epoch), (&first.name, first.epoch));
    assert!(second.words.contains("sums::adds_up"), "{second:?}");
    stage.finished(1);
    assert_eq!(stage.file("f1"), "good\n");
    stage.all_once(&tasks);
}

#[test]
fn work_that_came_back_is_gone_on_with_though_another_task_was_done_meanwhile() {
    let mut stage = Stage::new("");
    stage.door("gate");
    stage.door("go");
    let root = stage.root();
    let root = root.display();
    // The first run waits until the teammate has its next task in hand.
    let line =
        format!("if mkdir {root}/notes/gated 2>/dev/null; then read -r _ < {root}/gate.door; fi");
    stage.team(gate_of_work(&format!("{line}; {STRICT}")), &["a"]);
    let first = "if [ -n \"$SHIPMATE_FEEDBACK\" ]; then test -f f1 && put f1 good; else put f1 bad; \
                 fi";
    let tasks = stage.tasks(&[first, "here; pass go; put f2 good"]);
    stage.arrival();
    stage.open("gate", 1);
    stage.event("task.returned");
    stage.open("go", 1);
    stage.finished(2);
    assert_eq!((stage.file("f1"), stage.file("f2")), ("good\n".to_owned(), "good\n".to_owned()));
    assert_eq!(stage.events("task.returned").len(), 1);
    stage.all_once(&tasks);
}

#[test]
fn after_the_last_try_the_task_fails_and_the_person_knows_test_and_teammate() {
    let mut stage = Stage::new("");
    stage.team(gate(STRICT), &["ana"]);
    let subject = "put f1 bad; echo $SHIPMATE_ATTEMPT >> g1".to_owned();
    stage.create(vec![TaskNew { subject, retries_max: Some(1), ..TaskNew::default() }]);
    stage.finished(1);
    let failed = stage.events("task.failed");
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["reason"].as_str().unwrap().contains("sums::adds_up"), "{failed:?}");
    assert_eq!(stage.events("task.returned").len(), 1);
    let mail = stage.inbox();
    let tells = |text: &String| text.contains("sums::adds_up") && text.contains("ana");
    assert!(mail.iter().any(tells), "{mail:?}");
    stage.all_once(&[]);
}

#[test]
fn a_base_that_is_red_already_pauses_the_team_and_is_not_gated_again_and_again() {
    let mut stage = Stage::new("");
    stage.write("f0", "bad\n");
    stage.commit();
    stage.team(gate(STRICT), &["a"]);
    stage.tasks(&["put f1 good", "put f2 good"]);
    let paused = stage.event("team.paused");
    let reason = paused["reason"].as_str().unwrap();
    assert!(reason.contains("where the team stands"), "{reason}");
    assert!(reason.contains("sums::adds_up"), "{reason}");
    assert!(reason.contains("mend the base or the gate"), "{reason}");
    assert!(reason.contains("`shipmate --team alpha resume`"), "{reason}");
    assert_eq!(stage.events("teammate.started"), Vec::<serde_json::Value>::new());
    // Each of these would wake a queue that does not know that it is stuck.
    for n in 0..20 {
        stage.tasks(&[format!("true {n}").as_str()]);
    }
    stage.catch_up();
    let runs = stage.events("gate.ran").len();
    assert_eq!(runs, 1, "the gate ran {runs} times");
    assert_eq!(stage.events("team.paused").len(), 1);
    assert_eq!(stage.landed(), Vec::<u32>::new());
}

#[test]
fn one_bad_among_six_comes_back_and_the_other_five_land() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(gate(STRICT), &["a", "b", "c", "d", "e", "f"]);
    // The first gate waits until all six have been handed in, so the rest come as one batch.
    let line = |text: &str| format!("here; pass go; put f$SHIPMATE_TASK {text}");
    let good = line("good");
    let bad = "here; pass go; [ -n \"$SHIPMATE_FEEDBACK\" ] && exit 9; put f$SHIPMATE_TASK bad";
    let mut tasks: Vec<TaskNew> = (0..6)
        .map(|n| TaskNew {
            subject: if n == 3 { bad.to_owned() } else { good.clone() },
            retries_max: Some(1),
            ..TaskNew::default()
        })
        .collect();
    tasks[0].priority = Some(1);
    stage.create(tasks);
    stage.arrivals(6);
    stage.open("go", 6);
    stage.event("task.returned");
    stage.arrival();
    stage.open("go", 1);
    stage.finished(6);
    assert_eq!(stage.events("task.failed").iter().map(task_of).collect::<Vec<_>>(), [4]);
    stage.all_once(&[1, 2, 3, 5, 6]);
}

#[test]
fn work_that_was_taken_back_while_its_gate_ran_does_not_land() {
    let mut stage = Stage::new("");
    stage.door("gate");
    let root = stage.root();
    let root = root.display();
    let line = format!("echo '0 gate 0 '$$ > {root}/here; read -r _ < {root}/gate.door");
    stage.team(gate_of_work(&line), &["a"]);
    let tasks = stage.tasks(&["put f1 $SHIPMATE_TASK_TOKEN"]);
    stage.arrival();
    let (task, token, reason) = ("1".to_owned(), None, "another way".to_owned());
    stage.ask(Ask::TaskRelease(verbs::TaskRelease { task, token, reason }));
    stage.open("gate", 1);
    stage.arrival();
    assert_eq!(stage.landed(), Vec::<u32>::new());
    stage.open("gate", 1);
    let completed = stage.event("task.completed");
    assert_eq!(stage.file("f1").trim(), completed["token"].to_string());
    stage.all_once(&tasks);
}

#[test]
fn a_gate_that_hangs_is_red_and_nothing_of_it_is_left() {
    // The next one has the same limit. Where it is too short for that one as well, the task fails,
    // and it is tried once more with a longer one.
    assert!(hanging_gate(700) || hanging_gate(30_000), "the next gate is red as well");
}

/// Whether the gate that runs after one that hung was green.
fn hanging_gate(limit_ms: u64) -> bool {
    let mut stage = Stage::new("");
    let root = stage.root();
    let once = format!(
        "if mkdir {}/notes/once 2>/dev/null; then (setsid sleep 602 &); sleep 603; fi",
        root.display()
    );
    let setup = Setup { gate_timeout_ms: Some(limit_ms), ..gate_of_work(&once) };
    stage.team(setup, &["a"]);
    let tasks = stage.tasks(&["put f1 x"]);
    let returned = stage.event("task.returned");
    assert!(returned["reason"].as_str().unwrap().contains("did not end within"), "{returned}");
    stage.finished(1);
    if stage.events("task.completed").is_empty() {
        return false;
    }
    stage.all_once(&tasks);
    true
}

#[test]
fn two_that_edit_the_same_line_end_with_both_edits() {
    let mut stage = Stage::new("");
    stage.write("shared", "old\n");
    stage.commit();
    stage.door("go");
    stage.team(Setup::default(), &["a", "b"]);
    let line = "here $SHIPMATE_FEEDBACK; pass go; if grep -q '<<<<' shared; then printf \
                'one\\ntwo\\n' > shared; elif [ -z \"$SHIPMATE_FEEDBACK\" ]; then echo \
                $SHIPMATE_TASK > shared; fi";
    let tasks = stage.tasks(&[line, line]);
    stage.arrivals(2);
    stage.open("go", 2);
    let returned = stage.event("task.returned");
    assert!(returned["reason"].as_str().unwrap().contains("shared"), "{returned}");
    let again = stage.arrival();
    assert!(again.words.contains("shared"), "{again:?}");
    stage.open("go", 1);
    stage.finished(2);
    assert_eq!(stage.file("shared"), "one\ntwo\n");
    stage.all_once(&tasks);
}

#[test]
fn a_submission_outlives_its_teammate_and_the_coordinator() {
    let mut stage = Stage::new("");
    stage.door("gate");
    let root = stage.root();
    let root = root.display();
    let line = format!("echo '0 gate 0 '$$ > {root}/here; read -r _ < {root}/gate.door");
    stage.team(gate_of_work(&line), &["a"]);
    let tasks = stage.tasks(&["put f1 x"]);
    stage.arrival();
    processes::kill(stage.supervisor("a"));
    processes::kill(stage.coordinator());
    stage.arrival();
    stage.open("gate", 1);
    // Nobody is left, so the team waits; what was handed in lands all the same.
    stage.finished(1);
    assert_eq!(stage.events("task.claimed").len(), 1);
    stage.all_once(&tasks);
}
