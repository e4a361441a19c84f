//! What `cargo xtask bench page` runs, and its table: what a person sees of a large board, and what
//! open pages cost.
//!
//! Times are those of the machine it runs on. The cost of pages is a ratio: the same changes with
//! and without them, in one run.

use serde_json::Value;

use super::results::Results;
use super::{Args, Planned, planned};

const HEAD: [&str; 3] = ["a board of", "what", "figure"];

pub(super) fn plan(args: &Args) -> Vec<Planned> {
    let sizes: &[(usize, usize)] =
        if args.quick { &[(500, 10)] } else { &[(1_000, 10), (10_000, 50)] };
    let changes = if args.quick { 100 } else { 500 };
    let run = |(tasks, teammates): &(usize, usize)| {
        let words =
            format!("page WORKSPACE --tasks {tasks} --teammates {teammates} --changes {changes}");
        planned(format!("page {tasks}"), &words)
    };
    sizes.iter().map(run).collect()
}

pub(super) fn rows(results: &Results) -> Vec<[String; 3]> {
    ["page 500", "page 1000", "page 10000"]
        .into_iter()
        .filter_map(|name| results.last(name))
        .flat_map(of_one)
        .collect()
}

fn of_one(run: &Value) -> Vec<[String; 3]> {
    let board = format!("{} tasks, {} teammates", run["tasks"], run["teammates"]);
    let number = |path: &str| run.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let ms = |path: &str| format!("{:.0} ms", number(path));
    let mut rows = vec![
        ("first paint", ms("/screen/first_paint_ms")),
        ("first task is shown", ms("/screen/first_task_ms")),
        (
            "event to pixel, p50 and longest",
            format!(
                "{}, {}",
                ms("/screen/event_to_pixel_ms/p50"),
                ms("/screen/event_to_pixel_ms/max")
            ),
        ),
        (
            "scrolling: frames, dropped, longest",
            format!(
                "{}, {}, {}",
                number("/screen/scrolling/frames"),
                number("/screen/scrolling/dropped"),
                ms("/screen/scrolling/longest_ms")
            ),
        ),
        (
            "memory of the tab: JavaScript, process",
            format!("{:.0} MiB, {:.0} MiB", number("/screen/heap_mib"), number("/screen/tab_mib")),
        ),
    ];
    let costs: Vec<&Value> = run["costs"].as_array().into_iter().flatten().collect();
    let cost = |at: usize, who: &str| costs.get(at).and_then(|cost| cost[who].as_f64());
    // Without pages is measured before and after, and the mean is what counts.
    if let (Some(first), Some(last)) = (cost(0, "coordinator_ms"), cost(3, "coordinator_ms")) {
        let none = (first + last) / 2.0;
        for at in [1, 2] {
            let (Some(with), Some(server)) = (cost(at, "coordinator_ms"), cost(at, "server_ms"))
            else {
                continue;
            };
            let what = match at {
                1 => "the coordinator's time with 1 page ÷ without",
                _ => "the coordinator's time with 20 pages ÷ without",
            };
            let changes = costs[at]["changes"].as_f64().unwrap_or(f64::NAN);
            rows.push((
                what,
                format!("{:.2} (server {:.1} ms a change)", with / none, server / (changes * 2.0)),
            ));
        }
    }
    rows.into_iter().map(|(what, figure)| [board.clone(), what.to_owned(), figure]).collect()
}

pub(super) fn plain(rows: &[[String; 3]]) -> String {
    let lines = rows.iter().map(|[board, what, figure]| format!("{board:<28} {what:<48} {figure}"));
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn markdown(rows: &[[String; 3]]) -> String {
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&HEAD) + "|---|---|---|\n";
    for row in rows {
        text.push_str(&line(&row.each_ref().map(String::as_str)));
    }
    text
}
