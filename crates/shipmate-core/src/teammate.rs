//! Teammates: members of a team with lives. A life is an epoch; what belongs to an
//! ended one can write, receive and stop nothing.

use shipmate_model::command::StartTeammate;
use shipmate_model::event::{
    Event, MessageKind, Mode, Outcome, Profile, Recipient, Record, Supervision,
};
use shipmate_model::limits::{
    BARREN_MAX, HELD_MAX, SUBJECT_BYTES_MAX, TEAMMATES_MAX, TEXT_BYTES_MAX,
};
use shipmate_model::name::{Actor, Address, TeammateRef};
use shipmate_model::old;
use shipmate_model::pause::{Pause, PauseCause};
use shipmate_model::refusal::Refusal;

use crate::account;
use crate::breaker;
use crate::host;
use crate::life::stop;
use crate::mail;
use crate::pause;
use crate::plan_mode;
use crate::size::{check_choice, check_files, check_texts};
use crate::state::{Life, State, Status, Teammate, current, ends_by_process, forget, is_led_by};

pub(crate) fn decide_add(
    state: &State,
    by: &Actor,
    who: &Address,
    profile: &Profile,
) -> Result<Vec<Event>, Refusal> {
    let team = state.require_active_team(&who.team)?;
    state.require_manager(by, &who.team, "add teammates")?;
    plan_mode::require_planned(state, by)?;
    if state.member(who).is_some() {
        return Err(Refusal::TeammateExists { who: who.clone() });
    }
    host::require_not_left(state, &profile.place)?;
    if let (shipmate_model::event::Seat::Lead, Some(lead)) = (profile.seat, &team.lead) {
        return Err(Refusal::LeadExists { team: who.team.clone(), lead: lead.clone() });
    }
    let role = team.setup.playbook.as_ref().and_then(|book| book.role(profile.role.as_ref()));
    if role.is_some_and(|role| role.one_shot) && !profile.one_shot {
        let what = "make a teammate of a role that has a life for one task";
        return Err(Refusal::NotTheirs { by: by.clone(), what });
    }
    let held = profile.tasks_max as usize;
    let limits = [
        ("the tree", state.teammates.len() + 1, TEAMMATES_MAX, "teammates"),
        ("the number of tasks held at once", held, HELD_MAX as usize, "tasks"),
    ];
    for (what, size, limit, unit) in limits {
        if size > limit {
            return Err(Refusal::OverLimit { what, size, limit, unit });
        }
    }
    check_files("the scope", &profile.scope)?;
    check_texts(&[
        ("the agent", &profile.agent, SUBJECT_BYTES_MAX),
        ("the model", &profile.model, SUBJECT_BYTES_MAX),
        ("the command", &profile.command, TEXT_BYTES_MAX),
    ])?;
    if let Some(fallback) = &profile.fallback {
        check_choice(fallback)?;
        if matches!(by, Actor::Teammate(_)) && !fallback.command.is_empty() {
            return Err(Refusal::NotTheirs { by: by.clone(), what: "bring a command of its own" });
        }
    }
    if held == 0 {
        return Err(Refusal::Zero { what: "the number of tasks held at once" });
    }
    // Whoever leads may choose among the agents there are, and what a person has set for the team or
    // a role; a new command is a person's.
    let known = |mate: &Teammate| mate.profile.command == profile.command;
    let setup = &state.teams[&who.team].setup;
    let mut roles = setup.playbook.iter().flat_map(|book| book.roles.values());
    let is_set = setup.agent == profile.command || roles.any(|role| role.agent == profile.command);
    if matches!(by, Actor::Teammate(_))
        && !profile.command.is_empty()
        && !is_set
        && !state.teammates.values().any(known)
    {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "bring a command of its own" });
    }
    Ok(vec![Event::TeammateAdded { who: who.clone(), profile: profile.clone() }])
}

