//! The driver of codex.

use std::time::Duration;

use shipmate_protocol::view::InboxMessage;
use tokio::sync::watch;

use super::desk::Desk;
use super::driver::{Driver, Finished, Injected, Progress, Work};
use super::program::Starter;
use super::transcript::Transcript;

#[derive(Debug)]
pub(crate) struct CodexAgent {
    desk: Desk,
    starter: Starter,
    transcript: Transcript,
}

impl CodexAgent {
    pub(crate) fn new(desk: Desk, starter: Starter, transcript: Transcript) -> CodexAgent {
        CodexAgent { desk, starter, transcript }
    }
}

impl Driver for CodexAgent {
    async fn give(&mut self, _work: &Work) -> Result<(), String> {
        let _ = (&self.desk, &self.starter);
        Err("this agent cannot be driven yet".to_owned())
    }

    async fn over(&mut self) {}

    async fn conclude(&mut self) -> Finished {
        Finished::Died { reason: "never started".to_owned() }
    }

    async fn inject(&mut self, _message: &InboxMessage) -> Injected {
        Injected::Later
    }

    fn session(&self) -> Option<String> {
        None
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.transcript.progress()
    }

    fn wakes_for_messages(&self) -> bool {
        true
    }

    fn reports(&self) -> bool {
        true
    }

    async fn stop(&mut self, _grace: Duration) {}
}
