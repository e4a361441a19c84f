//! Which requests keys come to: typed on the scene of the frames, compared as JSON.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use serde_json::{Value, json};
use shipmate_protocol::socket::{Silence, SilenceCause};
use shipmate_protocol::view::{Card, Delta, LogLine};
use shipmate_protocol::{Answer, ClientFailure, answers};

use super::super::{App, Place, Said};
use crate::tui::frames::{self, scene, typed};
use crate::tui::message::{Effect, Message, Then};

/// The requests among the effects, each with its team.
fn asks(effects: &[Effect]) -> Vec<Value> {
    let ask = |effect: &Effect| match effect {
        Effect::Ask(asked) => {
            assert_eq!(asked.team.as_deref(), Some("alpha"));
            Some(serde_json::to_value(&asked.ask).unwrap())
        }
        _ => None,
    };
    effects.iter().filter_map(ask).collect()
}

/// The same, with what is sent when the screen is left.
fn asked(keys: &str) -> Vec<Value> {
    let mut app = scene::team();
    let mut effects = typed(&mut app, keys);
    effects.extend(app.quit());
    asks(&effects)
}

fn approve() -> Value {
    json!({ "plan_approve": { "plan": 41 } })
}

fn without(app: &App, id: u64) -> Message {
    let mut decisions = app.store.decisions.clone();
    decisions.retain(|one| one.id != id);
    let (root, position) = ("alpha".to_owned(), app.store.position + 1);
    let delta = Delta { root, position, decisions: Some(decisions), ..Delta::default() };
    Message::Delta(Box::new(delta))
}

/// The board's first row is task 6, returned to cy.
#[test]
fn a_task_is_acted_on_with_a_key() {
    let release =
        json!({ "task_release": { "task": "6", "token": null, "reason": "given back by hand" } });
    assert_eq!(asked("x Enter"), [release]);
    assert_eq!(asked("r"), [json!({ "task_retry": { "task": "6" } })]);
    assert_eq!(asked("a bo Enter"), [json!({ "task_assign": { "task": "6", "to": "bo" } })]);
    assert_eq!(asked("a Enter"), [json!({ "task_assign": { "task": "6", "to": null } })]);
    assert_eq!(asked("x Esc"), [Value::Null; 0]);
}

#[test]
fn only_what_somebody_has_is_released() {
    let mut app = scene::team();
    assert!(asks(&typed(&mut app, "G x")).is_empty());
    let Some(Said::Refused(why)) = &app.said else { panic!("{:?}", app.said) };
    assert_eq!(why, "nobody has task 1; only a task in progress is released");
}

#[test]
fn a_task_is_created_with_what_was_filled_in() {
    let keys = "n Write Space it Tab Tab src/a.rs,src/b.rs Tab 2 Tab Tab Tab -3 Enter";
    let task = json!({
        "subject": "Write it", "files": ["src/a.rs", "src/b.rs"], "blocked_by": ["2"], "priority": -3
    });
    assert_eq!(asked(keys), [json!({ "task_create": { "tasks": [task] } })]);
    assert!(asked("n Enter").is_empty(), "a task needs a subject");
    assert!(asked("n x Tab Tab Tab Tab Tab Tab soon Enter").is_empty(), "a priority is a number");
}

#[test]
fn editing_sends_only_what_is_different() {
    let mut app = scene::team();
    assert_eq!(asks(&typed(&mut app, "e")), [json!({ "task_show": { "task": "6" } })]);
    let Message::Answered(_, answer) = scene::task_answer() else { panic!("a task") };
    app.update(Message::Answered(Then::Edit, answer));
    let effects = typed(&mut app, "! Tab Tab src/io.rs Tab 1 Enter");
    let changes = json!({
        "subject": "Read files in pieces!", "description": null, "active_form": null,
        "priority": null, "duration_ms": null, "role": null, "files": ["src/io.rs"],
        "add_blocked_by": ["1"], "remove_blocked_by": [], "metadata": {}
    });
    let update = json!({ "task_update": { "task": "6", "changes": changes } });
    assert_eq!(asks(&effects), [update]);
}

