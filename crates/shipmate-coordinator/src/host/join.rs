//! How a machine becomes a host: by a file from one that is one already, or as the first.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shipmate_log::{Line, Packs};
use shipmate_model::Name;
use shipmate_protocol::{Code, Place, Refused, refused};

use super::fresh_id;
use super::server::OwnServer;
use crate::host_file::write;
use crate::open;
use crate::secret::{read_key, write_key};
use crate::settings::{HostFile, Nats};

/// What a machine needs to join: the way to the server, and the key of the teams. Whoever has it
/// can do all that its maker can.
#[derive(Clone, Serialize, Deserialize)]
pub struct Invitation {
    pub server: Nats,
    lease_seconds: u64,
    key: String,
    /// Of the program that made it.
    #[serde(default)]
    release: String,
    /// Tells it from every other one.
    #[serde(default)]
    id: String,
}

impl std::fmt::Debug for Invitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invitation").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What a host is to be called, and what it takes.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub name: Name,
    pub slots: u32,
    pub labels: BTreeSet<Name>,
}

fn storage(path: &Path, e: &io::Error) -> Refused {
    let text = format!("{}: {e}", path.display());
    refused(Code::StateUnreadable, text, "check its permissions and the room on the disk")
}

impl Invitation {
    /// For another machine, by this name. On a server of ours it gets a user of its own.
    ///
    /// # Errors
    /// This machine is no host, or a file cannot be written.
    pub fn make(place: &Place, name: &Name) -> Result<Invitation, Refused> {
        let own = HostFile::read(place).map_err(|text| refused(Code::StateUnreadable, text, ""))?;
        let Some(own) = own else {
            let remedy = "`shipmate host add USER@MACHINE`, or `shipmate log move nats` first";
            return Err(refused(Code::NoHost, "this machine is no host yet".to_owned(), remedy));
        };
        let unreadable = |text: String| refused(Code::StateUnreadable, text, "");
        let mut server = own.server.clone();
        if let Some(mut ours) = OwnServer::of(place).map_err(unreadable)? {
            let login = ours.let_in(name.as_str());
            server.login = Some(login.map_err(|e| storage(&place.state(), &e))?);
        }
        let key = read_key(place).map_err(|e| storage(&place.state(), &e))?;
        let release = env!("CARGO_PKG_VERSION").to_owned();
        let id = fresh_id().map_err(|e| storage(&place.state(), &io::Error::other(e)))?;
        Ok(Invitation { server, lease_seconds: own.lease_seconds, key, release, id })
    }

