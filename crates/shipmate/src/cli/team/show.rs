//! `shipmate team show`.

use shipmate_model::account::percent;
use shipmate_protocol::verbs;
use shipmate_protocol::view::{BreakerState, TeamView};

use crate::cli::failure::Failure;
use crate::cli::screen::{plain, plain_lines};
use crate::cli::session::Session;
use crate::money::{cost_of_team, estimated, money};

/// Show one team
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate team show
  shipmate team show backend --json")]
pub(crate) struct ShowArgs {
    /// The team; may be left out where there is only one
    name: Option<String>,
}

pub(crate) fn run(args: &ShowArgs, mut session: Session) -> Result<(), Failure> {
    if args.name.is_some() {
        session.client.team.clone_from(&args.name);
    }
    let team = session.ask(verbs::TeamShow)?;
    if session.screen.json {
        return session.screen.json(&team);
    }
    session.screen.print(&text(&team))
}

fn text(team: &TeamView) -> String {
    let mut text = format!("team {}, {}\n", plain(&team.name), plain(team.state()));
    let mut fact = |name: &str, value: String| text.push_str(&format!("  {name:<12} {value}\n"));
    if !team.description.is_empty() {
        fact("description", plain_lines(&team.description).replace('\n', "\n               "));
    }
    if let Some(parent) = &team.parent {
        fact("parent", plain(parent).into_owned());
    }
    fact("lead", team.lead.as_deref().map_or("none".into(), |lead| plain(lead).into_owned()));
    fact("completes", if team.gate { "after its gate" } else { "by the holder's word" }.to_owned());
    if let Some(words) = team.pause_words() {
        let what = if team.awaits_approval() { "approval" } else { "paused" };
        fact(what, plain(&words).into_owned());
    }
    if let (Some(branch), Some(base)) = (&team.branch, &team.base) {
        fact("branch", plain(branch).into_owned());
        fact("base", plain(base).into_owned());
    }
    fact("teammates", format!("{}, {} running", team.teammates, team.running));
    let tasks = &team.tasks;
    fact(
        "tasks",
        format!(
            "{} pending, {} in progress, {} completed, {} failed, {} deleted",
            tasks.pending, tasks.in_progress, tasks.completed, tasks.failed, tasks.deleted
        ),
    );
    if team.breaker != BreakerState::Closed {
        fact("breaker", plain(team.breaker.word()).into_owned());
    }
    let limit = team.tokens_max.map_or(String::new(), |max| format!(" of {max}"));
    fact("tokens", format!("{}{limit}{}", team.tokens_used, estimated(team.tokens_estimated)));
    if let Some(max) = team.window_max.map(percent) {
        let used = percent(team.window_used.unwrap_or_default());
        fact("window", format!("{used} used of at most {max}"));
    }
    let limit = team.cost_micros_max.map_or(String::new(), |max| format!(" of {}", money(max)));
    fact("cost", format!("{}{limit}", cost_of_team(team)));
    text
}
