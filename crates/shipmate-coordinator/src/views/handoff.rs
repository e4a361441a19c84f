//! What whoever takes a task up is told of those who came before: their handoffs, as far as they fit.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use shipmate_core::state::{Note, State, Status, Task};
use shipmate_model::Handoff;
use shipmate_model::event::{Dependency, TaskId};
use shipmate_protocol::view::{NoteView, PriorView};

/// Handoffs that are told at once, and how much of each and of all of them, in bytes.
const PRIORS_MAX: usize = 8;
const PRIOR_BYTES_MAX: usize = 2 * 1024;
const PRIORS_BYTES_MAX: usize = 6 * 1024;
/// The same of a result, where nothing was handed over: it may be the last line of a command.
const RESULT_BYTES_MAX: usize = 400;
/// Others that are named, so that they can be asked for.
const NAMED_MAX: usize = 24;
/// Notes about a task that are told with it.
const NOTES_TOLD: usize = 3;
/// Less of a result than this says nothing.
const LEAST_BYTES: usize = 100;

/// What those before a task have left for it.
#[derive(Debug, Default)]
pub(super) struct Priors {
    pub(super) told: Vec<PriorView>,
    /// The first of those of which there was no room to tell, and how many they are in all.
    pub(super) left_out: Vec<TaskId>,
    pub(super) left_out_count: usize,
}

/// A task that has something to tell.
#[derive(Debug)]
struct Prior<'a> {
    task: &'a Task,
    /// By a group: one of perhaps thousands.
    grouped: bool,
    /// Nothing else was handed over.
    result: Option<&'a str>,
}

/// What the tasks handed over that this one waited for: handoffs before bare results, in each those that it
/// names before those of its groups, the newest first.
pub(super) fn priors(state: &State, task: &Task) -> Priors {
    let mut found = candidates(state, task);
    let order = |prior: &Prior<'_>| {
        (prior.result.is_some(), prior.grouped, Reverse(prior.task.changed_at), prior.task.id)
    };
    let count = found.len();
    if count > PRIORS_MAX + NAMED_MAX {
        found.select_nth_unstable_by_key(PRIORS_MAX + NAMED_MAX, order);
        found.truncate(PRIORS_MAX + NAMED_MAX);
    }
    found.sort_by_key(order);
    let (first, rest) = found.split_at(found.len().min(PRIORS_MAX));
    let (handoffs, results): (Vec<_>, Vec<_>) = first.iter().partition(|p| p.result.is_none());
    let mut told = tell(&handoffs, PRIORS_BYTES_MAX);
    let room = PRIORS_BYTES_MAX - told.iter().map(|prior| prior.text.len()).sum::<usize>();
    told.extend(tell(&results, room));
    told.retain(|prior| !prior.cut || prior.text.len() >= LEAST_BYTES);
    let is_told = |id: TaskId| told.iter().any(|prior| prior.task == id);
    let ids = first.iter().chain(rest).map(|prior| prior.task.id);
    let left_out: Vec<TaskId> = ids.filter(|id| !is_told(*id)).take(NAMED_MAX).collect();
    Priors { left_out, left_out_count: count - told.len(), told }
}

fn candidates<'a>(state: &'a State, task: &Task) -> Vec<Prior<'a>> {
    let (mut named, mut grouped) = (BTreeSet::new(), BTreeSet::new());
    for on in &task.spec.blocked_by {
        match on {
            Dependency::Task(id) => drop(named.insert(*id)),
            Dependency::Group(group) => {
                let group = state.groups.get(group).into_iter();
                grouped.extend(group.flat_map(|group| &group.members));
            }
        }
    }
    grouped.retain(|id| *id != task.id && !named.contains(id));
    let named = named.iter().map(|id| (id, false));
    let all = named.chain(grouped.iter().map(|id| (id, true)));
    let prior = |(id, grouped): (&TaskId, bool)| {
        let task = state.task(*id)?;
        let Status::Completed { result, .. } = &task.status else { return None };
        let result = handoff(task).is_none().then_some(result.trim());
        (result != Some("")).then_some(Prior { task, grouped, result })
    };
    all.filter_map(prior).collect()
}

fn handoff(task: &Task) -> Option<&Handoff> {
    let handoff = task.handoff.as_ref().map(|handed| &handed.handoff);
    handoff.filter(|handoff| handoff.fault.is_empty())
}

