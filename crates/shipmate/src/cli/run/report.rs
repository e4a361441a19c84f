//! What a run came to, when it is over: in a few lines for a person, as JSON for a program.
//!
//! The first line is the verdict. Then comes what was not done and why, then figures, and last
//! what to do next, where the eye is when the prompt comes back. Lists are cut: the rest is one
//! command away.

use serde::Serialize;
use shipmate_model::status::PhaseState;
use shipmate_model::usage::Usage;

use super::phases::PhaseLine;
use crate::cli::screen::{Paint, Screen, counted, cut, plain};
use crate::money::used;
use crate::time::about;

const LISTED_MAX: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Every task is completed.
    Complete,
    /// Some are, and nothing more can be done without a person.
    Partial,
    /// None is.
    Failed,
    /// Somebody ended the run before it was over.
    Stopped,
    /// Only a person can let it go on, and none was there: the team is paused.
    Waits,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) outcome: Outcome,
    pub(crate) title: String,
    pub(crate) team: String,
    pub(crate) tasks: TaskTally,
    pub(crate) commits: Vec<Commit>,
    /// What the lead says about it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<String>,
    /// Why the lead made no plan that holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) no_plan: Option<String>,
    /// What waits for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<OpenDecision>,
    /// What went otherwise than planned.
    pub(crate) deviations: Vec<String>,
    pub(crate) gates: GateTally,
    /// The phases of its playbook, as they ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) phases: Vec<PhaseLine>,
    pub(crate) took_ms: u64,
    /// The longest path through the plan, as it really took.
    pub(crate) critical_path_ms: u64,
    /// No team of this size could have been faster.
    pub(crate) bound_ms: u64,
    pub(crate) teammates: Vec<TeammateTally>,
    pub(crate) spent: Spent,
    pub(crate) places: Places,
    /// How it stands with its playbook.
    #[serde(skip)]
    pub(crate) course: Standing,
    /// What a command about this team begins with, such as `shipmate --team two`.
    #[serde(skip)]
    pub(crate) own: String,
    /// The last lines of a gate that is red where the team began.
    #[serde(skip)]
    pub(crate) gate_output: String,
    /// What the runtime says to do where it has stopped the team.
    #[serde(skip)]
    pub(crate) to_do: Vec<String>,
}

/// Something that waits for a person, and the command that decides it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct OpenDecision {
    pub(crate) what: String,
    pub(crate) command: String,
}

/// A command that goes on from here.
#[derive(Debug, Serialize)]
pub(crate) struct NextStep {
    pub(crate) command: String,
    pub(crate) why: String,
}

/// What agents have used, as far as they say so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost_micros: u64,
    /// Of the tokens, those whose price is not known.
    pub(crate) tokens_unpriced: u64,
}

impl Spent {
    /// Takes in the usage of one record.
    pub(crate) fn add(&mut self, usage: &Usage) {
        let tokens = usage.tokens();
        self.tokens = self.tokens.saturating_add(tokens);
        self.cost_micros = self.cost_micros.saturating_add(usage.cost_micros);
        if usage.cost_micros == 0 {
            self.tokens_unpriced = self.tokens_unpriced.saturating_add(tokens);
        }
    }

