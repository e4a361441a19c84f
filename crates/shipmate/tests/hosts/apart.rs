//! Two machines with a link between them, the second reached by ssh only: what `host add` says of it, and what
//! a link that goes down in the middle of the work does.
//!
//! Each is a node of a network of the test's own, which needs the rights of root.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use shipmate_testkit::network::{Network, Node};

use crate::machines::Machines;
use crate::processes;
use crate::sshd::Sshd;

/// The test itself, and all that it starts, is on the first machine.
struct Apart {
    at: Machines,
    far: Node,
    _sshd: Sshd,
    _network: Network,
}

impl Apart {
    fn new() -> Apart {
        let mut network = Network::new().unwrap();
        let [home, far] = std::array::from_fn(|_| network.node().unwrap());
        home.enter();
        let mut at = Machines::new(1);
        let sshd = Sshd::on(&far, &at.root());
        at.expect("far");
        Apart { at, far, _sshd: sshd, _network: network }
    }

    fn destination(&self) -> String {
        format!("far:{}", self.at.workspace("far").display())
    }

    /// Another program of that machine has a port of its loopback.
    fn take(&self, port: u16) -> io::Result<TcpListener> {
        self.far.within(|| TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
    }

    /// The port there that leads to the server here.
    fn port(&self) -> u16 {
        let lines = std::fs::read(self.at.place("home").state().join("lines.json")).unwrap();
        let lines: serde_json::Value = serde_json::from_slice(&lines).unwrap();
        u16::try_from(lines[0]["port"].as_u64().unwrap()).unwrap()
    }

    /// Takes the link away until the line has ended by itself, and the other machine is lost.
    fn cut(&mut self) {
        let line = self.at.processes("home", "line").pop().unwrap();
        let line = processes::watch(line.pid).unwrap();
        self.far.cut();
        self.at.hear(|event| event["host.lost"]["host"] == "far");
        processes::gone(&line);
    }

    /// What both machines say of the log.
    fn logs(&self) -> [String; 2] {
        let log = ["--team", "alpha", "log", "--after", "0", "--json"];
        let there = self.far.run(&mut self.at.command("far", &log)).unwrap();
        [self.at.ok("home", &log), String::from_utf8_lossy(&there.stdout).into_owned()]
    }
}

#[test]
fn a_link_that_goes_down_in_the_middle_of_the_work_comes_back_and_nothing_is_lost() {
    let mut apart = Apart::new();
    let server: u16 = apart.at.url().rsplit(':').next().unwrap().parse().unwrap();
    let taken = apart.take(server).unwrap();
    let destination = apart.destination();
    let add = ["host", "add", &destination, "--slots", "2"];
    let added = apart.at.ok("home", &add);
    assert!(added.contains("leads to the server here"), "{added}");
    assert!(!added.contains(&format!("its port {server} leads")), "{added}");
    drop(taken);
    // The same words again change nothing.
    let again = apart.at.ok("home", &add);
    assert!(again.contains("a host already") && again.contains("is up"), "{again}");
    assert_eq!(apart.at.processes("home", "line").len(), 1);

    apart.at.add(&["ana", "bo", "cy"]);
    apart.at.door("go");
    for name in ["one", "two", "three"] {
        apart.at.task(&format!("here; pass go; put {name} {name}"));
    }
    let three: Vec<_> = (0..3).map(|_| apart.at.arrival()).collect();
    let there = apart.far.processes();
    assert_eq!(three.iter().filter(|one| there.contains(&one.pid)).count(), 2, "{three:?}");

    apart.cut();
    let listed = apart.at.ok("home", &["host", "list"]);
    assert!(listed.contains("far: the line is down"), "{listed}");
    // All go on, also those that nobody hears now; what was lost is done again.
    apart.at.open("go", 10);
    apart.far.mend();
    apart.at.hear(|event| event["host.joined"]["host"] == "far");
    apart.at.completed(3);
    for name in ["one", "two", "three"] {
        assert_eq!(apart.at.landed("home", name), format!("{name}\n"));
    }
    assert_eq!(apart.at.events("task.failed"), Vec::<serde_json::Value>::new());
    let [here, there] = apart.logs();
    assert!(there.starts_with(&here), "{here}\n---\n{there}");

    // Work goes there again.
    apart.at.ok("home", &["host", "drain", "home"]);
    apart.at.task("here; put four four");
    let four = apart.at.arrival();
    apart.at.completed(4);
    assert_eq!(apart.at.host_of(&format!("alpha/{}", four.name)), "far");
}

#[test]
fn a_port_that_another_takes_while_the_line_is_down_is_left_to_it_and_the_line_takes_the_next() {
    let mut apart = Apart::new();
    let destination = apart.destination();
    apart.at.ok("home", &["host", "add", &destination]);
    let port = apart.port();
    let taken = loop {
        for line in apart.at.processes("home", "line") {
            processes::kill(line.pid);
        }
        if let Ok(taken) = apart.take(port) {
            break taken;
        }
    };
    let own = format!(" 127.0.0.1:{port}:");
    let is_elsewhere = |at: &Machines| {
        let lines = at.processes("home", "line");
        lines.iter().any(|line| !line.words.contains(&own))
    };
    apart.at.until("the line takes another port", is_elsewhere);
    apart.at.add_on("far", "ana");
    apart.at.task("put one one");
    apart.at.completed(1);
    assert_eq!(apart.at.host_of("alpha/ana"), "far");
    drop(taken);
}

#[test]
fn what_ssh_does_not_let_in_is_told_apart_each_with_its_remedy() {
    let apart = Apart::new();
    for (destination, fact, remedy) in [
        ("nowhere.invalid", "Could not resolve", "check the name"),
        ("stranger", "host key is not known", "`ssh stranger`"),
        ("changed", "host key has changed", "`ssh-keygen -R "),
        ("locked", "Permission denied", "`ssh-add`"),
        ("bare", "has no git", "install it there"),
    ] {
        let said = apart.at.refused("home", &["host", "add", destination]);
        assert!(said.contains(fact) && said.contains(remedy), "{destination}: {said}");
    }
    // The remedy for a key that has changed, as it was said.
    let said = apart.at.refused("home", &["host", "add", "changed"]);
    let remedy = said.split('`').nth(1).unwrap();
    let done = Command::new("sh").args(["-c", remedy]).output().unwrap();
    assert!(done.status.success(), "{remedy}: {done:?}");
    let said = apart.at.refused("home", &["host", "add", "changed"]);
    assert!(said.contains("host key is not known"), "{said}");

    apart.far.cut();
    let said = apart.at.refused("home", &["host", "add", "far"]);
    assert!(said.contains("ssh does not reach far") && said.contains("`ssh far true`"), "{said}");
    apart.far.mend();
    let destination = apart.destination();
    apart.at.ok("home", &["host", "add", &destination]);
    // The same machine again, by another name, and another one by this name.
    let twice = apart.at.refused("home", &["host", "add", &destination, "--name", "box"]);
    assert!(twice.contains("is host far already") && twice.contains("--name far"), "{twice}");
    let other = apart.at.refused("home", &["host", "add", "far:elsewhere"]);
    assert!(other.contains("already") && other.contains("--name"), "{other}");
}
