//! `shipmate merge` and `shipmate team update`: the team's work comes to the person, and the
//! person's to the team. Nothing is merged anywhere on which the team's gate is red.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use shipmate_core::is_green;
use shipmate_core::state::{Status, Task};
use shipmate_model::setup::Setup;
use shipmate_model::{Act, Name};
use shipmate_process::Watched;
use shipmate_process::blocking;
use shipmate_protocol::refused;
use shipmate_protocol::view::{Merged, TaskStatus};
use shipmate_protocol::wire::{Notice, Reply};
use shipmate_protocol::{Code, Refused};
use shipmate_workspace::{
    AdvanceFailure, Begun, Commit, Feature, FeatureBranch, Intent, LandedWorkStands, LookFor,
    MissingFrom, PlannedMerge, PlannedUpdate, ReadyMerge, ReadyUpdate, Repository, Settled,
    UserMergeFailure,
};
use tokio::sync::MutexGuard;

use super::failed;
use crate::attendance::Attendance;
use crate::board::Job;
use crate::crew::code::Announced;
use crate::merge::{Bench, GateResult, announced, branch_is_gone};
use crate::put_away::feature;
use crate::settings::Settings;

/// How often a branch may move while the gate runs before that is the answer.
const TRIES_MAX: usize = 3;
/// How many of the tasks that are not in it are named.
const LISTED_MAX: usize = 8;

/// One at a time is in the person's checkout, whichever team it is for.
static IN_CHECKOUT: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What is known of a team whose work is merged.
struct Wanted {
    setup: Setup,
    base: Commit,
    tasks: Vec<u32>,
    /// Those that are not done, each with its status.
    left: Vec<String>,
    /// Where the work of the tasks came to the team's branch.
    landed: Vec<Commit>,
    features: Vec<Feature>,
}

/// Brings the team's work to the person.
pub(super) async fn merge(
    crew: &Rc<Attendance>,
    job: &Job,
    team: &Name,
    branches: bool,
    no_gate: bool,
) -> Result<Merged, Refused> {
    let wanted = wanted(crew, team)?;
    let lands_on = wanted.setup.branch(team);
    if lands_on != team {
        let text = format!("the work of team {team} is on shipmate/{lands_on}");
        return Err(refused(Code::NotMerged, text, &format!("`shipmate --team {lands_on} merge`")));
    }
    if wanted.tasks.is_empty() && !has_written(crew, &wanted, team).await? {
        let text = format!("no task of team {team} is completed yet");
        return Err(refused(Code::NothingDone, text, "`shipmate status` shows how far they are"));
    }
    let branch = format!("shipmate/{team}");
    let merged = Merged { branch, tasks: wanted.tasks.clone(), ..Merged::default() };
    if branches {
        require_landed(crew, team, &wanted, LookFor::OnTeamBranch).await?;
        return feature_branches(crew, team, wanted, merged).await;
    }
    let _alone = alone(crew, job).await;
    settle_earlier(&crew.settings).await?;
    for _ in 0..TRIES_MAX {
        let mut merged = merged.clone();
        if let Some(branch) = require_landed(crew, team, &wanted, LookFor::OnEither).await? {
            merged.notes.push(format!("{branch} has all of it already"));
            merged.notes.extend(not_in_it(&wanted.left));
            return Ok(merged);
        }
        let (repository, name) = (open(crew).await?, team.to_string());
        let planned = blocking(move || Ok(repository.plan_merge(&name)));
        let planned = planned.await.map_err(not_merged)?.map_err(not_merged)?;
        let ready = match planned {
            PlannedMerge::Ready(ready) => ready,
            PlannedMerge::AlreadyMerged { branch } => {
                merged.notes.push(format!("{branch} has all of it already"));
                merged.notes.extend(not_in_it(&wanted.left));
                return Ok(merged);
            }
            PlannedMerge::Conflict { branch, files, .. } => {
                let text = format!(
                    "{} conflicts with {branch} in {}; nothing was changed",
                    merged.branch,
                    files.join(", ")
                );
                return Err(refused(Code::NotMerged, text, &by_hand(team)));
            }
        };
        if !wanted.setup.gate.is_empty() && !has_passed(crew, &wanted.setup, &ready) {
            if no_gate {
                merged.notes.push("the gate was not run on the result".to_owned());
            } else {
                let on = gated_as(&ready);
                let result = gate_on_result(crew, job, team, &wanted.setup, &ready, &on).await?;
                let remedy = format!(
                    "mend it while you merge by hand: `git merge --no-commit {}`, or merge it as \
                     it is: `shipmate --team {team} merge --no-gate`",
                    merged.branch
                );
                require_green(&result, &on, &remedy)?;
                merged.notes.push("the gate passed on the result".to_owned());
            }
        }
        let (repository, folder) = (open(crew).await?, folder(&crew.settings));
        let (digest, branch) = (crew.settings.place.digest(), ready.branch.clone());
        let run = move || Ok(repository.merge_into_user(&ready, &folder, &digest));
        match blocking(run).await.map_err(not_merged)? {
            Ok(commit) => {
                merged.commit = Some(commit.to_string());
                merged.notes.insert(0, format!("merged into {branch}"));
                merged.notes.extend(not_in_it(&wanted.left));
                return Ok(merged);
            }
            Err(UserMergeFailure::Moved { .. }) => {}
            Err(failure) => return Err(not_merged(failure)),
        }
    }
    let text = format!("the branches moved {TRIES_MAX} times while {team} was being merged");
    Err(refused(Code::NotMerged, text, "merge again when nobody commits"))
}

