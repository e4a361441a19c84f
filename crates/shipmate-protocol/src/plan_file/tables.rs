//! Plans as TOML: a title, a roster and a list of tasks, as a person writes them.
//!
//! The document is read into tables with spans and not into structs: serde would stop at the
//! first mistake, and a person who mends a plan wants them all with their lines.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::verbs::TaskNew;
use crate::view::KNOWN_AGENTS;
use serde_json::{Number, Value};
use shipmate_model::setup::Preparation;
use toml::de::{DeTable, DeValue};

use super::record::{Field, Keys, Record, bad_name};
use super::{AgentEntry, Draft, Format, TASKS_MAX, TeammateEntry};
use crate::problem::{Place, listed, quoted, shown_id};

const PLAN: Keys = &[
    ("title", &["name"]),
    ("objective", &["goal", "description"]),
    ("team", &[]),
    ("gate", &["gates", "verify"]),
    ("trees", &["tree"]),
    ("agents", &["agent"]),
    ("teammates", &["teammate", "members"]),
    ("tasks", &["task"]),
];
const TREES: Keys = &[
    ("copy", &[]),
    ("link", &[]),
    ("setup", &["set-up", "commands"]),
    ("lock-files", &["lock_files"]),
    ("ports", &[]),
    ("env", &[]),
    ("teardown", &[]),
    ("timeout-seconds", &["timeout_seconds"]),
];
const PORTS_MAX: i64 = 100;
const AGENT: Keys = &[("command", &["cmd", "run"])];
const TEAMMATE: Keys = &[
    ("name", &[]),
    ("role", &[]),
    ("scope", &["files"]),
    ("agent", &["command"]),
    ("model", &[]),
    ("mode", &[]),
    ("lead", &[]),
    ("host", &["machine"]),
    ("labels", &["label"]),
    ("from", &["definition"]),
    ("fallback", &[]),
];
const MODES: [&str; 4] = ["normal", "plan", "delegate", "read_only"];
const TASK: Keys = &[
    ("id", &["alias", "name"]),
    ("subject", &["title"]),
    ("description", &["spec", "text"]),
    ("files", &[]),
    ("needs", &["blocked_by", "blocked-by", "depends_on", "depends-on", "after"]),
    ("role", &[]),
    ("assignee", &["owner", "teammate"]),
    ("priority", &[]),
    ("minutes", &["duration"]),
    ("seconds", &[]),
    ("retries", &["retries_max"]),
    ("no_change", &["no-change"]),
    ("group", &[]),
    ("metadata", &["meta"]),
];

const ALIAS_BYTES_MAX: usize = 128;
const RETRIES_MAX: i64 = 1_000;
const SECONDS_MAX: i64 = 30 * 86_400;

/// Every key, for the test of the manual.
#[cfg(test)]
pub(super) fn keys() -> impl Iterator<Item = String> {
    let below =
        [("trees.", TREES), ("agents.NAME.", AGENT), ("teammates.", TEAMMATE), ("tasks.", TASK)];
    let below = below
        .into_iter()
        .flat_map(|(table, keys)| keys.iter().map(move |(key, _)| format!("{table}{key}")));
    let top = PLAN.iter().filter(|(key, _)| !["agents", "trees"].contains(key));
    top.map(|(key, _)| (*key).to_owned()).chain(below)
}

