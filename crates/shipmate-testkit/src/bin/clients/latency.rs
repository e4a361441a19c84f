//! From the sending of a message to the request of the model that contains it: into a teammate at
//! rest, and into one in the middle of a command.
//!
//! Everybody gets the same: first a message at a moment that has nothing to do with any clock of
//! theirs, then a piece of work (one shell command, then the end of the turn) and a message while
//! the command runs. Of the second the rest of the command is taken off, which nobody can hurry.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use shipmate_testkit::Random;
use shipmate_testkit::model::{Request, Server};

use crate::arguments::Arguments;
use crate::measure::{now_ns, pass};
use crate::memory::mib;
use crate::native::Native;
use crate::team::{SETTLE, Team, beginnings};
use crate::workspace;

/// How long the command of a busy teammate takes.
const COMMAND_MS: u64 = 600;
/// When the message is sent, from the request that the command answers on.
const INTO_COMMAND: Duration = Duration::from_millis(250);
/// Between two messages to a lane: more than the second in which a mailbox is looked at once.
const PAUSE_MS: (u64, u64) = (300, 1_500);
/// Claude Code's own teams.
const NATIVE: &str = "native";

struct Lane {
    /// The agent of a teammate of the same name, or [`NATIVE`].
    name: String,
    /// Where its command says when it ended.
    ended: PathBuf,
    idle_ms: Vec<f64>,
    busy_ms: Vec<f64>,
    /// Messages for the busy that came after the command had ended, and were not counted.
    late: usize,
    /// Messages that the model was asked with while the command still ran.
    ahead: usize,
}

struct Yard {
    server: Server,
    team: Team,
    native: Native,
    random: Random,
}

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let shipmate = arguments.path("shipmate")?;
    let shipmate = shipmate.canonicalize().map_err(|e| format!("{}: {e}", shipmate.display()))?;
    let place = workspace::place(&mut arguments)?;
    let messages: usize = arguments.number("messages", 30)?;
    let agents = arguments.optional("agents").unwrap_or_else(|| "claude,codex".to_owned());
    arguments.finish()?;
    let agents: Vec<&str> = agents.split(',').collect();

    let beside = place.workspace.with_extension("native");
    fs::create_dir_all(&beside).map_err(|e| format!("{}: {e}", beside.display()))?;
    let lane = |name: &str| Lane {
        name: name.to_owned(),
        ended: beside.join(format!("{name}.ended")),
        idle_ms: Vec::new(),
        busy_ms: Vec::new(),
        late: 0,
        ahead: 0,
    };
    let mut lanes: Vec<Lane> = [NATIVE].iter().chain(&agents).map(|name| lane(name)).collect();
    let server = Server::start(&script(&lanes, agents.len()));
    let mates: Vec<_> = agents.iter().map(|a| ((*a).to_owned(), (*a).to_owned())).collect();
    let native = Native::start(&beside, &server).map_err(|e| format!("script, claude: {e}"))?;
    // Before anybody else runs the same program, because they would share its pages.
    let native_mib = alone(&native, &server)?;
    let team = Team::begin(&shipmate, &place, &server, &mates)?;
    let mut yard = Yard { server, team, native, random: Random::new(1) };
    let result = yard.all(&mut lanes, messages);
    drop(yard);
    drop(fs::remove_dir_all(&beside));
    result?;
    let told: Map<String, Value> = lanes
        .iter()
        .map(|lane| {
            let (idle, busy) = (percentiles(&lane.idle_ms), percentiles(&lane.busy_ms));
            let (late, ahead) = (lane.late, lane.ahead);
            let told = json!({ "idle_ms": idle, "busy_ms": busy, "late": late, "ahead": ahead });
            (lane.name.clone(), told)
        })
        .collect();
    let report = json!({
        "workload": "latency", "messages": messages, "lanes": told, "native_mib": native_mib,
    });
    println!("{report}");
    Ok(())
}

