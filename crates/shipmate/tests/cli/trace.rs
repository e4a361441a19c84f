//! What the coordinator and the supervisors write for whoever looks for a cause.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::transcript::Workspace;

const PLAN: &str =
    "team = \"alpha\"\n[[tasks]]\nid = \"one\"\nsubject = \"one\"\nfiles = [\"one\"]\n";

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

/// A run of one task; what is in each trace of the workspace, the coordinator's first.
fn traces_of_a_run(level: &str) -> Vec<String> {
    let mut workspace = Workspace::with_repository();
    workspace.set("SHIPMATE_TRACE", level);
    workspace.set("SECRET_OF_MINE", "do-not-tell");
    workspace.write("../plan.toml", PLAN);
    workspace.succeed("shipmate run ../plan.toml --agent 'echo 1 > one'");
    workspace.succeed("shipmate coordinator stop");
    let state = workspace.beside("w/.shipmate/state");
    let mut all = Vec::new();
    files(&state, &mut all);
    let token = fs::read_to_string(state.join("person.token")).unwrap();
    let mut traces: Vec<PathBuf> =
        all.into_iter().filter(|path| path.ends_with("trace.log")).collect();
    traces.sort_by_key(|path| path.components().count());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for secret in [token.trim(), "do-not-tell", "echo 1"] {
            assert!(!text.contains(secret), "{secret} is in {}:\n{text}", path.display());
        }
        let has_token = |word: &str| word.starts_with("alpha.alpha.") && word.len() > 70;
        assert!(!text.split([' ', '"', '=']).any(has_token), "{text}");
        text
    };
    traces.into_iter().map(read).collect()
}

#[test]
fn a_run_leaves_a_trace_of_its_processes_its_gates_and_its_logs_without_secrets() {
    let traces = traces_of_a_run("debug");
    let [coordinator, supervisor] = traces.as_slice() else { panic!("{traces:#?}") };
    for event in [
        "INFO shipmate::coordinator: the coordinator listens",
        "a log is open root=\"alpha\"",
        "a supervisor was started who=alpha/",
        "DEBUG shipmate_coordinator::crew::shown: the merge queue",
        "a submission has landed task=1",
        "a supervisor has ended",
        "the coordinator has ended",
    ] {
        assert!(coordinator.contains(event), "{event} is not in\n{coordinator}");
    }
    for event in
        ["a life begins", "a task is taken up task=1", "finished=\"done\"", "the life ends"]
    {
        assert!(supervisor.contains(event), "{event} is not in\n{supervisor}");
    }
}

#[test]
fn the_level_is_obeyed() {
    assert!(traces_of_a_run("off").is_empty());
    let traces = traces_of_a_run("");
    assert!(
        traces[0].contains("the coordinator listens") && !traces[0].contains("DEBUG"),
        "{traces:?}"
    );
}
