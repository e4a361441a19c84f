//! A team that is there already under the name of a new run.
//!
//! A team outlives its run, for a person to look at. One whose playbook is over and whose work is
//! merged makes room: the next session of the same way of working has the same name. Every other is
//! the person's to decide about.

use shipmate_protocol::verbs::TeamCreate;
use shipmate_protocol::view::{Counts, PhaseState, TeamState, TeamView};
use shipmate_protocol::{Ask, ClientFailure, Code, Refused, verbs};

use super::delete_team;
use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;
use crate::cli::status::unmerged;

/// Asked before anything else: a team at work has a branch too, and that is not what is in the way.
/// What is left of a run that was killed before it had a task is taken away, and so is a team that
/// has nothing left to do or to give.
pub(super) fn make_room(create: &TeamCreate, session: &mut Session) -> Result<(), Failure> {
    let (team, description) = (create.name.as_str(), create.description.as_str());
    let by_playbook = create.setup.as_ref().is_some_and(|setup| setup.playbook.is_some());
    session.client.team = None;
    let teams = session.ask(verbs::Teams)?;
    let Some(there) = teams.iter().find(|there| there.name == team) else { return Ok(()) };
    if is_stillborn(there, &teams, description, session)? {
        delete_team(session);
        return Ok(());
    }
    match finished(there, &teams, session).filter(|_| by_playbook) {
        Some(0) => {
            // A run that is refused has not cost the team that was there.
            let check = TeamCreate { check: true, ..create.clone() };
            session.ask(Ask::TeamCreate(check)).map_err(|e| session.advise_repository(e))?;
            replace(team, session)
        }
        Some(commits) => Err(not_merged(team, commits, session)),
        None => Err(in_the_way(there)),
    }
}

/// It was begun for the same work, and nobody did anything; from here on the session is about it.
fn is_stillborn(
    there: &TeamView,
    teams: &[TeamView],
    description: &str,
    session: &mut Session,
) -> Result<bool, Failure> {
    let Counts { pending, in_progress, completed, failed, deleted } = there.tasks;
    let has_tasks = pending + in_progress + completed + failed + deleted > 0;
    let has_teams = teams.iter().any(|team| team.parent.as_deref() == Some(&there.name));
    let has_begun = has_tasks || has_teams || has_begun(there);
    if there.phase != TeamState::Active || there.description != description || has_begun {
        return Ok(false);
    }
    session.client.team = Some(there.name.clone());
    let mates = session.ask(verbs::Teammates)?;
    Ok(mates.iter().all(|mate| mate.epoch == 0 && mate.unread == 0))
}

/// How many commits of a team whose playbook is over are not in the branch that is checked out.
/// Nothing where it is not over, somebody still runs, or nobody knows where its work is.
fn finished(there: &TeamView, teams: &[TeamView], session: &Session) -> Option<u64> {
    if there.phase != TeamState::Active || !there.is_over() {
        return None;
    }
    let runs = |team: &TeamView| team.running > 0;
    let is_below = |team: &&TeamView| team.parent.as_deref() == Some(&there.name);
    if runs(there) || teams.iter().filter(is_below).any(runs) {
        return None;
    }
    match &there.branch {
        None => Some(0),
        Some(branch) => unmerged(branch, &session.place.workspace),
    }
}

/// A phase of it runs or has ended.
fn has_begun(team: &TeamView) -> bool {
    team.phases.iter().any(|phase| !matches!(phase.state, PhaseState::Ahead | PhaseState::Waits))
}

/// The log stays on disk, and what is in no branch of the person's under its ref.
fn replace(team: &str, session: &mut Session) -> Result<(), Failure> {
    session.client.team = Some(team.to_owned());
    let reason = "its work is over and merged, and a new run begins".to_owned();
    session.ask(verbs::TeamDelete { team: None, reason, deadline_ms: 0, now: true })?;
    let left = session.ask(verbs::TeamEnd)?;
    if session.screen.json {
        return Ok(());
    }
    session.screen.line(&format!(
        "note: the team {} of an earlier run is over and merged; this run takes its place",
        plain(team)
    ))?;
    for one in left {
        let line = format!("note: in no branch of yours: {}: {}", one.name, one.why);
        session.screen.line(&plain(&line))?;
    }
    Ok(())
}

fn not_merged(team: &str, commits: u64, session: &Session) -> Failure {
    let commits = match commits {
        1 => "1 commit of it is".to_owned(),
        commits => format!("{commits} commits of it are"),
    };
    let own = session.command_for(Some(team));
    refused(
        Code::TeamExists,
        format!("the team {team} is over, and {commits} not in your branch"),
        format!(
            "have its work first: `{own} merge`, then run again\nbegin without it: `shipmate team \
             delete {team}`, or `shipmate run --team OTHER …`"
        ),
    )
}

fn in_the_way(there: &TeamView) -> Failure {
    let team = &there.name;
    match there.phase {
        TeamState::Active => refused(
            Code::TeamExists,
            format!("there is a team {team} already"),
            format!(
                "go on with it: `shipmate --team {team} resume`, and watch it: `shipmate --team \
                 {team} tui`\nbegin anew: `shipmate team delete {team}`, or `shipmate run --team \
                 OTHER …`"
            ),
        ),
        _ => refused(
            Code::TeamEnding,
            format!("the team {team} is being deleted, and its teammates are still ending"),
            format!(
                "wait for it: `shipmate team delete {team}` says when it is gone; or use another \
                 name: `shipmate run --team OTHER …`"
            ),
        ),
    }
}

fn refused(code: Code, message: String, remedy: String) -> Failure {
    let remedy = Some(remedy);
    Failure::Client(ClientFailure::Refused(Refused { code, message, remedy }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shipmate_protocol::view::PhaseView;

    #[test]
    fn a_playbook_is_over_when_its_last_phase_has_ended_or_one_has_failed() {
        let team = |states: &[&str]| {
            let phase =
                |state: &&str| PhaseView { state: state.parse().unwrap(), ..PhaseView::default() };
            TeamView { phases: states.iter().map(phase).collect(), ..TeamView::default() }
        };
        for over in [&["done", "done"][..], &["done", "skipped"], &["failed", "ahead"]] {
            assert!(team(over).is_over(), "{over:?}");
        }
        for open in [&[][..], &["done", "runs"], &["done", "ahead"], &["back", "waits"]] {
            assert!(!team(open).is_over(), "{open:?}");
        }
    }
}
