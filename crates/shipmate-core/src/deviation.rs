//! Deviations: what went otherwise than planned in a team that works by a playbook, and how its
//! members came and went.
//!
//! Summaries tell them, so they are kept in words and with the task they are about. They follow
//! from the records alone; a team without a playbook is told of by whoever reads its log.

use shipmate_model::event::{Event, Outcome, Record, TaskId};
use shipmate_model::name::{Address, TeammateRef};
use shipmate_model::old;

use crate::state::{Deviation, Health, HealthWord, ShutdownEnd, State, Teammate};

/// Most that are kept of one tree: a summary with more is read by nobody.
const DEVIATIONS_MAX: usize = 1000;

fn note_health(state: &mut State, record: &Record) {
    let (who, word, silent) = match &record.event {
        Event::TeammateStarted { who, .. } => (who, HealthWord::Start, false),
        // Whoever waits for the verdict on its work is not through with it.
        Event::TeammateIdle { who, .. } if is_free(state, who) => (who, HealthWord::Idle, false),
        Event::TeammateStopped { who, .. } => (who, HealthWord::Stop, false),
        Event::TeammateDisappeared { who, reason, loss, .. } => {
            (who, HealthWord::Disappeared, old::is_silence(*loss, reason))
        }
        _ => return,
    };
    let before = last_word(state, &who.address);
    if before != Some(word) {
        let (who, at) = (who.address.clone(), record.at);
        keep_health(state, Health { who, word, at, before, silent });
    }
}

/// Whose task a record takes away, while that life still holds it.
pub(crate) fn holder(state: &State, event: &Event) -> Option<TeammateRef> {
    let (Event::TaskCompleted { task, .. }
    | Event::TaskFailed { task, .. }
    | Event::TaskReleased { task, .. }) = event
    else {
        return None;
    };
    Some(state.task(*task)?.claim()?.by.clone())
}

/// Notes that a life has come to the end of its last task and has no other. A second task is a
/// second such end, so the word before may be the same.
pub(crate) fn note_idle(state: &mut State, record: &Record, holder: &TeammateRef) {
    if !is_free(state, holder) {
        return;
    }
    let (who, word, at) = (holder.address.clone(), HealthWord::Idle, record.at);
    let before = last_word(state, &who);
    keep_health(state, Health { who, word, at, before, silent: false });
}

/// It runs, and has no task in hand or at its gate.
fn is_free(state: &State, who: &TeammateRef) -> bool {
    state.teammates.get(&who.address).is_some_and(|mate| {
        let has_none =
            mate.holds.is_empty() && mate.submitted.is_empty() && mate.returned.is_empty();
        mate.is_running() && mate.epoch == who.epoch && has_none
    })
}

fn last_word(state: &State, who: &Address) -> Option<HealthWord> {
    state.health.iter().rev().find(|one| one.who == *who).map(|one| one.word)
}

fn keep_health(state: &mut State, health: Health) {
    let team = state.teams.get(&health.who.team);
    if team.is_none_or(|team| team.setup.playbook.is_none()) {
        return;
    }
    // The newest are kept: what is long past is in the log.
    if state.health.len() >= DEVIATIONS_MAX {
        state.health.remove(0);
    }
    state.health.push(health);
}

/// Notes what a record says before it is applied: a life that ends still holds what it held.
pub(crate) fn note(state: &mut State, record: &Record) {
    let found = of(state, &record.event);
    let keeps = |one: &Deviation| {
        state.teams.get(&one.team).is_some_and(|team| team.setup.playbook.is_some())
    };
    let found: Vec<Deviation> = found.into_iter().filter(keeps).collect();
    let room = DEVIATIONS_MAX.saturating_sub(state.deviations.len());
    state.deviations.extend(found.into_iter().take(room));
    note_health(state, record);
    if let Event::TaskClaimed { task, by, .. } = &record.event {
        state.teammate_mut(&by.address).last_task = Some(*task);
    }
}

fn of(state: &State, event: &Event) -> Vec<Deviation> {
    match event {
        Event::TaskFailed { task, reason, .. } => {
            about_task(state, *task, |name| format!("{name} failed: {}", first_line(reason)))
        }
        Event::TaskWorkSetAside { task, who, work, host, .. } => about_task(state, *task, |name| {
            let on = host.as_ref().map(|host| format!(" on host {host}")).unwrap_or_default();
            format!("work of {} on {name} was set aside{on}: {work}", who.address.name)
        }),
        Event::TeammateDisappeared { who, reason, loss, .. } => {
            let mate = &state.teammates[&who.address];
            let seconds = state.teams[&who.address.team].setup.answer_ms / 1000;
            let text = match old::is_silence(*loss, reason) {
                true => {
                    format!("[HEALTH] Agent {} disappeared after {seconds}s timeout.", who.address)
                }
                false => {
                    format!("[HEALTH] Agent {} disappeared: {}", who.address, first_line(reason))
                }
            };
            of_life(state, &who.address, mate, text)
        }
        Event::BreakerOpened { team } => {
            let text = format!(
                "[FALLBACK] teammates disappeared one after the other: switching from teammate to \
                 task for {team}"
            );
            vec![Deviation { team: team.clone(), task: None, text }]
        }
        Event::ShutdownTimedOut { shutdown } => {
            let Some(asked) = state.shutdowns.get(shutdown) else { return Vec::new() };
            let who = &asked.who.address;
            if asked.rejected.is_some() {
                return Vec::new();
            }
            let text = format!(
                "[SHUTDOWN] Timeout: {who} did not respond within {}s.",
                asked.deadline_ms / 1000
            );
            of_life(state, who, &state.teammates[who], text)
        }
        Event::TeammateStopped { who, outcome } => {
            let (address, mate) = (&who.address, &state.teammates[&who.address]);
            let unanswered = mate
                .shutdown
                .and_then(|id| state.shutdowns.get(&id))
                .is_some_and(|asked| asked.end == ShutdownEnd::Open);
            let mut found = Vec::new();
            if unanswered {
                let text = format!(
                    "[SHUTDOWN] Protocol failed, force-proceeding with cleanup. {address} ended \
                     without an answer"
                );
                found.extend(of_life(state, address, mate, text));
            }
            let left = match outcome {
                Outcome::InProgress { pending } => {
                    format!("{address} left work in progress: {}", pending.join("; "))
                }
                Outcome::Error { reason } => {
                    format!("{address} ended with an error: {}", first_line(reason))
                }
                Outcome::Clean | Outcome::TimedOut | Outcome::Forced => return found,
            };
            found.extend(of_life(state, address, mate, left));
            found
        }
        _ => Vec::new(),
    }
}

fn about_task(state: &State, id: TaskId, text: impl FnOnce(&str) -> String) -> Vec<Deviation> {
    let Some(task) = state.task(id) else { return Vec::new() };
    let name = match &task.spec.alias {
        Some(alias) => alias.to_string(),
        None => format!("task {id}"),
    };
    vec![Deviation { team: task.team.clone(), task: Some(id), text: text(&name) }]
}

/// About what a life held, else what it last had.
fn of_life(state: &State, who: &Address, mate: &Teammate, text: String) -> Vec<Deviation> {
    let team = &who.team;
    let one = |task| Deviation { team: team.clone(), task, text: text.clone() };
    let held = mate.holds.iter().chain(&mate.returned);
    let held: Vec<Deviation> = held.map(|id| one(Some(*id))).collect();
    let last = mate.last_task.filter(|id| state.task(*id).is_some());
    if held.is_empty() { vec![one(last)] } else { held }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
