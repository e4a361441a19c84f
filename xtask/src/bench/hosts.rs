//! What `cargo xtask bench hosts` runs, and its table: a team on several machines.
//!
//! The machines are workspaces on this one, around a real server: a figure is what the program costs, without
//! a network. What is compared stands side by side in one run, and comes round again.

use super::goals::{Bound, Row, Table};
use super::results::{Results, ratios};
use super::{Args, Planned, planned};

/// The time of a team over its bound that is wanted, however many hosts it has.
const RATIO_MAX: f64 = 1.05;

/// Boards that are drained beside each other.
const BOARDS: [(&str, &str, &str); 4] = [
    ("sqlite", "--sqlite", "one coordinator, SQLite"),
    ("1", "--hosts 1", "one coordinator, JetStream"),
    ("2", "--hosts 2", "two coordinators"),
    ("3", "--hosts 3", "three coordinators"),
];

const PAIRS: [(&str, &str); 4] = [
    ("home_home", "on the home"),
    ("box_box", "on another host"),
    ("home_box", "from the home to another host"),
    ("box_home", "from another host to the home"),
];

pub(super) fn plan(args: &Args) -> Vec<Planned> {
    let rounds = if args.quick { 1 } else { args.rounds.unwrap_or(3).max(1) };
    let mut plan = Vec::new();
    let work = match args.quick {
        true => "--tasks 24 --sleep-ms 1000".to_owned(),
        false => format!("--tasks 120 --sleep-ms {}", args.sleep_s * 1_000),
    };
    for (name, words) in [("sqlite", "--sqlite"), ("1", ""), ("2", "--hosts 2"), ("3", "--hosts 3")]
    {
        let words = format!("hosts-makespan WORKSPACE {words} {work}");
        plan.push(planned(format!("makespan {name}"), &words));
    }
    let tasks = if args.quick { 200 } else { 2000 };
    for _ in 0..rounds {
        for (name, words, _) in BOARDS {
            let words = format!("hosts-drain WORKSPACE {words} --tasks {tasks} --workers 12");
            plan.push(planned(format!("drain {name}"), &words));
        }
    }
    let mail = if args.quick { "--messages 20 --rounds 1" } else { "" };
    plan.push(planned("message sqlite", &format!("hosts-message WORKSPACE --sqlite {mail}")));
    plan.push(planned("message", &format!("hosts-message WORKSPACE {mail}")));
    let code = if args.quick { "--files 200 --tasks 3" } else { "--files 2000 --tasks 20" };
    plan.push(planned("packs", &format!("hosts-packs WORKSPACE {code}")));
    let (lease, away) = if args.quick { (3, 10) } else { (30, 60) };
    let losing = [
        ("host", format!("--lease-s {lease}")),
        ("home", String::new()),
        ("server", format!("--away-s {away}")),
    ];
    for (what, words) in losing {
        let words = format!("hosts-losing WORKSPACE --what {what} {words}");
        plan.push(planned(format!("losing {what}"), &words));
    }
    let many = match args.quick {
        true => "--hosts 50 --teammates 500 --tasks 2000",
        false => "--hosts 1000 --teammates 10000 --tasks 30000",
    };
    plan.push(planned("scale", &format!("scale {many}")));
    let seconds = if args.quick { 2 } else { 10 };
    plan.push(planned("idle", &format!("hosts-idle WORKSPACE --seconds {seconds}")));
    plan
}

pub(super) fn rows(results: &Results) -> Vec<Row> {
    let mut table = Table::new(results);
    makespans(&mut table);
    boards(&mut table);
    messages(&mut table);
    packs(&mut table);
    losses(&mut table, results);
    scale(&mut table, results);
    idle(&mut table);
    table.rows
}

