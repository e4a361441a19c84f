//! The decision: by whom, how often, and what a crash in between leaves.

use shipmate_protocol::{Answer, Ask};

use crate::processes;
use crate::ran::{Ran, Running};
use crate::scene::{Scene, events};

const ONE_PART: &str = include_str!("scripts/one_part.model");

/// The number of the plan that a run waits for.
fn plan(running: &mut Running) -> String {
    let line = running.says("plan approve ");
    line.rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn a_plan_waits_for_a_person_who_sends_it_back_with_words_and_approves_the_next() {
    let scene = Scene::new(ONE_PART);
    let mut running = scene.begin("make one part", &[]);
    let first = plan(&mut running);
    let listed = scene.stage.shipmate(&["--team", "alpha", "plan", "list"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for part in ["│ The short way.", "a            A", "writes a.txt", "not a team: it is small"]
    {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let said =
        scene.stage.shipmate(&["--team", "alpha", "plan", "reject", &first, "say what it is for"]);
    assert!(said.status.success(), "{said:?}");
    let second = plan(&mut running);
    assert_ne!(first, second);
    let late = scene.stage.shipmate(&["--team", "alpha", "plan", "approve", &first]);
    assert_eq!(late.status.code(), Some(1), "{late:?}");
    assert!(
        scene.stage.shipmate(&["--team", "alpha", "plan", "approve", &second]).status.success()
    );
    running.ended().ends(
        0,
        &[
            "│ The short way.",
            "is rejected: say what it is for; lead revises it",
            "│ The short way, because nobody needs more.",
            "is approved",
            "│ It is there.",
            "done: 1 of 1 tasks",
        ],
    );
    assert_eq!(scene.stage.file("a.txt"), "a\n");
    // Two for each plan and one for the report.
    assert_eq!(scene.requests_of("lead"), 5);
}

#[test]
fn a_plan_outlives_the_coordinator_that_took_it() {
    let mut scene = Scene::new(ONE_PART);
    let mut running = scene.begin("make one part", &[]);
    let plan = plan(&mut running);
    processes::kill(scene.stage.coordinator());
    assert!(scene.stage.shipmate(&["--team", "alpha", "plan", "approve", &plan]).status.success());
    running.ended().ends(0, &["│ It is there.", "done: 1 of 1 tasks"]);
    let log = scene.log();
    assert_eq!(events(&log, "plan.submitted").len(), 1);
    assert_eq!(events(&log, "task.created").len(), 1);
}

#[test]
fn a_plan_outlives_the_lead_that_made_it() {
    let mut scene = Scene::new(ONE_PART);
    let mut running = scene.begin("make one part", &[]);
    let plan = plan(&mut running);
    scene.stage.follow();
    // Its turn is over: one that it was killed in would be taken up again.
    scene.stage.event("message.acknowledged");
    processes::kill(scene.stage.supervisor("lead"));
    scene.stage.event("teammate.disappeared");
    assert!(scene.stage.shipmate(&["--team", "alpha", "plan", "approve", &plan]).status.success());
    running.ended().ends(0, &["lead disappeared", "│ It is there.", "done: 1 of 1 tasks"]);
}

#[test]
fn what_is_taken_meanwhile_is_said_and_nothing_is_half_there() {
    let mut scene = Scene::new(ONE_PART);
    let mut running = scene.begin("make one part", &[]);
    let plan = plan(&mut running);
    scene.stage.add("dev-1", |add| add);
    let said = scene.stage.shipmate(&["--team", "alpha", "plan", "approve", &plan]);
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    assert!(error.contains("alpha/dev-1 is a member already"), "{error}");
    let Answer::Status(status) = scene.stage.ask(Ask::Status) else { panic!() };
    assert_eq!((status.open_plans, status.teams[0].tasks.pending), (1, 0));
}

#[test]
fn the_tasks_of_a_goal_may_be_done_by_a_plain_command() {
    let scene = Scene::new(ONE_PART);
    let command = "echo \"$SHIPMATE_SUBJECT by hand\" > a.txt";
    let goal = "make one part";
    let args = ["--team", "alpha", "run", goal, "--lead", "native", "--agent", command, "--yes"];
    let ran = Ran::of(&scene.stage.shipmate(&args));
    ran.ends(0, &["dev-1        echo", "│ It is there.", "done: 1 of 1 tasks"]);
    assert_eq!(scene.stage.file("a.txt"), "A by hand\n");
}
