//! The line between the page and its server: the link, a line that breaks, a server that dies.

use shipmate_protocol::verbs::TeamCreate;
use shipmate_protocol::{Ask, Client};

use crate::processes;
use crate::scene::{Scene, Server, claim, seated, task};
use crate::stage::Stage;

#[test]
fn the_link_opens_the_team_and_its_token_leaves_the_address() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    let page = &scene.page;
    page.see("section[aria-label=Board]");
    assert_eq!(page.eval::<String>("location.hash"), "#/alpha/board");
    page.see(".line-state >> live");
    // The token stays with the browser, so a bookmark works; nobody else has it.
    page.reload();
    page.see("section[aria-label=Board]");
    let other = scene.browser.page_in_new_context();
    other.goto(scene.server.address());
    other.see(".empty >> This page has no valid token.");
    assert_eq!(other.console_errors(), [""; 0]);
}

#[test]
fn a_line_that_breaks_is_told_and_nothing_is_missed_when_it_is_back() {
    let (mut stage, mut seats) = seated(&["ana"]);
    stage.create(vec![task("Write the parser")]);
    let mut scene = Scene::on(stage);
    scene.page.see("[data-task='1'] >> Write the parser");
    scene.page.offline(true);
    scene.browser.break_lines();
    scene.page.see(".banner >> Reconnecting…");
    scene.page.see(".line-state >> offline");
    claim(&mut seats[0], 1);
    scene.stage.create(vec![task("Write the manual")]);
    scene.page.click(".banner button >> Try now");
    scene.page.see(".banner >> Reconnecting…");
    scene.page.see_none("[data-task='2']");
    scene.page.offline(false);
    scene.page.see("[data-task='2'] >> Write the manual");
    scene.page.see("section[aria-label='In progress'] [data-task='1']");
    scene.page.see_none(".banner");
    scene.only_errors("ERR_INTERNET_DISCONNECTED");
}

#[test]
fn a_server_that_was_killed_and_started_again_is_found_by_its_new_link() {
    let (mut stage, mut seats) = seated(&["ana"]);
    stage.create(vec![task("Write the parser")]);
    let mut scene = Scene::on(stage);
    scene.go("task/1");
    scene.page.see(".task-line >> ready");
    let (port, old) = (scene.server.port(), scene.server.link.clone());
    scene.server.kill();
    scene.page.see(".banner >> Reconnecting…");
    claim(&mut seats[0], 1);
    scene.server = Server::start(&scene.stage, port);
    assert_ne!(scene.server.link, old, "each start makes a new token");
    scene.page.see(".empty >> This page has no valid token.");
    scene.page.goto(&scene.server.link);
    // The screen that was open is open again, with what happened meanwhile.
    scene.page.see(".task-line >> in progress");
    let errors = scene.page.console_errors();
    let expected = |error: &String| error.contains("ERR_") || error.contains("status of 401");
    assert!(errors.iter().all(expected), "{errors:#?}");
}

#[test]
fn a_coordinator_that_was_killed_is_not_even_noticed() {
    let (mut stage, mut seats) = seated(&["ana"]);
    stage.create(vec![task("Write the parser")]);
    let scene = Scene::on(stage);
    scene.page.see("[data-task='1']");
    processes::kill(scene.stage.coordinator());
    claim(&mut seats[0], 1);
    scene.page.see("section[aria-label='In progress'] [data-task='1']");
    scene.page.click("button >> New task");
    scene.form(&[("subject", "Write the manual")], "Create");
    scene.page.see("[data-task='2'] >> Write the manual");
    assert_eq!(scene.task(2)["subject"], "Write the manual");
}

#[test]
fn where_there_are_several_teams_one_is_chosen_and_where_there_is_none_that_is_said() {
    let stage = Stage::new("");
    let mut scene = Scene::on(stage);
    scene.page.see("main .empty");
    let create = |client: &mut Client, name: &str| {
        let team = TeamCreate { name: name.to_owned(), ..TeamCreate::default() };
        client.ask(Ask::TeamCreate(team)).unwrap();
    };
    for name in ["alpha", "beta"] {
        create(&mut scene.stage.person, name);
    }
    scene.page.reload();
    scene.page.see("main a >> beta");
    scene.page.key("j");
    scene.page.key("j");
    scene.page.see("main a:focus >> beta");
    scene.page.key("Enter");
    scene.page.see("section[aria-label=Board]");
    assert_eq!(scene.page.eval::<String>("location.hash"), "#/beta/board");
}

#[test]
fn what_there_is_not_is_said_with_a_way_back() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    scene.page.see("section[aria-label=Board]");
    scene.go("nowhere");
    scene.page.see(".empty >> There is no screen called nowhere.");
    scene.page.click("a >> Go to the board");
    scene.page.see("section[aria-label=Board]");
    scene.go("task/99");
    scene.page.see("main .empty");
    scene.page.click("a >> Back to the board");
    scene.page.see("section[aria-label=Board]");
    scene.page.goto(&format!("{}#/omega/board", scene.server.address()));
    scene.page.see("main .empty >> omega");
    scene.only_errors("status of 404");
}