/// The document with what is needed to say where something stands.
struct Source {
    file: Arc<str>,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Source {
    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    fn place(&self, span: &Range<usize>) -> Place {
        Place { file: self.file.clone(), line: self.line(span.start) }
    }

    fn fields(&self, table: &DeTable<'_>) -> Vec<Field> {
        let mut fields: Vec<Field> = table
            .iter()
            .map(|(key, value)| Field {
                key: key.get_ref().to_string(),
                line: self.line(key.span().start),
                value: plain_value(value.get_ref(), 0),
            })
            .collect();
        fields.sort_by_key(|field| field.line);
        fields
    }
}

/// Reads the file into the draft.
pub(super) fn parse(file: &Arc<str>, text: &str, draft: &mut Draft) {
    let starts = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
    let source = Source { file: file.clone(), lines: [0].into_iter().chain(starts).collect() };
    let whole = Place { file: file.clone(), line: 0 };
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut told = HashSet::new();
    for error in &errors {
        let start = error.span().map_or(0, |span| span.start);
        let line = source.line(start);
        // One mistake makes several errors, and a line is mended as a whole.
        if !told.insert(line) {
            continue;
        }
        let before = text.get(source.lines[line - 1]..start).unwrap_or_default();
        let place = Place { file: file.clone(), line };
        let fact = format!("not TOML: {}", error.message());
        draft.problems.add_at(&place, before.chars().count() + 1, fact, MEND);
    }
    if !errors.is_empty() {
        return;
    }
    let table = document.get_ref();
    if table.is_empty() {
        draft.problems.add(&whole, "the file is empty".to_owned(), NO_TASKS);
        return;
    }
    // Lists of tables are read below, with the lines of their own fields.
    let mut fields = source.fields(table);
    for field in &mut fields {
        if matches!(field.key.as_str(), "agents" | "trees" | "teammates" | "tasks") {
            field.value = Value::Bool(true);
        }
    }
    let place = Place { file: file.clone(), line: 1 };
    let mut record = Record::new(Format::Toml, "a plan", place, fields, PLAN, &mut draft.problems);
    let title = record.line_of_text("title");
    draft.plan.title = title.unwrap_or_else(|| super::team_name(Path::new(&**file)));
    draft.plan.objective = record.text("objective").unwrap_or_default();
    draft.plan.team = record.name("team");
    draft.plan.gate = record.texts("gate");
    if draft.plan.gate.iter().any(|command| command.trim().is_empty()) {
        record.problem("gate", "gate has an empty command".to_owned(), "take it out");
    }
    read_trees(&source, table, draft);
    read_agents(&source, table, draft);
    for (place, fields) in tables(&source, table, "teammates", draft) {
        read_teammate(place, fields, draft);
    }
    let tasks = tables(&source, table, "tasks", draft);
    let none = match table.get("tasks").map(|tasks| tasks.get_ref()) {
        None => true,
        Some(DeValue::Array(items)) => items.is_empty(),
        Some(_) => false,
    };
    if none {
        draft.problems.add(&whole, "the plan has no tasks".to_owned(), NO_TASKS);
    }
    if let Some((place, _)) = tasks.get(TASKS_MAX) {
        return draft.too_many(place);
    }
    for (place, fields) in tasks {
        read_task(place, fields, draft);
    }
    check_teammates(draft);
    check_takers(draft);
}

const MEND: &str = "mend the line; text is written in quotation marks, lists in brackets";
const NO_TASKS: &str = "add tasks: [[tasks]] with id = \"…\" and subject = \"…\" below it";

/// The same value as JSON has it, so that both formats are checked by the same rules.
fn plain_value(value: &DeValue<'_>, depth: usize) -> Value {
    const DEPTH_MAX: usize = 32;
    match value {
        _ if depth > DEPTH_MAX => Value::Null,
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Number(number.into()),
            Err(_) => float(number.as_str()),
        },
        DeValue::Float(number) => float(number.as_str()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(items) => {
            items.iter().map(|item| plain_value(item.get_ref(), depth + 1)).collect()
        }
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| {
                (key.get_ref().to_string(), plain_value(value.get_ref(), depth + 1))
            })
            .collect(),
    }
}

