//! What an event was about, in a few words: the same on every screen.

use serde::Deserialize;
use serde_json::{Map, Value};
use shipmate_model::account::{Window, moment};
use shipmate_model::event::{MessageKind, Recipient, ReleaseCause};
use shipmate_model::files::FileSet;
use shipmate_model::limits::NOTE_BYTES_MAX;
use shipmate_model::setup::{GateRun, Tried};
use shipmate_model::{Event, Record, TaskId};

use super::LogLine;

/// Longest part of a free text that is shown.
const TEXT_CHARS: usize = 72;
/// Of a note, and of what stands nowhere else.
const WHOLE_CHARS_MAX: usize = NOTE_BYTES_MAX;

/// A record as far as any release can read it.
#[derive(Debug, Deserialize)]
struct AnyRecord {
    n: u64,
    at: u64,
    by: String,
    event: Map<String, Value>,
}

/// A stored record as a line; one of a newer release too, only with less care. None where it is no
/// record at all.
pub fn line(record: &str, root: &str) -> Option<LogLine> {
    if let Ok(record) = serde_json::from_str::<Record>(record) {
        return Some(line_of(&record, root));
    }
    let AnyRecord { n, at, by, event } = serde_json::from_str(record).ok()?;
    let (event, fields) = event.into_iter().next()?;
    Some(LogLine { n, at, by, event, text: plain_fields(&fields) })
}

pub fn line_of(record: &Record, root: &str) -> LogLine {
    LogLine {
        n: record.n,
        at: record.at,
        by: record.by.to_string(),
        event: record.event.name().to_owned(),
        text: describe(&record.event, root),
    }
}

