//! Which of the team's tools a native agent is offered, and how much of each it is shown.
//!
//! The tools are those of the MCP server. What other programs' habits brought into their
//! arguments (second names, fields of seeds' formats) is still understood but not shown: every
//! request carries the list, so each word of it is paid for again and again.

use serde_json::{Value, json};
use shipmate_protocol::native::Offered;
use shipmate_protocol::tools::Tool;

/// The arguments that are shown, and those that only a lead is shown; of other tools, all.
const SHOWN: [(&str, &[&str], &[&str]); 4] = [
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
    ("Task", &["prompt", "name", "subagent_type", "agent", "model", "role", "scope", "mode"], &[]),
];

/// Of the team's tools, those that seed 001 gives to the lead alone.
const LEADS_ONLY: [&str; 2] = ["TaskGet", "TaskOutput"];
const READING: [&str; 3] = ["read_file", "glob", "grep"];
const WORKING: [&str; 4] = ["bash", "bash_output", "write_file", "edit_file"];
const LEADING: [&str; 2] = ["Skill", "Config"];

/// The team's tools for this seat. Planning is offered to whoever must plan, or decides plans.
pub(super) fn team(tools: Vec<Tool>, lead: bool, plans: bool) -> Vec<Offered> {
    let offered = |name: &str| match name {
        // The same under its old name.
        "Agent" => false,
        "Plan" => lead,
        "ExitPlanMode" => plans,
        name => lead || !LEADS_ONLY.contains(&name),
    };
    tools.into_iter().filter(|tool| offered(tool.name)).map(|tool| shown(tool, lead)).collect()
}

/// Its own tools. Who may write nothing has none that could.
pub(super) fn own(lead: bool, read_only: bool) -> Vec<String> {
    let mut names = READING.to_vec();
    if !read_only {
        names.extend(WORKING);
    }
    if lead {
        names.extend(LEADING);
    }
    names.into_iter().map(str::to_owned).collect()
}

fn shown(tool: Tool, lead: bool) -> Offered {
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
    Offered {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        input_schema: schema,
    }
}

#[cfg(test)]
mod tests {
    use shipmate_protocol::tools::{Seat, SeatKind, list};

    use super::*;

    fn seat(kind: SeatKind) -> Vec<Tool> {
        let (team, name, mode) = ("alpha".to_owned(), "ana".to_owned(), "normal".to_owned());
        list(&Seat { team, name, kind, mode })
    }

    #[test]
    fn what_is_shown_is_an_argument_of_the_tool() {
        let all = seat(SeatKind::Lead);
        for (name, everybody, leads) in SHOWN {
            let tool = all.iter().find(|tool| tool.name == name).expect("there is such a tool");
            for argument in everybody.iter().chain(leads) {
                assert!(
                    tool.input_schema["properties"].get(argument).is_some(),
                    "{name} {argument}"
                );
            }
        }
    }

    #[test]
    fn a_teammate_neither_spawns_nor_manages() {
        let names: Vec<String> =
            team(seat(SeatKind::Teammate), false, false).into_iter().map(|t| t.name).collect();
        for absent in ["TaskGet", "TaskOutput", "TaskStop", "Task", "Agent", "TeamCreate", "Plan"] {
            assert!(!names.iter().any(|name| name == absent), "{absent}");
        }
        assert!(own(false, true).iter().all(|name| READING.contains(&name.as_str())));
        assert!(own(true, true).contains(&"Skill".to_owned()));
    }
}
