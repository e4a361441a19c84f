//! What comes before what: no circles, and nobody is given a task before they have joined.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_protocol::problem::nearest;

use super::Check;
use crate::file::{Condition, OrText, Phase};
use crate::lines::{Path, way};

pub(crate) fn check(check: &Check<'_, '_>) {
    reports(check);
    departments(check);
    for (at, phase) in check.file.phases.iter().enumerate() {
        needs(check, at, phase);
    }
    gates(check);
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

fn reports(check: &Check<'_, '_>) {
    let edges = check.file.roles.iter().filter_map(|(name, role)| {
        Some((name.as_str(), BTreeSet::from([role.reports_to.as_deref()?])))
    });
    for circle in circles(&edges.collect()) {
        let fact = format!("roles report to each other in a circle: {}", shown(&circle));
        let path = way!["roles", circle[0], "reports-to"];
        check.add(&path, fact, "take out one reports-to of them");
    }
}

fn departments(check: &Check<'_, '_>) {
    let waits = |own: &'_ super::super::file::Department| -> Vec<String> {
        let entry = own.entry.iter().filter_map(|one| match one {
            OrText::Long(Condition { department, .. }) => department.clone(),
            OrText::Text(_) => None,
        });
        own.after.iter().cloned().chain(entry).collect()
    };
    let waits: Vec<(&str, Vec<String>)> =
        check.file.departments.iter().map(|own| (own.name.as_str(), waits(own))).collect();
    let mut edges = Edges::new();
    for (name, on) in &waits {
        edges.entry(name).or_default().extend(on.iter().map(String::as_str));
    }
    for circle in circles(&edges) {
        let fact = format!("departments wait for each other in a circle: {}", shown(&circle));
        let at = check.departments.iter().position(|name| *name == circle[0]).unwrap_or_default();
        check.add(&way!["departments", at, "after"], fact, "take out one after of them");
    }
}

fn needs(check: &Check<'_, '_>, at: usize, phase: &Phase) {
    let edges = phase.tasks.iter();
    let edges = edges
        .map(|task| (task.id.as_str(), task.needs.iter().map(String::as_str).collect()))
        .collect();
    for circle in circles(&edges) {
        let fact = format!("tasks wait for each other in a circle: {}", shown(&circle));
        let task = phase.tasks.iter().position(|task| task.id == circle[0]).unwrap_or_default();
        let path = way!["phases", at, "tasks", task, "needs"];
        check.add(&path, fact, "take out one of the needs");
    }
}

fn gates(check: &Check<'_, '_>) {
    let edges = check.file.gates.iter().filter_map(|(name, gate)| {
        Some((name.as_str(), BTreeSet::from([gate.otherwise.as_deref()?])))
    });
    for circle in circles(&edges.collect()) {
        let fact = format!("gates stand in for each other in a circle: {}", shown(&circle));
        let path = way!["gates", circle[0], "otherwise"];
        check.add(&path, fact, "take out one otherwise of them");
    }
}

/// Whoever has a task has joined with its phase or an earlier one of the same team.
fn joined(check: &Check<'_, '_>) {
    for level in ["team", "root"] {
        let mut there: BTreeSet<&str> = BTreeSet::new();
        for (at, phase) in check.file.phases.iter().enumerate() {
            if check.level(phase.level.as_deref()) != level {
                continue;
            }
            // Who joins here is not known: it was told, and says nothing about the tasks.
            if check.page.is_torn(&way!["phases", at, "roles"]) {
                break;
            }
            let roles = phase.roles.iter().map(String::as_str);
            there.extend(roles.clone());
            there.extend(roles.filter_map(|role| nearest(role, check.roles.iter().copied())));
            for (n, task) in phase.tasks.iter().enumerate() {
                let Some(role) = task.role.as_deref() else { continue };
                if check.roles.contains(&role) && !there.contains(role) {
                    let fact = format!("task {} is for role {role}, which has not joined", task.id);
                    let remedy = format!("add {role:?} to the roles of this phase or before");
                    check.add(&way!["phases", at, "tasks", n, "role"], fact, remedy);
                }
            }
        }
    }
}

/// A lead that only leads has no task: in its mode it could write nothing.
fn hands(check: &Check<'_, '_>) {
    for level in ["team", "root"] {
        let of_level = |own: Option<&str>| check.level(own) == level;
        let mut roles = check.file.roles.values();
        let lead = roles.find(|role| role.lead && of_level(role.level.as_deref()));
        let mut mode = lead.and_then(|role| role.mode.as_deref());
        for (at, phase) in check.file.phases.iter().enumerate() {
            if !of_level(phase.level.as_deref()) {
                continue;
            }
            let now = phase.lead_mode.as_deref().or(mode);
            // What is gone through only in trouble says nothing about what comes after it.
            if !phase.on_call {
                mode = now;
            }
            let Some(now) = now.filter(|mode| ["delegate", "read-only"].contains(mode)) else {
                continue;
            };
            for (n, task) in phase.tasks.iter().enumerate().filter(|(_, task)| task.lead) {
                let fact = format!("task {} is for the lead, whose mode is {now}", task.id);
                let remedy = format!("add lead-mode = \"normal\" to phase {}", phase.name);
                check.add(&way!["phases", at, "tasks", n, "lead"], fact, remedy);
            }
        }
    }
}

/// Where the lead has something to do there is one.
fn leads(check: &Check<'_, '_>) {
    let level_of = |phase: &Phase| check.level(phase.level.as_deref()).to_owned();
    let mut levels: BTreeSet<String> = BTreeSet::new();
    for role in check.file.roles.values().filter(|role| role.lead) {
        levels.insert(check.level(role.level.as_deref()).to_owned());
    }
    for (at, phase) in check.file.phases.iter().enumerate() {
        if levels.contains(&level_of(phase)) {
            continue;
        }
        let here = way!["phases", at];
        let mut wants: Vec<(Path, &str)> = Vec::new();
        for (n, _) in phase.tasks.iter().enumerate().filter(|(_, task)| task.lead) {
            wants.push((here.to("tasks").to(n).to("lead"), "has a task for the lead"));
        }
        if phase.lead_plans {
            wants.push((here.to("lead-plans"), "is planned by the lead"));
        }
        if phase.dispatch {
            wants.push((here.to("dispatch"), "is given out by the lead"));
        }
        if phase.lead_mode.is_some() {
            wants.push((here.to("lead-mode"), "gives the lead a mode"));
        }
        for (key, rule) in [("late", &phase.late), ("failed", &phase.failed)] {
            if matches!(rule, Some(OrText::Text(word)) if word == "lead") {
                wants.push((here.to(key), "leaves the rest to the lead"));
            }
        }
        for (path, what) in wants {
            let fact = format!("phase {} {what}, and no role leads", phase.name);
            check.add(&path, fact, "add lead = true to a role of this level");
        }
    }
}
