//! Real values of every view, as the commands would print them.

use serde_json::{Value, json};
use shipmate_protocol::view::{
    Counts, DeliveryStep, DeliveryTrace, InboxMessage, MessageTrace, PlanView, QuestionView,
    Status, TaskRow, TaskView, TeamView, TeammateView,
};

/// A moment of the examples, in milliseconds since 1970.
const THEN: u64 = 1_790_000_000_000;

pub(super) fn task_row() -> TaskRow {
    TaskRow {
        id: 3,
        subject: "Test the parser".into(),
        status: "pending".into(),
        stage: None,
        owner: None,
        available: false,
        why: vec!["blocked by 2".into(), "role tester".into()],
        blocked_by: vec!["2".into(), "group:docs".into()],
        alias: Some("03-01/T3".into()),
        group: Some("tests".into()),
        priority: 100,
        team: "alpha".into(),
    }
}

pub(super) fn held_row() -> TaskRow {
    TaskRow {
        id: 2,
        subject: "Write the parser".into(),
        status: "in_progress".into(),
        stage: Some("claimed".into()),
        owner: Some("alpha/ana@1".into()),
        priority: 100,
        team: "alpha".into(),
        ..TaskRow::default()
    }
}

pub(super) fn task() -> TaskView {
    TaskView {
        row: held_row(),
        description: "Recursive descent is enough.".into(),
        active_form: "Writing the parser".into(),
        files: vec!["src/parser.rs".into()],
        role: Some("dev".into()),
        assignee: Some("ana".into()),
        blocks: vec![3],
        duration_ms: Some(600_000),
        path_ms: 660_000,
        retries: 1,
        retries_max: 3,
        last_failure: Some("the tokenizer was not there".into()),
        metadata: [("ticket".to_owned(), "PARSE-7".to_owned())].into(),
        token: Some(41),
        lease_ms: Some(600_000),
        commit: Some("4f2a9c1".into()),
        result: Some("errors carry a line number".into()),
        set_aside: vec!["alpha/bo@1: branch bo/parser".into()],
        created_by: "person".into(),
        created_at: THEN,
        changed_at: THEN + 5_000,
    }
}

pub(super) fn team() -> TeamView {
    TeamView {
        name: "alpha".into(),
        description: "The parser".into(),
        phase: "active".into(),
        lead: Some("lou".into()),
        teammates: 3,
        running: 2,
        tasks: Counts { pending: 4, in_progress: 1, completed: 7, failed: 0, deleted: 0 },
        breaker: "closed".into(),
        tokens_used: 120_000,
        cost_micros: 1_250_000,
        tokens_max: Some(1_000_000),
        ..TeamView::default()
    }
}

pub(super) fn teammate() -> TeammateView {
    TeammateView {
        name: "ana".into(),
        team: "alpha".into(),
        epoch: 1,
        state: "active".into(),
        why: "task 2".into(),
        role: Some("coder".into()),
        agent: "native".into(),
        model: "small".into(),
        mode: "normal".into(),
        scope: vec!["src".into()],
        holds: vec![2],
        unread: 1,
        tasks_max: 1,
        tokens_used: 40_000,
        cost_micros: 400_000,
        ..TeammateView::default()
    }
}

pub(super) fn status() -> Status {
    Status {
        root: "alpha".into(),
        position: 57,
        teams: vec![team()],
        teammates: vec![teammate()],
        available: vec![4, 5],
        open_plans: 1,
        open_questions: 0,
        unread_by_person: 2,
        queue: None,
        log: "sqlite".into(),
    }
}

pub(super) fn message() -> InboxMessage {
    InboxMessage {
        id: 44,
        from: "alpha/ana@1".into(),
        kind: "message".into(),
        body: "which parser do we use?".into(),
        reply_to: Some(40),
        sent_at: THEN,
    }
}

pub(super) fn trace() -> MessageTrace {
    let step = |state: &str, position: u64, detail: Option<&str>| DeliveryStep {
        state: state.into(),
        position,
        at: THEN + position,
        detail: detail.map(Into::into),
    };
    let to = DeliveryTrace {
        to: "alpha/bo".into(),
        state: "acknowledged".into(),
        steps: vec![
            step("queued", 44, None),
            step("injected", 46, Some("turn 7")),
            step("acknowledged", 47, None),
        ],
    };
    MessageTrace { message: message(), to: vec![to] }
}

pub(super) fn plan() -> PlanView {
    PlanView {
        id: 50,
        who: "alpha/ana@1".into(),
        task: Some(2),
        body: "split the parser, then test it".into(),
        state: "rejected".into(),
        feedback: Some("keep the public interface".into()),
        submitted_at: THEN,
    }
}

pub(super) fn question() -> QuestionView {
    QuestionView {
        id: 52,
        who: "alpha/ana@1".into(),
        kind: "question".into(),
        text: "Which parser?".into(),
        options: vec!["nom".into(), "winnow".into()],
        state: "answered".into(),
        answer: Some("winnow".into()),
        asked_at: THEN,
    }
}

pub(super) fn record() -> Value {
    json!({
        "n": 41, "at": THEN, "by": "alpha/ana@1",
        "req": { "client": "9f86d081884c7d659a2feaa0", "counter": 1 },
        "event": { "task.claimed": { "task": 2, "by": "alpha/ana@1", "lease_ms": 600_000 } }
    })
}