    /// # Errors
    /// It is no invitation.
    pub fn parse(text: &str) -> Result<Invitation, Refused> {
        serde_json::from_str(text).map_err(|e| {
            let text = format!("this is no invitation: {e}");
            refused(Code::BadRequest, text, "`shipmate host invite NAME` makes one, on a host")
        })
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Makes a machine a host by an invitation. What was half done is done again.
///
/// # Errors
/// It has teams of its own, or is another's host; nothing is changed then.
pub fn join(place: &Place, invitation: &Invitation, wanted: Wanted) -> Result<HostFile, Refused> {
    let own = env!("CARGO_PKG_VERSION");
    if invitation.release != own {
        let text =
            format!("this is shipmate {own}, and the team's machines have {}", invitation.release);
        return Err(refused(Code::OtherRelease, text, "put the same release on both machines"));
    }
    if let Some(team) = own_team(place) {
        let text = format!("this workspace has teams of its own, {team} for one");
        let remedy = "join from another folder, or delete them first: `shipmate team delete`";
        return Err(refused(Code::TeamExists, text, remedy));
    }
    let before = HostFile::read(place).ok().flatten();
    if before.as_ref().is_some_and(|before| before.first) {
        let text = "this machine has teams of its own, on its own server".to_owned();
        let remedy = "join from another folder, or `shipmate log move sqlite` here first";
        return Err(refused(Code::TeamExists, text, remedy));
    }
    if let Some(other) = before.as_ref().filter(|before| before.name != wanted.name) {
        let text = format!("this folder is host {} already", other.name);
        let remedy = "join from another folder, or `shipmate host leave` here first";
        return Err(refused(Code::HostExists, text, remedy));
    }
    if let Some(other) = &before
        && read_key(place).is_ok_and(|key| key != invitation.key)
    {
        let text = format!("this folder is host {} of another team", other.name);
        let remedy = "join from another folder, or `shipmate host leave` here first";
        return Err(refused(Code::HostExists, text, remedy));
    }
    let id = match before {
        Some(before) => before.id,
        None => fresh_id().map_err(|e| storage(&place.state(), &io::Error::other(e)))?,
    };
    prepare(place)?;
    write_key(place, &invitation.key).map_err(|e| storage(&place.state(), &e))?;
    let file = HostFile {
        name: wanted.name,
        id,
        slots: wanted.slots,
        labels: wanted.labels,
        first: false,
        invitation: invitation.id.clone(),
        lease_seconds: invitation.lease_seconds,
        server: invitation.server.clone(),
    };
    file.write(place).map_err(|e| storage(&place.host_file(), &e))?;
    Ok(file)
}

/// Makes the machine whose teams they are the first host, on a server of its own or another's.
///
/// # Errors
/// A file cannot be written.
pub fn begin(
    place: &Place,
    server: Nats,
    wanted: Wanted,
    lease_seconds: u64,
) -> Result<HostFile, Refused> {
    prepare(place)?;
    let before = HostFile::read(place).map_err(|text| refused(Code::StateUnreadable, text, ""))?;
    let id = match &before {
        Some(before) => before.id.clone(),
        None => fresh_id().map_err(|e| storage(&place.state(), &io::Error::other(e)))?,
    };
    let first = before.as_ref().is_none_or(|before| before.first);
    let Wanted { name, slots, labels } = wanted;
    let invitation = before.map(|before| before.invitation).unwrap_or_default();
    let file = HostFile { name, id, slots, labels, first, invitation, lease_seconds, server };
    file.write(place).map_err(|e| storage(&place.host_file(), &e))?;
    Ok(file)
}

fn prepare(place: &Place) -> Result<(), Refused> {
    let state = place.state();
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&state);
    made.map_err(|e| storage(&state, &e))?;
    write(&state.join(".gitignore"), "*\n").map_err(|e| storage(&state, &e))
}

/// Whether all logs of this workspace are where they were before it became a host.
pub fn has_not_moved(place: &Place) -> bool {
    team_with(place, "log.db").is_some() && team_with(place, "log.moved.db").is_none()
}

/// A team whose log is in this workspace.
fn own_team(place: &Place) -> Option<String> {
    team_with(place, "log.db")
}

fn team_with(place: &Place, file: &str) -> Option<String> {
    let teams = fs::read_dir(place.teams()).ok()?.filter_map(Result::ok);
    let mut own = teams.filter(|team| team.path().join(file).exists());
    own.next().map(|team| team.file_name().to_string_lossy().into_owned())
}

/// Sees whether the server lets us in and can hold logs and packs.
///
/// # Errors
/// Why not, with a remedy.
pub fn check(server: &Nats) -> Result<(), Refused> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| refused(Code::NoRuntime, e.to_string(), ""))?;
    let options = open::options(server, "");
    runtime.block_on(async {
        stream_end(server).await?;
        Packs::open(&options).await.map_err(|e| open::open_refusal(&e))?;
        Line::open(&options).await.map_err(|e| open::open_refusal(&e))?;
        Ok(())
    })
}

/// The number of the last message in the stream of the logs, which is made where it is missing.
pub(super) async fn stream_end(server: &Nats) -> Result<u64, Refused> {
    let options = open::options(server, &format!("{}.check", server.subject_prefix));
    let log = shipmate_log::JetStreamLog::open(options).await;
    log.map(|log| log.stream_end()).map_err(|e| open::open_refusal(&e))
}

/// Has the next coordinator take the logs back into this workspace, which is no host then.
///
/// # Errors
/// The system's.
pub fn leave(place: &Place) -> io::Result<()> {
    fs::rename(place.host_file(), HostFile::going_back(place))
}

/// This machine is a host no more; its teams' folders stay until they are cleaned.
///
/// # Errors
/// The system's.
pub fn part(place: &Place) -> io::Result<()> {
    match fs::remove_file(place.host_file()) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
