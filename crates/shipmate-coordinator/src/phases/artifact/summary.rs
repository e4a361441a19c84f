//! `03-01.summary.jsonl`: exactly one line about each plan, written in the lead's name once nothing
//! of the plan is to be done any more, and again at the very end, when it is known what those that
//! were sent away left behind.

use std::collections::BTreeSet;

use shipmate_core::state::Course;
use shipmate_core::state::{Status, Task};
use shipmate_model::TaskId;
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_protocol::plan_file::{Summary, SummaryState, TestsSeen};
use shipmate_workspace::Commit;

use super::plans::{self, Plan};
use super::{Files, Sight};

pub(super) fn render(sight: &Sight<'_>) -> Result<Files, String> {
    let Some(team) = sight.state.teams.get(sight.team) else { return Ok(Files::new()) };
    let over = team.course.as_ref().is_some_and(Course::is_over);
    let work = plans::read(sight);
    let mut files = Files::new();
    for plan in plans::of(sight, &work) {
        let begun = plan.tasks().next().is_some();
        if (begun && plan.is_settled()) || over {
            let line = summary(sight, &plan)?.line();
            files.push((sight.path.replace("{plan}", plan.id), line));
        }
    }
    Ok(files)
}

fn summary(sight: &Sight<'_>, plan: &Plan<'_>) -> Result<Summary, String> {
    let (completed, total) = (plan.completed(), plan.pieces.len());
    let mut commits = Vec::new();
    let mut built = Vec::new();
    for (item, task) in &plan.pieces {
        let Some(Task { status: Status::Completed { commit, .. }, .. }) = task else { continue };
        built.push(item.subject.clone());
        commits.extend(commit.as_deref().and_then(Commit::parse));
    }
    let files: BTreeSet<String> = match sight.ground {
        Some(ProjectFiles::Branch { repository, .. }) => {
            repository.changed_by(&commits).map_err(|e| e.to_string())?.into_iter().collect()
        }
        _ => BTreeSet::new(),
    };
    let at = plan.tasks().map(|task| task.changed_at).max();
    Ok(Summary {
        p: plan.p.to_owned(),
        n: plan.n.to_owned(),
        title: plan.title.to_owned(),
        state: SummaryState::of(completed, total),
        at_ms: at.unwrap_or(sight.now_s * 1000),
        tasks_completed: completed,
        tasks_total: total,
        commits: commits.iter().map(|commit| commit.short().to_string()).collect(),
        files_modified: files.into_iter().collect(),
        deviations: deviations(sight, plan),
        built,
        tests: tests_seen(sight, plan),
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

fn tests_seen(sight: &Sight<'_>, plan: &Plan<'_>) -> TestsSeen {
    let Some(playbook) = sight.playbook() else { return TestsSeen::NoTests };
    let red = plans::red_first(sight.state, playbook, sight.team.as_str());
    if plan.pieces.iter().any(|(item, _)| red.get(item.id.as_str()) == Some(&true)) {
        return TestsSeen::RedGreen;
    }
    let has_gate = |task: &Task| {
        let own = task.spec.gate.as_ref().and_then(|gate| playbook.gates.get(gate));
        let commands = own.map(|gate| &gate.commands);
        let team = sight.state.teams.get(sight.team).map(|team| &team.setup.gate);
        let filled =
            |line: &String| !shipmate_playbook::fill::fill(line, sight.values).trim().is_empty();
        commands.or(team).is_some_and(|lines| lines.iter().any(filled))
    };
    if plan.tasks().any(has_gate) { TestsSeen::GreenOnly } else { TestsSeen::NoTests }
}
