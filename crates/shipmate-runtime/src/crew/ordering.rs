//! What a supervisor is told when it starts: who it is, its agent, its tree and its limits.

use std::os::unix::fs::DirBuilderExt;

use shipmate_core::TeammateRef;
use shipmate_core::event::{Mode, Supervision};
use shipmate_core::setup::TreeMode;
use shipmate_process::Marker;

use super::{Crew, NotOrdered};
use crate::models;
use crate::programs::{self, Around, OneShot};
use crate::supervisor::order::{NativeOrder, Order, TreeOrder};
use crate::workspace::Commit;

impl Crew {
    pub(super) fn order(
        &self,
        who: &TeammateRef,
        [agent, own]: &[Marker; 2],
    ) -> Result<Order, NotOrdered> {
        let agents = &self.settings.agents;
        self.board.with_state(|state| {
            let mate = &state.teammates[&who.address];
            let setup = &state.teams[&who.address.team].setup;
            if setup.trees.as_ref().is_some_and(|trees| Commit::parse(&trees.base).is_none()) {
                return Err("the team has no commit to begin at".to_owned().into());
            }
            let kind = match mate.profile.agent.as_str() {
                "" => "command",
                kind => kind,
            };
            let profile = &mate.profile;
            let part = crate::playbook::part::of(state, &who.address);
            let one_shot = match (mate.supervision, profile.mode) {
                (Supervision::OneShot, Mode::Normal) => Some(OneShot::Writing),
                (Supervision::OneShot, Mode::ReadOnly | Mode::Delegate) => Some(OneShot::Reading),
                // A plan has to be decided in the middle: only a program that stays can wait.
                (Supervision::OneShot, Mode::Plan) => None,
                _ => None,
            };
            let way = programs::way(kind, one_shot, agents).map_err(|e| e.to_string())?;
            let native = match way.protocol.as_str() {
                "native" => Some(self.native_order(who, &profile.model)?),
                _ => None,
            };
            Ok(Order {
                native,
                workspace: self.settings.place.workspace.clone(),
                team: who.address.team.to_string(),
                name: who.address.name.to_string(),
                epoch: who.epoch,
                token: self.secrets.token(state, who),
                one_shot: mate.supervision == Supervision::OneShot,
                agent: kind.to_owned(),
                protocol: way.protocol,
                argv: way.argv,
                env: way.env,
                own_folders: way.own_folders,
                protected: setup.protected.iter().map(ToString::to_string).collect(),
                patience_ms: agents.patience.as_millis() as u64,
                model: profile.model.clone(),
                role: profile.role.as_ref().map(ToString::to_string).unwrap_or_default(),
                prompt: part.prompt,
                tools: part.tools,
                may: part.may,
                lead: profile.seat == shipmate_core::event::Seat::Lead,
                mode: crate::views::mode_word(profile.mode).to_owned(),
                command: mate.profile.command.clone(),
                gate: setup.gate.clone(),
                before: crate::playbook::gates::before_claim(setup, profile.role.as_ref()),
                before_ms: setup.gate_timeout_ms,
                plan: state.teams[&who.address.team].plan.clone(),
                scope: mate.profile.scope.iter().map(ToString::to_string).collect(),
                tree: setup.trees.as_ref().map(|trees| TreeOrder {
                    path: self.tree_path(who, trees.mode),
                    shared: trees.mode == TreeMode::Shared,
                    base: trees.base.clone(),
                    branch: setup.branch(&who.address.team).to_string(),
                }),
                session: self.last_session(who).unwrap_or_else(|| mate.session.clone()),
                marker: agent.to_string(),
                own_marker: own.to_string(),
                output_bytes_max: agents.output_bytes_max,
                stop_grace_ms: agents.stop_grace.as_millis() as u64,
                program: agents.program.clone(),
            })
        })
    }

    fn native_order(&self, who: &TeammateRef, model: &str) -> Result<NativeOrder, NotOrdered> {
        let native = &self.settings.agents.native;
        let model = models::find(model, &native.models, &Around::here())
            .map_err(|none| format!("{none}; {}", none.remedy))?;
        let pools = models::pools(&Around::here(), &self.settings.place);
        let folder = self.settings.place.team(self.board.root.as_str()).join("native");
        let folder = folder.join(format!("{}.{}", who.address.team, who.address.name));
        for made in [&pools, &folder.join("scratch/tmp"), &folder.join("scratch/outputs")] {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(0o700);
            let passing = |e| NotOrdered::Passing(format!("{}: {e}", made.display()));
            builder.create(made).map_err(passing)?;
        }
        Ok(NativeOrder {
            model,
            folder,
            limits: native.limits,
            fence: native.fence,
            fence_write: native.fence_write.clone(),
            pools,
            secrets: models::key_variables(&native.models),
        })
    }
}
