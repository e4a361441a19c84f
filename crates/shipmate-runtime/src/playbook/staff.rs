//! Who joins a team when a phase begins: its roles, each on the agent and model it names.

use std::collections::BTreeSet;
use std::rc::Rc;

use shipmate_core::command::NewTask;
use shipmate_core::event::{Mode, Profile, Seat};
use shipmate_core::files::FileSet;
use shipmate_core::playbook::Role;
use shipmate_core::setup::StartRule;
use shipmate_core::{Actor, Address, Name};
use shipmate_protocol::ask::TeammateAdd;

use super::engine::Stage;
use super::fill::fill;
use crate::crew::Crew;
use crate::errand::staffed::staffed;
use crate::programs;

/// The members that are not there yet. Of a role that several may have, as many as there are tasks
/// for it.
pub(super) fn join(
    crew: &Rc<Crew>,
    stage: &Stage,
    tasks: &[NewTask],
) -> Result<Vec<(Name, Profile)>, String> {
    let mut found = Vec::new();
    for name in &stage.phase.roles {
        let Some(role) = stage.playbook.roles.get(name) else { continue };
        let alone = stage.course.alone.is_some();
        if alone && !role.lead {
            continue;
        }
        for own in names(name, role, tasks)? {
            let who = Address { team: stage.team.clone(), name: own.clone() };
            if crew.board.with_state(|state| state.member(&who).is_none()) {
                let mut profile = profile(crew, stage, name, role, &own)?;
                if alone {
                    profile.mode = Mode::Normal;
                }
                found.push((own.clone(), profile));
            }
        }
    }
    Ok(found)
}

/// What the members of a role are called: each after its own piece of work, or by number.
fn names(name: &Name, role: &Role, tasks: &[NewTask]) -> Result<Vec<Name>, String> {
    let wanted = || tasks.iter().filter(|task| task.spec.role.as_ref() == Some(name));
    if !role.named.is_empty() {
        let owners: BTreeSet<Name> =
            wanted().filter_map(|task| task.spec.assignee.clone()).collect();
        if owners.len() > role.cap as usize {
            return Err(format!(
                "there is work for {} of role {name}, and there may be {}: put some of it together, \
                 or raise the role's cap",
                owners.len(),
                role.cap
            ));
        }
        return Ok(owners.into_iter().collect());
    }
    let many = (role.cap as usize).min(wanted().count().max(1));
    let one = |n: usize| if role.cap == 1 { name.to_string() } else { format!("{name}-{n}") };
    (1..=many).map(|n| one(n).parse().map_err(|e| format!("{e}"))).collect()
}

fn profile(
    crew: &Rc<Crew>,
    stage: &Stage,
    name: &Name,
    role: &Role,
    own: &Name,
) -> Result<Profile, String> {
    let usual = &stage.setup;
    let text = [&role.agent, &usual.agent].into_iter().find(|text| !text.is_empty());
    let mut add = TeammateAdd {
        name: own.to_string(),
        lead: role.lead,
        model: [&role.model, &usual.model]
            .into_iter()
            .find(|m| !m.is_empty())
            .cloned()
            .unwrap_or_default(),
        when_needed: true,
        ..TeammateAdd::default()
    };
    if let Some(text) = text.map(|text| fill(text, &stage.values)) {
        match programs::find(&text, &crew.settings.agents) {
            Ok(profile) => add.agent = profile.name,
            Err(_) => add.command = text,
        }
    }
    staffed(crew, &Actor::Person, &mut add).map_err(|refused| refused.one_line())?;
    let mut scope = Vec::new();
    for path in &role.scope {
        scope.push(fill(path, &stage.values).parse().map_err(|e| format!("{e}"))?);
    }
    Ok(Profile {
        seat: if role.lead { Seat::Lead } else { Seat::Member },
        role: Some(name.clone()),
        agent: add.agent,
        model: add.model,
        scope: FileSet::new(scope),
        mode: role.mode,
        tasks_max: 1,
        command: add.command,
        start: StartRule::WhenNeeded,
        hears: add.hears && !role.one_shot,
        one_shot: role.one_shot,
    })
}
