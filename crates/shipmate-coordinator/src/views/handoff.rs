//! What whoever takes a task up is told of those who came before: their handoffs, as far as they fit.

use std::cmp::Reverse;

use shipmate_core::state::{Note, State, Status, Task};
use shipmate_model::event::{Dependency, TaskId};
use shipmate_protocol::view::{NoteView, PriorView};

/// Handoffs that are told at once, and how much of each and of all of them, in bytes.
const PRIORS_MAX: usize = 8;
const PRIOR_BYTES_MAX: usize = 2 * 1024;
const PRIORS_BYTES_MAX: usize = 6 * 1024;
/// The same of a result, where nothing was handed over: it may be the last line of a command.
const RESULT_BYTES_MAX: usize = 400;
/// Notes about a task that are told with it.
const NOTES_TOLD: usize = 3;
/// What is left of a handoff for which there is hardly room.
const LEAST_BYTES: usize = 200;

/// What the tasks handed over that this one waited for: those that it names, then those of its groups,
/// each with the newest first.
pub(super) fn priors(state: &State, task: &Task) -> Vec<PriorView> {
    let (mut named, mut grouped) = (Vec::new(), Vec::new());
    for on in &task.spec.blocked_by {
        match on {
            Dependency::Task(id) => named.push(*id),
            Dependency::Group(group) => {
                let group = state.groups.get(group).into_iter();
                grouped.extend(group.flat_map(|group| &group.members));
            }
        }
    }
    grouped.retain(|id| *id != task.id && !named.contains(id));
    let before = newest(state, &named).into_iter().chain(newest(state, &grouped));
    let mut room = PRIORS_BYTES_MAX;
    let mut told = Vec::new();
    for before in before {
        if told.len() == PRIORS_MAX {
            break;
        }
        let Some((by, whole, most)) = words(before) else { continue };
        // Where there is no room its name is told, so that it can be asked for.
        let text = if room < LEAST_BYTES { "" } else { start(&whole, most.min(room)) };
        room -= text.len();
        told.push(PriorView {
            task: before.id,
            subject: before.spec.subject.clone(),
            by,
            cut: text.len() < whole.len(),
            text: text.to_owned(),
        });
    }
    told
}

/// The few that were done last and have something to tell. A group may have thousands of others.
fn newest<'a>(state: &'a State, tasks: &[TaskId]) -> Vec<&'a Task> {
    let tells = |task: &&Task| match &task.status {
        Status::Completed { result, .. } => task.handoff.is_some() || !result.trim().is_empty(),
        _ => false,
    };
    let mut found: Vec<&Task> =
        tasks.iter().filter_map(|id| state.task(*id)).filter(tells).collect();
    let order = |task: &&Task| (Reverse(task.changed_at), task.id);
    if found.len() > PRIORS_MAX {
        found.select_nth_unstable_by_key(PRIORS_MAX, order);
        found.truncate(PRIORS_MAX);
    }
    found.sort_by_key(order);
    found.dedup_by_key(|task| task.id);
    found
}

/// Who did it, and what is told of it: its handoff, or its result.
fn words(task: &Task) -> Option<(String, String, usize)> {
    let Status::Completed { by, result, .. } = &task.status else { return None };
    let handed = task.handoff.as_ref().map(|handed| (&handed.by, &handed.handoff));
    if let Some((by, handoff)) = handed.filter(|(_, handoff)| handoff.fault.is_empty()) {
        return Some((by.to_string(), handoff.to_string(), PRIOR_BYTES_MAX));
    }
    let by = by.as_ref().map(ToString::to_string).unwrap_or_else(|| "person".to_owned());
    let result = result.trim();
    (!result.is_empty()).then(|| (by, result.to_owned(), RESULT_BYTES_MAX))
}

fn start(text: &str, bytes_max: usize) -> &str {
    text[..text.floor_char_boundary(bytes_max)].trim_end()
}

/// The newest few notes about it.
pub(super) fn notes(state: &State, task: &Task) -> Vec<NoteView> {
    state.notes_on(task.id).take(NOTES_TOLD).map(note).collect()
}