pub(crate) fn apply_added(state: &mut State, who: &Address, profile: &Profile) {
    if profile.seat == shipmate_model::event::Seat::Lead {
        state.team_mut(&who.team).lead = Some(who.name.clone());
    }
    // A removed name that comes back goes on counting its epochs.
    let epoch = state.teammates.get(who).map_or(0, |before| before.epoch);
    // Work of an earlier life may still be at its gate under this name.
    let submitted = state.teammates.get(who).map(|before| before.submitted.clone());
    let added = Teammate {
        profile: profile.clone(),
        epoch,
        life: Life::Added,
        supervision: Supervision::None,
        host: None,
        token_hash: String::new(),
        idle: Some("not started".to_owned()),
        paused: None,
        holds: Default::default(),
        submitted: submitted.unwrap_or_default(),
        returned: Default::default(),
        inbox: Default::default(),
        told: false,
        may_answer: Default::default(),
        leaving: false,
        parked_task: None,
        fallen: None,
        switches: false,
        other_session: String::new(),
        last_task: None,
        approved_plan: None,
        shutdown: None,
        session: String::new(),
        account: None,
        model: String::new(),
        fence: String::new(),
        stalls: 0,
        claims: 0,
        barren: 0,
        stays: false,
        dismissed: false,
        budget: Default::default(),
        usage: Default::default(),
        booked: Vec::new(),
        reserved: Default::default(),
    };
    state.teammates.insert(who.clone(), added);
    state.index.note(who);
}

/// Begins a new life under the name.
///
/// A life that runs must end first: two processes under one name would each be
/// refused half of the time. The breaker may say no, except to one-shot teammates and to a person.
pub(crate) fn decide_start(
    state: &State,
    by: &Actor,
    cmd: &StartTeammate,
) -> Result<Vec<Event>, Refusal> {
    let teammate = state.require_member(&cmd.who)?;
    let team = state.require_active_team(&cmd.who.team)?;
    state.require_manager(by, &cmd.who.team, "start teammates")?;
    plan_mode::require_planned(state, by)?;
    if teammate.is_running() {
        return Err(Refusal::StillRunning { who: cmd.who.clone(), epoch: teammate.epoch });
    }
    check_texts(&[("the token's hash", &cmd.token_hash, SUBJECT_BYTES_MAX)])?;
    // A session that comes by itself may look on; it will be refused its claims.
    if let Some(pause) = team.paused.as_ref().filter(|_| cmd.supervision != Supervision::None) {
        let (team, reason) = (cmd.who.team.clone(), pause.describe());
        return Err(Refusal::TeamPaused { team, reason });
    }
    let mut events = match by {
        // A person who starts somebody has seen what was wrong.
        Actor::Person => breaker::close_breaker(state, &cmd.who.team),
        _ => {
            breaker::require_breaker(state, &cmd.who.team, cmd.supervision)?;
            Vec::new()
        }
    };
    if cmd.supervision != Supervision::None {
        account::require_open(state, &cmd.who, teammate)?;
    }
    let host = match cmd.supervision {
        Supervision::None => cmd.at.clone().filter(|host| state.hosts.contains_key(host)),
        _ => host::place(state, &cmd.who, teammate, state.loads())?,
    };
    let who = TeammateRef { address: cmd.who.clone(), epoch: teammate.epoch + 1 };
    events.extend(mail::expire_control(state, &cmd.who, "a new life began"));
    events.push(Event::TeammateStarted {
        who,
        token_hash: cmd.token_hash.clone(),
        supervision: cmd.supervision,
        host,
    });
    Ok(events)
}

pub(crate) fn apply_started(
    state: &mut State,
    who: &TeammateRef,
    token_hash: &str,
    supervision: Supervision,
    host: Option<&shipmate_model::name::Name>,
) {
    let teammate = state.teammate_mut(&who.address);
    teammate.epoch = who.epoch;
    teammate.life = Life::Running;
    teammate.token_hash = token_hash.to_owned();
    teammate.supervision = supervision;
    teammate.host = host.cloned();
    teammate.idle = Some("just started".to_owned());
    teammate.approved_plan = None;
    teammate.claims = 0;
    teammate.stalls = 0;
    teammate.booked.iter_mut().for_each(|booked| booked.unpriced.settle());
    teammate.dismissed = false;
    // Past the limit only somebody starts it who knows better.
    if teammate.barren >= BARREN_MAX {
        teammate.barren = 0;
    }
    mail::requeue(state, &who.address);
    breaker::note_probe(state, who);
}

