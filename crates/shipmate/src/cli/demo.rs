//! `shipmate demo`: a team of four on a real repository, from plan to merge.
//!
//! Everything is what a user would have: a git repository, a plan file, native teammates in
//! processes and clones of their own, a gate. Three things are arranged: the model's answers are
//! recorded, one of them is wrong, so that the gate rejects it, and this program kills one
//! supervisor in the middle of a task. The rest is the product at work, and the demo ends with
//! exit code 0 only if it came through. For real (`--real`) nothing is arranged but the plan.

mod stage;
mod thinking;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use shipmate_model::{Event, Record};

use crate::cli::coordinator;
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::run::watch::Watching;
use crate::cli::run::{self, RunArgs};
use crate::cli::screen::Screen;
use crate::cli::session::{Globals, Session};
use shipmate_protocol::verbs;
use stage::{RECORDED, stage};
use thinking::{Thinking, choose, limit_spending};

/// Whoever takes this task first is killed in the middle of it: when its model has answered so
/// often, the last answer but one has been carried out.
const FATAL: &str = "say";
const FATAL_ANSWER: usize = 2;
const TASKS: usize = 12;

/// Watch a team at work: a real repository, no key, no network, under a minute
///
/// Makes a small repository and runs a team of four native teammates on a dozen tasks that depend on
/// each other. They read, write, run tests and talk; only what their model answers is recorded. One
/// piece of work is wrong at first: the gate rejects it, and it is mended. One teammate is killed in
/// the middle of a task: the task is free at once and is taken again. The work is merged, the
/// repository's own tests run, and everything stays where it can be looked at.
///
/// Where a provider's key is in the environment (or `models.default` is set) you are asked whether to
/// run it for real: the same plan, no arranged mistake and no kill, and a budget that is told first.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate demo
  shipmate demo --real
  shipmate demo --keep /tmp/demo && shipmate --workspace /tmp/demo/calc log")]
pub(crate) struct DemoArgs {
    /// Play in this folder, new or empty [default: a new one among the temporary files]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// Ask a model, without asking you first; it costs money
    #[arg(long, conflicts_with = "recorded")]
    real: bool,

    /// Play what was recorded, without asking you
    #[arg(long)]
    recorded: bool,
}

pub(crate) fn run(args: &DemoArgs, globals: &Globals) -> Result<Exit, Failure> {
    let screen = Screen::new(globals.json);
    let folder = stage(args.keep.as_deref())?;
    let repository = folder.join("calc");
    let say = |text: &str| if screen.json { Ok(()) } else { screen.line(text) };
    let globals = Globals { workspace: Some(repository.clone()), ..globals.clone() };
    let mut session = Session::open(&globals)?;
    let thinking = match choose(args, &mut session) {
        Ok(thinking) => thinking,
        Err(failure) => {
            end_coordinator(&session)?;
            // It was new or empty, and may be named again.
            drop(std::fs::remove_dir_all(&folder));
            return Err(failure);
        }
    };
    say(&format!("a new repository in {}", folder.display()))?;
    let (begun, limit) = begin(&thinking, &folder, &mut session)?;
    say(&match &thinking {
        Thinking::Recorded(how) => format!(
            "four native teammates, twelve tasks; one will write a bug, one will be killed\n{how}\n"
        ),
        Thinking::Real { model } => format!(
            "four native teammates, twelve tasks, for real with {model}\nthey stop before they have \
             used {limit}\n"
        ),
    })?;
    let Some(watched) = run::watch::watch(&begun, session.again()?, Watching::default())? else {
        say(&format!(
            "nothing was merged; everything is in {0}, and this ends the team:\n  shipmate \
             --workspace {0} shutdown",
            repository.display()
        ))?;
        return Ok(Exit::Done);
    };
    let (report, disappeared) = (&watched.report, watched.account.disappeared);
    let seen = Seen { completed: report.tasks.completed, gates_red: report.gates.red, disappeared };
    if let Some(lacking) = seen.lacking(&thinking) {
        say(&format!(
            "\nthe demo did not show what it promises: {lacking}\n  shipmate --workspace {} log",
            repository.display()
        ))?;
        end_coordinator(&session)?;
        return Ok(Exit::Undone);
    }
    let merged = session.ask(verbs::Merge { branches: false, no_gate: false })?;
    say(&format!("\nmerged {} into your branch: {}", merged.branch, merged.notes.join("; ")))?;
    let tested = test(&repository)?;
    say(&format!("the repository's own tests on it: {tested}"))?;
    say(&format!("look around: cd {} && git log --graph && ./calc 6 x 7", repository.display()))?;
    end_coordinator(&session)?;
    Ok(watched.exit())
}

