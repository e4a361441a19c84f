//! Work that changes nothing: an agent that only ends well has done nothing.

use shipmate_protocol::verbs::{Setup, TaskNew};
use shipmate_protocol::view::TaskStatus;

use crate::stage::Stage;

/// Tasks that have to change something; `tasks` of the stage makes others.
fn work(stage: &mut Stage, lines: &[&str]) -> Vec<u32> {
    let new = |line: &&str| TaskNew { subject: (*line).to_owned(), ..TaskNew::default() };
    stage.create(lines.iter().map(new).collect())
}

#[test]
fn an_agent_that_only_prints_something_has_not_done_its_task() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let tasks = work(&mut stage, &["here \"$SHIPMATE_FEEDBACK\"; echo Lorem ipsum dolor"]);
    assert_eq!(stage.arrival().words.trim(), "");
    let again = stage.arrival();
    assert!(again.words.contains("nothing was changed, and no reason was given"), "{again:?}");
    stage.finished(1);
    let failed = stage.task(tasks[0]);
    assert_eq!(failed.row.status, TaskStatus::Failed);
    let why = failed.last_failure.unwrap();
    assert_eq!(why, "nothing was changed, twice, and no reason was given");
    assert_eq!(stage.events("task.returned").len(), 1);
    assert!(stage.events("task.completed").is_empty());
}

#[test]
fn whoever_makes_the_change_the_second_time_has_done_it() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let tasks = work(&mut stage, &["[ -z \"$SHIPMATE_FEEDBACK\" ] || put f x; echo fine"]);
    stage.finished(1);
    assert_eq!(stage.task(tasks[0]).row.status, TaskStatus::Completed);
    assert_eq!(stage.file("f"), "x\n");
    stage.all_once(&tasks);
}

#[test]
fn a_reason_in_the_result_is_enough_and_so_is_a_task_that_wants_no_change() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let said = work(&mut stage, &["echo it is there already > $SHIPMATE_RESULT"]);
    let research = stage.create(vec![TaskNew {
        subject: "echo I read it".to_owned(),
        no_change: true,
        ..TaskNew::default()
    }]);
    stage.finished(2);
    for task in [said[0], research[0]] {
        let done = stage.task(task);
        assert_eq!((done.row.status.word(), done.commit), ("completed", None), "task {task}");
    }
    assert!(stage.events("task.returned").is_empty());
}

#[test]
fn work_that_others_have_landed_already_is_no_nothing() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a", "b"]);
    let tasks = work(&mut stage, &["put f x; here; pass go", "put f x; here; pass go"]);
    stage.arrivals(2);
    stage.open("go", 2);
    stage.finished(2);
    assert!(stage.events("task.failed").is_empty(), "{}", stage.story());
    for task in tasks {
        assert_eq!(stage.task(task).row.status, TaskStatus::Completed);
    }
}
