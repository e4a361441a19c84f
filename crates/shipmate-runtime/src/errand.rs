//! Requests that take more than the board: processes, hooks and git.
//!
//! They run beside the board, so nobody waits for them who did not ask. What changes the
//! team still goes through it.

mod diff;
mod founding;
mod planned;
pub(crate) mod staffed;

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use shipmate_core::state::Life;
use shipmate_core::{Act, Actor, Name, TeammateRef};
use shipmate_process::Marker;
use shipmate_protocol::view::{HookTry, Leftover, Merged, Resumed, Survey};
use shipmate_protocol::{Answer, Ask, Refused};

use crate::board::{Board, Job};
use crate::crew::{Crew, hooked};
use crate::hooks::{HookEvent, How, Payload};
use crate::open::refused;
use crate::playbook::{self, closing};
use crate::programs;
use crate::settings::Settings;
use crate::supervisor::off_the_thread;
use crate::translate;
use crate::workspace::{Commit, Feature, FeatureBranch, Repository, UserMerge};
pub(crate) use founding::begin;
use staffed::staffed;

/// How often in a row the idle hook may send a teammate back to work that gets no new task.
pub(crate) const IDLE_REJECTIONS_MAX: u32 = 3;

fn failed(code: &str, text: impl ToString) -> Refused {
    refused(code, text.to_string(), "")
}

/// Takes a request that the board alone cannot answer; gives back one that it can.
pub(crate) fn take(board: &Rc<Board>, job: Job) -> Option<Job> {
    let crew = board.crew.borrow().clone()?;
    let mut job = job;
    if let Ask::TeammateAdd(add) = &mut job.ask
        && let Err(refused) = staffed(&crew, &job.actor, add)
    {
        job.connection.took_request();
        job.reply(Err(refused));
        return None;
    }
    if let Ask::PlanSubmit { work: Some(work), .. } = &mut job.ask {
        planned::staff(&crew, &job.actor, work);
    }
    match &job.ask {
        Ask::Attend | Ask::Progress { .. } | Ask::Alive { .. } | Ask::Stay | Ask::Leave => {
            sign(&crew, &job);
            None
        }
        Ask::Attach { .. }
        | Ask::Signs
        | Ask::Resume
        | Ask::Merge { .. }
        | Ask::Leftovers { .. }
        | Ask::PhasesClose
        | Ask::TaskDiff { .. }
            if job.actor != Actor::Person =>
        {
            let text = format!("{} may not do that: it is for a person", job.actor);
            job.connection.took_request();
            job.reply(Err(refused("NotAllowed", text, "ask the person")));
            None
        }
        Ask::Attach { name } => {
            let answer = attach(&crew, &job, name);
            job.connection.took_request();
            job.reply(answer);
            None
        }
        Ask::Signs => {
            crew.show_signs(&job.connection);
            job.connection.took_request();
            job.reply(Ok(Answer::Unchanged));
            None
        }
        Ask::Resume | Ask::Merge { .. } | Ask::Leftovers { .. } => {
            beside(&crew, job, run);
            None
        }
        Ask::TaskDiff { .. } => {
            beside(&crew, job, diff::show);
            None
        }
        Ask::PhasesClose => {
            beside(&crew, job, |crew, job| async move {
                closing::close(&crew).await;
                job.reply(Ok(Answer::Unchanged));
            });
            None
        }
        Ask::TaskCreate { .. } | Ask::PlanApprove { .. }
            if crew.has_hooks(HookEvent::TaskCreated) =>
        {
            beside(&crew, job, after_hooks);
            None
        }
        Ask::PlanSubmit { .. } if crew.has_hooks(HookEvent::PlanSubmitted) => {
            beside(&crew, job, after_hooks);
            None
        }
        Ask::TeamContinue => {
            // Somebody may have committed by hand what a phase waits for.
            crew.phases.nudge();
            crew.board.look();
            Some(job)
        }
        Ask::TeammateIdle { .. } if crew.has_hooks(HookEvent::TeammateIdle) => {
            beside(&crew, job, after_hooks);
            None
        }
        Ask::TaskSubmit { commit: None, .. } | Ask::TaskSubmitNext { commit: None, .. }
            if crew.has_tree(&job.actor) =>
        {
            let text = "work in a tree is handed in by its commit".to_owned();
            let remedy = "commit it and name the commit, or end with exit code 0: your supervisor \
                          commits and hands in what is there";
            job.connection.took_request();
            job.reply(Err(refused("CommitNeeded", text, remedy)));
            None
        }
        _ => Some(job),
    }
}

