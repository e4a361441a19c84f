//! What a team would begin with in this repository.

use std::path::Path;

use shipmate_process::blocking;
use shipmate_programs::preparation;
use shipmate_protocol::view::Survey;
use shipmate_protocol::{Code, Refused};
use shipmate_workspace::{OpenFailure, Repository};

use super::failed;
use crate::crew::hooked;
use crate::settings::Settings;

/// What a run would begin with here.
pub(super) async fn survey(settings: &Settings) -> Result<Survey, Refused> {
    let workspace = settings.place.workspace.clone();
    let counts_hooks = settings.agents.claude_hooks;
    let look = move || {
        Ok(look(&workspace).map(|mut found| {
            let uncommitted = counts_hooks.then(|| hooked::uncommitted(&workspace)).flatten();
            found.notes.extend(uncommitted);
            let (trees, problems) = preparation::others::find(&workspace);
            found.notes.extend(problems);
            found.notes.extend(preparation::left_out(&workspace, &trees));
            found.trees = trees;
            found
        }))
    };
    blocking(look).await.map_err(|text| failed(Code::RepositoryUnusable, text))?
}

fn look(workspace: &Path) -> Result<Survey, Refused> {
    let unusable = |text: String| failed(Code::RepositoryUnusable, text);
    let repository = Repository::open(workspace).map_err(|e| match e {
        OpenFailure::NoCommits { .. } => failed(Code::NoCommits, e),
        OpenFailure::NotARepository { .. } => failed(Code::NoRepository, e),
        _ => unusable(e.to_string()),
    })?;
    let head = repository.head().map_err(|e| unusable(e.to_string()))?;
    let condition = repository.condition().map_err(|e| unusable(e.to_string()))?;
    let mut notes = Vec::new();
    if head.branch.is_none() {
        notes.push("HEAD is detached: `shipmate merge` will need a branch".to_owned());
    }
    if condition.submodules {
        notes.push("submodules are carried as they are; their files are not in the trees".into());
    }
    if condition.lfs {
        notes.push("files kept in LFS are pointers in the trees".to_owned());
    }
    if condition.shallow {
        notes.push("the repository is shallow: history before its edge is not seen".to_owned());
    }
    let own = |path: &&String| !path.starts_with(".shipmate/");
    let dirty = condition.dirty.iter().filter(own).cloned().collect();
    let (base, trees) = (head.commit.to_string(), Default::default());
    Ok(Survey { base, branch: head.branch, dirty, notes, trees })
}
