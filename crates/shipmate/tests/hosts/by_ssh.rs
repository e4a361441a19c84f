//! `host add` by a real sshd: one command from nothing to a machine at work.

use std::process::Command;

use rustix::process::Signal;

use crate::machines::Machines;
use crate::processes;
use crate::sshd::Sshd;

#[test]
fn a_machine_is_added_by_ssh_in_one_command_and_its_line_comes_back() {
    let mut at = Machines::new(1);
    let sshd = Sshd::start(&at.root());
    at.expect("far");
    let there = format!("far:{}", at.workspace("far").display());
    let dry = at.ok("home", &["host", "add", &there, "--dry-run"]);
    assert!(dry.contains("nothing was done"), "{dry}");
    assert!(!at.workspace("far").exists());
    let added = at.ok("home", &["host", "add", &there, "--slots", "2", "--label", "gpu"]);
    assert!(added.contains("far: there is no shipmate on its PATH; by hand it is /"), "{added}");
    at.hear(|event| event["host.joined"]["host"] == "far");
    let again = at.ok("home", &["host", "add", &there]);
    assert!(again.contains("host far with 2 slots"), "{again}");
    let looked = at.shipmate("home", &["doctor"]);
    let looked = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(looked.contains("far is there") && !looked.contains("by ssh"), "{looked}");
    at.add(&["ana", "bo"]);
    at.door("go");
    for name in ["one", "two"] {
        at.task(&format!("here $PWD; pass go; put {name} {name}"));
    }
    let two = [at.arrival(), at.arrival()];
    let far = at.workspace("far").display().to_string();
    assert!(two.iter().any(|one| one.words.starts_with(&far)), "{two:?}");
    // The line is cut in the middle of the work, and comes back.
    let line = at.processes("home", "line").pop().unwrap();
    processes::kill(line.pid);
    // It may be away for longer than the lease, which is short here: then another begins anew.
    at.open("go", 6);
    at.completed(2);
    assert_eq!(
        (at.landed("home", "one"), at.landed("home", "two")),
        ("one\n".into(), "two\n".into())
    );
    let is_new = |at: &Machines| at.processes("home", "line").iter().any(|one| one.pid != line.pid);
    at.until("the line comes back", is_new);
    // The coordinator that began it waits for it no more than one that found it.
    let coordinator = at.processes("home", "coordinator").pop().unwrap();
    let ended = processes::watch(coordinator.pid).unwrap();
    processes::signal(coordinator.pid, Signal::TERM);
    processes::gone(&ended);
    assert!(is_new(&at), "a line outlives its coordinator");
    let said = at.refused("home", &["host", "remove", "home"]);
    assert!(said.contains("keeps the logs") && said.contains("log move sqlite"), "{said}");
    let said = at.ok("far", &["host", "leave", "--name", "elsewhere"]);
    assert!(said.contains("host far, and stays it"), "{said}");
    // Said again it is there already, and another folder is another host.
    let said = at.refused("home", &["host", "add", "far:elsewhere"]);
    assert!(said.contains("already") && said.contains("--name"), "{said}");
    // Nothing that is secret is in an argument or on record.
    let file = std::fs::read_to_string(at.place("home").state().join("nats/server.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&file).unwrap();
    let passwords = kept["users"].as_object().unwrap();
    for password in passwords.values().map(|word| word.as_str().unwrap()) {
        assert!(!at.story().contains(password));
        for name in ["home", "far"] {
            assert!(at.processes(name, "").iter().all(|one| !one.words.contains(password)));
        }
    }
    at.ok("home", &["host", "remove", "far", "--now"]);
    assert_eq!(at.processes("home", "line"), vec![]);
    assert!(!at.place("far").host_file().exists());
    let file = std::fs::read_to_string(at.place("home").state().join("nats/server.json")).unwrap();
    assert!(!file.contains("far"), "{file}");
    drop(sshd);
}

#[test]
fn a_machine_that_does_not_fit_is_refused_with_the_reason_and_nothing_is_done() {
    let at = Machines::new(1);
    let sshd = Sshd::start(&at.root());
    let full = at.root().join("full");
    std::fs::create_dir_all(&full).unwrap();
    std::fs::write(full.join("file"), "").unwrap();
    let other = at.root().join("other");
    for args in [
        &["init", "--quiet"][..],
        &[
            "-c",
            "user.name=O",
            "-c",
            "user.email=o@o",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "o",
        ],
    ] {
        std::fs::create_dir_all(&other).unwrap();
        assert!(Command::new("git").arg("-C").arg(&other).args(args).status().unwrap().success());
    }
    let [full, other] = [full, other].map(|path| format!("far:{}", path.display()));
    for (destination, fact) in [
        ("stranger", "host key is not known"),
        ("locked", "Permission denied"),
        ("nowhere.invalid", "Could not resolve"),
        (full.as_str(), "has files and is no repository"),
        (other.as_str(), "is another repository"),
        (":dir", "names no machine"),
        ("-oProxyCommand=true", "names no machine"),
    ] {
        let said = at.refused("home", &["host", "add", "--", destination]);
        assert!(said.contains(fact), "{destination}: {said}");
        assert!(said.lines().count() > 1, "{destination} has no remedy: {said}");
    }
    let said = at.refused("home", &["host", "add", "far", "--name", "a.b"]);
    assert!(said.contains("a.b"), "{said}");
    assert_eq!(at.processes("home", "line"), vec![]);
    drop(sshd);
}
