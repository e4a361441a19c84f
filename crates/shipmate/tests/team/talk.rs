//! Mail without a task: what an agent that can be talked to hears, and where it ends.

use std::collections::BTreeMap;

use shipmate_protocol::verbs::{Setup, Supervision, TaskNew};
use shipmate_protocol::{Answer, Ask, answers, verbs};

use crate::stage::Stage;

fn send(to: &str, body: String) -> Ask {
    Ask::Send(verbs::Send { to: to.to_owned(), body, kind: None, reply_to: None })
}

#[test]
fn an_endless_talk_ends_after_fifty_turns_until_a_person_has_a_word() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &[]);
    stage.add("a", |mut add| {
        (add.command, add.agent) = (String::new(), "inline".to_owned());
        add
    });
    stage.add("b", |mut add| {
        (add.command, add.when_needed) = (String::new(), false);
        add
    });
    stage.ask(Ask::TeammateStart(verbs::TeammateStart {
        name: "a".to_owned(),
        supervision: Supervision::Supervised,
    }));
    let started = Ask::TeammateStart(verbs::TeammateStart {
        name: "b".to_owned(),
        supervision: Supervision::None,
    });
    let Answer::Started(answers::Started { token, .. }) = stage.ask(started) else { panic!() };
    let mut b = stage.client_of(token);
    for turn in 0..50 {
        b.ask(send("a", format!("and then? {turn}"))).unwrap();
        stage.event("message.acknowledged");
    }
    assert_ne!(stage.supervisor("a"), 0);
    assert_eq!(stage.processes("agent"), [], "no program is behind it");
    // Whoever idles is woken by its mail: it is not begun anew.
    let lives = stage.events("teammate.started");
    assert_eq!(lives.iter().filter(|one| one["who"] != "alpha/b@1").count(), 1, "{lives:?}");
    b.ask(send("a", "one more".to_owned())).unwrap();
    let told = stage.hear(|event| event["message.sent"]["to"][0] == "person");
    let told = told["event"]["message.sent"]["body"].as_str().unwrap().to_owned();
    assert!(told.starts_with("a has had 50 turns of talk without a task"), "{told}");
    assert_eq!(stage.teammate("a").unread, 1);
    stage.ask(send("a", "go on".to_owned()));
    stage.event("message.acknowledged");
    assert_eq!(stage.teammate("a").unread, 0);
    // Its work is what a task's metadata says.
    let metadata = BTreeMap::from([("inline".to_owned(), "write f1 x".to_owned())]);
    let (subject, assignee) = ("steps".to_owned(), Some("a".to_owned()));
    stage.create(vec![TaskNew { subject, assignee, metadata, ..TaskNew::default() }]);
    stage.finished(1);
    assert_eq!(stage.file("f1"), "x\n");
}
