//! What can be asked. Each variant is one verb of the CLI and of the tools.

mod setup;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::view::LookOf;

pub use setup::{PLAYBOOK_BYTES_MAX, PlaybookFile, PlaybookOrder, Setup, TeamCreate};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "an ask is made once and sent")]
pub enum Ask {
    Status,
    Teams,
    TeamShow,
    TeamCreate(TeamCreate),
    TeamDelete {
        /// One below one's own; nothing means one's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        team: Option<String>,
        reason: String,
        deadline_ms: u64,
        now: bool,
    },
    TeamBudget {
        budget: Budget,
    },
    /// Another gate or other agents for a team that exists.
    TeamSet(TeamSet),
    /// No new starts and claims until it is continued.
    TeamPause {
        reason: String,
    },
    TeamContinue,
    /// Goes on after everything was stopped, and says what became of each teammate.
    Resume,
    /// Brings the team branch into the person's own branch, or makes a branch per feature.
    Merge {
        branches: bool,
        /// Merges although nobody knows whether the gate passes on the result.
        #[serde(default)]
        no_gate: bool,
    },
    /// Brings the person's branch into the team branch.
    TeamUpdate,
    /// Waits until a team that is being deleted is gone, and says what it has left.
    TeamEnd,
    /// What is left over on this machine, and with `remove` what was removed. What something would
    /// be lost with goes only if `force` names it.
    Leftovers {
        remove: bool,
        #[serde(default)]
        force: Vec<String>,
    },
    /// Fires every hook with a sample.
    TryHooks,
    /// The repository a run would begin in.
    Survey,
    /// The environment of whoever begins something: what is started from now on gets it, and
    /// the configuration is read again.
    Renew {
        environment: BTreeMap<String, String>,
    },
    /// The settings that the coordinator goes by.
    Settings,
    /// The agent programs this machine knows, and the state each is in.
    Agents,
    /// The playbooks that can be used here.
    Playbooks,
    /// By its name, or with the text of a file that the client has read: no request names a path.
    PlaybookShow(PlaybookFile),
    /// Everything that is wrong with these.
    PlaybookCheck {
        files: Vec<PlaybookFile>,
    },
    /// A session of some other program comes in without a token: it gets a seat.
    Enrol(Enrol),
    /// An enrolled session stays for as long as this connection does.
    Stay,
    /// The same of one that does not come back: its seat goes with it, unless mail or a task waits
    /// there.
    StayOnce,
    /// An enrolled session goes.
    Leave,

    Teammates,
    TeammateShow {
        name: String,
    },
    TeammateAdd(TeammateAdd),
    TeammateStart {
        name: String,
        supervision: Supervision,
    },
    TeammateRemove {
        name: String,
    },
    TeammatePause {
        name: String,
        reason: String,
    },
    TeammateContinue {
        name: String,
    },
    TeammateMode {
        name: String,
        mode: String,
    },
    TeammateBudget {
        name: String,
        budget: Budget,
    },
    TeammateIdle {
        reason: String,
    },
    /// A supervisor is there: this connection is its sign of life.
    Attend,
    /// The agent shows progress; never recorded.
    Progress {
        bytes: u64,
        last_words: String,
        /// Where the agent's program tells it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<Context>,
    },
    /// Answers `Notice::Alive`.
    Alive {
        asked: u64,
    },
    /// How the agent's own conversation can be resumed, and how much of a fence it stands behind.
    Session {
        session: String,
        #[serde(default)]
        fence: String,
    },
    /// Where a teammate's output lies; notices tell when there is more.
    Attach {
        name: String,
    },

