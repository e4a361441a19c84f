//! The first host: the machine that the teams are on, with its server and its logs moved there.

use crate::coordinator::HostFile;
use crate::coordinator::Nats;
use crate::coordinator::host::{self, OwnServer};
use shipmate_protocol::{ClientFailure, verbs};

use super::{As, join};
use crate::cli::failure::Failure;
use crate::cli::session::Session;
use crate::config::LogKind;

/// Makes this machine a host, unless it is one: with the server that the configuration or `server` names,
/// or with one of its own.
pub(crate) fn become_first(
    session: &mut Session,
    is: &As,
    server: Option<Nats>,
) -> Result<HostFile, Failure> {
    let refused = |refused| Failure::Client(ClientFailure::Refused(refused));
    if let Some(file) = HostFile::read(&session.place).map_err(Failure::Storage)? {
        return Ok(file);
    }
    let config = session.config()?.config;
    let wanted = is.wanted()?;
    let prefix = config.nats.subject_prefix.clone();
    let server = match server {
        Some(server) => server,
        None if config.log == LogKind::Nats => crate::coordinator::nats(&config),
        None => {
            // Its folder must be there before the server is kept in it.
            session.ask(verbs::Teams)?;
            let mut own = OwnServer::make(&session.place).map_err(Failure::Usage)?;
            let login = own.let_in(wanted.name.as_str());
            let login = login.map_err(|e| Failure::Storage(e.to_string()))?;
            Nats {
                url: own.url(),
                stream: prefix.clone(),
                subject_prefix: prefix,
                login: Some(login),
                sealed_after: Some(0),
                replicas: 1,
                ..Nats::default()
            }
        }
    };
    if Nats::has_password(&server.url) {
        return Err(Failure::Usage(
            "the address of the server in the configuration (nats.url) has a password in it, which others \
             would see\n  leave it out there, and name a file that has it: nats.credentials"
                .to_owned(),
        ));
    }
    // One of shipmate's own is started by the coordinator.
    if server.login.is_none() {
        host::check(&server).map_err(|mut why| {
            let remedy = "nothing was changed; check its address, login, --ca, and its JetStream";
            why.remedy = Some(remedy.to_owned());
            refused(why)
        })?;
    }
    let file =
        host::begin(&session.place, server, wanted, config.hosts.lease_seconds).map_err(refused)?;
    join::restart(session)?;
    session.ask(verbs::Teams)?;
    if !session.screen.json {
        session.screen.line(&format!(
            "this machine is host {} with {} slots; its logs are at {}",
            file.name, file.slots, file.server.url
        ))?;
    }
    Ok(file)
}
