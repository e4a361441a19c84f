//! Whether the parts of a playbook fit together: everything that names something else names
//! something that is there, can be reached, and comes in time.
//!
//! It looks at the file as it is written, so that a name is shown as its writer knows it.

mod commands;
mod order;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use shipmate_protocol::Mode;
use shipmate_protocol::plan_file::bad_name;
use shipmate_protocol::problem::{listed, nearest, quoted};
use shipmate_protocol::tools::{self, Seat, SeatKind};

use super::deliberation::{self, Deliberation};
use super::document::Node;
use super::formats::FORMATS;
use super::table::did_you_mean;
use super::work;

/// Kinds of messages that need no description.
const PLAIN_KINDS: [&str; 2] = ["message", "broadcast"];
/// Whoever is above all roles.
const PERSON: &str = "person";
/// Conditions that a phase waits for or leaves.
const OF_A_PHASE: [&str; 4] = ["entry", "unless", "makes", "exit"];
/// Lists of conditions, beside those of a task and of a gate.
const CONDITIONS: [&str; 6] = [
    "departments.*.entry",
    "phases.*.entry",
    "phases.*.unless",
    "phases.*.makes",
    "phases.*.exit",
    "crossings.*.needs",
];

/// `here`: the workspace in which its commands have to be found, where that matters.
pub(crate) fn check(root: &Node<'_, '_>, here: Option<&std::path::Path>) {
    let phases = root.to("phases").list();
    let departments = root.to("departments").list();
    let check = Check {
        root: root.clone(),
        roles: keys(&root.to("roles")),
        phase_names: phases.iter().map(|phase| phase.to("name").text()).collect(),
        departments: departments.iter().map(|own| own.to("name").text()).collect(),
        phases,
    };
    check.references();
    check.whole();
    check.roles();
    for (at, phase) in check.phases.iter().enumerate() {
        check.phase(at, phase);
    }
    check.routes();
    check.gates();
    order::check(&check);
    texts::check(root);
    if let Some(workspace) = here {
        commands::check(root, workspace);
    }
}

struct Check<'a, 't> {
    root: Node<'a, 't>,
    phases: Vec<Node<'a, 't>>,
    roles: Vec<&'a str>,
    phase_names: Vec<&'a str>,
    departments: Vec<&'a str>,
}

fn keys<'a>(table: &Node<'a, '_>) -> Vec<&'a str> {
    table.entries().into_iter().map(|(key, _)| key).collect()
}

/// Tells of a name that nothing has, with the names that there are.
fn known(node: &Node<'_, '_>, what: &str, known: &[&str]) {
    let name = node.text();
    if known.contains(&name) || name.trim().is_empty() {
        return;
    }
    let there: BTreeSet<&str> = known.iter().copied().filter(|name| !name.is_empty()).collect();
    let all = match there.is_empty() {
        true => format!("the playbook has no {what}s"),
        false => format!("the {what}s are {}", listed(there)),
    };
    let near = nearest(name, known.iter().copied());
    node.add(format!("there is no {what} {}", quoted(name)), did_you_mean(near, &all));
}

/// A task that the file has, or that a deliberation makes; then its node is not in the file.
struct Task<'a, 't> {
    node: Node<'a, 't>,
    id: String,
    role: Option<String>,
    lead: bool,
}

/// No two of a list have one name.
fn distinct<'n>(
    list: &[Node<'_, '_>],
    names: impl Iterator<Item = &'n str>,
    key: &str,
    what: &str,
) {
    let mut first: BTreeMap<&str, Node<'_, '_>> = BTreeMap::new();
    for (node, name) in list.iter().zip(names).filter(|(_, name)| !name.is_empty()) {
        let node = node.to(key);
        match first.get(name) {
            Some(earlier) => {
                let fact = format!("{what} {name} is there already: line {}", earlier.line());
                node.add(fact, format!("give each {what} its own {key}"));
            }
            None => drop(first.insert(name, node)),
        }
    }
}

