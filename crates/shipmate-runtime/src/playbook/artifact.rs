//! Files that the runtime writes in the lead's name, in the formats that others read.
//!
//! There are two places. On the team's branch a file is a commit of its own on top of the tip it
//! was made from, so nothing that landed meanwhile is written over; teammates may not write it.
//! Beside the log it is a view: for reading only, replaced in one step, and never read back.
//! Nothing here is a truth: everything follows from the log, and may be deleted.

mod board;
mod checkpoint;
mod iso;
mod talk;
mod view;

use std::rc::Rc;
use std::sync::Arc;

use shipmate_core::playbook::Artifact;
use shipmate_core::{Name, State};

use super::engine::Stage;
use super::fill::{Values, fill};
use super::ground::Ground;
use crate::crew::Crew;
use crate::supervisor::{author, off_the_thread};
use crate::workspace::AdvanceFailure;

pub(crate) use view::{Views, view};

/// How often a commit is made anew because the branch moved under it.
const MOVED_MAX: usize = 20;

/// What a format is made from.
pub(super) struct Sight<'a> {
    pub(super) state: &'a State,
    pub(super) team: &'a Name,
    /// The file's path as the playbook has it, filled in.
    pub(super) path: &'a str,
    pub(super) values: &'a Values,
    /// The files of the branch as they are; for a view there are none.
    pub(super) ground: Option<&'a Ground>,
    /// Seconds since 1970.
    pub(super) now_s: u64,
}

/// Files with what they hold. A format may write several; it is given the path as a hint.
pub(super) type Files = Vec<(String, String)>;
type Render = fn(&Sight<'_>) -> Result<Files, String>;

/// Every format there is.
pub(super) const FORMATS: &[(&str, Render)] = &[
    ("checkpoint", checkpoint::render),
    ("inboxes", talk::inboxes),
    ("mailbox-002", talk::mailboxes),
    ("tasks-001", board::by_owner),
    ("tasks-002", board::by_claim),
    ("team-config", board::team),
];

fn render(artifact: &Artifact, sight: &Sight<'_>) -> Result<Files, String> {
    let format = FORMATS.iter().find(|(name, _)| *name == artifact.format);
    let (_, render) = format.ok_or_else(|| format!("there is no format {}", artifact.format))?;
    render(sight).map_err(|e| format!("{}: {e}", artifact.path))
}

fn now_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// Writes what is due on the branch. A branch that moves meanwhile is looked at again.
pub(super) async fn commit(crew: &Rc<Crew>, stage: &Stage) -> Result<(), String> {
    let due: Vec<Artifact> =
        stage.playbook.artifacts.iter().filter(|artifact| artifact.on_branch).cloned().collect();
    if due.is_empty() || stage.setup.trees.is_none() {
        return Ok(());
    }
    for _ in 0..MOVED_MAX {
        let Ground::Branch { repository, tip } = stage.ground(crew).await? else { return Ok(()) };
        let ground = Ground::Branch { repository: Arc::clone(&repository), tip: tip.clone() };
        let mut files = Vec::new();
        for artifact in &due {
            let path = fill(&artifact.path, &stage.values);
            let made = crew.board.with_state(|state| {
                let (team, values, ground) = (&stage.team, &stage.values, Some(&ground));
                render(
                    artifact,
                    &Sight { state, team, path: &path, values, ground, now_s: now_s() },
                )
            });
            files.extend(made?.into_iter().map(|(path, text)| (path, text.into_bytes())));
        }
        let branch = stage.setup.branch(&stage.team).to_string();
        let message = format!("{}: {}", stage.phase.name, names(&files));
        let lead = author(stage.playbook.lead().map_or("shipmate", |(name, _)| name.as_str()));
        let moved = off_the_thread(move || {
            let text = |e: &dyn std::fmt::Display| e.to_string();
            if repository.tip(&branch).map_err(|e| text(&e))?.is_none() {
                repository.begin(&branch, &tip).map_err(|e| text(&e))?;
            }
            let made =
                repository.commit_files(&tip, &files, &lead, &message).map_err(|e| text(&e))?;
            let Some(made) = made else { return Ok(false) };
            match repository.advance(&branch, &tip, &made) {
                Ok(()) => Ok(false),
                Err(AdvanceFailure::Moved { .. }) => Ok(true),
                Err(e) => Err(e.to_string()),
            }
        });
        if !moved.await? {
            crew.phases.nudge();
            return Ok(());
        }
    }
    Err("the branch moves all the time".to_owned())
}

fn names(files: &[(String, Vec<u8>)]) -> String {
    let names: Vec<&str> =
        files.iter().map(|(path, _)| path.rsplit('/').next().unwrap_or(path)).collect();
    names.join(", ")
}
