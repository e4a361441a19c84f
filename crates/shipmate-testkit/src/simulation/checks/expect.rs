//! What has to become of a command, decided again from the account of the log.
//!
//! `Some(true)`: it must be accepted, or change nothing because all is as asked. `Some(false)`: it
//! must be refused. `None`: no opinion. Texts of the simulated clients are within their limits.

use shipmate_core::State;
use shipmate_model::command::{NewTask, PhaseVerdict};
use shipmate_model::event::{
    AgentChoice, Dependency, Mode, Seat, Supervision, TaskChanges, TaskId, Token,
};
use shipmate_model::{Act, Actor, Address, Command, Name, TeammateRef};

use super::expect_talk;
use super::state::{first_taken, takeable};
use crate::simulation::model::{
    BreakerFacts, CourseFacts, Hold, LifeFacts, Model, NewEdges, Phase, StageFacts, StandingFacts,
    StatusFacts, TaskFacts, TeamFacts,
};

pub(super) fn verdict(model: &Model, state: &State, command: &Command) -> Option<bool> {
    let by = &command.by;
    let team = |name: &Name| model.teams.get(name).filter(|team| team.phase != Phase::Deleted);
    let active = |name: &Name| team(name).is_some_and(|team| team.phase == Phase::Active);
    let runtime = *by == Actor::Runtime;
    Some(match &command.act {
        Act::CreateTeam(cmd) => {
            let placed = match &cmd.parent {
                Some(parent) => active(parent) && model.manages(by, parent),
                None => model.teams.is_empty(),
            };
            placed && !model.teams.contains_key(&cmd.team)
        }
        Act::DeleteTeam { team: name, urgency, .. } => {
            let again = *urgency == shipmate_model::command::Urgency::Now;
            team(name).is_some() && model.manages(by, name) && (again || active(name))
        }
        Act::SetTeamBudget { team: name, .. } => {
            team(name).is_some() && !matches!(by, Actor::Teammate(_))
        }
        Act::ChangeTeam { team: name, changes, agents } => {
            let known = |(who, _): &(Address, AgentChoice)| model.is_member(who);
            // A lead chooses the model of whom it brings in, and nothing else.
            let is_more = changes.gate.is_some() || changes.agent.is_some() || !agents.is_empty();
            let may = !matches!(by, Actor::Teammate(_)) || (model.manages(by, name) && !is_more);
            active(name) && may && agents.iter().all(known)
        }
        Act::PauseTeam { team: name, .. } => active(name) && model.manages(by, name),
        // What the runtime asks a person no lead answers.
        Act::ContinueTeam { team: name } => {
            let asks = team(name).is_some_and(|team| team.asks.is_some());
            let teammate = matches!(by, Actor::Teammate(_));
            active(name) && model.manages(by, name) && !(asks && teammate)
        }
        Act::ExpireTeam { team: name } => runtime && active(name),
        Act::AddTeammate { who, profile } => {
            let brings_a_command = matches!(by, Actor::Teammate(_))
                && !profile.command.is_empty()
                && !model.mates.values().any(|mate| mate.command == profile.command);
            let second = profile.seat == Seat::Lead
                && team(&who.team).is_some_and(|team| team.lead.is_some());
            active(&who.team)
                && model.manages(by, &who.team)
                && model.has_planned(by)
                && !model.is_member(who)
                && !second
                && !brings_a_command
                && !model.has_left(&profile.place)
        }
        Act::StartTeammate(cmd) => {
            model.is_member(&cmd.who)
                && active(&cmd.who.team)
                && model.manages(by, &cmd.who.team)
                && model.has_planned(by)
                && model.mates[&cmd.who].life != LifeFacts::Running
                && (*by == Actor::Person || lets_start(model, &cmd.who.team, cmd.supervision))
                && (cmd.supervision == Supervision::None
                    || (!model.teams[&cmd.who.team].paused
                        && model.may_ask(&cmd.who)
                        && model.has_place(&cmd.who)))
        }
        Act::RemoveTeammate { who } => {
            let alive = |who: &Address| {
                let mate = &model.mates[who];
                mate.life == LifeFacts::Running && mate.supervision != Supervision::None
            };
            model.is_member(who) && model.manages(by, &who.team) && !alive(who)
        }
        Act::PauseTeammate { who, .. } => {
            let own = matches!(by, Actor::Teammate(me) if me.address == *who);
            let may = match by {
                Actor::Teammate(me) if own => model.is_current(me),
                _ => model.manages(by, &who.team),
            };
            model.is_member(who) && may
        }
        Act::PlaceTeammate { who, place } => {
            model.is_member(who) && model.manages(by, &who.team) && !model.has_left(place)
        }
        Act::ContinueTeammate { who }
        | Act::SetTeammateMode { who, .. }
        | Act::SetTeammateBudget { who, .. } => {
            let own = matches!(by, Actor::Teammate(me) if me.address == *who);
            model.is_member(who) && model.manages(by, &who.team) && !own
        }
        Act::ReportIdle { .. } | Act::ReportSession { .. } | Act::TakeInbox { .. } => {
            matches!(by, Actor::Teammate(me) if model.is_current(me))
        }
        Act::ReportDisappeared { who, .. }
        | Act::ReportStalled { who, .. }
        | Act::ReportStopped { who, .. } => runtime && model.is_current(who),
        Act::CreateTasks { team, tasks } => {
            let may = model.is_present(by) && model.has_planned(by);
            active(team) && may && plan_fits(model, team, tasks, &[])
        }
        act => {
            let verdict = model.host_verdict(by, act).or_else(|| model.account_verdict(by, act));
            return verdict.or_else(|| phase_verdict(model, state, by, act));
        }
    })
}

