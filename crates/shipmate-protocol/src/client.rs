//! The client: finds or starts the coordinator, asks, and asks again after a crash.
//!
//! A request keeps its id until it is answered, so a lost answer is asked for again
//! and never carried out twice. The coordinator may die at any moment; the next
//! read or write notices, and the same request goes to its successor. One that answers nobody
//! is told of, and given up after a while: see [`crate::socket`].

use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;

use crate::Code;
use crate::answers::{Answer, FromAnswer};
use crate::place::{BadPlace, Place, read_token};
use crate::refused::Refused;
use crate::socket::{self, Patience, Patient, Silence, SilenceCause};
use crate::verbs;
use crate::verbs::{Ask, Verb};
use crate::wire::{Hello, Notice, Reply, Request, Welcome};
use crate::{LINE_BYTES_MAX, PROTOCOL};

/// How often one request may find the coordinator gone. Each time costs the start of a
/// process, so this is many seconds of a coordinator that is killed again and again
/// before it has read its log, and a moment where something else is wrong.
const ATTEMPTS_MAX: usize = 1_000;

/// Tells a coordinator that starts to serve only a workspace whose state is there.
pub const EXISTING: &str = "--existing";

#[derive(Debug, thiserror::Error)]
pub enum ClientFailure {
    /// Show it: it says what stood in the way.
    #[error("{0}")]
    Refused(Refused),
    /// Another release runs; the message says how to replace it.
    #[error("{0}")]
    Version(String),
    #[error(transparent)]
    Place(#[from] BadPlace),
    #[error("the coordinator could not be started: {0}")]
    Start(String),
    #[error("no coordinator is running for {0}")]
    NotRunning(String),
    #[error("the connection to the coordinator failed {ATTEMPTS_MAX} times, last: {0}")]
    Connection(String),
    /// It is there and answers nobody: stopped, it hangs, or it does not listen.
    #[error(
        "{0}\n  end it with `shipmate coordinator stop`: the next command starts another, and \
         nothing acknowledged is lost"
    )]
    Silent(Silence),
    #[error("the coordinator sent something this release does not understand: {0}")]
    Nonsense(String),
    #[error("{0}\n  run a shipmate command in this workspace as its owner first")]
    Token(String),
}

/// How to start a coordinator where none runs.
#[derive(Debug, Clone)]
pub enum Launch {
    /// This program with these arguments; it prints `ready` when it listens.
    Program { program: std::path::PathBuf, args: Vec<std::ffi::OsString> },
    /// Do not start one.
    Never,
}

#[derive(Debug)]
pub struct Client {
    place: Place,
    launch: Launch,
    token: TokenSource,
    id: String,
    counter: u64,
    connection: Option<Connection>,
    /// How often it has connected.
    connects: u64,
    pub team: Option<String>,
    pub patience: Patience,
    /// Called when the coordinator has been silent for a while, before it is given up.
    pub on_silence: fn(Silence),
    /// Answers where nothing was ever kept, so that nobody makes a workspace by looking for
    /// one; what it leaves to the coordinator is none. Without it a coordinator is started.
    pub without_state: Option<WithoutState>,
}

/// What a workspace without state answers: its folders, the team that is meant, the question.
pub type WithoutState = fn(&Place, Option<&str>, &Ask) -> Option<Result<Answer, Refused>>;

#[derive(Debug, Clone)]
pub enum TokenSource {
    /// The workspace's own token file, which the coordinator writes at its first start.
    Person,
    Given(String),
}

#[derive(Debug)]
struct Connection {
    reader: BufReader<Patient>,
    welcome: Welcome,
}

/// What a listening client hears.
#[derive(Debug)]
pub enum Heard {
    Answer(Answer),
    Notice(Notice),
}

/// Where a try ended: worth another one with a new connection, or not.
enum Trouble {
    Lost(String),
    Final(ClientFailure),
}

impl Client {
    pub fn new(place: Place, launch: Launch, token: TokenSource) -> Client {
        let mut random = [0_u8; 12];
        getrandom::fill(&mut random).expect("the system gives random bytes");
        let id = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Client {
            place,
            launch,
            token,
            id,
            counter: 0,
            connection: None,
            connects: 0,
            team: None,
            patience: Patience::default(),
            on_silence: |_| {},
            without_state: None,
        }
    }

