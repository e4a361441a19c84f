//! What `cargo xtask bench clients` runs, and its tables: how soon a message is in front of the
//! model, what a teammate costs in memory, and its fence at a start.
//!
//! There are no goals: the figures are for comparison with Claude Code's own agent teams, which are
//! measured in the same run, in turns.

use serde_json::{Value, json};

use super::results::Results;
use super::{Args, Planned, planned};

/// Teammates of one program in one team, as they are named in the table.
const MEMORY: [(&str, &str, usize); 7] = [
    ("native", "native", 1),
    ("native 4", "native", 4),
    ("claude", "claude", 1),
    ("codex", "codex", 1),
    ("codex 4", "codex", 4),
    ("gemini", "gemini", 1),
    ("opencode", "opencode", 1),
];
const LANES: [(&str, &str); 4] = [
    ("native", "Claude Code's own agent teams"),
    ("claude", "shipmate, claude"),
    ("codex", "shipmate, codex"),
    ("gemini", "shipmate, gemini"),
];
const LATENCY: [&str; 6] =
    ["a message into", "p50", "p90", "p99", "messages", "p50 of Claude Code's own ÷ this"];
const COST: [&str; 7] = [
    "a teammate",
    "supervisor",
    "program",
    "together, each",
    "coordinator",
    "task to first request",
    "its size",
];

const FENCE: [&str; 3] = ["a start without a fence (p50)", "with one", "what it costs"];

pub(super) fn plan(args: &Args) -> Vec<Planned> {
    let messages = if args.quick { 3 } else { 30 };
    let rounds = if args.quick { 1 } else { args.rounds.unwrap_or(1).max(1) };
    let mut plan = Vec::new();
    for _ in 0..rounds {
        let words = format!("latency WORKSPACE --messages {messages} --agents claude,codex,gemini");
        plan.push(planned("latency", &words));
        plan.push(planned("fence", "fence WORKSPACE"));
        for (name, agent, teammates) in MEMORY {
            let words = format!("memory WORKSPACE --agent {agent} --teammates {teammates}");
            plan.push(planned(format!("memory {name}"), &words));
        }
    }
    plan
}

/// A line of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    cells: Vec<String>,
}

impl Row {
    pub(super) fn json(&self) -> Value {
        json!(self.cells)
    }
}

pub(super) fn rows(results: &Results) -> Vec<Row> {
    latency(results).into_iter().chain(memory(results)).chain(fence(results)).collect()
}

fn fence(results: &Results) -> Option<Row> {
    let run = results.last("fence")?;
    let ms = |field: &str, at: &str| Some(run[field][at].as_f64()? / 1000.0);
    let (without, with) = (ms("without_us", "p50")?, ms("with_us", "p50")?);
    let shown = |ms: f64| format!("{ms:.1} ms");
    Some(Row { cells: vec![shown(without), shown(with), shown(with - without)] })
}

fn latency(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (state, field) in [("at rest", "idle_ms"), ("in a command", "busy_ms")] {
        for (lane, shown) in LANES {
            let figure = |of: &str, at: &str| {
                let figures = results.figures("latency", &format!("/lanes/{of}/{field}/{at}"));
                super::results::spread(&figures).map(|spread| spread.median)
            };
            let ms = |at: &str| figure(lane, at).map(|ms| format!("{ms:.0} ms"));
            let Some(p50) = ms("p50") else { continue };
            let ratio = figure("native", "p50").zip(figure(lane, "p50"));
            let ratio = ratio.map(|(own, this)| format!("{:.1} ×", own / this));
            let samples = figure(lane, "samples").map(|count| format!("{count:.0}"));
            let others = [ms("p90"), ms("p99"), samples, ratio];
            let mut cells = vec![format!("{shown}, {state}"), p50];
            cells.extend(others.into_iter().map(Option::unwrap_or_default));
            rows.push(Row { cells });
        }
    }
    rows
}

