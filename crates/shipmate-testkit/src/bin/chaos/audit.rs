//! After a run: what must hold, looked up where it cannot lie.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use shipmate_protocol::view::TeammateView;
use shipmate_protocol::{Answer, Ask};

use crate::figures::Figures;
use crate::killer::{self, Kills};
use crate::yard::{GATE, TEAM, Yard, git};

pub(crate) fn audit(yard: &mut Yard, tasks: usize, kills: Kills) -> Result<Figures, String> {
    let log = settled(yard)?;
    let expected: Vec<u32> = (1..=tasks as u32).collect();
    let completed = events(&log, "task.completed");
    let mut done: Vec<u32> = completed.iter().map(|(_, event)| number(&event["task"])).collect();
    done.sort_unstable();
    differ("completed in the log", &done, &expected)?;
    let mut landed = landed(yard)?;
    landed.sort_unstable();
    differ("landed on the branch", &landed, &expected)?;
    outputs(yard, &completed)?;
    let commits = green_everywhere(yard)?;
    end(yard)?;
    nothing_left(yard)?;
    Ok(Figures { commits, ..figures(yard, &log, &kills) })
}

/// The log, once everybody has stopped.
fn settled(yard: &mut Yard) -> Result<Vec<Value>, String> {
    let news = killer::follow(yard);
    let mut log: Vec<Value> = Vec::new();
    loop {
        let Answer::Status(status) = yard.ask(Ask::Status)? else {
            return Err("the status was answered by something else".to_owned());
        };
        while log.last().map_or(0, |record| record["n"].as_u64().unwrap_or(0)) < status.position {
            log.push(news.recv().map_err(|_| "the log ended".to_owned())?);
        }
        let runs = |mate: &&TeammateView| {
            ["active", "idle", "paused", "stopping"].contains(&mate.state.word())
        };
        if !status.teammates.iter().any(|mate| runs(&mate)) {
            return Ok(log);
        }
        let limit = std::time::Duration::from_secs(60);
        let names: Vec<_> = status.teammates.iter().filter(runs).map(|mate| &mate.name).collect();
        let record = news.recv_timeout(limit);
        log.push(record.map_err(|_| format!("all work is done and {names:?} do not stop"))?);
    }
}

fn events<'a>(log: &'a [Value], name: &str) -> Vec<(u64, &'a Value)> {
    let found = log.iter().filter_map(|record| {
        let event = record["event"].get(name)?;
        Some((record["at"].as_u64().unwrap_or(0), event))
    });
    found.collect()
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap_or(0) as u32
}

fn differ(what: &str, found: &[u32], expected: &[u32]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let all: BTreeSet<u32> = found.iter().copied().collect();
    let missing: Vec<_> = expected.iter().filter(|id| !all.contains(id)).collect();
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    found.iter().for_each(|id| *counts.entry(*id).or_default() += 1);
    let twice: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
    Err(format!("{what}: missing {missing:?}, more than once {twice:?}"))
}

fn landed(yard: &Yard) -> Result<Vec<u32>, String> {
    let range = format!("{}..shipmate/{TEAM}", yard.base);
    let ours = ["log", "--merges", "--committer=shipmate@localhost", "--format=%B", &range];
    let text = yard.git(&ours)?;
    let tasks = text.lines().filter_map(|line| line.strip_prefix("Shipmate-Task: "));
    Ok(tasks.filter_map(|id| id.parse().ok()).collect())
}

/// The attempt that counts has said its last word, once.
fn outputs(yard: &Yard, completed: &[(u64, &Value)]) -> Result<(), String> {
    let lives = yard.place.team(TEAM).join("lives");
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    for life in fs::read_dir(&lives).map_err(|e| e.to_string())?.flatten() {
        let text = fs::read(life.path().join("output.log")).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            *said.entry(line.to_owned()).or_default() += 1;
        }
    }
    for (_, event) in completed {
        for word in ["begin", "end"] {
            let line = format!("{word} {} {}", event["task"], event["token"]);
            let times = said.get(&line).copied().unwrap_or(0);
            if times != 1 {
                return Err(format!("`{line}` is in the outputs {times} times"));
            }
        }
    }
    Ok(())
}

