//! W1 and W3: a board full of tasks, worker processes that empty it, and the check afterwards.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::TaskNew;

use crate::arguments::Arguments;
use crate::files;
use crate::fleet::{Fleet, Heard, SILENCE_MAX, myself, numbers};
use crate::history::{Told, Verdict, verify};
use crate::kills;
use crate::measure::{micros, millis, rate, timed, used};
use crate::reference;
use crate::worker::END;
use crate::workspace::{TEAM, TOKEN, Workspace};

/// What lies on the board and who empties it.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) tasks: usize,
    pub(crate) workers: usize,
    layers: usize,
    deps: usize,
}

impl Plan {
    pub(crate) fn take(arguments: &mut Arguments) -> Result<Plan, String> {
        let tasks: usize = arguments.number("tasks", 10_000)?;
        let workers = arguments.number("workers", 8)?;
        let layers = arguments.number("layers", 0)?;
        let deps = arguments.number("deps", 3)?;
        let width = tasks.checked_div(layers).unwrap_or(tasks);
        if tasks == 0
            || workers == 0
            || (layers > 0 && (!tasks.is_multiple_of(layers) || deps > width))
        {
            return Err("the tasks must fill the layers, and somebody must work".to_owned());
        }
        Ok(Plan { tasks, workers, layers, deps })
    }

    pub(crate) fn is_graph(&self) -> bool {
        self.layers > 0
    }

    /// What each task depends on, by index, layer by layer.
    ///
    /// Every task has dependents in the next layer, so that one last task, which depends on the
    /// last layer, is reached exactly when everything is done: nobody has to watch for the end.
    pub(crate) fn layers(&self) -> Vec<Vec<Vec<usize>>> {
        if !self.is_graph() {
            return vec![vec![Vec::new(); self.tasks]];
        }
        let width = self.tasks / self.layers;
        let before = |layer: usize, index: usize| {
            let step = |k: usize| (index + k * (layer * 7 % width.max(2) + 1)) % width;
            let mut on: Vec<usize> = (0..self.deps).map(step).collect();
            on.sort_unstable();
            on.dedup();
            // Where two steps met, the next free neighbour stands in: always as many as asked for.
            let mut more = (0..width).filter(|i| !on.contains(i)).collect::<Vec<_>>().into_iter();
            on.extend(more.by_ref().take(self.deps - on.len()));
            on.into_iter().map(|i| (layer - 1) * width + i).collect::<Vec<usize>>()
        };
        let layer = |layer: usize| match layer {
            0 => vec![Vec::new(); width],
            _ => (0..width).map(|index| before(layer, index)).collect(),
        };
        let mut layers: Vec<Vec<Vec<usize>>> = (0..self.layers).map(layer).collect();
        layers.push(vec![(self.tasks - width..self.tasks).collect()]);
        layers
    }

    /// With the last one of a graph.
    pub(crate) fn count(&self) -> usize {
        self.tasks + usize::from(self.is_graph())
    }
}

/// The words of a task, the same on every board.
pub(crate) fn words(index: usize, of: usize) -> (String, String) {
    let subject = if index == of { END.to_owned() } else { format!("task {index}") };
    (subject, format!("do what task {index} asks for and say when it is done"))
}

/// Drains a shipmate board.
pub(crate) fn shipmate(mut arguments: Arguments) -> Result<(), String> {
    let plan = Plan::take(&mut arguments)?;
    let kills = arguments.number("kills", 0)?;
    let seed = arguments.number("seed", 1)?;
    let combined = arguments.switch("combined");
    let mut workspace = Workspace::fresh(&mut arguments)?;
    arguments.finish()?;
    let mut report = json!({
        "workload": "drain", "board": "shipmate", "durability": workspace.durability,
        "tasks": plan.tasks, "workers": plan.workers, "layers": plan.layers,
        "combined": combined,
    });
    let verdict = match kills {
        0 => drain_once(&mut workspace, &plan, combined, &mut report)?,
        _ => kills::drain(&mut workspace, &plan, kills, seed, &mut report)?,
    };
    verdict.add_to(&mut report);
    println!("{report}");
    Ok(())
}

fn drain_once(
    workspace: &mut Workspace,
    plan: &Plan,
    combined: bool,
    report: &mut Value,
) -> Result<Verdict, String> {
    let (created_ns, created) = timed(|| create(workspace, plan));
    created?;
    let commands = claimants(workspace, plan, 0, combined)?;
    let pid = workspace.coordinator().ok_or("no coordinator serves")?;
    let before = used(pid)?;
    let mut fleet = Fleet::start(commands)?;
    let start = fleet.go()?;
    hear_out(workspace, &mut fleet)?;
    let after = used(pid)?;
    let reports = fleet.finish()?;
    figures(report, plan, start, &reports);
    report["create_ms"] = json!(millis(created_ns));
    report["server_cpu_us_per_task"] = per_task(after.cpu_ns - before.cpu_ns, plan);
    let mut verdict = verify(&workspace.log()?, &told(0, &reports));
    add_failures(&mut verdict, &reports);
    Ok(verdict)
}

