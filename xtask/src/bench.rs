//! `cargo xtask bench board`: how fast the board is, beside the file form and beside a bound.
//! `cargo xtask bench team`: how near a team comes to the least time its work can take.
//! `cargo xtask bench clients`: how soon a message is in front of a real program's model.
//! `cargo xtask bench page`: what a large board looks like in a browser, and what open pages cost.
//! `cargo xtask bench hosts`: a team on several machines, beside one; and the core with very many.
//!
//! Everything a ratio needs is measured in one run and in turns, because a machine that others use
//! changes from minute to minute: a figure alone says little, a ratio of neighbours says much. A
//! missed goal is shown and fails nothing; a task given out twice, something acknowledged and lost,
//! or a workload that did not end is a fault, and fails the run.
//!
//! The workloads themselves are in the `load`, `makespan` and `clients` binaries of the testkit, which
//! print one line of JSON for each; here they are started, gathered and held against the goals.

mod clients;
mod goals;
mod hosts;
mod page;
mod results;
mod team;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cargo::{cargo, run as run_command, target_folder};
use results::Results;

/// Measure the board beside files, a team beside its bound, agent programs beside each other
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What to measure
    #[arg(value_enum)]
    what: What,

    /// Small and one round: shows that it works, not how fast it is
    #[arg(long)]
    quick: bool,

    /// Rounds of what is compared; ratios are taken within a round [default: 3, for a team 1]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,

    /// Only the runs whose name has this in it (`W1`, `W2 power`, `critical`)
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// How long each task of a team on several machines takes: short ones show what a task costs beyond itself
    #[arg(long, value_name = "N", default_value_t = 20)]
    sleep_s: u64,

    /// Where every figure goes [default: target/bench/board.json, team.json, …]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Measure the binaries that are there
    #[arg(long)]
    no_build: bool,

    /// Measure the dev profile: only what is compared with programs that are not built here
    #[arg(long)]
    dev: bool,

    /// Print the table for docs/benchmarks.md
    #[arg(long)]
    markdown: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum What {
    /// The board: claims, messages, lists, kills
    Board,
    /// A team at work on tasks of known length
    Team,
    /// Real agent programs as teammates: messages, memory
    Clients,
    /// The page of a large board in a real browser
    Page,
    /// A team on several machines, and the core with very many
    Hosts,
}

impl What {
    /// The binary of the testkit, and the name of the report.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            What::Board => ("load", "board.json"),
            What::Team => ("makespan", "team.json"),
            What::Clients => ("clients", "clients.json"),
            What::Page => ("load", "page.json"),
            What::Hosts => ("load", "hosts.json"),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let (program, report_name) = args.what.names();
    if !args.no_build {
        let binaries = ["-p", "shipmate", "-p", "shipmate-testkit", "--bins"];
        let profile = if args.dev { "dev" } else { "release" };
        run_command(cargo(["build", "--quiet", "--profile", profile]).args(binaries))?;
    }
    let target = target_folder()?;
    let built = target.join(if args.dev { "debug" } else { "release" });
    let programs = match args.what {
        What::Clients => crate::clients::install(&[])?,
        What::Page => crate::browser::install()?,
        What::Hosts => vec![(crate::nats::VARIABLE, crate::nats::server()?)],
        What::Board | What::Team => Vec::new(),
    };
    let bench = Bench {
        program: built.join(program),
        shipmate: built.join("shipmate"),
        programs,
        folder: target.join("bench/tmp").join(std::process::id().to_string()),
    };
    std::fs::create_dir_all(&bench.folder)
        .map_err(|e| format!("{}: {e}", bench.folder.display()))?;
    let load_before = load_average();
    let results = bench.all(args);
    drop(std::fs::remove_dir_all(&bench.folder));

    let (table, rows) = table(args, &results);
    println!("{table}");
    let faults = results.faults();
    let path = args.json.clone().unwrap_or_else(|| target.join("bench").join(report_name));
    let report = json!({
        "quick": args.quick, "dev": args.dev, "cores": cores(),
        "load_average": { "before": load_before, "after": load_average() },
        "rows": rows, "faults": faults, "runs": results.runs(),
    });
    std::fs::write(&path, format!("{report:#}\n"))
        .map_err(|e| format!("{}: {e}", path.display()))?;
    eprintln!("every figure: {}", path.display());
    match faults.is_empty() {
        true => Ok(()),
        false => Err(format!("{} of correctness:\n{}", faults.len(), faults.join("\n"))),
    }
}

