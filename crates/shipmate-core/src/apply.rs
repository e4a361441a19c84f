//! `apply`: a record changes the state. It never refuses: what is in the log happened.

use shipmate_model::event::{Event, Recipient, Record};
use shipmate_model::name::{Name, TeammateRef};
use shipmate_model::status::HostState;

use crate::account;
use crate::breaker;
use crate::deviation;
use crate::escalation;
use crate::host;
use crate::kept;
use crate::life;
use crate::mail;
use crate::note;
use crate::phase;
use crate::plan;
use crate::route;
use crate::shutdown;
use crate::state::{
    BreakerPhase, Course, Decision, Delivery, Life, Message, Parked, Plan, Question, SetAside,
    State, Team, TeamPhase, recall,
};
use crate::task::owner::pair;
use crate::task::{change, claim, create, finish, scope};
use crate::team;
use crate::teammate;
use crate::trial;
use crate::usage;
use crate::withdrawal;

pub fn apply(state: &mut State, record: &Record) {
    assert_eq!(record.n, state.position + 1, "records are applied in order and without gaps");
    state.position = record.n;
    if let Some(req) = &record.req {
        state.clients.apply(req, record.n);
    }
    deviation::note(state, record);
    let holder = deviation::holder(state, &record.event);
    apply_event(state, record);
    if let Some(holder) = holder {
        deviation::note_idle(state, record, &holder);
    }
    state.index.settle(&state.teammates);
}

