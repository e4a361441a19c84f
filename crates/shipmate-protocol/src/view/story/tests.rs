//! Records in, what a screen shows of them out.

use super::*;

fn told(records: &[&str]) -> (Story, Touched) {
    let (mut story, mut touched) = (Story::new("alpha"), Touched::default());
    for (at, event) in records.iter().enumerate() {
        let n = at + 1;
        let record = format!(r#"{{"n":{n},"at":{},"by":"person","event":{event}}}"#, n * 1000);
        story.take(&record, &mut touched);
    }
    (story, touched)
}

#[test]
fn a_claim_is_a_span_from_its_beginning_to_its_end() {
    let (story, touched) = told(&[
        r#"{"task.created":{"task":7,"team":"alpha","spec":{"subject":"a"}}}"#,
        r#"{"task.claimed":{"task":7,"by":"alpha/ana@2"}}"#,
        r#"{"task.submitted":{"task":7,"token":2}}"#,
        r#"{"task.returned":{"task":7,"token":2,"reason":"red"}}"#,
        r#"{"task.released":{"task":7,"token":2,"cause":"holder_gone","reason":"x"}}"#,
    ]);
    let spans = story.spans();
    let [span] = spans.as_slice() else { panic!("one claim, one span: {spans:?}") };
    assert_eq!((span.who.as_str(), span.epoch, span.began), ("alpha/ana", 2, 2000));
    assert_eq!((span.ended, span.end.map(SpanEnd::word)), (Some(5000), Some("gone")));
    let parts: Vec<_> = span.parts.iter().map(|p| (p.kind.word(), p.from, p.to)).collect();
    assert_eq!(
        parts,
        [("works", 2000, Some(3000)), ("gate", 3000, Some(4000)), ("returned", 4000, Some(5000))]
    );
    assert_eq!(touched.tasks, BTreeSet::from([7]));
    assert_eq!(story.steps_of(7).len(), 5);
}

#[test]
fn work_that_came_back_is_a_span_of_its_own() {
    let (story, _) = told(&[
        r#"{"task.claimed":{"task":7,"by":"alpha/ana@1"}}"#,
        r#"{"task.submitted":{"task":7,"token":1}}"#,
        r#"{"task.returned":{"task":7,"token":1,"reason":"red"}}"#,
        r#"{"task.claimed":{"task":7,"by":"alpha/ana@1"}}"#,
        r#"{"task.completed":{"task":7,"token":4}}"#,
    ]);
    let ends: Vec<_> = story.spans().into_iter().map(|s| (s.id, s.ended, s.end)).collect();
    let (back, done) = (Some(SpanEnd::Returned), Some(SpanEnd::Completed));
    assert_eq!(ends, [(1, Some(4000), back), (4, Some(5000), done)]);
}

#[test]
fn a_message_shows_how_far_it_came_with_each_recipient() {
    let (story, touched) = told(&[
        r#"{"message.sent":{"to":[{"member":"alpha/ana"},{"member":"alpha/bo"}],"kind":"broadcast",
            "body":"hi, task 3"}}"#,
        r#"{"message.sent":{"to":["person"],"kind":"message","body":"yes","reply_to":1}}"#,
        r#"{"message.acknowledged":{"to":{"member":"alpha/bo"},"messages":[1]}}"#,
        r#"{"message.bounced":{"to":{"member":"alpha/ana"},"messages":[1],"reason":"gone"}}"#,
    ]);
    let rows = story.messages(u64::MAX, 10);
    let states: Vec<_> = rows[0].to.iter().map(|to| (to.to.as_str(), to.state.word())).collect();
    assert_eq!(states, [("alpha/ana", "bounced"), ("alpha/bo", "acknowledged")]);
    assert_eq!((rows[1].thread, rows[1].to[0].to.as_str()), (1, "person"));
    assert_eq!(touched.messages, BTreeSet::from([1, 2]));
    let about: Vec<u64> = story.messages_about(3).iter().map(|row| row.id).collect();
    assert_eq!(about, [1, 2], "the answer belongs to the conversation");
    assert!(story.messages_about(30).is_empty());
}

#[test]
fn a_handoff_that_is_called_a_notice_is_still_from_whoever_sent_it() {
    let (story, _) = told(&[
        r#"{"message.sent":{"to":["person"],"kind":{"handoff":"notice"},"body":"approve 7"}}"#,
        r#"{"message.sent":{"to":["person"],"kind":"notice","body":"ana is gone"}}"#,
    ]);
    let from: Vec<_> = story.messages(u64::MAX, 9).into_iter().map(|row| row.from).collect();
    assert_eq!(from, ["person", "runtime"]);
}

#[test]
fn more_tokens_than_can_be_counted_are_as_many_as_can() {
    let usage = r#"{"usage.recorded":{"who":"alpha/ana@1",
        "usage":{"tokens_in":18446744073709551615,"cost_micros":18446744073709551615}}}"#;
    let (story, _) = told(&[usage, usage]);
    assert_eq!((story.costs()[0].tokens_in, story.costs()[0].cost_micros), (u64::MAX, u64::MAX));
}

