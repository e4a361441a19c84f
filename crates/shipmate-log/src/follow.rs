//! Waiting for the log to grow, without asking it again and again.

use std::sync::Arc;
use tokio::sync::watch;

/// Wakes its holder when the log has grown. Clones wait on their own.
#[derive(Clone, Debug)]
pub struct EndWatch {
    end: watch::Receiver<u64>,
    /// Ends the task behind the watch, where there is one, together with its last holder.
    _source: Option<Arc<AbortOnDrop>>,
}

/// The source of wake-ups is gone: the log was closed or its connection lost.
///
/// Read the log once to catch up, then [`follow`](crate::Log::follow) it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log can no longer be followed")]
pub struct FollowEnded;

impl EndWatch {
    pub(crate) fn new(end: watch::Receiver<u64>) -> Self {
        Self { end, _source: None }
    }

    pub(crate) fn fed_by(end: watch::Receiver<u64>, source: Arc<AbortOnDrop>) -> Self {
        Self { end, _source: Some(source) }
    }

    /// Waits until the end is beyond `after` and gives back that end.
    ///
    /// Returns at once if it already is. Dropping the future loses nothing: the next call looks at
    /// the end again before it waits.
    pub async fn beyond(&mut self, after: u64) -> Result<u64, FollowEnded> {
        let end = self.end.wait_for(|end| *end > after).await;
        end.map(|end| *end).map_err(|_| FollowEnded)
    }
}

/// A background task that lives as long as somebody waits for what it reports.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(pub(crate) tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
