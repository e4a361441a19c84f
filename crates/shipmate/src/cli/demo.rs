//! `shipmate demo`: a board filled, claimed, blocked, talked about and drained, by real processes.
//!
//! The parent makes a team in a workspace of its own and starts four workers, which are processes
//! of this program that know nothing but the socket and their token. It then does nothing but read
//! the log and print it, with two exceptions that it announces: it kills one worker in the middle
//! of a task, and later hands in the dead worker's late work, to show that it is refused. Every
//! line is a record or an answer; the summary is counted from the records.

mod line;
mod play;
mod plot;
mod worker;

use std::path::{Path, PathBuf};

pub(crate) use worker::{WorkerArgs, work};

use crate::cli::failure::Failure;
use crate::cli::screen::Screen;

/// Watch a team at work: real processes, no key, no network, a few seconds
///
/// Four workers drain a board of 24 tasks with dependencies, files, roles and a group. One task
/// fails and is tried again. One worker is killed in the middle of a task: its lease runs out,
/// another takes the task, and the dead worker's late work is refused. Ends with exit code 0 only
/// if the board is drained and no task was ever held twice at once.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate demo
  shipmate demo --keep /tmp/demo && shipmate --workspace /tmp/demo log --after 0")]
pub(crate) struct DemoArgs {
    /// Play in this folder, new or empty, and leave everything there to look at
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(crate) fn run(args: &DemoArgs, json: bool) -> Result<(), Failure> {
    let screen = Screen::new(json);
    let stage = Stage::open(args.keep.as_deref())?;
    play::play(&stage.folder, stage.kept, &screen)
}

/// The folder the demo plays in; a temporary one goes with it.
#[derive(Debug)]
struct Stage {
    folder: PathBuf,
    kept: bool,
}

impl Stage {
    fn open(keep: Option<&Path>) -> Result<Stage, Failure> {
        let folder = keep.map_or_else(
            || std::env::temp_dir().join(format!("shipmate-demo-{}", std::process::id())),
            Path::to_owned,
        );
        let unusable = |reason: &str| {
            let text = format!("{} cannot be played in: {reason}", folder.display());
            Failure::Usage(format!("{text}\n  name a new or empty folder with --keep DIR"))
        };
        std::fs::create_dir_all(&folder).map_err(|e| unusable(&e.to_string()))?;
        let folder = folder.canonicalize().map_err(|e| unusable(&e.to_string()))?;
        let mut inside = std::fs::read_dir(&folder).map_err(|e| unusable(&e.to_string()))?;
        if inside.next().is_some() {
            return Err(unusable("it is not empty"));
        }
        Ok(Stage { folder, kept: keep.is_some() })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.kept {
            // A folder left behind in the temporary one does no harm.
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}
