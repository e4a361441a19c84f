//! Whether a ceiling in money can be kept: only where somebody tells what is spent.
//!
//! Our own agent counts with the price of its model; claude, opencode and claude-agent-acp tell
//! their cost themselves. codex, gemini and the other programs that speak ACP tell tokens only: they
//! are counted where they are given a model whose price is known. A plain command tells nothing at
//! all. A ceiling that counts nothing would be a promise that nobody keeps.

use shipmate_core::state::{State, Teammate};
use shipmate_model::profile::{AgentChoice, StartRule};
use shipmate_model::{Address, Name};
use shipmate_programs::Agents;
use shipmate_programs::around::Around;
use shipmate_programs::models::{self, prices};
use shipmate_programs::programs::{self, NATIVE, Protocol};
use shipmate_protocol::refused;
use shipmate_protocol::verbs::Budget;
use shipmate_protocol::{Code, Refused};

use crate::crew::Crew;
use crate::scene;

/// Programs that speak ACP and tell what they cost.
const TELL_COST: [&str; 2] = ["opencode", "claude-agent-acp"];

/// Why money cannot be counted for somebody, and what can be done about it.
fn uncounted(agent: &str, model: &str, command: &str, agents: &Agents) -> Option<(String, String)> {
    let tokens = "limit tokens instead (`shipmate run --tokens N`, later `team budget --tokens N`)";
    if agent == NATIVE {
        let models = &agents.native.models;
        let order = models::find(model, models, &Around::here()).ok()?;
        let (provider, model) = (&order.provider, &order.model);
        return (!models::has_price(&order, models)).then(|| {
            let fact = format!("the price of {provider}/{model} is not known");
            let price = "price = { input = DOLLARS, output = DOLLARS }";
            let remedy = format!(
                "set it for a million tokens, `{price}` below [models.{provider}] in the \
                 configuration, or {tokens}"
            );
            (fact, remedy)
        });
    }
    let protocol = programs::find(agent, agents).ok().map(|profile| profile.protocol);
    match protocol {
        Some(Protocol::Acp) if TELL_COST.contains(&programs::kind(agent, agents)) => None,
        Some(Protocol::Codex | Protocol::Acp) => {
            let fact = match (model, prices::known(model)) {
                (_, Some(_)) => return None,
                ("", None) => "tells its tokens and not what they cost".to_owned(),
                (model, None) => format!("tells its tokens, and the price of {model} is not known"),
            };
            let remedy =
                format!("name a model whose price is known (`--model MODEL`), or {tokens}");
            Some((format!("{agent} {fact}"), remedy))
        }
        Some(Protocol::Command) => Some(plain(agent)),
        None if !command.is_empty() => Some(plain(command)),
        _ => None,
    }
}

fn plain(command: &str) -> (String, String) {
    let fact = format!("a plain command tells nobody what it spends: {command}");
    let remedy = "leave the ceiling of the team out, and limit those that are counted: `shipmate \
                  teammate budget NAME --cost DOLLARS`";
    (fact, remedy.to_owned())
}

fn no(whose: &str, (fact, remedy): &(String, String)) -> Refused {
    let text = format!("money cannot be counted for {whose}: {fact}");
    refused(Code::UnknownPrice, text, remedy)
}

/// Somebody who joins a team with a ceiling in money, or gets another agent there.
pub(crate) fn joins(
    crew: &Crew,
    team: &Name,
    add: &shipmate_protocol::verbs::TeammateAdd,
) -> Result<(), Refused> {
    // A name that is none is the board's to refuse.
    let who = scene::name(&add.name).ok().map(|name| Address { team: team.clone(), name });
    let is_limited = crew.board.with_state(|state| {
        let mate = who.and_then(|who| state.member(&who));
        mate.is_some_and(|mate| mate.budget.cost_micros_max.is_some()) || in_money(state, team)
    });
    let found = uncounted(&add.agent, &add.model, &add.command, &crew.settings.agents);
    found.filter(|_| is_limited).map_or(Ok(()), |found| Err(no(&add.name, &found)))
}

/// The team or one above it has a ceiling in money. One in tokens beside it does not keep that
/// promise.
fn in_money(state: &State, team: &Name) -> bool {
    let mut at = state.teams.get(team);
    while let Some(team) = at {
        if team.budget.cost_micros_max.is_some() {
            return true;
        }
        at = team.parent.as_ref().and_then(|parent| state.teams.get(parent));
    }
    false
}

/// A ceiling that is set for those who are there: for one of a team, or for all.
pub(crate) fn limits(
    crew: &Crew,
    team: &Name,
    whom: Option<&String>,
    budget: &Budget,
) -> Result<(), Refused> {
    if budget.cost_micros_max.is_none() {
        return Ok(());
    }
    let address = |name: &String| Ok(Address { team: team.clone(), name: scene::name(name)? });
    let whom = whom.map(address).transpose()?;
    crew.board.with_state(|state| {
        let is_meant = |who: &Address, mate: &Teammate| match &whom {
            Some(whom) => who == whom,
            // Who comes by itself is not ours to start.
            None => mate.profile.start == StartRule::WhenNeeded && is_below(state, who, team),
        };
        for who in state.members() {
            let mate = &state.teammates[&who];
            if !is_meant(&who, mate) {
                continue;
            }
            for AgentChoice { agent, model, command, .. } in choices(mate) {
                if let Some(found) = uncounted(&agent, &model, &command, &crew.settings.agents) {
                    return Err(no(who.name.as_str(), &found));
                }
            }
        }
        Ok(())
    })
}

/// What may stand behind somebody: what does, what would take its place, and what it stands in for.
fn choices(mate: &Teammate) -> impl Iterator<Item = AgentChoice> {
    let others = [
        mate.profile.fallback.as_deref().cloned(),
        mate.fallen.as_ref().map(|fallen| fallen.choice.clone()),
    ];
    std::iter::once(AgentChoice::of(&mate.profile)).chain(others.into_iter().flatten())
}

fn is_below(state: &State, who: &Address, team: &Name) -> bool {
    let mut at = Some(&who.team);
    while let Some(name) = at {
        if name == team {
            return true;
        }
        at = state.teams.get(name).and_then(|team| team.parent.as_ref());
    }
    false
}
