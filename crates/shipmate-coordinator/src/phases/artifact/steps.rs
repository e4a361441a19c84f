//! How far departments are, in the files that others watch: `.dept-status-backend.json`,
//! `.execution-state.json`, `.phase-orchestration.json`. They are views: a file that somebody
//! else left there, or broke, counts for nothing and is replaced.

use serde_json::{Map, Value, json};
use shipmate_core::state::{Course, Past, Standing};
use shipmate_core::state::{Status, Team};
use shipmate_model::pause::Pause;
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::{Condition, Level, Phase, Playbook};
use shipmate_playbook::fill::fill;

use super::{Files, Sight, moment, plans};

pub(super) fn department_status(sight: &Sight<'_>) -> Result<Files, String> {
    let Some((team, playbook, course)) = at(sight) else { return Ok(Files::new()) };
    let (complete, total) = plans::tally(sight.state, sight.team.as_str());
    let (status, error) = standing(team, course);
    let value = json!({
        "dept": playbook.department,
        "status": status,
        "step": course.phase,
        "started_at": began(course).map(moment::iso),
        "updated_at": moment::iso(updated(team, course)),
        "plans_complete": complete,
        "plans_total": total,
        "error": error,
    });
    Ok(vec![(sight.path.to_owned(), format!("{value}\n"))])
}

pub(super) fn execution_state(sight: &Sight<'_>) -> Result<Files, String> {
    let Some((team, playbook, course)) = at(sight) else { return Ok(Files::new()) };
    let above =
        team.parent.as_ref().and_then(|parent| sight.state.teams.get(parent)?.course.as_ref());
    let mut steps = Map::new();
    for phase in before_departments(playbook) {
        let past = above.and_then(|above| last(above, phase));
        let step = step(sight, phase, past, above.filter(|above| above.phase == phase.name));
        steps.insert(phase.name.to_string(), step);
    }
    let without = playbook.own_department().map(|own| own.without.clone()).unwrap_or_default();
    let own = |phase: &&Phase| playbook.departments.is_empty() || phase.level == Level::Team;
    for phase in playbook.phases.iter().filter(own) {
        let step = match without.contains(&phase.name) {
            true => {
                json!({ "status": "skipped", "reason": format!("{} has no such step", sight.team) })
            }
            false => step(
                sight,
                phase,
                last(course, phase),
                (course.phase == phase.name).then_some(course),
            ),
        };
        steps.insert(phase.name.to_string(), step);
    }
    let plans = listed_plans(sight);
    let wave = |plan: &Value| plan.get("wave").and_then(Value::as_u64);
    let open = plans.iter().filter(|plan| plan["status"] != "complete").filter_map(wave).min();
    let waves = plans.iter().filter_map(wave).max();
    let status = if course.is_over() { "complete" } else { "running" };
    let value = json!({
        "phase": sight.value("dir-number").parse::<u64>().ok(),
        "phase_name": sight.value("dir-name"),
        "status": status,
        "started_at": began(course).map(moment::iso),
        "step": course.phase,
        "wave": open.or(waves),
        "total_waves": waves,
        "plans": plans,
        "steps": steps,
    });
    Ok(vec![(sight.path.to_owned(), format!("{value}\n"))])
}

pub(super) fn orchestration(sight: &Sight<'_>) -> Result<Files, String> {
    let Some((team, playbook, course)) = at(sight) else { return Ok(Files::new()) };
    let mut departments = Map::new();
    for own in &playbook.departments {
        let found = sight.state.teams.get(&own.team);
        let there = found.and_then(|team| Some((team, team.course.as_ref()?)));
        let value = match there {
            None => {
                json!({ "status": "pending", "step": null, "started": null, "completed": null })
            }
            Some((team, course)) => {
                let ended = course.past.last().filter(|_| course.is_over());
                json!({
                    "status": standing(team, course).0,
                    "step": course.phase,
                    "started": began(course).map(moment::iso),
                    "completed": ended.map(|past| moment::iso(past.ended_at)),
                })
            }
        };
        departments.insert(own.name.to_string(), value);
    }
    let gates: Map<String, Value> = playbook
        .crossings
        .keys()
        .map(|name| (name.to_string(), crossing(sight, playbook, course, name.as_str())))
        .collect();
    let of = |phase: &str| {
        json!({ "status": playbook.phases.iter().find(|own| own.name.as_str() == phase)
        .map_or("pending", |own| {
            let is_now = course.phase == own.name && !course.is_over();
            phase_word(last(course, own), is_now)
        }) })
    };
    let security =
        sight.state.teams.values().filter(|team| team.parent.as_ref() == Some(sight.team));
    let mut security =
        security.filter_map(|team| team.course.as_ref()).flat_map(|course| &course.past);
    let security = security.rfind(|past| past.phase.as_str() == "security");
    let minutes = playbook.phases.iter().filter_map(|phase| phase.deadline_ms).max();
    let several = playbook.departments.len() > 1;
    let only = playbook.departments.first().map(|own| format!("{}_only", own.name));
    let value = json!({
        "phase": sight.value("dir-number"),
        "multi_dept": several,
        "workflow": if several { "parallel".to_owned() } else { only.unwrap_or_default() },
        "departments": departments,
        "gates": gates,
        "integration_qa": of("integration"),
        "security": { "status": security.map_or("pending", |past| phase_word(Some(past), false)) },
        "owner_signoff": of("owner_signoff"),
        "started_at": moment::iso(team.created_at),
        "timeout_minutes": minutes.map(|ms| ms / 60_000),
    });
    Ok(vec![(sight.path.to_owned(), format!("{value}\n"))])
}

fn at<'a>(sight: &Sight<'a>) -> Option<(&'a Team, &'a Playbook, &'a Course)> {
    let team = sight.state.teams.get(sight.team)?;
    Some((team, team.setup.playbook.as_deref()?, team.course.as_ref()?))
}

