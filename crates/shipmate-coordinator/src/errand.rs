//! Requests that take more than the board: processes, hooks and git.
//!
//! They run beside the board, so nobody waits for them who did not ask. What changes the
//! team still goes through it.

mod diff;
mod founding;
mod leftovers;
mod merge;
mod planned;
mod resume;
mod survey;

use std::path::Path;
use std::rc::Rc;

use shipmate_model::{Actor, Name, TeammateRef};
use shipmate_protocol::view::HookTry;
use shipmate_protocol::{Answer, Ask, Refused};

use crate::attendance::Attendance;
use crate::board::Job;
use crate::crew::hooked::IDLE_REJECTIONS_MAX;
use crate::crew::{Comes, hooked};
use crate::hooks::{HookEvent, How, Payload};
use crate::phases::{artifact, closing};
use crate::settings::Settings;
use crate::staffing::money;
use crate::staffing::staffed::{self, Line, staffed};
use crate::translate;
pub(crate) use founding::begin;
pub(crate) use leftovers::{Cleaning, left_of, left_of_department, leftovers};
pub(crate) use merge::settle_at_start;
use merge::{merge, update};
use resume::resume;
use shipmate_programs::fence;
use shipmate_programs::programs;
use shipmate_protocol::refused;
use survey::survey;

fn failed(code: &str, text: impl ToString) -> Refused {
    refused(code, text.to_string(), "")
}

/// Takes a request that the board alone cannot answer; gives back one that it can.
pub(crate) fn take(crew: &Rc<Attendance>, job: Job) -> Option<Job> {
    let mut job = job;
    match prepare(crew, &mut job) {
        Ok(lines) if lines.is_empty() => route(crew, job),
        Ok(lines) => {
            beside(crew, job, |crew, job| after_look(crew, job, lines));
            None
        }
        Err(refused) => {
            job.connection.took_request();
            job.reply(Err(refused));
            None
        }
    }
}

/// Fills in who stands behind the teammates that a request is about. Gives back the commands that
/// have to be looked at before the board hears of it.
fn prepare(crew: &Attendance, job: &mut Job) -> Result<Vec<Line>, Refused> {
    money::limits(crew, job)?;
    let team = job.about(&crew.board.root);
    match &mut job.ask {
        Ask::TeammateAdd(add) => {
            staffed(crew, &job.actor, &team, add).map(|line| line.into_iter().collect())
        }
        // A lead says what those who join work with, and changes nobody.
        Ask::TeamSet(set) if matches!(job.actor, Actor::Teammate(_)) => {
            set.agents.clear();
            Ok(Vec::new())
        }
        Ask::TeamSet(set) => staffed::set(crew, &team, set),
        Ask::PlanSubmit { work: Some(work), .. } => Ok(planned::staff(crew, &job.actor, work)),
        _ => Ok(Vec::new()),
    }
}

/// What the commands of a request are is looked at beside the board, which goes on meanwhile.
async fn after_look(crew: Rc<Attendance>, mut job: Job, lines: Vec<Line>) {
    if let Err(refused) = staffed::require_runnable(&crew, lines).await {
        match &mut job.ask {
            // A problem of the plan like any other, told with the rest.
            Ask::PlanSubmit { work: Some(work), .. } => work.problems.push(refused.one_line()),
            _ => return job.reply(Err(refused)),
        }
    }
    let connection = Rc::clone(&job.connection);
    if let Some(job) = route(&crew, job) {
        crew.board.push(job);
    }
    // Only now: in between it would count as answered.
    connection.settled_request();
}

