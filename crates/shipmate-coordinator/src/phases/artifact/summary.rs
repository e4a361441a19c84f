//! `03-01.summary.jsonl`: exactly one line about each plan, written in the lead's name once nothing
//! of the plan is to be done any more, and again at the very end, when it is known what those that
//! were sent away left behind.

use std::collections::BTreeSet;

use serde::Serialize;
use shipmate_core::state::Course;
use shipmate_core::state::{Status, Task};
use shipmate_model::TaskId;
use shipmate_playbook::ground::Ground;
use shipmate_workspace::Commit;

use super::plans::{self, Plan};
use super::{Files, Sight, moment};

#[derive(Serialize)]
struct Line<'a> {
    p: &'a str,
    n: &'a str,
    t: &'a str,
    s: &'static str,
    dt: String,
    tc: usize,
    tt: usize,
    ch: Vec<String>,
    fm: BTreeSet<String>,
    dv: Vec<String>,
    built: Vec<&'a str>,
    tst: &'static str,
}

pub(super) fn render(sight: &Sight<'_>) -> Result<Files, String> {
    let Some(team) = sight.state.teams.get(sight.team) else { return Ok(Files::new()) };
    let over = team.course.as_ref().is_some_and(Course::is_over);
    let work = plans::read(sight);
    let mut files = Files::new();
    for plan in plans::of(sight, &work) {
        let begun = plan.tasks().next().is_some();
        if (begun && plan.is_settled()) || over {
            let line = line(sight, &plan)?;
            let text = serde_json::to_string(&line).map_err(|e| e.to_string())?;
            files.push((sight.path.replace("{plan}", plan.id), text + "\n"));
        }
    }
    Ok(files)
}

fn line<'a>(sight: &Sight<'a>, plan: &Plan<'a>) -> Result<Line<'a>, String> {
    let (completed, total) = (plan.completed(), plan.pieces.len());
    let mut commits = Vec::new();
    let mut built = Vec::new();
    for (item, task) in &plan.pieces {
        let Some(Task { status: Status::Completed { commit, .. }, .. }) = task else { continue };
        built.push(item.subject.as_str());
        commits.extend(commit.as_deref().and_then(Commit::parse));
    }
    let files = match sight.ground {
        Some(Ground::Branch { repository, .. }) => {
            repository.changed_by(&commits).map_err(|e| e.to_string())?
        }
        _ => Vec::new(),
    };
    let at = plan.tasks().map(|task| task.changed_at).max();
    Ok(Line {
        p: plan.p,
        n: plan.n,
        t: plan.title,
        s: match completed {
            done if done == total => "complete",
            0 => "failed",
            _ => "partial",
        },
        dt: moment::date(at.unwrap_or(sight.now_s * 1000)),
        tc: completed,
        tt: total,
        ch: commits.iter().map(|commit| commit.short().to_string()).collect(),
        fm: files.into_iter().collect(),
        dv: deviations(sight, plan),
        built,
        tst: tests(sight, plan),
    })
}

fn deviations(sight: &Sight<'_>, plan: &Plan<'_>) -> Vec<String> {
    let own: BTreeSet<TaskId> = plan.tasks().map(|task| task.id).collect();
    let pieces: BTreeSet<&str> = plan.pieces.iter().map(|(item, _)| item.id.as_str()).collect();
    let is_about = |id: TaskId| {
        let task = sight.state.task(id);
        let piece = task.and_then(|task| task.spec.metadata.get(crate::phases::PIECE));
        own.contains(&id) || piece.is_some_and(|piece| pieces.contains(piece.as_str()))
    };
    let of_team = sight.state.deviations.iter().filter(|one| one.team == *sight.team);
    let told = of_team.filter(|one| one.task.is_none_or(is_about));
    let mut texts: Vec<String> = told.map(|one| one.text.clone()).collect();
    for (item, task) in &plan.pieces {
        match task.map(|task| &task.status) {
            Some(Status::Completed { commit: None, .. }) => {
                texts.push(format!("{} changed nothing", item.id));
            }
            Some(Status::Pending | Status::InProgress(_)) => {
                texts.push(format!("{} was not finished", item.id));
            }
            None => texts.push(format!("{} was not begun", item.id)),
            _ => {}
        }
        let granted = task.map(|task| task.granted.iter().map(ToString::to_string).collect());
        let granted: Vec<String> = granted.unwrap_or_default();
        if !granted.is_empty() {
            texts.push(format!("{} also changed {}", item.id, granted.join(", ")));
        }
    }
    let mut seen = BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

/// Red before the work and green after it, only green, or nothing that was run.
fn tests(sight: &Sight<'_>, plan: &Plan<'_>) -> &'static str {
    let Some(playbook) = sight.playbook() else { return "no_tests" };
    let red = plans::red_first(sight.state, playbook, sight.team.as_str());
    if plan.pieces.iter().any(|(item, _)| red.get(item.id.as_str()) == Some(&true)) {
        return "red_green";
    }
    let has_gate = |task: &Task| {
        let own = task.spec.gate.as_ref().and_then(|gate| playbook.gates.get(gate));
        let commands = own.map(|gate| &gate.commands);
        let team = sight.state.teams.get(sight.team).map(|team| &team.setup.gate);
        let filled =
            |line: &String| !shipmate_playbook::fill::fill(line, sight.values).trim().is_empty();
        commands.or(team).is_some_and(|lines| lines.iter().any(filled))
    };
    if plan.tasks().any(has_gate) { "green_only" } else { "no_tests" }
}