    Tasks {
        filter: TaskFilter,
    },
    TaskShow {
        task: String,
    },
    /// What a task has changed: landed, handed in, or in its tree now.
    TaskDiff {
        task: String,
    },
    TaskCreate {
        tasks: Vec<TaskNew>,
    },
    TaskUpdate {
        task: String,
        changes: TaskChanges,
    },
    TaskClaim {
        task: String,
        lease_ms: Option<u64>,
    },
    /// The best task there is for me; `wait` until there is one.
    TaskNext {
        lease_ms: Option<u64>,
        wait: bool,
    },
    TaskRenew {
        task: String,
        token: u64,
    },
    TaskSubmit {
        task: String,
        token: u64,
        commit: Option<String>,
        result: String,
    },
    /// Submits, and takes the best next task in the same step: one round trip less
    /// between two tasks.
    TaskSubmitNext {
        task: String,
        token: u64,
        commit: Option<String>,
        result: String,
        lease_ms: Option<u64>,
    },
    TaskComplete {
        task: String,
        token: Option<u64>,
        commit: Option<String>,
        result: String,
    },
    TaskFail {
        task: String,
        token: u64,
        reason: String,
    },
    TaskRelease {
        task: String,
        token: Option<u64>,
        reason: String,
    },
    TaskAssign {
        task: String,
        to: Option<String>,
    },
    TaskRetry {
        task: String,
    },
    TaskDelete {
        task: String,
    },
    TaskSetAside {
        task: String,
        token: u64,
        work: String,
    },

    /// `to`: a name, `team/name`, `person`, `all` or `team/all`.
    Send {
        to: String,
        body: String,
        kind: Option<String>,
        reply_to: Option<u64>,
    },
    /// Reads and acknowledges; `wait` until there is something to read.
    InboxRead {
        max: usize,
        wait: bool,
    },
    InboxPeek,
    /// Hands a supervisor what its agent was not handed yet; it stays unread.
    InboxTake {
        max: usize,
        wait: bool,
    },
    MessageTrace {
        message: u64,
    },
    MessageInject {
        messages: Vec<u64>,
        turn: u64,
    },
    MessageAcknowledge {
        messages: Vec<u64>,
    },

    PlanSubmit {
        task: Option<String>,
        body: String,
        /// What a lead plans for its team.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work: Option<Box<PlannedWork>>,
    },
    Plans {
        all: bool,
    },
    PlanApprove {
        plan: u64,
    },
    PlanReject {
        plan: u64,
        feedback: String,
    },

    Question {
        kind: QuestionKind,
        text: String,
        options: Vec<String>,
    },
    Questions {
        all: bool,
    },
    Answer {
        question: u64,
        answer: String,
    },
    /// Whoever asked needs no answer any more.
    QuestionWithdraw {
        question: u64,
        reason: String,
    },

    /// Lets a phase begin that a person is asked about: the yes to this question and no other.
    PhaseApprove {
        approval: u64,
    },
    /// Leaves out a phase of the team's playbook that waits and may be left out.
    PhaseSkip {
        phase: String,
        reason: String,
    },

    /// Answered when everybody of a playbook that is over has stopped, and what it writes about
    /// them is written.
    PhasesClose,

    Shutdown {
        name: Option<String>,
        reason: String,
        deadline_ms: u64,
    },
    ShutdownAnswer {
        shutdown: u64,
        answer: ShutdownAnswer,
    },

    UsageReserve {
        usage: Usage,
    },
    UsageReport {
        usage: Usage,
        task: Option<String>,
        reservation: Option<u64>,
    },

    Log {
        after: u64,
        max: usize,
    },
    /// The board as it was when this record was the last.
    StatusAt {
        position: u64,
    },
    TasksAt {
        position: u64,
    },
    /// New records from here on, as notices.
    Follow {
        after: u64,
    },
    /// What a screen shows of these tasks, and of everything else.
    Look {
        of: LookOf,
    },
    /// The same, with every task, as it was when this record was the last.
    LookAt {
        position: u64,
    },
    /// What is seen of the teammates and never recorded, as notices.
    Signs,
    /// Reads the whole log and checks every record.
    Verify,
}

impl Ask {
    /// Nothing is started or decided for it, whatever environment it is asked from.
    pub fn only_looks(&self) -> bool {
        matches!(
            self,
            Ask::Status
                | Ask::Teams
                | Ask::TeamShow
                | Ask::Settings
                | Ask::Playbooks
                | Ask::PlaybookShow(_)
                | Ask::PlaybookCheck { .. }
                | Ask::Leftovers { .. }
                | Ask::Teammates
                | Ask::TeammateShow { .. }
                | Ask::Attach { .. }
                | Ask::Tasks { .. }
                | Ask::TaskShow { .. }
                | Ask::TaskDiff { .. }
                | Ask::InboxRead { .. }
                | Ask::InboxPeek
                | Ask::MessageTrace { .. }
                | Ask::Plans { .. }
                | Ask::Questions { .. }
                | Ask::Log { .. }
                | Ask::StatusAt { .. }
                | Ask::TasksAt { .. }
                | Ask::Follow { .. }
                | Ask::Look { .. }
                | Ask::LookAt { .. }
                | Ask::Signs
                | Ask::Verify
        )
    }
}

