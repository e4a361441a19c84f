//! The timeline: who worked on what, and the board as it was at any moment.

use crate::scene::{Scene, claim, complete, seated, task};

#[test]
fn dragging_back_shows_the_board_as_it_was_and_nothing_can_be_done_to_it() {
    let (mut stage, mut seats) = seated(&["ana", "bo"]);
    stage.create(vec![task("Write the parser"), task("Write the manual")]);
    let token = claim(&mut seats[0], 1);
    complete(&mut seats[0], 1, token);
    claim(&mut seats[1], 2);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("6", "Timeline");
    page.see(".screen.timeline >> 2 claims");
    page.see("output >> now");
    let width: f64 = page.eval("one('.moments').getBoundingClientRect().width");
    // From the middle of the bar, where a press puts the handle, to the left end and beyond.
    page.drag(".moments", (-width, 0.0));
    page.see(".past-banner >> As it was at");
    page.see(".past >> There were no tasks yet.");
    // Record by record to the one that says that the first task was claimed.
    page.run("one('.moments').blur()");
    for _ in 1..token {
        page.key("ArrowRight");
    }
    page.see(&format!(".moment-said >> record {token}"));
    page.see(".past-row >> in progress");
    page.see(".past-row >> 1 Write the parser");
    page.see(".past-mate >> ana");
    page.see_none(".past button >> Edit");
    // The board itself has not moved.
    assert_eq!(scene.task(1)["status"], "completed");
    page.key("End");
    page.see_none(".past");
    page.see("output >> now");
}

#[test]
fn lanes_are_told_in_words_too_and_grow_while_they_are_looked_at() {
    let (mut stage, mut seats) = seated(&["ana"]);
    stage.create(vec![task("Write the parser"), task("Write the manual")]);
    let token = claim(&mut seats[0], 1);
    let scene = Scene::on(stage);
    let page = &scene.page;
    scene.turn("6", "Timeline");
    page.see(".screen.timeline >> 1 claim");
    page.key("v");
    page.see(".timeline-table tr >> 1 Write the parser");
    page.see(".timeline-table tr >> goes on");
    complete(&mut seats[0], 1, token);
    page.see(".timeline-table tr >> completed");
    claim(&mut seats[0], 2);
    page.see(".timeline-table tr >> 2 Write the manual");
    page.click(".timeline-table a >> ana");
    page.see("h1 >> ana");
}

#[test]
fn a_team_that_has_done_nothing_has_an_empty_timeline() {
    let (stage, _) = seated(&[]);
    let scene = Scene::on(stage);
    scene.turn("6", "Timeline");
    scene.page.see(".empty >> Nobody has worked yet.");
}

#[test]
fn ages_are_counted_from_the_servers_clock_and_not_from_when_news_were_written() {
    let (stage, _) = seated(&["ana"]);
    let scene = Scene::on(stage);
    let page = &scene.page;
    page.see("section[aria-label=Board]");
    let skew: f64 = page.eval(
        "import('/page/store.js').then(({ Store }) => {
           const store = new Store(() => {});
           store.setClock(Date.now() + 5000);
           store.take({ whole: true, root: 'alpha', position: 1, now: Date.now() - 3600000 });
           return store.time() - Date.now();
         })",
    );
    assert!((4000.0..=6000.0).contains(&skew), "{skew}");
}
