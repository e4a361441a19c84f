//! The makespan benchmark behind `cargo xtask bench team`: how long a team takes for work of known
//! length, beside the least time that any team of that size could take.
//!
//! One run is one variant on one or several graphs: a real coordinator with real supervisors, whose
//! agents do nothing but let the scripted time pass. Every figure comes from the log's own records,
//! and so does the check that each task was done once and none too early.
//!
//! The boards are almost idle, so the graphs of one run may share a machine (`--at-once`); what
//! costs processor time, processes and git, is measured one graph after the other.
//!
//! Test-only: it never ships, and it asks through the protocol like any other client.

mod account;
mod graph;
mod polling;
mod team;

#[path = "../load/arguments.rs"]
mod arguments;
#[allow(dead_code, reason = "the load generator measures more")]
#[path = "../load/measure.rs"]
mod measure;
#[allow(dead_code, reason = "the load generator does more with it")]
#[path = "../load/workspace.rs"]
mod workspace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use account::Account;
use arguments::Arguments;
use graph::{Graph, Shape};
use team::{Team, Variant};

const USAGE: &str = "\
usage: makespan --shipmate PATH --workspace DIR --variant NAME [--graphs A,B] [--at-once]
                [--tasks N] [--teammates N] [--scale F] [--seed N]

  variants  critical, first-come, polling, polling-first-come, command, trees
  graphs    wide, layered, fork-join

At scale 1 the work of all tasks together is 40 s for each teammate; polls are every 2 s, scaled as
well. Makes the folder it is given, prints one line of JSON and removes the folder.";

/// Work for each teammate at scale 1.
const WORK_MS: f64 = 40_000.0;
/// What counts as wrong, summed over the graphs of a run.
const FAULTS: [&str; 4] = ["double_claims", "early_claims", "missing", "errors"];

/// What every graph of a run has in common.
#[derive(Debug, Clone)]
struct Plan {
    program: PathBuf,
    folder: PathBuf,
    variant: Variant,
    tasks: usize,
    teammates: usize,
    scale: f64,
    seed: u64,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("makespan: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = Arguments::parse(std::env::args().skip(1))?;
    if arguments.switch("help") {
        return Err(USAGE.to_owned());
    }
    let program = arguments.path("shipmate")?;
    let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
    let plan = Plan {
        program,
        folder: workspace::place(&mut arguments)?.workspace,
        variant: arguments.text("variant")?.parse()?,
        tasks: arguments.number("tasks", 200)?,
        teammates: arguments.number("teammates", 8)?,
        scale: arguments.number("scale", 1.0)?,
        seed: arguments.number("seed", 1)?,
    };
    let graphs = arguments.optional("graphs").unwrap_or_else(|| Shape::NAMES.join(","));
    let shapes = graphs.split(',').map(str::parse).collect::<Result<Vec<Shape>, String>>()?;
    let at_once = arguments.switch("at-once");
    arguments.finish()?;
    if plan.tasks == 0 || plan.teammates == 0 || plan.scale <= 0.0 {
        return Err("there must be tasks that take time, and somebody must work".to_owned());
    }
    let results = match at_once {
        true => all_at_once(&plan, &shapes),
        false => shapes.iter().map(|shape| one(&plan, *shape)).collect(),
    };
    drop(std::fs::remove_dir(&plan.folder));
    println!("{}", report(&plan, &shapes, results)?);
    Ok(())
}

fn all_at_once(plan: &Plan, shapes: &[Shape]) -> Vec<Result<Value, String>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            shapes.iter().map(|shape| scope.spawn(|| one(plan, *shape))).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err("its thread has panicked".to_owned()))
        });
        joined.collect()
    })
}

/// One graph, in a workspace of its own.
fn one(plan: &Plan, shape: Shape) -> Result<Value, String> {
    let work_ms = WORK_MS * plan.scale * plan.teammates as f64;
    let graph = Graph::new(shape, plan.tasks, work_ms, plan.seed);
    let folder: &Path = &plan.folder.join(shape.name());
    let mut team = Team::new(&plan.program, folder, plan.variant, &graph)?;
    let limit_ms = 5 * graph.bound_ms(plan.teammates) + 60_000;
    if plan.variant.polls() {
        let period = polling::PERIOD.mul_f64(plan.scale);
        polling::run(&mut team, plan.teammates, period, limit_ms)?;
    } else {
        team.run(plan.teammates, limit_ms)?;
    }
    let records = team.workspace.log()?;
    Ok(Account::new(&records).report(&graph, plan.teammates, plan.variant.order()))
}

fn report(
    plan: &Plan,
    shapes: &[Shape],
    results: Vec<Result<Value, String>>,
) -> Result<Value, String> {
    let mut report = json!({
        "variant": plan.variant.name(), "tasks": plan.tasks, "teammates": plan.teammates,
        "scale": plan.scale, "seed": plan.seed,
    });
    let mut texts = Vec::new();
    for (shape, result) in shapes.iter().zip(results) {
        let graph = result.map_err(|e| format!("{}: {e}", shape.name()))?;
        for fault in FAULTS {
            let sum = report[fault].as_u64().unwrap_or(0) + graph[fault].as_u64().unwrap_or(0);
            report[fault] = json!(sum);
        }
        texts.extend(graph["error_texts"].as_array().cloned().unwrap_or_default());
        report[shape.name()] = graph;
    }
    report["error_texts"] = json!(texts);
    Ok(report)
}
