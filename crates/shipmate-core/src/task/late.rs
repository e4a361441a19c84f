//! Late work: what a claim left that had ended before its work was handed in.
//!
//! Whoever finds some says so, as often as it likes and after any crash: what the team was handed under
//! that claim is not late, and what is on record is not told again.

use shipmate_model::event::{Event, TaskId, Token};
use shipmate_model::limits::{CLOSED_KEPT, SUBJECT_BYTES_MAX};
use shipmate_model::name::{Actor, Name};
use shipmate_model::refusal::Refusal;

use crate::mail;
use crate::size::check_texts;
use crate::state::{SetAside, State, Task};

/// Work that somebody has found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Late<'a> {
    pub(crate) token: Token,
    pub(crate) work: &'a str,
    pub(crate) commit: Option<&'a String>,
    pub(crate) host: Option<&'a Name>,
}

pub(crate) fn decide_set_aside(
    state: &State,
    by: &Actor,
    id: TaskId,
    late: Late<'_>,
) -> Result<Vec<Event>, Refusal> {
    let task = state.require_task(id)?;
    let Actor::Teammate(who) = by else {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "set work aside" });
    };
    // Also of one that was removed: late work is never lost.
    if !state.teammates.contains_key(&who.address) {
        state.require_member(&who.address)?;
    }
    let Late { token, work, .. } = late;
    let commit = late.commit.map_or("", String::as_str);
    check_texts(&[
        ("the work", work, SUBJECT_BYTES_MAX),
        ("the commit", commit, SUBJECT_BYTES_MAX),
    ])?;
    if let Some(claim) = task.claim().filter(|claim| claim.token == token) {
        return Err(Refusal::ClaimStands { task: id, by: claim.by.clone() });
    }
    if is_known(task, late) {
        return Ok(Vec::new());
    }
    if task.set_aside.len() >= CLOSED_KEPT {
        let (size, limit) = (task.set_aside.len(), CLOSED_KEPT);
        let what = "the work set aside";
        return Err(Refusal::OverLimit { what, size, limit, unit: "entries" });
    }
    let (commit, host) = (late.commit.cloned(), late.host.cloned());
    let on = host.as_ref().map(|host| format!(" on host {host}")).unwrap_or_default();
    let text = format!("late work of {who} on task {id} was set aside{on}: {work}");
    let (who, work) = (who.clone(), work.to_owned());
    let mut events = vec![Event::TaskWorkSetAside { task: id, token, who, work, commit, host }];
    events.extend(mail::tell_lead(state, &task.team, text));
    Ok(events)
}

/// The team was handed it under some claim, or has been told of it.
fn is_known(task: &Task, late: Late<'_>) -> bool {
    let was_handed_in =
        late.commit.is_some_and(|commit| task.handed_in.values().any(|known| known == commit));
    let is_same = |kept: &SetAside| {
        let same_commit = late.commit.is_some() && kept.commit.as_ref() == late.commit;
        let same_words = kept.token == late.token
            && kept.work == late.work
            && kept.commit.as_ref() == late.commit;
        kept.host.as_ref() == late.host && (same_commit || same_words)
    };
    was_handed_in || task.set_aside.iter().any(is_same)
}

/// Of a task that was tried very often the last claims are kept.
pub(crate) fn apply_handed_in(task: &mut Task, token: Token, commit: &str) {
    task.handed_in.insert(token, commit.to_owned());
    while task.handed_in.len() > CLOSED_KEPT {
        task.handed_in.pop_first();
    }
}