fn memory(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, agent, teammates) in MEMORY {
        let Some(run) = results.last(&format!("memory {name}")) else { continue };
        let mib = |field: &str| format!("{:.1} MiB", run[field].as_f64().unwrap_or_default());
        let told = |field: &str, unit: &str| {
            run[field].as_f64().map_or("–".to_owned(), |figure| format!("{figure:.0} {unit}"))
        };
        let many = match teammates {
            1 => String::new(),
            _ => format!(", {teammates} in a team"),
        };
        let measure = run["measure"].as_str().unwrap_or_default().to_uppercase();
        rows.push(Row {
            cells: vec![
                format!("{agent}{many} ({measure})"),
                mib("supervisors_mib"),
                mib("program_mib"),
                mib("each_mib"),
                mib("coordinator_mib"),
                told("first_request_ms", "ms"),
                told("first_request_tokens", "tokens"),
            ],
        });
    }
    if let Some(own) = results.last("latency").and_then(|run| run["native_mib"].as_f64()) {
        let (dash, mib) = ("–".to_owned(), format!("{own:.1} MiB"));
        let shown = "Claude Code's own, in a pane (PSS)".to_owned();
        let cells = [shown, dash.clone(), mib.clone(), mib, dash.clone(), dash.clone(), dash];
        rows.push(Row { cells: cells.into() });
    }
    rows
}

pub(super) fn markdown(rows: &[Row]) -> String {
    table(rows, |header, lines| {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let rule = vec!["---".to_owned(); header.len()].join("|");
        let mut told = vec![line(header.to_vec()), format!("|{rule}|")];
        told.extend(lines.iter().map(|row| line(row.cells.clone())));
        told.join("\n")
    })
}

pub(super) fn plain(rows: &[Row]) -> String {
    table(rows, |header, lines| {
        let all: Vec<&[String]> =
            std::iter::once(header).chain(lines.iter().map(|row| &row.cells[..])).collect();
        let width = |at: usize| all.iter().map(|cells| cells[at].chars().count()).max();
        let told = all.iter().map(|cells| {
            let padded = cells.iter().enumerate().map(|(at, cell)| {
                let width = width(at).unwrap_or_default();
                format!("{cell:width$}")
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        });
        told.collect::<Vec<_>>().join("\n")
    })
}

/// All tables, each as `show` has it.
fn table(rows: &[Row], show: impl Fn(&[String], &[Row]) -> String) -> String {
    let of = |columns: &[&str]| {
        let header: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
        let own: Vec<Row> =
            rows.iter().filter(|row| row.cells.len() == columns.len()).cloned().collect();
        show(&header, &own)
    };
    format!("{}\n\n{}\n\n{}", of(&LATENCY), of(&COST), of(&FENCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_stands_beside_claude_code_s_own_and_what_was_not_run_has_no_row() {
        let mut results = Results::default();
        let figures = |p50: f64| json!({ "p50": p50, "p90": 200.0, "p99": 300.0, "samples": 30 });
        let lane = |idle: f64| json!({ "idle_ms": figures(idle) });
        let lanes = json!({ "native": lane(500.0), "claude": lane(100.0) });
        results.add("latency", Ok(json!({ "lanes": lanes })));
        let each = json!({
            "measure": "pss", "coordinator_mib": 7.0, "supervisors_mib": 20.0,
            "program_mib": 180.0, "each_mib": 50.0, "first_request_ms": 900.0,
        });
        results.add("memory codex 4", Ok(each));
        let rows = rows(&results);
        assert_eq!(rows.len(), 3);
        let table = markdown(&rows);
        let claude = "| shipmate, claude, at rest | 100 ms | 200 ms | 300 ms | 30 | 5.0 × |";
        assert!(table.contains(claude), "{table}");
        let codex = "| codex, 4 in a team (PSS) | 20.0 MiB | 180.0 MiB | 50.0 MiB | 7.0 MiB | \
                     900 ms | – |";
        assert!(table.contains(codex), "{table}");
    }
}
