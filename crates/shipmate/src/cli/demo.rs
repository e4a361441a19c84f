//! `shipmate demo`: a team of four on a real repository, from plan to merge.
//!
//! Everything is what a user would have: a git repository, a plan file, an agent that is a plain
//! command, a gate. Two things are arranged: one agent's first try is wrong, so that the gate
//! rejects it, and this program kills one supervisor in the middle of a task. The rest is the
//! product at work, and the demo ends with exit code 0 only if it came through.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use shipmate_protocol::{Answer, Ask};

use crate::cli::coordinator;
use crate::cli::exit::Exit;
use crate::cli::failure::{Failure, unexpected};
use crate::cli::run::{self, RunArgs};
use crate::cli::screen::Screen;
use crate::cli::session::{Globals, Session};

const PLAN: &str = include_str!("demo/plan.toml");
const AGENT: &str = include_str!("demo/agent.sh");
const TESTS: &str = include_str!("demo/run-tests.sh");
/// Whoever takes this task first is killed in the middle of it.
const FATAL: &str = "say";
const TASKS: usize = 12;

/// Watch a team at work: a real repository, no key, no network, under a minute
///
/// Makes a small repository and runs a team of four on a dozen tasks that depend on each other. One
/// piece of work is wrong at first: the gate rejects it, and it is mended. One teammate is killed in
/// the middle of a task: the task is free at once and is taken again. The work is merged, the
/// repository's own tests run, and everything stays where it can be looked at.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate demo
  shipmate demo --keep /tmp/demo && shipmate --workspace /tmp/demo/calc log")]
pub(crate) struct DemoArgs {
    /// Play in this folder, new or empty [default: a new one among the temporary files]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(crate) fn run(args: &DemoArgs, globals: &Globals) -> Result<Exit, Failure> {
    let screen = Screen::new(globals.json);
    let folder = stage(args.keep.as_deref())?;
    let say = |text: &str| if screen.json { Ok(()) } else { screen.line(text) };
    say(&format!("a new repository in {}", folder.display()))?;
    let plan = folder.join("plan.toml");
    let globals = Globals { workspace: Some(folder.join("calc")), ..globals.clone() };
    let mut session = Session::open(&globals)?;
    let agent = format!("sh {}", quoted(&folder.join("agent.sh")));
    let begun = run::begin(&RunArgs::of(plan, agent), &mut session)?;
    say("four teammates, twelve tasks; one will write a bug, and one will be killed\n")?;
    kill_one(session.again()?);
    let Some(watched) = run::watch::watch(&begun, session.again()?)? else {
        say(&format!(
            "nothing was merged; everything is in {0}, and this ends the team:\n  shipmate \
             --workspace {0} shutdown",
            folder.join("calc").display()
        ))?;
        return Ok(Exit::Done);
    };
    let (report, disappeared) = (&watched.report, watched.account.disappeared);
    if let Some(lacking) = lacking(report.tasks.completed, report.gates.red, disappeared) {
        say(&format!(
            "\nthe demo did not show what it promises: {lacking}\n  shipmate --workspace {} log",
            folder.join("calc").display()
        ))?;
        end_coordinator(&session)?;
        return Ok(Exit::Undone);
    }
    let Answer::Merged(merged) = session.ask(Ask::Merge { branches: false })? else {
        return Err(unexpected("a merge"));
    };
    say(&format!("\nmerged {} into your branch: {}", merged.branch, merged.notes.join("; ")))?;
    let tested = test(&folder.join("calc"))?;
    say(&format!("the repository's own tests on it: {tested}"))?;
    say(&format!(
        "look around: cd {} && git log --graph && ./calc 6 x 7",
        folder.join("calc").display()
    ))?;
    end_coordinator(&session)?;
    Ok(watched.exit())
}

