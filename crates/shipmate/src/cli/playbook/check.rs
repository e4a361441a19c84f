//! `shipmate playbook check`.

use std::path::{Path, PathBuf};

use shipmate_protocol::verbs;
use shipmate_protocol::verbs::PlaybookFile;
use shipmate_protocol::view::PlaybookChecked;

use super::{given, is_path};
use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::screen::{plain, plain_lines};
use crate::cli::session::Session;

/// Say everything that is wrong with playbooks
///
/// Each problem comes with its file and line, what is wrong and what to do. Exit code 0: nothing
/// is wrong; 2: something is.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate playbook check .shipmate/playbooks/mine.toml
  shipmate playbook check                     every playbook of the project
  shipmate playbook check mine --json | jq -r '.[].problems[].fact'")]
pub(crate) struct CheckArgs {
    /// Files, or names of `shipmate playbook list` [default: every playbook of the project]
    #[arg(value_name = "NAME|FILE")]
    what: Vec<PathBuf>,
}

pub(crate) fn run(args: &CheckArgs, mut session: Session) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    for what in &args.what {
        files.push(file(what)?);
    }
    if args.what.is_empty() {
        let rows = super::rows(&mut session)?;
        let own = rows.into_iter().filter(|row| row.file != "built in");
        files.extend(own.map(|row| PlaybookFile::named(row.name)));
    }
    let checked = session.ask(verbs::PlaybookCheck { files })?;
    let count: usize = checked.iter().map(|one| one.problems.len()).sum();
    match session.screen.json {
        true => session.screen.json(&checked)?,
        false => session.screen.print(&told(&checked))?,
    }
    Ok(if count == 0 { Exit::Done } else { Exit::Usage })
}

/// What is a file here is meant, even if there is a playbook of that name.
fn file(what: &Path) -> Result<PlaybookFile, Failure> {
    let name = what.display().to_string();
    match what.is_file() && !is_path(&name) {
        true => given(&format!("./{name}")).map(|file| PlaybookFile { name, ..file }),
        false => given(&name),
    }
}

fn told(checked: &[PlaybookChecked]) -> String {
    if checked.is_empty() {
        return "the project has no playbooks of its own: `shipmate playbook init NAME` makes one\n"
            .to_owned();
    }
    let mut text = String::new();
    for one in checked {
        for problem in &one.problems {
            text.push_str(&format!("{}\n", plain_lines(&problem.to_string())));
        }
        let file = plain(&one.file);
        text.push_str(&match one.problems.len() {
            0 => format!("{file}: nothing is wrong\n"),
            1 => format!("{file}: 1 problem\n"),
            many => format!("{file}: {many} problems\n"),
        });
    }
    text
}
