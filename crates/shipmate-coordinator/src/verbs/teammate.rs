//! Teammates: who there is, who joins and begins, and what each tells of itself.

use shipmate_core::State;
use shipmate_model::command::StartTeammate;
use shipmate_model::event::{Mode, Profile, Seat};
use shipmate_model::profile::StartRule;
use shipmate_model::{Act, TeammateRef, old};
use shipmate_protocol::verbs::{
    Enrol, Session, TeammateAdd, TeammateBudget, TeammateContinue, TeammateIdle, TeammateMode,
    TeammateMove, TeammatePause, TeammateRemove, TeammateShow, TeammateStart, Teammates,
};
use shipmate_protocol::view::TeammateView;
use shipmate_protocol::{Code, Refused};

use super::{Beside, Decides, Looks, seat};
use crate::hooks::{HookEvent, Payload};
use crate::scene::{Scene, files, mode, name, optional, unknown};
use crate::secret::hash;
use crate::views;

impl Looks for Teammates {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<Vec<TeammateView>, Refused> {
        let members = scene.state.members_of(scene.team);
        let view = |(who, mate)| views::teammate(scene.state, who, mate, beside.signs);
        Ok(members.map(view).collect())
    }
}

impl Looks for TeammateShow {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<TeammateView, Refused> {
        let (team, text) = match self.name.split_once('/') {
            Some((team, _)) => (name(team)?, self.name.rsplit('/').next().unwrap_or_default()),
            None => (scene.team.clone(), self.name.as_str()),
        };
        let name = name(text)?;
        let mut members = scene.state.members_of(&team);
        match members.find(|(who, _)| who.name == name) {
            Some((who, mate)) => Ok(views::teammate(scene.state, who, mate, beside.signs)),
            None => Err(unknown("teammate", Code::UnknownTeammate, name.as_str())),
        }
    }
}

impl Decides for TeammateAdd {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let profile = Profile {
            seat: if self.lead { Seat::Lead } else { Seat::Member },
            role: optional(self.role.as_ref())?,
            agent: self.agent.clone(),
            model: self.model.clone(),
            scope: files(&self.scope)?,
            mode: self.mode.as_ref().map_or(Ok(inherited_mode(scene)), |text| mode(text))?,
            tasks_max: self.tasks_max.unwrap_or(1),
            command: self.command.clone(),
            start: if self.when_needed { StartRule::WhenNeeded } else { StartRule::ByHand },
            hears: self.hears,
            one_shot: false,
            place: self.place.clone(),
            definition: self.definition.clone(),
            fallback: self.fallback_choice.clone(),
        };
        Ok(Act::AddTeammate { who: scene.address(&self.name)?, profile })
    }
}

/// The lead's, where nothing is said. Delegating is the lead's alone: whom it delegates to must be
/// able to work.
fn inherited_mode(scene: &Scene<'_>) -> Mode {
    let lead = scene.state.members_of(scene.team).find(|(_, mate)| mate.is_lead());
    match lead.map(|(_, mate)| mate.profile.mode) {
        None | Some(Mode::Delegate) => Mode::Normal,
        Some(mode) => mode,
    }
}

impl Decides for TeammateStart {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let now = scene.current(&self.name)?;
        let next = TeammateRef { address: now.address.clone(), epoch: now.epoch + 1 };
        Ok(Act::StartTeammate(StartTeammate {
            who: now.address,
            token_hash: hash(&scene.secrets.token(scene.state, &next)),
            supervision: self.supervision,
            at: scene.here.cloned(),
        }))
    }
}

impl Decides for Enrol {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        seat::enrol(scene, self)
    }

    fn then(&self, scene: &Scene<'_>) -> Option<Act> {
        seat::begin(scene, self)
    }
}

impl Decides for TeammateRemove {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::RemoveTeammate { who: scene.address(&self.name)? })
    }
}

impl Decides for TeammatePause {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let (who, reason) = (scene.address(&self.name)?, self.reason.clone());
        // A supervisor of an earlier release says it in words.
        let spent = self.spent || old::is_spent(scene.actor, &who, &reason);
        Ok(Act::PauseTeammate { who, reason, spent })
    }
}

impl Decides for TeammateContinue {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ContinueTeammate { who: scene.address(&self.name)? })
    }
}

impl Decides for TeammateMove {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::PlaceTeammate { who: scene.address(&self.name)?, place: self.place.clone() })
    }
}

impl Decides for TeammateMode {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::SetTeammateMode { who: scene.address(&self.name)?, mode: mode(&self.mode)? })
    }
}

impl Decides for TeammateBudget {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::SetTeammateBudget { who: scene.address(&self.name)?, budget: self.budget })
    }
}

impl Decides for TeammateIdle {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ReportIdle { reason: self.reason.clone() })
    }

    fn hook(&self) -> Option<HookEvent> {
        Some(HookEvent::TeammateIdle)
    }

    fn payloads(&self, _: &State, of: Payload) -> Vec<Payload> {
        vec![Payload { reason: Some(self.reason.clone()), ..of }]
    }
}

impl Decides for Session {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        let (session, fence) = (self.session.clone(), self.fence.clone());
        Ok(Act::ReportSession { session, fence, model: self.model.clone() })
    }
}
