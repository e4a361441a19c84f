//! The table: what was measured, what was wanted, and whether it was reached.

use serde_json::{Value, json};

use super::results::{Results, Spread, ratios, spread};

/// A line of the table.
#[derive(Debug)]
pub(super) struct Row {
    what: String,
    figure: String,
    goal: String,
    met: Option<bool>,
}

impl Row {
    pub(super) fn json(&self) -> Value {
        let Row { what, figure, goal, met } = self;
        json!({ "what": what, "figure": figure, "goal": goal, "met": met })
    }

    fn met(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "",
        }
    }
}

/// Which side of a bound is good.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

pub(super) struct Table<'a> {
    results: &'a Results,
    pub(super) rows: Vec<Row>,
}

pub(super) fn rows(results: &Results) -> Vec<Row> {
    let mut table = Table::new(results);
    table.drains();
    table.messages();
    table.lists();
    table.growth();
    table.openings();
    table.idle();
    table.kills();
    table.floods();
    table.rows
}

impl<'a> Table<'a> {
    pub(super) fn new(results: &'a Results) -> Table<'a> {
        Table { results, rows: Vec::new() }
    }

    pub(super) fn figures(&self, name: &str, at: &str) -> Vec<f64> {
        self.results.figures(name, at)
    }

    /// Figures as they are, in a unit, against a bound on their median.
    pub(super) fn add(
        &mut self,
        what: &str,
        figures: &[f64],
        unit: &str,
        goal: &str,
        bound: Option<Bound>,
    ) {
        let Some(found) = spread(figures) else { return };
        let met = bound.map(|bound| match bound {
            Bound::AtLeast(least) => found.median >= least,
            Bound::AtMost(most) => found.median <= most,
        });
        let (what, goal) = (what.to_owned(), goal.to_owned());
        self.rows.push(Row { what, figure: shown(found, unit), goal, met });
    }

    fn drains(&mut self) {
        self.add("one fdatasync, p50", &self.figures("sync", "/fdatasync_us/p50"), "µs", "", None);
        for size in ["W1 1k", "W1 10k", "W3"] {
            for board in ["files", "reference", "reference synced", "process", "power"] {
                let figures = self.figures(&format!("{size} {board}"), "/tasks_per_s");
                self.add(&format!("{size}, {}", board_name(board)), &figures, "tasks/s", "", None);
            }
        }
        for form in ["literal", "spread"] {
            let figures = self.figures(&format!("W1 1k files {form}"), "/tasks_per_s");
            self.add(&format!("W1 1k, files, {form}"), &figures, "tasks/s", "", None);
        }
        let combined = self.figures("W1 process combined", "/tasks_per_s");
        self.add("W1, process, complete and claim in one write", &combined, "tasks/s", "", None);

        let rate = |table: &Self, name: &str| table.figures(name, "/tasks_per_s");
        let files = rate(self, "W1 10k files");
        for (durability, least) in [("process", 20.0), ("power", 5.0)] {
            let ours = rate(self, &format!("W1 10k {durability}"));
            let what = format!("W1 10k, {durability} over files with a cursor");
            let goal = format!("≥ {least}×");
            self.add(&what, &ratios(&ours, &files), "×", &goal, Some(Bound::AtLeast(least)));
            let small = rate(self, &format!("W1 1k {durability}"));
            let what = format!("W1, {durability}, rate at 10k over rate at 1k");
            self.add(&what, &ratios(&ours, &small), "×", "≥ 0.8×", Some(Bound::AtLeast(0.8)));
        }
        for (durability, reference) in PAIRS {
            for size in ["W1 10k", "W3"] {
                let ours = rate(self, &format!("{size} {durability}"));
                let bound = rate(self, &format!("{size} {reference}"));
                let what = format!("{size}, {durability} over the {}", board_name(reference));
                let goal = (size == "W3").then_some(Bound::AtLeast(0.5));
                let text = if goal.is_some() { "≥ 0.5×" } else { "" };
                self.add(&what, &ratios(&ours, &bound), "×", text, goal);
            }
        }
        self.round_trips();
    }

    fn round_trips(&mut self) {
        for durability in ["process", "power"] {
            let name = format!("W1 10k {durability}");
            for (verb, at) in [("claim", "/claim_us"), ("complete", "/complete_us")] {
                let p50 = self.figures(&name, &format!("{at}/p50"));
                let what = format!("W1 10k, {durability}, {verb} round trip, p50");
                self.add(&what, &p50, "µs", "≤ 300 µs", Some(Bound::AtMost(300.0)));
                let p99 = self.figures(&name, &format!("{at}/p99"));
                let what = format!("W1 10k, {durability}, {verb} round trip, p99");
                self.add(&what, &p99, "µs", "≤ 5 ms", Some(Bound::AtMost(5000.0)));
            }
            for (who, at) in [("coordinator", "server"), ("workers", "workers")] {
                let figures = self.figures(&name, &format!("/{at}_cpu_us_per_task"));
                let what = format!("W1 10k, {durability}, processor time of the {who} per task");
                self.add(&what, &figures, "µs", "", None);
            }
        }
        let create = self.figures("W3 power", "/create_ms");
        let drain = self.figures("W3 power", "/drain_ms");
        let both: Vec<f64> = create.iter().zip(&drain).map(|(a, b)| a + b).collect();
        self.add("W3, power, load and drain", &both, "ms", "≤ 3 s", Some(Bound::AtMost(3000.0)));
    }

    fn messages(&mut self) {
        let sync = spread(&self.figures("sync", "/fdatasync_us/p50")).map_or(0.0, |s| s.median);
        for (durability, reference) in PAIRS {
            let (ours, bound) = (format!("W2 {durability}"), format!("W2 {reference}"));
            let p50 = self.figures(&ours, "/latency_us/p50");
            let least = self.figures(&bound, "/latency_us/p50");
            self.add(&format!("{ours}, to one, p50"), &p50, "µs", "", None);
            self.add(&format!("{bound}, to one, p50"), &least, "µs", "", None);
            let what = format!("{ours} over the {}, p50", board_name(reference));
            self.add(&what, &ratios(&p50, &least), "×", "≤ 2×", Some(Bound::AtMost(2.0)));
            let p99 = self.figures(&ours, "/latency_us/p99");
            let what = format!("{ours}, to one, p99");
            self.add(&what, &p99, "µs", "≤ 10 ms", Some(Bound::AtMost(10_000.0)));
            let send = self.figures(&ours, "/send_us/p50");
            self.add(&format!("{ours}, send call, p50"), &send, "µs", "", None);
            let last = self.figures(&ours, "/broadcast_last_us/p50");
            let synced = if durability == "power" { sync } else { 0.0 };
            let beyond: Vec<f64> = last.iter().map(|last| last - synced).collect();
            let what = format!("{ours}, to 50, last receiver beyond one sync, p50");
            self.add(&what, &beyond, "µs", "≤ 2 ms", Some(Bound::AtMost(2000.0)));
            let least = self.figures(&bound, "/broadcast_last_us/p50");
            self.add(&format!("{bound}, to 50, last receiver, p50"), &least, "µs", "", None);
        }
    }

    fn lists(&mut self) {
        for board in ["graph", "flat"] {
            let name = format!("W4 {board}");
            let mut warm = |what: &str, at: &str, goal: &str, bound: Option<Bound>| {
                let figures = self.figures(&name, at);
                self.add(&format!("{name}, {what}, p50"), &figures, "µs", goal, bound);
            };
            let millisecond = Some(Bound::AtMost(1000.0));
            warm("all, warm", "/all_us/p50", "≤ 10 ms", Some(Bound::AtMost(10_000.0)));
            warm("a page of 20 available, warm", "/available_page_us/p50", "≤ 1 ms", millisecond);
            match board {
                "graph" => {
                    warm("all 100 available, warm", "/available_us/p50", "≤ 1 ms", millisecond);
                }
                _ => warm("all available, warm", "/available_us/p50", "", None),
            }
            let cold = Some(Bound::AtMost(30_000.0));
            warm("`task list`, whole process", "/cli_table_us/p50", "≤ 30 ms", cold);
            warm("`task list --json`, whole process", "/cli_json_us/p50", "≤ 30 ms", cold);
        }
    }

    fn growth(&mut self) {
        let Some(run) = self.results.last("growth") else { return };
        let points = run["points"].as_array().cloned().unwrap_or_default();
        for verb in ["claim", "complete", "send"] {
            let at = format!("/{verb}_us/p50");
            let p50 = |point: &Value| point.pointer(&at).and_then(Value::as_f64);
            let figures: Vec<f64> = points.iter().filter_map(p50).collect();
            let (Some(first), Some(last)) = (figures.first(), figures.last()) else { continue };
            let sizes: Vec<String> =
                points.iter().map(|point| point["tasks"].to_string()).collect();
            let told: Vec<String> = figures.iter().map(|figure| number(*figure)).collect();
            self.rows.push(Row {
                what: format!("growth, {verb} p50 at {} tasks", sizes.join(", ")),
                figure: format!("{} µs", told.join(", ")),
                goal: "flat: last ≤ 1.5 × first".to_owned(),
                met: Some(*last <= 1.5 * first),
            });
        }
    }

    fn openings(&mut self) {
        for (name, goal, most) in [("open 100k", "≤ 300 ms", 300.0), ("open 1M", "< 500 ms", 500.0)]
        {
            let Some(run) = self.results.last(name) else { continue };
            let (tasks, records) = (run["tasks"].clone(), run["records"].clone());
            for (after, at) in [
                ("an orderly end", "/first_answer_after_end_ms"),
                ("a kill", "/first_answer_after_kill_ms"),
            ] {
                let what = format!(
                    "start to first answer, {tasks} tasks in {records} records, after {after}"
                );
                let figures = self.figures(name, at);
                self.add(&what, &figures, "ms", goal, Some(Bound::AtMost(most)));
            }
        }
    }

    fn idle(&mut self) {
        let Some(run) = self.results.last("idle") else { return };
        let what = format!("idle, {} tasks, {} waiting", run["tasks"], run["waiters"]);
        let seconds = run["seconds"].as_f64().unwrap_or(1.0);
        let cpu = self.figures("idle", "/cpu_ms");
        let share: Vec<f64> = cpu.iter().map(|ms| ms / seconds / 10.0).collect();
        let switches = self.figures("idle", "/context_switches");
        let rss = self.figures("idle", "/rss_mib");
        let none = Some(Bound::AtMost(0.01));
        self.add(&format!("{what}, processor"), &share, "%", "none", none);
        let few = Some(Bound::AtMost(2.0));
        self.add(&format!("{what}, context switches"), &switches, "", "none", few);
        self.add(&format!("{what}, memory"), &rss, "MiB", "< 30 MiB", Some(Bound::AtMost(30.0)));
    }

    fn kills(&mut self) {
        for name in ["kills process", "kills power", "kills graph"] {
            let Some(run) = self.results.last(name) else { continue };
            let faults =
                ["double_claims", "missing", "lost_acknowledged", "early_claims", "errors"];
            let wrong: u64 = faults.iter().filter_map(|fault| run[*fault].as_u64()).sum();
            self.rows.push(Row {
                what: format!("{name}: {} × kill -9 of the coordinator in a drain", run["kills"]),
                figure: format!(
                    "{wrong} faults in {} records, longest stall {} ms",
                    run["records"], run["longest_stall_ms"]
                ),
                goal: "0 faults".to_owned(),
                met: Some(wrong == 0),
            });
        }
    }

    fn floods(&mut self) {
        let ms = |us: Vec<f64>| us.into_iter().map(|us| us / 1000.0).collect::<Vec<_>>();
        for kind in FLOODS {
            let name = format!("flood {kind}");
            let (memory, quiet, asked) = (
                self.figures(&name, "/memory_mb"),
                ms(self.figures(&name, "/quiet_us/max")),
                ms(self.figures(&name, "/asked_us/max")),
            );
            self.add(&format!("{name}, nobody floods: longest answer"), &quiet, "ms", "", None);
            let longest = format!("{name}: longest answer to somebody else");
            self.add(&longest, &asked, "ms", "≤ 150 ms", Some(Bound::AtMost(150.0)));
            let most = Some(Bound::AtMost(100.0));
            self.add(
                &format!("{name}: memory of the coordinator"),
                &memory,
                "MB",
                "≤ 100 MB",
                most,
            );
        }
    }
}

/// What one client does to the others.
pub(super) const FLOODS: [&str; 5] = ["half-lines", "braces", "unread", "followers", "silent"];

/// A durability and the reference that keeps as much.
const PAIRS: [(&str, &str); 2] = [("process", "reference"), ("power", "reference synced")];

fn board_name(board: &str) -> &'static str {
    match board {
        "files" => "files with a cursor",
        "reference" => "reference in memory",
        "reference synced" => "reference, synced",
        "process" => "shipmate, process",
        _ => "shipmate, power",
    }
}

