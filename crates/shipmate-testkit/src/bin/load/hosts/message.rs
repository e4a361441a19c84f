//! How long a message takes to a teammate in the middle of a task, on the same machine and on another.
//!
//! The receiver holds a task and a process of it waits for mail, as a supervisor does for its agent. Pairs
//! take turns, because the machine changes from minute to minute.

use serde_json::{Value, json};
use shipmate_protocol::verbs::{self, TaskNew};
use shipmate_protocol::{Answer, Ask};

use super::machines::{Machines, Scene};
use crate::arguments::Arguments;
use crate::fleet::{Fleet, myself, numbers};
use crate::measure::micros;
use crate::workspace::TOKEN;

/// Sender's machine, receiver's machine, and the name of the pair.
const PAIRS: [(usize, usize, &str); 4] =
    [(0, 0, "home_home"), (0, 1, "home_box"), (1, 0, "box_home"), (1, 1, "box_box")];

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let messages: usize = arguments.number("messages", 100)?;
    let rounds: usize = arguments.number("rounds", 5)?;
    let mut scene = Scene::take(&mut arguments)?;
    scene.on_server = !arguments.switch("sqlite");
    arguments.finish()?;
    let on_server = scene.on_server;
    let mut machines = Machines::new(scene, 1)?;
    let pairs = if on_server { &PAIRS[..] } else { &PAIRS[..1] };
    if on_server {
        machines.join("box", 1)?;
    }
    let work = |n: usize| TaskNew { subject: format!("task {n}"), ..TaskNew::default() };
    machines.all[0].tasks(&(0..pairs.len()).map(work).collect::<Vec<_>>())?;
    let mut latencies: Vec<Vec<u64>> = vec![Vec::new(); pairs.len()];
    let mut sends: Vec<Vec<u64>> = vec![Vec::new(); pairs.len()];
    let mut tokens = Vec::new();
    for (_, _, name) in pairs {
        let names =
            [format!("from-{name}"), format!("to-{name}")].map(|name| name.replace('_', "-"));
        let [from, to] =
            [machines.all[0].teammate(&names[0], 1)?, machines.all[0].teammate(&names[1], 1)?];
        let next = Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: false });
        match machines.all[0].client(&to).ask(next) {
            Ok(Answer::Claimed(_)) => tokens.push((names, from, to)),
            other => return Err(format!("{} gets no task: {other:?}", names[1])),
        }
    }
    machines.settle()?;
    let (mut lost, mut doubled) = (0, 0);
    for round in 0..rounds {
        for (index, (from_at, to_at, _)) in pairs.iter().enumerate() {
            let (names, from, to) = &tokens[index];
            let heard = machines.all[0].place.workspace.join(format!("heard-{round}-{index}"));
            let mut receiver = myself("post")?;
            receiver.arg("--workspace").arg(&machines.all[*to_at].place.workspace).env(TOKEN, to);
            receiver.args(["--me", &names[1], "--count", &messages.to_string(), "--acknowledge"]);
            receiver.arg(&heard);
            let mut sender = myself("post")?;
            sender.arg("--workspace").arg(&machines.all[*from_at].place.workspace).env(TOKEN, from);
            sender.args(["--me", &names[0], "--to", &names[1], "--count", &messages.to_string()]);
            sender.arg("--acknowledge").arg(&heard);
            let mut fleet = Fleet::start(vec![receiver, sender])?;
            fleet.go()?;
            let reports = fleet.finish()?;
            let came = numbers(&reports[0], "numbers");
            let mut once = came.clone();
            once.sort_unstable();
            once.dedup();
            doubled += came.len() - once.len();
            lost += messages.saturating_sub(once.len());
            // The first finds a receiver that has just begun.
            latencies[index].extend(numbers(&reports[0], "latency_ns").iter().skip(1));
            sends[index].extend(numbers(&reports[1], "sent_ns").iter().skip(1));
        }
    }
    let mut report = json!({
        "workload": "hosts-message", "on_server": on_server, "messages": messages * rounds,
        "lost": lost, "doubled": doubled,
    });
    for (index, (_, _, name)) in pairs.iter().enumerate() {
        let figures: Value =
            json!({ "latency_us": micros(&latencies[index]), "send_us": micros(&sends[index]) });
        report[*name] = figures;
    }
    println!("{report}");
    Ok(())
}
