//! Who joins a team when a phase begins: its roles, each on the agent and model it names.

use std::collections::BTreeMap;
use std::rc::Rc;

use shipmate_core::state::Standing;
use shipmate_model::command::NewTask;
use shipmate_model::event::{Mode, Profile, Seat};
use shipmate_model::files::FileSet;
use shipmate_model::playbook::Role;
use shipmate_model::profile::StartRule;
use shipmate_model::{Actor, Name};
use shipmate_playbook::fill::fill;
use shipmate_playbook::work::Work;
use shipmate_process::{Level, achieved};
use shipmate_programs::FenceSetting;
use shipmate_programs::programs;
use shipmate_protocol::verbs::TeammateAdd;

use super::role_members::{Need, Post, posts};
use super::stage::Stage;
use crate::phases::Phases;
use crate::staffing::staffed::{require_runnable, staffed};

/// The members that are not there yet. Of a role that several may have, as many as there are tasks
/// for it.
pub(super) async fn join(
    phases: &Rc<Phases>,
    stage: &Stage,
    tasks: &mut [NewTask],
    work: &Work,
    alone: bool,
    notes: &mut Vec<String>,
) -> Result<Vec<(Name, Profile)>, String> {
    let there: BTreeMap<Name, Profile> = phases.board.with_state(|state| {
        let members = state.members_of(&stage.team);
        members.map(|(who, mate)| (who.name.clone(), mate.profile.clone())).collect()
    });
    let mut found = Vec::new();
    // Whoever is at work already takes what comes later when it is free.
    let runs = matches!(stage.course.standing, Standing::Running { .. });
    let dispatch = stage.phase.dispatch && !runs && !alone;
    for name in &stage.phase.roles {
        let Some(role) = stage.playbook.roles.get(name) else { continue };
        if alone && !role.lead {
            continue;
        }
        let cap = stage.setup.cap.map_or(role.cap, |cap| role.cap.min(cap)) as usize;
        let need = Need {
            name,
            role,
            called: stage.called(name, role),
            dispatch,
            cap,
            plans: stage.wants_plans(),
            work,
            there: there.clone(),
            model: &|model| fill(model, &stage.values),
        };
        let is_own = |task: &NewTask| task.spec.assignee.is_none();
        let open: Vec<bool> = tasks.iter().map(is_own).collect();
        let posts = posts(&need, tasks)?;
        if dispatch {
            let given = tasks.iter().zip(open).filter(|(_, open)| *open);
            notes.extend(given.filter_map(|(task, _)| given_note(stage, task)));
        }
        for post in posts {
            if !there.contains_key(&post.name) {
                let mut profile = profile(phases, stage, name, role, &post).await?;
                if alone {
                    profile.mode = Mode::Normal;
                }
                found.push((post.name, profile));
            }
        }
    }
    Ok(found)
}

/// Who was given what in the lead's name.
fn given_note(stage: &Stage, task: &NewTask) -> Option<String> {
    let (name, role) = stage.playbook.lead()?;
    let (lead, to) = (stage.called(name, role), task.spec.assignee.as_ref()?);
    Some(format!("{lead} gives {to} its first task: {}", task.spec.subject))
}

async fn profile(
    phases: &Rc<Phases>,
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
        match programs::find(&text, &phases.settings.agents) {
            Ok(profile) => add.agent = profile.name,
            Err(_) => add.command = text,
        }
    }
    let found = match staffed(phases, &Actor::Person, &stage.team, &mut add) {
        Ok(line) => require_runnable(phases, line).await,
        Err(refused) => Err(refused),
    };
    found.map_err(|refused| {
        let own = if add.model.is_empty() { String::new() } else { map_model(stage, &add.model) };
        format!("{} of role {name}: {}{own}", post.name, refused.one_line())
    })?;
    if post.kind.plans && !add.hears {
        may_plan(phases, stage, &post.name)?;
    }
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
        mode: if post.kind.plans { Mode::Plan } else { role.mode },
        tasks_max: 1,
        command: add.command,
        start: StartRule::WhenNeeded,
        hears: add.hears && !role.one_shot,
        one_shot: role.one_shot,
        place: add.place,
        definition: add.definition,
        fallback: add.fallback_choice,
    })
}

/// A plain command plans by a run in which it can write nothing: only a fence sees to that.
fn may_plan(phases: &Phases, stage: &Stage, name: &Name) -> Result<(), String> {
    let why = match () {
        () if phases.settings.agents.fence == FenceSetting::Off => "and the fence is off",
        () if stage.setup.trees.is_none() => "and a team without trees has none",
        () if achieved() == Level::None => "and this kernel has no Landlock",
        () => return Ok(()),
    };
    Err(format!(
        "{name} must show its plan before it writes, and a command is kept to that by a fence alone, \
         {why}; name a program that can be talked to (--agent claude; `shipmate agents` lists them), \
         or let it work behind a fence"
    ))
}

/// How to say what a model of the playbook is called here, where one of its values names it.
fn map_model(stage: &Stage, model: &str) -> String {
    let key = stage.playbook.values.iter().find(|(_, value)| *value == model);
    key.map(|(key, _)| format!("; or name another model with --set {key}=MODEL"))
        .unwrap_or_default()
}
