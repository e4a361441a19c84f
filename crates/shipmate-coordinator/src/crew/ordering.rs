//! What a supervisor is told when it starts: who it is, its agent, its tree and its limits.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;

use shipmate_model::TeammateRef;
use shipmate_model::event::Supervision;
use shipmate_model::playbook::Playbook;
use shipmate_model::profile::Profile;
use shipmate_model::setup::TreeMode;
use shipmate_process::{Marker, environment};
use shipmate_programs::FenceSetting;
use shipmate_programs::around::Around;
use shipmate_programs::definitions;
use shipmate_programs::fence::{self, Grounds};
use shipmate_programs::models;
use shipmate_programs::order::{NativeOrder, Order, TreeOrder};
use shipmate_programs::preparation;
use shipmate_programs::programs;
use shipmate_workspace::Commit;

use super::{Crew, NotOrdered};

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
            let part = crate::demands::role_brief::of(state, &who.address);
            let label = format!("{}.{}", who.address.team, who.address.name);
            let grounds = Grounds::of(
                &self.settings.place,
                &self.settings.agents,
                self.board.root.as_str(),
                &label,
            )
            .map_err(NotOrdered::Passing)?;
            let links = setup.trees.as_ref().map(|trees| trees.preparation.link.as_slice());
            let grounds = grounds.linking(&self.settings.place, links.unwrap_or_default());
            // Without a fence around it, a program is the person's own with all that is theirs.
            let is_fenced = grounds.level != FenceSetting::Off && setup.trees.is_some();
            let home = is_fenced.then(|| grounds.home());
            let way = programs::way(kind, agents, home.as_deref())?;
            let mut env: BTreeMap<String, String> = match is_fenced {
                true => fence::variables(&grounds.caches).into_iter().collect(),
                false => BTreeMap::new(),
            };
            if let Some(trees) = &setup.trees {
                let tree = self.tree_path(who, trees.mode);
                let workspace = &self.settings.place.workspace;
                let own = preparation::variables(&trees.preparation, workspace, &tree);
                env.extend(own.map_err(NotOrdered::Passing)?);
            }
            env.extend(way.env);
            if let Some(definition) = &profile.definition {
                let set = env.get(definitions::OPENCODE_PERMISSION).cloned();
                let persons =
                    || environment::var(definitions::OPENCODE_PERMISSION)?.into_string().ok();
                let set = set.or_else(persons);
                env.extend(definitions::variable(definition, kind, set.as_deref()));
            }
            let one_shot = mate.supervision == Supervision::OneShot;
            let session = match way.protocol.as_str() {
                // One task is a conversation of its own.
                protocol if one_shot && protocol != "command" => String::new(),
                _ => {
                    let last = self.last_session(who, [kind, &profile.model]);
                    last.unwrap_or_else(|| mate.session.clone())
                }
            };
            let native = match way.protocol.as_str() {
                "native" => Some(self.native_order(who, profile)?),
                _ => None,
            };
            let fills = |book: &Playbook| book.phases.iter().any(|phase| phase.lead_plans);
            let fills_board = setup.playbook.as_deref().map(fills);
            Ok(Order {
                native,
                workspace: self.settings.place.workspace.clone(),
                team: who.address.team.to_string(),
                name: who.address.name.to_string(),
                epoch: who.epoch,
                token: self.secrets.token(state, who),
                one_shot,
                agent: kind.to_owned(),
                protocol: way.protocol,
                argv: way.argv,
                env,
                own: way.own,
                grounds,
                protected: setup.protected.iter().map(ToString::to_string).collect(),
                patience_ms: agents.patience.as_millis() as u64,
                model: profile.model.clone(),
                role: profile.role.as_ref().map(ToString::to_string).unwrap_or_default(),
                prompt: part.prompt,
                definition: profile.definition.clone(),
                tools: part.tools,
                may: part.may,
                lead: profile.seat == shipmate_model::event::Seat::Lead,
                by_playbook: fills_board == Some(false),
                fills_board: fills_board == Some(true),
                mode: profile.mode,
                command: mate.profile.command.clone(),
                gate: setup.gate.clone(),
                before: crate::demands::gates::before_claim(setup, profile.role.as_ref()),
                before_ms: setup.gate_timeout_ms,
                plan: state.teams[&who.address.team].plan.clone(),
                scope: mate.profile.scope.iter().map(ToString::to_string).collect(),
                tree: setup.trees.as_ref().map(|trees| TreeOrder {
                    path: self.tree_path(who, trees.mode),
                    shared: trees.mode == TreeMode::Shared,
                    base: trees.base.clone(),
                    branch: setup.branch(&who.address.team).to_string(),
                    preparation: trees.preparation.clone(),
                }),
                fetches: self.here.is_some() && setup.trees.is_some(),
                session,
                marker: agent.to_string(),
                own_marker: own.to_string(),
                output_bytes_max: agents.output_bytes_max,
                stop_grace_ms: agents.stop_grace.as_millis() as u64,
                program: agents.program.clone(),
            })
        })
    }

    fn native_order(
        &self,
        who: &TeammateRef,
        profile: &Profile,
    ) -> Result<NativeOrder, NotOrdered> {
        let native = &self.settings.agents.native;
        let mut limits = native.limits;
        let turns_max = profile.definition.as_ref().map_or(0, |definition| definition.turns_max);
        if turns_max > 0 {
            limits.requests_max = limits.requests_max.min(turns_max);
        }
        let model = models::find(&profile.model, &native.models, &Around::here())
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
            limits,
            pools,
            secrets: models::key_variables(&native.models),
        })
    }
}
