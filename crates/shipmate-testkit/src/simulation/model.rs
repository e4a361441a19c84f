//! An independent account of what the log says, to hold the core against.
//!
//! It is folded from the records alone and shares no rule with the core: plain data, no indexes,
//! everything looked up by walking. Slow and obvious on purpose. It keeps what the core forgets
//! (every message ever, every token that ended), because guarantees are about histories.

mod accounts;
mod board;
mod course;
mod graph;
mod hosts;
mod mail;
mod roster;
mod routes;

use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::event::{
    Budget, Dependency, EscalationId, Event, MessageId, Mode, PlanId, QuestionId, QuestionKind,
    Recipient, Record, ReleaseCause, RequestId, ReservationId, Seat, ShutdownId, Supervision,
    Token, Usage,
};
use shipmate_model::playbook::Route;
use shipmate_model::{Actor, Address, Alias, Name, Position, TaskId, TeammateRef};

use accounts::AccountsFacts;
pub(crate) use course::{CourseFacts, StandingFacts};
pub(crate) use graph::NewEdges;
use hosts::HostsFacts;

#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) end: Position,
    pub(crate) teams: BTreeMap<Name, TeamFacts>,
    pub(crate) hosts: HostsFacts,
    pub(crate) accounts: AccountsFacts,
    pub(crate) mates: BTreeMap<Address, MateFacts>,
    pub(crate) tasks: Vec<TaskFacts>,
    pub(crate) groups: BTreeMap<Name, BTreeSet<TaskId>>,
    pub(crate) letters: BTreeMap<(MessageId, Recipient), Fate>,
    pub(crate) messages: BTreeMap<MessageId, MessageFacts>,
    pub(crate) plans: BTreeMap<PlanId, PlanFacts>,
    pub(crate) questions: BTreeMap<QuestionId, QuestionFacts>,
    pub(crate) shutdowns: BTreeMap<ShutdownId, ShutdownFacts>,
    pub(crate) escalations: BTreeMap<EscalationId, EscalationFacts>,
    /// Who may answer whom, whatever the routes say.
    pub(crate) owed: BTreeSet<(Address, Recipient)>,
    pub(crate) reservations: BTreeMap<ReservationId, (TeammateRef, Usage)>,
    /// The records of each request, first and last.
    pub(crate) requests: BTreeMap<RequestId, (Position, Position)>,
}

