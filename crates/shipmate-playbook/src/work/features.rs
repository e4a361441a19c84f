//! Pieces of work from `.harness/features.json`.
//!
//! The five words of its status are translated here and nowhere else. What is passing is done;
//! `blocked` is not believed where all that a feature waits for is passing, and an assignment of a
//! run that is over is taken up again. A file with a mistake in it is refused as a whole, with
//! every mistake and its place, unless what is right in it was asked for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::json_text::{self, Span};
use super::overlap::reached;
use super::{Item, Work};

/// What a feature must say, and of what kind it is.
type Fits = fn(&Value) -> bool;

const FIELDS: [(&str, &str, Fits); 10] = [
    ("id", "a text", |value| value.as_str().is_some_and(|text| !text.trim().is_empty())),
    ("description", "a text", Value::is_string),
    ("priority", "a whole number from 1", |value| value.as_i64().is_some_and(is_priority)),
    ("status", "one of pending, in-progress, blocked, passing, failed", is_status),
    ("scope", "a list of paths", is_texts),
    ("depends_on", "a list of feature ids", is_texts),
    ("assigned_to", "a teammate's name or null", is_text_or_null),
    ("test_file", "a path or null", is_text_or_null),
    ("coverage", "a number, a text or null", |value| value.is_number() || is_text_or_null(value)),
    ("notes", "a text or null", is_text_or_null),
];

pub(crate) const STATUSES: [&str; 5] = ["pending", "in-progress", "blocked", "passing", "failed"];

fn is_priority(number: i64) -> bool {
    (1..=i64::from(i32::MAX)).contains(&number)
}

