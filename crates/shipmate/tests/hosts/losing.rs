//! What is taken away: a machine in the middle of a task, and the server under everybody.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use shipmate_testkit::processes::freeze;

use crate::machines::Machines;
use crate::processes;

#[test]
fn a_lost_machine_gives_its_task_to_another_and_its_late_work_is_set_aside() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add(&["ana", "bo"]);
    at.door("ana");
    at.door("bo");
    for _ in 0..2 {
        at.task(
            "put half-$SHIPMATE_TASK half; here; pass $SHIPMATE_TEAMMATE; \
             put whole-$SHIPMATE_TASK $SHIPMATE_TEAMMATE",
        );
    }
    let two = [at.arrival(), at.arrival()];
    let task = two.iter().find(|one| one.name == "bo").unwrap().task;
    while at.host_of("alpha/bo").is_empty() {
        at.event("teammate.started");
    }
    assert_eq!(at.host_of("alpha/bo"), "box");
    at.freeze("box", true);
    assert_eq!(at.event("host.lost")["host"], "box");
    assert_eq!(at.event("task.released")["task"], task);
    // It is done at home.
    at.open("ana", 2);
    assert_eq!(at.arrival().name, "ana");
    at.completed(2);
    assert_eq!(at.landed("home", &format!("whole-{task}")), "ana\n");
    // The machine comes back, learns that it was lost, and what it had is set aside.
    at.freeze("box", false);
    let mut aside = None;
    let mut is_back = false;
    while aside.is_none() || !is_back {
        let event = at.hear(|_| true);
        is_back |= event["host.joined"]["host"] == "box";
        aside = aside.or_else(|| event.get("task.work_set_aside").cloned());
    }
    let aside = aside.unwrap();
    assert_eq!(aside["task"], task);
    assert_eq!(at.processes("box", "supervisor"), vec![]);
    // One that was asleep says of nobody that it was silent.
    assert_eq!(at.events("host.lost").len(), 1, "{}", at.story());
    let work = aside["work"].as_str().unwrap().to_owned();
    assert_eq!(at.git("box", &["show", &format!("{work}:half-{task}")]), "half\n");
    assert_eq!(at.landed("home", &format!("whole-{task}")), "ana\n");
}

#[test]
fn a_server_that_is_away_loses_nothing_and_ends_no_agent() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add(&["ana", "bo"]);
    at.door("go");
    at.task("here; pass go; put one one");
    at.task("here; pass go; put two two");
    let agents = [at.arrival(), at.arrival()];
    let server = at.processes("home", "server").pop().unwrap();
    freeze(server.pid);
    // Whatever is asked, and wherever it would be done: it is the server, and no other machine.
    for asked in [&["resume"][..], &["task", "list"], &["resume"]] {
        let said = at.refused("box", asked);
        assert!(said.contains("NATS server") && said.contains("cannot be reached"), "{said}");
        assert!(!said.contains("host list"), "{said}");
    }
    // Also who begins only now, and is let in by a server that says nothing.
    at.processes("box", "coordinator").iter().for_each(|one| processes::kill(one.pid));
    let said = at.refused("box", &["task", "list"]);
    assert!(said.contains("NATS server") && said.contains("cannot be reached"), "{said}");
    at.open("go", 2);
    processes::signal(server.pid, rustix::process::Signal::CONT);
    at.completed(2);
    assert_eq!(
        (at.landed("home", "one"), at.landed("home", "two")),
        ("one\n".into(), "two\n".into())
    );
    // The same lives that began them.
    let done: Vec<String> =
        at.events("task.claimed").iter().map(|one| one["by"].to_string()).collect();
    assert_eq!(done.len(), 2, "{done:?}");
    drop(agents);
    // One that is killed is started again.
    processes::kill(server.pid);
    at.answers("home");
    at.task("put three three");
    at.completed(3);
}

/// Nobody asks anything meanwhile: that it is silent has to be noticed all the same.
#[test]
fn a_server_that_is_silent_for_longer_than_the_lease_loses_nobody() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add(&["ana", "bo"]);
    at.door("go");
    at.task("here; pass go; put one one");
    at.task("here; pass go; put two two");
    let agents = [at.arrival(), at.arrival()];
    let server = at.processes("home", "server").pop().unwrap();
    freeze(server.pid);
    // Whoever joins waits for longer than the lease before it gives up, and asks neither coordinator.
    let invitation = at.root().join("box.join").display().to_string();
    let said = at.refused("box", &["host", "join", &at.url(), "--token-file", &invitation]);
    assert!(said.contains("is reached from here"), "{said}");
    processes::signal(server.pid, rustix::process::Signal::CONT);
    at.open("go", 2);
    at.completed(2);
    assert_eq!(at.events("host.lost"), Vec::<serde_json::Value>::new(), "{}", at.story());
    assert_eq!(at.events("task.claimed").len(), 2, "{}", at.story());
    drop(agents);
}

/// The home with its server, say: a laptop that was closed in the middle of the work.
#[test]
fn a_home_that_sleeps_for_longer_than_the_lease_loses_nobody_and_all_goes_on() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add(&["ana", "bo"]);
    at.door("go");
    at.task("here; pass go; put one one");
    at.task("here; pass go; put two two");
    let agents = [at.arrival(), at.arrival()];
    // Those who start others first: whoever is stopped starts nobody.
    at.freeze("home", true);
    at.freeze("home", true);
    // Each of these is refused after a second or more: together they take longer than the lease.
    for _ in 0..6 {
        at.refused("box", &["task", "list"]);
    }
    at.open("go", 2);
    at.freeze("home", false);
    at.completed(2);
    assert_eq!(
        (at.landed("home", "one"), at.landed("home", "two")),
        ("one\n".into(), "two\n".into())
    );
    assert_eq!(at.events("host.lost"), Vec::<serde_json::Value>::new(), "{}", at.story());
    assert_eq!(at.events("task.claimed").len(), 2, "{}", at.story());
    drop(agents);
}

/// Also through the end of its coordinator, which finds no server when it begins.
#[test]
fn a_run_waits_for_a_server_that_is_away_and_ends_well() {
    let mut at = Machines::new(2);
    at.door("go");
    let plan = at.root().join("plan.toml");
    let task = "here; pass go; put one one";
    std::fs::write(&plan, format!("title = \"one\"\n[[tasks]]\nid = \"a\"\nsubject = {task:?}\n"))
        .unwrap();
    let (plan, line) = (plan.to_str().unwrap().to_owned(), at.line());
    let args = ["--team", "beta", "run", &plan, "--agent", &line, "--gate", "true"];
    let mut run = at.command("home", &args);
    let mut run = run.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    at.arrival();
    let kill = |at: &Machines| {
        at.processes("home", "coordinator").iter().for_each(|one| processes::kill(one.pid));
    };
    // A stopped child of one that ends is let go on by the system: the server must be nobody's.
    kill(&at);
    at.until("it answers", |at| {
        at.shipmate("home", &["--team", "beta", "status"]).status.success()
    });
    let server = at.processes("home", "server").pop().unwrap();
    freeze(server.pid);
    kill(&at);
    let mut said = BufReader::new(run.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("the agents go on, and this waits") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended: {:?}", run.wait());
    }
    processes::signal(server.pid, rustix::process::Signal::CONT);
    at.open("go", 1);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(run.wait().unwrap().success(), "{rest}");
    assert!(rest.contains("1 of 1"), "{rest}");
}
