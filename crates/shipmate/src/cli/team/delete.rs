//! `shipmate team delete`.

use shipmate_protocol::verbs;
use shipmate_protocol::view::{Leftover, TeammateView};
use shipmate_protocol::{Ask, Code};

use crate::cli::failure::Failure;
use crate::cli::screen::{hanging, plain};
use crate::cli::session::Session;
use crate::cli::shutdown::{runs, wait};
use crate::time::{duration, parse_duration_ms};

/// Delete a team and the departments below it
///
/// Everybody who runs is asked to shut down and has until the deadline. What they were working on is
/// rescued: uncommitted files, commits, branches, tags and stashes of their clones go to
/// refs/shipmate/TEAM/aside/ of your repository; files that git ignores are not kept. Then their
/// clones are removed, and with them every branch and ref of the team that a branch of yours has all
/// of. The rest is named. The log stays readable on disk. You may interrupt the command: the deletion
/// goes on.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate team delete alpha
  shipmate team delete alpha --reason \"the release is out\" --deadline 2m
  shipmate team delete alpha --now")]
pub(crate) struct DeleteArgs {
    name: String,

    #[arg(long, value_name = "TEXT", default_value = "the team is deleted")]
    reason: String,

    /// How long the teammates have to answer, like 90s [default: shutdown-deadline-seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms, conflicts_with = "now")]
    deadline: Option<u64>,

    /// Ask nobody: end everything at once
    #[arg(long)]
    now: bool,

    /// Only ask for it, and do not wait until the team is gone
    #[arg(long)]
    no_wait: bool,
}

pub(crate) fn run(args: DeleteArgs, mut session: Session) -> Result<(), Failure> {
    let deadline_ms = session.deadline_ms(args.deadline)?;
    let name = args.name;
    let ask = Ask::TeamDelete(verbs::TeamDelete {
        team: None,
        reason: args.reason,
        deadline_ms,
        now: args.now,
    });
    // A teammate that deletes its team is gone before that has ended.
    if args.no_wait || session.client.welcome()?.actor != "person" {
        let said = match args.now {
            true => format!("team {name} ends now"),
            false => format!(
                "team {name} is deleted as soon as its teammates have stopped, at the latest in {}",
                duration(deadline_ms)
            ),
        };
        session.client.team = Some(name);
        return session.change(ask, &said);
    }
    session.client.team = Some(name.clone());
    let is_known = match session.ask(Ask::Status) {
        Err(failure) => code_of(&failure) != Some(Code::UnknownTeam),
        Ok(_) => true,
    };
    let awaited = members(&mut session, &name)?;
    if !session.screen.json && !awaited.is_empty() {
        let names: Vec<String> = awaited.iter().map(|mate| mate.name.clone()).collect();
        let within = match args.now {
            true => String::new(),
            false => format!(", which may take {}", duration(deadline_ms)),
        };
        session.screen.line(&format!("ending {}{within}", plain(&names.join(", "))))?;
    }
    match asked(&mut session, ask) {
        // Who has left the log before it could be followed is no failure.
        Ok(position) => drop(wait::watch(&mut session.again()?, position, &awaited)),
        // Whoever asks again waits for what is under way.
        Err(failure) if is_under_way(&failure, is_known) => {
            session.screen.line(&format!("team {} is being deleted already", plain(&name)))?;
        }
        Err(failure) => return Err(failure),
    }
    let left = session.ask(verbs::TeamEnd)?;
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "deleted": name, "left": left }));
    }
    session.screen.print(&told(&name, &left))
}

fn is_under_way(failure: &Failure, is_known: bool) -> bool {
    let code = code_of(failure);
    // One that was there a moment ago is gone since.
    matches!(code, Some(Code::TeamEnding | Code::TeamGone))
        || is_known && code == Some(Code::UnknownTeam)
}

fn code_of(failure: &Failure) -> Option<Code> {
    failure.refused().map(|refused| refused.code)
}

/// Asks for it; where the log stood before.
fn asked(session: &mut Session, ask: Ask) -> Result<u64, Failure> {
    let status = session.ask(verbs::Status)?;
    session.ask(ask)?;
    Ok(status.position)
}

/// Who runs in the team and in those below it.
fn members(session: &mut Session, name: &str) -> Result<Vec<TeammateView>, Failure> {
    session.client.team = None;
    let teams = session.ask(verbs::Teams)?;
    let mut below = vec![name.to_owned()];
    let mut next = 0;
    while next < below.len() {
        let own = |parent: &Option<String>| parent.as_deref() == Some(&below[next]);
        let found: Vec<String> =
            teams.iter().filter(|team| own(&team.parent)).map(|team| team.name.clone()).collect();
        below.extend(found);
        next += 1;
    }
    let mut awaited = Vec::new();
    for team in below {
        session.client.team = Some(team);
        // The team may be unknown, or gone by now: the request itself says so.
        if let Ok(mates) = session.ask(verbs::Teammates) {
            awaited.extend(mates.into_iter().filter(runs));
        }
    }
    session.client.team = Some(name.to_owned());
    Ok(awaited)
}

fn told(name: &str, left: &[Leftover]) -> String {
    let (torn, left): (Vec<&Leftover>, Vec<&Leftover>) =
        left.iter().partition(|one| one.kind == "teardown");
    let mut text = format!("team {} is deleted", plain(name));
    text.push_str(if left.is_empty() { "\n" } else { "; this is in no branch of yours:\n" });
    for one in &left {
        text.push_str(&format!("  {}: {}\n", plain(&one.name), plain(&one.why)));
    }
    if let Some(one) = left.iter().find(|one| one.name.starts_with("refs/")) {
        let name = plain(&one.name);
        text.push_str(&format!(
            "look at it with `git log -p HEAD..{name}`, have it with `git merge {name}`, be rid of it \
             with `shipmate doctor --clean --force {name}`\n"
        ));
    }
    if !torn.is_empty() {
        text.push_str("its teardown failed, and what that was to end may still be there:\n");
    }
    for one in torn {
        text.push_str(&format!("  {}: {}\n", plain(&one.name), hanging(&one.why, 4)));
    }
    text
}
