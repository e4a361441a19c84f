//! Commands: what somebody asks of the team. `decide` turns one into events or a
//! refusal. Time and fresh ids arrive inside the command; nothing here is drawn
//! from a clock or from chance.

use crate::account::Window;
use crate::event::{
    AgentChoice, Budget, EscalationId, MessageId, MessageKind, Mode, NoteId, Outcome, PlanId,
    Profile, QuestionId, QuestionKind, Recipient, RequestId, ReservationId, ShutdownAnswer,
    ShutdownId, Supervision, TaskChanges, TaskId, TeamChanges, Token, Usage, Verification,
};
use crate::files::FileSet;
use crate::handoff::Handoff;
use crate::host::{HostSpec, Place};
use crate::name::{Actor, Address, Name, Position, TeammateRef};
use crate::planned::Draft;
use crate::profile::Loss;
use crate::setup::{GateRun, Setup};

pub use crate::task::NewTask;

/// A command with who gives it and which request it came in.
#[derive(Debug, Clone)]
pub struct Command {
    pub by: Actor,
    /// Absent for the runtime's own commands, which are safe to repeat by themselves.
    pub req: Option<RequestId>,
    pub act: Act,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    CreateTeam(CreateTeam),
    DeleteTeam {
        team: Name,
        reason: String,
        urgency: Urgency,
    },
    /// Another gate, other agents, a base that was never recorded.
    ChangeTeam {
        team: Name,
        changes: TeamChanges,
        agents: Vec<(Address, AgentChoice)>,
    },
    SetTeamBudget {
        team: Name,
        budget: Budget,
    },
    PauseTeam {
        team: Name,
        reason: String,
    },
    ContinueTeam {
        team: Name,
    },
    /// An observer measured the team's whole time.
    ExpireTeam {
        team: Name,
    },

    AddTeammate {
        who: Address,
        profile: Profile,
    },
    StartTeammate(StartTeammate),
    RemoveTeammate {
        who: Address,
    },
    PauseTeammate {
        who: Address,
        reason: String,
        /// For want of a budget. It counts only as a teammate's own word.
        spent: bool,
    },
    ContinueTeammate {
        who: Address,
    },
    SetTeammateMode {
        who: Address,
        mode: Mode,
    },
    /// Where it may run, from its next life on.
    PlaceTeammate {
        who: Address,
        place: Place,
    },
    SetTeammateBudget {
        who: Address,
        budget: Budget,
    },
    /// The teammate says it has nothing to do, and why.
    ReportIdle {
        reason: String,
    },
    /// The runtime saw the process or connection go.
    ReportDisappeared {
        who: TeammateRef,
        reason: String,
        loss: Loss,
    },
    /// An observer saw no progress for a while, or again some (step 0).
    ReportStalled {
        who: TeammateRef,
        step: u32,
    },
    /// The supervisor tells under which name its agent can be resumed, and how it is fenced.
    ReportSession {
        session: String,
        fence: String,
        /// The model that it really asks.
        model: String,
    },
    /// The runtime saw the process end.
    ReportStopped {
        who: TeammateRef,
        outcome: Outcome,
    },

    /// The runtime has found out which account its agent asks with.
    SetAccount {
        who: Address,
        account: Name,
        subscription: bool,
    },
    /// Its account has no room, or its first one has again: something else stands behind it.
    FallOver {
        who: Address,
    },
    /// What is told of an account's windows. A teammate speaks of its own.
    ReportWindows {
        account: Option<Name>,
        windows: Vec<Window>,
        /// Wall clock, as in the two below.
        at: u64,
    },
    /// Its provider refuses. A teammate speaks of its own.
    ParkAccount {
        account: Option<Name>,
        until: Option<u64>,
        reason: String,
        at: u64,
    },
    /// It has room again: the runtime says so of one pause, a person of any.
    ResumeAccount {
        account: Name,
        parked: Option<Position>,
    },

