//! Tasks that let a known time pass, done by one, two or three machines of so many slots each.
//!
//! The bound is what the slots need if nothing but the tasks takes time. All machines share this
//! computer's processors: the agents only sleep, but starting them, their trees and the merge queue do not.

use serde_json::json;
use shipmate_protocol::verbs::TaskNew;

use super::machines::{Machines, Scene};
use crate::account::Account;
use crate::arguments::Arguments;
use crate::graph::{Graph, Node, Order};
use crate::measure::{now_ns, used};

/// How long it takes is the last word of its subject. It says that there is nothing to change.
const SLEEP: &str = "echo slept > $SHIPMATE_RESULT; exec sleep ${SHIPMATE_SUBJECT##* }";
/// The same, with a file that is merged.
const WRITE: &str =
    "mkdir -p work; echo done > work/$SHIPMATE_TASK; exec sleep ${SHIPMATE_SUBJECT##* }";

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let hosts: usize = arguments.number("hosts", 1)?;
    let slots: u32 = arguments.number("slots", 4)?;
    let tasks: usize = arguments.number("tasks", 120)?;
    let sleep_ms: u64 = arguments.number("sleep-ms", 2000)?;
    let writes = arguments.switch("writes");
    let mut scene = Scene::take(&mut arguments)?;
    scene.on_server = !arguments.switch("sqlite");
    arguments.finish()?;
    (scene.files, scene.gate) = (Some(200), true);
    let on_server = scene.on_server;
    let mut machines = Machines::new(scene, slots)?;
    for n in 1..hosts {
        machines.join(&format!("box-{n}"), slots)?;
    }
    let nodes = (0..tasks).map(|_| Node { ms: sleep_ms, on: Vec::new() }).collect();
    let graph = Graph { nodes };
    let seconds = sleep_ms as f64 / 1000.0;
    let new = |n: usize| TaskNew {
        subject: format!("task {n} takes {seconds:.3}"),
        duration_ms: Some(sleep_ms),
        ..TaskNew::default()
    };
    machines.all[0].tasks(&(1..=tasks).map(new).collect::<Vec<_>>())?;
    let teammates = hosts * slots as usize;
    let names: Vec<String> = (1..=teammates).map(|n| format!("dev-{n}")).collect();
    let processor = |machines: &Machines| -> u64 {
        let pids = (0..hosts).flat_map(|at| machines.processes(at, ""));
        pids.filter_map(|one| used(one.pid).ok()).map(|used| used.cpu_ns).sum()
    };
    let (began, before) = (now_ns(), processor(&machines));
    machines.add(&names, if writes { WRITE } else { SLEEP })?;
    machines.completed(tasks)?;
    let (ended, after) = (now_ns(), processor(&machines));
    let records = machines.all[0].log()?;
    let mut report = Account::new(&records).report(&graph, teammates, Order::CriticalPath);
    report["workload"] = json!("hosts-makespan");
    report["hosts"] = json!(hosts);
    report["slots"] = json!(slots);
    report["tasks"] = json!(tasks);
    report["sleep_ms"] = json!(sleep_ms);
    report["on_server"] = json!(on_server);
    // Of what lives through it: coordinators, supervisors and the server; agents and gits come on top.
    let share = after.saturating_sub(before) as f64 / (ended - began) as f64;
    report["processors"] = json!((share * 100.0).round() / 100.0);
    println!("{report}");
    Ok(())
}