fn beside<F>(crew: &Rc<Crew>, job: Job, errand: impl FnOnce(Rc<Crew>, Job) -> F)
where
    F: Future<Output = ()> + 'static,
{
    job.connection.took_request();
    crew.beside(errand(Rc::clone(crew), job));
}

/// A supervisor's sign of life or progress; nothing of it is recorded.
fn sign(crew: &Rc<Crew>, job: &Job) {
    job.connection.took_request();
    let Actor::Teammate(who) = &job.actor else {
        return job.reply(Err(failed("NotTheirs", "only a teammate's supervisor attends")));
    };
    match &job.ask {
        Ask::Attend => crew.attend(who, &job.connection),
        Ask::Alive { asked } => crew.alive(who, *asked),
        Ask::Progress { bytes, last_words, context } => {
            crew.progress(who, *bytes, last_words, *context);
        }
        Ask::Stay => crew.stay(who, &job.connection),
        Ask::Leave => crew.leave(who),
        _ => {}
    }
    job.reply(Ok(Answer::Unchanged));
}

fn attach(crew: &Rc<Crew>, job: &Job, name: &str) -> Result<Answer, Refused> {
    let team = job.about(&crew.board.root);
    let (team, name) = match name.split_once('/') {
        Some((team, name)) => (translate::name(team)?, translate::name(name)?),
        None => (team, translate::name(name)?),
    };
    let address = shipmate_core::Address { team, name };
    let epoch = crew.board.with_state(|state| state.member(&address).map(|mate| mate.epoch));
    let Some(epoch) = epoch else {
        let text = format!("there is no teammate {address}");
        return Err(refused("UnknownTeammate", text, "`shipmate teammate list` names them"));
    };
    let who = TeammateRef { address, epoch };
    let output = crew.attach(&who, &job.connection).display().to_string();
    Ok(Answer::Attached { output, who: who.to_string() })
}

async fn run(crew: Rc<Crew>, job: Job) {
    let answer = match &job.ask {
        Ask::Resume => Ok(Answer::Resumed(resume(&crew, &job.actor).await)),
        Ask::Merge { branches } => {
            let team = job.about(&crew.board.root);
            merge(&crew, &team, *branches).await.map(|merged| Answer::Merged(Box::new(merged)))
        }
        _ => {
            let remove = matches!(job.ask, Ask::Leftovers { remove: true });
            let own = crew.board.with_state(|state| {
                state.teams.keys().map(ToString::to_string).collect::<BTreeSet<_>>()
            });
            let found = leftovers(&crew.settings, own, |marker| crew.owns(marker), remove).await;
            let unfinished = unfinished(&crew).await;
            found.map(|found| Answer::Leftovers(found.into_iter().chain(unfinished).collect()))
        }
    };
    job.reply(answer);
}

/// Lets a paused team go on, and says what became of each teammate.
async fn resume(crew: &Rc<Crew>, by: &Actor) -> Vec<Resumed> {
    let board = &crew.board;
    board.settled().await;
    let paused: Vec<Name> = board.with_state(|state| {
        let paused = state.teams.iter().filter(|(_, team)| team.paused.is_some());
        paused.map(|(name, _)| name.clone()).collect()
    });
    for team in paused {
        board.tell_as(by.clone(), Act::ContinueTeam { team });
    }
    board.settled().await;
    let adopted = crew.adopted.borrow().clone();
    board.with_state(|state| {
        let present = state.teammates.iter().filter(|(_, mate)| mate.life != Life::Removed);
        let views = present.map(|(address, mate)| {
            let who = TeammateRef { address: address.clone(), epoch: mate.epoch };
            let session = match mate.session.as_str() {
                "" => String::new(),
                session => format!(", session {session}"),
            };
            let (how, why) = match &mate.life {
                Life::Running if adopted.contains(&who) => {
                    ("resumed", "its process went on without interruption".to_owned())
                }
                Life::Running if mate.epoch > 1 => {
                    ("restarted", format!("as epoch {}, in its old tree{session}", mate.epoch))
                }
                Life::Running => ("resumed", "it runs".to_owned()),
                Life::Added => ("waits", "not started yet: there is no task for it".to_owned()),
                Life::Disappeared { reason } if mate.profile.command.is_empty() => {
                    ("lost", format!("{reason}; start it by hand"))
                }
                Life::Disappeared { .. } => ("waits", "there is no task for it now".to_owned()),
                Life::Stopped { .. } if !mate.profile.command.is_empty() && !mate.dismissed => {
                    ("waits", "it had stopped; it starts when there is a task for it".to_owned())
                }
                _ => {
                    let name = &address.name;
                    ("lost", format!("it was stopped; `shipmate teammate start {name}` starts it"))
                }
            };
            Resumed { name: address.to_string(), how: how.to_owned(), why }
        });
        views.collect()
    })
}