    fn text(&self) -> String {
        match self {
            Spent { tokens: 0, cost_micros: 0, .. } => String::new(),
            Spent { tokens, cost_micros, tokens_unpriced } => {
                used(*tokens, *cost_micros, *tokens_unpriced)
            }
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has none, or is in the middle of it.
    #[default]
    Open,
    /// It waits for files that are to come onto this branch.
    WaitsOn(String),
    /// It is through, or has stopped: nobody tries a task again.
    Over,
    /// The team was deleted; what it did is on its branch.
    Gone,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct TaskTally {
    pub(crate) total: usize,
    pub(crate) completed: usize,
    pub(crate) not_done: Vec<NotDone>,
}

/// A task that is not completed, and the fact that stands in the way.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NotDone {
    pub(crate) id: u32,
    pub(crate) subject: String,
    /// `pending`, `in_progress` or `failed`.
    pub(crate) status: String,
    pub(crate) why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Commit {
    pub(crate) task: u32,
    pub(crate) hash: String,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct GateTally {
    pub(crate) runs: usize,
    pub(crate) green: usize,
    pub(crate) red: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct TeammateTally {
    pub(crate) name: String,
    pub(crate) tasks_done: usize,
    pub(crate) busy_ms: u64,
    /// Lives that it needed beyond the first.
    pub(crate) restarts: u32,
}

/// Where things are.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Places {
    /// The branch that holds the merged work.
    pub(crate) branch: Option<String>,
    /// The branch that it would go to.
    pub(crate) base: Option<String>,
    /// Folder with the agents' output.
    pub(crate) output: Option<String>,
    /// Summary files that were written.
    pub(crate) summaries: Vec<String>,
}

impl Report {
    pub(crate) fn text(&self, screen: &Screen) -> String {
        let mut lines = Vec::new();
        for (head, words) in
            [("the lead reports", &self.report), ("there is no plan", &self.no_plan)]
        {
            let Some(words) = words else { continue };
            lines.extend(screen.quote(head, words).lines().map(str::to_owned));
        }
        lines.push(self.verdict(screen));
        let not_done = self.tasks.not_done.iter().map(|task| {
            format!("task {} {}: {} ({})", task.id, task.status, task.why, task.subject)
        });
        section(&mut lines, "not done", not_done, &format!("{} task list", self.own), screen);
        let waiting = self.waiting.iter().map(|asked| asked.what.clone());
        section(&mut lines, "waits for you", waiting, &format!("{} status", self.own), screen);
        let output = self.gate_output.lines().map(str::to_owned).collect::<Vec<_>>();
        section(&mut lines, "the gate printed", output.into_iter(), "", screen);
        section(&mut lines, "to go on", self.to_do.iter().cloned(), "", screen);
        let deviations = self.deviations.iter().cloned();
        section(&mut lines, "deviations", deviations, "--json shows all", screen);
        let mut fact = |label: &str, text: String| {
            if !text.is_empty() {
                lines.push(fitted(format!("{label:<10} {}", plain(&text)), screen));
            }
        };
        fact("merged", self.merged());
        fact("gate", self.gate());
        fact("time", self.time());
        fact("teammates", self.who());
        fact("used", self.spent.text());
        fact("output", self.places.output.clone().unwrap_or_default());
        fact("summaries", self.places.summaries.join(", "));
        for (index, NextStep { command, why }) in self.next().into_iter().enumerate() {
            let label = if index == 0 { "next" } else { "" };
            lines.push(fitted(format!("{label:<10} {command:<28} {why}"), screen));
        }
        lines.join("\n") + "\n"
    }

    /// The verdict in a few words, for a notice.
    pub(crate) fn in_short(&self) -> String {
        let (tasks, team) = (&self.tasks, &self.team);
        format!("team {team}: {}, {} of {} tasks", self.word().0, tasks.completed, tasks.total)
    }

    fn word(&self) -> (&'static str, Paint) {
        match self.outcome {
            Outcome::Complete => ("done", Paint::Good),
            Outcome::Partial => ("not all done", Paint::Busy),
            Outcome::Failed => ("nothing done", Paint::Bad),
            Outcome::Stopped => ("stopped", Paint::Busy),
            Outcome::Waits => ("waits for you", Paint::Busy),
        }
    }

    fn verdict(&self, screen: &Screen) -> String {
        let (word, paint) = self.word();
        let text = format!(
            ": {} of {} tasks{} in {} ({}, team {})",
            self.tasks.completed,
            self.tasks.total,
            self.not_through(),
            about(self.took_ms),
            plain(&self.title),
            plain(&self.team)
        );
        let room = screen.width.map_or(usize::MAX, |width| width.saturating_sub(word.len()));
        format!("{}{}", screen.paint(paint, word), cut(&text, room))
    }

    /// What is missing where every task there is was done.
    fn not_through(&self) -> String {
        if self.outcome != Outcome::Partial || self.tasks.completed < self.tasks.total {
            return String::new();
        }
        match self.phases.iter().rev().find(|phase| phase.end == PhaseState::Failed) {
            Some(failed) => format!(", but phase {} failed,", failed.phase),
            None => ", but not all phases,".to_owned(),
        }
    }

    fn merged(&self) -> String {
        let commits = counted(self.commits.len(), "commit");
        match &self.places.branch {
            _ if self.commits.is_empty() => String::new(),
            Some(branch) => format!("{commits} on {branch}"),
            None => commits,
        }
    }

    fn gate(&self) -> String {
        let GateTally { runs, green, red } = self.gates;
        match runs {
            0 => String::new(),
            _ => format!("{}, {green} green, {red} red", counted(runs, "run")),
        }
    }

    /// How long it took; beside it, where all is done, what no team could have beaten.
    fn time(&self) -> String {
        let [took, path, bound] = [self.took_ms, self.critical_path_ms, self.bound_ms].map(about);
        let is_known = self.critical_path_ms > 0 && self.bound_ms > 0;
        if !is_known || self.tasks.completed < self.tasks.total {
            return took;
        }
        let team = counted(self.teammates.len(), "teammate");
        format!("{took} (critical path {path}; best possible with {team} {bound})")
    }

    fn who(&self) -> String {
        let mates = self.teammates.iter().take(LISTED_MAX).map(|mate| {
            let restarts = match mate.restarts {
                0 => String::new(),
                1 => ", restarted once".to_owned(),
                count => format!(", restarted {count} times"),
            };
            format!("{} {} ({}{restarts})", mate.name, mate.tasks_done, about(mate.busy_ms))
        });
        let mut text = mates.collect::<Vec<_>>().join(", ");
        if self.teammates.len() > LISTED_MAX {
            text.push_str(&format!(" and {} more", self.teammates.len() - LISTED_MAX));
        }
        text
    }

    /// Commands that go on from here, the likeliest first.
    pub(crate) fn next(&self) -> Vec<NextStep> {
        let mut next = Vec::new();
        let own = &self.own;
        let mut add =
            |command: String, why: &str| next.push(NextStep { command, why: why.to_owned() });
        let base = self.places.base.as_deref().unwrap_or("your branch");
        let bring = format!("bring the work to {base}");
        if self.course == Standing::Gone {
            if !self.commits.is_empty() {
                add(format!("git merge shipmate/{}", self.team), &bring);
            }
            return next;
        }
        for asked in &self.waiting {
            add(asked.command.clone(), "");
        }
        let failed = self.tasks.not_done.iter().find(|task| task.status == "failed");
        if let Some(task) = failed {
            add(format!("{own} task show {}", task.id), "what is known about its failure");
        }
        if let Some(task) = failed.filter(|_| self.course != Standing::Over) {
            add(format!("{own} task retry {}", task.id), "let a teammate try again");
        }
        let is_open = self.course == Standing::Open && self.outcome != Outcome::Complete;
        if is_open && !self.waiting.iter().any(|asked| asked.command == format!("{own} resume")) {
            add(format!("{own} resume"), "then: go on with what is not done");
        }
        if !self.commits.is_empty() {
            add(format!("{own} merge"), &bring);
        }
        if let Standing::WaitsOn(branch) = &self.course {
            let why = "bring what is missing, once it is committed: the team goes on by itself";
            add(format!("git push . HEAD:{branch}"), why);
        }
        if self.course == Standing::Over && self.outcome != Outcome::Complete {
            // A branch without work that landed holds what the playbook wrote, and no merge is named.
            let branch = match self.commits.is_empty() {
                true => format!("`git branch -D shipmate/{}` and ", self.team),
                false => String::new(),
            };
            let why = format!(
                "then {branch}run the playbook again: it begins with what is in your branch"
            );
            add(format!("shipmate team delete {}", self.team), &why);
        }
        add(format!("{own} log"), "what happened");
        next
    }
}

fn fitted(line: String, screen: &Screen) -> String {
    match screen.width {
        Some(width) => cut(&line, width).into_owned(),
        None => line,
    }
}

fn section(
    lines: &mut Vec<String>,
    title: &str,
    entries: impl ExactSizeIterator<Item = String>,
    more: &str,
    screen: &Screen,
) {
    let count = entries.len();
    if count == 0 {
        return;
    }
    lines.push(title.to_owned());
    let entries = entries.take(LISTED_MAX);
    lines.extend(entries.map(|entry| fitted(format!("  {}", plain(&entry)), screen)));
    if count > LISTED_MAX {
        lines.push(format!("  and {} more: {more}", count - LISTED_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mate(name: &str, tasks_done: usize, restarts: u32) -> TeammateTally {
        TeammateTally { name: name.to_owned(), tasks_done, busy_ms: 200_000, restarts }
    }

    fn report() -> Report {
        Report {
            outcome: Outcome::Complete,
            title: "Add search".to_owned(),
            team: "search".to_owned(),
            tasks: TaskTally { total: 2, completed: 2, not_done: Vec::new() },
            commits: [1, 2].map(|task| Commit { task, hash: "1f3a9c0".to_owned() }).into(),
            report: None,
            no_plan: None,
            waiting: Vec::new(),
            deviations: Vec::new(),
            phases: Vec::new(),
            course: Standing::Open,
            own: "shipmate".to_owned(),
            gate_output: String::new(),
            to_do: Vec::new(),
            spent: Spent { tokens: 48_200, cost_micros: 536_000, tokens_unpriced: 0 },
            gates: GateTally { runs: 3, green: 2, red: 1 },
            took_ms: 252_000,
            critical_path_ms: 220_000,
            bound_ms: 230_000,
            teammates: vec![mate("ana", 1, 0), mate("bo", 1, 1)],
            places: Places {
                branch: Some("shipmate/search".to_owned()),
                base: Some("main".to_owned()),
                output: Some(".shipmate/output".to_owned()),
                summaries: vec!["03-01.summary.jsonl".to_owned()],
            },
        }
    }

    fn not_done(id: u32, status: &str, why: &str) -> NotDone {
        let (status, why) = (status.to_owned(), why.to_owned());
        NotDone { id, subject: "Write\x1b it".to_owned(), status, why }
    }

    fn partial() -> Report {
        let not_done = vec![
            not_done(2, "failed", "the gate was red 3 times: cargo test"),
            not_done(3, "pending", "blocked by 2, which failed"),
        ];
        Report {
            outcome: Outcome::Partial,
            tasks: TaskTally { total: 3, completed: 1, not_done },
            deviations: vec!["bo did not answer the shutdown within 30s".to_owned()],
            ..report()
        }
    }

    #[test]
    fn a_run_that_did_everything_is_told_in_ten_lines() {
        let text = report().text(&Screen::of_width(Some(100)));
        assert_eq!(
            text,
            "\
done: 2 of 2 tasks in 4m12s (Add search, team search)
merged     2 commits on shipmate/search
gate       3 runs, 2 green, 1 red
time       4m12s (critical path 3m40s; best possible with 2 teammates 3m50s)
teammates  ana 1 (3m20s), bo 1 (3m20s, restarted once)
used       48.2k tokens, $0.54
output     .shipmate/output
summaries  03-01.summary.jsonl
next       shipmate merge               bring the work to main
           shipmate log                 what happened
"
        );
        assert!(text.lines().count() <= 10);
    }

    #[test]
    fn what_was_not_done_comes_with_its_reason_and_what_to_do() {
        let report = Report {
            commits: Vec::new(),
            phases: Vec::new(),
            course: Standing::Open,
            gates: GateTally::default(),
            teammates: Vec::new(),
            critical_path_ms: 0,
            places: Places::default(),
            spent: Spent::default(),
            ..partial()
        };
        assert_eq!(
            report.text(&Screen::of_width(None)),
            "\
not all done: 1 of 3 tasks in 4m12s (Add search, team search)
not done
  task 2 failed: the gate was red 3 times: cargo test (Write\\x1b it)
  task 3 pending: blocked by 2, which failed (Write\\x1b it)
deviations
  bo did not answer the shutdown within 30s
time       4m12s
next       shipmate task show 2         what is known about its failure
           shipmate task retry 2        let a teammate try again
           shipmate resume              then: go on with what is not done
           shipmate log                 what happened
"
        );
    }

    #[test]
    fn what_waits_for_a_person_comes_with_the_command_that_decides_it() {
        let asked = OpenDecision {
            what: "question 65: Which one?".to_owned(),
            command: "shipmate --team search answer 65 JWT".to_owned(),
        };
        let report = Report {
            outcome: Outcome::Waits,
            waiting: vec![asked],
            own: "shipmate --team search".to_owned(),
            ..partial()
        };
        let text = report.text(&Screen::of_width(None));
        assert!(text.starts_with("waits for you: 1 of 3 tasks in "), "{text}");
        assert!(text.contains("waits for you\n  question 65: Which one?\n"), "{text}");
        let (_, next) = text.split_once("next       ").unwrap();
        assert!(next.starts_with("shipmate --team search answer 65 JWT"), "{next}");
        assert!(next.contains("shipmate --team search resume "), "{next}");
        assert!(next.contains("shipmate --team search merge "), "{next}");
    }

    #[test]
    fn a_price_that_is_not_known_is_not_called_nothing() {
        let mut spent = Spent::default();
        assert_eq!(spent.text(), "");
        spent.add(&Usage { tokens_in: 11_000, tokens_out: 520, ..Usage::default() });
        assert_eq!(spent.text(), "11.5k tokens, price unknown");
        spent.add(&Usage { tokens_in: 100, cost_micros: 4_000, ..Usage::default() });
        assert_eq!(spent.text(), "11.6k tokens, $0.004 + unknown");
    }

    #[test]
    fn long_lists_are_cut_and_lines_fit_the_terminal() {
        let mut report = partial();
        report.tasks.not_done =
            (0..30).map(|id| not_done(id, "pending", &"why ".repeat(50))).collect();
        report.title = "title ".repeat(40);
        let text = report.text(&Screen::of_width(Some(60)));
        assert!(text.contains("  and 22 more: shipmate task list\n"), "{text}");
        for line in text.lines() {
            assert!(crate::cli::screen::columns(line) <= 60, "{line}");
        }
    }

    #[test]
    fn a_program_gets_the_whole_report() {
        let report = Report { teammates: vec![mate("ana", 1, 0)], ..partial() };
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            concat!(
                r#"{"outcome":"partial","title":"Add search","team":"search","tasks":{"total":3,"#,
                r#""completed":1,"not_done":[{"id":2,"subject":"Write\u001b it","#,
                r#""status":"failed","why":"the gate was red 3 times: cargo test"},"#,
                r#"{"id":3,"subject":"Write\u001b it","status":"pending","#,
                r#""why":"blocked by 2, which failed"}]},"commits":[{"task":1,"hash":"1f3a9c0"},"#,
                r#"{"task":2,"hash":"1f3a9c0"}],"#,
                r#""deviations":["bo did not answer the shutdown within 30s"],"#,
                r#""gates":{"runs":3,"green":2,"red":1},"took_ms":252000,"#,
                r#""critical_path_ms":220000,"bound_ms":230000,"teammates":[{"name":"ana","#,
                r#""tasks_done":1,"busy_ms":200000,"restarts":0}],"#,
                r#""spent":{"tokens":48200,"cost_micros":536000,"tokens_unpriced":0},"#,
                r#""places":{"branch":"shipmate/search","base":"main","#,
                r#""output":".shipmate/output","summaries":["03-01.summary.jsonl"]}}"#
            )
        );
    }
}
