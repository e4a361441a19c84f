//! `shipmate host drain`, `remove` and `home`: what becomes of a machine.

use std::process::Output;

use crate::coordinator::HostFile;
use crate::coordinator::copied;
use crate::coordinator::host::{self, OwnServer, Tunnel};
use shipmate_protocol::answers::Changed;
use shipmate_protocol::{Answer, Ask, ClientFailure, Code, verbs};

use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;

/// Start nobody there any more; whoever runs there goes on
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate host drain box
  shipmate host drain box --undo")]
pub(crate) struct DrainArgs {
    name: String,

    /// Start teammates there again
    #[arg(long)]
    undo: bool,
}

/// Take a machine out of the team; its tasks are free again
///
/// Where somebody runs there it is refused: drain it first, or say --now; what they have not handed in stays
/// in their trees there, below `.shipmate/state`. On a server of shipmate's own the machine's key ends with it;
/// on another server its operator has to take it away.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate host remove box
  shipmate host remove box --now")]
pub(crate) struct RemoveArgs {
    name: String,

    /// Also while somebody runs there
    #[arg(long)]
    now: bool,
}

/// Merge, gate and run phases on another machine from now on
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate host home box")]
pub(crate) struct HomeArgs {
    name: String,
}

pub(crate) fn drain(args: DrainArgs, mut session: Session) -> Result<(), Failure> {
    let said = match args.undo {
        true => format!("teammates are started on {} again", args.name),
        false => format!("nobody is started on {} any more; who runs there goes on", args.name),
    };
    let verb = verbs::HostDrain { host: args.name, draining: !args.undo };
    change_in_all(&mut session, verb, &said)
}

pub(crate) fn remove(args: RemoveArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("{} is no host of this team any more", args.name);
    // In every team here: its access to the server ends for all of them.
    let is_of_all = session.client.team.is_none();
    let mut named = super::teams_of(&mut session)?;
    let name = super::name_of(&args.name)?;
    let own = HostFile::read(&session.place).map_err(Failure::Storage)?;
    if own.is_some_and(|own| own.first && own.name == name) {
        return Err(Failure::Usage(format!(
            "{name} is this machine, which keeps the logs of its teams\n  `shipmate log move sqlite` takes \
             them back from the server, once the other machines are removed"
        )));
    }
    let tunnels = Tunnel::all(&session.place).map_err(Failure::Storage)?;
    let ours = OwnServer::of(&session.place).map_err(Failure::Storage)?;
    // One that never joined has a line, or an invitation, and is on no record.
    let has_key = ours.as_ref().is_some_and(|ours| ours.hosts().contains(&name));
    let has_line = has_key || tunnels.iter().any(|one| one.host == name);
    let mut removed = match is_of_all && has_line {
        true => Ok(Changed::Unchanged),
        false => Err(Failure::Usage(format!("there is no host {}", args.name))),
    };
    if !args.now {
        first_where_somebody_runs(&mut session, &args.name, &mut named);
    }
    for team in named {
        session.client.team = Some(team);
        let answer = session.ask(verbs::HostRemove { host: args.name.clone(), now: args.now });
        match answer {
            Err(Failure::Client(ClientFailure::Refused(refused)))
                if refused.code == Code::UnknownHost && removed.is_ok() => {}
            answer => removed = Ok(answer?),
        }
    }
    let answer: shipmate_protocol::Answer = removed?.into();
    session.tell(&answer, &said)?;
    if !is_of_all {
        return Ok(());
    }
    let mut left = None;
    if let Some(tunnel) = Tunnel::forget(&session.place, &name).map_err(Failure::Storage)? {
        // One that is away finds out when it is back.
        left = tunnel.there(&["host", "leave", "--name", name.as_str()]).output().ok();
    }
    if !session.screen.json {
        say_copies(&session, &args.name, left.filter(|output| output.status.success()))?;
    }
    let Some(mut ours) = ours else {
        let note = "a server of shipmate's own lets it in no more; on another its operator ends its access";
        return if session.screen.json { Ok(()) } else { session.screen.line(note) };
    };
    ours.shut_out(&args.name).map_err(|e| Failure::Storage(e.to_string()))
}

/// The team that refuses is asked before any is changed.
fn first_where_somebody_runs(session: &mut Session, host: &str, teams: &mut [String]) {
    teams.sort_by_cached_key(|team| {
        session.client.team = Some(team.clone());
        let hosts = session.ask(verbs::Hosts).unwrap_or_default();
        hosts.iter().all(|view| view.name != host || view.teammates.is_empty())
    });
}

