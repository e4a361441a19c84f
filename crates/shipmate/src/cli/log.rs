//! `shipmate log`: what happened, record by record.
//!
//! A record is shown in one line: its number, the time, who did it, the event and what it was
//! about.

mod moving;

use std::ops::ControlFlow;

use shipmate_model::{Event, Record};
use shipmate_protocol::verbs;
use shipmate_protocol::view::Status;
use shipmate_protocol::view::words::{self, short};

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::Session;
use crate::cli::{status, task};
use crate::time::time_of_day;

/// Show the log of a team, or the board as it was
///
/// Without options the last 100 records. Times are UTC. With --json every record is one line,
/// exactly as it is stored.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  shipmate log
  shipmate log --after 0 --json > team.jsonl     the whole log
  shipmate log --follow
  shipmate log --at 41                           the board when record 41 was the last")]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: Option<LogCommand>,

    /// Show the records after this one
    #[arg(long, value_name = "N")]
    after: Option<u64>,

    /// At most this many [default: 100, and all with --after]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Go on showing records as they are written
    #[arg(long)]
    follow: bool,

    /// Show the teams and tasks as they were when this record was the last
    #[arg(long, value_name = "N", conflicts_with_all = ["after", "limit", "follow"])]
    at: Option<u64>,
}

/// What else is done with logs
#[derive(clap::Subcommand, Debug)]
enum LogCommand {
    Move(moving::MoveArgs),
}

/// How many records one request asks for.
const PAGE: u64 = 1_000;
const LIMIT_DEFAULT: u64 = 100;

pub(crate) fn run(args: &LogArgs, mut session: Session) -> Result<(), Failure> {
    if let Some(LogCommand::Move(args)) = &args.command {
        return moving::run(args, session);
    }
    if let Some(position) = args.at {
        return show_then(&mut session, position);
    }
    let status = session.ask(verbs::Status)?;
    let limit = args.limit.unwrap_or(if args.after.is_some() { u64::MAX } else { LIMIT_DEFAULT });
    let after = args.after.unwrap_or(status.position.saturating_sub(limit));
    let is_cut = args.after.is_none() && args.limit.is_none() && after > 0;
    if is_cut && !session.screen.json {
        let (count, all) = (status.position - after, status.position);
        session
            .screen
            .line(&format!("the last {count} of {all} records; all: `shipmate log --after 0`"))?;
    }
    let after = show_past(&mut session, &status, after, limit)?;
    if args.follow {
        return follow(&mut session, &status, after);
    }
    Ok(())
}

/// Shows what there is and returns the last position shown.
fn show_past(
    session: &mut Session,
    status: &Status,
    after: u64,
    limit: u64,
) -> Result<u64, Failure> {
    let (mut after, mut left) = (after, limit);
    while left > 0 {
        let max = usize::try_from(left.min(PAGE)).unwrap_or(usize::MAX);
        let records = session.ask(verbs::Log { after, max })?;
        if records.is_empty() {
            break;
        }
        let mut text = String::with_capacity(records.len() * 96);
        for record in &records {
            text.push_str(&line(record.get(), &status.root, &session.screen));
        }
        session.screen.print(&text)?;
        after += records.len() as u64;
        left -= records.len() as u64;
    }
    Ok(after)
}

