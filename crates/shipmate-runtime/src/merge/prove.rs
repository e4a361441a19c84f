//! What a task's own gate asks beyond its commands, and what becomes of the answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use shipmate_core::Act;
use shipmate_core::event::TaskChanges;
use shipmate_core::setup::Setup;

use super::Submission;
use super::verify::{Bench, give_back};
use crate::crew::Crew;
use crate::playbook::ground::Ground;
use crate::playbook::{gates, proof};
use crate::supervisor::off_the_thread;
use crate::workspace::{Commit, Repository, Tree};

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
        let Some(gate) = self.own.clone().filter(proof::asks) else { return Ok(true) };
        let values = gates::gate_values(setup, one);
        let switch = gates::coverage_switch(setup, one).map(str::to_owned);
        let (open, from, to) = (Arc::clone(open), from.clone(), to.clone());
        let files = one.files.clone();
        let found = off_the_thread(move || {
            let (repository, tree) = &*open;
            let touched = repository.touched(&from, &to).map_err(|e| e.to_string())?;
            let repository = Arc::new(repository.clone());
            proof::weigh(&proof::Case {
                gate: &gate,
                values: &values,
                files: &files,
                ground: &Ground::Branch { repository, tip: to },
                tree: tree.path(),
                base: Some(&from),
                touched: Some(&touched),
                switch: switch.as_deref(),
            })
        });
        Ok(prove(crew, one, found.await?))
    }

    /// The same where there is no repository: nobody can say what the work has changed.
    pub(super) async fn is_proven_in_place(
        &self,
        crew: &Rc<Crew>,
        setup: &Setup,
        tree: &Path,
        one: &Submission,
    ) -> Result<bool, String> {
        let Some(gate) = self.own.clone().filter(proof::asks) else { return Ok(true) };
        let values = gates::gate_values(setup, one);
        let switch = gates::coverage_switch(setup, one).map(str::to_owned);
        let (files, tree): (_, PathBuf) = (one.files.clone(), tree.to_owned());
        let found = off_the_thread(move || {
            proof::weigh(&proof::Case {
                gate: &gate,
                values: &values,
                files: &files,
                ground: &Ground::Folder(tree.clone()),
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
fn prove(crew: &Rc<Crew>, one: &Submission, found: proof::Found) -> bool {
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
