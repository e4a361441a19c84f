//! A team in a workspace of its own: the graph on its board, teammates that do it, and its end.
//!
//! It is set up as `shipmate run` sets one up: what is handed in goes through the merge queue, and
//! the runtime starts teammates when there is something for them and lets them go when all is done.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use shipmate_model::Record;
use shipmate_model::event::Event;
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::verbs::{Setup, TaskNew, TeamCreate, TeammateAdd};
use shipmate_protocol::{Ask, Client, Place, verbs};

use crate::graph::{Graph, Node, Order};
use crate::workspace::{TEAM, Workspace, launch};

/// How long teammates may take to end when all is done.
const END_MS: u64 = 60_000;
/// Files of the repository that trees are cloned from.
const FILES: usize = 200;
/// The agent that is a process: how long it takes is the last word of its subject.
const COMMAND: &str = "exec sleep \"${SHIPMATE_SUBJECT##* }\"";

/// Who does the work, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Agents without a process, longest path first: the product's own order.
    Critical,
    /// The same in the order of the ids.
    FirstCome,
    /// The same order as the first; whoever finds nothing looks again later.
    Polling,
    /// The same in the order of the ids.
    PollingFirstCome,
    /// As the first, with a process for each task.
    Command,
    /// As the first, in clones of a repository: each task is a commit, merged before it counts.
    Trees,
}

impl Variant {
    const ALL: [Variant; 6] = [
        Variant::Critical,
        Variant::FirstCome,
        Variant::Polling,
        Variant::PollingFirstCome,
        Variant::Command,
        Variant::Trees,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Variant::Critical => "critical",
            Variant::FirstCome => "first-come",
            Variant::Polling => "polling",
            Variant::PollingFirstCome => "polling-first-come",
            Variant::Command => "command",
            Variant::Trees => "trees",
        }
    }

    pub(crate) fn order(self) -> Order {
        match self {
            Variant::FirstCome | Variant::PollingFirstCome => Order::FirstCome,
            _ => Order::CriticalPath,
        }
    }

    pub(crate) fn polls(self) -> bool {
        matches!(self, Variant::Polling | Variant::PollingFirstCome)
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Variant, String> {
        let found = Variant::ALL.into_iter().find(|variant| variant.name() == text);
        let names = || Variant::ALL.map(Variant::name).join(", ");
        found.ok_or_else(|| format!("{text} is no variant; known: {}", names()))
    }
}

#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) workspace: Workspace,
    variant: Variant,
    tasks: usize,
    news: Receiver<News>,
    /// Teammates, as far as the news tell.
    running: usize,
}

/// What the log tells while the team works.
#[derive(Debug)]
enum News {
    Completed,
    Started,
    Ended,
    /// It ended without being asked.
    Lost(String),
    /// The figures would be those of something else.
    Trouble(String),
}

impl Team {
    /// A fresh workspace with the graph's tasks on its board, and nobody to do them yet.
    pub(crate) fn new(
        program: &Path,
        folder: &Path,
        variant: Variant,
        graph: &Graph,
    ) -> Result<Team, String> {
        let place = Place { workspace: folder.to_owned() };
        if folder.exists() {
            return Err(format!("{} is in use", folder.display()));
        }
        let named = |e: std::io::Error| format!("{}: {e}", folder.display());
        fs::create_dir_all(place.project()).map_err(named)?;
        // Should this process be killed, nothing of it stays for long.
        fs::write(place.config(), "idle-exit-seconds = 30\n").map_err(named)?;
        if variant == Variant::Trees {
            repository(folder)?;
        }
        let person = Client::new(place.clone(), launch(program, &place), TokenSource::Person);
        let (program, durability) = (PathBuf::from(program), "power".to_owned());
        let mut workspace = Workspace { place, program, durability, person };
        let trees = (variant == Variant::Trees).then(|| "own".to_owned());
        workspace.ask(Ask::TeamCreate(TeamCreate {
            name: TEAM.to_owned(),
            gate: !variant.polls(),
            setup: Some(Setup { trees, ..Setup::default() }),
            ..TeamCreate::default()
        }))?;
        let tasks: Vec<TaskNew> =
            graph.nodes.iter().enumerate().map(|(at, node)| task(at, node, variant)).collect();
        workspace.tasks(&tasks)?;
        let news = follow(&workspace.place);
        Ok(Team { workspace, variant, tasks: tasks.len(), news, running: 0 })
    }

    /// Lets the runtime do all of it, and waits until everybody is gone.
    pub(crate) fn run(&mut self, teammates: usize, limit_ms: u64) -> Result<(), String> {
        for n in 1..=teammates {
            let (agent, command) = match self.variant {
                Variant::Command => (String::new(), COMMAND.to_owned()),
                _ => ("inline".to_owned(), String::new()),
            };
            let name = format!("dev-{n}");
            let when_needed = true;
            let add = TeammateAdd { name, agent, command, when_needed, ..TeammateAdd::default() };
            self.workspace.ask(Ask::TeammateAdd(add))?;
        }
        self.until_completed(limit_ms)?;
        self.until_gone()
    }

