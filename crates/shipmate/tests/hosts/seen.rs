//! A team as it is seen on a machine where the work is not done, and what is asked there of those where it
//! is.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::machines::Machines;

/// What ana on the other machine prints and changes, seen at home while it works and from there when it
/// has landed.
#[test]
fn what_happens_on_one_machine_is_seen_on_the_other() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add_on("box", "ana");
    at.door("go");
    at.task(
        "put one changed; echo these are the words; here $PWD; pass go; echo and the last ones",
    );
    let there = at.arrival().words;
    assert!(there.starts_with(&*at.workspace("box").to_string_lossy()), "{there}");
    at.until("its words are told", |at| {
        at.ok("home", &["teammate", "list", "--json"]).contains("these are the words")
    });
    let diff = at.ok("home", &["task", "diff", "1"]);
    assert!(diff.contains("+changed"), "{diff}");
    // Looked at while it works, until it has stopped.
    let mut attach = at.command("home", &["attach", "ana", "--from-start"]);
    let attach = attach.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    at.until("somebody looks", |at| at.copy_of("home", "ana").contains("these are the words"));
    at.open("go", 1);
    at.completed(1);
    let shown = attach.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for words in ["these are the words", "and the last ones"] {
        assert!(shown.contains(words), "{shown}");
    }
    // What has landed is asked of the home.
    assert!(at.ok("box", &["task", "diff", "1"]).contains("+changed"));
    assert!(at.ok("box", &["resume"]).contains("ana"));
}

/// A gate of the home is asked for what is asked on another machine, by a person or by a teammate.
#[test]
fn the_hooks_of_the_home_are_asked_wherever_somebody_asks() {
    let mut at = Machines::with(1, |workspace| {
        hook(
            workspace,
            "TaskCreated",
            "grep -q forbidden && { echo not that >&2; exit 2; }; exit 0",
        );
    });
    at.join("box", 1);
    at.add_on("box", "ana");
    let said = at.refused("box", &["task", "create", "forbidden"]);
    assert!(said.contains("not that"), "{said}");
    at.ok("box", &["task", "create", "put one one"]);
    at.completed(1);
    let list = at.ok("box", &["task", "list"]);
    assert!(list.contains("put one one") && !list.contains("forbidden"), "{list}");
    // Without the home nobody passes its gate by.
    at.freeze("home", true);
    let said = at.refused("box", &["task", "create", "put two two"]);
    at.freeze("home", false);
    assert!(said.contains("host home") || said.contains("NATS server"), "{said}");
}

/// Who is removed on any machine has no way to the server any more.
#[test]
fn who_is_removed_is_let_in_no_more_wherever_that_was_said() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.join("den", 1);
    at.ok("den", &["host", "remove", "box"]);
    at.event("host.left");
    at.until("its key is gone", |at| {
        let users = std::fs::read(at.place("home").state().join("nats/server.json")).unwrap();
        let users: serde_json::Value = serde_json::from_slice(&users).unwrap();
        users["users"].get("box").is_none()
    });
    at.until("it is not let in", |at| !at.shipmate("box", &["task", "list"]).status.success());
    at.ok("den", &["task", "list"]);
}

fn hook(workspace: &Path, event: &str, line: &str) {
    let folder = workspace.join(".shipmate/hooks");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(event);
    std::fs::write(&path, format!("#!/bin/sh\n{line}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_machine_that_leaves_says_so_and_the_lead_is_told() {
    let mut at = Machines::new(2);
    at.join("box", 1);
    at.ok("home", &["teammate", "add", "lia", "--lead"]);
    at.ok("box", &["host", "leave"]);
    assert_eq!(at.event("host.left")["host"], "box");
    let told = at.event("message.sent");
    assert_eq!(told["body"], "host box was removed: nobody runs there any more", "{told}");
    assert_eq!(at.events("host.lost"), Vec::<serde_json::Value>::new());
    // It may come back.
    std::fs::remove_file(at.root().join("box.join")).unwrap();
    at.join("box", 1);
}

#[test]
fn who_was_removed_while_the_first_machine_was_down_is_let_in_no_more() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.join("den", 1);
    let keys = |at: &Machines| {
        let list = at.place("home").state().join("nats").join("server.json");
        let list: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(list).unwrap()).unwrap();
        list["users"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&at), ["box", "den", "home"]);
    // Who followed there ends with the next record, and has no coordinator started any more.
    at.follow_on("box");
    at.ok("box", &["task", "create", "put one one"]);
    at.until("it is seen", |at| at.ok("home", &["task", "list"]).contains("put one one"));
    for one in at.processes("home", "coordinator") {
        crate::processes::kill(one.pid);
    }
    at.ok("box", &["host", "remove", "den"]);
    assert_eq!(at.event("host.left")["host"], "den");
    assert_eq!(keys(&at), ["box", "den", "home"]);
    at.answers("home");
    at.until("it is out", |at| keys(at) == ["box", "home"]);
    // Who is invited again is not, though the record says that it left.
    at.ok("home", &["host", "invite", "den", "--file", at.root().join("again").to_str().unwrap()]);
    for one in at.processes("home", "coordinator") {
        crate::processes::kill(one.pid);
    }
    at.answers("home");
    at.follow();
    at.task("put two two");
    at.hear(|event| event["task.created"]["spec"]["subject"] == "put two two");
    assert_eq!(keys(&at), ["box", "den", "home"]);
}