    /// Who this client acts as, according to the coordinator.
    pub fn welcome(&mut self) -> Result<Welcome, ClientFailure> {
        if self.is_without_state() && matches!(self.token, TokenSource::Person) {
            // Nobody else has a token here.
            return Ok(Welcome {
                protocol: PROTOCOL,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id(),
                actor: "person".to_owned(),
            });
        }
        let mut last = String::new();
        for _ in 0..ATTEMPTS_MAX {
            match self.connected() {
                Ok(connection) => return Ok(connection.welcome.clone()),
                Err(Trouble::Lost(reason)) => last = reason,
                Err(Trouble::Final(failure)) => return Err(failure),
            }
        }
        Err(ClientFailure::Connection(last))
    }

    /// Asks and waits for the answer, through restarts of the coordinator.
    pub fn ask<V: Verb>(&mut self, verb: V) -> Result<V::Answer, ClientFailure> {
        self.ask_hearing(verb, |_| {})
    }

    /// The same, and hands on the notices that come before the answer.
    pub fn ask_hearing<V: Verb>(
        &mut self,
        verb: V,
        each: impl FnMut(Notice),
    ) -> Result<V::Answer, ClientFailure> {
        let answer = self.ask_any(verb.into(), each)?;
        FromAnswer::from_answer(answer)
            .map_err(|other| ClientFailure::Nonsense(format!("{} as an answer", other.word())))
    }

