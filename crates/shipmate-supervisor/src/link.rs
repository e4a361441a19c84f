//! A supervisor's connection to the coordinator: requests that outlive coordinators.
//!
//! Each link is one client with its own counter and one request at a time, so a lost
//! answer is asked for again and never carried out twice. When the coordinator is gone
//! the link starts the next one. A refusal that says this life is over ends the link.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use shipmate_protocol::client::EXISTING;
use shipmate_protocol::wire::{Hello, Reply, Request};
use shipmate_protocol::{
    Answer, Ask, Code, LINE_BYTES_MAX, Notice, PROTOCOL, Place, Refused, Verb, socket,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// How long to wait before something is tried again that failed for now.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Why a request has no answer.
#[derive(Debug, Clone)]
pub(crate) enum LinkEnd {
    /// The coordinator said no, and why.
    Refused(Refused),
    /// This life is no longer the current one, or its team is gone: end.
    Over(String),
}

/// How every link of a life reaches the coordinator.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) place: Place,
    pub(crate) token: String,
    pub(crate) program: PathBuf,
    /// The folder of this life.
    pub(crate) life: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Link {
    line: Rc<Line>,
    id: String,
    counter: u64,
    wire: Option<Wire>,
    /// What to say first on each new connection.
    greeting: Option<Ask>,
    notices: Option<mpsc::UnboundedSender<Notice>>,
}

#[derive(Debug)]
struct Wire {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

enum Trouble {
    Lost,
    Final(LinkEnd),
}

impl From<io::Error> for Trouble {
    fn from(_: io::Error) -> Trouble {
        Trouble::Lost
    }
}

impl Link {
    pub(crate) fn new(line: &Rc<Line>) -> Link {
        let mut random = [0_u8; 12];
        getrandom::fill(&mut random).expect("the system gives random bytes");
        let id = data_encoding::HEXLOWER.encode(&random);
        let line = Rc::clone(line);
        Link { line, id, counter: 0, wire: None, greeting: None, notices: None }
    }

    /// A link that says this on each new connection, and hands on what it is told.
    pub(crate) fn greeting(line: &Rc<Line>, ask: Ask) -> (Link, mpsc::UnboundedReceiver<Notice>) {
        let (tell, told) = mpsc::unbounded_channel();
        let link = Link { greeting: Some(ask), notices: Some(tell), ..Link::new(line) };
        (link, told)
    }

    /// Asks and waits for the answer, through restarts of the coordinator.
    pub(crate) async fn ask<V: Verb>(&mut self, verb: V) -> Result<V::Answer, LinkEnd> {
        self.counter += 1;
        let request = Request { id: self.counter, team: None, ask: verb.into() };
        loop {
            match self.exchange(&request).await {
                Ok(answer) => return answer.of().map_err(LinkEnd::Refused),
                Err(Trouble::Final(LinkEnd::Refused(refused))) if passes(&refused) => {
                    tokio::time::sleep_until(tokio::time::Instant::now() + AGAIN_AFTER).await;
                }
                Err(Trouble::Final(end)) => return Err(end),
                Err(Trouble::Lost) => {
                    tracing::debug!("the coordinator is gone in the middle of a request");
                    self.wire = None;
                }
            }
        }
    }

    /// Stays connected and hands on notices; ends when this life is over.
    pub(crate) async fn listen(&mut self) -> LinkEnd {
        loop {
            let heard = match self.connected().await {
                Ok(wire) => read(wire).await,
                Err(trouble) => Err(trouble),
            };
            match heard {
                Ok(Reply::Notice(notice)) => self.hand_on(notice),
                Ok(_) => {}
                Err(Trouble::Final(end)) => return end,
                Err(Trouble::Lost) => self.wire = None,
            }
        }
    }

    fn hand_on(&self, notice: Notice) {
        if let Some(notices) = &self.notices {
            // Nobody listens any more when the supervisor ends.
            drop(notices.send(notice));
        }
    }

    async fn exchange(&mut self, request: &Request) -> Result<Answer, Trouble> {
        send(self.connected().await?, request).await?;
        loop {
            let wire = self.wire.as_mut().ok_or(Trouble::Lost)?;
            match read(wire).await? {
                Reply::Answer { id, answer } if id == request.id => return Ok(answer),
                Reply::Refused { id, refused } if id == request.id || id == 0 => {
                    return Err(Trouble::Final(ended(refused)));
                }
                Reply::Notice(notice) => self.hand_on(notice),
                _ => {}
            }
        }
    }

    async fn connected(&mut self) -> Result<&mut Wire, Trouble> {
        if self.wire.is_none() {
            let mut wire = self.connect().await?;
            if let Some(ask) = self.greeting.clone() {
                self.counter += 1;
                send(&mut wire, &Request { id: self.counter, team: None, ask }).await?;
            }
            self.wire = Some(wire);
        }
        Ok(self.wire.as_mut().expect("it was connected above"))
    }

    async fn connect(&self) -> Result<Wire, Trouble> {
        let socket = self.line.place.socket();
        let stream = match socket::connect(&socket) {
            Ok(stream) => stream,
            // One that hangs takes nobody any more: it is there, so none is started.
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::PermissionDenied) => {
                tokio::time::sleep_until(tokio::time::Instant::now() + AGAIN_AFTER).await;
                return Err(Trouble::Lost);
            }
            Err(_) => {
                self.launch().await?;
                socket::connect(&socket)?
            }
        };
        let (reader, writer) = UnixStream::from_std(stream)?.into_split();
        let mut wire = Wire { reader: BufReader::new(reader), writer };
        let hello = Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            client: self.id.clone(),
            token: self.line.token.clone(),
        };
        send(&mut wire, &hello).await?;
        match read(&mut wire).await? {
            Reply::Welcome(_) => Ok(wire),
            Reply::Refused { refused, .. } => match ended(refused) {
                over @ LinkEnd::Over(_) => Err(Trouble::Final(over)),
                // The board cannot be opened now, say: agents do not end for that.
                LinkEnd::Refused(_) => {
                    tokio::time::sleep_until(tokio::time::Instant::now() + AGAIN_AFTER).await;
                    Err(Trouble::Lost)
                }
            },
            _ => Err(Trouble::Lost),
        }
    }

    /// Starts a coordinator and waits until it, or another one, listens.
    async fn launch(&self) -> Result<(), Trouble> {
        if !self.line.life.is_dir() {
            // Whoever took it away does not want it back, nor what this life does.
            let text = format!("{} is gone", self.line.life.display());
            return Err(Trouble::Final(LinkEnd::Over(text)));
        }
        tracing::info!("no coordinator listens: one is started");
        let args: [OsString; 5] = [
            "--workspace".into(),
            self.line.place.workspace.clone().into(),
            "coordinator".into(),
            "run".into(),
            EXISTING.into(),
        ];
        let mut command = tokio::process::Command::new(&self.line.program);
        command
            .args(args)
            .envs(shipmate_process::environment::newer())
            .envs([self.line.place.coordinator_marker()])
            .env_remove("SHIPMATE_TOKEN")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .process_group(0);
        let started = async {
            let mut child = command.spawn()?;
            let stdout = child.stdout.take().expect("stdout was piped");
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).await?;
            // Reaped when it ends; it outlives this life as a rule.
            tokio::task::spawn_local(async move { child.wait().await });
            io::Result::Ok(line.trim() == "ready")
        };
        let started = started.await;
        if !matches!(started, Ok(true)) {
            tracing::warn!(?started, "the coordinator did not start");
            tokio::time::sleep_until(tokio::time::Instant::now() + AGAIN_AFTER).await;
        }
        Ok(())
    }
}

