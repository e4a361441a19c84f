//! Two supervisors and a program, line by line.

use super::*;

const ANA: Client = 1;
const BO: Client = 2;

fn router(clients: &[Client]) -> Router {
    let mut router = Router::default();
    clients.iter().for_each(|client| router.join(*client));
    router
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "id": id, "method": method, "params": params })
}

fn note(method: &str, params: Value) -> Value {
    json!({ "method": method, "params": params })
}

/// The one line that goes to the program.
#[track_caller]
fn to_program(acts: &[Act]) -> Value {
    match acts {
        [Act::ToProgram(message)] => message.clone(),
        other => panic!("{other:?}"),
    }
}

/// What the program is asked to do, in order.
fn asked(acts: &[Act]) -> Vec<&str> {
    let methods = acts.iter().filter_map(|act| match act {
        Act::ToProgram(message) => message["method"].as_str(),
        _ => None,
    });
    methods.collect()
}

/// The id under which the program was last asked for this.
#[track_caller]
fn id_of(acts: &[Act], method: &str) -> Value {
    let found = acts.iter().find_map(|act| match act {
        Act::ToProgram(message) if message["method"] == method => Some(message["id"].clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{method} was not asked: {acts:?}"))
}

fn answer(id: &Value, result: Value) -> Value {
    json!({ "id": id, "result": result })
}

/// Has a client start a thread of this name.
fn open(router: &mut Router, client: Client, thread: &str) {
    let sent = to_program(&router.client_says(client, request(9, "thread/start", json!({}))));
    router.program_says(answer(&sent["id"], json!({ "thread": { "id": thread } })));
}

/// Has a client start a turn in its thread.
fn turn(router: &mut Router, client: Client, thread: &str, turn: &str) {
    let start = request(10, "turn/start", json!({ "threadId": thread }));
    let sent = to_program(&router.client_says(client, start));
    router.program_says(answer(&sent["id"], json!({ "turn": { "id": turn } })));
}

fn completed(thread: &str, turn: &str) -> Value {
    note("turn/completed", json!({ "threadId": thread, "turn": { "id": turn } }))
}

#[test]
fn two_clients_that_use_the_same_id_each_get_their_own_answer() {
    let mut router = router(&[ANA, BO]);
    let first = to_program(&router.client_says(ANA, request(1, "account/read", json!({}))));
    let second = to_program(&router.client_says(BO, request(1, "account/read", json!({}))));
    assert_ne!(first["id"], second["id"]);
    let acts = router.program_says(answer(&second["id"], json!("b")));
    assert_eq!(acts, [Act::ToClient(BO, answer(&json!(1), json!("b")))]);
    let acts = router.program_says(answer(&first["id"], json!("a")));
    assert_eq!(acts, [Act::ToClient(ANA, answer(&json!(1), json!("a")))]);
}

#[test]
fn a_thread_is_heard_by_its_client_only_and_the_rest_by_all() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, ANA, "ta");
    open(&mut router, BO, "tb");
    let of_bo = note("item/started", json!({ "threadId": "tb", "item": {} }));
    assert_eq!(router.program_says(of_bo.clone()), [Act::ToClient(BO, of_bo)]);
    let begun = note("thread/started", json!({ "thread": { "id": "ta" } }));
    assert_eq!(router.program_says(begun.clone()), [Act::ToClient(ANA, begun)]);
    let general = note("configWarning", json!({ "summary": "s" }));
    let acts = router.program_says(general.clone());
    assert_eq!(acts, [Act::ToClient(ANA, general.clone()), Act::ToClient(BO, general)]);
    let strange = note("item/started", json!({ "threadId": "tx" }));
    assert_eq!(router.program_says(strange), []);
}

#[test]
fn a_question_of_the_program_goes_to_the_thread_s_client_and_only_its_answer_counts() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, ANA, "ta");
    let question = request(0, "item/tool/call", json!({ "threadId": "ta" }));
    assert_eq!(router.program_says(question.clone()), [Act::ToClient(ANA, question)]);
    assert_eq!(router.client_says(BO, answer(&json!(0), json!("forged"))), []);
    let right = answer(&json!(0), json!("right"));
    assert_eq!(router.client_says(ANA, right.clone()), [Act::ToProgram(right.clone())]);
    assert_eq!(router.client_says(ANA, right), [], "a second answer is one too many");
}

