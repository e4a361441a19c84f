//! What simulated people, leads, teammates and the runtime ask for: every act, by weight.
//!
//! Each generator looks at a recent state, so that most commands make sense, and is wrong on
//! purpose now and then: unknown ids, somebody else's task, a token that has ended.

mod account;
mod host;
pub(crate) mod phase;
mod talk;
pub(crate) mod task;
mod team;

use shipmate_core::State;
use shipmate_core::state::TeamPhase;
use shipmate_model::event::{TaskId, Token};
use shipmate_model::{Act, Actor, Address, Name, TeammateRef};

use super::client::Client;
use super::vocabulary::{self, MATES, TEAMS};
use crate::Random;

/// Who asks and what it can see and remember.
#[derive(Debug)]
pub(crate) struct Chooser<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) state: &'a State,
    /// Absent for the runtime.
    pub(crate) client: Option<&'a Client>,
    /// How often it uses what it knows to be old, in a thousand.
    pub(crate) stale: u32,
    /// It showed a token that has ended.
    pub(crate) showed_stale_token: bool,
}

type Make = fn(&mut Chooser<'_>) -> Option<Act>;

/// Weights for a person, a lead, a member and the runtime.
const TABLE: [([u32; 4], Make); 81] = [
    ([3, 1, 0, 0], team::create_team),
    ([1, 1, 0, 0], team::delete_team),
    ([2, 1, 0, 0], team::set_team_budget),
    ([1, 1, 1, 0], team::pause_team),
    ([4, 2, 1, 0], team::continue_team),
    ([1, 1, 1, 0], team::change_team),
    ([0, 0, 1, 1], team::expire_team),
    ([8, 4, 1, 0], team::add_teammate),
    ([30, 12, 1, 12], team::start_teammate),
    ([3, 1, 0, 0], team::remove_teammate),
    ([2, 1, 0, 0], team::pause),
    ([6, 3, 0, 0], team::carry_on),
    ([2, 1, 1, 0], team::set_mode),
    ([2, 1, 1, 0], team::place),
    ([2, 2, 1, 0], team::set_teammate_budget),
    ([0, 2, 3, 0], team::report_idle),
    ([0, 0, 1, 2], team::report_disappeared),
    ([0, 0, 1, 3], team::report_stopped),
    ([0, 0, 1, 3], team::report_stalled),
    ([1, 2, 3, 0], team::report_session),
    ([0, 0, 1, 8], account::set),
    ([1, 2, 3, 2], account::windows),
    ([1, 1, 1, 1], account::park),
    ([8, 2, 1, 12], account::resume),
    ([1, 1, 1, 12], account::fall_over),
    ([0, 0, 1, 4], host::join),
    ([1, 1, 1, 0], host::drain),
    ([1, 1, 1, 0], host::leave),
    ([0, 0, 1, 2], host::lost),
    ([1, 0, 1, 0], host::move_home),
    ([0, 0, 1, 1], host::branch),
    ([16, 12, 4, 0], task::create),
    ([5, 5, 4, 0], task::update),
    ([1, 7, 20, 0], task::claim),
    ([1, 10, 30, 0], task::claim_next),
    ([1, 3, 8, 1], task::renew),
    ([0, 0, 1, 2], task::expire_late),
    ([0, 10, 36, 1], task::submit),
    ([3, 8, 20, 2], task::complete),
    ([0, 0, 1, 4], task::give_back),
    ([0, 0, 1, 3], task::unchanged),
    ([0, 0, 1, 4], task::ask_scope),
    ([0, 0, 1, 1], task::report_gate),
    ([0, 0, 1, 1], task::report_hook),
    ([1, 2, 6, 1], task::fail),
    ([2, 2, 4, 1], task::release),
    ([4, 3, 1, 0], task::assign),
    ([8, 5, 1, 0], task::retry),
    ([1, 0, 1, 3], task::revert),
    ([2, 1, 2, 0], task::delete),
    ([1, 2, 5, 0], task::set_aside),
    ([2, 3, 4, 1], talk::add_note),
    ([1, 1, 1, 1], talk::remove_note),
    ([8, 10, 14, 1], talk::send),
    ([2, 6, 8, 0], talk::escalate),
    ([0, 0, 1, 1], talk::raise_escalation),
    ([1, 1, 1, 1], talk::take_in),
    ([8, 8, 14, 1], talk::read_inbox),
    ([1, 2, 5, 0], talk::take_inbox),
    ([0, 2, 4, 0], talk::inject),
    ([2, 3, 5, 0], talk::acknowledge),
    ([0, 0, 1, 3], talk::expire_messages),
    ([0, 2, 4, 0], talk::submit_plan),
    ([6, 6, 1, 0], talk::decide_plan),
    ([0, 3, 4, 0], talk::ask),
    ([6, 5, 1, 0], talk::answer),
    ([0, 2, 3, 0], talk::withdraw),
    ([2, 1, 1, 0], talk::request_shutdown),
    ([0, 6, 8, 0], talk::answer_shutdown),
    ([0, 0, 1, 1], talk::expire_shutdown),
    ([0, 0, 1, 2], phase::ask_approval),
    ([6, 2, 1, 0], phase::approve),
    ([0, 0, 1, 4], phase::begin),
    ([0, 0, 1, 1], phase::hold),
    ([2, 1, 1, 1], phase::end),
    ([0, 0, 1, 1], phase::expire),
    ([0, 0, 1, 2], talk::forgive),
    ([0, 0, 1, 3], talk::probe),
    ([0, 0, 1, 6], talk::report_probe),
    ([1, 3, 5, 0], talk::reserve),
    ([1, 3, 5, 0], talk::report_usage),
];

impl Chooser<'_> {
    /// Something to ask, if a few tries find it.
    pub(crate) fn choose(&mut self) -> Option<Act> {
        let column = match self.client.map(|client| &client.who) {
            Some(Actor::Person) => 0,
            Some(Actor::Teammate(who)) if self.is_lead(who) => 1,
            Some(_) => 2,
            None => 3,
        };
        if column == 0
            && let Some(act) = self.begin()
        {
            return Some(act);
        }
        let weights = TABLE.iter().map(|(weights, _)| weights[column]);
        for _ in 0..8 {
            let index = self.random.weighted(weights.clone());
            if let Some(act) = TABLE[index].1(self) {
                return Some(act);
            }
        }
        None
    }

    /// What a person does first: without teams, members and tasks everything is refused.
    fn begin(&mut self) -> Option<Act> {
        let missing: Make = if self.state.teams.is_empty() {
            team::create_team
        } else if self.state.teammates.len() < 3 {
            team::add_teammate
        } else if self.state.tasks().is_empty() {
            task::create
        } else {
            return None;
        };
        if self.random.chance(850) { missing(self) } else { None }
    }

    fn is_lead(&self, who: &TeammateRef) -> bool {
        self.state.teammates.get(&who.address).is_some_and(|mate| mate.is_lead())
    }

    fn me(&self) -> Option<&TeammateRef> {
        match self.client.map(|client| &client.who) {
            Some(Actor::Teammate(who)) => Some(who),
            _ => None,
        }
    }

    fn text(&mut self, what: &str) -> String {
        format!("{what} {}", self.random.below(1000))
    }

    /// A team that exists, now and then one that does not.
    fn team(&mut self) -> Name {
        let own = self.me().map(|who| who.address.team.clone());
        if let Some(own) = own
            && self.random.chance(700)
        {
            return own;
        }
        let teams = self.state.teams.iter();
        let living = teams.filter(|(_, team)| team.phase != TeamPhase::Deleted);
        let living: Vec<&Name> = living.map(|(name, _)| name).collect();
        match self.random.pick(&living) {
            Some(team) if !self.random.chance(20) => (*team).clone(),
            _ => vocabulary::pick_name(self.random, &TEAMS),
        }
    }

    /// A teammate that was added once, now and then one that never was.
    fn mate(&mut self) -> Address {
        let members = self.state.members();
        match self.random.pick(&members) {
            Some(who) if !self.random.chance(20) => who.clone(),
            _ => Address { team: self.team(), name: vocabulary::pick_name(self.random, &MATES) },
        }
    }

    /// One life of a teammate: mostly the present one.
    fn life(&mut self) -> TeammateRef {
        let address = self.mate();
        let epoch = self.state.teammates.get(&address).map_or(1, |mate| mate.epoch);
        let epoch = if self.random.chance(self.stale) { epoch.saturating_sub(1) } else { epoch };
        TeammateRef { address, epoch }
    }

    /// The number of a task, now and then one past the last.
    fn task(&mut self) -> TaskId {
        let many = self.state.tasks().len() as u64;
        let any = many == 0 || self.random.chance(30);
        let id = if any { self.random.below(many + 2) } else { 1 + self.random.below(many) };
        id as TaskId
    }

    /// A claim to act on: one's own, an old one, or somebody else's as it stands.
    fn claim(&mut self) -> Option<(TaskId, Token)> {
        let (own, ended) = match self.client {
            Some(client) => (client.claims.as_slice(), client.ended.as_slice()),
            None => (&[][..], &[][..]),
        };
        if self.random.chance(self.stale)
            && let Some(claim) = self.random.pick(ended)
        {
            self.showed_stale_token = true;
            return Some(*claim);
        }
        if !own.is_empty() && self.random.chance(930) {
            return self.random.pick(own).copied();
        }
        let held: Vec<(TaskId, Token)> = self
            .state
            .tasks()
            .iter()
            .filter_map(|task| Some((task.id, task.claim()?.token)))
            .collect();
        let (task, token) = *self.random.pick(&held)?;
        let old = self.random.chance(self.stale);
        self.showed_stale_token |= old;
        Some((task, if old { token.saturating_sub(1) } else { token }))
    }
}
