//! Playbooks: ways of working as TOML files, and the engine that takes a team through one.
//!
//! A file is read and checked as a whole before anything starts, and recorded with the team in
//! its compiled form. From then on `engine` carries out what the core owes: it looks whether a
//! phase can begin, makes its tasks from templates and the work that was read, and looks at its
//! end. Nothing here knows any particular playbook; formats of files have their readers in
//! `work` and their writers in `artifact`.

mod alone;
pub(crate) mod artifact;
mod check;
mod compile;
mod condition;
mod config;
mod departments;
pub(crate) mod engine;
mod file;
mod fill;
mod ground;
mod lines;
mod outside;
mod read;
mod staff;
mod tasks;
mod work;

use std::path::{Path, PathBuf};

use shipmate_core::Name;
use shipmate_core::playbook::{Gate, Playbook};
use shipmate_core::setup::Setup;
use shipmate_protocol::problem::Problem;
use shipmate_protocol::{Place, Refused, ask};

use crate::merge::Submission;
use crate::open::refused;
use fill::Values;

/// The playbooks that come with shipmate.
pub(crate) const BUILTIN: [(&str, &str); 2] = [
    ("contract-first", include_str!("playbook/builtin/contract-first.toml")),
    ("departments", include_str!("playbook/builtin/departments.toml")),
];

/// The note of a task that says which piece of work it is about.
pub(crate) const PIECE: &str = "piece";

/// Problems in a refusal; the rest is for `check`.
const PROBLEMS_SHOWN: usize = 20;

/// Where a playbook lies.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) name: String,
    /// As it is shown: a path, or the name of one that comes with shipmate.
    pub(crate) file: String,
    pub(crate) text: String,
}

/// Finds a playbook by its name or path: the project's own come first.
pub(crate) fn find(name: &str, project: &Path) -> Result<Found, Refused> {
    let own = project.join("playbooks").join(format!("{name}.toml"));
    let path = PathBuf::from(name);
    let is_path = name.contains('/') || name.ends_with(".toml");
    let file = if is_path { Some(path) } else { own.exists().then_some(own) };
    if let Some(file) = file {
        let text = std::fs::read_to_string(&file).map_err(|e| {
            let text = format!("{} cannot be read: {e}", file.display());
            refused("NoPlaybook", text, "`shipmate playbook list` names those there are")
        })?;
        return Ok(Found { name: name.to_owned(), file: file.display().to_string(), text });
    }
    match BUILTIN.iter().find(|(own, _)| *own == name) {
        Some((_, text)) => {
            let (name, text) = (name.to_owned(), (*text).to_owned());
            Ok(Found { file: format!("{name} (built in)"), name, text })
        }
        None => {
            let text = format!("there is no playbook {name}");
            Err(refused("NoPlaybook", text, "`shipmate playbook list` names those there are"))
        }
    }
}

/// Reads, checks and compiles the playbook of a run, and takes over what it says about the team.
pub(crate) fn order(setup: &mut ask::Setup, place: &Place) -> Result<(), Refused> {
    let Some(order) = &mut setup.playbook else { return Ok(()) };
    let found = find(&order.name, &place.project())?;
    let compiled = compile::compile(&found.file, &found.text)
        .map_err(|problems| bad(&order.name, &problems))?;
    let mut playbook = compiled.playbook;
    if let Some((file, places)) = &compiled.config {
        let own = config::read(&place.workspace, file, places).map_err(|text| {
            refused("BadConfig", text, "mend the file, or give the values with --set")
        })?;
        playbook.values.extend(own);
    }
    playbook.values.extend(order.values.clone());
    departments::choose(&mut playbook)
        .map_err(|(text, help)| refused("NoDepartment", text, &help))?;
    for skip in &order.skip {
        let phase = playbook.phases.iter().find(|phase| phase.name.as_str() == skip);
        match phase {
            Some(phase) if phase.optional => playbook.skip.push(phase.name.clone()),
            Some(_) => {
                let text = format!("phase {skip} of {} cannot be left out", order.name);
                return Err(refused("PhaseNeeded", text, &optional(&playbook)));
            }
            None => {
                let text = format!("{} has no phase {skip}", order.name);
                return Err(refused("NoPhase", text, &optional(&playbook)));
            }
        }
    }
    let written = playbook.artifacts.iter().filter(|artifact| artifact.on_branch);
    let known = fill::resolved(&playbook.values);
    let written: Vec<String> =
        written.map(|artifact| fill::pattern(&artifact.path, &known)).collect();
    let value = serde_json::to_value(&playbook);
    order.compiled = Some(value.expect("a playbook is plain data"));
    setup.protected.extend(compiled.protected);
    setup.protected.extend(written);
    setup.timeout_ms = setup.timeout_ms.or(compiled.timeout_ms);
    setup.shutdown_ms = compiled.shutdown_ms.or(setup.shutdown_ms);
    Ok(())
}

