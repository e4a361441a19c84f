//! What machines cost that have joined a team and have nothing to do.

use std::time::Duration;

use serde_json::json;

use super::machines::{Machines, Scene};
use crate::arguments::Arguments;
use crate::measure::{pass, used};

/// Long enough for what a start leaves to be done.
const SETTLE: Duration = Duration::from_secs(15);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let hosts: usize = arguments.number("hosts", 3)?;
    let seconds: u64 = arguments.number("seconds", 10)?;
    let mut scene = Scene::take(&mut arguments)?;
    scene.files = Some(20);
    arguments.finish()?;
    let mut machines = Machines::new(scene, 4)?;
    for n in 1..hosts {
        machines.join(&format!("box-{n}"), 4)?;
    }
    pass(SETTLE);
    let mut pids = Vec::new();
    for at in &machines.all {
        pids.push(at.coordinator().ok_or("no coordinator serves")?);
    }
    pids.push(machines.server()?);
    let before = pids.iter().map(|pid| used(*pid)).collect::<Result<Vec<_>, _>>()?;
    pass(Duration::from_secs(seconds));
    let after = pids.iter().map(|pid| used(*pid)).collect::<Result<Vec<_>, _>>()?;
    let figures = before.iter().zip(&after).map(|(before, after)| {
        json!({
            "cpu_ms": (after.cpu_ns - before.cpu_ns) as f64 / 1e6,
            "context_switches": after.switches - before.switches,
            "rss_mib": (after.rss_kib as f64 / 102.4).round() / 10.0,
        })
    });
    let mut figures: Vec<_> = figures.collect();
    let server = figures.pop();
    println!(
        "{}",
        json!({
            "workload": "hosts-idle", "hosts": hosts, "seconds": seconds,
            "coordinators": figures, "server": server,
        })
    );
    Ok(())
}