pub(crate) fn decide_remove(
    state: &State,
    by: &Actor,
    who: &Address,
) -> Result<Vec<Event>, Refusal> {
    let teammate = state.require_member(who)?;
    state.require_manager(by, &who.team, "remove teammates")?;
    let mut events = Vec::new();
    if teammate.is_running() {
        if ends_by_process(teammate) {
            return Err(Refusal::StillRunning { who: who.clone(), epoch: teammate.epoch });
        }
        events = stop(state, &current(who, teammate), teammate, Outcome::Forced);
    } else {
        events.extend(mail::bounce_all(state, who, "it was removed"));
    }
    events.push(Event::TeammateRemoved { who: who.clone() });
    let left = left_over(state, who);
    if !left.is_empty() {
        let text = format!("{who} was removed; assigned to it and open: {left}");
        events.extend(mail::tell_lead_about(state, &who.team, Some(who), text));
    }
    Ok(events)
}

/// Tasks that only this one could take. Looks at the whole board, which a removal may.
fn left_over(state: &State, who: &Address) -> String {
    let own = state.tasks().iter().filter(|task| {
        let open = !matches!(task.status, Status::Completed { .. } | Status::Deleted);
        open && task.team == who.team && task.spec.assignee.as_ref() == Some(&who.name)
    });
    own.take(50).map(|task| task.id.to_string()).collect::<Vec<_>>().join(", ")
}

pub(crate) fn apply_removed(state: &mut State, who: &Address) {
    let lead = &mut state.team_mut(&who.team).lead;
    if lead.as_ref() == Some(&who.name) {
        *lead = None;
    }
    let mate = state.teammate_mut(who);
    mate.life = Life::Removed;
    mate.may_answer.clear();
    forget(state, who);
}

pub(crate) fn decide_idle(state: &State, by: &Actor, reason: &str) -> Result<Vec<Event>, Refusal> {
    let (who, teammate) = state.require_teammate(by, "report that it is idle")?;
    check_texts(&[("the reason", reason, SUBJECT_BYTES_MAX)])?;
    if reason.trim().is_empty() {
        return Err(Refusal::Empty { what: "the reason" });
    }
    // A phase may wait for what its lead makes of what it was told.
    let is_news = teammate.told && teammate.inbox.is_empty() && is_led_by(state, &who.address);
    if teammate.idle.as_deref() == Some(reason) && !is_news {
        return Ok(Vec::new());
    }
    Ok(vec![Event::TeammateIdle { who: who.clone(), reason: reason.to_owned() }])
}

pub(crate) fn decide_pause(
    state: &State,
    by: &Actor,
    who: &Address,
    reason: &str,
    spent: bool,
) -> Result<Vec<Event>, Refusal> {
    let teammate = state.require_member(who)?;
    // Everybody may stop taking work; going on is for others to say.
    match by {
        Actor::Teammate(me) if me.address == *who => {
            state.require_teammate(by, "stop taking work")?;
        }
        _ => state.require_manager(by, &who.team, "pause teammates")?,
    }
    check_texts(&[("the reason", reason, TEXT_BYTES_MAX)])?;
    let cause = pause::of_teammate(state, by, who, teammate, spent);
    let is_so = |pause: &Pause| pause.reason == reason && pause.cause == cause && pause.by == *by;
    if teammate.paused.as_ref().is_some_and(is_so) {
        return Ok(Vec::new());
    }
    let (who, reason, cause) = (who.clone(), reason.to_owned(), Some(cause));
    Ok(vec![Event::TeammatePaused { who, reason, cause }])
}

