//! Real values of every view, as the commands would print them.

use serde_json::{Value, json};
use shipmate_protocol::Mode;
use shipmate_protocol::verbs::{QuestionKind, Supervision};
use shipmate_protocol::view::{
    AgentView, BreakerState, Counts, DecidedRow, DecisionKind, DecisionView, DeliveryState,
    DeliveryStep, DeliveryTrace, DiffFile, InboxMessage, Leftover, Merged, MessageTrace, OwnFolder,
    PauseKind, PauseView, PhaseState, PhaseView, PlanState, PlanView, PlannedTaskView,
    PlannedTeammateView, PlaybookChecked, PlaybookEntry, PlaybookPart, PlaybookRow, PlaybookView,
    ProblemView, QuestionState, QuestionView, Resumed, Status, TaskDiff, TaskRow, TaskStage,
    TaskStatus, TaskView, TeamState, TeamView, TeammateState, TeammateView, WorkView,
};

use crate::cli::decisions::Listed;

/// A moment of the examples, in milliseconds since 1970.
const THEN: u64 = 1_790_000_000_000;

const BASE: &str = "2d73110c09c4e0fc2f22a67a899dbdaaca09d083";

pub(super) fn resumed() -> Value {
    let teammates = [
        ("alpha/ana", "resumed", "its process went on without interruption"),
        ("alpha/bo", "restarted", "as epoch 2, in its old tree"),
    ];
    let teammates = teammates.map(|(name, how, why)| Resumed {
        name: name.into(),
        how: how.into(),
        why: why.into(),
    });
    json!({ "teammates": teammates, "in_flight": [held_row()], "queue": "verifying task 7" })
}

pub(super) fn merged() -> Merged {
    Merged {
        branch: "shipmate/alpha".into(),
        commit: Some("420cfe3efa037b3fd3e777feaeb5e19e4cc14a79".into()),
        tasks: vec![1, 2],
        branches: vec![],
        notes: vec!["merged into main".into()],
    }
}

pub(super) fn playbook() -> PlaybookView {
    let row = PlaybookRow {
        name: "features".into(),
        title: "Features, each with its scope and its tests".into(),
        about: "Works off .harness/features.json.".into(),
        file: "built in".into(),
        problems: 0,
        selected_by: vec![".harness/".into()],
        found: Some(".harness/".into()),
        env: Some("AGENT_TEAMS".into()),
    };
    let entry = PlaybookEntry { name: "lead".into(), lines: vec!["leads the team".into()] };
    let parts = vec![PlaybookPart { part: "roles".into(), entries: vec![entry] }];
    let toml = "name = \"features\"\n…".into();
    PlaybookView { row, toml, parts, schemas: Default::default() }
}

pub(super) fn checked() -> PlaybookChecked {
    let file = || "pairs.toml".to_owned();
    let problem = ProblemView {
        file: file(),
        line: 52,
        column: Some(1),
        fact: "a phase has no key \"role\"".into(),
        remedy: "did you mean roles?".into(),
    };
    PlaybookChecked { file: file(), problems: vec![problem] }
}

pub(super) fn phases() -> Value {
    let phase = |name: &str, state: PhaseState, round: u32, why: &str| PhaseView {
        name: name.into(),
        state,
        round,
        why: why.into(),
        ..PhaseView::default()
    };
    let phases = [
        phase("contracts", PhaseState::Done, 1, ""),
        phase("layers", PhaseState::Waits, 0, "docs/contracts.md is not there"),
    ];
    json!({ "team": "alpha", "playbook": "contract-first", "phases": phases })
}

