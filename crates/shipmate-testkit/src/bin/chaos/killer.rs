//! Strikes at random, then lets the team be and resumes it until all work is done.
//!
//! Agents, supervisors, coordinators, gates and gits are killed; supervisors and coordinators are
//! also stopped for a while (SIGSTOP), which is what a machine that sleeps looks like.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::Value;
use shipmate_protocol::Ask;
use shipmate_testkit::Random;
use shipmate_testkit::processes::{Marked, kill, signal};

use crate::yard::Yard;

/// From one strike to the next, on average.
const MEAN_MS: u64 = 300;
/// Longest time that somebody is stopped for.
const STOPPED_MS_MAX: u64 = 3000;
/// Strikes for each task, after which the team is let be.
const STRIKES_PER_TASK: usize = 3;
/// Without a record for so long nothing happens any more by itself.
const QUIET: Duration = Duration::from_secs(10);
/// How often a team that is let be may need a person's word.
const RESUMES_MAX: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Agent,
    Supervisor,
    Coordinator,
    Gate,
    Git,
    Stopped,
}

impl Kind {
    /// Each with how often it is chosen.
    const WEIGHTS: [(Kind, u32); 6] = [
        (Kind::Agent, 35),
        (Kind::Supervisor, 25),
        (Kind::Coordinator, 20),
        (Kind::Gate, 7),
        (Kind::Git, 8),
        (Kind::Stopped, 5),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Agent => "agents",
            Kind::Supervisor => "supervisors",
            Kind::Coordinator => "coordinators",
            Kind::Gate => "gates",
            Kind::Git => "gits",
            Kind::Stopped => "stopped",
        }
    }
}

/// A strike, and the claim it hit.
#[derive(Debug, Clone)]
pub(crate) struct Kill {
    pub(crate) kind: Kind,
    pub(crate) at_ms: u64,
    pub(crate) token: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Kills {
    pub(crate) list: Vec<Kill>,
    pub(crate) pauses: usize,
    pub(crate) resumes: usize,
}

/// Strikes while the team works, then resumes it until every task is completed.
pub(crate) fn rage(yard: &mut Yard, tasks: usize, random: &mut Random) -> Result<Kills, String> {
    let news = follow(yard);
    let mut rage = Rage { yard, kills: Kills::default(), stopped: Vec::new(), completed: 0 };
    let struck = rage.strike_until_done(&news, tasks, random);
    rage.stopped.drain(..).for_each(|(_, pid)| signal(pid, Signal::CONT));
    struck?;
    rage.resume_until_done(&news, tasks)?;
    Ok(rage.kills)
}

struct Rage<'a> {
    yard: &'a mut Yard,
    kills: Kills,
    /// Who stands still, and until when.
    stopped: Vec<(Instant, u32)>,
    completed: usize,
}

impl Rage<'_> {
    fn strike_until_done(
        &mut self,
        news: &Receiver<Value>,
        tasks: usize,
        random: &mut Random,
    ) -> Result<(), String> {
        let mut next = Instant::now() + pause(random);
        while self.completed < tasks && self.kills.list.len() < STRIKES_PER_TASK * tasks {
            let now = Instant::now();
            self.stopped.retain(|(until, pid)| {
                if now >= *until {
                    signal(*pid, Signal::CONT);
                }
                now < *until
            });
            if now >= next {
                let struck = self.strike(random);
                self.kills.list.extend(struck);
                next = now + pause(random);
            }
            match news.recv_timeout(next.saturating_duration_since(now)) {
                Ok(record) => {
                    if self.hear(&record)? {
                        self.resume()?;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("the log ended".to_owned()),
            }
        }
        Ok(())
    }

    fn resume_until_done(&mut self, news: &Receiver<Value>, tasks: usize) -> Result<(), String> {
        let before = self.kills.resumes;
        while self.completed < tasks {
            let wants_resume = match news.recv_timeout(QUIET) {
                Ok(record) => self.hear(&record)?,
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => return Err("the log ended".to_owned()),
            };
            if wants_resume && self.kills.resumes - before >= RESUMES_MAX {
                let completed = self.completed;
                return Err(format!(
                    "{completed} of {tasks} tasks are completed, and after {RESUMES_MAX} times \
                     `resume` without any kill it does not go on"
                ));
            }
            if wants_resume {
                self.resume()?;
            }
        }
        Ok(())
    }

    fn resume(&mut self) -> Result<(), String> {
        self.kills.resumes += 1;
        self.yard.ask(Ask::Resume).map(drop)
    }

    /// Whether the team has paused, and waits for a person's word.
    fn hear(&mut self, record: &Value) -> Result<bool, String> {
        let event = &record["event"];
        if event.get("task.completed").is_some() {
            self.completed += 1;
        } else if let Some(failed) = event.get("task.failed") {
            return Err(format!("task {} failed: {}", failed["task"], failed["reason"]));
        } else if event.get("team.paused").is_some() {
            self.kills.pauses += 1;
            return Ok(true);
        }
        Ok(false)
    }

    fn strike(&mut self, random: &mut Random) -> Option<Kill> {
        let weights = Kind::WEIGHTS.into_iter().map(|(_, weight)| weight);
        let (kind, _) = Kind::WEIGHTS[random.weighted(weights)];
        let (choice, length) = (random.draw(), random.between(10, STOPPED_MS_MAX));
        let all = self.yard.processes();
        let of = |kind: &str| -> Vec<Marked> {
            all.iter().filter(|one| one.kind == kind).cloned().collect()
        };
        let pick = |from: Vec<Marked>| from.get(choice as usize % from.len().max(1)).cloned();
        let is_git = |one: &&Marked| one.words.split([' ', '/']).any(|word| word == "git");
        let (pid, token) = match kind {
            Kind::Agent => pick(of("agent")).map(|one| (one.pid, one.token))?,
            Kind::Supervisor => {
                let one = pick(of("supervisor"))?;
                let agent = of("agent").into_iter().find(|agent| agent.label == one.label);
                (one.pid, agent.and_then(|agent| agent.token))
            }
            Kind::Coordinator => (self.yard.coordinator()?, None),
            Kind::Gate => pick(of("gate")).map(|one| (one.pid, None))?,
            Kind::Git => {
                pick(all.iter().filter(is_git).cloned().collect()).map(|one| (one.pid, None))?
            }
            Kind::Stopped if choice % 2 == 0 => (self.yard.coordinator()?, None),
            Kind::Stopped => pick(of("supervisor")).map(|one| (one.pid, None))?,
        };
        let at_ms =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64);
        if kind == Kind::Stopped {
            signal(pid, Signal::STOP);
            self.stopped.push((Instant::now() + Duration::from_millis(length), pid));
        } else {
            kill(pid);
        }
        Some(Kill { kind, at_ms, token })
    }
}

/// Every record of the log, as it comes.
pub(crate) fn follow(yard: &Yard) -> Receiver<Value> {
    let (tell, told) = channel();
    let mut client = yard.client();
    std::thread::spawn(move || {
        // Ends with the team, or when nobody listens any more.
        let followed = client.follow(0, |record| {
            let record = serde_json::from_str(record).unwrap_or_default();
            match tell.send(record) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        if let Err(failure) = followed {
            eprintln!("following the log ended: {failure}");
        }
    });
    told
}

/// Uniform is as random as is needed, with the mean that was asked for.
fn pause(random: &mut Random) -> Duration {
    Duration::from_millis(random.between(1, 2 * MEAN_MS))
}
