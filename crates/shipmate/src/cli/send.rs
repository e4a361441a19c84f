//! `shipmate send`.

use shipmate_protocol::{answers, verbs};

use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::{Session, text_or_stdin};

/// Send a message to a teammate, to all, or to the person
///
/// It is answered once the message is durable and every recipient can still receive it. `all`
/// leaves the sender out. The message waits through restarts of its recipient.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate send ana \"please look at task 7\"
  shipmate --as ana send person \"which parser?\"
  shipmate send backend/all --kind status - < report.md")]
pub(crate) struct SendArgs {
    /// A name, team/name, person, all or team/all
    to: String,

    /// The text; `-` is standard input
    #[arg(required = true)]
    text: Vec<String>,

    /// The kind of a typed handoff [default: message]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// The message that this one answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<u64>,
}

pub(crate) fn run(args: &SendArgs, mut session: Session) -> Result<(), Failure> {
    let body = text_or_stdin(&args.text)?;
    let (to, kind, reply_to) = (args.to.clone(), args.kind.clone(), args.reply_to);
    let answers::Sent { message, to } = session.ask(verbs::Send { to, body, kind, reply_to })?;
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "message": message, "to": to }));
    }
    session.screen.line(&match to.is_empty() {
        true => format!("recorded as {message}; nobody could be written to"),
        false => format!("sent message {message} to {}", plain(&to.join(", "))),
    })
}
