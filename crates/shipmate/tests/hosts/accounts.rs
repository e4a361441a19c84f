//! One account on two machines: a refusal on one parks whoever asks with it on the other, through the log.
//!
//! The machines are two users' with a state folder each, so nothing but the log tells one of the other.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use shipmate_testkit::model::{Meter, Server};

use crate::machines::Machines;
use crate::processes;

const SCRIPT: &str = r#"
as *
on "write the file"
  shell echo {{actor}} > {{after named}}
  say Done.
"#;

/// Ana at home and bo on the box, on our own agent with one provider, each with a task done.
fn two_on_one_account(server: &Server) -> Machines {
    let settings = format!(
        "[models]\ndefault = \"test/scripted\"\n[models.test]\nprotocol = \"anthropic\"\n\
         base-url = \"{}\"\nkey-variable = \"\"\n",
        server.url()
    );
    let mut at = Machines::configured(1, &settings);
    at.join("box", 1);
    for (name, host) in [("ana", "home"), ("bo", "box")] {
        at.ok("home", &["teammate", "add", name, "--host", host, "--agent", "native"]);
    }
    for (file, who) in [("1.txt", "ana"), ("2.txt", "bo")] {
        write(&at, file, who);
    }
    at.completed(2);
    let accounts = at.events("teammate.account");
    assert_eq!(accounts.len(), 2, "{}", at.story());
    assert_eq!(accounts[0]["account"], accounts[1]["account"], "{accounts:?}");
    at
}

fn write(at: &Machines, file: &str, who: &str) {
    at.ok("home", &["task", "create", &format!("write the file named {file}"), "--assignee", who]);
}

fn shown(at: &Machines, host: &str, args: &[&str]) -> Value {
    serde_json::from_str(&at.ok(host, args)).unwrap()
}

fn in_an_hour() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 3600
}

#[test]
fn a_refusal_on_one_machine_parks_the_account_on_the_other_and_its_person_lets_both_go_on() {
    let server = Server::start(SCRIPT);
    let mut at = two_on_one_account(&server);
    server.meter(Meter::new(0, Some(in_an_hour())));
    write(&at, "3.txt", "ana");
    let parked = at.event("account.parked");
    let refused = server.over_limit();
    write(&at, "4.txt", "bo");
    let bo = shown(&at, "box", &["teammate", "show", "bo", "--json"]);
    assert_eq!(bo["account"], parked["account"], "{bo}");
    assert!(bo["why"].as_str().unwrap().starts_with("no room until"), "{bo}");

    // Whoever starts anew on the other machine knows it from the log alone.
    processes::kill(at.processes("box", "coordinator")[0].pid);
    at.answers("box");
    let tasks = shown(&at, "box", &["task", "list", "--json"]);
    let status = |id: usize| tasks[id - 1]["status"].as_str().unwrap();
    assert_eq!((status(3), status(4)), ("pending", "pending"), "{tasks}");
    let usage = shown(&at, "box", &["usage", "--json"]);
    assert_eq!(usage["accounts"][0]["parked"]["until"], parked["until"], "{usage}");
    assert_eq!(server.over_limit(), refused, "the other machine does not ask");

    server.reset();
    at.ok("box", &["account", "resume"]);
    at.completed(4);
    assert_eq!(at.events("account.resumed").len(), 1, "{}", at.story());
    assert_eq!(at.events("task.failed"), Vec::<Value>::new());
    assert_eq!(server.over_limit(), refused);
    for file in ["1.txt", "2.txt", "3.txt", "4.txt"] {
        assert!(!at.landed("home", file).is_empty(), "{file}");
    }
}

/// Who is told to wait for less than a minute waits by itself.
#[test]
#[ignore = "takes a minute: cargo xtask test clients"]
fn both_machines_go_on_at_the_reset_and_it_is_recorded_once() {
    let server = Server::start(SCRIPT);
    let mut at = two_on_one_account(&server);
    server.meter(Meter::new(0, Some(in_an_hour() - 3600 + 75)));
    for (file, who) in [("3.txt", "ana"), ("4.txt", "bo")] {
        write(&at, file, who);
    }
    at.event("account.parked");
    server.reset();
    at.event("account.resumed");
    at.completed(4);
    let (parked, resumed) = (at.events("account.parked"), at.events("account.resumed"));
    // The one may have been refused while the other was: that is one pause.
    assert!(parked.len() <= 2 && resumed.len() == 1, "{}", at.story());
    assert_eq!(at.events("task.failed"), Vec::<Value>::new());
}
