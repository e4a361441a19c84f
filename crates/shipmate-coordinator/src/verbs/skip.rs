//! A phase that a person leaves out, and why one cannot be.
//!
//! The core refuses what it cannot do in one sentence for all; here are the words that help.

use shipmate_core::state::{Course, Standing};
use shipmate_model::command::PhaseVerdict;
use shipmate_model::playbook::{Phase, Playbook};
use shipmate_model::{Act, Name};
use shipmate_protocol::refused;
use shipmate_protocol::{Code, Refused};

use crate::scene::Scene;

pub(super) fn skip(scene: &Scene<'_>, phase: &Name, reason: &str) -> Result<Act, Refused> {
    let team = scene.state.teams.get(scene.team);
    let now = team.and_then(|team| Some((team.setup.playbook.as_ref()?, team.course.as_ref()?)));
    if let Some((playbook, course)) = now
        && let Some((text, remedy)) = stands_in_the_way(scene, phase, playbook, course)
    {
        return Err(refused(Code::PhaseNeeded, text, &remedy));
    }
    Ok(Act::EndPhase {
        team: scene.team.clone(),
        phase: phase.clone(),
        round: now.map_or(1, |(_, course)| course.round),
        verdict: PhaseVerdict::Skip { reason: reason.to_owned() },
    })
}

fn stands_in_the_way(
    scene: &Scene<'_>,
    name: &Name,
    playbook: &Playbook,
    course: &Course,
) -> Option<(String, String)> {
    let team = scene.team;
    let is_open = |phase: &&Phase| phase.optional && course.end_of(&phase.name).is_none();
    let open = playbook.course().filter(is_open).map(|phase| phase.name.to_string());
    let open: Vec<String> = open.collect();
    let can = match open.is_empty() {
        true => "none of those ahead can be; `shipmate phase list` shows them".to_owned(),
        false => format!("what can be left out: {}", open.join(", ")),
    };
    let Some(phase) = playbook.course().find(|phase| phase.name == *name) else {
        let all: Vec<String> = playbook.course().map(|phase| phase.name.to_string()).collect();
        let remedy = format!("its phases are {}; {can}", all.join(", "));
        return Some((format!("{team} has no phase {name}"), remedy));
    };
    let is_now = course.phase == *name;
    let text = match &course.standing {
        Standing::Running { .. } if is_now => format!("phase {name} of {team} has begun"),
        Standing::Over => format!("{team} is through with its phases"),
        _ if !is_now && course.end_of(name).is_some() => {
            format!("phase {name} of {team} is over")
        }
        _ if !phase.optional => {
            format!("phase {name} of {team} is not optional, and cannot be left out")
        }
        _ if !is_now => {
            let remedy = format!(
                "leave it out when it is the next; `shipmate run --skip {name}` leaves it out from \
                 the start"
            );
            let text = format!("phase {name} of {team} is not next: {} is", course.phase);
            return Some((text, remedy));
        }
        _ => return None,
    };
    Some((text, can))
}
