//! `department-result-backend.json`: what a department came to, for whoever owns the whole.

use serde_json::{Value, json};
use shipmate_core::state::Course;

use super::plans::{self, Plan};
use super::{Files, Sight, first_line_of};

pub(super) fn render(sight: &Sight<'_>) -> Result<Files, String> {
    let (Some(team), Some(playbook)) = (sight.state.teams.get(sight.team), sight.playbook()) else {
        return Ok(Files::new());
    };
    let Some(course) = team.course.as_ref().filter(|course| course.is_over()) else {
        return Ok(Files::new());
    };
    let work = plans::read(sight);
    let plans = plans::of(sight, &work);
    let complete = |plan: &&Plan<'_>| plan.completed() == plan.pieces.len();
    let completed = plans.iter().filter(complete).count();
    let folder = sight.value("folder");
    let verdict = |file: &str| {
        let said = first_line_of(sight.ground, &format!("{folder}/{file}"))?;
        said.get("r").and_then(Value::as_str).map(str::to_owned)
    };
    let over = |phase: &str| {
        course.past.iter().any(|past| past.phase.as_str() == phase && past.began_at.is_some())
    };
    let of = |phase: &str, file: &str| match over(phase) {
        true => verdict(file).unwrap_or_else(|| "FAIL".to_owned()),
        false => "skipped".to_owned(),
    };
    let (qa, security) = (of("qa", "verification.jsonl"), of("security", "security-audit.jsonl"));
    let red = plans::red_first(sight.state, playbook, sight.team.as_str());
    let all: usize = plans.iter().map(|plan| plan.pieces.len()).sum();
    let covered = red.values().filter(|done| **done).count();
    let result = match is_whole(course, completed, plans.len()) {
        None => "FAIL",
        Some(true) if qa != "PARTIAL" => "PASS",
        Some(_) => "PARTIAL",
    };
    let value = json!({
        "type": "department_result",
        "department": playbook.department,
        "phase": sight.value("dir-number"),
        "result": result,
        "plans_completed": completed,
        "plans_total": plans.len(),
        "qa_result": qa,
        "security_result": security,
        "tdd_coverage": (covered * 100).checked_div(all).unwrap_or_default(),
    });
    Ok(vec![(sight.path.to_owned(), format!("{value}\n"))])
}

/// Nothing where it stopped; else whether all its plans are complete.
fn is_whole(course: &Course, completed: usize, plans: usize) -> Option<bool> {
    course.is_through().then_some(completed == plans)
}