/// Puts the plan's tasks on the board, a layer in a request.
pub(crate) fn create(workspace: &mut Workspace, plan: &Plan) -> Result<(), String> {
    let mut ids: Vec<u32> = Vec::with_capacity(plan.count());
    for layer in plan.layers() {
        let first = ids.len();
        let tasks: Vec<TaskNew> = layer
            .iter()
            .enumerate()
            .map(|(at, on)| {
                let (subject, description) = words(first + at, plan.tasks);
                let blocked_by = on.iter().map(|index| ids[*index].to_string()).collect();
                TaskNew { subject, description, blocked_by, ..TaskNew::default() }
            })
            .collect();
        ids.extend(workspace.tasks(&tasks)?);
    }
    Ok(())
}

/// New teammates, and the processes that will act as them.
pub(crate) fn claimants(
    workspace: &mut Workspace,
    plan: &Plan,
    round: usize,
    combined: bool,
) -> Result<Vec<Command>, String> {
    let mut commands = Vec::new();
    for index in 0..plan.workers {
        let token = workspace.teammate(&name(round, index), 1)?;
        let mut command = myself("worker")?;
        command.args(["--board", "shipmate", "--workspace"]).arg(&workspace.place.workspace);
        command.arg("--shipmate").arg(&workspace.program).env(TOKEN, token);
        if plan.is_graph() {
            command.arg("--wait");
        }
        if combined {
            command.arg("--combined");
        }
        commands.push(command);
    }
    Ok(commands)
}

pub(crate) fn name(round: usize, index: usize) -> String {
    format!("w{round}-{index}")
}

/// Listens until all have reported. In a graph everybody waits for more work until the team is
/// asked to end.
pub(crate) fn hear_out(workspace: &mut Workspace, fleet: &mut Fleet) -> Result<(), String> {
    while !fleet.is_done() {
        match fleet.hear(SILENCE_MAX)? {
            Some(Heard::Word(word)) if word == END => end_team(workspace)?,
            Some(_) => {}
            None => return Err("the workers hang".to_owned()),
        }
    }
    Ok(())
}

pub(crate) fn end_team(workspace: &mut Workspace) -> Result<(), String> {
    let reason = "the board is empty".to_owned();
    workspace
        .ask(Ask::Shutdown(verbs::Shutdown { name: None, reason, deadline_ms: 600_000 }))
        .map(drop)
}

pub(crate) fn told(round: usize, reports: &[Value]) -> Vec<Told> {
    let told = |(index, report): (usize, &Value)| Told {
        who: format!("{TEAM}/{}@1", name(round, index)),
        claims: numbers(report, "tasks").into_iter().zip(numbers(report, "tokens")).collect(),
        completions: numbers(report, "completed"),
    };
    reports.iter().enumerate().map(told).collect()
}

pub(crate) fn add_failures(verdict: &mut Verdict, reports: &[Value]) {
    for failure in reports.iter().filter_map(|report| report["failure"].as_str()) {
        verdict.error(|| failure.to_owned());
    }
}

pub(crate) fn all(reports: &[Value], name: &str) -> Vec<u64> {
    reports.iter().flat_map(|report| numbers(report, name)).collect()
}

pub(crate) fn figures(report: &mut Value, plan: &Plan, start: u64, reports: &[Value]) {
    let last = reports.iter().filter_map(|report| report["last_ns"].as_u64()).max().unwrap_or(0);
    let counts: Vec<usize> = reports.iter().map(|r| numbers(r, "completed").len()).collect();
    report["tasks_per_s"] = json!(rate(plan.count(), last.saturating_sub(start).max(1)));
    report["drain_ms"] = json!(millis(last.saturating_sub(start)));
    report["claim_us"] = micros(&all(reports, "claim_ns"));
    report["complete_us"] = micros(&all(reports, "complete_ns"));
    report["per_worker"] = json!(counts);
    let cpu_ns = reports.iter().filter_map(|report| report["cpu_ns"].as_u64()).sum();
    report["workers_cpu_us_per_task"] = per_task(cpu_ns, plan);
}

pub(crate) fn per_task(cpu_ns: u64, plan: &Plan) -> Value {
    json!((cpu_ns as f64 / plan.count() as f64 / 100.0).round() / 10.0)
}

