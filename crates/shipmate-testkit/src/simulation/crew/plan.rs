//! The team, its members and a plan that they can carry out, and the person who watches them.

use std::collections::BTreeMap;

use shipmate_core::state::{Life, Status};
use shipmate_model::command::{BeginPhase, CreateTeam, NewTask, StartTeammate, Whom};
use shipmate_model::event::{Dependency, Profile, Supervision, TaskSpec, Verification};
use shipmate_model::files::FileSet;
use shipmate_model::profile::StartRule;
use shipmate_model::setup::Setup;
use shipmate_model::{Act, Actor, Address, Name, TaskId, TeammateRef};

use super::super::acts::phase;
use super::super::checks::Check;
use super::super::vocabulary::{self, MATES, ROLES, name, pick_name};
use super::Crew;

/// Attempts that never use up a task's retries.
const RETRIES: u32 = 10_000;

impl Crew<'_> {
    pub(super) fn team() -> Name {
        name("alpha")
    }

    /// A team with a lead that takes no task, members that are started when needed, and a plan.
    pub(super) fn found(&mut self) -> Check {
        let timeout = self.random.chance(150).then_some(900_000);
        let setup = Setup {
            stall_ms: 60_000,
            shutdown_ms: self.random.between(1_000, 30_000),
            timeout_ms: timeout,
            playbook: self
                .random
                .chance(400)
                .then(|| Box::new(phase::playbook(&mut self.random, false))),
            ..Setup::default()
        };
        let gate = self.random.chance(800);
        let team = CreateTeam {
            team: Self::team(),
            parent: None,
            description: String::new(),
            verification: if gate { Verification::Gate } else { Verification::None },
            lead: Some(name("lia")),
            setup: Box::new(setup),
        };
        self.give(Actor::Person, Act::CreateTeam(team))?;
        self.start_lead()?;
        let many = 1 + self.random.index(4);
        for member in &MATES[..many] {
            let profile = Profile {
                role: self.random.chance(400).then(|| pick_name(&mut self.random, &ROLES)),
                scope: match self.random.chance(400) {
                    true => vocabulary::pick_files(&mut self.random),
                    false => FileSet::default(),
                },
                tasks_max: 1 + self.random.below(2) as u32,
                start: StartRule::WhenNeeded,
                ..Profile::default()
            };
            let who = Address { team: Self::team(), name: name(member) };
            self.give(Actor::Person, Act::AddTeammate { who, profile })?;
        }
        if self.writer.state().teams[&Self::team()].course.is_some() {
            return Ok(());
        }
        self.create_tasks()
    }

    /// The phase that waits begins with a few tasks.
    pub(super) fn begin_phase(&mut self) -> Check {
        let team = Self::team();
        let course = self.writer.state().teams[&team].course.as_ref();
        let (phase, round) =
            course.map(|c| (c.phase.clone(), c.round)).expect("it has a phase to begin");
        let (teammates, tasks, again) = (Vec::new(), self.new_tasks(), Vec::new());
        let (notes, alone, awaits) = (Vec::new(), None, Vec::new());
        let begin =
            BeginPhase { team, phase, round, teammates, tasks, again, notes, alone, awaits };
        self.give(Actor::Runtime, Act::BeginPhase(begin)).map(drop)
    }

    fn start_lead(&mut self) -> Check {
        let who = Address { team: Self::team(), name: name("lia") };
        let (token_hash, supervision) = ("hash".to_owned(), Supervision::None);
        let start = StartTeammate { who, token_hash, supervision, at: None };
        self.give(Actor::Person, Act::StartTeammate(start)).map(drop)
    }

    /// A few tasks, each of which at least one member may take.
    fn create_tasks(&mut self) -> Check {
        let tasks = self.new_tasks();
        self.give(Actor::Person, Act::CreateTasks { team: Self::team(), tasks }).map(drop)
    }

    fn new_tasks(&mut self) -> Vec<NewTask> {
        let members = self.writer.state().teammates.values();
        let members: Vec<Profile> = members
            .map(|mate| mate.profile.clone())
            .filter(|profile| profile.start == StartRule::WhenNeeded)
            .collect();
        let known = self.writer.state().tasks().len() as u64;
        let many = self.random.between(1, 6);
        let mut tasks = Vec::new();
        for index in 0..many {
            let Some(meant) = self.random.pick(&members).cloned() else { break };
            let files = match meant.scope.iter().next() {
                Some(pattern) if self.random.chance(700) => FileSet::new(vec![pattern.clone()]),
                Some(_) => FileSet::default(),
                None => vocabulary::pick_files(&mut self.random),
            };
            let role = meant.role.filter(|_| self.random.chance(500));
            let earlier = known > 0 && self.random.chance(300);
            let blocked_by =
                earlier.then(|| Dependency::Task(1 + self.random.below(known) as TaskId));
            let blocked_by_new = (index > 0 && self.random.chance(400))
                .then(|| self.random.index(index as usize))
                .into_iter()
                .collect();
            let spec = TaskSpec {
                subject: format!("task {}", self.random.below(1000)),
                description: String::new(),
                active_form: String::new(),
                alias: None,
                group: None,
                blocked_by: blocked_by.into_iter().collect(),
                files,
                role,
                assignee: None,
                priority: self.random.below(3) as i32,
                duration_ms: None,
                retries_max: RETRIES,
                metadata: BTreeMap::new(),
                gate: None,
                no_change: false,
            };
            tasks.push(NewTask { spec, blocked_by_new });
        }
        tasks
    }

    /// The person lets things go on, and while things go wrong also meddles.
    pub(super) fn person(&mut self) -> Check {
        if !self.up {
            return Ok(());
        }
        if self.faults {
            match self.random.below(12) {
                0 if self.writer.state().tasks().len() < 25 => self.create_tasks()?,
                1 => {
                    let (team, reason) = (Self::team(), "lunch".to_owned());
                    self.give(Actor::Person, Act::PauseTeam { team, reason })?;
                }
                2 => {
                    let who = self.member();
                    self.give(
                        Actor::Person,
                        Act::PauseTeammate { who, reason: "wait".to_owned(), spent: false },
                    )?;
                }
                3 => {
                    let who = self.member();
                    self.give(Actor::Person, Act::ContinueTeammate { who })?;
                }
                4 => {
                    let address = self.member();
                    let epoch = self.writer.state().teammates[&address].epoch;
                    let whom = Whom::Teammate(TeammateRef { address, epoch });
                    let (reason, deadline_ms) = ("enough".to_owned(), 5_000);
                    self.give(Actor::Person, Act::RequestShutdown { whom, reason, deadline_ms })?;
                }
                // The answers come late, too.
                _ if self.random.chance(600) => return Ok(()),
                _ => {}
            }
        }
        self.let_the_team_go_on()?;
        self.answer_questions()?;
        self.send_home()?;
        self.bring_back()
    }

    fn let_the_team_go_on(&mut self) -> Check {
        if self.writer.state().teams[&Self::team()].paused.is_some()
            && (!self.faults || self.random.chance(400))
        {
            self.give(Actor::Person, Act::ContinueTeam { team: Self::team() })?;
        }
        Ok(())
    }

    fn answer_questions(&mut self) -> Check {
        let open = self.writer.state().questions.iter().filter(|(_, asked)| asked.is_open());
        let open: Vec<u64> = open.map(|(id, _)| *id).collect();
        for question in open {
            let granted = self.random.chance(700);
            let answer = if granted { "grant" } else { "refuse" }.to_owned();
            self.give(Actor::Person, Act::Answer { question, answer })?;
        }
        Ok(())
    }

    /// Who refused to be let go is asked by the person in the end.
    fn send_home(&mut self) -> Check {
        if self.faults {
            return Ok(());
        }
        let state = self.writer.state();
        let stays = state.teammates.iter().filter(|(_, mate)| mate.is_running() && mate.stays);
        let stays: Vec<TeammateRef> = stays
            .map(|(who, mate)| TeammateRef { address: who.clone(), epoch: mate.epoch })
            .collect();
        for who in stays {
            let (whom, reason) = (Whom::Teammate(who), "go home".to_owned());
            self.give(Actor::Person, Act::RequestShutdown { whom, reason, deadline_ms: 5_000 })?;
        }
        Ok(())
    }

    /// Members that nobody starts by itself any more are started by hand.
    fn bring_back(&mut self) -> Check {
        let given_up = self.writer.state().teammates.iter().filter(|(_, mate)| {
            (mate.dismissed || mate.barren >= 3)
                && matches!(mate.life, Life::Disappeared { .. } | Life::Stopped { .. })
        });
        let given_up: Vec<Address> = given_up.map(|(who, _)| who.clone()).collect();
        let pending = |status: &Status| *status == Status::Pending;
        let over = self.writer.state().teams[&Self::team()].course.as_ref();
        let over = over.is_some_and(|course| course.is_over());
        if over || !self.writer.state().tasks().iter().any(|task| pending(&task.status)) {
            return Ok(());
        }
        for who in given_up {
            let (token_hash, supervision) = ("hash".to_owned(), Supervision::Supervised);
            let start = StartTeammate { who, token_hash, supervision, at: None };
            self.give(Actor::Person, Act::StartTeammate(start))?;
        }
        Ok(())
    }

    fn member(&mut self) -> Address {
        let members = self.writer.state().teammates.keys().filter(|who| who.name.as_str() != "lia");
        let members: Vec<Address> = members.cloned().collect();
        self.random.pick(&members).expect("a crew has a member").clone()
    }
}
