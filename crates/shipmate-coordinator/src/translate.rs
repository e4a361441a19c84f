//! From a request's words to a command of the core: names checked, references
//! resolved against the state as it is at that moment.

mod handle;
mod seat;
mod skip;
pub(crate) mod work;

use std::collections::BTreeMap;

use shipmate_core::State;
use shipmate_model::command::{CreateTeam, NewTask, StartTeammate, To, Urgency, Verdict, Whom};
use shipmate_model::event::{
    self, AgentChoice, Dependency, MessageKind, Mode, Profile, RoleChange, Seat, TaskChanges,
    TaskSpec, TeamChanges, Verification,
};
use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::limits::{PRIORITY_DEFAULT, RETRIES_DEFAULT};
use shipmate_model::profile::StartRule;
use shipmate_model::setup::{Setup, TreeMode, Trees};
use shipmate_model::{Act, Actor, Address, Alias, Name, Refusal, TaskId, TeammateRef};
use shipmate_protocol::{Ask, Refused, ask};

pub(crate) use handle::task_id;

use crate::secret::{Secrets, hash};
use shipmate_playbook::handoff;
use shipmate_protocol::refused;

/// What a translation may look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) state: &'a State,
    pub(crate) actor: &'a Actor,
    pub(crate) secrets: &'a Secrets,
    /// The team the request names, else the actor's own, else the root.
    pub(crate) team: &'a Name,
}

pub(crate) fn refusal(refusal: &Refusal) -> Refused {
    refused(&refusal.code(), refusal.to_string(), refusal.remedy().unwrap_or_default())
}

fn bad(message: String, remedy: &str) -> Refused {
    refused("BadRequest", message, remedy)
}

pub(crate) fn name(text: &str) -> Result<Name, Refused> {
    text.parse().map_err(|e| refusal(&Refusal::BadName(e)))
}

fn files(patterns: &[String]) -> Result<FileSet, Refused> {
    let parsed: Result<Vec<Pattern>, _> = patterns.iter().map(|text| text.parse()).collect();
    parsed.map(FileSet::new).map_err(|e| refusal(&Refusal::BadPattern(e)))
}

fn optional(text: Option<&String>) -> Result<Option<Name>, Refused> {
    text.map(|text| name(text)).transpose()
}

fn mode(text: &str) -> Result<Mode, Refused> {
    match text {
        "normal" => Ok(Mode::Normal),
        "plan" => Ok(Mode::Plan),
        "delegate" => Ok(Mode::Delegate),
        "read_only" | "read-only" => Ok(Mode::ReadOnly),
        other => {
            Err(bad(format!("{other:?} is not a mode"), "use normal, plan, delegate or read_only"))
        }
    }
}

