//! The first run in a repository: what it seems to need is proposed, and taken with one key.

use std::io::IsTerminal;

use shipmate_model::setup::Preparation;
use shipmate_protocol::verbs::Setup;

use crate::cli::failure::Failure;
use crate::cli::init;
use crate::cli::session::Session;

/// Asks whether trees are to be set up, and work to be tried, as the repository's files suggest. Only where
/// nobody has written a configuration yet; what a run itself says stands.
pub(super) fn offer(setup: &mut Setup, session: &Session) -> Result<(), Failure> {
    let config = session.place.config();
    if setup.trees.is_none() || session.screen.json || config.exists() {
        return Ok(());
    }
    // What cannot be looked at is refused with its reason where the team is made.
    let Ok(mut plan) = init::plan(&session.place.workspace, &session.config()?) else {
        return Ok(());
    };
    if !setup.gate.is_empty() || setup.playbook.is_some() {
        plan.keep_trees();
    }
    if !setup.preparation.is_none() {
        plan.keep_gate();
    }
    if plan.text.is_empty() {
        return Ok(());
    }
    let proposal = &plan.proposal;
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let lines = [&proposal.copy, &proposal.setup, &proposal.gate].into_iter().flatten();
        let lines: Vec<&str> = lines.map(String::as_str).collect();
        let what = "this repository seems to need";
        let text = format!("note: {what} {}: `shipmate init` writes it down", lines.join(", "));
        return session.screen.line(&text);
    }
    session.screen.print(&init::shown(&plan))?;
    let question = "Work like this, and write it into .shipmate/config.toml? [Y/n] ";
    if !init::agreed(&session.screen, question)? {
        return Ok(());
    }
    init::carry_out(&config, &plan.text)?;
    let (copy, commands) = (proposal.copy.clone(), proposal.setup.clone());
    if !copy.is_empty() || !commands.is_empty() {
        let lock_files = proposal.lock_files.clone();
        setup.preparation =
            Preparation { copy, setup: commands, lock_files, ..Preparation::default() };
    }
    if !proposal.gate.is_empty() {
        setup.gate = proposal.gate.clone();
    }
    Ok(())
}
