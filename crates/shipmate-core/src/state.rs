//! The state of one tree of teams: the fold of its log.
//!
//! Everything in it follows from the events alone. What is not worth folding again
//! (`Ready`, `MemberIndex`) is derived from the rest and left out of snapshots.

mod account;
mod course;
mod history;
mod host;
mod index;
mod lives;
mod talk;
mod tasks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use shipmate_model::event::{
    Budget, Dependency, EscalationId, MessageId, Mode, Outcome, PlanId, Profile, QuestionId,
    Recipient, ReservationId, Seat, ShutdownId, Supervision, TaskId, TaskSpec, Token, Usage,
    Verification,
};
use shipmate_model::files::FileSet;
use shipmate_model::name::{Actor, Address, Alias, Name, Position, TeammateRef};
use shipmate_model::pause::Pause;
use shipmate_model::profile::StartRule;
use shipmate_model::refusal::Refusal;
use shipmate_model::setup::Setup;
use shipmate_model::status::TaskStatus;

use crate::ready::{LaneKey, Pool, Rank, Ready};
use crate::request::Clients;
use crate::shared::Shared;

pub(crate) use account::Span;
pub use account::{Account, Booked, Fallen, Parked};
pub(crate) use course::is_led_by;
pub use course::{Course, Past, Standing};
pub use history::{Deviation, Health, HealthWord, SetAside};
pub use host::Host;
pub(crate) use index::MemberIndex;
pub(crate) use lives::{answered, current, ends_by_process, forget, recall, waiting_for_an_answer};
pub use talk::{
    Decision, Delivery, HandedOver, Kept, Message, Note, Plan, Question, Raised, Shutdown,
    ShutdownEnd,
};
pub use tasks::Tasks;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Position of the last record applied.
    pub position: Position,
    pub(crate) clients: Clients,
    pub root: Option<Name>,
    pub teams: BTreeMap<Name, Team>,
    pub teammates: BTreeMap<Address, Teammate>,
    /// Machines that share this log; none while there is only the one where the team was made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<Name, Host>,
    /// The one of them that merges, gates and runs phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<Name>,
    /// What the agents of teammates ask their models with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<Name, Account>,
    /// Where the teams' branches stand, as far as every host can get them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub branches: BTreeMap<Name, String>,
    /// Task `n` stands at index `n - 1`: ids are dense and tasks are never taken out.
    pub(crate) tasks: Vec<Shared<Task>>,
    pub(crate) aliases: BTreeMap<Alias, TaskId>,
    /// Tasks of a plan that wait for one which comes later in the same append.
    pub(crate) forward: BTreeMap<TaskId, Vec<TaskId>>,
    pub groups: BTreeMap<Name, Group>,
    /// Messages that somebody has not read yet. Read ones are in the log.
    pub messages: BTreeMap<MessageId, Message>,
    pub person_inbox: BTreeSet<MessageId>,
    pub plans: BTreeMap<PlanId, Plan>,
    pub questions: BTreeMap<QuestionId, Question>,
    pub shutdowns: BTreeMap<ShutdownId, Shutdown>,
    #[serde(default)]
    pub escalations: BTreeMap<EscalationId, Raised>,
    pub(crate) reservations: BTreeMap<ReservationId, (Address, Usage)>,
    /// What went otherwise than planned, where a playbook wants to tell of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
    /// How members came and went, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<Health>,
    /// The scratchpads of all its teams, the newest last.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(crate) notes: VecDeque<Shared<Note>>,
    /// How far the files were read into which programs outside drop mail for a member.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<Address, u64>,
    /// Tasks in progress with a lease, for whoever measures leases.
    pub(crate) leased: BTreeSet<TaskId>,
    /// Tasks that wait for a gate.
    pub(crate) submitted: BTreeSet<TaskId>,
    #[serde(skip)]
    pub(crate) ready: Ready,
    #[serde(skip)]
    pub(crate) index: MemberIndex,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Team {
    /// Wall clock; tells this team from an earlier one of the same name.
    #[serde(default)]
    pub created_at: u64,
    pub parent: Option<Name>,
    pub description: String,
    pub verification: Verification,
    pub setup: Box<Setup>,
    /// Why nobody starts or claims, and who wants it so.
    pub paused: Option<Pause>,
    pub phase: TeamPhase,
    pub lead: Option<Name>,
    pub budget: Budget,
    pub usage: Usage,
    pub reserved: Usage,
    pub breaker: Breaker,
    /// The text of the plan it works by, where its lead made one and it was approved.
    #[serde(default)]
    pub plan: String,
    /// Where it is in its playbook.
    #[serde(default)]
    pub course: Option<Course>,
    /// How often two members have asked for each other's files; the first name is the lesser.
    #[serde(default)]
    pub contested: BTreeMap<Name, BTreeMap<Name, u32>>,
    /// What its playbook keeps of what was said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
    /// The gate was green here: it can be, so what it says of somebody's work means something.
    #[serde(default)]
    pub gate_is_tried: bool,
    /// The last commit that its gate passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub green: Option<Green>,
    /// What its lead was first asked for, until a plan of it is approved: whoever leads next is
    /// asked for the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// How many tasks are in each status, so that a summary looks at none of them.
    pub counts: Counts,
}

