//! What a plan's approval would bring about, as a person reads it.

use shipmate_protocol::Mode;
use shipmate_protocol::view::{PlannedTaskView, PlannedTeammateView, WorkView};

use crate::cli::screen::{counted, plain};
use crate::time::about;

/// Tasks with their files and what they wait for, who does them, and why so many.
pub(crate) fn lines(work: &WorkView) -> Vec<String> {
    let mut lines = vec![head(work)];
    for task in &work.tasks {
        lines.push(format!("  {:<12} {}", plain(&task.key), plain(&task.subject)));
        lines.push(format!("  {:<12} {}", "", details(task)));
    }
    lines.push(who(work));
    lines.extend(work.teammates.iter().map(|mate| format!("  {}", one(mate))));
    lines
}

fn head(work: &WorkView) -> String {
    let count = counted(work.tasks.len(), "task");
    let path: Vec<_> = work.critical_path.iter().map(|key| plain(key)).collect();
    format!(
        "{count}, at most {} at the same time; longest path {} ({})",
        work.width,
        path.join(" → "),
        about(work.critical_path_ms)
    )
}

fn who(work: &WorkView) -> String {
    let count = counted(work.teammates.len(), "teammate");
    match &work.single {
        Some(reason) => format!("{count}, not a team: {}", plain(reason)),
        None => match (work.teammates.len(), work.width) {
            (0, _) => "those who are there already".to_owned(),
            (1, _) | (_, 1) => count,
            (_, width) => format!("{count}: up to {width} parts are independent of each other"),
        },
    }
}

fn details(task: &PlannedTaskView) -> String {
    let mut parts = vec![format!("writes {}", plain(&task.files.join(", ")))];
    if !task.blocked_by.is_empty() {
        parts.push(format!("after {}", plain(&task.blocked_by.join(", "))));
    }
    parts.extend(task.role.iter().map(|role| format!("role {}", plain(role))));
    parts.extend(task.assignee.iter().map(|name| format!("for {}", plain(name))));
    parts.extend(task.duration_ms.map(|ms| format!("about {}", about(ms))));
    parts.join("; ")
}

fn one(mate: &PlannedTeammateView) -> String {
    let program = if mate.agent.is_empty() { &mate.command } else { &mate.agent };
    let mut parts = vec![plain(program).into_owned()];
    let model = Some(&mate.model).filter(|model| !model.is_empty());
    parts.extend(model.map(|model| format!("model {}", plain(model))));
    parts.extend(mate.role.iter().map(|role| format!("role {}", plain(role))));
    if !mate.scope.is_empty() {
        parts.push(format!("may write {}", plain(&mate.scope.join(", "))));
    }
    if mate.mode != Mode::Normal {
        parts.push(format!("mode {}", plain(mate.mode.word())));
    }
    if !mate.place.is_anywhere() {
        parts.push(format!("runs {}", mate.place));
    }
    format!("{:<12} {}", plain(&mate.name), parts.join("; "))
}

#[cfg(test)]
mod tests {
    use shipmate_model::host::Place;

    use super::*;

    fn task(key: &str, blocked_by: &[&str]) -> PlannedTaskView {
        PlannedTaskView {
            key: key.to_owned(),
            subject: format!("Do {key}"),
            files: vec![format!("src/{key}")],
            blocked_by: blocked_by.iter().map(ToString::to_string).collect(),
            ..PlannedTaskView::default()
        }
    }

    #[test]
    fn a_plan_shows_its_tasks_who_does_them_and_why_so_many() {
        let mate = PlannedTeammateView {
            name: "ana".to_owned(),
            agent: "native".to_owned(),
            model: "small".to_owned(),
            role: Some("dev".to_owned()),
            scope: vec!["src".to_owned()],
            mode: Mode::Plan,
            ..PlannedTeammateView::default()
        };
        let bo = PlannedTeammateView {
            name: "bo".to_owned(),
            command: "./agent.sh\u{1b}[2J".to_owned(),
            mode: Mode::Normal,
            place: Place {
                host: Some("box".parse().unwrap()),
                labels: ["gpu".parse().unwrap()].into(),
            },
            ..PlannedTeammateView::default()
        };
        let mut api = task("api", &[]);
        (api.role, api.duration_ms) = (Some("dev".to_owned()), Some(120_000));
        let mut work = WorkView {
            tasks: vec![api, task("ui", &[]), task("docs", &["api", "ui"])],
            teammates: vec![mate, bo],
            single: None,
            width: 2,
            critical_path: vec!["api".to_owned(), "docs".to_owned()],
            critical_path_ms: 180_000,
        };
        assert_eq!(
            lines(&work),
            [
                "3 tasks, at most 2 at the same time; longest path api → docs (3m00s)",
                "  api          Do api",
                "               writes src/api; role dev; about 2m00s",
                "  ui           Do ui",
                "               writes src/ui",
                "  docs         Do docs",
                "               writes src/docs; after api, ui",
                "2 teammates: up to 2 parts are independent of each other",
                "  ana          native; model small; role dev; may write src; mode plan",
                "  bo           ./agent.sh\\x1b[2J; runs on box, with gpu",
            ]
        );
        work.single = Some("one file".to_owned());
        work.teammates.truncate(1);
        assert_eq!(lines(&work)[7], "1 teammate, not a team: one file");
    }
}
