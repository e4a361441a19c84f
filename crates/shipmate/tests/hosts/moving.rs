//! What moves: the logs to the server and back, and the home.

use rustix::process::Signal;

use crate::machines::Machines;
use crate::processes;

#[test]
fn logs_move_to_the_server_and_back_with_their_numbers() {
    let mut at = Machines::new(2);
    at.add(&["ana"]);
    at.task("put one one");
    at.completed(1);
    let before = at.ok("home", &["log", "--after", "0", "--json"]);
    assert!(at.place("home").team("alpha").join("log.moved.db").exists());
    at.join("box", 1);
    let said = at.refused("home", &["log", "move", "sqlite"]);
    assert!(said.contains("host box shares team alpha"), "{said}");
    at.ok("home", &["host", "remove", "box"]);
    at.ok("home", &["log", "move", "sqlite"]);
    let after = at.ok("home", &["log", "--after", "0", "--json"]);
    assert!(after.starts_with(&before), "{before}\n---\n{after}");
    assert!(!at.place("home").host_file().exists());
    assert_eq!(at.processes("home", "server"), vec![]);
    at.follow();
    at.task("put two two");
    at.completed(2);
    assert_eq!(at.landed("home", "two"), "two\n");
    // And again, on a server that has an earlier log of the team.
    at.ok("home", &["log", "move", "nats", "--name", "home"]);
    at.follow();
    at.task("put three three");
    at.completed(3);
    // What is deleted meanwhile is not there again when the logs go to the server once more.
    at.ok("home", &["log", "move", "sqlite"]);
    at.ok("home", &["team", "delete", "alpha", "--now"]);
    at.ok("home", &["team", "create", "beta"]);
    at.ok("home", &["log", "move", "nats", "--name", "home"]);
    let teams = at.ok("home", &["team", "list", "--json"]);
    assert!(teams.contains("beta") && !teams.contains("alpha"), "{teams}");
}

#[test]
fn the_home_moves_by_hand_and_the_next_task_lands_there() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add(&["ana", "bo"]);
    at.task("put one one");
    at.completed(1);
    at.ok("home", &["host", "home", "box"]);
    at.event("host.home");
    at.task("test -e one && put two two");
    at.completed(2);
    assert_eq!(at.landed("box", "two"), "two\n");
    assert_eq!(at.landed("box", "one"), "one\n");
    at.ok("home", &["host", "home", "home"]);
    at.event("host.home");
    at.task("test -e two && put three three");
    at.completed(3);
    assert_eq!(at.landed("home", "three"), "three\n");
}

/// The server goes on without the machine that it was started on, so the home can go elsewhere by itself.
#[test]
fn a_home_that_is_lost_is_another_machines_from_then_on() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add(&["ana", "bo"]);
    at.task("put one one");
    at.completed(1);
    at.follow_on("box");
    let freeze = |at: &Machines, signal| {
        for kind in ["coordinator", "supervisor", "agent"] {
            at.processes("home", kind).iter().for_each(|one| processes::signal(one.pid, signal));
        }
    };
    freeze(&at, Signal::STOP);
    assert_eq!(at.event("host.lost")["host"], "home");
    assert_eq!(at.event("host.home")["host"], "box");
    at.ok("box", &["task", "create", "put two two"]);
    at.completed(2);
    assert_eq!(
        (at.landed("box", "one"), at.landed("box", "two")),
        ("one\n".into(), "two\n".into())
    );
    // It comes back as one of the others.
    freeze(&at, Signal::CONT);
    at.hear(|event| event["host.joined"]["host"] == "home");
    at.ok("home", &["task", "create", "put three three"]);
    at.completed(3);
    assert_eq!(at.landed("box", "three"), "three\n");
    let hosts = at.ok("home", &["host", "list", "--json"]);
    let hosts: serde_json::Value = serde_json::from_str(&hosts).unwrap();
    assert_eq!((&hosts[0]["name"], &hosts[0]["home"]), (&"box".into(), &true.into()));
}

/// Whoever moves a log back has nothing left of the server that it had: another one is not mistaken for it.
#[test]
fn logs_that_came_back_go_to_another_server_and_not_to_the_one_before() {
    let mut at = Machines::new(1);
    at.add(&["ana"]);
    at.task("put one one");
    at.completed(1);
    at.close();
    let before = at.url();
    at.ok("home", &["log", "move", "sqlite"]);
    let other = Machines::new(1);
    let token = at.root().join("token");
    std::fs::write(&token, "no\n").unwrap();
    let args = ["log", "move", "nats", "--url", &other.url(), "--server-is-durable"];
    let said = at
        .refused("home", &[&args[..], &["--server-token-file", token.to_str().unwrap()]].concat());
    assert!(!said.contains(&before) && said.contains("nothing was changed"), "{said}");
    assert!(at.ok("home", &["task", "list", "--json"]).contains("put one one"));
    at.ok("home", &["log", "move", "nats", "--name", "home"]);
    assert!(at.ok("home", &["task", "list", "--json"]).contains("put one one"));
    assert_ne!(at.url(), other.url());
}

/// Whoever made a team, and where its log was then: where its log was moved from, it is at home.
#[test]
fn a_team_that_was_made_on_a_server_and_came_back_works_on_the_next_server() {
    let mut at = Machines::new(1);
    at.ok("home", &["team", "delete", "alpha", "--now"]);
    at.ok("home", &["team", "create", "alpha", "--trees", "own", "--gate", "--check", "true"]);
    at.ok("home", &["log", "move", "sqlite"]);
    at.ok("home", &["log", "move", "nats", "--name", "home"]);
    at.follow();
    at.add(&["ana"]);
    at.task("put one one");
    at.completed(1);
    at.join("box", 1);
}

/// What landed before there was another machine is on no record: nobody becomes the home who has not got it.
#[test]
fn a_home_moves_with_all_that_landed_before_there_was_another_machine() {
    let mut at = Machines::new(1);
    at.add(&["ana"]);
    at.task("put one one");
    at.task("put two two");
    at.completed(2);
    // A checkout of the same repository has the commit that the team began at.
    let den = at.workspace("den");
    let from = at.workspace("home").display().to_string();
    std::fs::create_dir_all(at.root().join("users").join("den")).unwrap();
    at.git("home", &["clone", "--quiet", "--branch", "main", &from, den.to_str().unwrap()]);
    at.join("den", 1);
    at.ok("home", &["host", "home", "den"]);
    at.follow_on("den");
    at.task("put three three");
    at.completed(3);
    for file in ["one", "two", "three"] {
        assert_eq!(at.landed("den", file), format!("{file}\n"));
    }
}

/// A home that could not take what landed before merges nothing onto what it has, also when nobody else is left.
#[test]
fn a_home_that_has_not_got_what_landed_merges_nothing_onto_what_it_has() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add_on("box", "ana");
    at.task("put one one");
    at.completed(1);
    at.ok("home", &["host", "home", "box"]);
    at.git("home", &["checkout", "--quiet", "shipmate/alpha"]);
    at.task("put two two");
    at.completed(2);
    at.ok("home", &["host", "home", "home"]);
    at.ok("home", &["host", "remove", "box", "--now"]);
    at.add_on("home", "cy");
    at.task("put three three");
    let paused = at.event("team.paused");
    assert!(paused["reason"].as_str().unwrap().contains("checked out"), "{paused}");
    at.git("home", &["checkout", "--quiet", "main"]);
    at.ok("home", &["continue"]);
    at.completed(3);
    for file in ["one", "two", "three"] {
        assert_eq!(at.landed("home", file), format!("{file}\n"));
    }
}
