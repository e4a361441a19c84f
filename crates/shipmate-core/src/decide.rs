//! `decide`: a command against the state gives events or a refusal, and changes nothing.

use std::collections::BTreeMap;

use shipmate_model::command::{Act, Command};
use shipmate_model::event::{Event, MessageKind, Recipient};
use shipmate_model::name::{Address, Position};
use shipmate_model::refusal::Refusal;

use crate::account;
use crate::breaker;
use crate::escalation;
use crate::health;
use crate::host;
use crate::mail;
use crate::message;
use crate::note;
use crate::phase;
use crate::plan;
use crate::shutdown;
use crate::state::{State, TeamPhase};
use crate::task::late::{self, Late};
use crate::task::{change, claim, create, finish, scope, unchanged};
use crate::team;
use crate::teammate;
use crate::usage;
use crate::withdrawal;

/// What becomes of a command that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// To be recorded. Empty when the state already is as asked.
    Events(Vec<Event>),
    /// This very request was carried out before; its records are the answer.
    Before { first: Position, last: Position },
}

pub fn decide(state: &State, command: &Command) -> Result<Decided, Refusal> {
    if let Some(req) = &command.req
        && let Some(handled) = state.clients.handled(req)?
    {
        return Ok(Decided::Before { first: handled.first, last: handled.last });
    }
    let mut events = decide_act(state, command)?;
    events.extend(plan::done::told(state, &events));
    events.extend(withdrawal::brought_about(state, &events));
    Ok(Decided::Events(reach_somebody(state, events)))
}

/// What a command tells on its way would be read by nobody when it ends that reader's
/// life or team: the person is told instead, and what only bounced is left out.
fn reach_somebody(state: &State, events: Vec<Event>) -> Vec<Event> {
    // Most commands are one event, and tell nothing on their way.
    if events.len() < 2 {
        return events;
    }
    let ended: Vec<Event> = events.iter().filter(|event| ends_somebody(event)).cloned().collect();
    let is_over = |who: &Address| {
        state.teams[&who.team].phase == TeamPhase::Deleted
            || ended.iter().any(|event| match event {
                Event::TeammateStopped { who: ended, .. } => ended.address == *who,
                Event::TeammateRemoved { who: ended } => ended == who,
                Event::TeamDeleted { team } => *team == who.team,
                _ => false,
            })
    };
    let unread = |to: &[Recipient]| matches!(to, [Recipient::Member(who)] if is_over(who));
    let redirect = |event: Event| match event {
        Event::MessageSent { to, kind, body, .. } if unread(&to) => {
            let news = kind != MessageKind::Bounce;
            news.then(|| mail::to_one(state, Recipient::Person, kind, body, None)).flatten()
        }
        event => Some(event),
    };
    // Each message had room by itself; together they may have none.
    let mut told: BTreeMap<Recipient, usize> = BTreeMap::new();
    let mut has_room = |event: &Event| {
        let Event::MessageSent { to, .. } = event else { return true };
        to.iter().all(|to| {
            let more = told.entry(to.clone()).or_default();
            *more += 1;
            mail::has_room(state, to, *more)
        })
    };
    events.into_iter().filter_map(redirect).filter(|event| has_room(event)).collect()
}

fn ends_somebody(event: &Event) -> bool {
    use Event::{TeamDeleted, TeammateRemoved, TeammateStopped};
    matches!(event, TeammateStopped { .. } | TeammateRemoved { .. } | TeamDeleted { .. })
}

