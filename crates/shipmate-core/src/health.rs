//! Health: lives that end unasked, or stand still.
//!
//! The core measures no time. An observer watches on its own clock and says how long nothing has
//! moved; each word names the life it is about, so a late one changes nothing.

use shipmate_model::command::Act;
use shipmate_model::event::{Event, MessageKind, Outcome, Recipient, ReleaseCause, Supervision};
use shipmate_model::limits::{STRIKES_MAX, TEXT_BYTES_MAX};
use shipmate_model::name::{Actor, Address, TeammateRef};
use shipmate_model::profile::Loss;
use shipmate_model::refusal::Refusal;

use crate::breaker::counts;
use crate::ending;
use crate::life;
use crate::mail;
use crate::size::check_texts;
use crate::state::{BreakerPhase, Life, ShutdownEnd, State, Teammate};
use crate::usage;

/// The runtime saw a process or connection go. What it held is free again, once.
pub(crate) fn decide_disappeared(
    state: &State,
    by: &Actor,
    who: &TeammateRef,
    reason: &str,
    loss: Loss,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report that a teammate disappeared")?;
    let found = state.require_current(who)?;
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX)])?;
    let (gone, why) = (who.clone(), reason.to_owned());
    let given_up = life::is_given_up_after(found, loss);
    let mut events = usage::settle_open(state, who, found);
    events.push(Event::TeammateDisappeared { who: gone, reason: why, loss, given_up });
    let (cause, word) = match loss {
        Loss::Host if is_machine_gone(state, found) => (ReleaseCause::HostGone, reason),
        Loss::Host => (ReleaseCause::HostGone, "everything on its holder's machine had ended"),
        Loss::Died | Loss::Silent => (ReleaseCause::HolderGone, "its holder disappeared"),
        Loss::Broken | Loss::Hung => (ReleaseCause::HolderGone, reason),
        Loss::Unable => (ReleaseCause::HolderUnable, reason),
    };
    events.extend(life::release_all(state, found, cause, word));
    let team = &who.address.team;
    let over = ending::ended_with(state, &who.address);
    if over.contains(&Event::TeamDeleted { team: team.clone() }) {
        events.extend(mail::bounce_all(state, &who.address, "its team ended"));
    } else {
        events.extend(mail::expire_control(state, &who.address, "its life ended"));
    }
    events.extend(match loss {
        Loss::Unable => tell_unable(state, who, reason),
        _ => {
            let mut text = format!("{who} disappeared: {reason}");
            if given_up {
                text.push_str(
                    "; [FALLBACK] it could not work in several lives and is not started again by \
                     itself",
                );
            }
            mail::tell_lead_about(state, team, Some(&who.address), text)
        }
    });
    let breaker = &state.teams[team].breaker;
    let opens = match &breaker.phase {
        BreakerPhase::Closed => counts(loss) && breaker.strikes.len() + 1 >= STRIKES_MAX,
        BreakerPhase::HalfOpen { probe, .. } => loss != Loss::Unable && probe.as_ref() == Some(who),
        BreakerPhase::Open { .. } => false,
    };
    if opens {
        events.push(Event::BreakerOpened { team: team.clone() });
        let text = format!(
            "[FALLBACK] {} teammates of {team} disappeared within 5 minutes, last {who}: {reason}; \
             until one answers again, each task gets a one-shot agent",
            breaker.strikes.len() + 1
        );
        events.extend(mail::tell_lead_about(state, team, Some(&who.address), text));
    }
    events.extend(over);
    Ok(events)
}

/// Of a machine that is away it is not known what has ended there.
fn is_machine_gone(state: &State, mate: &Teammate) -> bool {
    let host = mate.host.as_ref().and_then(|host| state.hosts.get(host));
    host.is_some_and(|host| !host.is_there())
}

