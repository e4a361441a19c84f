//! One run of a team's gate: its commands, one after the other, on a tree.
//!
//! The commands are those recorded with the team, never those in the tree. They run with
//! pipefail, under a limit of time, behind a fence and without secrets in their environment: they
//! run what agents have handed in. Nothing they start outlives them. A command that somebody
//! ended from outside (the kernel for want of memory, a person), or that could not be started, has said
//! nothing about the tree: the gate is run again.
//!
//! The tree is prepared first as the team's trees are (`shipmate_programs::preparation`): where that fails,
//! no command was tried.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use shipmate_model::playbook::Expect;
use shipmate_model::setup::{SET_UP_FAILS, Setup, Tried};
use shipmate_model::{Act, Name};
use shipmate_process::regular_file::read_end;
use shipmate_process::{Exit, Launcher, Marker, Output, Program, Spec, blocking};
use shipmate_programs::fence::{self, Grounds};
use shipmate_programs::preparation;
use shipmate_protocol::Place;

use crate::crew::Crew;
use crate::hooks::evidence;

/// What is kept of a gate's output, from its beginning and from its end, and how much of both goes into a
/// reason.
const OUTPUT_BYTES_MAX: u64 = 512 * 1024;
const BEGINNING_BYTES_MAX: usize = 1024;
const END_BYTES_MAX: usize = 3 * 1024;

/// How often a gate that is ended from outside is run before that is the answer.
const RUNS_MAX: u32 = 3;
/// SIGHUP, SIGINT, SIGKILL and SIGTERM. A program that ends by another one has crashed by itself.
const FROM_OUTSIDE: [i32; 4] = [1, 2, 9, 15];

#[derive(Debug, Clone, Default)]
pub(crate) struct GateResult {
    pub(crate) passed: bool,
    pub(crate) took_ms: u64,
    /// The command that failed, how, and the end of what it printed.
    pub(crate) evidence: String,
    pub(crate) failing: Vec<String>,
    /// Where all is that its last command printed.
    pub(crate) log: PathBuf,
    /// It was ended from outside each time, or could not be started: whether it would pass is not known.
    pub(crate) killed: bool,
    /// Of these, it could not be started.
    pub(crate) unstarted: bool,
    /// The tree could not be set up: no command of the gate has run.
    pub(crate) unprepared: bool,
    pub(crate) tried: Tried,
}

/// Runs the gate, and again where it is ended from outside.
pub(crate) async fn run(
    crew: &Rc<Crew>,
    team: &Name,
    setup: &Setup,
    expect: Expect,
    cwd: &Path,
) -> GateResult {
    let began = Instant::now();
    let env = match crew.prepare_in_queue(team, setup, cwd).await {
        Ok(env) => env,
        Err(reason) => {
            let (tried, took_ms) = (Tried::SetUp, began.elapsed().as_millis() as u64);
            let evidence = format!("{SET_UP_FAILS}: {reason}");
            let result = GateResult { evidence, took_ms, tried, ..GateResult::default() };
            return GateResult { unprepared: true, log: preparation::log_of(cwd), ..result };
        }
    };
    let mut result = run_once(crew, team, setup, expect, cwd, &env).await;
    for _ in 1..RUNS_MAX {
        if !result.killed {
            break;
        }
        let how = result.evidence.lines().next().unwrap_or_default();
        let (team_name, note) = (team.clone(), format!("{how}: the gate is run again"));
        crew.board.tell(Act::ReportHook { team: team_name, hook: "gate".to_owned(), note });
        result = run_once(crew, team, setup, expect, cwd, &env).await;
    }
    if setup.gate.is_empty() {
        result.tried = Tried::SetUp;
    }
    result
}

/// Runs it once; one that expects red passes when a command fails.
async fn run_once(
    crew: &Rc<Crew>,
    team: &Name,
    setup: &Setup,
    expect: Expect,
    cwd: &Path,
    env: &BTreeMap<String, String>,
) -> GateResult {
    let began = Instant::now();
    let mut result = GateResult { passed: true, ..GateResult::default() };
    let mut has_run = true;
    if let Err(reason) = make_anew(crew, setup, cwd).await {
        result.evidence = format!("the gate could not be started: {reason}");
        (result.passed, result.killed, result.unstarted) = (false, true, true);
        return result;
    }
    for (number, line) in setup.gate.iter().enumerate() {
        let limit = Duration::from_millis(setup.gate_timeout_ms).saturating_sub(began.elapsed());
        result.log = log_of(&crew.settings.place, crew.board.root.as_str(), cwd, number + 1);
        let command = Command { line, log: &result.log };
        if let Err(failed) = run_one(crew, (team, setup), limit, (cwd, env), command).await {
            result.passed = false;
            result.evidence = failed.evidence;
            result.failing = failed.failing;
            (result.killed, result.unstarted) = (failed.killed, failed.unstarted);
            has_run = failed.has_run;
            break;
        }
    }
    if expect == Expect::Red && has_run {
        result.passed = !result.passed;
        let green = "every command of the gate succeeds, and new tests have to fail first";
        result.evidence = if result.passed { String::new() } else { green.to_owned() };
    }
    result.took_ms = began.elapsed().as_millis() as u64;
    result
}

/// Where it runs besides its tree.
fn grounds_of(crew: &Rc<Crew>, setup: &Setup, tree: &Path) -> Result<Grounds, String> {
    let (settings, root) = (&crew.settings, crew.board.root.as_str());
    let links = setup.trees.as_ref().map(|trees| trees.preparation.link.as_slice());
    let grounds = Grounds::of(&settings.place, &settings.agents, root, "_gate")?;
    Ok(grounds.linking(&settings.place, links.unwrap_or_default()).judging(tree))
}