/// As much of each as there is room for, none at the cost of another.
fn tell(priors: &[&Prior<'_>], room: usize) -> Vec<PriorView> {
    let whole = |prior: &&Prior<'_>| match (handoff(prior.task), prior.result) {
        (Some(handoff), None) => (handoff.to_string(), PRIOR_BYTES_MAX),
        (_, result) => (result.unwrap_or_default().to_owned(), RESULT_BYTES_MAX),
    };
    let whole: Vec<(String, usize)> = priors.iter().map(whole).collect();
    let wants: Vec<usize> = whole.iter().map(|(text, max)| text.len().min(*max)).collect();
    let views = priors.iter().zip(whole).zip(shares(&wants, room));
    let view = |((prior, (whole, _)), bytes): ((&&Prior<'_>, (String, usize)), usize)| {
        let by = match (&prior.task.handoff, &prior.task.status, prior.result) {
            (Some(handed), _, None) => Some(&handed.by),
            (_, Status::Completed { by, .. }, _) => by.as_ref(),
            _ => None,
        };
        let text = match handoff(prior.task).filter(|_| prior.result.is_none()) {
            _ if whole.len() <= bytes => whole.clone(),
            Some(handoff) => fitted(handoff, bytes),
            None => start(&whole, bytes).to_owned(),
        };
        PriorView {
            task: prior.task.id,
            subject: prior.task.spec.subject.clone(),
            by: by.map_or_else(|| "person".to_owned(), ToString::to_string),
            cut: text.len() < whole.len(),
            text,
        }
    };
    views.map(view).collect()
}

/// How much each gets that wants so much: whoever wants less than its share leaves the rest to the others.
fn shares(wants: &[usize], mut room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wants.len()).collect();
    order.sort_by_key(|at| wants[*at]);
    let mut shares = vec![0; wants.len()];
    for (done, at) in order.iter().enumerate() {
        shares[*at] = wants[*at].min(room / (wants.len() - done));
        room -= shares[*at];
    }
    shares
}

