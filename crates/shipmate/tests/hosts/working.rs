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

const SECRET: &str = "hunter2-on-its-way";

/// The home's files that trees have copies of go to these machines.
fn copies_to(at: &Machines, hosts: &str) {
    let config = at.workspace("home").join(".shipmate/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text.lines().filter(|line| !line.starts_with("copy-to"));
    let text: Vec<&str> = text.collect();
    let hosts = format!("[hosts]\ncopy-to = {hosts}");
    std::fs::write(&config, text.join("\n").replace("[hosts]", &hosts)).unwrap();
}

fn with_a_copied_file() -> Machines {
    let mut at = Machines::with(1, |workspace| {
        let config = workspace.join(".shipmate/config.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, format!("{text}\n[trees]\ncopy = [\".env\"]\n")).unwrap();
        std::fs::write(workspace.join(".gitignore"), ".env\n.shipmate/\n").unwrap();
        std::fs::write(workspace.join(".env"), format!("API_KEY={SECRET}\n")).unwrap();
        let commit = "git rm -q --cached .shipmate/config.toml; git add .gitignore; \
                      git -c user.name=P -c user.email=p@example.invalid commit -qm ignored";
        let mut shell = std::process::Command::new("sh");
        assert!(shell.args(["-c", commit]).current_dir(workspace).status().unwrap().success());
    });
    at.join("box", 1);
    at.add_on("box", "ana");
    at
}

/// Files below in which it is told.
fn telling(folder: &std::path::Path, word: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            // There agents have it.
            found.extend(
                (!path.ends_with("trees")).then(|| telling(&path, word)).into_iter().flatten(),
            );
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            found.extend(String::from_utf8_lossy(&bytes).contains(word).then_some(path));
        }
    }
    found
}

#[test]
fn copied_files_go_to_a_machine_that_may_have_them_and_into_no_log_or_pack() {
    let mut at = with_a_copied_file();
    copies_to(&at, "[\"box\"]");
    at.task("here $(cat .env); put one one");
    assert_eq!(at.arrival().words, format!("API_KEY={SECRET}"));
    at.completed(1);
    // It is sent again when it has changed, and no more where somebody there has one of his own.
    let again = "API_KEY=hunter3-on-its-way";
    std::fs::write(at.workspace("home").join(".env"), again).unwrap();
    at.task("here $(cat .env); put two two");
    assert_eq!(at.arrival().words, again);
    at.completed(2);
    let own = at.workspace("box").join(".env");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), again);
    std::fs::write(&own, "API_KEY=hunter4-of-the-box").unwrap();
    at.task("here $(cat .env); put three three");
    assert_eq!(at.arrival().words, "API_KEY=hunter4-of-the-box");
    at.completed(3);
    for name in ["home", "box"] {
        for word in [SECRET, "hunter3-on-its-way"] {
            assert_eq!(
                telling(&at.place(name).state(), word),
                Vec::<std::path::PathBuf>::new(),
                "{name} {word}"
            );
        }
        let all = at.git(name, &["cat-file", "--batch-all-objects", "--batch", "--buffer"]);
        assert!(!all.contains("on-its-way"), "{name}");
    }
}

#[test]
fn copied_files_go_with_a_machine_that_leaves_and_what_was_changed_there_stays() {
    let mut at = with_a_copied_file();
    copies_to(&at, "[\"box\"]");
    at.task("here $(cat .env); put one one");
    assert_eq!(at.arrival().words, format!("API_KEY={SECRET}"));
    at.completed(1);
    let said = at.ok("home", &["host", "remove", "box", "--now"]);
    let stays = "files that [trees] copies stay there until `shipmate host leave` is typed there";
    assert!(said.contains(stays), "{said}");
    // Somebody has put another in the place of a copy.
    let tree = at.place("box").teams().join("alpha/trees/by-hand");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join(".env"), "API_KEY=mine").unwrap();
    let said = at.ok("box", &["host", "leave"]);
    assert!(said.contains("removed .env, which came from the home"), "{said}");
    let kept = format!("kept {}: it came from the home", tree.join(".env").display());
    assert!(said.contains(&kept), "{said}");
    let search = ["-rlF", SECRET];
    let found = std::process::Command::new("grep").args(search).arg(at.workspace("box")).output();
    assert_eq!(String::from_utf8_lossy(&found.unwrap().stdout), "");
    // What is there afterwards is nobody's but its own.
    std::fs::write(at.workspace("box").join(".env"), format!("API_KEY={SECRET}\n")).unwrap();
    at.ok("box", &["host", "leave"]);
    assert!(at.workspace("box").join(".env").exists());
}

#[test]
fn a_copied_file_that_may_not_travel_is_named_where_it_is_missing() {
    let mut at = with_a_copied_file();
    at.task("here $(cat .env); put one one");
    let gone = at.event("teammate.disappeared");
    let reason = gone["reason"].as_str().unwrap();
    assert!(reason.contains("there is no .env in") && reason.contains("copy-to"), "{reason}");
    assert!(!at.workspace("box").join(".env").exists());
    copies_to(&at, "[\"box\"]");
    at.ok("home", &["--team", "alpha", "resume"]);
    assert_eq!(at.arrival().words, format!("API_KEY={SECRET}"));
    at.completed(1);
}
