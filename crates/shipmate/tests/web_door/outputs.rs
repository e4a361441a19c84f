//! What a teammate prints, as the page sees it.

use serde_json::Value;

use crate::http::Events;
use crate::stage::{Serving, Stage};

fn stream(serving: &Serving) -> Events {
    Events::open(serving.request("GET", "/api/t/alpha/stream?after=0&output=alpha%2Fana"))
}

/// Everything that is told of one life until it ends like this.
fn until(page: &mut Events, life: u64, end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        let piece = page.find("output", |event| Some(event.data.clone()));
        assert_eq!(piece["who"], "alpha/ana");
        assert_eq!(piece["life"], life);
        assert_eq!(piece["from"], text.len(), "nothing is left out or said twice");
        text.push_str(piece["text"].as_str().unwrap());
    }
    text
}

#[test]
fn what_an_agent_prints_is_shown_as_it_prints_it_and_again_to_whoever_comes_later() {
    // It says why nothing was changed: without that its task comes back, and it prints once more.
    let stage = Stage::with_agent("echo begins; cat GO; echo grüße; echo none > $SHIPMATE_RESULT");
    let serving = Serving::start(&stage);
    let mut page = stream(&serving);
    stage.create("one");
    assert_eq!(until(&mut page, 1, "begins\n"), "begins\n");
    std::fs::write(stage.go(), "goes on\n").unwrap();
    let rest = "begins\ngoes on\ngrüße\n";
    let more = page.find("output", |event| Some(event.data.clone()));
    assert_eq!(more["from"], 7);
    assert_eq!(until(&mut stream(&serving), 1, "grüße\n"), rest);

    let read = serving.get("/api/t/alpha/output/alpha/ana");
    assert_eq!(read["text"], rest);
    assert_eq!(
        (&read["life"], &read["lives"][0], &read["from"]),
        (&1.into(), &1.into(), &0.into())
    );
    assert_eq!((&read["to"], &read["size"]), (&rest.len().into(), &rest.len().into()));
    let older = serving.get("/api/t/alpha/output/alpha/ana?life=1&before=7");
    assert_eq!(older["text"], "begins\n");
    assert_eq!(serving.get("/api/t/alpha/output/alpha/ana?life=9")["text"], "");
}

#[test]
fn the_next_life_of_a_teammate_is_shown_in_the_same_stream() {
    let stage = Stage::with_agent("echo begins; cat GO");
    let serving = Serving::start(&stage);
    let mut page = stream(&serving);
    stage.create("one");
    until(&mut page, 1, "begins\n");
    let shown: Value =
        serde_json::from_str(&stage.shipmate(&["teammate", "show", "ana", "--json"])).unwrap();
    let pid = rustix::process::Pid::from_raw(shown["pid"].as_i64().unwrap() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let lives = |event: &crate::http::Event| Some(event.data.clone()).filter(|it| it["life"] == 2);
    let mut piece = page.find("output", lives);
    assert_eq!(piece["from"], 0);
    while piece["text"] == "" {
        piece = page.find("output", lives);
    }
    assert_eq!(piece["text"], "begins\n");
    std::fs::write(stage.go(), "").unwrap();
}
