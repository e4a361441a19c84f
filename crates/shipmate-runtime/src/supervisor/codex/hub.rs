//! One codex for all codex teammates of a team on this machine.
//!
//! A process of its own, started by whichever supervisor needs it first. It owns one
//! `codex app-server`, shakes hands with it once, and passes lines between it and the
//! supervisors, each of which has a thread in it. What must hold: there is one at a time
//! for a folder, by the folder's lock; nothing goes on for a client that has gone; and when
//! the last one has gone, or the program ends, nothing of the program is left.
//!
//! For as long as something of a life may go on in the program, the hub holds a lock in that
//! life's folder: whoever wants to use its tree waits for it.

mod door;
mod greet;
mod route;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use shipmate_process::Marker;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedWriteHalf, pipe};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use door::HubFolder;
pub(crate) use door::{enter, let_go};
use greet::{greet, next_line};
use route::{Act, Client, Router};

use super::super::order::{LifeFolder, Order};
use super::super::program::Starter;
use super::super::rpc::write_lines;

/// How long the program may take to answer the first request.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(30);
/// How long a hub waits for its first client, whose starter may have died.
const FIRST_WITHIN: Duration = Duration::from_secs(10);
/// The least that the program gets to let go of a client's threads before it is ended itself.
const SETTLE_MIN: Duration = Duration::from_secs(1);
/// How much may wait for a client that does not read before it is given up.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long the end of a program may follow the end of its output.
const AFTERWARDS: Duration = Duration::from_secs(1);
/// Lines that are read ahead of the router.
const AHEAD_MAX: usize = 256;

/// Says that the hub listens; anything else in its place is the reason why it does not.
pub(crate) const READY: &str = "ready";
/// The request by which a client says whose life it serves.
pub(crate) const JOIN: &str = "hub/join";
/// The last thing that clients hear: why the program is no longer there.
pub(crate) const ENDED: &str = "hub/ended";

