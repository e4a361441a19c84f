//! `checkpoint`: where a session stands, for whoever goes on with it.

use std::fmt::Write;

use shipmate_core::state::Standing;
use shipmate_core::state::{Status, Task};
use shipmate_model::phase::PhaseEnd;

use super::{Files, Sight};

pub(super) fn render(sight: &Sight<'_>) -> Result<Files, String> {
    let Some(team) = sight.state.teams.get(sight.team) else { return Ok(Vec::new()) };
    let Some(course) = &team.course else { return Ok(Vec::new()) };
    let own: Vec<&Task> =
        sight.state.tasks().iter().filter(|task| task.team == *sight.team).collect();
    let branch = format!("shipmate/{}", team.setup.branch(sight.team));
    let landed = own.iter().filter_map(|task| match &task.status {
        Status::Completed { commit: Some(commit), .. } => Some((task.changed_at, commit.as_str())),
        _ => None,
    });
    let base = team.setup.trees.as_ref().map(|trees| trees.base.as_str()).unwrap_or_default();
    let last = landed.max().map_or(base, |(_, commit)| commit);
    let mut text = String::from("# Session checkpoint\n\n");
    let mut line =
        |name: &str, value: &str| writeln!(text, "- {name}: {value}").expect("to memory");
    line("team", sight.team.as_str());
    line("branch", &branch);
    line("last commit", last);
    line("mode", if course.alone.is_some() { "single" } else { "team" });
    let phase = match &course.standing {
        Standing::Over if course.is_through() => "through".to_owned(),
        Standing::Over => "stopped".to_owned(),
        Standing::Waiting { .. } => format!("before {}", course.phase),
        Standing::Running { .. } => format!("in {}", course.phase),
    };
    line("phase", &phase);
    if let Some(reason) = &course.alone {
        line("the lead works alone", reason);
    }
    text.push_str("\n## Phases\n\n");
    for past in &course.past {
        let (word, why) = match &past.end {
            PhaseEnd::Done { note } => ("done", note.as_str()),
            PhaseEnd::Skipped { reason } => ("left out", reason.as_str()),
            PhaseEnd::Failed { reason } => ("failed", reason.as_str()),
            PhaseEnd::Passed { reason } => ("failed, went on", reason.as_str()),
            PhaseEnd::Back { reason, .. } => ("once more", reason.as_str()),
        };
        let why = why.lines().next().unwrap_or_default();
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        writeln!(text, "- {} {word}{why}", past.phase).expect("to memory");
    }
    text.push_str("\n## Tasks\n\n");
    for task in &own {
        let by = match &task.status {
            Status::Completed { by: Some(by), commit, .. } => {
                let commit = commit.as_ref().map(|commit| format!(" in {}", short(commit)));
                format!(" by {}{}", by.address.name, commit.unwrap_or_default())
            }
            Status::InProgress(claim) => format!(" by {}", claim.by.address.name),
            _ => String::new(),
        };
        let (id, word) = (task.id, task.status_word().replace('_', " "));
        writeln!(text, "- {id}. {}: {word}{by}", task.spec.subject).expect("to memory");
    }
    let open = |task: &&&Task| matches!(task.status, Status::Pending | Status::InProgress(_));
    let left: Vec<String> = own.iter().filter(open).map(|task| task.spec.subject.clone()).collect();
    let left = if left.is_empty() { "nothing".to_owned() } else { left.join("; ") };
    writeln!(text, "\nRemaining: {left}").expect("to memory");
    Ok(vec![(sight.path.to_owned(), text)])
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