#[derive(Debug, Clone)]
pub(crate) struct TeamFacts {
    pub(crate) parent: Option<Name>,
    pub(crate) phase: Phase,
    pub(crate) gate: bool,
    /// Where its members' own trees begin, if they have any.
    pub(crate) base: Option<String>,
    pub(crate) paused: bool,
    /// The question that the runtime asks with its pause, and the phase it is about.
    pub(crate) asks: Option<(Position, Name)>,
    /// The last phase that a person let begin.
    pub(crate) approved: Option<Name>,
    pub(crate) lead: Option<Name>,
    pub(crate) budget: Budget,
    pub(crate) used: Usage,
    pub(crate) reserved: Usage,
    pub(crate) strikes: BTreeSet<Position>,
    pub(crate) breaker: BreakerFacts,
    pub(crate) course: Option<CourseFacts>,
    pub(crate) routes: Vec<Route>,
    /// Roles from the lowest to the highest.
    pub(crate) levels: Vec<Name>,
    /// Tasks are taken by their numbers.
    pub(crate) by_number: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EscalationFacts {
    pub(crate) from: Address,
    pub(crate) to: Recipient,
    pub(crate) open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Active,
    Ending,
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BreakerFacts {
    Closed,
    Open(Position),
    HalfOpen(Position, Option<TeammateRef>),
}

#[derive(Debug, Clone)]
pub(crate) struct MateFacts {
    pub(crate) seat: Seat,
    pub(crate) role: Option<Name>,
    /// The paths of each pattern of its scope.
    pub(crate) scope: Vec<u64>,
    pub(crate) command: String,
    /// Nobody writes to it.
    pub(crate) one_shot: bool,
    pub(crate) mode: Mode,
    pub(crate) tasks_max: u32,
    pub(crate) epoch: u32,
    pub(crate) life: LifeFacts,
    pub(crate) supervision: Supervision,
    pub(crate) paused: bool,
    /// It paused for want of a budget.
    pub(crate) spent: bool,
    /// Tasks it took in this life.
    pub(crate) claims: u32,
    pub(crate) stalls: u32,
    pub(crate) plan_approved: bool,
    /// The task that the approved plan is for, once that is known.
    pub(crate) planned: Option<TaskId>,
    pub(crate) shutdown: Option<ShutdownId>,
    pub(crate) budget: Budget,
    pub(crate) used: Usage,
    pub(crate) reserved: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifeFacts {
    Added,
    Running,
    Disappeared,
    Stopped,
    Removed,
}

#[derive(Debug, Clone)]
pub(crate) struct TaskFacts {
    pub(crate) id: TaskId,
    pub(crate) team: Name,
    pub(crate) created_by: Actor,
    pub(crate) alias: Option<Alias>,
    pub(crate) group: Option<Name>,
    pub(crate) blocked_by: BTreeSet<Dependency>,
    /// Which paths of the small world its files cover; see `vocabulary`.
    pub(crate) paths: u64,
    /// The same for each of its patterns.
    pub(crate) patterns: Vec<u64>,
    /// Paths that were granted to it beyond its files.
    pub(crate) granted: u64,
    /// The question that its submission waits for.
    pub(crate) asks: Option<QuestionId>,
    pub(crate) role: Option<Name>,
    pub(crate) assignee: Option<Name>,
    pub(crate) priority: i32,
    pub(crate) retries: u32,
    /// It came back because it changed nothing.
    pub(crate) unchanged: bool,
    pub(crate) retries_max: u32,
    pub(crate) status: StatusFacts,
    pub(crate) completions: u32,
    pub(crate) set_aside: usize,
    /// Commits that were handed in, or told as late work.
    pub(crate) told: BTreeSet<String>,
    /// The highest token ever given.
    pub(crate) last_token: Token,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StatusFacts {
    Pending,
    Held(Hold),
    Completed,
    Failed,
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) by: TeammateRef,
    pub(crate) token: Token,
    pub(crate) lease_ms: Option<u64>,
    pub(crate) renewal: u32,
    /// The record that made or last renewed the claim.
    pub(crate) since: Position,
    pub(crate) stage: StageFacts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageFacts {
    Claimed,
    Submitted,
    Returned,
}

#[derive(Debug, Clone)]
pub(crate) struct MessageFacts {
    /// Bound to one life.
    pub(crate) epoch: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Waiting,
    Read,
    Expired,
    Bounced,
}

#[derive(Debug, Clone)]
pub(crate) struct PlanFacts {
    pub(crate) who: TeammateRef,
    pub(crate) task: Option<TaskId>,
    pub(crate) open: bool,
    /// A lead's, with tasks and teammates: it outlives its life, and is replaced by the next.
    pub(crate) work: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct QuestionFacts {
    pub(crate) who: TeammateRef,
    pub(crate) kind: QuestionKind,
    pub(crate) options: Vec<String>,
    /// The submission that waits for the answer.
    pub(crate) task: Option<TaskId>,
    /// It is an escalation that came to the person.
    pub(crate) escalated: bool,
    pub(crate) open: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ShutdownFacts {
    pub(crate) who: TeammateRef,
    pub(crate) end: ShutdownStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShutdownStage {
    Open,
    Ending,
    Closed,
}

/// Ends of an attempt that count against its task.
pub(crate) fn is_blamed(cause: ReleaseCause) -> bool {
    use ReleaseCause::{Expired, Failed, HolderGone, Unchanged};
    matches!(cause, Failed | Expired | HolderGone | Unchanged)
}

impl Model {
    pub(crate) fn apply(&mut self, record: &Record) {
        self.end = record.n;
        if let Some(req) = &record.req {
            let known = self.requests.entry(req.clone()).or_insert((record.n, record.n));
            known.1 = record.n;
        }
        self.apply_to_hosts(record);
        self.apply_to_accounts(record);
        self.apply_to_roster(record);
        self.apply_to_board(record);
        self.apply_to_mail(record);
        self.apply_to_talk(record);
        self.apply_to_course(record);
        self.apply_to_routes(record);
    }

    fn apply_to_talk(&mut self, record: &Record) {
        match &record.event {
            Event::PlanSubmitted { who, task, work, .. } => {
                let task = *task;
                let (who, work) = (who.clone(), work.is_some());
                let earlier = |plan: &&mut PlanFacts| plan.work && plan.who.address == who.address;
                for plan in self.plans.values_mut().filter(earlier).filter(|_| work) {
                    plan.open = false;
                }
                self.plans.insert(record.n, PlanFacts { who, task, open: true, work });
            }
            Event::PlanApproved { plan } | Event::PlanRejected { plan, .. } => {
                let approved = matches!(record.event, Event::PlanApproved { .. });
                let facts = self.plans.get_mut(plan).expect("checked before: the plan exists");
                facts.open = false;
                let (who, task, work) = (facts.who.address.clone(), facts.task, facts.work);
                let mate = self.mate_mut(&who);
                // Whoever has that name now may be somebody else.
                if !work || mate.seat == Seat::Lead {
                    (mate.plan_approved, mate.planned) = (approved, task);
                }
            }
            Event::PlanWithdrawn { plan, .. } => {
                if let Some(facts) = self.plans.get_mut(plan) {
                    facts.open = false;
                }
            }
            Event::QuestionAsked { who, kind, options, task, .. } => {
                let (who, kind, options) = (who.clone(), *kind, options.clone());
                let facts =
                    QuestionFacts { who, kind, options, task: *task, escalated: false, open: true };
                self.questions.insert(record.n, facts);
                if let Some(task) = task {
                    self.task_mut(*task).asks = Some(record.n);
                }
            }
            Event::QuestionAnswered { question, .. }
            | Event::QuestionWithdrawn { question, .. } => {
                if let Some(facts) = self.questions.get_mut(question) {
                    facts.open = false;
                }
                for task in self.tasks.iter_mut().filter(|task| task.asks == Some(*question)) {
                    task.asks = None;
                }
            }
            _ => {}
        }
    }

    /// The task, which the caller has seen in the log.
    pub(crate) fn task(&self, id: TaskId) -> Option<&TaskFacts> {
        self.tasks.get((id as usize).checked_sub(1)?)
    }

    pub(crate) fn hold(&self, id: TaskId) -> Option<&Hold> {
        match &self.task(id)?.status {
            StatusFacts::Held(hold) => Some(hold),
            _ => None,
        }
    }

    fn task_mut(&mut self, id: TaskId) -> &mut TaskFacts {
        self.tasks.get_mut(id as usize - 1).expect("checked before: the task exists")
    }

    fn mate_mut(&mut self, who: &Address) -> &mut MateFacts {
        self.mates.get_mut(who).expect("checked before: the teammate exists")
    }

    fn team_mut(&mut self, team: &Name) -> &mut TeamFacts {
        self.teams.get_mut(team).expect("checked before: the team exists")
    }

    /// This life runs now.
    pub(crate) fn is_current(&self, who: &TeammateRef) -> bool {
        let found = self.mates.get(&who.address);
        found.is_some_and(|mate| mate.epoch == who.epoch && mate.life == LifeFacts::Running)
    }

    /// The open question, where an answer would reach somebody.
    pub(crate) fn answerable(&self, id: QuestionId) -> Option<&QuestionFacts> {
        let facts = self.questions.get(&id).filter(|facts| facts.open)?;
        let outlives = facts.task.is_some() || facts.escalated;
        (outlives || self.is_current(&facts.who)).then_some(facts)
    }

    pub(crate) fn is_member(&self, who: &Address) -> bool {
        self.mates.get(who).is_some_and(|mate| mate.life != LifeFacts::Removed)
    }

    pub(crate) fn can_receive(&self, who: &Address) -> bool {
        use LifeFacts::{Added, Disappeared, Running};
        let there = |mate: &MateFacts| matches!(mate.life, Added | Running | Disappeared);
        let team = self.teams.get(&who.team);
        self.mates.get(who).is_some_and(there) && team.is_some_and(|t| t.phase != Phase::Deleted)
    }

    /// A person, the runtime, or a running lead of the team or of one above it.
    pub(crate) fn manages(&self, by: &Actor, team: &Name) -> bool {
        let Actor::Teammate(who) = by else { return true };
        self.is_current(who)
            && self.mates[&who.address].seat == Seat::Lead
            && self.above(team).contains(&who.address.team)
    }

    pub(crate) fn is_present(&self, by: &Actor) -> bool {
        match by {
            Actor::Teammate(who) => self.is_current(who),
            _ => true,
        }
    }

    /// The team and all above it.
    pub(crate) fn above(&self, team: &Name) -> Vec<Name> {
        let mut found = vec![team.clone()];
        while let Some(parent) =
            self.teams.get(&found[found.len() - 1]).and_then(|t| t.parent.clone())
        {
            found.push(parent);
        }
        found
    }

    /// The team and all below it that are not deleted.
    pub(crate) fn below(&self, team: &Name) -> Vec<Name> {
        let inside = |name: &Name| self.above(name).contains(team);
        let living = self.teams.iter().filter(|(_, facts)| facts.phase != Phase::Deleted);
        living.filter(|(name, _)| inside(name)).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn waiting_for(&self, to: &Recipient) -> Vec<MessageId> {
        let waiting = self.letters.iter().filter(|(_, fate)| **fate == Fate::Waiting);
        waiting.filter(|((_, at), _)| at == to).map(|((id, _), _)| *id).collect()
    }
}
