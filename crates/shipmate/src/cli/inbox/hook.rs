//! `shipmate inbox --hook`: the mail of a session's seat, as its client's hooks expect it.
//!
//! Called by the client at an event, in the middle of somebody's work: where there is no seat, no
//! coordinator or no mail it says nothing and ends well. It starts no coordinator.

use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::{Client, ClientFailure, verbs};

use crate::cli::failure::Failure;
use crate::cli::screen::Screen;
use crate::cli::session::{self, Globals};
use crate::install::WAKE;
use crate::mcp::seat_above;

/// How Claude Code was started, as it tells its hooks, and the word for a session at a terminal.
const ENTRY: &str = "CLAUDE_CODE_ENTRYPOINT";
const AT_A_TERMINAL: &str = "cli";
/// What a hook that waits ends with to wake its session.
const WAKES: i32 = 2;

/// How many coordinators a session's wait for mail outlives.
const RECONNECTS_MAX: u32 = 100;

/// What comes with one event; the rest comes with the next.
const MAIL_MAX: usize = 20;
/// No client says more at an event.
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

pub(crate) fn run(event: &str, globals: &Globals) -> Result<(), Failure> {
    if is_of_subagent() {
        // Mail is for the session, which is asked at its own events.
        return Ok(());
    }
    let place = session::place(globals.workspace.as_deref())?;
    let given = std::env::var("SHIPMATE_TOKEN").ok().filter(|token| !token.trim().is_empty());
    let (token, team, file) = match given {
        Some(token) => (token.trim().to_owned(), globals.for_team.clone(), None),
        None => match seat_above(&place) {
            Some((note, file)) => (note.token, Some(note.team), Some(file)),
            None => return Ok(()),
        },
    };
    // One waits for each session, however often that came to its end. One that ends with its answer
    // (`claude -p`) would wait for it.
    let waits = event == WAKE;
    if waits && std::env::var(ENTRY).ok().as_deref() != Some(AT_A_TERMINAL) {
        return Ok(());
    }
    let _alone = match file.as_ref().filter(|_| waits).map(|file| wait_alone(file)) {
        Some(None) => return Ok(()),
        alone => alone.flatten(),
    };
    if let (true, Some(file)) = (waits, &file) {
        end_with_session(file);
    }
    // Who waits for mail outlives coordinators; who only looks has nothing to wait for.
    let (launch, mut tries) = match waits {
        true => (session::launch(&place)?, RECONNECTS_MAX),
        false => (Launch::Never, 1),
    };
    let mut client = Client::new(place, launch, TokenSource::Given(token));
    client.team = team;
    let messages = loop {
        tries -= 1;
        match client.ask(verbs::InboxRead { max: MAIL_MAX, wait: waits }) {
            Ok(messages) if !messages.is_empty() => break messages,
            Err(ClientFailure::Refused(_)) => {
                // The seat of a session that could not say goodbye.
                drop(file.map(std::fs::remove_file));
                return Ok(());
            }
            _ if tries == 0 => return Ok(()),
            _ => {}
        }
    };
    let text = messages.iter().map(envelope).collect::<Vec<_>>().join("\n\n");
    if waits {
        // What a session is woken with: Claude Code begins a turn with these words.
        drop(std::io::stderr().write_all(text.as_bytes()));
        std::process::exit(WAKES);
    }
    Screen::new(true).json(&said(event, &text))
}

/// Ends this process with the session that it waits for: mail that nobody would read stays unread.
fn end_with_session(seat: &Path) {
    let pid = seat.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
    let pid = pid.and_then(rustix::process::Pid::from_raw);
    let opened =
        pid.map(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()));
    let Some(Ok(session)) = opened else { std::process::exit(0) };
    std::thread::spawn(move || {
        let mut ends = [rustix::event::PollFd::new(&session, rustix::event::PollFlags::IN)];
        while rustix::event::poll(&mut ends, None).is_err() {}
        std::process::exit(0);
    });
}

/// The lock of who waits for a session's mail; none where another does.
fn wait_alone(seat: &Path) -> Option<File> {
    let path = seat.with_extension("waiting");
    let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| file)
}

/// In the shape that Claude Code and Codex share.
fn said(event: &str, text: &str) -> Value {
    match event {
        "Stop" | "SubagentStop" => json!({ "decision": "block", "reason": text }),
        event => json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": text }
        }),
    }
}

/// The client tells about the event on standard input, and takes it ill when nobody reads it.
fn is_of_subagent() -> bool {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return false;
    }
    let mut text = Vec::new();
    // Whatever cannot be read says nothing.
    drop(stdin.lock().take(INPUT_BYTES_MAX).read_to_end(&mut text));
    let told: Value = serde_json::from_slice(&text).unwrap_or_default();
    told.get("agent_id").is_some_and(|id| !id.is_null())
}
