//! Conditions: whether what a phase needs or promises is there.

mod written;

use serde_json::Value;
use shipmate_core::State;
use shipmate_core::state::Team;
use shipmate_model::Name;
use shipmate_model::playbook::{Condition, Playbook, Test, Which};
use shipmate_playbook::fill::{Values, fill};
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_workspace::Commit;

/// What a condition may look at.
pub(crate) struct Scene<'a> {
    pub(crate) ground: &'a ProjectFiles,
    pub(crate) values: &'a Values,
    /// Where the team began.
    pub(crate) base: Option<&'a Commit>,
}

/// What a list of conditions comes to, each with the crossing it is of. A crossing whose
/// departments do not all take part asks for nothing; one of which a department never began
/// does not hold.
pub(crate) fn asked(
    playbook: &Playbook,
    conditions: &[Condition],
) -> Vec<(Option<Name>, Condition)> {
    let mut found = Vec::new();
    for condition in conditions {
        let Condition::Crossing { name } = condition else {
            found.push((None, condition.clone()));
            continue;
        };
        let Some(crossing) = playbook.crossings.get(name) else { continue };
        if !playbook.has_departments(&crossing.of) {
            continue;
        }
        if crossing.through {
            let all = playbook.departments.iter().map(|own| &own.name);
            let of = all.filter(|own| crossing.of.is_empty() || crossing.of.contains(own));
            let through = of.map(|own| Condition::Department { name: own.clone() });
            found.extend(through.map(|one| (Some(name.clone()), one)));
        }
        found.extend(crossing.needs.iter().map(|one| (Some(name.clone()), one.clone())));
    }
    found
}

/// With the crossing that it is of.
pub(crate) fn named(crossing: Option<&Name>, why: String) -> String {
    match crossing {
        Some(name) => format!("{name}: {why}"),
        None => why,
    }
}

/// A condition that needs no file: why it does not hold.
pub(crate) fn in_team(
    state: &State,
    playbook: &Playbook,
    team: &Team,
    condition: &Condition,
) -> Option<String> {
    match condition {
        Condition::File { .. } | Condition::Crossing { .. } => None,
        Condition::Department { name } => {
            let department = playbook.departments.iter().find(|own| own.name == *name);
            let course = department.and_then(|own| state.teams.get(&own.team)?.course.as_ref());
            match course {
                Some(course) if course.is_through() => None,
                Some(course) if course.is_over() => Some(format!("department {name} has stopped")),
                Some(course) => Some(format!("department {name} is in phase {}", course.phase)),
                None => Some(format!("department {name} has not begun")),
            }
        }
        Condition::Phase { name } => {
            let over = team.course.as_ref().and_then(|course| course.end_of(name));
            over.is_none().then(|| format!("phase {name} is not over"))
        }
    }
}

impl Scene<'_> {
    /// Why a condition about files does not hold.
    pub(crate) fn missing(&self, condition: &Condition) -> Result<Option<String>, String> {
        let Condition::File { path, test } = condition else { return Ok(None) };
        let path = fill(path, self.values);
        if *test == Test::Changed {
            let changed = self.ground.changed(self.base, &path)?;
            let place = if path == "." { String::new() } else { format!(" in {path}") };
            return Ok(changed.is_empty().then(|| format!("nothing was changed{place}")));
        }
        if let Test::LinesMax(_) | Test::Lacks(_) = test {
            return self.written(self.ground.changed(self.base, &path)?, test);
        }
        let files = self.ground.find(&path)?;
        if files.is_empty() {
            return Ok(Some(format!("{path} is not there")));
        }
        for file in files {
            let text = self.ground.read(&file)?.unwrap_or_default();
            if let Some(why) = fails(&text, test) {
                return Ok(Some(format!("{file} {why}")));
            }
        }
        Ok(None)
    }
}

impl Scene<'_> {
    /// Tests of what the team itself has written: what was there before is nobody's fault.
    fn written(&self, files: Vec<String>, test: &Test) -> Result<Option<String>, String> {
        for file in files {
            let text = self.ground.read(&file)?.unwrap_or_default();
            let before = self.ground.read_at(self.base, &file)?.unwrap_or_default();
            if text == before {
                continue;
            }
            let why = match test {
                Test::LinesMax(max) => written::too_long(&text, &before, *max),
                Test::Lacks(marks) => written::still_has(&text, &before, marks),
                _ => None,
            };
            if let Some(why) = why {
                return Ok(Some(format!("{file} {why}")));
            }
        }
        Ok(None)
    }
}

pub(crate) fn fails(text: &str, test: &Test) -> Option<String> {
    if text.trim().is_empty() {
        return Some("is empty".to_owned());
    }
    match test {
        Test::Exists | Test::LinesMax(_) | Test::Lacks(_) | Test::Changed => None,
        Test::Json => records(text).err(),
        Test::Line { which, key, is } => {
            let records = match records(text) {
                Ok(records) => records,
                Err(why) => return Some(why),
            };
            let fits = |record: &Value| has(record, key, is);
            let holds = match which {
                Which::First => records.first().is_some_and(fits),
                Which::Any => records.iter().any(fits),
                Which::Rest => records.len() > 1 && records.iter().skip(1).all(fits),
                Which::All => records.iter().all(fits),
            };
            let wanted = if is.is_empty() { "something".to_owned() } else { is.join(" or ") };
            let lines = match which {
                Which::First => "its first line does not say",
                Which::Any => "no line of it says",
                Which::Rest => "not every line after the first says",
                Which::All => "not every line says",
            };
            (!holds).then(|| format!("is not far enough: {lines} {key} is {wanted}"))
        }
    }
}

/// The whole as one value, or a value a line.
fn records(text: &str) -> Result<Vec<Value>, String> {
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return Ok(vec![value]);
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|e| format!("is not JSON in line {}: {e}", at + 1))
        })
        .collect()
}

fn has(record: &Value, key: &str, is: &[String]) -> bool {
    let found = key.split('.').try_fold(record, |value, part| value.get(part));
    let text = match found {
        None | Some(Value::Null) => return false,
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) if items.is_empty() => return false,
        Some(other) => other.to_string(),
    };
    if is.is_empty() { !text.trim().is_empty() } else { is.contains(&text) }
}
