//! `shipmate task submit`.

use shipmate_protocol::{answers, verbs};

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::task::claim;
use crate::time::parse_duration_ms;

/// Hand in the work on a task
///
/// In a team with a gate the task stays in progress until the gate has decided; in a team without
/// one it is completed at once. An agent should pass the token of its claim. With --next the best
/// task there is now is claimed in the same step.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate --as ana task submit 3 --token 41 --commit 1f3a9c2 --result \"all tests pass\"
  shipmate --as ana task submit 3
  shipmate --as ana task submit 3 --next --json")]
pub(crate) struct SubmitArgs {
    /// Its id or alias
    task: String,

    /// The claim's token [default: that of the claim this teammate holds now]
    #[arg(long, value_name = "N")]
    token: Option<u64>,

    /// The commit that holds the work
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,

    /// What came of it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    result: String,

    /// Take the next task in the same step; where there is none, only submit
    #[arg(long)]
    next: bool,

    /// How long the next claim holds without a renewal, like 10m [default: lease-seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms, requires = "next")]
    lease: Option<u64>,
}

pub(crate) fn run(args: SubmitArgs, mut session: Session) -> Result<(), Failure> {
    let token = session.claim_token(&args.task, args.token)?;
    let SubmitArgs { task, commit, result, .. } = args;
    let said = format!("submitted task {task}");
    if !args.next {
        return session.change(verbs::TaskSubmit { task, token, commit, result }, &said);
    }
    let lease_ms = Some(session.lease_ms(args.lease)?);
    let next = verbs::TaskSubmitNext { task, token, commit, result, lease_ms };
    match session.ask(next)? {
        answers::Submitted::Only(changed) => {
            session.tell(&changed.into(), &format!("{said}; no task is available now"))
        }
        answers::Submitted::AndClaimed(claimed) => {
            if !session.screen.json {
                session.screen.line(&said)?;
            }
            claim::show(&session, &claimed)
        }
    }
}
