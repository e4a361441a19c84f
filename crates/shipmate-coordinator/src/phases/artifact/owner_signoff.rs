//! `owner-signoff.json`: whether the whole ships.
//!
//! All departments passed: SHIP. One failed, or a phase after them did: HOLD. Something is there
//! only in part: the owner decides, and until it has, the decision is OPEN.

use serde_json::{Value, json};
use shipmate_core::state::Status;
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::Department;

use super::{Files, Sight, first_line_of, plans};

pub(super) fn render(sight: &Sight<'_>) -> Result<Files, String> {
    let (Some(team), Some(playbook)) = (sight.state.teams.get(sight.team), sight.playbook()) else {
        return Ok(Files::new());
    };
    let Some(course) = &team.course else { return Ok(Files::new()) };
    let mut results = Vec::new();
    for own in &playbook.departments {
        let Some(result) = result(sight, own) else { return Ok(Files::new()) };
        results.push((own.name.as_str(), result));
    }
    let mut notes: Vec<String> = Vec::new();
    for past in &course.past {
        if let PhaseEnd::Passed { reason } = &past.end {
            notes.push(format!("{}: {reason}", past.phase));
        }
    }
    let has = |word: &str| results.iter().any(|(_, result)| result == word);
    let chosen = chosen(sight);
    let decision = match &chosen {
        _ if has("FAIL") || !notes.is_empty() => "HOLD",
        _ if !has("PARTIAL") => "SHIP",
        Some((decision, why)) => {
            notes.push(why.clone());
            if decision == "SHIP" { "SHIP" } else { "HOLD" }
        }
        None => "OPEN",
    };
    let ended = |phase: &str| course.past.iter().find(|past| past.phase.as_str() == phase);
    // A phase whose gate has no command has shown nothing.
    let is_tried = plans::has_commands(playbook, "integration");
    let integration = match ended("integration").map(|past| &past.end) {
        Some(PhaseEnd::Done { .. }) if !is_tried => "skipped",
        Some(PhaseEnd::Done { .. }) => "PASS",
        Some(PhaseEnd::Skipped { .. }) | None => "skipped",
        Some(_) => "FAIL",
    };
    let approved = |result: &str| result == "PASS" || (result == "PARTIAL" && decision == "SHIP");
    let approved: Vec<&str> =
        results.iter().filter(|(_, result)| approved(result)).map(|(name, _)| *name).collect();
    let value = json!({
        "type": "owner_signoff",
        "phase": sight.value("dir-number"),
        "decision": decision,
        "departments_approved": approved,
        "integration_qa": integration,
        "notes": notes.join("; "),
    });
    Ok(vec![(sight.path.to_owned(), format!("{value}\n"))])
}

/// What a department came to; nothing while it works. One that never began has failed.
fn result(sight: &Sight<'_>, own: &Department) -> Option<String> {
    let course = sight.state.teams.get(&own.team).and_then(|team| team.course.as_ref())?;
    if !course.is_over() {
        return None;
    }
    let folder = sight.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = format!("{folder}/department-result-{}.json", own.name);
    let written = first_line_of(sight.ground, path.trim_start_matches('/'));
    let written = written.and_then(|value| Some(value.get("result")?.as_str()?.to_owned()));
    Some(match (course.is_through(), written) {
        (true, Some(result)) => result,
        _ => "FAIL".to_owned(),
    })
}

/// The owner's word, where it was asked in this run.
fn chosen(sight: &Sight<'_>) -> Option<(String, String)> {
    let folder = sight.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = format!("{folder}/owner-decision.json");
    let path = path.trim_start_matches('/');
    let asked = sight.state.tasks().iter().filter(|task| task.team == *sight.team).any(|task| {
        matches!(task.status, Status::Completed { .. })
            && task.spec.files.iter().any(|file| file.as_str() == path)
    });
    let said = first_line_of(sight.ground, path).filter(|_| asked)?;
    let text = |key: &str| said.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some((text("decision"), text("notes")))
}
