//! Which line is in which turn, and what came of it.

use serde_json::json;

use super::*;

fn state(turns: &mut Turns, line: &str, state: &str) {
    let line = json!({ "type": "command_lifecycle", "command_uuid": line, "state": state });
    turns.hear(&line);
}

fn result(turns: &mut Turns, text: &str) {
    let line = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": text,
    });
    assert_eq!(turns.hear(&line), Then::Ended);
}

fn began() -> Turns {
    let mut turns = Turns::new(false);
    turns.begin("work".to_owned());
    state(&mut turns, "work", "queued");
    state(&mut turns, "work", "started");
    turns
}

fn reason(finished: Finished) -> String {
    match finished {
        Finished::Failed { reason } | Finished::NotStarted { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_that_the_turn_took_up_ends_with_it() {
    let mut turns = began();
    assert!(turns.add("message".to_owned()));
    state(&mut turns, "message", "queued");
    state(&mut turns, "message", "started");
    state(&mut turns, "message", "completed");
    assert!(!turns.is_over());
    result(&mut turns, "both");
    assert!(turns.is_over());
    assert_eq!(turns.outcome(), Finished::Done { result: "both".to_owned() });
}

#[test]
fn work_is_not_over_while_a_message_waits_for_the_next_turn() {
    let mut turns = began();
    assert!(turns.add("message".to_owned()));
    // The turn ends before the program has even read the line.
    result(&mut turns, "first");
    assert!(!turns.is_over());
    state(&mut turns, "work", "completed");
    state(&mut turns, "message", "queued");
    state(&mut turns, "message", "started");
    assert!(!turns.is_over());
    result(&mut turns, "second");
    assert!(turns.is_over());
    assert_eq!(turns.outcome(), Finished::Done { result: "second".to_owned() });
}

#[test]
fn a_turn_that_the_program_began_by_itself_is_not_the_end_of_the_work() {
    let mut turns = Turns::new(false);
    turns.begin("work".to_owned());
    state(&mut turns, "work", "queued");
    result(&mut turns, "its own");
    assert!(!turns.is_over());
    state(&mut turns, "work", "started");
    result(&mut turns, "ours");
    assert_eq!(turns.outcome(), Finished::Done { result: "ours".to_owned() });
}

#[test]
fn a_line_that_was_put_back_waits_again() {
    let mut turns = began();
    turns.add("message".to_owned());
    state(&mut turns, "message", "started");
    state(&mut turns, "message", "queued");
    result(&mut turns, "first");
    assert!(!turns.is_over());
}

#[test]
fn a_line_that_is_refused_before_any_turn_is_the_end_and_says_so() {
    let mut turns = Turns::new(false);
    turns.begin("work".to_owned());
    state(&mut turns, "work", "refused");
    assert!(turns.is_over());
    assert!(reason(turns.outcome()).contains("hooks"));
}

#[test]
fn after_the_end_nothing_is_added() {
    let mut turns = began();
    result(&mut turns, "done");
    assert!(!turns.add("message".to_owned()));
    assert!(turns.is_over());
}

#[test]
fn a_program_that_tells_nothing_of_lines_gets_one_a_turn() {
    let mut turns = Turns::new(false);
    turns.begin("work".to_owned());
    assert!(!turns.add("message".to_owned()));
    result(&mut turns, "done");
    assert!(turns.is_over());
}

#[test]
fn each_failure_says_what_to_do() {
    let failed = |fields: Value| {
        let mut turns = began();
        let mut line = json!({ "type": "result", "subtype": "success", "is_error": true });
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        turns.hear(&line);
        turns.outcome()
    };
    let login = failed(json!({ "result": "Not logged in · Please run /login" }));
    assert!(matches!(login, Finished::NotStarted { .. }), "{login:?}");
    assert!(reason(login).contains("ANTHROPIC_API_KEY"));
    let forbidden = failed(json!({ "api_error_status": 403, "result": "no access" }));
    assert!(matches!(forbidden, Finished::NotStarted { .. }));
    let busy = failed(json!({ "api_error_status": 529, "result": "Overloaded" }));
    assert!(matches!(busy, Finished::Failed { .. }));
    assert!(reason(busy).contains("try later"));
    let long = failed(json!({ "terminal_reason": "prompt_too_long", "result": "too long" }));
    assert!(reason(long).contains("new one"));
    let model = failed(json!({ "api_error_status": 404, "result": "no such model" }));
    assert!(reason(model).contains("another model"));
    let other = failed(json!({ "subtype": "error_during_execution", "errors": ["a", "b"] }));
    assert_eq!(reason(other), "claude failed (error_during_execution): a; b");
    assert!(reason(failed(json!({}))).starts_with("claude failed"));
}

#[test]
fn a_login_that_is_refused_is_not_tried_for_minutes() {
    let mut turns = began();
    let retry = |attempt: u64| {
        json!({
            "type": "system", "subtype": "api_retry", "attempt": attempt,
            "error": "authentication_failed", "error_status": 401,
        })
    };
    assert_eq!(turns.hear(&retry(1)), Then::Nothing);
    assert_eq!(turns.hear(&retry(3)), Then::GiveUp);
    turns.hear(&json!({ "type": "result", "subtype": "error_during_execution", "is_error": true }));
    assert!(matches!(turns.outcome(), Finished::NotStarted { .. }));
}

#[test]
fn a_turn_costs_what_it_added_to_the_sum() {
    let result = |total: f64| {
        json!({
            "type": "result", "total_cost_usd": total,
            "usage": {
                "input_tokens": 100, "cache_creation_input_tokens": 7,
                "cache_read_input_tokens": 50, "output_tokens": 20,
            },
        })
    };
    let mut turns = Turns::new(false);
    turns.hear(&result(0.5));
    let first = turns.used().unwrap();
    assert_eq!((first.tokens_in, first.tokens_out, first.tokens_cached), (157, 20, 50));
    assert_eq!(first.cost_micros, 500_000);
    turns.hear(&result(0.75));
    assert_eq!(turns.used().unwrap().cost_micros, 250_000);
    assert!(turns.used().is_none());

    // A conversation that was taken up begins with a sum that nobody here knows.
    let mut turns = Turns::new(true);
    turns.hear(&result(3.0));
    assert_eq!(turns.used().unwrap().cost_micros, 0);
    let mut told = result(3.25);
    told["model_usage_since_last_result"] = json!({ "m": { "costUSD": 0.2 } });
    turns.hear(&told);
    assert_eq!(turns.used().unwrap().cost_micros, 200_000);
}

#[test]
fn the_last_text_stands_for_a_result_without_words() {
    let mut turns = began();
    let said = |text: &str, parent: Value| {
        let content = json!([{ "type": "text", "text": text }]);
        json!({
            "type": "assistant", "parent_tool_use_id": parent, "message": { "content": content },
        })
    };
    turns.hear(&said("mine", Value::Null));
    turns.hear(&said("of a subagent", json!("toolu_1")));
    result(&mut turns, "");
    assert_eq!(turns.outcome(), Finished::Done { result: "mine".to_owned() });
}

#[test]
fn odd_lines_change_nothing() {
    let mut turns = began();
    for line in [
        json!({}),
        json!({ "type": "command_lifecycle" }),
        json!({ "type": "command_lifecycle", "command_uuid": "work", "state": 7 }),
        json!({ "type": "command_lifecycle", "command_uuid": "nobody", "state": "completed" }),
        json!({ "type": "system", "subtype": "init" }),
        json!({ "type": "assistant", "message": "?" }),
        json!({ "type": "a new one" }),
    ] {
        assert_eq!(turns.hear(&line), Then::Nothing, "{line}");
    }
    assert!(!turns.is_over());
}