/// Everything that is wrong, as one refusal.
fn bad(name: &str, problems: &[Problem]) -> Refused {
    let mut told = format!("the playbook {name} cannot be used");
    for problem in problems.iter().take(PROBLEMS_SHOWN) {
        told.push_str(&format!("\n{problem}"));
    }
    refused("BadPlaybook", told, "mend it; `shipmate playbook check` looks at it again")
}

/// The gate of a submission that has one of its own, filled in.
pub(crate) fn own_gate(setup: &Setup, one: &Submission) -> Option<Gate> {
    let playbook = setup.playbook.as_ref()?;
    let mut values = playbook.values.clone();
    let files: Vec<&str> = one.files.iter().map(|file| file.as_str()).collect();
    let tests: Vec<&str> = files.iter().copied().filter(|file| fill::is_test(file)).collect();
    let words =
        |names: &[&str]| names.iter().map(|name| fill::quoted(name)).collect::<Vec<_>>().join(" ");
    values.insert("files".to_owned(), words(&files));
    values.insert("tests".to_owned(), words(&tests));
    values.insert("path".to_owned(), words(if tests.is_empty() { &files } else { &tests }));
    values.insert("task".to_owned(), one.task.to_string());
    values.insert("id".to_owned(), fill::quoted(one.piece.as_deref().unwrap_or_default()));
    Some(gate(playbook, one.gate.as_ref()?, &fill::resolved(&values))?.0)
}

/// A gate with its commands filled in, and those that nothing is configured for. Where a value is
/// unset that it needs, it is the other gate that it names.
fn gate(playbook: &Playbook, name: &Name, values: &Values) -> Option<(Gate, Vec<String>)> {
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
    Some((Gate { commands, ..gate.clone() }, unset))
}

/// The subject of the commit with which a submission lands.
pub(crate) fn commit_subject(setup: &Setup, one: &Submission) -> String {
    let rule = setup.playbook.as_ref().map(|playbook| (&playbook.commit.message, playbook));
    let Some((message, playbook)) = rule.filter(|(message, _)| !message.is_empty()) else {
        return format!("task {}: {}", one.task, one.subject);
    };
    let mut values = playbook.values.clone();
    for (key, value) in [
        ("task", one.task.to_string()),
        ("id", one.alias.clone()),
        ("subject", one.subject.clone()),
        ("teammate", one.who.address.name.to_string()),
        ("team", one.team.to_string()),
    ] {
        values.insert(key.to_owned(), value);
    }
    fill::fill(message, &values)
}

fn optional(playbook: &Playbook) -> String {
    let can = playbook.phases.iter().filter(|phase| phase.optional);
    let can: Vec<&str> = can.map(|phase| phase.name.as_str()).collect();
    match can.is_empty() {
        true => "none of its phases can be left out".to_owned(),
        false => format!("these can be left out: {}", can.join(", ")),
    }
}
