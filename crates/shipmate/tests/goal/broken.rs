//! Broken configurations: each is told at once with its remedy, costs nothing, and when it is mended
//! the run is finished.

use std::path::Path;

use crate::ran::Ran;
use crate::stage::{SHIPMATE, Stage, TEAM, hermetic};

/// A plan without a model.
const PLAN: &str = "[[tasks]]\nid = \"one\"\nsubject = \"one\"\nfiles = [\"one.txt\"]\n";
const AGENT: &str = "echo 1 > one.txt";

fn run(stage: &Stage, args: &[&str]) -> Ran {
    let all: Vec<&str> = ["--team", TEAM, "run"].iter().chain(args).copied().collect();
    Ran::of(&stage.shipmate(&all))
}

/// It ended with this code and told all of that, wherever.
#[track_caller]
fn tells(ran: &Ran, code: i32, parts: &[&str]) {
    let all = format!("{}\n{}", ran.out, ran.err);
    assert_eq!(ran.code, code, "{all}");
    for part in parts {
        assert!(all.contains(part), "{part:?} is missing in:\n{all}");
    }
}

/// A repository with a plan in it, beside which nothing is uncommitted.
fn planned() -> Stage {
    let mut stage = Stage::new("");
    stage.write("plan.toml", PLAN);
    stage.commit();
    stage
}

fn plan_of(stage: &Stage) -> String {
    stage.place().workspace.join("plan.toml").display().to_string()
}

/// Nothing was begun: there is no team, and nothing to clean up.
#[track_caller]
fn nothing_began(stage: &Stage) {
    let listed = Ran::of(&stage.shipmate(&["team", "list", "--json"]));
    assert!(!listed.out.contains(TEAM), "{}", listed.out);
}

fn program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_program_that_is_not_there_is_refused_and_its_neighbour_is_named() {
    let stage = planned();
    let plan = plan_of(&stage);
    let ran = run(&stage, &[&plan, "--agent", "clade"]);
    tells(&ran, 1, &["there is no command clade in PATH", "did you mean claude?"]);
    nothing_began(&stage);
    let ran = run(&stage, &["make two parts", "--lead", "native", "--agent", "coedx"]);
    assert_ne!(ran.code, 0);
    nothing_began(&stage);
    run(&stage, &[&plan, "--agent", AGENT]).ends(0, &["done: 1 of 1"]);
}

#[test]
fn a_script_that_is_not_committed_is_refused_with_its_path() {
    let mut stage = planned();
    let plan = plan_of(&stage);
    program(&stage.place().workspace.join("tools/agent.sh"), AGENT);
    for agent in ["tools/agent.sh", "./tools/agent.sh --fast", "sh ./tools/agent.sh"] {
        let ran = run(&stage, &[&plan, "--dirty", "--agent", agent]);
        let path = stage.place().workspace.join("tools/agent.sh");
        tells(&ran, 1, &["is not in the commit", "commit it", &path.display().to_string()]);
        nothing_began(&stage);
    }
    stage.commit();
    run(&stage, &[&plan, "--agent", "./tools/agent.sh"]).ends(0, &["done: 1 of 1"]);
}

#[test]
fn a_gate_with_a_typo_starts_nobody_and_resume_goes_on_when_it_is_mended() {
    let mut stage = planned();
    stage.write(".gitignore", "node_modules/\n");
    stage.commit();
    stage.write("node_modules/x", "");
    let plan = plan_of(&stage);
    let begun = ["--team", TEAM, "run", &plan, "--detach", "--agent", AGENT, "--gate", "mak test"];
    assert_eq!(Ran::of(&stage.shipmate(&begun)).code, 0);
    stage.follow();
    let paused = stage.event("team.paused");
    let reason = paused["reason"].as_str().unwrap();
    for part in ["`mak test` failed with exit status 127", "node_modules/", "team set --gate"] {
        assert!(reason.contains(part), "{part:?} is missing in {reason}");
    }
    stage.catch_up();
    assert_eq!(stage.events("teammate.started").len(), 0, "{}", stage.story());
    let status = Ran::of(&stage.shipmate(&["status"]));
    assert!(status.out.contains("mak"), "{}", status.out);
    // Before that nobody can go on, and it is told as it is.
    tells(&Ran::of(&stage.shipmate(&["--team", TEAM, "resume"])), 8, &["alpha waits:", "team set"]);
    // Mended outside of the repository: nothing has to be changed in the team.
    program(&stage.root().join("bin/mak"), "true");
    assert_eq!(Ran::of(&stage.shipmate(&["--team", TEAM, "resume"])).code, 0);
    stage.finished(1);
    assert_eq!(stage.file("one.txt"), "1\n");
}

