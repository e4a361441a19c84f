//! A team on three machines and three servers, with a network between them that is cut at random.
//!
//! Machines and servers are nodes of a network of the test's own (`shipmate_testkit::network`), which needs the
//! rights of root. `SHIPMATE_ROUNDS` and `SHIPMATE_SEED` make the long test longer or play one again; `cargo
//! xtask partitions` sets them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "partitions/audit.rs"]
mod audit;
#[path = "partitions/bad_line.rs"]
mod bad_line;
#[path = "partitions/claims.rs"]
mod claims;
#[path = "partitions/cluster.rs"]
mod cluster;
#[path = "partitions/cut.rs"]
mod cut;
#[path = "partitions/faults.rs"]
mod faults;
#[path = "team/fifos.rs"]
mod fifos;
#[path = "partitions/fleet.rs"]
mod fleet;
#[path = "partitions/hands.rs"]
mod hands;
#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

use std::time::Duration;

use claims::{Answered, refuted, taken_back};
use fleet::{Fleet, HOSTS};
use hands::Hands;
use shipmate_testkit::Random;

/// Nothing here takes so long, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn a_task_lands_through_three_servers_from_whichever_machine_it_was_done_on() {
    let mut fleet = Fleet::new();
    let mut story = fleet.follow(fleet.home(), "alpha");
    for n in 0..3 {
        fleet.hosts[n].ok(&["--team", "alpha", "task", "create", &format!("task-{n}")]);
    }
    fleet.open(3);
    for _ in 0..3 {
        story.await_event(|event| event.get("task.completed").is_some());
    }
    for n in 0..3 {
        let landed = fleet.home().git(&["show", &format!("shipmate/alpha:out/task-{n}")]);
        assert_eq!(landed, format!("task-{n}\n"));
    }
    let mut on: Vec<&str> = story
        .events("teammate.started")
        .iter()
        .filter_map(|(_, event)| event["host"].as_str())
        .collect();
    on.sort_unstable();
    on.dedup();
    assert_eq!(on, ["east", "north", "west"]);
}

/// How often something is cut where nobody says otherwise.
const ROUNDS: usize = 4;
const TASKS: usize = 60;
/// Of which so many are created on each machine.
const EACH: usize = TASKS / HOSTS.len();

fn given(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: not a number")))
}

#[test]
fn cuts_and_kills_lose_nothing_that_was_acknowledged_and_give_no_task_two_holders() {
    let rounds = given("SHIPMATE_ROUNDS").map_or(ROUNDS, |rounds| rounds as usize);
    // One course for every run of the tests; `cargo xtask partitions` looks for others.
    let seed = given("SHIPMATE_SEED").unwrap_or(1);
    println!("SHIPMATE_SEED={seed} SHIPMATE_ROUNDS={rounds}");
    let mut random = Random::new(seed);
    let mut fleet = Fleet::new();
    let mut story = fleet.follow(fleet.home(), "alpha");
    let hands = Hands::begin(&fleet, 20 * rounds as u32 + 20, &mut random);
    let creators = hands::create(&fleet, EACH);
    let struck = faults::rounds(&mut fleet, &mut story, rounds, TASKS, &mut random);

    // All is well again: whatever is left is done, and nobody waits at the door.
    fleet.open(10_000);
    let mut told = Vec::new();
    for creator in creators {
        told.extend(creator.join().unwrap());
    }
    faults::until_completed(&fleet, &mut story, TASKS);
    let heard = hands.end(&fleet);

    let log = audit::same_everywhere(&fleet, "alpha");
    let board = audit::same_everywhere(&fleet, "board");
    let claims = audit::one_holder_at_a_time(&log);
    let by_hand = audit::one_holder_at_a_time(&board);
    audit::nothing_acknowledged_is_lost(&board, &heard.done);
    audit::are_created(&log, &told);
    audit::landed_once(&fleet, &log);
    let unknown = heard.calls.iter().filter(|call| call.answered == Answered::Unknown).count();
    let mut calls = heard.calls.clone();
    calls.extend(taken_back(&board));
    println!("{} calls are held against a board that does one thing at a time", calls.len());
    if let Some(calls) = refuted(&calls) {
        panic!("no board that does one thing at a time answers so: {calls:#?}");
    }
    audit::nothing_left(&fleet);
    println!(
        "held: {rounds} rounds, {struck:?}, {} hosts lost, {claims} claims of {TASKS} tasks, {} requests by \
         hand ({unknown} without an answer), {by_hand} claims by hand, {} acknowledged",
        audit::count(&log, "host.lost"),
        heard.calls.len(),
        heard.done.len() + told.len(),
    );
}