fn is_status(value: &Value) -> bool {
    value.as_str().is_some_and(|word| STATUSES.contains(&word))
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

fn is_text_or_null(value: &Value) -> bool {
    value.is_string() || value.is_null()
}

/// A feature as the file has it.
struct Feature {
    place: String,
    members: BTreeMap<String, Value>,
}

impl Feature {
    fn text(&self, key: &str) -> &str {
        self.members.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let items = self.members.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    fn is_passing(&self) -> bool {
        self.text("status") == "passing"
    }
}

/// Reads the file; `leave_out` says that what is wrong in it is left out instead of refused.
pub(crate) fn read(path: &str, text: &str, leave_out: bool) -> Result<Work, String> {
    let whole = 0..text.len();
    let top = json_text::members(text, &whole).map_err(|e| format!("{path}:{e}"))?;
    let find = |key: &str| top.iter().find(|(own, _)| own == key).map(|(_, span)| span.clone());
    let Some(list) = find("features") else {
        return Err(format!("{path}: there is no list \"features\" in it"));
    };
    let line = json_text::line(text, list.start);
    let list = json_text::items(text, &list)
        .map_err(|_| format!("{path}:{line}: \"features\" is no list: write [ … ] around them"))?;
    let mut problems = Vec::new();
    let mut features: Vec<Feature> = Vec::new();
    let scopes = match find("scopes").map(|span| named_scopes(path, text, &span)) {
        None => BTreeMap::new(),
        Some(Ok(scopes)) => scopes,
        Some(Err(problem)) => {
            problems.push(problem);
            BTreeMap::new()
        }
    };
    for (at, span) in list.iter().enumerate() {
        match feature(path, text, at, span, (&features, &scopes)) {
            Ok(one) => features.push(one),
            Err(wrong) => problems.extend(wrong),
        }
    }
    loop {
        let wrong = references(&features);
        if wrong.is_empty() {
            break;
        }
        let places: BTreeSet<usize> = wrong.iter().map(|(at, _)| *at).collect();
        problems.extend(wrong.into_iter().map(|(_, problem)| problem));
        let mut at = 0;
        features.retain(|_| (!places.contains(&at), at += 1).0);
    }
    if !problems.is_empty() && !leave_out {
        let all = problems.join("\n  ");
        return Err(format!(
            "{path} has mistakes:\n  {all}\n  mend them, or run what is right in it with \
             --set malformed=leave-out"
        ));
    }
    let mut notes: Vec<String> =
        problems.into_iter().map(|problem| format!("left out: {problem}")).collect();
    let number = |key: &str| find(key).and_then(|span| text[span].parse::<usize>().ok());
    let passing = features.iter().filter(|one| one.is_passing()).count();
    for (key, said, counted) in [
        ("passing", number("passing"), passing),
        ("total_features", number("total_features"), list.len()),
    ] {
        if let Some(said) = said.filter(|said| *said != counted) {
            notes.push(format!("{path} says {key} is {said}, and it is {counted}: corrected"));
        }
    }
    Ok(work(features, notes))
}

/// What a scope may be called, with the paths that it is: a layer, or everything of a flow.
type Scopes = BTreeMap<String, Vec<String>>;

fn named_scopes(path: &str, text: &str, span: &Span) -> Result<Scopes, String> {
    serde_json::from_str(&text[span.clone()]).map_err(|_| {
        let line = json_text::line(text, span.start);
        format!("{path}:{line}: \"scopes\" is a list of paths for each name: {{\"api\": [\"src/api/\"]}}")
    })
}

fn feature(
    path: &str,
    text: &str,
    at: usize,
    span: &Span,
    (before, scopes): (&[Feature], &Scopes),
) -> Result<Feature, Vec<String>> {
    let place = format!("{path}:{}", json_text::line(text, span.start));
    let members = match serde_json::from_str::<BTreeMap<String, Value>>(&text[span.clone()]) {
        Ok(members) => members,
        Err(_) => return Err(vec![format!("{place}: feature {} is no object", at + 1)]),
    };
    let mut one = Feature { place: place.clone(), members };
    if one.members.get("scope").is_some_and(is_texts) {
        let own = one.texts("scope").into_iter();
        let paths = own.flat_map(|name| scopes.get(&name).cloned().unwrap_or_else(|| vec![name]));
        one.members.insert("scope".to_owned(), paths.collect());
    }
    let name = match one.text("id") {
        "" => format!("feature {}", at + 1),
        id => id.to_owned(),
    };
    let mut wrong = Vec::new();
    for (key, kind, is_right) in FIELDS {
        match one.members.get(key) {
            None => wrong.push(format!("{place}: {name} has no {key}: write {kind}")),
            Some(value) if !is_right(value) => {
                wrong.push(format!("{place}: {name}: {key} is {value}: write {kind}"));
            }
            Some(_) => {}
        }
    }
    if let Some(target) = one.members.get("coverage_target")
        && !target.as_f64().is_some_and(|target| (1.0..=100.0).contains(&target))
    {
        wrong.push(format!("{place}: {name}: coverage_target is {target}: write 1 to 100"));
    }
    for scope in one.texts("scope") {
        if let Err(e) = scope.parse::<shipmate_model::files::Pattern>() {
            wrong.push(format!("{place}: {name}: scope: {e}"));
        }
    }
    let id = one.text("id");
    if !id.is_empty() && id.parse::<shipmate_model::Alias>().is_err() {
        wrong.push(format!("{place}: {name}: an id is letters, digits, - and _, such as F001"));
    }
    if let Some(first) = before.iter().find(|other| other.text("id") == id) {
        wrong.push(format!("{place}: {name} is there twice, first at {}", first.place));
    }
    if wrong.is_empty() { Ok(one) } else { Err(wrong) }
}

/// Features that wait for nobody, or for themselves, each with what is wrong.
fn references(features: &[Feature]) -> Vec<(usize, String)> {
    let all: Vec<(&str, Vec<String>)> =
        features.iter().map(|one| (one.text("id"), one.texts("depends_on"))).collect();
    let needs = all.iter().map(|(id, on)| (*id, on.as_slice())).collect();
    let mut wrong = Vec::new();
    for (at, (id, depends_on)) in all.iter().enumerate() {
        let place = &features[at].place;
        for on in depends_on {
            if !all.iter().any(|(other, _)| other == on) {
                wrong.push((at, format!("{place}: {id} depends on {on}, which is not there")));
            }
        }
        if reached(&needs, id).contains(id) {
            wrong.push((at, format!("{place}: {id} waits for itself by its depends_on")));
        }
    }
    wrong
}

fn work(features: Vec<Feature>, mut notes: Vec<String>) -> Work {
    let passing: BTreeSet<String> = features
        .iter()
        .filter(|one| one.is_passing())
        .map(|one| one.text("id").to_owned())
        .collect();
    let is_new = passing.is_empty();
    let (mut items, mut done) = (Vec::new(), Vec::new());
    for one in features {
        if one.is_passing() {
            done.push(item(&one, Vec::new(), None));
            continue;
        }
        let (id, status, said) = (one.text("id"), one.text("status"), one.text("notes"));
        let needs = one.texts("depends_on");
        let waits = needs.iter().any(|on| !passing.contains(on));
        if status == "blocked" && needs.is_empty() && !said.trim().is_empty() {
            notes.push(format!("{id} is blocked from outside and left out: {said}"));
            continue;
        }
        if status == "blocked" && !waits {
            notes.push(format!("{id} is called blocked, and waits for nothing: it can be taken"));
        }
        let assignee = Some(one.text("assigned_to")).filter(|name| !name.trim().is_empty());
        if status == "in-progress" {
            let by = assignee.map(|name| format!(" by {name}")).unwrap_or_default();
            notes.push(format!("{id} was in progress{by} in a run that is over: taken up again"));
        }
        let needs = needs.into_iter().filter(|on| !passing.contains(on)).collect();
        items.push(item(&one, needs, assignee));
    }
    // What comes first sets the patterns for all that follow.
    if is_new
        && let Some(first) = items.iter_mut().min_by_key(|item| (item.priority, item.id.clone()))
    {
        first.fields.insert("first".to_owned(), "yes".to_owned());
    }
    Work { items, done, notes, ..Work::default() }
}

fn item(one: &Feature, needs: Vec<String>, assignee: Option<&str>) -> Item {
    let said = one.members.iter().filter_map(|(key, value)| Some((key.clone(), said_of(value)?)));
    let mut fields: BTreeMap<String, String> = said.collect();
    for own in ["id", "description", "scope", "depends_on", "priority", "status", "assigned_to"] {
        fields.remove(own);
    }
    Item {
        id: one.text("id").to_owned(),
        subject: one.text("description").to_owned(),
        description: one.text("description").to_owned(),
        files: one.texts("scope"),
        // A branch of its own for each, where somebody wants them apart.
        group: Some(one.text("id").to_owned())
            .filter(|id| id.parse::<shipmate_model::Name>().is_ok()),
        needs,
        assignee: assignee.map(str::to_owned),
        priority: one.members["priority"].as_i64().and_then(|n| i32::try_from(n).ok()),
        fields,
        ..Item::default()
    }
}

/// A field's value for templates; nothing, false and null say nothing.
fn said_of(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
