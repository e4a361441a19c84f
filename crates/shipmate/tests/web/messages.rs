//! Messages: written as the person, answered, and how far each got.

use serde_json::Value;
use shipmate_protocol::{Answer, Ask, Client, answers, verbs};

use crate::scene::{Scene, seated};

#[track_caller]
fn send(seat: &mut Client, to: &str, body: &str, reply_to: Option<u64>) -> u64 {
    let ask =
        Ask::Send(verbs::Send { to: to.to_owned(), body: body.to_owned(), kind: None, reply_to });
    match seat.ask(ask).unwrap() {
        Answer::Sent(answers::Sent { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

fn read(seat: &mut Client) -> Vec<shipmate_protocol::view::InboxMessage> {
    match seat.ask(Ask::InboxRead(verbs::InboxRead { max: 10, wait: true })).unwrap() {
        Answer::Messages(mail) => mail,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_person_writes_replies_and_sees_how_far_it_got() {
    let (stage, mut seats) = seated(&["ana", "bo"]);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("4", "Messages");
    page.see(".empty >> Nobody wrote anything yet.");
    page.key("m");
    page.type_text("Which parser?");
    page.choose("#write-to", "ana");
    page.click("form.write textarea");
    page.key("Enter");
    page.see(".message >> Which parser?");
    page.see(".message .deliveries >> waiting");
    let mail = read(&mut seats[0]);
    assert_eq!((mail[0].body.as_str(), mail[0].from.as_str()), ("Which parser?", "person"));
    page.see(".message .deliveries >> read");

    send(&mut seats[0], "person", "winnow, it is faster", Some(mail[0].id));
    page.see(".message[data-unread=yes] >> winnow, it is faster");
    page.see("button >> 1 unread");
    // Out of the field in which it was typed, to what is unread.
    page.key("Escape");
    page.key("u");
    page.key("r");
    page.see(".write-quote >> Reply to ana: winnow, it is faster");
    page.type_text("Then use it");
    page.key("Enter");
    page.see(".message >> Then use it");
    let back = read(&mut seats[0]);
    assert_eq!(back[0].body, "Then use it");
    assert!(back[0].reply_to.is_some_and(|to| to > mail[0].id), "{back:?}");
    // All three are one conversation.
    page.see(".thread >> 3 messages");

    // What was opened is read.
    page.see_none(".unread-mark");
    let trace: Value = scene.json(&format!("message trace {}", back[0].reply_to.unwrap()));
    assert_eq!(trace["to"][0]["state"], "acknowledged", "{trace}");
}

#[test]
fn what_teammates_say_is_found_by_who_said_it_and_by_words() {
    let (stage, mut seats) = seated(&["ana", "bo"]);
    send(&mut seats[0], "bo", "the grammar is done", None);
    send(&mut seats[1], "ana", "then I begin", None);
    send(&mut seats[1], "all", "lunch", None);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("4", "Messages");
    page.key("v");
    let shown = |texts: &str| {
        page.wait_for(&format!(
            "all('.message-body').map((e) => e.innerText).join(' | ') === '{texts}'"
        ));
    };
    shown("the grammar is done | then I begin | lunch");
    page.key("/");
    page.type_text("begin");
    shown("then I begin");
    page.fill("[type=search]", "no such words");
    page.see(".empty >> No message fits the filter.");
    page.click("button >> Show all");
    shown("the grammar is done | then I begin | lunch");
    // What comes now comes in by itself.
    send(&mut seats[0], "bo", "<b>not bold</b>", None);
    page.see(".message-body >> <b>not bold</b>");
    assert!(!page.eval::<bool>("document.querySelector('.message-body b') !== null"));
}

#[test]
fn an_empty_message_is_not_sent() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    scene.turn("4", "Messages");
    scene.page.click("form.write button >> Send");
    scene.page.see(".problem >> The message is empty.");
    let log = scene.stage.shipmate(&["--team", "alpha", "log", "--json"]);
    assert!(!String::from_utf8_lossy(&log.stdout).contains("message.sent"));
}
