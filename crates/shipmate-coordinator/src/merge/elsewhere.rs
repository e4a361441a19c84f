//! What a merge gets from other machines, and leaves for them. While the server is away the queue waits, as
//! everything does.

use std::rc::Rc;

use shipmate_model::Name;
use shipmate_workspace::{Commit, WorkKey};

use super::Submission;
use crate::crew::Crew;
use crate::crew::code::{self, Announced, NotThere};

/// How often what must be in the store is asked for again, once a second.
const ABSENT_MAX: u32 = 10;

/// Gets what was handed in on another host; why it did not come, if trying again does not help. While
/// the server is away the queue waits, as everything does.
pub(super) async fn not_come(crew: &Rc<Crew>, one: &Submission) -> Option<String> {
    let here = crew.here.as_ref()?;
    let commit = one.commit.as_deref().and_then(Commit::parse)?;
    let mut absent = 0;
    loop {
        let key = WorkKey { team: one.team.to_string(), task: one.task, token: one.token };
        match code::receive(crew, here, key, commit.clone()).await {
            Ok(()) => return None,
            // An agent may have named a commit by itself: it is in the tree of its life.
            Err(NotThere::Absent(_)) if crew.order_of(&one.who).is_some() => return None,
            // It was stored before anybody was told of it, so most likely a server has to catch up.
            Err(NotThere::Absent(reason)) if absent < ABSENT_MAX => {
                absent += 1;
                crew.wait_for_line(&reason).await;
            }
            Err(NotThere::Absent(_)) => {
                return Some("its work did not come to the home; hand it in again".to_owned());
            }
            Err(NotThere::Never(reason)) => return Some(reason),
            Err(NotThere::Later(reason)) => crew.wait_for_line(&reason).await,
        }
        if !still_waits(crew, one) {
            return Some("it was taken back".to_owned());
        }
    }
}

/// A machine that has become the home begins with what has landed elsewhere.
pub(super) async fn brought_here(crew: &Rc<Crew>, team: &Name) -> Result<(), String> {
    let Some(here) = &crew.here else { return Ok(()) };
    let mut absent = 0;
    loop {
        match code::fetch(crew, here, team).await {
            Ok(()) => return Ok(()),
            Err(NotThere::Absent(reason)) if absent < ABSENT_MAX => {
                absent += 1;
                crew.wait_for_line(&reason).await;
            }
            Err(NotThere::Absent(reason) | NotThere::Never(reason)) => return Err(reason),
            Err(NotThere::Later(reason)) => crew.wait_for_line(&reason).await,
        }
    }
}

/// Every host can get what has landed before anybody is told that it has.
pub(super) async fn published(crew: &Rc<Crew>, team: &Name) -> Result<(), String> {
    let Some(here) = &crew.here else { return Ok(()) };
    loop {
        match code::publish(crew, here, Some(team)).await {
            Ok(()) => return Ok(()),
            Err(NotThere::Never(reason)) => return Err(reason),
            Err(failed) => crew.wait_for_line(&failed.reason()).await,
        }
    }
}

/// The same for a branch that is about to move from one commit to the next, whoever moves it.
pub(crate) async fn announced(
    crew: &Rc<Crew>,
    (team, branch): (&Name, &Name),
    way: (&Commit, &Commit),
) -> Result<Announced, String> {
    let Some(here) = &crew.here else { return Ok(Announced::Said) };
    loop {
        match code::announce(crew, here, (team, branch), way).await {
            Ok(announced) => return Ok(announced),
            Err(NotThere::Never(reason)) => return Err(reason),
            Err(failed) => crew.wait_for_line(&failed.reason()).await,
        }
    }
}

/// The submission is still the one that its task waits with.
pub(super) fn still_waits(crew: &Rc<Crew>, one: &Submission) -> bool {
    crew.board.with_state(|state| {
        state.submissions().any(|task| {
            task.id == one.task && task.claim().is_some_and(|claim| claim.token == one.token)
        })
    })
}
