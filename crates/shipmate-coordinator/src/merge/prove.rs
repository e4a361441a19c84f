//! What a task's own gate asks beyond its commands, and what becomes of the answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use shipmate_model::Act;
use shipmate_model::event::TaskChanges;
use shipmate_model::playbook::{Expect, Gate};
use shipmate_model::setup::Setup;
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_process::blocking;
use shipmate_workspace::{Commit, Repository, Tree};

use super::Submission;
use super::gate;
use super::verify::{Bench, give_back};
use crate::crew::Crew;
use crate::demands::{gates, red, requirements};

impl Bench {
    /// What its own gate asks beyond its commands; what is missing sends it back.
    pub(super) async fn is_proven(
        &self,
        crew: &Rc<Crew>,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        (from, to): (&Commit, &Commit),
        one: &Submission,
    ) -> Result<bool, String> {
        let Some(gate) = self.own.clone() else { return Ok(true) };
        let is_proven = match requirements::asks(&gate) {
            true => prove(crew, one, self.weigh(setup, open, (from, to), one, gate).await?),
            false => true,
        };
        Ok(is_proven && self.is_seen_red(crew, setup, open, (from, to), one).await?)
    }

    async fn weigh(
        &self,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        (from, to): (&Commit, &Commit),
        one: &Submission,
        gate: Gate,
    ) -> Result<requirements::Found, String> {
        let values = gates::gate_values(setup, one);
        let switch = gates::coverage_switch(setup, one).map(str::to_owned);
        let (open, from, to) = (Arc::clone(open), from.clone(), to.clone());
        let files = one.files.clone();
        blocking(move || {
            let (repository, tree) = &*open;
            let touched = repository.touched(&from, &to).map_err(|e| e.to_string())?;
            let repository = Arc::new(repository.clone());
            requirements::weigh(&requirements::Case {
                gate: &gate,
                values: &values,
                files: &files,
                ground: &ProjectFiles::Branch { repository, tip: to },
                tree: tree.path(),
                base: Some(&from),
                touched: Some(&touched),
                switch: switch.as_deref(),
            })
        })
        .await
    }

    /// Whether the tests that it brings fail without it, where its gate wants to see that.
    async fn is_seen_red(
        &self,
        crew: &Rc<Crew>,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        (from, to): (&Commit, &Commit),
        one: &Submission,
    ) -> Result<bool, String> {
        let red = self.own.as_ref().and_then(|gate| gate.red.clone());
        let Some(red) = red else { return Ok(true) };
        let left = red
            .on
            .as_ref()
            .and_then(|phase| crew.board.with_state(|state| red::left_by(state, &one.team, phase)));
        let (own, asked) = (Arc::clone(open), red.clone());
        let (before, after) = (left.unwrap_or_else(|| from.clone()), to.clone());
        let bare = blocking(move || red::bare(&own.0, &asked, (&before, &after))).await?;
        let Some(bare) = bare else { return Ok(true) };
        crew.queue_does(Some(&format!("task {}: its tests without its work", one.task)));
        let tree = self.check_out(open, &bare.commit).await?;
        let names = bare.names();
        let mut runs = gates::red_of_each(setup, one, &red, &bare.new);
        if runs.is_empty() {
            runs.push((&names, red.commands.clone()));
        }
        let mut passing = Vec::new();
        for (tests, commands) in runs {
            let setup = Setup { gate: commands, ..setup.clone() };
            // The same commands have just passed on the whole: what fails now is for want of it.
            let result = gate::run(crew, &one.team, &setup, Expect::Green, &tree).await;
            if result.killed || result.unprepared {
                return Err(result.evidence);
            }
            passing.extend(result.passed.then_some(tests));
        }
        let found = match passing.is_empty() {
            true => Ok(BTreeMap::from([("red".to_owned(), names.clone())])),
            false => Err(bare.passes(&red, &passing.join(", "))),
        };
        Ok(prove(crew, one, found))
    }

    /// The same where there is no repository: nobody can say what the work has changed.
    pub(super) async fn is_proven_in_place(
        &self,
        crew: &Rc<Crew>,
        setup: &Setup,
        tree: &Path,
        one: &Submission,
    ) -> Result<bool, String> {
        let Some(gate) = self.own.clone().filter(requirements::asks) else { return Ok(true) };
        let values = gates::gate_values(setup, one);
        let switch = gates::coverage_switch(setup, one).map(str::to_owned);
        let (files, tree): (_, PathBuf) = (one.files.clone(), tree.to_owned());
        let found = blocking(move || {
            requirements::weigh(&requirements::Case {
                gate: &gate,
                values: &values,
                files: &files,
                ground: &ProjectFiles::Folder(tree.clone()),
                tree: &tree,
                base: None,
                touched: None,
                switch: switch.as_deref(),
            })
        });
        Ok(prove(crew, one, found.await?))
    }
}

/// Keeps what was found with the task, or sends it back for what is missing.
fn prove(crew: &Rc<Crew>, one: &Submission, found: requirements::Found) -> bool {
    match found {
        Ok(fields) => {
            let new = |(key, value): &(String, String)| one.fields.get(key) != Some(value);
            let metadata: BTreeMap<String, String> = fields.into_iter().filter(new).collect();
            if !metadata.is_empty() {
                let changes = TaskChanges { metadata, ..TaskChanges::default() };
                crew.board.tell(Act::UpdateTask { task: one.task, changes });
            }
            true
        }
        Err(reason) => {
            give_back(crew, one, reason);
            false
        }
    }
}
