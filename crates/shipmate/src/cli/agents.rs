//! `shipmate agents`.

use shipmate_protocol::view::AgentView;
use shipmate_protocol::{Answer, Ask};

use crate::cli::failure::{Failure, unexpected};
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell, painted};

/// List the agent programs that can be behind a teammate, and the state each is in
///
/// Each is looked for in PATH and asked for its version; a login is looked for where the program
/// keeps it, and never tried. `ready` can be used; `not_installed`, `too_old` and `broken` cannot;
/// `not_logged_in` may still work, if its login is somewhere else. PATH and keys are those of this
/// command: agents that are started from now on have them.
///
/// `[agents.NAME]` in the configuration adds a program, or says where a known one is.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate agents
  shipmate agents --json | jq -r '.[] | select(.state == \"ready\") | .name'
  shipmate teammate add ana --agent claude")]
pub(crate) struct AgentsArgs {}

pub(crate) fn run(_: &AgentsArgs, mut session: Session) -> Result<(), Failure> {
    let Answer::Agents(agents) = session.ask(Ask::Agents)? else {
        return Err(unexpected("agents"));
    };
    if session.screen.json {
        return session.screen.json(&agents);
    }
    session.screen.print(&table(&agents, &session.screen))?;
    let remedies = agents.iter().filter(|agent| !agent.remedy.is_empty());
    let lines = remedies.map(|agent| format!("\n{}: {}", agent.name, plain(&agent.remedy)));
    let lines: String = lines.collect();
    if lines.is_empty() { Ok(()) } else { session.screen.print(&format!("{lines}\n")) }
}

fn table(agents: &[AgentView], screen: &Screen) -> String {
    let mut table = Table::new(&[
        Column::Left("AGENT"),
        Column::Left("PROTOCOL"),
        Column::Left("STATE"),
        Column::Left("VERSION"),
        Column::Elastic("WHY"),
    ]);
    for agent in agents {
        let paint = match agent.state.as_str() {
            "ready" => Paint::Good,
            "not_installed" => Paint::Dim,
            "not_logged_in" => Paint::Busy,
            _ => Paint::Bad,
        };
        table.row([
            cell(&agent.name),
            cell(&agent.protocol),
            painted(&agent.state, paint),
            cell(agent.version.as_deref().unwrap_or_default()),
            cell(&agent.why),
        ]);
    }
    table.render(screen)
}