/// The gate passes at every commit that the branch was ever at; how many there are.
fn green_everywhere(yard: &Yard) -> Result<usize, String> {
    let at = yard.root.join("gated");
    let (from, to) = (yard.place.workspace.display().to_string(), at.display().to_string());
    let branch = format!("shipmate/{TEAM}");
    git(&yard.root, &yard.root, &["clone", "--quiet", "--branch", &branch, &from, &to])?;
    let range = format!("{}..{branch}", yard.base);
    let line = git(&yard.root, &at, &["log", "--first-parent", "--format=%H", &range])?;
    for commit in line.lines() {
        git(&yard.root, &at, &["checkout", "--quiet", "--detach", commit])?;
        let gate = Command::new("sh").arg("-c").arg(GATE).current_dir(&at).status();
        if !gate.map_err(|e| e.to_string())?.success() {
            return Err(format!("the gate is red at {commit}, on the first-parent line"));
        }
    }
    Ok(line.lines().count())
}

/// Ends the coordinator and waits until its lock is free.
fn end(yard: &Yard) -> Result<(), String> {
    yard.close();
    if let Some(pid) = yard.coordinator() {
        shipmate_testkit::processes::kill(pid);
    }
    let lock = File::open(yard.place.lock()).map_err(|e| e.to_string())?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|e| e.to_string())
}

fn nothing_left(yard: &Yard) -> Result<(), String> {
    let left: Vec<_> =
        yard.processes().into_iter().filter(|one| one.kind != "coordinator").collect();
    if !left.is_empty() {
        return Err(format!("processes are left: {left:?}"));
    }
    let mut locks = Vec::new();
    find(&yard.place.state(), "lock", &mut locks);
    for lock in locks {
        let file = File::open(&lock).map_err(|e| e.to_string())?;
        flock(&file, FlockOperation::NonBlockingLockShared)
            .map_err(|e| format!("{} is held: {e}", lock.display()))?;
    }
    let mut left = Vec::new();
    find_locks(&yard.place.workspace.join(".git"), &mut left);
    if !left.is_empty() {
        return Err(format!("left behind: {left:?}"));
    }
    yard.git(&["fsck", "--strict"]).map(drop)
}

fn find(below: &Path, name: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find(&entry.path(), name, found);
        } else if entry.file_name() == name {
            found.push(entry.path());
        }
    }
}

/// Locks of git; a clone of an agent may have one, which is looked at when it is next used.
fn find_locks(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_locks(&entry.path(), found);
        } else if entry.path().extension().is_some_and(|end| end == "lock")
            // Held by flock, and there for good.
            && entry.file_name() != "trees.lock"
        {
            found.push(entry.path());
        }
    }
}

fn figures(yard: &Yard, log: &[Value], kills: &Kills) -> Figures {
    let mut figures =
        Figures { resumes: kills.resumes, pauses: kills.pauses, ..Figures::default() };
    figures.count(&kills.list);
    figures.submissions = events(log, "task.submitted").len();
    figures.gates = events(log, "gate.ran").len();
    let claims = events(log, "task.claimed");
    figures.attempts = claims.len();
    let released: BTreeMap<u64, u64> = events(log, "task.released")
        .into_iter()
        .map(|(at, event)| (event["token"].as_u64().unwrap_or(0), at))
        .collect();
    for kill in &kills.list {
        let freed = kill.token.and_then(|token| released.get(&token));
        figures.freed_ms.extend(freed.map(|at| at.saturating_sub(kill.at_ms)));
    }
    let completed: BTreeMap<u32, u64> = events(log, "task.completed")
        .into_iter()
        .map(|(at, event)| (number(&event["task"]), at))
        .collect();
    let mut first: BTreeMap<u32, u64> = BTreeMap::new();
    for (at, event) in claims {
        first.entry(number(&event["task"])).or_insert(at);
    }
    for (task, at) in first {
        let freed = yard.needs[&task].iter().filter_map(|need| completed.get(need)).max();
        figures.started_ms.extend(freed.map(|freed| at.saturating_sub(*freed)));
    }
    figures
}
