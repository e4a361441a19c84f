//! Which agent stands behind a teammate, found before the board hears of it.
//!
//! What is named counts; then, for whom a lead brings in, what the playbook's role names and what
//! the run was told to use; then the configuration's default, then the program of the lead that
//! asks, then our own agent where it has a model. A teammate that could not be started is refused here,
//! with what to do. The line of a plain command may name a file of the repository: whoever fills a
//! teammate in gets it back, to have it looked at beside the board ([`require_runnable`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use shipmate_core::State;
use shipmate_core::state::Host;
use shipmate_model::event::{AgentChoice, Mode, Seat};
use shipmate_model::host::Place;
use shipmate_model::profile::StartRule;
use shipmate_model::setup::{Setup, TreeMode};
use shipmate_model::{Actor, Name, TeammateRef};
use shipmate_playbook::fill::{fill, resolved};
use shipmate_process::blocking;
use shipmate_programs::Agents;
use shipmate_programs::around::Around;
use shipmate_programs::definitions::Found;
use shipmate_programs::programs;
use shipmate_programs::programs::command_line::{CannotRun, Stand, cannot_run};
use shipmate_protocol::problem::nearest;
use shipmate_protocol::refused;
use shipmate_protocol::{Code, Refused, verbs};
use shipmate_workspace::{Commit, Repository};

use crate::crew::Crew;
use crate::staffing::{defined, money};

/// A plain command that somebody will be started with.
pub(crate) type Line = String;

/// Finds the agent of a teammate of this team that is to be started, and whether it can be talked
/// to.
pub(crate) fn staffed(
    crew: &Crew,
    actor: &Actor,
    team: &Name,
    add: &mut verbs::TeammateAdd,
) -> Result<Option<Line>, Refused> {
    require_known_host(crew, &add.place)?;
    let agents = &crew.settings.agents;
    let leads = |who: &TeammateRef| {
        crew.board.with_state(|state| state.member(&who.address).is_some_and(|mate| mate.is_lead()))
    };
    let is_started = add.when_needed || matches!(actor, Actor::Teammate(who) if leads(who));
    let own = match actor {
        Actor::Teammate(who) => crew.board.with_state(|state| {
            let mate = state.teammates.get(&who.address)?;
            programs::named_like(&mate.profile.agent, agents)
        }),
        _ => None,
    };
    // Whatever the program behind the lead: a plain command brings others in as well.
    if matches!(actor, Actor::Teammate(_)) {
        crew.board.with_state(|state| as_the_team_does(state, team, agents, add));
    }
    // Behind which program it is to be decides whose file is meant.
    let found = defined::find(crew, team, own.as_deref(), add)?;
    if let Some(found) = &found {
        as_it_was_written(agents, own.as_deref(), found, add);
    }
    let line = match is_started {
        true => ready(crew, team, own, add)?,
        false => choose_kind(agents, own, is_started, add).map(|()| None)?,
    };
    if let Some(found) = found {
        defined::take_over(crew, add, found);
        // The model that it names is looked at as one that is given.
        if is_started && let Some(none) = programs::no_model(&add.agent, &add.model, agents) {
            return Err(refused(Code::NoModel, none.fact, &none.remedy));
        }
    }
    if is_started {
        money::joins(crew, team, add)?;
    }
    add.fallback_choice = match (add.fallback.is_empty(), is_started) {
        (true, _) => None,
        (false, true) => Some(Box::new(fallback(crew, team, add)?)),
        (false, false) => {
            let text = format!("{} is started by hand, and nothing can take its place", add.name);
            let remedy = "name a program that shipmate starts, or leave the fallback out";
            return Err(refused(Code::BadRequest, text, remedy));
        }
    };
    Ok(line)
}

