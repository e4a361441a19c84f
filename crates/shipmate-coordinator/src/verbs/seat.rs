//! Seats for sessions that come without a token: their own when they come back, else a new one.
//!
//! The lead's seat goes to the first session that asks for it; while its session is away the
//! next one that wants to lead takes it over. Whoever finds it taken only looks on.

use shipmate_model::command::StartTeammate;
use shipmate_model::event::{self, Mode, Profile, Seat};
use shipmate_model::profile::StartRule;
use shipmate_model::{Act, Actor, Address, TeammateRef};
use shipmate_protocol::refused;
use shipmate_protocol::verbs::Enrol;
use shipmate_protocol::{Code, Refused};

use crate::scene::Scene;
use crate::secret::hash;

/// How many sessions of one name a team may have.
const SEATS_MAX: usize = 500;

/// A seat for a session: its own if it comes back, else a new one beside those taken.
pub(super) fn enrol(scene: &Scene<'_>, enrol: &Enrol) -> Result<Act, Refused> {
    if *scene.actor != Actor::Person {
        let text = format!("{} has a seat already", scene.actor);
        let remedy = "a session without a seat is enrolled by `shipmate mcp` or `serve`";
        return Err(refused(Code::NotAllowed, text, remedy));
    }
    let who = free_seat(scene, enrol)?;
    if scene.state.member(&who).is_some() {
        return Ok(Act::StartTeammate(session_start(scene, who)));
    }
    let lead = scene.state.teams.get(scene.team).and_then(|team| team.lead.as_ref());
    let leads = enrol.lead && lead.is_none();
    let profile = Profile {
        seat: if leads { Seat::Lead } else { Seat::Member },
        agent: enrol.agent.clone(),
        // Somebody leads already: whoever wanted to only looks on.
        mode: if enrol.lead && !leads { Mode::ReadOnly } else { Mode::Normal },
        tasks_max: 1,
        start: StartRule::Session,
        ..Profile::default()
    };
    Ok(Act::AddTeammate { who, profile })
}

/// The seat of this name that no other session has.
fn free_seat(scene: &Scene<'_>, enrol: &Enrol) -> Result<Address, Refused> {
    let free = |who: &Address| {
        scene
            .state
            .member(who)
            .is_none_or(|mate| mate.profile.start == StartRule::Session && !mate.is_running())
    };
    let lead = scene.state.teams.get(scene.team).and_then(|team| team.lead.clone());
    let lead = lead.map(|name| Address { team: scene.team.clone(), name });
    if let Some(seat) = lead.filter(|seat| enrol.lead && free(seat)) {
        return Ok(seat);
    }
    let wanted = &enrol.name;
    let names = (1..=SEATS_MAX).map(|n| match n {
        1 => wanted.to_owned(),
        n => format!("{wanted}-{n}"),
    });
    for seat in names {
        let who = scene.address(&seat)?;
        if free(&who) {
            return Ok(who);
        }
    }
    let text = format!("{SEATS_MAX} sessions are named {wanted}");
    Err(refused(Code::NoSeat, text, "end those that are not needed, or choose another name"))
}

/// Whoever was added begins its life in the same step.
pub(super) fn begin(scene: &Scene<'_>, enrol: &Enrol) -> Option<Act> {
    let who = free_seat(scene, enrol).ok()?;
    let fresh = scene.state.member(&who).is_none();
    fresh.then(|| Act::StartTeammate(session_start(scene, who)))
}

fn session_start(scene: &Scene<'_>, who: Address) -> StartTeammate {
    let epoch = scene.state.teammates.get(&who).map_or(0, |mate| mate.epoch) + 1;
    let next = TeammateRef { address: who.clone(), epoch };
    let token_hash = hash(&scene.secrets.token(scene.state, &next));
    let at = scene.here.cloned();
    StartTeammate { who, token_hash, supervision: event::Supervision::None, at }
}