/// What became of the files there that came from here, as that machine says.
fn say_copies(session: &Session, name: &str, left: Option<Output>) -> Result<(), Failure> {
    if let Some(left) = left {
        let said = String::from_utf8_lossy(&left.stdout).into_owned();
        let is_of_copies = |line: &&str| line.starts_with("removed ") || line.starts_with("kept ");
        for line in said.lines().filter(is_of_copies) {
            session.screen.line(&format!("{name}: {}", plain(line)))?;
        }
        return Ok(());
    }
    if !session.config()?.config.hosts.copy_to.iter().any(|host| host == name) {
        return Ok(());
    }
    let note = "files that [trees] copies stay there until `shipmate host leave` is typed there";
    session.screen.line(note)
}

pub(crate) fn home(args: HomeArgs, mut session: Session) -> Result<(), Failure> {
    let said = format!("work is merged on {} from now on", args.name);
    change_in_all(&mut session, verbs::HostHome { host: args.name }, &said)
}

/// Says it in every team here, or in the one that was named. One that does not know the machine is passed over
/// where another does.
fn change_in_all(session: &mut Session, ask: impl Into<Ask>, said: &str) -> Result<(), Failure> {
    let (ask, teams) = (ask.into(), super::teams_of(session)?);
    if teams.is_empty() {
        return session.change(ask, said);
    }
    let (mut changed, mut unknown) = (None, None);
    for team in teams {
        session.client.team = Some(team);
        match session.ask(ask.clone()) {
            Err(failure) if failure.refused().is_some_and(|it| it.code == Code::UnknownHost) => {
                unknown = Some(failure);
            }
            Ok(Answer::Unchanged) if changed.is_some() => {}
            answer => changed = Some(answer?),
        }
    }
    match (changed, unknown) {
        (None, Some(unknown)) => Err(unknown),
        (changed, _) => session.tell(&changed.unwrap_or(Answer::Unchanged), said),
    }
}

/// Take this machine out: the coordinator here is a host no more
///
/// For a machine that joined. The teams go on without it, and their leads are told; what was not handed in
/// stays in its trees. Files that came from the home (`hosts.copy-to`) are removed from the checkout and the
/// trees here; one that somebody has changed since stays, and is named. The first machine, whose teams they
/// are, takes its logs back with `shipmate log move sqlite`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate host leave")]
pub(crate) struct LeaveArgs {
    /// Only where this machine has that name in its teams
    #[arg(long, hide = true)]
    name: Option<String>,
}

pub(crate) fn leave(args: &LeaveArgs, mut session: Session) -> Result<(), Failure> {
    let Some(file) = HostFile::read(&session.place).map_err(Failure::Storage)? else {
        return session.screen.line("this machine is no host");
    };
    // A line that leads here may be to a machine that joined under another name.
    if args.name.as_ref().is_some_and(|name| *name != file.name.as_str()) {
        return session.screen.line(&format!("this machine is host {}, and stays it", file.name));
    }
    if file.first {
        return Err(Failure::Usage(
            "this machine has the teams\n  `shipmate log move sqlite` takes their logs back"
                .to_owned(),
        ));
    }
    say_so(&mut session, &file)?;
    host::part(&session.place).map_err(|e| Failure::Storage(e.to_string()))?;
    super::join::restart(&session)?;
    let copies =
        copied::remove_copies(&session.place).map_err(|e| Failure::Storage(e.to_string()))?;
    if session.screen.json {
        let (removed, kept) = (&copies.removed, &copies.kept);
        let left = serde_json::json!({ "left": file.name, "removed": removed, "kept": kept });
        return session.screen.json(&left);
    }
    session.screen.line(&format!("this machine is host {} no more", file.name))?;
    for path in &copies.removed {
        session.screen.line(&format!("removed {path}, which came from the home"))?;
    }
    for path in &copies.kept {
        let path = path.display();
        session
            .screen
            .line(&format!("kept {path}: it came from the home and was changed since"))?;
    }
    Ok(())
}

/// Takes this machine off the record of every team. Teams that cannot be told find it silent.
fn say_so(session: &mut Session, file: &HostFile) -> Result<(), Failure> {
    let Ok(teams) = session.ask(verbs::Teams) else { return Ok(()) };
    for team in teams.into_iter().filter(|team| team.parent.is_none()) {
        session.client.team = Some(team.name);
        let host = file.name.to_string();
        match session.ask(verbs::HostRemove { host, now: true }) {
            Err(failure) if failure.refused().is_some_and(|it| it.code == Code::HostIsHome) => {
                return Err(failure);
            }
            // Not on record, or the server does not let it in any more.
            _ => {}
        }
    }
    session.client.team = None;
    Ok(())
}