pub(super) fn run() -> Value {
    let open = json!({
        "id": 2, "subject": "Test the parser", "status": "failed", "why": "the gate is red",
    });
    json!({
        "outcome": "partial", "title": "The parser", "team": "alpha",
        "tasks": { "total": 2, "completed": 1, "not_done": [open] },
        "commits": [{ "task": 1, "hash": "420cfe3efa037b3fd3e777feaeb5e19e4cc14a79" }],
        "report": "The parser is there; its tests are not.",
        "no_plan": "the lead handed in no plan",
        "waiting": [{ "what": "question 65: Which?", "command": "shipmate answer 65 JWT" }],
        "deviations": ["bo did not answer the shutdown within 30s"],
        "gates": { "runs": 2, "green": 1, "red": 1 },
        "phases": [{
            "team": "alpha", "phase": "layers", "round": 1, "end": "failed", "why": "task 2 failed",
        }],
        "took_ms": 252_000, "critical_path_ms": 220_000, "bound_ms": 230_000,
        "teammates": [{ "name": "ana", "tasks_done": 1, "busy_ms": 200_000, "restarts": 0 }],
        "spent": { "tokens": 48_200, "cost_micros": 536_000, "tokens_unpriced": 0 },
        "places": {
            "branch": "shipmate/alpha", "base": "main",
            "output": "…/.shipmate/state/teams/alpha/lives", "summaries": [],
        },
    })
}

pub(super) fn left_over() -> Leftover {
    Leftover {
        kind: "branch".into(),
        team: "beta".into(),
        name: "refs/heads/shipmate/beta".into(),
        why: "NOT merged, 1 commit: 420cfe3 task 2: Test the parser".into(),
        removed: false,
        precious: true,
    }
}