pub(crate) fn note(note: &Note) -> NoteView {
    NoteView {
        id: note.id,
        at: note.at,
        by: note.by.to_string(),
        team: note.team.to_string(),
        task: note.task,
        text: note.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use shipmate_core::apply;

    use super::*;

    /// A team with these tasks, each done with this handoff, and one that waits for `after`.
    fn state(handoffs: &[Value], group: Option<&str>, after: &[Value]) -> State {
        let mut events = vec![
            ("person", json!({ "team.created": { "team": "alpha" } })),
            ("person", json!({ "teammate.added": { "who": "alpha/ana", "profile": {} } })),
            ("person", json!({ "teammate.started": { "who": "alpha/ana@1", "token_hash": "h" } })),
        ];
        for (at, handoff) in handoffs.iter().enumerate() {
            let task = at + 1;
            let spec = json!({ "subject": format!("t{task}"), "group": group });
            let created =
                json!({ "task.created": { "task": task, "team": "alpha", "spec": spec } });
            events.push(("person", created));
            let token = events.len() + 1;
            let claimed = json!({ "task.claimed": { "task": task, "by": "alpha/ana@1" } });
            events.push(("alpha/ana@1", claimed));
            let submitted = match handoff {
                Value::String(result) => json!({ "task": task, "token": token, "result": result }),
                handoff => json!({ "task": task, "token": token, "handoff": handoff }),
            };
            let result = submitted.get("result").cloned().unwrap_or(json!(""));
            events.push(("alpha/ana@1", json!({ "task.submitted": submitted })));
            let completed = json!({ "task": task, "token": token, "result": result });
            events.push(("alpha/ana@1", json!({ "task.completed": completed })));
        }
        let spec = json!({ "subject": "last", "blocked_by": after });
        let task = handoffs.len() + 1;
        let last = json!({ "task.created": { "task": task, "team": "alpha", "spec": spec } });
        events.push(("person", last));
        let mut state = State::default();
        for (n, (by, event)) in events.into_iter().enumerate() {
            let record = json!({ "n": n + 1, "at": n * 1000, "by": by, "event": event });
            apply(&mut state, &serde_json::from_value(record).expect("a record"));
        }
        state
    }

    fn told(state: &State) -> Vec<PriorView> {
        let last = state.tasks().iter().next_back().expect("the one that waited");
        priors(state, last)
    }

    #[test]
    fn a_brief_has_so_much_of_each_handoff_and_of_all() {
        let long = json!({ "done": ["ä".repeat(3000)] });
        let all: Vec<Value> = (1..=5).map(|id| json!({ "task": id })).collect();
        let told = told(&state(&vec![long; 5], None, &all));
        let ids: Vec<u32> = told.iter().map(|one| one.task).collect();
        assert_eq!(ids, [5, 4, 3, 2, 1], "newest first");
        assert!(told.iter().all(|one| one.cut && one.text.len() <= PRIOR_BYTES_MAX));
        assert!(!told[2].text.is_empty() && told[3].text.is_empty() && told[4].text.is_empty());
        let bytes: usize = told.iter().map(|one| one.text.len()).sum();
        assert!(bytes <= PRIORS_BYTES_MAX, "{bytes}");
    }

    #[test]
    fn of_a_large_group_the_newest_few_are_told_after_those_that_are_named() {
        let small = json!({ "left": ["x"] });
        let after = [json!({ "task": 3 }), json!({ "group": "g" })];
        let told = told(&state(&vec![small; 200], Some("g"), &after));
        let ids: Vec<u32> = told.iter().map(|one| one.task).collect();
        assert_eq!(ids, [3, 200, 199, 198, 197, 196, 195, 194]);
        assert!(!told[0].cut && told[0].text == "left: x" && told[0].by == "alpha/ana@1");
    }

    #[test]
    fn where_nothing_was_handed_over_the_beginning_of_the_result_is_told() {
        let handoffs = [json!("r".repeat(1000)), json!(""), json!({ "fault": "it is a list" })];
        let all: Vec<Value> = (1..=3).map(|id| json!({ "task": id })).collect();
        let told = told(&state(&handoffs, None, &all));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].cut && told[0].text == "r".repeat(RESULT_BYTES_MAX));
    }
}
