//! What is taken away, and how long it takes until work goes on: a machine, the home, the server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shipmate_model::event::Event;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs::{TaskNew, TeammateAdd};
use shipmate_testkit::processes;

use super::machines::{Machines, Scene, wall_ms};
use crate::arguments::Arguments;
use crate::measure::pass;

/// The subject of a task is the line that does it.
const LINE: &str = "eval \"$SHIPMATE_SUBJECT\"";

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let what = arguments.text("what")?;
    let lease_s: u64 = arguments.number("lease-s", 30)?;
    let away_s: u64 = arguments.number("away-s", 60)?;
    let mut scene = Scene::take(&mut arguments)?;
    arguments.finish()?;
    (scene.files, scene.gate, scene.lease_s) = (Some(200), true, lease_s);
    let mut machines = Machines::new(scene, 4)?;
    machines.join("box", 4)?;
    let mut report = match what.as_str() {
        "host" => a_host(&mut machines, lease_s)?,
        "home" => the_home(&mut machines)?,
        "server" => the_server(&mut machines, away_s)?,
        _ => return Err(format!("--what {what}: host, home or server")),
    };
    report["workload"] = json!(format!("hosts-losing {what}"));
    println!("{report}");
    Ok(())
}

fn add(machines: &mut Machines, name: &str, host: &str) -> Result<(), String> {
    let (name, command) = (name.to_owned(), LINE.to_owned());
    let mut add = TeammateAdd { name, command, when_needed: true, ..TeammateAdd::default() };
    add.place.host = Some(host.parse().map_err(|_| "a host has a name")?);
    machines.all[0].ask(Ask::TeammateAdd(add)).map(drop)
}

fn task(machines: &mut Machines, line: &str) -> Result<u32, String> {
    let new = TaskNew { subject: line.to_owned(), ..TaskNew::default() };
    Ok(machines.all[0].tasks(&[new])?[0])
}

/// Milliseconds from a moment to a record.
fn since(begin_ms: u64, at: u64) -> u64 {
    at.saturating_sub(begin_ms)
}

fn a_host(machines: &mut Machines, lease_s: u64) -> Result<Value, String> {
    // Ana has had a life and a tree: what is measured is the task's way, and not her first clone.
    add(machines, "ana", "home")?;
    task(machines, "echo first > first")?;
    machines.completed(1)?;
    machines.hear(|event| matches!(event, Event::TeammateStopped { .. }))?;
    add(machines, "bo", "box")?;
    machines.run(0, &["host", "drain", "home"])?;
    let line = "echo half > half; [ $SHIPMATE_TEAMMATE = ana ] || sleep 900; echo whole > whole";
    let lost = task(machines, line)?;
    machines.hear(|event| matches!(event, Event::TaskClaimed { task, .. } if *task == lost))?;
    machines.run(0, &["host", "drain", "home", "--undo"])?;
    // The tree has what it has by then, and the last sign is a while ago.
    pass(Duration::from_secs(2));
    let frozen_ms = wall_ms();
    machines.freeze(1, true);
    let host_lost = machines.hear(|event| matches!(event, Event::HostLost { .. }))?.1.at;
    let freed = machines.hear(|event| matches!(event, Event::TaskReleased { .. }))?.1.at;
    let taken = machines.hear(|event| matches!(event, Event::TaskClaimed { .. }))?.1.at;
    let done = machines.hear(|event| matches!(event, Event::TaskCompleted { .. }))?.1.at;
    let back_ms = wall_ms();
    machines.freeze(1, false);
    let aside = machines.hear(|event| matches!(event, Event::TaskWorkSetAside { .. }))?.1;
    let is_lost = |event: &Event| matches!(event, Event::HostLost { .. });
    let losses = machines.log.iter().filter(|record| is_lost(&record.event)).count();
    let Event::TaskWorkSetAside { task: of, work, .. } = &aside.event else { unreachable!() };
    let kept =
        super::machines::git(&machines.all[1].place.workspace, &["show", &format!("{work}:half")]);
    let wrong = usize::from(*of != lost) + usize::from(kept.as_deref() != Ok("half\n"));
    Ok(json!({
        "lease_ms": lease_s * 1000, "lost_ms": since(frozen_ms, host_lost),
        "free_after_loss_ms": since(host_lost, freed), "taken_after_free_ms": since(freed, taken),
        "done_after_taken_ms": since(taken, done), "aside_after_return_ms": since(back_ms, aside.at),
        "errors": wrong + (losses - 1), "error_texts": [format!("{kept:?}, {losses} losses")],
    }))
}