impl Scene<'_> {
    /// `ana` in the request's team, or `team/ana`.
    fn address(&self, text: &str) -> Result<Address, Refused> {
        if text.contains('/') {
            return text.parse().map_err(|e| refusal(&Refusal::BadName(e)));
        }
        Ok(Address { team: self.team.clone(), name: name(text)? })
    }

    fn current(&self, text: &str) -> Result<TeammateRef, Refused> {
        let address = self.address(text)?;
        let epoch = self.state.teammates.get(&address).map_or(0, |mate| mate.epoch);
        Ok(TeammateRef { address, epoch })
    }

    fn task(&self, text: &str) -> Result<TaskId, Refused> {
        task_id(self.state, self.actor, self.team, text)
    }

    fn optional_task(&self, text: Option<&String>) -> Result<Option<TaskId>, Refused> {
        text.map(|text| self.task(text)).transpose()
    }

    fn dependency(&self, text: &str) -> Result<Dependency, Refused> {
        match text.strip_prefix("group:") {
            Some(group) => Ok(Dependency::Group(name(group)?)),
            None => Ok(Dependency::Task(self.task(text)?)),
        }
    }

    fn dependencies(&self, texts: &[String]) -> Result<Vec<Dependency>, Refused> {
        texts.iter().map(|text| self.dependency(text)).collect()
    }

    /// The act a request asks for; `None` for one that only reads. One match over all requests: the
    /// compiler says which is missing.
    pub(crate) fn act(&self, ask: &Ask) -> Result<Option<Act>, Refused> {
        Ok(Some(match ask {
            Ask::TeamCreate(create) => self.create_team(create)?,
            Ask::TeamDelete { team, reason, deadline_ms, now } => Act::DeleteTeam {
                team: optional(team.as_ref())?.unwrap_or_else(|| self.team.clone()),
                reason: reason.clone(),
                urgency: if *now { Urgency::Now } else { Urgency::Deadline { ms: *deadline_ms } },
            },
            Ask::TeamBudget { budget } => {
                Act::SetTeamBudget { team: self.team.clone(), budget: self::budget(budget) }
            }
            Ask::TeamSet(set) => self.change_team(set)?,
            Ask::TeamPause { reason } => {
                Act::PauseTeam { team: self.team.clone(), reason: reason.clone() }
            }
            Ask::TeamContinue => Act::ContinueTeam { team: self.team.clone() },
            Ask::Session { session, fence } => {
                Act::ReportSession { session: session.clone(), fence: fence.clone() }
            }
            Ask::TeammateAdd(add) => self.add_teammate(add)?,
            Ask::Enrol(enrol) => self.enrol(enrol)?,
            Ask::TeammateStart { name, supervision } => self.start_teammate(name, *supervision)?,
            Ask::TeammateRemove { name } => Act::RemoveTeammate { who: self.address(name)? },
            Ask::TeammatePause { name, reason } => {
                Act::PauseTeammate { who: self.address(name)?, reason: reason.clone() }
            }
            Ask::TeammateContinue { name } => Act::ContinueTeammate { who: self.address(name)? },
            Ask::TeammateMode { name, mode } => {
                Act::SetTeammateMode { who: self.address(name)?, mode: self::mode(mode)? }
            }
            Ask::TeammateBudget { name, budget } => {
                Act::SetTeammateBudget { who: self.address(name)?, budget: self::budget(budget) }
            }
            Ask::TeammateIdle { reason } => Act::ReportIdle { reason: reason.clone() },
            Ask::TaskCreate { tasks } => self.create_tasks(tasks)?,
            Ask::TaskUpdate { task, changes } => {
                Act::UpdateTask { task: self.task(task)?, changes: self.changes(changes)? }
            }
            Ask::TaskClaim { task, lease_ms } => {
                Act::ClaimTask { task: self.task(task)?, lease_ms: *lease_ms }
            }
            Ask::TaskNext { lease_ms, .. } => Act::ClaimNext { lease_ms: *lease_ms },
            Ask::TaskRenew { task, token } => {
                Act::RenewClaim { task: self.task(task)?, token: *token }
            }
            Ask::TaskSubmit { task, token, commit, result }
            | Ask::TaskSubmitNext { task, token, commit, result, .. } => {
                self.check_result(result)?;
                Act::SubmitTask {
                    task: self.task(task)?,
                    token: *token,
                    commit: commit.clone(),
                    result: result.clone(),
                }
            }
            Ask::TaskComplete { task, token, commit, result } => {
                self.check_result(result)?;
                Act::CompleteTask {
                    task: self.task(task)?,
                    token: *token,
                    commit: commit.clone(),
                    result: result.clone(),
                }
            }
            Ask::TaskFail { task, token, reason } => {
                Act::FailTask { task: self.task(task)?, token: *token, reason: reason.clone() }
            }
            Ask::TaskRelease { task, token, reason } => {
                Act::ReleaseTask { task: self.task(task)?, token: *token, reason: reason.clone() }
            }
            Ask::TaskAssign { task, to } => {
                Act::AssignTask { task: self.task(task)?, to: optional(to.as_ref())? }
            }
            Ask::TaskRetry { task } => Act::RetryTask { task: self.task(task)? },
            Ask::TaskDelete { task } => Act::DeleteTask { task: self.task(task)? },
            Ask::TaskSetAside { task, token, work } => {
                Act::SetAsideWork { task: self.task(task)?, token: *token, work: work.clone() }
            }
            Ask::Send { to, body, kind, reply_to } => Act::SendMessage {
                to: self.recipient(to)?,
                kind: self.kind(kind.as_deref(), body)?,
                body: body.clone(),
                reply_to: *reply_to,
            },
            Ask::InboxRead { max, .. } => Act::ReadInbox { max: (*max).clamp(1, 1000) },
            Ask::InboxTake { max, .. } => Act::TakeInbox { max: (*max).clamp(1, 1000) },
            Ask::MessageInject { messages, turn } => {
                Act::InjectMessages { messages: messages.clone(), turn: *turn }
            }
            Ask::MessageAcknowledge { messages } => {
                Act::AcknowledgeMessages { messages: messages.clone() }
            }
            Ask::PlanSubmit { task, body, work } => Act::SubmitPlan {
                task: self.optional_task(task.as_ref())?,
                body: body.clone(),
                work: work.as_ref().map(|work| Box::new(work::draft(work))),
            },
            Ask::PlanApprove { plan } => Act::DecidePlan { plan: *plan, verdict: Verdict::Approve },
            Ask::PlanReject { plan, feedback } => {
                let verdict = Verdict::Reject { feedback: feedback.clone() };
                Act::DecidePlan { plan: *plan, verdict }
            }
            Ask::Question { kind, text, options } => Act::Ask {
                kind: match kind {
                    ask::QuestionKind::Question => event::QuestionKind::Question,
                    ask::QuestionKind::Permission => event::QuestionKind::Permission,
                    ask::QuestionKind::Scope => event::QuestionKind::Scope,
                },
                text: text.clone(),
                options: options.clone(),
            },
            Ask::Answer { question, answer } => {
                Act::Answer { question: *question, answer: answer.clone() }
            }
            Ask::QuestionWithdraw { question, reason } => {
                Act::WithdrawQuestion { question: *question, reason: reason.clone() }
            }
            Ask::PhaseApprove { approval } => {
                Act::ApprovePhase { team: self.team.clone(), question: *approval }
            }
            Ask::PhaseSkip { phase, reason } => self.skip(&name(phase)?, reason)?,
            Ask::Shutdown { name, reason, deadline_ms } => Act::RequestShutdown {
                whom: match name {
                    Some(name) => Whom::Teammate(self.current(name)?),
                    None => Whom::Team(self.team.clone()),
                },
                reason: reason.clone(),
                deadline_ms: *deadline_ms,
            },
            Ask::ShutdownAnswer { shutdown, answer } => {
                Act::AnswerShutdown { shutdown: *shutdown, answer: shutdown_answer(answer) }
            }
            Ask::UsageReserve { usage } => Act::ReserveUsage { usage: self::usage(usage) },
            Ask::UsageReport { usage, task, reservation } => Act::ReportUsage {
                usage: self::usage(usage),
                task: self.optional_task(task.as_ref())?,
                reservation: *reservation,
            },
            Ask::Status
            | Ask::Teams
            | Ask::TeamShow
            | Ask::Resume
            | Ask::Merge { .. }
            | Ask::TeamUpdate
            | Ask::TeamEnd
            | Ask::Leftovers { .. }
            | Ask::TryHooks
            | Ask::Survey
            | Ask::Renew { .. }
            | Ask::Settings
            | Ask::Agents
            | Ask::Playbooks
            | Ask::PlaybookShow(_)
            | Ask::PlaybookCheck { .. }
            | Ask::Stay
            | Ask::StayOnce
            | Ask::Leave
            | Ask::Teammates
            | Ask::TeammateShow { .. }
            | Ask::Attend
            | Ask::Progress { .. }
            | Ask::Alive { .. }
            | Ask::Attach { .. }
            | Ask::Tasks { .. }
            | Ask::TaskShow { .. }
            | Ask::TaskDiff { .. }
            | Ask::InboxPeek
            | Ask::MessageTrace { .. }
            | Ask::Plans { .. }
            | Ask::Questions { .. }
            | Ask::PhasesClose
            | Ask::Log { .. }
            | Ask::StatusAt { .. }
            | Ask::TasksAt { .. }
            | Ask::Follow { .. }
            | Ask::Look { .. }
            | Ask::LookAt { .. }
            | Ask::Signs
            | Ask::Verify => return Ok(None),
        }))
    }

    /// What a request asks for after that, where it asks for two things.
    pub(crate) fn then(&self, ask: &Ask) -> Option<Act> {
        match ask {
            Ask::TaskSubmitNext { lease_ms, .. } => Some(Act::ClaimNext { lease_ms: *lease_ms }),
            Ask::Enrol(enrol) => self.after_enrol(enrol),
            _ => None,
        }
    }

    fn create_team(&self, create: &ask::TeamCreate) -> Result<Act, Refused> {
        Ok(Act::CreateTeam(CreateTeam {
            team: name(&create.name)?,
            parent: optional(create.parent.as_ref())?,
            description: create.description.clone(),
            verification: if create.gate { Verification::Gate } else { Verification::None },
            lead: optional(create.lead.as_ref())?,
            setup: Box::new(create.setup.as_ref().map_or_else(|| Ok(Setup::default()), setup)?),
        }))
    }

    fn change_team(&self, set: &ask::TeamSet) -> Result<Act, Refused> {
        let agent = if set.agent.is_empty() { &set.command } else { &set.agent };
        // What is meant for some says nothing about whoever joins.
        let for_all = set.teammates.is_empty();
        let changes = TeamChanges {
            gate: set.gate.clone(),
            agent: Some(agent.clone()).filter(|agent| for_all && !agent.is_empty()),
            model: set.model.clone().filter(|_| for_all),
            base: None,
        };
        let choice = |add: &ask::TeammateAdd| {
            let ask::TeammateAdd { agent, command, model, hears, .. } = add.clone();
            Ok((self.address(&add.name)?, AgentChoice { agent, command, model, hears }))
        };
        let agents = set.agents.iter().map(choice).collect::<Result<_, Refused>>()?;
        Ok(Act::ChangeTeam { team: self.team.clone(), changes, agents })
    }

    fn add_teammate(&self, add: &ask::TeammateAdd) -> Result<Act, Refused> {
        let profile = Profile {
            seat: if add.lead { Seat::Lead } else { Seat::Member },
            role: optional(add.role.as_ref())?,
            agent: add.agent.clone(),
            model: add.model.clone(),
            scope: files(&add.scope)?,
            mode: add.mode.as_ref().map_or(Ok(self.inherited_mode()), |text| mode(text))?,
            tasks_max: add.tasks_max.unwrap_or(1),
            command: add.command.clone(),
            start: if add.when_needed { StartRule::WhenNeeded } else { StartRule::ByHand },
            hears: add.hears,
            one_shot: false,
        };
        Ok(Act::AddTeammate { who: self.address(&add.name)?, profile })
    }

    /// The lead's, where nothing is said. Delegating is the lead's alone: whom it delegates
    /// to must be able to work.
    fn inherited_mode(&self) -> Mode {
        let lead = self.state.members_of(self.team).find(|(_, mate)| mate.is_lead());
        match lead.map(|(_, mate)| mate.profile.mode) {
            None | Some(Mode::Delegate) => Mode::Normal,
            Some(mode) => mode,
        }
    }

    fn start_teammate(&self, name: &str, kind: ask::Supervision) -> Result<Act, Refused> {
        let now = self.current(name)?;
        let next = TeammateRef { address: now.address.clone(), epoch: now.epoch + 1 };
        Ok(Act::StartTeammate(StartTeammate {
            who: now.address,
            token_hash: hash(&self.secrets.token(self.state, &next)),
            supervision: match kind {
                ask::Supervision::None => event::Supervision::None,
                ask::Supervision::Supervised => event::Supervision::Supervised,
                ask::Supervision::OneShot => event::Supervision::OneShot,
            },
            host: None,
        }))
    }

    fn create_tasks(&self, tasks: &[ask::TaskNew]) -> Result<Act, Refused> {
        let named = tasks.first().and_then(|task| task.team.as_deref());
        if tasks.iter().any(|task| task.team.as_deref() != named) {
            let remedy = "make the tasks of each team with a request of their own";
            return Err(bad("the tasks are of several teams".to_owned(), remedy));
        }
        match named {
            Some(team) => Scene { team: &name(team)?, ..*self }.create_own_tasks(tasks),
            None => self.create_own_tasks(tasks),
        }
    }

    fn create_own_tasks(&self, tasks: &[ask::TaskNew]) -> Result<Act, Refused> {
        let mut fresh: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, task) in tasks.iter().enumerate() {
            if let Some(alias) = &task.alias {
                fresh.entry(alias).or_insert(index);
            }
        }
        let new: Result<Vec<NewTask>, Refused> =
            tasks.iter().map(|task| self.new_task(task, &fresh)).collect();
        Ok(Act::CreateTasks { team: self.team.clone(), tasks: new? })
    }

    fn new_task(
        &self,
        task: &ask::TaskNew,
        fresh: &BTreeMap<&str, usize>,
    ) -> Result<NewTask, Refused> {
        let mut blocked_by = Vec::new();
        let mut blocked_by_new = Vec::new();
        for text in &task.blocked_by {
            match fresh.get(text.as_str()) {
                Some(index) => blocked_by_new.push(*index),
                None => blocked_by.push(self.dependency(text)?),
            }
        }
        let alias = task.alias.as_ref().map(|text| text.parse::<Alias>()).transpose();
        let spec = TaskSpec {
            subject: task.subject.clone(),
            description: task.description.clone(),
            active_form: task.active_form.clone(),
            alias: alias.map_err(|e| refusal(&Refusal::BadName(e)))?,
            group: optional(task.group.as_ref())?,
            blocked_by,
            files: files(&task.files)?,
            role: optional(task.role.as_ref())?,
            assignee: optional(task.assignee.as_ref())?,
            priority: task.priority.unwrap_or(PRIORITY_DEFAULT),
            duration_ms: task.duration_ms,
            retries_max: task.retries_max.unwrap_or(RETRIES_DEFAULT),
            metadata: task.metadata.clone(),
            gate: None,
            no_change: task.no_change,
        };
        Ok(NewTask { spec, blocked_by_new })
    }

    fn changes(&self, changes: &ask::TaskChanges) -> Result<TaskChanges, Refused> {
        Ok(TaskChanges {
            subject: changes.subject.clone(),
            description: changes.description.clone(),
            active_form: changes.active_form.clone(),
            priority: changes.priority,
            duration_ms: changes.duration_ms,
            role: match changes.role.as_deref() {
                None => None,
                Some("") => Some(RoleChange::Any),
                Some(role) => Some(RoleChange::Only(name(role)?)),
            },
            files: changes.files.as_ref().map(|patterns| files(patterns)).transpose()?,
            add_blocked_by: self.dependencies(&changes.add_blocked_by)?,
            remove_blocked_by: self.dependencies(&changes.remove_blocked_by)?,
            metadata: changes.metadata.clone(),
        })
    }

    /// A handoff is held against its kind where the team's playbook has kinds.
    fn kind(&self, kind: Option<&str>, body: &str) -> Result<MessageKind, Refused> {
        let kind = match kind {
            None | Some("message" | "broadcast") => return Ok(MessageKind::Message),
            Some(kind) => name(kind)?,
        };
        let team = self.state.teams.get(self.team);
        if let Some(playbook) = team.and_then(|team| team.setup.playbook.as_deref()) {
            handoff::check(playbook, &kind, body)?;
        }
        Ok(MessageKind::Handoff(kind))
    }

    /// A result that calls itself a handoff is held against its kind, as a message is: whoever has
    /// nobody to write to hands over with its task.
    fn check_result(&self, result: &str) -> Result<(), Refused> {
        let team = self.state.teams.get(self.team);
        match team.and_then(|team| team.setup.playbook.as_deref()) {
            Some(playbook) => handoff::check_result(playbook, result),
            None => Ok(()),
        }
    }

    fn recipient(&self, text: &str) -> Result<To, Refused> {
        match text.split_once('/') {
            _ if text == "person" => Ok(To::Person),
            _ if text == "all" => Ok(To::All { team: Some(self.team.clone()) }),
            Some((team, "all")) => Ok(To::All { team: Some(name(team)?) }),
            Some(_) => Ok(To::Address(self.address(text)?)),
            // A person's bare name is looked up in the team the request is about.
            None if *self.actor == Actor::Person => {
                let near = self.address(text)?;
                let known = self.state.teammates.contains_key(&near);
                Ok(if known { To::Address(near) } else { To::Name(name(text)?) })
            }
            None => Ok(To::Name(name(text)?)),
        }
    }
}