/// A commit, and the team's gate that passed on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Green {
    pub commit: String,
    pub gate: Vec<String>,
}

impl Team {
    pub(crate) fn new(created_at: u64, verification: Verification) -> Team {
        Team {
            created_at,
            parent: None,
            description: String::new(),
            verification,
            setup: Box::default(),
            paused: None,
            phase: TeamPhase::Active,
            lead: None,
            budget: Budget::default(),
            usage: Usage::default(),
            reserved: Usage::default(),
            breaker: Breaker::default(),
            plan: String::new(),
            course: None,
            contested: BTreeMap::new(),
            kept: Vec::new(),
            gate_is_tried: false,
            green: None,
            goal: None,
            counts: Counts::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TeamPhase {
    Active,
    Ending,
    Deleted,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub pending: usize,
    pub in_progress: usize,
    pub completed: usize,
    pub failed: usize,
    pub deleted: usize,
}

impl Counts {
    pub(crate) fn open(&self) -> usize {
        self.pending + self.in_progress
    }

    /// Nothing is left that could become somebody's task.
    pub(crate) fn are_done(&self) -> bool {
        self.open() == 0 && self.completed + self.failed > 0
    }
}

/// Per team: two disappearances close together stop new teammates for a while.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// Positions of the disappearances that still count.
    pub strikes: BTreeSet<Position>,
    pub phase: BreakerPhase,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BreakerPhase {
    #[default]
    Closed,
    Open {
        at: Position,
    },
    HalfOpen {
        at: Position,
        /// The one teammate that was let through.
        probe: Option<TeammateRef>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teammate {
    pub profile: Profile,
    /// 0 until it is first started.
    pub epoch: u32,
    pub life: Life,
    pub supervision: Supervision,
    pub host: Option<Name>,
    pub token_hash: String,
    /// Why it has nothing to do; absent while it holds a task.
    pub idle: Option<String>,
    pub paused: Option<Pause>,
    pub holds: BTreeSet<TaskId>,
    /// Submitted tasks that wait for their gate.
    pub submitted: BTreeSet<TaskId>,
    /// Tasks that a gate sent back; they come first.
    pub returned: BTreeSet<TaskId>,
    pub inbox: BTreeSet<MessageId>,
    /// Something was told to it since it last said, with an empty inbox, that it is idle: it may
    /// have read it and still act on it.
    #[serde(default)]
    pub told: bool,
    /// Those who wrote to it and may be answered, where routes would not lead to them.
    #[serde(default)]
    pub may_answer: BTreeSet<Recipient>,
    /// The team goes on without it, and it is asked to stop when it is its turn.
    #[serde(default)]
    pub leaving: bool,
    /// What it gave back because its account had no room: it takes that up first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked_task: Option<TaskId>,
    /// What it last claimed, in any life.
    #[serde(default)]
    pub last_task: Option<TaskId>,
    pub approved_plan: Option<PlanId>,
    pub shutdown: Option<ShutdownId>,
    /// Outlives epochs: how the agent's conversation can be resumed.
    pub session: String,
    /// What its agent asks its model with, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Name>,
    /// What stood behind it first, while its fallback does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallen: Option<Box<Fallen>>,
    /// This life is the last with what stood behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub switches: bool,
    /// The conversation of what stands behind it by turns.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub other_session: String,
    /// The model that it really asks, as far as it has told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// How much of a fence its agent stood behind when it was last told.
    pub fence: String,
    /// How often in a row it was seen to make no progress.
    pub stalls: u32,
    /// Claims of this life.
    pub claims: u32,
    /// Lives in a row that could not work.
    pub barren: u32,
    /// It refused to retire and is not asked again until it has had a task.
    pub stays: bool,
    /// A person or lead had it stopped: the runtime does not start it again by itself.
    pub dismissed: bool,
    pub budget: Budget,
    pub usage: Usage,
    /// The same by the account that it was used with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub booked: Vec<Booked>,
    pub reserved: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Life {
    Added,
    Running,
    Disappeared { reason: String },
    Stopped { outcome: Outcome },
    Removed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub team: Name,
    pub spec: TaskSpec,
    pub created_by: Actor,
    pub created_at: u64,
    pub changed_at: u64,
    pub status: Status,
    /// Attempts that came back; see `TaskSpec::retries_max`.
    pub retries: u32,
    /// Why the last attempt came back.
    pub last_failure: Option<String>,
    /// Whose words that is; nothing where the runtime found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_by: Option<TeammateRef>,
    /// How often in a row for the same reason.
    #[serde(default)]
    pub same_failures: u32,
    /// An attempt came back because it changed nothing.
    #[serde(default)]
    pub unchanged: bool,
    /// Its team takes tasks by their numbers.
    #[serde(default)]
    pub by_number: bool,
    /// Dependencies that are not met yet.
    pub(crate) unmet: u32,
    pub dependents: Vec<TaskId>,
    /// Length of the longest path from here to the end of the plan.
    pub path_ms: u64,
    /// Work of claims that had ended.
    pub set_aside: Vec<SetAside>,
    /// The commit that was last handed in under each claim.
    pub handed_in: BTreeMap<Token, String>,
    /// What was last handed over with its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Box<HandedOver>>,
    /// Paths that its work may touch beyond its files.
    pub granted: FileSet,
    /// Paths that its work is merged without.
    #[serde(default)]
    pub left_out: FileSet,
    /// The question its submission waits for.
    pub scope_question: Option<QuestionId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    Pending,
    InProgress(Claim),
    Completed { by: Option<TeammateRef>, commit: Option<String>, result: String },
    Failed { reason: String },
    Deleted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub by: TeammateRef,
    pub token: Token,
    pub lease_ms: Option<u64>,
    pub renewal: u32,
    pub stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    Claimed,
    Submitted { commit: Option<String>, result: String },
    Returned { reason: String },
}

/// Tasks that can be depended on together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub members: Vec<TaskId>,
    pub completed: usize,
    pub deleted: usize,
    pub dependents: Vec<TaskId>,
}

impl Group {
    /// Deleted members do not count, and nothing is not something done.
    pub fn is_done(&self) -> bool {
        self.completed > 0 && self.completed + self.deleted == self.members.len()
    }
}

impl Task {
    /// As it is shown on the board.
    pub fn shown(&self) -> TaskStatus {
        match self.status {
            Status::Pending => TaskStatus::Pending,
            Status::InProgress(_) => TaskStatus::InProgress,
            Status::Completed { .. } => TaskStatus::Completed,
            Status::Failed { .. } => TaskStatus::Failed,
            Status::Deleted => TaskStatus::Deleted,
        }
    }

    pub fn status_word(&self) -> &'static str {
        self.shown().word()
    }

    pub fn claim(&self) -> Option<&Claim> {
        match &self.status {
            Status::InProgress(claim) => Some(claim),
            _ => None,
        }
    }

    /// Every dependency is met.
    pub fn is_unblocked(&self) -> bool {
        self.unmet == 0
    }

    /// What it keeps from others while it is in progress: its files and what was granted
    /// to it. A task without files keeps nothing.
    pub(crate) fn held_files(&self) -> FileSet {
        if self.spec.files.is_empty() {
            return FileSet::default();
        }
        let all = self.spec.files.iter().chain(self.granted.iter());
        FileSet::new(all.cloned().collect())
    }

    /// What it would like to take while it is pending.
    pub(crate) fn wanted_files(&self) -> Option<&FileSet> {
        let wants = self.status == Status::Pending && !self.spec.files.is_empty();
        wants.then_some(&self.spec.files)
    }

    pub(crate) fn duration_ms(&self) -> u64 {
        self.spec.duration_ms.unwrap_or(shipmate_model::limits::DURATION_DEFAULT_MS)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.status == Status::Pending && self.unmet == 0
    }

    pub(crate) fn rank(&self) -> Rank {
        let path_ms = if self.by_number { 0 } else { self.path_ms };
        (self.spec.priority, std::cmp::Reverse(path_ms), self.id)
    }

    pub(crate) fn lane(&self) -> LaneKey {
        LaneKey {
            pool: Pool {
                team: self.team.clone(),
                role: self.spec.role.clone(),
                assignee: self.spec.assignee.clone(),
            },
            files: self.spec.files.clone(),
        }
    }
}

impl Teammate {
    pub fn is_running(&self) -> bool {
        self.life == Life::Running
    }

    /// Mail may be put into its inbox: it reads it now or in its next life.
    pub fn can_receive(&self) -> bool {
        matches!(self.life, Life::Added | Life::Running | Life::Disappeared { .. })
            || self.comes_back()
    }

    /// Its end is not for good: mail waits, and may be what brings it back.
    pub fn comes_back(&self) -> bool {
        match self.profile.start {
            StartRule::Session => true,
            StartRule::WhenNeeded => self.profile.hears && !self.dismissed,
            StartRule::ByHand => false,
        }
    }

    /// It could not work, and is not started again until somebody says so.
    pub fn is_given_up(&self) -> bool {
        self.barren >= shipmate_model::limits::BARREN_MAX && !self.is_running()
    }

    pub fn is_lead(&self) -> bool {
        self.profile.seat == Seat::Lead
    }

    /// A lead that plans or delegates, or has the board to fill: only what is assigned to it by
    /// name is its task.
    pub(crate) fn leads_others(&self, team: &Team) -> bool {
        let fills = |(_, phase, _): (_, &shipmate_model::playbook::Phase, _)| phase.lead_plans;
        let leads = matches!(self.profile.mode, Mode::Plan | Mode::Delegate);
        self.is_lead() && (leads || team.phase_now().is_some_and(fills))
    }
}

impl State {
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get((id as usize).checked_sub(1)?).map(|task| &**task)
    }

    pub fn tasks(&self) -> Tasks<'_> {
        Tasks(&self.tasks)
    }

    /// Tasks that wait for a gate or for a word about their scope.
    pub fn submissions(&self) -> impl Iterator<Item = &Task> {
        self.submitted.iter().filter_map(|id| self.task(*id))
    }

    pub fn by_alias(&self, alias: &Alias) -> Option<TaskId> {
        self.aliases.get(alias).copied()
    }

    /// The whole tree has ended; nothing can be added to it.
    pub fn is_over(&self) -> bool {
        let root = self.root.as_ref().and_then(|root| self.teams.get(root));
        root.is_some_and(|root| root.phase == TeamPhase::Deleted)
    }

    /// Rebuilds what a snapshot leaves out.
    pub fn restore(mut self) -> State {
        self.ready = Ready::default();
        let mut ready = Ready::default();
        for task in &self.tasks {
            if task.claim().is_some() {
                ready.hold(task.id, &task.held_files());
            }
            if let Some(files) = task.wanted_files() {
                ready.want(task.id, files);
            }
        }
        for task in self.tasks.iter().filter(|task| task.is_ready()) {
            ready.add(task.lane(), task.rank());
        }
        self.ready = ready;
        self.index = MemberIndex::build(&self.teammates);
        self
    }

    pub(crate) fn task_mut(&mut self, id: TaskId) -> &mut Task {
        self.tasks.get_mut(id as usize - 1).expect("an event names a task created before it")
    }

    pub(crate) fn team_mut(&mut self, team: &Name) -> &mut Team {
        self.teams.get_mut(team).expect("an event names a team created before it")
    }

    pub(crate) fn host_mut(&mut self, host: &Name) -> &mut Host {
        self.hosts.get_mut(host).expect("an event names a host that joined before it")
    }

    pub(crate) fn teammate_mut(&mut self, who: &Address) -> &mut Teammate {
        self.index.note(who);
        self.teammates.get_mut(who).expect("an event names a teammate added before it")
    }

    /// The teammate, unless it was removed.
    pub fn member(&self, who: &Address) -> Option<&Teammate> {
        self.teammates.get(who).filter(|teammate| teammate.life != Life::Removed)
    }

    pub fn members(&self) -> Vec<Address> {
        let present = |t: &Teammate| t.life != Life::Removed;
        self.teammates.iter().filter(|(_, t)| present(t)).map(|(a, _)| a.clone()).collect()
    }

    pub fn members_of<'a>(
        &'a self,
        team: &'a Name,
    ) -> impl Iterator<Item = (&'a Address, &'a Teammate)> {
        // Addresses sort by team first, so a team's members stand together.
        self.teammates
            .range(first_of(team)..)
            .take_while(move |(address, _)| address.team == *team)
            .filter(|(_, teammate)| teammate.life != Life::Removed)
    }

    pub(crate) fn require_team(&self, team: &Name) -> Result<&Team, Refusal> {
        match self.teams.get(team) {
            Some(found) if found.phase != TeamPhase::Deleted => Ok(found),
            _ => Err(Refusal::UnknownTeam { team: team.clone() }),
        }
    }

    pub(crate) fn require_active_team(&self, team: &Name) -> Result<&Team, Refusal> {
        let found = self.require_team(team)?;
        if found.phase == TeamPhase::Ending {
            return Err(Refusal::TeamEnding { team: team.clone() });
        }
        Ok(found)
    }

    pub(crate) fn require_task(&self, task: TaskId) -> Result<&Task, Refusal> {
        self.task(task).ok_or(Refusal::UnknownTask { task })
    }

    pub(crate) fn require_member(&self, who: &Address) -> Result<&Teammate, Refusal> {
        self.member(who).ok_or_else(|| Refusal::UnknownTeammate {
            name: who.to_string(),
            members: self.members(),
        })
    }

    /// The teammate, if this is its present life.
    pub(crate) fn require_current(&self, who: &TeammateRef) -> Result<&Teammate, Refusal> {
        let found = self.require_member(&who.address)?;
        if found.epoch != who.epoch {
            return Err(Refusal::StaleTeammate { who: who.clone(), current: found.epoch });
        }
        if !found.is_running() {
            return Err(Refusal::NotRunning { who: who.address.clone() });
        }
        Ok(found)
    }

    /// The actor as a teammate in its present life.
    pub(crate) fn require_teammate<'a>(
        &'a self,
        by: &'a Actor,
        what: &'static str,
    ) -> Result<(&'a TeammateRef, &'a Teammate), Refusal> {
        match by {
            Actor::Teammate(who) => Ok((who, self.require_current(who)?)),
            _ => Err(Refusal::NotTheirs { by: by.clone(), what }),
        }
    }

