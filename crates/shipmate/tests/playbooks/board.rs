//! board: a lead, teammates who stay, and the board and inboxes as files that others can read.

use serde_json::{Value, json};
use shipmate_protocol::view::TaskStatus;

use crate::native::Native;
use crate::scene::Scene;
use crate::stage::{Stage, TEAM, of};
use crate::views::{json_of, until, views};

/// Waits until a task's file says so.
#[track_caller]
fn task_file(stage: &Stage, id: u32, status: &str) -> Value {
    let path = views(stage).join(format!(".tasks/task_{id}.json"));
    until(&stage.place().team(TEAM), || json_of(&path).filter(|task| task["status"] == status))
}

/// The lines of an inbox file, once they are so many.
#[track_caller]
fn inbox_file(stage: &Stage, name: &str, lines: usize) -> Vec<Value> {
    let path = views(stage).join(format!(".teams/{TEAM}/{name}_inbox.jsonl"));
    until(&stage.place().team(TEAM), || {
        let text = std::fs::read_to_string(&path).ok()?;
        let found: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (found.len() == lines).then_some(found)
    })
}

#[test]
fn a_lead_and_three_teammates_go_through_the_whole_flow_and_its_files() {
    let files = [("api/routes.txt", "GET /users\n"), ("web/page.txt", "fetch GET /users\n")];
    let mut native = Native::new(include_str!("board.model"), &files);
    let run = native.begin("board", &["Migrate the app from REST to GraphQL"]);
    let stage = &native.scene.stage;
    // Task 2 is being done, what it waited for is done, what waits for it is pending.
    let expected = json!({
        "id": "2", "subject": "Design GraphQL schema", "description": "A query for each endpoint",
        "status": "in_progress", "active_form": "Working on: Design GraphQL schema",
        "owner": "backend", "blocks": ["3"], "blocked_by": [],
    });
    assert_eq!(task_file(stage, 2, "in_progress"), expected);
    assert_eq!(task_file(stage, 1, "completed")["owner"], "analyst");
    let third = task_file(stage, 3, "pending");
    assert_eq!((&third["owner"], &third["blocked_by"]), (&json!(""), &json!(["2"])));
    // What somebody is busy with and what was told to all meanwhile stay until it has heard both.
    let mut waiting = inbox_file(stage, "frontend", 2).remove(1);
    let time = waiting.as_object_mut().unwrap().remove("timestamp").unwrap();
    assert!(time.is_f64(), "with a fraction: {time}");
    assert!(time.as_f64().is_some_and(|seconds| (1e9..1e10).contains(&seconds)), "{time}");
    let told = "API schema is finalized:\nusers";
    assert_eq!(waiting, json!({ "type": "broadcast", "sender": "backend", "content": told }));
    native.server.release("busy");
    inbox_file(stage, "frontend", 0);
    native.server.release("told");
    let ran = run.ended();
    ran.ends(
        0,
        &["phase plan begins", "phase plan is done", "phase work is left out", "4 of 4 tasks"],
    );
    assert!(ran.out.contains("the lead reports\n│ Migration complete."), "{}", ran.out);
    for id in 1..=4 {
        task_file(&native.scene.stage, id, "completed");
    }
    for name in ["lead", "analyst", "backend", "frontend"] {
        inbox_file(&native.scene.stage, name, 0);
    }
    assert_eq!(native.scene.phases(), ["plan done", "work skipped"]);
    assert_eq!(native.scene.landed("web/page.txt"), "fetch query { users }\n");
    let log = native.scene.log();
    let sent = of(&log, "message.sent");
    assert!(sent.iter().any(|one| one["body"] == "Migration complete."));
    let is_broadcast = |one: &&Value| one["kind"] == "broadcast";
    let broadcast: Vec<&Value> = sent.iter().filter(is_broadcast).collect();
    assert_eq!(broadcast.len(), 1, "{sent:?}");
    assert_eq!(broadcast[0]["to"].as_array().unwrap().len(), 3, "everybody but the sender");
    // Who stays takes task after task in one life.
    let lives = of(&log, "teammate.started");
    assert_eq!(lives.iter().filter(|one| one["who"] == "alpha/backend@1").count(), 1);
    assert_eq!(lives.len(), 4);
}