    /// Waits until every task is completed.
    pub(crate) fn until_completed(&mut self, limit_ms: u64) -> Result<(), String> {
        let limit = Instant::now() + Duration::from_millis(limit_ms);
        let mut completed = 0;
        while completed < self.tasks {
            match self.news.recv_timeout(limit.saturating_duration_since(Instant::now())) {
                Ok(News::Completed) => completed += 1,
                Ok(News::Started) => self.running += 1,
                Ok(News::Ended) => self.running -= 1,
                Ok(News::Lost(text)) => {
                    self.running -= 1;
                    return Err(text);
                }
                Ok(News::Trouble(text)) => return Err(text),
                Err(_) => {
                    let tasks = self.tasks;
                    return Err(format!("{completed} of {tasks} tasks after {limit_ms} ms"));
                }
            }
        }
        Ok(())
    }

    /// The runtime lets its teammates go by itself.
    fn until_gone(&mut self) -> Result<(), String> {
        while self.running > 0 {
            match self.news.recv_timeout(Duration::from_millis(END_MS)) {
                Ok(News::Ended | News::Lost(_)) => self.running -= 1,
                Ok(News::Trouble(text)) => return Err(text),
                Ok(News::Completed | News::Started) => {}
                Err(_) => return Err(format!("{} teammates go on without work", self.running)),
            }
        }
        Ok(())
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // After a failure agents may still run, and would start the coordinator again.
        let reason = "the measurement is over".to_owned();
        // Nobody new may begin while the others end.
        drop(self.workspace.ask(Ask::TeamPause(verbs::TeamPause { reason: reason.clone() })));
        let ask = Ask::Shutdown(verbs::Shutdown { name: None, reason, deadline_ms: 0 });
        let asked = self.workspace.ask(ask).is_ok();
        while asked && self.running > 0 {
            match self.news.recv_timeout(Duration::from_millis(END_MS)) {
                Ok(News::Started) => self.running += 1,
                Ok(News::Ended | News::Lost(_)) => self.running -= 1,
                Ok(News::Trouble(_) | News::Completed) => {}
                Err(_) => return,
            }
        }
    }
}

fn task(at: usize, node: &Node, variant: Variant) -> TaskNew {
    let (number, seconds) = (at + 1, node.ms as f64 / 1000.0);
    let file = format!("work/{number}.txt");
    let script = match variant {
        Variant::Trees => format!("write {file} done;wait {}", node.ms),
        _ => format!("wait {}", node.ms),
    };
    TaskNew {
        subject: format!("task {number} takes {seconds:.3}"),
        alias: Some(format!("t-{number}")),
        blocked_by: node.on.iter().map(|before| format!("t-{}", before + 1)).collect(),
        files: if variant == Variant::Trees { vec![file] } else { Vec::new() },
        priority: (variant.order() == Order::FirstCome).then_some(number as i32),
        duration_ms: Some(node.ms),
        metadata: BTreeMap::from([("inline".to_owned(), script)]),
        ..TaskNew::default()
    }
}

/// Tells what happens, on a connection of its own, until nobody listens.
fn follow(place: &Place) -> Receiver<News> {
    let (tell, told) = channel();
    let mut client = Client::new(place.clone(), Launch::Never, TokenSource::Person);
    std::thread::spawn(move || {
        let followed = client.follow(0, |text| match serde_json::from_str(text) {
            Ok(record) => hand_on(&tell, record),
            Err(e) => hand_over(&tell, News::Trouble(format!("{e} in {text}"))),
        });
        if let Err(failure) = followed {
            // The run is over when nobody hears it.
            drop(tell.send(News::Trouble(failure.to_string())));
        }
    });
    told
}

fn hand_on(tell: &Sender<News>, record: Record) -> ControlFlow<()> {
    let news = match record.event {
        Event::TaskCompleted { .. } => News::Completed,
        Event::TeammateStarted { .. } => News::Started,
        Event::TeammateStopped { .. } => News::Ended,
        Event::TaskReleased { task, reason, .. }
        | Event::TaskReturned { task, reason, .. }
        | Event::TaskFailed { task, reason, .. } => {
            News::Trouble(format!("task {task} came back: {reason}"))
        }
        Event::TeammateDisappeared { who, reason, .. } => {
            News::Lost(format!("{who} disappeared: {reason}"))
        }
        Event::TeamPaused { reason, .. } => News::Trouble(format!("the team paused: {reason}")),
        _ => return ControlFlow::Continue(()),
    };
    hand_over(tell, news)
}

fn hand_over(tell: &Sender<News>, news: News) -> ControlFlow<()> {
    match tell.send(news) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}

/// A small repository with one commit.
fn repository(folder: &Path) -> Result<(), String> {
    let named = |e: std::io::Error| format!("{}: {e}", folder.display());
    let source = folder.join("src");
    fs::create_dir_all(&source).map_err(named)?;
    for n in 0..FILES {
        let text = format!("// file {n}\n").repeat(40);
        fs::write(source.join(format!("{n}.rs")), text).map_err(named)?;
    }
    git(folder, &["init", "--quiet", "--initial-branch=main"])?;
    git(folder, &["add", "src"])?;
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"];
    let commit = ["commit", "--quiet", "--no-gpg-sign", "-m", "what the team begins with"];
    git(folder, &[&author[..], &commit[..]].concat())
}

fn git(folder: &Path, args: &[&str]) -> Result<(), String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args).stdin(Stdio::null()).stdout(Stdio::null());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let status = command.status().map_err(|e| format!("git: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("git {}: {status}", args.join(" "))),
    }
}
