//! `shipmate resume`: a team goes on, and each teammate's part in it is told.
//!
//! Whatever held somebody back is over with it: a pause, a breaker, lives that could not work, a
//! request to stop. Whoever is started by it is waited for, so that what is told is what is there:
//! it runs, or it failed again and says why.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use shipmate_core::account;
use shipmate_core::state::{Life, State, Task, TeamPhase, Teammate};
use shipmate_core::{NotStarted, not_started, spent, to_be_started};
use shipmate_model::event::{Supervision, TeamChanges};
use shipmate_model::{Act, Actor, Address, Name, TeammateRef};
use shipmate_protocol::Refused;
use shipmate_protocol::view::Resumed;
use shipmate_workspace::Commit;

use super::survey::survey;
use crate::attendance::Attendance;
use crate::scene;

/// How long whoever is started may take to be there.
const THERE_WITHIN: Duration = Duration::from_secs(20);
/// How long it may take to show that it works: most of what is wrong is seen in that time.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);
/// The same for one that failed before: signs of life are no proof then, its words may be complaints.
const PROVEN_WITHIN: Duration = Duration::from_secs(10);

/// Lets a team and all below it go on, and says what became of each teammate.
pub(super) async fn resume(
    crew: &Rc<Attendance>,
    by: &Actor,
    team: &Name,
) -> Result<Vec<Resumed>, Refused> {
    let board = &crew.board;
    board.settled().await;
    let teams = board.with_state(|state| tree_of(state, team));
    give_base(crew, &teams).await?;
    let before: BTreeMap<Address, u32> = board.with_state(|state| {
        state.teammates.iter().map(|(who, mate)| (who.clone(), mate.epoch)).collect()
    });
    let failed: BTreeSet<Address> = board.with_state(|state| {
        let failed = state.teammates.iter().filter(|(_, mate)| mate.is_given_up());
        failed.map(|(who, _)| who.clone()).collect()
    });
    // Somebody may have committed by hand what a phase waits for.
    crew.phases.nudge();
    for below in &teams {
        // One word answers one question: what a team below asks about is answered by its own name.
        let asks = board.with_state(|state| {
            let pause = state.teams.get(below).and_then(|team| team.paused.as_ref());
            pause.is_some_and(|pause| pause.approval().is_some())
        });
        if below == team || !asks {
            board.tell_as(by.clone(), Act::ContinueTeam { team: below.clone() });
        }
    }
    board.look();
    board.settled().await;
    let started = |state: &State| started_since(state, &teams, &before);
    let all_there = || {
        let nobody_is_wanted = board.with_state(|state| {
            !to_be_started(state).iter().any(|next| teams.contains(&next.who.team))
        });
        nobody_is_wanted && board.with_state(started).iter().all(|who| crew.is_there(who))
    };
    drop(tokio::time::timeout(THERE_WITHIN, until(crew, all_there)).await);
    let handed_in = |who: &TeammateRef| {
        let done = |mate: &Teammate| mate.claims > 0 && mate.holds.is_empty();
        board.with_state(|state| done(&state.teammates[&who.address]))
    };
    let failed_before = |who: &TeammateRef| failed.contains(&who.address);
    // What was handed in may stop the team again at once, and then somebody has to hear of it.
    let queue_works = || {
        board.with_state(|state| {
            let open = |team: &Name| state.teams[team].paused.is_none();
            let waits = |task: &Task| task.scope_question.is_none() && open(&task.team);
            state.submissions().any(|task| teams.contains(&task.team) && waits(task))
        })
    };
    let all_shown = || {
        !queue_works()
            && board.with_state(started).iter().all(|who| match failed_before(who) {
                true => crew.has_answered(who) || handed_in(who),
                false => crew.has_moved(who),
            })
    };
    let within = match board.with_state(started).iter().any(failed_before) {
        true => PROVEN_WITHIN,
        false => SHOWN_WITHIN,
    };
    drop(tokio::time::timeout(within, until(crew, all_shown)).await);
    let adopted = crew.adopted.borrow().clone();
    Ok(board.with_state(|state| {
        let members = teams.iter().flat_map(|team| state.members_of(team));
        let told = members.map(|(who, mate)| {
            let life = TeammateRef { address: who.clone(), epoch: mate.epoch };
            let is_new = before.get(who).is_none_or(|epoch| mate.epoch > *epoch);
            let there = match adopted.contains(&life) {
                true => There::WentOn,
                false if is_new && crew.is_there(&life) => There::Started,
                false if is_new => There::OnItsWay,
                false => There::Ran,
            };
            let (how, why) = part_of(state, who, mate, there);
            Resumed { name: who.to_string(), how: how.to_owned(), why }
        });
        told.collect()
    }))
}

/// Waits until something holds, looking whenever something has happened.
async fn until(crew: &Rc<Attendance>, holds: impl Fn() -> bool) {
    loop {
        let (turned, moved) = (crew.board.turned.notified(), crew.moved.notified());
        if holds() {
            return;
        }
        tokio::select! {
            () = turned => {}
            () = moved => {}
        }
    }
}