/// Begins what the board alone cannot do; gives back what it can.
fn route(crew: &Rc<Attendance>, job: Job) -> Option<Job> {
    match &job.ask {
        Ask::Attend
        | Ask::Progress { .. }
        | Ask::Alive { .. }
        | Ask::Stay
        | Ask::StayOnce
        | Ask::Leave => {
            sign(crew, &job);
            None
        }
        Ask::Attach { .. }
        | Ask::Signs
        | Ask::Resume
        | Ask::Merge { .. }
        | Ask::TeamUpdate
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
            let answer = attach(crew, &job, name);
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
        Ask::Resume | Ask::Merge { .. } | Ask::TeamUpdate => {
            beside(crew, job, run);
            None
        }
        Ask::TaskDiff { .. } => {
            beside(crew, job, diff::show);
            None
        }
        Ask::PhasesClose => {
            beside(crew, job, |crew, job| async move {
                closing::close(&crew.phases).await;
                job.reply(Ok(Answer::Unchanged));
            });
            None
        }
        Ask::TaskCreate { .. } | Ask::PlanApprove { .. }
            if crew.has_hooks(HookEvent::TaskCreated) =>
        {
            beside(crew, job, after_hooks);
            None
        }
        Ask::PlanSubmit { .. } if crew.has_hooks(HookEvent::PlanSubmitted) => {
            beside(crew, job, after_hooks);
            None
        }
        Ask::TeamContinue | Ask::PhaseApprove { .. } => {
            // Somebody may have committed by hand what a phase waits for.
            crew.phases.nudge();
            crew.board.look();
            Some(job)
        }
        Ask::TeammateIdle { .. }
            if crew.has_hooks(HookEvent::TeammateIdle) && !crew.is_one_shot(&job.actor) =>
        {
            beside(crew, job, after_hooks);
            None
        }
        Ask::TaskSubmit { commit: None, .. } | Ask::TaskSubmitNext { commit: None, .. }
            if crew.has_tree(&job.actor) =>
        {
            let text = "work in a tree is handed in by its commit".to_owned();
            let remedy = "commit it and name the commit, or end with exit code 0: your supervisor \
                          commits and hands in what is there. Where no change is needed, write why \
                          into the file that SHIPMATE_RESULT names first";
            job.connection.took_request();
            job.reply(Err(refused("CommitNeeded", text, remedy)));
            None
        }
        _ => Some(job),
    }
}

fn beside<F>(crew: &Rc<Attendance>, job: Job, errand: impl FnOnce(Rc<Attendance>, Job) -> F)
where
    F: Future<Output = ()> + 'static,
{
    job.connection.took_request();
    crew.beside(errand(Rc::clone(crew), job));
}

/// A supervisor's sign of life or progress; nothing of it is recorded.
fn sign(crew: &Rc<Attendance>, job: &Job) {
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
        Ask::Stay => crew.stay(who, &job.connection, Comes::Back),
        Ask::StayOnce => crew.stay(who, &job.connection, Comes::Once),
        Ask::Leave => crew.leave(who),
        _ => {}
    }
    job.reply(Ok(Answer::Unchanged));
}

fn attach(crew: &Rc<Attendance>, job: &Job, name: &str) -> Result<Answer, Refused> {
    let team = job.about(&crew.board.root);
    let (team, name) = match name.split_once('/') {
        Some((team, name)) => (translate::name(team)?, translate::name(name)?),
        None => (team, translate::name(name)?),
    };
    let address = shipmate_model::Address { team, name };
    let epoch = crew.board.with_state(|state| state.member(&address).map(|mate| mate.epoch));
    let Some(epoch) = epoch else {
        let text = format!("there is no teammate {address}");
        return Err(refused("UnknownTeammate", text, "`shipmate teammate list` names them"));
    };
    let who = TeammateRef { address, epoch };
    let output = crew.attach(&who, &job.connection).display().to_string();
    Ok(Answer::Attached { output, who: who.to_string() })
}

async fn run(crew: Rc<Attendance>, job: Job) {
    let answer = match &job.ask {
        Ask::Resume => {
            let team = job.about(&crew.board.root);
            resume(&crew, &job.actor, &team).await.map(Answer::Resumed)
        }
        Ask::Merge { branches, no_gate } => {
            let team = job.about(&crew.board.root);
            let merged = merge(&crew, &job, &team, *branches, *no_gate).await;
            merged.map(|merged| Answer::Merged(Box::new(merged)))
        }
        Ask::TeamUpdate => {
            let team = job.about(&crew.board.root);
            update(&crew, &job, &team).await.map(|merged| Answer::Merged(Box::new(merged)))
        }
        other => unreachable!("{other:?} is no errand of a team"),
    };
    job.reply(answer);
}

