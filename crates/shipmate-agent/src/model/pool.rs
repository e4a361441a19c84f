//! One key, one pause: whoever is told that there were too many requests writes down until when,
//! and all agents of this user with the same key wait for that.
//!
//! The pause is a line in a file that is named by a hash of base URL and key. When it is over, one
//! agent asks first, under a lock on the file that the kernel frees on any death; the others go
//! on once it was answered, or wait again. A file that makes no sense is a pause that is over: at
//! worst one request is sent too early. So is one that cannot be read or written; each agent then
//! waits for itself alone.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::retry::{doubled, part, shown};
use super::{Failure, Watch};

/// The longest pause that a provider can ask for.
const PAUSE_MAX: Duration = Duration::from_secs(3_600);
/// The first and the longest one where it does not say.
const UNTOLD_FIRST: Duration = Duration::from_secs(2);
const UNTOLD_MAX: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct Pool {
    provider: String,
    file: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pause {
    until_ms: u64,
    /// How often in a row the key was refused.
    met: u32,
}

impl Pause {
    /// What is left of it; nothing if it is over, or so far away that nobody can have meant it.
    fn left(&self, now_ms: u64) -> Duration {
        let left = Duration::from_millis(self.until_ms.saturating_sub(now_ms));
        if left > PAUSE_MAX { Duration::ZERO } else { left }
    }
}

/// The right to send one request.
#[derive(Debug)]
pub(super) struct Pass {
    /// The lock, for the one that asks first after a pause, and the pause it saw.
    first: Option<(File, Pause)>,
}

impl Pass {
    /// The provider took the request: the pause is over for all.
    pub(super) fn answered(self) {
        let Some((file, seen)) = self.first else { return };
        // Somebody whose request was under way may have met a new refusal since.
        if read(&file) == Some(seen) {
            let _ = file.set_len(0);
        }
    }
}

impl Pool {
    pub(super) fn open(
        folder: &Path,
        provider: &str,
        base_url: &str,
        key: &str,
    ) -> io::Result<Pool> {
        fs::create_dir_all(folder)?;
        let hash = Sha256::digest(format!("{base_url}\0{key}"));
        let name = data_encoding::HEXLOWER.encode(&hash[..16]);
        let file = folder.join(format!("{name}.pause"));
        Ok(Pool { provider: provider.to_owned(), file })
    }

    /// Waits until the pool is not paused. Fails if that takes longer than `at_most`.
    pub(super) async fn pass(
        &self,
        at_most: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Pass, Failure> {
        let provider = &self.provider;
        let begun = Instant::now();
        loop {
            let Some((file, pause)) = self.look() else { return Ok(Pass { first: None }) };
            let left = pause.left(now_ms());
            if left > Duration::ZERO {
                let told = format!("{provider} wants no requests with this key for now (429)");
                if begun.elapsed() + left > at_most {
                    return Err(Failure::TooMany { text: told, after: Some(left) });
                }
                watch.waits(&format!("{told}: again in {}", shown(left)), left);
                sleep_until(Instant::now() + left).await;
                continue;
            }
            let file = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => file,
                Err(_) => {
                    let first = "another agent asks first";
                    watch.waits(
                        &format!("{provider} wanted no requests with this key (429): {first}"),
                        Duration::ZERO,
                    );
                    match locked(file).await {
                        Ok(file) => file,
                        Err(_) => return Ok(Pass { first: None }),
                    }
                }
            };
            // Under the lock it may look different: the one before us was answered or refused.
            match read(&file) {
                None => return Ok(Pass { first: None }),
                Some(pause) if pause.left(now_ms()) > Duration::ZERO => {}
                Some(pause) => return Ok(Pass { first: Some((file, pause)) }),
            }
        }
    }

    /// Pauses the pool, by the provider's word if there is one, and says for how long.
    pub(super) fn pause(&self, after: Option<Duration>, random: u64) -> Duration {
        let now_ms = now_ms();
        let before = self.look().map(|(_, pause)| pause);
        let running = before.map_or(Duration::ZERO, |pause| pause.left(now_ms));
        let met = match before {
            // Whoever was under way when the pause began is refused too: that is the same refusal.
            Some(pause) if running > Duration::ZERO => pause.met,
            Some(pause) => pause.met.saturating_add(1),
            None => 1,
        };
        let length = after.map(|after| after.min(PAUSE_MAX)).unwrap_or_else(|| {
            let longest = doubled(UNTOLD_FIRST, met, UNTOLD_MAX);
            longest / 2 + part(longest / 2, random)
        });
        let length = length.max(running);
        let until_ms = now_ms + length.as_millis() as u64;
        let _ = self.write(Pause { until_ms, met });
        length
    }

    fn look(&self) -> Option<(File, Pause)> {
        let file = OpenOptions::new().read(true).write(true).open(&self.file).ok()?;
        let pause = read(&file)?;
        Some((file, pause))
    }

    /// In place and in one write of a fixed length: locks are on this very file.
    fn write(&self, pause: Pause) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&self.file)?;
        let line = format!("{:020} {:010}\n", pause.until_ms, pause.met);
        file.write_all_at(line.as_bytes(), 0)?;
        file.set_len(line.len() as u64)
    }
}

fn read(file: &File) -> Option<Pause> {
    let mut bytes = [0; 64];
    let count = file.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes[..count]).ok()?;
    let (until_ms, met) = text.trim().split_once(' ')?;
    Some(Pause { until_ms: until_ms.parse().ok()?, met: met.parse().ok()? })
}

/// Waits for the lock on a thread of its own: one that the end of the process need not wait for.
async fn locked(file: File) -> io::Result<File> {
    let (tell, told) = oneshot::channel();
    std::thread::Builder::new().name("pool".to_owned()).spawn(move || {
        let locked = loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                locked => break locked,
            }
        };
        let _ = tell.send(locked.map(|()| file));
    })?;
    told.await.map_err(io::Error::other)?.map_err(Into::into)
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
