//! `shipmate task claim`, and how a claim is shown.

use shipmate_protocol::Answer;
use shipmate_protocol::view::TaskView;
use shipmate_protocol::{answers, verbs};

use crate::cli::failure::Failure;
use crate::cli::screen::{plain, plain_lines};
use crate::cli::session::Session;
use crate::time::parse_duration_ms;

/// Claim a task for a teammate
///
/// Claiming is safe to repeat: the holder extends its lease, and anyone else is told who holds the
/// task. The token that is printed belongs to this claim; an agent passes it with what it does for
/// the task, so that late work of an ended claim is never taken for the new holder's.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --as ana task claim 3
  shipmate --as ana task claim 3 --lease 30m --json | jq .token")]
pub(crate) struct ClaimArgs {
    /// Its id or alias
    task: String,

    /// How long the claim holds without a renewal, like 10m [default: lease-seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms)]
    lease: Option<u64>,
}

pub(crate) fn run(args: ClaimArgs, mut session: Session) -> Result<(), Failure> {
    let lease_ms = Some(session.lease_ms(args.lease)?);
    match session.ask(verbs::TaskClaim { task: args.task, lease_ms })? {
        Some(claimed) => show(&session, &claimed),
        None => session.tell(&Answer::Unchanged, ""),
    }
}

pub(crate) fn show(session: &Session, claimed: &answers::Claimed) -> Result<(), Failure> {
    let answers::Claimed { task, token } = claimed;
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "token": token, "task": task }));
    }
    session.screen.print(&text(task, *token))
}

fn text(task: &TaskView, token: u64) -> String {
    let mut text = format!("claimed task {}: {}\n", task.row.id, plain(&task.row.subject));
    text.push_str(&format!("  token {token}\n"));
    if let Some(lease_ms) = task.lease_ms {
        let id = task.row.id;
        let lease = crate::time::duration(lease_ms);
        text.push_str(&format!("  lease {lease}; `task renew {id}` begins it again\n"));
    }
    if !task.files.is_empty() {
        text.push_str(&format!("  files {}\n", plain(&task.files.join(", "))));
    }
    if !task.description.is_empty() {
        text.push_str(&format!("  {}\n", plain_lines(&task.description).replace('\n', "\n  ")));
    }
    text
}
