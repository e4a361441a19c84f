//! `shipmate team set`: another gate or other agents for a team that exists.

use clap::Args;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs::TeamSet;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Change the gate or the agents of a team that exists
///
/// A new gate counts from the next verification on. A new agent stands behind a teammate from its
/// next start on: whoever runs goes on as it is, and `shipmate resume` starts whoever failed. What
/// is not named stays as it is.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate team set --gate \"make test\"
  shipmate --team alpha team set --agent claude --model opus
  shipmate team set --agent ./agent.sh --teammate dev-1
  shipmate team set --no-gate")]
#[group(required = true, multiple = true)]
pub(crate) struct SetArgs {
    /// A command that must succeed on the merged tree, instead of those there are; may be given
    /// several times
    #[arg(long, value_name = "COMMAND")]
    gate: Vec<String>,

    /// Work is merged without any check
    #[arg(long, conflicts_with = "gate")]
    no_gate: bool,

    /// The program behind its teammates, such as claude or codex, or a command that does one task
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// The model of its teammates
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Only of this teammate; may be given several times [default: all whom shipmate starts]
    #[arg(long, value_name = "NAME")]
    teammate: Vec<String>,
}

pub(crate) fn run(args: SetArgs, mut session: Session) -> Result<(), Failure> {
    let SetArgs { gate, no_gate, agent, model, teammate } = args;
    let about_agents = agent.is_some() || model.is_some();
    if !teammate.is_empty() && !about_agents {
        return Err(Failure::Usage(
            "--teammate says whose agent or model is meant, and neither is given\n  add --agent or \
             --model"
                .to_owned(),
        ));
    }
    let config = session.config()?.config;
    let (agent, command) = agent.map_or_else(Default::default, |text| config.agent_of(&text));
    let is_gate = no_gate || !gate.is_empty();
    let set = TeamSet {
        gate: is_gate.then_some(gate),
        agent,
        command,
        model,
        teammates: teammate,
        agents: Vec::new(),
    };
    let mut said = Vec::new();
    if is_gate {
        said.push("the gate counts from the next verification on");
    }
    if about_agents {
        said.push("the agent counts from each teammate's next start on");
    }
    session.change(Ask::TeamSet(set), &format!("set: {}", said.join("; ")))
}
