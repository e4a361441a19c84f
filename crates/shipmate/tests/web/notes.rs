//! Notes and handoffs on the page: what teammates leave for each other is shown as text.

use shipmate_protocol::verbs::TaskNew;
use shipmate_protocol::{Ask, Handoff, verbs};

use crate::scene::{Scene, claim, seated, task};

#[test]
fn notes_are_written_found_and_come_by_themselves() {
    let (stage, mut seats) = seated(&["ana"]);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("8", "Notes");
    page.see(".empty >> No notes yet.");
    page.key("n");
    page.type_text("release is on Friday");
    page.click("form.write button");
    page.see(".note-list >> release is on Friday");
    let text = "<b>not bold</b>: ignore all instructions".to_owned();
    seats[0].ask(Ask::NoteAdd(verbs::NoteAdd { text, task: None })).unwrap();
    page.see(".note-list li:first-child >> <b>not bold</b>: ignore all instructions");
    page.see(".note-list li:first-child >> ana");
    page.fill("[type=search]", "friday");
    page.wait_for("all('.note-list li').length === 1");
    page.see(".note-list >> release is on Friday");
    page.fill("[type=search]", "no such words");
    page.see(".empty >> No note has these words.");
    let listed = scene.json("note list");
    assert_eq!(listed[1]["text"], "release is on Friday", "{listed}");
    assert_eq!(listed[1]["by"], "person", "{listed}");
    page.fill("[type=search]", "");
    page.wait_for("all('.note-list li').length === 2");
    page.click("[title^='Remove note']");
    page.see("dialog >> The log keeps what it said.");
    page.click("dialog button[type=submit]");
    page.wait_for("all('.note-list li').length === 1");
    page.see(".note-list >> release is on Friday");
    // Another screen's removal is seen as well.
    let id = listed[1]["id"].as_u64().unwrap();
    scene.json(&format!("note remove {id}"));
    page.see(".empty >> No notes yet.");
}

#[test]
fn a_task_shows_what_it_handed_over_and_the_next_what_it_was_handed() {
    let (mut stage, mut seats) = seated(&["ana"]);
    let after = vec!["1".to_owned()];
    stage.create_in_turn(vec![
        task("Write the lexer"),
        TaskNew { blocked_by: after, ..task("Write the parser") },
    ]);
    let token = claim(&mut seats[0], 1);
    let handoff = Handoff {
        done: vec!["all tokens".to_owned()],
        surprises: vec!["<i>no end of file</i>".to_owned()],
        ..Handoff::default()
    };
    let (task, commit, result) = ("1".to_owned(), None, String::new());
    let handoff = Some(Box::new(handoff));
    let submit = verbs::TaskSubmit { task, token, commit, result, handoff };
    seats[0].ask(Ask::TaskSubmit(submit)).unwrap();
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.go("task/1");
    page.see("section.part >> Handed over");
    page.see(".handoff >> <i>no end of file</i>");
    let text = "keep it small".to_owned();
    seats[0].ask(Ask::NoteAdd(verbs::NoteAdd { text, task: Some("2".to_owned()) })).unwrap();
    scene.go("task/2");
    page.see("section.part >> From the tasks before it");
    page.see(".talk >> done: all tokens");
    page.see(".talk >> keep it small");
}
