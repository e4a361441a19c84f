//! `shipmate playbook show`.

use shipmate_protocol::view::PlaybookView;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::Session;

/// Show what a playbook says: its phases, roles, tasks, routes and kinds
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate playbook show departments
  shipmate playbook show departments --toml > .shipmate/playbooks/mine.toml
  shipmate playbook show departments --schemas | jq .dev_progress")]
pub(crate) struct ShowArgs {
    /// One of `shipmate playbook list`, or a file
    #[arg(value_name = "NAME|FILE")]
    name: String,

    /// Print the file itself
    #[arg(long)]
    toml: bool,

    /// Print the kinds of handoffs as JSON Schema documents
    #[arg(long, conflicts_with = "toml")]
    schemas: bool,
}

pub(crate) fn run(args: ShowArgs, mut session: Session) -> Result<(), Failure> {
    let playbook = super::given(&args.name)?;
    let view = session.ask(playbook)?;
    if args.schemas {
        return session.screen.json(&view.schemas);
    }
    if args.toml {
        return session.screen.print(&view.toml);
    }
    if session.screen.json {
        return session.screen.json(&view);
    }
    session.screen.print(&page(&view, &session.screen))
}

fn page(view: &PlaybookView, screen: &Screen) -> String {
    let row = &view.row;
    let mut text = screen.paint(Paint::Bold, &plain(&row.name));
    text.push_str(&format!(": {} ({})\n", plain(&row.title), plain(&row.file)));
    for line in row.about.trim().lines() {
        text.push_str(&format!("{}\n", plain(line)));
    }
    if !row.selected_by.is_empty() {
        text.push_str(&format!("chosen where {} is there\n", row.selected_by.join(" or ")));
    }
    if let Some(env) = &row.env {
        text.push_str(&format!("a team only where the variable {env} is on; else task mode\n"));
    }
    for part in &view.parts {
        text.push_str(&format!("\n{}\n", screen.paint(Paint::Bold, &part.part)));
        let width = part.entries.iter().map(|entry| entry.name.chars().count()).max();
        let width = width.unwrap_or_default().min(24);
        for entry in &part.entries {
            let name = plain(&entry.name);
            let mut lines = entry.lines.iter().map(|line| plain(line));
            let first = lines.next().unwrap_or_default();
            text.push_str(format!("  {name:<width$}  {first}").trim_end());
            text.push('\n');
            for line in lines {
                text.push_str(&format!("  {:<width$}  {line}\n", ""));
            }
        }
    }
    text
}
