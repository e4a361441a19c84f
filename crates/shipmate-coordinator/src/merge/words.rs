//! Whether work stays within its bounds, and the words in which it goes back.

use shipmate_model::files::{FileSet, Pattern};

use super::Submission;
use super::gate::GateResult;

/// Most files that one question may be about.
const GRANTABLE_MAX: usize = 100;
/// How many names a reason lists before it only counts them.
const NAMED_MAX: usize = 10;

/// The changed paths that this submission may not touch.
pub(super) fn outside<'a>(
    one: &Submission,
    protected: &FileSet,
    paths: impl Iterator<Item = &'a str>,
) -> Option<(Option<FileSet>, String)> {
    let mut patterns = Vec::new();
    let mut why = Vec::new();
    for path in paths {
        let Ok(pattern) = path.parse::<Pattern>() else {
            why.push(format!("{path} (its name cannot be granted)"));
            continue;
        };
        if one.granted.covers(&pattern) {
            continue;
        }
        let reason = if protected.covers(&pattern) && !one.may.covers(&pattern) {
            "protected"
        } else if !one.files.is_empty() && !one.files.covers(&pattern) {
            "not among the task's files"
        } else if !one.scope.is_empty() && !one.scope.covers(&pattern) {
            "outside the teammate's scope"
        } else {
            continue;
        };
        why.push(format!("{path} ({reason})"));
        patterns.push(pattern);
    }
    if why.is_empty() {
        return None;
    }
    let reason = format!("its work changes files that are not its own: {}", some(&why));
    // More than anybody could look through goes back instead of becoming a question.
    let files = (patterns.len() <= GRANTABLE_MAX).then(|| FileSet::new(patterns));
    Some((files, reason))
}

pub(super) fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        n if n > NAMED_MAX => format!("{shown} and {} more", n - NAMED_MAX),
        _ => shown,
    }
}

/// Who broke what: the tests, the change, and what it was merged with.
pub(super) fn blame(one: &Submission, result: &GateResult, beside: &[Submission]) -> String {
    let who = &one.who.address.name;
    let what = if result.unprepared { "the set-up of the tree fails" } else { "the gate is red" };
    let mut text = format!("{what} with the change of {who} (task {})", one.task);
    if !result.failing.is_empty() {
        text.push_str(&format!("; failing: {}", some(&result.failing)));
    }
    if !beside.is_empty() {
        let names: Vec<String> = beside
            .iter()
            .map(|one| format!("task {} of {}", one.task, one.who.address.name))
            .collect();
        text.push_str(&format!("; landed just before it, and green: {}", some(&names)));
    }
    format!("{text}\n{}", result.evidence)
}