const PLAN: &str = r#"{"p":"01","n":"01","t":"Files","w":1,"d":[],"obj":"all","mh":{}}
{"id":"T1","tp":"auto","a":"write a","f":["a.txt"],"v":"","done":""}
{"id":"T2","tp":"auto","a":"write b","f":["b.txt"],"v":"","done":""}
{"id":"T3","tp":"auto","a":"write c","f":["c.txt"],"td":["T2"],"v":"","done":""}
"#;

#[test]
fn the_tasks_of_a_plan_are_done_by_commands_and_shown_as_files() {
    let agent = "case \"$SHIPMATE_SUBJECT\" in \"write b\") here; pass b ;; esac\n\
                 put \"${SHIPMATE_SUBJECT#write }.txt\" done";
    let mut scene = Scene::new(&[("plans/01-01.plan.jsonl", PLAN)], agent);
    scene.stage.door("b");
    let agent = scene.agent();
    let args = ["--team", TEAM, "run", "--playbook", "board", "--agent", &agent, "--detach"];
    let out = scene.stage.shipmate(&[&args[..], &["plans"]].concat());
    assert!(out.status.success(), "{out:?}");
    let stage = &mut scene.stage;
    stage.follow();
    stage.arrival();
    task_file(stage, 1, "completed");
    let third = task_file(stage, 3, "pending");
    assert_eq!(third["blocked_by"], json!(["2"]));
    // Somebody edits the file of a task: it changes nothing, and is made anew with the next record.
    let path = views(stage).join(".tasks/task_3.json");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, third.to_string().replace("pending", "completed")).unwrap();
    std::fs::write(views(stage).join(".tasks/task_9.json"), "{\"status\":\"pending\"}").unwrap();
    std::fs::write(views(stage).join(format!(".teams/{TEAM}/lead_inbox.jsonl.new")), "{").unwrap();
    assert_eq!(stage.task(3).row.status, TaskStatus::Pending);
    stage.open("b", 1);
    for id in 1..=3 {
        task_file(stage, id, "completed");
    }
    stage.hear(|event| event["phase.ended"]["phase"] == "work");
    let folder = stage.place().team(TEAM);
    let root = views(stage);
    let left = until(&folder, || {
        let mut names: Vec<String> = std::fs::read_dir(root.join(".tasks"))
            .ok()?
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        (names.len() == 3).then_some(names)
    });
    assert_eq!(left, ["task_1.json", "task_2.json", "task_3.json"]);
    assert!(!root.join(format!(".teams/{TEAM}/lead_inbox.jsonl.new")).exists());
    assert_eq!(scene.phases(), ["plan skipped", "work done"]);
}

#[test]
fn a_request_to_stop_is_in_the_inbox_file_of_whoever_is_busy() {
    let agent = "here; pass go; put \"${SHIPMATE_SUBJECT#write }.txt\" done";
    let plan: String = PLAN.lines().take(2).map(|line| format!("{line}\n")).collect();
    let mut scene = Scene::new(&[("plans/01-01.plan.jsonl", &plan)], agent);
    scene.stage.door("go");
    let agent = scene.agent();
    let args = ["--team", TEAM, "run", "--playbook", "board", "--agent", &agent, "--detach"];
    let out = scene.stage.shipmate(&[&args[..], &["plans"]].concat());
    assert!(out.status.success(), "{out:?}");
    let stage = &mut scene.stage;
    stage.follow();
    let busy = stage.arrival();
    let asked = stage.shipmate(&["--team", TEAM, "send", &busy.name, "finish it first"]);
    assert!(asked.status.success(), "{asked:?}");
    let asked = stage.shipmate(&["--team", TEAM, "shutdown", &busy.name]);
    assert!(asked.status.success(), "{asked:?}");
    let lines = inbox_file(stage, &busy.name, 2);
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "shutdown_request"]);
    let senders: Vec<&str> = lines.iter().map(|line| line["sender"].as_str().unwrap()).collect();
    assert_eq!(senders, ["person", "person"]);
    stage.open("go", 2);
    stage.hear(|event| event.get("teammate.stopped").is_some());
}

#[test]
fn a_lead_that_makes_no_task_fails_its_phase_and_the_run_ends() {
    let script = "as lead\non \"Migrate\"\n  say There is nothing to do.\n";
    let mut native = Native::new(script, &[]);
    let ran = native.begin("board", &["Migrate the app"]).ended();
    ran.ends(8, &["phase plan failed: alpha/lead has heard the goal and made no task"]);
    assert_eq!(native.scene.phases(), ["plan failed"]);
}
