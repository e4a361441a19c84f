//! The reference: the least that can be called a board, and therefore a bound.
//!
//! One process, one thread, the state in vectors, one JSON array a line over a unix socket. It has
//! no rules, no identities, no leases, no tokens and no history; with `--synced` it appends the
//! commands of each turn to a file and syncs once before it answers any of them. What shipmate needs
//! beyond it is the price of everything it has left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::event::{PollFd, PollFlags, poll};

use crate::arguments::Arguments;
use crate::drain::Plan;
use crate::fleet::myself;
use crate::worker::{Board, Taken};

/// A request: what, a number, to whom, text.
type Line<'a> = (&'a str, u64, &'a str, &'a str);

/// The server as a child of ours.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) socket: PathBuf,
}

impl Server {
    pub(crate) fn start(folder: &Path, synced: bool) -> Result<Server, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let socket = folder.join("reference.sock");
        let mut command = myself("serve")?;
        command.arg("--socket").arg(&socket);
        if synced {
            command.arg("--log").arg(folder.join("reference.log"));
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|e| e.to_string())?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output was piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        let server = Server { child, socket };
        match read {
            Ok(_) if line.trim() == "ready" => Ok(server),
            _ => Err("the reference did not start".to_owned()),
        }
    }

    pub(crate) fn create(&self, plan: &Plan) -> Result<(), String> {
        let mut link = Link::connect(&self.socket)?;
        for on in plan.layers().into_iter().flatten() {
            // Numbers from one here, so that zero can mean none.
            let on: Vec<String> = on.iter().map(|index| (index + 1).to_string()).collect();
            link.write(("task", 0, "", &on.join(" ")))?;
        }
        link.ask(("next", 1, "", "")).map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Link {
    reader: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl Link {
    pub(crate) fn connect(socket: &Path) -> Result<Link, String> {
        let stream = UnixStream::connect(socket).map_err(|e| e.to_string())?;
        Ok(Link { reader: BufReader::new(stream), line: Vec::new() })
    }

    fn write(&mut self, line: Line<'_>) -> Result<(), String> {
        let mut text = serde_json::to_vec(&line).expect("a request is JSON");
        text.push(b'\n');
        self.reader.get_mut().write_all(&text).map_err(|e| e.to_string())
    }

    /// Asks and waits for the answer: a number and texts.
    pub(crate) fn ask(&mut self, line: Line<'_>) -> Result<(u64, Vec<String>), String> {
        self.write(line)?;
        self.line.clear();
        let read = self.reader.read_until(b'\n', &mut self.line).map_err(|e| e.to_string())?;
        if read == 0 {
            return Err("the reference is gone".to_owned());
        }
        serde_json::from_slice(&self.line).map_err(|e| e.to_string())
    }
}

#[derive(Debug)]
pub(crate) struct ReferenceBoard {
    link: Link,
}

impl ReferenceBoard {
    pub(crate) fn connect(arguments: &mut Arguments) -> Result<ReferenceBoard, String> {
        Ok(ReferenceBoard { link: Link::connect(&arguments.path("socket")?)? })
    }
}

impl Board for ReferenceBoard {
    fn next(&mut self) -> Result<Option<Taken>, String> {
        let (task, _) = self.link.ask(("next", 0, "", ""))?;
        Ok((task > 0).then_some(Taken { task, token: task, is_end: false }))
    }

    fn complete(&mut self, taken: Taken) -> Result<(), String> {
        match self.link.ask(("complete", taken.task, "", ""))? {
            (task, _) if task == taken.task => Ok(()),
            _ => Err(format!("task {} could not be completed", taken.task)),
        }
    }
}

#[derive(Debug, Default)]
struct Peer {
    name: String,
    input: Vec<u8>,
    output: Vec<u8>,
    waits_for_task: bool,
    waits_for_mail: bool,
    gone: bool,
}

#[derive(Debug, Default)]
struct Task {
    unmet: usize,
    blocks: Vec<usize>,
    held: bool,
}

/// The whole state.
#[derive(Debug, Default)]
struct Reference {
    tasks: Vec<Task>,
    ready: VecDeque<usize>,
    open: BTreeSet<usize>,
    inboxes: BTreeMap<String, Vec<String>>,
    /// The commands of this turn that changed something.
    changes: Vec<u8>,
}

pub(crate) fn serve(mut arguments: Arguments) -> Result<(), String> {
    let socket = arguments.path("socket")?;
    let log = arguments.optional("log").map(File::create).transpose().map_err(|e| e.to_string())?;
    arguments.finish()?;
    let listener = UnixListener::bind(&socket).map_err(|e| e.to_string())?;
    println!("ready");
    turns(&listener, log).map_err(|e| e.to_string())
}

fn turns(listener: &UnixListener, mut log: Option<File>) -> std::io::Result<()> {
    let mut state = Reference::default();
    let mut peers: Vec<(UnixStream, Peer)> = Vec::new();
    loop {
        let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
        fds.extend(peers.iter().map(|(stream, _)| PollFd::new(stream, PollFlags::IN)));
        poll(&mut fds, None)?;
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        for (index, _) in ready.iter().enumerate().skip(1).filter(|(_, ready)| **ready) {
            let (stream, peer) = &mut peers[index - 1];
            take_in(stream, peer)?;
        }
        for index in 0..peers.len() {
            state.hear(&mut peers, index);
        }
        state.wake(&mut peers);
        if let Some(log) = log.as_mut().filter(|_| !state.changes.is_empty()) {
            log.write_all(&state.changes)?;
            log.sync_data()?;
        }
        state.changes.clear();
        for (stream, peer) in peers.iter_mut().filter(|(_, peer)| !peer.output.is_empty()) {
            peer.gone |= stream.write_all(&peer.output).is_err();
            peer.output.clear();
        }
        peers.retain(|(_, peer)| !peer.gone);
        if ready[0] {
            let (stream, _) = listener.accept()?;
            peers.push((stream, Peer::default()));
        }
    }
}

fn take_in(stream: &mut UnixStream, peer: &mut Peer) -> std::io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer) {
        Ok(0) => peer.gone = true,
        Ok(read) => peer.input.extend_from_slice(&buffer[..read]),
        Err(e) if e.kind() == ErrorKind::ConnectionReset => peer.gone = true,
        Err(e) => return Err(e),
    }
    Ok(())
}

