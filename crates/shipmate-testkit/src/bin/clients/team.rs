//! A shipmate team of real programs on the scripted model: begun, at rest, ended.
//!
//! Everybody does one small task first, so that a program is loaded and has had a turn. One task
//! that nobody may take keeps the team from being done, because a team that is done lets its
//! teammates go.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::verbs::{TaskNew, TeamCreate, TeammateAdd};
use shipmate_protocol::{Ask, Client, Place, verbs};
use shipmate_testkit::model::Server;
use shipmate_testkit::programs::{Environment, Program, Surroundings};

use crate::measure::now_ns;
use crate::workspace::{TEAM, Workspace};

/// How long the programs may take to end before somebody should look.
const END: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) workspace: Workspace,
    /// When the first tasks were asked for, on the machine's monotonic clock.
    pub(crate) asked_ms: f64,
}

/// The steps by which a teammate does its first task.
pub(crate) fn beginnings(count: usize) -> String {
    let rule = |task: usize| {
        let done =
            format!("{{\"taskId\":\"{task}\",\"status\":\"completed\",\"result\":\"here\"}}");
        format!("on \"Task {task}: begin\"\n  tool TaskUpdate {done}\n  say Begun.\n")
    };
    (1..=count).map(rule).collect()
}

impl Team {
    /// A team of these, each a name and an agent program, after everybody's first task.
    pub(crate) fn begin(
        shipmate: &Path,
        place: &Place,
        server: &Server,
        mates: &[(String, String)],
    ) -> Result<Team, String> {
        let named = |e: std::io::Error| format!("{}: {e}", place.workspace.display());
        if place.project().exists() {
            return Err(format!("{} is in use", place.workspace.display()));
        }
        fs::create_dir_all(place.project()).map_err(named)?;
        // Should this process be killed, nothing of it stays for long.
        // The native agent asks the same server.
        let config = format!(
            "idle-exit-seconds = 30\n[models]\ndefault = \"bench/scripted\"\n[models.bench]\n\
             protocol = \"anthropic\"\nbase-url = \"{}\"\nkey-variable = \"\"\n",
            server.url()
        );
        fs::write(place.config(), config).map_err(named)?;
        let path = install(&place.workspace, server, mates).map_err(named)?;
        let home = place.workspace.join("home");
        let args = vec![
            format!("PATH={path}").into(),
            format!("HOME={}", home.display()).into(),
            shipmate.into(),
            "--workspace".into(),
            place.workspace.clone().into(),
            "coordinator".into(),
            "run".into(),
        ];
        let launch = Launch::Program { program: PathBuf::from("env"), args };
        let person = Client::new(place.clone(), launch, TokenSource::Person);
        let (place, program) = (place.clone(), shipmate.to_owned());
        let workspace = Workspace { place, program, durability: "power".to_owned(), person };
        let mut team = Team { workspace, asked_ms: 0.0 };
        team.everybody(mates)?;
        Ok(team)
    }

    fn everybody(&mut self, mates: &[(String, String)]) -> Result<(), String> {
        let create = TeamCreate { name: TEAM.to_owned(), ..TeamCreate::default() };
        self.workspace.ask(Ask::TeamCreate(create))?;
        let mut tasks = Vec::new();
        let mut add = |name: &str, agent: &str, when_needed: bool| {
            let assignee = Some(name.to_owned());
            tasks.push(TaskNew { subject: "begin".to_owned(), assignee, ..TaskNew::default() });
            let (name, agent) = (name.to_owned(), agent.to_owned());
            let add = TeammateAdd { name, agent, when_needed, ..TeammateAdd::default() };
            self.workspace.ask(Ask::TeammateAdd(add)).map(drop)
        };
        for (name, agent) in mates {
            add(name, agent, true)?;
        }
        add("keeper", "", false)?;
        self.asked_ms = now_ns() as f64 / 1e6;
        self.workspace.tasks(&tasks)?;
        self.completed(mates.len())
    }

