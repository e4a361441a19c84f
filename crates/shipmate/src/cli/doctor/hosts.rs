//! The machines of the teams: the server that has the logs, each host as it stands, and what a doctor
//! finds on those that are reached by ssh.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde::Deserialize;
use shipmate_protocol::view::{HostState, HostView};
use shipmate_protocol::{Code, verbs};

use super::state::unanswered;
use super::{Finding, Verdict};
use crate::cli::host::sign;
use crate::cli::session::Session;
use crate::coordinator::HostFile;
use crate::coordinator::host::{OwnServer, Tunnel, describe_unreached};

const WHAT: &str = "hosts";

/// Nothing where this machine is no host.
pub(super) fn look(session: &mut Session, roots: &[String]) -> Vec<Finding> {
    let file = match HostFile::read(&session.place) {
        Ok(Some(file)) => file,
        Ok(None) => return Vec::new(),
        Err(text) => return vec![Finding::failed(WHAT, &text)],
    };
    let (mut found, mut is_reached) = (Vec::new(), true);
    let mut seen = BTreeSet::new();
    for root in roots {
        session.client.team = Some(root.clone());
        // Plain commands need no program of ours.
        let mates = session.ask(verbs::Teammates).unwrap_or_default();
        let needs_programs = mates.is_empty() || mates.iter().any(|mate| mate.command.is_empty());
        match session.ask(verbs::Hosts) {
            Ok(hosts) => {
                let new = hosts.iter().filter(|host| seen.insert(host.name.clone()));
                found.extend(new.map(|host| standing(host, needs_programs)));
            }
            Err(failure) => {
                let finding = unanswered(WHAT, &failure);
                let refused = failure.refused();
                let is_server = refused.is_some_and(|it| it.code == Code::LogUnavailable);
                // Said of each team it would be said of the same server.
                if is_reached || !is_server {
                    found.push(finding);
                }
                is_reached &= !is_server;
            }
        }
    }
    if is_reached {
        found.insert(0, server(session, &file));
    }
    session.client.team = None;
    for tunnel in Tunnel::all(&session.place).unwrap_or_default() {
        found.extend(there(session, &tunnel));
    }
    found
}

fn server(session: &Session, file: &HostFile) -> Finding {
    let url = &file.server.url;
    match OwnServer::of(&session.place) {
        Ok(Some(_)) => {
            Finding::ok(WHAT, format!("the logs are on a server of this workspace, {url}"))
        }
        Err(text) => Finding::failed(WHAT, &text),
        Ok(None) if !file.first => Finding::ok(WHAT, format!("the logs are at {url}")),
        Ok(None) => Finding::warning(
            WHAT,
            format!(
                "the logs are at {url}, and what that acknowledges is as safe as its operator makes it"
            ),
            "have it run with `jetstream { sync_interval: always }`, or on several machines",
        ),
    }
}

fn standing(host: &HostView, needs_programs: bool) -> Finding {
    let name = &host.name;
    let fact = match host.here {
        true => format!("{name} is this machine"),
        false => format!("{name} is there, last sign {}", sign(host)),
    };
    let remedy = format!("`shipmate host show {name}`");
    match host.state {
        HostState::Lost => Finding::problem(
            WHAT,
            format!("{name} gives no sign: {}", sign(host)),
            format!("start it, or take it out: `shipmate host remove {name} --now`"),
        ),
        HostState::Left => Finding::ok(WHAT, format!("{name} was taken out")),
        HostState::Draining => {
            let fact = format!("{fact}; nobody is started there");
            Finding::warning(WHAT, fact, format!("`shipmate host drain {name} --undo`"))
        }
        HostState::Joined if !host.lacks.is_empty() => {
            let fact = format!("{fact}; it does not have the code yet");
            Finding::warning(WHAT, fact, remedy)
        }
        HostState::Joined if host.programs.is_empty() && !needs_programs => {
            Finding::ok(WHAT, format!("{fact}; all teammates are commands"))
        }
        HostState::Joined if host.programs.is_empty() => {
            let fact = format!("{fact}; it has no agent program that works");
            Finding::warning(WHAT, fact, "install one there, and log in with it")
        }
        HostState::Joined => {
            Finding::ok(WHAT, format!("{fact}; programs: {}", host.programs.join(", ")))
        }
    }
}

/// What a doctor there says of itself.
#[derive(Deserialize)]
struct Told {
    verdict: String,
    what: String,
    fact: String,
    #[serde(default)]
    remedy: Option<String>,
}

fn there(session: &Session, tunnel: &Tunnel) -> Vec<Finding> {
    let host = &tunnel.host;
    let mut command = tunnel.there(&["doctor", "--json"]);
    let said = command.stdin(Stdio::null()).output();
    let told: Result<Vec<Told>, (String, String)> = match said {
        Err(e) => Err((format!("ssh: {e}"), "install the ssh client".to_owned())),
        Ok(said) => serde_json::from_slice(&said.stdout).map_err(|_| {
            let words = String::from_utf8_lossy(&said.stderr);
            describe_unreached(&tunnel.destination, &words)
        }),
    };
    let mut found = Vec::new();
    if let Some((trouble, remedy)) = tunnel.trouble(&session.place) {
        found.push(Finding::warning(WHAT, format!("{host}: {trouble}"), remedy));
    }
    match told {
        Ok(told) => {
            let bad = told.into_iter().filter(|told| told.verdict != "ok" && told.what != WHAT);
            found.extend(bad.map(|told| Finding {
                verdict: if told.verdict == "warning" {
                    Verdict::Warning
                } else {
                    Verdict::Problem
                },
                what: WHAT,
                fact: format!("on {host}, {}: {}", told.what, told.fact),
                remedy: told.remedy,
            }));
        }
        Err((why, remedy)) => {
            let fact = format!("{host} cannot be looked at by ssh: {why}");
            found.push(Finding::problem(WHAT, fact, remedy));
        }
    }
    found
}
