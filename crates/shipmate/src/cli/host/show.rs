//! `shipmate host show`.

use shipmate_protocol::problem::nearest;
use shipmate_protocol::{Code, refused};

use super::list::sign;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Show one machine: what it takes, who runs there, what it has
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  shipmate host show box")]
pub(crate) struct ShowArgs {
    name: String,
}

pub(crate) fn run(args: &ShowArgs, mut session: Session) -> Result<(), Failure> {
    let hosts = super::hosts_of(&mut session)?;
    let Some(host) = hosts.iter().find(|host| host.name == args.name) else {
        let mut text = format!("there is no host {}", args.name);
        if let Some(near) = nearest(&args.name, hosts.iter().map(|host| host.name.as_str())) {
            text.push_str(&format!("; did you mean {near}?"));
        }
        let refused = refused(Code::UnknownHost, text, "`shipmate host list` names them");
        return Err(Failure::Client(shipmate_protocol::ClientFailure::Refused(refused)));
    };
    if session.screen.json {
        return session.screen.json(host);
    }
    let none = |list: &[String]| match list.is_empty() {
        true => "none".to_owned(),
        false => list.join(", "),
    };
    let mut text = format!(
        "{}, {}{}\n  {} of {} slots are taken\n  teammates: {}\n  labels: {}\n  programs: {}\n  release \
         {}\n  last sign: {}\n",
        host.name,
        host.state,
        if host.home { ", the home" } else { "" },
        host.taken,
        host.slots,
        none(&host.teammates),
        none(&host.labels),
        none(&host.programs),
        host.release,
        sign(host),
    );
    if !host.lacks.is_empty() {
        text.push_str(&format!("  it still gets the code: {}\n", host.lacks.join(", ")));
    }
    session.screen.print(&text)
}
