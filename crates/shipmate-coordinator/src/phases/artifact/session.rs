//! What a run leaves for the next one: what was decided, and who did what and what is left.
//!
//! Both are sections at the end of a file that others write too. What stands before, and what was
//! written behind meanwhile, stays to the byte; only the run's own section is written anew.

use serde_json::Value;
use shipmate_core::state::{Status, Task};
use shipmate_model::phase::PhaseEnd;
use shipmate_playbook::fill::fill;
use shipmate_process::one_line;

use super::moment::iso;
use super::{Files, Sight, features};
use crate::phases::PIECE;

const LINE_CHARS_MAX: usize = 400;

/// Decisions and what became of each piece of work.
pub(super) fn decisions(sight: &Sight<'_>) -> Result<Files, String> {
    let Some(team) = sight.state.teams.get(sight.team) else { return Ok(Files::new()) };
    let mut lines = Vec::new();
    for kept in &team.kept {
        let who = kept.who.as_ref().map_or("person", |who| who.as_str());
        lines.push(format!("- decided ({who}): {}", line(&said(&kept.body))));
    }
    lines.extend(conflicts(sight));
    let ended = pieces(sight).filter(|(_, task)| {
        matches!(task.status, Status::Completed { .. } | Status::Failed { .. })
    });
    lines.extend(ended.map(|(piece, task)| format!("- {piece}: {}", state_of(task))));
    if lines.is_empty() {
        return Ok(Files::new());
    }
    let head = format!("## Session {} ({})", sight.team, iso(team.created_at));
    section(sight, &head, &lines)
}

/// A text, or the first text of a typed message.
fn said(body: &str) -> String {
    match serde_json::from_str::<Value>(body) {
        Ok(Value::Object(fields)) => {
            let texts = fields.values().filter_map(Value::as_str);
            texts.collect::<Vec<_>>().join("; ")
        }
        _ => body.to_owned(),
    }
}

/// What did not fit together and what was done about it, from the files in which it was decided.
fn conflicts(sight: &Sight<'_>) -> Vec<String> {
    let team = sight.state.teams.get(sight.team);
    let Some((playbook, course)) = sight.playbook().zip(team.and_then(|t| t.course.as_ref()))
    else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for phase in &playbook.phases {
        let Some(list) = &phase.reverts else { continue };
        let decided = course
            .past
            .iter()
            .any(|past| past.phase == phase.name && matches!(past.end, PhaseEnd::Done { .. }));
        let path = fill(&list.file, sight.values);
        let text = sight.ground.filter(|_| decided).and_then(|ground| ground.read(&path).ok()?);
        let Some(value) = text.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
            continue;
        };
        let reasons = course.past.iter().filter_map(|past| match &past.end {
            PhaseEnd::Back { to, reason } if *to == phase.name => Some(line(reason)),
            _ => None,
        });
        lines.extend(reasons.map(|reason| format!("- conflict: {reason}")));
        let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let reverted = value.get(&list.key).and_then(Value::as_array).into_iter().flatten();
        let reverted: Vec<&str> = reverted.filter_map(Value::as_str).collect();
        let taken = match reverted.is_empty() {
            true => "nothing taken back".to_owned(),
            false => format!("taken back: {}", reverted.join(", ")),
        };
        lines.push(format!("- resolution ({}): {taken}; {}", word("case"), line(word("note"))));
    }
    lines
}

/// Who did what, what is left, and how to go on.
pub(super) fn handoff(sight: &Sight<'_>) -> Result<Files, String> {
    let Some(team) = sight.state.teams.get(sight.team) else { return Ok(Files::new()) };
    let mut lines: Vec<String> =
        pieces(sight).map(|(piece, task)| format!("{piece}: {}", state_of(task))).collect();
    if lines.is_empty() {
        return Ok(Files::new());
    }
    let left = pieces(sight).filter(|(_, task)| !matches!(task.status, Status::Completed { .. }));
    let left: Vec<&str> = left.map(|(piece, _)| piece).collect();
    let playbook = sight.playbook().map(|playbook| playbook.name.to_string()).unwrap_or_default();
    lines.push(match left.is_empty() {
        true => "Next: nothing of this session is left.".to_owned(),
        false => format!(
            "Next: {} left; `shipmate run --playbook {playbook}` takes up what is open.",
            left.join(", ")
        ),
    });
    let head = format!("Session {} ({})", sight.team, iso(team.created_at));
    section(sight, &head, &lines)
}

