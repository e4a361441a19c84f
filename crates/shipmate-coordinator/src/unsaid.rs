//! What no record may say: the secrets of files that trees get copies of (`shipmate_process::hidden`).

use serde_json::Value;
use shipmate_model::event::Event;
use shipmate_process::hidden;

/// The event with their names instead of them.
pub(crate) fn without_secrets(event: Event) -> Event {
    // What the team works by is a person's, and is run as it is.
    let is_setting = matches!(
        event,
        Event::TeamCreated { .. } | Event::TeamChanged { .. } | Event::TeammateAdded { .. }
    );
    if !hidden::is_anything_hidden() || is_setting {
        return event;
    }
    let Ok(mut value) = serde_json::to_value(&event) else { return event };
    match hide_in(&mut value, false) {
        // An event that is none any more is better told whole than not at all.
        true => serde_json::from_value(value).unwrap_or(event),
        false => event,
    }
}

/// What others say in their own words. Names, paths, commands and commits are left as they are.
const WORDS: [&str; 20] = [
    "subject",
    "active_form",
    "options",
    "missing",
    "notes",
    "problems",
    "single",
    "metadata",
    "result",
    "reason",
    "body",
    "note",
    "output",
    "text",
    "answer",
    "feedback",
    "description",
    "words",
    "summary",
    // All of it: also the commands that it tells of.
    "handoff",
];

/// Whether there was something to hide.
fn hide_in(value: &mut Value, is_words: bool) -> bool {
    match value {
        Value::String(text) if is_words => {
            let shown = hidden::shown(text).into_owned();
            let is_changed = shown != *text;
            *text = shown;
            is_changed
        }
        // All of them, also behind the first that had something.
        Value::Array(items) => {
            items.iter_mut().map(|item| hide_in(item, is_words)).filter(|hid| *hid).count() > 0
        }
        Value::Object(fields) => {
            let each = fields.iter_mut();
            let each =
                each.map(|(name, item)| hide_in(item, is_words || WORDS.contains(&name.as_str())));
            each.filter(|hid| *hid).count() > 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use shipmate_model::handoff::{CommandRun, Handoff};

    use super::*;

    #[test]
    fn a_record_has_the_name_of_a_secret() {
        hidden::hide([("s3cret-of-a-record".to_owned(), "[KEY]".to_owned())]);
        let said = |result: &str| Event::TaskSubmitted {
            task: 1,
            token: 1,
            commit: None,
            result: result.to_owned(),
            handoff: Some(Box::new(Handoff {
                surprises: vec![result.to_owned()],
                commands: vec![CommandRun { command: result.to_owned(), ..CommandRun::default() }],
                ..Handoff::default()
            })),
        };
        let event = without_secrets(said("it is s3cret-of-a-record\""));
        assert_eq!(event, said("it is [KEY]\""));
        let made = |text: &str| -> Event {
            serde_json::from_value(serde_json::json!({ "task.created": {
                "team": "alpha", "task": 1, "spec": { "subject": text, "metadata": { "k": text } },
            }}))
            .expect("an event")
        };
        assert_eq!(without_secrets(made("s3cret-of-a-record it")), made("[KEY] it"));
        let noted = |text: &str| Event::NoteAdded {
            team: "alpha".parse().expect("a name"),
            text: text.to_owned(),
            task: None,
        };
        assert_eq!(without_secrets(noted("is s3cret-of-a-record")), noted("is [KEY]"));
    }
}
