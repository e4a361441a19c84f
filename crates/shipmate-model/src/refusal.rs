//! Refusals: answers that a person or a model reads next.
//!
//! Each states the fact that stood in the way and names the ids; `remedy` says what
//! to do. A refusal is never logged as an error and never enters the log: a
//! refused command changes nothing.

use std::borrow::Cow;

use crate::account::{Window, moment};
use crate::code::Code;
use crate::files::BadPattern;
use crate::id::{EscalationId, MessageId, NoteId, PlanId, QuestionId, ShutdownId, TaskId, Token};
use crate::limits::PROBLEMS_TOLD_MAX;
use crate::name::{Actor, Address, Alias, BadName, Name, Position, TeammateRef};
use crate::task::Dependency;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    BadName(#[from] BadName),
    #[error(transparent)]
    BadPattern(#[from] BadPattern),
    #[error("{what} is empty")]
    Empty { what: &'static str },
    #[error("{what} is zero and must be at least 1")]
    Zero { what: &'static str },
    #[error("{what} is {size} {unit} and the limit is {limit}")]
    OverLimit { what: &'static str, size: usize, limit: usize, unit: &'static str },

    #[error("there is no team {team}")]
    UnknownTeam { team: Name },
    #[error("team {team} exists already")]
    TeamExists { team: Name },
    #[error("team {team} was deleted; its name stays with what it did")]
    TeamGone { team: Name },
    #[error("team {team} is being deleted")]
    TeamEnding { team: Name },
    #[error("a tree of teams has one root and it is {root}")]
    SecondRoot { root: Name },

    #[error("there is no teammate {name}; members: {}", list(members))]
    UnknownTeammate { name: String, members: Vec<Address> },
    #[error("{who} is a member already")]
    TeammateExists { who: Address },
    #[error("team {team} has a lead already: {lead}")]
    LeadExists { team: Name, lead: Name },
    #[error("{name} is ambiguous: {}", list(members))]
    AmbiguousTeammate { name: Name, members: Vec<Address> },
    #[error("{who} has stopped and reads no more mail; members: {}", list(members))]
    Stopped { who: Address, members: Vec<Address> },
    #[error("there is no host {host}; hosts: {}", list(hosts))]
    UnknownHost { host: Name, hosts: Vec<Name> },
    #[error("host {host} is there already")]
    HostExists { host: Name },
    #[error("host {host} has release {release} and the home has {home}")]
    OtherRelease { host: Name, release: String, home: String },
    /// It has not got what landed, or where the team began.
    #[error("host {host} has not got the team's code yet")]
    HostLacksCode { host: Name },
    #[error("host {host} is not there: it is {state}")]
    HostGone { host: Name, state: &'static str },
    #[error("host {host} is the home of the team")]
    HostIsHome { host: Name },
    #[error("{who} runs on host {host}")]
    HostBusy { host: Name, who: Address },
    #[error("{who} can be placed on no host: {why}")]
    NoHost { who: Address, why: &'static str },
    #[error("{who} is running as epoch {epoch}")]
    StillRunning { who: Address, epoch: u32 },
    #[error("{who} is not running")]
    NotRunning { who: Address },
    #[error("{who} is no longer current: the epoch of {} is now {current}", who.address)]
    StaleTeammate { who: TeammateRef, current: u32 },
    #[error("{who} is paused: {reason}")]
    Paused { who: Address, reason: String },
    #[error("team {team} is paused: {reason}")]
    TeamPaused { team: Name, reason: String },
    #[error("{who} is parked: {}", parked(account, *until, reason))]
    AccountParked { who: Address, account: Name, until: u64, reason: String, resumes: bool },
    #[error("{who} takes no new task: {}", short(account, window, why))]
    AccountShort { who: Address, account: Name, window: Box<Window>, why: String, resumes: bool },
    #[error("{who} takes no new task: its next life goes on with {agent}")]
    Switching { who: Address, agent: String },
    #[error("there is no account {account}; accounts: {}", list(accounts))]
    UnknownAccount { account: Name, accounts: Vec<Name> },
    #[error("account {account} is not parked as that")]
    AccountElsewhere { account: Name },
    #[error("{who} is a one-shot agent and has had its task")]
    OneShotDone { who: Address },
    #[error("task {task} needs files outside the scope of {who}")]
    OutsideScope { task: TaskId, who: Address },
    #[error("{who} was asked to shut down and takes no new task")]
    ShuttingDown { who: Address },

    #[error("there is no task {task}")]
    UnknownTask { task: TaskId },
    #[error("there is no note {note}")]
    UnknownNote { note: NoteId },
    #[error("note {note} was written by {by}")]
    NoteOfAnother { note: NoteId, by: Actor },
    #[error("there is no group {group}")]
    UnknownGroup { group: Name },
    #[error("the alias {alias} belongs to task {task}")]
    AliasTaken { alias: Alias, task: TaskId },
    #[error("task {task} cannot depend on itself")]
    SelfDependency { task: TaskId },
    #[error("that dependency would close a circle: {}", circle(tasks))]
    Cycle { tasks: Vec<TaskId> },
    #[error("task {task} does not depend on {on}")]
    NoSuchDependency { task: TaskId, on: Dependency },
    #[error("task {task} is {status}")]
    NotPending { task: TaskId, status: &'static str },
    #[error("task {task} is claimed by {by}")]
    AlreadyClaimed { task: TaskId, by: TeammateRef },
    #[error("the claim of {by} on task {task} still stands; only late work is set aside")]
    ClaimStands { task: TaskId, by: TeammateRef },
    #[error("task {task} is {status}, not in progress")]
    NotInProgress { task: TaskId, status: &'static str },
    #[error("task {task} is blocked by {}", list(on))]
    Blocked { task: TaskId, on: Vec<String> },
    #[error("task {task} is for role {role}, and {who} has {}", role_of(has))]
    OtherRole { task: TaskId, role: Name, who: Address, has: Option<Name> },
    #[error("task {task} is assigned to {assignee}")]
    AssignedElsewhere { task: TaskId, assignee: Name },
    #[error("task {task} belongs to team {team}")]
    OtherTeam { task: TaskId, team: Name },
    #[error("task {task} needs files held by {by} for task {holder}")]
    FilesHeld { task: TaskId, holder: TaskId, by: TeammateRef },
    #[error("{who} holds {held} of {limit} tasks it may hold: {}", list(tasks))]
    HoldsEnough { who: Address, held: usize, limit: u32, tasks: Vec<TaskId> },
    #[error("no task is available for {who} now{}", waiting_for(waiting))]
    NothingAvailable { who: Address, waiting: usize },
    #[error("{waiting} tasks of team {team} wait for their gate; one must land or come back first")]
    QueueFull { team: Name, waiting: usize },
    #[error("the claim {token} on task {task} has ended; {}", now_held(now, status))]
    StaleClaim { task: TaskId, token: Token, now: Option<TeammateRef>, status: &'static str },
    #[error("the lease on task {task} was renewed ({renewal}) after the one that ran out")]
    Renewed { task: TaskId, renewal: u32 },
    #[error("task {task} is not submitted")]
    NotSubmitted { task: TaskId },
    #[error("task {task} is submitted and waits for its gate")]
    AlreadySubmitted { task: TaskId },
    #[error("in team {team} a gate completes tasks; {who} can submit task {task}")]
    GateCompletes { task: TaskId, team: Name, who: Actor },
    #[error("task {task} has not failed, it is {status}")]
    NotFailed { task: TaskId, status: &'static str },

    #[error("{by} may not {what}; the lead of team {team} or a person may")]
    NotAllowed { by: Actor, what: &'static str, team: Name },
    #[error("{by} may not {what}")]
    NotTheirs { by: Actor, what: &'static str },
    #[error("the inbox of {who} holds {limit} unread messages, which is its limit")]
    InboxFull { who: String, limit: usize },
    #[error("message {message} is not in the inbox of {who}")]
    NotInInbox { message: MessageId, who: String },
    #[error("nobody else is in team {team}")]
    NobodyElse { team: Name },

    #[error("{from}{} may not send {kind} to {to}; it may write to: {open}", in_role(role))]
    NoRoute {
        from: Box<Address>,
        role: Option<Name>,
        to: String,
        kind: String,
        /// Where its routes lead, with what, and between teams what goes by which file.
        open: String,
    },
    #[error("{kind} is not sent: {}", instead_of_mail(file))]
    NotByMessage { kind: Name, file: Option<String> },
    #[error("{who} is a one-shot agent and has no inbox")]
    NoInbox { who: Address },
    #[error("an escalation of {who}{} goes exactly one level up: to {up}", in_role(role))]
    NotOneUp { who: Address, role: Option<Name>, up: String },
    #[error("escalation {escalation} is open and lies with {with}")]
    AlreadyEscalated { escalation: EscalationId, with: String },
    #[error("no open escalation of {of} lies with {with}: a resolution only answers one")]
    NoEscalation { with: String, of: String },
    #[error("there is no escalation {escalation}")]
    UnknownEscalation { escalation: EscalationId },

    #[error("{team} is not in phase {phase}, or not as was thought")]
    OtherPhase { team: Name, phase: Name },
    #[error("team {team} does not wait for the answer to approval {question}")]
    ApprovalPast { team: Name, question: Position },
    #[error("phase {phase} of {team} cannot be left out")]
    PhaseNeeded { team: Name, phase: Name },
    #[error("there is no plan {plan}")]
    UnknownPlan { plan: PlanId },
    #[error("plan {plan} was decided already")]
    PlanDecided { plan: PlanId },
    #[error("{who} must have its plan approved before it hands in work")]
    PlanNotApproved { who: Address },
    #[error("{who} must have its plan approved before it makes tasks or starts teammates")]
    PlanFirst { who: Address },
    #[error("plan {plan} was replaced by a later one")]
    PlanReplaced { plan: PlanId },
    #[error("the plan does not hold:{}", lines(problems))]
    BadPlan { problems: Vec<String> },
    #[error("there is no question {question}")]
    UnknownQuestion { question: QuestionId },
    #[error("question {question} was answered already")]
    QuestionAnswered { question: QuestionId },
    #[error("{answer:?} is not one of the options: {}", options.join(", "))]
    NotAnOption { answer: String, options: Vec<String> },
    #[error("there is no open shutdown request {shutdown}")]
    UnknownShutdown { shutdown: ShutdownId },
    #[error("nobody in team {team} is running")]
    NobodyRuns { team: Name },

    #[error("the circuit breaker of team {team} is open: its teammates kept disappearing")]
    BreakerOpen { team: Name },
    #[error("the circuit breaker of team {team} is trying one teammate first")]
    BreakerProbing { team: Name },
    #[error("the circuit breaker of team {team} is not in that state")]
    BreakerElsewhere { team: Name },
    #[error("the budget of {whose} is used up: {room}")]
    BudgetSpent { whose: String, room: String, raise: String },
    #[error("the budget of {whose} is a share of a window, and account {account} tells of none")]
    WindowUntold { whose: String, account: Name },

    #[error("request {counter} is older than the last one of this client ({last})")]
    StaleRequest { counter: u64, last: u64 },
}

impl Refusal {
    /// A stable word for programs; the message is for readers and may change.
    pub fn code(&self) -> Code {
        match self {
            Refusal::BadName(_) => Code::BadName,
            Refusal::BadPattern(_) => Code::BadPattern,
            Refusal::Empty { .. } => Code::Empty,
            Refusal::Zero { .. } => Code::Zero,
            Refusal::OverLimit { .. } => Code::OverLimit,
            Refusal::UnknownTeam { .. } => Code::UnknownTeam,
            Refusal::TeamExists { .. } => Code::TeamExists,
            Refusal::TeamGone { .. } => Code::TeamGone,
            Refusal::TeamEnding { .. } => Code::TeamEnding,
            Refusal::SecondRoot { .. } => Code::SecondRoot,
            Refusal::UnknownTeammate { .. } => Code::UnknownTeammate,
            Refusal::TeammateExists { .. } => Code::TeammateExists,
            Refusal::LeadExists { .. } => Code::LeadExists,
            Refusal::AmbiguousTeammate { .. } => Code::AmbiguousTeammate,
            Refusal::Stopped { .. } => Code::Stopped,
            Refusal::UnknownHost { .. } => Code::UnknownHost,
            Refusal::HostExists { .. } => Code::HostExists,
            Refusal::OtherRelease { .. } => Code::OtherRelease,
            Refusal::HostLacksCode { .. } => Code::CodeUnavailable,
            Refusal::HostGone { .. } => Code::HostGone,
            Refusal::HostIsHome { .. } => Code::HostIsHome,
            Refusal::HostBusy { .. } => Code::HostBusy,
            Refusal::NoHost { .. } => Code::NoHost,
            Refusal::StillRunning { .. } => Code::StillRunning,
            Refusal::NotRunning { .. } => Code::NotRunning,
            Refusal::StaleTeammate { .. } => Code::StaleTeammate,
            Refusal::Paused { .. } => Code::Paused,
            Refusal::TeamPaused { .. } => Code::TeamPaused,
            Refusal::AccountParked { .. } => Code::AccountParked,
            Refusal::AccountShort { .. } | Refusal::Switching { .. } => Code::AccountShort,
            Refusal::UnknownAccount { .. } => Code::UnknownAccount,
            Refusal::AccountElsewhere { .. } => Code::AccountElsewhere,
            Refusal::OneShotDone { .. } => Code::OneShotDone,
            Refusal::OutsideScope { .. } => Code::OutsideScope,
            Refusal::ShuttingDown { .. } => Code::ShuttingDown,
            Refusal::UnknownTask { .. } => Code::UnknownTask,
            Refusal::UnknownNote { .. } => Code::UnknownNote,
            Refusal::UnknownGroup { .. } => Code::UnknownGroup,
            Refusal::AliasTaken { .. } => Code::AliasTaken,
            Refusal::SelfDependency { .. } => Code::SelfDependency,
            Refusal::Cycle { .. } => Code::Cycle,
            Refusal::NoSuchDependency { .. } => Code::NoSuchDependency,
            Refusal::NotPending { .. } => Code::NotPending,
            Refusal::AlreadyClaimed { .. } => Code::AlreadyClaimed,
            Refusal::ClaimStands { .. } => Code::ClaimStands,
            Refusal::NotInProgress { .. } => Code::NotInProgress,
            Refusal::Blocked { .. } => Code::Blocked,
            Refusal::OtherRole { .. } => Code::OtherRole,
            Refusal::AssignedElsewhere { .. } => Code::AssignedElsewhere,
            Refusal::OtherTeam { .. } => Code::OtherTeam,
            Refusal::FilesHeld { .. } => Code::FilesHeld,
            Refusal::HoldsEnough { .. } => Code::HoldsEnough,
            Refusal::NothingAvailable { .. } => Code::NothingAvailable,
            Refusal::QueueFull { .. } => Code::QueueFull,
            Refusal::StaleClaim { .. } => Code::StaleClaim,
            Refusal::Renewed { .. } => Code::Renewed,
            Refusal::NotSubmitted { .. } => Code::NotSubmitted,
            Refusal::AlreadySubmitted { .. } => Code::AlreadySubmitted,
            Refusal::GateCompletes { .. } => Code::GateCompletes,
            Refusal::NotFailed { .. } => Code::NotFailed,
            Refusal::NotAllowed { .. } => Code::NotAllowed,
            Refusal::NotTheirs { .. } => Code::NotTheirs,
            Refusal::NoteOfAnother { .. } => Code::NoteOfAnother,
            Refusal::InboxFull { .. } => Code::InboxFull,
            Refusal::NotInInbox { .. } => Code::NotInInbox,
            Refusal::NobodyElse { .. } => Code::NobodyElse,
            Refusal::NoRoute { .. } => Code::NoRoute,
            Refusal::NotByMessage { .. } => Code::NotByMessage,
            Refusal::NoInbox { .. } => Code::NoInbox,
            Refusal::NotOneUp { .. } => Code::NotOneUp,
            Refusal::AlreadyEscalated { .. } => Code::AlreadyEscalated,
            Refusal::NoEscalation { .. } => Code::NoEscalation,
            Refusal::UnknownEscalation { .. } => Code::UnknownEscalation,
            Refusal::OtherPhase { .. } => Code::OtherPhase,
            Refusal::ApprovalPast { .. } => Code::ApprovalPast,
            Refusal::PhaseNeeded { .. } => Code::PhaseNeeded,
            Refusal::UnknownPlan { .. } => Code::UnknownPlan,
            Refusal::PlanDecided { .. } => Code::PlanDecided,
            Refusal::PlanNotApproved { .. } => Code::PlanNotApproved,
            Refusal::PlanFirst { .. } => Code::PlanFirst,
            Refusal::PlanReplaced { .. } => Code::PlanReplaced,
            Refusal::BadPlan { .. } => Code::BadPlan,
            Refusal::UnknownQuestion { .. } => Code::UnknownQuestion,
            Refusal::QuestionAnswered { .. } => Code::QuestionAnswered,
            Refusal::NotAnOption { .. } => Code::NotAnOption,
            Refusal::UnknownShutdown { .. } => Code::UnknownShutdown,
            Refusal::NobodyRuns { .. } => Code::NobodyRuns,
            Refusal::BreakerOpen { .. } => Code::BreakerOpen,
            Refusal::BreakerProbing { .. } => Code::BreakerProbing,
            Refusal::BreakerElsewhere { .. } => Code::BreakerElsewhere,
            Refusal::BudgetSpent { .. } | Refusal::WindowUntold { .. } => Code::BudgetSpent,
            Refusal::StaleRequest { .. } => Code::StaleRequest,
        }
    }

    /// Why an account holds somebody back, without whom; nothing of any other refusal.
    pub fn held_by_account(&self) -> Option<String> {
        match self {
            Refusal::AccountParked { account, until, reason, .. } => {
                Some(parked(account, *until, reason))
            }
            Refusal::AccountShort { account, window, why, .. } => Some(short(account, window, why)),
            _ => None,
        }
    }

    /// Until when its account holds a teammate back, where that is why.
    pub fn held_until(&self) -> Option<u64> {
        match self {
            Refusal::AccountParked { until, .. } => Some(*until),
            Refusal::AccountShort { window, .. } => window.resets_at,
            _ => None,
        }
    }

    /// What to do about it, when there is something to do.
    pub fn remedy(&self) -> Option<Cow<'static, str>> {
        match self {
            Refusal::BudgetSpent { raise, .. } => {
                Some(format!("`shipmate {raise}` raises it").into())
            }
            other => other.fixed_remedy().map(Cow::Borrowed),
        }
    }

    fn fixed_remedy(&self) -> Option<&'static str> {
        Some(match self {
            Refusal::StaleClaim { .. } => {
                "stop working on it: someone else may hold it; your work can be set aside for the \
                 lead"
            }
            Refusal::StaleTeammate { .. } => "a newer life of this name runs; end this one",
            Refusal::Blocked { .. } => "take another task, or wait for those to be completed",
            Refusal::FilesHeld { .. } => "take another task, or ask the holder when it is done",
            Refusal::OtherRole { .. } => "let a teammate of that role take it",
            Refusal::AssignedElsewhere { .. } => "ask the lead to reassign it",
            Refusal::HoldsEnough { .. } => "submit, release or fail one of them first",
            Refusal::AlreadyClaimed { .. } => {
                "take another task, or ask its holder or the lead to release it"
            }
            Refusal::NotPending { .. } => {
                "only a pending task can be claimed or given other files, roles and dependencies; a \
                 failed one can be retried"
            }
            Refusal::SecondRoot { .. } => "name that team, or one below it, as the parent",
            Refusal::TeamGone { .. } => "choose another name",
            Refusal::TeamPaused { .. } => "wait, or let it go on: `shipmate resume`",
            Refusal::AccountParked { resumes: false, .. }
            | Refusal::AccountShort { resumes: false, .. } => {
                "`shipmate account resume` lets it go on, which it does not by itself"
            }
            Refusal::AccountParked { .. } => {
                "wait: it goes on by itself; `shipmate account resume` if there is room before"
            }
            Refusal::AccountShort { .. } => {
                "wait until the window is reset; `shipmate account resume` passes over what was told of it"
            }
            Refusal::Switching { .. } => "wait: it is started again in a moment",
            Refusal::UnknownAccount { .. } => "`shipmate usage` lists them",
            Refusal::OneShotDone { .. } => "end this life; the next one gets the next task",
            Refusal::OutsideScope { .. } => "take another task, or ask for a wider scope",
            Refusal::Paused { .. } => "wait until the lead or a person lets you continue",
            Refusal::ShuttingDown { .. } => {
                "finish or release what you hold, then answer the shutdown request"
            }
            Refusal::Stopped { .. } => "write to another member, or have this one started again",
            Refusal::NotInInbox { .. } => "it was read before, or it is not yours: go on",
            Refusal::UnknownShutdown { .. } => {
                "use the id that the message replies to; otherwise it was answered or ran out"
            }
            Refusal::BreakerProbing { .. } => "wait for the probe to answer",
            Refusal::NothingAvailable { .. } => {
                "`shipmate task list` says why; `shipmate task next --wait` waits for one"
            }
            Refusal::QueueFull { .. } => "`shipmate task next --wait` waits for that",
            Refusal::NotTheirs { by: Actor::Person, .. } => {
                "act as a teammate: `shipmate --as NAME …`"
            }
            Refusal::GateCompletes { .. } => "submit it instead of completing it",
            Refusal::UnknownTeam { .. } => "`shipmate team list` names the teams",
            Refusal::UnknownTask { .. } => "`shipmate task list` names the tasks",
            Refusal::UnknownNote { .. } => {
                "`shipmate note list` names them; removed and very old ones are only in the log"
            }
            Refusal::NoteOfAnother { .. } => {
                "ask its author or a person to remove it, or add a note that corrects it"
            }
            Refusal::UnknownGroup { .. } => "create a task with that group first",
            Refusal::AmbiguousTeammate { .. } => "write it as team/name",
            Refusal::TeammateExists { .. } => "choose another name, or start this one again",
            Refusal::TeamExists { .. } => "choose another name, or use that team",
            Refusal::UnknownHost { .. } => "`shipmate host list` names the hosts",
            Refusal::HostExists { .. } => {
                "choose another name with `--name`, or remove that host first"
            }
            Refusal::OtherRelease { .. } => "put the same release on both machines",
            Refusal::HostLacksCode { .. } => {
                "`shipmate host show` says when it has the code; then again"
            }
            Refusal::HostGone { .. } => "`shipmate host list` says since when and why",
            Refusal::HostIsHome { .. } => "move the home first: `shipmate host home NAME`",
            Refusal::HostBusy { .. } => {
                "`shipmate host drain` it and wait, or remove it with `--now`: what was not handed in \
                 stays there"
            }
            Refusal::NoHost { .. } => "`shipmate host list` shows slots, labels and programs",
            Refusal::StillRunning { .. } => "shut it down first",
            Refusal::NotRunning { .. } => "start it first (`shipmate teammate start`)",
            Refusal::Cycle { .. } | Refusal::SelfDependency { .. } => {
                "leave out one of those dependencies"
            }
            Refusal::OverLimit { what: "the note", .. } => {
                "write the few words that others need, or split it: `shipmate note add`"
            }
            Refusal::OverLimit { what: "the handoff", .. } => {
                "say it shorter; what is long goes into a file of the work, named in the handoff"
            }
            Refusal::OverLimit { .. } => "make it smaller, or put the rest into a file",
            Refusal::WindowUntold { .. } => {
                "limit tokens or money instead: `shipmate team budget --tokens N`"
            }
            Refusal::BreakerOpen { .. } => {
                "starts are on hold for up to 2 minutes; a person ends that: `shipmate resume`"
            }
            Refusal::ApprovalPast { .. } => {
                "it was answered, or the team is elsewhere: `shipmate decisions` names what is open"
            }
            Refusal::PlanFirst { .. } => {
                "hand in tasks and teammates with the plan: ExitPlanMode, or Plan with action \
                 submit"
            }
            Refusal::PlanReplaced { .. } => "`shipmate plan list` names it",
            Refusal::BadPlan { .. } => "mend all of it and hand the whole plan in again",
            Refusal::PlanNotApproved { .. } => "submit a plan and wait for the answer",
            Refusal::InboxFull { .. } => "wait until it has read some",
            Refusal::NoRoute { .. } => "write to one of those, who can pass it on",
            Refusal::NotByMessage { .. } => "write the file, or leave it to the runtime",
            Refusal::NoInbox { .. } => "put what it has to know into its task",
            Refusal::NotOneUp { .. } => "send it to that one",
            Refusal::AlreadyEscalated { .. } => "go on with something else until it is answered",
            _ => return None,
        })
    }
}

/// Items in words, the first twenty of a long list.
pub fn list<T: std::fmt::Display>(items: &[T]) -> String {
    const SHOWN: usize = 20;
    if items.is_empty() {
        return "none".to_owned();
    }
    let mut text = items.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if items.len() > SHOWN {
        text.push_str(&format!(" and {} more", items.len() - SHOWN));
    }
    text
}

/// One a line, the first of a long list.
fn lines(problems: &[String]) -> String {
    let told = problems.iter().take(PROBLEMS_TOLD_MAX).map(|problem| format!("\n- {problem}"));
    let more = match problems.len().saturating_sub(PROBLEMS_TOLD_MAX) {
        0 => None,
        more => Some(format!("\n- and {more} more")),
    };
    told.chain(more).collect()
}

/// The time first: where there is little room, the end is cut off.
fn parked(account: &Name, until: u64, reason: &str) -> String {
    format!("no room until {} on account {account}: {reason}", moment(until))
}

fn short(account: &Name, window: &Window, why: &str) -> String {
    let resets = window.resets_at.map(|at| format!("; it is reset at {}", moment(at)));
    let (used, resets) = (window.describe(), resets.unwrap_or_default());
    format!("{used} of account {account} is used, and {why}{resets}")
}

/// The circle itself, or the two ends of a long one.
fn circle(tasks: &[TaskId]) -> String {
    const SHOWN: usize = 10;
    let arrows =
        |tasks: &[TaskId]| tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ");
    if tasks.len() <= 2 * SHOWN {
        return arrows(tasks);
    }
    let (head, rest) = tasks.split_at(SHOWN);
    let (between, tail) = rest.split_at(rest.len() - SHOWN);
    format!("{} → ({} more) → {}", arrows(head), between.len(), arrows(tail))
}

fn in_role(role: &Option<Name>) -> String {
    role.as_ref().map_or_else(String::new, |role| format!(" ({role})"))
}

fn instead_of_mail(file: &Option<String>) -> String {
    match file {
        Some(file) => format!("it goes by file, {file}"),
        None => "the runtime keeps it for itself".to_owned(),
    }
}

fn role_of(role: &Option<Name>) -> String {
    role.as_ref().map_or_else(|| "none".to_owned(), |role| format!("role {role}"))
}

fn waiting_for(waiting: &usize) -> String {
    match waiting {
        0 => String::new(),
        1 => "; 1 pending task is blocked, held up or meant for others".to_owned(),
        n => format!("; {n} pending tasks are blocked, held up or meant for others"),
    }
}

fn now_held(now: &Option<TeammateRef>, status: &str) -> String {
    match now {
        Some(who) => format!("it is claimed by {who} now"),
        None => format!("the task is {status} now"),
    }
}
