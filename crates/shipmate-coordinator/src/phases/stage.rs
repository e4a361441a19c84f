//! A team in its phase, as whoever carries it out has to know it.

use std::rc::Rc;
use std::sync::Arc;

use shipmate_core::phase::END_BYTES_MAX;
use shipmate_core::state::Course;
use shipmate_model::command::PhaseVerdict;
use shipmate_model::limits::SUBJECT_BYTES_MAX;
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::{Phase, Playbook, Role};
use shipmate_model::setup::Setup;
use shipmate_model::{Act, Name};
use shipmate_playbook::fill::{Values, fill, resolved};
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_process::blocking;
use shipmate_workspace::{Commit, Repository};

use crate::phases::Phases;

/// A phase as it stands.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) team: Name,
    pub(super) setup: Setup,
    pub(super) playbook: Playbook,
    pub(super) phase: Phase,
    pub(super) course: Course,
    pub(super) values: Values,
}

impl Stage {
    pub(super) fn of(phases: &Phases, team: &Name) -> Option<Stage> {
        phases.board.with_state(|state| {
            let found = state.teams.get(team)?;
            let (playbook, phase, course) = found.phase_now()?;
            let more = [
                ("team", team.to_string()),
                ("root", phases.board.root.to_string()),
                ("phase", phase.name.to_string()),
                ("round", course.round.to_string()),
                ("trouble", trouble(course)),
            ];
            let mut values = resolved(playbook, more);
            // A name of which a part is not known is none.
            let named = values.get("branch").filter(|name| !name.contains(['{', '}']));
            let branch = named.cloned().filter(|name| !name.is_empty());
            let own = || crate::team_branch::branch(found.setup.branch(team));
            values.insert("branch".to_owned(), branch.unwrap_or_else(own));
            Some(Stage {
                team: team.clone(),
                setup: (*found.setup).clone(),
                playbook: playbook.clone(),
                phase: phase.clone(),
                course: course.clone(),
                values,
            })
        })
    }

    /// Who must show a plan before it writes has to: the value `plans = "no"` says otherwise.
    pub(super) fn wants_plans(&self) -> bool {
        self.values.get("plans").is_none_or(|word| word != "no")
    }

    /// What members of a role are called.
    pub(super) fn called(&self, name: &Name, role: &Role) -> String {
        let called = fill(&role.called, &self.values);
        if called.is_empty() { name.to_string() } else { called }
    }

    /// The first of its phases has not begun yet.
    pub(super) fn is_new(&self) -> bool {
        self.course.rounds.is_empty() && self.course.alone.is_none()
    }

    pub(super) fn end(&self, mut verdict: PhaseVerdict) -> Act {
        let (PhaseVerdict::Done { note: text }
        | PhaseVerdict::Skip { reason: text }
        | PhaseVerdict::Failed { reason: text }) = &mut verdict;
        cut(text, END_BYTES_MAX);
        let (team, phase, round) = (self.team.clone(), self.phase.name.clone(), self.course.round);
        Act::EndPhase { team, phase, round, verdict }
    }

    pub(super) fn hold(&self, mut missing: Vec<String>, outside: bool) -> Act {
        missing.iter_mut().for_each(|text| cut(text, SUBJECT_BYTES_MAX));
        let (team, phase) = (self.team.clone(), self.phase.name.clone());
        Act::HoldPhase { team, phase, missing, outside }
    }

    /// The files of the team's branch as they are now.
    pub(super) async fn ground(&self, phases: &Rc<Phases>) -> Result<ProjectFiles, String> {
        let workspace = phases.settings.place.workspace.clone();
        let Some(trees) = &self.setup.trees else { return Ok(ProjectFiles::Folder(workspace)) };
        let (branch, base) = (self.setup.branch(&self.team).to_string(), trees.base.clone());
        blocking(move || {
            let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
            let tip = repository.tip(&branch).map_err(|e| e.to_string())?;
            let tip = tip.or_else(|| Commit::parse(&base)).ok_or("the team's base is no commit")?;
            Ok(ProjectFiles::Branch { repository: Arc::new(repository), tip })
        })
        .await
    }
}

/// Leaves out the end of a text that is too long to be recorded: refused, it would be owed for
/// ever.
pub(super) fn cut(text: &mut String, bytes_max: usize) {
    const REST: &str = "\n(the rest is left out)";
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max - REST.len()));
        text.push_str(REST);
    }
}

/// Why the team was last sent back.
fn trouble(course: &Course) -> String {
    let mut past = course.past.iter().rev();
    let back = past.find_map(|past| match &past.end {
        PhaseEnd::Back { reason, .. } => Some(format!("{}: {reason}", past.phase)),
        _ => None,
    });
    back.unwrap_or_default()
}
