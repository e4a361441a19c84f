//! Which of the team's tools a native agent is offered, and how much of each it is shown.
//!
//! The tools are those of the MCP server. What other programs' habits brought into their
//! arguments (second names, fields of seeds' formats) is still understood but not shown: every
//! request carries the list, so each word of it is paid for again and again.

use serde_json::{Value, json};
use shipmate_model::definition::Definition;
use shipmate_protocol::Mode;
use shipmate_protocol::native::Offered;
use shipmate_protocol::tools::{Seat, Tool};

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
const LEADING: [&str; 1] = ["Skill"];

/// What a tool is called in definitions.
fn as_claude(name: &str) -> &str {
    match name {
        "read_file" => "Read",
        "glob" => "Glob",
        "grep" => "Grep",
        "bash" | "bash_output" => "Bash",
        "write_file" => "Write",
        "edit_file" => "Edit",
        name => name,
    }
}

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

/// Its own tools. Who may write nothing has none that could. Where a role names its tools, those
/// for leading are named too; for whoever only delegates the list is all there is.
pub(super) fn own(
    lead: bool,
    read_only: bool,
    seat: &Seat,
    definition: Option<&Definition>,
) -> Vec<String> {
    let mut names = READING.to_vec();
    if !read_only {
        names.extend(WORKING);
    }
    if lead {
        names.extend(LEADING);
    }
    let named = |name: &str| seat.tools.iter().any(|own| own == name);
    let free = |name: &str| seat.mode != Mode::Delegate && !LEADING.contains(&name);
    names.retain(|name| seat.tools.is_empty() || named(name) || free(name));
    names.retain(|name| definition.is_none_or(|definition| definition.has(as_claude(name))));
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
    use shipmate_protocol::tools::{SeatKind, list};

    use super::*;

    fn seat_of(kind: SeatKind, mode: Mode, tools: &[&str]) -> Seat {
        let tools = tools.iter().map(ToString::to_string).collect();
        let (team, name) = ("alpha".to_owned(), "ana".to_owned());
        Seat { team, name, kind, mode, tools }
    }

    fn seat(kind: SeatKind) -> Vec<Tool> {
        list(&seat_of(kind, Mode::Normal, &[]))
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
        let plain = seat_of(SeatKind::Teammate, Mode::Normal, &[]);
        assert_eq!(own(false, true, &plain, None), ["read_file", "glob", "grep"]);
        let tools = Some(vec!["Read".to_owned(), "Bash(git *)".to_owned()]);
        let denied = vec!["Glob".to_owned()];
        let definition = Definition { tools, denied, ..Definition::default() };
        let own_tools = own(false, false, &plain, Some(&definition));
        assert_eq!(own_tools, ["read_file", "bash", "bash_output"]);
        assert!(own(true, true, &plain, None).contains(&"Skill".to_owned()));
    }

    #[test]
    fn a_role_that_names_its_tools_has_those_and_no_others() {
        let seven = ["SendMessage", "TodoWrite", "Config"];
        let lead = seat_of(SeatKind::Lead, Mode::Delegate, &seven);
        let names: Vec<String> =
            team(list(&lead), true, false).into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["TodoWrite", "SendMessage", "Config"]);
        assert_eq!(own(true, true, &lead, None), Vec::<String>::new());
        let dev = seat_of(SeatKind::Teammate, Mode::Normal, &["SendMessage", "TaskUpdate"]);
        let names: Vec<String> =
            team(list(&dev), false, false).into_iter().map(|t| t.name).collect();
        assert_eq!(names, ["TaskUpdate", "SendMessage"]);
        let working: Vec<&str> = READING.into_iter().chain(WORKING).collect();
        assert_eq!(own(false, false, &dev, None), working, "its own hands are its mode's business");
    }
}
