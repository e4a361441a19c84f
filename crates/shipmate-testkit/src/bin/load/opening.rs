//! How long a new coordinator takes from its start to its first answer, on a log of a given length.
//!
//! The log is made through the API, in the proportions of a team at work: each task is created,
//! claimed, renewed, completed, and talked about in messages that are read one by one. Tasks stay
//! on the board; renewals and messages come and go.

use serde_json::json;
use shipmate_protocol::client::TokenSource;
use shipmate_protocol::verbs::TaskNew;
use shipmate_protocol::{Answer, Ask, Client, verbs};

use crate::arguments::Arguments;
use crate::drain::words;
use crate::measure::{millis, now_ns, timed};
use crate::pipeline::Pipeline;
use crate::worker;
use crate::workspace::{Workspace, launch};

/// Tasks one teammate holds at once while the log is made, and questions in one write.
const HELD: usize = 64;
const STARTS: usize = 5;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let tasks: usize = arguments.number("tasks", 100_000)?;
    let records: u64 = arguments.number("records", 1_000_000)?;
    let mut workspace = Workspace::fresh(&mut arguments)?;
    arguments.finish()?;
    let start = now_ns();
    let mix = build(&mut workspace, tasks, records)?;
    let built_ns = now_ns() - start;
    // Asked to end, it leaves a snapshot; killed, it leaves what it had. Both are measured.
    let mut asked = Vec::new();
    let mut killed = Vec::new();
    let mut position = 0;
    for _ in 0..STARTS {
        workspace.end_coordinator()?;
        asked.push(first_answer(&workspace, &mut position)?);
    }
    add_tail(&mut workspace, tasks)?;
    for _ in 0..STARTS {
        workspace.kill_coordinator()?;
        killed.push(first_answer(&workspace, &mut position)?);
    }
    let median = |samples: &mut Vec<u64>| {
        samples.sort_unstable();
        millis(samples[samples.len() / 2])
    };
    let report = json!({
        "workload": "open", "tasks": tasks, "records": position, "mix": mix,
        "build_ms": millis(built_ns),
        "first_answer_after_end_ms": median(&mut asked),
        "first_answer_after_kill_ms": median(&mut killed),
        "log_bytes": size_of(&workspace.place.teams()),
        "errors": 0,
    });
    println!("{report}");
    Ok(())
}

/// From the decision to start a coordinator to the answer about the team.
fn first_answer(workspace: &Workspace, position: &mut u64) -> Result<u64, String> {
    let place = workspace.place.clone();
    let launch = launch(&workspace.program, &place);
    let (took, answer) = timed(|| Client::new(place, launch, TokenSource::Person).ask(Ask::Status));
    match answer.map_err(|e| e.to_string())? {
        Answer::Status(status) => {
            *position = status.position;
            Ok(took)
        }
        other => Err(format!("the status was answered by {other:?}")),
    }
}

/// Fills the log up to about so many records; says what is in it.
fn build(workspace: &mut Workspace, tasks: usize, records: u64) -> Result<String, String> {
    let token = workspace.teammate("ana", HELD as u32)?;
    let reader = workspace.teammate("bo", 1)?;
    let new = |index: usize| {
        let (subject, description) = words(index, usize::MAX);
        TaskNew { subject, description, ..TaskNew::default() }
    };
    workspace.tasks(&(0..tasks).map(new).collect::<Vec<_>>())?;
    let mut worker = Pipeline::connect(&workspace.place, &token)?;
    let mut reader = Pipeline::connect(&workspace.place, &reader)?;
    // Created, claimed and completed are three; the rest is shared by renewals and mail.
    let rest = records.saturating_sub(3 * tasks as u64) / tasks as u64;
    let (renewals, messages) = (rest - rest / 4 * 2, rest / 4);
    let mut left = tasks;
    while left > 0 {
        let count = HELD.min(left);
        left -= count;
        let next = || Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: false });
        let answers = worker.ask_all((0..count).map(|_| next()))?;
        let mut held = Vec::with_capacity(count);
        for answer in answers {
            let answer = answer.map_err(shipmate_protocol::ClientFailure::Refused);
            held.push(worker::taken(answer)?.ok_or("the board is empty too early")?);
        }
        for _ in 0..renewals {
            let renew = held.iter().map(|taken| {
                Ask::TaskRenew(verbs::TaskRenew {
                    task: taken.task.to_string(),
                    token: taken.token,
                })
            });
            all_done(worker.ask_all(renew.collect::<Vec<_>>())?)?;
        }
        for _ in 0..messages {
            let send = |_| {
                let (to, body) = ("bo".to_owned(), "this part is done, look at it".to_owned());
                Ask::Send(verbs::Send { to, body, kind: None, reply_to: None })
            };
            all_done(worker.ask_all((0..count).map(send))?)?;
            let read = |_| Ask::InboxRead(verbs::InboxRead { max: 1, wait: false });
            all_done(reader.ask_all((0..count).map(read))?)?;
        }
        all_done(worker.ask_all(held.iter().map(|taken| worker::complete(*taken)))?)?;
    }
    Ok(format!(
        "{tasks} tasks, each created, claimed, renewed {renewals} times and completed, with \
         {messages} messages sent and read"
    ))
}

/// Some more records after the last snapshot, for the start after a kill: as many as may gather
/// before the next is due.
fn add_tail(workspace: &mut Workspace, tasks: usize) -> Result<(), String> {
    let count = 10_000.min(tasks);
    let bodies = |_| {
        Ask::Send(verbs::Send {
            to: "person".to_owned(),
            body: "one more".to_owned(),
            kind: None,
            reply_to: None,
        })
    };
    let token = std::fs::read_to_string(workspace.place.person_token());
    let token = token.map_err(|e| e.to_string())?;
    let mut person = Pipeline::connect(&workspace.place, token.trim())?;
    for _ in 0..count / HELD {
        all_done(person.ask_all((0..HELD).map(bodies))?)?;
    }
    Ok(())
}

fn all_done<E: std::fmt::Display>(answers: Vec<Result<Answer, E>>) -> Result<(), String> {
    answers.into_iter().try_for_each(|answer| answer.map(drop).map_err(|e| e.to_string()))
}

fn size_of(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => size_of(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}