#[test]
fn a_question_that_nobody_can_answer_is_refused_at_once() {
    let mut router = router(&[ANA]);
    for params in [json!({ "threadId": "tx" }), json!({}), Value::Null] {
        let acts = router.program_says(request(7, "account/chatgptAuthTokens/refresh", params));
        let told = to_program(&acts);
        assert_eq!((&told["id"], &told["error"]["code"]), (&json!(7), &json!(NOT_HERE)));
    }
}

#[test]
fn a_thread_that_a_thread_begins_is_its_client_s() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, BO, "tb");
    let child = json!({ "thread": { "id": "child", "parentThreadId": "tb" } });
    assert!(matches!(
        router.program_says(note("thread/started", child))[..],
        [Act::ToClient(BO, _)]
    ));
    let asks = request(3, "item/commandExecution/requestApproval", json!({ "threadId": "child" }));
    assert_eq!(router.program_says(asks.clone()), [Act::ToClient(BO, asks)]);
}

#[test]
fn another_s_thread_cannot_be_touched() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, ANA, "ta");
    for method in ["turn/start", "turn/steer", "turn/interrupt", "thread/resume", "thread/archive"]
    {
        let acts = router.client_says(BO, request(4, method, json!({ "threadId": "ta" })));
        let [Act::ToClient(BO, told)] = &acts[..] else { panic!("{method}: {acts:?}") };
        assert_eq!((&told["id"], &told["error"]["code"]), (&json!(4), &json!(REFUSED)), "{method}");
    }
}

#[test]
fn a_client_that_goes_has_its_turn_ended_before_its_thread_is_let_go() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, ANA, "ta");
    turn(&mut router, ANA, "ta", "u1");
    let left = router.left(ANA);
    let told = to_program(&left);
    assert_eq!(told["method"], "turn/interrupt");
    assert_eq!(told["params"], json!({ "threadId": "ta", "turnId": "u1" }));
    // Its answer says nothing: it may come before the end, or never.
    assert_eq!(router.program_says(answer(&told["id"], json!({}))), []);
    let late = note("item/completed", json!({ "threadId": "ta" }));
    assert_eq!(router.program_says(late), [], "nobody is there to hear it");
    let ended = router.program_says(completed("ta", "u1"));
    assert_eq!(asked(&ended), ["thread/backgroundTerminals/clean", "thread/unsubscribe"]);
    let cleaned = id_of(&ended, "thread/backgroundTerminals/clean");
    assert_eq!(router.program_says(answer(&cleaned, json!({}))), []);
    let done = router.program_says(answer(&id_of(&ended, "thread/unsubscribe"), json!({})));
    assert_eq!(done, [Act::Settled(ANA)]);
}

#[test]
fn a_client_that_goes_while_its_turn_starts_has_it_ended_as_soon_as_it_has_a_number() {
    let mut router = router(&[ANA]);
    open(&mut router, ANA, "ta");
    let start = request(2, "turn/start", json!({ "threadId": "ta" }));
    let sent = to_program(&router.client_says(ANA, start));
    assert_eq!(router.left(ANA), []);
    let acts = router.program_says(answer(&sent["id"], json!({ "turn": { "id": "u1" } })));
    assert_eq!(asked(&acts), ["turn/interrupt"]);
    let acts = router.program_says(completed("ta", "u1"));
    assert_eq!(asked(&acts).last(), Some(&"thread/unsubscribe"));
}

#[test]
fn a_turn_whose_end_is_told_before_its_number_does_not_run() {
    let mut router = router(&[ANA]);
    open(&mut router, ANA, "ta");
    let start = request(2, "turn/start", json!({ "threadId": "ta" }));
    let sent = to_program(&router.client_says(ANA, start));
    router.program_says(completed("ta", "u1"));
    router.program_says(answer(&sent["id"], json!({ "turn": { "id": "u1" } })));
    let acts = router.left(ANA);
    assert_eq!(asked(&acts), ["thread/backgroundTerminals/clean", "thread/unsubscribe"]);
}

#[test]
fn a_client_that_goes_while_its_thread_starts_leaves_none() {
    let mut router = router(&[ANA]);
    let sent = to_program(&router.client_says(ANA, request(1, "thread/start", json!({}))));
    assert_eq!(router.left(ANA), []);
    let acts = router.program_says(answer(&sent["id"], json!({ "thread": { "id": "ta" } })));
    let let_go = id_of(&acts, "thread/unsubscribe");
    assert_eq!(router.program_says(answer(&let_go, json!({}))), [Act::Settled(ANA)]);
}

