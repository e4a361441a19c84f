//! Whether a run by a playbook can be led and has agents, looked at before anything is started.
//!
//! A lead that plans has to hear the goal and answer. One that cannot would be waited for until
//! somebody wonders. Only a phase that is sure to begin is looked at: what a later one finds is
//! not known yet.

use shipmate_model::playbook::{Condition, Phase, Playbook, Role};
use shipmate_playbook::fill::{Values, fill, resolved};
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_process::blocking;
use shipmate_programs::Agents;
use shipmate_programs::programs;
use shipmate_protocol::refused;
use shipmate_protocol::verbs::{Setup, TeammateAdd};
use shipmate_protocol::{Code, Refused};

use crate::demands::condition::Scene;
use crate::settings::Settings;
use crate::staffing::staffed;

/// Refuses a playbook with a phase that its lead plans and cannot plan.
pub(crate) async fn check(
    settings: &Settings,
    setup: &Setup,
    playbook: Playbook,
) -> Result<(), Refused> {
    let values = resolved(&playbook, []);
    has_agents(&playbook, &values, setup, &settings.agents)?;
    if !playbook.phases.iter().any(|phase| phase.lead_plans) {
        return Ok(());
    }
    let (workspace, base) = (settings.place.workspace.clone(), setup.base.clone());
    let known = values.clone();
    let found = blocking(move || {
        let ground = ProjectFiles::at(&workspace, base.as_deref())?;
        let phase = planned(&playbook, &ground, &known).cloned();
        Ok((playbook, phase))
    });
    let (playbook, phase) = found
        .await
        .map_err(|text| refused(Code::RepositoryUnusable, text, "run `shipmate doctor`"))?;
    let Some(phase) = phase else { return Ok(()) };
    let mut roles = playbook.roles.iter();
    let lead = roles.find(|(name, role)| role.lead && phase.roles.contains(name));
    let Some((name, role)) = lead else { return Ok(()) };
    can_lead(name.as_str(), role, &values, setup, &settings.agents).map_err(|mut refused| {
        refused.message =
            format!("phase {} is planned by the lead: {}", phase.name, refused.message);
        if refused.code == Code::CannotLead {
            let remedy =
                "name a program for it, such as --lead native (`shipmate agents` lists them)";
            refused.remedy = Some(remedy.to_owned());
        }
        refused
    })
}

/// Refuses a playbook with a phase that is sure to begin and has a role that nothing names an agent for.
fn has_agents(
    playbook: &Playbook,
    values: &Values,
    setup: &Setup,
    agents: &Agents,
) -> Result<(), Refused> {
    let is_sure = |phase: &&Phase| {
        let depends = !phase.unless.is_empty() || !phase.makes.is_empty();
        !depends && !phase.on_call && !playbook.skip.contains(&phase.name)
    };
    let names = playbook.phases.iter().filter(is_sure).flat_map(|phase| &phase.roles);
    for (name, role) in names.filter_map(|name| Some((name, playbook.roles.get(name)?))) {
        if !fill(&role.agent, values).is_empty() || !setup.agent.is_empty() {
            continue;
        }
        let model = fill(&role.model, values);
        let model = if model.is_empty() { setup.model.clone() } else { model };
        let (name, when_needed) = (name.to_string(), true);
        let mut add = TeammateAdd { name, model, when_needed, ..TeammateAdd::default() };
        staffed::choose(agents, None, &mut add).map_err(|mut refused| {
            let own = refused.remedy.take().map(|remedy| format!("; or {remedy}"));
            refused.remedy = Some(format!("say --agent PROGRAM{}", own.unwrap_or_default()));
            refused
        })?;
    }
    Ok(())
}

/// The first phase that the lead plans, if it is sure to begin.
fn planned<'a>(
    playbook: &'a Playbook,
    ground: &ProjectFiles,
    values: &Values,
) -> Option<&'a Phase> {
    let scene = Scene { ground, values, base: None };
    let holds = |conditions: &[Condition]| {
        let holds = |one: &Condition| {
            let is_file = matches!(one, Condition::File { .. });
            is_file && scene.missing(one).is_ok_and(|missing| missing.is_none())
        };
        !conditions.is_empty() && conditions.iter().all(holds)
    };
    let mut phases = playbook.phases.iter().filter(|phase| !playbook.skip.contains(&phase.name));
    let at = phases.clone().position(|phase| phase.lead_plans)?;
    let phase = phases.nth(at)?;
    let depends = !phase.unless.is_empty() || !phase.makes.is_empty();
    let is_left_out = match at {
        0 => holds(&phase.unless) || (holds(&phase.makes) && !phase.again),
        _ => depends,
    };
    (!is_left_out && !phase.for_team && !phase.on_call).then_some(phase)
}

fn can_lead(
    name: &str,
    role: &Role,
    values: &Values,
    setup: &Setup,
    agents: &Agents,
) -> Result<(), Refused> {
    let first = |texts: [&str; 2]| {
        let text = texts.into_iter().find(|text| !text.is_empty());
        text.map(|text| fill(text, values)).unwrap_or_default()
    };
    let mut add = TeammateAdd {
        name: name.to_owned(),
        lead: true,
        mode: Some("plan".to_owned()),
        model: first([&role.model, &setup.model]),
        when_needed: true,
        ..TeammateAdd::default()
    };
    let agent = first([&role.agent, &setup.agent]);
    match programs::find(&agent, agents) {
        Ok(profile) => add.agent = profile.name,
        Err(_) => add.command = agent,
    }
    staffed::found(agents, &mut add)
}
