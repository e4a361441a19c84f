//! Who joins a team when a phase begins: its roles, each on the agent and model it names.

use std::collections::BTreeMap;
use std::rc::Rc;

use shipmate_core::command::NewTask;
use shipmate_core::event::{Mode, Profile, Seat};
use shipmate_core::files::FileSet;
use shipmate_core::playbook::Role;
use shipmate_core::setup::StartRule;
use shipmate_core::{Actor, Name};
use shipmate_protocol::ask::TeammateAdd;

use super::engine::Stage;
use super::fill::fill;
use super::posts::{Need, Post, posts};
use super::work::Work;
use crate::crew::Crew;
use crate::errand::staffed::{require_runnable, staffed};
use crate::programs;

/// Who joins, and what a person should know about it.
pub(super) type Joining = (Vec<(Name, Profile)>, Vec<String>);

/// The members that are not there yet. Of a role that several may have, as many as there are tasks
/// for it.
pub(super) async fn join(
    crew: &Rc<Crew>,
    stage: &Stage,
    tasks: &mut [NewTask],
    work: &Work,
    alone: bool,
) -> Result<Joining, String> {
    let there: BTreeMap<Name, Profile> = crew.board.with_state(|state| {
        let members = state.members_of(&stage.team);
        members.map(|(who, mate)| (who.name.clone(), mate.profile.clone())).collect()
    });
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for name in &stage.phase.roles {
        let Some(role) = stage.playbook.roles.get(name) else { continue };
        if alone && !role.lead {
            continue;
        }
        let cap = stage.setup.cap.map_or(role.cap, |cap| role.cap.min(cap)) as usize;
        let need = Need {
            name,
            role,
            cap,
            work,
            there: there.clone(),
            model: &|model| fill(model, &stage.values),
        };
        for post in posts(&need, tasks)? {
            if !there.contains_key(&post.name) {
                let mut profile = profile(crew, stage, name, role, &post).await?;
                if alone {
                    profile.mode = Mode::Normal;
                }
                if post.kind.plans && profile.mode != Mode::Plan {
                    let name = &post.name;
                    notes
                        .push(format!("{name} shows no plan first: its agent cannot be talked to"));
                }
                found.push((post.name, profile));
            }
        }
    }
    Ok((found, notes))
}

async fn profile(
    crew: &Rc<Crew>,
    stage: &Stage,
    name: &Name,
    role: &Role,
    post: &Post,
) -> Result<Profile, String> {
    let usual = &stage.setup;
    let text = [&role.agent, &usual.agent].into_iter().find(|text| !text.is_empty());
    let mut add = TeammateAdd {
        name: post.name.to_string(),
        lead: role.lead,
        model: [&post.kind.model, &role.model, &usual.model]
            .into_iter()
            .map(|model| fill(model, &stage.values))
            .find(|model| !model.is_empty())
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
    let found = match staffed(crew, &Actor::Person, &stage.team, &mut add) {
        Ok(line) => require_runnable(crew, line).await,
        Err(refused) => Err(refused),
    };
    found.map_err(|refused| {
        let own = if add.model.is_empty() { String::new() } else { map_model(stage, &add.model) };
        format!("{} of role {name}: {}{own}", post.name, refused.one_line())
    })?;
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
        // Whoever cannot be talked to would wait for its approval for ever.
        mode: if post.kind.plans && add.hears { Mode::Plan } else { role.mode },
        tasks_max: 1,
        command: add.command,
        start: StartRule::WhenNeeded,
        hears: add.hears && !role.one_shot,
        one_shot: role.one_shot,
    })
}

/// How to say what a model of the playbook is called here, where one of its values names it.
fn map_model(stage: &Stage, model: &str) -> String {
    let key = stage.playbook.values.iter().find(|(_, value)| *value == model);
    key.map(|(key, _)| format!("; or name another model with --set {key}=MODEL"))
        .unwrap_or_default()
}
