//! What is offered: to whom, in which schemas, and that other programs' shapes fit.

use serde_json::{Map, Value, json};
use shipmate_protocol::tools::{Tool, call, list, list_ahead};

use crate::script::{Script, now, seat};

const ALL: [&str; 20] = [
    "TeamCreate",
    "TeamDelete",
    "ListAgents",
    "Agent",
    "Task",
    "TaskList",
    "TaskGet",
    "TaskCreate",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "TodoWrite",
    "SendMessage",
    "Inbox",
    "Note",
    "Plan",
    "ExitPlanMode",
    "AskUserQuestion",
    "AnswerQuestion",
    "Config",
];
const TEAMMATE: [&str; 12] = [
    "ListAgents",
    "TaskList",
    "TaskGet",
    "TaskCreate",
    "TaskUpdate",
    "TaskOutput",
    "SendMessage",
    "Inbox",
    "Note",
    "Plan",
    "ExitPlanMode",
    "AskUserQuestion",
];

fn names(of: &str) -> Vec<&'static str> {
    list(&seat(of)).iter().map(|tool| tool.name).collect()
}

#[test]
fn each_seat_has_exactly_its_tools() {
    let without = |all: &[&'static str], not: &[&str]| -> Vec<&'static str> {
        all.iter().copied().filter(|name| !not.contains(name)).collect()
    };
    let changes = ["TaskCreate", "TaskUpdate", "TodoWrite"];
    assert_eq!(names("visitor"), ["TeamCreate", "ListAgents", "TaskList"]);
    for mode in ["normal", "delegate"] {
        assert_eq!(names(&format!("lead in mode {mode}")), ALL);
        assert_eq!(names(&format!("ana in mode {mode}")), TEAMMATE);
    }
    let planned =
        ["TeamCreate", "TeamDelete", "Agent", "Task", "TaskCreate", "TaskStop", "TodoWrite"];
    let idle = ["TaskGet", "TaskOutput", "Note", "Plan", "AnswerQuestion"];
    assert_eq!(names("lead in mode plan"), without(&without(&ALL, &planned), &idle));
    let ahead: Vec<&str> =
        list_ahead(&seat("lead in mode plan")).iter().map(|tool| tool.name).collect();
    assert_eq!(ahead, ALL, "a program that asks once is told of all it will have");
    assert_eq!(names("ana in mode plan"), TEAMMATE);
    assert_eq!(names("lead in mode read_only"), without(&ALL, &changes));
    assert_eq!(names("ana in mode read_only"), without(&TEAMMATE, &changes));
}

#[test]
fn the_documentation_has_the_same_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.md");
    let text = std::fs::read_to_string(path).unwrap();
    let columns =
        ["visitor", "lead", "ana", "lead in mode read_only", "ana in mode read_only"].map(names);
    for tool in ALL {
        let marks: Vec<&str> =
            columns.iter().map(|names| if names.contains(&tool) { "yes" } else { "" }).collect();
        let row = text.lines().find(|line| line.starts_with(&format!("| `{tool}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/tools.md has no row of {tool}"));
        let cells: Vec<&str> = row.split('|').map(str::trim).skip(2).take(5).collect();
        assert_eq!(cells, marks, "{tool}");
    }
}

#[test]
fn a_tool_outside_the_seat_is_refused_without_a_request() {
    let role = "ana with TaskCreate,TaskUpdate,TaskList,SendMessage,Inbox";
    assert_eq!(names(role), ["TaskList", "TaskCreate", "TaskUpdate", "SendMessage", "Inbox"]);
    for of in ["visitor", "lead in mode read_only", "ana", "ana in mode read_only", role] {
        let offered = names(of);
        for tool in ALL.into_iter().filter(|tool| !offered.contains(tool)) {
            let script = Script::default();
            let outcome = now(call(&script, &seat(of), tool, json!({ "subject": "x" })));
            assert_eq!(outcome.structured["error"], "UnknownTool", "{of} {tool}");
            assert!(outcome.text.contains(tool) && outcome.text.contains("TaskList"));
            assert!(script.asked.lock().unwrap().is_empty());
        }
    }
}

/// Every schema within a schema, itself included.
fn schemas<'a>(schema: &'a Value, found: &mut Vec<&'a Map<String, Value>>) {
    let schema = schema.as_object().expect("a schema is an object");
    found.push(schema);
    let inner = ["properties"].iter().filter_map(|key| schema.get(*key)?.as_object());
    inner.flat_map(|fields| fields.values()).for_each(|inner| schemas(inner, found));
    schema.get("items").into_iter().for_each(|inner| schemas(inner, found));
    let any = schema.get("anyOf").and_then(Value::as_array);
    any.into_iter().flatten().for_each(|inner| schemas(inner, found));
}

