//! A tree of the runtime's own that gates and hooks run in, prepared as the team's trees are.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use shipmate_model::setup::{SET_UP, Setup};
use shipmate_model::{Act, Name};
use shipmate_process::{Activity, Marker};
use shipmate_programs::fence::Grounds;
use shipmate_programs::preparation::{self, Prepared, TreeToPrepare};

use super::Crew;

impl Crew {
    /// Makes a tree ready to be judged in, as a step of the merge queue, which goes on with what it did.
    pub(crate) async fn prepare_in_queue(
        &self,
        team: &Name,
        setup: &Setup,
        cwd: &Path,
    ) -> Result<BTreeMap<String, String>, String> {
        let step = self.board.signs.borrow().queue_step.clone();
        let prepared = self.prepare(team, setup, cwd, |text| self.queue_does(Some(text))).await;
        self.queue_does(step.as_deref());
        prepared
    }

    /// For the record: how long it took until a tree could be worked in.
    pub(crate) fn tell_set_up(&self, team: &Name, whose: &str, took: Duration) {
        let note = format!("the tree of {whose} was set up in {:.1} s", took.as_secs_f64());
        self.board.tell(Act::ReportHook { team: team.clone(), hook: SET_UP.to_owned(), note });
    }

    /// Makes a tree ready to be judged in; gives what runs there its variables.
    pub(crate) async fn prepare(
        &self,
        team: &Name,
        setup: &Setup,
        cwd: &Path,
        tell: impl Fn(&str),
    ) -> Result<BTreeMap<String, String>, String> {
        let Some(trees) = &setup.trees else { return Ok(BTreeMap::new()) };
        let place = self.settings.place.clone();
        if trees.preparation.does_something() {
            let agents = &self.settings.agents;
            let order = TreeToPrepare {
                tree: cwd.to_owned(),
                preparation: trees.preparation.clone(),
                grounds: Grounds::of(&place, agents, self.board.root.as_str(), "_gate")?
                    .linking(&place, &trees.preparation.link),
                marker: Marker::new(&place.digest(), "gate", team.as_str())
                    .map_err(|e| e.to_string())?,
                program: agents.program.clone(),
                is_gates: true,
                is_shared: false,
                place: place.clone(),
            };
            tell("setting up its tree");
            let shown = |seen: Activity| tell(&format!("setting up its tree: {}", seen.last_line));
            if let Prepared::SetUp { took } = preparation::prepare(&order, shown).await? {
                self.tell_set_up(team, "the gate", took);
            }
        }
        preparation::variables(&trees.preparation, &place.workspace, cwd)
    }
}