impl<'a, 't> Check<'a, 't> {
    /// Everything that is named is there.
    fn references(&self) {
        let (roles, phases, departments) = (&self.roles, &self.phase_names, &self.departments);
        let [mut gates, crossings, kinds] =
            ["gates", "crossings", "kinds"].map(|key| keys(&self.root.to(key)));
        if self.phases.iter().any(|phase| phase.to(deliberation::GATE).is_there()) {
            gates.push(deliberation::GATE);
        }
        let kinds: Vec<&str> = PLAIN_KINDS.into_iter().chain(kinds).collect();
        let readers: Vec<&str> = roles.iter().copied().chain([PERSON]).collect();
        for node in self.root.all("roles.*.reports-to") {
            if node.text() != PERSON {
                known(&node, "role", roles);
            }
        }
        for (way, what, names) in [
            ("roles.*.tools.*", "tool", &tools()),
            ("roles.*.before-claim", "gate", &gates),
            ("phases.*.roles.*", "role", roles),
            ("phases.*.gate", "gate", &gates),
            ("phases.*.late.back", "phase", phases),
            ("phases.*.failed.back", "phase", phases),
            ("phases.*.deliberation.by.*", "role", roles),
            ("phases.*.deliberation.critics.*", "role", roles),
            ("phases.*.deliberation.judge", "role", roles),
            ("phases.*.tasks.*.role", "role", roles),
            ("phases.*.tasks.*.gate", "gate", &gates),
            ("phases.*.tasks.*.only.*", "department", departments),
            ("phases.*.tasks.*.with.*", "department", departments),
            ("departments.*.after.*", "department", departments),
            ("departments.*.without.*", "phase", phases),
            ("crossings.*.of.*", "department", departments),
            ("routes.*.from.*", "role", roles),
            ("routes.*.to.*", "role", &readers),
            ("routes.*.kinds.*", "kind", &kinds),
            ("escalation.levels.*", "role", roles),
            ("cap.from", "phase", phases),
            ("gates.*.otherwise", "gate", &gates),
            ("gates.*.red.on", "phase", phases),
            ("artifacts.*.format", "format", &FORMATS.to_vec()),
        ] {
            self.root.all(way).iter().for_each(|node| known(node, what, names));
        }
        let lists = CONDITIONS.into_iter().chain(["phases.*.tasks.*.when", "gates.*.exit"]);
        for one in lists.flat_map(|way| self.root.all(&format!("{way}.*"))) {
            known(&one.to("department"), "department", departments);
            known(&one.to("crossing"), "crossing", &crossings);
            known(&one.to("phase"), "phase", phases);
        }
    }

    fn whole(&self) {
        if self.phases.is_empty() {
            let fact = "the playbook has no phases".to_owned();
            self.root.to("phases").add(fact, "add [[phases]] with name = \"…\" below it");
        }
        let (file, name) = (self.root.document.name(), self.root.to("name"));
        if let Some(file) = file.filter(|file| *file != name.text())
            && bad_name(name.text()).is_none()
        {
            let fact = format!("the file is {file}.toml, and its name is {:?}", name.text());
            name.add(fact, format!("write name = {file:?}, or rename the file"));
        }
        distinct(&self.phases, self.phase_names.iter().copied(), "name", "phase");
        let departments = self.root.to("departments").list();
        distinct(&departments, self.departments.iter().copied(), "name", "department");
        let teams: Vec<&str> = departments.iter().map(|own| own.to("team").text()).collect();
        distinct(&departments, teams.into_iter(), "team", "team");
        let begins = self.phases.iter().any(|phase| phase.to("departments").is_true());
        if !departments.is_empty() && !begins {
            let fact = "there are departments, and no phase for them".to_owned();
            let remedy = "add departments = true and level = \"root\" to one of the phases";
            self.root.to("departments").add(fact, remedy);
        }
    }

