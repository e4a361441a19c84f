//! `shipmate log move`: the logs of this workspace to a NATS server, and back.

use std::path::PathBuf;

use crate::coordinator::{HostFile, Nats, host};
use shipmate_protocol::verbs;
use shipmate_protocol::view::HostState;

use crate::cli::coordinator;
use crate::cli::failure::Failure;
use crate::cli::host::{As, become_first, readable};
use crate::cli::session::Session;

/// Move the logs of this workspace to a NATS server, or back to files
///
/// Every record keeps its number. The old log is sealed when the new one holds all of it, and a move that
/// was cut short goes on at the next command. With `nats` and no --url, shipmate starts a server of its own
/// on this machine's loopback, which syncs every message; `shipmate host add` does that by itself.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate log move nats
  shipmate log move nats --url tls://nats.example.org --credentials team.creds --server-is-durable
  shipmate log move sqlite")]
pub(crate) struct MoveArgs {
    /// Where to: nats or sqlite
    #[arg(value_parser = ["nats", "sqlite"])]
    to: String,

    /// A server that runs already
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// A credentials file for it
    #[arg(long, value_name = "FILE", requires = "url")]
    #[arg(conflicts_with_all = ["nkey_file", "server_token_file"])]
    credentials: Option<PathBuf>,

    /// A file with the seed of an nkey that it knows
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with = "server_token_file")]
    nkey_file: Option<PathBuf>,

    /// A file with its token
    #[arg(long, value_name = "FILE", requires = "url")]
    server_token_file: Option<PathBuf>,

    /// Certificates to trust, for tls:// with a certificate of your own
    #[arg(long, value_name = "FILE", requires = "url")]
    ca: Option<PathBuf>,

    /// On how many of its servers the logs are kept
    #[arg(long, value_name = "N", requires = "url", default_value = "1")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(["1", "3", "5"]))]
    replicas: String,

    /// You have seen to it that the server keeps what it acknowledges when power fails
    #[arg(long, requires = "url")]
    server_is_durable: bool,

    #[command(flatten)]
    is: As,
}

pub(crate) fn run(args: &MoveArgs, mut session: Session) -> Result<(), Failure> {
    match args.to.as_str() {
        "nats" => {
            let server = named(args, &session)?;
            let before = HostFile::read(&session.place).map_err(Failure::Storage)?;
            let file = become_first(&mut session, &args.is, server)?;
            match (before, session.screen.json) {
                (_, true) => session.screen.json(&serde_json::json!({ "at": file.server.url })),
                (Some(_), false) => {
                    session.screen.line(&format!("the logs are at {} already", file.server.url))
                }
                (None, false) => Ok(()),
            }
        }
        _ => back(session),
    }
}

fn named(args: &MoveArgs, session: &Session) -> Result<Option<Nats>, Failure> {
    let Some(url) = &args.url else { return Ok(None) };
    if !args.server_is_durable {
        return Err(Failure::Usage(format!(
            "what {url} acknowledges is only as safe as its operator makes it: a NATS server syncs every \
             two minutes unless told otherwise\n  have it run with `jetstream {{ sync_interval: always }}` \
             or on several machines, then say --server-is-durable"
        )));
    }
    if Nats::has_password(url) {
        return Err(Failure::Usage(
            "the address has a password in it, which others on this machine can see\n  put it in a file: \
             --server-token-file, --nkey-file or --credentials"
                .to_owned(),
        ));
    }
    let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    args.ca.as_ref().map_or(Ok(()), readable)?;
    // Other workspaces may have theirs on the same server.
    let id = host::fresh_id().map_err(|e| Failure::Storage(e.to_string()))?;
    let prefix = format!("{}-{}", session.config()?.config.nats.subject_prefix, &id[..8]);
    Ok(Some(Nats {
        url: url.clone(),
        stream: prefix.clone(),
        // It is this workspace's alone, and nothing is there yet.
        sealed_after: Some(0),
        subject_prefix: prefix,
        credentials: args.credentials.as_ref().map(whole),
        nkey: args.nkey_file.as_ref().map(secret).transpose()?,
        token: args.server_token_file.as_ref().map(secret).transpose()?,
        ca: args.ca.as_ref().map(whole),
        replicas: args.replicas.parse().unwrap_or(1),
        ..Nats::default()
    }))
}

/// What a file holds that only its owner should read.
pub(crate) fn secret(path: &PathBuf) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))?;
    match text.trim() {
        "" => Err(Failure::Usage(format!("{} is empty", path.display()))),
        text => Ok(text.to_owned()),
    }
}

fn back(mut session: Session) -> Result<(), Failure> {
    if HostFile::read(&session.place).map_err(Failure::Storage)?.is_none() {
        return session.screen.line("the logs are in this workspace already");
    }
    let teams = match session.ask(verbs::Teams) {
        // They never got there: the files that are here are the logs.
        Err(_) if host::has_not_moved(&session.place) => {
            host::part(&session.place).map_err(|e| Failure::Storage(e.to_string()))?;
            return session.screen.line("the logs stay in this workspace: none of them had moved");
        }
        teams => teams?,
    };
    // Other machines would go on without the logs.
    for team in teams {
        session.client.team = Some(team.name.clone());
        let hosts = session.ask(verbs::Hosts)?;
        let mut others = hosts.iter().filter(|host| !host.here);
        let there = |host: &&&_| {
            let host: &shipmate_protocol::view::HostView = host;
            // Also one that is lost: it may come back in the middle of this and write.
            host.state != HostState::Left
        };
        if let Some(other) = others.find(|host| there(&host)) {
            return Err(Failure::Usage(format!(
                "host {} shares team {}\n  `shipmate host remove {}` first",
                other.name, team.name, other.name
            )));
        }
    }
    session.client.team = None;
    // In this order: whoever starts the next coordinator, it takes the logs back.
    host::leave(&session.place).map_err(|e| Failure::Storage(e.to_string()))?;
    if let Some(pid) = coordinator::found(&session.place) {
        coordinator::end(pid, std::time::Duration::from_secs(10))?;
    }
    session.again()?.ask(verbs::Teams)?;
    match session.screen.json {
        true => session.screen.json(&serde_json::json!({ "at": "sqlite" })),
        false => session.screen.line("the logs are in this workspace again"),
    }
}
