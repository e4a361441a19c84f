//! Placeholders: every `{name}` in a text stands for something.

use std::collections::BTreeSet;

use shipmate_protocol::problem::{listed, nearest};

use super::CONDITIONS;
use crate::document::Node;
use crate::fill::placeholders;
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

/// Texts that know what every text does.
const PLAIN: [&str; 17] = [
    "values.*",
    "roles.*.prompt",
    "roles.*.agent",
    "roles.*.called",
    "roles.*.model",
    "roles.*.upgrades.*.model",
    "roles.*.scope.*",
    "roles.*.may.*",
    "departments.*.description",
    "departments.*.values.*",
    "phases.*.redo.file",
    "phases.*.reverts.file",
    "phases.*.deliberation.question",
    "phases.*.deliberation.folder",
    "work.files.*",
    "work.malformed",
    "work.overlap",
];

pub(super) fn check(root: &Node<'_, '_>) {
    let known = ["values", "departments.*.values", "config.values"];
    let known = known.iter().flat_map(|way| root.all(way)).flat_map(|table| table.entries());
    let known: Known<'_> = RUN.into_iter().chain(known.map(|(key, _)| key)).collect();
    let (piece, group) = work::fields(root.to("work").to("format").text());
    let with = |more: &[&[&'static str]]| -> Known<'_> {
        known.iter().copied().chain(more.iter().copied().flatten().copied()).collect()
    };
    let of_a_piece = with(&[&PIECE, piece, group]);
    texts(root, &PLAIN, &known);
    texts(root, &["roles.*.named"], &of_a_piece);
    texts(root, &["artifacts.*.path"], &with(&[group]));
    CONDITIONS.iter().for_each(|way| conditions(root, way, &known));
    for task in root.all("phases.*.tasks.*") {
        let each = task.to("each");
        let known = match each.text() {
            "once" => &known,
            _ if !each.is_there() => &known,
            "group" => &with(&[&["group"], group]),
            _ => &of_a_piece,
        };
        texts(&task, &["subject", "description", "files.*"], known);
        conditions(&task, "when", known);
    }
    // A task knows nothing of the phase that its gate stands in.
    let of_phases = |name: &&str| matches!(*name, "phase" | "round" | "trouble" | "root");
    let gates = known.iter().copied().filter(|name| !of_phases(name));
    let gates: Known<'_> = gates.chain(GATE).chain(piece.iter().copied()).collect();
    for gate in root.all("gates.*") {
        texts(&gate, &["commands.*", "red.commands.*", "red.files.*"], &gates);
        let finds = gate.to("finds").entries().into_iter().map(|(key, _)| key);
        let known: Known<'_> = gates.iter().copied().chain(finds).collect();
        conditions(&gate, "exit", &known);
        texts(&gate, &["coverage.files.*", "coverage.target"], &known);
    }
}

fn conditions(root: &Node<'_, '_>, list: &str, known: &Known<'_>) {
    texts(root, &[&format!("{list}.*"), &format!("{list}.*.file")], known);
}

fn texts(root: &Node<'_, '_>, ways: &[&str], known: &Known<'_>) {
    for node in ways.iter().flat_map(|way| root.all(way)) {
        for name in unclosed(node.text()) {
            let fact = format!("{}: {{{name} is not closed", node.path);
            node.add(fact, format!("write {{{name}}}"));
        }
        for name in placeholders(node.text()).into_iter().filter(|name| !known.contains(name)) {
            let fact = format!("{}: nothing is known as {{{name}}}", node.path);
            let remedy = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {{{near}}}?"),
                None => format!("add {name} to [values], or use one of {}", listed(known)),
            };
            node.add(fact, remedy);
        }
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
