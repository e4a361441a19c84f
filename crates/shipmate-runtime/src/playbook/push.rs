//! The team's branch goes to a remote before its last phase is over, where the playbook says so.
//! A push that fails is told and fails nothing: the work is there.

use std::rc::Rc;

use shipmate_core::Act;

use super::engine::Stage;
use super::fill::fill;
use crate::crew::Crew;
use crate::supervisor::off_the_thread;
use crate::workspace::Repository;

/// Pushes the team's branch before its last phase is over; what came of it.
pub(super) async fn push(crew: &Rc<Crew>, stage: &Stage) -> String {
    let rule = &stage.playbook.commit;
    let is_last = stage.playbook.course().last().is_some_and(|p| p.name == stage.phase.name);
    // A department's work is on the branch of the team above it.
    let goes = is_last && !rule.push.is_empty() && stage.playbook.department.is_none();
    if !goes || stage.setup.trees.is_none() {
        return String::new();
    }
    let team = stage.setup.branch(&stage.team).to_string();
    let named = fill(&rule.branch, &stage.values);
    let branch = if named.is_empty() { crate::crew::branch(&stage.team) } else { named };
    let (remote, retries) = (rule.push.clone(), rule.retries);
    let (workspace, to) = (crew.settings.place.workspace.clone(), branch.clone());
    let pushed = off_the_thread(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        let mut pushed = repository.push(&team, &remote, &to);
        for _ in 0..retries {
            if pushed.is_ok() {
                break;
            }
            pushed = repository.push(&team, &remote, &to);
        }
        pushed.map_err(|e| e.to_string())
    });
    match pushed.await {
        Ok(()) => format!("pushed to {} as {branch}", rule.push),
        Err(text) => {
            let hook = "push".to_owned();
            let note = format!(
                "the branch was not pushed to {} as {branch}, tried {} times: {text}",
                rule.push,
                rule.retries + 1
            );
            crew.board.tell(Act::ReportHook { team: stage.team.clone(), hook, note: note.clone() });
            note
        }
    }
}
