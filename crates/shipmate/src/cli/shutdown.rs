//! `shipmate shutdown`: ask teammates to stop, wait for what becomes of it, or answer as one of
//! them.

pub(crate) mod wait;

use std::io::IsTerminal;

use shipmate_protocol::verbs::ShutdownAnswer;
use shipmate_protocol::view::{Leftover, TeammateState, TeammateView};

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;
use crate::time::{duration, parse_duration_ms};
use shipmate_protocol::verbs;
use wait::Became;

/// Ask a teammate, or the whole team, to shut down
///
/// Each has until the deadline to answer: a teammate finishes the task in its hands first. After
/// the deadline the life is ended, with everything it started; what it was working on is set aside.
/// Whatever becomes of the request is a record, and on a terminal it is told as it happens: clean, in
/// progress with what is left, error, rejected with its reason, timed out or forced. The exit code is 8
/// unless all of them were clean, or forced because you said --now. A teammate answers with --answer.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate shutdown ana --reason \"the work is done\"
  shipmate shutdown --deadline 2m --wait
  shipmate shutdown --one-by-one
  shipmate shutdown --now
  shipmate --as ana shutdown --answer 41
  shipmate --as ana shutdown --answer 41 --left \"task 3 is half done\"
  shipmate --as ana shutdown --answer 41 --reject \"two minutes more\"")]
pub(crate) struct ShutdownArgs {
    /// The teammate [default: everybody in the team]
    #[arg(conflicts_with = "answer")]
    name: Option<String>,

    #[arg(long, value_name = "TEXT", default_value = "asked by hand", conflicts_with = "answer")]
    reason: String,

    /// How long it has to answer, like 90s [default: shutdown-deadline-seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms, conflicts_with = "answer")]
    deadline: Option<u64>,

    /// Ask nobody: end everything at once, and wait until it has ended
    #[arg(long, conflicts_with_all = ["answer", "deadline"])]
    now: bool,

    /// Wait until everybody has stopped or refused [default on a terminal]
    #[arg(long, conflicts_with_all = ["answer", "no_wait"])]
    wait: bool,

    /// Only ask
    #[arg(long, conflicts_with = "answer")]
    no_wait: bool,

    /// Ask one after the other, the lead last, each when the one before has stopped; whoever
    /// refuses keeps the rest from being asked
    #[arg(long, conflicts_with_all = ["answer", "name", "no_wait"])]
    one_by_one: bool,

    /// Answer the shutdown request of this number, as a teammate
    #[arg(long, value_name = "ID")]
    answer: Option<u64>,

    /// Work that is left over; may be repeated
    #[arg(long, value_name = "TEXT", requires = "answer")]
    left: Vec<String>,

    /// It stops because of this error
    #[arg(long, value_name = "TEXT", requires = "answer", conflicts_with = "left")]
    error: Option<String>,

    /// It does not stop, because of this
    #[arg(long, value_name = "TEXT", requires = "answer", conflicts_with_all = ["left", "error"])]
    reject: Option<String>,
}

pub(crate) fn run(args: &ShutdownArgs, mut session: Session) -> Result<(), Failure> {
    if let Some(shutdown) = args.answer {
        let said = format!("answered shutdown request {shutdown}");
        let answer = answer(args);
        return session.change(verbs::AnswerShutdown { shutdown, answer }, &said);
    }
    let deadline_ms = if args.now { 0 } else { session.deadline_ms(args.deadline)? };
    // What is forced takes moments, and only then has it ended.
    let waits = args.wait || args.now || args.one_by_one || std::io::stdout().is_terminal();
    if !waits || args.no_wait {
        let whom = args.name.as_deref().unwrap_or("everybody");
        let said = match args.now {
            true => format!("{whom} ends now"),
            false => format!("asked {whom} to shut down within {}", duration(deadline_ms)),
        };
        return session.change(request(args, args.name.clone(), deadline_ms), &said);
    }
    let became = match args.one_by_one {
        true => one_by_one(args, &mut session, deadline_ms)?,
        false => {
            let awaited = match &args.name {
                Some(name) => vec![teammate(&mut session, name)?],
                None => running(&mut session)?,
            };
            let ask = request(args, args.name.clone(), deadline_ms);
            wait::until_stopped(&mut session, ask.into(), &awaited)?
        }
    };
    if args.name.is_none() {
        tell_leftovers(&mut session)?;
    }
    let fine = if args.now { became.as_asked } else { became.clean };
    if fine { Ok(()) } else { Err(Failure::Told(Exit::Undone)) }
}

