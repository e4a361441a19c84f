//! The gates of a playbook, filled in for what they are asked about.

use std::collections::BTreeSet;

use shipmate_model::Name;
use shipmate_model::files::FileSet;
use shipmate_model::playbook::{Coverage, Gate, Playbook, Red};
use shipmate_model::setup::Setup;
use shipmate_playbook::fill::{self, Values};

use crate::submission::Submission;

/// Values that are sentences, not parts of a command.
const TEXTS: [&str; 2] = ["goal", "title"];

/// The gate of a submission that has one of its own, filled in.
pub(crate) fn own_gate(setup: &Setup, one: &Submission) -> Option<Gate> {
    let playbook = setup.playbook.as_ref()?;
    // Whoever has a task may write its fields: in a command line they are words, not commands.
    let own = fields(playbook, one).map(|(key, value)| (key.clone(), fill::quoted(value)));
    let mut values = with_values(playbook, own.chain(about(one)).collect());
    for text in TEXTS {
        values.entry(text.to_owned()).and_modify(|value| *value = fill::quoted(value));
    }
    let gate = filled(playbook, one.gate.as_ref()?, &values)?.0;
    let plain = gate_values(setup, one);
    let fill_in = |texts: &[String]| texts.iter().map(|text| fill::fill(text, &plain)).collect();
    let finds = gate.finds.iter().map(|(field, patterns)| (field.clone(), fill_in(patterns)));
    let coverage = gate.coverage.as_ref().map(|coverage| Coverage {
        files: fill_in(&coverage.files),
        target: fill::fill(&coverage.target, &plain),
    });
    Some(Gate { finds: finds.collect(), coverage, ..gate })
}

/// The value that says how much coverage the gate of a submission asks for.
pub(crate) fn coverage_switch<'a>(setup: &'a Setup, one: &Submission) -> Option<&'a str> {
    let gate = setup.playbook.as_ref()?.gates.get(one.gate.as_ref()?)?;
    gate.coverage.as_ref()?.target.strip_prefix('{')?.strip_suffix('}')
}

/// What placeholders stand for beside the commands of a submission's gate: the playbook's values,
/// and over them the fields of its task.
pub(crate) fn gate_values(setup: &Setup, one: &Submission) -> Values {
    let Some(playbook) = &setup.playbook else { return Values::new() };
    let own = fields(playbook, one).map(|(key, value)| (key.clone(), value.clone()));
    with_values(playbook, own.chain([("task".to_owned(), one.task.to_string())]).collect())
}

/// The fields of a submission's task. What a run says `no` to is no for every piece of work.
fn fields<'a>(
    playbook: &'a Playbook,
    one: &'a Submission,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    let is_off = |key: &String| playbook.values.get(key).is_some_and(|value| value == "no");
    one.fields.iter().filter(move |(key, _)| !is_off(key))
}

