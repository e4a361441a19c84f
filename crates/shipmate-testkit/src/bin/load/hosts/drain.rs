//! One board, drained through one, two or three coordinators that share its log.
//!
//! Every append must name the end that it was decided against, so of coordinators that append at the same
//! moment one wins and the others decide again. How often that was is counted in their traces.

use std::fs;

use serde_json::json;

use super::machines::{Machines, Scene};
use crate::arguments::Arguments;
use crate::drain::{self, Plan, add_failures, told};
use crate::fleet::{Fleet, myself};
use crate::history::verify;
use crate::measure::{millis, timed, used};
use crate::workspace::TOKEN;

/// What a coordinator's trace says when it has to decide again.
const LOST: &str = "another writer was faster";

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let hosts: usize = arguments.number("hosts", 1)?;
    let plan = Plan::take(&mut arguments)?;
    let mut scene = Scene::take(&mut arguments)?;
    scene.on_server = !arguments.switch("sqlite");
    arguments.finish()?;
    let on_server = scene.on_server;
    let mut machines = Machines::new(scene, 1)?;
    for n in 1..hosts {
        machines.join(&format!("box-{n}"), 1)?;
    }
    let (created_ns, created) = timed(|| drain::create(&mut machines.all[0], &plan));
    created?;
    let mut commands = Vec::new();
    for index in 0..plan.workers {
        let token = machines.all[0].teammate(&drain::name(0, index), 1)?;
        let at = &machines.all[index % hosts];
        let mut command = myself("worker")?;
        command.args(["--board", "shipmate", "--workspace"]).arg(&at.place.workspace);
        command.arg("--shipmate").arg(&at.program).env(TOKEN, token);
        commands.push(command);
    }
    machines.settle()?;
    let mut pids = Vec::new();
    for at in &machines.all {
        pids.push(at.coordinator().ok_or("no coordinator serves")?);
    }
    let cpu_ns = |pids: &[u32]| -> u64 {
        pids.iter().filter_map(|pid| used(*pid).ok()).map(|used| used.cpu_ns).sum()
    };
    let server = if on_server { vec![machines.server()?] } else { Vec::new() };
    let lost_before = lost(&machines);
    let before = (cpu_ns(&pids), cpu_ns(&server));
    let mut fleet = Fleet::start(commands)?;
    let start = fleet.go()?;
    drain::hear_out(&mut machines.all[0], &mut fleet)?;
    let after = (cpu_ns(&pids), cpu_ns(&server));
    let reports = fleet.finish()?;
    let mut report = json!({
        "workload": "hosts-drain", "hosts": hosts, "on_server": on_server,
        "tasks": plan.tasks, "workers": plan.workers, "create_ms": millis(created_ns),
    });
    drain::figures(&mut report, &plan, start, &reports);
    report["coordinators_cpu_us_per_task"] = drain::per_task(after.0 - before.0, &plan);
    report["server_cpu_us_per_task"] = drain::per_task(after.1 - before.1, &plan);
    report["lost_races"] = json!(lost(&machines) - lost_before);
    let records = machines.all[0].log()?;
    let mut verdict = verify(&records, &told(0, &reports));
    add_failures(&mut verdict, &reports);
    verdict.add_to(&mut report);
    println!("{report}");
    Ok(())
}

/// How often a coordinator had to decide again, all of them together.
fn lost(machines: &Machines) -> usize {
    let files = machines
        .all
        .iter()
        .flat_map(|at| ["trace.log", "trace.log.1"].map(|name| at.place.state().join(name)));
    let texts = files.filter_map(|file| fs::read_to_string(file).ok());
    texts.map(|text| text.lines().filter(|line| line.contains(LOST)).count()).sum()
}