fn makespans(table: &mut Table<'_>) {
    let named = [
        ("sqlite", "one machine, SQLite"),
        ("1", "one host"),
        ("2", "two hosts"),
        ("3", "three hosts"),
    ];
    for (name, called) in named {
        let run = format!("makespan {name}");
        let seconds = |at: &str| -> Vec<f64> {
            table.figures(&run, at).into_iter().map(|ms| ms / 1000.0).collect()
        };
        let (makespan, bound) = (seconds("/makespan_ms"), seconds("/bound_ms"));
        let ratio = table.figures(&run, "/ratio");
        let goal = Some(Bound::AtMost(RATIO_MAX));
        table.add(&format!("makespan, {called}"), &makespan, "s", "", None);
        table.add(&format!("makespan, {called}, its bound"), &bound, "s", "", None);
        let what = format!("makespan, {called}, over its bound");
        table.add(&what, &ratio, "×", &format!("≤ {RATIO_MAX}×"), goal);
        let parts = [
            ("hand-out (free to next claim)", "hand_out_ms"),
            ("claim to submission beyond the sleep", "overrun_ms"),
            ("submission to completion", "check_ms"),
        ];
        for (part, at) in parts {
            for share in ["p50", "p99"] {
                let figures = table.figures(&run, &format!("/{at}/{share}"));
                table.add(
                    &format!("makespan, {called}, {part}, {share}"),
                    &figures,
                    "ms",
                    "",
                    None,
                );
            }
        }
    }
}

fn boards(table: &mut Table<'_>) {
    for (name, _, called) in BOARDS {
        let run = format!("drain {name}");
        let rate = table.figures(&run, "/tasks_per_s");
        table.add(&format!("drain, {called}"), &rate, "tasks/s", "", None);
        let lost = table.figures(&run, "/lost_races");
        let tasks = table.figures(&run, "/tasks");
        let lost: Vec<f64> = ratios(&lost, &tasks);
        table.add(&format!("drain, {called}, lost races for each task"), &lost, "", "", None);
        for (who, at) in [("coordinators", "coordinators"), ("server", "server")] {
            let figures = table.figures(&run, &format!("/{at}_cpu_us_per_task"));
            let what = format!("drain, {called}, processor time of the {who} per task");
            table.add(&what, &figures, "µs", "", None);
        }
    }
    let one = table.figures("drain 1", "/tasks_per_s");
    for (name, called) in [("2", "two coordinators"), ("3", "three coordinators")] {
        let rate = table.figures(&format!("drain {name}"), "/tasks_per_s");
        table.add(
            &format!("drain, {called} over one on JetStream"),
            &ratios(&rate, &one),
            "×",
            "",
            None,
        );
    }
    let sqlite = table.figures("drain sqlite", "/tasks_per_s");
    let what = "drain, one on JetStream over one on SQLite";
    table.add(what, &ratios(&one, &sqlite), "×", "", None);
}

fn messages(table: &mut Table<'_>) {
    for share in ["p50", "p99"] {
        let at = format!("/home_home/latency_us/{share}");
        let figures = table.figures("message sqlite", &at);
        table.add(&format!("message, one machine, SQLite, {share}"), &figures, "µs", "", None);
    }
    for (pair, called) in PAIRS {
        for share in ["p50", "p99"] {
            let figures = table.figures("message", &format!("/{pair}/latency_us/{share}"));
            table.add(&format!("message, {called}, {share}"), &figures, "µs", "", None);
        }
    }
    let near = table.figures("message", "/home_home/latency_us/p50");
    let far = table.figures("message", "/home_box/latency_us/p50");
    table.add(
        "message, to another host over the same host, p50",
        &ratios(&far, &near),
        "×",
        "",
        None,
    );
}

fn packs(table: &mut Table<'_>) {
    let kib = |table: &Table<'_>, at: &str| -> Vec<f64> {
        table.figures("packs", at).into_iter().map(|bytes| bytes / 1024.0).collect()
    };
    for (what, at) in [("first join", "first_join"), ("second join", "second_join")] {
        let ms = table.figures("packs", &format!("/{at}_ms"));
        table.add(&format!("code, {what}"), &ms, "ms", "", None);
        let size = kib(table, &format!("/{at}_bytes"));
        table.add(&format!("code, {what}, bytes in the store"), &size, "KiB", "", None);
    }
    for (host, called) in [("home", "at home"), ("box", "on another host")] {
        for (what, at) in
            [("claim to hand-in", "claim_to_submit"), ("hand-in to landing", "submit_to_land")]
        {
            for share in ["p50", "p99"] {
                let us = table.figures("packs", &format!("/{host}/{at}_us/{share}"));
                let ms: Vec<f64> = us.into_iter().map(|us| us / 1000.0).collect();
                table.add(&format!("code, {what} {called}, {share}"), &ms, "ms", "", None);
            }
        }
        let size = kib(table, &format!("/{host}/store_bytes_p50"));
        table.add(&format!("code, a hand-in {called}, bytes in the store"), &size, "KiB", "", None);
    }
}

