//! delegate: a lead with seven tools, members by TeamCreate, and team, board and mail as files.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::native::Native;
use crate::stage::{Stage, TEAM, of};
use crate::views::{json_of, until, views};

const GATE: (&str, &str) = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1");

/// Waits until a task's file says so.
#[track_caller]
fn task_file(stage: &Stage, id: &str, status: &str) -> Value {
    let path = views(stage).join(format!("tasks/{TEAM}/{id}.json"));
    until(&stage.place().team(TEAM), || json_of(&path).filter(|task| task["status"] == status))
}

/// The messages in a member's folder, once they say this.
#[track_caller]
fn mail(stage: &Stage, name: &str, contents: &[&str]) -> Vec<Value> {
    let folder = views(stage).join(format!("teams/{TEAM}/inbox/{name}"));
    until(&stage.place().team(TEAM), || {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        // One that is replaced just now is read again.
        let found: Option<Vec<Value>> = paths.iter().map(|path| json_of(path)).collect();
        found.filter(|found| found.iter().map(|one| &one["content"]).eq(contents))
    })
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// A hook of the project that writes down who asked it.
fn hook(native: &Native, event: &str) {
    let root = native.scene.stage.root();
    let text = format!(
        "#!/bin/sh\ncat >> {0}/notes/{event}.told; echo >> {0}/notes/{event}.told\n",
        root.display()
    );
    native.scene.stage.write(&format!(".shipmate/hooks/{event}"), &text);
    let path = native.scene.stage.place().project().join("hooks").join(event);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_lead_with_seven_tools_has_the_work_done_and_its_files_tell_of_it() {
    let mut native = Native::new(include_str!("delegate.model"), &[]);
    native.env.push(GATE);
    for event in ["TaskCompleted", "TeammateIdle"] {
        hook(&native, event);
    }
    native.scene.stage.commit();
    let run = native.begin("delegate", &["Add sign-in to the app"]);
    let stage = &native.scene.stage;
    let claimed = task_file(stage, "task-001", "claimed");
    let expected =
        ["claimed_by", "completed_at", "created_at", "description", "id", "status", "subject"];
    assert_eq!(keys(&claimed), expected);
    assert_eq!(claimed["id"], "task-001");
    assert_eq!(claimed["subject"], "Implement user auth");
    assert_eq!(
        (&claimed["claimed_by"], &claimed["completed_at"]),
        (&json!("teammate-a"), &json!(""))
    );
    let done = task_file(stage, "task-002", "done");
    assert_eq!(done["claimed_by"], "teammate-b");
    assert!(done["completed_at"].as_str().unwrap().ends_with('Z'), "{done}");
    // The team and who is in it.
    let config = json_of(&views(stage).join(format!("teams/{TEAM}/config.json"))).unwrap();
    assert_eq!(keys(&config), ["created", "members", "name"]);
    assert_eq!(config["name"], TEAM);
    let names: Vec<&str> = config["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["lead", "teammate-a", "teammate-b"]);
    // A message waits as a file until its recipient has read it.
    native.server.release("focus");
    let mut both = mail(stage, "teammate-a", &["Focus on auth", "Hurry"]);
    assert_eq!(both[1]["type"], "broadcast");
    let message = both.remove(0);
    assert_eq!(keys(&message), ["content", "from", "id", "timestamp", "to", "type"]);
    assert_eq!((&message["from"], &message["to"]), (&json!("lead"), &json!("teammate-a")));
    assert_eq!(message["type"], "direct");
    let id = message["id"].as_str().unwrap();
    let number = id.strip_prefix("msg-").unwrap_or_default();
    assert!(number.len() >= 3 && number.bytes().all(|b| b.is_ascii_digit()), "{id}");
    assert!(views(stage).join(format!("teams/{TEAM}/inbox/teammate-a/{id}.json")).exists());
    native.server.release("auth");
    mail(stage, "teammate-a", &[]);
    let ran = run.ended();
    ran.ends(0, &["phase team begins", "phase team is done", "2 of 2 tasks"]);
    let mut seven = [
        "TeamCreate",
        "SendMessage",
        "TeamDelete",
        "TodoWrite",
        "AskUserQuestion",
        "Config",
        "ExitPlanMode",
    ];
    seven.sort_unstable();
    assert_eq!(native.offered("lead"), seven);
    assert_eq!(native.scene.landed("auth.txt"), "auth\n");
    assert_eq!(native.scene.landed("manual.txt"), "manual\n");
    let log = native.scene.log();
    let made = of(&log, "task.created");
    let owners: Vec<&Value> = made.iter().map(|one| &one["spec"]["assignee"]).collect();
    assert_eq!(owners, ["teammate-a", "teammate-b"], "TaskCreate is not the lead's");
    let added = of(&log, "teammate.added");
    let lead = added.iter().find(|one| one["who"] == "alpha/lead").unwrap();
    assert_eq!(lead["profile"]["mode"], "delegate", "from its first moment");
    let told = |event: &str| {
        std::fs::read_to_string(native.scene.stage.root().join(format!("notes/{event}.told")))
            .unwrap()
    };
    assert_eq!(told("TaskCompleted").matches("\"hook_event_name\":\"TaskCompleted\"").count(), 2);
    assert!(told("TeammateIdle").contains("teammate-b"));
}

const MEMBERS: &str = concat!(
    r#"{"name":"teammate-a","prompt":"Wait for your task"},"#,
    r#"{"name":"teammate-b","prompt":"Wait for your task"}"#,
);
const TODOS: &str = concat!(
    r#"{"content":"Implement user auth","status":"pending","owner":"teammate-a"},"#,
    r#"{"content":"Write the manual","status":"pending","owner":"teammate-b"},"#,
    r#"{"content":"Write the index","status":"pending","owner":"teammate-b"},"#,
    r#"{"content":"Draw the logo","status":"pending","owner":"teammate-a"}"#,
);

const STUCK: &str = r#"
as lead
on "Add sign-in"
  tool TeamCreate {"team_name":"alpha","members":[MEMBERS]}
  tool TodoWrite {"todos":[TODOS]}
  say The team is at work.
on "failed after 4 attempts"
  say Noted.
on "stop now"
  tool TeamDelete {"team_name":"alpha","deadline_seconds":1,"reason":"enough"}
  say Stopped.
as teammate-a
on "Wait for your task"
  say I wait.
on "Task 1:" "Implement user auth"
  tool write_file {"path":"auth.txt","content":"auth\n"}
  tool TaskUpdate {"taskId":"1","status":"completed","result":"auth is there"}
  say Done.
on "Task 4:" "Draw the logo"
  tool TaskUpdate {"taskId":"4","status":"failed","reason":"no pencil"}
  say I cannot.
as teammate-b
on "Wait for your task"
  say I wait.
on "Task 2:" "Write the manual"
  tool bash {"command":"trap '' TERM; sleep 600"}
  say Done.
"#;

#[test]
fn the_end_of_a_team_is_asked_for_first_and_forced_after_the_deadline() {
    let mut native = Native::new(&STUCK.replace("TODOS", TODOS).replace("MEMBERS", MEMBERS), &[]);
    native.env.push(GATE);
    let run = native.begin("delegate", &["Add sign-in to the app"]);
    task_file(&native.scene.stage, "task-001", "done");
    task_file(&native.scene.stage, "task-002", "claimed");
    // Whoever should do the third is stuck in the second; the fourth cannot be done.
    task_file(&native.scene.stage, "task-003", "pending");
    task_file(&native.scene.stage, "task-004", "failed");
    let deleted = native.scene.stage.shipmate(&["--team", TEAM, "task", "delete", "3"]);
    assert!(deleted.status.success(), "{deleted:?}");
    let path = views(&native.scene.stage).join(format!("tasks/{TEAM}/task-003.json"));
    until(&native.scene.stage.place().team(TEAM), || (!path.exists()).then_some(()));
    let stage = &mut native.scene.stage;
    stage.follow();
    stage.hear(|event| event["task.completed"]["task"] == 1);
    let told = stage.shipmate(&["--team", TEAM, "send", "lead", "stop now"]);
    assert!(told.status.success(), "{told:?}");
    // Who is idle ends cleanly; who does not listen is ended with everything it started.
    let mut ends = std::collections::BTreeMap::new();
    while !(ends.contains_key("alpha/teammate-a@1") && ends.contains_key("alpha/teammate-b@1")) {
        let stopped = stage.event("teammate.stopped");
        ends.insert(stopped["who"].as_str().unwrap().to_owned(), stopped["outcome"].clone());
    }
    assert_eq!(ends["alpha/teammate-a@1"], "clean");
    assert_ne!(ends["alpha/teammate-b@1"], "clean");
    let asked = stage.events("shutdown.requested");
    assert!(asked.iter().all(|one| one["deadline_ms"] == 1000), "{asked:?}");
    let ran = run.ended();
    assert_ne!(ran.code, 0, "a task is not done\n{}", ran.out);
    assert!(stage.has_file("auth.txt"), "what was done stays");
    assert_eq!(stage.processes("agent"), []);
}