/// What the event was about.
pub fn describe(event: &Event, root: &str) -> String {
    let who = |who: &dyn ToString| Some(short(&who.to_string(), root).to_owned());
    let id = |id: &u64| Some(id.to_string());
    let of_task = |task: &TaskId, rest: Option<String>| joined([Some(task.to_string()), rest]);
    match event {
        Event::TaskCreated { task, spec, .. } => of_task(task, Some(short_text(&spec.subject))),
        Event::TaskUpdated { task, changes } => {
            let changed = serde_json::to_value(changes).unwrap_or_default();
            let keys = changed.as_object().into_iter().flat_map(Map::keys);
            let keys: Vec<String> = keys.map(|key| key.replace('_', " ")).collect();
            of_task(task, Some(keys.join(", ")))
        }
        Event::TaskClaimed { task, lease_ms, .. } => {
            of_task(task, lease_ms.map(|ms| format!("lease {}", duration(ms))))
        }
        Event::TaskRenewed { task, .. }
        | Event::TaskRetried { task }
        | Event::TaskDeleted { task } => of_task(task, None),
        Event::TaskSubmitted { task, result, .. } | Event::TaskCompleted { task, result, .. } => {
            of_task(task, text(result))
        }
        Event::TaskReturned { task, reason, .. }
        | Event::TaskFailed { task, reason, .. }
        | Event::TaskReverted { task, reason, .. } => of_task(task, text(reason)),
        Event::TaskReleased { task, cause, reason, .. } => {
            of_task(task, Some(short_text(&released(*cause, reason))))
        }
        Event::TaskAssigned { task, to } => {
            of_task(task, to.as_ref().map(|to| format!("to {}", short(to.as_str(), root))))
        }
        Event::TaskWorkSetAside { task, work, .. } => of_task(task, text(work)),
        Event::TaskScopeGranted { task, files } => {
            of_task(task, list(files).map(|files| format!("may also change {files}")))
        }
        Event::TaskScopeLeftOut { task, files } => {
            of_task(task, list(files).map(|files| format!("is merged without {files}")))
        }
        Event::NoteAdded { text: note, task, .. } => {
            joined([task.map(|task| format!("task {task}")), whole(note)])
        }
        Event::NoteRemoved { note, task } => {
            joined([task.map(|task| format!("task {task}")), Some(format!("note {note}"))])
        }
        Event::MessageSent { to, kind, body, .. } => {
            format!("to {}{}: {}", recipients(to, root), of_kind(kind), short_text(body))
        }
        Event::MessageOffered { to, messages }
        | Event::MessageInjected { to, messages, .. }
        | Event::MessageAcknowledged { to, messages } => delivered(to, messages, "", root),
        Event::MessageExpired { to, messages, reason }
        | Event::MessageBounced { to, messages, reason } => delivered(to, messages, reason, root),
        Event::TeammateAdded { who: added, profile } => {
            joined([who(added), profile.role.as_ref().map(|role| format!("role {role}"))])
        }
        Event::TeammateStarted { who: life, host, .. } => {
            joined([who(life), host.as_ref().map(|host| format!("on {host}"))])
        }
        Event::HostJoined { host, spec } => {
            joined([who(host), Some(format!("{} slots, release {}", spec.slots, spec.release))])
        }
        Event::HostDraining { host, draining: false } => {
            joined([who(host), Some("no longer".to_owned())])
        }
        Event::HostDraining { host, .. } | Event::HostLeft { host } | Event::HomeMoved { host } => {
            joined([who(host)])
        }
        Event::HostLost { host, boot, silent_ms: None } => joined([who(host), text(boot)]),
        Event::HostLost { host, silent_ms: Some(ms), .. } => {
            joined([who(host), Some(format!("silent for {} s", ms / 1_000))])
        }
        Event::TeammateAccount { who: mate, account, .. } => {
            joined([who(mate), Some(format!("asks with account {account}"))])
        }
        Event::AccountTold { account, windows } => {
            let windows: Vec<String> = windows.iter().map(Window::describe).collect();
            joined([who(account), text(&windows.join(", "))])
        }
        Event::AccountParked { account, until, reason, .. } => {
            joined([who(account), Some(format!("until {}", moment(*until))), text(reason)])
        }
        Event::AccountResumed { account } => joined([who(account)]),
        Event::BranchMoved { branch, commit } => joined([who(branch), text(commit)]),
        Event::TeammateContinued { who: mate }
        | Event::TeammateRemoved { who: mate }
        | Event::TeammateAgentChanged { who: mate, .. }
        | Event::TeammateBudgetSet { who: mate, .. } => joined([who(mate)]),
        Event::TeammateIdle { who: life, reason }
        | Event::TeammateDisappeared { who: life, reason, .. } => joined([who(life), text(reason)]),
        Event::TeammatePaused { who: mate, reason, .. } => joined([who(mate), text(reason)]),
        Event::TeammateFellOver { who: mate, choice, .. } => {
            joined([who(mate), text(choice.name())])
        }
        Event::TeammatePlaced { who: mate, place } => joined([who(mate), text(&place.to_string())]),
        Event::TeammateModeChanged { who: mate, mode } => {
            joined([who(mate), Some(mode.word().to_owned())])
        }
        Event::TeammateStalled { who: life, step } => joined([who(life), Some(stalled(*step))]),
        Event::TeammateSession { who: life, session, model, .. } => joined([
            who(life),
            text(session).map(|session| format!("its conversation is {session}")),
            text(model).map(|model| format!("it asks {model}")),
        ]),
        Event::TeammateStopped { who: life, outcome } => {
            joined([who(life), Some(short_text(&outcome.to_string()))])
        }
        Event::TeamCreated { team, description, .. } => {
            joined([Some(team.to_string()), text(description)])
        }
        Event::TeamPaused { team, reason, .. } => joined([Some(team.to_string()), text(reason)]),
        Event::TeamContinued { team }
        | Event::TeamDeletionRequested { team }
        | Event::TeamDeleted { team }
        | Event::TeamBudgetSet { team, .. }
        | Event::TeamChanged { team, .. }
        | Event::BreakerOpened { team }
        | Event::BreakerHalfOpened { team }
        | Event::BreakerClosed { team }
        | Event::BreakerStrikeForgiven { team, .. } => team.to_string(),
        Event::GateRan(run) => gate(run),
        Event::HookNoted { hook, note, .. } => named(text(hook), whole(note)),
        Event::PlanSubmitted { who: life, task, body, .. } => {
            joined([who(life), task.map(|task| format!("task {task}")), text(body)])
        }
        Event::PlanApproved { plan } => joined([id(plan)]),
        Event::PlanRejected { plan, feedback, .. } => joined([id(plan), text(feedback)]),
        Event::PlanWithdrawn { plan, reason } => joined([id(plan), text(reason)]),
        Event::QuestionAsked { who: life, text: asked, task, files, .. } => joined([
            who(life),
            task.map(|task| format!("task {task}")),
            list(files).map(|files| format!("wants to change {files}")),
            text(asked),
        ]),
        Event::QuestionAnswered { question, answer } => {
            joined([id(question), Some(short_text(answer))])
        }
        Event::QuestionWithdrawn { question, reason } => joined([id(question), text(reason)]),
        Event::ShutdownRequested { who: life, reason, .. } => joined([who(life), text(reason)]),
        Event::ShutdownAnswered { shutdown, answer } => {
            joined([id(shutdown), Some(short_text(&answer.to_string()))])
        }
        Event::ShutdownTimedOut { shutdown } => joined([id(shutdown)]),
        Event::EscalationRaised { .. }
        | Event::EscalationResolved { .. }
        | Event::PhaseWaits { .. }
        | Event::PhaseBegan { .. }
        | Event::PhaseLeftToLead { .. }
        | Event::PhaseEnded { .. }
        | Event::UsageReserved { .. }
        | Event::UsageRecorded { .. } => {
            let event = serde_json::to_value(event).unwrap_or_default();
            let fields = event.as_object().and_then(|event| event.values().next());
            fields.map(plain_fields).unwrap_or_default()
        }
    }
}