fn phase_verdict(model: &Model, state: &State, by: &Actor, act: &Act) -> Option<bool> {
    let found = |name: &Name| model.teams.get(name);
    let active = |name: &Name| found(name).is_some_and(|team| team.phase == Phase::Active);
    let runtime = *by == Actor::Runtime;
    Some(match act {
        Act::BeginPhase(cmd) => {
            let waits = |course: &&CourseFacts| course.standing == StandingFacts::Waiting;
            let course = model.course(&cmd.team).filter(waits);
            let names: Vec<&Name> = cmd.teammates.iter().map(|(name, _)| name).collect();
            runtime
                && active(&cmd.team)
                && !model.teams[&cmd.team].paused
                && course.is_some_and(|course| course.is_at(&cmd.phase, cmd.round))
                && cmd.again.iter().all(|one| {
                    let failed = |task: &&TaskFacts| {
                        task.status == StatusFacts::Failed && task.team == cmd.team
                    };
                    model.task(one.task).filter(failed).is_some()
                })
                && (cmd.tasks.is_empty() || plan_fits(model, &cmd.team, &cmd.tasks, &names))
        }
        Act::AskApproval { team: name, phase, .. } => {
            let waits = |course: &CourseFacts| {
                course.standing == StandingFacts::Waiting && course.phase() == phase
            };
            runtime && active(name) && model.course(name).is_some_and(waits)
        }
        Act::ApprovePhase { team: name, question } => {
            let asks = |team: &TeamFacts| team.asks.as_ref().is_some_and(|(n, _)| n == question);
            active(name) && found(name).is_some_and(asks) && !matches!(by, Actor::Teammate(_))
        }
        Act::HoldPhase { team: name, .. } | Act::ExpirePhase { team: name, .. } => {
            runtime && active(name)
        }
        Act::EndPhase { team: name, phase, round, verdict } => {
            let course = model.course(name).filter(|course| course.is_at(phase, *round));
            let left_out = |course: &CourseFacts| {
                let waits = course.standing == StandingFacts::Waiting;
                let skips = matches!(verdict, PhaseVerdict::Skip { .. });
                *by == Actor::Person && skips && course.is_optional() && waits
            };
            active(name) && course.is_some_and(|course| runtime || left_out(course))
        }
        act => return task_verdict(model, state, by, act),
    })
}

fn lets_start(model: &Model, team: &Name, supervision: Supervision) -> bool {
    match &model.teams[team].breaker {
        BreakerFacts::Closed | BreakerFacts::HalfOpen(_, None) => true,
        _ => supervision == Supervision::OneShot,
    }
}

