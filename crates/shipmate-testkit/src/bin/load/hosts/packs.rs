//! Code on its way: how large it is and how long it takes, for a repository of many files.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use shipmate_model::event::Event;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs::{TaskNew, TeammateAdd};

use super::machines::{Machines, Scene, git};
use crate::arguments::Arguments;
use crate::measure::micros;

/// Each task changes one file of the repository, by one line, and adds another.
const WORK: &str = "n=$SHIPMATE_TASK; echo \"// changed by $n\" >> src/part-$((n % 40))/$((n % 40)).rs; \
                    mkdir -p work; seq 1 60 > work/$n.txt";

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let files: usize = arguments.number("files", 2000)?;
    let tasks: usize = arguments.number("tasks", 20)?;
    let mut scene = Scene::take(&mut arguments)?;
    arguments.finish()?;
    (scene.files, scene.gate) = (Some(files), true);
    let mut machines = Machines::new(scene, 1)?;
    let home = machines.all[0].place.workspace.clone();
    let store = machines.all[0].place.state().join("nats");
    let empty = bytes_in(&store);
    let joined = machines.join("box", 1)?;
    let after_join = bytes_in(&store);
    let again = machines.join("box-2", 1)?;
    let after_second = bytes_in(&store);
    let mut report = json!({
        "workload": "hosts-packs", "files": files, "tasks": tasks,
        "repository_bytes": git(&home, &["count-objects", "-v"]).map(|text| objects(&text))?,
        "first_join_ms": joined.as_millis() as u64, "first_join_bytes": after_join - empty,
        "second_join_ms": again.as_millis() as u64,
        "second_join_bytes": after_second.saturating_sub(after_join),
    });
    // In turns on both machines, one task at a time: what one waits for is its own hand-in.
    for (name, host) in [("ana", "home"), ("bo", "box")] {
        let mut add = TeammateAdd {
            name: name.to_owned(),
            command: WORK.to_owned(),
            when_needed: true,
            ..TeammateAdd::default()
        };
        add.place.host = Some(host.parse().map_err(|_| "a host has a name")?);
        machines.all[0].ask(Ask::TeammateAdd(add))?;
    }
    let mut times: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
    let mut begins: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
    let mut bytes: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
    for round in 0..tasks {
        for (index, name) in ["ana", "bo"].into_iter().enumerate() {
            let before = bytes_in(&store);
            let new = TaskNew {
                subject: format!("round {round}"),
                assignee: Some(name.to_owned()),
                ..TaskNew::default()
            };
            machines.all[0].tasks(&[new])?;
            let claimed = machines.hear(|event| matches!(event, Event::TaskClaimed { .. }))?.1;
            let submitted = machines.hear(|event| matches!(event, Event::TaskSubmitted { .. }))?.1;
            let landed = machines.hear(|event| {
                matches!(event, Event::TaskCompleted { .. } | Event::TaskReturned { .. })
            })?;
            if !matches!(landed.1.event, Event::TaskCompleted { .. }) {
                return Err(format!("the work came back: {:?}", landed.1.event));
            }
            // The first life of each is started for it, with a new tree.
            if round > 0 {
                begins[index].push((submitted.at - claimed.at) * 1_000_000);
                times[index].push((landed.1.at - submitted.at) * 1_000_000);
                bytes[index].push(bytes_in(&store) - before);
            }
        }
    }
    for (index, name) in ["home", "box"].into_iter().enumerate() {
        let mut sorted = bytes[index].clone();
        sorted.sort_unstable();
        let figures: Value = json!({
            "claim_to_submit_us": micros(&begins[index]), "submit_to_land_us": micros(&times[index]),
            "store_bytes_p50": sorted.get(sorted.len() / 2),
        });
        report[name] = figures;
    }
    println!("{report}");
    Ok(())
}

/// What git says its objects take, loose and packed.
fn objects(text: &str) -> u64 {
    let sizes = text.lines().filter(|line| line.starts_with("size"));
    sizes.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum::<u64>() * 1024
}

/// The bytes of all files below a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_in(&entry.path()),
        _ => entry.metadata().map_or(0, |found| found.len()),
    });
    bytes.sum()
}
