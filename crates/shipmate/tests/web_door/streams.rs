//! The stream of a page: everything once, then what changes, and nothing missed in between.

use std::io::BufRead;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::QuestionKind;

use crate::http::{Event, Events};
use crate::stage::{Serving, Stage};

fn stream(serving: &Serving, after: u64) -> Events {
    Events::open(serving.request("GET", &format!("/api/t/alpha/stream?after={after}")))
}

fn whole(event: &Event) -> Option<Value> {
    (event.data["whole"] == true).then(|| event.data.clone())
}

fn has_task(event: &Event, subject: &str) -> Option<u64> {
    let tasks = event.data["tasks"].as_array()?;
    let is_it = tasks.iter().any(|task| task["subject"] == subject);
    is_it.then(|| event.data["position"].as_u64().unwrap())
}

#[test]
fn a_page_gets_the_whole_and_then_what_changes() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let mut page = stream(&serving, 0);
    let first = page.next().unwrap();
    assert_eq!((first.name.as_str(), &first.data["whole"]), ("delta", &json!(true)));
    assert_eq!(first.data["root"], "alpha");
    assert_eq!(first.data["tasks"][0]["subject"], "keep-this-quiet");
    assert_eq!(first.id, first.data["position"].as_u64());
    assert_eq!(first.id, Some(stage.position()));

    let made = serving.ask(json!({ "task_create": { "tasks": [{ "subject": "by the page" }] } }));
    assert_eq!(made.json()["answer"]["created"]["tasks"], json!([2]), "{}", made.body);
    let position = page.find("delta", |event| {
        assert!(event.data.get("whole").is_none());
        has_task(event, "by the page")
    });
    assert_eq!(position, stage.position());
}

#[test]
fn a_page_is_told_the_time_of_now_however_old_what_it_is_given_is() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let mut before = 0;
    for _ in 0..2 {
        // The second is given the whole that was made for the first.
        let opened = now();
        let mut lines = serving.request("GET", "/api/t/alpha/stream?after=0").begin();
        let mut line = String::new();
        while !line.to_lowercase().starts_with("shipmate-now: ") {
            line.clear();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the head says what time it is");
        }
        let told: u64 = line.split_once(": ").unwrap().1.trim().parse().unwrap();
        assert!((opened..=now()).contains(&told) && told >= before, "{told}");
        before = told;
    }
}

#[test]
fn a_page_that_comes_back_gets_exactly_what_it_has_missed() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let mut page = stream(&serving, 0);
    let seen = page.find("delta", whole)["position"].as_u64().unwrap();
    drop(page);
    for n in 0..5 {
        stage.create(&format!("missed {n}"));
    }
    let last = stage.position();
    let mut page = stream(&serving, seen);
    let mut lines = Vec::new();
    while lines.last() != Some(&last) {
        let event = page.next().unwrap();
        assert!(event.data.get("whole").is_none(), "it knows the rest");
        let new = event.data["lines"].as_array().cloned().unwrap_or_default();
        lines.extend(new.iter().map(|line| line["n"].as_u64().unwrap()));
    }
    assert_eq!(lines, (seen + 1..=last).collect::<Vec<_>>());

    for strange in [last + 1000, seen - 1] {
        let mut page = stream(&serving, strange);
        let mut event = page.next().unwrap();
        assert_eq!(event.data["whole"], true, "{strange}");
        // The whole may be the one that others were given, with what came since.
        while event.id != Some(last) {
            event = page.next().unwrap();
        }
    }
}

#[test]
fn twenty_pages_cost_the_coordinator_as_much_as_one() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let mut pages = vec![stream(&serving, 0)];
    pages[0].find("delta", whole);
    let of_one = stage.connections();
    for _ in 1..20 {
        pages.push(stream(&serving, 0));
    }
    for page in &mut pages[1..] {
        page.find("delta", whole);
    }
    stage.has_at_most(of_one);
    stage.create("for everybody");
    for page in &mut pages {
        page.find("delta", |event| has_task(event, "for everybody"));
    }
    stage.has_at_most(of_one);
}

#[test]
fn there_is_room_for_so_many_pages_and_then_again() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let mut pages: Vec<Events> = (0..64).map(|_| stream(&serving, 0)).collect();
    let refused = serving.request("GET", "/api/t/alpha/stream?after=0").send();
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["refused"]["code"], "TooMany");
    pages.pop();
    // That one has gone is noticed when it is; until then there is no room.
    let again = || serving.request("GET", "/api/t/alpha/stream?after=0");
    let mut head = String::new();
    while !head.starts_with("HTTP/1.1 200") {
        head.clear();
        std::io::BufRead::read_line(&mut again().begin(), &mut head).unwrap();
    }
}

#[test]
fn a_page_that_reads_nothing_holds_up_nobody_and_gets_the_whole_when_it_reads_again() {
    let stage = Stage::new();
    let mut ana = stage.teammate("ana");
    let serving = Serving::start(&stage);
    let mut quick = stream(&serving, 0);
    quick.find("delta", whole);
    let mut questions = 1..;
    let mut slow = loop {
        let mut slow = stream(&serving, 0);
        slow.find("delta", whole);
        let began = Instant::now();
        // All open questions are told with each: more than is kept, and than any buffer holds.
        let mut told = 0;
        while told <= 16 * 1024 * 1024 {
            let n = questions.next().unwrap();
            let (kind, options) = (QuestionKind::Question, Vec::new());
            let text = format!("no {n}: {}", "x".repeat(60_000));
            ana.ask(Ask::Question(verbs::Question { kind, text, options })).unwrap();
            told += quick.find("delta", |event| {
                let open = event.data["decisions"].as_array()?;
                (open.len() == n).then(|| event.data.to_string().len())
            });
        }
        // One that reads nothing for half a minute is hung up on: then another is tried.
        if began.elapsed() < Duration::from_secs(25) {
            break slow;
        }
    };
    slow.find("delta", whole);
    stage.create("after all");
    for page in [&mut slow, &mut quick] {
        page.find("delta", |event| has_task(event, "after all"));
    }
}

#[test]
fn a_coordinator_that_dies_is_not_noticed() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let mut page = stream(&serving, 0);
    page.find("delta", whole);
    stage.kill_coordinator();
    let made = serving.ask(json!({ "task_create": { "tasks": [{ "subject": "to the next" }] } }));
    assert_eq!(made.status, 200, "{}", made.body);
    page.find("delta", |event| has_task(event, "to the next"));
}

#[test]
fn a_coordinator_that_cannot_be_had_is_said_so_until_it_can() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let mut page = stream(&serving, 0);
    page.find("delta", whole);
    let config = std::fs::read_to_string(stage.place().config()).unwrap();
    std::fs::write(stage.place().config(), "lease-seconds = \"none\"\n").unwrap();
    stage.kill_coordinator();
    let message = page.find("trouble", |event| Some(event.data["message"].clone()));
    assert_ne!(message, "", "it says why");
    let late = serving.request("GET", "/api/t/alpha/timeline").send();
    assert_eq!((late.status, &late.json()["refused"]["code"]), (503, &json!("Unreachable")));

    std::fs::write(stage.place().config(), config).unwrap();
    let back = page.find("delta", whole);
    assert_eq!(back["tasks"][0]["subject"], "keep-this-quiet");
}