    /// Waits until so many tasks are completed.
    fn completed(&mut self, count: usize) -> Result<(), String> {
        let mut client =
            Client::new(self.workspace.place.clone(), Launch::Never, TokenSource::Person);
        let (mut completed, mut trouble) = (0, None);
        let followed = client.follow(0, |record| {
            let record: Value = serde_json::from_str(record).unwrap_or_default();
            let event = &record["event"];
            completed += usize::from(event.get("task.completed").is_some());
            let ends = ["task.failed", "teammate.disappeared", "team.paused"];
            let end = ends.iter().find(|name| event.get(**name).is_some());
            trouble = end.map(|_| event.to_string());
            match completed == count || trouble.is_some() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        followed.map_err(|e| e.to_string())?;
        trouble.map_or(Ok(()), Err)
    }

    pub(crate) fn send(&mut self, to: &str, body: &str) -> Result<(), String> {
        let (to, body) = (to.to_owned(), body.to_owned());
        self.workspace
            .ask(Ask::Send(verbs::Send { to, body, kind: None, reply_to: None }))
            .map(drop)
    }

    /// The live processes of this kind: `coordinator`, `supervisor` or `agent`.
    pub(crate) fn processes(&self, kind: &str) -> Vec<u32> {
        marked(&self.workspace.place.digest(), kind)
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let theirs = [self.processes("supervisor"), self.processes("agent")].concat();
        let open = |pid: u32| {
            pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()
        };
        let watched: Vec<_> = theirs.into_iter().filter_map(open).collect();
        let reason = "the measurement is over".to_owned();
        drop(self.workspace.ask(Ask::TeamPause(verbs::TeamPause { reason: reason.clone() })));
        drop(self.workspace.ask(Ask::Shutdown(verbs::Shutdown {
            name: None,
            reason,
            deadline_ms: 0,
        })));
        for one in &watched {
            if poll(&mut [PollFd::new(one, PollFlags::IN)], Some(&END)).unwrap_or(0) == 0 {
                eprintln!("a process of the team did not end");
            }
        }
    }
}

/// Everybody who carries a marker of this workspace, of one kind.
fn marked(digest: &str, kind: &str) -> Vec<u32> {
    let marker = format!("SHIPMATE_LIFE={digest}:{kind}:");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_it = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(marker.as_bytes()))
    };
    pids.filter(is_it).collect()
}

/// Puts the programs into a folder of the workspace; a PATH in which they are found.
fn install(folder: &Path, server: &Server, mates: &[(String, String)]) -> std::io::Result<String> {
    let (bin, home) = (folder.join("bin"), folder.join("home"));
    fs::create_dir_all(&bin)?;
    for (_, agent) in mates.iter().filter(|(_, agent)| agent != "native") {
        let (program, environment) = program(agent, &home, server)?;
        let exports = Surroundings::exports(environment);
        let script = format!("#!/bin/sh\n{exports}exec '{}' \"$@\"\n", program.path().display());
        fs::write(bin.join(agent), script)?;
        fs::set_permissions(bin.join(agent), PermissionsExt::from_mode(0o755))?;
    }
    Ok(format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default()))
}

fn program(agent: &str, home: &Path, server: &Server) -> std::io::Result<(Program, Environment)> {
    match agent {
        "claude" => Ok((Program::Claude, Surroundings::claude(home, server))),
        "codex" => Ok((Program::Codex, Surroundings::codex(home, server))),
        "gemini" => Ok((Program::Gemini, Surroundings::gemini(home, server))),
        "opencode" => Ok((Program::Opencode, Surroundings::opencode(home, server))),
        _ => Err(std::io::Error::other(format!("{agent} is not measured"))),
    }
}

/// Long enough for a program to fall silent after its first turn.
pub(crate) const SETTLE: Duration = Duration::from_secs(3);
