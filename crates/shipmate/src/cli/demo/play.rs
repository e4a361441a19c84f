//! The parent's part: set the board, start the workers, print what the log says.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use shipmate_protocol::ask::{Supervision, TeamCreate, TeammateAdd};
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::{Answer, Ask, Client, Place};

use super::line::Tally;
use super::plot::{self, DEADLINE_MS, STALLS_AT, TEAM, VICTIM, WORKERS};
use super::worker::Report;
use crate::cli::coordinator;
use crate::cli::failure::{Failure, unexpected};
use crate::cli::log::Record;
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::launch;

/// Longest the whole play may take before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(30);

struct Play<'a> {
    place: Place,
    screen: &'a Screen,
    person: Client,
    workers: Vec<(&'static str, Child)>,
    tally: Tally,
    tasks: usize,
    start: Instant,
    /// The victim's token, and the task and claim it died with.
    victim: (String, Option<(u64, u64)>),
    victims_claims: usize,
    refused_late: usize,
}

pub(super) fn play(folder: &Path, kept: bool, screen: &Screen) -> Result<(), Failure> {
    let place = Place { workspace: folder.to_owned() };
    let mut person = Client::new(place.clone(), launch(&place)?, TokenSource::Person);
    let pid = person.welcome()?.pid;
    let played = Play::set_up(place, screen, person).and_then(|play| play.run(folder, kept));
    let ended = coordinator::end(pid, Duration::from_secs(10));
    played.and(ended)
}