    JoinHost {
        host: Name,
        spec: HostSpec,
    },
    DrainHost {
        host: Name,
        draining: bool,
    },
    LeaveHost {
        host: Name,
        /// Also where somebody runs there.
        now: bool,
    },
    /// An observer has missed a host's sign for a whole lease.
    ReportHostLost {
        host: Name,
        boot: String,
        /// How long that was.
        silent_ms: Option<u64>,
    },
    MoveHome {
        host: Name,
    },
    /// The home has moved a branch of the team; what it holds is where every host can get it.
    ReportBranch {
        branch: Name,
        commit: String,
        /// Where it stood on record for whoever moved it: a word that comes late moves it nowhere.
        from: Option<String>,
    },

    CreateTasks {
        team: Name,
        tasks: Vec<NewTask>,
    },
    UpdateTask {
        task: TaskId,
        changes: TaskChanges,
    },
    ClaimTask {
        task: TaskId,
        lease_ms: Option<u64>,
    },
    /// The best task this teammate may take now.
    ClaimNext {
        lease_ms: Option<u64>,
    },
    RenewClaim {
        task: TaskId,
        token: Token,
    },
    /// An observer measured the lease on its own clock; only the last renewal counts.
    ExpireClaim {
        task: TaskId,
        token: Token,
        renewal: u32,
    },
    SubmitTask {
        task: TaskId,
        token: Token,
        commit: Option<String>,
        result: String,
        handoff: Option<Box<Handoff>>,
    },
    /// The submission changes nothing, and has to.
    ReturnUnchanged {
        task: TaskId,
        token: Token,
    },
    /// Absent token: a person decides about the claim as it stands.
    CompleteTask {
        task: TaskId,
        token: Option<Token>,
        commit: Option<String>,
        result: String,
    },
    ReturnTask {
        task: TaskId,
        token: Token,
        reason: String,
    },
    /// The submission changes files that are not its own: may it?
    AskScope {
        task: TaskId,
        token: Token,
        files: FileSet,
        reason: String,
    },
    ReportGate(GateRun),
    ReportHook {
        team: Name,
        hook: String,
        note: String,
    },
    FailTask {
        task: TaskId,
        token: Token,
        reason: String,
    },
    ReleaseTask {
        task: TaskId,
        token: Option<Token>,
        reason: String,
    },
    AssignTask {
        task: TaskId,
        to: Option<Name>,
    },
    RetryTask {
        task: TaskId,
    },
    /// The runtime has taken landed work back; the commit is the branch without it.
    RevertTask {
        task: TaskId,
        commit: String,
        reason: String,
    },
    DeleteTask {
        task: TaskId,
    },
    SetAsideWork {
        task: TaskId,
        token: Token,
        work: String,
        /// What it is in git: a commit that was handed in is not late, and one is told of once.
        commit: Option<String>,
        /// The machine that has it.
        host: Option<Name>,
    },

    /// Puts something on the team's scratchpad.
    AddNote {
        team: Name,
        text: String,
        task: Option<TaskId>,
    },
    /// Takes it off again.
    RemoveNote {
        note: NoteId,
    },
    SendMessage {
        to: To,
        kind: MessageKind,
        body: String,
        reply_to: Option<MessageId>,
    },
    /// A line of the file into which programs outside drop mail for a member. The place where it
    /// ends is recorded with it, so that each line is taken once.
    TakeIn {
        to: Address,
        body: String,
        line_end: u64,
    },
    /// Reads and acknowledges in one step, so that reading is exactly once.
    ReadInbox {
        max: usize,
    },
    /// Hands over the oldest messages that nobody was handed yet; they stay unread.
    TakeInbox {
        max: usize,
    },
    InjectMessages {
        messages: Vec<MessageId>,
        turn: u64,
    },
    AcknowledgeMessages {
        messages: Vec<MessageId>,
    },
    ExpireMessages {
        to: Recipient,
        messages: Vec<MessageId>,
        reason: String,
    },

    SubmitPlan {
        task: Option<TaskId>,
        body: String,
        /// What a lead plans for its team.
        work: Option<Box<Draft>>,
    },
    DecidePlan {
        plan: PlanId,
        verdict: Verdict,
    },

