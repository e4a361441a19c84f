//! The plan: handed in, weighed, mended, given up.

use crate::scene::{Scene, events};

/// A plan of two parts that two developers do at the same time.
const TWO_PARTS: &str = r#"
as lead
on "two parts"
  tool glob {"pattern":"**"}
  tool ExitPlanMode {"plan":"Both ends apart from each other.","tasks":[{"key":"left","subject":"The left one","description":"Write left.","files":["left.txt"],"estimate_minutes":10},{"key":"right","subject":"The right one","description":"Write right.","files":["right.txt"]}]}
  say I have handed it in.
on "All tasks are completed"
  tool SendMessage {"to":"person","message":"Both parts are there."}
  say Done.
as dev-1
on "The left one"
  write left.txt left
  tool TaskUpdate {"taskId":"1","status":"completed","result":"left is written"}
  say Done.
on "The right one"
  write right.txt right
  tool TaskUpdate {"taskId":"2","status":"completed","result":"right is written"}
  say Done.
as dev-2
on "The left one"
  write left.txt left
  tool TaskUpdate {"taskId":"1","status":"completed","result":"left is written"}
  say Done.
on "The right one"
  write right.txt right
  tool TaskUpdate {"taskId":"2","status":"completed","result":"right is written"}
  say Done.
"#;

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
            "2 tasks, at most 2 at the same time; longest path left (10 min)",
            "left         The left one",
            "writes left.txt; about 10 min",
            "2 teammates: up to 2 parts are independent of each other",
            "dev-1        native",
            "is approved",
            "the lead reports",
            "│ Both parts are there.",
            "done: 2 of 2 tasks",
            "shipmate merge",
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
    // Three requests for the plan, two for the report: nothing for approval, idling or status.
    assert_eq!(scene.requests_of("lead"), 5);
    assert_eq!(events(&log, "task.completed").len(), 2);
}