fn setup(setup: &ask::Setup) -> Result<Setup, Refused> {
    let default = Setup::default();
    let mode = match setup.trees.as_deref() {
        None => None,
        Some("own") => Some(TreeMode::Own),
        Some("shared") => Some(TreeMode::Shared),
        Some(other) => return Err(bad(format!("there is no tree mode {other}"), "own or shared")),
    };
    let base = setup.base.clone().unwrap_or_default();
    let playbook = setup.playbook.as_ref().and_then(|order| order.compiled.clone());
    let playbook = playbook.map(serde_json::from_value);
    Ok(Setup {
        trees: mode.map(|mode| Trees { mode, base, branch: None }),
        gate: setup.gate.clone(),
        gate_timeout_ms: setup.gate_timeout_ms.unwrap_or(default.gate_timeout_ms),
        red_base: setup.red_base,
        hooks_digest: setup.hooks_digest.clone(),
        home: setup.home.clone(),
        protected: files(&setup.protected)?,
        stall_ms: setup.stall_ms.unwrap_or(default.stall_ms),
        answer_ms: setup.answer_ms.unwrap_or(default.answer_ms),
        shutdown_ms: setup.shutdown_ms.unwrap_or(default.shutdown_ms),
        timeout_ms: setup.timeout_ms,
        agent: setup.agent.clone(),
        model: setup.model.clone(),
        cap: setup.cap,
        one_shot: setup.one_shot,
        playbook: playbook.transpose().map_err(|e| bad(format!("the playbook: {e}"), ""))?,
    })
}

fn budget(budget: &ask::Budget) -> event::Budget {
    event::Budget { tokens_max: budget.tokens_max, cost_micros_max: budget.cost_micros_max }
}

fn usage(usage: &ask::Usage) -> event::Usage {
    event::Usage {
        tokens_in: usage.tokens_in,
        tokens_out: usage.tokens_out,
        tokens_cached: usage.tokens_cached,
        cost_micros: usage.cost_micros,
    }
}

fn shutdown_answer(answer: &ask::ShutdownAnswer) -> event::ShutdownAnswer {
    match answer {
        ask::ShutdownAnswer::Clean => event::ShutdownAnswer::Clean,
        ask::ShutdownAnswer::InProgress { pending } => {
            event::ShutdownAnswer::InProgress { pending: pending.clone() }
        }
        ask::ShutdownAnswer::Error { reason } => {
            event::ShutdownAnswer::Error { reason: reason.clone() }
        }
        ask::ShutdownAnswer::Rejected { reason } => {
            event::ShutdownAnswer::Rejected { reason: reason.clone() }
        }
    }
}