    fn roles(&self) {
        let roles = self.root.to("roles").entries();
        let mut called: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        let mut leads: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, role) in &roles {
            let (lead, level) = (role.to("lead").is_true(), self.level(role));
            if role.to("one-shot").is_true() && lead {
                let fact = format!("role {name} leads, and has a life for one task only");
                role.to("one-shot").add(fact, "take out lead or one-shot");
            }
            let cap = role.to("cap");
            if let Some(many) = cap.number().filter(|many| lead && *many > 1) {
                let fact = format!("role {name} leads, and there may be {many}");
                cap.add(fact, "take out cap: a team has one lead");
            }
            let plan_when = Some(role.to("plan-when")).filter(Node::is_there);
            for when in plan_when.into_iter().chain(role.all("upgrades.*.when")) {
                self.weighs(&when);
            }
            let own = Some(role.to("called").text()).filter(|own| !own.is_empty()).unwrap_or(name);
            if let Some(other) = called.insert((level, own), name) {
                let fact =
                    format!("members of {name} are called {}, as those of {other}", quoted(own));
                role.to("called").add(fact, "give each role its own called");
            }
            if !lead || !["team", "root"].contains(&level) {
                continue;
            }
            let first = *leads.entry(level).or_insert(name);
            if first != *name {
                let fact = format!("role {name} leads, and role {first} does already");
                let remedy = match self.departments.is_empty() {
                    true => "a team has one lead: take out lead = true of one of them",
                    false => "each level has one lead: give one of them another level",
                };
                role.to("lead").add(fact, remedy);
            }
        }
    }

    /// A weight says something.
    fn weighs(&self, when: &Node<'a, 't>) {
        let keys = ["files-min", "modules-min", "touches", "words", "having", "shared", "always"];
        when.to("having").list().iter().for_each(|field| self.field(field));
        let says = |node: Node<'a, 't>| {
            node.is_torn() || node.is_true() || node.number().is_some() || !node.list().is_empty()
        };
        if !keys.iter().any(|key| says(when.to(*key))) {
            let fact = format!("{} never holds: it names nothing", when.path);
            let remedy =
                "say files-min, modules-min, touches, words, having or shared, or always = true";
            when.add(fact, remedy);
        }
    }

    /// The level of a phase or a role. Where there are no departments there is one level.
    fn level(&self, of: &Node<'a, 't>) -> &'a str {
        let level = of.to("level");
        if self.departments.is_empty() || !level.is_there() { "team" } else { level.text() }
    }

    fn phase(&self, at: usize, phase: &Node<'a, 't>) {
        let (name, tasks) = (phase.to("name").text(), self.tasks(phase));
        let position = |node: &Node<'a, 't>| {
            let mut names = self.phase_names.iter();
            names.position(|name| node.is_there() && *name == node.text())
        };
        for key in OF_A_PHASE {
            for waits in phase.to(key).list().iter().map(|one| one.to("phase")) {
                let Some(position) = position(&waits) else { continue };
                self.same_level(&waits, phase, position);
                if position >= at {
                    let name = waits.text();
                    let fact = format!("{key} waits for phase {name}, which is not over by then");
                    waits.add(fact, "name an earlier phase");
                }
            }
        }
        for key in ["late", "failed"] {
            let back = phase.to(key).to("back");
            let Some(to) = position(&back) else { continue };
            if to > at {
                let fact = format!("{key} goes back to {}, which comes later", back.text());
                back.add(fact, "name this phase or an earlier one");
            }
            self.same_level(&back, phase, to);
        }
        let has_time = ["minutes", "seconds"].iter().any(|key| phase.to(*key).is_there());
        if phase.to("late").is_there() && !has_time {
            let fact = "late says nothing: the phase has no time".to_owned();
            phase.to("late").add(fact, "add minutes = …, or take it out");
        }
        if phase.to("lead-plans").is_true() && !tasks.is_empty() {
            let fact = format!("in phase {name} the lead plans, and there are tasks");
            phase.to("lead-plans").add(fact, "take out lead-plans or [[phases.tasks]]");
        }
        let departments = phase.to("departments");
        if departments.is_true() && self.departments.is_empty() {
            let fact = format!("phase {name} is for departments, and there are none");
            departments.add(fact, "add [[departments]], or take it out");
        } else if departments.is_true() && self.level(phase) != "root" {
            let fact = format!("phase {name} begins the departments, and is theirs");
            departments.add(fact, "add level = \"root\"");
        }
        // A phase on call is gone through only when another goes back to it.
        let others = self.phases.iter().filter(|other| other.to("name").text() != name);
        let mut back =
            others.flat_map(|other| ["late", "failed"].map(|key| other.to(key).to("back")));
        if phase.to("on-call").is_true() && !back.any(|back| back.is_there() && back.text() == name)
        {
            let fact = format!("phase {name} is on call, and no other goes back to it");
            let remedy = format!("add failed = {{ back = {name:?}, … }} to a later phase");
            phase.to("on-call").add(fact, remedy);
        }
        let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        let nodes: Vec<Node<'a, 't>> = tasks.iter().map(|task| task.node.clone()).collect();
        distinct(&nodes, ids.iter().copied(), "id", "task");
        for task in &nodes {
            task.all("needs.*").iter().for_each(|other| known(other, "task", &ids));
            self.task(task);
        }
    }

    fn tasks(&self, phase: &Node<'a, 't>) -> Vec<Task<'a, 't>> {
        let list = phase.to("tasks");
        let own = list.list().into_iter().map(|node| Task {
            id: node.to("id").text().to_owned(),
            role: node.to("role").maybe_text().map(str::to_owned),
            lead: node.to("lead").is_true(),
            node,
        });
        let mut tasks: Vec<Task<'a, 't>> = own.collect();
        for task in Deliberation::of(phase).iter().flat_map(Deliberation::tasks) {
            // A role that is not there is told where it is named.
            if task.role.as_ref().is_none_or(|role| self.roles.contains(&role.as_str())) {
                let (id, role) = (task.id.to_string(), task.role.map(|role| role.to_string()));
                tasks.push(Task { node: list.to(tasks.len()), id, role, lead: task.lead });
            }
        }
        tasks
    }

    /// A team goes through the phases of its own level only.
    fn same_level(&self, node: &Node<'a, 't>, phase: &Node<'a, 't>, other: usize) {
        let (own, level) = (self.level(phase), self.level(&self.phases[other]));
        if own != level {
            let other = self.phase_names[other];
            let fact = format!("phase {other} is of level {level}, and this is of {own}");
            node.add(fact, "name a phase of the same level");
        }
    }

    fn task(&self, task: &Node<'a, 't>) {
        let (id, each) = (task.to("id").text(), task.to("each"));
        let [having, weight] = ["having", "weight"].map(|key| task.to(key));
        if task.to("role").is_there() && task.to("lead").is_true() {
            let fact = format!("task {id} is for the lead and for a role");
            task.to("lead").add(fact, "keep one of lead and role");
        }
        if ["item", "group"].contains(&each.text()) && !self.root.to("work").is_there() {
            let fact = format!("task {id} is for each {}, and there is no work", each.text());
            each.add(fact, "add [work] with format and files");
        }
        if weight.is_there() {
            self.weighs(&weight);
        }
        if each.text() == "item" {
            self.field(&having);
        }
        for only in [weight, having] {
            if only.is_there() && each.text() != "item" {
                let fact = format!("{} says nothing: task {id} is not for each item", only.path);
                only.add(fact, "add each = \"item\", or take it out");
            }
        }
    }

    /// A field that pieces of work can have.
    fn field(&self, field: &Node<'a, 't>) {
        let format = self.root.to("work").to("format").text();
        let (piece, group) = work::fields(format);
        let fields: Vec<&str> = piece.iter().chain(group).copied().collect();
        // A feature may have fields that nobody knows here.
        let is_open =
            format == "features" && nearest(field.text(), fields.iter().copied()).is_none();
        if !fields.is_empty() && !is_open {
            known(field, "field", &fields);
        }
    }

    fn routes(&self) {
        for kind in self.root.all("routes.*.kinds.*") {
            if self.root.to("kinds").to(kind.text()).to("internal").is_true() {
                let fact = format!("kind {} is internal, and nobody sends it", kind.text());
                kind.add(fact, "take it out");
            }
        }
        for to in self.root.all("routes.*.to.*") {
            if self.root.to("roles").to(to.text()).to("one-shot").is_true() {
                let name = to.text();
                let fact = format!("role {name} has a life for one task and reads no messages");
                to.add(fact, "take it out, or take one-shot out of the role");
            }
        }
    }

    fn gates(&self) {
        for (name, gate) in self.root.to("gates").entries() {
            let otherwise = gate.to("otherwise");
            if otherwise.is_there() && gate.to("needs").list().is_empty() {
                let fact = format!("otherwise says nothing: gate {name} needs no value");
                otherwise.add(fact, "add needs = [\"…\"], or take it out");
            }
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
