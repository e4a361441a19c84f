//! What each text must say, and how long it may be: every request to a model pays for it.

use serde_json::json;
use shipmate_protocol::view::{TaskRow, TaskView};

use super::*;

/// Tokens as they are counted for the size of a request.
fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

fn order(lead: bool, scope: &[&str]) -> Order {
    serde_json::from_value(json!({
        "workspace": "/w", "team": "alpha", "name": "ana", "epoch": 1, "token": "t",
        "one_shot": false, "agent": "native", "protocol": "native", "command": "",
        "scope": scope, "tree": null, "session": "", "marker": "m", "own_marker": "o",
        "output_bytes_max": 1, "stop_grace_ms": 1, "program": "/p", "lead": lead,
        "role": "backend",
    }))
    .unwrap()
}

fn work(files: &[&str]) -> Work {
    let row = TaskRow { id: 7, subject: "Parse the header".to_owned(), ..TaskRow::default() };
    let task = TaskView {
        row,
        description: "RFC 9110, section 5".to_owned(),
        files: files.iter().map(ToString::to_string).collect(),
        ..TaskView::default()
    };
    Work {
        team: "alpha".to_owned(),
        teammate: "ana".to_owned(),
        epoch: 1,
        task: Some(task),
        token: Some(3),
        scope: vec!["src".to_owned()],
        role: "backend".to_owned(),
        alone: false,
        gate: vec!["make check".to_owned(), "make lint".to_owned()],
        plan: "First the types, then both ends.".to_owned(),
        tree: "/tree".into(),
        feedback: None,
        conflicts: Vec::new(),
        messages: Vec::new(),
        note: None,
    }
}

fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

#[test]
fn who_has_one_task_is_told_nothing_of_others_or_of_their_tools() {
    let order = Order { one_shot: true, ..order(false, &["src"]) };
    let work = Work { alone: true, ..work(&["src/a.rs"]) };
    for text in [format!("{}{}", standing(&order, "normal"), turn(&work)), once(&order, &work)] {
        has_all(&text, &["You are ana", "Parse the header"]);
        for word in ["SendMessage", "TaskList", "ListAgents", "<teammate-message>"] {
            assert!(!text.contains(word), "{word} is in:\n{text}");
        }
    }
}

#[test]
fn a_teammate_is_told_who_it_is_and_what_holds_in_few_words() {
    let text = standing(&order(false, &["src", "tests"]), "plan");
    has_all(
        &text,
        &[
            "You are ana, a teammate in the team alpha. Your role is backend.",
            "You may write: src, tests.",
            "You are in plan mode",
            "ExitPlanMode",
            "TaskUpdate",
            "SendMessage",
            "<teammate-message>",
            "Commit and push nothing",
        ],
    );
    let usual = standing(&order(false, &[]), "normal");
    assert!(usual.contains("You may write: anything in the repository."));
    assert!(tokens(&usual) < 350, "{} tokens", tokens(&usual));
    assert!(!usual.contains('{') && !usual.contains("plan mode"), "{usual}");
}

#[test]
fn a_lead_with_a_goal_is_told_how_to_plan_and_what_wakes_it() {
    let text = standing(&order(true, &[]), "plan");
    has_all(
        &text,
        &[
            "You are ana, the lead of the team alpha.",
            "You are in plan mode",
            "## While you plan",
            "exact paths",
            "must share no file",
            "contract",
            "`single`",
            "ExitPlanMode",
            "`tasks`",
            "## Once it is approved",
            "a question",
            "a teammate's plan",
            "failed",
            "SendMessage to \"person\"",
        ],
    );
    assert!(tokens(&text) < 650, "{} tokens", tokens(&text));
    assert!(standing(&order(true, &[]), "delegate").contains("You are in delegate mode"));
    let usual = standing(&order(true, &["docs"]), "normal");
    has_all(&usual, &["You are ana, the lead", "TaskCreate", "yourself: docs."]);
    assert!(!usual.contains("While you plan") && !usual.contains('{'), "{usual}");
}

#[test]
fn a_task_has_the_sections_that_whoever_does_it_needs() {
    let text = turn(&work(&["src/header.rs", "tests/header.rs"]));
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(
        heads,
        [
            "## Your Assignment",
            "## Plan Excerpt",
            "## File Ownership (CRITICAL)",
            "## Git Workflow",
            "## TDD Workflow",
            "## Completion",
        ]
    );
    has_all(
        &text,
        &[
            "Task 7: Parse the header\n",
            "You are ana in the team alpha. Your role is backend.",
            "RFC 9110, section 5\n\nThe plan it belongs to: First the types, then both ends.",
            "Files it is about: src/header.rs, tests/header.rs.",
            "You may write: src.",
            "Commit and push nothing",
            "Test command: make check && make lint",
            "taskId \"7\", status \"completed\"",
            "after 3 attempts, tell the lead with SendMessage",
            "do not call it completed",
        ],
    );
}