impl Reference {
    fn hear(&mut self, peers: &mut [(UnixStream, Peer)], index: usize) {
        let peer = &mut peers[index].1;
        let Some(end) = peer.input.iter().rposition(|byte| *byte == b'\n') else { return };
        let rest = peer.input.split_off(end + 1);
        let lines = std::mem::replace(&mut peer.input, rest);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let Ok(parsed) = serde_json::from_slice::<Line<'_>>(line) else {
                peer.gone = true;
                return;
            };
            if parsed.0 != "receive" && parsed.0 != "hello" {
                self.changes.extend_from_slice(line);
                self.changes.push(b'\n');
            }
            self.decide(peer, parsed);
        }
    }

    fn decide(&mut self, peer: &mut Peer, (what, number, to, text): Line<'_>) {
        match what {
            "hello" => {
                // From here on it gets what is sent to all.
                self.inboxes.entry(text.to_owned()).or_default();
                peer.name = text.to_owned();
            }
            "task" => return self.create(text),
            // A question whose answer says that everything before it is done.
            "next" if number > 0 => {}
            "next" => {
                peer.waits_for_task = true;
                return;
            }
            "complete" => {
                let answer = self.complete(number as usize);
                return peer.answer(answer, &[]);
            }
            "send" => match to {
                "all" => {
                    for inbox in self.inboxes.values_mut() {
                        inbox.push(text.to_owned());
                    }
                }
                to => self.inboxes.entry(to.to_owned()).or_default().push(text.to_owned()),
            },
            "receive" => {
                peer.waits_for_mail = true;
                return;
            }
            _ => peer.gone = true,
        }
        peer.answer(number, &[]);
    }

    fn create(&mut self, on: &str) {
        let id = self.tasks.len() + 1;
        let on: Vec<usize> = on.split_whitespace().filter_map(|id| id.parse().ok()).collect();
        for before in &on {
            self.tasks[before - 1].blocks.push(id);
        }
        if on.is_empty() {
            self.ready.push_back(id);
        }
        self.open.insert(id);
        self.tasks.push(Task { unmet: on.len(), ..Task::default() });
    }

    fn complete(&mut self, id: usize) -> u64 {
        let Some(task) = self.tasks.get_mut(id.wrapping_sub(1)).filter(|task| task.held) else {
            return 0;
        };
        task.held = false;
        self.open.remove(&id);
        for next in std::mem::take(&mut task.blocks) {
            let next_task = &mut self.tasks[next - 1];
            next_task.unmet -= 1;
            if next_task.unmet == 0 {
                self.ready.push_back(next);
            }
        }
        id as u64
    }

    /// Gives out what there is to those who wait; an empty board says so to all.
    fn wake(&mut self, peers: &mut [(UnixStream, Peer)]) {
        for (_, peer) in peers.iter_mut().filter(|(_, peer)| peer.waits_for_task) {
            match self.ready.pop_front() {
                Some(id) => {
                    self.tasks[id - 1].held = true;
                    peer.answer(id as u64, &[]);
                }
                None if self.open.is_empty() => peer.answer(0, &[]),
                None => break,
            }
            peer.waits_for_task = false;
        }
        for (_, peer) in peers.iter_mut().filter(|(_, peer)| peer.waits_for_mail) {
            let Some(inbox) = self.inboxes.get_mut(&peer.name) else { continue };
            if !inbox.is_empty() {
                let mail = std::mem::take(inbox);
                // That it was read is a change like any other.
                self.changes.extend_from_slice(b"[\"read\"]\n");
                peer.answer(0, &mail);
                peer.waits_for_mail = false;
            }
        }
    }
}

impl Peer {
    fn answer(&mut self, number: u64, texts: &[String]) {
        serde_json::to_writer(&mut self.output, &(number, texts)).expect("an answer is JSON");
        self.output.push(b'\n');
    }
}
