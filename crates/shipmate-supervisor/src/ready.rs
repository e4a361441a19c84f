//! Whether a tree is fit to begin in: what the playbook runs there before a task is begun.
//!
//! Only a tree that was just brought up is looked at. One with work in it may well fail, and that
//! is what the task is taken up again for. A task whose tree is not fit is not begun: it goes back
//! with the evidence, which costs an attempt, and the lead is told at once.

use std::time::Duration;

use shipmate_process::{Exit, Launcher, Output, Program, Spec};
use shipmate_programs::fence;
use shipmate_protocol::{Place, verbs};

use super::Supervisor;
use super::driver::Driver;
use super::tree::Ready;

const OUTPUT_BYTES_MAX: usize = 512 * 1024;
const EVIDENCE_BYTES_MAX: usize = 4 * 1024;

impl<D: Driver> Supervisor<D> {
    /// Why the task cannot be begun in this tree.
    pub(super) async fn not_ready(&self, ready: &Ready, task: u32) -> Option<String> {
        if !ready.is_fresh {
            return None;
        }
        for line in &self.order.before {
            if let Err(evidence) = self.succeeds(line, ready).await {
                let reason = format!("the tree is not fit to begin in: {evidence}");
                let body = format!("task {task} was not begun: {reason}");
                let (to, kind, reply_to) = ("lead".to_owned(), None, None);
                // Without a lead the board tells: the attempt ends with the same words.
                drop(self.control.ask(verbs::Send { to, body, kind, reply_to }).await);
                return Some(reason);
            }
        }
        None
    }

    async fn succeeds(&self, line: &str, ready: &Ready) -> Result<(), String> {
        let failed = |how: String| format!("`{line}` {how}");
        let marker = self.order.marker.parse().map_err(|e| failed(format!("{e}")))?;
        let program = self.order.program.clone();
        let place = Place { workspace: self.order.workspace.clone() };
        let gated = fence::gated(&self.order.grounds, &place, &ready.path, Vec::new());
        let gated = gated.map_err(failed)?;
        let spec = Spec {
            env: gated.env,
            env_remove: gated.env_remove,
            fence: gated.fence,
            output: Output::Capture { bytes_max: OUTPUT_BYTES_MAX },
            launcher: Launcher::through(program, vec!["exec-tree".into()]),
            ..Spec::new(Program::Shell(line.to_owned()), &ready.path, marker)
        };
        let limit = Duration::from_millis(self.order.before_ms);
        let ran = shipmate_process::run(spec, limit).await.map_err(|e| failed(e.to_string()))?;
        let how = match (ran.timed_out, ran.exit) {
            (false, Exit::Code(0)) => return Ok(()),
            (true, _) => format!("did not end within {} s", limit.as_secs()),
            (false, Exit::Code(code)) => format!("failed with exit status {code}"),
            (false, Exit::Signal(signal)) => format!("was ended by signal {signal}"),
        };
        let output = format!("{}\n{}", ran.stdout.text(), ran.stderr.text());
        Err(failed(format!("{how}\n{}", shipmate_process::tail(output.trim(), EVIDENCE_BYTES_MAX))))
    }
}
