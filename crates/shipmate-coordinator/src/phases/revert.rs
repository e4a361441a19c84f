//! Landed work that a phase takes back: which tasks, as a file on the branch says, and how. A branch
//! on which the team's gate passes is not made red by it.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;
use shipmate_core::is_green;
use shipmate_core::state::Status;
use shipmate_model::playbook::Listed;
use shipmate_model::{Act, Alias, TaskId};
use shipmate_playbook::fill::fill;
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_process::blocking;
use shipmate_programs::tenancy::author;
use shipmate_workspace::{AdvanceFailure, Commit};

use super::stage::Stage;
use crate::crew::code::Announced;
use crate::merge::{Bench, announced};
use crate::phases::Phases;

/// The handles that a list in a file of JSON names; no file or no list names none.
pub(super) fn listed(
    stage: &Stage,
    ground: &ProjectFiles,
    listed: &Listed,
) -> Result<Vec<String>, String> {
    let path = fill(&listed.file, &stage.values);
    let Some(text) = ground.read(&path)? else { return Ok(Vec::new()) };
    let value: Value =
        serde_json::from_str(&text).map_err(|e| format!("{path} is not JSON: {e}"))?;
    match value.get(&listed.key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            Ok(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
        }
        Some(_) => Err(format!("{path}: {} is no list of handles", listed.key)),
    }
}

/// Takes the work of the listed tasks back; why it cannot be done, in words for the lead.
pub(super) async fn carry_out(
    phases: &Rc<Phases>,
    stage: &Stage,
    ground: &ProjectFiles,
    list: &Listed,
) -> Result<Result<(), String>, String> {
    let handles = match listed(stage, ground, list) {
        Ok(handles) => handles,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut due: Vec<(TaskId, u64, Commit)> = Vec::new();
    for handle in &handles {
        let alias = handle.parse::<Alias>().ok();
        let found = phases.board.with_state(|state| {
            let task = state.task(state.by_alias(alias.as_ref()?)?)?;
            match &task.status {
                Status::Completed { commit: Some(commit), .. } if task.team == stage.team => {
                    Some((task.id, task.changed_at, Commit::parse(commit)?))
                }
                _ => None,
            }
        });
        match found {
            Some(found) => due.push(found),
            // From before a crash: its work is gone and the board knows.
            None if is_failed(phases, alias.as_ref()) => {}
            None => {
                let path = fill(&list.file, &stage.values);
                return Ok(Err(format!("{path}: {handle} has no landed work to take back")));
            }
        }
    }
    // The last that landed is taken back first.
    due.sort_by_key(|(task, landed, _)| std::cmp::Reverse((*landed, *task)));
    if due.is_empty() {
        return Ok(Ok(()));
    }
    let merges: Vec<Commit> = due.iter().map(|(_, _, commit)| commit.clone()).collect();
    let tip = match take_back(phases, stage, merges, &handles).await? {
        Ok(tip) => tip,
        Err(reason) => return Ok(Err(reason)),
    };
    let reason = match stage.values.get("trouble").filter(|trouble| !trouble.is_empty()) {
        Some(trouble) => format!("phase {} has taken it back; {trouble}", stage.phase.name),
        None => format!("phase {} has taken it back", stage.phase.name),
    };
    for (task, ..) in due {
        let (commit, reason) = (tip.to_string(), reason.clone());
        phases.board.tell(Act::RevertTask { task, commit, reason });
    }
    phases.board.settled().await;
    Ok(Ok(()))
}

fn is_failed(phases: &Rc<Phases>, alias: Option<&Alias>) -> bool {
    phases.board.with_state(|state| {
        let task = alias.and_then(|alias| state.task(state.by_alias(alias)?));
        task.is_some_and(|task| matches!(task.status, Status::Failed { .. }))
    })
}

async fn take_back(
    phases: &Rc<Phases>,
    stage: &Stage,
    merges: Vec<Commit>,
    handles: &[String],
) -> Result<Result<Commit, String>, String> {
    let _turn = phases.turn.lock().await;
    let ProjectFiles::Branch { repository, tip } = stage.ground(phases).await? else {
        return Ok(Err("without git nothing that landed can be taken back".to_owned()));
    };
    let branch = stage.setup.branch(&stage.team).to_string();
    let lead = author(stage.playbook.lead().map_or("shipmate", |(name, _)| name.as_str()));
    let message = format!("{}: take back {}", stage.phase.name, handles.join(", "));
    let (from, text, reverting) = (tip.clone(), message.clone(), Arc::clone(&repository));
    let made =
        blocking(move || reverting.revert(&from, &merges, &lead, &text).map_err(|e| e.to_string()));
    let made = match made.await? {
        Ok(None) => return Ok(Ok(tip)),
        Ok(Some(made)) => made,
        Err(files) => {
            return Ok(Err(format!(
                "{message} cannot be taken back by itself: later work has changed {}",
                files.join(", ")
            )));
        }
    };
    if let Some(reason) = makes_red(phases, stage, &tip, &made, &message).await? {
        return Ok(Err(reason));
    }
    let has_moved = || Ok(Err("the branch has moved meanwhile".to_owned()));
    match announced(phases, (&stage.team, stage.setup.branch(&stage.team)), (&tip, &made)).await? {
        Announced::Said => {}
        Announced::Moved | Announced::NotHome => return has_moved(),
    }
    blocking(move || match repository.advance(&branch, &tip, &made) {
        Ok(()) => Ok(Ok(made)),
        Err(AdvanceFailure::Moved { .. }) => has_moved(),
        Err(e) => Err(e.to_string()),
    })
    .await
}

/// Why the branch may not move to where the work is undone: the team's gate passes on it as it is,
/// and not without that work. A branch that is red already may be so because of it.
async fn makes_red(
    phases: &Rc<Phases>,
    stage: &Stage,
    tip: &Commit,
    made: &Commit,
    message: &str,
) -> Result<Option<String>, String> {
    let (team, setup) = (&stage.team, &stage.setup);
    if setup.gate.is_empty() {
        return Ok(None);
    }
    let mut bench = Bench::default();
    let what = format!("gate on what is left after {message}");
    let without = bench.gate_alone(phases, team, setup, made, &what).await?;
    if without.passed {
        return Ok(None);
    }
    let known = phases.board.with_state(|state| is_green(state, tip.as_str(), &setup.gate));
    if !known && !without.killed {
        let what = format!("gate on {}, where the team stands", tip.short());
        let before = bench.gate_alone(phases, team, setup, tip, &what).await?;
        if !before.passed && !before.killed {
            return Ok(None);
        }
    }
    let how = if without.killed { "did not come to its end" } else { "is red" };
    let evidence = &without.evidence;
    Ok(Some(format!("{message}: the gate {how} without that work: {evidence}")))
}