/// What was measured, for a person and for the report.
fn table(args: &Args, results: &Results) -> (String, Vec<Value>) {
    match args.what {
        What::Board => {
            let rows = goals::rows(results);
            let table = if args.markdown { goals::markdown(&rows) } else { goals::plain(&rows) };
            (table, rows.iter().map(goals::Row::json).collect())
        }
        What::Team => {
            let rows = team::rows(results);
            let table = if args.markdown { team::markdown(&rows) } else { team::plain(&rows) };
            (table, rows.iter().map(team::Row::json).collect())
        }
        What::Clients => {
            let rows = clients::rows(results);
            let table =
                if args.markdown { clients::markdown(&rows) } else { clients::plain(&rows) };
            (table, rows.iter().map(clients::Row::json).collect())
        }
        What::Page => {
            let rows = page::rows(results);
            let table = if args.markdown { page::markdown(&rows) } else { page::plain(&rows) };
            (table, rows.iter().map(|row| json!(row)).collect())
        }
        What::Hosts => {
            let rows = hosts::rows(results);
            let table = if args.markdown { goals::markdown(&rows) } else { goals::plain(&rows) };
            (table, rows.iter().map(goals::Row::json).collect())
        }
    }
}

#[derive(Debug)]
struct Bench {
    program: PathBuf,
    shipmate: PathBuf,
    /// Variables that say where agent programs are.
    programs: Vec<(&'static str, PathBuf)>,
    folder: PathBuf,
}

/// One start of the bench's program.
#[derive(Debug)]
struct Planned {
    name: String,
    words: Vec<String>,
}

fn planned(name: impl Into<String>, words: &str) -> Planned {
    Planned { name: name.into(), words: words.split_whitespace().map(str::to_owned).collect() }
}

impl Bench {
    fn all(&self, args: &Args) -> Results {
        let plan = plan(args);
        let mut results = Results::default();
        for (index, run) in plan.iter().enumerate() {
            eprint!("[{:>2}/{}] {} … ", index + 1, plan.len(), run.name);
            let result = self.one(index, run);
            eprintln!("{}", results::glance(&result));
            results.add(&run.name, result);
        }
        results
    }