/// JSON has no number that is not finite; as text it is refused wherever a number is wanted.
fn float(text: &str) -> Value {
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The tables of a list, each with its line and fields.
fn tables(
    source: &Source,
    document: &DeTable<'_>,
    key: &str,
    draft: &mut Draft,
) -> Vec<(Place, Vec<Field>)> {
    let Some((key_at, value)) = document.get_key_value(key) else { return Vec::new() };
    let place = source.place(&key_at.span());
    let remedy = format!("write [[{key}]] above each of them");
    let DeValue::Array(items) = value.get_ref() else {
        draft.problems.add(&place, format!("{key} must be a list of tables"), remedy);
        return Vec::new();
    };
    let mut read = Vec::with_capacity(items.len());
    for item in items {
        let place = source.place(&item.span());
        match item.get_ref() {
            DeValue::Table(table) => read.push((place, source.fields(table))),
            _ => draft.problems.add(&place, format!("{key} must be a list of tables"), &*remedy),
        }
    }
    read
}

fn read_trees(source: &Source, document: &DeTable<'_>, draft: &mut Draft) {
    let Some((key, value)) = document.get_key_value("trees") else { return };
    let place = source.place(&key.span());
    let DeValue::Table(table) = value.get_ref() else {
        let remedy = "write [trees] on a line, and copy, setup and so on below it";
        draft.problems.add(&place, "trees must be a table".to_owned(), remedy);
        return;
    };
    let fields = source.fields(table);
    let problems = &mut draft.problems;
    let mut record = Record::new(Format::Toml, "trees", place, fields, TREES, problems);
    let trees = Preparation {
        copy: record.files("copy"),
        link: record.files("link"),
        setup: record.texts("setup"),
        lock_files: record.files("lock-files"),
        ports: record.whole("ports", 0..=PORTS_MAX).unwrap_or_default() as u32,
        env: variables(&mut record),
        teardown: record.texts("teardown"),
        timeout_ms: record.whole("timeout-seconds", 1..=86_400).unwrap_or_default() as u64 * 1000,
        from: String::new(),
        copies_what_fits: false,
    };
    for (name, lines) in [("setup", &trees.setup), ("teardown", &trees.teardown)] {
        if lines.iter().any(|line| line.trim().is_empty()) {
            record.problem(name, format!("{name} has an empty command"), "take it out");
        }
    }
    draft.plan.trees = trees;
}

fn variables(record: &mut Record<'_>) -> BTreeMap<String, String> {
    let remedy = "write env = { NAME = \"value\" }";
    let Some(field) = record.take("env") else { return BTreeMap::new() };
    let Value::Object(entries) = field.value else {
        record.wrong(field.line, "env must be a table of texts".to_owned(), remedy);
        return BTreeMap::new();
    };
    let mut found = BTreeMap::new();
    for (name, value) in entries {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let fits =
            !name.is_empty() && name.bytes().all(plain) && !name.as_bytes()[0].is_ascii_digit();
        match value {
            Value::String(value) if fits && !value.contains('\0') => {
                found.insert(name, value);
            }
            _ => record.wrong(
                field.line,
                format!("env has {}, which is no variable with a text", quoted(&name)),
                remedy,
            ),
        }
    }
    found
}

fn read_agents(source: &Source, document: &DeTable<'_>, draft: &mut Draft) {
    let Some((key, value)) = document.get_key_value("agents") else { return };
    let remedy = "write [agents.default] with command = \"…\" below it";
    let DeValue::Table(agents) = value.get_ref() else {
        let place = source.place(&key.span());
        draft.problems.add(&place, "agents must be a table of agents".to_owned(), remedy);
        return;
    };
    for (name, agent) in agents {
        let place = source.place(&name.span());
        if let Some((fact, remedy)) = bad_name(name.get_ref()) {
            draft.problems.add(&place, format!("the agent {fact}"), remedy);
        }
        let DeValue::Table(agent) = agent.get_ref() else {
            draft.problems.add(&place, "an agent must be a table".to_owned(), remedy);
            continue;
        };
        let fields = source.fields(agent);
        let problems = &mut draft.problems;
        let mut record = Record::new(Format::Toml, "an agent", place, fields, AGENT, problems);
        if let Some(command) = record.needed("command") {
            draft.plan.agents.insert(name.get_ref().to_string(), AgentEntry { command });
        }
    }
}

fn read_teammate(place: Place, fields: Vec<Field>, draft: &mut Draft) {
    let problems = &mut draft.problems;
    let mut record = Record::new(Format::Toml, "a teammate", place, fields, TEAMMATE, problems);
    let Some(name) = record.needed("name").and_then(|_| record.name("name")) else { return };
    let mode = record.text("mode").map(|mode| mode.replace('-', "_"));
    if let Some(other) = mode.as_deref().filter(|mode| !MODES.contains(mode)) {
        record.problem(
            "mode",
            format!("{} is no mode", quoted(other)),
            "use one of normal, plan, delegate, read_only",
        );
    }
    let entry = TeammateEntry {
        role: record.name("role"),
        scope: record.files("scope"),
        agent: record.name("agent"),
        model: record.line_of_text("model").unwrap_or_default(),
        mode,
        lead: record.flag("lead").unwrap_or(false),
        runs: runs(&mut record),
        from: record.line_of_text("from").unwrap_or_default(),
        fallback: record.line_of_text("fallback").unwrap_or_default(),
        place: record.place.clone(),
        name,
    };
    draft.plan.teammates.push(entry);
}

/// Where a teammate may run: what is no name is a problem, and told.
fn runs(record: &mut Record<'_>) -> shipmate_model::host::Place {
    let host = record.name("host");
    let labels = record.distinct("labels");
    for (fact, remedy) in labels.iter().filter_map(|label| bad_name(label)) {
        record.problem("labels", format!("labels: {fact}"), remedy);
    }
    shipmate_model::host::Place {
        host: host.and_then(|host| host.parse().ok()),
        labels: labels.iter().filter_map(|label| label.parse().ok()).collect(),
    }
}

fn read_task(place: Place, fields: Vec<Field>, draft: &mut Draft) {
    let problems = &mut draft.problems;
    let mut record = Record::new(Format::Toml, "a task", place, fields, TASK, problems);
    let id = record.needed("id");
    if let Some(fact) = id.as_deref().and_then(bad_id) {
        let remedy = "use letters, digits and any of _ - . / : #, at most 128, no plain number";
        record.problem("id", fact, remedy);
    }
    let new = TaskNew {
        subject: record
            .needed("subject")
            .and_then(|_| record.line_of_text("subject"))
            .unwrap_or_default(),
        description: record.text("description").unwrap_or_default(),
        active_form: String::new(),
        alias: id,
        group: record.name("group"),
        blocked_by: record.distinct("needs"),
        files: record.files("files"),
        role: record.name("role"),
        assignee: record.name("assignee"),
        priority: record
            .whole("priority", i64::from(i32::MIN)..=i64::from(i32::MAX))
            .and_then(|number| i32::try_from(number).ok()),
        duration_ms: duration(&mut record),
        retries_max: record
            .whole("retries", 0..=RETRIES_MAX)
            .and_then(|number| u32::try_from(number).ok()),
        no_change: record.flag("no_change").unwrap_or(false),
        team: None,
        metadata: metadata(&mut record),
    };
    record.check_size(&new.description, &new.metadata);
    let place = record.place.clone();
    if new.alias.is_none() {
        draft.torn = true;
        return;
    }
    draft.plan.tasks.push((new, place));
}

/// Why a text cannot be the handle of a task on the board.
fn bad_id(id: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:#".contains(&b);
    let number = id.bytes().all(|b| b.is_ascii_digit());
    let bad = number || id.len() > ALIAS_BYTES_MAX || !id.bytes().all(plain) || id.contains("..");
    if id.starts_with("group:") {
        return Some(format!("{} would be read as a group", quoted(id)));
    }
    bad.then(|| format!("{} cannot be the id of a task", quoted(id)))
}

fn duration(record: &mut Record<'_>) -> Option<u64> {
    if record.has("minutes") && record.has("seconds") {
        let fact = "minutes and seconds are both there".to_owned();
        record.problem("seconds", fact, "keep one of them");
    }
    let seconds = record.whole("seconds", 1..=SECONDS_MAX);
    let minutes = record.whole("minutes", 1..=SECONDS_MAX / 60);
    let seconds = seconds.or(minutes.map(|minutes| minutes * 60))?;
    u64::try_from(seconds * 1000).ok()
}

fn metadata(record: &mut Record<'_>) -> BTreeMap<String, String> {
    let Some(field) = record.take("metadata") else { return BTreeMap::new() };
    let Value::Object(map) = field.value else {
        let fact = "metadata must be a table".to_owned();
        record.wrong(field.line, fact, "write metadata = { key = \"value\" }");
        return BTreeMap::new();
    };
    let mut metadata = BTreeMap::new();
    for (key, value) in map {
        let text = match value {
            Value::String(text) => text,
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => {
                let fact = format!("metadata {} must be text", quoted(&key));
                record.wrong(field.line, fact, "write lists and tables as text");
                continue;
            }
        };
        metadata.insert(key, text);
    }
    metadata
}

/// Teammates are told apart by their names, and their agents are in the plan.
fn check_teammates(draft: &mut Draft) {
    let plan = &draft.plan;
    let mut lines: HashMap<&str, usize> = HashMap::new();
    for mate in &plan.teammates {
        let earlier = *lines.entry(&mate.name).or_insert(mate.place.line);
        if earlier != mate.place.line {
            let fact = format!("teammate {} is there already: line {earlier}", mate.name);
            draft.problems.add(&mate.place, fact, "give each teammate a name of its own");
        }
        let Some(agent) = mate.agent.as_deref() else { continue };
        if !plan.agents.contains_key(agent) && !KNOWN_AGENTS.contains(&agent) {
            let fact = format!("teammate {} has the unknown agent {}", mate.name, quoted(agent));
            let known = match plan.agents.is_empty() {
                true => "the plan names none".to_owned(),
                false => format!("the plan names {}", listed(plan.agents.keys())),
            };
            let [one, other, ..] = KNOWN_AGENTS;
            let remedy = format!(
                "add [agents.{agent}], or use an agent program such as {one} or {other}; {known}"
            );
            draft.problems.add(&mate.place, fact, remedy);
        }
    }
}

/// A task that nobody of the roster may take would wait for ever.
fn check_takers(draft: &mut Draft) {
    let plan = &draft.plan;
    if plan.teammates.is_empty() {
        let wanting = plan.tasks.iter().filter(|(task, _)| task.role.is_some()).count();
        if wanting > 0 {
            draft.plan.notes.push(format!(
                "{wanting} tasks want a role, and the plan has no [[teammates]] with roles"
            ));
        }
        return;
    }
    let names: HashSet<&str> = plan.teammates.iter().map(|mate| mate.name.as_str()).collect();
    let roles: HashSet<&str> =
        plan.teammates.iter().filter_map(|mate| mate.role.as_deref()).collect();
    for (task, place) in &plan.tasks {
        let id = shown_id(task.alias.as_deref().unwrap_or_default());
        let mut facts = Vec::new();
        if let Some(name) = task.assignee.as_deref().filter(|name| !names.contains(name)) {
            facts.push(format!("task {id} is for {}, who is no teammate", quoted(name)));
        }
        if let Some(role) = task.role.as_deref().filter(|role| !roles.contains(role)) {
            facts.push(format!("task {id} is for the role {}, which nobody has", quoted(role)));
        }
        for fact in facts {
            let remedy = format!("the teammates are {}", listed(names_and_roles(plan)));
            draft.problems.add(place, fact, remedy);
        }
    }
}

fn names_and_roles(plan: &super::PlanFile) -> impl Iterator<Item = String> {
    plan.teammates.iter().map(|mate| match &mate.role {
        Some(role) => format!("{} ({role})", mate.name),
        None => mate.name.clone(),
    })
}
