//! A batch of submissions, from check to merge to gate.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use shipmate_core::files::FileSet;
use shipmate_core::playbook::{Expect, Gate};
use shipmate_core::setup::{GateRun, Setup};
use shipmate_core::state::Status;
use shipmate_core::{Act, Name};

use super::Submission;
use super::gate::{self, GateResult};
use super::trial::red_without;
use super::words::{blame, outside, some};
use crate::crew::Crew;
use crate::hooks::{HookEvent, Payload};
use crate::playbook::{self, gates, proof};
use crate::supervisor::order::Order;
use crate::supervisor::{author, off_the_thread};
use crate::workspace::{Commit, MergeText, Merged, Repository, Tree, WorkKey};

/// Where a team's work is put together.
#[derive(Default)]
pub(crate) struct Bench {
    open: Option<Arc<(Repository, Tree)>>,
    /// The tip on which the gate is known to pass, and that gate.
    green: Option<Commit>,
    green_gate: Vec<String>,
    /// The batch is one submission with a gate of its own.
    pub(super) own: Option<Gate>,
}

/// A submission that is merged, and what the tree is with it.
#[derive(Debug, Clone)]
struct Candidate {
    submission: Submission,
    merge: Merge,
}

/// Says that the team must wait for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verified {
    All,
    Stuck,
}

impl Bench {
    pub(crate) async fn verify(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
        batch: Vec<Submission>,
    ) -> Verified {
        if self.green_gate != setup.gate {
            self.green = None;
            self.green_gate.clone_from(&setup.gate);
        }
        self.own = batch.first().and_then(|one| gates::own_gate(setup, one));
        let mut setup = setup.clone();
        if let Some(gate) = &self.own {
            setup.gate.clone_from(&gate.commands);
        }
        let verified = match &setup.trees {
            None => self.verify_in_place(crew, team, &setup, batch).await,
            Some(_) => self.verify_merged(crew, team, &setup, batch).await,
        };
        verified.unwrap_or_else(|reason| {
            let reason = format!("the merge queue cannot go on: {reason}");
            crew.board.tell(Act::PauseTeam { team: team.clone(), reason });
            Verified::Stuck
        })
    }

    /// A team without a repository: hooks and gate run in the workspace itself.
    async fn verify_in_place(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
        batch: Vec<Submission>,
    ) -> Result<Verified, String> {
        let cwd = crew.settings.place.workspace.clone();
        for submission in batch {
            say(crew, &format!("checking task {}", submission.task));
            if let Some(reason) = fire(crew, &submission, &cwd).await {
                give_back(crew, &submission, reason);
                continue;
            }
            if let Some(gate) = &self.own {
                proof::forget_reports(gate, &cwd);
            }
            if !setup.gate.is_empty() {
                let result = gate::run(crew, team, setup, self.expect(), &cwd).await;
                record(crew, team, &[submission.task], "", &result);
                if !result.passed {
                    give_back(crew, &submission, blame(&submission, &result, &[]));
                    continue;
                }
            }
            if !self.is_proven_in_place(crew, setup, &cwd, &submission).await? {
                continue;
            }
            let commit = submission.commit.as_deref().and_then(Commit::parse);
            complete(crew, &submission, commit.as_ref());
        }
        Ok(Verified::All)
    }

    async fn verify_merged(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
        batch: Vec<Submission>,
    ) -> Result<Verified, String> {
        let open = self.open(crew, team, setup).await?;
        self.land(crew, team, setup, &open, batch).await
    }

