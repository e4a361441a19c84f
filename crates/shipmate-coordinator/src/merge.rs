//! The merge queue: what is submitted becomes completed, or comes back with the evidence.
//!
//! It moves the team branch only to a tree on which the gate passed, the team's or the task's own.
//! Submissions that wait are merged one after the other, gated together and landed as one commit; a
//! red batch is halved until each that breaks something is found alone. Everything is derived from the
//! state: after a crash the same submissions are found waiting, and one whose merge had landed already
//! is known by the trailer of its commit.

mod collect;
mod elsewhere;
pub(crate) mod gate;
mod one;
mod prove;
mod verify;
mod words;

pub(crate) use elsewhere::announced;
pub(crate) use gate::GateResult;
pub(crate) use verify::{Bench, branch_is_gone};

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use shipmate_core::state::Stage;
use shipmate_core::{State, must_change};
use shipmate_model::event::TaskSpec;
use shipmate_model::playbook::PIECE;
use shipmate_model::setup::Setup;
use shipmate_model::{Name, TaskId};
use tokio::sync::Notify;

use crate::crew::Crew;
use crate::submission::Submission;

/// Wakes the queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    wake: Notify,
}

impl Queue {
    pub(crate) fn look(&self) {
        self.wake.notify_one();
    }
}

/// What waits in one team, oldest task first.
fn waiting(state: &State, team: &Name, max: usize) -> Vec<Submission> {
    let mine = state.submissions().filter(|task| task.team == *team);
    let found = mine.filter(|task| task.scope_question.is_none()).filter_map(|task| {
        let claim = task.claim()?;
        let Stage::Submitted { commit, result } = &claim.stage else { return None };
        let profile = &state.teammates[&claim.by.address].profile;
        Some(Submission {
            task: task.id,
            token: claim.token,
            team: task.team.clone(),
            who: claim.by.clone(),
            subject: task.spec.subject.clone(),
            alias: task.spec.alias.as_ref().map(ToString::to_string).unwrap_or_default(),
            description: task.spec.description.clone(),
            commit: commit.clone(),
            result: result.clone(),
            files: task.spec.files.clone(),
            granted: task.granted.clone(),
            scope: profile.scope.clone(),
            may: crate::demands::role_brief::of(state, &claim.by.address).free(),
            piece: task.spec.metadata.get(PIECE).cloned(),
            gate: task.spec.gate.clone(),
            must_change: must_change(state, task),
            left_out: task.left_out.clone(),
            fields: fields(&task.spec),
        })
    });
    let mut found: Vec<Submission> = found.take(max).collect();
    // A gate of its own is about one task.
    match found.iter().position(|one| one.gate.is_some()) {
        Some(0) => found.truncate(1),
        Some(at) => found.truncate(at),
        None => {}
    }
    found
}

fn fields(spec: &TaskSpec) -> BTreeMap<String, String> {
    let mut fields = spec.metadata.clone();
    fields.extend(spec.metadata.get(PIECE).map(|piece| ("id".to_owned(), piece.clone())));
    fields
}

/// Serves the queue for as long as the board lives.
pub(crate) async fn run(queue: Rc<Queue>, crew: Rc<Crew>) {
    let mut benches: BTreeMap<Name, verify::Bench> = BTreeMap::new();
    let mut stuck = BTreeSet::new();
    let mut collected = collect::Collected::new();
    loop {
        queue.wake.notified().await;
        crew.board.busy.set(crew.board.busy.get() + 1);
        // A team that had to wait for a person is looked at again when it goes on.
        crew.board.with_state(|state| {
            stuck.retain(|team| state.teams.get(team).is_some_and(|team| team.paused.is_some()));
        });
        let mut tried = BTreeSet::new();
        while let Some((team, setup)) = untried(&crew, &stuck, &tried) {
            let turn = crew.turn.lock().await;
            let bench = benches.entry(team.clone()).or_default();
            if bench.try_gate(&crew, &team, &setup).await == verify::Verified::Stuck {
                stuck.insert(team.clone());
            }
            tried.insert(team);
            drop(turn);
            crew.board.settled().await;
        }
        let mut last: BTreeMap<Name, Vec<(TaskId, u64)>> = BTreeMap::new();
        let mut later = BTreeSet::new();
        while let Some((team, batch, setup)) = next(&crew, &stuck, &later) {
            let these: Vec<(TaskId, u64)> = batch.iter().map(|one| (one.task, one.token)).collect();
            if last.insert(team.clone(), these.clone()).as_ref() == Some(&these) {
                // The log did not take the verdict; the next change there brings us back.
                later.insert(team);
                continue;
            }
            let bench = benches.entry(team.clone()).or_default();
            let turn = crew.turn.lock().await;
            if bench.verify(&crew, &team, &setup, batch).await == verify::Verified::Stuck {
                stuck.insert(team);
            }
            drop(turn);
            // What was told is decided before the queue looks again.
            crew.board.settled().await;
        }
        collect::collect(&crew, &mut collected).await;
        crew.queue_does(None);
        crew.board.rested();
    }
}

/// A team whose gate is to be tried before anybody is started, once each time the queue looks.
fn untried(
    crew: &Rc<Crew>,
    stuck: &BTreeSet<Name>,
    tried: &BTreeSet<Name>,
) -> Option<(Name, Setup)> {
    let teams = crew.board.with_state(shipmate_core::untried_gates);
    let open = |team: &Name| !stuck.contains(team) && !tried.contains(team) && crew.is_home(team);
    let team = teams.into_iter().find(open)?;
    let setup = crew.board.with_state(|state| (*state.teams[&team].setup).clone());
    Some((team, setup))
}

fn next(
    crew: &Rc<Crew>,
    stuck: &BTreeSet<Name>,
    later: &BTreeSet<Name>,
) -> Option<(Name, Vec<Submission>, Setup)> {
    let max = crew.settings.agents.batch_max;
    let teams: BTreeSet<Name> =
        crew.board.with_state(|state| state.submissions().map(|task| task.team.clone()).collect());
    let open = |team: &Name| !stuck.contains(team) && !later.contains(team);
    let home = teams.into_iter().filter(|team| crew.is_home(team) && open(team));
    home.map(|team| {
        let (batch, setup) = crew
            .board
            .with_state(|state| (waiting(state, &team, max), (*state.teams[&team].setup).clone()));
        (team, batch, setup)
    })
    .find(|(_, batch, _)| !batch.is_empty())
}