fn ended(refused: Refused) -> LinkEnd {
    match refused.code {
        Code::StaleTeammate
        | Code::NotRunning
        | Code::UnknownTeammate
        | Code::UnknownTeam
        | Code::TeamGone
        | Code::BadToken
        | Code::Version => LinkEnd::Over(refused.message),
        _ => LinkEnd::Refused(refused),
    }
}

/// The log cannot be written now, by a full disk say: work is kept until it can be.
fn passes(refused: &Refused) -> bool {
    refused.code == Code::Busy || refused.code.is_of_log()
}

async fn send(wire: &mut Wire, line: &impl serde::Serialize) -> Result<(), Trouble> {
    let mut text = serde_json::to_vec(line).expect("a line is JSON");
    text.push(b'\n');
    Ok(wire.writer.write_all(&text).await?)
}

async fn read(wire: &mut Wire) -> Result<Reply, Trouble> {
    let mut line = Vec::new();
    let mut limited = tokio::io::AsyncReadExt::take(&mut wire.reader, LINE_BYTES_MAX as u64 * 4);
    limited.read_until(b'\n', &mut line).await?;
    if line.last() != Some(&b'\n') {
        return Err(Trouble::Lost);
    }
    serde_json::from_slice(&line).map_err(|e| {
        let text = format!("the coordinator sent something this release does not understand: {e}");
        let refused = shipmate_protocol::refused(Code::UnexpectedAnswer, text, "");
        Trouble::Final(LinkEnd::Refused(refused))
    })
}

/// A link that several tasks take turns on.
#[derive(Debug, Clone)]
pub(crate) struct SharedLink(Rc<tokio::sync::Mutex<Link>>);

impl SharedLink {
    pub(crate) fn new(line: &Rc<Line>) -> SharedLink {
        SharedLink(Rc::new(tokio::sync::Mutex::new(Link::new(line))))
    }

    pub(crate) async fn ask<V: Verb>(&self, verb: V) -> Result<V::Answer, LinkEnd> {
        self.0.lock().await.ask(verb).await
    }
}
