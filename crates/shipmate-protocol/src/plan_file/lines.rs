//! Plans as lines of JSON: a header, then one task a line (`03-01.plan.jsonl`).
//!
//! Several files are one run: each plan is a group of the board, named by its id, and a plan that
//! depends on another waits for that group, one edge a task. Task ids are unique in their plan
//! only, so a task is known on the board as `plan/id`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use crate::verbs::TaskNew;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::record::{Field, Keys, Record, bad_name, bad_path};
use super::{Artifact, Draft, Format, LINE_BYTES_MAX, PlanHeader, TASKS_MAX};
use crate::problem::{Place, listed, nearest, quoted, shown_id};

const HEADER: Keys = &[
    ("p", &["phase"]),
    ("n", &["plan number", "number", "plan"]),
    ("t", &["title"]),
    ("w", &["wave"]),
    ("d", &["depends_on", "needs"]),
    ("xd", &["cross_phase_deps"]),
    ("mh", &["must_haves"]),
    ("obj", &["objective"]),
    ("eff", &["effort_override", "effort"]),
    ("sk", &["skills_used", "skills"]),
    ("fm", &["files_modified", "files"]),
    ("auto", &["autonomous"]),
];

const TASK: Keys = &[
    ("id", &["task id"]),
    ("tp", &["type"]),
    ("a", &["action", "subject", "title"]),
    ("f", &["files"]),
    ("v", &["verify"]),
    ("done", &["done criteria"]),
    ("spec", &["specification", "description"]),
    ("ts", &["test spec", "test_spec", "tests"]),
    ("td", &["task_depends", "depends_on", "blocked_by", "needs"]),
];

const ARTIFACT: Keys = &[
    ("p", &["phase"]),
    ("n", &["plan number"]),
    ("a", &["artifact path", "artifact"]),
    ("r", &["reason"]),
];

/// Every key, for the test of the manual.
#[cfg(test)]
pub(super) fn keys() -> impl Iterator<Item = String> {
    HEADER.iter().chain(TASK).map(|(key, _)| (*key).to_owned())
}

/// The subject of a task whose action is a paragraph: its beginning, in so many characters.
const SUBJECT_CHARS: usize = 120;

/// Reads one file into the draft.
pub(super) fn parse(file: &Arc<str>, text: &str, draft: &mut Draft) {
    let mut plan: Option<(PlanHeader, Notes)> = None;
    let mut usable = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        let place = Place { file: file.clone(), line: index + 1 };
        if draft.plan.tasks.len() >= TASKS_MAX {
            return draft.too_many(&place);
        }
        let fields = fields(&place, line, draft);
        match (&plan, fields) {
            (Some((plan, notes)), Some(fields)) => read_task(place, fields, plan, notes, draft),
            (Some(_), None) => {}
            (None, fields) => {
                let read = fields.and_then(|fields| read_header(place.clone(), fields, draft));
                usable = read.is_some();
                if usable && repeated(read.as_ref(), draft) {
                    return;
                }
                // Without a header the tasks are still read, to tell what is wrong with them.
                draft.torn |= !usable;
                plan = read.or_else(|| Some((PlanHeader::missing(place), Notes::new())));
            }
        }
    }
    let Some((header, _)) = plan else {
        let place = Place { file: file.clone(), line: 0 };
        draft.problems.add(&place, "the file is empty".to_owned(), NO_HEADER);
        return;
    };
    let alone = draft.plan.tasks.last().is_none_or(|(_, place)| place.file != *file);
    if alone && !draft.torn {
        let fact = format!("plan {} has no tasks", header.id);
        draft.problems.add(&header.place, fact, "write one task a line below its header");
    }
    if usable {
        draft.plan.plans.push(header);
    }
}