pub(super) fn task_row() -> TaskRow {
    TaskRow {
        id: 3,
        subject: "Test the parser".into(),
        status: TaskStatus::Pending,
        stage: None,
        owner: None,
        available: false,
        blocked: true,
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
        status: TaskStatus::InProgress,
        stage: Some(TaskStage::Claimed),
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

pub(super) fn diff() -> TaskDiff {
    TaskDiff {
        from: BASE.into(),
        to: "working tree".into(),
        text: "diff --git a/src/parser.rs b/src/parser.rs\n…".into(),
        cut: false,
        files: vec![DiffFile {
            path: "src/parser.rs".into(),
            added: 40,
            removed: 2,
            binary: false,
        }],
        note: "nobody works on it now: shown is what the last attempt has left".into(),
    }
}

pub(super) fn team() -> TeamView {
    TeamView {
        name: "alpha".into(),
        description: "The parser".into(),
        phase: TeamState::Active,
        lead: Some("lou".into()),
        teammates: 3,
        running: 2,
        tasks: Counts { pending: 4, in_progress: 1, completed: 7, failed: 0, deleted: 0 },
        paused: Some("wait for the review".into()),
        pause: Some(PauseView {
            id: 57,
            kind: PauseKind::Asked,
            by: "alpha/lou@1".into(),
            at: THEN,
            phase: None,
        }),
        base: Some(BASE.into()),
        branch: Some("shipmate/alpha".into()),
        breaker: BreakerState::Closed,
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
        state: TeammateState::Active,
        why: "task 2".into(),
        role: Some("coder".into()),
        agent: "native".into(),
        model: "small".into(),
        mode: Mode::Normal,
        scope: vec!["src".into()],
        holds: vec![2],
        unread: 1,
        tasks_max: 1,
        command: "./agent.sh".into(),
        supervision: Supervision::Supervised,
        session: "b2c1".into(),
        last_words: "running 12 tests".into(),
        silent_ms: Some(1_200),
        pid: Some(4712),
        sign_at: Some(THEN),
        context_used: Some(45_000),
        context_max: Some(200_000),
        tokens_used: 40_000,
        cost_micros: 400_000,
        ..TeammateView::default()
    }
}

pub(super) fn agent() -> AgentView {
    AgentView {
        name: "codex".into(),
        protocol: "codex".into(),
        program: Some("/usr/bin/codex".into()),
        version: Some("0.166.0".into()),
        state: "not_logged_in".into(),
        why: "no login was found".into(),
        remedy: "run `codex login`, or set OPENAI_API_KEY".into(),
        own: vec![OwnFolder {
            variable: "CODEX_HOME".into(),
            instead_of: "/path/to/home/.codex".into(),
            read: vec!["config.toml".into(), "skills".into()],
            logins: vec!["auth.json".into()],
            copied: Vec::new(),
        }],
    }
}

pub(super) fn status() -> Status {
    Status {
        root: "alpha".into(),
        position: 57,
        teams: vec![team()],
        teammates: vec![teammate()],
        available: vec![4, 5],
        nobody_takes: false,
        open_plans: 1,
        open_questions: 0,
        unread_by_person: 2,
        queue: Some("verifying task 7".into()),
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
    let step = |state: DeliveryState, position: u64, detail: Option<&str>| DeliveryStep {
        state,
        position,
        at: THEN + position,
        detail: detail.map(Into::into),
    };
    let to = DeliveryTrace {
        to: "alpha/bo".into(),
        state: DeliveryState::Acknowledged,
        steps: vec![
            step(DeliveryState::Queued, 44, None),
            step(DeliveryState::Injected, 46, Some("turn 7")),
            step(DeliveryState::Acknowledged, 47, None),
        ],
    };
    MessageTrace { message: message(), to: vec![to] }
}

pub(super) fn plan_of_lead() -> PlanView {
    let task = PlannedTaskView {
        key: "parser".into(),
        subject: "Write the parser".into(),
        description: "RFC 9110, section 5".into(),
        files: vec!["src/parse.rs".into()],
        blocked_by: vec!["types".into()],
        role: Some("dev".into()),
        assignee: None,
        duration_ms: Some(600_000),
    };
    let types = PlannedTaskView {
        key: "types".into(),
        subject: "Name the parts".into(),
        files: vec!["src/types.rs".into()],
        ..PlannedTaskView::default()
    };
    let teammate = PlannedTeammateView {
        name: "dev-1".into(),
        role: Some("dev".into()),
        agent: "native".into(),
        mode: Mode::Normal,
        ..PlannedTeammateView::default()
    };
    let work = WorkView {
        tasks: vec![types, task],
        teammates: vec![teammate],
        single: Some("one part builds on the other".into()),
        width: 1,
        critical_path: vec!["types".into(), "parser".into()],
        critical_path_ms: 660_000,
    };
    PlanView {
        id: 61,
        who: "alpha/lead@1".into(),
        task: None,
        body: "The types first, then the parser.".into(),
        state: PlanState::Open,
        feedback: None,
        unworkable: false,
        submitted_at: THEN,
        work: Some(Box::new(work)),
    }
}

pub(super) fn plan() -> PlanView {
    PlanView {
        id: 50,
        who: "alpha/ana@1".into(),
        task: Some(2),
        body: "split the parser, then test it".into(),
        state: PlanState::Rejected,
        feedback: Some("it cannot be carried out: task 2 is completed".into()),
        unworkable: true,
        submitted_at: THEN,
        work: None,
    }
}

pub(super) fn question() -> QuestionView {
    QuestionView {
        id: 52,
        who: "alpha/ana@1".into(),
        kind: QuestionKind::Question,
        text: "Which parser?".into(),
        options: vec!["nom".into(), "winnow".into()],
        state: QuestionState::Answered,
        answer: Some("winnow".into()),
        asked_at: THEN,
    }
}

pub(super) fn decisions() -> Value {
    let open = DecisionView {
        id: 52,
        kind: DecisionKind::Question,
        team: "alpha".into(),
        who: "alpha/ana@1".into(),
        task: Some(2),
        text: "Which parser?".into(),
        options: vec!["nom".into(), "winnow".into()],
        at: THEN,
        waiting: 2,
        ..DecisionView::default()
    };
    let decided = DecidedRow {
        n: 60,
        at: THEN,
        by: "person".into(),
        answer: "rejected".into(),
        feedback: "keep the public interface".into(),
        id: 50,
        kind: DecisionKind::Plan,
        team: "alpha".into(),
        who: "alpha/ana@1".into(),
        task: Some(2),
        text: "split the parser, then test it".into(),
        asked_at: THEN,
    };
    json!([Listed::open(open), Listed::decided(decided)])
}

pub(super) fn record() -> Value {
    json!({
        "n": 41, "at": THEN, "by": "alpha/ana@1",
        "req": { "client": "9f86d081884c7d659a2feaa0", "counter": 1 },
        "event": { "task.claimed": { "task": 2, "by": "alpha/ana@1", "lease_ms": 600_000 } }
    })
}