impl Play<'_> {
    fn set_up(place: Place, screen: &Screen, mut person: Client) -> Result<Play<'_>, Failure> {
        let name = TEAM.to_owned();
        person.ask(Ask::TeamCreate(TeamCreate { name, ..TeamCreate::default() }))?;
        let tasks = plot::board();
        let count = tasks.len();
        person.ask(Ask::TaskCreate { tasks })?;
        let mut tokens = Vec::new();
        for (name, role) in WORKERS {
            let (name, role) = (name.to_owned(), role.map(str::to_owned));
            let add = TeammateAdd { name: name.clone(), role, ..TeammateAdd::default() };
            person.ask(Ask::TeammateAdd(add))?;
            let start = Ask::TeammateStart { name, supervision: Supervision::None };
            let Answer::Started { token, .. } = person.ask(start)? else {
                return Err(unexpected("a started teammate"));
            };
            tokens.push(token);
        }
        let victim = WORKERS.iter().position(|(name, _)| *name == VICTIM).unwrap_or_default();
        let victim = (tokens[victim].clone(), None);
        let mut play = Play {
            place,
            screen,
            person,
            workers: Vec::new(),
            tally: Tally::default(),
            tasks: count,
            start: Instant::now(),
            victim,
            victims_claims: 0,
            refused_late: 0,
        };
        play.say(&format!(
            "A board of {count} tasks and four workers, each a process of its own.\n"
        ))?;
        for ((name, role), token) in WORKERS.iter().zip(&tokens) {
            play.start_worker(name, token)?;
            let (_, child) = &play.workers[play.workers.len() - 1];
            let role = role.map(|role| format!(", role {role}")).unwrap_or_default();
            play.say(&format!("  {name:<5} process {}{role}", child.id()))?;
        }
        play.say("")?;
        Ok(play)
    }

    fn start_worker(&mut self, name: &'static str, token: &str) -> Result<(), Failure> {
        let program = std::env::current_exe()
            .map_err(|e| Failure::Storage(format!("the path of this program is unknown: {e}")))?;
        let mut command = Command::new(program);
        command.arg("--workspace").arg(&self.place.workspace).args(["demo-worker", name]);
        if name == VICTIM {
            command.args(["--stall-at", &STALLS_AT.to_string()]);
        }
        let child = command
            .env("SHIPMATE_TOKEN", token)
            .env_remove("SHIPMATE_TEAM")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| Failure::Storage(format!("the worker {name} cannot be started: {e}")))?;
        self.workers.push((name, child));
        Ok(())
    }

    fn run(mut self, folder: &Path, kept: bool) -> Result<(), Failure> {
        let records = follow(&self.place);
        let mut asked_to_stop = false;
        loop {
            let left = PATIENCE.saturating_sub(self.start.elapsed());
            let Ok(record) = records.recv_timeout(left) else {
                return Err(Failure::Bug(format!(
                    "the board was not drained within {} s",
                    PATIENCE.as_secs()
                )));
            };
            let record = serde_json::from_str::<Record>(&record?)
                .map_err(|e| Failure::Bug(format!("a record cannot be read: {e}")))?;
            self.show(&record)?;
            self.meddle(&record)?;
            if self.tally.completed == self.tasks && !asked_to_stop {
                asked_to_stop = true;
                self.person.ask(Ask::Shutdown {
                    name: None,
                    reason: "the board is drained".to_owned(),
                    deadline_ms: DEADLINE_MS,
                })?;
            }
            if self.tally.stopped == WORKERS.len() {
                break;
            }
        }
        self.sum_up(folder, kept)
    }

    fn show(&mut self, record: &Record) -> Result<(), Failure> {
        let Some(scene) = self.tally.see(record) else { return Ok(()) };
        let who = if scene.who == "runtime" { "shipmate" } else { &scene.who };
        let what = self.screen.paint(scene.paint, &plain(&scene.what));
        self.tell(who, &what)
    }

    fn tell(&self, who: &str, what: &str) -> Result<(), Failure> {
        let seconds = self.start.elapsed().as_secs_f32();
        self.say(&format!("{seconds:>6.2}s  {who:<8}  {what}"))
    }

    /// The live output; with --json only the summary is printed.
    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.screen.json { Ok(()) } else { self.screen.line(text) }
    }

    /// Kills the victim in the middle of its task, and hands in its work when another has it.
    fn meddle(&mut self, record: &Record) -> Result<(), Failure> {
        let Some((event, fields)) = record.event.iter().next() else { return Ok(()) };
        if event != "task.claimed" {
            return Ok(());
        }
        let task = fields.get("task").and_then(serde_json::Value::as_u64).unwrap_or_default();
        if record.by.starts_with(&format!("{TEAM}/{VICTIM}@")) {
            self.victims_claims += 1;
            if self.victims_claims == STALLS_AT {
                self.victim.1 = Some((task, record.n));
                self.kill_victim(task)?;
            }
            return Ok(());
        }
        match self.victim.1 {
            Some((lost, token)) if lost == task => self.hand_in_late(task, token),
            _ => Ok(()),
        }
    }

    fn kill_victim(&mut self, task: u64) -> Result<(), Failure> {
        let Some((_, child)) = self.workers.iter_mut().find(|(name, _)| *name == VICTIM) else {
            return Err(Failure::Bug(format!("{VICTIM} has no process")));
        };
        let killed = child.kill().and_then(|()| child.wait());
        killed.map_err(|e| Failure::Bug(format!("{VICTIM} cannot be killed: {e}")))?;
        let what = format!("dies  {task:>2}  killed with SIGKILL in the middle of it");
        self.tell(VICTIM, &self.screen.paint(Paint::Bad, &what))
    }

    /// What the dead worker would have done, had it only been slow.
    fn hand_in_late(&mut self, task: u64, token: u64) -> Result<(), Failure> {
        let launch = launch(&self.place)?;
        let mut late =
            Client::new(self.place.clone(), launch, TokenSource::Given(self.victim.0.clone()));
        let (task, result) = (task.to_string(), "late".to_owned());
        let submit = Ask::TaskSubmit { task: task.clone(), token, commit: None, result };
        match late.ask(submit).map_err(Failure::Client) {
            Err(failure) if failure.refused().is_some_and(|r| r.code == "StaleClaim") => {
                let why = failure.refused().map(|r| r.message.clone()).unwrap_or_default();
                self.refused_late += 1;
                let what = format!("is refused: {}", plain(&why));
                self.tell(VICTIM, &self.screen.paint(Paint::Bad, &what))?;
            }
            Err(failure) => return Err(failure),
            Ok(_) => return Err(Failure::Bug(format!("late work on task {task} was accepted"))),
        }
        let work = "what the dead worker had".to_owned();
        late.ask(Ask::TaskSetAside { task, token, work })?;
        self.victim.1 = None;
        Ok(())
    }

    fn sum_up(mut self, folder: &Path, kept: bool) -> Result<(), Failure> {
        let seconds = self.start.elapsed().as_secs_f32();
        let mut reports = Report::default();
        for (name, child) in std::mem::take(&mut self.workers) {
            let ended = child.wait_with_output();
            let output = ended.map_err(|e| Failure::Bug(format!("{name} did not end: {e}")))?;
            if let Ok(report) = serde_json::from_slice::<Report>(&output.stdout) {
                reports.races_lost += report.races_lost;
                reports.messages_read += report.messages_read;
            }
        }
        let Answer::Verified { records } = self.person.ask(Ask::Verify)? else {
            return Err(unexpected("a verified log"));
        };
        let tally = &self.tally;
        if self.screen.json {
            self.screen.json(&serde_json::json!({
                "tasks": self.tasks, "completed": tally.completed,
                "claims": tally.claims, "doubles": tally.doubles, "records": records,
                "messages": tally.messages, "failures": tally.failures,
                "expired": tally.expired, "refused_late": self.refused_late,
                "races_lost": reports.races_lost, "seconds": seconds,
                "workspace": kept.then(|| folder.display().to_string()),
            }))?;
        } else {
            self.screen.print(&format!(
                "\n\
                 tasks     {} of {} completed, {} claims, {} failed once, {} taken from the dead\n\
                 doubles   {} (a task held by two at once)\n\
                 refused   {} late, {} in the race for the first task\n\
                 messages  {} between the workers, {} read\n\
                 log       {records} records, all read back and sound\n\
                 time      {seconds:.1} s\n",
                tally.completed,
                self.tasks,
                tally.claims,
                tally.failures,
                tally.expired,
                tally.doubles,
                self.refused_late,
                reports.races_lost,
                tally.messages,
                reports.messages_read,
            ))?;
            self.screen.print(&whereabouts(folder, kept))?;
        }
        match tally.completed == self.tasks && tally.doubles == 0 {
            true => Ok(()),
            false => Err(Failure::Bug("a task was held twice, or left over".to_owned())),
        }
    }
}

fn whereabouts(folder: &Path, kept: bool) -> String {
    let folder = folder.display();
    if !kept {
        return format!("\n{folder} was temporary and is gone; --keep DIR keeps it.\n");
    }
    format!(
        "\nEverything is in {folder}:\n  \
         shipmate --workspace {folder} task graph\n  \
         shipmate --workspace {folder} log --after 0\n"
    )
}

/// The records from the first on, each as it is stored.
fn follow(place: &Place) -> Receiver<Result<String, Failure>> {
    // It starts no coordinator: it would bring one back when the play has stopped its own.
    let mut client = Client::new(place.clone(), Launch::Never, TokenSource::Person);
    let (tell, told): (Sender<Result<String, Failure>>, _) = channel();
    std::thread::spawn(move || {
        let followed = client.follow(0, |record| match tell.send(Ok(record.to_owned())) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        if let Err(failure) = followed {
            // The play may be over, which is why nobody listens.
            drop(tell.send(Err(failure.into())));
        }
    });
    told
}

impl Drop for Play<'_> {
    fn drop(&mut self) {
        for (_, child) in &mut self.workers {
            // Already ended in a play that went well.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