/// Brings the team's work to the person.
async fn merge(crew: &Rc<Crew>, team: &Name, branches: bool) -> Result<Merged, Refused> {
    let no_trees = || {
        let text = format!("team {team} works without a repository");
        refused("NoTrees", text, "its work is in the workspace itself (--trees none)")
    };
    let (base, tasks, features) = crew
        .board
        .with_state(|state| {
            let base = state.teams.get(team)?.setup.trees.as_ref()?.base.clone();
            // Departments land on the branch of the team above them.
            let lands = |own: &Name| state.teams[own].setup.branch(own) == team;
            let done = state.tasks().iter().filter(|task| lands(&task.team));
            let done = done.filter(|task| task.status_word() == "completed");
            let mut features: std::collections::BTreeMap<String, Vec<u32>> = Default::default();
            let mut tasks = Vec::new();
            for task in done {
                let own = || format!("task-{}", task.id);
                let name = task.spec.group.as_ref().map_or_else(own, ToString::to_string);
                features.entry(name).or_default().push(task.id);
                tasks.push(task.id);
            }
            Some((base, tasks, features))
        })
        .ok_or_else(no_trees)?;
    if tasks.is_empty() {
        let text = format!("no task of team {team} is completed yet");
        return Err(refused("NothingDone", text, "`shipmate status` shows how far they are"));
    }
    let base = Commit::parse(&base).ok_or_else(no_trees)?;
    let (workspace, name) = (crew.settings.place.workspace.clone(), team.to_string());
    let work = move || {
        let repository = Repository::open(&workspace).map_err(|e| e.to_string())?;
        let mut merged = Merged { branch: format!("shipmate/{name}"), tasks, ..Merged::default() };
        if branches {
            let features: Vec<Feature> =
                features.into_iter().map(|(name, tasks)| Feature { name, tasks }).collect();
            let made = repository.feature_branches(&name, &base, &features);
            for branch in made.map_err(|e| e.to_string())? {
                note_feature(&mut merged, branch);
            }
            return Ok(merged);
        }
        match repository.merge_into_user(&name).map_err(|e| e.to_string())? {
            UserMerge::Merged { branch, commit } => {
                merged.commit = Some(commit.to_string());
                merged.notes.push(format!("merged into {branch}"));
            }
            UserMerge::AlreadyMerged { branch } => {
                merged.notes.push(format!("{branch} has all of it already"));
            }
            UserMerge::Conflict { branch, files, .. } => {
                return Err(format!(
                    "it conflicts with {branch} in {}; nothing was changed: merge shipmate/{name} \
                     by hand, or bring {branch} to the team first",
                    files.join(", ")
                ));
            }
        }
        Ok(merged)
    };
    off_the_thread(work).await.map_err(|text| failed("NotMerged", text))
}

fn note_feature(merged: &mut Merged, branch: FeatureBranch) {
    match branch {
        FeatureBranch::Made { branch, .. } => merged.branches.push(branch),
        FeatureBranch::Exists { branch, .. } => {
            merged.notes.push(format!("{branch} exists and holds something else: delete it first"));
        }
        FeatureBranch::Empty { feature } => merged.notes.push(format!("{feature} changed nothing")),
        FeatureBranch::Needs { feature, task, features, files } => merged.notes.push(format!(
            "{feature} has no branch: task {task} needs {} first (in {})",
            features.join(", "),
            files.join(", ")
        )),
    }
}

/// What a run would begin with here.
async fn survey(settings: &Settings) -> Result<Survey, Refused> {
    let workspace = settings.place.workspace.clone();
    let look = move || look(&workspace);
    off_the_thread(look).await.map_err(|text| failed("NoRepository", text))
}