/// One match over all events: the compiler says which is missing.
fn apply_event(state: &mut State, record: &Record) {
    let (n, at) = (record.n, record.at);
    match &record.event {
        Event::TeamCreated { team, parent, description, verification, setup } => {
            let created = Team {
                parent: parent.clone(),
                description: description.clone(),
                setup: setup.clone(),
                course: Course::of(setup),
                ..Team::new(record.at, *verification)
            };
            team::apply_created(state, team, created);
        }
        Event::TeamPaused { team, reason, cause } => {
            team::apply_paused(state, record, team, reason, cause.as_ref());
        }
        Event::TeamContinued { team } => {
            phase::approval::apply_continued(state, team);
            recall(state, team);
        }
        Event::TeamDeletionRequested { team } => state.team_mut(team).phase = TeamPhase::Ending,
        Event::TeamDeleted { team } => state.team_mut(team).phase = TeamPhase::Deleted,
        Event::TeamBudgetSet { team, budget } => state.team_mut(team).budget = *budget,
        Event::TeamChanged { team, changes } => {
            let team = state.team_mut(team);
            changes.apply(&mut team.setup);
            // Another gate may be one that can never be green.
            team.gate_is_tried &= changes.gate.is_none();
        }
        Event::TeammateAdded { who, profile } => teammate::apply_added(state, who, profile),
        Event::TeammateStarted { who, token_hash, supervision, host } => {
            teammate::apply_started(state, who, token_hash, *supervision, host.as_ref());
        }
        Event::TeammateIdle { who, reason } => {
            let mate = state.teammate_mut(&who.address);
            mate.idle = Some(reason.clone());
            mate.told &= !mate.inbox.is_empty();
        }
        Event::TeammatePaused { who, reason, cause } => {
            teammate::apply_paused(state, record, who, reason, cause.as_ref());
        }
        Event::TeammateContinued { who } => state.teammate_mut(who).paused = None,
        Event::TeammateAgentChanged { who, choice } => {
            let mate = state.teammate_mut(who);
            choice.apply(&mut mate.profile);
            // Somebody has chosen anew: there is nothing to go back to.
            mate.fallen = None;
        }
        Event::TeammateFellOver { who, choice, back } => {
            account::apply_fell_over(state, who, choice, *back);
        }
        Event::TeammateModeChanged { who, mode } => state.teammate_mut(who).profile.mode = *mode,
        Event::TeammatePlaced { who, place } => {
            state.teammate_mut(who).profile.place.clone_from(place);
        }
        Event::TeammateDisappeared { who, reason, loss, .. } => {
            life::apply_disappeared(state, record.n, who, reason, *loss);
        }
        Event::TeammateStalled { who, step } => state.teammate_mut(&who.address).stalls = *step,
        Event::TeammateSession { who, session, fence, model } => {
            let teammate = state.teammate_mut(&who.address);
            (teammate.session, teammate.fence) = (session.clone(), fence.clone());
            teammate.model.clone_from(model);
        }
        Event::TeammateStopped { who, outcome } => {
            let life = Life::Stopped { outcome: outcome.clone() };
            life::apply_ended(state, who, life, "stopped".to_owned());
        }
        Event::TeammateRemoved { who } => teammate::apply_removed(state, who),
        Event::TeammateBudgetSet { who, budget } => state.teammate_mut(who).budget = *budget,
        Event::TaskCreated { task, team, spec } => {
            create::apply_created(state, at, &record.by, *task, team, spec);
        }
        Event::TaskUpdated { task, changes } => change::apply_updated(state, at, *task, changes),
        Event::TaskClaimed { task, by, lease_ms } => {
            claim::apply_claimed(state, record.n, at, *task, by, *lease_ms);
        }
        Event::TaskRenewed { task, renewal, .. } => claim::apply_renewed(state, *task, *renewal),
        Event::TaskSubmitted { task, token, commit, result, handoff } => {
            finish::apply_submitted(state, at, *task, *token, commit, result);
            finish::apply_handed_over(state, *task, *token, handoff.as_deref());
        }
        Event::TaskCompleted { task, commit, result, .. } => {
            finish::apply_completed(state, at, *task, commit, result);
        }
        Event::TaskReturned { task, reason, unchanged, .. } => {
            finish::apply_returned(state, at, *task, reason, *unchanged);
        }
        Event::TaskReleased { task, cause, reason, .. } => {
            finish::apply_released(state, at, &record.by, *task, *cause, reason);
        }
        Event::TaskFailed { task, reason, .. } => {
            finish::apply_failed(state, at, &record.by, *task, reason);
        }
        Event::TaskReverted { task, reason, .. } => {
            change::apply_reverted(state, at, &record.by, *task, reason);
        }
        Event::TaskRetried { task } => change::apply_retried(state, at, *task),
        Event::TaskAssigned { task, to } => change::apply_assigned(state, at, *task, to.as_ref()),
        Event::TaskDeleted { task } => change::apply_deleted(state, at, *task),
        Event::TaskWorkSetAside { task, token, who, work, commit, host } => {
            let (who, work) = (who.clone(), work.clone());
            let (commit, host) = (commit.clone(), host.clone());
            let kept = SetAside { token: *token, who, work, commit, host };
            state.task_mut(*task).set_aside.push(kept);
        }
        Event::TaskScopeGranted { task, files } => scope::apply_granted(state, *task, files),
        Event::TaskScopeLeftOut { task, files } => scope::apply_left_out(state, *task, files),
        Event::GateRan(run) => trial::apply_gate(state, run),
        Event::NoteAdded { team, text, task } => {
            note::apply_added(state, record, team, text, *task);
        }
        Event::NoteRemoved { note, .. } => note::apply_removed(state, *note),
        Event::HookNoted { .. } => {}
        Event::MessageSent { to, kind, body, reply_to, epoch, line_end } => {
            if let (Some(end), [Recipient::Member(who)]) = (line_end, to.as_slice()) {
                state.dropped.insert(who.clone(), *end);
            }
            kept::apply_sent(state, &record.by, kind, body);
            let waiting = to.iter().map(|to| (to.clone(), Delivery::Queued)).collect();
            let (from, kind, body) = (record.by.clone(), kind.clone(), body.clone());
            let (reply_to, epoch) = (*reply_to, *epoch);
            let from = sender(from, &kind);
            route::apply_sent(state, &from, &kind, to);
            shutdown::apply_word(state, &from, to);
            team::apply_word(state, &from, &kind, to, &body);
            let message = Message { from, kind, body, reply_to, epoch, sent_at: at, waiting };
            mail::apply_sent(state, n, message);
        }
        Event::MessageOffered { to, messages } => {
            mail::apply_progress(state, to, messages, &Delivery::Offered);
        }
        Event::MessageInjected { to, messages, turn } => {
            mail::apply_progress(state, to, messages, &Delivery::Injected { turn: *turn });
        }
        Event::MessageAcknowledged { to, messages }
        | Event::MessageExpired { to, messages, .. }
        | Event::MessageBounced { to, messages, .. } => mail::apply_done(state, to, messages),
        Event::PlanSubmitted { who, task, body, work } => {
            let (who, body, decision) = (who.clone(), body.clone(), Decision::Open);
            let work = work.clone();
            let plan = Plan { who, task: *task, body, work, submitted_at: at, decision };
            plan::apply_submitted(state, n, plan);
        }
        Event::PlanApproved { plan } => {
            plan::apply_verdict(state, *plan, Decision::Approved { by: record.by.clone() });
        }
        Event::PlanRejected { plan, feedback, unworkable } => {
            let (by, feedback, unworkable) = (record.by.clone(), feedback.clone(), *unworkable);
            plan::apply_verdict(state, *plan, Decision::Rejected { by, feedback, unworkable });
        }
        Event::PlanWithdrawn { plan, .. } => plan::apply_plan_withdrawn(state, *plan),
        Event::QuestionAsked { who, kind, text, options, task, files, owner } => {
            contested(state, who, owner.as_ref());
            let question = Question {
                who: who.clone(),
                kind: *kind,
                text: text.clone(),
                options: options.clone(),
                task: *task,
                files: files.clone(),
                asked_at: at,
                answer: None,
                withdrawn: false,
            };
            plan::apply_asked(state, n, question);
        }
        Event::QuestionAnswered { question, answer } => {
            plan::apply_answered(state, *question, &record.by, answer);
        }
        Event::QuestionWithdrawn { question, .. } => withdrawal::apply_withdrawn(state, *question),
        Event::ShutdownRequested { who, reason, deadline_ms } => {
            shutdown::apply_requested(state, n, &record.by, who, reason, *deadline_ms);
        }
        Event::ShutdownAnswered { shutdown, answer } => {
            shutdown::apply_answered(state, *shutdown, answer);
        }
        Event::ShutdownTimedOut { shutdown } => shutdown::apply_timed_out(state, *shutdown),
        Event::EscalationRaised { escalation, from, to, task, question, body } => {
            let (task, question) = (*task, *question);
            let fresh = escalation::Fresh { from, to, task, question, body };
            escalation::apply_raised(state, n, *escalation, fresh);
        }
        Event::EscalationResolved { escalation } => {
            escalation::apply_resolved(state, *escalation);
        }
        Event::PhaseWaits { team, phase, missing, .. } => {
            phase::apply_waits(state, team, phase, missing);
        }
        Event::PhaseBegan { team, phase, round, .. } => {
            phase::apply_began(state, (n, record.at), team, phase, *round)
        }
        Event::PhaseLeftToLead { team, reason, for_good, .. } => {
            phase::apply_left_to_lead(state, n, team, for_good.then_some(reason));
        }
        Event::PhaseEnded { team, phase, round, end } => {
            phase::apply_ended(state, record.at, team, phase, *round, end);
        }
        Event::HostJoined { host, spec } => host::apply_joined(state, host, spec),
        Event::HostDraining { host, draining } => {
            let standing = if *draining { HostState::Draining } else { HostState::Joined };
            state.host_mut(host).state = standing;
        }
        Event::HostLeft { host } => host::apply_left(state, host),
        Event::HostLost { host, silent_ms, .. } => {
            let found = state.host_mut(host);
            (found.state, found.silent_ms) = (HostState::Lost, *silent_ms);
        }
        Event::HomeMoved { host } => state.home = Some(host.clone()),
        Event::BranchMoved { branch, commit } => {
            state.branches.insert(branch.clone(), commit.clone());
        }
        Event::BreakerOpened { team } => {
            breaker::apply_breaker(state, team, BreakerPhase::Open { at: n });
        }
        Event::BreakerHalfOpened { team } => {
            breaker::apply_breaker(state, team, BreakerPhase::HalfOpen { at: n, probe: None });
        }
        Event::BreakerClosed { team } => breaker::apply_breaker(state, team, BreakerPhase::Closed),
        Event::BreakerStrikeForgiven { team, strike } => {
            state.team_mut(team).breaker.strikes.remove(strike);
        }
        Event::TeammateAccount { who, account, subscription } => {
            account::apply_set(state, who, account, *subscription);
        }
        Event::AccountTold { account, windows } => {
            usage::apply_moved(state, &record.by, account, windows);
            account::apply_told(state, at, account, windows);
        }
        Event::AccountParked { account, until, told, reason } => {
            let parked = Parked { n, at, until: *until, told: *told, reason: reason.clone() };
            account::apply_parked(state, account, parked);
        }
        Event::AccountResumed { account } => {
            let by_person = record.by == shipmate_model::name::Actor::Person;
            account::apply_resumed(state, at, account, by_person);
        }
        Event::UsageReserved { who, usage } => usage::apply_reserved(state, n, who, usage),
        Event::UsageRecorded { who, usage, reservation, .. } => {
            usage::apply_recorded(state, who, usage, *reservation);
        }
    }
}

/// Somebody asked for what is another's.
fn contested(state: &mut State, who: &TeammateRef, owner: Option<&Name>) {
    let Some(owner) = owner else { return };
    let (less, more) = pair(&who.address.name, owner);
    let counts = state.team_mut(&who.address.team).contested.entry(less.clone()).or_default();
    *counts.entry(more.clone()).or_default() += 1;
}

/// A notice or bounce comes from the runtime, whoever's command brought it about.
fn sender(
    by: shipmate_model::name::Actor,
    kind: &shipmate_model::event::MessageKind,
) -> shipmate_model::name::Actor {
    use shipmate_model::event::MessageKind::{Bounce, Notice, WorkDone};
    match kind {
        Notice | WorkDone | Bounce => shipmate_model::name::Actor::Runtime,
        _ => by,
    }
}
