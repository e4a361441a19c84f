//! What the playbooks that come with shipmate say in numbers and lists: each is somebody's promise.

use shipmate_model::playbook::{ClaimOrder, Condition, Playbook, ShutdownOrder, Test};

use super::BUILTIN;
use super::compile::{Compiled, compile};

pub(crate) fn builtin(name: &str) -> Compiled {
    let (_, text) = BUILTIN.iter().find(|(own, _)| *own == name).unwrap();
    compile(name, text).unwrap()
}

fn phase<'a>(playbook: &'a Playbook, name: &str) -> &'a shipmate_model::playbook::Phase {
    playbook.phases.iter().find(|phase| phase.name.as_str() == name).unwrap()
}

#[test]
fn contract_first_has_two_clocks_and_two_deadlines() {
    let compiled = builtin("contract-first");
    let book = &compiled.playbook;
    // Five minutes for the contracts, and fifteen from when there is a team.
    assert_eq!(phase(book, "contracts").deadline_ms, Some(300_000));
    let cap = book.cap.as_ref().unwrap();
    assert_eq!((cap.ms, cap.from.as_ref().unwrap().as_str()), (900_000, "layers"));
    // Each has 60 s in turn at the end, and all have 30 s when the time is over.
    assert_eq!(book.shutdown, ShutdownOrder::InTurn);
    assert_eq!((compiled.shutdown_ms, cap.shutdown_ms), (Some(60_000), 30_000));
    assert_eq!(book.single.unwrap().independent_min, Some(3));
    assert_eq!(book.counted.same_failure_max, Some(3), "one limit, and no other");
    let lines = |one: &Condition| matches!(one, Condition::File { test: Test::LinesMax(19), .. });
    assert!(phase(book, "contracts").exit.iter().any(lines));
    let marks = phase(book, "integrate").exit.iter().find_map(|one| match one {
        Condition::File { test: Test::Lacks(marks), .. } => Some(marks.clone()),
        _ => None,
    });
    for mark in ["pytest.mark.skip", "it.skip", "#[ignore]"] {
        assert!(marks.as_ref().unwrap().iter().any(|own| own == mark), "{mark}");
    }
    // The lead may write whatever is kept from the layers.
    assert_eq!(book.lead().unwrap().1.may, compiled.protected);
}

#[test]
fn delegate_has_one_list_of_seven_tools() {
    let compiled = builtin("delegate");
    let (_, lead) = compiled.playbook.lead().unwrap();
    let seven = [
        "TeamCreate",
        "SendMessage",
        "TeamDelete",
        "TodoWrite",
        "AskUserQuestion",
        "Config",
        "ExitPlanMode",
    ];
    assert_eq!(lead.tools, seven);
    assert_eq!(compiled.select_env.as_deref(), Some("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"));
}

#[test]
fn features_has_one_kind_of_message_a_decision() {
    let kinds = builtin("features").playbook.kinds;
    assert_eq!(kinds.keys().map(|kind| kind.as_str()).collect::<Vec<_>>(), ["decision"]);
}

#[test]
fn board_hands_out_by_number_and_gives_teammates_no_tool_of_the_lead() {
    let book = builtin("board").playbook;
    assert_eq!(book.order, ClaimOrder::Number);
    let role = &book.roles[&"teammate".parse().unwrap()];
    assert_eq!(role.tools, ["TaskCreate", "TaskUpdate", "TaskList", "SendMessage", "Inbox"]);
    for tool in ["TaskGet", "TaskOutput", "TaskStop", "Task", "Agent", "TeamCreate", "TeamDelete"] {
        assert!(!role.tools.iter().any(|own| own == tool), "{tool}");
    }
}