    Ask {
        kind: QuestionKind,
        text: String,
        options: Vec<String>,
    },
    Answer {
        question: QuestionId,
        answer: String,
    },
    /// Whoever asked needs no answer any more, or has waited long enough.
    WithdrawQuestion {
        question: QuestionId,
        reason: String,
    },

    RequestShutdown {
        whom: Whom,
        reason: String,
        deadline_ms: u64,
    },
    AnswerShutdown {
        shutdown: ShutdownId,
        answer: ShutdownAnswer,
    },
    ExpireShutdown {
        shutdown: ShutdownId,
    },

    /// An observer measured the time that a level has for an escalation.
    RaiseEscalation {
        escalation: EscalationId,
        asked: Position,
    },

    /// Asks a person to let a phase begin; until then the team is paused.
    AskApproval {
        team: Name,
        phase: Name,
        text: String,
    },
    /// The yes to that question.
    ApprovePhase {
        team: Name,
        question: Position,
    },
    BeginPhase(BeginPhase),
    /// What a phase waits for.
    HoldPhase {
        team: Name,
        phase: Name,
        missing: Vec<String>,
        /// Somebody outside this run may bring it.
        outside: bool,
    },
    EndPhase {
        team: Name,
        phase: Name,
        round: u32,
        verdict: PhaseVerdict,
    },
    /// An observer measured the time of a phase.
    ExpirePhase {
        team: Name,
        began: Position,
    },

    ForgiveStrike {
        team: Name,
        strike: Position,
    },
    ProbeBreaker {
        team: Name,
        opened: Position,
    },
    ReportProbe {
        team: Name,
        half_opened: Position,
        result: Probe,
    },

    ReserveUsage {
        usage: Usage,
    },
    ReportUsage {
        usage: Usage,
        task: Option<TaskId>,
        reservation: Option<ReservationId>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTeam {
    pub team: Name,
    pub parent: Option<Name>,
    pub description: String,
    pub verification: Verification,
    /// Name of its lead; a team without one is led by the person.
    pub lead: Option<Name>,
    pub setup: Box<Setup>,
}

/// The people and tasks with which a phase begins.
#[derive(Debug, Clone, PartialEq)]
pub struct BeginPhase {
    pub team: Name,
    pub phase: Name,
    pub round: u32,
    /// Who joins; those that are members already are left as they are.
    pub teammates: Vec<(Name, Profile)>,
    pub tasks: Vec<NewTask>,
    /// Why the lead does all of it alone, from here on.
    pub alone: Option<String>,
    /// Failed tasks that are tried again in it.
    pub again: Vec<Again>,
    /// What a person should know about how it begins.
    pub notes: Vec<String>,
    /// What some of its work waits for, which is not among its tasks yet. The same command brings
    /// more of it while the phase runs.
    pub awaits: Vec<String>,
}

/// A failed task that is tried again, with what is other than before.
#[derive(Debug, Clone, PartialEq)]
pub struct Again {
    pub task: TaskId,
    pub changes: TaskChanges,
    /// New tasks of the same command that it waits for.
    pub blocked_by_new: Vec<usize>,
}

/// What the runtime found at the end of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseVerdict {
    Done { note: String },
    Skip { reason: String },
    Failed { reason: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct StartTeammate {
    pub who: Address,
    /// Of the token that this life will show. The token itself never gets here.
    pub token_hash: String,
    pub supervision: Supervision,
    /// The host where a life sits that comes by itself; the others are placed.
    pub at: Option<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// A name: in the sender's team first, else the only one in the tree.
    Name(Name),
    Address(Address),
    Person,
    /// Everybody in the sender's team (or the named one) but the sender.
    All {
        team: Option<Name>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    Team(Name),
    Teammate(TeammateRef),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Approve,
    Reject {
        feedback: String,
        /// It could not be carried out, and nobody has read it for that.
        unworkable: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Ask everyone to stop and wait this long.
    Deadline { ms: u64 },
    /// End everyone at once.
    Now,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    Answered,
    Silent,
}