/// What the team has on its board and not on its branch.
fn not_in_it(left: &[String]) -> Option<String> {
    let listed = &left[..left.len().min(LISTED_MAX)];
    let more = match left.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let tasks = if left.len() == 1 { "task" } else { "tasks" };
    (!left.is_empty()).then(|| format!("not in it: {tasks} {}{more}", listed.join(", ")))
}

/// Brings the person's branch to the team, if the gate passes on both together.
pub(super) async fn update(
    crew: &Rc<Attendance>,
    job: &Job,
    team: &Name,
) -> Result<Merged, Refused> {
    let setup = wanted(crew, team)?.setup;
    let lands_on = setup.branch(team).to_string();
    let branch = format!("shipmate/{lands_on}");
    let mut merged = Merged { branch: branch.clone(), ..Merged::default() };
    // What lands meanwhile would need the gate again.
    let _turn = turn(crew, job).await;
    let mut bench = Bench::default();
    bench.open(crew, team, &setup).await.map_err(not_updated)?;
    for _ in 0..TRIES_MAX {
        let (repository, name) = (open(crew).await?, lands_on.clone());
        let planned = blocking(move || Ok(repository.plan_update(&name)));
        let planned = planned.await.map_err(not_updated)?.map_err(not_updated)?;
        let ready = match planned {
            PlannedUpdate::Ready(ready) => ready,
            PlannedUpdate::UpToDate { branch: own } => {
                merged.notes.push(format!("it has all of {own} already"));
                return Ok(merged);
            }
            PlannedUpdate::Conflict { branch: own, files } => {
                let files = files.join(", ");
                let text = format!("{own} conflicts with {branch} in {files}; nothing was changed");
                return Err(refused(Code::NotUpdated, text, &by_hand(team)));
            }
        };
        if !setup.gate.is_empty() {
            let what = format!("gate on {branch} with {}", ready.branch);
            tell(job, &what);
            let result = bench.gate_alone(crew, team, &setup, &ready.commit, &what).await;
            let result = result.map_err(not_updated)?;
            let remedy = format!(
                "mend it while you merge by hand: `git merge --no-commit {branch}`, commit, then \
                 `shipmate --team {team} team update`"
            );
            require_green(&result, &format!("{branch} with {}", ready.branch), &remedy)?;
        }
        let ReadyUpdate { branch: own, tip, commit, .. } = ready;
        let way = (team, setup.branch(team));
        match announced(crew, way, (&tip, &commit)).await.map_err(not_updated)? {
            Announced::Said => {}
            Announced::Moved => continue,
            // Said as to whoever asks there from the beginning.
            Announced::NotHome => {
                wanted(crew, team)?;
                continue;
            }
        }
        let (repository, name, to) = (open(crew).await?, lands_on.clone(), commit.clone());
        let moved = blocking(move || Ok(repository.advance(&name, &tip, &to)));
        match moved.await.map_err(not_updated)? {
            Ok(()) => {
                let note = format!("{own} came to {branch} as {}", commit.short());
                let (team, hook) = (team.clone(), "update".to_owned());
                crew.board.tell(Act::ReportHook { team, hook, note });
                merged.commit = Some(commit.to_string());
                merged.notes.push(format!("it has all of {own} now"));
                if !setup.gate.is_empty() {
                    merged.notes.push("the gate passed on the result".to_owned());
                }
                return Ok(merged);
            }
            Err(AdvanceFailure::Moved { .. }) => {}
            Err(failure) => return Err(not_updated(failure)),
        }
    }
    let text = format!("{branch} moved {TRIES_MAX} times while it was being brought up");
    Err(refused(Code::NotUpdated, text, "update again when nobody commits there"))
}

