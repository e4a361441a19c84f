//! `shipmate teammate show`.

use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{Context, Supervision};
use shipmate_protocol::view::TeammateView;

use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;
use crate::money::{budget_of, cost_of, estimated};
use crate::time::about;

/// Show one teammate
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate teammate show ana
  shipmate teammate show backend/ana --json")]
pub(crate) struct ShowArgs {
    name: String,
}

pub(crate) fn run(args: &ShowArgs, mut session: Session) -> Result<(), Failure> {
    let ask = verbs::TeammateShow { name: args.name.clone() };
    let mate = session.ask(ask)?;
    if session.screen.json {
        return session.screen.json(&mate);
    }
    session.screen.print(&text(&mate))
}

/// How full the agent's context is, where its program tells.
fn fill(mate: &TeammateView) -> String {
    let Some(used) = mate.context_used else { return String::new() };
    let context = Context { used, max: mate.context_max };
    match (context.percent(), context.max) {
        (Some(percent), Some(max)) => format!("{percent} % full ({used} of {max} tokens)"),
        _ => format!("{used} tokens"),
    }
}

fn text(mate: &TeammateView) -> String {
    let mut text = format!("{}/{}@{}\n", plain(&mate.team), plain(&mate.name), mate.epoch);
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<10} {}\n", plain(value)));
        }
    };
    let ids = |ids: &[u32]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let why = if mate.why.is_empty() { String::new() } else { format!(": {}", mate.why) };
    fact("state", &format!("{}{why}", mate.state));
    fact("seat", if mate.lead { "lead" } else { "member" });
    fact("role", mate.role.as_deref().unwrap_or_default());
    fact("mode", mate.mode.word());
    fact("agent", &mate.agent);
    match mate.instead_of.as_str() {
        "" => fact("fallback", &mate.fallback),
        first => fact("", &format!("in place of {first}, whose account has no room")),
    }
    fact("account", mate.account.as_deref().unwrap_or_default());
    fact("command", &mate.command);
    fact("from", &mate.from);
    mate.unheld.iter().for_each(|text| fact("", text));
    fact("model", &mate.model_shown());
    fact("scope", &mate.scope.join(", "));
    fact("holds", &ids(&mate.holds));
    fact("submitted", &ids(&mate.submitted));
    fact("returned", &ids(&mate.returned));
    fact("may hold", &format!("{} at once", mate.tasks_max));
    fact("unread", &mate.unread.to_string());
    fact("context", &fill(mate));
    fact("tokens", &format!("{}{}", mate.tokens_used, estimated(mate.tokens_estimated)));
    fact("cost", &if mate.tokens_used > 0 { cost_of(mate) } else { String::new() });
    fact("budget", &budget_of(mate).unwrap_or_default());
    fact(
        "watched",
        match mate.supervision {
            Supervision::Supervised => "by a supervisor, for as long as there is work",
            Supervision::OneShot => "by a supervisor, for one task",
            _ => "",
        },
    );
    fact("pid", &mate.pid.map(|pid| pid.to_string()).unwrap_or_default());
    fact("session", &mate.session);
    fact("fence", &mate.fence);
    fact("last words", &mate.last_words);
    fact("silent for", &mate.silent_ms.map(about).unwrap_or_default());
    fact("host", mate.host.as_deref().unwrap_or_default());
    fact("runs only", &mate.place.to_string());
    text
}