/// The first one of the team is lea, who leads; then ana, bo, cy.
#[test]
fn a_teammate_is_acted_on_with_a_key() {
    let pause = json!({ "teammate_pause": { "name": "ana", "reason": "paused by hand" } });
    assert_eq!(asked("3 j p Enter"), [pause]);
    assert_eq!(asked("3 G p"), [json!({ "teammate_continue": { "name": "cy" } })]);
    let shutdown = json!({
        "shutdown": { "name": "ana", "reason": "asked by hand", "deadline_ms": 60_000 }
    });
    assert_eq!(asked("3 j s Enter"), [shutdown]);
    let start = json!({ "teammate_start": { "name": "lea", "supervision": "supervised" } });
    assert_eq!(asked("3 r"), [start]);
}

#[test]
fn the_team_is_paused_and_shut_down_from_the_board() {
    assert_eq!(asked("p Enter"), [json!({ "team_pause": { "reason": "paused by hand" } })]);
    let everybody = json!({
        "shutdown": { "name": null, "reason": "asked by hand", "deadline_ms": 60_000 }
    });
    assert_eq!(asked("s Enter"), [everybody]);
}

#[test]
fn messages_go_to_whoever_is_looked_at() {
    let send = |to: &str, reply_to: Value| -> Value {
        json!({ "send": { "to": to, "body": "hi", "kind": null, "reply_to": reply_to } })
    };
    assert_eq!(asked("3 j m hi Enter"), [send("ana", Value::Null)]);
    assert_eq!(asked("m hi Enter"), [send("cy", Value::Null)], "who has the task");
    assert_eq!(asked("4 k k m hi Enter"), [send("ana", json!(140))], "an answer");
    assert_eq!(asked("4 G Enter m Tab hi Tab bo Enter"), [send("bo", Value::Null)]);
}

#[test]
fn decisions_are_answered_with_a_key() {
    assert_eq!(asked("5 y"), [approve()]);
    let reject = json!({ "plan_reject": { "plan": 41, "feedback": "smaller" } });
    assert_eq!(asked("5 d smaller Enter"), [reject]);
    assert!(asked("5 d Enter").is_empty(), "a rejection needs words");
    let answer = |id: u64, text: &str| json!({ "answer": { "question": id, "answer": text } });
    assert_eq!(asked("5 j 2 Enter"), [answer(52, "none, by hand")]);
    assert!(asked("5 j Enter").is_empty(), "nothing was chosen");
    assert!(asked("5 j y").is_empty(), "yes is no answer to it");
    assert_eq!(asked("5 G y"), [answer(60, "allow")]);
    assert_eq!(asked("5 G d Enter"), [answer(60, "deny")]);
    assert_eq!(asked("5 G d no Enter"), [answer(60, "deny: no")]);
}

#[test]
fn a_decision_that_moves_is_not_mistaken_for_another() {
    let mut app = scene::team();
    typed(&mut app, "5 G");
    let mut decisions = app.store.decisions.clone();
    decisions.reverse();
    let root = "alpha".to_owned();
    let delta = Delta { root, decisions: Some(decisions), ..Delta::default() };
    app.update(Message::Delta(Box::new(delta)));
    let answer = json!({ "answer": { "question": 60, "answer": "allow" } });
    frames::frame(&app, 80, 24);
    typed(&mut app, "y");
    assert_eq!(asks(&app.quit()), [answer]);
}

#[test]
fn one_press_decides_one_decision() {
    assert_eq!(asked("5 y y y y"), [approve()], "the next one was not chosen");
    let allow = json!({ "answer": { "question": 60, "answer": "allow" } });
    assert_eq!(asked("5 y G y y"), [approve(), allow], "the last one was");
    assert_eq!(asked("5 y d Enter"), [approve()]);
}

#[test]
fn what_was_not_on_the_screen_yet_is_not_decided() {
    let mut app = scene::team();
    let key = |code| Message::Key(KeyEvent::new(code, KeyModifiers::NONE));
    app.update(key(KeyCode::Char('5')));
    app.update(key(KeyCode::Char('y')));
    assert!(app.outbox.held().is_empty());
    frames::frame(&app, 80, 24);
    let held_down = KeyEvent { kind: KeyEventKind::Repeat, ..KeyCode::Char('y').into() };
    app.update(Message::Key(held_down));
    assert!(app.outbox.held().is_empty());
    app.update(key(KeyCode::Char('y')));
    assert_eq!(asks(&app.quit()), [approve()]);
}