/// What is to stand behind a teammate while its account has no room: another program, or another model whose
/// provider has an account of its own.
fn fallback(crew: &Crew, team: &Name, add: &verbs::TeammateAdd) -> Result<AgentChoice, Refused> {
    let (program, model) = add.fallback.split_once(':').unwrap_or((&add.fallback, ""));
    let found = programs::find(program, &crew.settings.agents).map_err(|_| {
        let text = format!("the fallback of {} is no program that is known: {program}", add.name);
        refused(Code::UnknownAgent, text, "`shipmate agents` lists them; PROGRAM or PROGRAM:MODEL")
    })?;
    let mut other = verbs::TeammateAdd {
        name: add.name.clone(),
        lead: add.lead,
        agent: found.name,
        model: model.to_owned(),
        mode: add.mode.clone(),
        when_needed: true,
        place: add.place.clone(),
        ..verbs::TeammateAdd::default()
    };
    ready(crew, team, None, &mut other)?;
    if let Some(none) = programs::no_model(&other.agent, &other.model, &crew.settings.agents) {
        return Err(refused(Code::NoModel, none.fact, &none.remedy));
    }
    money::joins(crew, team, &other)?;
    if other.hears != add.hears || (&other.agent, &other.model) == (&add.agent, &add.model) {
        let (fallback, name) = (&add.fallback, &add.name);
        let text = format!("{fallback} cannot take the place of what stands behind {name}");
        let remedy = match other.hears == add.hears {
            true => "it is the same: name another program, or PROGRAM:MODEL",
            false => "one of them can be talked to and the other not: name two of a kind",
        };
        return Err(refused(Code::BadRequest, text, remedy));
    }
    let account =
        |add: &verbs::TeammateAdd| Some(crew.account_behind(&add.agent, &add.model)?.account);
    let here = crew.here.as_ref().map(|here| &here.file.name);
    let is_here = crew.board.with_state(|state| !may_run_elsewhere(state, here, team, &other));
    if let Some(same) = account(&other).filter(|_| is_here)
        && account(add).as_ref() == Some(&same)
    {
        let (agent, fallback) = (&add.agent, &add.fallback);
        let text = format!("{agent} and {fallback} ask with the same account, {same}");
        let remedy = "name a fallback with a login of its own: `shipmate usage` shows accounts";
        return Err(refused(Code::BadRequest, text, remedy));
    }
    let verbs::TeammateAdd { agent, command, model, hears, .. } = other;
    Ok(AgentChoice { agent, command, model, hears })
}

/// Where nobody says which program is to be behind it, it is the one that its definition was written for,
/// if that is here.
fn as_it_was_written(
    agents: &Agents,
    own: Option<&str>,
    found: &Found,
    add: &mut verbs::TeammateAdd,
) {
    let is_said = !add.agent.is_empty() || !add.command.is_empty() || !agents.default.is_empty();
    let program = found.format.program();
    if !is_said && own.is_none() && programs::missing(program, agents).is_none() {
        program.clone_into(&mut add.agent);
    }
}

