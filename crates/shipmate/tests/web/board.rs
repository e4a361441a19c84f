//! The board: what is on it, and everything that can be done to a task there.

use serde_json::json;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::TaskNew;

use crate::scene::{Scene, claim, complete, fail, seated, task};

fn card(id: u32) -> String {
    format!("[data-task='{id}']")
}

/// The menu of a task's card, and one of its entries.
#[track_caller]
fn act(scene: &Scene, id: u32, deed: &str) {
    scene.page.click(&format!("{} .card-more", card(id)));
    scene.page.click(&format!("dialog .menu button >> {deed}"));
}

#[test]
fn a_task_is_created_and_edited_on_the_board() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    scene.page.see(".empty >> There are no tasks yet.");
    scene.page.click("button >> New task");
    scene.form(
        &[
            ("subject", "Write the parser"),
            ("description", "It reads two lines."),
            ("files", "src/parser.rs"),
            ("assignee", "ana"),
            ("priority", "7"),
        ],
        "Create",
    );
    scene.told("Task 1 created");
    scene.page.see(&format!("{} >> Write the parser", card(1)));
    let made = scene.task(1);
    assert_eq!(made["subject"], "Write the parser");
    assert_eq!(made["description"], "It reads two lines.");
    assert_eq!(made["files"], json!(["src/parser.rs"]));
    assert_eq!(made["assignee"], "ana");
    assert_eq!(made["priority"], 7);

    act(&scene, 1, "Edit");
    scene.form(&[("subject", "Write the lexer"), ("files", "src/lexer.rs, src/token.rs")], "Save");
    scene.page.see(&format!("{} >> Write the lexer", card(1)));
    let changed = scene.task(1);
    assert_eq!(changed["subject"], "Write the lexer");
    assert_eq!(changed["files"], json!(["src/lexer.rs", "src/token.rs"]));
    assert_eq!(changed["description"], "It reads two lines.");
}

#[test]
fn what_is_refused_stays_in_the_form_with_the_reason() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    scene.page.click("button >> New task");
    scene.page.click("dialog button[type=submit]");
    scene.page.see("dialog .problem >> Subject is empty.");
    scene.page.fill("dialog [name=subject]", "Write the parser");
    scene.page.fill("dialog [name=blocked_by]", "99");
    scene.page.click("dialog button[type=submit]");
    scene.page.see("dialog .problem >> 99");
    assert_eq!(scene.page.eval::<String>("one('dialog [name=subject]').value"), "Write the parser");
    assert_eq!(scene.json("task list"), json!([]));
    scene.form(&[("blocked_by", "")], "Create");
    assert_eq!(scene.task(1)["subject"], "Write the parser");
    // The refusal itself is one, and the browser says so of every answer that is.
    scene.only_errors("the server responded with a status of 4");
}

#[test]
fn a_half_written_task_is_there_again_and_enter_sends_it() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    let subject = || scene.page.eval::<String>("one('dialog [name=subject]').value");
    scene.page.click("button >> New task");
    scene.page.fill("dialog [name=subject]", "Write the parser");
    scene.page.key("Escape");
    scene.page.see_none("dialog");
    scene.page.click("button >> New task");
    scene.page.see("dialog >> What you wrote before is here again.");
    assert_eq!(subject(), "Write the parser");
    scene.page.key("Enter");
    scene.page.see_none("dialog");
    scene.page.see(&format!("{} >> Write the parser", card(1)));
    scene.page.click("button >> New task");
    scene.page.see("dialog [name=subject]");
    assert_eq!(subject(), "");
}

#[test]
fn a_task_is_reassigned_and_released() {
    let (mut stage, mut seats) = seated(&["ana", "bo"]);
    stage.create(vec![task("Write the parser")]);
    claim(&mut seats[0], 1);
    let scene = Scene::on(stage);
    scene.page.see(&format!("section[aria-label='In progress'] {} >> ana", card(1)));
    act(&scene, 1, "Reassign");
    scene.page.see("dialog >> ana");
    scene.page.choose("dialog select", "bo");
    scene.page.click("dialog button[type=submit]");
    scene.page.see_none("dialog");
    scene.page.see(&format!("{} >> bo", card(1)));
    let moved = scene.task(1);
    assert_eq!((&moved["status"], &moved["assignee"]), (&json!("pending"), &json!("bo")));

    claim(&mut seats[1], 1);
    scene.page.see(&format!("section[aria-label='In progress'] {}", card(1)));
    act(&scene, 1, "Release");
    scene.form(&[], "Release");
    scene.page.see_none(&format!("section[aria-label='In progress'] {}", card(1)));
    assert_eq!(scene.task(1)["status"], "pending");
}