    pub(super) async fn open(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
    ) -> Result<Arc<(Repository, Tree)>, String> {
        if let Some(open) = &self.open {
            return Ok(Arc::clone(open));
        }
        let workspace = crew.settings.place.workspace.clone();
        let path = crew.settings.place.team(crew.board.root.as_str());
        let path: PathBuf = path.join("trees").join(format!("{team}.merge"));
        let (name, base) = (setup.branch(team).to_string(), base(setup)?);
        let opened = off_the_thread(move || {
            let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
            if repository.tip(&name).map_err(|e| e.to_string())?.is_none() {
                repository.begin(&name, &base).map_err(|e| e.to_string())?;
            }
            let tree = Tree::prepare(&repository, &path, "merge", &author("shipmate"));
            Ok((repository, tree.map_err(|e| e.to_string())?))
        });
        let opened = Arc::new(opened.await?);
        self.open = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Merges a batch and moves the branch when it is green; halves it when it is red.
    async fn land(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        batch: Vec<Submission>,
    ) -> Result<Verified, String> {
        let mut parts = vec![batch];
        let mut beside: Vec<Submission> = Vec::new();
        while let Some(part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            let tip = self.tip(crew, open, setup.branch(team)).await?;
            let merged = self.merge_all(crew, setup, open, &tip, part).await?;
            if merged.is_empty() {
                continue;
            }
            let Some(last) = merged.iter().rev().find_map(|one| one.merge.onto.clone()) else {
                // Nothing to merge, and the gate has its say on the tree as it is.
                if !setup.gate.is_empty()
                    && self.is_red_without(crew, team, setup, open, &tip).await?
                {
                    return Ok(Verified::Stuck);
                }
                for one in &merged {
                    if self.is_proven(crew, setup, open, (&tip, &tip), &one.submission).await? {
                        complete(crew, &one.submission, one.merge.landed.as_ref());
                    }
                }
                continue;
            };
            let tasks: Vec<u32> = merged.iter().map(|one| one.submission.task).collect();
            let result = self.gate_on(crew, team, setup, open, &last, &tasks).await?;
            // A person may have taken one back while the gate ran.
            if merged.iter().any(|one| !still_waits(crew, &one.submission)) {
                let rest = merged.into_iter().map(|one| one.submission);
                parts.push(rest.filter(|one| still_waits(crew, one)).collect());
                continue;
            }
            if result.passed {
                if let [one] = merged.as_slice()
                    && !self.is_proven(crew, setup, open, (&tip, &last), &one.submission).await?
                {
                    continue;
                }
                if self.advance(open, setup.branch(team), &tip, &last).await? {
                    self.green = self.own.is_none().then_some(last);
                    for one in &merged {
                        complete(crew, &one.submission, one.merge.landed.as_ref());
                    }
                    crew.board.settled().await;
                    merged.iter().for_each(|one| tell_if_taken_back(crew, &one.submission));
                    beside.extend(merged.into_iter().map(|one| one.submission));
                } else {
                    parts.push(merged.into_iter().map(|one| one.submission).collect());
                }
                continue;
            }
            let mut submissions: Vec<Submission> =
                merged.into_iter().map(|one| one.submission).collect();
            if submissions.len() > 1 {
                let later = submissions.split_off(submissions.len() / 2);
                parts.push(later);
                parts.push(submissions);
                continue;
            }
            let Some(alone) = submissions.pop() else { continue };
            if self.is_red_without(crew, team, setup, open, &tip).await? {
                return Ok(Verified::Stuck);
            }
            give_back(crew, &alone, blame(&alone, &result, &beside));
        }
        Ok(Verified::All)
    }

    /// The team's gate is about to be tried, whatever was known of it.
    pub(super) fn forget_green(&mut self, setup: &Setup) {
        (self.own, self.green) = (None, None);
        self.green_gate.clone_from(&setup.gate);
    }

    fn expect(&self) -> Expect {
        self.own.as_ref().map(|gate| gate.expect).unwrap_or_default()
    }

    pub(super) async fn tip(
        &self,
        crew: &Rc<Crew>,
        open: &Arc<(Repository, Tree)>,
        team: &Name,
    ) -> Result<Commit, String> {
        let (open, name) = (Arc::clone(open), team.to_string());
        let tip = off_the_thread(move || open.0.tip(&name).map_err(|e| e.to_string())).await?;
        tip.ok_or_else(|| {
            let last = last_landed(crew, team);
            format!(
                "the branch shipmate/{team} is gone; bring it back with `git branch \
                 shipmate/{team} {last}`, then `shipmate continue`"
            )
        })
    }

    /// Checks each and merges it onto those before it; what cannot be merged is told.
    async fn merge_all(
        &self,
        crew: &Rc<Crew>,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        tip: &Commit,
        part: Vec<Submission>,
    ) -> Result<Vec<Candidate>, String> {
        let has_hooks = crew.has_hooks(HookEvent::TaskCompleted);
        let mut onto = tip.clone();
        let mut found = Vec::new();
        for submission in part {
            say(crew, &format!("merging task {}", submission.task));
            let life = crew.order_of(&submission.who);
            let merged = merge_one(open, setup, &onto, &submission, life).await?;
            let merged = match merged {
                Ok(merged) => merged,
                Err(Objection::Scope { files, reason }) => {
                    let (task, token) = (submission.task, submission.token);
                    crew.board.tell(Act::AskScope { task, token, files, reason });
                    continue;
                }
                Err(Objection::Other(reason)) => {
                    give_back(crew, &submission, reason);
                    continue;
                }
            };
            if submission.must_change && merged.unchanged {
                let (task, token) = (submission.task, submission.token);
                crew.board.tell(Act::ReturnUnchanged { task, token });
                continue;
            }
            if has_hooks {
                let tree = self.check_out(open, merged.onto.as_ref().unwrap_or(&onto)).await?;
                if let Some(reason) = fire(crew, &submission, &tree).await {
                    give_back(crew, &submission, reason);
                    continue;
                }
            }
            if let Some(merged) = &merged.onto {
                onto = merged.clone();
            }
            found.push(Candidate { submission, merge: merged });
        }
        Ok(found)
    }

    async fn check_out(
        &self,
        open: &Arc<(Repository, Tree)>,
        commit: &Commit,
    ) -> Result<PathBuf, String> {
        let (open, commit) = (Arc::clone(open), commit.clone());
        off_the_thread(move || {
            open.1.check_out_afresh(&open.0, &commit).map_err(|e| e.to_string())?;
            Ok(open.1.path().to_owned())
        })
        .await
    }

    async fn gate_on(
        &self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        commit: &Commit,
        tasks: &[u32],
    ) -> Result<GateResult, String> {
        if setup.gate.is_empty() {
            return Ok(GateResult { passed: true, ..GateResult::default() });
        }
        let names: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        say(crew, &format!("gate on task {}", names.join(", ")));
        let tree = self.check_out(open, commit).await?;
        if let Some(gate) = &self.own {
            proof::forget_reports(gate, &tree);
        }
        let result = gate::run(crew, team, setup, self.expect(), &tree).await;
        record(crew, team, tasks, commit.as_str(), &result);
        Ok(result)
    }

    /// One that is alone and red may not be to blame: the branch may be red without it.
    pub(super) async fn is_red_without(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        tip: &Commit,
    ) -> Result<bool, String> {
        // What a gate of its own says is about the task alone.
        if self.own.is_some() || self.green.as_ref() == Some(tip) {
            return Ok(false);
        }
        let result = self.gate_on(crew, team, setup, open, tip, &[]).await?;
        if result.passed {
            self.green = Some(tip.clone());
            return Ok(false);
        }
        let reason = red_without(crew, team, tip, &result).await;
        crew.board.tell(Act::PauseTeam { team: team.clone(), reason });
        Ok(true)
    }

    async fn advance(
        &self,
        open: &Arc<(Repository, Tree)>,
        team: &Name,
        from: &Commit,
        to: &Commit,
    ) -> Result<bool, String> {
        use crate::workspace::AdvanceFailure;
        let (open, team) = (Arc::clone(open), team.to_string());
        let (from, to) = (from.clone(), to.clone());
        off_the_thread(move || match open.0.advance(&team, &from, &to) {
            Ok(()) => Ok(true),
            Err(AdvanceFailure::Moved { .. }) => Ok(false),
            Err(e) => Err(e.to_string()),
        })
        .await
    }
}

/// What merging one came to.
#[derive(Debug, Clone, Default)]
struct Merge {
    /// What the next is merged onto; absent when it changes nothing.
    onto: Option<Commit>,
    /// The commit that holds it, which may be there already from before a crash.
    landed: Option<Commit>,
    /// Whoever handed it in has changed nothing. Work that others have landed meanwhile is
    /// something, though nothing is left to merge.
    unchanged: bool,
}

/// Why a submission is not merged.
enum Objection {
    /// It touches what is not its own, which may be granted.
    Scope {
        files: FileSet,
        reason: String,
    },
    Other(String),
}

/// Where the branch stood when it last moved. Looks at the whole board, for a branch that
/// somebody deleted.
fn last_landed(crew: &Rc<Crew>, team: &Name) -> String {
    crew.board.with_state(|state| {
        let landed = state.tasks().iter().filter(|task| task.team == *team);
        let landed = landed.filter_map(|task| match &task.status {
            Status::Completed { commit: Some(commit), .. } => Some((task.changed_at, commit)),
            _ => None,
        });
        let base = state.teams[team].setup.trees.as_ref().map(|trees| trees.base.clone());
        landed.max().map(|(_, commit)| commit.clone()).or(base).unwrap_or_default()
    })
}

fn base(setup: &Setup) -> Result<Commit, String> {
    let base = setup.trees.as_ref().and_then(|trees| Commit::parse(&trees.base));
    base.ok_or_else(|| "the team's base is no commit".to_owned())
}

fn key(submission: &Submission) -> WorkKey {
    let team = submission.team.to_string();
    WorkKey { team, task: submission.task, token: submission.token }
}

/// The merge of one submission onto a commit; nothing where it changes nothing.
async fn merge_one(
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
    off_the_thread(move || {
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
                crate::supervisor::take_in(repository, life.as_ref(), &work, &key(&one))
        {
            return Ok(Err(Objection::Other(reason)));
        }
        let work = match repository.without(&onto, &work, &one.left_out) {
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
            subject: playbook::commit_subject(&setup, &one),
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

/// The hooks' word on a completion; a reason if it is no.
async fn fire(crew: &Rc<Crew>, one: &Submission, tree: &std::path::Path) -> Option<String> {
    if !crew.has_hooks(HookEvent::TaskCompleted) {
        return None;
    }
    let payload = Payload {
        task_id: Some(one.task.to_string()),
        task_subject: Some(one.subject.clone()),
        task_description: Some(one.description.clone()),
        teammate_name: Some(one.who.address.name.to_string()),
        agent_id: Some(one.who.to_string()),
        agent_type: Some(one.who.address.name.to_string()),
        ..crew.payload(HookEvent::TaskCompleted, &one.team, tree)
    };
    crew.fire(&one.team, &payload, tree).await.err()
}

/// Taken back in the moment in which it landed: somebody has to know.
fn tell_if_taken_back(crew: &Rc<Crew>, one: &Submission) {
    let completed = crew.board.with_state(|state| {
        state.task(one.task).is_some_and(|task| task.status_word() == "completed")
    });
    if !completed && !still_waits(crew, one) {
        let note = format!("task {} was taken back while its work landed", one.task);
        let (team, hook) = (one.team.clone(), "merge".to_owned());
        crew.board.tell(Act::ReportHook { team, hook, note });
    }
}

/// The submission is still the one that its task waits with.
fn still_waits(crew: &Rc<Crew>, one: &Submission) -> bool {
    crew.board.with_state(|state| {
        state.submissions().any(|task| {
            task.id == one.task && task.claim().is_some_and(|claim| claim.token == one.token)
        })
    })
}

fn say(crew: &Rc<Crew>, text: &str) {
    crew.queue_does(Some(text));
}

pub(super) fn give_back(crew: &Rc<Crew>, one: &Submission, reason: String) {
    crew.board.tell(Act::ReturnTask { task: one.task, token: one.token, reason });
}

fn complete(crew: &Rc<Crew>, one: &Submission, commit: Option<&Commit>) {
    crew.board.tell(Act::CompleteTask {
        task: one.task,
        token: Some(one.token),
        commit: commit.map(ToString::to_string),
        result: one.result.clone(),
    });
}

fn record(crew: &Rc<Crew>, team: &Name, tasks: &[u32], commit: &str, result: &GateResult) {
    crew.board.tell(Act::ReportGate(GateRun {
        team: team.clone(),
        tasks: tasks.to_vec(),
        commit: commit.to_owned(),
        passed: result.passed,
        took_ms: result.took_ms,
        output: result.evidence.clone(),
    }));
}