#[test]
fn a_decision_that_comes_or_goes_by_itself_leaves_nothing_under_the_key() {
    let mut app = scene::team();
    typed(&mut app, "5");
    app.update(without(&app, 41));
    frames::frame(&app, 80, 24);
    typed(&mut app, "y y");
    assert!(app.outbox.held().is_empty(), "another is in its place");
    let mut app = scene::empty();
    typed(&mut app, "5");
    let decisions = Some(scene::team().store.decisions);
    let delta = Delta { root: "alpha".to_owned(), decisions, ..Delta::default() };
    app.update(Message::Delta(Box::new(delta)));
    frames::frame(&app, 80, 24);
    typed(&mut app, "y");
    assert!(app.outbox.held().is_empty(), "nobody has looked at it");
}

#[test]
fn a_decision_is_sent_after_a_few_seconds_and_can_be_taken_back_until_then() {
    let mut app = scene::team();
    assert!(asks(&typed(&mut app, "5 y")).is_empty());
    app.now += 4_900;
    assert!(asks(&app.wants()).is_empty());
    typed(&mut app, "u");
    app.now += 10_000;
    assert!(asks(&app.wants()).is_empty(), "it was taken back");
    // It is looked at again, and may be decided otherwise.
    let reject = json!({ "plan_reject": { "plan": 41, "feedback": "smaller" } });
    typed(&mut app, "d smaller Enter");
    app.now += 5_000;
    assert_eq!(asks(&app.wants()), [reject]);
    assert!(asks(&app.quit()).is_empty(), "once");
    assert_eq!(asked("5 y s"), [approve()], "or at once");
}

#[test]
fn who_takes_an_answer_back_has_its_words_again() {
    let mut app = scene::team();
    typed(&mut app, "5 d smaller Enter");
    assert!(app.form.is_none());
    typed(&mut app, "u");
    let reject = json!({ "plan_reject": { "plan": 41, "feedback": "smaller!" } });
    typed(&mut app, "! Enter");
    assert_eq!(asks(&app.quit()), [reject]);
}

#[test]
fn what_somebody_else_has_decided_meanwhile_is_not_sent() {
    let mut app = scene::team();
    typed(&mut app, "5 y");
    app.update(without(&app, 41));
    assert!(asks(&app.quit()).is_empty());
    let why = "not sent: plan 41 is approved; it waits no more".to_owned();
    assert_eq!(app.said, Some(Said::Refused(why)));
}

#[test]
fn a_decision_that_is_refused_is_there_again() {
    let mut app = scene::team();
    typed(&mut app, "5 y s");
    assert_eq!(app.decisions.keys().len(), 2, "it is on its way");
    let then = Then::Decided { key: "plan alpha 41".to_owned(), said: String::new() };
    let gone = ClientFailure::NotRunning("w".to_owned());
    app.update(Message::Answered(then, Err(gone)));
    assert_eq!(app.decisions.keys().len(), 3);
}

#[test]
fn a_phase_begins_with_a_yes_to_its_own_question() {
    let mut app = scene::paused_by("runtime", "approval");
    typed(&mut app, "5 y");
    assert_eq!(asks(&app.quit()), [json!({ "phase_approve": { "approval": 400 } })]);
    let mut app = scene::paused_by("runtime", "approval");
    assert!(asks(&typed(&mut app, "p")).is_empty(), "and not by the way");
    let mut app = scene::paused_by("alpha/lea@1", "asked");
    assert_eq!(asks(&typed(&mut app, "p")), [json!("team_continue")]);
}

#[test]
fn what_was_decided_is_listed_with_its_record() {
    let mut app = scene::team();
    let effects = typed(&mut app, "5 h Enter");
    assert_eq!(asks(&effects), [json!({ "log": { "after": 37, "max": 1 } })], "the latest");
    assert!(asked("5 h y").is_empty());
}

#[test]
fn digits_choose_a_screen_where_there_are_no_options() {
    let mut app = scene::team();
    for (keys, place) in [
        ("3", Place::Team),
        ("4", Place::Messages),
        ("6", Place::Log),
        ("5", Place::Decisions),
        ("1", Place::Board),
        ("Tab", Place::Team),
        ("Esc", Place::Board),
    ] {
        typed(&mut app, keys);
        assert_eq!(app.place, place, "{keys}");
    }
    typed(&mut app, "5 j 1");
    assert_eq!(app.place, Place::Decisions, "it marks the first option");
    typed(&mut app, "3");
    assert_eq!(app.place, Place::Team);
}