#[test]
fn a_description_by_sections_takes_the_place_of_what_the_frame_says() {
    let mut own = work(&["src/header.rs"]);
    own.conflicts = vec!["a".to_owned()];
    own.task.as_mut().unwrap().description = "\
        Soon.\n## Your Assignment\nThe header layer\n## Plan Excerpt\nsection 5\n\n## Header\nmore\n\
        ## File Ownership (CRITICAL)\n- src/header.rs\n## Git Workflow\nCommit by name.\n\
        ## TDD Workflow\n1. RED\n## Completion\nAll pass\n"
        .to_owned();
    let text = turn(&own);
    let expected = "\
        ## Your Assignment\nTask 7: Parse the header\n\
        You are ana in the team alpha. Your role is backend.\n\nThe header layer\n\n\
        ## Plan Excerpt\nSoon.\n\nsection 5\n\n## Header\nmore\n\n\
        The plan it belongs to: First the types, then both ends.\n\n\
        ## File Ownership (CRITICAL)\n- src/header.rs\n\n\
        ## Git Workflow\nCommit by name. These files hold conflict markers that are yours to \
        resolve: a.\n\n\
        ## TDD Workflow\n1. RED\n\n\
        ## Completion\nWhen it is done, call TaskUpdate with taskId \"7\"";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("do not call it completed.\n\nAll pass"), "{text}");
}

#[test]
fn the_frame_of_a_task_is_short() {
    let mut bare = work(&[]);
    (bare.gate, bare.plan, bare.scope) = (Vec::new(), String::new(), Vec::new());
    let text = turn(&bare);
    assert!(tokens(&text) < 300, "{} tokens", tokens(&text));
    has_all(&text, &["The task names no files", "whatever tests the repository has"]);
    assert!(!text.contains('{'), "{text}");
}

#[test]
fn what_came_back_and_what_clashes_is_said_with_the_task() {
    let mut again = work(&["a"]);
    again.feedback = Some("make check failed".to_owned());
    again.conflicts = vec!["a".to_owned(), "b".to_owned()];
    has_all(
        &turn(&again),
        &["because: make check failed", "conflict markers that are yours to resolve: a, b."],
    );
}

#[test]
fn what_a_plan_or_a_task_says_is_never_filled_in() {
    let mut odd = work(&["a"]);
    let task = odd.task.as_mut().unwrap();
    task.row.subject = "use {completion} in {x}".to_owned();
    task.description = "{files} and {id".to_owned();
    odd.plan = "{test}".to_owned();
    has_all(
        &turn(&odd),
        &["Task 7: use {completion} in {x}\n", "{files} and {id", "belongs to: {test}\n"],
    );
}

#[test]
fn a_plan_of_any_length_goes_with_its_tasks_in_part() {
    let mut long = work(&["a"]);
    long.plan = "ä".repeat(50_000);
    assert!(turn(&long).len() < PLAN_BYTES_MAX + 2_000);
}

#[test]
fn a_further_turn_says_only_what_is_new_and_a_new_conversation_all() {
    let mut next = work(&["a"]);
    next.note = Some(nudge(7));
    assert!(!turn(&next).contains("## Your Assignment"));
    has_all(&whole_turn(&next), &["without a word about task 7", "## Your Assignment"]);
}

#[test]
fn an_agent_without_tools_is_told_nothing_of_them() {
    let text = once(&order(false, &["src"]), &work(&["src/a"]));
    has_all(
        &text,
        &["You are ana in the team alpha.", "Task 7: Parse the header", "## Completion"],
    );
    assert!(!text.contains("TaskUpdate"), "{text}");
}

#[test]
fn who_a_teammate_is_fits_into_a_few_words_that_outlive_every_summary() {
    for (lead, mode) in [(false, "normal"), (false, "plan"), (true, "plan"), (true, "delegate")] {
        let many: Vec<String> = (0..100).map(|n| format!("src/part-{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let text = identity(&order(lead, &many), mode);
        has_all(&text, &["You are ana, ", " the team alpha.", "backend", "src/part-0, ", "Commit"]);
        assert_eq!(text.contains("mode"), mode != "normal", "{text}");
        assert!(tokens(&text) <= 120, "{} tokens: {text}", tokens(&text));
    }
}

#[test]
fn what_a_playbook_says_about_a_role_is_told_in_every_way() {
    let mut order = order(false, &[]);
    assert!(!standing(&order, "normal").ends_with('\n'));
    order.prompt = "Write the failing test first.\n".to_owned();
    let text = standing(&order, "normal");
    assert!(text.ends_with("\n\nWrite the failing test first."), "{text}");
    let text = once(&order, &work(&[]));
    has_all(&text, &["and end.\n\nWrite the failing test first.\n\n"]);
}