fn plan_fits(model: &Model, team: &Name, tasks: &[NewTask], joining: &[&Name]) -> bool {
    let first = model.tasks.len() as TaskId + 1;
    let known = |on: &Dependency| match on {
        Dependency::Task(id) => *id > 0 && (*id as usize) < first as usize + tasks.len(),
        Dependency::Group(group) => {
            let fresh = tasks.iter().any(|new| new.spec.group.as_ref() == Some(group));
            model.groups.contains_key(group) || fresh
        }
    };
    let alias_is_free = |index: usize, new: &NewTask| {
        let Some(alias) = &new.spec.alias else { return true };
        let twin = |other: &NewTask| other.spec.alias.as_ref() == Some(alias);
        let taken = |task: &TaskFacts| {
            task.status != StatusFacts::Deleted && task.alias.as_ref() == Some(alias)
        };
        !tasks[..index].iter().any(twin) && !model.tasks.iter().any(taken)
    };
    let assignee_is_member = |new: &NewTask| {
        let name = new.spec.assignee.clone();
        name.is_none_or(|name| {
            joining.contains(&&name) || model.is_member(&Address { team: team.clone(), name })
        })
    };
    !tasks.is_empty()
        && tasks.iter().enumerate().all(|(index, new)| {
            new.spec.blocked_by.iter().all(known)
                && new.blocked_by_new.iter().all(|other| *other < tasks.len())
                && alias_is_free(index, new)
                && assignee_is_member(new)
        })
        && !model.closes_a_circle(&NewEdges::Tasks { first, tasks })
}

fn task_verdict(model: &Model, state: &State, by: &Actor, act: &Act) -> Option<bool> {
    let of = |id: &TaskId| model.task(*id);
    let runtime = *by == Actor::Runtime;
    let known = |team: &Name| model.teams.get(team).is_some_and(|t| t.phase != Phase::Deleted);
    Some(match act {
        Act::UpdateTask { task, changes } => may_update(model, by, of(task)?, changes),
        Act::ClaimTask { task, .. } => may_claim(model, state, by, of(task)),
        Act::ClaimNext { .. } => match by {
            Actor::Teammate(who) => {
                let all = takeable(model, state, who);
                let first = first_taken(model, state, who, &all).and_then(|id| model.task(id));
                let is_new = |task: &TaskFacts| task.status == StatusFacts::Pending;
                let may = |task: &TaskFacts| {
                    !is_new(task) || (has_room(state, who) && model.has_account_room(state, who))
                };
                model.has_free_hands(who) && first.is_some_and(may)
            }
            _ => false,
        },
        Act::RenewClaim { task, token } => claim_of(model, by, *task, *token).is_some(),
        Act::ExpireClaim { task, token, renewal } => {
            let current = |hold: &&Hold| {
                hold.token == *token
                    && hold.renewal == *renewal
                    && hold.stage != StageFacts::Submitted
            };
            runtime && model.hold(*task).filter(current).is_some()
        }
        Act::SubmitTask { task, token, .. } => {
            let claim = claim_of(model, by, *task, *token);
            claim.is_some_and(|hold| {
                hold.stage != StageFacts::Submitted && may_hand_in(model, &hold.by)
            })
        }
        Act::CompleteTask { task, token, .. } => {
            let claim = model.hold(*task).filter(|h| token.is_none_or(|token| token == h.token));
            claim.is_some_and(|hold| match by {
                Actor::Person => true,
                Actor::Outside => false,
                Actor::Runtime => hold.stage == StageFacts::Submitted,
                Actor::Teammate(who) => {
                    hold.by == *who
                        && model.is_current(who)
                        && !of(task).is_some_and(|task| model.teams[&task.team].gate)
                        && may_hand_in(model, who)
                }
            })
        }
        Act::ReportGate(run) => runtime && known(&run.team),
        Act::ReportHook { team, .. } => runtime && known(team),
        Act::ReturnTask { task, token, .. }
        | Act::ReturnUnchanged { task, token }
        | Act::AskScope { task, token, .. } => {
            let submitted = |h: &&Hold| h.token == *token && h.stage == StageFacts::Submitted;
            runtime && model.hold(*task).filter(submitted).is_some()
        }
        Act::FailTask { task, token, .. } => claim_of(model, by, *task, *token).is_some(),
        Act::ReleaseTask { task, token, .. } => {
            let claim = model.hold(*task).filter(|h| token.is_none_or(|token| token == h.token));
            claim.is_some_and(|hold| {
                let own = *by == Actor::Teammate(hold.by.clone());
                let managed = of(task).is_some_and(|task| model.manages(by, &task.team));
                if own { model.is_present(by) } else { managed }
            })
        }
        Act::AssignTask { task, to } => {
            let facts = of(task)?;
            let member = |name: &Name| {
                model.is_member(&Address { team: facts.team.clone(), name: name.clone() })
            };
            let over = matches!(facts.status, StatusFacts::Completed | StatusFacts::Deleted);
            model.manages(by, &facts.team) && to.as_ref().is_none_or(member) && !over
        }
        Act::RetryTask { task } => {
            let facts = of(task)?;
            let is_there = known(&facts.team);
            is_there && model.manages(by, &facts.team) && facts.status == StatusFacts::Failed
        }
        Act::RevertTask { task, .. } => runtime && of(task).is_some(),
        Act::DeleteTask { task } => {
            let facts = of(task)?;
            let own = made_by(facts, by);
            let may = model.is_present(by) && (own || model.manages(by, &facts.team));
            may && matches!(facts.status, StatusFacts::Pending | StatusFacts::Failed)
        }
        Act::SetAsideWork { task, token, .. } => {
            let Actor::Teammate(who) = by else { return Some(false) };
            let current = model.hold(*task).is_some_and(|hold| hold.token == *token);
            of(task).is_some() && model.mates.contains_key(&who.address) && !current
        }
        act => return expect_talk::verdict(model, by, act),
    })
}

