//! Views: what a front end shows. Neutral between terminal, page and tools; the
//! fields of each are the documented shape of the CLI's `--json`.

mod account;
mod agent;
mod decided;
mod delta;
mod diff;
mod handoff;
mod look;
mod merged;
mod model;
pub mod moment;
mod pause;
mod playbook;
pub mod story;
pub mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shipmate_model::handoff::Handoff;
use shipmate_model::host::Place;
use shipmate_model::message::QuestionKind;
use shipmate_model::profile::{Mode, Supervision};
use shipmate_model::setup::Preparation;

pub use account::{AccountView, ParkedView};
pub use agent::{AgentView, KNOWN_AGENTS, OwnFolder};
pub use decided::{Decided, DecidedRow};
pub use delta::{CostRow, Delivery, Delta, GateRow, LifeRow, LogLine, MessageRow, Span, SpanPart};
pub use diff::{DiffFile, TaskDiff};
pub use handoff::{NoteView, PriorView};
pub use look::{Card, DecisionView, GateMark, Look, LookOf};
pub use merged::{Leftover, Merged};
pub use pause::PauseView;
pub use playbook::{
    PlaybookChecked, PlaybookEntry, PlaybookPart, PlaybookRow, PlaybookView, ProblemView,
};
pub use shipmate_model::status::{
    BreakerState, DecisionKind, DeliveryState, HostState, LifeEnd, PauseKind, PhaseState,
    PlanState, QuestionState, SpanEnd, SpanKind, TaskStage, TaskStatus, TeamState, TeammateState,
};

/// One line of a task list.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TaskRow {
    pub id: u32,
    pub subject: String,
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<TaskStage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Pending and nothing stands in the way.
    pub available: bool,
    /// It waits for another task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// Why a pending task cannot be taken, or not by everybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub priority: i32,
    pub team: String,
}

/// Everything about one task: a row's fields and these, side by side. What is empty is left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "FlatTask")]
pub struct TaskView {
    #[serde(flatten)]
    pub row: TaskRow,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub active_form: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Longest way from this task to the end of the plan.
    pub path_ms: u64,
    pub retries: u32,
    pub retries_max: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// The teammate whose words that is; nothing where the runtime found it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_by: String,
    /// How often in a row it came back like that.
    #[serde(skip_serializing_if = "is_at_most_once")]
    pub same_failures: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Fencing token of the present claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// What it handed over with its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// What the tasks that it waited for handed over, as far as it fits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<PriorView>,
    /// The first of those of which nothing fits, and how many they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handoffs_left_out: Vec<u32>,
    #[serde(skip_serializing_if = "is_none_left")]
    pub handoffs_left_out_count: usize,
    /// The newest notes about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NoteView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    pub created_by: String,
    /// Milliseconds since 1970.
    pub created_at: u64,
    pub changed_at: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub pending: usize,
    pub in_progress: usize,
    pub completed: usize,
    pub failed: usize,
    pub deleted: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeamView {
    pub name: String,
    pub parent: Option<String>,
    pub description: String,
    pub phase: TeamState,
    pub lead: Option<String>,
    pub gate: bool,
    pub teammates: usize,
    pub running: usize,
    pub tasks: Counts,
    /// Why nobody starts or claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// What that pause is, and whose word the reason is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseView>,
    /// The commit it began at and the branch its work is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    pub breaker: BreakerState,
    pub tokens_used: u64,
    pub cost_micros: u64,
    /// Of the tokens, those whose price is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_unpriced: u64,
    /// Of the money, what nobody pays: that of accounts with windows, at the prices of a key.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_notional_micros: u64,
    /// Of the tokens, those of accounts with windows, which have no price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_subscription: u64,
    /// Of those, the ones of which nobody knows what a key would have paid.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_subscription_unpriced: u64,
    /// Of the tokens, those that are an estimate: of requests that broke off, say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_estimated: u64,
    pub tokens_max: Option<u64>,
    /// The budget in thousandths of a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_max: Option<u32>,
    /// What is used of that: the most that a window of its accounts has moved since the tree of teams began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_used: Option<u32>,
    pub cost_micros_max: Option<u64>,
    /// The playbook it works by, and its phases in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playbook: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseView>,
    /// What whoever joins works with and names no other.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The tools of whoever leads it, where the playbook names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lead_tools: Vec<String>,
}

impl TeamView {
    /// How it stands, in a word: `paused`, `done`, or its phase.
    pub fn state(&self) -> &'static str {
        let tasks = &self.tasks;
        let is_open = |phase: &PhaseView| phase.state.is_open();
        let left = tasks.pending + tasks.in_progress + tasks.failed;
        let is_done = tasks.completed > 0 && left == 0 && !self.phases.iter().any(is_open);
        match (self.phase, &self.paused) {
            (TeamState::Active, _) if is_done && self.running == 0 => "done",
            (TeamState::Active, Some(_)) => "paused",
            (phase, _) => phase.word(),
        }
    }
}