    fn one(&self, index: usize, run: &Planned) -> Result<Value, String> {
        let folder = self.folder.join(index.to_string());
        let mut command = Command::new(&self.program);
        for word in &run.words {
            match word.as_str() {
                "WORKSPACE" => {
                    command.arg("--shipmate").arg(&self.shipmate).arg("--workspace").arg(&folder);
                }
                "FOLDER" => {
                    command.arg("--folder").arg(&folder);
                }
                word => {
                    command.arg(word);
                }
            }
        }
        // A setting of whoever runs this must not change what is measured.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SHIPMATE_") {
                command.env_remove(name);
            }
        }
        command.envs(self.programs.iter().map(|(variable, path)| (variable, path)));
        // Coordinators of several hosts count there how often they had to decide again.
        command.env("SHIPMATE_TRACE", "debug");
        command.env("XDG_CONFIG_HOME", self.folder.join("no-config"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let ended = command.stdin(Stdio::null()).stderr(Stdio::piped()).output();
        let ended = ended.map_err(|e| format!("{}: {e}", self.program.display()))?;
        remains(&folder)?;
        let told = String::from_utf8_lossy(&ended.stderr);
        if !ended.status.success() {
            return Err(format!("{}: {}", ended.status, told.trim()));
        }
        let text = String::from_utf8_lossy(&ended.stdout);
        serde_json::from_str(text.trim()).map_err(|e| format!("{e} in {text:?}; {}", told.trim()))
    }
}

/// Removes what a failed run left, which would be in the way of the next.
fn remains(folder: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {e}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// What to run, in order.
fn plan(args: &Args) -> Vec<Planned> {
    let mut plan = match args.what {
        What::Board => board(args),
        What::Team => team::plan(args),
        What::Clients => clients::plan(args),
        What::Page => page::plan(args),
        What::Hosts => hosts::plan(args),
    };
    if let Some(only) = &args.only {
        plan.retain(|run| run.name.contains(only.as_str()));
    }
    plan
}

/// What is compared stands side by side, and comes round again.
fn board(args: &Args) -> Vec<Planned> {
    let rounds = if args.quick { 1 } else { args.rounds.unwrap_or(3).max(1) };
    let sizes: &[(&str, usize)] =
        if args.quick { &[("1k", 1000)] } else { &[("1k", 1000), ("10k", 10_000)] };
    let mut plan = Vec::new();
    for _ in 0..rounds {
        plan.push(planned("sync", "sync FOLDER"));
        for (size, tasks) in sizes {
            plan.extend(drains(&format!("W1 {size}"), &format!("--tasks {tasks}")));
        }
        let graph =
            if args.quick { "--tasks 1000 --layers 10" } else { "--tasks 10000 --layers 100" };
        plan.extend(drains("W3", graph));
        let mail = if args.quick { "--messages 200 --rounds 30" } else { "" };
        plan.push(planned("W2 reference", &format!("message --reference FOLDER {mail}")));
        let synced = format!("message --reference --synced FOLDER {mail}");
        plan.push(planned("W2 reference synced", &synced));
        for durability in ["process", "power"] {
            let words = format!("message WORKSPACE --durability {durability} {mail}");
            plan.push(planned(format!("W2 {durability}"), &words));
        }
    }
    plan.extend(once(args.quick));
    plan
}

/// The same board in all five forms.
fn drains(name: &str, size: &str) -> Vec<Planned> {
    vec![
        planned(format!("{name} files"), &format!("files FOLDER {size}")),
        planned(format!("{name} process"), &format!("drain WORKSPACE --durability process {size}")),
        planned(format!("{name} reference"), &format!("reference FOLDER {size}")),
        planned(format!("{name} power"), &format!("drain WORKSPACE --durability power {size}")),
        planned(format!("{name} reference synced"), &format!("reference --synced FOLDER {size}")),
    ]
}

/// What stands alone.
fn once(quick: bool) -> Vec<Planned> {
    let (tasks, kills) = if quick { (1000, 5) } else { (10_000, 50) };
    let mut plan = vec![
        planned("W1 1k files spread", "files FOLDER --tasks 1000 --spread"),
        planned(
            "W1 process combined",
            &format!("drain WORKSPACE --durability process --combined --tasks {tasks}"),
        ),
        planned("W4 graph", &format!("list WORKSPACE --tasks {tasks} --layers {}", tasks / 100)),
        planned("W4 flat", &format!("list WORKSPACE --tasks {tasks}")),
    ];
    for durability in ["process", "power"] {
        let words = format!(
            "drain WORKSPACE --durability {durability} --tasks 2000 --kills {kills} --seed 7"
        );
        plan.push(planned(format!("kills {durability}"), &words));
    }
    let words = format!(
        "drain WORKSPACE --durability power --tasks 2000 --layers 20 --kills {} --seed 11",
        kills / 2
    );
    plan.push(planned("kills graph", &words));
    for kind in goals::FLOODS {
        let words = format!("flood WORKSPACE --durability process --kind {kind}");
        plan.push(planned(format!("flood {kind}"), &words));
    }
    if quick {
        plan.push(planned("growth", "growth WORKSPACE --durability process --sizes 100,1000"));
        plan.push(planned(
            "open 100k",
            "open WORKSPACE --durability process --tasks 1000 --records 10000",
        ));
        plan.push(planned("idle", "idle WORKSPACE --tasks 1000 --seconds 2"));
        return plan;
    }
    plan.push(planned("W1 1k files literal", "files FOLDER --tasks 1000 --literal"));
    plan.push(planned("growth", "growth WORKSPACE --durability process"));
    plan.push(planned(
        "open 100k",
        "open WORKSPACE --durability process --tasks 10000 --records 100000",
    ));
    plan.push(planned(
        "open 1M",
        "open WORKSPACE --durability process --tasks 100000 --records 1000000",
    ));
    plan.push(planned("idle", "idle WORKSPACE"));
    plan
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(quick: bool) -> Args {
        Args {
            what: What::Board,
            quick,
            rounds: None,
            sleep_s: 20,
            only: None,
            json: None,
            no_build: false,
            dev: false,
            markdown: false,
        }
    }

    #[test]
    fn what_is_compared_is_measured_in_every_round() {
        let plan = plan(&args(false));
        let count = |name: &str| plan.iter().filter(|run| run.name == name).count();
        for name in ["W1 10k files", "W1 10k power", "W3 reference synced", "W2 process", "sync"] {
            assert_eq!(count(name), 3, "{name}");
        }
        assert_eq!(count("open 1M"), 1);
    }

    #[test]
    fn a_part_can_be_chosen_by_its_name() {
        let mut args = args(true);
        args.only = Some("W2".to_owned());
        let names: Vec<String> = plan(&args).into_iter().map(|run| run.name).collect();
        assert_eq!(names, ["W2 reference", "W2 reference synced", "W2 process", "W2 power"]);
    }

    #[test]
    fn a_team_is_measured_once_unless_more_rounds_are_asked_for() {
        let mut args = args(false);
        args.what = What::Team;
        let names: Vec<String> = plan(&args).into_iter().map(|run| run.name).collect();
        let waiting = ["critical", "polling", "first-come", "polling-first-come"];
        assert_eq!(names, [&waiting[..], &["command", "trees"]].concat());
        args.rounds = Some(2);
        assert_eq!(plan(&args).len(), 12);
    }
}
