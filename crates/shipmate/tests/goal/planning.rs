//! The plan: handed in, weighed, mended, given up.

use serde_json::Value;

use crate::ran::Ran;
use crate::scene::{Scene, events};

/// A plan of two parts that two developers do at the same time.
const TWO_PARTS: &str = include_str!("scripts/two_parts.model");

#[test]
fn a_goal_becomes_a_plan_becomes_merged_work_and_a_report() {
    let mut scene = Scene::new(TWO_PARTS);
    let ran = scene.run("make two parts", &["--yes", "--gate", "test -e README"]);
    ran.ends(
        0,
        &[
            "lead reads the repository and makes a plan",
            "of the lead",
            "│ Both ends apart from each other.",
            "2 tasks, at most 2 at the same time; longest path left (10m00s)",
            "left         The left one",
            "writes left.txt; about 10m00s",
            "2 teammates: up to 2 parts are independent of each other",
            "dev-1        native",
            "is approved",
            "the lead reports",
            "│ Both parts are there.",
            "done: 2 of 2 tasks",
            " merge",
        ],
    );
    assert_eq!(scene.stage.file("left.txt"), "left\n");
    assert_eq!(scene.stage.file("right.txt"), "right\n");
    let log = scene.log();
    // One append: nothing stands between the verdict and what it brings about.
    let at = log.iter().position(|one| one["event"].get("plan.approved").is_some()).unwrap();
    let names: Vec<&str> = log[at..at + 6]
        .iter()
        .map(|record| record["event"].as_object().unwrap().keys().next().unwrap().as_str())
        .collect();
    assert_eq!(
        names,
        [
            "plan.approved",
            "teammate.mode_changed",
            "teammate.added",
            "teammate.added",
            "task.created",
            "task.created",
        ]
    );
    assert!(log[at..at + 6].iter().all(|record| record["req"] == log[at]["req"]));
    // Before any work: standing text, tools and the first turn.
    for name in ["lead", "dev-1"] {
        let first = scene.first_request_of(name);
        assert!(first.len() / 4 < 3_000, "{name}: {} tokens\n{first}", first.len() / 4);
    }
    // Three requests for the plan, two for the report: nothing for approval, idling or status.
    assert_eq!(scene.requests_of("lead"), 5);
    assert_eq!(events(&log, "task.completed").len(), 2);
}

#[test]
fn a_plan_that_does_not_hold_is_sent_back_with_every_problem_and_mended() {
    let mut scene = Scene::new(include_str!("scripts/a_plan_that_does.model"));
    let ran = scene.run("make two parts", &["--yes"]);
    ran.ends(
        0,
        &[
            "1 task, at most 1 at the same time",
            "1 teammate, not a team: it is one file",
            "dev-1        native",
            "│ It is one file now.",
            "done: 1 of 1 tasks",
        ],
    );
    let asked = scene.server.requests();
    let told: String = asked.iter().map(|request| request.body.to_string()).collect();
    for problem in [
        "teammate ana: there is no agent program",
        "task b: it waits for c, which is no task of the plan (a, b)",
        "tasks a and b may run at the same time and both write src",
        "it may be sent back 2 more times",
    ] {
        assert!(told.contains(problem), "{problem}: {told}");
    }
    let log = scene.log();
    assert_eq!(events(&log, "plan.submitted").len(), 1);
    assert_eq!(events(&log, "teammate.added").len(), 2);
}

#[test]
fn a_third_plan_that_does_not_hold_ends_the_run_with_its_problems() {
    let mut scene = Scene::new(include_str!("scripts/a_third_plan_that.model"));
    let ran = scene.run("make two parts", &["--yes"]);
    ran.ends(
        8,
        &[
            "there is no plan",
            "│ lead has no plan that holds, after 3 attempts: the plan does not hold:",
            "│ - task a: \"/etc/passwd\" is absolute",
            "│ - task a: another task has that key",
            "nothing done: 0 of 0 tasks",
        ],
    );
    let last = scene.server.requests().pop().unwrap().body.to_string();
    assert!(last.contains("that was the last attempt, and a person is told: end your turn"));
    assert!(last.contains("3 plans were sent back; a person was told"), "{last}");
    let log = scene.log();
    assert_eq!(events(&log, "plan.submitted").len(), 0);
    assert_eq!(events(&log, "task.created").len(), 0);
}

#[test]
fn a_lead_that_answers_in_plain_text_is_asked_twice_more_before_the_run_ends() {
    let scene = Scene::new(
        r#"
as lead
on "two parts"
  say Two parts are easy.
on "Your turn ended without a plan"
  say I would rather not.
"#,
    );
    let ran = scene.run("make two parts", &[]);
    ran.ends(
        8,
        &[
            "there is no plan",
            "│ lead ended its turn without a plan; its last words: I would rather not.",
        ],
    );
    assert_eq!(scene.requests_of("lead"), 3);
}

#[test]
fn a_plan_as_one_object_for_a_program_that_reads_it() {
    let scene = Scene::new(TWO_PARTS);
    let ran = scene.run("make two parts", &["--yes", "--json", "--model", "test/other"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    let work = &lines[0]["plan"]["work"];
    assert_eq!(work["width"], 2);
    assert_eq!(work["critical_path"], serde_json::json!(["left"]));
    assert_eq!(work["tasks"][1]["files"], serde_json::json!(["right.txt"]));
    assert_eq!(work["teammates"][0]["model"], "test/other");
    assert_eq!(lines[1]["outcome"], "complete");
    assert_eq!(lines[1]["report"], "Both parts are there.");
}

#[test]
fn who_cannot_lead_is_refused_before_anything_is_made() {
    let scene = Scene::new("");
    let run = |args: &[&str]| Ran::of(&scene.stage.shipmate(args));
    for (args, why) in [
        (vec!["run", "make it", "--agent", "./agent.sh"], "no agent can lead"),
        (vec!["run", "make it", "--lead", "./agent.sh"], "\"./agent.sh\" cannot lead"),
        (vec!["run", "make it", "--yes", "--detach"], "--detach does not wait"),
        (vec!["run", "make"], "neither a plan nor a goal"),
        (vec!["run", "plan.toml", "--yes"], "--lead and --yes are for a goal"),
        (vec!["run"], "there is nothing to run"),
    ] {
        let ran = run(&args);
        assert_eq!(ran.code, 2, "{args:?} {ran:?}");
        assert!(ran.err.contains(why), "{why}: {}", ran.err);
    }
    let ran = run(&["run", "make it", "--lead", "claude"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("claude") && ran.err.contains("install"), "{}", ran.err);
    let ran = run(&["team", "list"]);
    assert!(ran.out.contains("no team"), "what was refused left nothing: {ran:?}");
}