fn released(cause: ReleaseCause, reason: &str) -> String {
    let cause = match cause {
        ReleaseCause::Reassigned => "taken away".to_owned(),
        cause => cause.word().replace('_', " "),
    };
    match text(reason) {
        Some(reason) => format!("{cause}: {reason}"),
        None => cause,
    }
}

fn recipients(to: &[Recipient], root: &str) -> String {
    if to.len() > 3 {
        return format!("{} teammates", to.len());
    }
    let each = to.iter().map(|to| short(&to.to_string(), root).to_owned());
    each.collect::<Vec<_>>().join(", ")
}

fn of_kind(kind: &MessageKind) -> String {
    match kind {
        MessageKind::Message | MessageKind::Broadcast => String::new(),
        kind => format!(" ({})", kind.word()),
    }
}

fn delivered(to: &Recipient, messages: &[u64], reason: &str, root: &str) -> String {
    let ids: Vec<String> = messages.iter().map(ToString::to_string).collect();
    let reason = text(reason).map(|reason| format!(", {reason}")).unwrap_or_default();
    format!("{} of {}{reason}", ids.join(", "), short(&to.to_string(), root))
}

fn stalled(step: u32) -> String {
    match step {
        0 => "moves again".to_owned(),
        1 => "shows no progress".to_owned(),
        step => format!("still shows no progress, step {step}"),
    }
}

/// `tasks 1, 2 passed in 1.2 s`; a red one with the last line it printed.
fn gate(run: &GateRun) -> String {
    let ids = || run.tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let tasks = || match run.tasks.as_slice() {
        [task] => format!("task {task}"),
        _ => format!("tasks {}", short_text(&ids())),
    };
    let what = match (run.tasks.is_empty(), run.tried == Tried::SetUp) {
        (true, true) => "the set-up of the gate's tree".to_owned(),
        (true, false) => "the base".to_owned(),
        (false, true) => format!("the set-up with {}", tasks()),
        (false, false) => tasks(),
    };
    let verdict = if run.passed { "passed" } else { "failed" };
    // Runners end with a summary, and many with a line that has nothing to say.
    let lines = || run.output.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        // Where npm says that it has written the rest.
        !line.contains("a complete log of this run")
            && ["fail", "error", "not ok", "panick"].iter().any(|word| line.contains(word))
    };
    let last = lines().find(tells).or_else(|| lines().next());
    let told = format!("{what} {verdict} in {:.1} s", run.took_ms as f64 / 1000.0);
    named(Some(told), last.map(short_text))
}

/// Events this release knows nothing better for.
fn plain_fields(fields: &Value) -> String {
    let shown = fields.as_object().into_iter().flatten().map(|(key, value)| match value {
        Value::String(text) => format!("{key}={}", short_text(text)),
        other => format!("{key}={}", short_text(&other.to_string())),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| short_text(text))
}

/// All of a text, on one line.
fn whole(text: &str) -> Option<String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = words.chars().take(WHOLE_CHARS_MAX).collect();
    let more = if cut.len() < words.len() { "…" } else { "" };
    (!words.is_empty()).then(|| cut + more)
}

fn list(files: &FileSet) -> Option<String> {
    let each: Vec<String> = files.iter().map(ToString::to_string).collect();
    (!each.is_empty()).then(|| short_text(&each.join(", ")))
}

/// The first words of a text, on one line.
fn short_text(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TEXT_CHARS) {
        None => line,
        Some(_) => line.chars().take(TEXT_CHARS - 1).chain(['…']).collect(),
    }
}

/// `what: detail`
fn named(what: Option<String>, detail: Option<String>) -> String {
    [what, detail].into_iter().flatten().collect::<Vec<_>>().join(": ")
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A reference without the team's name where that is the root of the tree.
pub fn short<'a>(who: &'a str, root: &str) -> &'a str {
    who.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).unwrap_or(who)
}

/// A duration in the largest unit that divides it.
pub fn duration(ms: u64) -> String {
    for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
        if ms >= unit && ms.is_multiple_of(unit) {
            return format!("{}{name}", ms / unit);
        }
    }
    format!("{ms}ms")
}
