//! Set-up and gate are tried on what a team begins with, before anybody is started: one that cannot pass
//! would only be found out by the first work that was paid for.
//!
//! Once green it is known to work. It is tried again after a pause for a red one, and when it was
//! changed.

use shipmate_model::event::Verification;
use shipmate_model::name::Name;
use shipmate_model::playbook::Expect;
use shipmate_model::setup::GateRun;

use crate::state::{Green, State, Team};

/// Nobody of this team is started yet.
pub(crate) fn needs_trial(state: &State, name: &Name, team: &Team) -> bool {
    let setup = &team.setup;
    let Some(trees) = &setup.trees else { return false };
    let has_gate = team.verification == Verification::Gate && !setup.gate.is_empty();
    if !has_gate && !trees.preparation.is_set_up() {
        return false;
    }
    let is_known = |(other, found): (&Name, &Team)| {
        found.gate_is_tried
            && found.setup.gate == setup.gate
            && found.setup.branch(other) == setup.branch(name)
    };
    !setup.red_base && !begins_red(state, name) && !state.teams.iter().any(is_known)
}

/// A way of working in which tests come before what they test.
fn begins_red(state: &State, team: &Name) -> bool {
    let playbook = state.lineage(team).find_map(|team| team.setup.playbook.as_deref());
    playbook.is_some_and(|playbook| playbook.gates.values().any(|gate| gate.expect == Expect::Red))
}

pub(crate) fn apply_gate(state: &mut State, run: &GateRun) {
    // A gate of a task's own says nothing about the team's.
    let is_own = |id: &u32| state.task(*id).is_none_or(|task| task.spec.gate.is_some());
    if run.passed && !run.tasks.iter().any(is_own) {
        state.team_mut(&run.team).gate_is_tried = true;
    }
    if run.gate.is_empty() || run.commit.is_empty() {
        return;
    }
    let team = state.team_mut(&run.team);
    if run.passed {
        team.green = Some(Green { commit: run.commit.clone(), gate: run.gate.clone() });
    } else if team.green.as_ref().is_some_and(|green| green.commit == run.commit) {
        // A gate that says both of the same commit has to say it again.
        team.green = None;
    }
}

/// Whether this gate is on record as green for this very commit. Departments land on the branch
/// of the team above them, so any team's record counts.
pub fn is_green(state: &State, commit: &str, gate: &[String]) -> bool {
    let greens = state.teams.values().filter_map(|team| team.green.as_ref());
    greens.into_iter().any(|green| green.commit == commit && green.gate == gate)
}
