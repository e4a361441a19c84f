//! A tree whose standard output the test reads, so that a script can say which processes it
//! started and the test can watch them.

use std::path::PathBuf;
use std::time::Duration;

use shipmate_process::{Output, Pid, Spec, Tree, Watched};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe;

/// Far longer than anything here takes; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A tree whose script prints process ids.
pub(crate) struct Talking {
    pub(crate) tree: Tree,
    pub(crate) lines: Lines<BufReader<pipe::Receiver>>,
}

impl Talking {
    pub(crate) fn start(spec: Spec) -> Self {
        let errors = PathBuf::from("/dev/null");
        let output = Output::Stream { errors, bytes_max: 1 << 20 };
        let mut tree = Tree::spawn(Spec { output, ..spec }).unwrap();
        let lines = BufReader::new(tree.take_stdout().unwrap()).lines();
        Self { tree, lines }
    }

    pub(crate) async fn line(&mut self) -> String {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        line.expect("the script prints a line").unwrap().expect("the script has not ended")
    }

    /// Watches the process whose id the script prints next, whatever a launcher says before.
    pub(crate) async fn process(&mut self) -> Watched {
        loop {
            if let Ok(pid) = self.line().await.parse() {
                return Watched::open(Pid::from_raw(pid).unwrap()).expect("the process is alive");
            }
        }
    }
}

/// Whether the process has not ended. Asks the kernel, which knows at once.
pub(crate) fn lives(process: &Watched) -> bool {
    let pid = process.pid().as_raw_nonzero();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}
