//! Which of the team's tools a native agent is offered, and which of its own it has.

use shipmate_model::definition::Definition;
use shipmate_protocol::Mode;
use shipmate_protocol::native::Offered;
use shipmate_protocol::tools::{Seat, Tool};

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
        "ExitPlanMode" => plans,
        // Seed 001 gives it to the lead alone.
        "TaskGet" => lead,
        _ => true,
    };
    let tools = tools.into_iter().filter(|tool| offered(tool.name));
    let tools = tools.map(|tool| Offered {
        name: tool.name.to_owned(),
        description: tool.description.to_owned(),
        input_schema: tool.input_schema,
    });
    tools.collect()
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

#[cfg(test)]
mod tests {
    use shipmate_protocol::tools::{Reader, SeatKind, list, shown};

    use super::*;

    fn seat_of(kind: SeatKind, mode: Mode, tools: &[&str]) -> Seat {
        let tools = tools.iter().map(ToString::to_string).collect();
        let (team, name) = ("alpha".to_owned(), "ana".to_owned());
        Seat { team, name, kind, mode, tools }
    }

    fn seat(kind: SeatKind) -> Vec<Tool> {
        let seat = seat_of(kind, Mode::Normal, &[]);
        shown(list(&seat), &seat, Reader::Driven)
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
