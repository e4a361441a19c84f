//! Carries what a tree prints from its pipes to where it is kept, and tells that it printed.
//!
//! A pump ends at the end of its pipe, or when told that the tree is gone: a process that is not
//! part of the tree may have inherited the pipe and hold it open for ever. What the tree wrote
//! before it went is in the pipe by then, so one pipe's worth is still read.

use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::capture::Captured;
use crate::hidden::Pieces;
use crate::log_file::LogFile;

const CHUNK_BYTES: usize = 64 * 1024;
/// The largest pipe that Linux gives to a process without privileges.
const PIPE_BYTES_MAX: usize = 1024 * 1024;
const RECENT_BYTES: usize = 4096;
const LINE_CHARS_MAX: usize = 400;

/// That a tree prints: how much so far, and the last line that is not blank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    pub bytes: u64,
    pub last_line: String,
}

#[derive(Debug)]
pub(crate) enum Sink {
    Memory(Captured),
    Disk(LogFile),
}

impl Sink {
    fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Memory(captured) => captured.push(bytes),
            Self::Disk(file) => file.push(bytes),
        }
    }
}

pub(crate) struct Pump {
    pub(crate) from: pipe::Receiver,
    pub(crate) into: Sink,
    pub(crate) activity: Arc<watch::Sender<Activity>>,
    /// Becomes true, or closes, when the tree is gone.
    pub(crate) gone: watch::Receiver<bool>,
}

impl Pump {
    pub(crate) async fn run(mut self) -> Sink {
        let mut chunk = vec![0; CHUNK_BYTES];
        let (mut recent, mut pieces) = (Vec::new(), Pieces::default());
        let mut gone = self.gone.clone();
        loop {
            let read = tokio::select! {
                biased;
                _ = gone.wait_for(|gone| *gone) => break,
                read = self.from.read(&mut chunk) => read,
            };
            match read {
                Ok(0) | Err(_) => {
                    self.keep(&pieces.rest(), &mut recent);
                    return self.into;
                }
                Ok(count) => self.keep(&pieces.push(&chunk[..count]), &mut recent),
            }
        }
        let mut left = PIPE_BYTES_MAX;
        // Not `try_read`: it answers from what the runtime last heard of the pipe.
        while let Ok(count @ 1..) = rustix::io::read(&self.from, &mut chunk[..]) {
            self.keep(&pieces.push(&chunk[..count]), &mut recent);
            left = left.saturating_sub(count);
            if left == 0 {
                break;
            }
        }
        self.keep(&pieces.rest(), &mut recent);
        self.into
    }

    fn keep(&mut self, bytes: &[u8], recent: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.into.push(bytes);
        recent.extend_from_slice(&bytes[bytes.len().saturating_sub(RECENT_BYTES)..]);
        recent.drain(..recent.len().saturating_sub(RECENT_BYTES));
        let line = last_line(recent);
        self.activity.send_modify(|activity| {
            activity.bytes += bytes.len() as u64;
            if let Some(line) = line {
                activity.last_line = line;
            }
        });
    }
}

fn last_line(recent: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(recent);
    let line = text.split(['\n', '\r']).rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LINE_CHARS_MAX).collect())
}