#[test]
fn a_search_narrows_the_list_and_escape_widens_it() {
    let mut app = scene::team();
    typed(&mut app, "/ parser Enter");
    assert_eq!(app.board.keys(), [2, 3]);
    typed(&mut app, "Esc f f");
    assert_eq!(app.board.keys(), [6, 2, 5], "only in progress");
    typed(&mut app, "Esc");
    assert_eq!(app.board.keys().len(), 8, "all but the deleted one");
}

#[test]
fn what_is_refused_and_what_is_done_is_said() {
    let mut app = scene::team();
    app.update(scene::refusal());
    let why =
        "task 2 is claimed by ana@2; release it first with `shipmate task release 2`, or wait";
    assert_eq!(app.said, Some(Said::Refused(why.to_owned())));
    let created = Ok(Answer::Created(answers::Created { tasks: vec![10] }));
    app.update(Message::Answered(Then::Say(String::new()), created));
    assert_eq!(app.said, Some(Said::Done("created task 10".to_owned())));
    let gone = ClientFailure::NotRunning("w".to_owned());
    app.update(Message::Answered(Then::Say(String::new()), Err(gone)));
    let why = "no coordinator is running for w".to_owned();
    assert_eq!(app.said, Some(Said::Refused(why)));
}

#[test]
fn a_coordinator_that_answers_nobody_is_told_of_and_watched_again() {
    let mut app = scene::team();
    let silent = Silence { pid: Some(7), cause: SilenceCause::NoAnswer };
    let silent = ClientFailure::Silent(silent);
    let effects = app.update(Message::Over("alpha".to_owned(), silent));
    assert!(matches!(&effects[..], [Effect::Watch(root)] if root == "alpha"), "{effects:?}");
    let over = app.over.unwrap();
    assert!(over.contains("the coordinator, process 7, does not answer"), "{over}");
}

#[test]
fn older_messages_and_lines_are_fetched_at_the_top() {
    let mut app = scene::team();
    let effects = typed(&mut app, "4 g k");
    assert!(matches!(effects[..], [Effect::OlderMessages { before: 101 }]), "{effects:?}");
    let effects = typed(&mut app, "6 g k");
    assert!(matches!(effects[..], [Effect::OlderLines { before: 408 }]), "{effects:?}");
    let line = |n: u64| LogLine { n, ..LogLine::default() };
    app.update(Message::Lines(vec![line(406), line(407)]));
    assert_eq!(app.log.keys()[..3], [406, 407, 408]);
    assert_eq!(app.log.selected(), Some(&408));
    let effects = typed(&mut app, "g");
    assert!(matches!(effects[..], [Effect::OlderLines { before: 406 }]), "{effects:?}");
}

#[test]
fn deltas_of_another_tree_are_not_shown() {
    let mut app = scene::team();
    let delta = Delta { root: "beta".to_owned(), position: 7, ..Delta::default() };
    app.update(Message::Delta(Box::new(delta)));
    assert_eq!(app.store.position, 412);
}

#[test]
fn one_of_several_teams_is_opened_and_left_again() {
    let mut app = scene::several();
    let effects = typed(&mut app, "j Enter");
    assert!(matches!(&effects[..], [Effect::Watch(root)] if root == "beta"), "{effects:?}");
    let effects = typed(&mut app, "Esc");
    assert!(matches!(effects[..], [Effect::ListTeams]), "{effects:?}");
    assert_eq!(app.place, Place::Teams);
}

#[test]
fn ten_thousand_tasks_are_listed_in_a_moment() {
    let mut app: App = scene::team();
    let card = |id| Card { id, subject: format!("task {id}"), ..scene::cards().remove(2) };
    let tasks: Vec<Card> = (10..10_010).map(card).collect();
    let delta = |tasks| Delta { root: "alpha".to_owned(), tasks, ..Delta::default() };
    app.update(Message::Delta(Box::new(delta(tasks))));
    let each = (10..60).map(|id| {
        let began = std::time::Instant::now();
        app.update(Message::Delta(Box::new(delta(vec![card(id)]))));
        typed(&mut app, "j");
        began.elapsed()
    });
    // Each costs the same, and the quickest of them is what it costs: any of the others may have
    // stood still. Far more than it takes on a machine that has something else to do.
    let each = each.min().unwrap();
    assert!(each < std::time::Duration::from_millis(250), "{each:?} for a change and a key");
    assert_eq!(app.board.keys().len(), 10_008);
}
