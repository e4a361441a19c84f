//! Whatever a model sends and whatever the board answers: an outcome, never a panic.

use std::sync::Mutex;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use shipmate_protocol::tools::{Board, call, list};
use shipmate_protocol::{Answer, Ask, Refused};

use crate::script::{now, parse, seat};

/// Answers with anything, in the order of a list that begins again at its end.
#[derive(Debug)]
struct Anything {
    answers: Vec<usize>,
    asked: Mutex<usize>,
}

const ANSWERS: [&str; 24] = [
    "done",
    "unchanged",
    "created 4",
    "created 4 5 6",
    "created",
    "claimed 3 41",
    "sent 12 alpha/bob",
    "opened 44",
    "started alpha/bob@1",
    "task {}",
    r#"task {"status":"in_progress","owner":"alpha/ana@1","token":41}"#,
    r#"task {"status":"in_progress","owner":"","token":41,"stage":"submitted"}"#,
    r#"task {"status":"completed","owner":"@/@","why":["blocked by "],"subject":"\n"}"#,
    r#"task {"status":"failed","description":"a\nb"}"#,
    r#"tasks [{"id":1},{"id":2,"subject":"text"},{"id":3,"status":"in_progress"}]"#,
    r#"teammate {"supervision":"one_shot"}"#,
    r#"teammates [{},{"name":"","why":"x"}]"#,
    r#"messages [{"id":1,"from":"","body":""},{"id":2,"from":"a/b@1","kind":"question","body":"\r"}]"#,
    r#"plans [{"id":1,"who":"alpha/ana@1","body":""}]"#,
    r#"questions [{"id":1,"who":"x","text":""}]"#,
    r#"teams [{}]"#,
    r#"team {"phase":"ending"}"#,
    "refused UnknownTeammate there is no such teammate",
    "refused StillRunning it runs | shut it down first",
];

impl Board for Anything {
    async fn ask_any(&self, _ask: Ask) -> Result<Answer, Refused> {
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        parse(ANSWERS[self.answers[*asked % self.answers.len()]])
    }

    async fn news(&self, within_ms: u64) -> u64 {
        within_ms / 2
    }
}

/// Any JSON, with words that mean something more often than chance.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        ".{0,12}".prop_map(|text| json!(text)),
        select(WORDS.to_vec()).prop_map(|word| json!(word)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(select(FIELDS.to_vec()), inner, 0..5).prop_map(|fields| {
                Value::Object(
                    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                )
            }),
        ]
    })
}

const WORDS: [&str; 28] = [
    "3",
    "#3",
    "T3",
    "ana",
    "bob",
    "*",
    "all",
    "team-lead",
    "text",
    "pending",
    "in_progress",
    "completed",
    "failed",
    "deleted",
    "blocked",
    "shutdown_request",
    "shutdown_response",
    "plan_approval_request",
    "plan_approval_response",
    "broadcast",
    "approve",
    "reject",
    "plan",
    "alpha",
    "none",
    "me",
    "{\"type\":\"x\"}",
    "[1,2]",
];

const FIELDS: [&str; 48] = [
    "taskId",
    "task_id",
    "status",
    "owner",
    "assignee",
    "subject",
    "description",
    "addBlocks",
    "addBlockedBy",
    "metadata",
    "commit",
    "result",
    "reason",
    "to",
    "recipient",
    "message",
    "content",
    "summary",
    "type",
    "request_id",
    "approve",
    "name",
    "prompt",
    "team_name",
    "members",
    "agent",
    "mode",
    "scope",
    "tasks",
    "todos",
    "questions",
    "question",
    "options",
    "label",
    "answer",
    "question_id",
    "plan",
    "plan_id",
    "action",
    "feedback",
    "wait",
    "max",
    "limit",
    "block",
    "timeout",
    "priority",
    "files",
    "parent",
];

fn arguments() -> impl Strategy<Value = Value> {
    let fields = btree_map(select(FIELDS.to_vec()), value(), 0..10).prop_map(|fields| {
        Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    });
    prop_oneof![9 => fields, 1 => value()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_call_has_an_outcome(
        arguments in arguments(),
        answers in vec(0..ANSWERS.len(), 1..6),
        of in select(vec!["visitor", "lead", "ana", "lead in mode delegate", "ana in mode plan"]),
    ) {
        for tool in list(&seat(of)) {
            let board = Anything { answers: answers.clone(), asked: Mutex::new(0) };
            let outcome = now(call(&board, &seat(of), tool.name, arguments.clone()));
            prop_assert!(outcome.structured.is_object());
            prop_assert!(!outcome.text.trim().is_empty(), "{} {arguments}", tool.name);
            prop_assert!(!outcome.text.contains("secret"), "a token is nobody's to read");
            if outcome.is_error && tool.name != "TodoWrite" && tool.name != "TeamCreate" {
                prop_assert!(outcome.structured["error"].is_string(), "{} {arguments}", tool.name);
            }
            let asked = *board.asked.lock().unwrap();
            prop_assert!(asked < 200, "{} asked {asked} times", tool.name);
        }
    }
}

#[test]
fn absurd_sizes_are_named_not_carried() {
    let long = "x".repeat(70_000);
    let many = vec![json!({ "subject": "a" }); 10_001];
    let cases = [
        ("TaskCreate", json!({ "subject": "a", "description": long })),
        ("TaskCreate", json!({ "tasks": many })),
        ("TaskCreate", json!({ "subject": "a", "blocked_by": vec!["1"; 2000] })),
        ("TaskUpdate", json!({ "taskId": long })),
        ("SendMessage", json!({ "to": "bob", "message": long })),
        ("SendMessage", json!({ "to": long, "message": "hi" })),
        ("TeamCreate", json!({ "team_name": "alpha", "members": vec!["x"; 1000] })),
        ("TodoWrite", json!({ "todos": vec![json!({ "content": "a" }); 2000] })),
        ("AskUserQuestion", json!({ "questions": vec![json!({ "question": "a" }); 20] })),
        ("Plan", json!({ "plan": long })),
    ];
    for (tool, arguments) in cases {
        let board = Anything { answers: vec![0], asked: Mutex::new(0) };
        let outcome = now(call(&board, &seat("lead"), tool, arguments));
        assert_eq!(outcome.structured["error"], "BadArgument", "{tool}: {}", outcome.text);
        assert!(outcome.text.len() < 400, "{tool}: {}", outcome.text);
        assert_eq!(*board.asked.lock().unwrap(), 0, "{tool}");
    }
}
