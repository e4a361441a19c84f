//! Events: what happened. Their names on the wire (`task.claimed`) never change.
//!
//! An event states a fact and carries what `apply` needs, no more: what follows
//! from it (who is unblocked, which files are free) is derived. New fields come
//! with `#[serde(default)]`, so that a log of any earlier release stays readable;
//! the golden logs of `shipmate-core` hold that.

use serde::{Deserialize, Serialize};

use crate::account::Window;
use crate::files::FileSet;
use crate::handoff::Handoff;
use crate::host::{HostSpec, Place};
use crate::name::{Actor, Address, Name, Position, TeammateRef};
use crate::pause::PauseCause;
use crate::phase::PhaseEnd;
use crate::planned::PlannedWork;
use crate::setup::{GateRun, Setup};

pub use crate::changes::{RoleChange, TaskChanges, TeamChanges};
pub use crate::id::{
    EscalationId, MessageId, NoteId, PlanId, QuestionId, RequestId, ReservationId, ShutdownId,
    TaskId, Token,
};
pub use crate::message::{MessageKind, QuestionKind, Recipient, ShutdownAnswer};
pub use crate::profile::{AgentChoice, Loss, Mode, Outcome, Profile, Seat, StartRule, Supervision};
pub use crate::task::{Dependency, ReleaseCause, TaskSpec, Verification};
pub use crate::usage::{Budget, Usage};

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Dense position; also the token of a claim and the id of a message, plan,
    /// question or shutdown request that this record begins.
    pub n: Position,
    /// Wall clock in milliseconds since 1970, for people. No rule reads it.
    pub at: u64,
    pub by: Actor,
    /// The request this record answers, so that a repeated one is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req: Option<RequestId>,
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    #[serde(rename = "team.created")]
    TeamCreated {
        team: Name,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Name>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        #[serde(default)]
        verification: Verification,
        #[serde(default, skip_serializing_if = "is_default_setup")]
        setup: Box<Setup>,
    },
    /// Nobody starts or claims until it is continued; what is claimed goes on.
    #[serde(rename = "team.paused")]
    TeamPaused {
        team: Name,
        reason: String,
        /// What it is; absent in records from before there were causes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<PauseCause>,
    },
    #[serde(rename = "team.continued")]
    TeamContinued { team: Name },
    #[serde(rename = "team.deletion_requested")]
    TeamDeletionRequested { team: Name },
    #[serde(rename = "team.deleted")]
    TeamDeleted { team: Name },
    #[serde(rename = "team.budget_set")]
    TeamBudgetSet { team: Name, budget: Budget },
    #[serde(rename = "team.changed")]
    TeamChanged { team: Name, changes: TeamChanges },

    #[serde(rename = "teammate.added")]
    TeammateAdded { who: Address, profile: Profile },
    #[serde(rename = "teammate.started")]
    TeammateStarted {
        who: TeammateRef,
        token_hash: String,
        #[serde(default)]
        supervision: Supervision,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<Name>,
    },
    #[serde(rename = "teammate.idle")]
    TeammateIdle { who: TeammateRef, reason: String },
    #[serde(rename = "teammate.paused")]
    TeammatePaused {
        who: Address,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<PauseCause>,
    },
    #[serde(rename = "teammate.continued")]
    TeammateContinued { who: Address },
    #[serde(rename = "teammate.mode_changed")]
    TeammateModeChanged { who: Address, mode: Mode },
    /// From its next life on it may run there.
    #[serde(rename = "teammate.placed")]
    TeammatePlaced { who: Address, place: Place },
    /// From its next life on another agent stands behind it.
    #[serde(rename = "teammate.agent_changed")]
    TeammateAgentChanged { who: Address, choice: AgentChoice },
    /// Its account has no room, and something else stands behind it from its next life on; or what
    /// stood there first again.
    #[serde(rename = "teammate.fell_over")]
    TeammateFellOver {
        who: Address,
        choice: AgentChoice,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        back: bool,
    },
    #[serde(rename = "teammate.disappeared")]
    TeammateDisappeared {
        who: TeammateRef,
        reason: String,
        #[serde(default, skip_serializing_if = "is_died")]
        loss: Loss,
        /// It is not started again by itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        given_up: bool,
    },
    /// No sign of progress so many times in a row; 0 means that it moves again.
    #[serde(rename = "teammate.stalled")]
    TeammateStalled { who: TeammateRef, step: u32 },
    /// The agent's own name for its conversation, for whoever resumes it.
    #[serde(rename = "teammate.session")]
    TeammateSession {
        who: TeammateRef,
        session: String,
        /// How much of a fence its agent stands behind; nothing where none was asked for.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        fence: String,
        /// The model that it really asks, as far as it has told.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
    },
    #[serde(rename = "teammate.stopped")]
    TeammateStopped { who: TeammateRef, outcome: Outcome },
    #[serde(rename = "teammate.removed")]
    TeammateRemoved { who: Address },
    #[serde(rename = "teammate.budget_set")]
    TeammateBudgetSet { who: Address, budget: Budget },

    #[serde(rename = "task.created")]
    TaskCreated { task: TaskId, team: Name, spec: TaskSpec },
    #[serde(rename = "task.updated")]
    TaskUpdated { task: TaskId, changes: TaskChanges },
    #[serde(rename = "task.claimed")]
    TaskClaimed {
        task: TaskId,
        by: TeammateRef,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ms: Option<u64>,
    },
    #[serde(rename = "task.renewed")]
    TaskRenewed { task: TaskId, token: Token, renewal: u32 },
    #[serde(rename = "task.submitted")]
    TaskSubmitted {
        task: TaskId,
        token: Token,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        result: String,
        /// What it tells those who go on from it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handoff: Option<Box<Handoff>>,
    },
    #[serde(rename = "task.completed")]
    TaskCompleted {
        task: TaskId,
        token: Token,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        result: String,
    },
    /// A gate or merge said no: the task goes back to the teammate that submitted it.
    #[serde(rename = "task.returned")]
    TaskReturned {
        task: TaskId,
        token: Token,
        reason: String,
        /// It came back because it changed nothing, and nobody said why.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unchanged: bool,
    },
    /// The claim ended without a result and the task may be taken again.
    #[serde(rename = "task.released")]
    TaskReleased { task: TaskId, token: Token, cause: ReleaseCause, reason: String },
    /// The retry limit is reached; a person or the lead may retry it.
    #[serde(rename = "task.failed")]
    TaskFailed { task: TaskId, token: Token, reason: String },
    #[serde(rename = "task.retried")]
    TaskRetried { task: TaskId },
    /// Its landed work was taken back from the branch: it counts as failed until it is retried.
    #[serde(rename = "task.reverted")]
    TaskReverted { task: TaskId, commit: String, reason: String },
    #[serde(rename = "task.assigned")]
    TaskAssigned {
        task: TaskId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Name>,
    },
    #[serde(rename = "task.deleted")]
    TaskDeleted { task: TaskId },
    /// Work of a claim that had ended: kept for the lead to look at, never merged.
    #[serde(rename = "task.work_set_aside")]
    TaskWorkSetAside {
        task: TaskId,
        token: Token,
        who: TeammateRef,
        work: String,
        /// What it is in git, where it is a commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// The machine that has it, where machines have joined.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<Name>,
    },

    /// The lead or a person lets a task's work touch these paths too.
    #[serde(rename = "task.scope_granted")]
    TaskScopeGranted { task: TaskId, files: FileSet },
    /// What is handed in for it is merged without these files from now on.
    #[serde(rename = "task.scope_left_out")]
    TaskScopeLeftOut { task: TaskId, files: FileSet },

    #[serde(rename = "gate.ran")]
    GateRan(GateRun),
    /// Something for the whole team to know, on its scratchpad.
    #[serde(rename = "note.added")]
    NoteAdded {
        team: Name,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// It is shown to nobody any more; what it said stays in the record that added it.
    #[serde(rename = "note.removed")]
    NoteRemoved {
        note: NoteId,
        /// The task that it was about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// A hook that is no gate failed or had something to say.
    #[serde(rename = "hook.noted")]
    HookNoted { team: Name, hook: String, note: String },

    #[serde(rename = "message.sent")]
    MessageSent {
        to: Vec<Recipient>,
        kind: MessageKind,
        body: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<MessageId>,
        /// Control is meant for one life of a teammate and ends with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<u32>,
        /// Where the line that it was ends in the file that it was dropped into.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line_end: Option<u64>,
    },
    #[serde(rename = "message.offered")]
    MessageOffered { to: Recipient, messages: Vec<MessageId> },
    #[serde(rename = "message.injected")]
    MessageInjected { to: Recipient, messages: Vec<MessageId>, turn: u64 },
    #[serde(rename = "message.acknowledged")]
    MessageAcknowledged { to: Recipient, messages: Vec<MessageId> },
    #[serde(rename = "message.expired")]
    MessageExpired { to: Recipient, messages: Vec<MessageId>, reason: String },
    #[serde(rename = "message.bounced")]
    MessageBounced { to: Recipient, messages: Vec<MessageId>, reason: String },

    #[serde(rename = "plan.submitted")]
    PlanSubmitted {
        who: TeammateRef,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        body: String,
        /// Of a lead: the teammates and tasks that its approval brings about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work: Option<Box<PlannedWork>>,
    },
    #[serde(rename = "plan.approved")]
    PlanApproved { plan: PlanId },
    #[serde(rename = "plan.rejected")]
    PlanRejected {
        plan: PlanId,
        feedback: String,
        /// It could not be carried out, and nobody has read it for that.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unworkable: bool,
    },
    #[serde(rename = "plan.withdrawn")]
    PlanWithdrawn { plan: PlanId, reason: String },

    #[serde(rename = "question.asked")]
    QuestionAsked {
        who: TeammateRef,
        kind: QuestionKind,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
        /// A submission that changes these paths waits for the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        #[serde(default, skip_serializing_if = "FileSet::is_empty")]
        files: FileSet,
        /// Whose those paths are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Name>,
    },
    #[serde(rename = "question.answered")]
    QuestionAnswered { question: QuestionId, answer: String },
    #[serde(rename = "question.withdrawn")]
    QuestionWithdrawn { question: QuestionId, reason: String },

    #[serde(rename = "shutdown.requested")]
    ShutdownRequested { who: TeammateRef, reason: String, deadline_ms: u64 },
    #[serde(rename = "shutdown.answered")]
    ShutdownAnswered { shutdown: ShutdownId, answer: ShutdownAnswer },
    #[serde(rename = "shutdown.timed_out")]
    ShutdownTimedOut { shutdown: ShutdownId },

    /// Trouble comes to lie with somebody: for the first time, again, or one level higher.
    #[serde(rename = "escalation.raised")]
    EscalationRaised {
        /// Absent: it begins with this record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalation: Option<EscalationId>,
        from: Address,
        to: Recipient,
        /// What whoever raised it holds meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The question to the person that it has become.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<QuestionId>,
        body: String,
    },
    #[serde(rename = "escalation.resolved")]
    EscalationResolved { escalation: EscalationId },

    /// A phase of the team's playbook waits for something.
    #[serde(rename = "phase.waits")]
    PhaseWaits {
        team: Name,
        phase: Name,
        missing: Vec<String>,
        /// Somebody outside this run may bring it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        outside: bool,
    },
    #[serde(rename = "phase.began")]
    PhaseBegan {
        team: Name,
        phase: Name,
        round: u32,
        /// What a person should know about how it began.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// It is in trouble: the lead does what is left of it.
    #[serde(rename = "phase.left_to_lead")]
    PhaseLeftToLead {
        team: Name,
        phase: Name,
        reason: String,
        /// And every phase after it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        for_good: bool,
    },
    #[serde(rename = "phase.ended")]
    PhaseEnded { team: Name, phase: Name, round: u32, end: PhaseEnd },

    /// A machine shares this log, or says something new of itself.
    #[serde(rename = "host.joined")]
    HostJoined { host: Name, spec: HostSpec },
    /// Nobody is started there until it is taken back.
    #[serde(rename = "host.draining")]
    HostDraining { host: Name, draining: bool },
    #[serde(rename = "host.left")]
    HostLeft { host: Name },
    /// It gave no sign for a whole lease: whoever ran there since this boot is gone.
    #[serde(rename = "host.lost")]
    HostLost {
        host: Name,
        boot: String,
        /// How long it gave no sign; nothing where it was started again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silent_ms: Option<u64>,
    },
    /// Where the team's work is merged and its phases run.
    #[serde(rename = "host.home")]
    HomeMoved { host: Name },
    /// Where a branch of the team stands, for the hosts that have to get it.
    #[serde(rename = "branch.moved")]
    BranchMoved { branch: Name, commit: String },

    #[serde(rename = "breaker.opened")]
    BreakerOpened { team: Name },
    #[serde(rename = "breaker.half_opened")]
    BreakerHalfOpened { team: Name },
    #[serde(rename = "breaker.closed")]
    BreakerClosed { team: Name },
    /// A disappearance no longer counts: it lies further back than the window.
    #[serde(rename = "breaker.strike_forgiven")]
    BreakerStrikeForgiven { team: Name, strike: Position },

    /// Which account its agent asks with.
    #[serde(rename = "teammate.account")]
    TeammateAccount {
        who: Address,
        account: Name,
        /// A login that is paid for by the month, and has windows instead of a price.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        subscription: bool,
    },
    /// What an account's provider tells of its windows.
    #[serde(rename = "account.told")]
    AccountTold { account: Name, windows: Vec<Window> },
    /// Its provider refuses: nobody on it is started, takes a task or asks a model until then.
    #[serde(rename = "account.parked")]
    AccountParked {
        account: Name,
        /// Wall clock in milliseconds.
        until: u64,
        /// The provider said when; else it is when to try again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        told: bool,
        reason: String,
    },
    #[serde(rename = "account.resumed")]
    AccountResumed { account: Name },

    #[serde(rename = "usage.reserved")]
    UsageReserved { who: TeammateRef, usage: Usage },
    #[serde(rename = "usage.recorded")]
    UsageRecorded {
        who: TeammateRef,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reservation: Option<ReservationId>,
    },
}

impl Event {
    /// Its name in the log.
    pub fn name(&self) -> &'static str {
        match self {
            Event::TeamCreated { .. } => "team.created",
            Event::TeamPaused { .. } => "team.paused",
            Event::TeamContinued { .. } => "team.continued",
            Event::TeamDeletionRequested { .. } => "team.deletion_requested",
            Event::TeamDeleted { .. } => "team.deleted",
            Event::TeamBudgetSet { .. } => "team.budget_set",
            Event::TeamChanged { .. } => "team.changed",
            Event::TeammateAdded { .. } => "teammate.added",
            Event::TeammateStarted { .. } => "teammate.started",
            Event::TeammateIdle { .. } => "teammate.idle",
            Event::TeammatePaused { .. } => "teammate.paused",
            Event::TeammateContinued { .. } => "teammate.continued",
            Event::TeammateModeChanged { .. } => "teammate.mode_changed",
            Event::TeammatePlaced { .. } => "teammate.placed",
            Event::TeammateAgentChanged { .. } => "teammate.agent_changed",
            Event::TeammateFellOver { .. } => "teammate.fell_over",
            Event::TeammateDisappeared { .. } => "teammate.disappeared",
            Event::TeammateStalled { .. } => "teammate.stalled",
            Event::TeammateSession { .. } => "teammate.session",
            Event::TeammateStopped { .. } => "teammate.stopped",
            Event::TeammateRemoved { .. } => "teammate.removed",
            Event::TeammateBudgetSet { .. } => "teammate.budget_set",
            Event::TaskCreated { .. } => "task.created",
            Event::TaskUpdated { .. } => "task.updated",
            Event::TaskClaimed { .. } => "task.claimed",
            Event::TaskRenewed { .. } => "task.renewed",
            Event::TaskSubmitted { .. } => "task.submitted",
            Event::TaskCompleted { .. } => "task.completed",
            Event::TaskReturned { .. } => "task.returned",
            Event::TaskReleased { .. } => "task.released",
            Event::TaskFailed { .. } => "task.failed",
            Event::TaskRetried { .. } => "task.retried",
            Event::TaskReverted { .. } => "task.reverted",
            Event::TaskAssigned { .. } => "task.assigned",
            Event::TaskDeleted { .. } => "task.deleted",
            Event::TaskWorkSetAside { .. } => "task.work_set_aside",
            Event::TaskScopeGranted { .. } => "task.scope_granted",
            Event::TaskScopeLeftOut { .. } => "task.scope_left_out",
            Event::GateRan(_) => "gate.ran",
            Event::NoteAdded { .. } => "note.added",
            Event::NoteRemoved { .. } => "note.removed",
            Event::HookNoted { .. } => "hook.noted",
            Event::MessageSent { .. } => "message.sent",
            Event::MessageOffered { .. } => "message.offered",
            Event::MessageInjected { .. } => "message.injected",
            Event::MessageAcknowledged { .. } => "message.acknowledged",
            Event::MessageExpired { .. } => "message.expired",
            Event::MessageBounced { .. } => "message.bounced",
            Event::PlanSubmitted { .. } => "plan.submitted",
            Event::PlanApproved { .. } => "plan.approved",
            Event::PlanRejected { .. } => "plan.rejected",
            Event::PlanWithdrawn { .. } => "plan.withdrawn",
            Event::QuestionAsked { .. } => "question.asked",
            Event::QuestionAnswered { .. } => "question.answered",
            Event::QuestionWithdrawn { .. } => "question.withdrawn",
            Event::ShutdownRequested { .. } => "shutdown.requested",
            Event::ShutdownAnswered { .. } => "shutdown.answered",
            Event::ShutdownTimedOut { .. } => "shutdown.timed_out",
            Event::EscalationRaised { .. } => "escalation.raised",
            Event::EscalationResolved { .. } => "escalation.resolved",
            Event::PhaseWaits { .. } => "phase.waits",
            Event::PhaseBegan { .. } => "phase.began",
            Event::PhaseLeftToLead { .. } => "phase.left_to_lead",
            Event::PhaseEnded { .. } => "phase.ended",
            Event::HostJoined { .. } => "host.joined",
            Event::HostDraining { .. } => "host.draining",
            Event::HostLeft { .. } => "host.left",
            Event::HostLost { .. } => "host.lost",
            Event::HomeMoved { .. } => "host.home",
            Event::BranchMoved { .. } => "branch.moved",
            Event::BreakerOpened { .. } => "breaker.opened",
            Event::BreakerHalfOpened { .. } => "breaker.half_opened",
            Event::BreakerClosed { .. } => "breaker.closed",
            Event::BreakerStrikeForgiven { .. } => "breaker.strike_forgiven",
            Event::TeammateAccount { .. } => "teammate.account",
            Event::AccountTold { .. } => "account.told",
            Event::AccountParked { .. } => "account.parked",
            Event::AccountResumed { .. } => "account.resumed",
            Event::UsageReserved { .. } => "usage.reserved",
            Event::UsageRecorded { .. } => "usage.recorded",
        }
    }

    /// The task that it changes.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Event::TaskCreated { task, .. }
            | Event::TaskUpdated { task, .. }
            | Event::TaskClaimed { task, .. }
            | Event::TaskRenewed { task, .. }
            | Event::TaskSubmitted { task, .. }
            | Event::TaskCompleted { task, .. }
            | Event::TaskReturned { task, .. }
            | Event::TaskReleased { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskRetried { task }
            | Event::TaskReverted { task, .. }
            | Event::TaskAssigned { task, .. }
            | Event::TaskDeleted { task }
            | Event::TaskWorkSetAside { task, .. }
            | Event::TaskScopeGranted { task, .. }
            | Event::TaskScopeLeftOut { task, .. } => Some(task),
            _ => None,
        }
    }

    /// The tasks that it names.
    pub fn tasks(&self) -> &[TaskId] {
        match self {
            Event::GateRan(run) => &run.tasks,
            Event::NoteAdded { task, .. }
            | Event::NoteRemoved { task, .. }
            | Event::PlanSubmitted { task, .. }
            | Event::QuestionAsked { task, .. }
            | Event::EscalationRaised { task, .. }
            | Event::UsageRecorded { task, .. } => task.as_slice(),
            event => event.task().map_or(&[], std::slice::from_ref),
        }
    }
}

fn is_died(loss: &Loss) -> bool {
    *loss == Loss::Died
}

fn is_default_setup(setup: &Setup) -> bool {
    setup.is_default()
}
