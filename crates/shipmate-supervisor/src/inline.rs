//! An agent without a process, for tests and measurements: it does what its task's
//! metadata says under `inline`, step by step: `wait MS`, `write PATH TEXT`, `fail TEXT`.

use std::fs;
use std::time::Duration;

use shipmate_protocol::view::InboxMessage;
use tokio::sync::watch;
use tokio::time::Instant;

use super::driver::{Driver, Finished, Injected, NotGiven, Progress, Work};

#[derive(Debug, Default)]
pub(crate) struct InlineAgent {
    work: Option<Work>,
    /// When the present step is over.
    until: Option<Instant>,
    next: usize,
    heard: Vec<String>,
    failed: Option<String>,
    tell: watch::Sender<Progress>,
}

impl Driver for InlineAgent {
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven> {
        self.heard.extend(work.messages.iter().map(|message| message.body.clone()));
        self.work = Some(work.clone());
        (self.next, self.until) = (0, None);
        Ok(())
    }

    async fn over(&mut self) {
        let Some(work) = self.work.clone() else { return };
        let script = work.task.as_ref().and_then(|task| task.metadata.get("inline"));
        let steps: Vec<String> =
            script.into_iter().flat_map(|text| text.split(';')).map(str::to_owned).collect();
        while let Some(step) = steps.get(self.next) {
            let mut words = step.trim().splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("wait"), Some(ms), None) => {
                    let wait = Duration::from_millis(ms.parse().unwrap_or_default());
                    let until = *self.until.get_or_insert_with(|| Instant::now() + wait);
                    tokio::time::sleep_until(until).await;
                    self.until = None;
                }
                (Some("write"), Some(path), text) => {
                    let path = work.tree.join(path);
                    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
                    let text = format!("{}\n", text.unwrap_or_default());
                    if let Err(e) = made.and_then(|()| fs::write(&path, text)) {
                        self.failed = Some(format!("{}: {e}", path.display()));
                        return;
                    }
                }
                (Some("fail"), reason, more) => {
                    let words = [reason, more].into_iter().flatten();
                    self.failed = Some(words.collect::<Vec<_>>().join(" "));
                    return;
                }
                _ => {}
            }
            self.next += 1;
            self.tell.send_modify(|seen| seen.bytes += 1);
        }
    }

    async fn conclude(&mut self) -> Finished {
        self.work = None;
        if let Some(reason) = self.failed.take() {
            return Finished::Failed { reason };
        }
        let heard = self.heard.drain(..).collect::<Vec<_>>().join("; ");
        let result = if heard.is_empty() { "its steps are done".to_owned() } else { heard };
        Finished::Stated { result }
    }

    async fn inject(&mut self, message: &InboxMessage) -> Injected {
        self.heard.push(message.body.clone());
        Injected::Now
    }

    fn session(&self) -> Option<String> {
        None
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.tell.subscribe()
    }

    fn reports(&self) -> bool {
        false
    }

    async fn stop(&mut self, _grace: Duration) {
        self.work = None;
    }
}
