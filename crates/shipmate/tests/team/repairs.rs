//! What went wrong is mended, and the team goes on: agents that could not work, supervisors that
//! could not be started for a moment, a team that was half made.

use std::os::unix::fs::PermissionsExt;

use shipmate_protocol::verbs::{Setup, Supervision, TaskNew, TeamSet, TeammateAdd};
use shipmate_protocol::view::{Resumed, TeammateState};
use shipmate_protocol::{Answer, Ask, answers, verbs};

use crate::ran::Ran;
use crate::stage::{Stage, TEAM};

fn resume(stage: &mut Stage) -> Vec<Resumed> {
    match stage.ask(Ask::Resume) {
        Answer::Resumed(found) => found,
        other => panic!("{other:?}"),
    }
}

/// Tasks without a second attempt.
fn tasks(stage: &mut Stage, lines: &[&str]) -> Vec<u32> {
    let new = |line: &&str| TaskNew {
        subject: (*line).to_owned(),
        retries_max: Some(0),
        ..TaskNew::default()
    };
    stage.create(lines.iter().map(new).collect())
}

/// The command of an agent that is not there yet, in words that nobody can see through before it is
/// run, and where it will be.
fn missing_agent(stage: &Stage) -> (String, std::path::PathBuf) {
    let path = stage.root().join("agent");
    (format!("true && {}", path.display()), path)
}

const AGENT: &str = "#!/bin/sh\nexport S=${SHIPMATE_WORKSPACE%/repo}; . \"$S/words.sh\"; eval \
                     \"$SHIPMATE_SUBJECT\"\n";

fn write_agent(path: &std::path::Path) {
    std::fs::write(path, AGENT).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_program_that_is_not_there_costs_nothing_and_resume_goes_on_once_it_is() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &[]);
    let (agent, path) = missing_agent(&stage);
    for name in ["a", "b"] {
        let agent = agent.clone();
        stage.add(name, |add| TeammateAdd { command: agent, ..add });
    }
    let tasks = tasks(&mut stage, &["put f1 x", "put f2 x"]);
    for _ in 0..2 {
        let gone = stage.event("teammate.disappeared");
        assert_eq!((&gone["loss"], &gone["given_up"]), (&"unable".into(), &true.into()), "{gone}");
    }
    stage.catch_up();
    // Told once, with the remedy.
    let told = stage.inbox();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("127") && told[0].contains("shipmate --team alpha resume"),
        "{told:?}"
    );
    assert_eq!(stage.teammate("a").state, TeammateState::Failed);
    // The same again, and the command says so.
    let again = Ran::of(&stage.shipmate(&["resume"]));
    again.ends(8, &["alpha/a", "failed", "127", "resume"]);
    write_agent(&path);
    let found = resume(&mut stage);
    assert!(found.iter().all(|one| one.how == "restarted"), "{found:?}");
    stage.finished(2);
    assert!(stage.events("breaker.opened").is_empty(), "{}", stage.story());
    assert!(stage.events("task.failed").is_empty());
    stage.all_once(&tasks);
}