/// Tells the one who asked what is done for them, or waited for. Nobody else hears it.
fn tell(job: &Job, text: &str) {
    let queue = Some(text.to_owned());
    job.connection.send(&Reply::Notice(Notice::Sign { teammate: None, queue, hosts: Vec::new() }));
}

async fn alone(crew: &Rc<Attendance>, job: &Job) -> MutexGuard<'static, ()> {
    let alone = match IN_CHECKOUT.try_lock() {
        Ok(alone) => alone,
        Err(_) => {
            tell(job, "waiting for another merge, which is at work in this checkout");
            IN_CHECKOUT.lock().await
        }
    };
    let earlier = Intent::read(&folder(&crew.settings));
    if let Some(pid) = earlier.and_then(|intent| intent.at_work()) {
        tell(job, &format!("waiting for the git of an earlier merge (process {pid})"));
    }
    alone
}

async fn turn<'a>(crew: &'a Rc<Attendance>, job: &Job) -> MutexGuard<'a, ()> {
    if let Ok(turn) = crew.turn.try_lock() {
        return turn;
    }
    let does = crew.board.signs.borrow().queue.clone();
    let does = does.map(|does| format!(": {does}")).unwrap_or_default();
    tell(job, &format!("waiting for the merge queue{does}"));
    crew.turn.lock().await
}

/// Refuses where work that is on record as landed is on no branch. Names the person's branch
/// where that has all of it and the team's is gone.
async fn require_landed(
    crew: &Rc<Attendance>,
    team: &Name,
    wanted: &Wanted,
    look_for: LookFor,
) -> Result<Option<String>, Refused> {
    let (repository, name) = (open(crew).await?, team.to_string());
    let (base, landed) = (wanted.base.clone(), wanted.landed.clone());
    let stands = blocking(move || {
        let stands = repository.landed_work_stands(&name, &base, &landed, look_for);
        stands.map_err(|e| e.to_string())
    });
    let (last, team_branch) = match stands.await.map_err(not_merged)? {
        LandedWorkStands::There => return Ok(None),
        LandedWorkStands::MergedAndGone { branch } => return Ok(Some(branch)),
        LandedWorkStands::Missing { last, team_branch } => (last, team_branch),
    };
    let branch = format!("shipmate/{team}");
    if team_branch == MissingFrom::Gone {
        let then = format!("shipmate --team {team} merge");
        return Err(not_merged(branch_is_gone(team.as_str(), last.as_str(), &then)));
    }
    let text = format!(
        "{branch} was moved by hand: it does not have {}, the newest work that landed there; \
         nothing was changed",
        last.short()
    );
    let remedy = format!(
        "bring it back with `git branch -f {branch} {last}` (`git log {last}..{branch}` shows what \
         it loses by that); where you have rewritten it on purpose, merge it by hand: `git merge \
         {branch}`"
    );
    Err(refused(Code::NotMerged, text, &remedy))
}