pub(crate) fn apply_paused(
    state: &mut State,
    record: &Record,
    who: &Address,
    reason: &str,
    cause: Option<&PauseCause>,
) {
    let old = || {
        let spent = old::is_spent(&record.by, who, reason);
        pause::of_teammate(state, &record.by, who, &state.teammates[who], spent)
    };
    let cause = cause.cloned().unwrap_or_else(old);
    state.teammate_mut(who).paused = Some(pause::of_record(record, cause, reason));
}

pub(crate) fn decide_continue(
    state: &State,
    by: &Actor,
    who: &Address,
) -> Result<Vec<Event>, Refusal> {
    let teammate = state.require_member(who)?;
    state.require_manager(by, &who.team, "let teammates continue")?;
    if matches!(by, Actor::Teammate(me) if me.address == *who) {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "end its own pause" });
    }
    if teammate.paused.is_none() {
        return Ok(Vec::new());
    }
    Ok(vec![Event::TeammateContinued { who: who.clone() }])
}

pub(crate) fn decide_mode(
    state: &State,
    by: &Actor,
    who: &Address,
    mode: Mode,
) -> Result<Vec<Event>, Refusal> {
    let teammate = state.require_member(who)?;
    state.require_manager(by, &who.team, "change a teammate's mode")?;
    // A lead may not lift its own limits.
    if matches!(by, Actor::Teammate(me) if me.address == *who) {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "change its own mode" });
    }
    if teammate.profile.mode == mode {
        return Ok(Vec::new());
    }
    Ok(vec![Event::TeammateModeChanged { who: who.clone(), mode }])
}

pub(crate) fn decide_stopped(
    state: &State,
    by: &Actor,
    who: &TeammateRef,
    outcome: &Outcome,
) -> Result<Vec<Event>, Refusal> {
    state.require_runtime(by, "report that a teammate stopped")?;
    let teammate = state.require_current(who)?;
    Ok(stop(state, who, teammate, outcome.clone()))
}

pub(crate) fn decide_session(
    state: &State,
    by: &Actor,
    session: &str,
    fence: &str,
    model: &str,
) -> Result<Vec<Event>, Refusal> {
    let (who, teammate) = state.require_teammate(by, "name its agent's session")?;
    check_texts(&[
        ("the session", session, SUBJECT_BYTES_MAX),
        ("the fence", fence, SUBJECT_BYTES_MAX),
        ("the model", model, SUBJECT_BYTES_MAX),
    ])?;
    let model = if model.is_empty() { &teammate.model } else { model };
    if teammate.session == session && teammate.fence == fence && teammate.model == model {
        return Ok(Vec::new());
    }
    let asked = &teammate.profile.model;
    let differs = teammate.model != model && is_another(asked, model);
    let (session, fence) = (session.to_owned(), fence.to_owned());
    let model = model.to_owned();
    let text = format!("{} asks model {model}, and was to ask {asked}", who.address);
    let mut events = vec![Event::TeammateSession { who: who.clone(), session, fence, model }];
    if differs {
        events.extend(mail::to_one(state, Recipient::Person, MessageKind::Notice, text, None));
    }
    Ok(events)
}

/// The model that is asked is another than the one that was to be. A short name means every model whose name
/// has it, and some mean any.
pub fn is_another(asked: &str, used: &str) -> bool {
    const ANY: [&str; 5] = ["default", "inherit", "best", "opusplan", "auto"];
    let plain = |text: &str| -> String {
        let name = text.rsplit('/').next().unwrap_or(text).to_lowercase();
        // A mark of the context's size is no part of the name.
        name.split('[').next().unwrap_or_default().replace(['.', '_', ' '], "-")
    };
    let (asked, used) = (plain(asked), plain(used));
    !asked.is_empty()
        && !used.is_empty()
        && !ANY.contains(&asked.as_str())
        && !used.contains(&asked)
        && !asked.contains(&used)
}
