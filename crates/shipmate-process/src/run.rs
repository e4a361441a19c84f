//! One program, run to its end or to its time limit: for hooks and gates.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::capture::Captured;
use crate::failure::SpawnFailure;
use crate::spec::Spec;
use crate::tree::{Exit, Tree};

/// What a program that ran over its time may do to tidy up.
const GRACE: Duration = Duration::from_millis(500);

/// How a program ran.
#[derive(Debug)]
pub struct Ran {
    /// When `timed_out`, how it ended once it was told to.
    pub exit: Exit,
    pub stdout: Captured,
    pub stderr: Captured,
    pub timed_out: bool,
    pub took: Duration,
    /// How many processes it had left running; they are ended.
    pub left_behind: usize,
}

/// Runs a program and ends whatever it leaves behind. Over its time, it is ended itself.
pub async fn run(spec: Spec, limit: Duration) -> Result<Ran, SpawnFailure> {
    let started = Instant::now();
    let tree = Tree::spawn(spec)?;
    let timed_out = timeout(limit, tree.exited()).await.is_err();
    let ended = tree.stop(if timed_out { GRACE } else { Duration::ZERO }).await;
    Ok(Ran {
        exit: ended.exit,
        stdout: ended.stdout,
        stderr: ended.stderr,
        timed_out,
        took: started.elapsed(),
        left_behind: ended.left_behind,
    })
}
