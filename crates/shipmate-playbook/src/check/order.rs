//! What comes before what: no circles, and nobody is given a task before they have joined.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_protocol::problem::nearest;

use super::Check;
use crate::document::Node;

pub(crate) fn check(check: &Check<'_, '_>) {
    let fact = "roles report to each other in a circle";
    one_each(&check.root.to("roles"), "reports-to", fact);
    departments(check);
    check.phases.iter().for_each(needs);
    let fact = "gates stand in for each other in a circle";
    one_each(&check.root.to("gates"), "otherwise", fact);
    joined(check);
    leads(check);
    hands(check);
}

type Edges<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Circles, each once, beginning at its first name.
fn circles<'a>(edges: &Edges<'a>) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut over: BTreeSet<&str> = BTreeSet::new();
    for start in edges.keys() {
        let mut way = vec![*start];
        walk(edges, &mut way, &mut over, &mut found);
    }
    found
}

fn walk<'a>(
    edges: &Edges<'a>,
    way: &mut Vec<&'a str>,
    over: &mut BTreeSet<&'a str>,
    found: &mut Vec<Vec<&'a str>>,
) {
    let Some(now) = way.last().copied() else { return };
    if over.contains(now) {
        return;
    }
    for next in edges.get(now).into_iter().flatten() {
        match way.iter().position(|name| name == next) {
            Some(at) => found.push(way[at..].to_vec()),
            None => {
                way.push(next);
                walk(edges, way, over, found);
                way.pop();
            }
        }
    }
    over.insert(now);
}

fn shown(circle: &[&str]) -> String {
    let all: Vec<&str> = circle.iter().chain(circle.first()).copied().collect();
    all.join(" -> ")
}

/// Entries of a table that each name another one.
fn one_each(table: &Node<'_, '_>, key: &str, fact: &str) {
    let entries = table.entries();
    let edges = entries
        .iter()
        .filter_map(|(name, entry)| Some((*name, BTreeSet::from([entry.to(key).maybe_text()?]))));
    for circle in circles(&edges.collect()) {
        let node = table.to(circle[0]).to(key);
        node.add(format!("{fact}: {}", shown(&circle)), format!("take out one {key} of them"));
    }
}

fn departments(check: &Check<'_, '_>) {
    let all = check.root.to("departments").list();
    let mut edges = Edges::new();
    for own in &all {
        let entry = own.all("entry.*.department");
        let entry = entry.iter().filter_map(Node::maybe_text);
        let waits = own.to("after").texts().into_iter().chain(entry);
        edges.entry(own.to("name").text()).or_default().extend(waits);
    }
    for circle in circles(&edges) {
        let fact = format!("departments wait for each other in a circle: {}", shown(&circle));
        let at = check.departments.iter().position(|name| *name == circle[0]).unwrap_or_default();
        all[at].to("after").add(fact, "take out one after of them");
    }
}

fn needs(phase: &Node<'_, '_>) {
    let tasks = phase.to("tasks").list();
    let edges = tasks.iter().map(|task| (task.to("id").text(), task.to("needs").texts()));
    let edges = edges.map(|(id, needs)| (id, needs.into_iter().collect())).collect();
    for circle in circles(&edges) {
        let fact = format!("tasks wait for each other in a circle: {}", shown(&circle));
        let task = tasks.iter().find(|task| task.to("id").text() == circle[0]);
        if let Some(task) = task {
            task.to("needs").add(fact, "take out one of the needs");
        }
    }
}

/// Whoever has a task has joined with its phase or an earlier one of the same team.
fn joined(check: &Check<'_, '_>) {
    for level in ["team", "root"] {
        let mut there: BTreeSet<&str> = BTreeSet::new();
        for phase in check.phases.iter().filter(|phase| check.level(phase) == level) {
            // Who joins here is not known: it was told, and says nothing about the tasks.
            if phase.to("roles").is_torn() {
                break;
            }
            let roles = phase.to("roles").texts().into_iter();
            there.extend(roles.clone());
            there.extend(roles.filter_map(|role| nearest(role, check.roles.iter().copied())));
            for task in check.tasks(phase) {
                let Some(role) = task.role.as_deref() else { continue };
                if check.roles.contains(&role) && !there.contains(role) {
                    let fact = format!("task {} is for role {role}, which has not joined", task.id);
                    let remedy = format!("add {role:?} to the roles of this phase or before");
                    task.node.to("role").add(fact, remedy);
                }
            }
        }
    }
}

/// A lead that only leads has no task: in its mode it could write nothing.
fn hands(check: &Check<'_, '_>) {
    for level in ["team", "root"] {
        let mut roles = check.root.all("roles.*").into_iter();
        let lead = roles.find(|role| role.to("lead").is_true() && check.level(role) == level);
        let mut mode = lead.and_then(|role| role.to("mode").maybe_text());
        for phase in check.phases.iter().filter(|phase| check.level(phase) == level) {
            let now = phase.to("lead-mode").maybe_text().or(mode);
            // What is gone through only in trouble says nothing about what comes after it.
            if !phase.to("on-call").is_true() {
                mode = now;
            }
            let Some(now) = now.filter(|mode| ["delegate", "read-only"].contains(mode)) else {
                continue;
            };
            for task in check.tasks(phase).iter().filter(|task| task.lead) {
                let fact = format!("task {} is for the lead, whose mode is {now}", task.id);
                let name = phase.to("name").text();
                let remedy = format!("add lead-mode = \"normal\" to phase {name}");
                task.node.to("lead").add(fact, remedy);
            }
        }
    }
}

/// Where the lead has something to do there is one.
fn leads(check: &Check<'_, '_>) {
    let roles = check.root.all("roles.*");
    let leads = roles.iter().filter(|role| role.to("lead").is_true());
    let levels: BTreeSet<&str> = leads.map(|role| check.level(role)).collect();
    for phase in check.phases.iter().filter(|phase| !levels.contains(check.level(phase))) {
        let tasks = check.tasks(phase).into_iter().filter(|task| task.lead);
        let tasks = tasks.map(|task| (task.node.to("lead"), "has a task for the lead"));
        let flags =
            [("lead-plans", "is planned by the lead"), ("dispatch", "is given out by the lead")];
        let flags = flags.map(|(key, what)| (phase.to(key), what));
        let flags = flags.into_iter().filter(|(node, _)| node.is_true());
        let mode = Some((phase.to("lead-mode"), "gives the lead a mode"));
        let mode = mode.filter(|(node, _)| node.is_there());
        let trouble = ["late", "failed"].map(|key| (phase.to(key), "leaves the rest to the lead"));
        let trouble = trouble.into_iter().filter(|(node, _)| node.text() == "lead");
        for (node, what) in tasks.chain(flags).chain(mode).chain(trouble) {
            let fact = format!("phase {} {what}, and no role leads", phase.to("name").text());
            node.add(fact, "add lead = true to a role of this level");
        }
    }
}
