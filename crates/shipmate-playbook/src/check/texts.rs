//! Placeholders: every `{name}` in a text stands for something.

use std::collections::BTreeSet;

use shipmate_protocol::problem::{listed, nearest};

use super::Check;
use crate::file::{OrText, Task};
use crate::fill::placeholders;
use crate::lines::{Path, way};
use crate::work;

/// What the run fills in.
pub(crate) const RUN: [&str; 12] = [
    "goal",
    "title",
    "team",
    "root",
    "phase",
    "round",
    "trouble",
    "dir",
    "dir-number",
    "dir-name",
    "department",
    "branch",
];
/// What every piece of work has.
pub(crate) const PIECE: [&str; 5] = ["id", "subject", "description", "files", "group"];
/// What a gate is told about the task that it looks at.
pub(crate) const GATE: [&str; 5] = ["files", "tests", "path", "task", "id"];

type Known<'a> = BTreeSet<&'a str>;

pub(super) fn check(check: &Check<'_, '_>) {
    let file = check.file;
    let own = file.values.keys().chain(file.departments.iter().flat_map(|own| own.values.keys()));
    let read = file.config.iter().flat_map(|config| config.values.keys());
    let known: Known<'_> = RUN.into_iter().chain(own.chain(read).map(String::as_str)).collect();
    for (key, value) in &file.values {
        text(check, &way!["values", key.as_str()], value, &known);
    }
    for (name, role) in &file.roles {
        let here = way!["roles", name.as_str()];
        text(check, &here.to("prompt"), &role.prompt, &known);
        text(check, &here.to("agent"), &role.agent, &known);
        piece(check, &here.to("named"), &role.named, &known);
        text(check, &here.to("called"), &role.called, &known);
        text(check, &here.to("model"), &role.model, &known);
        for (n, upgrade) in role.upgrades.iter().enumerate() {
            let path = here.to("upgrades").to(n).to("model");
            text(check, &path, &upgrade.model, &known);
        }
        texts(check, &here.to("scope"), &role.scope, &known);
        texts(check, &here.to("may"), &role.may, &known);
    }
    for (at, own) in file.departments.iter().enumerate() {
        let here = way!["departments", at];
        text(check, &here.to("description"), &own.description, &known);
        conditions(check, &here.to("entry"), &own.entry, &known);
        for (key, value) in &own.values {
            text(check, &here.to("values").to(key.as_str()), value, &known);
        }
    }
    for (at, phase) in file.phases.iter().enumerate() {
        let here = way!["phases", at];
        for (key, list) in [
            ("entry", &phase.entry),
            ("unless", &phase.unless),
            ("makes", &phase.makes),
            ("exit", &phase.exit),
        ] {
            conditions(check, &here.to(key), list, &known);
        }
        for (key, list) in [("redo", &phase.redo), ("reverts", &phase.reverts)] {
            let file = list.as_ref().map_or("", |list| list.file.as_str());
            text(check, &here.to(key).to("file"), file, &known);
        }
        if let Some(own) = &phase.deliberation {
            let here = here.to("deliberation");
            text(check, &here.to("question"), &own.question, &known);
            text(check, &here.to("folder"), &own.folder, &known);
        }
        for (n, task) in phase.tasks.iter().enumerate() {
            template(check, &here.to("tasks").to(n), task, &known);
        }
    }
    let format = file.work.as_ref().map_or("", |work| work.format.as_str());
    let piece = work::fields(format).0.iter().copied();
    // A task knows nothing of the phase that its gate stands in.
    let of_phases = |name: &&str| matches!(*name, "phase" | "round" | "trouble" | "root");
    let gate = known.iter().copied().filter(|name| !of_phases(name));
    let gate: Known<'_> = gate.chain(GATE).chain(piece).collect();
    for (name, own) in &file.gates {
        let here = way!["gates", name.as_str()];
        texts(check, &here.to("commands"), &own.commands, &gate);
        let found = own.finds.keys().map(String::as_str);
        let known: Known<'_> = gate.iter().copied().chain(found).collect();
        conditions(check, &here.to("exit"), &own.exit, &known);
        if let Some(red) = &own.red {
            texts(check, &here.to("red").to("commands"), &red.commands, &gate);
            texts(check, &here.to("red").to("files"), &red.files, &gate);
        }
        if let Some(coverage) = &own.coverage {
            texts(check, &here.to("coverage").to("files"), &coverage.files, &known);
            text(check, &here.to("coverage").to("target"), &coverage.target, &known);
        }
    }
    let written = known.iter().copied().chain(work::fields(format).1.iter().copied()).collect();
    for (at, artifact) in file.artifacts.iter().enumerate() {
        text(check, &way!["artifacts", at, "path"], &artifact.path, &written);
    }
    for (name, crossing) in &file.crossings {
        let here = way!["crossings", name.as_str()];
        conditions(check, &here.to("needs"), &crossing.needs, &known);
    }
    if let Some(work) = &file.work {
        texts(check, &way!["work", "files"], &work.files, &known);
        text(check, &way!["work", "malformed"], &work.malformed, &known);
        text(check, &way!["work", "overlap"], &work.overlap, &known);
    }
}

