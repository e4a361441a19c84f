//! What a team costs while nothing happens: many connected waiters on a full board.

use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::json;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::TaskNew;

use crate::arguments::Arguments;
use crate::drain::words;
use crate::measure::{pass, used};
use crate::workspace::Workspace;

/// Long enough for what a start leaves to be done: snapshots, checkpoints, timers, the first question of
/// those who wait, threads that end when they have had nothing to do.
const SETTLE: Duration = Duration::from_secs(15);

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let tasks: usize = arguments.number("tasks", 10_000)?;
    let waiters: usize = arguments.number("waiters", 50)?;
    let seconds: u64 = arguments.number("seconds", 10)?;
    let mut workspace = Workspace::fresh(&mut arguments)?;
    arguments.finish()?;
    workspace.teammate("owner", 1)?;
    // Somebody's, so that nobody who waits gets one.
    let new = |index: usize| {
        let (subject, description) = words(index, usize::MAX);
        let assignee = Some("owner".to_owned());
        TaskNew { subject, description, assignee, ..TaskNew::default() }
    };
    workspace.tasks(&(0..tasks).map(new).collect::<Vec<_>>())?;
    let (tell, told) = channel();
    let mut threads = Vec::new();
    for index in 0..waiters {
        let token = workspace.teammate(&format!("w{index}"), 1)?;
        let mut client = workspace.client(&token);
        let tell = tell.clone();
        threads.push(std::thread::spawn(move || {
            // The first question shows that it is connected.
            let connected = client.ask(Ask::InboxPeek).is_ok();
            let _nobody_counts = tell.send(connected);
            let waiting = match index % 2 {
                0 => Ask::InboxRead(verbs::InboxRead { max: 1, wait: true }),
                _ => Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: true }),
            };
            // Answered by the end of the coordinator, and not before.
            client.ask(waiting).is_err()
        }));
    }
    let connected = (0..waiters).filter(|_| told.recv().unwrap_or(false)).count();
    pass(SETTLE);
    let pid = workspace.coordinator().ok_or("no coordinator serves")?;
    let before = used(pid)?;
    pass(Duration::from_secs(seconds));
    let after = used(pid)?;
    workspace.kill_coordinator()?;
    let waited = threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|w| *w).count();
    let report = json!({
        "workload": "idle", "tasks": tasks, "waiters": waiters, "seconds": seconds,
        "rss_mib": (after.rss_kib as f64 / 102.4).round() / 10.0,
        "cpu_ms": after.cpu_ns.saturating_sub(before.cpu_ns) as f64 / 1e6,
        "context_switches": after.switches.saturating_sub(before.switches),
        "errors": (waiters - connected) + (waiters - waited),
    });
    println!("{report}");
    Ok(())
}
