//! The team's work on its way to the person, and the person's to the team.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Output, Stdio};

use shipmate_protocol::Ask;
use shipmate_protocol::verbs::Setup;

use crate::landing::passes_everywhere;
use crate::processes::{self, is_alive};
use crate::stage::{SHIPMATE, Stage, TEAM, hermetic};

/// Red where the team's file and the person's are together.
const APART: &str = "! { [ -e f1 ] && [ -e mine ]; }";

/// A team that has landed `f1`.
fn landed(gate: &str) -> Stage {
    let mut stage = Stage::new("");
    let gate = if gate.is_empty() { Vec::new() } else { vec![gate.to_owned()] };
    stage.team(Setup { gate, ..Setup::default() }, &["a"]);
    stage.tasks(&["put f1 x"]);
    stage.finished(1);
    stage
}

/// A commit of the person's on their branch. Teams began before it.
fn commit(stage: &Stage, name: &str, text: &str) {
    stage.write(name, text);
    stage.git(&["add", name]);
    stage.git(&["commit", "--quiet", "--message", name]);
}

fn head(stage: &Stage) -> String {
    stage.git(&["rev-parse", "main"])
}

fn text(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part));
    parts.concat()
}

/// A command of the person's that did what it should.
#[track_caller]
fn done(stage: &Stage, args: &[&str]) -> String {
    let output = stage.shipmate(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    text(&output)
}

#[track_caller]
fn refused(stage: &Stage, args: &[&str]) -> String {
    let output = stage.shipmate(args);
    assert!(!output.status.success(), "{args:?}: {output:?}");
    text(&output)
}

#[track_caller]
fn is_whole(stage: &Stage) {
    assert!(!stage.place().workspace.join(".git/MERGE_HEAD").exists(), "MERGE_HEAD is left");
    assert_eq!(stage.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    assert!(!stage.place().workspace.join(".git/index.lock").exists(), "index.lock is left");
}

#[test]
fn a_merge_is_refused_where_the_gate_is_red_on_the_result() {
    let stage = landed(APART);
    commit(&stage, "mine", "x\n");
    let before = head(&stage);
    let said = refused(&stage, &["merge"]);
    for part in
        ["the gate is red on main with shipmate/alpha", "git merge --no-commit", "--no-gate"]
    {
        assert!(said.contains(part), "{part:?} is missing: {said}");
    }
    assert_eq!(head(&stage), before);
    is_whole(&stage);
    let said = done(&stage, &["merge", "--no-gate"]);
    assert!(said.contains("the gate was not run on the result"), "{said}");
    is_whole(&stage);
    assert_eq!(stage.git(&["show", "main:f1"]), "x\n");
}

#[test]
fn the_gate_is_run_on_the_result_only_where_the_persons_branch_has_moved() {
    let mut stage = landed(APART);
    commit(&stage, "other", "x\n");
    let said = done(&stage, &["merge"]);
    assert!(said.contains("the gate passed on the result"), "{said}");
    assert!(said.contains("gate on main with shipmate/alpha …"), "progress: {said}");
    stage.catch_up();
    let runs = stage.events("gate.ran").len();
    stage.tasks(&["put f2 x"]);
    stage.finished(2);
    stage.catch_up();
    let with_task = stage.events("gate.ran").len();
    assert!(with_task > runs);
    // Their branch has nothing that the team's has not, but for the merge itself.
    done(&stage, &["team", "update"]);
    stage.catch_up();
    let with_update = stage.events("gate.ran").len();
    let said = done(&stage, &["merge"]);
    assert!(said.contains("merged into main") && !said.contains("the gate"), "{said}");
    stage.catch_up();
    assert_eq!(stage.events("gate.ran").len(), with_update);
}

/// A commit of the person's on the team's branch itself.
fn commit_on_the_teams(stage: &Stage, name: &str, text: &str) {
    stage.git(&["checkout", "--quiet", "shipmate/alpha"]);
    commit(stage, name, text);
    stage.git(&["checkout", "--quiet", "main"]);
}

#[test]
fn a_commit_by_hand_on_the_teams_branch_is_gated_before_it_is_merged() {
    let stage = landed("! grep -qs bad f*");
    let before = head(&stage);
    commit_on_the_teams(&stage, "f2", "bad\n");
    let said = refused(&stage, &["merge"]);
    assert!(said.contains("the gate is red on shipmate/alpha; nothing was changed"), "{said}");
    assert_eq!(head(&stage), before);
    is_whole(&stage);
    commit_on_the_teams(&stage, "f2", "good\n");
    let said = done(&stage, &["merge"]);
    assert!(said.contains("the gate passed on the result"), "{said}");
    assert_eq!(stage.git(&["show", "main:f2"]), "good\n");
}

#[test]
fn a_gate_that_was_set_since_is_run_before_the_work_is_merged() {
    let mut stage = landed("! grep -qs bad f*");
    let before = head(&stage);
    done(&stage, &["team", "set", "--gate", "! test -e f1"]);
    let said = refused(&stage, &["merge"]);
    assert!(said.contains("the gate is red on shipmate/alpha"), "{said}");
    assert_eq!(head(&stage), before);
    // One that is on record as green for this commit is not run again.
    done(&stage, &["team", "set", "--gate", "test -e f1"]);
    let said = done(&stage, &["merge"]);
    assert!(said.contains("the gate passed on the result"), "{said}");
    stage.git(&["reset", "--quiet", "--hard", before.trim()]);
    stage.catch_up();
    let runs = stage.events("gate.ran").len();
    let said = done(&stage, &["merge"]);
    assert!(said.contains("merged into main") && !said.contains("the gate"), "{said}");
    stage.catch_up();
    assert_eq!(stage.events("gate.ran").len(), runs);
}

#[test]
fn a_team_without_a_gate_says_nothing_about_one() {
    let stage = landed("");
    commit(&stage, "mine", "x\n");
    for args in [["merge"].as_slice(), &["team", "update"]] {
        let said = done(&stage, args);
        assert!(!said.contains("gate"), "{said}");
    }
    is_whole(&stage);
}

#[test]
fn an_update_brings_the_persons_branch_to_the_team_and_its_next_task() {
    let mut stage = landed("! grep -qs bad f*");
    commit(&stage, "mine", "x\n");
    let before = head(&stage);
    let said = done(&stage, &["team", "update"]);
    assert!(said.contains("shipmate/alpha: it has all of main now"), "{said}");
    assert_eq!(head(&stage), before);
    assert_eq!(stage.file("mine"), "x\n");
    let noted = stage.event("hook.noted");
    assert!(noted["note"].as_str().unwrap().contains("main came to shipmate/alpha"), "{noted}");
    stage.tasks(&["[ -e mine ] && put f2 x"]);
    stage.finished(2);
    let again = done(&stage, &["team", "update"]);
    assert!(again.contains("it has all of main already"), "{again}");
    passes_everywhere(&stage, "! grep -qs bad f*");

    // What would make the team's branch red, or conflicts with it, changes nothing.
    let tip = stage.git(&["rev-parse", &format!("shipmate/{TEAM}")]);
    commit(&stage, "f3", "bad\n");
    let said = refused(&stage, &["team", "update"]);
    assert!(said.contains("the gate is red on shipmate/alpha with main"), "{said}");
    commit(&stage, "f3", "good\n");
    commit(&stage, "f1", "mine\n");
    for args in [["merge"].as_slice(), &["team", "update"]] {
        let said = refused(&stage, args);
        assert!(said.contains("f1") && said.contains("git merge shipmate/alpha"), "{said}");
    }
    assert_eq!(stage.git(&["rev-parse", &format!("shipmate/{TEAM}")]), tip);
    // And what the refusal advises works.
    stage.git(&["merge", "--quiet", "-X", "ours", "-m", "by hand", "shipmate/alpha"]);
    done(&stage, &["--team", TEAM, "team", "update"]);
    assert_eq!(stage.file("f1"), "mine\n");
    passes_everywhere(&stage, "! grep -qs bad f*");
}

/// A hook of the person's that says where it is and waits.
fn hook(stage: &Stage, name: &str, line: &str) {
    let path = stage.place().workspace.join(".git/hooks").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{line}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn begin_merge(stage: &Stage) -> Child {
    let mut command = hermetic(&stage.root(), SHIPMATE);
    command.arg("--workspace").arg(stage.place().workspace).arg("merge");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

const HOOKS: [&str; 4] = ["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"];

#[test]
fn a_merge_goes_on_though_its_coordinator_is_killed() {
    for name in HOOKS {
        let mut stage = landed("");
        stage.door("hook");
        let root = stage.root();
        let root = root.display();
        let wait = format!("echo '0 hook 0 '$$ > {root}/here; read -r _ < {root}/hook.door");
        hook(&stage, name, &wait);
        let before = head(&stage);
        let command = begin_merge(&stage);
        let at = stage.arrival();
        processes::kill(stage.coordinator());
        // Nobody else has to wait for it, and nobody ends it.
        stage.ask(Ask::Status);
        assert!(is_alive(at.pid), "the person's hook was ended");
        stage.open("hook", 9);
        let output = command.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        is_whole(&stage);
        assert_eq!(stage.git(&["rev-parse", "main^1"]), before, "{name}: merged once");
        stage.all_once(&[1]);
    }
}

#[test]
fn a_merge_whose_git_and_coordinator_are_killed_is_made_whole_by_the_next_command() {
    for name in HOOKS {
        let stage = landed("");
        let (once, lock) = (stage.root().join("once"), stage.place().lock());
        let (once, lock) = (once.display(), lock.display());
        let killed = format!("mkdir {once} 2>/dev/null && kill -9 $PPID $(cat {lock}); exit 0");
        hook(&stage, name, &killed);
        let before = head(&stage);
        let coordinator = processes::watch(stage.coordinator()).unwrap();
        let mut command = begin_merge(&stage);
        processes::gone(&coordinator);
        // The person's own command is gone as well.
        let _ = command.kill();
        command.wait().unwrap();
        done(&stage, &["status"]);
        is_whole(&stage);
        let now = head(&stage);
        assert!(now == before || stage.git(&["rev-parse", "main^1"]) == before, "{name}");
        done(&stage, &["merge"]);
        is_whole(&stage);
        assert_eq!(stage.git(&["rev-parse", "main^1"]), before, "{name}: merged once");
        assert_eq!(stage.git(&["show", "main:f1"]), "x\n");
    }
}

#[test]
fn an_ignored_file_of_the_persons_is_not_written_over() {
    let mut stage = Stage::new("");
    stage.write(".gitignore", ".env\n");
    stage.commit();
    stage.write(".env", "my key\n");
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put .env theirs && git add -f .env && git commit -qm env && put f1 x"]);
    stage.finished(1);
    assert_eq!(stage.git(&["show", "shipmate/alpha:.env"]), "theirs\n");
    hook(&stage, "commit-msg", "exit 1");
    let before = head(&stage);
    for args in [["merge"].as_slice(), &["merge", "--no-gate"]] {
        let said = refused(&stage, args);
        assert!(said.contains(".env; nothing was changed. Move it away"), "{said}");
        assert_eq!(std::fs::read_to_string(mine(&stage, ".env")).unwrap(), "my key\n");
        assert_eq!(head(&stage), before);
        is_whole(&stage);
    }
    std::fs::rename(mine(&stage, ".env"), stage.root().join("kept")).unwrap();
    hook(&stage, "commit-msg", "exit 0");
    done(&stage, &["merge"]);
    assert_eq!(std::fs::read_to_string(mine(&stage, ".env")).unwrap(), "theirs\n");
}

fn mine(stage: &Stage, name: &str) -> std::path::PathBuf {
    stage.place().workspace.join(name)
}

#[test]
fn a_teams_branch_that_was_moved_or_deleted_by_hand_is_not_called_merged() {
    let stage = landed("");
    let tip = stage.git(&["rev-parse", "shipmate/alpha"]);
    let tip = tip.trim();
    stage.git(&["branch", "-f", "shipmate/alpha", "main"]);
    for args in [["merge"].as_slice(), &["merge", "--branches"]] {
        let said = refused(&stage, args);
        assert!(said.contains(&format!("git branch -f shipmate/alpha {tip}")), "{said}");
    }
    let said = done(&stage, &["status"]);
    assert!(said.contains("none of the team's work is on it"), "{said}");
    stage.git(&["branch", "-D", "shipmate/alpha"]);
    let said = refused(&stage, &["merge"]);
    assert!(said.contains(&format!("`git branch shipmate/alpha {tip}`")), "{said}");
    // What the refusal advises works.
    stage.git(&["branch", "shipmate/alpha", tip]);
    let said = done(&stage, &["merge"]);
    assert!(said.contains("merged into main"), "{said}");
    let said = done(&stage, &["status"]);
    assert!(said.contains("all of it is merged"), "{said}");
    stage.git(&["branch", "-D", "shipmate/alpha"]);
    let said = done(&stage, &["merge"]);
    assert!(said.contains("main has all of it already"), "{said}");
}

#[test]
fn a_merge_that_waits_for_another_says_so_and_nothing_of_the_others() {
    let mut stage = landed("");
    stage.door("gate");
    let root = stage.root();
    let root = root.display();
    let gate = format!("echo '0 gate 0 '$$ > {root}/here; read -r _ < {root}/gate.door");
    done(&stage, &["team", "set", "--gate", &gate]);
    let first = begin_merge(&stage);
    stage.arrival();
    let mut second = begin_merge(&stage);
    let mut told = BufReader::new(second.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    // It may say before that it waits for a coordinator that stands still.
    if line.ends_with("; waiting for it\n") {
        line.clear();
        told.read_line(&mut line).unwrap();
    }
    assert!(line.contains("waiting for another merge"), "{line}");
    stage.open("gate", 9);
    let first = first.wait_with_output().unwrap();
    assert!(
        first.status.success() && text(&first).contains("gate on shipmate/alpha …"),
        "{first:?}"
    );
    told.read_to_string(&mut line).unwrap();
    let second = second.wait_with_output().unwrap();
    assert!(second.status.success(), "{second:?}");
    assert!(!line.contains("gate"), "{line}");
    assert!(text(&second).contains("main has all of it already"), "{second:?}");
}
