//! A batch of submissions, from check to merge to gate.

mod trial;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use shipmate_model::playbook::{Expect, Gate};
use shipmate_model::setup::{GateRun, SET_UP_FAILS, Setup};
use shipmate_model::{Act, Name};
use shipmate_process::blocking;
use shipmate_programs::tenancy::author;
use shipmate_protocol::view::TaskStatus;
use shipmate_workspace::{AdvanceFailure, Commit, Repository, Stands, Tree};

use super::Submission;
use super::elsewhere::{announced, brought_here, not_come, published, still_waits};
use super::gate::{self, GateResult};
use super::one::{Merge, Objection, base, merge_one};
use super::words::blame;
use crate::clones::MERGE_CLONE;
use crate::crew::code::Announced;
use crate::crew::{Crew, hooked};
use crate::demands::{gates, requirements};
use crate::hooks::{HookEvent, Payload};
use trial::red_without;

/// Where a team's work is put together.
#[derive(Default)]
pub(crate) struct Bench {
    open: Option<Arc<(Repository, Tree)>>,
    /// The tip on which the gate is known to pass, and that gate.
    green: Option<Commit>,
    green_gate: Vec<String>,
    /// Where the branch was last seen.
    seen: Option<Commit>,
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
            pause(crew, team, reason);
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
            if let Some(reason) = fire(crew, &submission, (&cwd, &BTreeMap::new())).await {
                give_back(crew, &submission, reason);
                continue;
            }
            if let Some(gate) = &self.own {
                requirements::forget_reports(gate, &cwd);
            }
            if !setup.gate.is_empty() {
                let result = gate::run(crew, team, setup, self.expect(), &cwd).await;
                if result.killed {
                    pause(crew, team, killed(&result));
                    return Ok(Verified::Stuck);
                }
                record(crew, team, &[submission.task], "", &result, self.teams_gate(setup));
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

    pub(crate) async fn open(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
    ) -> Result<Arc<(Repository, Tree)>, String> {
        brought_here(crew, team).await?;
        if let Some(open) = &self.open {
            return Ok(Arc::clone(open));
        }
        let workspace = crew.settings.place.workspace.clone();
        let path = crew.settings.place.team(crew.board.root.as_str());
        let path: PathBuf = path.join("trees").join(format!("{team}.{MERGE_CLONE}"));
        let (name, base) = (setup.branch(team).to_string(), base(setup)?);
        let landed = last_landed(crew, setup.branch(team));
        let has_others = crew.has_other_hosts();
        // Of the time when there were other machines: this one need not have got all that landed there.
        let recorded = crew.board.with_state(|state| {
            let on_record =
                state.branches.get(setup.branch(team)).filter(|_| state.hosts.is_empty());
            on_record.and_then(|text| Commit::parse(text))
        });
        let opened = blocking(move || {
            let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
            if let Some(recorded) = recorded
                && !matches!(repository.stands(&name, &recorded), Ok(Stands::AtOrBeyond))
            {
                return Err(format!(
                    "shipmate/{name} was at {recorded} on another machine, and is not here; fetch it from there \
                     and have the branch stand at it, then `{CONTINUE}`"
                ));
            }
            if repository.tip(&name).map_err(|e| e.to_string())?.is_none() {
                // A person may have named a commit of another branch.
                let was_there = |commit: &Commit| repository.has_brought_work(&name, &base, commit);
                if let Some(last) = landed.as_deref().and_then(Commit::parse).filter(was_there) {
                    return Err(branch_is_gone(&name, last.as_str(), CONTINUE));
                }
                // Another machine landed it, and has not said where the branch stands.
                if let Some(last) = landed.as_deref().and_then(Commit::parse)
                    && has_others
                    && !repository.has_commit(&last).unwrap_or(false)
                {
                    return Err(format!(
                        "{last} has landed on shipmate/{name} on another machine, and is not here; have \
                         that machine be the home (`shipmate host home NAME`), then `{CONTINUE}`"
                    ));
                }
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
        // Whose gate was ended from outside, though that of the branch was not.
        let mut doubted = None;
        while let Some(part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            let tip = self.tip(crew, open, setup.branch(team)).await?;
            self.seen = Some(tip.clone());
            let merged = self.merge_all(crew, setup, open, &tip, part).await?;
            if merged.is_empty() {
                continue;
            }
            let Some(last) = merged.iter().rev().find_map(|one| one.merge.onto.clone()) else {
                // Nothing to merge, and the gate has its say on the tree as it is.
                if !setup.gate.is_empty()
                    && self.is_red_without(crew, team, setup, open, &tip, None).await?
                {
                    return Ok(Verified::Stuck);
                }
                published(crew, team).await?;
                for one in &merged {
                    if self.is_proven(crew, setup, open, (&tip, &tip), &one.submission).await? {
                        complete(crew, &one.submission, one.merge.landed.as_ref());
                    }
                }
                continue;
            };
            let tasks: Vec<u32> = merged.iter().map(|one| one.submission.task).collect();
            let last = join(open, setup, team, &tip, last, &merged).await?;
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
                let branch = setup.branch(team);
                let moves = match self.can_advance(open, branch, &tip).await? {
                    true => announced(crew, (team, branch), (&tip, &last)).await?,
                    false => Announced::Moved,
                };
                // Another machine is the home now, and finds all of it waiting.
                if moves == Announced::NotHome {
                    return Ok(Verified::All);
                }
                if moves == Announced::Said && self.advance(open, branch, &tip, &last).await? {
                    self.seen = Some(last.clone());
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
            if self.is_red_without(crew, team, setup, open, &tip, Some(&result)).await? {
                return Ok(Verified::Stuck);
            }
            if result.killed && doubted.replace(alone.token) != Some(alone.token) {
                parts.push(vec![alone]);
                continue;
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

    /// The commands of this batch's gate, if they are the team's.
    fn teams_gate<'a>(&self, setup: &'a Setup) -> &'a [String] {
        if self.own.is_some() { &[] } else { &setup.gate }
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
        let tip = blocking(move || open.0.tip(&name).map_err(|e| e.to_string())).await?;
        tip.ok_or_else(|| {
            let base = crew.board.with_state(|state| {
                let trees = state.teams.get(team).and_then(|team| team.setup.trees.as_ref());
                trees.map(|trees| trees.base.clone())
            });
            // Where it stood when this queue last moved it, or what is known of that.
            let seen = self.seen.as_ref().map(ToString::to_string);
            let last = seen.or_else(|| last_landed(crew, team)).or(base).unwrap_or_default();
            branch_is_gone(team.as_str(), &last, CONTINUE)
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
            if let Some(reason) = not_come(crew, &submission).await {
                give_back(crew, &submission, reason);
                continue;
            }
            let life = crew.order_of(&submission.who);
            let merged = merge_one(open, setup, &onto, &submission, life).await?;
            let merged = match merged {
                Ok(merged) => merged,
                Err(Objection::Scope { files, reason }) => {
                    let (task, token) = (submission.task, submission.token);
                    crew.board.tell(Act::AskScope { task, token, files, reason });
                    continue;
                }
                // It may be about those before it, which have not landed: whoever got it back now would find
                // nothing of them. It waits, and is tried again on what comes of them.
                Err(Objection::Other(_)) if onto != *tip => continue,
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
                let commit = merged.onto.as_ref().unwrap_or(&onto);
                let tree = self.check_out_judged(crew, setup, open, commit).await?;
                let fired = match prepare(crew, &submission.team, setup, &tree).await {
                    Ok(own) => fire(crew, &submission, (&tree, &own)).await,
                    Err(reason) => {
                        // Where it fails without the work too, the team waits for a person.
                        let tree = self.check_out(open, tip).await?;
                        prepare(crew, &submission.team, setup, &tree).await?;
                        Some(reason)
                    }
                };
                if let Some(reason) = fired {
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

    /// As hooks are to see it.
    async fn check_out_judged(
        &self,
        crew: &Rc<Crew>,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        commit: &Commit,
    ) -> Result<PathBuf, String> {
        let theirs = crew.hooks().registered(HookEvent::TaskCompleted);
        let base = setup.trees.as_ref().map(|trees| trees.base.clone()).unwrap_or_default();
        let (own, commit) = (Arc::clone(open), commit.clone());
        let judged = blocking(move || hooked::as_judged(&own.0, &commit, &base, &theirs)).await?;
        self.check_out(open, &judged).await
    }

    pub(super) async fn check_out(
        &self,
        open: &Arc<(Repository, Tree)>,
        commit: &Commit,
    ) -> Result<PathBuf, String> {
        let (open, commit) = (Arc::clone(open), commit.clone());
        blocking(move || {
            open.1.check_out_afresh(&open.0, &commit).map_err(|e| e.to_string())?;
            Ok(open.1.path().to_owned())
        })
        .await
    }

    /// The gate's word on a commit that is no submission. The caller has the turn.
    pub(crate) async fn gate_alone(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
        commit: &Commit,
        what: &str,
    ) -> Result<GateResult, String> {
        let open = self.open(crew, team, setup).await?;
        say(crew, what);
        let tree = self.check_out(&open, commit).await?;
        let result = gate::run(crew, team, setup, Expect::Green, &tree).await;
        if !result.killed {
            record(crew, team, &[], commit.as_str(), &result, &setup.gate);
        }
        crew.queue_does(None);
        Ok(result)
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
        let sets_up = setup.trees.as_ref().is_some_and(|trees| trees.preparation.is_set_up());
        if setup.gate.is_empty() && !(sets_up && tasks.is_empty()) {
            return Ok(GateResult { passed: true, ..GateResult::default() });
        }
        match tasks {
            [] => say(crew, &format!("gate on {}, where the team stands", commit.short())),
            tasks => {
                let names: Vec<String> = tasks.iter().map(ToString::to_string).collect();
                say(crew, &format!("gate on task {}", names.join(", ")));
            }
        }
        let tree = self.check_out(open, commit).await?;
        if let Some(gate) = &self.own {
            requirements::forget_reports(gate, &tree);
        }
        let result = gate::run(crew, team, setup, self.expect(), &tree).await;
        if !result.killed {
            record(crew, team, tasks, commit.as_str(), &result, self.teams_gate(setup));
        }
        Ok(result)
    }

    /// One that is alone and red may not be to blame: the branch may be red without it, or no
    /// gate may come to its end on this machine now.
    pub(super) async fn is_red_without(
        &mut self,
        crew: &Rc<Crew>,
        team: &Name,
        setup: &Setup,
        open: &Arc<(Repository, Tree)>,
        tip: &Commit,
        with_it: Option<&GateResult>,
    ) -> Result<bool, String> {
        // What a gate of its own says is about the task alone.
        let is_known = self.own.is_some() || self.green.as_ref() == Some(tip);
        // That it passed here once says nothing of whether it could now.
        let did_run = with_it.is_none_or(|result| !result.killed && !result.unprepared);
        if is_known && did_run {
            return Ok(false);
        }
        let result = self.gate_on(crew, team, setup, open, tip, &[]).await?;
        if result.killed {
            pause(crew, team, killed(&result));
            return Ok(true);
        }
        if is_known && !result.unprepared {
            return Ok(false);
        }
        if result.passed {
            self.green = Some(tip.clone());
            return Ok(false);
        }
        let reason = red_without(crew, team, tip, &result).await;
        pause(crew, team, reason);
        Ok(true)
    }

    async fn can_advance(
        &self,
        open: &Arc<(Repository, Tree)>,
        branch: &Name,
        from: &Commit,
    ) -> Result<bool, String> {
        let (open, branch, from) = (Arc::clone(open), branch.to_string(), from.clone());
        blocking(move || unless_moved(open.0.can_advance(&branch, &from))).await
    }

    async fn advance(
        &self,
        open: &Arc<(Repository, Tree)>,
        branch: &Name,
        from: &Commit,
        to: &Commit,
    ) -> Result<bool, String> {
        let (open, branch) = (Arc::clone(open), branch.to_string());
        let (from, to) = (from.clone(), to.clone());
        blocking(move || unless_moved(open.0.advance(&branch, &from, &to))).await
    }
}

/// Somebody else may have moved the branch meanwhile.
fn unless_moved(advanced: Result<(), AdvanceFailure>) -> Result<bool, String> {
    match advanced {
        Ok(()) => Ok(true),
        Err(AdvanceFailure::Moved { .. }) => Ok(false),
        Err(e) => Err(e.to_string()),
    }
}

/// What passes the gate together comes to the branch as one commit: the states between are not
/// known to pass. Without a gate there is nothing to pass.
async fn join(
    open: &Arc<(Repository, Tree)>,
    setup: &Setup,
    team: &Name,
    tip: &Commit,
    last: Commit,
    merged: &[Candidate],
) -> Result<Commit, String> {
    let new = merged.iter().filter(|one| one.merge.onto.is_some());
    let tasks: Vec<u32> = new.map(|one| one.submission.task).collect();
    if tasks.len() < 2 || setup.gate.is_empty() {
        return Ok(last);
    }
    let (open, branch, tip) = (Arc::clone(open), setup.branch(team).to_string(), tip.clone());
    blocking(move || open.0.join(&branch, &tip, &last, &tasks).map_err(|e| e.to_string())).await
}

fn pause(crew: &Rc<Crew>, team: &Name, reason: String) {
    tracing::warn!(%team, reason = reason.lines().next(), "the merge queue pauses a team");
    crew.board.tell(Act::PauseTeam { team: team.clone(), reason });
}

fn killed(result: &GateResult) -> String {
    let evidence = &result.evidence;
    match result.unstarted {
        true => format!(
            "the gate cannot be started; mend what stands in the way, then `shipmate continue` runs it \
             again\n{evidence}"
        ),
        false => format!(
            "the gate was ended from outside again and again, as the kernel does when memory is short; make \
             room, then `shipmate continue` runs it again\n{evidence}"
        ),
    }
}

fn last_landed(crew: &Rc<Crew>, branch: &Name) -> Option<String> {
    crew.board.with_state(|state| crate::crew::code::last_landed(state, branch))
}

/// What ends the pause of a queue that could not go on.
const CONTINUE: &str = "shipmate continue";

/// Nobody makes it anew: what landed would be lost. `then` is the command to go on with.
pub(crate) fn branch_is_gone(branch: &str, last: &str, then: &str) -> String {
    format!(
        "the branch shipmate/{branch} is gone; bring it back with `git branch shipmate/{branch} \
         {last}`, then `{then}`"
    )
}

/// Makes the merge clone ready; gives what runs there its variables.
async fn prepare(
    crew: &Rc<Crew>,
    team: &Name,
    setup: &Setup,
    tree: &Path,
) -> Result<BTreeMap<String, String>, String> {
    let prepared = crew.prepare_in_queue(team, setup, tree).await;
    prepared.map_err(|reason| format!("{SET_UP_FAILS}: {reason}"))
}

/// The hooks' word on a completion; a reason if it is no.
async fn fire(
    crew: &Rc<Crew>,
    one: &Submission,
    (tree, own): (&Path, &BTreeMap<String, String>),
) -> Option<String> {
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
    crew.fire(&one.team, &payload, (tree, own)).await.err()
}

/// Taken back in the moment in which it landed: somebody has to know.
fn tell_if_taken_back(crew: &Rc<Crew>, one: &Submission) {
    let completed = crew.board.with_state(|state| {
        state.task(one.task).is_some_and(|task| task.shown() == TaskStatus::Completed)
    });
    if !completed && !still_waits(crew, one) {
        let note = format!("task {} was taken back while its work landed", one.task);
        let (team, hook) = (one.team.clone(), "merge".to_owned());
        crew.board.tell(Act::ReportHook { team, hook, note });
    }
}

fn say(crew: &Rc<Crew>, text: &str) {
    crew.queue_does(Some(text));
}

pub(super) fn give_back(crew: &Rc<Crew>, one: &Submission, reason: String) {
    let why = reason.lines().next();
    tracing::info!(task = one.task, who = %one.who, reason = why, "a submission goes back");
    crew.board.tell(Act::ReturnTask { task: one.task, token: one.token, reason });
}

fn complete(crew: &Rc<Crew>, one: &Submission, commit: Option<&Commit>) {
    let commit = commit.map(ToString::to_string);
    tracing::info!(task = one.task, who = %one.who, commit, "a submission has landed");
    crew.board.tell(Act::CompleteTask {
        task: one.task,
        token: Some(one.token),
        commit,
        result: one.result.clone(),
    });
}

/// `gate`: the team's, or none where a task's own ran instead.
fn record(
    crew: &Rc<Crew>,
    team: &Name,
    tasks: &[u32],
    commit: &str,
    result: &GateResult,
    gate: &[String],
) {
    let (passed, killed) = (result.passed, result.killed);
    tracing::info!(%team, ?tasks, commit, passed, killed, took_ms = result.took_ms, "a gate has run");
    crew.board.tell(Act::ReportGate(GateRun {
        team: team.clone(),
        tasks: tasks.to_vec(),
        commit: commit.to_owned(),
        passed: result.passed,
        took_ms: result.took_ms,
        output: result.evidence.clone(),
        gate: gate.to_vec(),
        tried: result.tried,
    }));
}
