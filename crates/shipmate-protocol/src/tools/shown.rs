//! How much of the team's tools a model is shown.
//!
//! Every request carries the list, so each word of it is paid for again and again. What other programs' habits
//! brought into arguments (second names, fields of seeds' formats) and tools that do what another one does
//! are understood when they are called and not shown. A role that names a tool is shown it. Tests hold how many
//! tokens that is for each seat.

use serde_json::{Map, Value, json};

use super::{Seat, SeatKind, Tool};
use crate::Mode;

/// Who reads the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A program that a supervisor drives: mail comes to it, and the supervisor answers requests to stop.
    Driven,
    /// A session with an MCP server of its own.
    Session,
}

/// The arguments that are shown, and those that only a lead is shown; of other tools, all.
const SHOWN: [(&str, &[&str], &[&str]); 17] = [
    ("Inbox", &["wait"], &[]),
    ("TeamCreate", &["team_name", "members"], &[]),
    (
        "TaskCreate",
        &["subject", "description", "blocked_by", "role", "files"],
        &["assignee", "priority", "task_id"],
    ),
    (
        "TaskUpdate",
        &["taskId", "status", "result", HANDOFF, "reason"],
        &["owner", "subject", "description", "addBlockedBy", "removeBlockedBy", "files"],
    ),
    ("SendMessage", &["to", "message"], &[]),
    ("Task", AGENT, &[]),
    ("Agent", AGENT, &[]),
    ("TaskList", &["status", "search"], &["owner", "after"]),
    ("TaskGet", &["taskId"], &[]),
    ("TaskOutput", &["task_id", "block"], &[]),
    ("TaskStop", &["task_id", "reason"], &[]),
    ("ListAgents", &[], &["programs"]),
    ("AskUserQuestion", &["question", "options"], &[]),
    ("AnswerQuestion", &["question_id", "answer"], &[]),
    ("ExitPlanMode", &["plan", "tasks", "teammates", "single"], &[]),
    ("TeamDelete", &[], &[]),
    ("Plan", &["action", "plan_id", "feedback"], &[]),
];
/// Whoever leads seldom hands work in, and may still.
const HANDOFF: &str = "handoff";
const AGENT: &[&str] =
    &["prompt", "name", "subagent_type", "agent", "model", "role", "scope", "mode"];
/// What a request is answered with, where no other tool is there for it.
const ANSWERS: [&str; 3] = ["type", "request_id", "approve"];

/// The tools of this seat as a model is shown them.
pub fn shown(tools: Vec<Tool>, seat: &Seat, reader: Reader) -> Vec<Tool> {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    let has = |name: &str| names.contains(&name);
    let tools = tools.into_iter().filter(|tool| is_shown(tool.name, seat, reader, &has));
    tools.map(|tool| cut(tool, seat, reader, &has)).collect()
}

/// Whether nothing else that is there does the same, and it is of use now.
fn is_shown(tool: &str, seat: &Seat, reader: Reader, has: &impl Fn(&str) -> bool) -> bool {
    let is_named = seat.tools.iter().any(|own| own == tool);
    let leads = seat.kind == SeatKind::Lead;
    match tool {
        // It comes by itself.
        "Inbox" => reader == Reader::Session,
        _ if is_named => true,
        "Task" => !has("Agent"),
        "TodoWrite" => !has("TaskCreate"),
        "TaskOutput" => !has("TaskGet"),
        // What a person decides; who names a model for a teammate says so to Agent.
        "Config" => !has("Agent"),
        "Plan" => leads,
        "ExitPlanMode" => seat.mode == Mode::Plan,
        _ => true,
    }
}

