//! Work on several machines: where it is done, and how it comes home.

use rustix::process::Signal;
use shipmate_testkit::processes::freeze;

use crate::machines::Machines;
use crate::processes;

#[test]
fn a_team_works_on_two_machines_and_everything_lands_at_home() {
    let mut at = Machines::new(1);
    at.join("box", 2);
    at.add(&["ana", "bo", "cy"]);
    at.door("go");
    for name in ["one", "two", "three"] {
        at.task(&format!("here $PWD; pass go; put {name} {name}"));
    }
    let arrivals: Vec<_> = (0..3).map(|_| at.arrival()).collect();
    let on_box = arrivals
        .iter()
        .filter(|one| one.words.starts_with(&*at.workspace("box").to_string_lossy()));
    assert_eq!(on_box.count(), 2, "{arrivals:?}");
    let hosts = at.ok("home", &["host", "list", "--json"]);
    let hosts: serde_json::Value = serde_json::from_str(&hosts).unwrap();
    assert_eq!(hosts[0]["name"], "box");
    assert_eq!(hosts[0]["teammates"].as_array().unwrap().len(), 2);
    assert_eq!(hosts[1]["home"], true);
    at.open("go", 3);
    at.completed(3);
    for name in ["one", "two", "three"] {
        assert_eq!(at.landed("home", name), format!("{name}\n"));
    }
    // What landed is on the other machine when somebody there begins the next task.
    at.ok("home", &["host", "drain", "home"]);
    at.task("here; test -e one -a -e two -a -e three && put all all");
    while at.arrival().words.starts_with('/') {}
    at.completed(4);
    assert_eq!(at.landed("home", "all"), "all\n");
    assert_eq!(at.events("task.failed"), Vec::<serde_json::Value>::new());
    assert_eq!(at.events("task.returned"), Vec::<serde_json::Value>::new());
}

#[test]
fn somebody_runs_on_a_machine_that_there_is_and_can_be_moved_to_another() {
    let mut at = Machines::new(2);
    at.join("box", 2);
    let said =
        at.refused("home", &["teammate", "add", "ana", "--host", "bxo", "--command", "true"]);
    assert!(said.contains("there is no host bxo; hosts: box, home"), "{said}");
    assert!(said.contains("shipmate host add"), "{said}");
    at.add_on("home", "ana");
    let said = at.refused("home", &["teammate", "move", "ana", "--host", "bxo"]);
    assert!(said.contains("there is no host bxo; hosts: box, home"), "{said}");
    let said = at.ok("home", &["teammate", "move", "ana", "--host", "box"]);
    assert_eq!(said, "ana may run on box, from its next life on\n");
    at.task("put one one");
    at.completed(1);
    assert_eq!(at.host_of("alpha/ana"), "box");
    assert_eq!(at.landed("home", "one"), "one\n");
    let said = at.ok("home", &["teammate", "move", "ana", "--anywhere"]);
    assert_eq!(said, "ana may run anywhere, from its next life on\n");
}

#[test]
fn a_machine_that_was_away_for_long_gets_all_that_landed_in_one_pack() {
    let mut at = Machines::new(1);
    at.join("box", 1);
    at.add_on("home", "ana");
    at.task("put 0 0");
    at.completed(1);
    at.until("it is there", |at| at.tip("box") == at.tip("home"));
    at.freeze("box", true);
    assert_eq!(at.event("host.lost")["host"], "box");
    for name in 1..6 {
        at.task(&format!("put {name} {name}"));
        at.completed(1 + name);
    }
    at.freeze("box", false);
    at.until("it is there", |at| at.tip("box") == at.tip("home"));
    assert_eq!(at.landed("box", "5"), "5\n");
    let trace = std::fs::read_to_string(at.place("box").state().join("trace.log")).unwrap();
    assert!(trace.contains("all that was missing came in one pack"), "{trace}");
    assert_eq!(at.git("box", &["for-each-ref", "refs/shipmate/alpha/arriving"]), "");
    assert_eq!(at.git("home", &["for-each-ref", "refs/shipmate/alpha/folding"]), "");
}

/// The home waits for the server to say where the branch is about to stand, and a person commits there
/// meanwhile.
#[test]
fn a_branch_that_moves_while_its_next_commit_waits_for_the_server_is_merged_onto_again() {
    let mut at = Machines::gated(
        1,
        |_| {},
        |root| {
            let root = root.display();
            format!(
                "[ ! -p {root}/gate.door ] || {{ echo \"0 gate 0 $$ gate\" > {root}/here; read -r _ < \
                 {root}/gate.door; }}"
            )
        },
    );
    at.join("box", 1);
    at.add_on("home", "ana");
    at.task("put one one");
    at.completed(1);
    at.door("gate");
    at.task("put two two");
    assert_eq!(at.arrival().name, "gate");
    let server = at.processes("home", "server").pop().unwrap();
    freeze(server.pid);
    // Twice, because it is merged twice.
    at.open("gate", 2);
    let packs = at.place("home").state().join("packs");
    at.until("a pack waits for the server", |at| {
        at.processes("home", "gate").is_empty()
            && std::fs::read_dir(&packs).is_ok_and(|mut packs| packs.next().is_some())
    });
    let tip = at.tip("home").trim().to_owned();
    let made = ["commit-tree", "-p", &tip, "-m", "by hand", &format!("{tip}^{{tree}}")];
    let by_hand = at.git("home", &made).trim().to_owned();
    at.git("home", &["update-ref", "refs/heads/shipmate/alpha", &by_hand, &tip]);
    processes::signal(server.pid, Signal::CONT);
    at.completed(2);
    assert_eq!(at.landed("home", "two"), "two\n");
    at.git("home", &["merge-base", "--is-ancestor", &by_hand, "shipmate/alpha"]);
    at.until("it is there", |at| at.tip("box") == at.tip("home"));
}
