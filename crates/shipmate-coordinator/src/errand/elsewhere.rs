//! Requests that another machine has to carry out: the one where the hooks are, where a merge is made,
//! or where a teammate works.
//!
//! They go there as they came and are answered there, in the name of whoever asked. Their records come
//! back by the log: nobody is answered before they are here too.

use std::rc::Rc;

use shipmate_core::state::{Stage, Status};
use shipmate_model::{Actor, Name, TeammateRef};
use shipmate_protocol::{Answer, Code, Refused, refused};

use super::is_of_hook;
use crate::attendance::Attendance;
use crate::board::Job;
use crate::crew::hooked::OTHER_HOOKS;
use crate::host::{Forwarded, Question, Told, Unheard};
use crate::scene;
use crate::verbs::{Errand, Way, way};

/// Another machine of the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) name: Name,
    /// Which machine of that name it is.
    pub(crate) id: String,
}

/// The machine that a request has to go to, where that is not this one.
pub(crate) fn elsewhere(crew: &Attendance, job: &Job) -> Option<Other> {
    crew.here.as_ref()?;
    match way(&job.ask) {
        Way::Decide(verb) => {
            let (event, home) = (verb.hook()?, away_home(crew)?);
            let has_hook = crew.board.with_state(|state| {
                let host = state.hosts.get(&home.name);
                let hooks = host.map(|host| &host.spec.hooks);
                // One that cannot use the team's refuses what they would be asked for.
                hooks.is_some_and(|hooks| {
                    hooks.contains(&event.to_string()) || hooks.contains(OTHER_HOOKS)
                })
            });
            (has_hook && is_of_hook(crew, job, event)).then_some(home)
        }
        Way::Errand(_) if job.actor != Actor::Person => None,
        Way::Errand(Errand::TaskDiff(verb)) => {
            let team = job.about(&crew.board.root);
            let works = crew.board.with_state(|state| {
                let id = scene::task_id(state, &job.actor, &team, &verb.task).ok()?;
                match &state.task(id)?.status {
                    Status::InProgress(claim) => match claim.stage {
                        Stage::Claimed | Stage::Returned { .. } => Some(claim.by.clone()),
                        Stage::Submitted { .. } => None,
                    },
                    _ => None,
                }
            });
            match works {
                Some(who) => of_life(crew, &who),
                None => away_home(crew),
            }
        }
        Way::Errand(Errand::Resume | Errand::TeamUpdate | Errand::PhasesClose) => away_home(crew),
        _ => None,
    }
}

/// The home, where that is another machine.
fn away_home(crew: &Attendance) -> Option<Other> {
    match crew.is_home(&crew.board.root) {
        true => None,
        false => crew.board.with_state(|state| {
            let home = state.home.as_ref()?;
            Some(Other { name: home.clone(), id: state.hosts.get(home)?.spec.place.clone() })
        }),
    }
}

/// Where a life runs, if it runs on another machine.
pub(crate) fn of_life(crew: &Attendance, who: &TeammateRef) -> Option<Other> {
    if crew.here.is_none() || crew.lives_here(who) {
        return None;
    }
    crew.board.with_state(|state| {
        let host = state.teammates.get(&who.address)?.host.as_ref().or(state.home.as_ref())?;
        Some(Other { name: host.clone(), id: state.hosts.get(host)?.spec.place.clone() })
    })
}

pub(super) async fn forward(crew: Rc<Attendance>, job: Job, to: Other) {
    let answer = ask(&crew, &job, &to).await;
    job.reply(answer.and_then(|told| told));
}

async fn ask(crew: &Attendance, job: &Job, to: &Other) -> Result<Result<Answer, Refused>, Refused> {
    let here = crew.here.as_ref().expect("only a host knows others");
    let forwarded = Forwarded {
        root: crew.board.root.clone(),
        actor: job.actor.clone(),
        client: job.client.clone(),
        number: job.id,
        team: job.team.clone(),
        ask: job.ask.clone(),
    };
    let answer = here.ask(&to.id, &Question::Request(Box::new(forwarded))).await;
    let answer = answer.map_err(|unheard| silent(crew, &to.name, &unheard))?;
    let told: Told = serde_json::from_slice(&answer)
        .map_err(|e| silent(crew, &to.name, &Unheard::Answer(e.to_string())))?;
    // What it recorded is seen by whoever looks next.
    let has_it = || crew.board.with_state(|state| state.position >= told.position);
    let mut line = here.line.clone();
    let comes = async {
        while !has_it() && !crew.board.is_closed() && line.is_up() {
            tokio::select! {
                () = crew.board.turned() => {}
                () = line.changed() => {}
            }
        }
    };
    // Decided there it stands, whenever it is seen here.
    drop(tokio::time::timeout(here.lease, comes).await);
    Ok(told.answer)
}

pub(crate) fn silent(crew: &Attendance, host: &Name, unheard: &Unheard) -> Refused {
    let text = match unheard {
        Unheard::Server => return crew.board.away(),
        Unheard::Question(reason) => format!("this is done on host {host}, and {reason}"),
        Unheard::Answer(reason) => format!(
            "this is done on host {host}, and {reason}; it is not known whether it was carried out"
        ),
    };
    let is_home = crew.board.with_state(|state| state.home.as_ref() == Some(host));
    let then = match is_home {
        true => "`shipmate host home NAME` makes another one the home".to_owned(),
        false => format!("`shipmate host remove {host} --now` takes it out"),
    };
    let remedy = format!("`shipmate host list` says when it was heard last; {then}");
    refused(Code::HostSilent, text, &remedy)
}
