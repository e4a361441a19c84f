//! Files that the runtime writes in the lead's name, in the formats that others read.
//!
//! There are two places. On the team's branch a file is a commit of its own on top of the tip it
//! was made from, so nothing that landed meanwhile is written over; teammates may not write it.
//! Beside the log it is a view: for reading only, replaced in one step, and never read back.
//! Nothing here is a truth: everything follows from the log, and may be deleted.

mod board;
mod checkpoint;
mod department_result;
pub(crate) mod drops;
mod features;
mod health;
mod live;
mod owner_signoff;
pub(crate) mod placed;
mod plans;
mod replace;
mod session;
mod steps;
mod summary;
mod talk;
mod view;

use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;
use shipmate_core::State;
use shipmate_model::Name;
use shipmate_model::playbook::{Artifact, Playbook};
use shipmate_playbook::fill::{Values, fill};
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_process::blocking;
use shipmate_programs::tenancy::author;
use shipmate_protocol::view::moment;
use shipmate_workspace::AdvanceFailure;

use super::stage::Stage;
use crate::crew::code::Announced;
use crate::merge::announced;
use crate::phases::Phases;

pub(crate) use live::{Kept, keep, settle};
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
    pub(super) ground: Option<&'a ProjectFiles>,
    /// Seconds since 1970.
    pub(super) now_s: u64,
}

/// Files with what they hold. A format may write several; it is given the path as a hint.
pub(super) type Files = Vec<(String, String)>;
type Render = fn(&Sight<'_>) -> Result<Files, String>;

/// Every format there is; `shipmate-playbook` has their names.
const FORMATS: &[(&str, Render)] = &[
    ("checkpoint", checkpoint::render),
    ("inboxes", talk::inboxes),
    ("mailbox-002", talk::mailboxes),
    ("features", features::render),
    ("decisions", session::decisions),
    ("handoff", session::handoff),
    ("tasks-001", board::by_owner),
    ("tasks-002", board::by_claim),
    ("team-config", board::team),
    ("summary", summary::render),
    ("department-result", department_result::render),
    ("owner-signoff", owner_signoff::render),
    ("dept-status", steps::department_status),
    ("execution-state", steps::execution_state),
    ("orchestration", steps::orchestration),
    ("agent-health", health::render),
    ("agent-health-map", health::map),
];

impl<'a> Sight<'a> {
    fn playbook(&self) -> Option<&'a Playbook> {
        self.state.teams.get(self.team)?.setup.playbook.as_deref()
    }

    fn value(&self, key: &str) -> &'a str {
        self.values.get(key).map_or("", String::as_str)
    }
}

/// The first line of a file as JSON, where it is there.
fn first_line_of(ground: Option<&ProjectFiles>, path: &str) -> Option<Value> {
    let text = ground?.read(path).ok()??;
    serde_json::from_str(text.lines().find(|line| !line.trim().is_empty())?).ok()
}

fn render(artifact: &Artifact, sight: &Sight<'_>) -> Result<Files, String> {
    let format = FORMATS.iter().find(|(name, _)| *name == artifact.format);
    let (_, render) = format.ok_or_else(|| format!("there is no format {}", artifact.format))?;
    render(sight).map_err(|e| format!("{}: {e}", artifact.path))
}

fn now_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// Which files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    All,
    /// Those that follow the tasks.
    Live,
}

impl Due {
    fn is(self, artifact: &Artifact) -> bool {
        artifact.on_branch && (self == Due::All || artifact.live)
    }
}

/// Writes what is due on the branch for these teams, which share it. A branch that moves meanwhile
/// is looked at again.
pub(super) async fn commit(
    phases: &Rc<Phases>,
    stages: &[Stage],
    which: Due,
) -> Result<(), String> {
    let is_due = |stage: &Stage| stage.playbook.own_artifacts().any(|one| which.is(one));
    let due: Vec<Stage> = stages.iter().filter(|stage| is_due(stage)).cloned().collect();
    let Some(first) = due.first().filter(|stage| stage.setup.trees.is_some()).cloned() else {
        return Ok(());
    };
    let _turn = phases.turn.lock().await;
    for _ in 0..MOVED_MAX {
        let ground = first.ground(phases).await?;
        let ProjectFiles::Branch { repository, tip } = ground.clone() else { return Ok(()) };
        let state = phases.board.with_state(State::clone);
        let due = due.clone();
        let branch = first.setup.branch(&first.team).to_string();
        let phase = first.phase.name.clone();
        let lead = author(first.playbook.lead().map_or("shipmate", |(name, _)| name.as_str()));
        let written = blocking(move || {
            let text = |e: &dyn std::fmt::Display| e.to_string();
            let mut ground = ground;
            let mut last = tip.clone();
            // Those above read what those below have written.
            for stage in &due {
                let files = on_ground(&state, stage, &ground, which)?;
                let message = format!("{phase}: {}", names(&files));
                let made = repository.commit_files(&last, &files, &lead, &message);
                if let Some(made) = made.map_err(|e| text(&e))? {
                    last = made.clone();
                    ground =
                        ProjectFiles::Branch { repository: Arc::clone(&repository), tip: made };
                }
            }
            if last != tip && repository.tip(&branch).map_err(|e| text(&e))?.is_none() {
                repository.begin(&branch, &tip).map_err(|e| text(&e))?;
            }
            Ok((last != tip).then_some((repository, tip, last)))
        });
        let Some((repository, tip, last)) = written.await? else { return Ok(()) };
        let way = (&first.team, first.setup.branch(&first.team));
        match announced(phases, way, (&tip, &last)).await? {
            Announced::Said => {}
            Announced::Moved => continue,
            // It is written there.
            Announced::NotHome => return Ok(()),
        }
        let branch = way.1.to_string();
        let moved = blocking(move || match repository.advance(&branch, &tip, &last) {
            Ok(()) => Ok(true),
            Err(AdvanceFailure::Moved { .. }) => Ok(false),
            Err(e) => Err(e.to_string()),
        });
        if moved.await? {
            phases.memory.nudge();
            return Ok(());
        }
    }
    Err("the branch moves all the time".to_owned())
}

fn on_ground(
    state: &State,
    stage: &Stage,
    ground: &ProjectFiles,
    which: Due,
) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut files = Vec::new();
    for artifact in stage.playbook.own_artifacts().filter(|artifact| which.is(artifact)) {
        let path = fill(&artifact.path, &stage.values);
        let (team, values, ground) = (&stage.team, &stage.values, Some(ground));
        let sight = Sight { state, team, path: &path, values, ground, now_s: now_s() };
        files.extend(
            render(artifact, &sight)?.into_iter().map(|(path, text)| (path, text.into_bytes())),
        );
    }
    Ok(files)
}

fn names(files: &[(String, Vec<u8>)]) -> String {
    let names: Vec<&str> =
        files.iter().map(|(path, _)| path.rsplit('/').next().unwrap_or(path)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_format_that_a_playbook_may_name_is_written() {
        let written: Vec<&str> = super::FORMATS.iter().map(|(name, _)| *name).collect();
        assert_eq!(written, shipmate_playbook::formats::FORMATS);
    }
}