/// Whoever is there cannot take what is left: the run ends, and `resume` finishes it.
#[test]
fn a_run_ends_when_the_only_one_for_a_task_cannot_work() {
    let mut stage = Stage::new("");
    let plan = r#"
[agents.front]
command = "echo 1 > one.txt"
[agents.back]
command = "backend-agent"
[[teammates]]
name = "ana"
role = "front"
agent = "front"
[[teammates]]
name = "bo"
role = "back"
agent = "back"
[[tasks]]
id = "one"
subject = "one"
role = "front"
files = ["one.txt"]
[[tasks]]
id = "two"
subject = "two"
role = "back"
files = ["two.txt"]
"#;
    stage.write("plan.toml", plan);
    stage.commit();
    let broken = stage.root().join("bin/backend-agent");
    program(&broken, "exec no-such-program");
    let ran = run(&stage, &[&plan_of(&stage)]);
    tells(&ran, 8, &["not all done: 1 of 2", "bo cannot work", "no-such-program", "resume"]);
    program(&broken, "echo 2 > two.txt");
    Ran::of(&stage.shipmate(&["--team", TEAM, "resume"])).ends(0, &["alpha/bo", "restarted"]);
    stage.follow();
    stage.finished(2);
    assert_eq!(stage.file("two.txt"), "2\n");
}

/// A run that is killed before it has a task leaves a team that nobody could go on with.
#[test]
fn a_run_that_was_killed_before_it_had_a_task_is_begun_anew() {
    let stage = planned();
    let plan = plan_of(&stage);
    let title = Ran::of(&stage.shipmate(&["--team", TEAM, "run", &plan, "--agent", AGENT]));
    title.ends(0, &["done: 1 of 1"]);
    let shown = Ran::of(&stage.shipmate(&["--team", TEAM, "team", "show", "--json"]));
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    Ran::of(&stage.shipmate(&["team", "delete", TEAM, "--now"])).ends(0, &["deleted"]);
    stage.git(&["branch", "-D", "shipmate/alpha"]);
    // What its first requests leave.
    let description = shown["description"].as_str().unwrap();
    let create =
        ["team", "create", TEAM, "--description", description, "--trees", "own", "--check", "true"];
    Ran::of(&stage.shipmate(&create)).ends(0, &[]);
    let add = ["--team", TEAM, "teammate", "add", "dev-1", "--command", AGENT];
    Ran::of(&stage.shipmate(&add)).ends(0, &[]);
    run(&stage, &[&plan, "--agent", AGENT]).ends(0, &["done: 1 of 1"]);
    // One that has tasks is not touched.
    tells(&run(&stage, &[&plan, "--agent", AGENT]), 1, &["there is a team alpha already"]);
}

#[test]
fn a_budget_of_nothing_is_refused_with_an_example() {
    let stage = planned();
    let ran = run(&stage, &[&plan_of(&stage), "--agent", AGENT, "--budget", "0"]);
    tells(&ran, 2, &["--budget", "0.50"]);
    nothing_began(&stage);
}

#[test]
fn without_a_git_identity_work_is_done_and_merge_says_how_to_set_one() {
    let stage = planned();
    let plan = plan_of(&stage);
    for key in ["user.name", "user.email"] {
        stage.git(&["config", "--unset", key]);
    }
    run(&stage, &[&plan, "--agent", AGENT]).ends(0, &["done: 1 of 1"]);
    let merge = || Ran::of(&stage.shipmate(&["--team", TEAM, "merge"]));
    tells(&merge(), 1, &["nothing was changed", "git config --global user.email"]);
    stage.git(&["config", "user.name", "P"]);
    stage.git(&["config", "user.email", "p@example.invalid"]);
    tells(&merge(), 0, &["merged into main"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let stage = planned();
    let (plan, workspace) = (plan_of(&stage), stage.place().workspace);
    let line = "chmod -R a+rX \"$1\" && chmod 755 \"$1\" && chmod a-w \"$1/repo\" && cd \"$1/repo\" && \
                if [ $(id -u) = 0 ]; then chown -R 65534 \"$1\"; exec setpriv --reuid=65534 --clear-groups \
                env HOME=/nonexistent \"$2\" --workspace \"$1/repo\" run \"$3\" --agent true; else exec \
                \"$2\" --workspace \"$1/repo\" run \"$3\" --agent true; fi";
    std::fs::remove_dir_all(workspace.join(".shipmate")).unwrap();
    let root = stage.root();
    let mut command = hermetic(&root, "sh");
    command.args(["-c", line, "sh", root.to_str().unwrap(), SHIPMATE, &plan]);
    let ran = Ran::of(&command.output().unwrap());
    let folder = workspace.join(".shipmate").display().to_string();
    assert_ne!(ran.code, 0, "{ran:?}");
    tells(&ran, ran.code, &[&folder, "ermission denied"]);
}
