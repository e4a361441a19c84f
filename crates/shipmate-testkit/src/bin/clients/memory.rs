//! What a teammate costs in memory, by program: its supervisor and the whole tree of its program,
//! at rest after one turn.
//!
//! The measure is PSS, in which a page that several processes share counts for each by its part,
//! so that a sum over processes counts nothing twice; where the system does not tell it, RSS.

use std::fs;

use serde_json::json;
use shipmate_testkit::model::Server;

use crate::arguments::Arguments;
use crate::measure::pass;
use crate::team::{SETTLE, Team, beginnings};
use crate::workspace;

pub(crate) fn run(mut arguments: Arguments) -> Result<(), String> {
    let shipmate = arguments.path("shipmate")?;
    let shipmate = shipmate.canonicalize().map_err(|e| format!("{}: {e}", shipmate.display()))?;
    let place = workspace::place(&mut arguments)?;
    let agent = arguments.text("agent")?;
    let teammates: usize = arguments.number("teammates", 1)?;
    arguments.finish()?;
    let server = Server::start(&beginnings(teammates));
    let mates: Vec<_> = (1..=teammates).map(|n| (format!("mate-{n}"), agent.clone())).collect();
    let team = Team::begin(&shipmate, &place, &server, &mates)?;
    pass(SETTLE);
    let (coordinator, measure) = mib(&team.processes("coordinator"));
    let supervisors = mib(&team.processes("supervisor")).0;
    let programs = team.processes("agent");
    let program = mib(&programs).0;
    // What a teammate's first request to its model takes: from its task, and in size.
    let first = server.requests().into_iter().next();
    let first_ms = first.as_ref().map(|request| (request.at_ms - team.asked_ms).round());
    let first_tokens = first.map(|request| request.body.to_string().len() / 4);
    let each = (supervisors + program) / teammates as f64;
    let report = json!({
        "workload": "memory", "agent": agent, "teammates": teammates, "measure": measure,
        "coordinator_mib": coordinator, "supervisors_mib": supervisors, "program_mib": program,
        "program_processes": programs.len(), "each_mib": (each * 10.0).round() / 10.0,
        "first_request_ms": first_ms, "first_request_tokens": first_tokens,
    });
    println!("{report}");
    Ok(())
}

/// The memory of these processes together in MiB, and which measure it is.
pub(crate) fn mib(pids: &[u32]) -> (f64, &'static str) {
    let of = |file: &str, field: &str| {
        let each = pids.iter().map(|pid| {
            let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let found =
                text.lines().find_map(|line| line.strip_prefix(field)?.split_whitespace().next());
            found.and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0)
        });
        (each.sum::<f64>() / 102.4).round() / 10.0
    };
    match of("smaps_rollup", "Pss:") {
        0.0 => (of("status", "VmRSS:"), "rss"),
        pss => (pss, "pss"),
    }
}