/// Only a person can mend it, and hears of one cause once.
fn tell_unable(state: &State, who: &TeammateRef, reason: &str) -> Option<Event> {
    let team = &who.address.team;
    let same = |(other, mate): (&Address, &Teammate)| {
        *other != who.address
            && mate.is_given_up()
            && matches!(&mate.life, Life::Disappeared { reason: other } if other == reason)
    };
    if state.members_of(team).any(same) {
        return None;
    }
    let text =
        format!("{who} cannot work: {reason}; mend that, then `shipmate --team {team} resume`");
    mail::to_one(state, Recipient::Person, MessageKind::Notice, text, None)
}

/// What the end of a life's process means: its shutdown if it was asked, a one-shot
/// that is done, and a disappearance otherwise.
pub fn ended(state: &State, who: &TeammateRef, reason: &str) -> Option<Act> {
    let mate = state.require_current(who).ok()?;
    let who = who.clone();
    let asked = mate.shutdown.and_then(|id| state.shutdowns.get(&id)).map(|found| &found.end);
    match asked {
        Some(ShutdownEnd::Ending { outcome }) => {
            return Some(Act::ReportStopped { who, outcome: outcome.clone() });
        }
        // It went when it was asked to and left the answer out.
        Some(ShutdownEnd::Open) => {
            let left: Vec<String> = mate.holds.iter().map(|id| format!("task {id}")).collect();
            let outcome = match left.is_empty() {
                true => Outcome::Clean,
                false => Outcome::InProgress { pending: left },
            };
            return Some(Act::ReportStopped { who, outcome });
        }
        Some(ShutdownEnd::Closed { .. }) | None => {}
    }
    let done = mate.supervision == Supervision::OneShot && mate.claims > 0;
    if done && mate.holds.is_empty() {
        return Some(Act::ReportStopped { who, outcome: Outcome::Clean });
    }
    Some(Act::ReportDisappeared { who, reason: reason.to_owned(), loss: Loss::Died })
}

/// How long the silence lasts between the step before and this one; all three together are the
/// time after which a teammate is given up.
pub(crate) fn silence_ms(stall_ms: u64, step: u32) -> u64 {
    match step {
        1 => stall_ms / 2,
        2 => stall_ms / 4,
        _ => stall_ms - stall_ms / 2 - stall_ms / 4,
    }
}

/// No progress was seen: first the teammate is told, then its lead, then it is given up.
pub(crate) fn decide_stalled(
    state: &State,
    by: &Actor,
    who: &TeammateRef,
    step: u32,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report that a teammate stalls")?;
    let mate = state.require_current(who)?;
    if step == mate.stalls || (step > 0 && step != mate.stalls + 1) {
        return Ok(Vec::new());
    }
    let team = &who.address.team;
    let stall_ms = state.teams[team].setup.stall_ms;
    if step > 2 {
        let reason = format!("it hung: no sign of progress for {}", span(stall_ms));
        return decide_disappeared(state, by, who, &reason, Loss::Hung);
    }
    let mut events = vec![Event::TeammateStalled { who: who.clone(), step }];
    let silence = (1..=step).map(|step| silence_ms(stall_ms, step)).sum();
    let (text, left) = (format!("no sign of progress for {}", span(silence)), stall_ms - silence);
    events.extend(match step {
        1 => {
            let text = format!("{text}: say what you are waiting for, or give the task back");
            mail::control_notice(state, who, text)
        }
        2 => {
            let text = format!("{who} stalls: {text}; in {} it is given up", span(left));
            mail::tell_lead_about(state, team, Some(&who.address), text)
        }
        _ => None,
    });
    Ok(events)
}

/// A time as people say it.
pub(crate) fn span(ms: u64) -> String {
    match ms {
        ms if ms >= 60_000 && ms % 60_000 == 0 => format!("{} min", ms / 60_000),
        ms if ms >= 1_000 => format!("{} s", ms / 1_000),
        ms => format!("{ms} ms"),
    }
}
