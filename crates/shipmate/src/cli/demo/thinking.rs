//! Whether the demo's teammates think for real, which costs money, or play what was recorded.
//!
//! Nothing is spent that nobody agreed to: recorded is the rule, and somebody at a terminal is
//! asked only where there is a model to be had.

use std::ffi::OsStr;
use std::io::{BufRead, IsTerminal, Write};

use shipmate_protocol::verbs::Budget;
use shipmate_protocol::{ClientFailure, Code, verbs};

use super::{DemoArgs, stage};
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// What a run for real may cost at most, in money and, for models without a price, in tokens.
const DOLLARS_MAX: u64 = 5;
const TOKENS_MAX: u64 = 5_000_000;

const RECORDING: &str = "their model is a recording: no key, no network";

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
        return Ok(Thinking::Recorded(RECORDING));
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !args.real && (!terminal || session.screen.json) {
        return Ok(Thinking::Recorded(
            "their model is a recording; --real asks a real one, with your key",
        ));
    }
    if !args.real && !may_have_model(session)? {
        return Ok(Thinking::Recorded(
            "their model is a recording; with a provider's key set, you may have a real one",
        ));
    }
    if terminal {
        // Every agent program there is gets asked, which may take seconds.
        eprintln!("looking for a model");
    }
    let agents = session.ask(verbs::Agents)?;
    let native = agents.into_iter().find(|agent| agent.name == "native").unwrap_or_default();
    // Its reason ends with the model's name.
    let model = native.why.rsplit(' ').next().unwrap_or_default().to_owned();
    match native.state.as_str() {
        "ready" if args.real => Ok(Thinking::Real { model }),
        "ready" if agrees(&model)? => Ok(Thinking::Real { model }),
        "ready" => Ok(Thinking::Recorded(RECORDING)),
        _ if args.real => Err(Failure::Usage(format!(
            "there is no model to run it with: {}\n  {}",
            native.why, native.remedy
        ))),
        _ => Ok(Thinking::Recorded(RECORDING)),
    }
}

/// Whether it is worth looking: known providers are used by a key, others by the configuration.
fn may_have_model(session: &Session) -> Result<bool, Failure> {
    let models = session.config()?.config.models;
    let configured = !models.default.is_empty() || models.providers.len() > stage::PROVIDERS;
    let mut variables = std::env::vars_os();
    let is_key = |name: &OsStr| name.to_string_lossy().ends_with("_API_KEY");
    Ok(configured || variables.any(|(name, value)| is_key(&name) && !value.is_empty()))
}

/// Whether the person wants to pay.
fn agrees(model: &str) -> Result<bool, Failure> {
    eprint!("run it for real with {model} (costs money, up to {DOLLARS_MAX} dollars)? [y/N] ");
    drop(std::io::stderr().flush());
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|e| Failure::Usage(format!("standard input cannot be read: {e}")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Sets the budget, and says it in words. A model without a price is limited in tokens alone.
pub(super) fn limit_spending(session: &mut Session) -> Result<String, Failure> {
    let tokens = Budget { tokens_max: Some(TOKENS_MAX), ..Budget::default() };
    let both = Budget { cost_micros_max: Some(DOLLARS_MAX * 1_000_000), ..tokens };
    let in_tokens = format!("{} million tokens", TOKENS_MAX / 1_000_000);
    match session.ask(verbs::TeamBudget { budget: both }) {
        Ok(_) => Ok(format!("{DOLLARS_MAX} dollars, or {in_tokens}")),
        Err(Failure::Client(ClientFailure::Refused(refused)))
            if refused.code == Code::UnknownPrice =>
        {
            session.ask(verbs::TeamBudget { budget: tokens })?;
            Ok(in_tokens)
        }
        Err(failure) => Err(failure),
    }
}