/// A phase of a team's playbook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseView {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    pub state: PhaseState,
    /// Which time it is; 0 before the first.
    pub round: u32,
    /// What it waits for, or why it ended so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// It may be left out.
    #[serde(default)]
    pub optional: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TeammateView {
    pub name: String,
    pub team: String,
    pub lead: bool,
    pub epoch: u32,
    pub state: TeammateState,
    /// Why it is in that state.
    pub why: String,
    pub role: Option<String>,
    pub agent: String,
    pub model: String,
    pub mode: Mode,
    /// The file of the definition that it is made from, and what its program does not hold of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheld: Vec<String>,
    /// The tools of its role, where the playbook names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    pub scope: Vec<String>,
    pub holds: Vec<u32>,
    pub submitted: Vec<u32>,
    pub returned: Vec<u32>,
    pub unread: usize,
    pub tasks_max: u32,
    pub tokens_used: u64,
    pub cost_micros: u64,
    /// How many of the tokens have a price that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_unpriced: u64,
    /// Of the money, what nobody pays: of accounts with windows that it has or had, at the prices of a key.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_notional_micros: u64,
    /// Of the tokens, those of accounts with windows, which have no price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_subscription: u64,
    /// Of those, the ones of which nobody knows what a key would have paid.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_subscription_unpriced: u64,
    /// The account that it has now has windows: nobody pays by the token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subscription: bool,
    /// How many of the tokens are an estimate: of requests that broke off, say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens_estimated: u64,
    /// Its own budget beside its team's, and what is used of a window where that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_used: Option<u32>,
    /// The model that it really asks, as far as it has told; `model` is the one that was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model_used: String,
    /// They differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other_model: bool,
    /// What takes its place while its account has no room.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fallback: String,
    /// It stands in place of this one, whose account has no room.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instead_of: String,
    pub host: Option<String>,
    /// The only machines it may run on.
    #[serde(default, skip_serializing_if = "Place::is_anywhere")]
    pub place: Place,
    /// The command line that the runtime runs for each task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    pub supervision: Supervision,
    /// The agent's own name for its conversation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// What its agent asks its model with, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// `full`, `partial` or `none` where a fence was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fence: String,
    /// The last line it printed, and how long ago it showed a sign of progress.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_words: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<u64>,
    /// When that was, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_at: Option<u64>,
    /// How many tokens its conversation holds, and how many it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_max: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// A machine that shares the team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostView {
    pub name: String,
    pub state: HostState,
    /// It merges, gates and runs phases.
    pub home: bool,
    /// It is the machine that answers.
    pub here: bool,
    /// How many teammates run there at once, and how many do; who was started by hand takes no slot.
    pub slots: u32,
    pub taken: u32,
    /// Everybody who runs there.
    pub teammates: Vec<String>,
    pub labels: Vec<String>,
    pub programs: Vec<String>,
    pub release: String,
    /// Commits that it has to get before somebody can run there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// How long ago it gave a sign, in milliseconds, where this machine has heard one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<u64>,
    /// When that was, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_at: Option<u64>,
}

/// What became of a teammate when its team was resumed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Resumed {
    pub name: String,
    /// `resumed` (the same process goes on), `started`, `restarted`, `waits`, `failed` (until what
    /// is told is mended) or `lost` (only a person starts it).
    pub how: String,
    pub why: String,
}

/// The repository as a team would find it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Survey {
    /// The commit that is checked out, and its branch unless HEAD is detached.
    pub base: String,
    pub branch: Option<String>,
    /// Uncommitted changes, which nobody in the team would see.
    pub dirty: Vec<String>,
    pub notes: Vec<String>,
    /// What files of other programs say that trees get.
    #[serde(default, skip_serializing_if = "Preparation::is_none")]
    pub trees: Preparation,
}

/// One hook, fired with a sample.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HookTry {
    pub event: String,
    pub hook: String,
    /// `accepts`, `rejects`, `fails`, `hangs` or `missing`.
    pub result: String,
    pub detail: String,
    pub took_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InboxMessage {
    pub id: u64,
    pub from: String,
    /// `message`, `broadcast`, `notice`, `shutdown_request`, …; a handoff's own kind.
    pub kind: String,
    pub body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    pub sent_at: u64,
}

