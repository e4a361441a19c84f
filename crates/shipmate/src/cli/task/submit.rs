//! `shipmate task submit`.

use std::fs::File;
use std::io::Read;

use shipmate_protocol::{ClientFailure, Handoff, answers, handoff, verbs};

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
  shipmate --as ana task submit 3 --handoff handoff.json
  shipmate --as ana task submit 3 --handoff '{\"left\":[\"errors have no line yet\"]}'
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

    /// What those who go on from it should know: a file, `-` for standard input, or the JSON itself
    ///
    /// Plain text, or an object with any of summary (text), done, left, surprises, interfaces (lists of text)
    /// and commands (a list of {command, exit, result}). It goes into the briefs of the tasks that wait for
    /// this one.
    #[arg(long, value_name = "FILE|-|JSON")]
    handoff: Option<String>,

    /// Take the next task in the same step; where there is none, only submit
    #[arg(long)]
    next: bool,

    /// How long the next claim holds without a renewal, like 10m [default: lease-seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms, requires = "next")]
    lease: Option<u64>,
}

pub(crate) fn run(args: SubmitArgs, mut session: Session) -> Result<(), Failure> {
    let handoff = args.handoff.as_deref().map(read_handoff).transpose()?.map(Box::new);
    let token = session.claim_token(&args.task, args.token)?;
    let SubmitArgs { task, commit, result, .. } = args;
    let said = format!("submitted task {task}");
    if !args.next {
        return session.change(verbs::TaskSubmit { task, token, commit, result, handoff }, &said);
    }
    let lease_ms = Some(session.lease_ms(args.lease)?);
    let next = verbs::TaskSubmitNext { task, token, commit, result, handoff, lease_ms };
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

/// What the argument, the file that it names or standard input says.
fn read_handoff(from: &str) -> Result<Handoff, Failure> {
    if from.trim_start().starts_with(['{', '[', '"']) {
        return parse(from.as_bytes());
    }
    // One byte more than is looked at says that it is too long.
    let most = handoff::JSON_BYTES_MAX as u64 + 1;
    let mut json = Vec::new();
    let read = match from {
        "-" => std::io::stdin().take(most).read_to_end(&mut json),
        path => File::open(path).and_then(|file| file.take(most).read_to_end(&mut json)),
    };
    read.map_err(|e| {
        let from: String = from.chars().take(80).collect();
        Failure::Usage(format!(
            "the handoff cannot be read from {from:?}: {e}\n  name a file, `-` or an object: \
             {{\"done\":[\"…\"]}}"
        ))
    })?;
    parse(&json)
}

fn parse(json: &[u8]) -> Result<Handoff, Failure> {
    handoff::parse(json).map_err(|refused| Failure::Client(ClientFailure::Refused(refused)))
}
