//! Which step answers which conversation.

use serde_json::json;

use super::super::conversation::{Kind, Tool};
use super::*;

/// One line per entry: `user TEXT`, `model TEXT`, `call`, `result TEXT`, `system TEXT`.
fn conversation(lines: &str) -> Conversation {
    let mut conversation = Conversation::default();
    conversation.tools.push(Tool {
        name: "Bash".to_owned(),
        namespace: None,
        kind: Kind::Function(json!({})),
    });
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (who, text) = line.split_once(' ').unwrap_or((line, ""));
        match who {
            "user" => conversation.user_said(text),
            "system" => conversation.system_said(text),
            "model" => conversation.model_said(text, 0),
            "call" => conversation.model_said("", 1),
            "result" => conversation.result(text.to_owned()),
            _ => panic!("{line}"),
        }
    }
    conversation
}

/// `WHO LINE/STEP`, `nothing` or `side ANSWER`.
fn chosen_for(script: &str, conversation: &Conversation) -> String {
    match choose(&script.parse().unwrap(), conversation) {
        Choice::Side(answer) => format!("side {answer}"),
        Choice::Nothing => "nothing".to_owned(),
        Choice::Step { actor, rule, step, .. } => format!("{actor} {}/{}", rule.line, step + 1),
    }
}

fn chosen(script: &str, lines: &str) -> String {
    chosen_for(script, &conversation(lines))
}

const ANA: &str = "as ana
on \"task 1\"
  shell a
  shell b
  say Done.
on \"hello\"
  tool SendMessage
as bo
on \"task 1\"
  say Bo is done.
as *
on \"task\"
  say Whoever.";

#[test]
fn each_turn_of_the_model_is_one_step_on() {
    let task = "system You are ana.\nuser Do task 1 now";
    assert_eq!(chosen(ANA, task), "ana 2/1");
    assert_eq!(chosen(ANA, &format!("{task}\ncall\nresult x")), "ana 2/2");
    assert_eq!(chosen(ANA, &format!("{task}\ncall\ncall\nresult x\nresult y")), "ana 2/2");
    let most = format!("{task}\ncall\nresult x\ncall\nresult y");
    assert_eq!(chosen(ANA, &most), "ana 2/3");
    assert_eq!(chosen(ANA, &format!("{most}\nmodel Done.\nuser thanks")), "nothing");
    assert_eq!(chosen(ANA, &format!("{most}\nmodel Done.\nuser task 1 again")), "ana 2/1");
}

#[test]
fn what_the_script_did_not_say_is_not_counted() {
    let resumed = "user You are ana. task 1\ncall\nresult x\nuser [Request interrupted]\n\
                   model No response requested.\nuser go on";
    assert_eq!(chosen(ANA, resumed), "ana 2/2");
}

#[test]
fn a_step_that_could_only_say_that_its_tool_is_missing_is_done() {
    let missing = format!("user You are ana. task 1\nmodel The script calls X, {NOT_OFFERED}: Y");
    assert_eq!(chosen(ANA, &format!("{missing}\nuser go on")), "ana 2/2");
}

#[test]
fn a_rule_that_ends_in_a_call_gives_way_to_the_one_it_interrupted() {
    let begun = "user You are ana. task 1\ncall\nresult x\nuser hello ana";
    assert_eq!(chosen(ANA, begun), "ana 6/1");
    let answered = format!("{begun}\ncall\nresult sent");
    assert_eq!(chosen(ANA, &answered), "ana 2/2");
    assert_eq!(chosen(ANA, &format!("{answered}\ncall\nresult y")), "ana 2/3");
}

#[test]
fn whoever_is_told_first_who_it_is_is_that_one() {
    assert_eq!(chosen(ANA, "system You are bo.\nuser You are ana said bo: task 1"), "bo 9/1");
    assert_eq!(chosen(ANA, "system You are anabel.\nuser task 1"), "* 12/1");
    assert_eq!(chosen(ANA, "system You are bo.\nuser another task"), "bo 12/1");
    assert_eq!(chosen(ANA, "user something else"), "nothing");
}

#[test]
fn a_text_is_found_as_whole_words() {
    assert_eq!(find_words("task 10, task 1.", "task 1"), Some(9));
    assert_eq!(find_words("subtask 1", "task 1"), None);
    assert_eq!(find_words("a->b", "->"), Some(1));
    assert_eq!(chosen(ANA, "user You are ana. task 10"), "ana 12/1");
}

#[test]
fn reminders_of_the_program_begin_no_rule_but_messages_in_them_do() {
    let task = "user You are ana. task 1\ncall\nresult x";
    let reminder = "user <system-reminder>There is task 1 on the list</system-reminder>";
    assert_eq!(chosen(ANA, &format!("{task}\n{reminder}")), "ana 2/2");
    assert_eq!(chosen(ANA, &format!("{task}\nsystem # Tasks: task 1")), "ana 2/2");
    let message = "system The user sent a new message while you were working: hello";
    assert_eq!(chosen(ANA, &format!("{task}\n{message}")), "ana 6/1");
}

#[test]
fn side_calls_get_a_fixed_answer_that_fits_their_schema() {
    let mut title = conversation("user You are ana. task 1");
    title.tools.clear();
    assert_eq!(chosen_for(ANA, &title), "side ok");
    title.schema = Some(json!({"type": "object", "properties": {
        "title": {"type": "string"}, "score": {"type": "INTEGER", "minimum": 1},
        "kind": {"enum": ["a", "b"]}, "all": {"type": "array"}, "is": {"type": ["boolean", "null"]},
    }}));
    assert_eq!(
        chosen_for(ANA, &title),
        r#"side {"all":[],"is":false,"kind":"a","score":1,"title":"ok"}"#
    );
    assert_eq!(chosen_for(&format!("plain\n{ANA}"), &title), "ana 3/1");

    let suggestion = "user You are ana. task 1\nmodel Done.\nuser [SUGGESTION MODE: task 1]";
    assert_eq!(chosen(ANA, suggestion), "side ok");
}

#[test]
fn a_retry_is_at_the_same_position_and_progress_is_not() {
    let at = |lines| position(&conversation(lines));
    assert_eq!(at("user a\ncall\nresult b"), at("user a\ncall\nresult b"));
    assert_ne!(at("user a\ncall\nresult b"), at("user a\ncall\nresult b\ncall\nresult b"));
}
