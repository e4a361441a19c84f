//! `shipmate shutdown`: ask teammates to stop, or answer as one of them.

use shipmate_protocol::Ask;
use shipmate_protocol::ask::ShutdownAnswer;

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::time::{duration, parse_duration_ms};

/// Ask a teammate, or the whole team, to shut down
///
/// Each has until the deadline to answer; after it the life is ended. Whatever becomes of the
/// request is a record. A teammate answers with --answer.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate shutdown ana --reason \"the work is done\"
  shipmate shutdown --deadline 2m
  shipmate --as ana shutdown --answer 41
  shipmate --as ana shutdown --answer 41 --left \"task 3 is half done\"
  shipmate --as ana shutdown --answer 41 --reject \"two minutes more\"")]
pub(crate) struct ShutdownArgs {
    /// The teammate [default: everybody in the team]
    #[arg(conflicts_with = "answer")]
    name: Option<String>,

    #[arg(long, value_name = "TEXT", default_value = "asked by hand", conflicts_with = "answer")]
    reason: String,

    /// How long it has to answer, like 90s [default: shutdown-deadline-seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms, conflicts_with = "answer")]
    deadline: Option<u64>,

    /// Answer the shutdown request of this number, as a teammate
    #[arg(long, value_name = "ID")]
    answer: Option<u64>,

    /// Work that is left over; may be repeated
    #[arg(long, value_name = "TEXT", requires = "answer")]
    left: Vec<String>,

    /// It stops because of this error
    #[arg(long, value_name = "TEXT", requires = "answer", conflicts_with = "left")]
    error: Option<String>,

    /// It does not stop, because of this
    #[arg(long, value_name = "TEXT", requires = "answer", conflicts_with_all = ["left", "error"])]
    reject: Option<String>,
}

pub(crate) fn run(args: &ShutdownArgs, mut session: Session) -> Result<(), Failure> {
    if let Some(shutdown) = args.answer {
        let answer = match (&args.error, &args.reject) {
            (Some(reason), _) => ShutdownAnswer::Error { reason: reason.clone() },
            (None, Some(reason)) => ShutdownAnswer::Rejected { reason: reason.clone() },
            (None, None) if args.left.is_empty() => ShutdownAnswer::Clean,
            (None, None) => ShutdownAnswer::InProgress { pending: args.left.clone() },
        };
        let said = format!("answered shutdown request {shutdown}");
        return session.change(Ask::ShutdownAnswer { shutdown, answer }, &said);
    }
    let deadline_ms = session.deadline_ms(args.deadline)?;
    let said = format!(
        "asked {} to shut down within {}",
        args.name.as_deref().unwrap_or("everybody"),
        duration(deadline_ms)
    );
    let (name, reason) = (args.name.clone(), args.reason.clone());
    session.change(Ask::Shutdown { name, reason, deadline_ms }, &said)
}