#[test]
fn a_failed_task_says_why_is_retried_and_a_pending_one_is_deleted() {
    let (mut stage, mut seats) = seated(&["ana"]);
    stage.create(vec![
        TaskNew { retries_max: Some(0), ..task("Write the parser") },
        task("Not needed after all"),
    ]);
    let token = claim(&mut seats[0], 1);
    fail(&mut seats[0], 1, token, "the grammar is ambiguous");
    let scene = Scene::on(stage);
    scene
        .page
        .see(&format!("section[aria-label='Failed'] {} >> the grammar is ambiguous", card(1)));
    act(&scene, 1, "Retry");
    scene.page.click("dialog button[type=submit] >> Retry");
    scene.page.see_none(&format!("section[aria-label='Failed'] {}", card(1)));
    scene.page.see(&card(1));
    assert_eq!(scene.task(1)["status"], "pending");

    act(&scene, 2, "Delete");
    scene.page.click("dialog button[type=submit] >> Delete");
    scene.page.see_none(&card(2));
    assert_eq!(scene.json("task list").as_array().unwrap().len(), 1);
}

#[test]
fn the_board_is_searched_and_filtered_in_columns_and_as_a_list() {
    let (mut stage, mut seats) = seated(&["ana", "bo"]);
    stage.create_in_turn(vec![
        TaskNew { files: vec!["src/parser.rs".to_owned()], ..task("Write the parser") },
        TaskNew { blocked_by: vec!["1".to_owned()], ..task("Test the parser") },
        TaskNew { group: Some("docs".to_owned()), ..task("Write the manual") },
    ]);
    claim(&mut seats[1], 1);
    let scene = Scene::on(stage);
    let page = &scene.page;
    let shown = |ids: &str| {
        page.wait_for(&format!(
            "all('[data-task]').map((e) => e.dataset.task).sort().join() === '{ids}'"
        ));
    };
    shown("1,2,3");
    // Why a task cannot be taken is said on its card.
    page.see(&format!("{} .card-why a[href$='task/1'] >> 1", card(2)));
    page.key("/");
    page.type_text("manual");
    shown("3");
    page.see(".board-total >> 1 of 3 tasks");
    page.fill("[type=search]", "src/parser");
    shown("1");
    page.fill("[type=search]", "nothing like that");
    page.see(".empty >> No task matches.");
    page.click("button >> Clear the filter");
    shown("1,2,3");
    page.choose("select[aria-label=Owner]", "bo");
    shown("1");
    page.choose("select[aria-label=Owner]", "Anyone");
    page.choose("select[aria-label='Team or group']", "group docs");
    shown("3");
    page.choose("select[aria-label='Team or group']", "Any");
    page.click("label >> Only what waits");
    shown("2");
    page.click("label >> Only what waits");
    page.click("[data-view=list]");
    page.see(&format!(".list-row{} >> ready", card(3)));
    page.see(&format!(".list-row{} >> in progress", card(1)));
    shown("1,2,3");
    // What happens elsewhere is there without being asked for.
    complete_first(&scene, &mut seats);
    page.see(&format!(".list-row{} >> completed", card(1)));
    page.see(&format!(".list-row{} >> ready", card(2)));
}

fn complete_first(scene: &Scene, seats: &mut [shipmate_protocol::Client]) {
    let token = scene.task(1)["token"].as_u64().unwrap();
    complete(&mut seats[1], 1, token);
}

#[test]
fn a_team_that_is_paused_is_continued_where_nothing_moves() {
    let (mut stage, _) = seated(&["ana"]);
    stage.create(vec![task("Write the parser")]);
    stage.ask(Ask::TeamPause(verbs::TeamPause { reason: "lunch".to_owned() }));
    let scene = Scene::on(stage);
    scene.page.see(".strip >> alpha is paused: lunch");
    scene.page.click(".strip button >> Continue");
    scene.page.see_none(".strip >> paused");
    assert_eq!(scene.json("team show").get("paused"), None);
}