/// A machine that somebody is to run on is one of those that have joined: nobody would be told that it is
/// waited for in vain.
pub(crate) fn require_known_host(crew: &Crew, place: &Place) -> Result<(), Refused> {
    let Some(host) = &place.host else { return Ok(()) };
    let Some(known) = crew.known_hosts() else {
        let text = format!("there is no host {host}: no other machine has joined");
        let remedy = "`shipmate host add me@box` adds one, or leave the host out";
        return Err(refused(Code::UnknownHost, text, remedy));
    };
    if known.contains(host) {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().map(Name::as_str).collect();
    let text = format!("there is no host {host}; hosts: {}", names.join(", "));
    let remedy = "name one of those, or add it first with `shipmate host add`";
    Err(refused(Code::UnknownHost, text, remedy))
}

/// Finds the agent of a teammate that is to be started. Whether it can be is looked at where only this
/// machine can start it.
fn ready(
    crew: &Crew,
    team: &Name,
    own: Option<String>,
    add: &mut verbs::TeammateAdd,
) -> Result<Option<Line>, Refused> {
    let agents = &crew.settings.agents;
    choose_kind(agents, own, true, add)?;
    let here = crew.here.as_ref().map(|here| &here.file.name);
    if crew.board.with_state(|state| may_run_elsewhere(state, here, team, add)) {
        return Ok(None);
    }
    require_installed(agents, add)?;
    Ok((!add.command.is_empty()).then(|| add.command.clone()))
}

/// Whether another machine may start it: then what this one lacks says nothing.
fn may_run_elsewhere(
    state: &State,
    here: Option<&Name>,
    team: &Name,
    add: &verbs::TeammateAdd,
) -> bool {
    if let Some(host) = &add.place.host {
        return here != Some(host);
    }
    let trees = state.teams.get(team).and_then(|team| team.setup.trees.as_ref());
    let has_tree = trees.is_some_and(|trees| trees.mode == TreeMode::Own);
    let runs_it = |(name, host): (&Name, &Host)| {
        here != Some(name) && host.is_there() && host.spec.programs.contains(&add.agent)
    };
    !add.place.labels.is_empty() || has_tree && state.hosts.iter().any(runs_it)
}

/// Whom a lead brings in without naming a program works with that of its role, or of the team.
fn as_the_team_does(state: &State, team: &Name, agents: &Agents, add: &mut verbs::TeammateAdd) {
    // A team that a lead has made works as the one above it does.
    let setups: Vec<&Setup> = state.lineage(team).map(|team| &*team.setup).collect();
    let Some(setup) = setups.iter().find(|setup| setup.playbook.is_some()).or(setups.first())
    else {
        return;
    };
    let is_named = !add.agent.is_empty() || !add.command.is_empty();
    let role = setup.playbook.as_deref().and_then(|book| {
        let named = add.role.as_ref().and_then(|role| role.parse::<Name>().ok());
        let role = book.role(named.as_ref()).or_else(|| book.member().map(|(_, role)| role))?;
        let values = resolved(book, []);
        Some((fill(&role.agent, &values), fill(&role.model, &values)))
    });
    let (agent, model) = role.unwrap_or_default();
    let first = |texts: [&String; 2]| texts.into_iter().find(|text| !text.is_empty()).cloned();
    if !is_named && let Some(text) = first([&agent, &setup.agent]) {
        match programs::find(&text, agents) {
            Ok(profile) => add.agent = profile.name,
            Err(_) => add.command = text,
        }
    }
    // A program's model says nothing to another.
    if !is_named && add.model.is_empty() {
        add.model = first([&model, &setup.model]).unwrap_or_default();
    }
}

/// Refuses lines that certainly cannot be run. Git is asked, so not on the board's thread.
pub(crate) async fn require_runnable(
    crew: &Crew,
    lines: impl IntoIterator<Item = Line>,
) -> Result<(), Refused> {
    let lines: BTreeSet<Line> = lines.into_iter().collect();
    if lines.is_empty() {
        return Ok(());
    }
    let workspace = crew.settings.place.workspace.clone();
    let root = &crew.board.root;
    let begins = crew.board.with_state(|state| {
        let setup = &state.teams.get(root)?.setup;
        let base = Commit::parse(&setup.trees.as_ref()?.base)?;
        Some((setup.branch(root).to_string(), base))
    });
    let agents = crew.settings.agents.clone();
    let looked = blocking(move || {
        let stand = stand(workspace, begins);
        Ok(lines.iter().try_for_each(|line| runnable(line, &agents, &stand)))
    });
    // What could not be looked at is left to whoever starts it.
    looked.await.unwrap_or(Ok(()))
}

/// Where the agents of a team stand that begins at this branch, or at this commit until it is there.
fn stand(workspace: PathBuf, begins: Option<(String, Commit)>) -> Stand {
    let Some((branch, base)) = begins else { return Stand::Folder(workspace) };
    let tip = Repository::open(&workspace).ok().and_then(|here| here.tip(&branch).ok()?);
    Stand::Clone { workspace, commit: tip.unwrap_or(base) }
}

/// A command that certainly cannot be run is refused before anybody is started with it.
pub(crate) fn runnable(line: &str, agents: &Agents, stand: &Stand) -> Result<(), Refused> {
    let known = programs::profiles(agents);
    let names: Vec<&str> = known.iter().map(|profile| profile.name.as_str()).collect();
    match cannot_run(line, &names, &Around::here(), stand) {
        Some(CannotRun { fact, remedy }) => Err(refused(Code::CannotRun, fact, &remedy)),
        None => Ok(()),
    }
}

/// Finds what stands behind each teammate from its next life on, where a team is set anew.
pub(crate) fn set(
    crew: &Crew,
    team: &Name,
    set: &mut verbs::TeamSet,
) -> Result<Vec<Line>, Refused> {
    set.agents.clear();
    let mut lines = Vec::new();
    if set.agent.is_empty() && set.command.is_empty() && set.model.is_none() {
        return Ok(lines);
    }
    let members = crew.board.with_state(|state| {
        let started = state.members_of(team).filter(|(_, mate)| {
            mate.profile.start == StartRule::WhenNeeded || !set.teammates.is_empty()
        });
        let members = started.map(|(who, mate)| (who.name.to_string(), mate.profile.clone()));
        members.collect::<BTreeMap<_, _>>()
    });
    let unknown = set.teammates.iter().find(|name| !members.contains_key(*name));
    if let Some(name) = unknown {
        let text = format!("there is no teammate {name} in team {team}");
        let names: Vec<&str> = members.keys().map(String::as_str).collect();
        return Err(refused(
            Code::UnknownTeammate,
            text,
            &format!("there are {}", names.join(", ")),
        ));
    }
    for (name, profile) in members {
        let is_named = set.teammates.contains(&name);
        if !set.teammates.is_empty() && !is_named {
            continue;
        }
        let named = !set.agent.is_empty() || !set.command.is_empty();
        let (agent, command) = match named {
            true => (set.agent.clone(), set.command.clone()),
            false => (profile.agent, profile.command),
        };
        // A program's model says nothing to another.
        let kept = if named { String::new() } else { profile.model };
        let leads = profile.seat == Seat::Lead && profile.mode != Mode::Normal;
        let mut add = verbs::TeammateAdd {
            name,
            lead: leads,
            agent,
            command,
            model: set.model.clone().unwrap_or(kept),
            mode: leads.then(|| "plan".to_owned()),
            when_needed: true,
            place: profile.place,
            ..verbs::TeammateAdd::default()
        };
        match ready(crew, team, None, &mut add) {
            Ok(line) => {
                money::joins(crew, team, &add)?;
                lines.extend(line);
                set.agents.push(add);
            }
            // Whoever leads stays as it is where the new agent cannot.
            Err(refused) if refused.code == Code::CannotLead && !is_named => {}
            Err(refused) => return Err(refused),
        }
    }
    Ok(lines)
}

/// The agent of a teammate that names none: the configured one, that of whoever asks, or our own where it
/// has a model.
pub(crate) fn choose(
    agents: &Agents,
    own: Option<String>,
    add: &mut verbs::TeammateAdd,
) -> Result<(), Refused> {
    if !add.agent.is_empty() || !add.command.is_empty() {
        return Ok(());
    }
    match (programs::find(&agents.default, agents), own) {
        (Ok(profile), _) => add.agent = profile.name,
        (Err(_), _) if !agents.default.is_empty() => add.command.clone_from(&agents.default),
        (Err(_), Some(own)) => add.agent = own,
        (Err(_), None) if programs::native_if_ready(&add.model, agents).is_some() => {
            programs::NATIVE.clone_into(&mut add.agent);
        }
        (Err(_), None) => {
            let none = programs::no_model(programs::NATIVE, &add.model, agents);
            let (fact, own) = none.map_or_else(Default::default, |none| {
                (format!(", and shipmate's own has no model: {}", none.fact), none.remedy)
            });
            let text = format!("no agent is named for {}{fact}", add.name);
            let remedy = format!(
                "{own}; or name a program, such as agent \"claude\" (`shipmate agents` lists \
                 them), or set agents.default in the configuration"
            );
            return Err(refused(Code::NoAgent, text, &remedy));
        }
    }
    Ok(())
}

/// The same where there is no team yet, and nobody but this machine.
pub(crate) fn found(agents: &Agents, add: &mut verbs::TeammateAdd) -> Result<(), Refused> {
    choose_kind(agents, None, true, add)?;
    require_installed(agents, add)
}

/// The agent, and whether it can do what is wanted of it. `own`: the program of whoever asks.
fn choose_kind(
    agents: &Agents,
    own: Option<String>,
    is_started: bool,
    add: &mut verbs::TeammateAdd,
) -> Result<(), Refused> {
    if is_started {
        choose(agents, own, add)?;
    }
    let hears = programs::hears(&add.agent, agents);
    add.hears = hears.map_err(|unknown| {
        refused(Code::UnknownAgent, unknown.to_string(), "`shipmate agents` lists them")
    })?;
    if add.lead && add.mode.as_deref() == Some("plan") && is_started && !add.hears {
        let text = format!("{} cannot lead: its agent cannot be talked to", add.name);
        let known = programs::profiles(agents);
        let near = nearest(&add.command, known.iter().map(|profile| profile.name.as_str()));
        let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        let remedy = format!(
            "{near}name a program that can, such as \"native\" (`shipmate agents` lists them)"
        );
        return Err(refused(Code::CannotLead, text, &remedy));
    }
    Ok(())
}

/// Refuses a program that certainly cannot be started on this machine.
fn require_installed(agents: &Agents, add: &verbs::TeammateAdd) -> Result<(), Refused> {
    if let Some(none) = programs::no_model(&add.agent, &add.model, agents) {
        return Err(refused(Code::NoModel, none.fact, &none.remedy));
    }
    match programs::missing(&add.agent, agents) {
        Some(text) => {
            let remedy = "`shipmate agents` says how to install it";
            Err(refused(Code::NotInstalled, text, remedy))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use shipmate_model::Record;
    use shipmate_model::host::Place;
    use shipmate_protocol::verbs::TeammateAdd;

    use super::*;

    /// A team on `here` and on `box`, which alone has codex.
    const RECORDS: [&str; 3] = [
        r#"{"n":1,"at":1,"by":"person","event":{"team.created":{"team":"alpha","verification":"none",
            "setup":{"trees":{"mode":"own","base":"1111111"}}}}}"#,
        r#"{"n":2,"at":1,"by":"runtime","event":{"host.joined":{"host":"here",
            "spec":{"boot":"1","place":"here","slots":1,"programs":["claude"]}}}}"#,
        r#"{"n":3,"at":1,"by":"runtime","event":{"host.joined":{"host":"box",
            "spec":{"boot":"1","place":"box","slots":1,"programs":["codex"]}}}}"#,
    ];

    fn check(mode: &str, agent: &str, host: Option<&str>, label: Option<&str>) -> bool {
        let mut state = State::default();
        for text in RECORDS {
            let record: Record = serde_json::from_str(&text.replace("own", mode)).unwrap();
            shipmate_core::apply(&mut state, &record);
        }
        let name = |text: &str| text.parse::<Name>().unwrap();
        let place = Place { host: host.map(name), labels: label.map(name).into_iter().collect() };
        let add = TeammateAdd { agent: agent.to_owned(), place, ..TeammateAdd::default() };
        may_run_elsewhere(&state, Some(&name("here")), &name("alpha"), &add)
    }

    #[test]
    fn a_program_that_another_host_has_need_not_be_here() {
        assert!(check("own", "codex", None, None));
        assert!(!check("own", "claude", None, None));
        assert!(!check("own", "goose", None, None));
        // Without a tree of its own it runs at home.
        assert!(!check("shared", "codex", None, None));
    }

    #[test]
    fn what_is_missing_here_counts_only_for_who_is_placed_here() {
        assert!(!check("own", "codex", Some("here"), None));
        assert!(check("own", "goose", Some("box"), None));
        assert!(check("shared", "goose", None, Some("gpu")));
    }
}