/// The tool with the arguments that are shown, and without what says nothing.
fn cut(tool: Tool, seat: &Seat, reader: Reader, has: &impl Fn(&str) -> bool) -> Tool {
    let leads = seat.kind != SeatKind::Teammate;
    let mut schema = tool.input_schema;
    let answers = if leads { !has("Plan") } else { reader == Reader::Session };
    let answers = tool.name == "SendMessage" && answers;
    // What a driven program hands in is found in its tree.
    let hands_in = reader == Reader::Session && tool.name == "TaskUpdate";
    let shown = SHOWN.iter().find(|(name, ..)| *name == tool.name);
    if let (Some((_, all, of_lead)), Some(Value::Object(fields))) =
        (shown, schema.get_mut("properties"))
    {
        fields.retain(|name, _| {
            let name = name.as_str();
            all.contains(&name) && !(leads && name == HANDOFF)
                || leads && of_lead.contains(&name)
                || answers && ANSWERS.contains(&name)
                || hands_in && name == "commit"
        });
    }
    match tool.name {
        "SendMessage" => schema["properties"]["message"] = json!({ "type": "string" }),
        "TeamCreate" if has("Agent") => {
            let what = "Teammates to start: name, prompt and what else Agent takes";
            let members =
                json!({ "type": "array", "items": { "type": "object" }, "description": what });
            schema["properties"]["members"] = members;
        }
        _ => {}
    }
    let description = match answers {
        true => super::send_message::ANSWERS_REQUESTS,
        false => tool.description,
    };
    plain(&mut schema);
    Tool { input_schema: schema, description, ..tool }
}

/// Leaves out what a schema says where it says nothing.
fn plain(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    let is_schema = fields.contains_key("type") || fields.contains_key("anyOf");
    if is_schema {
        fields.remove("additionalProperties");
        let none = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        if fields.get("required").is_some_and(none) {
            fields.remove("required");
        }
    }
    let inner = |fields: &mut Map<String, Value>| fields.values_mut().for_each(plain);
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        inner(properties);
    }
    fields.get_mut("items").into_iter().for_each(plain);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{list, list_ahead};

    fn seat(kind: SeatKind, mode: Mode) -> Seat {
        let (team, name) = ("alpha".to_owned(), "ana".to_owned());
        Seat { team, name, kind, mode, tools: Vec::new() }
    }

    #[test]
    fn what_is_shown_is_an_argument_of_the_tool() {
        let all = list(&seat(SeatKind::Lead, Mode::Normal));
        for (name, everybody, leads) in SHOWN {
            let tool = all.iter().find(|tool| tool.name == name).expect("there is such a tool");
            for argument in everybody.iter().chain(leads) {
                let is_plans = name == "ExitPlanMode" && *argument != "plan";
                let there = tool.input_schema["properties"].get(argument).is_some();
                assert!(there || is_plans, "{name} {argument}");
            }
        }
    }

    /// Four bytes for each token, as everywhere here.
    fn tokens(tools: &[Tool]) -> usize {
        let bytes = tools.iter().map(|tool| {
            let Tool { name, description, input_schema, .. } = tool;
            let text =
                json!({ "name": name, "description": description, "input_schema": input_schema });
            text.to_string().len()
        });
        bytes.sum::<usize>() / 4
    }

    #[test]
    fn the_teams_tools_are_at_most_1600_tokens_in_each_request() {
        let (normal, plan) = (Mode::Normal, Mode::Plan);
        for (kind, mode, reader) in [
            (SeatKind::Teammate, normal, Reader::Driven),
            (SeatKind::Teammate, plan, Reader::Driven),
            (SeatKind::Lead, normal, Reader::Driven),
            (SeatKind::Teammate, normal, Reader::Session),
            (SeatKind::Lead, normal, Reader::Session),
        ] {
            let seat = seat(kind, mode);
            let tools = if reader == Reader::Driven { list_ahead(&seat) } else { list(&seat) };
            let took = tokens(&shown(tools, &seat, reader));
            assert!(took <= 1_600, "{took} tokens: {kind:?} {mode:?} {reader:?}");
        }
        // One that lists its tools once is shown, while it plans, all that it has afterwards: a plan's
        // tasks and teammates take as much as half of the rest.
        let planning = seat(SeatKind::Lead, plan);
        let took = tokens(&shown(list_ahead(&planning), &planning, Reader::Driven));
        assert!(took <= 2_000, "{took} tokens");
        let took = tokens(&shown(list(&planning), &planning, Reader::Driven));
        assert!(took <= 1_600, "{took} tokens");
    }

    #[test]
    fn a_role_that_names_a_tool_is_shown_it() {
        let tools = ["TodoWrite", "TaskCreate", "ExitPlanMode"].map(str::to_owned).to_vec();
        let seat = Seat { tools, ..seat(SeatKind::Lead, Mode::Normal) };
        let names: Vec<&str> =
            shown(list(&seat), &seat, Reader::Driven).iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["TaskCreate", "TodoWrite", "ExitPlanMode"]);
    }
}
