//! Asks the hooks of one event, one after the other, and says what came of it.
//!
//! The first rejection ends the round: what a later hook thinks of refused work is of no use. A
//! hook's words are handed on only in part when they are long, because a model reads them next.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use shipmate_process::{Exit, Fence, Launcher, Marker, Output, Program, Ran, Spec, Stdin, run};
use shipmate_process::{beginning, tail};

use super::evidence::ends;
use super::{Hook, HookCommand, HookEvent, Hooks, Payload};

/// The most that is handed on of why something was rejected.
const REASON_BYTES_MAX: usize = 8 * 1024;
/// The most that is kept of a hook's output.
const OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// The most that a record of a run keeps of each stream.
const TAIL_BYTES_MAX: usize = 4 * 1024;
const COMMAND_CHARS_MAX: usize = 120;

/// Where hooks run.
#[derive(Clone, Debug)]
pub struct Scene {
    pub cwd: PathBuf,
    /// Told to the hook as `SHIPMATE_PROJECT_DIR`. `CLAUDE_PROJECT_DIR` is where it runs: the project
    /// as the event has it.
    pub project_dir: PathBuf,
    pub marker: Marker,
    pub launcher: Launcher,
    pub env: Vec<(OsString, OsString)>,
    pub env_remove: Vec<OsString>,
    pub fence: Option<Fence>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// With what hooks said all the same.
    Accepted { notes: Vec<String> },
    /// With what the agent is told.
    Rejected { reason: String },
}

/// How one hook ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    Accepted,
    /// By exit code 2 or by JSON.
    Rejected,
    /// It ended in a way that means nothing to us.
    Failed(Exit),
    TimedOut,
    /// With the reason.
    NotStarted(String),
}

#[derive(Clone, Debug)]
pub struct HookRun {
    pub hook: Hook,
    pub how: How,
    pub took: Duration,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Clone, Debug)]
pub struct Fired {
    pub verdict: Verdict,
    pub runs: Vec<HookRun>,
}

/// Runs the hooks of the payload's event.
pub async fn fire(hooks: &Hooks, payload: &Payload, scene: &Scene) -> Fired {
    let event = payload.hook_event_name;
    let (mut notes, mut runs) = (Vec::new(), Vec::new());
    for hook in hooks.of(event) {
        let (run, opinion) = ask(hook, payload, scene).await;
        let took_ms = run.took.as_millis() as u64;
        tracing::info!(?event, how = ?run.how, took_ms, "a hook has run");
        let against = !matches!(run.how, How::Accepted);
        runs.push(run);
        if against && event.is_gate() {
            let reason = opinion.unwrap_or_default();
            return Fired { verdict: Verdict::Rejected { reason }, runs };
        }
        notes.extend(opinion);
    }
    Fired { verdict: Verdict::Accepted { notes }, runs }
}

/// Runs one hook. The text is its reason if it is against, else its remark.
async fn ask(hook: &Hook, payload: &Payload, scene: &Scene) -> (HookRun, Option<String>) {
    let ran = run(spec(hook, payload, scene), hook.timeout).await;
    let (how, words, took, stdout, stderr) = match ran {
        Ok(ran) => {
            let (stdout, stderr) = (ran.stdout.text(), ran.stderr.text());
            let (how, words) = judge(hook, &ran, &stdout, &stderr);
            (how, words, ran.took, stdout, stderr)
        }
        Err(failure) => {
            let why = failure.to_string();
            let words = format!("the hook could not be started: {why}");
            (How::NotStarted(why), Some(words), Duration::ZERO, String::new(), String::new())
        }
    };
    let opinion = words.map(|words| match how {
        How::Accepted => ends(&words, REASON_BYTES_MAX),
        _ => feedback(hook, &words),
    });
    let (stdout, stderr) = (tail(&stdout, TAIL_BYTES_MAX), tail(&stderr, TAIL_BYTES_MAX));
    let (stdout, stderr) = (stdout.to_owned(), stderr.to_owned());
    (HookRun { hook: hook.clone(), how, took, stdout, stderr }, opinion)
}

fn spec(hook: &Hook, payload: &Payload, scene: &Scene) -> Spec {
    let program = match &hook.command {
        HookCommand::Line(line) => Program::Shell(line.clone()),
        HookCommand::File(path) => Program::Argv(vec![path.clone().into_os_string()]),
    };
    let mut input = serde_json::to_vec(payload).expect("a payload is plain text fields");
    input.push(b'\n');
    let mut env = scene.env.clone();
    for (name, folder) in
        [("CLAUDE_PROJECT_DIR", &scene.cwd), ("SHIPMATE_PROJECT_DIR", &scene.project_dir)]
    {
        env.push((name.into(), folder.clone().into_os_string()));
    }
    Spec {
        env,
        env_remove: scene.env_remove.clone(),
        fence: scene.fence.clone(),
        stdin: Stdin::Bytes(input),
        output: Output::Capture { bytes_max: OUTPUT_BYTES_MAX },
        launcher: scene.launcher.clone(),
        ..Spec::new(program, &scene.cwd, scene.marker.clone())
    }
}

fn judge(hook: &Hook, ran: &Ran, stdout: &str, stderr: &str) -> (How, Option<String>) {
    if ran.timed_out {
        let limit = hook.timeout.as_secs_f64();
        let words = format!("the hook did not end within {limit} seconds and was ended");
        return (How::TimedOut, Some(with_output(&words, stdout, stderr)));
    }
    match ran.exit {
        Exit::Code(0) => reply(hook.event, stdout),
        Exit::Code(2) if stderr.trim().is_empty() => {
            let words = "the hook rejected this and wrote no reason to standard error";
            (How::Rejected, Some(with_output(words, stdout, "")))
        }
        Exit::Code(2) => (How::Rejected, Some(stderr.trim().to_owned())),
        exit => {
            let words = format!("the hook failed: {exit}, where 0 accepts and 2 rejects");
            (How::Failed(exit), Some(with_output(&words, stdout, stderr)))
        }
    }
}

/// The JSON that a hook may answer with. Anything else on standard output means nothing.
fn reply(event: HookEvent, stdout: &str) -> (How, Option<String>) {
    let Ok(Value::Object(reply)) = serde_json::from_str(stdout.trim()) else {
        return (How::Accepted, None);
    };
    let text = |key: &str| {
        let text = reply.get(key).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let stops = reply.get("continue") == Some(&Value::Bool(false));
    let blocks = matches!(text("decision").as_deref(), Some("block" | "deny"));
    if !stops && !blocks {
        return (How::Accepted, text("systemMessage"));
    }
    let [first, second] = if stops { ["stopReason", "reason"] } else { ["reason", "stopReason"] };
    let reason = text(first).or_else(|| text(second)).or_else(|| text("systemMessage"));
    let unsaid = || format!("the hook rejected {event} and gave no reason in its JSON");
    (How::Rejected, Some(reason.unwrap_or_else(unsaid)))
}

fn with_output(words: &str, stdout: &str, stderr: &str) -> String {
    let (name, output) = match (stderr.trim(), stdout.trim()) {
        ("", "") => return format!("{words}. It printed nothing."),
        ("", output) => ("standard output", output),
        (output, _) => ("standard error", output),
    };
    format!("{words}. The end of its {name}:\n{}", tail(output, TAIL_BYTES_MAX))
}

/// As Claude Code words it, so that agents and people meet one form.
fn feedback(hook: &Hook, words: &str) -> String {
    let shown = beginning(&hook.command.to_string(), COMMAND_CHARS_MAX);
    ends(&format!("{} hook feedback:\n[{shown}]: {words}", hook.event), REASON_BYTES_MAX)
}