/// What an earlier gate has left there judges nothing.
async fn make_anew(crew: &Rc<Crew>, setup: &Setup, tree: &Path) -> Result<(), String> {
    let grounds = grounds_of(crew, setup, tree)?;
    blocking(move || grounds.make_anew()).await
}

/// Where all that a command of the gate printed in this tree last is kept.
fn log_of(place: &Place, root: &str, tree: &Path, number: usize) -> PathBuf {
    let name = tree.file_name().unwrap_or_default().to_string_lossy();
    place.team(root).join("gates").join(format!("{name}.{number}.log"))
}

/// Past so many bytes the rest is in a file of its own, of which the end is kept.
fn rest_of(log: &Path) -> PathBuf {
    log.with_added_extension("more")
}

fn printed(log: &Path) -> String {
    let [beginning, end] =
        [log, &rest_of(log)].map(|file| read_end(file, OUTPUT_BYTES_MAX).unwrap_or_default());
    String::from_utf8_lossy(&[beginning, end].concat()).into_owned()
}

/// The beginning and the end: what a package manager prints at its end may bury what failed before.
fn shortened(output: &str) -> String {
    if output.len() <= BEGINNING_BYTES_MAX + END_BYTES_MAX {
        return output.to_owned();
    }
    let head = &output[..output.floor_char_boundary(BEGINNING_BYTES_MAX)];
    let head = head.rsplit_once('\n').map_or(head, |(lines, _)| lines);
    format!("{head}\n…\n{}", shipmate_process::tail(output, END_BYTES_MAX))
}

/// One command of a gate, and where what it prints is kept.
struct Command<'a> {
    line: &'a str,
    log: &'a Path,
}

/// A command that did not succeed.
struct Failed {
    evidence: String,
    failing: Vec<String>,
    /// It ran to an end of its own: what could not be started, was ended or took too long says
    /// nothing about tests.
    has_run: bool,
    killed: bool,
    unstarted: bool,
}

async fn run_one(
    crew: &Rc<Crew>,
    (team, setup): (&Name, &Setup),
    limit: Duration,
    (cwd, own): (&Path, &BTreeMap<String, String>),
    Command { line, log }: Command<'_>,
) -> Result<(), Failed> {
    // A full disk, say: no fault of what is tried.
    let not_started = |how: String| {
        let evidence = format!("`{line}` could not be started: {how}");
        Failed { evidence, failing: Vec::new(), has_run: false, killed: true, unstarted: true }
    };
    let digest = crew.settings.place.digest();
    let marker =
        Marker::new(&digest, "gate", team.as_str()).map_err(|e| not_started(e.to_string()))?;
    let gated = grounds_of(crew, setup, cwd)
        .and_then(|grounds| fence::judged(&grounds, &crew.settings.place, cwd))
        .map_err(not_started)?;
    if let Some(folder) = log.parent() {
        crew.settings.place.make(folder).map_err(|e| not_started(e.to_string()))?;
    }
    for earlier in [log.to_owned(), rest_of(log)] {
        drop(std::fs::remove_file(earlier));
    }
    let mut env = gated.env;
    env.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
    let spec = Spec {
        env,
        env_remove: gated.env_remove,
        fence: gated.fence,
        output: Output::Files { path: log.to_owned(), bytes_max: OUTPUT_BYTES_MAX },
        launcher: Launcher::through(crew.settings.agents.program.clone(), vec!["exec-tree".into()]),
        ..Spec::new(Program::Shell(line.to_owned()), cwd, marker)
    };
    let ran = shipmate_process::run(spec, limit).await.map_err(|e| not_started(e.to_string()))?;
    if ran.exit == Exit::Code(0) && !ran.timed_out {
        return Ok(());
    }
    let how = match (ran.timed_out, ran.exit) {
        (true, _) => {
            format!("did not end within the gate's time, of which {} s were left", limit.as_secs())
        }
        (false, Exit::Code(code)) => format!("failed with exit status {code}"),
        (false, Exit::Signal(signal)) => format!("was ended by signal {signal}"),
    };
    let output = printed(log);
    let failing = evidence::failing_tests(&output);
    let shown = shortened(output.trim());
    // 126 and 127 are the shell's: there is no such program, or it may not be run.
    let has_run = !ran.timed_out && matches!(ran.exit, Exit::Code(code) if code < 126);
    let signal = match ran.exit {
        Exit::Signal(signal) => signal,
        // So a shell tells how the command it waited for has ended.
        Exit::Code(code) => code - 128,
    };
    let killed = !ran.timed_out && FROM_OUTSIDE.contains(&signal);
    let evidence = format!("`{line}` {how}\n{shown}");
    Err(Failed { evidence, failing, has_run, killed, unstarted: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_is_printed_the_beginning_and_the_end_are_told() {
        assert_eq!(shortened("a\nb"), "a\nb");
        let noise: String = (0..500).map(|n| format!("noise {n}\n")).collect();
        let shown = shortened(&format!("the cause\n{noise}the end"));
        assert!(
            shown.starts_with("the cause\nnoise 0\n") && shown.ends_with("\nthe end"),
            "{shown}"
        );
        assert!(shown.contains("\n…\nnoise ") && shown.len() < 4200, "{shown}");
    }
}
