//! The calls that docs/seeds.md quotes, as the seeds write them, answered by a real coordinator.

use serde_json::{Value, json};

use crate::pipe::Pipe;
use crate::seats::stopped;
use crate::stage::{SHIPMATE, Stage};

/// A session in the lead's seat, which it takes with its first call.
fn lead(stage: &Stage) -> Pipe {
    let mut command = stage.command(SHIPMATE);
    let mut lead = Pipe::open(command.arg("mcp").env("SHIPMATE_SEAT_LEAD", "1")).ready();
    lead.call("TaskList", json!({}));
    lead
}

/// All events of this name so far.
fn events(stage: &Stage, name: &str) -> Vec<Value> {
    let log = stage.shipmate(&["log", "--json", "--after", "0"]);
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter_map(|record| record["event"].get(name).cloned()).collect()
}

#[test]
fn messages_reach_those_they_name_and_a_broadcast_everybody_else() {
    let stage = Stage::new();
    stage.team(&["ana", "bo"]);
    let mut lead = lead(&stage);
    let mut ana = stage.session_of("ana").ready();
    let mut bo = stage.session_of("bo").ready();
    let done = json!({ "type": "message", "recipient": "team-lead",
        "content": "Task #1 complete. Tests passing.", "summary": "Task #1 done" });
    ana.call("SendMessage", done);
    let heard = lead.call("TaskList", json!({}));
    assert!(heard.contains("from=\"ana\"") && heard.contains("Task #1 complete."), "{heard}");
    // The recipient of a broadcast counts for nothing, and it need not be there.
    let schema = json!({ "recipient": "anyone", "content": "Schema is finalized",
        "type": "broadcast", "team_name": "alpha" });
    ana.call("SendMessage", schema);
    let found = json!({ "type": "broadcast", "content": "Found a breaking change" });
    let bo_heard = bo.call("SendMessage", found);
    assert!(bo_heard.contains("Schema is finalized"), "{bo_heard}");
    let ana_heard = ana.call("TaskList", json!({}));
    assert!(ana_heard.contains("Found a breaking change"), "{ana_heard}");
    assert!(!ana_heard.contains("Schema is finalized"), "not to its sender: {ana_heard}");
    let lead_heard = lead.call("TaskList", json!({}));
    assert!(lead_heard.contains("Schema is finalized"), "{lead_heard}");
    assert!(lead_heard.contains("Found a breaking change"), "{lead_heard}");
    let direct = json!({ "type": "direct", "recipient": "bo", "content": "Take the API" });
    lead.call("SendMessage", direct);
    let bo_heard = bo.call("TaskList", json!({}));
    assert!(
        bo_heard.contains("kind=\"message\"") && bo_heard.contains("Take the API"),
        "{bo_heard}"
    );
    assert!(!bo_heard.contains("Found a breaking change"), "not to its sender: {bo_heard}");
    assert!(!ana.call("TaskList", json!({})).contains("Take the API"), "it was for bo alone");
    lead.call("SendMessage", json!({ "recipient": "bo", "content": "No type is a message" }));
    let bo_heard = bo.call("TaskList", json!({}));
    assert!(bo_heard.contains("No type is a message"), "{bo_heard}");
}

