//! Whether the demo's teammates think for real, which costs money, or play what was recorded.
//!
//! Nothing is spent that nobody agreed to: recorded is the rule, and somebody at a terminal is
//! asked only where there is a model to be had.

use std::io::{BufRead, IsTerminal, Write};

use shipmate_protocol::ask::Budget;
use shipmate_protocol::{Answer, Ask};

use super::DemoArgs;
use crate::cli::failure::{Failure, unexpected};
use crate::cli::session::Session;

/// What a run for real may cost at most, in money and, for models without a price, in tokens.
const DOLLARS_MAX: u64 = 2;
const TOKENS_MAX: u64 = 2_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thinking {
    /// With what to say about it.
    Recorded(&'static str),
    Real {
        model: String,
    },
}

pub(super) fn choose(args: &DemoArgs, session: &mut Session) -> Result<Thinking, Failure> {
    if args.recorded {
        return Ok(Thinking::Recorded("a recorded model thinks for them: no key, no network"));
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !args.real && (!terminal || session.screen.json) {
        return Ok(Thinking::Recorded(
            "a recorded model thinks for them; with a key in the environment, --real takes yours",
        ));
    }
    let Answer::Agents(agents) = session.ask(Ask::Agents)? else {
        return Err(unexpected("agents"));
    };
    let native = agents.into_iter().find(|agent| agent.name == "native").unwrap_or_default();
    // Its reason ends with the model's name.
    let model = native.why.rsplit(' ').next().unwrap_or_default().to_owned();
    match native.state.as_str() {
        "ready" if args.real => Ok(Thinking::Real { model }),
        "ready" if agrees(&model)? => Ok(Thinking::Real { model }),
        "ready" => Ok(Thinking::Recorded("a recorded model thinks for them")),
        _ if args.real => Err(Failure::Usage(format!(
            "there is no model to run it with: {}\n  {}",
            native.why, native.remedy
        ))),
        _ => Ok(Thinking::Recorded(
            "a recorded model thinks for them; with a provider's key in the environment you are \
             asked",
        )),
    }
}

/// Whether the person wants to pay.
fn agrees(model: &str) -> Result<bool, Failure> {
    eprint!("run it for real with {model}? it costs money, at most {} [y/N] ", limit());
    drop(std::io::stderr().flush());
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|e| Failure::Usage(format!("standard input cannot be read: {e}")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

pub(super) fn budget() -> Budget {
    let cost_micros_max = Some(DOLLARS_MAX * 1_000_000);
    Budget { tokens_max: Some(TOKENS_MAX), cost_micros_max }
}

/// The budget in words.
pub(super) fn limit() -> String {
    format!("{DOLLARS_MAX} dollars or {} million tokens", TOKENS_MAX / 1_000_000)
}
