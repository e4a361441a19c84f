//! Handoffs: messages of a kind, with fields that the playbook names.
//!
//! An object is held against its kind before it is sent, so whoever gets it can rely on it. Text
//! that is no object is sent as it is: plain words are always the fallback. Fields that the kind
//! does not name may be there too.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shipmate_model::Name;
use shipmate_model::playbook::{Field, Kind, Playbook, Shape};
use shipmate_protocol::refused;
use shipmate_protocol::{Code, Refused};

/// Refuses a handoff whose kind or fields are not the playbook's.
pub fn check(playbook: &Playbook, kind: &Name, body: &str) -> Result<(), Refused> {
    if playbook.kinds.is_empty() {
        return Ok(());
    }
    let Some(known) = playbook.kinds.get(kind) else {
        let sent = playbook.kinds.iter().filter(|(_, kind)| !kind.internal && kind.file.is_none());
        let kinds: Vec<&str> = sent.map(|(name, _)| name.as_str()).collect();
        return Err(refused(
            Code::UnknownKind,
            format!("{kind} is no kind of playbook {}: {}", playbook.name, kinds.join(", ")),
            "use one of them, or send it as a plain message",
        ));
    };
    let Ok(Value::Object(object)) = serde_json::from_str(body) else { return Ok(()) };
    let mut wrong = Vec::new();
    if let Some(named) = object.get("type").filter(|named| *named != kind.as_str()) {
        wrong.push(format!("type is {named} and must be {kind:?}", kind = kind.as_str()));
    }
    check_fields("", &known.fields, &object, &mut wrong);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(refused(
        Code::BadHandoff,
        format!("{kind} is not as its kind says: {}", wrong.join("; ")),
        &format!("mend that and send it again, such as {}", example(kind, known)),
    ))
}

/// The same for the result of a task, where it is an object of one of the playbook's kinds.
pub fn check_result(playbook: &Playbook, result: &str) -> Result<(), Refused> {
    let Ok(Value::Object(object)) = serde_json::from_str(result) else { return Ok(()) };
    let kind = object.get("type").and_then(Value::as_str).and_then(|kind| kind.parse().ok());
    match kind.filter(|kind| playbook.kinds.contains_key(kind)) {
        Some(kind) => check(playbook, &kind, result),
        None => Ok(()),
    }
}

fn check_fields(
    within: &str,
    fields: &BTreeMap<String, Field>,
    object: &Map<String, Value>,
    wrong: &mut Vec<String>,
) {
    for (name, field) in fields {
        let path = format!("{within}{name}");
        match object.get(name) {
            None | Some(Value::Null) if !field.required => {}
            None => wrong.push(format!("{path} is missing and must be {}", words(&field.shape))),
            Some(value) => check_shape(&path, &field.shape, value, wrong),
        }
    }
}

fn check_shape(path: &str, shape: &Shape, value: &Value, wrong: &mut Vec<String>) {
    match (shape, value) {
        (Shape::Any, _)
        | (Shape::Text, Value::String(_))
        | (Shape::Number, Value::Number(_))
        | (Shape::Flag, Value::Bool(_)) => {}
        (Shape::OneOf(words), Value::String(text)) if words.contains(text) => {}
        (Shape::List(inner), Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                check_shape(&format!("{path}[{at}]"), inner, item, wrong);
            }
        }
        (Shape::Object(fields), Value::Object(object)) => {
            check_fields(&format!("{path}."), fields, object, wrong);
        }
        _ => {
            let is: String = value.to_string().chars().take(80).collect();
            wrong.push(format!("{path} is {is} and must be {}", words(shape)));
        }
    }
}

/// What a field holds, for whoever writes it.
fn words(shape: &Shape) -> String {
    match shape {
        Shape::Text => "a text".to_owned(),
        Shape::Number => "a number".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::Any => "anything".to_owned(),
        Shape::OneOf(texts) => match texts.as_slice() {
            [one] => format!("{one:?}"),
            texts => format!("one of {}", texts.join(", ")),
        },
        Shape::List(inner) => format!("a list, each of it {}", words(inner)),
        Shape::Object(fields) => {
            let keys: Vec<&str> = fields.keys().map(String::as_str).collect();
            format!("an object with {}", keys.join(", "))
        }
    }
}

/// A handoff of this kind that passes.
pub fn example(kind: &Name, known: &Kind) -> Value {
    let mut object = example_fields(&known.fields);
    object.entry("type").or_insert_with(|| json!(kind.as_str()));
    Value::Object(object)
}

fn example_fields(fields: &BTreeMap<String, Field>) -> Map<String, Value> {
    fields.iter().map(|(name, field)| (name.clone(), example_of(&field.shape))).collect()
}

