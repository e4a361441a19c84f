//! `shipmate account`: accounts that agents ask their models with, and the end of a pause of one.

use shipmate_protocol::verbs;
use shipmate_protocol::{ClientFailure, Code, refused};

use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::cli::usage;

/// Accounts of agents: list them, let a parked one go on
///
/// An account is what a provider meters: a subscription's login or a key. When its provider refuses
/// because a limit is reached, everybody who asks with it is parked, in all teams of all workspaces of this
/// user: nothing has failed, no attempt is spent, nobody is started. Work goes on by itself when the limit
/// is reset. Where the provider tells how much is used, no new task is taken above soft-cap, and nothing is
/// asked above hard-cap: `shipmate config` shows both.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum AccountCommand {
    List(usage::UsageArgs),
    Resume(ResumeArgs),
}

/// Let the teammates of a parked account go on now
///
/// For a limit that was raised or bought off before its reset. If the provider still refuses, it is parked
/// again.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate account resume
  shipmate account resume claude-1f2e3d4c")]
pub(crate) struct ResumeArgs {
    /// The account [default: the one that is parked]
    account: Option<String>,
}

pub(crate) fn run(command: AccountCommand, session: Session) -> Result<(), Failure> {
    match command {
        AccountCommand::List(args) => usage::run(&args, session),
        AccountCommand::Resume(args) => resume(args, session),
    }
}

fn resume(args: ResumeArgs, mut session: Session) -> Result<(), Failure> {
    let account = match args.account {
        Some(account) => account,
        None => {
            let accounts = session.ask(verbs::Accounts)?;
            let mut parked = accounts
                .into_iter()
                .filter(|account| account.parked.is_some() || account.held.is_some());
            match (parked.next(), parked.next()) {
                (Some(account), None) => account.name,
                (None, _) => {
                    let text = "no account is parked".to_owned();
                    return Err(not(Code::AccountElsewhere, text, "`shipmate usage` shows them"));
                }
                (Some(one), Some(two)) => {
                    let text = format!("{} and {} are parked", one.name, two.name);
                    let remedy = "name the one that has room again";
                    return Err(not(Code::BadArgument, text, remedy));
                }
            }
        }
    };
    let said = format!("account {account} goes on");
    session.change(verbs::AccountResume { account }, &said)
}

fn not(code: Code, text: String, remedy: &str) -> Failure {
    Failure::Client(ClientFailure::Refused(refused(code, text, remedy)))
}