#[test]
fn continue_is_the_same_word_as_resume() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &[]);
    let (agent, path) = missing_agent(&stage);
    stage.add("a", |add| TeammateAdd { command: agent, ..add });
    let tasks = tasks(&mut stage, &["put f1 x"]);
    stage.event("teammate.disappeared");
    Ran::of(&stage.shipmate(&["continue"])).ends(8, &["alpha/a", "failed"]);
    write_agent(&path);
    Ran::of(&stage.shipmate(&["continue"])).ends(0, &["alpha/a", "restarted"]);
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn who_was_shut_down_and_who_broke_again_and_again_are_started_by_resume() {
    let mut stage = Stage::new("");
    stage.door("go");
    stage.team(Setup::default(), &["a"]);
    let tasks = stage.tasks(&["here; pass go; put f1 x"]);
    stage.arrival();
    Ran::of(&stage.shipmate(&["shutdown", "a", "--now"])).ends(0, &[]);
    stage.event("teammate.stopped");
    let found = resume(&mut stage);
    assert_eq!(found[0].how, "restarted", "{found:?}");
    stage.arrival();
    stage.open("go", 1);
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn a_team_takes_another_agent_and_another_gate_while_it_exists() {
    let mut stage = Stage::new("");
    stage.team(Setup { gate: vec!["false".to_owned()], red_base: true, ..Setup::default() }, &[]);
    stage.add("a", |add| TeammateAdd { command: "true && ./no-such-agent".to_owned(), ..add });
    let tasks = tasks(&mut stage, &["put f1 x"]);
    stage.event("teammate.disappeared");
    let (agent, path) = missing_agent(&stage);
    write_agent(&path);
    let unknown = ["--team", TEAM, "team", "set", "--agent", &agent, "--teammate", "zoe"];
    assert_eq!(Ran::of(&stage.shipmate(&unknown)).code, 3);
    let set = ["--team", TEAM, "team", "set", "--agent", &agent, "--gate", "test -e f1"];
    Ran::of(&stage.shipmate(&set)).ends(0, &["next verification", "next start"]);
    assert_eq!(stage.event("team.changed")["changes"]["gate"][0], "test -e f1");
    assert_eq!(stage.event("teammate.agent_changed")["choice"]["command"], agent.as_str());
    // An agent may not: only a person decides what its work is checked by.
    let name = "hand".to_owned();
    stage.ask(Ask::TeammateAdd(TeammateAdd { name: name.clone(), ..TeammateAdd::default() }));
    let by_hand = Ask::TeammateStart(verbs::TeammateStart { name, supervision: Supervision::None });
    let Answer::Started(answers::Started { token, .. }) = stage.ask(by_hand) else { panic!() };
    let gate = Some(Vec::new());
    let asked = stage.client_of(token).ask(Ask::TeamSet(TeamSet { gate, ..TeamSet::default() }));
    assert!(asked.is_err(), "{asked:?}");
    resume(&mut stage);
    stage.finished(1);
    stage.ask(Ask::TeammateRemove(verbs::TeammateRemove { name: "hand".to_owned() }));
    stage.all_once(&tasks);
}

#[test]
fn a_supervisor_that_cannot_be_started_for_a_moment_costs_nothing() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a", "b"]);
    // Nothing can be made there, as on a disk that is full.
    let lives = stage.place().team(TEAM).join("lives");
    std::fs::write(&lives, "").unwrap();
    let tasks = tasks(&mut stage, &["put f1 x", "put f2 x"]);
    for _ in 0..2 {
        stage.event("teammate.started");
    }
    // By the answer it was tried at least once.
    stage.catch_up();
    std::fs::remove_file(&lives).unwrap();
    stage.finished(2);
    assert!(stage.events("teammate.disappeared").is_empty(), "{}", stage.story());
    assert_eq!(stage.events("teammate.started").len(), 2, "no life was lost");
    stage.all_once(&tasks);
}

#[test]
fn a_team_begins_at_its_commit_also_where_a_killed_coordinator_left_its_folder() {
    let mut stage = Stage::new("");
    std::fs::create_dir_all(stage.place().team(TEAM)).unwrap();
    stage.team(Setup::default(), &["a"]);
    let created = stage.event("team.created");
    assert_eq!(created["setup"]["trees"]["base"], stage.base.as_str());
    let tasks = stage.tasks(&["put f1 x"]);
    stage.finished(1);
    stage.all_once(&tasks);
}

/// A team that is made while its coordinator dies at the n-th git it runs; whether it died.
fn made_with_a_death(n: usize) -> bool {
    let mut stage = Stage::new("");
    let (root, lock) = (stage.root(), stage.place().lock());
    let (root, lock) = (root.display(), lock.display());
    stage.replace_git(&format!(
        "[ -e {root}/made ] || echo x >> {root}/calls; [ -e {root}/made ] || \
         [ \"$(wc -l < {root}/calls)\" != {n} ] || {{ kill -9 $(cat {lock}); touch {root}/died; exit 1; }}; \
         exec git \"$@\""
    ));
    stage.team(Setup::default(), &["a"]);
    std::fs::write(stage.root().join("made"), "").unwrap();
    let died = stage.root().join("died").exists();
    let created = stage.event("team.created");
    assert_eq!(created["setup"]["trees"]["base"], stage.base.as_str(), "died at git {n}");
    died
}

#[test]
fn a_coordinator_that_dies_while_a_team_is_made_leaves_it_whole() {
    let deaths = (1..100).take_while(|n| made_with_a_death(*n)).count();
    assert!(deaths > 2, "{deaths}");
}