    fn ask_any(&mut self, ask: Ask, mut each: impl FnMut(Notice)) -> Result<Answer, ClientFailure> {
        if let Some(answer) = self.without_state.filter(|_| self.is_without_state())
            && let Some(answer) = answer(&self.place, self.team.as_deref(), &ask)
        {
            return answer.map_err(ClientFailure::Refused);
        }
        self.counter += 1;
        let request = Request { id: self.counter, team: self.team.clone(), ask };
        let mut line = serde_json::to_vec(&request).expect("a request is JSON");
        line.push(b'\n');
        if line.len() > LINE_BYTES_MAX {
            return Err(ClientFailure::Refused(Refused {
                code: Code::TooLong,
                message: format!("a request is longer than {LINE_BYTES_MAX} bytes"),
                remedy: Some("send less at once".to_owned()),
            }));
        }
        let mut last = String::new();
        for _ in 0..ATTEMPTS_MAX {
            match self.exchange(request.id, &line, &mut each) {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Final(failure)) => {
                    // Half a line may be on its way.
                    if matches!(failure, ClientFailure::Silent(_)) {
                        self.connection = None;
                    }
                    return Err(failure);
                }
                Err(Trouble::Lost(reason)) => {
                    self.connection = None;
                    last = reason;
                }
            }
        }
        Err(ClientFailure::Connection(last))
    }

    fn is_without_state(&self) -> bool {
        self.without_state.is_some() && self.connection.is_none() && !self.place.has_state()
    }

    fn exchange(
        &mut self,
        id: u64,
        line: &[u8],
        each: &mut impl FnMut(Notice),
    ) -> Result<Answer, Trouble> {
        let connection = self.connected()?;
        connection.write(line).map_err(|trouble| connection.last_word(trouble))?;
        loop {
            match connection.read()? {
                Reply::Answer { id: of, answer } if of == id => return Ok(answer),
                Reply::Refused { id: of, refused } if of == id || of == 0 => {
                    return Err(Trouble::Final(ClientFailure::Refused(refused)));
                }
                Reply::Notice(notice) => each(notice),
                // Late answers to a request that was given up.
                Reply::Answer { .. } | Reply::Refused { .. } => {}
                Reply::Welcome(_) => return Err(nonsense("a second welcome".to_owned())),
            }
        }
    }

    /// Follows a log from `after` on; `each` says whether to go on. Survives restarts
    /// of the coordinator by following again from the last record seen.
    pub fn follow(
        &mut self,
        after: u64,
        mut each: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), ClientFailure> {
        let after = Cell::new(after);
        let asks = || vec![Ask::Follow(verbs::Follow { after: after.get() })];
        self.listen(asks, |heard| {
            let Heard::Notice(Notice::Records { records, .. }) = heard else {
                return ControlFlow::Continue(());
            };
            for record in records {
                after.set(after.get().max(position_of(record.get())));
                each(record.get())?;
            }
            ControlFlow::Continue(())
        })
    }

    /// Asks for notices and hands on whatever comes, for as long as `each` says. With a
    /// new coordinator everything is asked again, so `asks` names what is wanted by then.
    ///
    /// Notices that come while a later request waits for its answer are lost: what may
    /// not be missed is asked for last, from a position.
    pub fn listen(
        &mut self,
        mut asks: impl FnMut() -> Vec<Ask>,
        mut each: impl FnMut(Heard) -> ControlFlow<()>,
    ) -> Result<(), ClientFailure> {
        'anew: loop {
            let mut connected = None;
            for ask in asks() {
                let answer = self.ask(ask)?;
                if each(Heard::Answer(answer)).is_break() {
                    return Ok(());
                }
                // An earlier request of these went to a coordinator that is gone.
                if *connected.get_or_insert(self.connects) != self.connects {
                    continue 'anew;
                }
            }
            while let Some(connection) = &mut self.connection {
                match connection.read() {
                    Ok(Reply::Notice(notice)) => {
                        if each(Heard::Notice(notice)).is_break() {
                            return Ok(());
                        }
                    }
                    Ok(_) => {}
                    Err(Trouble::Final(failure)) => return Err(failure),
                    Err(Trouble::Lost(_)) => self.connection = None,
                }
            }
        }
    }

    fn connected(&mut self) -> Result<&mut Connection, Trouble> {
        if self.connection.is_none() {
            self.connection = Some(self.connect()?);
            self.connects += 1;
        }
        Ok(self.connection.as_mut().expect("it was connected above"))
    }

    fn connect(&self) -> Result<Connection, Trouble> {
        let socket = self.place.socket();
        let reach = || socket::connect_in_time(&socket, self.patience, self.on_silence);
        let stream = match reach() {
            Ok(stream) => stream,
            // With a file in place of a folder the start says what is wrong with the workspace.
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::NotADirectory
                ) =>
            {
                self.launch()?;
                reach().map_err(lost)?
            }
            Err(e) if e.kind() == ErrorKind::TimedOut => {
                let silence = Silence { pid: None, cause: SilenceCause::NoAnswer };
                return Err(Trouble::Final(ClientFailure::Silent(silence)));
            }
            Err(e) => {
                let text = format!("{}: {e}", socket.display());
                return Err(Trouble::Final(ClientFailure::Start(text)));
            }
        };
        let stream = Patient::new(stream, &socket, self.patience, self.on_silence);
        let hello = Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            client: self.id.clone(),
            token: self.token()?,
        };
        let mut line = serde_json::to_vec(&hello).expect("a hello is JSON");
        line.push(b'\n');
        let mut reader = BufReader::with_capacity(64 * 1024, stream);
        write_line(&mut reader, &line)?;
        match read_reply(&mut reader)? {
            Reply::Welcome(welcome) => Ok(Connection { reader, welcome }),
            Reply::Refused { refused, .. } if refused.code == Code::Version => {
                Err(Trouble::Final(ClientFailure::Version(refused.to_string())))
            }
            Reply::Refused { refused, .. } => Err(Trouble::Final(ClientFailure::Refused(refused))),
            other => Err(nonsense(format!("{other:?} instead of a welcome"))),
        }
    }

    fn token(&self) -> Result<String, Trouble> {
        match &self.token {
            TokenSource::Given(token) => Ok(token.clone()),
            TokenSource::Person => {
                let path = self.place.person_token();
                read_token(&path).map_err(|e| {
                    let text = format!("{}: {e}", path.display());
                    Trouble::Final(ClientFailure::Token(text))
                })
            }
        }
    }

    /// Starts a coordinator and waits until it, or another one, listens.
    fn launch(&self) -> Result<(), Trouble> {
        let Launch::Program { program, args } = &self.launch else {
            let workspace = self.place.workspace.display().to_string();
            return Err(Trouble::Final(ClientFailure::NotRunning(workspace)));
        };
        let failed = |text: String| Trouble::Final(ClientFailure::Start(text));
        // Whoever took it away does not want it back.
        if self.connects > 0 && !self.place.state().is_dir() {
            return Err(failed(format!(
                "{} is gone, and the team with it",
                self.place.state().display()
            )));
        }
        if !self.place.workspace.is_dir() {
            return Err(failed(format!("{} is gone", self.place.workspace.display())));
        }
        let mut command = Command::new(program);
        command.args(args);
        // It may be taken away while the coordinator starts.
        if self.connects > 0 || self.place.has_state() {
            command.arg(EXISTING);
        }
        let mut child = command
            .envs([self.place.coordinator_marker()])
            .env_remove("SHIPMATE_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| failed(format!("{}: {e}", program.display())))?;
        let stdout = child.stdout.take().expect("stdout was piped");
        let (tell, told) = std::sync::mpsc::channel();
        // The pipe ends with the child's first line or its death; a thread lets the
        // wait have an end without polling.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout).read_line(&mut line);
            // Nobody listens any more when the client has given up.
            drop(tell.send(read.map(|_| line)));
        });
        let Patience { probe_after, tell_after, give_up_after } = self.patience;
        let mut heard = told.recv_timeout(probe_after + tell_after);
        if matches!(heard, Err(RecvTimeoutError::Timeout)) {
            (self.on_silence)(self.why_not_listening(&child));
            heard = told.recv_timeout(give_up_after);
        }
        if matches!(heard, Err(RecvTimeoutError::Timeout)) {
            let silence = self.why_not_listening(&child);
            match silence.cause {
                SilenceCause::Starts => reap(child),
                // It would wait for the lock for as long as the other one has it.
                SilenceCause::NoAnswer | SilenceCause::NoSocket => end(child),
            }
            return Err(Trouble::Final(ClientFailure::Silent(silence)));
        }
        reap(child);
        match heard {
            Ok(Ok(line)) if line.trim() == "ready" => Ok(()),
            Ok(Ok(line)) if !line.trim().is_empty() => {
                Err(failed(line.trim().replace("\\n", "\n")))
            }
            Ok(Err(e)) => Err(failed(e.to_string())),
            Ok(Ok(_)) | Err(_) => {
                Err(Trouble::Lost("the coordinator ended while starting".to_owned()))
            }
        }
    }

    /// Who keeps the workspace from being served: another coordinator, or the one that was started.
    fn why_not_listening(&self, started: &Child) -> Silence {
        let pid = socket::holder_of(&self.place.lock());
        let is_it = pid == Some(started.id());
        let cause = if is_it { SilenceCause::Starts } else { SilenceCause::NoSocket };
        Silence { pid, cause }
    }
}