fn answer(args: &ShutdownArgs) -> ShutdownAnswer {
    match (&args.error, &args.reject) {
        (Some(reason), _) => ShutdownAnswer::Error { reason: reason.clone() },
        (None, Some(reason)) => ShutdownAnswer::Rejected { reason: reason.clone() },
        (None, None) if args.left.is_empty() => ShutdownAnswer::Clean,
        (None, None) => ShutdownAnswer::InProgress { pending: args.left.clone() },
    }
}

fn request(args: &ShutdownArgs, name: Option<String>, deadline_ms: u64) -> verbs::Shutdown {
    verbs::Shutdown { name, reason: args.reason.clone(), deadline_ms }
}

fn teammate(session: &mut Session, name: &str) -> Result<TeammateView, Failure> {
    session.ask(verbs::TeammateShow { name: name.to_owned() })
}

/// Who runs, except for whoever asks.
fn running(session: &mut Session) -> Result<Vec<TeammateView>, Failure> {
    let actor = session.client.welcome()?.actor;
    let mut mates = session.ask(verbs::Teammates)?;
    mates.retain(|mate| runs(mate) && wait::life(mate) != actor);
    Ok(mates)
}

pub(crate) fn runs(mate: &TeammateView) -> bool {
    matches!(
        mate.state,
        TeammateState::Active
            | TeammateState::Idle
            | TeammateState::Paused
            | TeammateState::Parked
            | TeammateState::Stopping
    )
}

fn one_by_one(
    args: &ShutdownArgs,
    session: &mut Session,
    deadline_ms: u64,
) -> Result<Became, Failure> {
    let mut mates = running(session)?;
    mates.sort_by_key(|mate| mate.lead);
    if mates.is_empty() {
        // Asked all the same, for the refusal that says so.
        session.ask(request(args, None, deadline_ms))?;
    }
    let name = |mate: &TeammateView| format!("{}/{}", mate.team, mate.name);
    let mut mates = mates.into_iter();
    let mut all = Became::default();
    while let Some(mate) = mates.next() {
        let who = name(&mate);
        let ask = request(args, Some(who.clone()), deadline_ms);
        // A connection follows one log once.
        let became = wait::until_stopped(&mut session.again()?, ask.into(), &[mate])?;
        all.clean &= became.clean;
        all.as_asked &= became.as_asked;
        if became.rejected && mates.len() > 0 {
            // What it says may be about those who would be gone by then.
            let unasked: Vec<String> = mates.map(|mate| name(&mate)).collect();
            tell_unasked(session, &who, &unasked)?;
            break;
        }
    }
    Ok(all)
}

/// Who has not been asked, because somebody's concern comes first.
fn tell_unasked(session: &Session, who: &str, unasked: &[String]) -> Result<(), Failure> {
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "not_asked": unasked }));
    }
    let all = unasked.join(", ");
    let (who, unasked) = (plain(who), plain(&all));
    session.screen.line(&format!(
        "not asked yet: {unasked}; settle first what {who} says (`shipmate send {who} TEXT`), then \
         ask again, or end it with `shipmate shutdown {who} --now`"
    ))
}

/// What is there that nothing needs any more: what should have been committed, or should have ended.
fn tell_leftovers(session: &mut Session) -> Result<(), Failure> {
    let ask = verbs::Leftovers { remove: false, force: Vec::new() };
    let mut found = session.ask(ask)?;
    // What is merged, and the records of deleted teams, are no news to anybody.
    found.retain(|left| left.precious || matches!(left.kind.as_str(), "process" | "unfinished"));
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "left_over": found }));
    }
    let line = |left: &Leftover| {
        format!("  {} {}: {}\n", plain(&left.kind), plain(&left.name), plain(&left.why))
    };
    match found.as_slice() {
        [] => session.screen.line("nothing is left over"),
        found => {
            let lines: String = found.iter().map(line).collect();
            session.screen.print(&format!("left over (see `shipmate doctor`):\n{lines}"))
        }
    }
}
