//! What a gate asks beyond its commands: files that must be there, the test that a task names,
//! and how much of the touched lines its tests reach.
//!
//! It is looked at on the merged tree on which the commands have passed, so that what counts is
//! what would land. What was found goes into the task's fields, for whoever writes or reads it.

use std::collections::BTreeMap;
use std::path::Path;

use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::playbook::{Coverage, Gate};
use shipmate_playbook::coverage::{self, Touched};
use shipmate_playbook::fill::{Values, is_test};
use shipmate_playbook::project_files::{ProjectFiles, read_inside};
use shipmate_workspace::Commit;

use super::condition::Scene;

/// What is weighed.
pub(crate) struct Case<'a> {
    /// Its commands and coverage filled in.
    pub(crate) gate: &'a Gate,
    /// The playbook's values, and over them the task's own fields.
    pub(crate) values: &'a Values,
    /// Of the task; empty: any.
    pub(crate) files: &'a FileSet,
    /// The merged files, and where they lie with what the gate has written.
    pub(crate) ground: &'a ProjectFiles,
    pub(crate) tree: &'a Path,
    /// Where the work began.
    pub(crate) base: Option<&'a Commit>,
    /// What the work changes; absent where nobody can say.
    pub(crate) touched: Option<&'a Touched>,
    /// The value with which a run asks for no coverage, where the playbook has one.
    pub(crate) switch: Option<&'a str>,
}

/// What was found, for the task's fields; or why it is not enough.
pub(crate) type Found = Result<BTreeMap<String, String>, String>;

/// Whether a gate asks anything beyond its commands.
pub(crate) fn asks(gate: &Gate) -> bool {
    !gate.exit.is_empty() || !gate.finds.is_empty() || gate.coverage.is_some()
}

/// A report of an earlier run says nothing about this one.
pub(crate) fn forget_reports(gate: &Gate, tree: &Path) {
    for file in gate.coverage.iter().flat_map(reports) {
        drop(std::fs::remove_file(tree.join(file)));
    }
}

pub(crate) fn weigh(case: &Case<'_>) -> Result<Found, String> {
    let mut fields = BTreeMap::new();
    let mut missing = Vec::new();
    for (field, patterns) in &case.gate.finds {
        match case.find(field, patterns)? {
            Ok(path) => drop(fields.insert(field.clone(), path)),
            Err(why) => missing.push(why),
        }
    }
    let mut values = case.values.clone();
    values.extend(fields.clone());
    let scene = Scene { ground: case.ground, values: &values, base: case.base };
    for condition in &case.gate.exit {
        missing.extend(scene.missing(condition)?);
    }
    if let Some(coverage) = &case.gate.coverage {
        match case.covered(coverage)? {
            Ok(percent) => {
                fields.extend(percent.map(|percent| ("coverage".to_owned(), percent)));
            }
            Err(why) => missing.push(why),
        }
    }
    Ok(if missing.is_empty() { Ok(fields) } else { Err(missing.join("\n")) })
}

impl Case<'_> {
    /// The file that a field names, or the first change that looks like it.
    fn find(&self, field: &str, patterns: &[String]) -> Result<Result<String, String>, String> {
        let mut parsed = Vec::new();
        for pattern in patterns {
            parsed.push(pattern.parse::<Pattern>().map_err(|e| e.to_string())?);
        }
        let wanted = FileSet::new(parsed);
        if let Some(own) = self.values.get(field).filter(|own| !own.trim().is_empty()) {
            if !own.parse().is_ok_and(|own: Pattern| wanted.covers(&own)) {
                let like = patterns.join(", ");
                return Ok(Err(format!("its {field} is {own}, and that is no file like {like}")));
            }
            let there = self.ground.read(own)?.is_some_and(|text| !text.trim().is_empty());
            return Ok(match there {
                true => Ok(own.clone()),
                false => Err(format!("its {field} is {own}, and that is not there")),
            });
        }
        let changed: Vec<String> = match self.touched {
            Some(touched) => touched.keys().cloned().collect(),
            None => self.ground.find(".")?,
        };
        let fits = |path: &&String| {
            path.parse().is_ok_and(|path: Pattern| {
                wanted.covers(&path) && (self.files.is_empty() || self.files.covers(&path))
            })
        };
        Ok(changed.iter().find(fits).cloned().ok_or_else(|| {
            format!(
                "it has no {field}: its work holds no file like {}; write one, or name the one that \
                 there is in the task's metadata",
                patterns.join(", ")
            )
        }))
    }

    /// Per cent of the touched lines, where there are any that count.
    fn covered(&self, asked: &Coverage) -> Result<Result<Option<String>, String>, String> {
        let Some(target) = target_of(&asked.target)? else { return Ok(Ok(None)) };
        let (path, text) = match self.report(asked) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let report = match coverage::read(&path, &text, self.tree) {
            Ok(report) => report,
            Err(why) => return Ok(Err(why)),
        };
        let all: Touched;
        let touched = match self.touched {
            Some(touched) => touched,
            None => {
                let own = |path: &&String| {
                    path.parse().is_ok_and(|path| self.files.is_empty() || self.files.covers(&path))
                };
                let own = report.keys().filter(own);
                all = own.map(|path| (path.clone(), vec![1..=u32::MAX])).collect();
                &all
            }
        };
        let reached = coverage::weigh(&report, touched, is_test);
        Ok(match reached.below(target) {
            Some(why) => Err(why),
            None => Ok(reached.percent().map(|percent| percent.to_string())),
        })
    }

    fn report(&self, asked: &Coverage) -> Result<(String, String), String> {
        let files = reports(asked);
        for file in &files {
            let text = read_inside(self.tree, file).ok().and_then(|b| String::from_utf8(b).ok());
            if let Some(text) = text {
                return Ok((file.clone(), text));
            }
        }
        let switch = self.switch.map(|key| format!(", or runs with --set {key}=no"));
        Err(format!(
            "its coverage is not known: the gate ({}) has written none of {}; no change of this task \
             mends that: tell the lead. The person who started the run lets the gate write one{}",
            self.gate.commands.join("; "),
            files.join(", "),
            switch.unwrap_or_default()
        ))
    }
}

/// Where a report may lie, in the tree and nowhere else; a value may name several.
fn reports(coverage: &Coverage) -> Vec<String> {
    let each = coverage.files.iter().flat_map(|text| text.split_whitespace());
    each.filter(|path| path.parse::<Pattern>().is_ok()).map(str::to_owned).collect()
}

/// Per cent; nothing where it is not asked for.
fn target_of(text: &str) -> Result<Option<f64>, String> {
    match text.trim() {
        "" | "no" => Ok(None),
        number => match number.parse::<f64>() {
            Ok(target) if (0.0..=100.0).contains(&target) => Ok(Some(target)),
            _ => Err(format!("{number:?} is no coverage target: name per cent, or `no`")),
        },
    }
}
