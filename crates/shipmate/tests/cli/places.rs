//! Where commands act: the nearest workspace, and nowhere that nobody asked for.

use crate::transcript::{Workspace, errors, exists};

/// A plan of one task, outside of any repository.
fn plan(workspace: &Workspace) {
    let text = "team = \"alpha\"\n[[tasks]]\nid = \"one\"\nsubject = \"one\"\nfiles = [\"one\"]\n";
    workspace.write("../plan.toml", text);
}

/// Runs a command below the workspace, which finds its own.
fn below(workspace: &Workspace, folder: &str, line: &str) -> (Option<i32>, String) {
    let mut command = workspace.command(line);
    command.current_dir(workspace.path.join(folder)).env_remove("SHIPMATE_WORKSPACE");
    let output = command.output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&errors(&output.stderr));
    (output.status.code(), text)
}

#[test]
fn commands_that_only_look_make_nothing_and_start_nobody() {
    let workspace = Workspace::with_repository();
    for (command, exit) in [
        ("status", 3),
        ("status --json", 3),
        ("agents", 0),
        ("team list", 0),
        ("team list --json", 0),
        ("team show", 3),
        ("--team nope team show", 3),
        ("teammate list", 3),
        ("task list", 3),
        ("task show 1", 3),
        ("task graph", 3),
        ("task create x", 3),
        ("log", 3),
        ("log --follow", 3),
        ("inbox", 3),
        ("questions", 3),
        ("plan list", 3),
        ("phase list", 3),
        ("playbook list", 0),
        ("playbook show none-of-that-name", 3),
        ("config", 0),
        ("config path", 0),
        ("doctor", 0),
        ("doctor --clean", 0),
        ("coordinator status", 0),
        ("coordinator stop", 0),
        ("merge", 3),
        ("resume", 3),
        ("continue", 3),
        ("shutdown", 3),
        ("run nope.toml --agent true", 2),
    ] {
        let (code, text) = below(&workspace, ".", &format!("shipmate {command}"));
        assert!(!exists(&workspace.path.join(".shipmate")), "{command} made .shipmate: {text}");
        assert_eq!(code, Some(exit), "{command}: {text}");
    }
}

#[test]
fn a_run_or_a_team_that_is_refused_leaves_no_workspace_behind() {
    let workspace = Workspace::new();
    plan(&workspace);
    for line in [
        "shipmate run ../plan.toml --agent true",
        "shipmate run ../plan.toml --agent true --json",
        "shipmate run ../plan.toml --trees none",
        "shipmate team create --lead ../x alpha",
    ] {
        let (code, text) = below(&workspace, ".", line);
        assert_eq!(code, Some(1), "{line}: {text}");
        assert!(!exists(&workspace.path.join(".shipmate")), "{line}: {text}");
    }
}

#[test]
fn a_workspace_above_does_not_take_the_repositories_below_it() {
    let workspace = Workspace::with_repository();
    plan(&workspace);
    workspace.succeed("shipmate team create outer");
    workspace.write("inner/README", "inner\n");
    for line in [
        "init --quiet --initial-branch main",
        "config user.name Pat",
        "config user.email pat@example.invalid",
        "add README",
        "commit --quiet --message base",
    ] {
        workspace.git(&format!("-C inner {line}"));
    }
    let outer = workspace.git("rev-parse main");
    let run = "shipmate run ../../plan.toml --agent 'echo 1 > one'";
    let (code, text) = below(&workspace, "inner", run);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = below(&workspace, "inner", "shipmate merge");
    assert_eq!(code, Some(0), "{text}");
    assert!(exists(&workspace.path.join("inner/one")));
    assert_eq!(workspace.git("rev-parse main"), outer);
    let (_, text) = below(&workspace, "inner", "shipmate coordinator stop");
    assert!(text.starts_with("stopped"), "{text}");
}

#[test]
fn a_run_names_the_repository_where_it_is_not_the_folder_it_is_typed_in() {
    let workspace = Workspace::with_repository();
    plan(&workspace);
    workspace.write("src/deep/file", "");
    let line = "shipmate run ../../../plan.toml --dirty --agent 'echo 1 > one'";
    let (code, text) = below(&workspace, "src/deep", line);
    assert_eq!(code, Some(0), "{text}");
    let root = workspace.path.canonicalize().unwrap();
    assert!(text.contains(&format!("in the repository {}\n", root.display())), "{text}");
}

#[test]
fn a_merge_names_the_repository_before_it_changes_it_where_the_workspace_is_a_part_of_it() {
    let workspace = Workspace::with_repository();
    let text = "team = \"alpha\"\n[[tasks]]\nid = \"one\"\nsubject = \"one\"\n";
    workspace.write("../plan.toml", text);
    workspace.write("part/.shipmate/config.toml", "");
    workspace.git("add part");
    workspace.git("commit --quiet --message part");
    let run = "shipmate run ../../plan.toml --dirty --agent 'echo 1 > one'";
    let (code, text) = below(&workspace, "part", run);
    assert_eq!(code, Some(0), "{text}");
    let root = workspace.path.canonicalize().unwrap();
    let named = format!("in the repository {}\n", root.display());
    for line in ["shipmate merge", "shipmate team update"] {
        let (code, text) = below(&workspace, "part", line);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.starts_with(&named), "{line}: {text}");
    }
    let (_, text) = below(&workspace, "part", "shipmate coordinator stop");
    assert!(text.starts_with("stopped"), "{text}");
}

#[test]
fn nobody_is_told_to_make_a_repository_of_a_folder_they_do_not_stand_in() {
    let workspace = Workspace::new();
    plan(&workspace);
    workspace.succeed("shipmate team create outer");
    workspace.write("notes/file", "");
    let advice = "git init";
    let (code, text) = below(&workspace, ".", "shipmate run ../plan.toml --agent true");
    assert_eq!((code, text.contains(advice)), (Some(1), true), "{text}");
    let (code, text) = below(&workspace, "notes", "shipmate run ../../plan.toml --agent true");
    assert_eq!((code, text.contains(advice)), (Some(1), false), "{text}");
    let home = format!("HOME={}", workspace.path.display());
    let line = format!("{home} shipmate run ../plan.toml --agent true");
    let (code, text) = below(&workspace, ".", &line);
    assert_eq!((code, text.contains(advice)), (Some(1), false), "{text}");
}

/// All checkouts of a repository have the same branches, and a team its own one.
#[test]
fn a_team_of_another_checkout_keeps_its_branch() {
    let workspace = Workspace::with_repository();
    plan(&workspace);
    workspace.git("worktree add --quiet ../other -b other");
    let agent = "shipmate run ../plan.toml --agent 'echo x > one'";
    let (code, text) = below(&workspace, "../other", &format!("{agent} --detach"));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = below(&workspace, ".", agent);
    assert_eq!(code, Some(1), "{text}");
    for part in ["shipmate/alpha", "another checkout", "other", "--team"] {
        assert!(text.contains(part), "{part:?} is missing in {text}");
    }
    let (code, text) = below(&workspace, ".", &agent.replace("shipmate", "shipmate --team mine"));
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = below(&workspace, "../other", "shipmate team delete alpha --now");
    assert_eq!(code, Some(0), "{text}");
    below(&workspace, "../other", "shipmate coordinator stop");
}