#[test]
fn schemas_use_only_what_every_client_knows() {
    const KNOWN: [&str; 8] = [
        "type",
        "description",
        "properties",
        "required",
        "items",
        "enum",
        "anyOf",
        "additionalProperties",
    ];
    let planning = list(&seat("lead in mode plan"));
    let tools = list(&seat("lead")).into_iter().chain(planning);
    for Tool { name, description, input_schema, output_schema, .. } in tools {
        for schema in [Some(input_schema), output_schema].into_iter().flatten() {
            assert_eq!(schema["type"], "object", "{name}");
            let mut found = Vec::new();
            schemas(&schema, &mut found);
            for schema in found {
                for key in schema.keys() {
                    assert!(KNOWN.contains(&key.as_str()), "{name}: {key}");
                }
                assert!(schema.get("type").is_none_or(Value::is_string), "{name}: {schema:?}");
                let typed = schema.contains_key("type") || schema.contains_key("anyOf");
                assert!(typed, "{name}: {schema:?}");
                let fields = schema.get("properties").and_then(Value::as_object);
                for field in schema.get("required").and_then(Value::as_array).into_iter().flatten()
                {
                    let fields = fields.expect("what is required is described");
                    assert!(fields.contains_key(field.as_str().unwrap()), "{name}: {field}");
                }
            }
        }
        let sentences = description.matches(['.', '?']).count();
        assert!((2..=6).contains(&sentences) && description.len() < 520, "{name}: {description}");
    }
}

#[test]
fn an_error_fits_the_output_schema_too() {
    for tool in list(&seat("lead")).into_iter().filter_map(|tool| tool.output_schema) {
        assert!(tool.get("required").is_none() && tool.get("additionalProperties").is_none());
    }
}

/// A value of a field as another program would send it.
fn sample(field: &str, kind: &Value) -> Value {
    match kind {
        Value::Array(items) => match &items[0] {
            Value::Object(fields) => {
                let entry = fields.iter().map(|(name, kind)| (name.clone(), sample(name, kind)));
                json!([Value::Object(entry.collect())])
            }
            _ => json!(["5"]),
        },
        Value::String(kind) => match (field, kind.as_str()) {
            ("taskId" | "task_id" | "shell_id", _) => json!("3"),
            ("request_id", _) => json!("44"),
            ("team_name", _) => json!("alpha"),
            ("message", kind) if kind.contains("object") => {
                json!({ "type": "shutdown_response", "request_id": "44", "approve": true })
            }
            (_, "string") => json!("text"),
            (_, "string|object") => json!("text"),
            (_, "boolean") => json!(true),
            (_, "number" | "integer") => json!(1000),
            (_, "object") => json!({ "key": "value" }),
            (_, words) => json!(words.split('|').next().unwrap()),
        },
        other => panic!("{field}: {other}"),
    }
}

/// Answers that any of the calls below can go on from.
fn willing() -> Script {
    let task = r#"task {"status":"in_progress","owner":"alpha/lead@1","token":1}"#;
    Script::willing(task)
}

#[test]
fn every_shape_that_claude_code_sends_is_accepted() {
    let versions: Value = serde_json::from_str(include_str!("claude_code.json")).unwrap();
    let offered = list(&seat("lead"));
    let mut seen = 0;
    for (version, tools) in versions.as_object().unwrap() {
        for (name, shape) in tools.as_object().unwrap() {
            let ours = offered.iter().find(|tool| tool.name == name).expect("we have it");
            let required = shape["required"].as_array().unwrap();
            for field in ours.input_schema["required"].as_array().unwrap() {
                assert!(required.contains(field), "{version} {name} may leave out {field}");
            }
            let fields = shape["properties"].as_object().unwrap();
            let full = fields.iter().map(|(field, kind)| (field.clone(), sample(field, kind)));
            let full: Map<String, Value> = full.collect();
            let least: Map<String, Value> = full
                .clone()
                .into_iter()
                .filter(|(key, _)| required.contains(&json!(key)))
                .collect();
            for arguments in [full, least] {
                // What neither names a task nor says anything is refused by its own clients too.
                let says = !matches!(name.as_str(), "TaskStop" | "TaskUpdate" | "ExitPlanMode")
                    || arguments.len() > 1;
                let says = says && !(name == "SendMessage" && arguments.len() == 1);
                let outcome =
                    now(call(&willing(), &seat("lead"), name, Value::Object(arguments.clone())));
                let bad = outcome.structured["error"] == "BadArgument";
                assert!(!(bad && says), "{version} {name} {arguments:?}: {}", outcome.text);
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "{seen}");
}

/// The futures of a board whose own may move between threads may do so too.
#[test]
fn a_call_can_be_spawned() {
    fn movable<T: Send>(future: T) -> T {
        future
    }
    let (script, seat) = (Script::default(), seat("ana"));
    let outcome = now(movable(call(&script, &seat, "TaskList", json!({}))));
    assert!(outcome.is_error);
}
