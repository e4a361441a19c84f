//! How much of the team's tools an agent is shown.
//!
//! The tools are those of the MCP server. What other programs' habits brought into their arguments (second
//! names, fields of seeds' formats) is still understood but not shown: every request carries the list, so
//! each word of it is paid for again and again. A test holds how many tokens that is.

use serde_json::{Value, json};
use shipmate_protocol::tools::Tool;

/// The arguments that are shown, and those that only a lead is shown; of other tools, all.
const SHOWN: [(&str, &[&str], &[&str]); 13] = [
    (
        "TaskCreate",
        &["subject", "description", "blocked_by", "role", "files"],
        &["assignee", "priority", "group", "task_id"],
    ),
    (
        "TaskUpdate",
        &["taskId", "status", "result", "reason"],
        &["owner", "subject", "description", "addBlockedBy", "removeBlockedBy", "files", "role"],
    ),
    ("SendMessage", &["to", "message"], &["type", "request_id", "approve"]),
    ("Task", AGENT, &[]),
    ("Agent", AGENT, &[]),
    ("TaskList", &["status", "search"], &["owner", "group", "after"]),
    ("TaskGet", &["taskId"], &[]),
    ("TaskOutput", &["task_id", "block"], &["timeout"]),
    ("TaskStop", &["task_id", "reason"], &[]),
    ("ListAgents", &[], &["programs"]),
    ("AskUserQuestion", &["question", "options"], &[]),
    ("ExitPlanMode", &["plan", "tasks", "teammates", "single"], &[]),
    ("TeamDelete", &["team_name", "reason"], &[]),
];
const AGENT: &[&str] =
    &["prompt", "name", "subagent_type", "agent", "model", "role", "scope", "mode"];

/// What TaskGet and ExitPlanMode do as well, for who neither leads nor waits for others.
const LEADS_ONLY: [&str; 2] = ["TaskOutput", "Plan"];

/// A teammate's tools are those that it works with; a role that names one of a lead's has it.
pub(crate) fn is_offered(tool: &str, lead: bool, role: &[String]) -> bool {
    lead || !LEADS_ONLY.contains(&tool) || role.iter().any(|own| own == tool)
}

/// The tool with the arguments that are shown.
pub(crate) fn shown(tool: Tool, lead: bool) -> Tool {
    let mut schema = tool.input_schema;
    let shown = SHOWN.iter().find(|(name, ..)| *name == tool.name);
    if let (Some((_, all, leads)), Some(Value::Object(fields))) =
        (shown, schema.get_mut("properties"))
    {
        let of_lead = |name: &str| lead && leads.contains(&name);
        fields.retain(|name, _| all.contains(&name.as_str()) || of_lead(name));
    }
    if tool.name == "SendMessage" && !lead {
        schema["properties"]["message"] = json!({ "type": "string" });
    }
    Tool { input_schema: schema, ..tool }
}

#[cfg(test)]
mod tests {
    use shipmate_protocol::Mode;
    use shipmate_protocol::tools::{Seat, SeatKind, list, list_ahead};

    use super::*;

    fn seat(kind: SeatKind) -> Seat {
        let (team, name) = ("alpha".to_owned(), "ana".to_owned());
        Seat { team, name, kind, mode: Mode::Normal, tools: Vec::new() }
    }

    #[test]
    fn what_is_shown_is_an_argument_of_the_tool() {
        let all = list(&seat(SeatKind::Lead));
        for (name, everybody, leads) in SHOWN {
            let tool = all.iter().find(|tool| tool.name == name).expect("there is such a tool");
            for argument in everybody.iter().chain(leads) {
                let is_plans = name == "ExitPlanMode" && *argument != "plan";
                let there = tool.input_schema["properties"].get(argument).is_some();
                assert!(there || is_plans, "{name} {argument}");
            }
        }
    }

    /// Bytes for each token, as everywhere here.
    #[test]
    fn a_teammates_tools_are_at_most_1600_tokens_in_each_request() {
        let tools = list_ahead(&seat(SeatKind::Teammate)).into_iter();
        let tools = tools.filter(|tool| tool.name != "Inbox" && is_offered(tool.name, false, &[]));
        let bytes: usize = tools
            .map(|tool| shown(tool, false))
            .map(|tool| {
                let Tool { name, description, input_schema, .. } = tool;
                let text = json!({ "name": name, "description": description, "input_schema": input_schema });
                text.to_string().len()
            })
            .sum();
        assert!(bytes / 4 <= 1_600, "{} tokens", bytes / 4);
        println!("{} tokens", bytes / 4);
    }
}