/// The memory of Claude Code's own teammate, at rest after one turn.
fn alone(native: &Native, server: &Server) -> Result<f64, String> {
    let text = "ping native-alone";
    native.send(text).map_err(|e| format!("the inbox: {e}"))?;
    server.wait_for(|request| request.contains(text));
    pass(SETTLE);
    Ok(mib(&native.processes()).0)
}

fn script(lanes: &[Lane], tasks: usize) -> String {
    let mut script = beginnings(tasks);
    for Lane { name, ended, .. } in lanes {
        let (seconds, ended) = (COMMAND_MS as f64 / 1e3, ended.display());
        script.push_str(&format!(
            "on \"work {name}\"\n  shell sleep {seconds}; date +%s%N > '{ended}'\n  say Worked.\n"
        ));
    }
    script + "on \"ping\"\n  say Heard.\n"
}

impl Yard {
    fn all(&mut self, lanes: &mut [Lane], messages: usize) -> Result<(), String> {
        for lane in lanes.iter() {
            // The first turn of a program is not like the others.
            self.idle(lane, "first")?;
        }
        pass(SETTLE);
        for round in 0..messages {
            for lane in lanes.iter_mut() {
                let took = self.idle(lane, &format!("idle{round:03}"))?;
                lane.idle_ms.push(took);
            }
            for lane in lanes.iter_mut() {
                match self.busy(lane, round)? {
                    Some(took) => lane.busy_ms.push(took),
                    None => lane.late += 1,
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, lane: &Lane, text: &str) -> Result<(), String> {
        match lane.name.as_str() {
            NATIVE => self.native.send(text).map_err(|e| format!("the inbox: {e}")),
            name => self.team.send(name, text),
        }
    }

    fn pause(&mut self) {
        pass(Duration::from_millis(self.random.between(PAUSE_MS.0, PAUSE_MS.1)));
    }

    /// The first request of a conversation that contains this.
    fn arrival(&self, text: &str) -> Request {
        self.server.wait_for(|request| {
            request.reply != "side call"
                && request.contains(text)
                && request.contains("<teammate-message")
        })
    }

    fn idle(&mut self, lane: &Lane, number: &str) -> Result<f64, String> {
        self.pause();
        let text = format!("ping {}-{number}", lane.name);
        let sent_ms = now_ns() as f64 / 1e6;
        self.send(lane, &text)?;
        Ok(self.arrival(&text).at_ms - sent_ms)
    }

    /// What is left of the way when the command's own time is taken off.
    fn busy(&mut self, lane: &mut Lane, round: usize) -> Result<Option<f64>, String> {
        self.pause();
        drop(fs::remove_file(&lane.ended));
        let work = format!("work {} {round:03}", lane.name);
        self.send(lane, &work)?;
        self.arrival(&work);
        pass(INTO_COMMAND);
        let text = format!("ping {}-busy{round:03}", lane.name);
        let sent_ms = wall_ms();
        let was_busy = ended_ms(&lane.ended).is_none();
        self.send(lane, &text)?;
        let arrived_ms = self.arrival(&text).wall_ms;
        // A program that is told before its command ends has not waited for it.
        let from_ms = ended_ms(&lane.ended).filter(|ended| *ended < arrived_ms);
        lane.ahead += usize::from(from_ms.is_none());
        Ok(was_busy.then_some(arrived_ms - from_ms.unwrap_or(0.0).max(sent_ms)))
    }
}

fn wall_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3
}

fn ended_ms(path: &Path) -> Option<f64> {
    let nanoseconds: f64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some(nanoseconds / 1e6)
}

fn percentiles(samples: &[f64]) -> Value {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let index = ((sorted.len() as f64 * part) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(index).map(|ms| (ms * 10.0).round() / 10.0)
    };
    json!({
        "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "min": at(0.0), "max": at(1.0),
        "samples": sorted.len(),
    })
}