/// Something of each part, and of each how many entries are left out: what is told last, as interfaces, is
/// what others go on from.
fn fitted(handoff: &Handoff, room: usize) -> String {
    let parts = handoff.parts();
    let line = |(name, entries): &(&str, Vec<String>)| format!("{name}: {}", entries.join("; "));
    let wants: Vec<usize> = parts.iter().map(|part| line(part).len() + 1).collect();
    let lines = parts.iter().zip(shares(&wants, room)).map(|(part, bytes)| {
        let whole = line(part);
        let room = bytes.saturating_sub(1);
        if whole.len() <= room {
            return whole;
        }
        let (name, entries) = part;
        // As many whole ones as fit beside the word that more were left out.
        for kept in (1..entries.len()).rev() {
            let left_out = entries.len() - kept;
            let line = format!("{name}: {}; … {left_out} more", entries[..kept].join("; "));
            if line.len() <= room {
                return line;
            }
        }
        let more = match entries.len() {
            1 => " …".to_owned(),
            entries => format!(" … {} more", entries - 1),
        };
        format!("{}{more}", start(&whole, room.saturating_sub(more.len())))
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    start(&text, room).to_owned()
}

fn start(text: &str, bytes_max: usize) -> &str {
    text[..text.floor_char_boundary(bytes_max)].trim_end()
}

/// The newest few notes about it that its team reads: what other departments say goes by their routes.
pub(super) fn notes(state: &State, task: &Task) -> Vec<NoteView> {
    let on_it = state.notes_of(&task.team).filter(|note| note.task == Some(task.id));
    on_it.take(NOTES_TOLD).map(note).collect()
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

    #[test]
    fn a_brief_has_no_note_of_another_department() {
        let mut state = state(&[], None, &[]);
        let spec = json!({ "subject": "ours" });
        let noted = |team: &str| json!({ "note.added": { "team": team, "text": team, "task": 2 } });
        let events = [
            json!({ "team.created": { "team": "beta", "parent": "alpha" } }),
            json!({ "team.created": { "team": "gamma", "parent": "alpha" } }),
            json!({ "task.created": { "task": 2, "team": "beta", "spec": spec } }),
            noted("alpha"),
            noted("beta"),
            noted("gamma"),
        ];
        for event in events {
            let record =
                json!({ "n": state.position + 1, "at": 0, "by": "person", "event": event });
            apply(&mut state, &serde_json::from_value(record).expect("a record"));
        }
        let task = state.tasks().iter().next_back().expect("beta's");
        let texts: Vec<String> = notes(&state, task).into_iter().map(|note| note.text).collect();
        assert_eq!(texts, ["beta", "alpha"]);
    }

    fn left(state: &State) -> Priors {
        let last = state.tasks().iter().next_back().expect("the one that waited");
        priors(state, last)
    }

    fn told(state: &State) -> Vec<PriorView> {
        left(state).told
    }

    #[test]
    fn a_brief_has_so_much_of_each_handoff_and_of_all() {
        let long = json!({ "done": ["ä".repeat(3000)] });
        let all: Vec<Value> = (1..=5).map(|id| json!({ "task": id })).collect();
        let told = told(&state(&vec![long; 5], None, &all));
        let ids: Vec<u32> = told.iter().map(|one| one.task).collect();
        assert_eq!(ids, [5, 4, 3, 2, 1], "newest first");
        let share = PRIORS_BYTES_MAX / 5;
        assert!(told.iter().all(|one| one.cut && one.text.len() <= share), "{told:?}");
        assert!(told.iter().all(|one| one.text.len() > share - 8), "none at another's cost");
    }

    #[test]
    fn handoffs_come_before_bare_results_and_what_is_left_out_is_named() {
        let mut before = vec![json!({ "left": ["x"] }); 3];
        before.extend(vec![json!("all tests pass"); 12]);
        let mut all: Vec<Value> = (4..=15).map(|id| json!({ "task": id })).collect();
        all.push(json!({ "group": "g" }));
        let left = left(&state(&before, Some("g"), &all));
        let ids: Vec<u32> = left.told.iter().map(|one| one.task).collect();
        assert_eq!(ids, [3, 2, 1, 15, 14, 13, 12, 11], "handed over in a group, then results");
        assert_eq!(
            (left.left_out.as_slice(), left.left_out_count),
            ([10, 9, 8, 7, 6, 5, 4].as_slice(), 7)
        );
    }

    #[test]
    fn results_have_the_room_that_handoffs_leave() {
        let long = json!({ "done": ["ä".repeat(3000)] });
        let before = [long.clone(), long.clone(), long, json!("p".repeat(300))];
        let all: Vec<Value> = (1..=4).map(|id| json!({ "task": id })).collect();
        let left = left(&state(&before, None, &all));
        let ids: Vec<u32> = left.told.iter().map(|one| one.task).collect();
        assert_eq!(
            (ids.as_slice(), left.left_out.as_slice()),
            ([3, 2, 1].as_slice(), [4].as_slice())
        );
    }

    #[test]
    fn a_long_handoff_loses_entries_of_each_part_and_no_part() {
        let many = |word: &str| (1..=200).map(|n| format!("{word} {n}")).collect::<Vec<_>>();
        let handoff = json!({
            "done": many("step"), "surprises": ["s".repeat(3000)], "interfaces": ["parse() takes a path"],
        });
        let told = told(&state(&[handoff], None, &[json!({ "task": 1 })]));
        let lines: Vec<&str> = told[0].text.lines().collect();
        let [done, surprises, interfaces] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(done.starts_with("done: step 1; step 2; ") && done.ends_with(" more"), "{done}");
        assert!(
            surprises.starts_with("surprises: sss") && surprises.ends_with("s …"),
            "{surprises}"
        );
        assert_eq!(*interfaces, "interfaces: parse() takes a path");
        assert!(told[0].cut && told[0].text.len() <= PRIOR_BYTES_MAX);
    }

    #[test]
    fn of_a_large_group_the_newest_few_are_told_after_those_that_are_named() {
        let small = json!({ "left": ["x"] });
        let after = [json!({ "task": 3 }), json!({ "group": "g" })];
        let left = left(&state(&vec![small; 200], Some("g"), &after));
        let ids: Vec<u32> = left.told.iter().map(|one| one.task).collect();
        assert_eq!(ids, [3, 200, 199, 198, 197, 196, 195, 194]);
        assert_eq!((left.left_out.len(), left.left_out_count), (NAMED_MAX, 192));
        let told = left.told;
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