/// Requests that need no team at all.
pub(crate) async fn without_team(
    settings: &Settings,
    by: &Actor,
    ask: &Ask,
) -> Result<Answer, Refused> {
    match ask {
        Ask::Agents => Ok(Answer::Agents(programs::here(&settings.place, &settings.agents).await)),
        Ask::Playbooks | Ask::PlaybookShow(_) | Ask::PlaybookCheck { .. } => {
            shipmate_playbook::shown::answer(&settings.place, by, ask).await
        }
        Ask::TryHooks => try_hooks(settings).await.map(Answer::HooksTried),
        Ask::Leftovers { remove, force } => {
            leftovers(settings, &[], &[], Cleaning { remove: *remove, force }).await
        }
        _ => survey(settings).await.map(|found| Answer::Survey(Box::new(found))),
    }
}

async fn try_hooks(settings: &Settings) -> Result<Vec<HookTry>, Refused> {
    let tried = try_each_hook(settings).await;
    drop(std::fs::remove_dir_all(fence::passing()));
    tried
}

async fn try_each_hook(settings: &Settings) -> Result<Vec<HookTry>, Refused> {
    let cwd = settings.place.workspace.clone();
    let hooks = hooked::live(settings).map_err(|text| failed("BadHooks", text))?;
    let mut tried = Vec::new();
    for event in HookEvent::ALL {
        let sample = Payload::sample(event, &cwd.display().to_string());
        let fired = hooked::fire_all(settings, "", &hooks, &sample, &cwd).await;
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
async fn after_hooks(crew: Rc<Attendance>, job: Job) {
    let mut job = job;
    let team = job.about(&crew.board.root);
    let idle = match (&job.actor, &job.ask) {
        (Actor::Teammate(who), Ask::TeammateIdle { .. }) => Some(who.clone()),
        _ => None,
    };
    let enough = idle.as_ref().is_some_and(|who| crew.sent_back_often(who));
    if enough && let Ask::TeammateIdle { reason } = &mut job.ask {
        reason.push_str(&format!("; the idle hook rejected that {IDLE_REJECTIONS_MAX} times"));
    }
    // Who is overruled asks no hook, and waits for none.
    let asks_idle = idle.is_some() && !enough;
    let _one_at_a_time = match asks_idle {
        true => Some(crew.idle_hook.lock().await),
        false => None,
    };
    let cwd = match asks_idle {
        true => match artifact::settle(&crew.phases, &team).await {
            Ok(()) => crew.idle_ground(&team).await,
            Err(reason) => Err(reason),
        },
        false => Ok(crew.settings.place.workspace.clone()),
    };
    let cwd = match cwd {
        Ok(cwd) => cwd,
        Err(reason) => {
            idle.iter().for_each(|who| crew.send_back(who));
            let reason = format!("the idle hook cannot run: {reason}");
            let remedy = "it runs on a clone of the team's branch: `shipmate doctor` looks at the repository";
            return job.reply(Err(refused("HookRejected", reason, remedy)));
        }
    };
    let payloads = if enough { Vec::new() } else { payloads(&crew, &job, &team, &cwd) };
    for payload in payloads {
        if let Err(reason) = crew.fire(&team, &payload, &cwd).await {
            if let Some(who) = &idle {
                crew.send_back(who);
            }
            return job.reply(Err(refused("HookRejected", reason, "")));
        }
    }
    let connection = Rc::clone(&job.connection);
    crew.board.push(job);
    connection.settled_request();
}

fn payloads(crew: &Attendance, job: &Job, team: &Name, cwd: &Path) -> Vec<Payload> {
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