/// Ends what a coordinator that was killed has begun in the person's checkout. Their git, hooks
/// and all, may still be at work: then it is waited for, and the commands that come meanwhile
/// are not.
pub(crate) async fn settle_at_start(settings: &Rc<Settings>) {
    let workspace = settings.place.workspace.clone();
    let unlocked = tokio::task::spawn_blocking(move || Repository::unlock_packed(&workspace));
    drop(unlocked.await);
    let Some(intent) = Intent::read(&folder(settings)) else { return };
    let settings = Rc::clone(settings);
    let settle = async move {
        let _alone = IN_CHECKOUT.lock().await;
        if let Err(refused) = settle_earlier(&settings).await {
            tracing::warn!(reason = ?refused.message, "a merge of before is not settled");
        }
    };
    match intent.at_work() {
        Some(_) => drop(tokio::task::spawn_local(settle)),
        None => settle.await,
    }
}

async fn settle_earlier(settings: &Settings) -> Result<(), Refused> {
    let folder = folder(settings);
    let Some(intent) = Intent::read(&folder) else { return Ok(()) };
    while let Some(pid) = intent.at_work() {
        match Watched::open(pid) {
            Some(git) => git.gone().await,
            None => tokio::task::yield_now().await,
        }
    }
    let workspace = settings.place.workspace.clone();
    let settled = blocking(move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        repository.settle(&intent, Begun::Before, &folder).map_err(|e| e.to_string())
    });
    settled.await.map(|_: Settled| ()).map_err(|text| {
        let text = format!(
            "an earlier merge was interrupted and cannot be finished or taken back: {text}; nothing \
             more is changed"
        );
        let remedy = "make room if the disk is full: the next `shipmate merge` does it; `git \
                      status` shows what is left of it";
        refused(Code::NotMerged, text, remedy)
    })
}

fn folder(settings: &Settings) -> PathBuf {
    settings.place.state().join("merge")
}

fn wanted(crew: &Rc<Attendance>, team: &Name) -> Result<Wanted, Refused> {
    let no_trees = || {
        let text = format!("team {team} works without a repository");
        refused(Code::NoTrees, text, "its work is in the workspace itself (--trees none)")
    };
    let found = crew.board.with_state(|state| {
        let setup = (*state.teams.get(team)?.setup).clone();
        let base = Commit::parse(&setup.trees.as_ref()?.base)?;
        // Departments land on the branch of the team above them.
        let lands = |own: &Name| state.teams[own].setup.branch(own) == team;
        let own = || state.tasks().iter().filter(|task| lands(&task.team));
        let done = own().filter(|task| task.shown() == TaskStatus::Completed);
        let is_left =
            |task: &&Task| !matches!(task.shown(), TaskStatus::Completed | TaskStatus::Deleted);
        let left = own().filter(is_left);
        let left: Vec<String> =
            left.map(|task| format!("{} ({})", task.id, task.status_word())).collect();
        let mut features: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let (mut tasks, mut landed) = (Vec::new(), Vec::new());
        for task in done {
            if let Status::Completed { commit: Some(commit), .. } = &task.status {
                landed.extend(Commit::parse(commit));
            }
            features.entry(feature(task)).or_default().push(task.id);
            tasks.push(task.id);
        }
        let features = features.into_iter().map(|(name, tasks)| Feature { name, tasks }).collect();
        Some(Wanted { setup, base, tasks, left, landed, features })
    });
    let found = found.ok_or_else(no_trees)?;
    if !crew.is_home(team) {
        let home = crew.board.with_state(|state| state.home.as_ref().map(ToString::to_string));
        let (text, remedy) = match home {
            Some(home) => (
                format!("the work of team {team} is merged on its home, host {home}"),
                format!("run this on {home}, or `shipmate host home NAME` makes this the home"),
            ),
            None => (format!("team {team} works on another machine"), "run this there".to_owned()),
        };
        return Err(refused(Code::NotHome, text, &remedy));
    }
    Ok(found)
}

/// A playbook may have written to the branch although nobody has done a task: what a run that went
/// wrong says about it, for one.
async fn has_written(crew: &Rc<Attendance>, wanted: &Wanted, team: &Name) -> Result<bool, Refused> {
    if wanted.setup.playbook.is_none() {
        return Ok(false);
    }
    let (repository, name) = (open(crew).await?, team.to_string());
    let tip = blocking(move || repository.tip(&name).map_err(|e| e.to_string()));
    Ok(tip.await.map_err(not_merged)?.is_some_and(|tip| tip != wanted.base))
}

