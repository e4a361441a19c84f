//! Files of the checkout in trees that others have worked or judged in before, and what a gate printed.

use shipmate_model::setup::Preparation;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs::{Setup, TaskNew};

use crate::stage::{Stage, TEAM};

const CONFIG: &str = "[agents]\nstop-grace-seconds = 0.3\n";

fn copying(name: &str) -> Preparation {
    Preparation { copy: vec![name.to_owned()], ..Preparation::default() }
}

#[test]
fn what_rejected_work_wrote_into_a_copy_judges_nothing_else() {
    let mut stage = Stage::new(CONFIG);
    stage.write(".gitignore", "dev.db\n");
    stage.commit();
    stage.write("dev.db", "empty\n");
    let gate =
        "test ! -e bad || { echo column >> dev.db; exit 1; }; test \"$(cat dev.db)\" = empty";
    let setup =
        Setup { gate: vec![gate.to_owned()], preparation: copying("dev.db"), ..Setup::default() };
    stage.team(setup, &["a"]);
    // Its first attempt comes back, and so it is judged in the same tree as the second.
    stage.tasks(&[
        "test $SHIPMATE_ATTEMPT = 2 && rm -f bad; test $SHIPMATE_ATTEMPT = 2 || put bad x; put f x",
    ]);
    stage.finished(1);
    let ran = stage.events("gate.ran");
    let passed: Vec<bool> = ran.iter().filter_map(|record| record["passed"].as_bool()).collect();
    assert_eq!(passed, [true, false, true], "{}", stage.story());
}

#[test]
fn a_set_up_that_is_tried_again_in_a_shared_tree_takes_no_work_back() {
    let mut stage = Stage::new(CONFIG);
    stage.write(".gitignore", ".env.ready\n");
    stage.write("package-lock.json", "1\n");
    stage.write("kept", "base\n");
    stage.commit();
    stage.write(".env.ready", "");
    let line =
        "case $PWD in *_gate*|*merge*) ;; *) test -e \"$SHIPMATE_CHECKOUT/.env.ready\";; esac";
    let preparation = Preparation { setup: vec![line.to_owned()], ..Preparation::default() };
    let trees = Some("shared".to_owned());
    stage.team(Setup { trees, preparation, ..Setup::default() }, &["a"]);
    let task = |subject: &str, files: &[&str]| TaskNew {
        subject: subject.to_owned(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..TaskNew::default()
    };
    stage.create(vec![task(
        "put package-lock.json 2; put kept one",
        &["package-lock.json", "kept"],
    )]);
    stage.finished(1);
    std::fs::remove_file(stage.place().workspace.join(".env.ready")).unwrap();
    stage.create(vec![task("here $(cat kept); put other two", &["other"])]);
    let ended = stage.event("teammate.disappeared");
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.starts_with("the set-up of its tree failed"), "{reason}");
    stage.write(".env.ready", "");
    let resumed = stage.shipmate(&["--team", TEAM, "resume"]);
    assert!(resumed.status.success(), "{resumed:?}");
    assert_eq!(stage.arrival().words, "one");
    stage.finished(2);
    assert_eq!(stage.git(&["show", &format!("shipmate/{TEAM}:kept")]), "one\n");
}

#[test]
fn a_secret_that_changes_while_a_team_runs_is_recorded_nowhere() {
    let mut stage = Stage::new(CONFIG);
    stage.write(".gitignore", ".env\n");
    stage.commit();
    stage.write(".env", "API_KEY=first-secret-1\n");
    stage.team(Setup { preparation: copying(".env"), ..Setup::default() }, &["a"]);
    stage.tasks(&["cat .env > \"$SHIPMATE_RESULT\"; put f1 x"]);
    stage.finished(1);
    stage.write(".env", "API_KEY=second-secret-2\n");
    stage.tasks(&["cat .env > \"$SHIPMATE_RESULT\"; put f2 x"]);
    stage.finished(2);
    stage.catch_up();
    let all = serde_json::to_string(&stage.log).unwrap();
    assert!(all.contains("API_KEY=[API_KEY]"), "{all}");
    assert!(!all.contains("first-secret") && !all.contains("second-secret"), "{all}");
}

/// As on a full disk, where not even a file can be made for what it prints.
#[test]
fn a_gate_that_cannot_be_started_says_nothing_about_the_work() {
    let mut stage = Stage::new(CONFIG);
    stage.team(Setup { gate: vec!["true".to_owned()], ..Setup::default() }, &["a"]);
    let gates = stage.place().team(TEAM).join("gates");
    std::fs::write(&gates, "in the way").unwrap();
    let tasks = stage.tasks(&["put f x"]);
    let reason = stage.event("team.paused")["reason"].to_string();
    assert!(reason.contains("could not be started"), "{reason}");
    stage.catch_up();
    assert_eq!(stage.events("task.returned").len(), 0, "{}", stage.story());
    std::fs::remove_file(&gates).unwrap();
    stage.ask(Ask::TeamContinue);
    stage.finished(1);
    stage.all_once(&tasks);
}

/// As runners of tests do that keep what they cover there.
#[test]
fn a_gate_has_a_home_folder_and_a_temporary_one_that_are_thrown_away() {
    let mut stage = Stage::new(CONFIG);
    let home = stage.root().join("home");
    std::fs::create_dir_all(home.join(".config/mine")).unwrap();
    std::fs::write(home.join(".config/mine/said"), "by the person\n").unwrap();
    let gate = [
        "test ! -e $TMPDIR/left && touch $TMPDIR/left",
        "mkdir \"$HOME/.spawn-wrap\" && echo x > \"$HOME/.config/made\"",
        "test -d ~/.spawn-wrap && grep -q person ~/.config/mine/said",
        "! echo gate 2> /dev/null > ~/.config/mine/said",
    ];
    let gate = gate.map(str::to_owned).to_vec();
    stage.team(Setup { gate, ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put f x", "put g x"]);
    stage.finished(2);
    stage.all_once(&tasks);
    assert!(!home.join(".spawn-wrap").exists() && !home.join(".config/made").exists());
    let said = std::fs::read_to_string(home.join(".config/mine/said")).unwrap();
    assert_eq!(said, "by the person\n");
}

#[test]
fn what_a_gate_printed_first_is_told_and_all_of_it_is_kept() {
    let mut stage = Stage::new(CONFIG);
    stage.write(".gitignore", ".env\n");
    stage.commit();
    stage.write(".env", "PORT=1\n");
    let gate = "echo the cause >&2; seq -f 'noise line %g' 1 1000; exit 1";
    let setup =
        Setup { gate: vec![gate.to_owned()], preparation: copying(".env"), ..Setup::default() };
    stage.team(setup, &["a"]);
    stage.tasks(&["put f x"]);
    let paused = stage.event("team.paused");
    let reason = paused["reason"].as_str().unwrap();
    assert!(
        reason.contains("\nthe cause\nnoise line 1\n") && reason.contains("noise line 1000"),
        "{reason}"
    );
    // It is not missing in clones.
    assert!(!reason.contains("here are also"), "{reason}");
    let (_, rest) = reason.split_once("all it printed is in ").unwrap();
    let log = stage.place().workspace.join(rest.lines().next().unwrap());
    let printed = std::fs::read_to_string(log).unwrap();
    assert_eq!(printed.lines().count(), 1001, "{printed}");
}