/// Runs the hub of this folder until nobody needs it. The first line on standard output says
/// whether it could begin; the text, why it could not.
pub fn run(folder: PathBuf) -> Result<(), String> {
    let folder = HubFolder(folder);
    let named = |e: std::io::Error| format!("{}: {e}", folder.0.display());
    // One that is ending holds it until nothing of its program is left.
    let lock = folder.lock_file().map_err(named)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|e| named(e.into()))?;
    let order = LifeFolder(folder.0.clone()).read().map_err(named)?;
    shipmate_process::become_subreaper().map_err(|e| e.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let ran = tokio::task::LocalSet::new().block_on(&runtime, begin(&folder, &order));
    match ran {
        // The last connections end with the process: whoever waits for their end knows then
        // that nothing is left.
        Ok(_connections) => std::process::exit(0),
        Err(reason) => {
            // Whoever started it reads one line.
            say(&reason.replace('\n', " "));
            Err(reason)
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    // The starter may be gone; others may come all the same.
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

async fn begin(folder: &HubFolder, order: &Order) -> Result<Vec<OwnedWriteHalf>, String> {
    if let Some(before) = folder.marker() {
        shipmate_process::sweep(&before, Duration::ZERO).await;
    }
    let marker: Marker = order.marker.parse().map_err(|e| format!("the hub's marker: {e}"))?;
    let marker = Marker::new(marker.digest(), marker.kind(), marker.label());
    let marker = marker.map_err(|e| e.to_string())?;
    folder.keep_marker(&marker).map_err(|e| format!("{}: {e}", folder.0.display()))?;
    let starter = Starter::new(order, &LifeFolder(folder.0.clone()), marker);
    let running = starter.start(&order.workspace, &["app-server".to_owned()], None);
    let mut running = running.map_err(|not| not.to_string())?;
    let grace = Duration::from_millis(order.stop_grace_ms);
    let mut reader = BufReader::new(running.stdout);
    let greeted = tokio::select! {
        greeted = greet(&mut reader, &mut running.stdin, HANDSHAKE_WITHIN) => greeted,
        _ = running.tree.exited() => Err(String::new()),
    };
    let welcome = match greeted {
        Ok(welcome) => welcome,
        Err(reason) => {
            // Its end explains more than that it did not answer.
            let exited = tokio::time::timeout(AFTERWARDS, running.tree.exited()).await;
            running.tree.stop(grace).await;
            let reason = exited.map_or(reason, |exit| starter.obituary(exit));
            return Err(format!("it did not begin: {reason}"));
        }
    };
    let listener = match folder.listen() {
        Ok(listener) => listener,
        Err(e) => {
            running.tree.stop(grace).await;
            return Err(format!("{}: {e}", folder.0.display()));
        }
    };
    say(READY);
    let mut hub = Hub::new(welcome, running.stdin, reader, (grace / 2).max(SETTLE_MIN));
    let served = tokio::select! {
        reason = hub.serve(&listener) => reason,
        _ = running.tree.exited() => None,
    };
    // Nobody may come who would find no program.
    folder.close(listener);
    hub.program.take();
    match served {
        Some(reason) => {
            hub.tell_end(&reason);
            // One that does not do as it is told has had its time.
            let grace = if hub.stuck { Duration::ZERO } else { grace / 4 };
            drop(tokio::time::timeout(grace, running.tree.exited()).await);
            running.tree.stop(grace).await;
        }
        None => {
            // Its output has ended; how it did itself is known in a moment. What it said last
            // is known when all of it is gone.
            let exited = tokio::time::timeout(AFTERWARDS, running.tree.exited()).await;
            running.tree.stop(Duration::ZERO).await;
            let silent = || "codex ended its output".to_owned();
            let reason = exited.map_or_else(|_| silent(), |exit| starter.obituary(exit));
            hub.tell_end(&reason);
        }
    }
    Ok(hub.flush().await)
}

enum Event {
    Program(String),
    /// Its output has ended; it may take a moment to be gone.
    ProgramSilent,
    Client(Client, String),
    Left(Client),
    OutOfPatience(Client),
}

struct Hub {
    welcome: Value,
    patience: Duration,
    /// The program did not let go of a client in time.
    stuck: bool,
    router: Router,
    program: Option<mpsc::UnboundedSender<String>>,
    clients: BTreeMap<Client, Seat>,
    counter: Client,
    tell: mpsc::Sender<Event>,
    events: mpsc::Receiver<Event>,
}

/// A connection.
struct Seat {
    out: Option<mpsc::UnboundedSender<String>>,
    queued: Rc<Cell<usize>>,
    writes: tokio::task::JoinHandle<OwnedWriteHalf>,
    /// Held while something of its life may go on.
    _life: Option<File>,
    joined: bool,
}

impl Hub {
    fn new(
        welcome: Value,
        stdin: pipe::Sender,
        stdout: BufReader<pipe::Receiver>,
        patience: Duration,
    ) -> Hub {
        let (program, lines) = mpsc::unbounded_channel();
        tokio::task::spawn_local(write_lines(stdin, lines));
        let (tell, events) = mpsc::channel(AHEAD_MAX);
        tokio::task::spawn_local(read_program(stdout, tell.clone()));
        Hub {
            welcome,
            patience,
            stuck: false,
            router: Router::default(),
            program: Some(program),
            clients: BTreeMap::new(),
            counter: 0,
            tell,
            events,
        }
    }

    /// Passes lines until there is a reason not to go on; none where the program is the reason.
    async fn serve(&mut self, listener: &UnixListener) -> Option<String> {
        let Ok(mut terminate) = signal(SignalKind::terminate()) else {
            return Some("signals cannot be heard".to_owned());
        };
        let first = tokio::time::sleep_until(Instant::now() + FIRST_WITHIN);
        let mut first = std::pin::pin!(first);
        loop {
            tokio::select! {
                _ = terminate.recv() => return Some("it was told to end".to_owned()),
                () = &mut first, if self.counter == 0 => return Some("nobody came".to_owned()),
                accepted = listener.accept() => {
                    if let Ok((stream, _)) = accepted {
                        self.seat(stream);
                    }
                }
                Some(event) = self.events.recv() => match event {
                    Event::ProgramSilent => return None,
                    event => if let Some(reason) = self.take(event) {
                        return Some(reason);
                    }
                }
            }
        }
    }

    fn seat(&mut self, stream: UnixStream) {
        self.counter += 1;
        let client = self.counter;
        let (reader, writer) = stream.into_split();
        let (out, lines) = mpsc::unbounded_channel();
        let queued = Rc::new(Cell::new(0));
        let writes = write_to_client(writer, lines, Rc::clone(&queued));
        let writes = tokio::task::spawn_local(writes);
        let seat = Seat { out: Some(out), queued, writes, _life: None, joined: false };
        self.clients.insert(client, seat);
        let tell = self.tell.clone();
        tokio::task::spawn_local(async move {
            let mut reader = BufReader::new(reader);
            while let Some(line) = next_line(&mut reader).await {
                if tell.send(Event::Client(client, line)).await.is_err() {
                    return;
                }
            }
            drop(tell.send(Event::Left(client)).await);
        });
    }

    fn take(&mut self, event: Event) -> Option<String> {
        match event {
            Event::Program(line) => {
                let acts = match serde_json::from_str::<Value>(&line) {
                    Ok(message) if message.is_object() => self.router.program_says(message),
                    // Whoever listens keeps what it was.
                    _ => return self.tell_all(&line),
                };
                self.carry_out(acts)
            }
            Event::ProgramSilent => None,
            Event::Client(client, line) => {
                let message: Value = serde_json::from_str(&line).unwrap_or_default();
                if self.clients.get(&client).is_some_and(|seat| seat.joined) {
                    let acts = self.router.client_says(client, message);
                    return self.carry_out(acts);
                }
                self.let_in(client, &message)
            }
            Event::Left(client) => self.leave(client),
            Event::OutOfPatience(client) => {
                self.stuck = self.clients.contains_key(&client);
                let reason = "codex did not end a turn that it was told to end";
                self.stuck.then(|| reason.to_owned())
            }
        }
    }

    /// The first line of a client names its life. Nothing may begin for it before the lock of
    /// that life is held: its end could be overlooked.
    fn let_in(&mut self, client: Client, message: &Value) -> Option<String> {
        let life = message["params"]["life"].as_str().map(PathBuf::from);
        let life = life.filter(|_| message["method"] == JOIN);
        let held = life.and_then(|life| door::hold(&life).ok());
        let Some(lock) = held else { return self.leave(client) };
        let seat = self.clients.get_mut(&client)?;
        (seat._life, seat.joined) = (Some(lock), true);
        self.router.join(client);
        let welcome = json!({ "id": message["id"], "result": self.welcome });
        self.carry_out(vec![Act::ToClient(client, welcome)])
    }

    fn leave(&mut self, client: Client) -> Option<String> {
        if !self.clients.get(&client)?.joined {
            return self.dismiss(client);
        }
        let (tell, until) = (self.tell.clone(), Instant::now() + self.patience);
        tokio::task::spawn_local(async move {
            tokio::time::sleep_until(until).await;
            drop(tell.send(Event::OutOfPatience(client)).await);
        });
        let acts = self.router.left(client);
        self.carry_out(acts)
    }

    /// Lets go of a client; the last one only when nothing of the program is left.
    fn dismiss(&mut self, client: Client) -> Option<String> {
        if self.clients.len() == 1 {
            return Some("nobody needs it any more".to_owned());
        }
        self.clients.remove(&client);
        None
    }

    fn carry_out(&mut self, acts: Vec<Act>) -> Option<String> {
        let mut ends = None;
        for act in acts {
            let ended = match act {
                Act::ToProgram(message) => {
                    if let Some(program) = &self.program {
                        // Gone, its end is on its way.
                        drop(program.send(message.to_string()));
                    }
                    None
                }
                Act::ToClient(client, message) => self.send(client, message.to_string()),
                Act::Settled(client) => self.dismiss(client),
            };
            ends = ends.or(ended);
        }
        ends
    }

    fn tell_all(&mut self, line: &str) -> Option<String> {
        let joined = self.clients.iter().filter(|(_, seat)| seat.joined);
        let joined: Vec<Client> = joined.map(|(client, _)| *client).collect();
        joined.into_iter().filter_map(|client| self.send(client, line.to_owned())).next()
    }

    fn send(&mut self, client: Client, line: String) -> Option<String> {
        let seat = self.clients.get_mut(&client)?;
        let queued = seat.queued.get() + line.len();
        seat.queued.set(queued);
        if let Some(out) = &seat.out {
            drop(out.send(line));
        }
        if queued > QUEUE_BYTES_MAX && seat.out.take().is_some() {
            seat.writes.abort();
            return self.leave(client);
        }
        None
    }

    fn tell_end(&mut self, reason: &str) {
        let ended = json!({ "method": ENDED, "params": { "reason": reason } });
        self.tell_all(&ended.to_string());
    }

    /// Waits until everybody has heard the end, or does not listen. The connections stay open.
    async fn flush(self) -> Vec<OwnedWriteHalf> {
        let mut open = Vec::new();
        for (_, mut seat) in self.clients {
            seat.out.take();
            let written = tokio::time::timeout(AFTERWARDS, seat.writes).await;
            open.extend(written.ok().and_then(Result::ok));
        }
        open
    }
}

async fn write_to_client(
    mut writer: OwnedWriteHalf,
    mut lines: mpsc::UnboundedReceiver<String>,
    queued: Rc<Cell<usize>>,
) -> OwnedWriteHalf {
    while let Some(mut line) = lines.recv().await {
        queued.set(queued.get().saturating_sub(line.len()));
        line.push('\n');
        if writer.write_all(line.as_bytes()).await.is_err() {
            break;
        }
    }
    writer
}

async fn read_program(mut reader: BufReader<pipe::Receiver>, tell: mpsc::Sender<Event>) {
    while let Some(line) = next_line(&mut reader).await {
        if tell.send(Event::Program(line)).await.is_err() {
            return;
        }
    }
    drop(tell.send(Event::ProgramSilent).await);
}

/// Whether a hub that is there has started the processes that carry this marker.
pub(crate) fn owns(team: &Path, marker: &Marker) -> bool {
    let hubs = fs::read_dir(HubFolder::all(team)).into_iter().flatten().filter_map(Result::ok);
    let mut hubs = hubs.map(|entry| HubFolder(entry.path()));
    hubs.any(|hub| hub.marker().as_ref() == Some(marker) && hub.is_alive())
}