/// A plan that was given twice: its tasks would only repeat those of the first.
fn repeated(read: Option<&(PlanHeader, Notes)>, draft: &mut Draft) -> bool {
    let Some((header, _)) = read else { return false };
    let Some(earlier) = draft.plan.plans.iter().find(|plan| plan.id == header.id) else {
        return false;
    };
    let fact = format!("plan {} was given already: {}", header.id, earlier.place);
    draft.problems.add(&header.place, fact, "give each plan a \"p\" and \"n\" of its own");
    true
}

const NO_HEADER: &str = "begin with the header {\"p\":\"01\",\"n\":\"01\",\"t\":\"…\"}, then one \
                         task a line";

/// The fields of one line in their order, with those that are there twice.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

fn fields(place: &Place, line: &str, draft: &mut Draft) -> Option<Vec<Field>> {
    if line.len() > LINE_BYTES_MAX {
        let fact = format!("the line has {} bytes, the limit is {LINE_BYTES_MAX}", line.len());
        draft.problems.add(place, fact, "put long texts into a file and name the file");
        draft.torn = true;
        return None;
    }
    match serde_json::from_str::<Fields>(line) {
        Ok(Fields(fields)) => {
            let field = |(key, value)| Field { key, line: place.line, value };
            Some(fields.into_iter().map(field).collect())
        }
        Err(e) => {
            // Each line is a document of its own, so serde's "line 1" would mislead.
            let reason = e.to_string();
            let reason = reason.rsplit_once(" at line").map_or(reason.as_str(), |(fact, _)| fact);
            let fact = format!("not a JSON object: {reason}");
            draft.problems.add_at(place, e.column().max(1), fact, "write one JSON object a line");
            draft.torn = true;
            None
        }
    }
}

/// What the header says about every task of its plan.
type Notes = BTreeMap<String, String>;

fn read_header(place: Place, fields: Vec<Field>, draft: &mut Draft) -> Option<(PlanHeader, Notes)> {
    let has = |key: &str| fields.iter().any(|field| field.key == key);
    if !has("p") && !has("n") && (has("id") || has("subject")) {
        let fact = "this is a task, and the first line of a plan is its header".to_owned();
        let remedy = match has("subject") {
            true => "a list of tasks without header is created by `shipmate task create --from`",
            false => NO_HEADER,
        };
        draft.problems.add(&place, fact, remedy);
        return None;
    }
    let mut record =
        Record::new(Format::Lines, "a header", place, fields, HEADER, &mut draft.problems);
    let (p, n) = (record.needed("p"), record.needed("n"));
    let title = record.line_of_text("t").unwrap_or_default();
    let mut notes = Notes::new();
    notes.extend(record.text("eff").map(|effort| ("effort".to_owned(), effort)));
    let skills = record.texts("sk");
    if !skills.is_empty() {
        notes.insert("skills".to_owned(), skills.join(", "));
    }
    let must_haves = record.take("mh").map(|field| field.value);
    if must_haves.as_ref().is_some_and(|value| !value.is_object() && !value.is_array()) {
        let fact = "\"mh\" (must_haves) must be an object or a list".to_owned();
        record.problem("mh", fact, "write \"mh\":{\"tr\":[],\"ar\":[],\"kl\":[]}");
    }
    let artifacts = record.take("xd").map(|field| field.value);
    let mut header = PlanHeader {
        id: String::new(),
        title,
        objective: record.text("obj").unwrap_or_default(),
        wave: record.whole("w", 0..=i64::MAX),
        depends_on: record.distinct("d"),
        artifacts: Vec::new(),
        files_modified: record.files("fm"),
        place: record.place.clone(),
        // Last, so that the rest is checked even without them.
        p: p?,
        n: n?,
    };
    // Only its type matters so far.
    record.flag("auto");
    header.id = format!("{}-{}", header.p, header.n);
    if let Some((fact, remedy)) = bad_name(&header.id) {
        record.problem("p", format!("the plan's id {fact}"), remedy);
        return None;
    }
    if header.title.is_empty() {
        header.title.clone_from(&header.id);
    }
    header.artifacts = artifacts.map_or(Vec::new(), |value| read_artifacts(&header, value, draft));
    Some((header, notes))
}

