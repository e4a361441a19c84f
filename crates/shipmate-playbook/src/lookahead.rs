//! The work of a run, read before there is a team: what is wrong with it is told while nothing
//! has been started.
//!
//! Work that is not there yet is no mistake: a phase may make it. What is there is read as its
//! phase will read it, at the commit that the team begins at.

use shipmate_model::playbook::Playbook;
use shipmate_process::blocking;
use shipmate_protocol::refused;
use shipmate_protocol::{Code, Place, Refused, verbs};

use super::fill::resolved;
use super::project_files::ProjectFiles;
use super::work;

const NOTHING: &str = "; nothing was started";

/// `base`: the commit that the team would begin at; absent without a repository.
pub async fn look(setup: &verbs::Setup, place: &Place, base: Option<&str>) -> Result<(), Refused> {
    let compiled = setup.playbook.as_ref().and_then(|order| order.compiled.clone());
    let Some(playbook) = compiled.and_then(|value| serde_json::from_value(value).ok()) else {
        return Ok(());
    };
    let mend = if base.is_some() { "mend it and commit it" } else { "mend it" };
    let (workspace, base) = (place.workspace.clone(), base.map(str::to_owned));
    let found = blocking(move || {
        let ground = ProjectFiles::at(&workspace, base.as_deref())?;
        mistakes(&playbook, &ground).map_or(Ok(()), Err)
    });
    // Plans say it themselves; it is said once.
    let told = |text: String| text.trim_end_matches(NOTHING).to_owned();
    found.await.map_err(|text| refused(Code::BadWork, told(text), &format!("{mend}{NOTHING}")))
}

/// What is wrong with the work of the run's team, or with that of one of its departments.
fn mistakes(playbook: &Playbook, ground: &ProjectFiles) -> Option<String> {
    let source = playbook.work.as_ref()?;
    let departments = playbook.departments.iter().map(|own| playbook.of_department(own));
    let teams = [playbook.clone()].into_iter().chain(departments);
    let mut teams = teams.filter(|one| one.course().any(work::needs_work));
    teams.find_map(|one| work::read(source, ground, &resolved(&one, [])).err())
}