/// The life of one message, recipient by recipient.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageTrace {
    pub message: InboxMessage,
    pub to: Vec<DeliveryTrace>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeliveryTrace {
    pub to: String,
    pub state: DeliveryState,
    pub steps: Vec<DeliveryStep>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeliveryStep {
    pub state: DeliveryState,
    pub position: u64,
    pub at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlanView {
    pub id: u64,
    pub who: String,
    pub task: Option<u32>,
    pub body: String,
    pub state: PlanState,
    pub feedback: Option<String>,
    /// It was rejected because it could not be carried out, and nobody has read it for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unworkable: bool,
    pub submitted_at: u64,
    /// What a lead plans for its team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<WorkView>>,
}

/// The tasks and teammates that a plan's approval brings about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkView {
    pub tasks: Vec<PlannedTaskView>,
    pub teammates: Vec<PlannedTeammateView>,
    /// Why one teammate is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<String>,
    /// How many tasks can be worked on at the same time at most.
    pub width: usize,
    /// The tasks of the longest path, first one first, and how long it is.
    pub critical_path: Vec<String>,
    pub critical_path_ms: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTaskView {
    /// How the plan names it; the task's alias once it is there.
    pub key: String,
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTeammateView {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The program behind it; empty for a plain command.
    pub agent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    pub mode: Mode,
    /// The only machines it may run on.
    #[serde(default, skip_serializing_if = "Place::is_anywhere")]
    pub place: Place,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QuestionView {
    pub id: u64,
    pub who: String,
    pub kind: QuestionKind,
    pub text: String,
    pub options: Vec<String>,
    pub state: QuestionState,
    pub answer: Option<String>,
    pub asked_at: u64,
}

/// A whole tree at a glance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub root: String,
    /// Position of the last record.
    pub position: u64,
    pub teams: Vec<TeamView>,
    pub teammates: Vec<TeammateView>,
    /// The machines that share it; none while there is only this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostView>,
    /// What their agents ask their models with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<AccountView>,
    /// Tasks that could be taken now, best first, at most 20.
    pub available: Vec<u32>,
    /// There are such tasks, and whoever runs or may be started can take none of them.
    #[serde(default)]
    pub nobody_takes: bool,
    pub open_plans: usize,
    pub open_questions: usize,
    pub unread_by_person: usize,
    /// `sqlite` or `nats`.
    pub log: String,
    /// What the merge queue does now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
}

/// A record of the log as it is stored.
pub type LogRecord = Box<RawValue>;

/// A task as it is on the wire: field by field takes a third of the time of serde's own flattening.
#[derive(Deserialize)]
struct FlatTask {
    id: u32,
    subject: String,
    status: TaskStatus,
    #[serde(default)]
    stage: Option<TaskStage>,
    #[serde(default)]
    owner: Option<String>,
    available: bool,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    why: Vec<String>,
    #[serde(default)]
    blocked_by: Vec<String>,
    #[serde(default)]
    alias: Option<String>,
    #[serde(default)]
    group: Option<String>,
    priority: i32,
    team: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    active_form: String,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    assignee: Option<String>,
    #[serde(default)]
    blocks: Vec<u32>,
    #[serde(default)]
    duration_ms: Option<u64>,
    path_ms: u64,
    retries: u32,
    retries_max: u32,
    #[serde(default)]
    last_failure: Option<String>,
    #[serde(default)]
    failure_by: String,
    #[serde(default)]
    same_failures: u32,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    token: Option<u64>,
    #[serde(default)]
    lease_ms: Option<u64>,
    #[serde(default)]
    commit: Option<String>,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    handoff: Option<Handoff>,
    #[serde(default)]
    handoffs: Vec<PriorView>,
    #[serde(default)]
    handoffs_left_out: Vec<u32>,
    #[serde(default)]
    handoffs_left_out_count: usize,
    #[serde(default)]
    notes: Vec<NoteView>,
    #[serde(default)]
    set_aside: Vec<String>,
    created_by: String,
    created_at: u64,
    changed_at: u64,
}

impl From<FlatTask> for TaskView {
    fn from(flat: FlatTask) -> TaskView {
        let row = TaskRow {
            id: flat.id,
            subject: flat.subject,
            status: flat.status,
            stage: flat.stage,
            owner: flat.owner,
            available: flat.available,
            blocked: flat.blocked,
            why: flat.why,
            blocked_by: flat.blocked_by,
            alias: flat.alias,
            group: flat.group,
            priority: flat.priority,
            team: flat.team,
        };
        TaskView {
            row,
            description: flat.description,
            active_form: flat.active_form,
            files: flat.files,
            role: flat.role,
            assignee: flat.assignee,
            blocks: flat.blocks,
            duration_ms: flat.duration_ms,
            path_ms: flat.path_ms,
            retries: flat.retries,
            retries_max: flat.retries_max,
            last_failure: flat.last_failure,
            failure_by: flat.failure_by,
            same_failures: flat.same_failures,
            metadata: flat.metadata,
            token: flat.token,
            lease_ms: flat.lease_ms,
            commit: flat.commit,
            result: flat.result,
            handoff: flat.handoff,
            handoffs: flat.handoffs,
            handoffs_left_out: flat.handoffs_left_out,
            handoffs_left_out_count: flat.handoffs_left_out_count,
            notes: flat.notes,
            set_aside: flat.set_aside,
            created_by: flat.created_by,
            created_at: flat.created_at,
            changed_at: flat.changed_at,
        }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_at_most_once(n: &u32) -> bool {
    *n <= 1
}

fn is_none_left(n: &usize) -> bool {
    *n == 0
}
