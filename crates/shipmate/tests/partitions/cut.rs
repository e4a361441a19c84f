//! One cut at a time: what a machine says of the others when it is back, and what they say of it.

use shipmate_protocol::Code;
use shipmate_protocol::client::TokenSource;
use shipmate_protocol::verbs::{self, TaskNew};
use shipmate_testkit::network::Node;

use crate::fleet::{Fleet, Story};
use crate::{audit, cluster::Server};

/// Takes these nodes away for longer than the lease, in the middle of work.
fn only_who_was_away_is_lost(mut fleet: Fleet, away: &[&Node], take: fn(&Node)) {
    let mut story = fleet.follow(fleet.home(), "alpha");
    create(&fleet, "before");
    for _ in 0..9 {
        story.await_event(|event| event.get("task.claimed").is_some());
    }
    away.iter().for_each(|node| take(node));
    story.await_event(|event| event["host.lost"]["host"] == "west");
    away.iter().for_each(|node| node.mend());
    story.await_event(|event| event["host.joined"]["host"] == "west");
    // It has everything again, and is done with whatever it had to say, when its work has landed.
    fleet.open(100);
    completed(&mut story, 9);
    create(&fleet, "after");
    completed(&mut story, 18);
    let log = audit::same_everywhere(&fleet, "alpha");
    let lost: Vec<&str> = story
        .events("host.lost")
        .into_iter()
        .filter_map(|(_, event)| event["host"].as_str())
        .collect();
    assert_eq!(lost, ["west"], "{}", story.text());
    audit::one_holder_at_a_time(&log);
    audit::nothing_left(&fleet);
}

fn create(fleet: &Fleet, name: &str) {
    for n in 0..9 {
        fleet.home().ok(&["--team", "alpha", "task", "create", &format!("{name}-{n}")]);
    }
}

fn completed(story: &mut Story, count: usize) {
    while story.events("task.completed").len() < count {
        story.await_event(|event| event.get("task.completed").is_some());
    }
}

#[test]
fn a_machine_that_was_cut_off_says_of_nobody_that_it_was_silent() {
    let fleet = Fleet::new();
    let west = fleet.hosts[2].node.clone();
    only_who_was_away_is_lost(fleet, &[&west], Node::cut);
}

#[test]
fn neither_does_one_whose_server_was_cut_off_with_it() {
    // It knows that server only, and its line stays up all the time.
    let fleet = Fleet::reached_by(|host, servers| match host.name {
        "west" => vec![servers[2].url()],
        _ => servers[..2].iter().map(Server::url).collect(),
    });
    let nodes = [fleet.hosts[2].node.clone(), fleet.servers[2].node.clone()];
    only_who_was_away_is_lost(fleet, &[&nodes[0], &nodes[1]], Node::split);
}

#[test]
fn a_server_that_stays_away_is_left_for_another() {
    let mut fleet = Fleet::new();
    let mut story = fleet.follow(fleet.home(), "alpha");
    fleet.open(100);
    // Of a dozen connections to three servers some are there.
    fleet.servers[0].node.cut();
    let asked = fleet.hosts.iter().map(|host| {
        host.spawn(move |host| {
            let mut client = host.client("alpha", TokenSource::Person);
            let subject = host.name.to_owned();
            let alias = Some(subject.clone());
            let tasks = vec![TaskNew { subject, alias, ..TaskNew::default() }];
            host.insist(&mut client, verbs::TaskCreate { tasks })
        })
    });
    for thread in asked.collect::<Vec<_>>() {
        // It may have been done when nobody could say so.
        let told = thread.join().unwrap();
        assert!(matches!(told, Ok(_) | Err(Code::AliasTaken)), "{told:?}");
    }
    completed(&mut story, 3);
}
