//! Whether the parts of a playbook fit together: everything that names something else names
//! something that is there, can be reached, and comes in time.
//!
//! It looks at the file as it is written, so that a name is shown as its writer knows it.

mod commands;
mod order;
#[cfg(test)]
mod tests;
pub mod texts;

use std::collections::{BTreeMap, BTreeSet};

use shipmate_protocol::Mode;
use shipmate_protocol::plan_file::bad_name;
use shipmate_protocol::problem::{listed, nearest, quoted};
use shipmate_protocol::tools::{self, Seat, SeatKind};

use super::file::{Back, Condition, File, OrText, Phase, Task};
use super::formats::FORMATS;
use super::lines::{Page, Path, way};
use super::work;

/// Kinds of messages that need no description.
const PLAIN_KINDS: [&str; 2] = ["message", "broadcast"];
/// Whoever is above all roles.
const PERSON: &str = "person";

/// `here`: the workspace in which its commands have to be found, where that matters.
pub fn check(file: &File, page: &Page<'_>, here: Option<&std::path::Path>) {
    let check = Check {
        file,
        page,
        roles: file.roles.keys().map(String::as_str).collect(),
        phases: file.phases.iter().map(|phase| phase.name.as_str()).collect(),
        departments: file.departments.iter().map(|own| own.name.as_str()).collect(),
        gates: file.gates.keys().map(String::as_str).collect(),
        crossings: file.crossings.keys().map(String::as_str).collect(),
    };
    check.whole();
    check.roles();
    for (at, phase) in file.phases.iter().enumerate() {
        check.phase(at, phase);
    }
    check.departments();
    check.routes();
    check.others();
    order::check(&check);
    texts::check(&check);
    if let Some(workspace) = here {
        commands::check(&check, workspace);
    }
}

struct Check<'a, 't> {
    file: &'a File,
    page: &'a Page<'t>,
    roles: Vec<&'a str>,
    phases: Vec<&'a str>,
    departments: Vec<&'a str>,
    gates: Vec<&'a str>,
    crossings: Vec<&'a str>,
}

impl Check<'_, '_> {
    fn add(&self, path: &Path, fact: String, remedy: impl Into<String>) {
        self.page.add(path, fact, remedy);
    }

