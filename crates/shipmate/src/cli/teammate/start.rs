//! `shipmate teammate start`, and the token file that a life leaves behind.
//!
//! The file is replaced by renaming a finished one over it: a reader sees the old token or the new
//! one, never half of one, and it is never readable by others, not even for a moment.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use shipmate_protocol::verbs::Supervision;
use shipmate_protocol::{answers, verbs};

use crate::cli::failure::{Failure, unexpected};
use crate::cli::session::Session;

/// Begin a new life of a teammate
///
/// Its epoch grows by one and it gets a new token; whatever still acts with the old one is refused
/// as stale. One that was added with --agent or --command is started by shipmate, which keeps its
/// token to itself; so is one that failed or was shut down, whatever its team's circuit breaker
/// says. Of anybody else the token file is replaced, for whoever acts as it by hand.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate teammate start ana
  TOKEN=$(shipmate teammate start ana --print-token) && SHIPMATE_TOKEN=$TOKEN my-agent")]
pub(crate) struct StartArgs {
    name: String,

    /// Start it by hand and print its token instead of keeping it in a file
    #[arg(long)]
    print_token: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Token,
    File,
}

impl Shown {
    pub(crate) fn of(print_token: bool) -> Shown {
        if print_token { Shown::Token } else { Shown::File }
    }
}

pub(crate) fn run(args: &StartArgs, mut session: Session) -> Result<(), Failure> {
    let ask = verbs::TeammateShow { name: args.name.clone() };
    let mate = session.ask(ask)?;
    let is_driven = !mate.command.is_empty() || !mate.agent.is_empty();
    if is_driven && !args.print_token {
        return supervised(&mut session, &args.name);
    }
    begin(&mut session, &args.name, Shown::of(args.print_token), "started")
}

/// Starts a life whose agent the runtime runs.
fn supervised(session: &mut Session, name: &str) -> Result<(), Failure> {
    session.say_if_unfenced()?;
    let supervision = Supervision::Supervised;
    let ask = verbs::TeammateStart { name: name.to_owned(), supervision };
    let answers::Started { who, .. } = session.ask(ask)?;
    match session.screen.json {
        true => session.screen.json(&serde_json::json!({ "who": who })),
        false => session
            .screen
            .line(&format!("started {who}; `shipmate attach {name}` shows what it prints")),
    }
}

/// Starts a life without a supervisor and hands its token over.
pub(crate) fn begin(
    session: &mut Session,
    name: &str,
    shown: Shown,
    verb: &str,
) -> Result<(), Failure> {
    let ask = verbs::TeammateStart { name: name.to_owned(), supervision: Supervision::None };
    let answers::Started { who, token } = session.ask(ask)?;
    if shown == Shown::Token {
        return match session.screen.json {
            true => session.screen.json(&serde_json::json!({ "who": who, "token": token })),
            false => session.screen.line(&token),
        };
    }
    let (team, rest) = who.split_once('/').ok_or_else(|| unexpected("team/name@epoch"))?;
    let (name, _) = rest.split_once('@').ok_or_else(|| unexpected("team/name@epoch"))?;
    let path = session.place.teammate_token(team, name);
    keep(&path, &token).map_err(|e| {
        Failure::Storage(format!(
            "{who} was started, and its token file {} could not be written: {e}\n  make room or \
             mend the permissions, then `shipmate teammate start {name}`",
            path.display()
        ))
    })?;
    if session.screen.json {
        let shape = serde_json::json!({ "who": who, "token_file": path.display().to_string() });
        return session.screen.json(&shape);
    }
    let acting = acting(&path, team, name);
    let here = session.here();
    session
        .screen
        .print(&format!("{verb} {who}\n  act as it: shipmate{here} --as {acting} task next\n"))
}

/// The shortest `--as` that names it: the team only where another team has that name too.
fn acting(path: &Path, team: &str, name: &str) -> String {
    let entries = path.parent().map(fs::read_dir);
    let others = entries.into_iter().flatten().flatten().flatten().map(|entry| entry.path());
    let same = others.filter(|other| other.extension() == path.extension()).count();
    if same > 1 { format!("{team}/{name}") } else { name.to_owned() }
}

fn keep(path: &Path, token: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!("~{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(token.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)
}
