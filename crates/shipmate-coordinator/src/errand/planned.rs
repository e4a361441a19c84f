//! The teammates of a lead's plan: which program each is, before the board weighs the plan.
//!
//! What cannot be found is a problem of the plan like any other, told with the rest. Where a plan
//! names nobody, as many developers are filled in as its tasks can use.

use shipmate_model::Actor;
use shipmate_model::setup::Setup;
use shipmate_programs::programs;
use shipmate_protocol::verbs::{PlannedWork, TeammateAdd};

use crate::attendance::Attendance;
use crate::staffing::staffed::{self, Line};
use crate::verbs::work::draft;

/// How many developers there are at most, unless the team says otherwise.
const CAP_DEFAULT: u32 = 5;

/// Gives back the lines of plain commands, which are still to be looked at.
pub(super) fn staff(crew: &Attendance, actor: &Actor, work: &mut PlannedWork) -> Vec<Line> {
    work.problems.clear();
    let Actor::Teammate(who) = actor else { return Vec::new() };
    let (usual, members) = crew.board.with_state(|state| {
        let setup = state.teams.get(&who.address.team).map(|team| team.setup.clone());
        let others = state.members_of(&who.address.team).any(|(_, mate)| !mate.is_lead());
        (setup.unwrap_or_default(), others)
    });
    for mate in &work.teammates {
        if !mate.command.is_empty() {
            let text = "names a command; name the program in `agent`, or leave it out";
            work.problems.push(format!("teammate {} {text}", mate.name));
        }
    }
    let is_filled_in = work.teammates.is_empty() && !members;
    if is_filled_in {
        let most = usual.cap.unwrap_or(CAP_DEFAULT).max(1) as usize;
        let many = if is_single(work) { 1 } else { draft(work).width().clamp(1, most) };
        let named = |n| TeammateAdd { name: format!("dev-{n}"), ..TeammateAdd::default() };
        work.teammates.extend((1..=many).map(named));
    }
    // A model is one program's word: it says nothing to another that the plan chose.
    let usual_agent = usual_agent(crew, actor, &usual);
    let (mut problems, mut lines) = (Vec::new(), Vec::new());
    for mate in &mut work.teammates {
        (mate.lead, mate.when_needed) = (false, true);
        let is_usual = !mate.agent.is_empty() && Ok(&mate.agent) == usual_agent.as_ref();
        if mate.model.is_empty() && is_usual {
            mate.model.clone_from(&usual.model);
        }
        match find(crew, actor, mate) {
            Ok(line) => lines.extend(line),
            Err(text) => problems.push(format!("teammate {}: {text}", mate.name)),
        }
    }
    // One reason for all that were filled in.
    problems.truncate(if is_filled_in { 1 } else { problems.len() });
    work.problems.append(&mut problems);
    lines
}

/// The program that the run was told to use, else as for anybody.
fn usual_agent(crew: &Attendance, actor: &Actor, usual: &Setup) -> Result<String, String> {
    if let Ok(profile) = programs::find(&usual.agent, &crew.settings.agents) {
        return Ok(profile.name);
    }
    let mut nobody = TeammateAdd { model: usual.model.clone(), ..TeammateAdd::default() };
    find(crew, actor, &mut nobody).map(|_| nobody.agent)
}

/// Finds the program of a teammate: its own, that of its role, the team's usual one, or as for
/// anybody.
fn find(crew: &Attendance, actor: &Actor, mate: &mut TeammateAdd) -> Result<Option<Line>, String> {
    mate.command.clear();
    mate.when_needed = true;
    let team = match actor {
        Actor::Teammate(who) => &who.address.team,
        _ => &crew.board.root,
    };
    staffed::staffed(crew, actor, team, mate).map_err(|refused| refused.one_line())
}

fn is_single(work: &PlannedWork) -> bool {
    work.single.as_ref().is_some_and(|reason| !reason.trim().is_empty())
}
