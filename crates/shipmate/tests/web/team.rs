//! The team and a teammate's page: pause, message, shut down, replace, and its live output.

use serde_json::Value;
use shipmate_protocol::verbs::{Setup, TeammateAdd};
use shipmate_protocol::{Answer, Ask};

use crate::scene::{Scene, claim, seated, task};
use crate::stage::Stage;

fn row(name: &str) -> String {
    format!("[data-mate='alpha/{name}']")
}

/// The menu of a teammate's row, and one of its entries.
#[track_caller]
fn act(scene: &Scene, name: &str, deed: &str) {
    scene.page.click(&format!("{} [aria-label='More for {name}']", row(name)));
    scene.page.click(&format!("dialog .menu button >> {deed}"));
}

#[test]
fn everybody_is_shown_with_state_and_reason_paused_and_continued() {
    let (mut stage, mut seats) = seated(&["ana", "bo"]);
    stage.create(vec![task("Write the parser")]);
    claim(&mut seats[0], 1);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("3", "Team");
    page.see(&format!("{} >> working", row("ana")));
    page.see(&format!("{} >> Write the parser", row("ana")));
    page.see(&format!("{} >> idle", row("bo")));

    page.click(&format!("{} button >> Pause", row("bo")));
    scene.form(&[("reason", "too many cooks")], "Pause");
    page.see(&format!("{} >> paused", row("bo")));
    page.see(&format!("{} .mate-why >> too many cooks", row("bo")));
    assert_eq!(scene.teammate("bo")["state"], "paused");
    page.click(&format!("{} button >> Continue", row("bo")));
    page.see(&format!("{} >> idle", row("bo")));
    assert_eq!(scene.teammate("bo")["state"], "idle");

    page.click(&format!("{} button >> Message", row("ana")));
    scene.form(&[("body", "How far are you?")], "Send");
    let Answer::Messages(mail) = seats[0].ask(Ask::InboxPeek).unwrap() else { panic!() };
    assert_eq!(mail[0].body, "How far are you?");
    page.see(&format!("{} >> ✉ 1", row("ana")));
}

#[test]
fn a_whole_team_is_paused_and_continued() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("3", "Team");
    page.click(".team-box button >> Pause");
    scene.form(&[("reason", "a demo")], "Pause");
    page.see(".team-box >> a demo");
    assert_eq!(scene.json("team show")["paused"], "a demo");
    page.click(".team-box button >> Continue");
    page.see_none(".team-box >> a demo");
    assert_eq!(scene.json("team show").get("paused"), None);
}

#[test]
fn a_teammate_is_added_replaced_shut_down_and_removed() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 1\n");
    stage.team(Setup::default(), &[]);
    stage.door("work");
    let mut scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("3", "Team");
    page.key("+");
    page.fill("dialog [name=name]", "ana");
    page.fill("dialog [name=command]", "exec tail -f /dev/null");
    page.click("dialog button[type=submit]");
    page.see_none("dialog");
    page.click(&format!("{} button >> Start", row("ana")));
    page.see(&format!("{} >> idle", row("ana")));
    let first = scene.teammate("ana");
    assert_eq!((&first["state"], &first["epoch"]), (&"idle".into(), &1.into()));

    act(&scene, "ana", "Replace");
    page.click("dialog button[type=submit] >> Replace");
    page.see_none("dialog");
    scene.stage.hear(|event| event["teammate.started"]["who"] == "alpha/ana@2");
    let second = scene.teammate("ana");
    assert_eq!((&second["state"], &second["epoch"]), (&"idle".into(), &2.into()));

    // The page hears of it a moment later, and its menu is of what it knows.
    page.see(&format!("{} >> idle", row("ana")));
    act(&scene, "ana", "Shut down");
    scene.form(&[("reason", "enough for today")], "Shut down");
    page.see(&format!("{} >> stopped", row("ana")));
    assert_eq!(scene.teammate("ana")["state"], "stopped");

    act(&scene, "ana", "Remove");
    page.click("dialog button[type=submit] >> Remove");
    page.see_none(&row("ana"));
    assert_eq!(scene.json("teammate list"), Value::Array(Vec::new()));
}

#[test]
fn a_teammates_page_shows_its_output_as_it_comes_and_writes_to_it() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &[]);
    stage.add("ana", |add| TeammateAdd { role: Some("dev".to_owned()), ..add });
    for name in ["one", "two"] {
        stage.door(name);
    }
    stage.tasks(&[
        "echo reading the grammar; here; pass one; echo 'found <b>two</b> rules'; here; \
                   pass two; put a x",
    ]);
    stage.arrival();
    let mut scene = Scene::on(stage);
    scene.turn("3", "Team");
    scene.page.key("j");
    scene.page.key("Enter");
    scene.page.see("h1 >> ana");
    scene.page.see("[role=log] >> reading the grammar");
    scene.page.see(".facts >> dev");
    scene.stage.open("one", 1);
    scene.stage.arrival();
    scene.page.see("[role=log] >> found <b>two</b> rules");
    assert!(!scene.page.eval::<bool>("document.querySelector('[role=log] b') !== null"));

    scene.page.key("m");
    scene.page.type_text("Mind the comments");
    scene.page.key("Control+Enter");
    scene.told("Sent to ana");
    scene.page.see(".talk >> Mind the comments");
    assert_eq!(scene.teammate("ana")["unread"], 1);
    scene.stage.open("two", 1);
    scene.stage.finished(1);
    // Out of the field, and back to the team.
    scene.page.key("Escape");
    scene.page.key("Escape");
    scene.page.see(&row("ana"));
}

#[test]
fn the_output_of_an_earlier_life_is_still_there() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["ana"]);
    stage.tasks(&["echo words of the first; here; exec tail -f /dev/null"]);
    let first = stage.arrival();
    let mut scene = Scene::on(stage);
    scene.go("team/alpha/ana");
    scene.page.see("[role=log] >> words of the first");
    crate::processes::kill(scene.stage.supervisor("ana"));
    let second = scene.stage.arrival();
    assert!(second.epoch > first.epoch, "{second:?}");
    scene.page.choose("select[aria-label='Which life']", "life 1");
    scene.page.wait_for("location.hash.endsWith('/ana/1')");
    scene.page.see("[role=log] >> words of the first");
}

#[test]
fn a_teammate_that_is_not_there_is_said_to_be_none() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    scene.go("team/alpha/zoe");
    scene.page.see(".empty >> There is no teammate zoe in alpha.");
}