fn template(check: &Check<'_, '_>, here: &Path, task: &Task, known: &Known<'_>) {
    let format = check.file.work.as_ref().map_or("", |work| work.format.as_str());
    let (piece, group) = work::fields(format);
    let mut known = known.clone();
    match task.each.as_deref() {
        None | Some("once") => {}
        Some("group") => known.extend(["group"].into_iter().chain(group.iter().copied())),
        Some(_) => known.extend(PIECE.into_iter().chain(piece.iter().chain(group).copied())),
    }
    text(check, &here.to("subject"), &task.subject, &known);
    text(check, &here.to("description"), &task.description, &known);
    texts(check, &here.to("files"), task.files.as_deref().unwrap_or_default(), &known);
    conditions(check, &here.to("when"), &task.when, &known);
}

/// A text that may name what a piece of work has.
fn piece(check: &Check<'_, '_>, path: &Path, own: &str, known: &Known<'_>) {
    let format = check.file.work.as_ref().map_or("", |work| work.format.as_str());
    let (piece, group) = work::fields(format);
    let all = known.iter().copied().chain(PIECE).chain(piece.iter().chain(group).copied());
    text(check, path, own, &all.collect());
}

fn conditions(
    check: &Check<'_, '_>,
    list: &Path,
    conditions: &[OrText<crate::file::Condition>],
    known: &Known<'_>,
) {
    for (n, condition) in conditions.iter().enumerate() {
        match condition {
            OrText::Text(path) => text(check, &list.to(n), path, known),
            OrText::Long(table) => {
                let path = table.file.as_deref().unwrap_or_default();
                text(check, &list.to(n).to("file"), path, known);
            }
        }
    }
}

fn texts(check: &Check<'_, '_>, list: &Path, all: &[String], known: &Known<'_>) {
    for (n, one) in all.iter().enumerate() {
        text(check, &list.to(n), one, known);
    }
}

fn text(check: &Check<'_, '_>, path: &Path, text: &str, known: &Known<'_>) {
    for name in unclosed(text) {
        let fact = format!("{path}: {{{name} is not closed");
        check.add(path, fact, format!("write {{{name}}}"));
    }
    for name in placeholders(text).into_iter().filter(|name| !known.contains(name)) {
        let fact = format!("{path}: nothing is known as {{{name}}}");
        let all = format!("add {name} to [values], or use one of {}", listed(known));
        let remedy = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {{{near}}}?"),
            None => all,
        };
        check.add(path, fact, remedy);
    }
}

/// Names behind a brace that is not closed before the next one opens. Where something other than
/// words follows, it is no placeholder: an object, say.
fn unclosed(text: &str) -> Vec<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let parts = text.match_indices('{').map(|(at, _)| (&text[..at], &text[at + 1..]));
    let names = parts.filter_map(|(before, rest)| {
        let name = &rest[..rest.find(|c| !plain(c)).unwrap_or(rest.len())];
        let until = rest.find('{').unwrap_or(rest.len());
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_own = before.ends_with('$') || rest[name.len()..].starts_with([':', ',', '=', '(']);
        (is_name && !is_own && !rest[..until].contains('}')).then_some(name)
    });
    names.collect()
}