#[test]
fn a_task_is_taken_and_completed_by_its_status() {
    let stage = Stage::new();
    stage.team(&["ana", "bo"]);
    stage.shipmate(&["task", "create", "Parse"]);
    let mut ana = stage.session_of("ana").ready();
    let mut bo = stage.session_of("bo").ready();
    ana.call("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
    assert_eq!(events(&stage, "task.claimed")[0]["by"], "alpha/ana@1");
    let refused = bo.refusal("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
    assert!(refused.contains("task 1 is claimed by alpha/ana@1"), "{refused}");
    bo.refusal("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert!(events(&stage, "task.completed").is_empty());
    ana.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert_eq!(events(&stage, "task.completed").len(), 1);
}

#[test]
fn a_plan_is_sent_for_approval_rejected_sent_again_and_approved() {
    let stage = Stage::new();
    stage.team(&["ana"]);
    let mut lead = lead(&stage);
    let mut ana = stage.session_of("ana").ready();
    let plan = |step: &str| {
        json!({ "type": "plan_approval_request", "recipient": "team-lead",
            "content": format!("# Implementation Plan\n\n1. {step}"), "summary": "Plan for task #1" })
    };
    ana.call("SendMessage", plan("write it"));
    let heard = lead.call("TaskList", json!({}));
    assert!(heard.contains("asks for approval of plan"), "{heard}");
    assert!(heard.contains("1. write it"), "{heard}");
    let verdict = |approve: bool| {
        json!({ "type": "plan_approval_response", "recipient": "ana", "approve": approve,
            "content": "add tests" })
    };
    lead.call("SendMessage", verdict(false));
    let heard = ana.call("TaskList", json!({}));
    assert!(heard.contains("is rejected: add tests"), "{heard}");
    ana.call("SendMessage", plan("write it, with tests"));
    lead.call("SendMessage", verdict(true));
    let heard = ana.call("TaskList", json!({}));
    assert!(heard.contains("is approved"), "{heard}");
    assert_eq!(events(&stage, "plan.approved").len(), 1);
}

#[test]
fn a_lead_decides_a_plan_and_answers_a_question_in_plain_words() {
    let stage = Stage::new();
    stage.team(&["ana", "bo"]);
    let mut lead = lead(&stage);
    let mut ana = stage.session_of("ana").ready();
    let mut bo = stage.session_of("bo").ready();
    let plan =
        json!({ "type": "plan_approval_request", "recipient": "team-lead", "content": "1. do it" });
    let say =
        |to: &str, words: &str| json!({ "type": "message", "recipient": to, "content": words });
    ana.call("SendMessage", plan.clone());
    // Another teammate's words decide nothing.
    bo.call("SendMessage", say("ana", "Plan approved."));
    assert!(events(&stage, "plan.approved").is_empty());
    let told = lead.call("SendMessage", say("ana", "Plan rejected. Revise: add tests."));
    assert!(told.contains("is rejected"), "{told}");
    let heard = ana.call("TaskList", json!({}));
    assert!(heard.contains("is rejected: Revise: add tests."), "{heard}");
    ana.call("SendMessage", plan);
    let told = lead.call("SendMessage", say("ana", "Plan approved. Proceed with implementation."));
    assert!(told.contains("is approved"), "{told}");
    assert_eq!(events(&stage, "plan.approved").len(), 1);
    let heard = ana.call("TaskList", json!({}));
    assert!(heard.contains("Proceed with implementation."), "{heard}");
    ana.call("AskUserQuestion", json!({ "question": "which form?" }));
    bo.call("SendMessage", say("ana", "the first"));
    assert!(events(&stage, "question.answered").is_empty());
    let told = lead.call("SendMessage", say("ana", "the second"));
    assert!(told.contains("is answered"), "{told}");
    assert_eq!(events(&stage, "question.answered").len(), 1);
    let heard = ana.call("TaskList", json!({}));
    assert!(heard.contains("the second"), "{heard}");
}

#[test]
fn a_shutdown_is_asked_for_and_answered_in_the_forms_of_the_seeds() {
    let stage = Stage::new();
    stage.team(&["ana", "bo"]);
    let mut lead = lead(&stage);
    let mut ana = stage.session_of("ana").ready();
    let mut bo = stage.session_of("bo").ready();
    bo.call("TaskList", json!({}));
    let request = json!({ "type": "shutdown_request", "recipient": "ana",
        "content": "All tasks complete, shutting down team." });
    let told = lead.call("SendMessage", request);
    assert!(told.contains("It has 30 s"), "{told}");
    // While the request lies unread its number goes without saying. What it says is taken as said.
    std::fs::write(stage.repo().join("draft"), "not committed\n").unwrap();
    let clean = json!({ "type": "shutdown_response", "status": "clean", "pending_work": [],
        "artifacts_committed": true });
    ana.call("SendMessage", clean);
    stopped(&stage, "ana");
    let request = json!({ "type": "shutdown_request", "recipient": "bo",
        "reason": "phase_complete", "deadline_seconds": 60 });
    let told = lead.call("SendMessage", request);
    assert!(told.contains("It has 60 s"), "{told}");
    let heard = bo.call("Inbox", json!({}));
    assert!(heard.contains("phase_complete"), "{heard}");
    let left = |id: Option<&str>| {
        let mut left = json!({ "type": "shutdown_response", "status": "in_progress",
            "pending_work": ["T3"], "artifacts_committed": true });
        if let Some(id) = id {
            left["request_id"] = json!(id);
        }
        left
    };
    let refused = bo.refusal("SendMessage", left(None));
    assert!(refused.contains("`request_id` is missing"), "{refused}");
    let id = heard.split("request_id: \"").nth(1).and_then(|rest| rest.split('"').next());
    bo.call("SendMessage", left(Some(id.unwrap())));
    stopped(&stage, "bo");
    let asked = events(&stage, "shutdown.requested");
    let asked: Vec<&Value> = asked.iter().map(|one| &one["deadline_ms"]).collect();
    assert_eq!(asked, [30_000, 60_000]);
    let ends = events(&stage, "teammate.stopped");
    assert_eq!(ends[0]["outcome"], "clean", "{ends:?}");
    assert_eq!(ends[1]["outcome"]["in_progress"]["pending"], json!(["T3"]), "{ends:?}");
}

#[test]
fn a_session_leads_its_team_and_further_ones_below_until_that_is_deleted() {
    let stage = Stage::new();
    let mut lead = stage.session().ready();
    let made = lead.call("TeamCreate", json!({ "name": "my-project" }));
    assert!(made.contains("You lead team my-project"), "{made}");
    let again = lead.call("TeamCreate", json!({ "name": "my-project" }));
    assert!(again.contains("is there, and you lead it: nothing was made"), "{again}");
    let below = lead.call("TeamCreate", json!({ "name": "further" }));
    assert!(below.contains("It is below my-project, and you lead it too"), "{below}");
    let made = lead.call("TaskCreate", json!({ "subject": "x", "team_name": "further" }));
    assert!(made.contains("Task #1 created"), "{made}");
    let listed =
        json!({ "team_name": "further", "todos": [{ "content": "y", "status": "pending" }] });
    let listed = lead.call("TodoWrite", listed);
    assert!(listed.contains("#2 y: created"), "{listed}");
    let ended = lead.call("TeamDelete", json!({ "team_name": "further" }));
    assert!(ended.contains("Team further is deleted"), "{ended}");
    let gone = lead.refusal("TaskCreate", json!({ "subject": "z", "team_name": "further" }));
    assert!(gone.contains("no team further"), "{gone}");
    let still = lead.call("TaskCreate", json!({ "subject": "z" }));
    assert!(still.contains("Task #3 created"), "{still}");
    lead.call("TeamDelete", json!({ "name": "my-project", "now": true }));
    let made = lead.call("TeamCreate", json!({ "name": "another" }));
    assert!(made.contains("You lead team another"), "{made}");
    let told = lead.call("TeamDelete", json!({ "name": "another" }));
    assert!(told.contains("Team another is"), "ending or deleted: {told}");
}
