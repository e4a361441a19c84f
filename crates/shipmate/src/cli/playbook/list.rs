//! `shipmate playbook list`.

use shipmate_protocol::view::PlaybookRow;

use super::{Choice, choice, rows};
use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen};
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell, owned, painted};

/// List the playbooks that can be used here, and which one a run would use
///
/// Those that come with shipmate, and those in .shipmate/playbooks/ of the project, which stand
/// above them. A run that names none uses the one that the settings name (`shipmate playbook use`),
/// else the one whose files are in the repository.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate playbook list
  shipmate playbook list --json | jq -r '.chosen.name'")]
pub(crate) struct ListArgs {}

pub(crate) fn run(_: &ListArgs, mut session: Session) -> Result<(), Failure> {
    let rows = rows(&mut session)?;
    let choice = choice(&mut session)?;
    if session.screen.json {
        let chosen = match &choice {
            Choice::One { name, why } => serde_json::json!({ "name": name, "why": why }),
            Choice::None | Choice::Several(_) => serde_json::Value::Null,
        };
        return session.screen.json(&serde_json::json!({ "playbooks": rows, "chosen": chosen }));
    }
    session.screen.print(&table(&rows, &choice, &session.screen))?;
    session.screen.line(&format!("\n{}", here(&choice)))
}

fn table(rows: &[PlaybookRow], choice: &Choice, screen: &Screen) -> String {
    let mut table = Table::new(&[
        Column::Left("PLAYBOOK"),
        Column::Left("FROM"),
        Column::Left("CHOSEN BY"),
        Column::Elastic("WHAT IT IS"),
    ]);
    for row in rows {
        let is_chosen = matches!(choice, Choice::One { name, .. } if *name == row.name);
        let about = match row.problems {
            0 => cell(&row.title),
            1 => owned("cannot be used: 1 problem".to_owned(), Paint::Bad),
            many => owned(format!("cannot be used: {many} problems"), Paint::Bad),
        };
        table.row([
            painted(&row.name, if is_chosen { Paint::Good } else { Paint::Plain }),
            cell(&row.file),
            owned(row.selected_by.join(", "), Paint::Dim),
            about,
        ]);
    }
    table.render(screen)
}

fn here(choice: &Choice) -> String {
    match choice {
        Choice::One { name, why } => format!("a run here works by {name}: {why}"),
        Choice::None => "a run here works by none, unless --playbook names one".to_owned(),
        Choice::Several(found) => {
            let found: Vec<String> =
                found.iter().map(|(name, file)| format!("{file} is for {name}")).collect();
            format!("a run here has to name one with --playbook: {}", found.join(", "))
        }
    }
}
