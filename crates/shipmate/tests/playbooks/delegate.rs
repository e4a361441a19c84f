//! delegate: a lead with seven tools, members by TeamCreate, and team, board and mail as files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::native::Native;
use crate::stage::{Stage, TEAM, of};
use crate::views::until;

const GATE: (&str, &str) = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1");

fn views(stage: &Stage) -> PathBuf {
    stage.place().team(TEAM).join("views")
}

fn json_of(path: &Path) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

/// Waits until a task's file says so.
#[track_caller]
fn task_file(stage: &Stage, id: &str, status: &str) -> Value {
    let path = views(stage).join(format!("tasks/{TEAM}/{id}.json"));
    until(&stage.place().team(TEAM), || json_of(&path).filter(|task| task["status"] == status))
}

/// The messages in a member's folder, once they are so many.
#[track_caller]
fn mail(stage: &Stage, name: &str, count: usize) -> Vec<Value> {
    let folder = views(stage).join(format!("teams/{TEAM}/inbox/{name}"));
    until(&stage.place().team(TEAM), || {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        (paths.len() == count).then(|| paths.iter().filter_map(|path| json_of(path)).collect())
    })
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// A hook of the project that writes down who asked it.
fn hook(native: &Native, event: &str) {
    let root = native.scene.stage.root();
    let text =
        format!("#!/bin/sh\ncat >> {0}/{event}.told; echo >> {0}/{event}.told\n", root.display());
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
    let message = mail(stage, "teammate-a", 1).remove(0);
    assert_eq!(keys(&message), ["content", "from", "id", "timestamp", "to", "type"]);
    assert_eq!((&message["from"], &message["to"]), (&json!("lead"), &json!("teammate-a")));
    assert_eq!(
        (&message["type"], &message["content"]),
        (&json!("direct"), &json!("Focus on auth"))
    );
    native.server.release("auth");
    mail(stage, "teammate-a", 0);
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
    assert_eq!(of(&log, "task.created").len(), 2, "TaskCreate is not the lead's");
    let told = |event: &str| {
        std::fs::read_to_string(native.scene.stage.root().join(format!("{event}.told"))).unwrap()
    };
    assert_eq!(told("TaskCompleted").matches("\"hook_event_name\":\"TaskCompleted\"").count(), 2);
    assert!(told("TeammateIdle").contains("teammate-b"));
}
