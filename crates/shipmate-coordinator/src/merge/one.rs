//! One submission: taken in, checked against its bounds, and merged onto a commit.

use std::sync::Arc;

use shipmate_model::files::FileSet;
use shipmate_model::setup::Setup;
use shipmate_process::blocking;
use shipmate_programs::order::Order;
use shipmate_programs::tenancy::author;
use shipmate_workspace::{Commit, MergeText, Merged, Repository, Tree, WorkKey};

use super::Submission;
use super::words::{outside, some};

/// What merging one came to.
#[derive(Debug, Clone, Default)]
pub(super) struct Merge {
    /// What the next is merged onto; absent when it changes nothing.
    pub(super) onto: Option<Commit>,
    /// The commit that holds it, which may be there already from before a crash.
    pub(super) landed: Option<Commit>,
    /// Whoever handed it in has changed nothing. Work that others have landed meanwhile is
    /// something, though nothing is left to merge.
    pub(super) unchanged: bool,
}

/// Why a submission is not merged.
pub(super) enum Objection {
    /// It touches what is not its own, which may be granted.
    Scope {
        files: FileSet,
        reason: String,
    },
    Other(String),
}

pub(super) fn base(setup: &Setup) -> Result<Commit, String> {
    let base = setup.trees.as_ref().and_then(|trees| Commit::parse(&trees.base));
    base.ok_or_else(|| "the team's base is no commit".to_owned())
}

fn key(submission: &Submission) -> WorkKey {
    let team = submission.team.to_string();
    WorkKey { team, task: submission.task, token: submission.token }
}

/// The merge of one submission onto a commit; nothing where it changes nothing.
pub(super) async fn merge_one(
    open: &Arc<(Repository, Tree)>,
    setup: &Setup,
    onto: &Commit,
    submission: &Submission,
    life: Option<Order>,
) -> Result<Result<Merge, Objection>, String> {
    let Some(named) = submission.commit.clone() else {
        return Ok(Ok(Merge { unchanged: true, ..Merge::default() }));
    };
    let (open, onto, one) = (Arc::clone(open), onto.clone(), submission.clone());
    let (protected, setup) = (setup.protected.clone(), setup.clone());
    blocking(move || {
        let repository = &open.0;
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let Some(work) = Commit::parse(&named) else {
            let reason = format!("{named} is no full commit id; name one and submit again");
            return Ok(Err(Objection::Other(reason)));
        };
        // From before a crash, or there was nothing to land: then no merge has its key.
        let landed = || {
            let branch = setup.branch(&one.team).to_string();
            let own = WorkKey { team: branch.clone(), ..key(&one) };
            let found = repository.landed(&branch, &base(&setup)?, &own);
            let found = found.map_err(|e| e.to_string())?;
            Ok::<_, String>(Merge { onto: None, unchanged: found.is_none(), landed: found })
        };
        if open.1.has_landed(&work, &onto).unwrap_or(false) {
            return landed().map(Ok);
        }
        let taken_in = repository.work(&key(&one)).map_err(|e| text(&e))?;
        if taken_in.as_ref() != Some(&work)
            && let Err(reason) =
                shipmate_programs::tenancy::take_in(repository, life.as_ref(), &work, &key(&one))
        {
            return Ok(Err(Objection::Other(reason)));
        }
        let covers = |path: &str| path.parse().is_ok_and(|path| one.left_out.covers(&path));
        let is_left_out: &dyn Fn(&str) -> bool = &covers;
        let is_left_out = (!one.left_out.is_empty()).then_some(is_left_out);
        let work = match repository.without(&onto, &work, is_left_out) {
            Ok(work) => work,
            Err(e) => return Err(text(&e)),
        };
        let objection = |to: &Commit| -> Result<Option<Objection>, String> {
            let changes = repository.changed(&onto, to).map_err(|e| text(&e))?;
            let paths = changes.iter().map(|change| change.path.as_str());
            Ok(outside(&one, &protected, paths).map(|(files, reason)| match files {
                Some(files) => Objection::Scope { files, reason },
                None => Objection::Other(reason),
            }))
        };
        if let Some(objection) = objection(&work)? {
            return Ok(Err(objection));
        }
        let about = MergeText {
            subject: crate::demands::commit_subject(&setup, &one),
            author: author(one.who.address.name.as_str()),
            teammate: one.who.to_string(),
            key: WorkKey { team: setup.branch(&one.team).to_string(), ..key(&one) },
        };
        Ok(match repository.merge(&onto, &work, &about).map_err(|e| text(&e))? {
            // Work with several bases, or over a rename, changes more than it seems to.
            Merged::Landed(commit) => match objection(&commit)? {
                Some(objection) => Err(objection),
                None => {
                    Ok(Merge { onto: Some(commit.clone()), landed: Some(commit), unchanged: false })
                }
            },
            Merged::Nothing => {
                let is_empty = repository.changed(&onto, &work).map_err(|e| text(&e))?.is_empty();
                let merge = landed()?;
                Ok(Merge { unchanged: merge.unchanged && is_empty, ..merge })
            }
            Merged::Conflict { files, .. } => Err(Objection::Other(format!(
                "it conflicts with what landed meanwhile in {}: resolve the markers in your tree \
                 and submit again",
                some(&files)
            ))),
            Merged::Unrelated => Err(Objection::Other(
                "its commit has no history in common with the team branch".to_owned(),
            )),
        })
    })
    .await
}
