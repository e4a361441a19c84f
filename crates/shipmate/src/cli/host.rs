//! `shipmate host`: the machines that share a team.

mod add;
mod first;
mod invite;
mod join;
mod list;
mod rest;
mod show;

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::coordinator::host::Wanted;
use shipmate_model::Name;

use crate::cli::failure::Failure;
use crate::cli::session::Session;

pub(crate) use first::become_first;
pub(crate) use list::{sign, state};

/// Machines that share a team: add, list, show, invite, join, drain, remove, home, leave
#[derive(clap::Subcommand, Debug)]
pub(crate) enum HostCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Invite(invite::InviteArgs),
    Join(join::JoinArgs),
    Drain(rest::DrainArgs),
    Remove(rest::RemoveArgs),
    Home(rest::HomeArgs),
    Leave(rest::LeaveArgs),
}

pub(crate) fn run(command: HostCommand, session: Session) -> Result<(), Failure> {
    match command {
        HostCommand::Add(args) => add::run(&args, session),
        HostCommand::List(args) => list::run(&args, session),
        HostCommand::Show(args) => show::run(&args, session),
        HostCommand::Invite(args) => invite::run(&args, session),
        HostCommand::Join(args) => join::run(args, session),
        HostCommand::Drain(args) => rest::drain(args, session),
        HostCommand::Remove(args) => rest::remove(args, session),
        HostCommand::Home(args) => rest::home(args, session),
        HostCommand::Leave(args) => rest::leave(&args, session),
    }
}

/// What a machine is called and takes.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct As {
    /// What the machine is called: letters, digits, '_' and '-' [default: its own name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// How many teammates run there at once [default: its processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) slots: Option<u32>,

    /// What teammates can ask for with --label, such as gpu; may be given several times
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
}

impl As {
    pub(crate) fn wanted(&self) -> Result<Wanted, Failure> {
        let name = match &self.name {
            Some(name) => name_of(name)?,
            None => own_name(),
        };
        let labels: Result<BTreeSet<Name>, Failure> =
            self.labels.iter().map(|label| name_of(label)).collect();
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        Ok(Wanted { name, slots: self.slots.unwrap_or_else(cores), labels: labels? })
    }
}

pub(crate) fn name_of(text: &str) -> Result<Name, Failure> {
    text.parse::<Name>().map_err(|e| {
        Failure::Usage(format!(
            "{e}\n  a host and a label have letters, digits, '_' and '-', beginning with a letter or \
             digit"
        ))
    })
}

/// Certificates are read when the server is asked, and their file is not named then.
pub(crate) fn readable(ca: &PathBuf) -> Result<(), Failure> {
    let opened = std::fs::File::open(ca).map(drop);
    let remedy = "--ca names a file of certificates in PEM";
    opened.map_err(|e| Failure::Usage(format!("{}: {e}\n  {remedy}", ca.display())))
}

/// The machine's own name, without what no name has.
fn own_name() -> Name {
    let system = rustix::system::uname();
    let own = system.nodename().to_string_lossy();
    let own = own.split('.').next().unwrap_or_default();
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let own: String = own.chars().filter(fits).take(64).collect();
    own.parse().unwrap_or_else(|_| "host".parse().expect("this is a name"))
}