    /// Whether something of this name is there; where it is not, it is told with what is.
    fn known(&self, path: &Path, what: &str, name: &str, known: &[&str]) -> bool {
        if known.contains(&name) || name.trim().is_empty() {
            return known.contains(&name);
        }
        let fact = format!("there is no {what} {}", quoted(name));
        let there: BTreeSet<&str> = known.iter().copied().filter(|name| !name.is_empty()).collect();
        let all = match there.is_empty() {
            true => format!("the playbook has no {what}s"),
            false => format!("the {what}s are {}", listed(there)),
        };
        let remedy = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {near:?}? {all}"),
            None => all,
        };
        self.add(path, fact, remedy);
        false
    }

    fn all_known(&self, path: &Path, what: &str, names: &[String], known: &[&str]) {
        for (at, name) in names.iter().enumerate() {
            self.known(&path.to(at), what, name, known);
        }
    }

    /// No two of a list have one name.
    fn distinct<'n>(
        &self,
        list: &Path,
        key: &str,
        what: &str,
        names: impl Iterator<Item = &'n str>,
    ) {
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
            let earlier = *first.entry(name).or_insert(at);
            if earlier != at {
                let line = self.page.line(&list.to(earlier).to(key));
                let fact = format!("{what} {name} is there already: line {line}");
                self.add(&list.to(at).to(key), fact, format!("give each {what} its own {key}"));
            }
        }
    }

    fn whole(&self) {
        if self.file.phases.is_empty() {
            let fact = "the playbook has no phases".to_owned();
            self.add(&way!["phases"], fact, "add [[phases]] with name = \"…\" below it");
        }
        let (file, name) = (self.page.name(), &self.file.name);
        if file.is_some_and(|file| file != name && bad_name(name).is_none()) {
            let file = file.unwrap_or_default();
            let fact = format!("the file is {file}.toml, and its name is {name:?}");
            self.add(&way!["name"], fact, format!("write name = {file:?}, or rename the file"));
        }
        self.distinct(&way!["phases"], "name", "phase", self.phases.iter().copied());
        let departments = self.departments.iter().copied();
        self.distinct(&way!["departments"], "name", "department", departments);
        let teams = self.file.departments.iter();
        let teams = teams.map(|own| own.team.as_deref().unwrap_or_default());
        self.distinct(&way!["departments"], "team", "team", teams);
    }

    fn roles(&self) {
        for (name, role) in &self.file.roles {
            let at = way!["roles", name.as_str()];
            if let Some(to) = role.reports_to.as_deref().filter(|to| *to != PERSON) {
                self.known(&at.to("reports-to"), "role", to, &self.roles);
            }
            if role.one_shot && role.lead {
                let fact = format!("role {name} leads, and has a life for one task only");
                self.add(&at.to("one-shot"), fact, "take out lead or one-shot");
            }
            if role.lead && role.cap.is_some_and(|cap| cap > 1) {
                let fact = format!("role {name} leads, and there may be {}", role.cap.unwrap_or(1));
                self.add(&at.to("cap"), fact, "take out cap: a team has one lead");
            }
            for (n, tool) in role.tools.iter().enumerate() {
                self.known(&at.to("tools").to(n), "tool", tool, &tools());
            }
            if let Some(gate) = &role.before_claim {
                self.known(&at.to("before-claim"), "gate", gate, &self.gates);
            }
            if let Some(when) = &role.plan_when {
                self.weighs(&at.to("plan-when"), when);
            }
            for (n, upgrade) in role.upgrades.iter().enumerate() {
                self.weighs(&at.to("upgrades").to(n).to("when"), &upgrade.when);
            }
        }
        let mut called: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        for (name, role) in &self.file.roles {
            let own = if role.called.is_empty() { name.as_str() } else { role.called.as_str() };
            let level = self.level(role.level.as_deref());
            if let Some(other) = called.insert((level, own), name) {
                let fact =
                    format!("members of {name} are called {}, as those of {other}", quoted(own));
                let remedy = "give each role its own called";
                self.add(&way!["roles", name.as_str(), "called"], fact, remedy);
            }
        }
        for level in ["team", "root"] {
            let lead = |(name, role): (&String, &super::file::Role)| {
                (role.lead && self.level(role.level.as_deref()) == level).then(|| name.clone())
            };
            let leads: Vec<String> = self.file.roles.iter().filter_map(lead).collect();
            for other in leads.iter().skip(1) {
                let fact = format!("role {other} leads, and role {} does already", leads[0]);
                let remedy = match self.departments.is_empty() {
                    true => "a team has one lead: take out lead = true of one of them",
                    false => "each level has one lead: give one of them another level",
                };
                self.add(&way!["roles", other.as_str(), "lead"], fact, remedy);
            }
        }
    }

    fn weighs(&self, at: &Path, when: &super::file::Weight) {
        let some = when.files_min.or(when.modules_min).is_some() || when.always || when.shared;
        let some = some || !when.having.is_empty();
        let torn = ["files-min", "modules-min", "touches", "words", "having", "shared", "always"];
        let torn = torn.iter().any(|key| self.page.is_torn(&at.to(*key)));
        for (n, field) in when.having.iter().enumerate() {
            self.field(&at.to("having").to(n), field);
        }
        if !torn && !some && when.touches.is_empty() && when.words.is_empty() {
            let fact = format!("{at} never holds: it names nothing");
            let remedy =
                "say files-min, modules-min, touches, words, having or shared, or always = true";
            self.add(at, fact, remedy);
        }
    }

    /// Where there are no departments there is one level.
    fn level<'l>(&self, level: Option<&'l str>) -> &'l str {
        if self.departments.is_empty() { "team" } else { level.unwrap_or("team") }
    }

    fn phase(&self, at: usize, phase: &Phase) {
        let here = way!["phases", at];
        self.all_known(&here.to("roles"), "role", &phase.roles, &self.roles);
        if let Some(gate) = &phase.gate {
            self.known(&here.to("gate"), "gate", gate, &self.gates);
        }
        for (key, list) in [
            ("entry", &phase.entry),
            ("unless", &phase.unless),
            ("makes", &phase.makes),
            ("exit", &phase.exit),
        ] {
            self.conditions(&here.to(key), list, Some((at, key)));
        }
        for (key, rule) in [("late", &phase.late), ("failed", &phase.failed)] {
            let Some(OrText::Long(rule)) = rule else { continue };
            let path = here.to(key).to("back");
            if !self.known(&path, "phase", &rule.back, &self.phases) {
                continue;
            }
            let to = self.phases.iter().position(|name| *name == rule.back);
            if to.is_some_and(|to| to > at) {
                let fact = format!("{key} goes back to {}, which comes later", rule.back);
                self.add(&path, fact, "name this phase or an earlier one");
            }
            self.same_level(&path, phase, &rule.back);
        }
        if phase.late.is_some() && phase.minutes.is_none() && phase.seconds.is_none() {
            let fact = "late says nothing: the phase has no time".to_owned();
            self.add(&here.to("late"), fact, "add minutes = …, or take it out");
        }
        if phase.lead_plans && !phase.tasks.is_empty() {
            let fact = format!("in phase {} the lead plans, and there are tasks", phase.name);
            self.add(&here.to("lead-plans"), fact, "take out lead-plans or [[phases.tasks]]");
        }
        if let Some(own) = &phase.deliberation {
            let here = here.to("deliberation");
            self.all_known(&here.to("by"), "role", &own.by, &self.roles);
            self.all_known(&here.to("critics"), "role", &own.critics, &self.roles);
            if let Some(judge) = &own.judge {
                self.known(&here.to("judge"), "role", judge, &self.roles);
            }
        }
        self.departments_work(&here, phase);
        self.called(&here, phase);
        self.distinct(&here.to("tasks"), "id", "task", phase.tasks.iter().map(|t| t.id.as_str()));
        for (n, task) in phase.tasks.iter().enumerate() {
            self.task(&here.to("tasks").to(n), phase, task);
        }
    }

    /// A team goes through the phases of its own level only.
    fn same_level(&self, path: &Path, phase: &Phase, other: &str) {
        let other = self.file.phases.iter().find(|phase| phase.name == other);
        let Some(other) = other else { return };
        let (own, level) = (self.level(phase.level.as_deref()), self.level(other.level.as_deref()));
        if own != level {
            let fact = format!("phase {} is of level {level}, and this is of {own}", other.name);
            self.add(path, fact, "name a phase of the same level");
        }
    }

    /// A phase on call is gone through only when another goes back to it.
    fn called(&self, here: &Path, phase: &Phase) {
        let goes_back = |rule: &Option<OrText<Back>>| match rule {
            Some(OrText::Long(rule)) => rule.back == phase.name,
            _ => false,
        };
        let others = self.file.phases.iter().filter(|other| other.name != phase.name);
        let mut others = others.flat_map(|other| [&other.late, &other.failed]);
        if phase.on_call && !others.any(goes_back) {
            let fact = format!("phase {} is on call, and no other goes back to it", phase.name);
            let remedy = format!("add failed = {{ back = {:?}, … }} to a later phase", phase.name);
            self.add(&here.to("on-call"), fact, remedy);
        }
    }

    fn departments_work(&self, here: &Path, phase: &Phase) {
        if !phase.departments {
            return;
        }
        if self.departments.is_empty() {
            let fact = format!("phase {} is for departments, and there are none", phase.name);
            self.add(&here.to("departments"), fact, "add [[departments]], or take it out");
        } else if self.level(phase.level.as_deref()) != "root" {
            let fact = format!("phase {} begins the departments, and is theirs", phase.name);
            self.add(&here.to("departments"), fact, "add level = \"root\"");
        }
    }

    fn task(&self, here: &Path, phase: &Phase, task: &Task) {
        if let Some(role) = &task.role {
            self.known(&here.to("role"), "role", role, &self.roles);
        }
        if task.role.is_some() && task.lead {
            let fact = format!("task {} is for the lead and for a role", task.id);
            self.add(&here.to("lead"), fact, "keep one of lead and role");
        }
        if let Some(gate) = &task.gate {
            self.known(&here.to("gate"), "gate", gate, &self.gates);
        }
        self.all_known(&here.to("only"), "department", &task.only, &self.departments);
        self.all_known(&here.to("with"), "department", &task.with, &self.departments);
        let others: Vec<&str> = phase.tasks.iter().map(|task| task.id.as_str()).collect();
        self.all_known(&here.to("needs"), "task", &task.needs, &others);
        self.conditions(&here.to("when"), &task.when, None);
        let each = task.each.as_deref().unwrap_or("once");
        if ["item", "group"].contains(&each) && self.file.work.is_none() {
            let fact = format!("task {} is for each {each}, and there is no work", task.id);
            self.add(&here.to("each"), fact, "add [work] with format and files");
        }
        if let Some(weight) = &task.weight {
            self.weighs(&here.to("weight"), weight);
            if each != "item" {
                let fact = format!("weight says nothing: task {} is not for each item", task.id);
                self.add(&here.to("weight"), fact, "add each = \"item\", or take it out");
            }
        }
        if task.having.is_some() && each != "item" {
            let fact = format!("having says nothing: task {} is not for each item", task.id);
            self.add(&here.to("having"), fact, "add each = \"item\", or take it out");
        } else if let Some(field) = &task.having {
            self.field(&here.to("having"), field);
        }
    }

    /// A field that pieces of work can have.
    fn field(&self, path: &Path, field: &str) {
        let Some(work) = &self.file.work else { return };
        let (piece, group) = work::fields(&work.format);
        let known: Vec<&str> = piece.iter().chain(group).copied().collect();
        // A feature may have fields that nobody knows here.
        let is_open = work.format == "features" && nearest(field, known.iter().copied()).is_none();
        if !known.is_empty() && !is_open {
            self.known(path, "field", field, &known);
        }
    }

    /// Conditions of a phase, or of a department.
    fn conditions(&self, list: &Path, conditions: &[OrText<Condition>], of: Option<(usize, &str)>) {
        for (n, condition) in conditions.iter().enumerate() {
            let OrText::Long(condition) = condition else { continue };
            let here = list.to(n);
            if let Some(name) = &condition.department {
                self.known(&here.to("department"), "department", name, &self.departments);
            }
            if let Some(name) = &condition.crossing {
                self.known(&here.to("crossing"), "crossing", name, &self.crossings);
            }
            let Some(name) = &condition.phase else { continue };
            let path = here.to("phase");
            if !self.known(&path, "phase", name, &self.phases) {
                continue;
            }
            let position = self.phases.iter().position(|phase| phase == name);
            if let Some((at, _)) = of {
                self.same_level(&path, &self.file.phases[at], name);
            }
            if let Some((at, key)) = of
                && position.is_some_and(|position| position >= at)
            {
                let fact = format!("{key} waits for phase {name}, which is not over by then");
                self.add(&path, fact, "name an earlier phase");
            }
        }
    }

    fn departments(&self) {
        for (at, own) in self.file.departments.iter().enumerate() {
            let here = way!["departments", at];
            self.all_known(&here.to("after"), "department", &own.after, &self.departments);
            self.all_known(&here.to("without"), "phase", &own.without, &self.phases);
            self.conditions(&here.to("entry"), &own.entry, None);
        }
        for (name, crossing) in &self.file.crossings {
            let here = way!["crossings", name.as_str()];
            self.all_known(&here.to("of"), "department", &crossing.of, &self.departments);
            self.conditions(&here.to("needs"), &crossing.needs, None);
        }
        let begins = self.file.phases.iter().any(|phase| phase.departments);
        if !self.departments.is_empty() && !begins {
            let fact = "there are departments, and no phase for them".to_owned();
            let remedy = "add departments = true and level = \"root\" to one of the phases";
            self.add(&way!["departments"], fact, remedy);
        }
    }

    fn routes(&self) {
        let kinds: Vec<&str> =
            PLAIN_KINDS.into_iter().chain(self.file.kinds.keys().map(String::as_str)).collect();
        let heard: Vec<&str> = self.roles.iter().copied().chain([PERSON]).collect();
        for (at, route) in self.file.routes.iter().enumerate() {
            let here = way!["routes", at];
            self.all_known(&here.to("from"), "role", &route.from, &self.roles);
            self.all_known(&here.to("to"), "role", &route.to, &heard);
            self.all_known(&here.to("kinds"), "kind", &route.kinds, &kinds);
            for (n, kind) in route.kinds.iter().enumerate() {
                let kind = self.file.kinds.get_key_value(kind);
                if let Some((name, _)) = kind.filter(|(_, kind)| kind.internal) {
                    let fact = format!("kind {name} is internal, and nobody sends it");
                    self.add(&here.to("kinds").to(n), fact, "take it out");
                }
            }
            for (n, to) in route.to.iter().enumerate() {
                if self.file.roles.get(to).is_some_and(|role| role.one_shot) {
                    let fact = format!("role {to} has a life for one task and reads no messages");
                    let remedy = "take it out, or take one-shot out of the role";
                    self.add(&here.to("to").to(n), fact, remedy);
                }
            }
        }
    }

    fn others(&self) {
        if let Some(escalation) = &self.file.escalation {
            let path = way!["escalation", "levels"];
            self.all_known(&path, "role", &escalation.levels, &self.roles);
        }
        if let Some(from) = self.file.cap.as_ref().and_then(|cap| cap.from.as_deref()) {
            self.known(&way!["cap", "from"], "phase", from, &self.phases);
        }
        for (name, gate) in &self.file.gates {
            let here = way!["gates", name.as_str()];
            if let Some(other) = &gate.otherwise {
                self.known(&here.to("otherwise"), "gate", other, &self.gates);
            }
            if gate.otherwise.is_some() && gate.needs.is_empty() {
                let fact = format!("otherwise says nothing: gate {name} needs no value");
                self.add(&here.to("otherwise"), fact, "add needs = [\"…\"], or take it out");
            }
            self.conditions(&here.to("exit"), &gate.exit, None);
            if let Some(on) = gate.red.as_ref().and_then(|red| red.on.as_deref()) {
                self.known(&here.to("red").to("on"), "phase", on, &self.phases);
            }
        }
        let formats = FORMATS;
        for (at, artifact) in self.file.artifacts.iter().enumerate() {
            let path = way!["artifacts", at, "format"];
            self.known(&path, "format", &artifact.format, &formats);
        }
    }
}

/// The team's tools, as a lead has them, and those that only the native agent has.
fn tools() -> Vec<&'static str> {
    let lead = Seat {
        team: String::new(),
        name: String::new(),
        kind: SeatKind::Lead,
        mode: Mode::Normal,
        tools: Vec::new(),
    };
    tools::list(&lead)
        .iter()
        .map(|tool| tool.name)
        .chain(["Skill", "read_file", "glob", "grep"])
        .collect()
}
