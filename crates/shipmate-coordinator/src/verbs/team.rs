//! Teams: their making and end, how they work, their budget and their phases.

use shipmate_model::Act;
use shipmate_model::command::{CreateTeam, Urgency, Whom};
use shipmate_model::event::{AgentChoice, TeamChanges, Verification};
use shipmate_model::setup::{self, TreeMode, Trees};
use shipmate_protocol::verbs::{
    AnswerShutdown, Look, PhaseApprove, PhaseSkip, Setup, Shutdown, Status, TeamBudget,
    TeamContinue, TeamCreate, TeamDelete, TeamPause, TeamSet, TeamShow, TeammateAdd, Teams,
    UsageReport, UsageReserve,
};
use shipmate_protocol::view::{self, TeamView};
use shipmate_protocol::{Code, Refused};

use super::skip::skip;
use super::{Beside, Decides, Looks};
use crate::scene::{Scene, bad, files, name, optional, unknown};
use crate::views::{self, look};

impl Looks for Status {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<view::Status, Refused> {
        Ok(views::status(scene.state, scene.here, beside.log, beside.signs))
    }
}

impl Looks for Teams {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<Vec<TeamView>, Refused> {
        Ok(views::teams(scene.state))
    }
}

impl Looks for TeamShow {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<TeamView, Refused> {
        match scene.state.teams.contains_key(scene.team) {
            true => Ok(views::team(scene.state, scene.team)),
            false => Err(unknown("team", Code::UnknownTeam, scene.team.as_str())),
        }
    }
}

impl Looks for Look {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<view::Look, Refused> {
        Ok(look::look(scene.state, scene.here, &self.of, beside.log, beside.signs))
    }
}

impl Decides for TeamCreate {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::CreateTeam(CreateTeam {
            team: name(&self.name)?,
            parent: optional(self.parent.as_ref())?,
            description: self.description.clone(),
            verification: if self.gate { Verification::Gate } else { Verification::None },
            lead: optional(self.lead.as_ref())?,
            setup: Box::new(self.setup.as_ref().map(setup).transpose()?.unwrap_or_default()),
        }))
    }
}

fn setup(asked: &Setup) -> Result<setup::Setup, Refused> {
    let default = setup::Setup::default();
    let mode = match asked.trees.as_deref() {
        None => None,
        Some("own") => Some(TreeMode::Own),
        Some("shared") => Some(TreeMode::Shared),
        Some(other) => return Err(bad(format!("there is no tree mode {other}"), "own or shared")),
    };
    let base = asked.base.clone().unwrap_or_default();
    let playbook = asked.playbook.as_ref().and_then(|order| order.compiled.clone());
    let playbook = playbook.map(serde_json::from_value);
    Ok(setup::Setup {
        trees: mode.map(|mode| {
            let preparation = asked.preparation.clone();
            Trees { mode, base, branch: None, preparation }
        }),
        gate: asked.gate.clone(),
        gate_timeout_ms: asked.gate_timeout_ms.unwrap_or(default.gate_timeout_ms),
        red_base: asked.red_base,
        hooks_digest: asked.hooks_digest.clone(),
        home: asked.home.clone(),
        protected: files(&asked.protected)?,
        stall_ms: asked.stall_ms.unwrap_or(default.stall_ms),
        answer_ms: asked.answer_ms.unwrap_or(default.answer_ms),
        shutdown_ms: asked.shutdown_ms.unwrap_or(default.shutdown_ms),
        timeout_ms: asked.timeout_ms,
        agent: asked.agent.clone(),
        model: asked.model.clone(),
        cap: asked.cap,
        caps: asked.caps,
        one_shot: asked.one_shot,
        playbook: playbook.transpose().map_err(|e| bad(format!("the playbook: {e}"), ""))?,
    })
}

impl Decides for TeamDelete {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let ms = self.deadline_ms;
        Ok(Act::DeleteTeam {
            team: optional(self.team.as_ref())?.unwrap_or_else(|| scene.team.clone()),
            reason: self.reason.clone(),
            urgency: if self.now { Urgency::Now } else { Urgency::Deadline { ms } },
        })
    }
}

impl Decides for TeamBudget {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::SetTeamBudget { team: scene.team.clone(), budget: self.budget })
    }
}

impl Decides for TeamSet {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let agent = if self.agent.is_empty() { &self.command } else { &self.agent };
        // What is meant for some says nothing about whoever joins.
        let for_all = self.teammates.is_empty();
        let changes = TeamChanges {
            gate: self.gate.clone(),
            agent: Some(agent.clone()).filter(|agent| for_all && !agent.is_empty()),
            model: self.model.clone().filter(|_| for_all),
            base: None,
        };
        let choice = |add: &TeammateAdd| {
            let TeammateAdd { agent, command, model, hears, .. } = add.clone();
            Ok((scene.address(&add.name)?, AgentChoice { agent, command, model, hears }))
        };
        let agents = self.agents.iter().map(choice).collect::<Result<_, Refused>>()?;
        Ok(Act::ChangeTeam { team: scene.team.clone(), changes, agents })
    }
}

impl Decides for TeamPause {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::PauseTeam { team: scene.team.clone(), reason: self.reason.clone() })
    }
}

impl Decides for TeamContinue {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ContinueTeam { team: scene.team.clone() })
    }

    fn wakes_phases(&self) -> bool {
        true
    }
}

impl Decides for PhaseApprove {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ApprovePhase { team: scene.team.clone(), question: self.approval })
    }

    fn wakes_phases(&self) -> bool {
        true
    }
}

impl Decides for PhaseSkip {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        skip(scene, &name(&self.phase)?, &self.reason)
    }
}

impl Decides for Shutdown {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::RequestShutdown {
            whom: match &self.name {
                Some(name) => Whom::Teammate(scene.current(name)?),
                None => Whom::Team(scene.team.clone()),
            },
            reason: self.reason.clone(),
            deadline_ms: self.deadline_ms,
        })
    }
}

impl Decides for AnswerShutdown {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::AnswerShutdown { shutdown: self.shutdown, answer: self.answer.clone() })
    }
}

impl Decides for UsageReserve {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ReserveUsage { usage: self.usage })
    }
}

impl Decides for UsageReport {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ReportUsage {
            usage: self.usage,
            task: scene.optional_task(self.task.as_ref())?,
            reservation: self.reservation,
        })
    }
}
