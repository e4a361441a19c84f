//! `shipmate message trace`: the life of one message.

use shipmate_protocol::verbs;
use shipmate_protocol::view::MessageTrace;

use crate::cli::failure::Failure;
use crate::cli::inbox::envelope;
use crate::cli::screen::{Screen, plain};
use crate::cli::session::Session;
use crate::time::time_of_day;

/// Messages: trace where one is
#[derive(clap::Subcommand, Debug)]
pub(crate) enum MessageCommand {
    Trace(TraceArgs),
}

/// Show where a message is, recipient by recipient
///
/// queued, offered, injected (into which turn), acknowledged; or expired or bounced, and why. Each
/// step names its record in the log.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate message trace 41")]
pub(crate) struct TraceArgs {
    /// The id that `send` printed
    id: u64,
}

pub(crate) fn run(command: &MessageCommand, mut session: Session) -> Result<(), Failure> {
    let MessageCommand::Trace(args) = command;
    let trace = session.ask(verbs::MessageTrace { message: args.id })?;
    if session.screen.json {
        return session.screen.json(&trace);
    }
    session.screen.print(&text(&trace, &session.screen))
}

fn text(trace: &MessageTrace, screen: &Screen) -> String {
    let mut text = envelope(&trace.message, screen);
    for delivery in &trace.to {
        text.push_str(&format!("to {}: {}\n", plain(&delivery.to), plain(delivery.state.word())));
        for step in &delivery.steps {
            let detail = step.detail.as_deref().map(|d| format!(", {d}")).unwrap_or_default();
            text.push_str(&format!(
                "  {} {} record {}{}\n",
                time_of_day(step.at),
                plain(step.state.word()),
                step.position,
                plain(&detail)
            ));
        }
    }
    text
}
