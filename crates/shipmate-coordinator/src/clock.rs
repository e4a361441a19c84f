//! The two clocks: one for people, one for durations. Nothing else asks for the time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, written into records for people. May jump.
pub(crate) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// A clock that only goes forward, for leases and deadlines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Monotonic {
    start: Instant,
}

impl Monotonic {
    pub(crate) fn new() -> Monotonic {
        Monotonic { start: Instant::now() }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    pub(crate) fn instant(&self, ms: u64) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.start + std::time::Duration::from_millis(ms))
    }
}