fn follow(session: &mut Session, status: &Status, after: u64) -> Result<(), Failure> {
    let screen = session.screen.clone();
    let mut ended = Ok(());
    session.client.follow(after, |record| {
        ended = screen.print(&line(record, &status.root, &screen));
        if ended.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    ended
}

/// A record as its own line of JSON, or as words.
fn line(record: &str, root: &str, screen: &Screen) -> String {
    if screen.json {
        return format!("{record}\n");
    }
    let Some(line) = words::line(record, root) else {
        return format!("{}\n", plain(record));
    };
    let by = plain(short(&line.by, root));
    let event = screen.paint(paint(record), &plain(&line.event));
    format!("{:>5} {} {by} {event} {}\n", line.n, time_of_day(line.at), plain(&line.text))
}

fn paint(record: &str) -> Paint {
    match serde_json::from_str::<Record>(record).map(|record| record.event) {
        Ok(Event::TaskCompleted { .. }) => Paint::Good,
        Ok(
            Event::TaskFailed { .. }
            | Event::TaskReverted { .. }
            | Event::TeammateDisappeared { .. }
            | Event::MessageBounced { .. },
        ) => Paint::Bad,
        Ok(
            Event::TeamPaused { .. } | Event::TeammateStalled { .. } | Event::TaskReturned { .. },
        ) => Paint::Busy,
        _ => Paint::Bold,
    }
}

fn show_then(session: &mut Session, position: u64) -> Result<(), Failure> {
    let then = session.ask(verbs::StatusAt { position })?;
    let tasks = session.ask(verbs::TasksAt { position })?;
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "status": then, "tasks": tasks }));
    }
    let mut text = format!("as of record {}\n\n", then.position);
    let own = format!("shipmate{}", session.here());
    text.push_str(&status::text(&then, &session.screen, &own, ""));
    if !tasks.is_empty() {
        text.push('\n');
        text.push_str(&task::table(&tasks, &session.screen));
    }
    session.screen.print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_whatever_it_holds() {
        for (record, shown) in [
            (
                r#"{"n":41,"at":43387000,"by":"alpha/ana@1",
                "event":{"task.claimed":{"task":7,"by":"alpha/ana@1","lease_ms":600000}}}"#,
                "   41 12:03:07 ana@1 task.claimed 7, lease 10m\n",
            ),
            (
                r#"{"n":2,"at":0,"by":"person","event":{"message.sent":
                {"to":[{"member":"alpha/bo"}],"kind":"message","body":"a\nb\u001b"}}}"#,
                "    2 00:00:00 person message.sent to bo: a b\\x1b\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"runtime","event":{"task.released":
                {"task":7,"token":41,"cause":"expired","reason":"the lease ran out"}}}"#,
                "    3 00:00:00 runtime task.released 7, expired: the lease ran out\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"runtime","event":{"gate.ran":{"team":"alpha",
                "tasks":[1,2],"commit":"ab","passed":true,"took_ms":1234}}}"#,
                "    3 00:00:00 runtime gate.ran tasks 1, 2 passed in 1.2 s\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"runtime","event":{"gate.ran":{"team":"alpha",
                "commit":"ab","passed":false,"took_ms":40,"output":"one\ntwo failed\n\n"}}}"#,
                "    3 00:00:00 runtime gate.ran the base failed in 0.0 s: two failed\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"runtime","event":{"hook.noted":{"team":"alpha",
                "hook":"TeammateStarted","note":"slow\ntoday"}}}"#,
                "    3 00:00:00 runtime hook.noted TeammateStarted: slow today\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"person","event":{"team.paused":{"team":"alpha",
                "reason":"lunch"}}}"#,
                "    3 00:00:00 person team.paused alpha, lunch\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"runtime","event":{"teammate.stalled":
                {"who":"alpha/ana@1","step":2}}}"#,
                "    3 00:00:00 runtime teammate.stalled ana@1, still shows no progress, step 2\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"alpha/ana@1","event":{"teammate.session":
                {"who":"alpha/ana@1","session":"s-1"}}}"#,
                "    3 00:00:00 ana@1 teammate.session ana@1, its conversation is s-1\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"person","event":{"task.scope_granted":{"task":4,
                "files":["Cargo.toml","ci"]}}}"#,
                "    3 00:00:00 person task.scope_granted 4, may also change Cargo.toml, ci\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"person","event":{"task.scope_left_out":{"task":4,
                "files":["ci"]}}}"#,
                "    3 00:00:00 person task.scope_left_out 4, is merged without ci\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"alpha/ana@1","event":{"question.asked":{"kind":"scope",
                "who":"alpha/ana@1","text":"may it?","task":4,"files":["Cargo.toml"]}}}"#,
                "    3 00:00:00 ana@1 question.asked ana@1, task 4, wants to change Cargo.toml, \
                 may it?\n",
            ),
            (
                r#"{"n":3,"at":0,"by":"runtime","event":{"teammate.stopped":
                {"who":"alpha/ana@1","outcome":{"in_progress":{"pending":["task 3"]}}}}}"#,
                "    3 00:00:00 runtime teammate.stopped ana@1, in progress, left: task 3\n",
            ),
            (
                r#"{"n":4,"at":0,"by":"beta/bo@2","event":{"moon.landed":{"crew":3}}}"#,
                "    4 00:00:00 beta/bo@2 moon.landed crew=3\n",
            ),
            ("not a record", "not a record\n"),
        ] {
            assert_eq!(line(record, "alpha", &Screen::of_width(None)), shown);
        }
    }

    #[test]
    fn a_note_is_shown_whole() {
        let note = "mind the tide ".repeat(140);
        let event =
            serde_json::json!({ "note.added": { "team": "alpha", "text": note, "task": 4 } });
        let record = serde_json::json!({ "n": 3, "at": 0, "by": "alpha/ana@1", "event": event });
        let shown = line(&record.to_string(), "alpha", &Screen::of_width(None));
        assert_eq!(shown, format!("    3 00:00:00 ana@1 note.added task 4, {}\n", note.trim()));
    }
}
