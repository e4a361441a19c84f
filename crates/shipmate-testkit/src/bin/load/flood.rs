//! What one client that sends without end, or does not read, costs everybody else: how long an
//! honest teammate waits for its answers meanwhile, and how large the coordinator becomes.
//!
//! Every flood comes in 60 connections of one teammate and 60 of the person. The honest one asks
//! all the time, from before the flood until after it; the same without a flood is measured first.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_protocol::verbs::{TaskFilter, TaskNew};
use shipmate_protocol::{Ask, Client, verbs};

use crate::arguments::Arguments;
use crate::measure::{micros, pass, timed};
use crate::workspace::Workspace;

/// Connections of one client.
const MANY: usize = 60;
/// How long nothing but the honest client is looked at.
const QUIET: Duration = Duration::from_secs(2);
/// Between two questions of the honest client.
const PACE: Duration = Duration::from_millis(2);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let kind = arguments.text("kind")?;
    let mut workspace = Workspace::fresh(&mut arguments)?;
    arguments.finish()?;
    let flood = match kind.as_str() {
        "half-lines" => half_lines,
        "braces" => braces,
        "unread" => unread,
        "followers" => followers,
        "silent" => silent,
        other => return Err(format!("--kind {other}: there is no such flood")),
    };
    let ana = workspace.teammate("ana", 1)?;
    let bo = workspace.teammate("bo", 1)?;
    fill(&mut workspace)?;
    let person = fs::read_to_string(workspace.place.person_token()).map_err(|e| e.to_string())?;
    let honest = Honest::begin(workspace.client(&bo));
    pass(QUIET);
    let (quiet, errors_before) = honest.end()?;
    let honest = Honest::begin(workspace.client(&bo));
    let (took, flooded) =
        timed(|| [ana.as_str(), person.trim()].map(|token| flood(&mut workspace, token)));
    let flooded = flooded.into_iter().collect::<Result<Vec<_>, _>>()?;
    pass(QUIET);
    let (asked, errors) = honest.end()?;
    let memory = most_memory(workspace.coordinator().ok_or("no coordinator serves")?)?;
    drop(flooded);
    let report = json!({
        "workload": "flood", "kind": kind, "flood_ms": took / 1_000_000, "memory_mb": memory,
         "quiet_us": micros(&quiet), "asked_us": micros(&asked),
        "errors": errors_before + errors,
    });
    println!("{report}");
    Ok(())
}

/// A teammate that asks and reads, on a connection of its own.
struct Honest {
    over: Arc<AtomicBool>,
    thread: JoinHandle<(Vec<u64>, usize)>,
}

impl Honest {
    fn begin(mut client: Client) -> Honest {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let (mut samples, mut errors) = (Vec::new(), 0);
            while !is_over.load(Ordering::Relaxed) {
                let filter = TaskFilter { limit: Some(20), ..TaskFilter::default() };
                for ask in [Ask::Status, Ask::Tasks(verbs::Tasks { filter })] {
                    let (took, answer) = timed(|| client.ask(ask));
                    samples.push(took);
                    errors += usize::from(answer.is_err());
                }
                pass(PACE);
            }
            (samples, errors)
        });
        Honest { over, thread }
    }

    fn end(self) -> Result<(Vec<u64>, usize), String> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "the honest client broke".to_owned())
    }
}

type Flooded = Result<Vec<UnixStream>, String>;

fn half_lines(workspace: &mut Workspace, token: &str) -> Flooded {
    let half = vec![b' '; 15 << 20];
    let streams = connected(workspace, token)?;
    streams.iter().for_each(|stream| push(stream, &half));
    Ok(streams)
}

fn braces(workspace: &mut Workspace, token: &str) -> Flooded {
    let tasks = vec!["{\"subject\":\"\"}"; 200_000].join(",");
    let line = format!("{{\"id\":1,\"ask\":{{\"task_create\":{{\"tasks\":[{tasks}]}}}}}}\n");
    let streams = connected(workspace, token)?;
    streams.iter().for_each(|stream| push(stream, line.as_bytes()));
    Ok(streams)
}

fn unread(workspace: &mut Workspace, token: &str) -> Flooded {
    let asks = [json!({ "tasks": { "filter": {} } }), json!({ "follow": { "after": 0 } })];
    let lines = (1..).zip(asks.iter().cycle()).take(12);
    let lines: String =
        lines.map(|(id, ask)| format!("{}\n", json!({"id": id, "ask": ask}))).collect();
    let streams = connected(workspace, token)?;
    streams.iter().for_each(|stream| push(stream, lines.as_bytes()));
    Ok(streams)
}

/// They follow and do not read, while much happens.
fn followers(workspace: &mut Workspace, token: &str) -> Flooded {
    let follow = format!("{}\n", json!({ "id": 1, "ask": { "follow": { "after": 0 } } }));
    let streams = connected(workspace, token)?;
    streams.iter().for_each(|stream| push(stream, follow.as_bytes()));
    fill(workspace)?;
    Ok(streams)
}

/// They connect and say nothing.
fn silent(workspace: &mut Workspace, _: &str) -> Flooded {
    (0..MANY * 10).map(|_| connect(workspace)).collect()
}

/// A thousand tasks with long texts, so that there is a lot to read.
fn fill(workspace: &mut Workspace) -> Result<(), String> {
    let task = |n: usize| TaskNew {
        subject: format!("task {n} {}", "y".repeat(480)),
        description: "x".repeat(2000),
        ..TaskNew::default()
    };
    let tasks: Vec<TaskNew> = (0..1000).map(task).collect();
    // As many in a request as a plan has at most in practice.
    tasks.chunks(100).try_for_each(|chunk| workspace.tasks(chunk).map(drop))
}

fn connect(workspace: &Workspace) -> Result<UnixStream, String> {
    UnixStream::connect(workspace.place.socket()).map_err(|e| format!("the socket: {e}"))
}

fn connected(workspace: &Workspace, token: &str) -> Flooded {
    let one = |n: usize| {
        let stream = connect(workspace)?;
        let client = format!("flood-{n}");
        let hello = json!({ "protocol": 1, "version": "0", "client": client, "token": token });
        push(&stream, format!("{hello}\n").as_bytes());
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).map_err(|e| e.to_string())?;
        let heard: Value = serde_json::from_str(&line).unwrap_or_default();
        match heard.get("refused") {
            Some(refused) => Err(format!("the flood was refused: {refused}")),
            None => Ok(stream),
        }
    };
    (0..MANY).map(one).collect()
}

/// Writes as much as is taken: whoever is cut off writes no more.
fn push(mut stream: &UnixStream, bytes: &[u8]) {
    drop(stream.write_all(bytes));
}

/// The most that a process has ever taken, in MB.
fn most_memory(pid: u32) -> Result<f64, String> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = most.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kib.map(|kib| (kib * 1.024 / 100.0).round() / 10.0).ok_or_else(|| format!("{path}: no VmHWM"))
}