fn shown(found: Spread, unit: &str) -> String {
    let range = match found.low == found.high {
        true => String::new(),
        false => format!(" ({}–{})", number(found.low), number(found.high)),
    };
    format!("{} {unit}{range}", number(found.median)).replace("  ", " ").trim().to_owned()
}

/// Three digits that count, and separators where there are more.
fn number(figure: f64) -> String {
    match figure.abs() {
        size if size >= 1000.0 => {
            let digits = format!("{figure:.0}");
            let (rest, last) = digits.split_at(digits.len() - 3);
            match rest.len() {
                ..=3 => format!("{rest},{last}"),
                n => format!("{},{},{last}", &rest[..n - 3], &rest[n - 3..]),
            }
        }
        size if size >= 100.0 || size == 0.0 => format!("{figure:.0}"),
        size if size >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

pub(super) fn plain(rows: &[Row]) -> String {
    let wide = |cell: fn(&Row) -> &str| {
        rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0)
    };
    let (what, figure, goal) =
        (wide(|row| &row.what), wide(|row| &row.figure), wide(|row| &row.goal));
    let line = |row: &Row| {
        let line = format!(
            "{:what$}  {:figure$}  {:goal$}  {}",
            row.what,
            row.figure,
            row.goal,
            row.met()
        );
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(super) fn markdown(rows: &[Row]) -> String {
    let mut lines = vec!["| what | measured | goal | |".to_owned(), "|---|---|---|---|".to_owned()];
    lines
        .extend(rows.iter().map(|row| {
            format!("| {} | {} | {} | {} |", row.what, row.figure, row.goal, row.met())
        }));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_show_what_counts() {
        let table =
            [(0.0, "0"), (1.234, "1.23"), (12.34, "12.3"), (999.0, "999"), (12345.6, "12,346")];
        for (figure, text) in table {
            assert_eq!(number(figure), text);
        }
        assert_eq!(number(1_234_567.0), "1,234,567");
    }

    #[test]
    fn a_goal_is_held_against_the_median_of_ratios_within_rounds() {
        let mut results = Results::default();
        for (files, ours) in [(100.0, 600.0), (10.0, 40.0), (100.0, 700.0)] {
            results.add("W1 10k files", Ok(json!({ "tasks_per_s": files })));
            results.add("W1 10k power", Ok(json!({ "tasks_per_s": ours })));
        }
        let rows = rows(&results);
        let row = rows.iter().find(|row| row.what.contains("power over files")).unwrap();
        assert_eq!((row.figure.as_str(), row.met), ("6.00 × (4.00–7.00)", Some(true)));
        assert!(markdown(&rows).contains("| ≥ 5× | met |"), "{}", markdown(&rows));
    }

    #[test]
    fn a_fault_after_a_kill_is_no_goal_met() {
        let mut results = Results::default();
        results.add("kills power", Ok(json!({ "kills": 5, "missing": 1 })));
        let rows = rows(&results);
        assert_eq!(rows[0].met, Some(false));
        assert!(plain(&rows).ends_with("NOT MET"), "{}", plain(&rows));
    }
}