/// The pieces of work of the team, by their handles.
fn pieces<'a>(sight: &Sight<'a>) -> impl Iterator<Item = (&'a str, &'a Task)> {
    let (state, team) = (sight.state, sight.team);
    state.tasks().iter().filter(move |task| task.team == *team).filter_map(|task| {
        let piece = task.spec.metadata.get(PIECE)?;
        // The piece itself; work about it is known as PIECE:TEMPLATE.
        let own = task.spec.alias.as_ref()?.as_str() == piece;
        own.then_some((piece.as_str(), task))
    })
}

fn state_of(task: &Task) -> String {
    let known = |key: &str| task.spec.metadata.get(key).filter(|value| !value.is_empty());
    let mut parts = vec![features::word(task).to_owned()];
    match &task.status {
        Status::Completed { by, commit, .. } => {
            parts.extend(by.as_ref().map(|by| format!("by {}", by.address.name)));
            parts.extend(commit.as_ref().map(|commit| format!("commit {:.7}", commit)));
            parts.extend(known("test_file").map(|path| format!("test {path}")));
            parts.extend(known("coverage").map(|percent| format!("coverage {percent} %")));
        }
        Status::InProgress(claim) => parts.push(format!("by {}", claim.by.address.name)),
        Status::Failed { reason } => parts.push(line(reason)),
        _ => {}
    }
    parts.join(", ")
}

/// One line of a text that may have many.
fn line(text: &str) -> String {
    one_line(text, LINE_CHARS_MAX)
}

/// The file with the run's section as it is now.
fn section(sight: &Sight<'_>, head: &str, lines: &[String]) -> Result<Files, String> {
    let before = match sight.ground {
        Some(ground) => ground.read(sight.path)?.unwrap_or_default(),
        None => String::new(),
    };
    let text = placed(&before, head, &format!("(end of session {})", sight.team), lines);
    Ok(vec![(sight.path.to_owned(), text)])
}

fn placed(before: &str, head: &str, end: &str, lines: &[String]) -> String {
    let section = format!("{head}\n{}\n{end}\n", lines.join("\n"));
    let start = format!("{head}\n");
    let from = match before.starts_with(&start) {
        true => Some(0),
        false => before.find(&format!("\n{start}")).map(|at| at + 1),
    };
    let found = from.and_then(|from| {
        let close = format!("\n{end}\n");
        Some((from, from + before[from..].find(&close)? + close.len()))
    });
    match found {
        Some((from, to)) => format!("{}{section}{}", &before[..from], &before[to..]),
        None => {
            let gap = match before {
                "" => "",
                text if text.ends_with("\n\n") => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            format!("{before}{gap}{section}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(before: &str, line: &str) -> String {
        placed(before, "## Session alpha", "(end of session alpha)", &[line.to_owned()])
    }

    #[test]
    fn a_section_is_added_and_written_anew_and_nothing_else_changes() {
        let first = place("# Old\nno newline", "one");
        assert_eq!(first, "# Old\nno newline\n\n## Session alpha\none\n(end of session alpha)\n");
        let behind = format!("{first}\n## By hand\n");
        let second = place(&behind, "two");
        assert_eq!(second, behind.replace("\none\n", "\ntwo\n"));
        assert_eq!(place(&second, "two"), second);
        assert_eq!(place("", "one"), "## Session alpha\none\n(end of session alpha)\n");
    }
}