/// A team that is there and all below it.
fn tree_of(state: &State, team: &Name) -> Vec<Name> {
    let is_below = |name: &Name| {
        let above = |name: &Name| state.teams.get(name).and_then(|team| team.parent.clone());
        std::iter::successors(Some(name.clone()), above).any(|at| at == *team)
    };
    let active = state.teams.iter().filter(|(_, team)| team.phase == TeamPhase::Active);
    active.map(|(name, _)| name.clone()).filter(is_below).collect()
}

/// Lives that began since, as far as they have not ended again.
fn started_since(
    state: &State,
    teams: &[Name],
    before: &BTreeMap<Address, u32>,
) -> Vec<TeammateRef> {
    let members = teams.iter().flat_map(|team| state.members_of(team));
    let fresh = members.filter(|(who, mate)| {
        let supervised = mate.is_running() && mate.supervision != Supervision::None;
        supervised && before.get(who).is_none_or(|epoch| mate.epoch > *epoch)
    });
    fresh.map(|(who, mate)| TeammateRef { address: who.clone(), epoch: mate.epoch }).collect()
}

/// Earlier releases could record a team without the commit that it begins at: it begins at the one
/// that is checked out.
async fn give_base(crew: &Rc<Attendance>, teams: &[Name]) -> Result<(), Refused> {
    let lacks = |state: &State| -> Vec<Name> {
        let base = |team: &&Name| state.teams[*team].setup.trees.as_ref().map(|t| t.base.clone());
        let lacks = |team: &&Name| base(team).is_some_and(|base| Commit::parse(&base).is_none());
        teams.iter().filter(lacks).cloned().collect()
    };
    let lacking = crew.board.with_state(lacks);
    if lacking.is_empty() {
        return Ok(());
    }
    let base = survey(&crew.settings).await?.base;
    for team in lacking {
        let changes = TeamChanges { base: Some(base.clone()), ..TeamChanges::default() };
        crew.board.tell(Act::ChangeTeam { team, changes, agents: Vec::new() });
    }
    crew.board.settled().await;
    Ok(())
}

/// How far somebody who runs was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum There {
    WentOn,
    Ran,
    Started,
    OnItsWay,
}

fn part_of(state: &State, who: &Address, mate: &Teammate, there: There) -> (&'static str, String) {
    let (team, name) = (&who.team, &who.name);
    let start = format!("`shipmate --team {team} teammate start {name}` starts it");
    if mate.is_running() {
        let session = match mate.session.as_str() {
            "" => String::new(),
            session => format!(", session {session}"),
        };
        return match there {
            There::WentOn => ("resumed", "its process went on without interruption".to_owned()),
            There::Ran if mate.supervision == Supervision::None => {
                ("resumed", "whoever has its token acts as it".to_owned())
            }
            There::Ran => ("resumed", "it runs".to_owned()),
            There::OnItsWay => ("started", "its supervisor is being started".to_owned()),
            There::Started if mate.epoch > 1 => {
                ("restarted", format!("as epoch {}, in its old tree{session}", mate.epoch))
            }
            There::Started => ("started", "it runs".to_owned()),
        };
    }
    let failed = |reason: &str| {
        ("failed", format!("{reason}; mend that, then `shipmate --team {team} resume`"))
    };
    match (&mate.life, not_started(state, who, mate)) {
        (Life::Disappeared { reason }, NotStarted::GivenUp) => failed(reason),
        (Life::Disappeared { reason }, NotStarted::ByHand) => {
            ("lost", format!("{reason}; {start}"))
        }
        (Life::Stopped { .. }, NotStarted::ByHand) => ("lost", format!("it was stopped; {start}")),
        (_, NotStarted::ByHand) => ("waits", format!("it is not started yet; {start}")),
        (_, NotStarted::Session) => ("waits", "its session comes by itself".to_owned()),
        (_, NotStarted::TeamPaused { reason }) => {
            let reason = reason.lines().next().unwrap_or_default();
            ("waits", format!("its team waits: {reason}"))
        }
        (_, NotStarted::Paused { reason }) => {
            let goes_on = format!("`shipmate --team {team} continue {name}`");
            ("waits", format!("it is paused: {reason}; {goes_on}"))
        }
        (_, NotStarted::GivenUp) => ("failed", format!("it could not work; {start}")),
        (_, NotStarted::Dismissed) => ("waits", format!("it was sent away; {start}")),
        (_, NotStarted::NoBudget) => {
            let why = spent(state, who, mate).map(|no| scene::refusal(&no).one_line());
            ("failed", why.unwrap_or_default())
        }
        (_, NotStarted::Parked) => {
            let why = account::held_back(state, who, mate).map(|refusal| refusal.to_string());
            ("waits", why.unwrap_or_default())
        }
        (_, NotStarted::NoHost { why }) => ("waits", format!("{why}; `shipmate host list`")),
        (_, NotStarted::QueueFull) => {
            ("waits", "it is started when what was handed in has been merged".to_owned())
        }
        (_, NotStarted::NoTask) => ("waits", "there is no task for it now".to_owned()),
        (_, NotStarted::Untried) => {
            ("waits", "it is started as soon as the gate was tried".to_owned())
        }
        (_, NotStarted::Wanted) => ("waits", "it is about to be started".to_owned()),
    }
}
