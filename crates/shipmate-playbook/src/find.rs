//! Where playbooks lie, and the one that a run is given: found, checked, compiled, with its values.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use shipmate_model::files::Pattern;
use shipmate_model::playbook::Playbook;
use shipmate_process::regular_file::read_whole;
use shipmate_protocol::problem::Problem;
use shipmate_protocol::verbs::PLAYBOOK_BYTES_MAX;
use shipmate_protocol::{Code, Place, Refused, plan_file, refused, verbs};

use crate::{compile, config, departments, fill};

/// The playbooks that come with shipmate.
pub const BUILTIN: [(&str, &str); 5] = [
    ("board", include_str!("builtin/board.toml")),
    ("contract-first", include_str!("builtin/contract-first.toml")),
    ("delegate", include_str!("builtin/delegate.toml")),
    ("departments", include_str!("builtin/departments.toml")),
    ("features", include_str!("builtin/features.toml")),
];

/// Problems in a refusal; the rest is for `check`.
const PROBLEMS_SHOWN: usize = 20;

/// What a run may set though the playbook has no value of that name.
const OF_A_RUN: [&str; 8] =
    ["approved", "branch", "departments", "dir", "goal", "plans", "single", "title"];

/// Where a playbook lies.
#[derive(Debug, Clone)]
pub struct Found {
    pub name: String,
    /// As it is shown: a path, or the name of one that comes with shipmate.
    pub file: String,
    pub text: String,
    pub builtin: bool,
}

/// The playbook that is asked for: by its name, or with its text.
pub fn given(file: &verbs::PlaybookFile, project: &Path) -> Result<Found, Refused> {
    let Some(text) = &file.text else { return find(&file.name, project) };
    if text.len() > PLAYBOOK_BYTES_MAX {
        let long = format!("{} is longer than {PLAYBOOK_BYTES_MAX} bytes", file.name);
        return Err(refused(Code::BadPlaybook, long, "a playbook is a short TOML file"));
    }
    let stem = Path::new(&file.name).file_stem().unwrap_or_default();
    let name = stem.to_string_lossy().into_owned();
    Ok(Found { name, file: file.name.clone(), text: text.clone(), builtin: false })
}

/// Finds a playbook by its name: the project's own come first. A path is never read: whoever may
/// ask is not always whoever may look there.
pub fn find(name: &str, project: &Path) -> Result<Found, Refused> {
    let unknown = |text: String| refused(Code::UnknownPlaybook, text, &known(project));
    if name.contains('/') || name.ends_with(".toml") {
        let text = format!("{name:?} is a path, and no request reads one");
        let remedy = "put the file into .shipmate/playbooks/ and give its name";
        return Err(refused(Code::UnknownPlaybook, text, remedy));
    }
    let file = project.join("playbooks").join(format!("{name}.toml"));
    let shown = shown(name);
    let builtin = BUILTIN.iter().find(|(own, _)| *own == name);
    let name = name.to_owned();
    match (read_whole(&file, PLAYBOOK_BYTES_MAX), builtin) {
        (Ok(bytes), _) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Found { name, file: shown, text, builtin: false }),
            Err(_) => Err(unknown(format!("{shown} is not UTF-8"))),
        },
        (Err(e), Some((_, text))) if e.kind() == std::io::ErrorKind::NotFound => {
            let file = format!("{name} (built in)");
            Ok(Found { file, name, text: (*text).to_owned(), builtin: true })
        }
        (Err(e), None) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(unknown(format!("there is no playbook {name}")))
        }
        (Err(e), _) => Err(unknown(format!("{shown} cannot be read: {e}"))),
    }
}

/// Where one of the project's own lies, as it is shown.
pub fn shown(name: &str) -> String {
    format!(".shipmate/playbooks/{name}.toml")
}

/// The names of the project's own playbooks, in order.
pub fn own_playbooks(project: &Path) -> Vec<String> {
    let files = std::fs::read_dir(project.join("playbooks")).into_iter().flatten().flatten();
    let names = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        name.strip_suffix(".toml").map(str::to_owned)
    });
    let names: BTreeSet<String> = names.collect();
    names.into_iter().collect()
}