/// A status in the words of these files, and what went wrong.
fn standing(team: &Team, course: &Course) -> (&'static str, String) {
    let failed = course.past.iter().rev().find_map(|past| match &past.end {
        PhaseEnd::Failed { reason } => Some(reason.clone()),
        _ => None,
    });
    match (course.is_over(), failed) {
        (true, None) => ("complete", String::new()),
        (true, Some(reason)) => ("failed", reason),
        (false, _) if team.paused.is_some() => {
            ("blocked", team.paused.as_ref().map(Pause::describe).unwrap_or_default())
        }
        (false, _) if course.past.is_empty() && !is_running(course) => ("pending", String::new()),
        (false, _) => ("running", String::new()),
    }
}

fn is_running(course: &Course) -> bool {
    matches!(course.standing, Standing::Running { .. })
}

fn began(course: &Course) -> Option<u64> {
    let running = match course.standing {
        Standing::Running { began_at, .. } => Some(began_at),
        _ => None,
    };
    course.past.iter().find_map(|past| past.began_at).or(running)
}

fn updated(team: &Team, course: &Course) -> u64 {
    let running = match course.standing {
        Standing::Running { began_at, .. } => began_at,
        _ => 0,
    };
    course.past.last().map_or(team.created_at, |past| past.ended_at).max(running)
}

fn last<'a>(course: &'a Course, phase: &Phase) -> Option<&'a Past> {
    course.past.iter().rev().find(|past| past.phase == phase.name)
}

/// Phases of the team above that come before its departments.
fn before_departments(playbook: &Playbook) -> impl Iterator<Item = &Phase> {
    let has = !playbook.departments.is_empty();
    let above = playbook.phases.iter().filter(move |phase| has && phase.level == Level::Root);
    above.take_while(|phase| !phase.departments)
}

fn phase_word(past: Option<&Past>, now: bool) -> &'static str {
    match past.map(|past| &past.end) {
        _ if now => "running",
        Some(PhaseEnd::Done { .. }) => "complete",
        Some(PhaseEnd::Skipped { .. }) => "skipped",
        Some(PhaseEnd::Failed { .. } | PhaseEnd::Passed { .. }) => "failed",
        Some(PhaseEnd::Back { .. }) | None => "pending",
    }
}

fn step(sight: &Sight<'_>, phase: &Phase, past: Option<&Past>, now: Option<&Course>) -> Value {
    let running = now.and_then(|course| match course.standing {
        Standing::Running { began_at, .. } => Some(began_at),
        _ => None,
    });
    let reason = match past.map(|past| &past.end) {
        Some(
            PhaseEnd::Skipped { reason }
            | PhaseEnd::Failed { reason }
            | PhaseEnd::Back { reason, .. },
        ) => reason.as_str(),
        _ => "",
    };
    let made = phase.makes.iter().chain(&phase.exit).find_map(|one| match one {
        Condition::File { path, .. } => Some(fill(path, sight.values)),
        _ => None,
    });
    json!({
        "status": phase_word(past, running.is_some()),
        "started_at": running.or(past.and_then(|past| past.began_at)).map(moment::iso),
        "completed_at": past.filter(|_| running.is_none()).map(|past| moment::iso(past.ended_at)),
        "artifact": made,
        "reason": reason,
    })
}

/// The plans on the board, in order.
fn listed_plans(sight: &Sight<'_>) -> Vec<Value> {
    let mut plans: Vec<Value> = Vec::new();
    for (name, group) in &sight.state.groups {
        let first = group.members.first().and_then(|id| sight.state.task(*id));
        let Some(task) = first.filter(|task| task.team == *sight.team) else { continue };
        let note = |key: &str| task.spec.metadata.get(key).cloned().unwrap_or_default();
        let id = match note("plan") {
            id if id.is_empty() => name.to_string(),
            id => id,
        };
        let open = group.members.iter().filter_map(|id| sight.state.task(*id));
        let open =
            open.filter(|task| !matches!(task.status, Status::Completed { .. } | Status::Deleted));
        let status = if open.count() == 0 { "complete" } else { "pending" };
        let wave = note("wave").parse::<u64>().ok();
        plans
            .push(json!({ "id": id, "title": note("plan_title"), "wave": wave, "status": status }));
    }
    plans
}

/// What must pass between departments: seen from the phases that asked for it.
fn crossing(sight: &Sight<'_>, playbook: &Playbook, root: &Course, name: &str) -> Value {
    let own = playbook.crossings.iter().find(|(own, _)| own.as_str() == name);
    if own.is_some_and(|(_, crossing)| !playbook.has_departments(&crossing.of)) {
        return json!({ "status": "skipped", "passed_at": null });
    }
    let asks = |conditions: &[Condition]| {
        conditions
            .iter()
            .any(|one| matches!(one, Condition::Crossing { name: own } if own.as_str() == name))
    };
    let waiting = playbook.departments.iter().filter(|own| asks(&own.entry));
    let courses = waiting.filter_map(|own| sight.state.teams.get(&own.team)?.course.as_ref());
    let entered = courses.filter_map(began).min();
    let left = playbook.phases.iter().filter(|phase| asks(&phase.exit));
    let left = left.filter_map(|phase| last(root, phase)).next();
    let (status, at) = match (entered, left.map(|past| (&past.end, past.ended_at))) {
        (Some(at), _) => ("passed", Some(at)),
        (None, Some((PhaseEnd::Done { .. }, at))) => ("passed", Some(at)),
        (None, Some(_)) => ("failed", None),
        (None, None) => ("pending", None),
    };
    json!({ "status": status, "passed_at": at.map(moment::iso) })
}