fn losses(table: &mut Table<'_>, results: &Results) {
    let parts = [
        ("a host stops, its lease", "lease_ms"),
        ("a host stops, until it is lost", "lost_ms"),
        ("a host stops, from its loss until its task is free", "free_after_loss_ms"),
        ("a host stops, from then until it is taken elsewhere", "taken_after_free_ms"),
        ("a host stops, from its return until its work is set aside", "aside_after_return_ms"),
    ];
    for (what, at) in parts {
        let figures = table.figures("losing host", &format!("/{at}"));
        table.add(what, &figures, "ms", "", None);
    }
    for (what, at) in [("unmoved", "unmoved"), ("moved", "moved"), ("moved back", "back")] {
        let figures = table.figures("losing home", &format!("/{at}/landed_ms"));
        table.add(&format!("home {what}, until the next landing"), &figures, "ms", "", None);
    }
    let Some(run) = results.last("losing server") else { return };
    let ends = run["landed_after_return_ms"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ended = ends.iter().filter_map(serde_json::Value::as_f64).collect::<Vec<_>>();
    // What was handed in while it was away, and not what went on working.
    let waited = &ended[..ended.len() / 2];
    let last = waited.iter().copied().fold(0.0, f64::max);
    let away = run["away_s"].as_u64().unwrap_or(0);
    let what = format!("server away {away} s, until what waited has landed");
    table.add(&what, &[last], "ms", "", None);
    let said = table.figures("losing server", "/said_after_ms");
    table.add(&format!("server away {away} s, a command says so after"), &said, "ms", "", None);
    let errors = table.figures("losing server", "/errors");
    let what = format!("server away {away} s, tasks lost or agents ended");
    table.add(&what, &errors, "", "none", Some(Bound::AtMost(0.0)));
}

fn scale(table: &mut Table<'_>, results: &Results) {
    let Some(run) = results.last("scale") else { return };
    let size = |of: &str| {
        let team = &run[of];
        format!("core, {} hosts and {} teammates", team["hosts"], team["teammates"])
    };
    for of in ["small", "large"] {
        let rate = table.figures("scale", &format!("/{of}/decisions_per_s"));
        table.add(&format!("{}, decisions", size(of)), &rate, "a second", "", None);
        for (what, at) in [("claim", "claim the next task"), ("start", "start a teammate")] {
            let figures = table.figures("scale", &format!("/{of}/decision_us/{at}/p50"));
            table.add(&format!("{}, a {what}, p50", size(of)), &figures, "µs", "", None);
        }
        let looks = table.figures("scale", &format!("/{of}/looks_us/p50"));
        table.add(&format!("{}, what is owed, p50", size(of)), &looks, "µs", "", None);
    }
    let memory = table.figures("scale", "/rss_mib");
    table.add(&format!("{}, memory", size("large")), &memory, "MiB", "", None);
}

fn idle(table: &mut Table<'_>) {
    for (index, called) in ["the home", "a second host", "a third host"].into_iter().enumerate() {
        let cpu = table.figures("idle", &format!("/coordinators/{index}/cpu_ms"));
        table.add(&format!("idle, {called}, processor time"), &cpu, "ms", "", None);
        let at = format!("/coordinators/{index}/context_switches");
        let switches = table.figures("idle", &at);
        table.add(&format!("idle, {called}, context switches"), &switches, "", "", None);
    }
    let cpu = table.figures("idle", "/server/cpu_ms");
    table.add("idle, the server, processor time", &cpu, "ms", "", None);
    let switches = table.figures("idle", "/server/context_switches");
    table.add("idle, the server, context switches", &switches, "", "", None);
}
