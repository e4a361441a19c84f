//! The command line: one file per command, whose `Args` doc comment is its help.
//!
//! A command asks the coordinator through the protocol and shows what came back. It decides
//! nothing: what may be done is the coordinator's to say, and its refusals are shown as they are.

mod account;
mod agents;
mod answer;
mod ask;
pub(crate) mod attach;
mod config;
mod r#continue;
mod coordinator;
mod decisions;
mod demo;
mod doctor;
mod exit;
mod failure;
mod fresh;
mod host;
mod inbox;
mod init;
mod install;
pub(crate) mod log;
mod mcp;
mod merge;
mod message;
mod note;
mod pause;
mod phase;
mod plan;
mod playbook;
mod questions;
mod reference;
mod resume;
mod run;
pub(crate) mod screen;
mod send;
mod serve;
mod session;
mod shutdown;
mod status;
mod table;
mod task;
mod team;
mod teammate;
mod tui;
mod usage;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

pub(crate) use exit::Exit;
use failure::Failure;
use session::{Globals, Session};

/// Runs a team of coding agents on one repository
///
/// A team has a board of tasks, teammates who claim them, and inboxes. Every change is a record in
/// a log, written by one coordinator per workspace, which starts by itself when a command needs it.
#[derive(Parser, Debug)]
#[command(name = "shipmate", version, max_term_width = 100, after_help = FIVE_MINUTES)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    globals: Globals,

    #[command(subcommand)]
    command: Command,
}

const FIVE_MINUTES: &str = "\
In five minutes:
  shipmate demo                                   watch a team at work; nothing to set up
  shipmate team create alpha                      a team in this folder
  shipmate task create \"Write the parser\" --files src/parser.rs
  shipmate task create \"Test the parser\" --blocked-by 1
  shipmate teammate add ana                       a teammate, and its first life
  shipmate --as ana task next                     ana takes the best task there is
  shipmate --as ana task submit 1 --result done   ana hands it in, which frees task 2
  shipmate send ana \"well done\"                   and `shipmate --as ana inbox` reads it
  shipmate status                                 where everything stands
  shipmate log                                    everything that happened, record by record

Exit codes: 0 done, 1 refused, 2 usage, 3 not found, 4 nothing to do, 5 the claim is another's,
6 no coordinator, 7 storage, 8 not all done, 9 waits for a person, 70 a bug. Colour is off with
NO_COLOR or outside a terminal.";