#[test]
fn a_refusal_on_another_machine_names_the_one_where_it_can_be_done() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add_on("home", "ana");
    at.task("put one one");
    at.completed(1);
    let said = at.refused("box", &["merge"]);
    assert!(said.contains("is merged on its home, host home"), "{said}");
    // Nothing listens on the port of another machine.
    let invitation = at.root().join("den.join").display().to_string();
    at.ok("home", &["host", "invite", "den", "--file", &invitation]);
    std::fs::create_dir_all(at.workspace("den")).unwrap();
    let said =
        at.refused("den", &["host", "join", "nats://127.0.0.1:9", "--token-file", &invitation]);
    assert!(said.contains("is reached from here at nats://127.0.0.1:9"), "{said}");
    assert!(!said.contains("try again later"), "{said}");
    // Teammates that are commands need no agent program there.
    let looked = at.shipmate("home", &["doctor"]);
    let looked = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(!looked.contains("no agent program"), "{looked}");
}

#[test]
fn a_machine_is_shown_once_and_drained_in_whatever_teams_it_is() {
    let mut at = Machines::new(2);
    at.join("box", 2);
    at.ok("home", &["team", "create", "beta"]);
    let hosts = |at: &Machines, args: &[&str]| -> Vec<serde_json::Value> {
        let all = [&["host", "list", "--json"][..], args].concat();
        serde_json::from_str(&at.ok("home", &all)).unwrap()
    };
    at.until("it is in both", |at| hosts(at, &["--team", "beta"]).len() == 2);
    at.door("go");
    for team in ["alpha", "beta"] {
        let line = at.line();
        let named = ["--team", team];
        let add = ["teammate", "add", "ana", "--host", "box", "--command", &line];
        at.ok("home", &[&named[..], &add].concat());
        at.ok("home", &[&named[..], &["task", "create", "here; pass go"]].concat());
        at.arrival();
    }
    let all = hosts(&at, &[]);
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!((&all[0]["name"], &all[0]["taken"]), (&"box".into(), &2.into()), "{all:?}");
    assert_eq!(all[0]["teammates"], serde_json::json!(["alpha/ana", "beta/ana"]));
    assert_eq!(hosts(&at, &["--team", "beta"])[0]["taken"], 1);
    at.ok("home", &["host", "drain", "box"]);
    for team in ["alpha", "beta"] {
        assert_eq!(hosts(&at, &["--team", team])[0]["state"], "draining", "{team}");
    }
    let said = at.refused("home", &["host", "drain", "den"]);
    assert!(said.contains("no host den"), "{said}");
    at.open("go", 2);
}

#[test]
fn who_was_removed_while_it_was_away_can_come_again() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.processes("box", "coordinator").iter().for_each(|one| crate::processes::kill(one.pid));
    at.ok("home", &["host", "remove", "box", "--now"]);
    at.event("host.left");
    std::fs::remove_file(at.root().join("box.join")).unwrap();
    // It still has the files of a host, and a key that is good no more.
    at.join("box", 1);
    at.add_on("box", "ana");
    at.task("put one one");
    at.completed(1);
}

#[test]
fn an_invitation_that_nobody_used_ends_with_a_removal() {
    let at = Machines::new(1);
    let file = at.root().join("den.join").display().to_string();
    at.ok("home", &["host", "invite", "den", "--file", &file]);
    at.ok("home", &["host", "remove", "den"]);
    std::fs::create_dir_all(at.workspace("den")).unwrap();
    at.refused("den", &["host", "join", &at.url(), "--token-file", &file]);
    let said = at.refused("home", &["host", "remove", "den"]);
    assert!(said.contains("there is no host den"), "{said}");
}

#[test]
fn a_folder_that_is_a_host_of_one_team_is_no_host_of_another() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    let other = Machines::new(1);
    let file = at.root().join("other.join").display().to_string();
    other.ok("home", &["host", "invite", "box", "--file", &file]);
    let said = at.refused("box", &["host", "join", &other.url(), "--token-file", &file]);
    assert!(said.contains("this folder is host box of another team"), "{said}");
    at.add_on("box", "ana");
    at.task("put one one");
    at.completed(1);
    let said = at.refused("box", &["host", "join", "nats://a:b@localhost", "--token-file", &file]);
    assert!(said.contains("has a password in it"), "{said}");
}

/// It keeps its key, which is good for the other teams, and is no member of this one until it is invited anew.
#[test]
fn who_was_removed_from_one_team_can_come_again() {
    let mut at = Machines::new(1);
    at.ok("home", &["team", "create", "beta", "--trees", "own", "--gate", "--check", "true"]);
    at.join("box", 1);
    at.until("box is in both teams", |at| {
        at.ok("home", &["host", "list", "--team", "beta", "--json"]).contains("\"box\"")
    });
    at.ok("home", &["host", "remove", "box", "--team", "alpha", "--now"]);
    at.event("host.left");
    std::fs::remove_file(at.root().join("box.join")).unwrap();
    // It is heard to join.
    at.join("box", 1);
}
