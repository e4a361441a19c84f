//! `shipmate host invite`.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::coordinator::host::Invitation;
use shipmate_protocol::ClientFailure;

use super::name_of;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Write a file with which another machine can join
///
/// Whoever has the file can do in this team whatever you can: it is written readable by you only, and is
/// good until `shipmate host remove`. `shipmate host add` needs none: it does all of it by ssh.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate host invite box --file box.join
  shipmate host join nats://server:4222 --token-file box.join --name box    there")]
pub(crate) struct InviteArgs {
    /// What the machine will be called
    name: String,

    /// Where to write it; it must not exist
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(args: &InviteArgs, session: Session) -> Result<(), Failure> {
    let name = name_of(&args.name)?;
    let refused = |refused| Failure::Client(ClientFailure::Refused(refused));
    let storage = |e: std::io::Error| Failure::Storage(format!("{}: {e}", args.file.display()));
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create_new(true).mode(0o600).open(&args.file).map_err(storage)?;
    // The file first: nobody is let in whom nobody can be told.
    let invitation = Invitation::make(&session.place, &name).map_err(|why| {
        drop(std::fs::remove_file(&args.file));
        refused(why)
    })?;
    file.write_all(invitation.text().as_bytes()).map_err(storage)?;
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "file": args.file }));
    }
    session.screen.line(&format!(
        "wrote {}: with it {} can join, and act as you do; give it to nobody else",
        args.file.display(),
        args.name
    ))
}