/// What should have happened and did not.
fn lacking(completed: usize, gates_red: usize, disappeared: usize) -> Option<String> {
    match (completed, gates_red, disappeared) {
        (TASKS, 1.., 1..) => None,
        (TASKS, 0, _) => Some("no gate was red".to_owned()),
        (TASKS, _, _) => Some("no teammate disappeared".to_owned()),
        _ => Some(format!("{completed} of {TASKS} tasks were completed")),
    }
}

fn end_coordinator(session: &Session) -> Result<(), Failure> {
    match coordinator::running(session)? {
        Some(running) => coordinator::end(running.pid, Duration::from_secs(10)),
        None => Ok(()),
    }
}

/// The folder with everything in it: repository, plan and agent.
fn stage(keep: Option<&Path>) -> Result<PathBuf, Failure> {
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
    fs::create_dir_all(folder.join("calc").join("tests")).map_err(io)?;
    for (path, text) in [("plan.toml", PLAN), ("agent.sh", AGENT), ("calc/run-tests.sh", TESTS)] {
        fs::write(folder.join(path), text).map_err(io)?;
    }
    let script = folder.join("agent.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).map_err(io)?;
    let repository = folder.join("calc");
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "You"],
        &["config", "user.email", "you@shipmate.invalid"],
        &["add", "."],
        &["commit", "--quiet", "-m", "a script that runs tests, and none yet"],
    ] {
        let status = Command::new("git").args(args).current_dir(&repository).status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(unusable(&format!("git {} failed: {status}", args[0]))),
            Err(e) => return Err(unusable(&format!("git cannot be run: {e}; install it"))),
        }
    }
    Ok(folder)
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Kills the supervisor of whoever takes the fatal task first.
fn kill_one(mut session: Session) {
    let Ok(mut asking) = session.again() else { return };
    std::thread::spawn(move || {
        let mut fatal = None;
        let followed = session.client.follow(0, |text| {
            let record: Value = serde_json::from_str(text).unwrap_or_default();
            let event = &record["event"];
            if event["task.created"]["spec"]["alias"] == FATAL {
                fatal = event["task.created"]["task"].as_u64();
            }
            let claimed = &event["task.claimed"];
            if claimed["task"].as_u64().is_none() || claimed["task"].as_u64() != fatal {
                return std::ops::ControlFlow::Continue(());
            }
            let name = claimed["by"].as_str().and_then(|by| by.split('@').next()).unwrap_or("");
            kill(&mut asking, name);
            std::ops::ControlFlow::Break(())
        });
        // Without it the run simply goes well.
        drop(followed);
    });
}

fn kill(asking: &mut Session, name: &str) {
    let Ok(Answer::Teammate(mate)) = asking.ask(Ask::TeammateShow { name: name.to_owned() }) else {
        return;
    };
    let pid = mate.pid.and_then(|pid| i32::try_from(pid).ok());
    if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
        // Gone already: then there is nothing to show.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// The repository's own tests, in the person's working tree.
fn test(repository: &Path) -> Result<String, Failure> {
    let ran = Command::new("sh")
        .arg("run-tests.sh")
        .current_dir(repository)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Failure::Storage(format!("sh cannot be run: {e}")))?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let passed = text.lines().filter(|line| line.starts_with("ok ")).count();
    match ran.status.success() && passed > 0 {
        true => Ok(format!("{passed} passed")),
        false => Err(Failure::Storage(format!("the repository's tests fail:\n{text}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_is_no_success_unless_all_of_it_was_seen() {
        assert_eq!(PLAN.matches("[[tasks]]").count(), TASKS);
        assert_eq!(lacking(12, 1, 1), None);
        assert_eq!(lacking(12, 2, 1), None);
        assert_eq!(lacking(12, 0, 1).unwrap(), "no gate was red");
        assert_eq!(lacking(12, 1, 0).unwrap(), "no teammate disappeared");
        assert_eq!(lacking(11, 1, 1).unwrap(), "11 of 12 tasks were completed");
    }
}