/// One match over all acts: the compiler says which is missing.
pub(crate) fn decide_act(state: &State, command: &Command) -> Result<Vec<Event>, Refusal> {
    let by = &command.by;
    match &command.act {
        Act::CreateTeam(cmd) => team::decide_create(state, by, cmd),
        Act::DeleteTeam { team, reason, urgency } => {
            team::decide_delete(state, by, team, reason, *urgency)
        }
        Act::ChangeTeam { team, changes, agents } => {
            team::decide_change(state, by, team, changes, agents)
        }
        Act::SetTeamBudget { team, budget } => usage::decide_team_budget(state, by, team, *budget),
        Act::PauseTeam { team, reason } => team::decide_pause(state, by, team, reason),
        Act::ContinueTeam { team } => team::decide_continue(state, by, team),
        Act::ExpireTeam { team } => crate::phase::alone::decide_expire(state, by, team),
        Act::AddTeammate { who, profile } => teammate::decide_add(state, by, who, profile),
        Act::StartTeammate(cmd) => teammate::decide_start(state, by, cmd),
        Act::RemoveTeammate { who } => teammate::decide_remove(state, by, who),
        Act::PauseTeammate { who, reason, spent } => {
            teammate::decide_pause(state, by, who, reason, *spent)
        }
        Act::ContinueTeammate { who } => teammate::decide_continue(state, by, who),
        Act::SetTeammateMode { who, mode } => teammate::decide_mode(state, by, who, *mode),
        Act::PlaceTeammate { who, place } => host::decide_place(state, by, who, place),
        Act::SetTeammateBudget { who, budget } => {
            usage::decide_teammate_budget(state, by, who, *budget)
        }
        Act::ReportIdle { reason } => teammate::decide_idle(state, by, reason),
        Act::ReportDisappeared { who, reason, loss } => {
            health::decide_disappeared(state, by, who, reason, *loss)
        }
        Act::ReportStalled { who, step } => health::decide_stalled(state, by, who, *step),
        Act::ReportSession { session, fence, model } => {
            teammate::decide_session(state, by, session, fence, model)
        }
        Act::ReportStopped { who, outcome } => teammate::decide_stopped(state, by, who, outcome),
        Act::SetAccount { who, account, subscription } => {
            account::decide_set(state, by, who, account, *subscription)
        }
        Act::FallOver { who } => account::decide_fall_over(state, by, who),
        Act::ReportWindows { account, windows, at } => {
            account::decide_windows(state, by, account.as_ref(), windows, *at)
        }
        Act::ParkAccount { account, until, reason, at } => {
            account::decide_park(state, by, account.as_ref(), *until, reason, *at)
        }
        Act::ResumeAccount { account, parked } => {
            account::decide_resume(state, by, account, *parked)
        }
        Act::JoinHost { host, spec } => host::decide_join(state, by, host, spec),
        Act::DrainHost { host, draining } => host::decide_drain(state, by, host, *draining),
        Act::LeaveHost { host, now } => host::decide_leave(state, by, host, *now),
        Act::ReportHostLost { host, boot, silent_ms } => {
            host::decide_lost(state, by, host, boot, *silent_ms)
        }
        Act::MoveHome { host } => host::decide_move_home(state, by, host),
        Act::ReportBranch { branch, commit, from } => {
            host::decide_branch(state, by, branch, commit, from.as_deref())
        }
        Act::CreateTasks { team, tasks } => create::decide_create(state, by, team, tasks),
        Act::UpdateTask { task, changes } => change::decide_update(state, by, *task, changes),
        Act::ClaimTask { task, lease_ms } => claim::decide_claim(state, by, *task, *lease_ms),
        Act::ClaimNext { lease_ms } => claim::decide_claim_next(state, by, *lease_ms),
        Act::RenewClaim { task, token } => claim::decide_renew(state, by, *task, *token),
        Act::ExpireClaim { task, token, renewal } => {
            claim::decide_expire(state, by, *task, *token, *renewal)
        }
        Act::SubmitTask { task, token, commit, result, handoff } => {
            let (commit, handoff) = (commit.as_ref(), handoff.as_deref());
            let work = finish::Work { commit, result, handoff };
            finish::decide_submit(state, by, *task, *token, work)
        }
        Act::CompleteTask { task, token, commit, result } => {
            let work = finish::Work { commit: commit.as_ref(), result, handoff: None };
            finish::decide_complete(state, by, *task, *token, work)
        }
        Act::ReturnTask { task, token, reason } => {
            finish::decide_return(state, by, *task, *token, reason)
        }
        Act::ReturnUnchanged { task, token } => {
            unchanged::decide_unchanged(state, by, *task, *token)
        }
        Act::AskScope { task, token, files, reason } => {
            scope::decide_ask_scope(state, by, *task, *token, files, reason)
        }
        Act::ReportGate(run) => finish::decide_gate(state, by, run),
        Act::AddNote { team, text, task } => note::decide_add(state, by, team, text, *task),
        Act::RemoveNote { note } => note::decide_remove(state, by, *note),
        Act::ReportHook { team, hook, note } => finish::decide_hook(state, by, team, hook, note),
        Act::FailTask { task, token, reason } => {
            finish::decide_fail(state, by, *task, *token, reason)
        }
        Act::ReleaseTask { task, token, reason } => {
            finish::decide_release(state, by, *task, *token, reason)
        }
        Act::AssignTask { task, to } => change::decide_assign(state, by, *task, to.as_ref()),
        Act::RevertTask { task, commit, reason } => {
            change::decide_revert(state, by, *task, commit, reason)
        }
        Act::RetryTask { task } => change::decide_retry(state, by, *task),
        Act::DeleteTask { task } => change::decide_delete(state, by, *task),
        Act::SetAsideWork { task, token, work, commit, host } => {
            let late = Late { token: *token, work, commit: commit.as_ref(), host: host.as_ref() };
            late::decide_set_aside(state, by, *task, late)
        }
        Act::SendMessage { to, kind, body, reply_to } => {
            message::decide_send(state, by, to, kind, body, *reply_to)
        }
        Act::TakeIn { to, body, line_end } => {
            message::decide_take_in(state, by, to, body, *line_end)
        }
        Act::ReadInbox { max } => message::decide_read(state, by, *max),
        Act::TakeInbox { max } => message::decide_take(state, by, *max),
        Act::InjectMessages { messages, turn } => {
            message::decide_inject(state, by, messages, *turn)
        }
        Act::AcknowledgeMessages { messages } => message::decide_acknowledge(state, by, messages),
        Act::ExpireMessages { to, messages, reason } => {
            message::decide_expire(state, by, to, messages, reason)
        }
        Act::SubmitPlan { task, body, work } => {
            plan::decide_submit(state, by, *task, body, work.as_deref())
        }
        Act::DecidePlan { plan, verdict } => plan::decide_verdict(state, by, *plan, verdict),
        Act::Ask { kind, text, options } => plan::decide_ask(state, by, *kind, text, options),
        Act::Answer { question, answer } => plan::decide_answer(state, by, *question, answer),
        Act::WithdrawQuestion { question, reason } => {
            plan::decide_withdraw(state, by, *question, reason)
        }
        Act::RequestShutdown { whom, reason, deadline_ms } => {
            shutdown::decide_request(state, by, whom, reason, *deadline_ms)
        }
        Act::AnswerShutdown { shutdown, answer } => {
            shutdown::decide_answer(state, by, *shutdown, answer)
        }
        Act::ExpireShutdown { shutdown } => shutdown::decide_expire(state, by, *shutdown),
        Act::RaiseEscalation { escalation, asked } => {
            escalation::decide_pass(state, by, *escalation, *asked)
        }
        Act::AskApproval { team, phase, text } => {
            phase::approval::decide_ask(state, by, team, phase, text)
        }
        Act::ApprovePhase { team, question } => {
            phase::approval::decide_approve(state, by, team, *question)
        }
        Act::BeginPhase(cmd) => phase::decide_begin(state, by, cmd),
        Act::HoldPhase { team, phase, missing, outside } => {
            phase::decide_hold(state, by, team, phase, missing, *outside)
        }
        Act::EndPhase { team, phase, round, verdict } => {
            phase::decide_end(state, by, team, phase, *round, verdict)
        }
        Act::ExpirePhase { team, began } => phase::decide_expire(state, by, team, *began),
        Act::ForgiveStrike { team, strike } => breaker::decide_forgive(state, by, team, *strike),
        Act::ProbeBreaker { team, opened } => breaker::decide_probe(state, by, team, *opened),
        Act::ReportProbe { team, half_opened, result } => {
            breaker::decide_probed(state, by, team, *half_opened, *result)
        }
        Act::ReserveUsage { usage } => usage::decide_reserve(state, by, usage),
        Act::ReportUsage { usage, task, reservation } => {
            usage::decide_report(state, by, usage, *task, *reservation)
        }
    }
}