#[derive(clap::Subcommand, Debug)]
enum Command {
    Demo(demo::DemoArgs),
    Init(init::InitArgs),
    Run(run::RunArgs),
    Status(status::StatusArgs),
    Tui(tui::TuiArgs),
    #[command(subcommand)]
    Team(team::TeamCommand),
    #[command(subcommand)]
    Teammate(teammate::TeammateCommand),
    #[command(subcommand)]
    Host(host::HostCommand),
    #[command(subcommand)]
    Account(account::AccountCommand),
    Usage(usage::UsageArgs),
    #[command(subcommand)]
    Task(task::TaskCommand),
    Agents(agents::AgentsArgs),
    Attach(attach::AttachArgs),
    Pause(pause::PauseArgs),
    Continue(r#continue::ContinueArgs),
    Resume(resume::ResumeArgs),
    Merge(merge::MergeArgs),
    Send(send::SendArgs),
    Inbox(inbox::InboxArgs),
    #[command(subcommand)]
    Message(message::MessageCommand),
    #[command(subcommand)]
    Note(note::NoteCommand),
    #[command(subcommand)]
    Phase(phase::PhaseCommand),
    #[command(subcommand)]
    Plan(plan::PlanCommand),
    #[command(subcommand)]
    Playbook(playbook::PlaybookCommand),
    Ask(ask::AskArgs),
    Answer(answer::AnswerArgs),
    Questions(questions::QuestionsArgs),
    Decisions(decisions::DecisionsArgs),
    Log(log::LogArgs),
    Shutdown(shutdown::ShutdownArgs),
    Mcp(mcp::McpArgs),
    Serve(serve::ServeArgs),
    Install(install::InstallArgs),
    Config(config::ConfigArgs),
    Doctor(doctor::DoctorArgs),
    #[command(subcommand)]
    Coordinator(coordinator::CoordinatorCommand),
    #[command(hide = true)]
    Reference(reference::ReferenceArgs),
}

/// Parses the command line, runs the command and says how it ended.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no mistakes; a closed pipe while printing them is none either.
            drop(e.print());
            return if e.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    let json = cli.globals.json;
    let serves =
        matches!(cli.command, Command::Coordinator(coordinator::CoordinatorCommand::Run(_)));
    let fresh = if serves { None } else { fresh::Fresh::of(&cli.globals) };
    match run(cli) {
        Ok(code) => code,
        Err(failure) => {
            let refused = matches!(failure.exit(), Exit::Refused | Exit::Usage | Exit::NotFound);
            if let Some(fresh) = fresh.filter(|_| refused) {
                fresh.take_back();
            }
            let told = if json { failure.for_programs() } else { failure.for_people() };
            if let Some(told) = told {
                // With standard error closed there is nobody to tell; the exit code remains.
                drop(std::io::stderr().write_all(told.as_bytes()));
            }
            failure.exit().into()
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let globals = &cli.globals;
    let session = || Session::open(globals);
    match cli.command {
        Command::Demo(args) => return Ok(demo::run(&args, globals)?.into()),
        Command::Reference(args) => reference::run(&args)?,
        Command::Coordinator(coordinator::CoordinatorCommand::Run(args)) => {
            return coordinator::run_here(&args, globals);
        }
        Command::Coordinator(command) => coordinator::run(&command, session()?)?,
        Command::Install(args) => install::run(&args, globals)?,
        Command::Serve(args) => serve::run(&args, globals)?,
        Command::Mcp(args) => mcp::run(&args, globals)?,
        Command::Init(args) => init::run(&args, globals)?,
        Command::Config(args) => config::run(&args, globals)?,
        Command::Doctor(args) => doctor::run(&args, globals)?,
        Command::Run(args) => return Ok(run::run(&args, session()?)?.into()),
        Command::Status(args) => status::run(&args, session()?)?,
        Command::Tui(args) => return Ok(tui::run(&args, session()?)?.into()),
        Command::Team(command) => team::run(command, session()?)?,
        Command::Teammate(command) => teammate::run(command, session()?)?,
        Command::Host(command) => host::run(command, session()?)?,
        Command::Account(command) => account::run(command, session()?)?,
        Command::Usage(args) => usage::run(&args, session()?)?,
        Command::Task(command) => task::run(command, session()?)?,
        Command::Agents(args) => agents::run(&args, session()?)?,
        Command::Attach(args) => attach::run(&args, session()?)?,
        Command::Pause(args) => pause::run(args, session()?)?,
        Command::Continue(args) => r#continue::run(args, session()?)?,
        Command::Resume(args) => resume::run(&args, session()?)?,
        Command::Merge(args) => merge::run(&args, session()?)?,
        Command::Send(args) => send::run(&args, session()?)?,
        Command::Inbox(inbox::InboxArgs { hook: Some(event), .. }) => {
            inbox::hook::run(&event, globals)?;
        }
        Command::Inbox(args) => inbox::run(&args, session()?)?,
        Command::Message(command) => message::run(&command, session()?)?,
        Command::Note(command) => note::run(command, session()?)?,
        Command::Phase(command) => phase::run(command, session()?)?,
        Command::Plan(command) => plan::run(command, session()?)?,
        Command::Playbook(command) => return Ok(playbook::run(command, session()?)?.into()),
        Command::Ask(args) => ask::run(&args, session()?)?,
        Command::Answer(args) => answer::run(&args, session()?)?,
        Command::Decisions(args) => decisions::run(&args, session()?)?,
        Command::Questions(args) => questions::run(&args, session()?)?,
        Command::Log(args) => log::run(&args, session()?)?,
        Command::Shutdown(args) => shutdown::run(&args, session()?)?,
    }
    Ok(Exit::Done.into())
}
