//! The simulated runtime: carries out what is owed, and takes stock when it begins again.

use shipmate_core::state::BreakerPhase;
use shipmate_core::{Effect, Observed, Writer, outstanding};
use shipmate_model::command::{Probe, StartTeammate};
use shipmate_model::event::{Supervision, TaskId, Token};
use shipmate_model::{Act, Actor, TeammateRef};

use super::super::acts::{phase, task};
use super::super::checks::{Check, hold};
use super::super::coverage::Fault;
use super::super::model::{Phase, StageFacts, StandingFacts, StatusFacts};
use super::super::vocabulary;
use super::workers::with_host;
use super::{Crew, Process};

impl Crew<'_> {
    /// Looks once at what is owed and carries it out; while things go wrong only some of it.
    pub(super) fn carry_out(&mut self) -> Check {
        if !self.up {
            return Ok(());
        }
        self.observed.look(self.writer.state(), self.clock_ms);
        let owed = outstanding(self.writer.state(), &self.observed, self.clock_ms);
        self.nothing_is_owed_wrongly(&owed.due, &owed.effects)?;
        for act in owed.due {
            if self.faults && self.random.chance(200) {
                continue;
            }
            self.give(Actor::Runtime, act)?;
        }
        for effect in owed.effects {
            if self.faults && self.random.chance(250) {
                continue;
            }
            self.effect(effect)?;
            if !self.up {
                return Ok(());
            }
        }
        self.end_what_is_no_longer_current();
        Ok(())
    }

    fn effect(&mut self, effect: Effect) -> Check {
        match effect {
            Effect::Start(wanted) => {
                let (who, supervision) = (wanted.who, wanted.supervision);
                let token_hash = "hash".to_owned();
                let start = StartTeammate { who, token_hash, supervision, at: None };
                self.give(Actor::Runtime, Act::StartTeammate(start))?;
                // The life is recorded; nobody has begun it.
                if self.faults && self.random.chance(50) {
                    self.coverage.fault(Fault::CrashBeforeSpawn);
                    self.lose_coordinator()?;
                }
                Ok(())
            }
            Effect::Spawn { who } => self.spawn(who),
            Effect::EndProcess { who } => {
                if let Some(process) = self.processes.get_mut(&who) {
                    process.ending = true;
                }
                Ok(())
            }
            Effect::Verify { task, token } => self.verify(task, token),
            Effect::TryGate { team } => self.give(Actor::Runtime, task::tried_gate(team)).map(drop),
            Effect::EnterPhase { .. } => self.begin_phase(),
            Effect::LeavePhase { team } => {
                let state = self.writer.state();
                match phase::leave(&mut self.random, state, &team) {
                    Some(act) => self.give(Actor::Runtime, act).map(drop),
                    None => Ok(()),
                }
            }
        }
    }

    fn spawn(&mut self, who: TeammateRef) -> Check {
        // It may have been given up since the effects were derived.
        if !self.checker.model.is_current(&who) {
            return Ok(());
        }
        hold("crew", !self.processes.contains_key(&who), || format!("{who} was spawned twice"))?;
        let rival = self
            .processes
            .iter()
            .find(|(other, process)| other.address == who.address && !process.ending);
        let rival = rival.map(|(other, _)| other.clone());
        hold("crew", rival.is_none(), || format!("{who} was spawned beside {rival:?}"))?;
        self.processes.insert(who.clone(), Process::default());
        self.begun.insert(who.clone());
        self.observed.present.insert(who.clone());
        self.answer_probe(&who)
    }

    /// The first word of a life that was let through to see whether lives last again.
    fn answer_probe(&mut self, who: &TeammateRef) -> Check {
        let team = &self.writer.state().teams[&who.address.team];
        let half_opened = match &team.breaker.phase {
            BreakerPhase::HalfOpen { at, probe } if probe.as_ref() == Some(who) => *at,
            _ => return Ok(()),
        };
        if self.faults && self.random.chance(400) {
            return Ok(());
        }
        let (team, result) = (who.address.team.clone(), Probe::Answered);
        self.give(Actor::Runtime, Act::ReportProbe { team, half_opened, result }).map(drop)
    }

    /// The merge queue: green, red, or work that changes more than its files.
    fn verify(&mut self, task: TaskId, token: Token) -> Check {
        let act = match self.random.below(10) {
            0 => Act::ReturnTask { task, token, reason: "red".to_owned() },
            1 => {
                let files = vocabulary::pick_files(&mut self.random);
                Act::AskScope { task, token, files, reason: "it changes more".to_owned() }
            }
            // It takes its time.
            2..5 if self.faults => return Ok(()),
            _ => {
                let (token, result) = (Some(token), "green".to_owned());
                Act::CompleteTask { task, token, commit: None, result }
            }
        };
        self.give(Actor::Runtime, act).map(drop)
    }

    fn end_what_is_no_longer_current(&mut self) {
        for (who, process) in &mut self.processes {
            process.ending |= !self.checker.model.is_current(who);
        }
    }

    /// A coordinator begins: it knows the log and finds the lives by their locks. Where nobody
    /// of them is left, everything went at once, and the team waits for somebody's word.
    pub(super) fn restart(&mut self) -> Check {
        if self.up && self.faults {
            return Ok(());
        }
        self.trace.note(|| "crew a coordinator begins".to_owned());
        self.up = true;
        self.writer = Writer::new(self.checker.reference.clone());
        self.observed = Observed::default();
        let mut over = Vec::new();
        let mut alive = false;
        for (address, mate) in &self.writer.state().teammates {
            let who = TeammateRef { address: address.clone(), epoch: mate.epoch };
            if !mate.is_running() || mate.supervision == Supervision::None {
                continue;
            }
            if self.processes.contains_key(&who) {
                alive = true;
                self.observed.present.insert(who);
            } else if self.begun.contains(&who) {
                over.push(who);
            }
        }
        let everything = !alive && !over.is_empty();
        if everything {
            let (team, reason) = (Self::team(), "everything had ended".to_owned());
            self.give(Actor::Runtime, Act::PauseTeam { team, reason })?;
        }
        for who in over {
            let Some(act) = shipmate_core::ended(self.writer.state(), &who, "it had ended") else {
                continue;
            };
            let strikes = self.strikes();
            self.give(Actor::Runtime, if everything { with_host(act) } else { act })?;
            hold("crew", !everything || self.strikes() == strikes, || {
                format!("{who} went with its machine and that is a strike")
            })?;
        }
        Ok(())
    }

    fn strikes(&self) -> usize {
        self.checker.model.teams[&Self::team()].strikes.len()
    }

    /// What the log says, against what is asked of the world.
    fn nothing_is_owed_wrongly(&self, due: &[Act], effects: &[Effect]) -> Check {
        let model = &self.checker.model;
        let team = &model.teams[&Self::team()];
        let open =
            |status: &StatusFacts| matches!(status, StatusFacts::Pending | StatusFacts::Held(_));
        let left = model.tasks.iter().filter(|task| open(&task.status)).count();
        let lets_go = due.iter().any(|act| matches!(act, Act::RequestShutdown { .. }));
        // Where there is a playbook its end decides, and until then nobody is let go.
        let over = match &team.course {
            Some(course) => course.standing == StandingFacts::Over,
            None => left == 0,
        };
        hold("crew", !lets_go || over, || format!("somebody is let go with {left} tasks open"))?;
        let starts = effects.iter().filter(|effect| matches!(effect, Effect::Start(_))).count();
        let rests = team.paused || team.phase != Phase::Active;
        hold("crew", starts == 0 || !rests, || {
            "somebody is wanted in a team that rests".to_owned()
        })?;
        let free = model.tasks.iter().filter(|task| {
            task.status == StatusFacts::Pending
                && model.unmet(task).is_empty()
                && model.file_rival(task).is_none()
        });
        hold("crew", starts <= free.count(), || format!("{starts} are wanted and for what?"))?;
        let mut verified: Vec<TaskId> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Verify { task, .. } => Some(*task),
                _ => None,
            })
            .collect();
        verified.sort_unstable();
        let waits = model
            .held()
            .filter(|(task, claim)| claim.stage == StageFacts::Submitted && task.asks.is_none());
        let waits: Vec<TaskId> = waits.map(|(task, _)| task.id).collect();
        hold("crew", verified == waits, || format!("{verified:?} are verified and not {waits:?}"))?;
        for effect in effects {
            let (Effect::Spawn { who } | Effect::EndProcess { who }) = effect else { continue };
            hold("crew", model.is_current(who), || format!("{effect:?} is about an old life"))?;
        }
        Ok(())
    }
}
