//! A teammate that is made from a definition: its instructions, model, mode and tools come from the file as
//! it is now, and what its program cannot hold of them is recorded with it.

use shipmate_model::Name;
use shipmate_model::definition::Definition;
use shipmate_programs::around::Around;
use shipmate_programs::definitions::{self, Found, Search};
use shipmate_programs::programs;
use shipmate_protocol::{Code, Refused, refused, verbs};

use crate::crew::Crew;

/// Finds the definition that a teammate names, `own` being the program of the lead that asks.
/// What it names itself counts before what the file says.
pub(super) fn find(
    crew: &Crew,
    team: &Name,
    own: Option<&str>,
    add: &mut verbs::TeammateAdd,
) -> Result<Option<Found>, Refused> {
    add.definition = None;
    if add.from.is_empty() {
        return Ok(None);
    }
    let usual = crew.settings.agents.default.as_str();
    let likely = [add.agent.as_str(), usual, own.unwrap_or_default()];
    let agent = likely.into_iter().find(|name| !name.is_empty()).unwrap_or("claude");
    let agents = &crew.settings.agents;
    let (workspace, around) = (&*crew.settings.place.workspace, &Around::here());
    let search = Search { workspace, agents, around, agent: Some(agent) };
    let all = definitions::all(&search);
    let program = programs::kind(agent, agents);
    let found = match definitions::find(&all, &add.from, program) {
        Ok(found) => found,
        Err(none) if add.or_role && may_be_role(crew, team, add, &all) => {
            let _only_a_role = none;
            add.from.clear();
            return Ok(None);
        }
        Err(none) => return Err(refused(Code::BadRequest, none.fact, &none.remedy)),
    };
    let found = definitions::with_skills(found, &search);
    if add.mode.is_none() {
        add.mode = found.mode.map(|mode| mode.word().to_owned());
    }
    Ok(Some(found))
}

/// A role that the team's way of working knows; or nobody here has defined anything.
fn may_be_role(crew: &Crew, team: &Name, add: &verbs::TeammateAdd, all: &definitions::All) -> bool {
    let role = add.role.as_ref().and_then(|role| role.parse::<Name>().ok());
    let is_known = crew.board.with_state(|state| {
        let is_members = state.members_of(team).any(|(_, mate)| mate.profile.role == role);
        let mut books = state.lineage(team).filter_map(|team| team.setup.playbook.as_deref());
        is_members || books.any(|book| book.role(role.as_ref()).is_some())
    });
    is_known || (all.found.is_empty() && all.broken.is_empty())
}

/// Takes over what was found, now that the program is known.
pub(super) fn take_over(crew: &Crew, add: &mut verbs::TeammateAdd, found: Found) {
    let agents = &crew.settings.agents;
    let program = match add.command.is_empty() {
        true => programs::kind(&add.agent, agents).to_owned(),
        false => "command".to_owned(),
    };
    let protocol = match add.command.is_empty() {
        true => programs::protocol(&add.agent, agents),
        false => program.clone(),
    };
    if add.model.is_empty() {
        add.model = definitions::model_for(&found, &program).unwrap_or_default();
    }
    let unheld = definitions::unheld(&found, &program, &protocol);
    add.definition = Some(Box::new(Definition { unheld, ..found.definition }));
}