fn read_artifacts(header: &PlanHeader, value: Value, draft: &mut Draft) -> Vec<Artifact> {
    let example = "write \"xd\":[{\"p\":\"01\",\"n\":\"02\",\"a\":\"path\",\"r\":\"reason\"}]";
    let Value::Array(items) = value else {
        let fact = "\"xd\" (cross_phase_deps) must be a list of objects".to_owned();
        draft.problems.add(&header.place, fact, example);
        return Vec::new();
    };
    let mut artifacts = Vec::new();
    for item in items {
        let Value::Object(map) = item else {
            let fact = "\"xd\" (cross_phase_deps) must be a list of objects".to_owned();
            draft.problems.add(&header.place, fact, example);
            break;
        };
        let line = header.place.line;
        let fields = map.into_iter().map(|(key, value)| Field { key, line, value }).collect();
        let (place, problems) = (header.place.clone(), &mut draft.problems);
        let what = "an entry of \"xd\"";
        let mut record = Record::new(Format::Lines, what, place, fields, ARTIFACT, problems);
        let (p, n, path) = (record.needed("p"), record.needed("n"), record.needed("a"));
        let reason = record.text("r").unwrap_or_default();
        let (Some(p), Some(n), Some(path)) = (p, n, path) else { continue };
        if let Some((fact, remedy)) = bad_path(&path) {
            record.problem("a", format!("\"a\" (artifact path): {fact}"), &remedy);
        }
        artifacts.push(Artifact { plan: format!("{p}-{n}"), path, reason });
    }
    artifacts
}

fn read_task(
    place: Place,
    mut fields: Vec<Field>,
    plan: &PlanHeader,
    notes: &Notes,
    draft: &mut Draft,
) {
    let has = |key: &str| fields.iter().any(|field| field.key == key);
    if has("p") && has("n") && !has("id") {
        let fact = format!("a second header, in the file of plan {}", plan.id);
        draft.problems.add(&place, fact, "put each plan into a file of its own");
        draft.torn = true;
        return;
    }
    // Some write it as a mark that is not set yet; one that is set is refused below.
    fields.retain(|field| field.key != "done" || field.value != Value::Bool(false));
    let problems = &mut draft.problems;
    let mut record = Record::new(Format::Lines, "a task", place, fields, TASK, problems);
    let id = record.needed("id");
    if let Some((fact, remedy)) = id.as_deref().and_then(bad_name) {
        record.problem("id", format!("the id {fact}"), remedy);
    }
    let action = record.needed("a").unwrap_or_default();
    record.missing("f", "[\"…\"], or [] if it writes none");
    let files = record.files("f");
    let kind = task_type(&mut record);
    let [verify, done, spec, tests] = ["v", "done", "spec", "ts"].map(|key| record.text(key));
    let waits = record.distinct("td");

    let (subject, rest) = subject(&action);
    let mut metadata = notes.clone();
    metadata.extend(kind.map(|(key, kind)| (key.to_owned(), kind)));
    for (key, value) in [("verify", verify), ("done", done), ("spec", spec), ("tests", tests)] {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            metadata.insert(key.to_owned(), value);
        }
    }
    let description = description(rest, &metadata, plan);
    record.check_size(&description, &metadata);

    let place = record.place.clone();
    let Some(id) = id else {
        draft.torn = true;
        return;
    };
    let new = TaskNew {
        subject,
        description,
        alias: Some(format!("{}/{id}", plan.id)),
        group: Some(plan.id.clone()),
        blocked_by: waits.iter().map(|id| format!("{}/{id}", plan.id)).collect(),
        // It says itself that it writes none.
        no_change: files.is_empty(),
        files,
        metadata,
        ..TaskNew::default()
    };
    draft.plan.tasks.push((new, place));
}

