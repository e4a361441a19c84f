//! `cargo xtask bench team`: what to run, and the table of it.
//!
//! A row is one way of working on one graph. The goal is the product's own: how near the time of a
//! team comes to the least that any team of that size could take.

use serde_json::{Value, json};

use super::results::{Results, spread};
use super::{Args, Planned, planned};

/// The time of a team over its bound that is wanted of shipmate, on every graph.
const RATIO_MAX: f64 = 1.02;

const GRAPHS: [&str; 3] = ["wide", "layered", "fork-join"];

/// Names of runs, as `makespan` knows them, and what the table calls them.
const VARIANTS: [(&str, &str); 6] = [
    ("critical", "shipmate"),
    ("first-come", "first come"),
    ("polling", "polling"),
    ("polling-first-come", "polling, first come"),
    ("command", "shipmate, processes"),
    ("trees", "shipmate, git"),
];

const COLUMNS: [&str; 14] = [
    "graph",
    "team",
    "makespan",
    "bound",
    "ratio",
    "from the start",
    "same order, no cost",
    "idle while ready",
    "hand-out p50 / p99",
    "dependent p50 / p99",
    "overrun p50 / p99",
    "check p50 / p99",
    "gate runs",
    "goal",
];

/// One line of the table, and every figure behind it.
#[derive(Debug)]
pub(super) struct Row {
    cells: Vec<String>,
    met: Option<bool>,
}

impl Row {
    pub(super) fn json(&self) -> Value {
        let cells = COLUMNS.iter().zip(&self.cells);
        let mut row: Value = cells.map(|(name, cell)| ((*name).to_owned(), json!(cell))).collect();
        row["met"] = json!(self.met);
        row
    }
}

/// What only waits shares the machine; what has processes and git has it for itself.
pub(super) fn plan(args: &Args) -> Vec<Planned> {
    let rounds = if args.quick { 1 } else { args.rounds.unwrap_or(1).max(1) };
    let scale = if args.quick { "--scale 0.05" } else { "" };
    let alone = match args.quick {
        true => [("command", "--graphs layered"), ("trees", "--graphs layered --tasks 50")],
        false => [("command", ""), ("trees", "--graphs layered")],
    };
    let mut plan = Vec::new();
    for _ in 0..rounds {
        for name in ["critical", "polling", "first-come", "polling-first-come"] {
            let words = format!("--variant {name} WORKSPACE --at-once {scale}");
            plan.push(planned(name, &words));
        }
        for (name, graphs) in alone {
            let words = format!("--variant {name} WORKSPACE {graphs} {scale}");
            plan.push(planned(name, &words));
        }
    }
    plan
}

pub(super) fn rows(results: &Results) -> Vec<Row> {
    let each = |graph: &'static str| {
        VARIANTS.iter().filter_map(move |(name, called)| row(results, graph, name, called))
    };
    GRAPHS.into_iter().flat_map(each).collect()
}

fn row(results: &Results, graph: &str, name: &str, called: &str) -> Option<Row> {
    let figure = |at: &str| {
        spread(&results.figures(name, &format!("/{graph}/{at}"))).map(|found| found.median)
    };
    let seconds = |at: &str| figure(at).map_or(String::new(), |ms| format!("{:.2} s", ms / 1000.0));
    let times = |at: &str| figure(at).map_or(String::new(), |ratio| format!("{ratio:.3}"));
    let pair = |at: &str| match (figure(&format!("{at}/p50")), figure(&format!("{at}/p99"))) {
        (Some(p50), Some(p99)) => format!("{p50:.0} / {p99:.0} ms"),
        _ => "–".to_owned(),
    };
    let ratio = figure("ratio")?;
    // Shorter work than the goal speaks of: what a hand-out costs weighs more.
    let whole = results.last(name).and_then(|run| run["scale"].as_f64()) >= Some(1.0);
    let met = (name == "critical" && whole).then_some(ratio <= RATIO_MAX);
    let goal = match met {
        Some(true) => format!("≤ {RATIO_MAX}, met"),
        Some(false) => format!("≤ {RATIO_MAX}, NOT MET"),
        None => String::new(),
    };
    let cells = vec![
        graph.to_owned(),
        called.to_owned(),
        seconds("makespan_ms"),
        seconds("bound_ms"),
        times("ratio"),
        times("run_ratio"),
        times("ideal_ratio"),
        seconds("idle_while_ready_ms"),
        pair("hand_out_ms"),
        pair("dependent_ms"),
        pair("overrun_ms"),
        pair("check_ms"),
        figure("gate_runs").map_or(String::new(), |runs| format!("{runs:.0}")),
        goal,
    ];
    Some(Row { cells, met })
}

pub(super) fn markdown(rows: &[Row]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![line(&COLUMNS.map(str::to_owned)), format!("|{}", "---|".repeat(14))];
    lines.extend(rows.iter().map(|row| line(&row.cells)));
    lines.join("\n")
}

pub(super) fn plain(rows: &[Row]) -> String {
    let head = COLUMNS.map(str::to_owned).to_vec();
    let lines: Vec<&Vec<String>> =
        std::iter::once(&head).chain(rows.iter().map(|row| &row.cells)).collect();
    let width = |at: usize| lines.iter().map(|cells| cells[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let told = lines.iter().map(|cells| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    told.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_its_figures_and_only_the_products_own_order_has_a_goal() {
        let mut results = Results::default();
        let graph = json!({
            "makespan_ms": 40_480, "bound_ms": 40_000, "ratio": 1.012, "run_ratio": 1.014,
            "ideal_ratio": 1.0, "idle_while_ready_ms": 310, "gate_runs": 0,
            "hand_out_ms": { "p50": 1, "p99": 4 }, "dependent_ms": { "p50": null, "p99": null },
            "overrun_ms": { "p50": 1, "p99": 2 }, "check_ms": { "p50": 0, "p99": 1 },
        });
        results.add("critical", Ok(json!({ "scale": 1.0, "wide": graph })));
        results.add("polling", Ok(json!({ "scale": 1.0, "wide": graph })));
        let rows = rows(&results);
        assert_eq!(rows.len(), 2, "what was not run has no row");
        assert_eq!((rows[0].met, rows[1].met), (Some(true), None));
        let table = markdown(&rows);
        let first = "| wide | shipmate | 40.48 s | 40.00 s | 1.012 | 1.014 | 1.000 | 0.31 s \
                     | 1 / 4 ms | – | 1 / 2 ms | 0 / 1 ms | 0 | ≤ 1.02, met |";
        assert!(table.contains(first), "{table}");
        assert!(plain(&rows).contains("wide   polling   40.48 s"), "{}", plain(&rows));
    }
}
