//! What a team begins with: the commit, the hooks, the home, and the way of working that it was given.
//!
//! Whatever stands in the way is said here, before anything has been started.

use std::path::{Path, PathBuf};

use shipmate_model::playbook::Playbook;
use shipmate_process::blocking;
use shipmate_programs::preparation;
use shipmate_programs::programs::{self, command_line::Stand};
use shipmate_protocol::refused;
use shipmate_protocol::{Code, Place, Refused, verbs};
use shipmate_workspace::{Commit, Failure, Repository};

use super::failed;
use super::survey::survey;
use crate::crew::hooked;
use crate::phases::leading;
use crate::settings::Settings;
use crate::staffing::staffed::runnable;

/// Fills in what a team begins with: the commit, the hooks, the home. One that is recorded has
/// begun: what the request asks again is the board's to answer.
pub(crate) async fn begin(
    settings: &Settings,
    create: &mut verbs::TeamCreate,
) -> Result<(), Refused> {
    let hooks = hooked::live(settings).map_err(|text| failed(Code::BadHooks, text))?;
    let Some(setup) = &mut create.setup else { return Ok(()) };
    let host = settings.host.as_ref().map(|host| host.id.clone());
    setup.home = host.unwrap_or_else(|| settings.place.digest());
    setup.hooks_digest = hooks.digest();
    let playbook = ordered(setup, &settings.place).await?;
    match setup.trees.is_some() {
        true => {
            prepared(settings, setup).await?;
            based(settings, &create.name, setup, create.check).await?
        }
        false => shipmate_playbook::lookahead::look(setup, &settings.place, None).await?,
    }
    usual_agent(settings, setup).await?;
    match playbook {
        Some(playbook) => leading::check(settings, setup, playbook).await,
        None => Ok(()),
    }
}

/// What trees get beyond what is committed, and whether that can be.
async fn prepared(settings: &Settings, setup: &mut verbs::Setup) -> Result<(), Refused> {
    if setup.detect {
        let workspace = settings.place.workspace.clone();
        let found = blocking(move || Ok(preparation::others::find(&workspace).0)).await;
        let found = found.unwrap_or_default();
        if found.adds_to(&setup.preparation) {
            let said = std::mem::take(&mut setup.preparation);
            setup.preparation = said.clone().or(&found.beside(&said));
        }
    }
    if setup.preparation.is_none() {
        return Ok(());
    }
    let checked = preparation::check(&settings.place, &setup.preparation).await;
    checked.map_err(|fact| {
        let of = match setup.preparation.from.as_str() {
            "" => "[trees]",
            file => file,
        };
        let remedy = match setup.preparation.from.as_str() {
            "" => {
                "mend trees.copy or trees.link in the configuration: `shipmate config`".to_owned()
            }
            file => format!("mend {file}, or say [trees] in the configuration: `shipmate init`"),
        };
        refused(
            Code::BadRequest,
            format!("what trees are to get cannot be given ({of}): {fact}"),
            &remedy,
        )
    })
}

/// Files are read for it, so it does not keep the coordinator.
async fn ordered(setup: &mut verbs::Setup, place: &Place) -> Result<Option<Playbook>, Refused> {
    let (mut filled, place) = (setup.clone(), place.clone());
    let ordered = blocking(move || {
        let playbook = shipmate_playbook::order(&mut filled, &place);
        Ok(playbook.map(|playbook| (filled, playbook)))
    });
    let (filled, playbook) = ordered.await.map_err(|text| failed(Code::Bug, text))??;
    *setup = filled;
    Ok(playbook)
}

/// The agent that a lead's plan will be carried out by is looked for before the plan is paid for.
async fn usual_agent(settings: &Settings, setup: &verbs::Setup) -> Result<(), Refused> {
    let line = setup.agent.clone();
    if line.is_empty() || programs::find(&line, &settings.agents).is_ok() {
        return Ok(());
    }
    let workspace = settings.place.workspace.clone();
    let stand = match setup.base.as_deref().and_then(Commit::parse) {
        Some(commit) => Stand::Clone { workspace, commit },
        None => Stand::Folder(workspace),
    };
    let agents = settings.agents.clone();
    let looked = blocking(move || Ok(runnable(&line, &agents, &stand))).await;
    looked.unwrap_or(Ok(()))
}

/// Finds the commit that a team begins at. `only_check`: the branches of an earlier team of this name
/// stay where they are.
async fn based(
    settings: &Settings,
    name: &str,
    setup: &mut verbs::Setup,
    only_check: bool,
) -> Result<(), Refused> {
    let found = survey(settings).await?;
    let dirty: Vec<String> =
        found.dirty.iter().filter(|path| !setup.plans.contains(path)).cloned().collect();
    if !dirty.is_empty() && !setup.dirty {
        let text = format!("uncommitted changes: {}", dirty.join(", "));
        let remedy = "teammates begin at the last commit and would not see them: commit or stash \
                      them, or say --dirty";
        return Err(refused(Code::DirtyTree, text, remedy));
    }
    let (workspace, team) = (settings.place.workspace.clone(), name.to_owned());
    // Another tree of teams may have departments of the same names.
    let others = settings.place.teams().read_dir().into_iter().flatten().flatten();
    let alone = !others.into_iter().any(|other| other.file_name() != name);
    let departments = setup.playbook.as_ref().filter(|_| alone);
    let departments = departments.map_or_else(Vec::new, shipmate_playbook::departments_of);
    let found_in = blocking({
        let (workspace, team) = (workspace.clone(), team.clone());
        move || team_elsewhere(&workspace, &team)
    });
    if let Some(path) = found_in.await.map_err(|text| failed(Code::RepositoryUnusable, text))? {
        let text = format!(
            "the branch shipmate/{name} is that of the team {name} of another checkout of this \
             repository: {}",
            path.display()
        );
        let remedy = "choose another name with --team: all checkouts have the same branches";
        return Err(refused(Code::BranchTaken, text, remedy));
    }
    if !only_check {
        retire(workspace, name, departments).await?;
    }
    let base = setup.base.get_or_insert(found.base).clone();
    shipmate_playbook::lookahead::look(setup, &settings.place, Some(&base)).await
}

/// Makes room for the branch of a new team: what an earlier one of this name left is put away where it
/// is merged.
async fn retire(workspace: PathBuf, name: &str, departments: Vec<String>) -> Result<(), Refused> {
    let team = name.to_owned();
    let left = blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        let text = |e: Failure| e.to_string();
        let left = repository.drop_if_merged(&team).map_err(text)?;
        for team in left.is_none().then_some(team).into_iter().chain(departments) {
            repository.retire(&team).map_err(text)?;
        }
        Ok(left)
    });
    if let Some(tip) = left.await.map_err(|text| failed(Code::RepositoryUnusable, text))? {
        let text = format!(
            "an earlier team left the branch shipmate/{name} at {}, with work that is not merged",
            tip.short()
        );
        let remedy = format!(
            "`git merge shipmate/{name}` to have it, `git branch -D shipmate/{name}` to lose it, or \
             choose another name with --team"
        );
        return Err(refused(Code::BranchExists, text, &remedy));
    }
    Ok(())
}

/// Another checkout of this repository whose workspace has a team of this name.
fn team_elsewhere(workspace: &Path, team: &str) -> Result<Option<PathBuf>, String> {
    let repository = Repository::open(workspace).map_err(|e| e.to_string())?;
    let others = repository.other_checkouts().map_err(|e| e.to_string())?;
    let has_team = |path: &PathBuf| Place { workspace: path.clone() }.team(team).exists();
    Ok(others.into_iter().find(has_team))
}
