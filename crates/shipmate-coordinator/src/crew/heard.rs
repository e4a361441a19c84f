//! What supervisors tell and nobody records: that they are there, that their agent moves.

use std::path::PathBuf;
use std::rc::Rc;

use shipmate_core::state::{BreakerPhase, State, Task, Teammate};
use shipmate_model::command::Probe;
use shipmate_model::event::{Outcome, Supervision};
use shipmate_model::profile::StartRule;
use shipmate_model::{Act, Address, TeammateRef};
use shipmate_protocol::Notice;
use shipmate_protocol::view::TaskStatus;
use shipmate_protocol::wire::Reply;

use super::{Crew, Life};
use crate::clock::wall_ms;
use crate::connection::Connection;
use crate::host::Printed;

/// How long a session may take to find the next coordinator.
const RETURN_WITHIN: std::time::Duration = std::time::Duration::from_secs(60);

/// Whether a session takes its seat again when it comes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Comes {
    #[default]
    Back,
    Once,
}

/// A session that is there.
#[derive(Debug, Default)]
pub(super) struct Staying {
    connections: usize,
    comes: Comes,
}

/// It leads, has unread mail, or is the one who is to do a task.
fn is_waited_for(state: &State, who: &Address) -> bool {
    let is_open =
        |task: &Task| !matches!(task.shown(), TaskStatus::Completed | TaskStatus::Deleted);
    let mut tasks = state.tasks().iter().filter(|task| task.team == who.team && is_open(task));
    state.member(who).is_some_and(|mate| mate.is_lead() || !mate.inbox.is_empty())
        || tasks.any(|task| task.spec.assignee.as_ref() == Some(&who.name))
}

impl Crew {
    /// Who ends after its task is not asked whether it may idle.
    pub(crate) fn is_one_shot(&self, actor: &shipmate_model::Actor) -> bool {
        let shipmate_model::Actor::Teammate(who) = actor else { return false };
        self.board.with_state(|state| {
            let mate = state.teammates.get(&who.address);
            mate.is_some_and(|mate| mate.supervision == Supervision::OneShot)
        })
    }

    /// A supervised teammate that works in a tree.
    pub(crate) fn has_tree(&self, actor: &shipmate_model::Actor) -> bool {
        let shipmate_model::Actor::Teammate(who) = actor else { return false };
        self.board.with_state(|state| {
            let supervised = state
                .teammates
                .get(&who.address)
                .is_some_and(|mate| mate.supervision != Supervision::None);
            supervised && state.teams[&who.address.team].setup.trees.is_some()
        })
    }

    /// A supervisor says that it is there.
    pub(crate) fn attend(&self, who: &TeammateRef, connection: &Rc<Connection>) {
        if let Some(life) = self.life(who) {
            *life.connection.borrow_mut() = Some(Rc::clone(connection));
            Self::tell_environment(&life);
        }
        self.board.signs.borrow_mut().not_spawned.remove(who);
        self.moved.notify_waiters();
        self.seen(who, |_| {});
        let probe =
            self.board.with_state(|state| match &state.teams[&who.address.team].breaker.phase {
                BreakerPhase::HalfOpen { at, probe } if probe.as_ref() == Some(who) => Some(*at),
                _ => None,
            });
        if let Some(half_opened) = probe {
            let (team, result) = (who.address.team.clone(), Probe::Answered);
            self.board.tell(Act::ReportProbe { team, half_opened, result });
        }
    }

    /// Whatever a supervisor starts next, the next coordinator among it, gets the environment
    /// that a person gave this one.
    pub(crate) fn spread_environment(&self) {
        self.lives.borrow().values().for_each(|life| Self::tell_environment(life));
    }

    /// Only to the supervisor's own process: its agent has the same token, and is given no keys.
    fn tell_environment(life: &Life) {
        let variables = shipmate_process::environment::newer();
        let connection = life.connection.borrow();
        let Some(connection) = connection.as_ref().filter(|_| !variables.is_empty()) else {
            return;
        };
        if connection.peer() == Some(life.watched.pid()) {
            connection.send(&Reply::Notice(Notice::Environment { variables }));
        }
    }

    /// A session is there for as long as this connection is.
    pub(crate) fn stay(
        self: &Rc<Self>,
        who: &TeammateRef,
        connection: &Rc<Connection>,
        comes: Comes,
    ) {
        if !connection.begin_stay() {
            return;
        }
        let mut staying = self.staying.borrow_mut();
        let here = staying.entry(who.clone()).or_default();
        (here.connections, here.comes) = (here.connections + 1, comes);
        drop(staying);
        let (this, who, connection) = (Rc::clone(self), who.clone(), Rc::clone(connection));
        tokio::task::spawn_local(async move {
            connection.closed().await;
            let left = this.staying.borrow_mut().get_mut(&who).map(|here| {
                here.connections -= 1;
                here.connections
            });
            if left == Some(0) {
                this.leave(&who);
            }
        });
    }