/// The claim of this token, if this actor may act on it.
fn claim_of<'a>(model: &'a Model, by: &Actor, task: TaskId, token: Token) -> Option<&'a Hold> {
    let claim = model.hold(task).filter(|hold| hold.token == token)?;
    match by {
        Actor::Teammate(who) => (model.is_current(who) && claim.by == *who).then_some(claim),
        Actor::Runtime => Some(claim),
        Actor::Person | Actor::Outside => None,
    }
}

fn may_hand_in(model: &Model, who: &TeammateRef) -> bool {
    let mate = &model.mates[&who.address];
    mate.mode != Mode::Plan || mate.plan_approved
}

/// A name's next life goes on with what the last one made.
fn made_by(task: &TaskFacts, by: &Actor) -> bool {
    match (&task.created_by, by) {
        (Actor::Teammate(maker), Actor::Teammate(by)) => maker.address == by.address,
        (maker, by) => maker == by,
    }
}

/// The figure is the core's own; when it counts is not.
fn has_room(state: &State, who: &TeammateRef) -> bool {
    shipmate_core::full_queue(state, &who.address.team).is_none()
}

fn may_claim(model: &Model, state: &State, by: &Actor, task: Option<&TaskFacts>) -> bool {
    let (Actor::Teammate(who), Some(task)) = (by, task) else { return false };
    if !model.is_current(who) {
        return false;
    }
    match &task.status {
        StatusFacts::Pending => {
            model.has_free_hands(who)
                && model.may_take(who, task)
                && has_room(state, who)
                && model.has_account_room(state, who)
        }
        StatusFacts::Held(hold) if hold.by == *who => match hold.stage {
            StageFacts::Claimed => true,
            StageFacts::Submitted => false,
            StageFacts::Returned => model.has_free_hands(who),
        },
        _ => false,
    }
}

fn may_update(model: &Model, by: &Actor, task: &TaskFacts, changes: &TaskChanges) -> bool {
    let holder = match &task.status {
        StatusFacts::Held(hold) => *by == Actor::Teammate(hold.by.clone()),
        _ => false,
    };
    let may = holder || made_by(task, by) || model.manages(by, &task.team);
    let shapes = changes.files.is_some()
        || changes.role.is_some()
        || !changes.add_blocked_by.is_empty()
        || !changes.remove_blocked_by.is_empty();
    let open = match task.status {
        StatusFacts::Pending => true,
        StatusFacts::Held(_) | StatusFacts::Failed => !shapes,
        StatusFacts::Completed | StatusFacts::Deleted => false,
    };
    let known = |on: &Dependency| match on {
        Dependency::Task(id) => model.task(*id).is_some(),
        Dependency::Group(group) => model.groups.contains_key(group),
    };
    model.is_present(by)
        && may
        && open
        && *changes != TaskChanges::default()
        && changes.remove_blocked_by.iter().all(|on| task.blocked_by.contains(on))
        && changes.add_blocked_by.iter().all(known)
        && !model
            .closes_a_circle(&NewEdges::Blockers { task: task.id, added: &changes.add_blocked_by })
}
