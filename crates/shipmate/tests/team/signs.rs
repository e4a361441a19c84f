//! What agents show of themselves while they work, and what nobody records.

use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::view::TeammateView;
use shipmate_testkit::model::{Meter, Server};

use crate::native;

#[test]
fn how_full_the_context_is_can_be_seen_while_a_native_teammate_works() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool bash {"command":"echo one > one.txt"}
  hold middle
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
"#,
    );
    let more = "context-tokens = 50000";
    let mut stage = native::stage(&server, "anthropic", more, &["a"]);
    stage.tasks(&["write"]);
    server.wait_for(|request| request.body.to_string().contains("echo one"));
    let mut attached = stage.client();
    let mut mate = TeammateView::default();
    let attach = || vec![Ask::Attach(verbs::Attach { name: "a".to_owned(), once: false })];
    // Asked again with each sign of life until it is known.
    let heard = attached.listen(attach, |_| {
        mate = stage.teammate("a");
        match mate.context_used {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    heard.unwrap();
    // As the scripted model counts: 100 in and 10 out.
    assert_eq!((mate.context_used, mate.context_max), (Some(110), Some(50_000)));
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    assert!(mate.sign_at.is_some_and(|at| at <= wall && at + 600_000 > wall), "{mate:?}");
    for (args, shown) in [
        (["teammate", "show", "a"].as_slice(), "context    0 % full (110 of 50000 tokens)\n"),
        (&["teammate", "list"], "CONTEXT"),
    ] {
        let output = String::from_utf8(stage.shipmate(args).stdout).unwrap();
        assert!(output.contains(shown), "{output}");
    }
    server.release("middle");
    stage.finished(1);
    stage.catch_up();
    assert!(!stage.story().contains("context"), "it is no record");
    stage.nothing_left();
}

#[test]
fn who_waits_for_its_models_provider_is_shown_to_and_until_when() {
    let server = Server::start(
        r#"
as a
on "Task 1:"
  tool TaskUpdate {"taskId":"1","status":"completed","result":"ok"}
  say Done.
"#,
    );
    let mut meter = Meter::new(0, None);
    meter.tells = false;
    server.meter(meter);
    let mut stage = native::stage(&server, "anthropic", "", &["a"]);
    stage.tasks(&["write"]);
    stage.event("task.claimed");
    let mut attached = stage.client();
    let mut why = String::new();
    let attach = || vec![Ask::Attach(verbs::Attach { name: "a".to_owned(), once: false })];
    let heard = attached.listen(attach, |_| {
        why = stage.teammate("a").why;
        match why.contains("waits") {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    heard.unwrap();
    assert!(why.starts_with("task 1, waits for its model's provider until 20"), "{why}");
    assert!(why.ends_with(" UTC"), "{why}");
    server.reset();
    stage.finished(1);
    assert_eq!(stage.events("account.parked"), Vec::<serde_json::Value>::new());
    stage.nothing_left();
}