fn look(workspace: &Path) -> Result<Survey, String> {
    let repository = Repository::open(workspace).map_err(|e| e.to_string())?;
    let head = repository.head().map_err(|e| e.to_string())?;
    let condition = repository.condition().map_err(|e| e.to_string())?;
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
    Ok(Survey { base: head.commit.to_string(), branch: head.branch, dirty, notes })
}

/// What shipmate has left on this machine that nothing needs any more.
async fn leftovers(
    settings: &Settings,
    own: BTreeSet<String>,
    owns: impl Fn(&Marker) -> bool,
    remove: bool,
) -> Result<Vec<Leftover>, Refused> {
    let mut found = Vec::new();
    let folders = settings.place.teams().read_dir().into_iter().flatten();
    let roots: Vec<String> =
        folders.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    // Another tree of teams knows its own departments, and only it: what may be one's is left.
    let alone = roots.iter().all(|root| own.contains(root));
    for (pid, marker) in shipmate_process::marked(&settings.place.digest()) {
        let team = marker.label().split('.').next().unwrap_or_default();
        let anothers = !alone && !own.contains(team);
        let ours = matches!(marker.kind(), "coordinator" | "supervisor") || owns(&marker);
        if ours || anothers {
            continue;
        }
        if remove {
            shipmate_process::sweep(&marker, settings.agents.stop_grace).await;
        }
        found.push(Leftover {
            kind: "process".to_owned(),
            team: team.to_owned(),
            name: pid.as_raw_nonzero().to_string(),
            why: format!("{} {} has nobody any more", marker.kind(), marker.label()),
            removed: remove,
        });
    }
    if !alone {
        return Ok(found);
    }
    let workspace = settings.place.workspace.clone();
    let refs = off_the_thread(move || {
        let Ok(repository) = Repository::open(&workspace) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let left = repository.leftovers().map_err(|e| e.to_string())?;
        for left in left.into_iter().filter(|left| !own.contains(&left.team)) {
            let removed = remove && repository.remove(&left).is_ok();
            found.push(Leftover {
                kind: format!("{:?}", left.kind).to_lowercase(),
                name: left.refname,
                why: format!("the team {} is gone; it is at {}", left.team, left.commit.short()),
                team: left.team,
                removed,
            });
        }
        Ok(found)
    });
    found.extend(refs.await.map_err(|text| failed("NoRepository", text))?);
    Ok(found)
}

/// Work in progress of lives that have ended, in trees that wait for their next one.
async fn unfinished(crew: &Crew) -> Vec<Leftover> {
    let trees = crew.settings.place.team(crew.board.root.as_str()).join("trees");
    let workspace = crew.settings.place.workspace.clone();
    let left = off_the_thread(move || Ok(crate::supervisor::unfinished(&workspace, &trees)));
    let left = left.await.unwrap_or_default();
    crew.board.with_state(|state| {
        let open = left.into_iter().filter(|(_, task, token)| {
            let task = state.task(*task);
            let held = task.and_then(|task| task.claim()).is_some_and(|c| c.token == *token);
            !held && task.is_some_and(|task| task.status_word() != "completed")
        });
        let told = open.map(|(path, task, _)| Leftover {
            kind: "unfinished".to_owned(),
            team: crew.board.root.to_string(),
            name: path.display().to_string(),
            why: format!("work on task {task} lies here and was not handed in"),
            removed: false,
        });
        told.collect()
    })
}

/// Requests that need no team at all.
pub(crate) async fn without_team(settings: &Settings, ask: &Ask) -> Result<Answer, Refused> {
    match ask {
        Ask::Agents => Ok(Answer::Agents(programs::here(settings).await)),
        Ask::Playbooks | Ask::PlaybookShow { .. } | Ask::PlaybookCheck { .. } => {
            playbook::shown::answer(&settings.place, ask)
        }
        Ask::TryHooks => try_hooks(settings).await.map(Answer::HooksTried),
        Ask::Leftovers { remove } => {
            leftovers(settings, BTreeSet::new(), |_| false, *remove).await.map(Answer::Leftovers)
        }
        _ => survey(settings).await.map(|found| Answer::Survey(Box::new(found))),
    }
}