/// What a gate is told of a submission, as words for the shell.
fn about(one: &Submission) -> Vec<(String, String)> {
    let all: Vec<&str> = one.files.iter().map(|file| file.as_str()).collect();
    // Of a folder that is named beside files in it, these are meant.
    let is_in = |file: &str, folder: &str| {
        file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let holds = |folder: &str| all.iter().any(|file| is_in(file, folder));
    let files: Vec<&str> = all.iter().copied().filter(|file| !holds(file)).collect();
    let tests: Vec<&str> = files.iter().copied().filter(|file| fill::is_test(file)).collect();
    let words =
        |names: &[&str]| names.iter().map(|name| fill::quoted(name)).collect::<Vec<_>>().join(" ");
    let all = [
        ("files", words(&files)),
        ("tests", words(&tests)),
        ("path", words(if tests.is_empty() { &files } else { &tests })),
        ("task", one.task.to_string()),
        ("team", one.team.to_string()),
        ("id", fill::quoted(one.piece.as_deref().unwrap_or_default())),
    ];
    all.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

/// The playbook's values, which may name each other and these; and over them these, as they are.
fn with_values(playbook: &Playbook, more: Values) -> Values {
    let mut known = playbook.values.clone();
    known.extend(more.clone());
    let values = playbook.values.iter();
    let mut values: Values =
        values.map(|(key, value)| (key.clone(), fill::fill(value, &known))).collect();
    values.extend(more);
    values
}

/// A phase's gate with its commands filled in, and those that nothing is configured for. What a
/// phase knows beside the playbook's values may be anybody's words: in a command line it is one.
pub(crate) fn gate(
    playbook: &Playbook,
    name: &Name,
    values: &Values,
) -> Option<(Gate, Vec<String>)> {
    let words = |(key, value): (&String, &String)| {
        let is_text = TEXTS.contains(&key.as_str()) || !playbook.values.contains_key(key);
        let is_text = is_text && !value.is_empty();
        (key.clone(), if is_text { fill::quoted(value) } else { value.clone() })
    };
    filled(playbook, name, &values.iter().map(words).collect())
}

/// Where a value is unset that a gate needs, it is the other gate that it names.
fn filled(playbook: &Playbook, name: &Name, values: &Values) -> Option<(Gate, Vec<String>)> {
    let is_set = |key: &String| values.get(key).is_some_and(|value| !value.trim().is_empty());
    let mut gate = playbook.gates.get(name)?;
    // A gate that names itself, by way of others, ends where it began.
    for _ in 0..playbook.gates.len() {
        let other = gate.otherwise.as_ref().filter(|_| !gate.needs.iter().all(is_set));
        gate = other.and_then(|other| playbook.gates.get(other)).unwrap_or(gate);
    }
    let (mut commands, mut unset) = (Vec::new(), Vec::new());
    for line in &gate.commands {
        let filled = fill::fill(line, values);
        if filled.trim().is_empty() { unset.push(line.clone()) } else { commands.push(filled) }
    }
    Some((Gate { commands, red: filled_red(gate, values), ..gate.clone() }, unset))
}

/// Nothing where nothing is configured that could fail.
fn filled_red(gate: &Gate, values: &Values) -> Option<Red> {
    let red = gate.red.as_ref()?;
    let fill_in = |texts: &[String]| texts.iter().map(|text| fill::fill(text, values)).collect();
    let mut commands: Vec<String> = fill_in(&red.commands);
    commands.retain(|line| !line.trim().is_empty());
    let files: Vec<String> = fill_in(&red.files);
    (!commands.is_empty()).then(|| Red { commands, files, on: red.on.clone() })
}

/// The commands that would see new tests fail, where nothing is configured for any of them: by this
/// gate, or by those that stand in for it.
pub(crate) fn red_unset(playbook: &Playbook, name: &Name, values: &Values) -> Vec<String> {
    let (mut unset, mut next) = (Vec::new(), Some(name));
    // A gate that names itself, by way of others, ends where it began.
    for _ in 0..playbook.gates.len() {
        let Some(gate) = next.and_then(|name| playbook.gates.get(name)) else { break };
        if filled_red(gate, values).is_some() {
            return Vec::new();
        }
        unset.extend(gate.red.iter().flat_map(|red| red.commands.iter().cloned()));
        next = gate.otherwise.as_ref();
    }
    unset
}

/// What sees each of these tests fail by itself; nothing where the commands do not name the tests
/// they run. One real test would hide any number of empty ones beside it.
pub(crate) fn red_of_each<'a>(
    setup: &Setup,
    one: &Submission,
    red: &Red,
    tests: &'a BTreeSet<String>,
) -> Vec<(&'a str, Vec<String>)> {
    let each = tests.iter().filter_map(|test| {
        let files = FileSet::new(vec![test.parse().ok()?]);
        let own = own_gate(setup, &Submission { files, ..one.clone() })?.red?;
        Some((test.as_str(), own.commands))
    });
    let each: Vec<(&str, Vec<String>)> = each.collect();
    let is_named = each.iter().any(|(_, commands)| *commands != red.commands);
    if is_named { each } else { Vec::new() }
}

/// What has to succeed in a tree of this role's members before a task is begun there.
pub(crate) fn before_claim(setup: &Setup, role: Option<&Name>) -> Vec<String> {
    let Some(playbook) = &setup.playbook else { return Vec::new() };
    let name = playbook.role(role).and_then(|role| role.before_claim.as_ref());
    let values = with_values(playbook, Values::new());
    let gate = name.and_then(|name| filled(playbook, name, &values));
    gate.map(|(gate, _)| gate.commands).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::builtin;

    #[test]
    fn tests_that_nothing_sees_fail_are_named_only_where_no_test_command_is_set() {
        let mut book = builtin("contract-first").playbook;
        let focused: Name = "focused".parse().unwrap();
        let unset = |book: &Playbook| red_unset(book, &focused, &book.values);
        assert_eq!(unset(&book), ["{test_focused}", "{test_full}"]);
        book.values.insert("test_full".to_owned(), "make test".to_owned());
        assert!(unset(&book).is_empty());
        let full: Name = "full".parse().unwrap();
        assert!(red_unset(&book, &full, &Values::new()).is_empty(), "it asks for none");
    }
}