#[test]
fn a_thread_is_resumed_by_the_next_life_only_when_the_last_one_s_turn_is_over() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, ANA, "ta");
    turn(&mut router, ANA, "ta", "u1");
    router.left(ANA);
    let next: Client = 3;
    router.join(next);
    let resume = request(5, "thread/resume", json!({ "threadId": "ta" }));
    assert_eq!(router.client_says(next, resume), [], "it waits");
    let ended = router.program_says(completed("ta", "u1"));
    let acts = router.program_says(answer(&id_of(&ended, "thread/unsubscribe"), json!({})));
    assert_eq!(asked(&acts), ["thread/resume"]);
    assert!(acts.contains(&Act::Settled(ANA)), "{acts:?}");
    let resumed = id_of(&acts, "thread/resume");
    let acts = router.program_says(answer(&resumed, json!({ "thread": { "id": "ta" } })));
    assert!(matches!(&acts[..], [Act::ToClient(3, told)] if told["id"] == 5), "{acts:?}");
    let heard = note("turn/started", json!({ "threadId": "ta", "turn": { "id": "u2" } }));
    assert_eq!(router.program_says(heard.clone()), [Act::ToClient(next, heard)]);
}

#[test]
fn who_waits_for_a_thread_and_goes_is_forgotten() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, ANA, "ta");
    turn(&mut router, ANA, "ta", "u1");
    router.left(ANA);
    router.client_says(BO, request(5, "thread/resume", json!({ "threadId": "ta" })));
    assert_eq!(router.left(BO), [Act::Settled(BO)]);
    let ended = router.program_says(completed("ta", "u1"));
    let acts = router.program_says(answer(&id_of(&ended, "thread/unsubscribe"), json!({})));
    assert_eq!(acts, [Act::Settled(ANA)]);
}

#[test]
fn a_thread_that_cannot_be_resumed_is_nobody_s() {
    let mut router = router(&[ANA, BO]);
    let resume = request(5, "thread/resume", json!({ "threadId": "ta" }));
    let sent = to_program(&router.client_says(ANA, resume.clone()));
    let no = json!({ "id": sent["id"], "error": { "code": -32600, "message": "no rollout" } });
    assert!(matches!(router.program_says(no)[..], [Act::ToClient(ANA, _)]));
    assert_eq!(asked(&router.client_says(BO, resume)), ["thread/resume"]);
}

#[test]
fn what_was_put_to_a_client_that_goes_is_answered_for_it() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, ANA, "ta");
    open(&mut router, BO, "tb");
    router.program_says(request(0, "item/tool/call", json!({ "threadId": "ta" })));
    router.program_says(request(1, "item/tool/call", json!({ "threadId": "tb" })));
    let acts = router.left(ANA);
    let Some(Act::ToProgram(told)) = acts.first() else { panic!("{acts:?}") };
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!(0), &json!(NOT_HERE)));
    let answered = answer(&json!(1), json!("b"));
    assert_eq!(router.client_says(BO, answered.clone()), [Act::ToProgram(answered)]);
}

#[test]
fn a_late_answer_to_a_client_that_has_gone_reaches_nobody() {
    let mut router = router(&[ANA, BO]);
    let sent = to_program(&router.client_says(ANA, request(1, "account/read", json!({}))));
    assert_eq!(router.left(ANA), [Act::Settled(ANA)]);
    assert_eq!(router.program_says(answer(&sent["id"], json!("late"))), []);
    assert_eq!(router.program_says(answer(&json!(4711), json!("never asked"))), []);
    assert_eq!(router.client_says(ANA, request(2, "account/read", json!({}))), []);
    assert_eq!(router.left(ANA), [], "nobody goes twice");
}

#[test]
fn the_others_are_undisturbed_by_one_that_goes() {
    let mut router = router(&[ANA, BO]);
    open(&mut router, ANA, "ta");
    open(&mut router, BO, "tb");
    turn(&mut router, ANA, "ta", "u1");
    turn(&mut router, BO, "tb", "u2");
    for act in router.left(ANA) {
        let Act::ToProgram(told) = act else { panic!("{act:?}") };
        assert_eq!(told["params"]["threadId"], "ta");
    }
    let heard = completed("tb", "u2");
    assert_eq!(router.program_says(heard.clone()), [Act::ToClient(BO, heard)]);
}
