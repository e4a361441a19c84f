//! Kills agents, supervisors and the coordinator at random moments until all work is done.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use shipmate_protocol::Ask;
use shipmate_testkit::Random;

use crate::yard::{Marked, Yard, kill};

/// From one kill to the next, on average.
const MEAN_MS: u64 = 300;
/// How often each kind is chosen.
const WEIGHTS: [u32; 3] = [45, 35, 20];
/// A run that takes longer than this, and so much per task, hangs.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_PER_TASK: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Agent,
    Supervisor,
    Coordinator,
}

/// A kill, and the claim it hit.
#[derive(Debug, Clone)]
pub(crate) struct Kill {
    pub(crate) kind: Kind,
    pub(crate) at_ms: u64,
    pub(crate) token: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Kills {
    pub(crate) list: Vec<Kill>,
    pub(crate) resumes: usize,
}

/// Kills until every task is completed.
pub(crate) fn rage(yard: &mut Yard, tasks: usize, random: &mut Random) -> Result<Kills, String> {
    let news = follow(yard);
    let end = Instant::now() + PATIENCE + PATIENCE_PER_TASK * tasks as u32;
    let mut kills = Kills::default();
    let mut completed = 0;
    let mut next = Instant::now() + pause(random);
    while completed < tasks {
        let now = Instant::now();
        if now > end {
            return Err(format!("it hangs with {completed} of {tasks} tasks completed"));
        }
        if now >= next {
            kills.list.extend(strike(yard, random));
            next = now + pause(random);
        }
        let record = match news.recv_timeout(next.saturating_duration_since(now)) {
            Ok(record) => record,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Err("the log ended".to_owned()),
        };
        let event = &record["event"];
        if event.get("task.completed").is_some() {
            completed += 1;
        } else if let Some(failed) = event.get("task.failed") {
            return Err(format!("task {} failed: {}", failed["task"], failed["reason"]));
        } else if let Some(paused) = event.get("team.paused") {
            if paused["reason"] != "everything had ended" {
                return Err(format!("the team was paused: {}", paused["reason"]));
            }
            yard.ask(Ask::Resume)?;
            kills.resumes += 1;
        }
    }
    Ok(kills)
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

fn strike(yard: &Yard, random: &mut Random) -> Option<Kill> {
    let kind =
        [Kind::Agent, Kind::Supervisor, Kind::Coordinator][random.weighted(WEIGHTS.into_iter())];
    let choice = random.draw();
    let of = |kind: &str| -> Vec<Marked> {
        yard.processes().into_iter().filter(|one| one.kind == kind).collect()
    };
    let pick = |from: &[Marked]| from.get(choice as usize % from.len().max(1)).cloned();
    let (pid, token) = match kind {
        Kind::Agent => pick(&of("agent")).map(|one| (one.pid, one.token))?,
        Kind::Supervisor => {
            let one = pick(&of("supervisor"))?;
            let agent = of("agent").into_iter().find(|agent| agent.label == one.label);
            (one.pid, agent.and_then(|agent| agent.token))
        }
        Kind::Coordinator => (yard.coordinator()?, None),
    };
    let at_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64);
    kill(pid);
    Some(Kill { kind, at_ms, token })
}