fn known(project: &Path) -> String {
    let builtin = BUILTIN.iter().map(|(name, _)| (*name).to_owned());
    let all: BTreeSet<String> = own_playbooks(project).into_iter().chain(builtin).collect();
    let all: Vec<String> = all.into_iter().collect();
    format!("there are {}; a file is named with its path", all.join(", "))
}

/// Reads, checks and compiles the playbook of a run, and takes over what it says about the team.
pub fn order(setup: &mut verbs::Setup, place: &Place) -> Result<Option<Playbook>, Refused> {
    let Some(order) = &mut setup.playbook else { return Ok(None) };
    let file = verbs::PlaybookFile { name: order.name.clone(), text: order.text.take() };
    let found = given(&file, &place.project())?;
    let compiled = compile::compile(&found.file, &found.text)
        .map_err(|problems| bad(&order.name, &problems))?;
    let mut playbook = compiled.playbook;
    if let Some((file, places)) = &compiled.config {
        let own = config::read(&place.workspace, file, places).map_err(|text| {
            refused(Code::BadConfig, text, "mend the file, or give the values with --set")
        })?;
        playbook.values.extend(own);
    }
    known_values(&playbook, &order.values)?;
    playbook.values.extend(order.values.clone());
    departments::choose(&mut playbook)
        .map_err(|(text, help)| refused(Code::NoDepartment, text, &help))?;
    for skip in &order.skip {
        let phase = playbook.phases.iter().find(|phase| phase.name.as_str() == skip);
        match phase {
            Some(phase) if phase.optional => playbook.skip.push(phase.name.clone()),
            Some(_) => {
                let text = format!("phase {skip} of {} cannot be left out", order.name);
                return Err(refused(Code::PhaseNeeded, text, &optional(&playbook)));
            }
            None => {
                let text = format!("{} has no phase {skip}", order.name);
                return Err(refused(Code::NoPhase, text, &optional(&playbook)));
            }
        }
    }
    name_branch(&mut playbook);
    for role in playbook.roles.values_mut().filter(|role| role.lead && !order.lead.is_empty()) {
        role.agent.clone_from(&order.lead);
    }
    let known = fill::resolved(&playbook, []);
    takes(&playbook, &known, place)?;
    let mut written = Vec::new();
    for artifact in &playbook.artifacts {
        let path = fill::pattern(&artifact.path, &known);
        if let Err(e) = path.parse::<Pattern>() {
            let text = format!("{} would write {path}: {e}", order.name);
            return Err(refused(Code::BadPath, text, "name a folder of the repository"));
        }
        written.extend(artifact.on_branch.then_some(path));
    }
    let value = serde_json::to_value(&playbook);
    order.compiled = Some(value.expect("a playbook is plain data"));
    setup.protected.extend(compiled.protected);
    setup.protected.extend(written);
    setup.timeout_ms = setup.timeout_ms.or(compiled.timeout_ms);
    setup.shutdown_ms = compiled.shutdown_ms.or(setup.shutdown_ms);
    Ok(Some(playbook))
}

/// A playbook whose work lies below a folder is not given a file.
fn takes(playbook: &Playbook, known: &fill::Values, place: &Place) -> Result<(), Refused> {
    let Some((work, dir)) = playbook.work.as_ref().zip(known.get("dir")) else { return Ok(()) };
    let below = format!("{dir}/");
    let mut files = work.files.iter().map(|file| fill::fill(file, known));
    if !files.any(|file| file.starts_with(&below)) || !place.workspace.join(dir).is_file() {
        return Ok(());
    }
    let text = format!("{} works on a folder, and {dir} is a file", playbook.name);
    let remedy = format!(
        "give the folder, in which it takes {}; `--playbook none` runs a plan file as it is",
        work.files.join(", ").replace("{dir}/", "")
    );
    Err(refused(Code::NoFolder, text, &remedy))
}