/// Drains the form with one file per task.
pub(crate) fn files(mut arguments: Arguments) -> Result<(), String> {
    let plan = Plan::take(&mut arguments)?;
    let folder = arguments.path("folder")?;
    let form = match (arguments.switch("literal"), arguments.switch("spread")) {
        (true, _) => "literal",
        (_, true) => "spread",
        _ => "cursor",
    };
    arguments.finish()?;
    let (created_ns, created) = timed(|| files::create(&folder, &plan));
    created.map_err(|e| format!("{}: {e}", folder.display()))?;
    let command = |index: usize| -> Result<Command, String> {
        let mut command = myself("worker")?;
        command.args(["--board", "files", "--form", form, "--folder"]).arg(&folder);
        command.args(["--me", &index.to_string(), "--of", &plan.workers.to_string()]);
        Ok(command)
    };
    let mut fleet = Fleet::start((0..plan.workers).map(command).collect::<Result<_, _>>()?)?;
    let start = fleet.go()?;
    let reports = fleet.finish()?;
    let mut report = json!({
        "workload": "drain", "board": "files", "form": form, "tasks": plan.tasks,
        "workers": plan.workers, "layers": plan.layers, "create_ms": millis(created_ns),
    });
    figures(&mut report, &plan, start, &reports);
    let mut verdict = exactly_once(&plan, &reports);
    let left = files::unfinished(&folder).map_err(|e| e.to_string())?;
    verdict.missing = verdict.missing.max(left);
    verdict.add_to(&mut report);
    remove(&folder)?;
    println!("{report}");
    Ok(())
}

/// Drains the reference board.
pub(crate) fn reference(mut arguments: Arguments) -> Result<(), String> {
    let plan = Plan::take(&mut arguments)?;
    let folder = arguments.path("folder")?;
    let synced = arguments.switch("synced");
    arguments.finish()?;
    let server = reference::Server::start(&folder, synced)?;
    let (created_ns, created) = timed(|| server.create(&plan));
    created?;
    let command = |_: usize| -> Result<Command, String> {
        let mut command = myself("worker")?;
        command.args(["--board", "reference", "--socket"]).arg(&server.socket);
        Ok(command)
    };
    let mut fleet = Fleet::start((0..plan.workers).map(command).collect::<Result<_, _>>()?)?;
    let start = fleet.go()?;
    let reports = fleet.finish()?;
    let durability = if synced { "power" } else { "none" };
    let mut report = json!({
        "workload": "drain", "board": "reference", "durability": durability, "tasks": plan.tasks,
        "workers": plan.workers, "layers": plan.layers, "create_ms": millis(created_ns),
    });
    figures(&mut report, &plan, start, &reports);
    exactly_once(&plan, &reports).add_to(&mut report);
    drop(server);
    remove(&folder)?;
    println!("{report}");
    Ok(())
}

/// The check for boards without a log: by what the workers say.
fn exactly_once(plan: &Plan, reports: &[Value]) -> Verdict {
    let mut verdict = Verdict::default();
    let count = |name: &str| {
        let mut counted: BTreeMap<u64, usize> = BTreeMap::new();
        for task in all(reports, name) {
            *counted.entry(task).or_default() += 1;
        }
        counted
    };
    verdict.double_claims = count("tasks").values().filter(|times| **times > 1).count();
    let completed = count("completed");
    verdict.missing = plan.count() - completed.len().min(plan.count());
    for (task, times) in completed.iter().filter(|(_, times)| **times > 1) {
        verdict.error(|| format!("task {task} was completed {times} times"));
    }
    add_failures(&mut verdict, reports);
    verdict
}

pub(crate) fn remove(folder: &Path) -> Result<(), String> {
    std::fs::remove_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_has_full_layers_and_everything_leads_to_its_end() {
        let plan = Plan { tasks: 1000, workers: 1, layers: 10, deps: 3 };
        let layers = plan.layers();
        assert_eq!(layers.iter().map(Vec::len).sum::<usize>(), 1001);
        let mut wanted = std::collections::BTreeSet::new();
        for (number, layer) in layers.iter().enumerate().skip(1) {
            for on in layer {
                let distinct: std::collections::BTreeSet<usize> = on.iter().copied().collect();
                let expected = if number == 10 { 100 } else { 3 };
                assert_eq!(distinct.len(), expected, "in layer {number}");
                assert!(distinct.iter().all(|index| index / 100 == number - 1));
                wanted.extend(distinct);
            }
        }
        assert_eq!(wanted.len(), 1000, "every task is waited for");
    }
}