    /// A person, the runtime, or the lead of the team or of one above it.
    pub(crate) fn require_manager(
        &self,
        by: &Actor,
        team: &Name,
        what: &'static str,
    ) -> Result<(), Refusal> {
        let Actor::Teammate(who) = by else { return Ok(()) };
        if self.require_current(who)?.is_lead() {
            let mut at = Some(team);
            while let Some(here) = at {
                if *here == who.address.team {
                    return Ok(());
                }
                at = self.teams.get(here).and_then(|team| team.parent.as_ref());
            }
        }
        Err(Refusal::NotAllowed { by: by.clone(), what, team: team.clone() })
    }

    pub(crate) fn require_runtime(&self, by: &Actor, what: &'static str) -> Result<(), Refusal> {
        match by {
            Actor::Runtime => Ok(()),
            _ => Err(Refusal::NotTheirs { by: by.clone(), what }),
        }
    }

    /// The actor's epoch is current; persons and the runtime always are.
    pub(crate) fn require_present(&self, by: &Actor) -> Result<(), Refusal> {
        if let Actor::Teammate(who) = by {
            self.require_current(who)?;
        }
        Ok(())
    }

    pub(crate) fn dependency_is_met(&self, dependency: &Dependency) -> bool {
        match dependency {
            Dependency::Task(id) => {
                self.task(*id).is_some_and(|task| matches!(task.status, Status::Completed { .. }))
            }
            Dependency::Group(name) => self.groups.get(name).is_some_and(Group::is_done),
        }
    }
}

fn first_of(team: &Name) -> Address {
    let least: Name = "0".parse().expect("a digit is a name");
    Address { team: team.clone(), name: least }
}
