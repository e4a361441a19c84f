//! How far a run is in its playbook, folded from its records.
//!
//! The run is over when its first team has gone through its phases; departments below it are
//! told of, and do not end it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::account::text;
use super::progress::EventKind;

/// The phases of all teams of a run.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    root: Option<String>,
    teams: BTreeMap<String, Course>,
    pub(crate) ended: Vec<PhaseLine>,
}

#[derive(Debug, Default)]
struct Course {
    /// Names of its phases, in order.
    all: Vec<String>,
    /// Those of them in which the lead makes the tasks.
    led: Vec<String>,
    now: Option<String>,
    begun: bool,
    missing: Vec<String>,
    /// What was said about the phase that waits.
    waits: Option<String>,
    /// What is missing may come from outside.
    outside: bool,
    over: Option<bool>,
}

/// A phase that is over.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PhaseLine {
    pub(crate) team: String,
    pub(crate) phase: String,
    pub(crate) round: u64,
    /// `done`, `skipped`, `failed`, `passed` or `back`.
    pub(crate) end: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) why: String,
}

impl Phases {
    pub(crate) fn created(&mut self, fields: &Value) {
        let team = text(fields, "team").to_owned();
        self.root.get_or_insert_with(|| team.clone());
        let Some(playbook) = fields.pointer("/setup/playbook") else { return };
        let list = |key: &str| playbook.get(key).and_then(Value::as_array).into_iter().flatten();
        let has_departments = list("departments").next().is_some();
        let own = text(playbook, "department");
        let level = if own.is_empty() { "root" } else { "team" };
        let department = list("departments").find(|one| text(one, "name") == own);
        let without = department.and_then(|one| one.get("without")).and_then(Value::as_array);
        let is_left_out = |name: &str| {
            without.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
        };
        let goes_through = |phase: &&Value| {
            let at = phase.get("level").and_then(Value::as_str).unwrap_or("team");
            (!has_departments || at == level) && !is_left_out(text(phase, "name"))
        };
        let all = list("phases").filter(goes_through).map(|phase| text(phase, "name").to_owned());
        let led = list("phases").filter(|phase| phase["lead_plans"] == true);
        let led = led.map(|phase| text(phase, "name").to_owned()).collect();
        let course = Course { all: all.collect(), led, ..Course::default() };
        self.teams.insert(team, course);
    }

    /// What a person should hear of a record about a phase.
    pub(crate) fn take(&mut self, event: &str, fields: &Value) -> Option<(EventKind, String)> {
        let (team, phase) = (text(fields, "team").to_owned(), text(fields, "phase").to_owned());
        let is_root = self.root.as_ref() == Some(&team);
        let shown =
            if is_root { format!("phase {phase}") } else { format!("{team}: phase {phase}") };
        let course = self.teams.entry(team.clone()).or_default();
        match event {
            "phase.waits" => {
                let missing = fields.get("missing").and_then(Value::as_array).into_iter().flatten();
                course.missing = missing.filter_map(Value::as_str).map(str::to_owned).collect();
                course.outside = fields.get("outside").and_then(Value::as_bool) == Some(true);
                let told = match course.missing.as_slice() {
                    [] => format!("{shown} has what it waited for"),
                    missing => format!("{shown} waits: {}", missing.join("; ")),
                };
                course.waits = Some(told.clone()).filter(|_| !course.missing.is_empty());
                Some((EventKind::Health, told))
            }
            "phase.began" => {
                course.now = Some(phase);
                course.waits = None;
                course.begun = true;
                course.missing.clear();
                course.outside = false;
                let round = fields.get("round").and_then(Value::as_u64).unwrap_or(1);
                let again = if round > 1 { format!(", round {round}") } else { String::new() };
                let notes = fields.get("notes").and_then(Value::as_array).into_iter().flatten();
                let notes: String =
                    notes.filter_map(Value::as_str).map(|note| format!("\n  {note}")).collect();
                Some((EventKind::Step, format!("{shown} begins{again}{notes}")))
            }
            // Before any phase has begun nothing fell back: it is work for one from the start.
            "phase.left_to_lead" if !course.begun => {
                let told = format!("one agent does it all: {}", text(fields, "reason"));
                Some((EventKind::Step, told))
            }
            "phase.left_to_lead" => {
                let told = format!("{shown} is left to the lead: {}", text(fields, "reason"));
                Some((EventKind::Fallback, told))
            }
            "phase.ended" => {
                let (end, detail) = fields.get("end")?.as_object()?.iter().next()?;
                let why = [text(detail, "reason"), text(detail, "note")].concat();
                course.now = None;
                course.waits = None;
                let is_last = course.all.last() == Some(&phase);
                match end.as_str() {
                    "failed" => course.over = Some(false),
                    "done" | "skipped" | "passed" if is_last => course.over = Some(true),
                    _ => {}
                }
                let round = fields.get("round").and_then(Value::as_u64).unwrap_or(1);
                let line = PhaseLine { team, phase, round, end: end.clone(), why: why.clone() };
                self.ended.push(line);
                let reason = if why.is_empty() { why } else { format!(": {why}") };
                let (kind, word) = match end.as_str() {
                    "done" => (EventKind::Step, "is done"),
                    "skipped" => (EventKind::Step, "is left out"),
                    "back" => (EventKind::Health, "goes back"),
                    "passed" => (EventKind::Health, "failed, and the team goes on"),
                    _ => (EventKind::Health, "failed"),
                };
                Some((kind, format!("{shown} {word}{reason}")))
            }
            _ => None,
        }
    }

    pub(crate) fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    /// Whether the run has a playbook that is not over yet.
    pub(crate) fn are_open(&self) -> bool {
        self.root_course().is_some_and(|course| course.over.is_none())
    }

    /// The run went through its playbook (true) or stopped in it.
    pub(crate) fn over(&self) -> Option<bool> {
        self.root_course()?.over
    }

    /// Every phase that could go on waits for something.
    pub(crate) fn all_wait(&self) -> bool {
        let open = || self.teams.iter().filter(|(_, course)| course.over.is_none());
        let waits =
            |course: &Course| course.now.is_none() && !course.missing.is_empty() && !course.outside;
        // The team above the departments waits for them, in a phase of its own.
        let is_above = |team: &String| self.root.as_ref() == Some(team) && open().count() > 1;
        open().all(|(team, course)| waits(course) || is_above(team))
    }

    /// What phases still wait for.
    pub(crate) fn waits(&self) -> impl Iterator<Item = &String> {
        self.teams.values().filter_map(|course| course.waits.as_ref())
    }

    /// The run's team is in a phase whose tasks its lead makes.
    pub(crate) fn is_led(&self) -> bool {
        let course = self.root_course();
        course.is_some_and(|course| course.now.as_ref().is_some_and(|now| course.led.contains(now)))
    }

    /// The phase that the run's team is in, and what it waits for.
    pub(crate) fn now(&self) -> Option<String> {
        let course = self.root_course()?;
        let place = |name: &String| course.all.iter().position(|one| one == name).map(|at| at + 1);
        let now = course.now.as_ref()?;
        Some(format!("phase {now} ({}/{})", place(now)?, course.all.len()))
    }

    fn root_course(&self) -> Option<&Course> {
        self.teams.get(self.root.as_ref()?)
    }
}
