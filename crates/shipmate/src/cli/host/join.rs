//! `shipmate host join`.

use std::path::PathBuf;
use std::time::Duration;

use crate::coordinator::host::{self, Invitation};
use crate::coordinator::{HostFile, Nats};
use shipmate_protocol::{ClientFailure, Code, Refused, verbs};

use super::As;
use crate::cli::coordinator;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// How often, and how soon, a server is asked again that does not know a new key yet.
const KEY_LOOKS_MAX: u32 = 20;
const KEY_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Make this machine a host of a team that runs elsewhere
///
/// In a folder of its own: a checkout of the same repository, or an empty one, which gets the code. The
/// coordinator here then runs on, starts teammates that are placed here, and sends what they hand in to the
/// home. Agent programs and their logins must be here: keys never travel.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate host join nats://server:4222 --token-file box.join
  shipmate host join tls://nats.example.org --token-file box.join --slots 4 --label gpu")]
pub(crate) struct JoinArgs {
    /// The NATS server as this machine reaches it
    url: String,

    /// What `shipmate host invite` wrote on a host; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,

    /// A credentials file for the server, where it asks for one
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,

    /// Certificates to trust, for tls:// with a certificate of your own
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    #[command(flatten)]
    is: As,
}

pub(crate) fn run(args: JoinArgs, mut session: Session) -> Result<(), Failure> {
    let unreadable = |e| Failure::Usage(format!("{}: {e}", args.token_file.display()));
    let text = match args.token_file.as_os_str() == "-" {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(&args.token_file),
    };
    let text = text.map_err(unreadable)?;
    let refused = |refused| Failure::Client(ClientFailure::Refused(refused));
    let mut invitation = Invitation::parse(&text).map_err(refused)?;
    let mut wanted = args.is.wanted()?;
    let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    if Nats::has_password(&args.url) {
        return Err(Failure::Usage(
            "the address has a password in it, which others on this machine can see\n  leave it out: the \
             invitation has what lets this machine in, or name a file with --credentials"
                .to_owned(),
        ));
    }
    args.ca.as_ref().map_or(Ok(()), super::readable)?;
    invitation.server.url.clone_from(&args.url);
    invitation.server.credentials = args.credentials.as_ref().map(whole);
    invitation.server.ca = args.ca.as_ref().map(whole);
    // On a server of shipmate's own an invitation is one machine's, and so is its key.
    if let Some((user, _)) = &invitation.server.login {
        if args.is.name.as_ref().is_some_and(|name| name != user) {
            return Err(Failure::Usage(format!(
                "this invitation is for host {user}\n  leave --name out, or have one made for the other \
                 name: `shipmate host invite NAME`"
            )));
        }
        wanted.name = super::name_of(user)?;
    }
    // Said again it keeps what was said before.
    if let Ok(Some(before)) = HostFile::read(&session.place) {
        wanted.slots = args.is.slots.unwrap_or(before.slots);
        if args.is.labels.is_empty() {
            wanted.labels = before.labels;
        }
    }
    check(&invitation).map_err(|why| refused(unreached(why, &args.url)))?;
    ensure_repository(&session)?;
    let file = host::join(&session.place, &invitation, wanted).map_err(refused)?;
    restart(&session)?;
    session.ask(verbs::Teams)?;
    told(&session, &file)
}

/// Whether the server lets this machine in. One of shipmate's own may be about to read the new key.
fn check(invitation: &Invitation) -> Result<(), Refused> {
    for _ in 0..KEY_LOOKS_MAX {
        match host::check(&invitation.server) {
            Err(refused)
                if refused.code == Code::LogUnsuitable && invitation.server.login.is_some() =>
            {
                std::thread::park_timeout(KEY_AGAIN_AFTER);
            }
            checked => return checked,
        }
    }
    host::check(&invitation.server)
}

/// Nothing answers there: more likely than a server that comes back is another address.
fn unreached(mut why: Refused, url: &str) -> Refused {
    if why.code == Code::LogUnavailable {
        let remedy =
            format!("check that its server is reached from here at {url}: the port, and the line");
        why.remedy = Some(remedy);
    }
    why
}

/// An empty folder becomes a repository, which gets the code of the team.
fn ensure_repository(session: &Session) -> Result<(), Failure> {
    let workspace = &session.place.workspace;
    if workspace.join(".git").exists() {
        return Ok(());
    }
    let entries = std::fs::read_dir(workspace).into_iter().flatten().filter_map(Result::ok);
    let mut others = entries.filter(|entry| entry.file_name() != ".shipmate");
    if others.next().is_some() {
        return Err(Failure::Usage(format!(
            "{} is no repository and not empty\n  join from a checkout of the repository, or from an \
             empty folder",
            workspace.display()
        )));
    }
    let made = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .arg(workspace)
        .output()
        .map_err(|e| Failure::Usage(format!("git: {e}\n  install git on this machine")))?;
    match made.status.success() {
        true => Ok(()),
        false => Err(Failure::Storage(String::from_utf8_lossy(&made.stderr).into_owned())),
    }
}

/// The next coordinator is a host.
pub(super) fn restart(session: &Session) -> Result<(), Failure> {
    match coordinator::found(&session.place) {
        Some(pid) => coordinator::end(pid, std::time::Duration::from_secs(10)),
        None => Ok(()),
    }
}

fn told(session: &Session, file: &HostFile) -> Result<(), Failure> {
    if session.screen.json {
        let told = serde_json::json!({ "host": file.name, "slots": file.slots });
        return session.screen.json(&told);
    }
    session.screen.line(&format!(
        "this machine is host {} with {} slots; `shipmate host list` says when it has the code",
        file.name, file.slots
    ))
}