/// How a team works from now on; what is absent stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TeamSet {
    #[serde(default)]
    pub gate: Option<Vec<String>>,
    /// The program or the command behind its teammates.
    #[serde(default)]
    pub agent: String,
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub model: Option<String>,
    /// Only of these; empty: of everybody whom the runtime starts.
    #[serde(default)]
    pub teammates: Vec<String>,
    /// What stands behind each. Filled in by the coordinator.
    #[serde(default)]
    pub agents: Vec<TeammateAdd>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TeammateAdd {
    pub name: String,
    #[serde(default)]
    pub lead: bool,
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub agent: String,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub scope: Vec<String>,
    /// `normal`, `plan`, `delegate` or `read_only`.
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub tasks_max: Option<u32>,
    /// The command line of an agent that is a plain command.
    #[serde(default)]
    pub command: String,
    /// The runtime starts it when there is a task for it.
    #[serde(default)]
    pub when_needed: bool,
    /// It can be talked to. Filled in by the coordinator.
    #[serde(default)]
    pub hears: bool,
}

/// A seat for a session that comes by itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Enrol {
    /// The name it would like; a number is added while another session has it.
    pub name: String,
    /// It wants to lead. Where somebody leads already it only looks on.
    #[serde(default)]
    pub lead: bool,
    /// The program, as it names itself.
    #[serde(default)]
    pub agent: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Supervision {
    #[default]
    None,
    Supervised,
    OneShot,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Budget {
    #[serde(default)]
    pub tokens_max: Option<u64>,
    #[serde(default)]
    pub cost_micros_max: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub tokens_in: u64,
    #[serde(default)]
    pub tokens_out: u64,
    #[serde(default)]
    pub tokens_cached: u64,
    #[serde(default)]
    pub cost_micros: u64,
}

/// How full an agent's context is, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub used: u64,
    /// What fits; unknown where the program does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

impl Context {
    pub fn percent(&self) -> Option<u64> {
        let max = self.max.filter(|max| *max > 0)?;
        Some(self.used.saturating_mul(100) / max)
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskFilter {
    /// `pending`, `in_progress`, `completed`, `failed`, `deleted`; empty means all but deleted.
    #[serde(default)]
    pub status: Vec<String>,
    /// Only what could be taken now (by this teammate, or by anybody for a person).
    #[serde(default)]
    pub available: bool,
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    pub group: Option<String>,
    /// Case-insensitive part of the subject.
    #[serde(default)]
    pub search: Option<String>,
    /// Only ids above this one: the next page.
    #[serde(default)]
    pub after: u32,
    #[serde(default)]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskNew {
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub active_form: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Ids, aliases (also of tasks in the same request) or `group:NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries_max: Option<u32>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// It may be done without any change: what is wanted is a word, not code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_change: bool,
    /// The team whose task it is; absent: the one that the request is about. All tasks of a request
    /// are one team's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
}

/// The tasks and teammates of a lead's plan. They are made when it is approved.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PlannedWork {
    /// Each with its key as the alias; `blocked_by` names keys.
    #[serde(default)]
    pub tasks: Vec<TaskNew>,
    /// Empty: as many as the tasks can use, up to the team's limit.
    #[serde(default)]
    pub teammates: Vec<TeammateAdd>,
    /// Why one teammate is enough.
    #[serde(default)]
    pub single: Option<String>,
    /// What the coordinator finds wrong with the teammates' programs. Filled in by it.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// What to change; absent means unchanged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskChanges {
    #[serde(default)]
    pub subject: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub active_form: Option<String>,
    #[serde(default)]
    pub priority: Option<i32>,
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Empty text means any role.
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub files: Option<Vec<String>>,
    #[serde(default)]
    pub add_blocked_by: Vec<String>,
    #[serde(default)]
    pub remove_blocked_by: Vec<String>,
    /// Empty text removes the key.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    Question,
    Permission,
    Scope,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownAnswer {
    Clean,
    InProgress { pending: Vec<String> },
    Error { reason: String },
    Rejected { reason: String },
}