/// The teams that a run's departments become.
pub fn departments_of(order: &verbs::PlaybookOrder) -> Vec<String> {
    let compiled = order.compiled.as_ref().map(|value| &value["departments"]);
    let all = compiled.and_then(|value| value.as_array()).into_iter().flatten();
    all.filter_map(|own| own["team"].as_str().map(str::to_owned)).collect()
}

/// A branch is named after values that may be sentences: in its name they are words with dashes.
/// What nobody gave is taken from the name of the plan, where that says it.
fn name_branch(playbook: &mut Playbook) {
    let known = fill::resolved(playbook, []);
    let known = known.iter().map(|(key, value)| (key.clone(), fill::slug(value)));
    let mut known: fill::Values = known.collect();
    known.remove("branch");
    for (key, value) in values_of_plan(playbook.values.get("dir").map_or("", |dir| dir)) {
        known.entry(key.to_owned()).or_insert(value);
    }
    if let Some(branch) = playbook.values.get_mut("branch") {
        *branch = fill::fill(branch, &known);
        known.insert("branch".to_owned(), branch.clone());
    }
    playbook.commit.branch = fill::fill(&playbook.commit.branch, &known);
}

/// A run sets what the playbook knows, and what its values have room for.
fn known_values(playbook: &Playbook, given: &BTreeMap<String, String>) -> Result<(), Refused> {
    let room = playbook.values.values().flat_map(|value| fill::placeholders(value));
    let room: BTreeSet<&str> = room.collect();
    let known = playbook.values.keys().map(String::as_str).chain(OF_A_RUN).chain(room);
    let known: BTreeSet<&str> = known.collect();
    let Some(strange) = given.keys().find(|key| !known.contains(key.as_str())) else {
        return Ok(());
    };
    let known: Vec<&str> = known.into_iter().collect();
    let text = format!("{} has no value {strange}", playbook.name);
    Err(refused(Code::NoValue, text, &format!("there are {}", known.join(", "))))
}

/// Everything that is wrong, as one refusal.
pub fn bad(name: &str, problems: &[Problem]) -> Refused {
    let mut told = format!("the playbook {name} cannot be used");
    for problem in problems.iter().take(PROBLEMS_SHOWN) {
        told.push_str(&format!("\n{problem}"));
    }
    refused(Code::BadPlaybook, told, "mend it; `shipmate playbook check` looks at it again")
}

fn optional(playbook: &Playbook) -> String {
    let can = playbook.phases.iter().filter(|phase| phase.optional);
    let can: Vec<&str> = can.map(|phase| phase.name.as_str()).collect();
    match can.is_empty() {
        true => "none of its phases can be left out".to_owned(),
        false => format!("these can be left out: {}", can.join(", ")),
    }
}

/// What the name of a plan says about its issue: `plans/issue-42-greetings.md`.
pub fn values_of_plan(plan: &str) -> Vec<(&'static str, String)> {
    let name = plan_file::team_name(Path::new(plan)).to_ascii_lowercase();
    let Some(rest) = name.strip_prefix("issue").map(|rest| rest.trim_start_matches(['-', '_']))
    else {
        return Vec::new();
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(end);
    let is_apart = rest.is_empty() || rest.starts_with(['-', '_']);
    if number.is_empty() || !is_apart {
        return Vec::new();
    }
    let description = rest.trim_matches(['-', '_']);
    let found = [("issue_num", number), ("description", description)];
    let found = found.into_iter().filter(|(_, value)| !value.is_empty());
    found.map(|(key, value)| (key, value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_is_called_after_its_issue_says_number_and_description() {
        let found = |plan: &str| {
            let found = values_of_plan(plan).into_iter();
            found.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        for (plan, says) in [
            ("plans/issue-42-greetings.md", "issue_num=42 description=greetings"),
            ("plans/Issue_7_two_words.md", "issue_num=7 description=two_words"),
            ("plans/issue-42.md", "issue_num=42"),
            ("plans/issues.md", ""),
            ("plans/issue-4b.md", ""),
            ("plans/2024-report.md", ""),
            ("plans", ""),
            ("", ""),
        ] {
            assert_eq!(found(plan), says, "{plan}");
        }
    }
}