/// Everything the teammate has to know, in words.
fn description(action: Option<&str>, metadata: &Notes, plan: &PlanHeader) -> String {
    let mut parts = Vec::new();
    parts.extend(action.map(|action| action.trim().to_owned()));
    parts.extend(metadata.get("spec").map(|spec| spec.trim().to_owned()));
    for (title, key) in [
        ("Verify", "verify"),
        ("Done when", "done"),
        ("Tests", "tests"),
        ("Checkpoint", "checkpoint"),
    ] {
        parts.extend(metadata.get(key).map(|text| format!("{title}: {}", text.trim())));
    }
    let goal = if plan.objective.is_empty() { &plan.title } else { &plan.objective };
    parts.push(format!("Part of plan {}: {goal}", plan.id));
    parts.join("\n\n")
}

/// What the type of a task says, as metadata: the kind of checkpoint at which it stops, or the
/// kind of work where somebody wrote that. A misspelt checkpoint would be one that does not stop.
fn task_type(record: &mut Record<'_>) -> Option<(&'static str, String)> {
    let written = record.text("tp")?;
    match written.split_once(':').unwrap_or((&written, "")) {
        ("auto" | "", "") => None,
        ("checkpoint", "") => Some(("checkpoint", "stop".to_owned())),
        ("checkpoint", kind) => Some(("checkpoint", kind.to_owned())),
        (word, "") if nearest(word, ["checkpoint"]).is_none() => Some(("type", word.to_owned())),
        _ => {
            let fact = format!("\"tp\" (type) is {}", quoted(&written));
            record.problem("tp", fact, "write \"auto\", or \"checkpoint:\" and its kind");
            None
        }
    }
}

/// One line for the board, and the whole where that is more.
fn subject(action: &str) -> (String, Option<&str>) {
    let line = action.trim().lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(SUBJECT_CHARS) {
        None if line == action.trim() => (line.to_owned(), None),
        None => (line.to_owned(), Some(action)),
        Some((end, _)) => (format!("{}…", line[..end].trim_end()), Some(action)),
    }
}

/// Lets every task wait for the plans that its own plan depends on.
pub(super) fn link(draft: &mut Draft) {
    let plans = &draft.plan.plans;
    let given: HashMap<&str, &PlanHeader> =
        plans.iter().map(|plan| (plan.id.as_str(), plan)).collect();
    let mut waits: HashMap<&str, Vec<String>> = HashMap::new();
    for plan in plans {
        let waits = waits.entry(plan.id.as_str()).or_default();
        for on in &plan.depends_on {
            match given.get(on.as_str()) {
                _ if *on == plan.id => {
                    let fact = format!("plan {on} depends on itself");
                    draft.problems.add(&plan.place, fact, "take it out of \"d\"");
                }
                None if draft.torn => {}
                None => {
                    let fact = format!(
                        "plan {} depends on plan {}, which was not given",
                        plan.id,
                        shown_id(on)
                    );
                    let ids = listed(plans.iter().map(|plan| &plan.id));
                    let here = format!("{}-{on}", plan.p);
                    let remedy = match given.contains_key(here.as_str()) {
                        true => format!("did you mean {}?", quoted(&here)),
                        false => {
                            format!("give its file too, or take it out of \"d\"; given: {ids}")
                        }
                    };
                    draft.problems.add(&plan.place, fact, remedy);
                }
                Some(other) => {
                    waits.push(format!("group:{on}"));
                    if other.wave.is_some() && other.wave >= plan.wave && plan.wave.is_some() {
                        draft.plan.notes.push(format!(
                            "{}: plan {} depends on plan {on} and is not of a later wave: the \
                             dependency decides",
                            plan.place, plan.id
                        ));
                    }
                }
            }
        }
    }
    for (task, _) in &mut draft.plan.tasks {
        let of_plan = task.group.as_deref().and_then(|plan| waits.get(plan));
        task.blocked_by.extend(of_plan.into_iter().flatten().cloned());
    }
}
