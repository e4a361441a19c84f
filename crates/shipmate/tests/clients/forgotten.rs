//! What a program that speaks ACP forgets or is not told by its own protocol, and hears all the same: the plan
//! that was approved, when its session is lost; the reason of a refusal.

use std::path::Path;

use serde_json::Value;
use shipmate_protocol::verbs::TaskNew;
use shipmate_protocol::{Answer, Ask, verbs};
use shipmate_testkit::model::Server;

use crate::cast::{self, GEMINI, OPENCODE};
use crate::stage::{SHIPMATE, Stage};

/// A team of one, whose agent is `acp_agent` of the testkit with these faults.
fn stage(faults: &str, mode: &str) -> Stage {
    let agent = Path::new(SHIPMATE).with_file_name("acp_agent");
    let built = "build it with `cargo build -p shipmate-testkit --bin acp_agent`";
    assert!(agent.exists(), "{} is not there: {built}", agent.display());
    let mut stage = Stage::new("");
    let exports = format!("export ACP_AGENT='{faults}' S='{}'", stage.root().display());
    cast::put(&stage, "goose", &format!("{exports}\nexec '{}' \"$@\"\n", agent.display()));
    cast::team_of(&mut stage, "goose", |add| add.mode = Some(mode.to_owned()));
    stage
}

fn task(stage: &mut Stage, subject: &str) {
    let subject = subject.to_owned();
    stage.create(vec![TaskNew { subject, no_change: true, ..TaskNew::default() }]);
}

fn approve(stage: &mut Stage) {
    stage.event("plan.submitted");
    let Answer::Plans(plans) = stage.ask(Ask::Plans(verbs::Plans { all: false })) else { panic!() };
    stage.ask(Ask::PlanApprove(verbs::PlanApprove { plan: plans[0].id }));
}

fn answer(stage: &mut Stage, answer: &str) {
    let asked = stage.hear(|event| event.get("question.asked").is_some());
    let (question, answer) = (asked["n"].as_u64().unwrap(), answer.to_owned());
    stage.ask(Ask::Answer(verbs::QuestionAnswer { question, answer }));
}

/// The prompts that its program got, and whether a session began with each.
fn prompts(stage: &Stage) -> Vec<(String, bool)> {
    let mut prompts = Vec::new();
    let mut is_new = false;
    for epoch in 1..=stage_epochs(stage) {
        let path = stage.life("ana", epoch).join("transcript.jsonl");
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = line.to_string();
            if text.contains("\"session/new\"") {
                is_new = true;
            }
            if text.contains("\"session/prompt\"") {
                prompts.push((text, std::mem::take(&mut is_new)));
            }
        }
    }
    prompts
}

fn stage_epochs(stage: &Stage) -> u32 {
    (1..10).take_while(|epoch| stage.life("ana", *epoch).exists()).last().unwrap_or(0)
}

#[test]
fn a_session_that_is_lost_after_the_approval_is_told_the_plan() {
    let mut stage = stage("plans forgets", "plan");
    task(&mut stage, "put f1 x");
    approve(&mut stage);
    stage.finished(1);
    let prompts = prompts(&stage);
    let (told, _) = prompts.iter().rev().find(|(_, is_new)| *is_new).unwrap();
    assert!(told.contains("plan is approved") && told.contains("chart the harbour"), "{told}");
    assert!(!told.contains("You are in plan mode"), "{told}");
}

#[test]
fn the_reason_of_a_refusal_is_in_the_next_prompt() {
    let mut stage = stage("asks-outside", "normal");
    // Both are there from the beginning: it stays for the second.
    task(&mut stage, "put f1 x");
    task(&mut stage, "put f2 x");
    answer(&mut stage, "that file is the harbour's");
    answer(&mut stage, "allow");
    stage.finished(2);
    let prompts = prompts(&stage);
    let told =
        prompts.iter().filter(|(text, _)| text.contains("that file is the harbour's")).count();
    assert_eq!(told, 1, "{prompts:?}");
}

/// Gemini CLI loses a session that is loaded in the minute in which it began.
#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn gemini_is_told_the_plan_that_was_approved() {
    let server = Server::start(
        r#"
        as ana
        on "Your plan is approved"
          write one.txt one
          tool TaskUpdate {"taskId":"1","status":"completed","result":"charted"}
          say Done.
        on "write one"
          tool ExitPlanMode {"plan":"chart the harbour"}
          say I have planned.
        "#,
    );
    let mut stage = cast::stage(&GEMINI, &server);
    cast::team(&mut stage, &GEMINI, |add| add.mode = Some("plan".to_owned()));
    task(&mut stage, "write one");
    approve(&mut stage);
    let request = server.wait_for(|request| request.contains("Your plan is approved"));
    assert!(request.contains("chart the harbour"), "{}", request.body);
    stage.finished(1);
    assert_eq!(stage.file("one.txt"), "one\n");
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn opencode_is_told_why_it_was_refused() {
    let server = Server::start(
        r#"
        as ana
        on "write one"
          shell ls /etc/hosts.d; cat /etc/hosts
          say I looked.
        "#,
    );
    let mut stage = cast::stage(&OPENCODE, &server);
    cast::team(&mut stage, &OPENCODE, |_| {});
    task(&mut stage, "write one");
    answer(&mut stage, "that file is the harbour's");
    server.wait_for(|request| request.contains("that file is the harbour's"));
}
