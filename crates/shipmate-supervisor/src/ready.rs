//! Whether a tree is fit to begin in: its set-up, and what the playbook runs there before a task is begun.
//!
//! A set-up that fails in a fresh tree is no task's fault: the teammate cannot work, and no attempt is
//! spent. In one with work in it, it is the work's, and its agent finds out.
//!
//! Only a tree that was just brought up is looked at. One with work in it may well fail, and that
//! is what the task is taken up again for. A task whose tree is not fit is not begun: it goes back
//! with the evidence, which costs an attempt, and the lead is told at once.

use std::time::Duration;

use shipmate_process::{Activity, Exit, Launcher, Output, Program, Spec, blocking};
use shipmate_programs::fence;
use shipmate_programs::preparation::{self, Prepared, TreeToPrepare};
use shipmate_protocol::{Place, verbs};

use super::Supervisor;
use super::attend::tell_progress;
use super::driver::{Driver, Progress};
use super::tree::{Ready, first};

const OUTPUT_BYTES_MAX: usize = 512 * 1024;
const EVIDENCE_BYTES_MAX: usize = 4 * 1024;

impl<D: Driver> Supervisor<D> {
    /// Gives the tree what it needs beyond what is committed. The text says why nobody can work there.
    pub(super) async fn set_up(&self, ready: &Ready) -> Result<(), String> {
        let Some(tree) = &self.order.tree else { return Ok(()) };
        if !tree.preparation.does_something() {
            return Ok(());
        }
        let cut_short = preparation::was_cut_short(&ready.path);
        let is_fresh = tree.shared || ready.is_fresh || cut_short;
        let order = TreeToPrepare {
            place: Place { workspace: self.order.workspace.clone() },
            tree: ready.path.clone(),
            preparation: tree.preparation.clone(),
            grounds: self.order.grounds.clone(),
            marker: self.order.marker.parse().map_err(|e| format!("{e}"))?,
            program: self.order.program.clone(),
            is_gates: false,
            is_shared: tree.shared,
        };
        let seen = tokio::sync::watch::Sender::new(Progress::default());
        tell_progress(&self.control, seen.subscribe());
        let last_words = "setting up its tree".to_owned();
        seen.send_replace(Progress { last_words, ..Progress::default() });
        let tell = |activity: Activity| {
            let last_words = format!("setting up its tree: {}", activity.last_line);
            seen.send_replace(Progress {
                bytes: activity.bytes,
                last_words,
                ..Progress::default()
            });
        };
        let path = ready.path.clone();
        let shared = match tree.shared {
            true => Some(blocking(move || first(&path)).await?),
            false => None,
        };
        let prepared = preparation::prepare(&order, tell).await;
        drop(shared);
        match prepared {
            Ok(Prepared::SetUp { took }) => {
                let took_ms = took.as_millis() as u64;
                drop(self.control.ask(verbs::TreeSetUp { took_ms }).await);
                Ok(())
            }
            Ok(Prepared::Already) => Ok(()),
            Err(reason) if is_fresh => {
                let team = &self.order.team;
                let log = preparation::log_of(&ready.path);
                let log = log.strip_prefix(&self.order.workspace).unwrap_or(&log).display();
                // Its work is merged on another machine.
                let elsewhere = match self.order.fetches && !tree.preparation.copy.is_empty() {
                    true => {
                        " of this machine, or have the home send it (copy-to under [hosts] in its \
                         .shipmate/config.toml names the machines that get copied files)"
                    }
                    false => "",
                };
                Err(format!(
                    "the set-up of its tree failed: {reason}\nall it printed is in {log}\nput what is \
                     missing into the checkout{elsewhere}, then `shipmate --team {team} resume`; or mend \
                     [trees] in .shipmate/config.toml, then `shipmate team delete {team}`, and run again: a \
                     team keeps the [trees] that it began with"
                ))
            }
            Err(reason) => {
                tracing::warn!(reason, "the set-up of a tree with work in it failed");
                preparation::forget(&ready.path).await;
                Ok(())
            }
        }
    }

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
        let mut env = gated.env;
        if let Some(tree) = &self.order.tree {
            let own = preparation::variables(&tree.preparation, &place.workspace, &ready.path);
            let own = own.map_err(failed)?;
            env.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
        }
        let spec = Spec {
            env,
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
