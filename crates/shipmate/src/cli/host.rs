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
use shipmate_protocol::verbs;
use shipmate_protocol::view::{HostState, HostView};

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

/// The teams that a command is about: the one that was named, else all here. A machine is in all of them, so
/// nobody has to name one to see or to drain it.
fn teams_of(session: &mut Session) -> Result<Vec<String>, Failure> {
    if let Some(team) = session.client.team.clone() {
        return Ok(vec![team]);
    }
    let teams = session.ask(verbs::Teams)?.into_iter().filter(|team| team.parent.is_none());
    Ok(teams.map(|team| team.name).collect())
}

/// The machines of those teams, each once.
fn hosts_of(session: &mut Session) -> Result<Vec<HostView>, Failure> {
    let teams = teams_of(session)?;
    let Some((first, others)) = teams.split_first() else {
        return session.ask(verbs::Hosts);
    };
    session.client.team = Some(first.clone());
    let mut hosts = session.ask(verbs::Hosts)?;
    for team in others {
        session.client.team = Some(team.clone());
        for other in session.ask(verbs::Hosts)? {
            match hosts.iter_mut().find(|host| host.name == other.name) {
                None => hosts.push(other),
                Some(host) => join_views(host, other),
            }
        }
    }
    hosts.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(hosts)
}

/// One machine as two teams know it: it is as good as the worse of them says.
fn join_views(host: &mut HostView, other: HostView) {
    if host.state == HostState::Joined {
        host.state = other.state;
    }
    host.home |= other.home;
    host.taken += other.taken;
    host.teammates.extend(other.teammates);
    host.lacks.extend(
        other.lacks.into_iter().filter(|lack| !host.lacks.contains(lack)).collect::<Vec<_>>(),
    );
    host.silent_ms = host.silent_ms.into_iter().chain(other.silent_ms).min();
    host.sign_at = host.sign_at.into_iter().chain(other.sign_at).max();
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