fn example_of(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!("…"),
        Shape::Number => json!(1),
        Shape::Flag => json!(true),
        Shape::Any => json!({}),
        Shape::OneOf(texts) => json!(texts.first()),
        Shape::List(inner) => json!([example_of(inner)]),
        Shape::Object(fields) => Value::Object(example_fields(fields)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Shape {
        Shape::Text
    }

    fn required(shape: Shape) -> Field {
        Field { shape, required: true }
    }

    fn optional(shape: Shape) -> Field {
        Field { shape, required: false }
    }

    fn kind(fields: &[(&str, Field)]) -> Kind {
        let fields = fields.iter().map(|(name, field)| ((*name).to_owned(), field.clone()));
        Kind { fields: fields.collect(), ..Kind::default() }
    }

    fn one_of(words: &[&str]) -> Shape {
        Shape::OneOf(words.iter().map(|word| (*word).to_owned()).collect())
    }

    fn name(text: &str) -> Name {
        text.parse().expect("a name")
    }

    fn playbook() -> Playbook {
        let mut playbook: Playbook = serde_json::from_value(json!({
            "name": "small", "roles": {}, "phases": [],
        }))
        .expect("the least playbook");
        let progress = kind(&[
            ("task", required(text())),
            ("plan_id", required(text())),
            ("commit", optional(text())),
            ("status", required(one_of(&["complete", "partial", "failed"]))),
            ("concerns", optional(Shape::List(Box::new(text())))),
        ]);
        let blocker = kind(&[
            ("task", required(text())),
            ("attempted", required(Shape::List(Box::new(text())))),
        ]);
        let checks = Shape::Object(BTreeMap::from([
            ("passed".to_owned(), required(Shape::Number)),
            ("failed".to_owned(), required(Shape::Number)),
        ]));
        let result = kind(&[("checks", required(checks)), ("committed", required(Shape::Flag))]);
        let health = Kind { internal: true, ..Kind::default() };
        playbook.kinds = BTreeMap::from([
            (name("dev_progress"), progress),
            (name("dev_blocker"), blocker),
            (name("qa_result"), result),
            (name("agent_health_event"), health),
        ]);
        playbook
    }

    fn said(kind: &str, body: &Value) -> Result<(), String> {
        let refused = check(&playbook(), &name(kind), &body.to_string());
        refused.map_err(|refused| {
            format!("{} ({})", refused.message, refused.remedy.unwrap_or_default())
        })
    }

    #[test]
    fn a_handoff_with_its_fields_passes_with_and_without_its_type() {
        let mut body = json!({ "task": "01-01/T3", "plan_id": "01-01", "status": "complete" });
        assert_eq!(said("dev_progress", &body), Ok(()));
        body["type"] = json!("dev_progress");
        body["commit"] = json!(null);
        body["concerns"] = json!(["slow"]);
        body["extra"] = json!({ "kept": true });
        assert_eq!(said("dev_progress", &body), Ok(()));
    }

    #[test]
    fn each_wrong_field_is_named_with_what_it_must_be_and_an_example() {
        let told = said("dev_progress", &json!({ "task": 3, "status": "done" })).unwrap_err();
        assert_eq!(
            told,
            "dev_progress is not as its kind says: plan_id is missing and must be a text; status \
             is \"done\" and must be one of complete, partial, failed; task is 3 and must be a text \
             (mend that and send it again, such as {\"commit\":\"…\",\"concerns\":[\"…\"],\
             \"plan_id\":\"…\",\"status\":\"complete\",\"task\":\"…\",\"type\":\"dev_progress\"})"
        );
    }

    #[test]
    fn lists_and_objects_are_looked_into() {
        let told = said("dev_blocker", &json!({ "task": "T1", "attempted": "nothing" }));
        assert!(told.unwrap_err().contains("attempted is \"nothing\" and must be a list, each"));
        let told = said("dev_blocker", &json!({ "task": "T1", "attempted": ["a", 2] }));
        assert!(told.unwrap_err().contains("attempted[1] is 2 and must be a text"));
        let body = json!({ "checks": { "passed": "3" }, "committed": "yes" });
        let told = said("qa_result", &body).unwrap_err();
        assert!(told.contains("checks.failed is missing and must be a number"), "{told}");
        assert!(told.contains("checks.passed is \"3\" and must be a number"), "{told}");
        assert!(told.contains("committed is \"yes\" and must be true or false"), "{told}");
    }

    #[test]
    fn another_type_inside_is_named() {
        let body =
            json!({ "type": "dev_blocker", "task": "T1", "plan_id": "1", "status": "failed" });
        let told = said("dev_progress", &body).unwrap_err();
        assert!(told.contains("type is \"dev_blocker\" and must be \"dev_progress\""), "{told}");
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_kinds_there_are() {
        let told = said("dev_progres", &json!({})).unwrap_err();
        assert_eq!(
            told,
            "dev_progres is no kind of playbook small: dev_blocker, dev_progress, qa_result (use \
             one of them, or send it as a plain message)"
        );
    }

    #[test]
    fn plain_text_is_the_fallback() {
        let (book, kind) = (playbook(), name("dev_progress"));
        assert!(check(&book, &kind, "T3 is done, all green").is_ok());
        assert!(check(&book, &kind, "{ not JSON").is_ok());
    }

    #[test]
    fn without_kinds_any_kind_is_sent() {
        let mut book = playbook();
        book.kinds.clear();
        assert!(check(&book, &name("anything"), "{\"a\":1}").is_ok());
    }

    #[test]
    fn what_the_example_shows_passes() {
        let book = playbook();
        for (name, known) in &book.kinds {
            let body = example(name, known);
            assert_eq!(said(name.as_str(), &body), Ok(()), "{body}");
        }
    }
}