async fn try_hooks(settings: &Settings) -> Result<Vec<HookTry>, Refused> {
    let cwd = settings.place.workspace.clone();
    let hooks = hooked::live(settings).map_err(|text| failed("BadHooks", text))?;
    let mut tried = Vec::new();
    for event in HookEvent::ALL {
        let sample = Payload::sample(event, &cwd.display().to_string());
        let fired = hooked::fire_all(settings, &hooks, &sample, &cwd).await;
        let fired = fired.map_err(|text| failed("BadHooks", text))?;
        tried.extend(fired.runs.into_iter().map(|run| {
            let (result, detail) = match run.how {
                How::Accepted => ("accepts", String::new()),
                How::Rejected => ("rejects", run.stderr),
                How::TimedOut => ("hangs", run.stderr),
                How::NotStarted(reason) => ("missing", reason),
                How::Failed(exit) => ("fails", format!("{exit}: {}", run.stderr)),
            };
            HookTry {
                event: event.to_string(),
                hook: run.hook.command.to_string(),
                result: result.to_owned(),
                detail,
                took_ms: run.took.as_millis() as u64,
            }
        }));
    }
    for stranger in hooks.strangers() {
        tried.push(HookTry {
            hook: stranger.display().to_string(),
            result: "unknown".to_owned(),
            detail: "no event has this name".to_owned(),
            ..HookTry::default()
        });
    }
    Ok(tried)
}

/// Asks the hooks first; the board only hears of what they accept.
async fn after_hooks(crew: Rc<Crew>, job: Job) {
    let mut job = job;
    let cwd = crew.settings.place.workspace.clone();
    let team = job.about(&crew.board.root);
    let idle = match (&job.actor, &job.ask) {
        (Actor::Teammate(who), Ask::TeammateIdle { .. }) => Some(who.clone()),
        _ => None,
    };
    let enough = idle.as_ref().is_some_and(|who| crew.sent_back_often(who));
    if enough && let Ask::TeammateIdle { reason } = &mut job.ask {
        reason.push_str(&format!("; the idle hook rejected that {IDLE_REJECTIONS_MAX} times"));
    }
    let payloads = if enough { Vec::new() } else { payloads(&crew, &job, &team, &cwd) };
    for payload in payloads {
        if let Err(reason) = crew.fire(&team, &payload, &cwd).await {
            if let Some(who) = &idle {
                crew.send_back(who);
            }
            return job.reply(Err(refused("HookRejected", reason, "")));
        }
    }
    job.connection.settled_request();
    crew.board.push(job);
}

fn payloads(crew: &Crew, job: &Job, team: &Name, cwd: &Path) -> Vec<Payload> {
    let by = match &job.actor {
        Actor::Teammate(who) => Some(who),
        _ => None,
    };
    let of = |event| Payload {
        teammate_name: by.map(|who| who.address.name.to_string()),
        agent_id: by.map(ToString::to_string),
        agent_type: by.map(|who| who.address.name.to_string()),
        ..crew.payload(event, team, cwd)
    };
    match &job.ask {
        Ask::TaskCreate { tasks } => {
            let next = crew.board.with_state(|state| state.tasks().len() + 1);
            let numbered = tasks.iter().enumerate().map(|(index, task)| Payload {
                task_id: Some((next + index).to_string()),
                task_subject: Some(task.subject.clone()),
                task_description: Some(task.description.clone()),
                ..of(HookEvent::TaskCreated)
            });
            numbered.collect()
        }
        // Those of a lead's plan are made by its approval.
        Ask::PlanApprove { plan } => crew.board.with_state(|state| {
            let work = state.plans.get(plan).and_then(|plan| plan.work.as_deref());
            let tasks = work.map(|work| work.tasks.as_slice()).unwrap_or_default();
            let next = state.tasks().len() + 1;
            let numbered = tasks.iter().enumerate().map(|(index, task)| Payload {
                task_id: Some((next + index).to_string()),
                task_subject: Some(task.spec.subject.clone()),
                task_description: Some(task.spec.description.clone()),
                ..of(HookEvent::TaskCreated)
            });
            numbered.collect()
        }),
        Ask::PlanSubmit { task, body, .. } => vec![Payload {
            task_id: task.clone(),
            plan: Some(body.clone()),
            ..of(HookEvent::PlanSubmitted)
        }],
        Ask::TeammateIdle { reason } => {
            vec![Payload { reason: Some(reason.clone()), ..of(HookEvent::TeammateIdle) }]
        }
        _ => Vec::new(),
    }
}