/// Puts the team to work; with how much it may spend, in words.
fn begin(
    thinking: &Thinking,
    folder: &Path,
    session: &mut Session,
) -> Result<(run::Begun, String), Failure> {
    let model = match thinking {
        Thinking::Recorded(_) => Some(RECORDED.to_owned()),
        Thinking::Real { .. } => None,
    };
    let plan = folder.join("plan.toml");
    let begun = run::begin(&RunArgs::of(plan, "native".to_owned(), model), session)?;
    let limit = match thinking {
        Thinking::Recorded(_) => {
            kill_one(session.again()?);
            String::new()
        }
        // What they have used until now counts.
        Thinking::Real { .. } => limit_spending(session)?,
    };
    Ok((begun, limit))
}

/// What there was to see.
struct Seen {
    completed: usize,
    gates_red: usize,
    disappeared: usize,
}

impl Seen {
    /// What should have happened and did not.
    fn lacking(&self, thinking: &Thinking) -> Option<&'static str> {
        let recorded = matches!(thinking, Thinking::Recorded(_));
        match self {
            Seen { completed, .. } if *completed < TASKS => Some("not every task was completed"),
            Seen { gates_red: 0, .. } if recorded => Some("no gate was red"),
            Seen { disappeared: 0, .. } if recorded => Some("no teammate disappeared"),
            _ => None,
        }
    }
}

fn end_coordinator(session: &Session) -> Result<(), Failure> {
    match coordinator::running(session)? {
        Some(running) => coordinator::end(running.pid, Duration::from_secs(10)),
        None => Ok(()),
    }
}

/// Kills the supervisor of whoever takes the fatal task first.
fn kill_one(mut session: Session) {
    let Ok(mut asking) = session.again() else { return };
    std::thread::spawn(move || {
        let (mut fatal, mut answers) = (None, 0);
        let followed = session.client.follow(0, |text| {
            match serde_json::from_str::<Record>(text).map(|record| record.event) {
                Ok(Event::TaskCreated { task, spec, .. })
                    if spec.alias.as_ref().is_some_and(|alias| alias.as_str() == FATAL) =>
                {
                    fatal = Some(task);
                }
                Ok(Event::UsageRecorded { who, task, .. }) if fatal.is_some() && task == fatal => {
                    answers += 1;
                    if answers == FATAL_ANSWER {
                        kill(&mut asking, who.address.name.as_str());
                        return std::ops::ControlFlow::Break(());
                    }
                }
                _ => {}
            }
            std::ops::ControlFlow::Continue(())
        });
        // Without it the run simply goes well.
        drop(followed);
    });
}

fn kill(asking: &mut Session, name: &str) {
    let Ok(mate) = asking.ask(verbs::TeammateShow { name: name.to_owned() }) else { return };
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
        assert_eq!(stage::PLAN.matches("[[tasks]]").count(), TASKS);
        let recorded = Thinking::Recorded("");
        let real = Thinking::Real { model: String::new() };
        for (seen, lacks, lacks_for_real) in [
            ((12, 1, 1), None, None),
            ((12, 2, 1), None, None),
            ((12, 0, 1), Some("no gate was red"), None),
            ((12, 1, 0), Some("no teammate disappeared"), None),
            (
                (11, 1, 1),
                Some("not every task was completed"),
                Some("not every task was completed"),
            ),
        ] {
            let (completed, gates_red, disappeared) = seen;
            let seen = Seen { completed, gates_red, disappeared };
            assert_eq!(seen.lacking(&recorded), lacks);
            assert_eq!(seen.lacking(&real), lacks_for_real);
        }
    }
}