#[test]
fn costs_are_summed_by_teammate_model_and_task() {
    let (story, _) = told(&[
        r#"{"teammate.added":{"who":"alpha/ana","profile":{"model":"m1"}}}"#,
        r#"{"usage.recorded":{"who":"alpha/ana@1","usage":{"tokens_in":5,"cost_micros":2},"task":1}}"#,
        r#"{"usage.recorded":{"who":"alpha/ana@1","usage":{"tokens_in":6,"tokens_out":1},"task":1}}"#,
        r#"{"usage.recorded":{"who":"alpha/ana@2","usage":{"tokens_in":7}}}"#,
    ]);
    let rows: Vec<_> =
        story.costs().into_iter().map(|r| (r.model, r.task, r.tokens_in, r.calls)).collect();
    assert_eq!(rows, [("m1".to_owned(), None, 7, 1), ("m1".to_owned(), Some(1), 11, 2)]);
}

#[test]
fn costs_name_the_model_that_was_asked_and_the_account_that_it_was_asked_with() {
    let used = r#"{"usage.recorded":{"who":"alpha/ana@1","usage":{"tokens_in":5},"task":1}}"#;
    let (story, _) = told(&[
        r#"{"teammate.added":{"who":"alpha/ana","profile":{"agent":"native"}}}"#,
        r#"{"teammate.account":{"who":"alpha/ana","account":"claude-1"}}"#,
        r#"{"teammate.session":{"who":"alpha/ana@1","session":"s","model":"m1"}}"#,
        used,
        r#"{"teammate.fell_over":{"who":"alpha/ana","choice":{"agent":"codex"},"back":false}}"#,
        r#"{"teammate.account":{"who":"alpha/ana","account":"codex-1"}}"#,
        used,
        r#"{"teammate.session":{"who":"alpha/ana@2","session":"s","model":"m2"}}"#,
        used,
    ]);
    let rows: Vec<_> = story.costs().into_iter().map(|r| (r.model, r.account.unwrap())).collect();
    let row = |model: &str, account: &str| (model.to_owned(), account.to_owned());
    assert_eq!(rows, [row("codex", "codex-1"), row("m1", "claude-1"), row("m2", "codex-1")]);
}

#[test]
fn a_cost_is_no_call_and_prices_what_came_before_it_for_any_task() {
    let (story, touched) = told(&[
        r#"{"usage.recorded":{"who":"alpha/ana@1","usage":{"tokens_in":5},"task":1}}"#,
        r#"{"usage.recorded":{"who":"alpha/ana@1","usage":{"tokens_in":6},"task":2}}"#,
        r#"{"usage.recorded":{"who":"alpha/ana@1","usage":{},"reservation":9}}"#,
        r#"{"usage.recorded":{"who":"alpha/ana@1","usage":{"cost_micros":2},"task":2}}"#,
        r#"{"usage.recorded":{"who":"alpha/bo@1","usage":{"tokens_in":7},"task":2}}"#,
    ]);
    let rows = story.costs().into_iter().map(|r| (r.task.unwrap(), r.calls, r.tokens_unpriced));
    assert_eq!(rows.collect::<Vec<_>>(), [(1, 1, 0), (2, 1, 0), (2, 1, 7)]);
    assert_eq!(touched.costs.len(), 3);
}

#[test]
fn a_gate_marks_its_tasks_with_the_last_word() {
    let (story, touched) = told(&[
        r#"{"gate.ran":{"team":"alpha","tasks":[1,2],"commit":"c","passed":false,"took_ms":5,
            "output":"no"}}"#,
        r#"{"gate.ran":{"team":"alpha","tasks":[1],"commit":"d","passed":true,"took_ms":5}}"#,
    ]);
    assert_eq!(story.gate_mark(1), Some(GateMark { passed: true, at: 2000, runs: 2, red: 1 }));
    assert_eq!(story.gate_mark(2), Some(GateMark { passed: false, at: 1000, runs: 1, red: 1 }));
    assert_eq!(story.gates_of(2)[0].output, "no");
    assert_eq!(touched.tasks, BTreeSet::from([1, 2]));
}

#[test]
fn a_record_that_was_taken_before_changes_nothing() {
    let (mut story, _) = told(&[r#"{"usage.recorded":{"who":"a/b@1","usage":{"tokens_in":5}}}"#]);
    let mut touched = Touched::default();
    let again = r#"{"n":1,"at":1,"by":"person","event":{"usage.recorded":{"who":"a/b@1",
        "usage":{"tokens_in":5}}}}"#;
    story.take(again, &mut touched);
    story.take("not a record", &mut touched);
    assert_eq!((story.costs()[0].tokens_in, touched.costs.len()), (5, 0));
}

#[test]
fn the_time_axis_stays_short_and_keeps_its_ends() {
    let mut story = Story::new("alpha");
    for n in 1..=9_999_u64 {
        let record = format!(r#"{{"n":{n},"at":{n},"by":"p","event":{{"x.y":{{}}}}}}"#);
        story.take(&record, &mut Touched::default());
    }
    let moments = story.moments();
    assert!((1_000..=2_002).contains(&moments.len()), "{}", moments.len());
    assert_eq!((moments[0].0, moments[moments.len() - 1].0), (1, 9_999));
}