async fn open(crew: &Rc<Attendance>) -> Result<Repository, Refused> {
    let workspace = crew.settings.place.workspace.clone();
    let opened = blocking(move || Repository::open(&workspace).map_err(|e| e.to_string()));
    opened.await.map_err(not_merged)
}

/// The files are those of the team's branch, and its gate is on record as green for its tip. The
/// branch alone says nothing: a person may have committed there, a playbook may have written to it,
/// a task may have passed a gate of its own, and the gate may be another by now.
fn has_passed(crew: &Rc<Attendance>, setup: &Setup, ready: &ReadyMerge) -> bool {
    let tip = ready.tip.as_str();
    ready.is_the_teams && crew.board.with_state(|state| is_green(state, tip, &setup.gate))
}

/// What the gate runs on, in words.
fn gated_as(ready: &ReadyMerge) -> String {
    let team = format!("shipmate/{}", ready.team);
    if ready.is_the_teams { team } else { format!("{} with {team}", ready.branch) }
}

async fn gate_on_result(
    crew: &Rc<Attendance>,
    job: &Job,
    team: &Name,
    setup: &Setup,
    ready: &ReadyMerge,
    on: &str,
) -> Result<GateResult, Refused> {
    let commit = match ready.is_the_teams {
        // The same files; and the record is about the branch itself.
        true => ready.tip.clone(),
        false => {
            let (repository, ready) = (open(crew).await?, ready.clone());
            let made = blocking(move || repository.commit_of(&ready).map_err(|e| e.to_string()));
            made.await.map_err(not_merged)?
        }
    };
    let _turn = turn(crew, job).await;
    let what = format!("gate on {on}");
    tell(job, &what);
    let result = Bench::default().gate_alone(crew, team, setup, &commit, &what).await;
    result.map_err(not_merged)
}

fn require_green(result: &GateResult, on: &str, remedy: &str) -> Result<(), Refused> {
    match result.passed {
        true => Ok(()),
        false if result.killed => {
            let evidence = &result.evidence;
            let text = format!("the gate did not come to its end on {on}: {evidence}");
            Err(refused(
                Code::GateKilled,
                text,
                "nothing was changed: make room for it and try again",
            ))
        }
        false => {
            let evidence = &result.evidence;
            let text = format!("the gate is red on {on}; nothing was changed: {evidence}");
            Err(refused(Code::GateRed, text, remedy))
        }
    }
}

fn by_hand(team: &Name) -> String {
    format!(
        "resolve it by hand: `git merge shipmate/{team}`; then `shipmate --team {team} team update` \
         brings the result to the team"
    )
}

fn not_merged(text: impl ToString) -> Refused {
    failed(Code::NotMerged, text)
}

fn not_updated(text: impl ToString) -> Refused {
    failed(Code::NotUpdated, text)
}

async fn feature_branches(
    crew: &Rc<Attendance>,
    team: &Name,
    wanted: Wanted,
    mut merged: Merged,
) -> Result<Merged, Refused> {
    let (repository, name) = (open(crew).await?, team.to_string());
    let made = blocking(move || {
        let made = repository.feature_branches(&name, &wanted.base, &wanted.features);
        made.map_err(|e| e.to_string())
    });
    for branch in made.await.map_err(not_merged)? {
        note_feature(&mut merged, branch);
    }
    Ok(merged)
}

fn note_feature(merged: &mut Merged, branch: FeatureBranch) {
    match branch {
        FeatureBranch::Made { branch, .. } => merged.branches.push(branch),
        FeatureBranch::Exists { branch, .. } => {
            merged.notes.push(format!("{branch} exists and holds something else: delete it first"));
        }
        FeatureBranch::Empty { feature } => merged.notes.push(format!("{feature} changed nothing")),
        FeatureBranch::Needs { feature, task, features, files } => {
            let needs = match features.as_slice() {
                [] => "what your branch got since the team began".to_owned(),
                features => format!("{} first", features.join(", ")),
            };
            let files = files.join(", ");
            let note = format!("{feature} has no branch: task {task} needs {needs} (in {files})");
            merged.notes.push(note);
        }
    }
}