fn the_home(machines: &mut Machines) -> Result<Value, String> {
    add(machines, "ana", "home")?;
    add(machines, "bo", "box")?;
    // Both have a tree.
    task(machines, "echo 1 > one; sleep 1")?;
    task(machines, "echo 2 > two; sleep 1")?;
    machines.completed(2)?;
    let mut figures = json!({});
    let mut count = 2;
    let mut wrong = 0;
    for (name, to) in [("unmoved", None), ("moved", Some("box")), ("back", Some("home"))] {
        let begin = Instant::now();
        if let Some(host) = to {
            machines.run(0, &["host", "home", host])?;
            machines.hear(|event| matches!(event, Event::HomeMoved { .. }))?;
        }
        let moved = begin.elapsed();
        count += 1;
        task(machines, &format!("echo {name} > {name}"))?;
        let (landed, _) = machines.hear(|event| matches!(event, Event::TaskCompleted { .. }))?;
        let at = usize::from(to == Some("box"));
        let at = &machines.all[at].place.workspace;
        let branch = format!("shipmate/{}:{name}", crate::workspace::TEAM);
        let is_there = super::machines::git(at, &["show", &branch]);
        wrong += usize::from(is_there.is_err());
        figures[name] = json!({
            "moved_ms": moved.as_millis() as u64, "landed_ms": (landed - begin).as_millis() as u64,
        });
    }
    machines.completed(count)?;
    figures["errors"] = json!(wrong);
    Ok(figures)
}

fn the_server(machines: &mut Machines, away_s: u64) -> Result<Value, String> {
    // Half of them end while the server is away, half after it is back.
    let lengths = [away_s / 3, away_s / 2, away_s * 4 / 3, away_s * 5 / 3];
    for (index, length) in lengths.iter().chain(&lengths).enumerate() {
        let host = if index < lengths.len() { "home" } else { "box" };
        add(machines, &format!("dev-{index}"), host)?;
        task(machines, &format!("sleep {length}; echo done > done-{index}"))?;
    }
    let tasks = 2 * lengths.len();
    for _ in 0..tasks {
        machines.hear(|event| matches!(event, Event::TaskClaimed { .. }))?;
    }
    let agents_before = agents(machines);
    let server = machines.server()?;
    // One that still has a thread on its way would answer.
    processes::freeze(server);
    let begin = Instant::now();
    let said = machines.run(0, &["task", "list"]).err();
    let said_after = begin.elapsed();
    pass(Duration::from_secs(away_s).saturating_sub(begin.elapsed()));
    let agents_after = agents(machines);
    processes::signal(server, rustix::process::Signal::CONT);
    let back_ms = wall_ms();
    let first = machines.hear(|event| matches!(event, Event::TaskCompleted { .. }))?.1.at;
    let mut completed = 1;
    let mut ends = vec![since(back_ms, first)];
    while completed < tasks {
        let record = machines.hear(|event| matches!(event, Event::TaskCompleted { .. }))?.1;
        ends.push(since(back_ms, record.at));
        completed += 1;
    }
    let wrong = |event: &Event| {
        matches!(
            event,
            Event::HostLost { .. }
                | Event::TeammateDisappeared { .. }
                | Event::TaskReleased { .. }
                | Event::TaskReturned { .. }
                | Event::TaskFailed { .. }
        )
    };
    let wrong: Vec<&str> = machines
        .log
        .iter()
        .filter(|record| wrong(&record.event))
        .map(|record| record.event.name())
        .collect();
    let claims = |event: &Event| matches!(event, Event::TaskClaimed { .. });
    let claims = machines.log.iter().filter(|record| claims(&record.event)).count();
    let mut texts: Vec<String> = wrong.iter().map(|name| (*name).to_owned()).collect();
    if said.is_none() {
        texts.push("a command was answered without the server".to_owned());
    }
    Ok(json!({
        "away_s": away_s, "tasks": tasks, "said_after_ms": said_after.as_millis() as u64,
        "agents_before": agents_before, "agents_after": agents_after,
        "landed_after_return_ms": ends, "claims": claims,
        "errors": texts.len() + (claims - tasks), "error_texts": texts,
    }))
}

/// Supervisors that run, on both machines.
fn agents(machines: &Machines) -> usize {
    (0..2).map(|at| machines.processes(at, "supervisor").len()).sum()
}
