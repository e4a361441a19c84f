//! Silence: nudged, told, recovered; and a supervisor that comes back after it was replaced.

use rustix::process::Signal;
use shipmate_protocol::verbs::Setup;

use crate::processes;
use crate::stage::{Stage, TEAM};

#[test]
fn who_makes_no_progress_is_nudged_then_the_lead_is_told_then_it_is_replaced() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 0.2\n");
    stage.door("never");
    stage.team(Setup { stall_ms: Some(8_000), ..Setup::default() }, &["a"]);
    let tasks =
        stage.tasks(&["here; [ $SHIPMATE_EPOCH != 1 ] || pass never; put f1 $SHIPMATE_EPOCH"]);
    // A process that stands still may take the steps too, and then goes on: they begin again.
    stage.hear(|event| event["teammate.stalled"]["step"] == 1);
    let nudge = stage.event("message.sent");
    assert_eq!(nudge["to"][0]["member"], format!("{TEAM}/a"), "{nudge}");
    stage.hear(|event| event["teammate.stalled"]["step"] == 2);
    let told = stage.event("message.sent");
    assert_eq!(told["to"][0], "person", "{told}");
    let gone = stage.event("teammate.disappeared");
    assert!(
        gone["reason"].as_str().unwrap().contains("it hung: no sign of progress for 8 s"),
        "{gone}"
    );
    stage.finished(1);
    let done_by: u32 = stage.file("f1").trim().parse().unwrap();
    assert!(done_by > 1, "it was replaced");
    while stage.arrival().epoch != done_by {}
    stage.all_once(&tasks);
}

#[test]
fn a_word_from_a_silent_agent_ends_the_alarm() {
    with_longer_limits(|limits| {
        let mut stage = Stage::new("");
        stage.door("go");
        stage.team(Setup { answer_ms: None, ..limits }, &["a"]);
        let tasks = stage.tasks(&["here; pass go; echo a word; here; put f1 x"]);
        stage.arrival();
        assert_eq!(stage.event("teammate.stalled")["step"], 1);
        // Also for the one after it, where it is given up all the same.
        stage.open("go", 9);
        stage.finished(1);
        if !stage.events("teammate.disappeared").is_empty() {
            return Err("it was given up though it had said a word");
        }
        stage.all_once(&tasks);
        Ok(())
    });
}

/// Has somebody given up within a few seconds, and does it again with longer limits where they were
/// too short for somebody who is healthy: they are the same for all. `attempt` says whom they hit.
#[track_caller]
fn with_longer_limits(attempt: impl Fn(Setup) -> Result<(), &'static str>) {
    let limits = |stall_ms, answer_ms| Setup {
        stall_ms: Some(stall_ms),
        answer_ms: Some(answer_ms),
        ..Setup::default()
    };
    if attempt(limits(6_000, 100)).is_err() {
        attempt(limits(180_000, 60_000)).unwrap();
    }
}

/// Nobody else is to end what the test has frozen before it goes on.
const NO_HURRY: &str = "[agents]\nstop-grace-seconds = 600\n";

#[test]
fn a_supervisor_that_was_frozen_and_replaced_has_its_late_work_set_aside() {
    with_longer_limits(|limits| {
        let mut stage = Stage::new(NO_HURRY);
        stage.door("go");
        stage.team(limits, &["a"]);
        let line = "if [ $SHIPMATE_EPOCH = 1 ]; then put late 1; here; pass go; put late 2; here; else \
                    ls > f1; here $(pwd); fi";
        let tasks = stage.tasks(&[line]);
        stage.arrival();
        let frozen = stage.supervisor("a");
        processes::signal(frozen, Signal::STOP);
        let gone = stage.event("teammate.disappeared");
        assert!(gone["reason"].as_str().unwrap().contains("did not answer"), "{gone}");
        // The agent behind it is not frozen and goes on.
        stage.open("go", 1);
        let both = stage.arrivals(2);
        processes::signal(frozen, Signal::CONT);
        let aside = stage.event("task.work_set_aside");
        stage.finished(1);
        stage.catch_up();
        if stage.events("teammate.disappeared").len() > 1 {
            return Err("the next life was replaced as well");
        }
        let second = both.iter().find(|one| one.epoch == 2).expect("it was replaced");
        assert!(!second.words.ends_with(&format!("{TEAM}.a")), "a fresh tree: {second:?}");
        assert_eq!(aside["task"], 1);
        let work = aside["work"].as_str().unwrap();
        assert_eq!(stage.git(&["show", &format!("{work}:late")]), "2\n");
        assert!(!stage.has_file("late"));
        assert_eq!(stage.file("f1"), "README\nf1\n");
        stage.all_once(&tasks);
        Ok(())
    });
}

#[test]
fn the_life_after_the_next_does_not_find_the_late_work_either() {
    with_longer_limits(|limits| {
        let mut stage = Stage::new(NO_HURRY);
        stage.door("go");
        stage.team(limits, &["a"]);
        let line = "case $SHIPMATE_EPOCH in 1) put late 1; here; pass go;; 2) put half 2; here; while :; \
                    do echo .; sleep 0.1; done;; *) put f1 x; here;; esac";
        let tasks = stage.tasks(&[line]);
        stage.arrival();
        let frozen = stage.supervisor("a");
        processes::signal(frozen, Signal::STOP);
        stage.event("teammate.disappeared");
        if stage.arrival().epoch != 2 {
            return Err("the second life was replaced before it did anything");
        }
        processes::signal(frozen, Signal::CONT);
        stage.event("task.work_set_aside");
        let second = stage.processes("supervisor");
        second.iter().for_each(|one| processes::kill(one.pid));
        let third = stage.arrival();
        stage.finished(1);
        stage.catch_up();
        if stage.events("teammate.disappeared").len() > 2 {
            return Err("a life was replaced that nobody had killed");
        }
        assert_eq!(third.epoch, 3);
        assert!(!stage.has_file("late"), "late work was merged");
        assert_eq!(stage.file("half"), "2\n", "what the second life did is kept");
        stage.all_once(&tasks);
        Ok(())
    });
}