/// Takes the child's end when it exits before this process does.
fn reap(mut child: Child) {
    std::thread::spawn(move || drop(child.wait()));
}

/// A child that is gone already has been ended by somebody else.
fn end(mut child: Child) {
    drop(child.kill());
    drop(child.wait());
}

impl Connection {
    fn read(&mut self) -> Result<Reply, Trouble> {
        read_reply(&mut self.reader)
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Trouble> {
        write_line(&mut self.reader, line)
    }

    /// A coordinator that hangs up on a request has said why, as a rule.
    fn last_word(&mut self, trouble: Trouble) -> Trouble {
        if matches!(trouble, Trouble::Final(_)) {
            return trouble;
        }
        loop {
            match self.read() {
                Ok(Reply::Refused { id: 0, refused }) => {
                    return Trouble::Final(ClientFailure::Refused(refused));
                }
                Ok(_) => {}
                Err(_) => return trouble,
            }
        }
    }
}

fn write_line(to: &mut BufReader<Patient>, line: &[u8]) -> Result<(), Trouble> {
    to.get_mut().write_all(line).map_err(|e| ended(to, e))
}

fn read_reply(reader: &mut BufReader<Patient>) -> Result<Reply, Trouble> {
    let mut line = Vec::new();
    let limited = &mut reader.take(LINE_BYTES_MAX as u64 * 4);
    let read = limited.read_until(b'\n', &mut line).map_err(|e| ended(reader, e))?;
    if read == 0 || line.last() != Some(&b'\n') {
        return Err(Trouble::Lost("the connection ended".to_owned()));
    }
    serde_json::from_slice(&line).map_err(|e| nonsense(e.to_string()))
}

fn ended(connection: &BufReader<Patient>, e: std::io::Error) -> Trouble {
    match e.kind() {
        ErrorKind::TimedOut => {
            Trouble::Final(ClientFailure::Silent(connection.get_ref().silence()))
        }
        _ => lost(e),
    }
}

fn lost(e: std::io::Error) -> Trouble {
    Trouble::Lost(e.to_string())
}

fn nonsense(text: String) -> Trouble {
    Trouble::Final(ClientFailure::Nonsense(text))
}

fn position_of(record: &str) -> u64 {
    #[derive(serde::Deserialize)]
    struct Numbered {
        n: u64,
    }
    serde_json::from_str::<Numbered>(record).map_or(0, |record| record.n)
}
