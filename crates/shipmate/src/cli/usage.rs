//! `shipmate usage`: what each account, team and teammate has used, and what is left of the windows.

use serde::Serialize;
use shipmate_protocol::verbs;
use shipmate_protocol::view::{AccountView, Status, TeammateView};

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, plain};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, owned};
use crate::money::cost_of;

/// Show what was used: accounts with their windows, teammates with tokens and cost
///
/// An account is a subscription's login or a key. Its windows are shown as its provider told them last;
/// one that tells nothing is parked only when it refuses. See `shipmate account --help`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate usage
  shipmate usage --json")]
pub(crate) struct UsageArgs {}

/// As JSON.
#[derive(Serialize)]
pub(crate) struct Usage {
    accounts: Vec<AccountView>,
    teammates: Vec<TeammateView>,
}

pub(crate) fn run(_args: &UsageArgs, mut session: Session) -> Result<(), Failure> {
    let status = session.ask(verbs::Status)?;
    if session.screen.json {
        let Status { accounts, teammates, .. } = status;
        return session.screen.json(&Usage { accounts, teammates });
    }
    if status.accounts.is_empty() && status.teammates.iter().all(|mate| mate.tokens_used == 0) {
        return session.screen.line("nothing was asked of a model here yet");
    }
    let text = accounts(&status.accounts, &session) + &mates(&status, &session);
    session.screen.print(&text)
}

fn accounts(accounts: &[AccountView], session: &Session) -> String {
    if accounts.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        Column::Left("ACCOUNT"),
        Column::Left("STATE"),
        Column::Right("TEAMMATES"),
        Column::Right("TOKENS"),
        Column::Elastic("WINDOWS"),
    ]);
    for account in accounts {
        let state = match (&account.parked, &account.held) {
            (Some(_), _) => owned("parked".to_owned(), Paint::Bad),
            (None, Some(_)) => owned("at its cap".to_owned(), Paint::Busy),
            (None, None) => owned("open".to_owned(), Paint::Plain),
        };
        table.row([
            owned(account.name.clone(), Paint::Plain),
            state,
            owned(account.teammates.len().to_string(), Paint::Plain),
            owned(account.tokens_used.to_string(), Paint::Plain),
            owned(account.windows_shown(), Paint::Plain),
        ]);
    }
    let mut text = table.render(&session.screen);
    for account in accounts {
        if let Some(parked) = &account.parked {
            text.push_str(&plain(&format!("{} is parked {}", account.name, parked.shown())));
            text.push('\n');
        }
        if let Some(held) = &account.held {
            let line = format!("{}: no new task is taken: {held}", account.name);
            text.push_str(&plain(&line));
            text.push('\n');
        }
    }
    text.push('\n');
    text
}

fn mates(status: &Status, session: &Session) -> String {
    let mut table = Table::new(&[
        Column::Left("TEAMMATE"),
        Column::Left("AGENT"),
        Column::Elastic("MODEL"),
        Column::Right("TOKENS"),
        Column::Right("COST"),
        Column::Left("ACCOUNT"),
    ]);
    for mate in &status.teammates {
        table.row([
            owned(plain(&mate.name).into_owned(), Paint::Plain),
            owned(agent(mate), Paint::Plain),
            owned(model(mate), if mate.other_model { Paint::Bad } else { Paint::Plain }),
            owned(counted(mate), Paint::Plain),
            owned(cost_of(mate), Paint::Plain),
            owned(mate.account.clone().unwrap_or_default(), Paint::Plain),
        ]);
    }
    table.render(&session.screen)
}

fn agent(mate: &TeammateView) -> String {
    match mate.instead_of.as_str() {
        "" => plain(&mate.agent).into_owned(),
        first => format!("{} for {}", plain(&mate.agent), plain(first)),
    }
}

fn model(mate: &TeammateView) -> String {
    match mate.model_shown() {
        none if none.is_empty() => "its own".to_owned(),
        shown => plain(&shown).into_owned(),
    }
}

fn counted(mate: &TeammateView) -> String {
    match mate.tokens_estimated {
        0 => mate.tokens_used.to_string(),
        estimated => format!("{} ({estimated} estimated)", mate.tokens_used),
    }
}