    /// A session goes; what it held is free again. Its mail waits for it, and what is assigned to
    /// it: only a seat at which nothing waits goes with a session that does not come back.
    pub(crate) fn leave(&self, who: &TeammateRef) {
        let here = self.staying.borrow_mut().remove(who);
        let is_session = self.board.with_state(|state| {
            state.member(&who.address).is_some_and(|mate| {
                mate.profile.start == StartRule::Session && mate.epoch == who.epoch
            })
        });
        if is_session {
            let goes = here.is_some_and(|here| here.comes == Comes::Once)
                && !self.board.with_state(|state| is_waited_for(state, &who.address));
            let outcome = Outcome::Clean;
            self.board.tell(Act::ReportStopped { who: who.clone(), outcome });
            if goes {
                self.board.tell(Act::RemoveTeammate { who: who.address.clone() });
            }
        }
    }

    /// Sessions that were there before this coordinator get a while to say that they still
    /// are.
    pub(crate) fn expect_sessions(self: &Rc<Self>) {
        // Where several machines share a log, each knows its own only.
        let here = self.here.as_ref().map(|here| &here.file.name);
        let running = self.board.with_state(|state| {
            let sessions = state
                .teammates
                .iter()
                .filter(|(_, mate)| mate.profile.start == StartRule::Session && mate.is_running());
            let sessions = sessions.filter(|(_, mate)| mate.host.as_ref() == here);
            let life = |(who, mate): (&Address, &Teammate)| TeammateRef {
                address: who.clone(),
                epoch: mate.epoch,
            };
            sessions.map(life).collect::<Vec<_>>()
        });
        if running.is_empty() {
            return;
        }
        let this = Rc::clone(self);
        tokio::task::spawn_local(async move {
            tokio::time::sleep_until(tokio::time::Instant::now() + RETURN_WITHIN).await;
            for who in running {
                if !this.staying.borrow().contains_key(&who) {
                    this.leave(&who);
                }
            }
        });
    }

    pub(crate) fn alive(&self, who: &TeammateRef, asked: u64) {
        let mut signs = self.board.signs.borrow_mut();
        if signs.asked.get(who) == Some(&asked) {
            signs.asked.remove(who);
        }
        drop(signs);
        self.board.look();
    }

    pub(crate) fn progress(&self, who: &TeammateRef, printed: &Printed, waits_until: Option<u64>) {
        let bytes = printed.bytes;
        self.seen(who, |sign| {
            sign.count += 1;
            sign.bytes = bytes;
            sign.last_words = printed.last_words.chars().take(500).collect();
            sign.context = printed.context.or(sign.context);
            sign.waits_until = waits_until;
        });
        self.moved.notify_waiters();
        let stalls = self.board.with_state(|state| {
            state.teammates.get(&who.address).is_some_and(|mate| mate.stalls > 0)
        });
        if stalls {
            self.board.look();
        }
        let mut attached = self.attached.borrow_mut();
        attached.retain(|(_, connection)| connection.is_open());
        for (of, connection) in attached.iter() {
            if of.address == who.address {
                let who = who.to_string();
                connection.notify(&Reply::Notice(Notice::Output { who, bytes }));
            }
        }
        drop(attached);
        self.tell_sign(who);
    }

    pub(super) fn seen(&self, who: &TeammateRef, change: impl FnOnce(&mut crate::signs::Sign)) {
        let mut signs = self.board.signs.borrow_mut();
        let sign = signs.lives.entry(who.clone()).or_default();
        (sign.at, sign.at_ms) = (std::time::Instant::now(), wall_ms());
        change(sign);
    }

    /// Somebody wants to be told when a teammate prints.
    pub(crate) fn attach(&self, who: &TeammateRef, connection: &Rc<Connection>) {
        let mut attached = self.attached.borrow_mut();
        let is_it = |(of, there): &(TeammateRef, Rc<Connection>)| {
            of == who && Rc::ptr_eq(there, connection)
        };
        if !attached.iter().any(is_it) {
            attached.push((who.clone(), Rc::clone(connection)));
        }
    }

    pub(crate) fn output(&self, who: &TeammateRef) -> PathBuf {
        self.folder(who).output()
    }
}
