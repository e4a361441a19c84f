//! The folder in which the demo plays: a repository, the plan, and the recorded model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::failure::Failure;

pub(super) const PLAN: &str = include_str!("plan.toml");
const CONFIG: &str = include_str!("config.toml");
const RECORDING: &str = include_str!("recording.jsonl");
const TESTS: &str = include_str!("run-tests.sh");
/// How many providers of models the configuration above names.
pub(super) const PROVIDERS: usize = 1;
/// Its model.
pub(super) const RECORDED: &str = "recorded/calculator";

/// The folder with everything in it, new or empty before.
pub(super) fn stage(keep: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = keep.map_or_else(
        || std::env::temp_dir().join(format!("shipmate-demo-{}", std::process::id())),
        Path::to_owned,
    );
    let unusable = |reason: &str| {
        let text = format!("{} cannot be played in: {reason}", folder.display());
        Failure::Usage(format!("{text}\n  name a new or empty folder with --keep DIR"))
    };
    let io = |e: std::io::Error| unusable(&e.to_string());
    fs::create_dir_all(&folder).map_err(io)?;
    let folder = folder.canonicalize().map_err(io)?;
    if fs::read_dir(&folder).map_err(io)?.next().is_some() {
        return Err(unusable("it is not empty"));
    }
    for below in ["calc/tests", "calc/.shipmate"] {
        fs::create_dir_all(folder.join(below)).map_err(io)?;
    }
    for (path, text) in [
        ("plan.toml", PLAN),
        ("recording.jsonl", RECORDING),
        ("calc/.shipmate/config.toml", CONFIG),
        ("calc/run-tests.sh", TESTS),
    ] {
        fs::write(folder.join(path), text).map_err(io)?;
    }
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "You"],
        &["config", "user.email", "you@shipmate.invalid"],
        &["add", "."],
        &["commit", "--quiet", "-m", "a script that runs tests, and none yet"],
    ] {
        let status = Command::new("git").args(args).current_dir(folder.join("calc")).status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(unusable(&format!("git {} failed: {status}", args[0]))),
            Err(e) => return Err(unusable(&format!("git cannot be run: {e}; install it"))),
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_of_the_plan_is_in_the_recording() {
        let subjects = PLAN.lines().filter_map(|line| line.strip_prefix("subject = "));
        for (index, subject) in subjects.enumerate() {
            let on = format!("\"Task {}: {}\"", index + 1, subject.trim_matches('"'));
            assert!(RECORDING.contains(&on), "{on}");
        }
    }
}
