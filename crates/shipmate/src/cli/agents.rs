//! `shipmate agents`.

mod definitions;

use std::path::Path;

use shipmate_protocol::problem::nearest;
use shipmate_protocol::verbs;
use shipmate_protocol::view::AgentView;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell, painted};

/// List the agent programs that can be behind a teammate, and the state each is in
///
/// Each is looked for in PATH and asked for its version, Claude Code and codex also whether they are
/// logged in; of the others a login is looked for, and never tried. `ready` can be used;
/// `not_installed`, `too_old` and `broken` cannot; `not_logged_in` may still work, if its login is
/// somewhere else. PATH and keys are those of this command: agents that are started from now on have
/// them.
///
/// `[agents.NAME]` in the configuration adds a program, or says where a known one is. `--fence`
/// shows what one of them may read and write as a teammate, and where its login and settings are.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate agents
  shipmate agents --json | jq -r '.[] | select(.state == \"ready\") | .name'
  shipmate agents --fence claude
  shipmate agents --definitions          what `teammate add --from NAME` can be made from
  shipmate teammate add ana --agent claude")]
pub(crate) struct AgentsArgs {
    /// Show what this one may read and write as a teammate
    #[arg(long, value_name = "NAME")]
    fence: Option<String>,

    /// List the definitions of agents for Claude Code, Codex and opencode, the repository's and yours
    #[arg(long, conflicts_with = "fence")]
    definitions: bool,
}

pub(crate) fn run(args: &AgentsArgs, mut session: Session) -> Result<(), Failure> {
    if args.definitions {
        return definitions::show(&session);
    }
    let mut agents = session.ask(verbs::Agents)?;
    if let Some(name) = &args.fence {
        let known: Vec<String> = agents.iter().map(|agent| agent.name.clone()).collect();
        agents.retain(|agent| agent.name == *name);
        let Some(agent) = agents.first() else {
            let mut fact = format!("there is no agent {name}");
            if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
                fact.push_str(&format!("; did you mean {near}?"));
            }
            return Err(Failure::Usage(format!("{fact}\n  `shipmate agents` lists them")));
        };
        return match session.screen.json {
            true => session.screen.json(agent),
            false => session.screen.print(&fence(agent, &session)?),
        };
    }
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

/// What one may read and write as a teammate.
fn fence(agent: &AgentView, session: &Session) -> Result<String, Failure> {
    let config = session.config()?.config;
    let mut lines = vec![
        format!("{} as a teammate, fence = \"{}\"", agent.name, config.fence.word()),
        String::new(),
    ];
    let mut say = |what: &str, text: &str| lines.push(format!("{what:<10}  {}", plain(text)));
    say("writes", "its own tree, unless its mode is plan, delegate or read_only");
    say("", "a temporary folder of its own: TMPDIR");
    say("", "the team's caches: CARGO_HOME, npm_config_cache, PIP_CACHE_DIR, GOMODCACHE, …");
    for path in &config.fence_write {
        say("", &format!("{path}: by fence-write"));
    }
    for own in &agent.own {
        say("", &format!("a folder of its own: {}, instead of {}", own.variable, own.instead_of));
    }
    for own in &agent.own {
        let there = |names: &[String]| {
            let names: Vec<&str> = names
                .iter()
                .map(String::as_str)
                .filter(|name| Path::new(&own.instead_of).join(name).exists())
                .collect();
            names.join(", ")
        };
        for (what, names) in [("login", &own.logins), ("reads", &own.read), ("copied", &own.copied)]
        {
            let names = if what == "copied" { names.join(", ") } else { there(names) };
            let text = match what {
                "login" => format!("{names} of {}: used and renewed where it is", own.instead_of),
                "reads" => format!("{names} of {}", own.instead_of),
                _ => format!("{names}, anew for each life"),
            };
            if !names.is_empty() {
                say(what, &text);
            }
        }
    }
    say("reads", "everything else that you can read");
    say("hidden", ".shipmate/state: tokens, logs, other teammates' trees");
    lines.push(String::new());
    lines.push(
        "More may be written by `fence-write` in .shipmate/config.toml; docs/security.md"
            .to_owned(),
    );
    Ok(lines.join("\n") + "\n")
}
