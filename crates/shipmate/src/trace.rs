//! What the processes behind the screens did, for whoever looks for a cause: lines in a file beside what
//! they keep.
//!
//! The coordinator writes `.shipmate/state/trace.log`, a supervisor one in the folder of its life. What has
//! to be known of a team is in its log; nothing is ever read back from here. No token and no value of the
//! environment is traced, and nothing of what agents say or run but why they failed, as it is in the log.
//! Other crates are left out unless they are named: NATS may be reached with a password in its address.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;

/// `SHIPMATE_LOG` is the setting `log`.
pub(crate) const VARIABLE: &str = "SHIPMATE_TRACE";

const FILE: &str = "trace.log";
/// One more file of this size is kept, with what was before.
const BYTES_MAX: u64 = 10 * 1024 * 1024;

/// From now on events of this process go to the file of this folder, as the environment says.
pub(crate) fn begin(folder: &Path) {
    let asked = std::env::var(VARIABLE).unwrap_or_default();
    let (targets, is_understood) = targets(&asked);
    // Only one is ever begun in a process.
    drop(tracing::subscriber::set_global_default(subscriber(folder, targets, BYTES_MAX)));
    if !is_understood {
        tracing::warn!(?asked, "{VARIABLE} is no level and no list of target=level; it is info");
    }
}

/// A level for all of shipmate, or `target=level,…` for whatever is named. Nothing is `info`.
fn targets(asked: &str) -> (Targets, bool) {
    let own = |level: LevelFilter| Targets::new().with_target("shipmate", level);
    let asked = asked.trim();
    match (asked.parse::<LevelFilter>(), asked.parse::<Targets>()) {
        _ if asked.is_empty() => (own(LevelFilter::INFO), true),
        (Ok(level), _) => (own(level), true),
        (_, Ok(targets)) if asked.split(',').all(|part| part.contains('=')) => (targets, true),
        _ => (own(LevelFilter::INFO), false),
    }
}

fn subscriber(folder: &Path, targets: Targets, bytes_max: u64) -> impl Subscriber + Send + Sync {
    let file = Bounded { path: folder.join(FILE), bytes_max, open: None };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(Mutex::new(file))
        // Standard error is where a supervisor says why it ended.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(lines).with(targets)
}

/// A file that begins anew when it is full. It is opened with the first line: a process that has nothing
/// to say leaves none, and no folder is made for it.
struct Bounded {
    path: PathBuf,
    bytes_max: u64,
    open: Option<(File, u64)>,
}

impl Bounded {
    fn file(&mut self, more: u64) -> io::Result<&mut (File, u64)> {
        let (file, bytes) = match self.open.take() {
            Some(open) => open,
            None => opened(&self.path)?,
        };
        let open = match bytes + more > self.bytes_max && bytes > 0 {
            true => {
                fs::rename(&self.path, self.path.with_added_extension("1"))?;
                opened(&self.path)?
            }
            false => (file, bytes),
        };
        Ok(self.open.insert(open))
    }
}

fn opened(path: &Path) -> io::Result<(File, u64)> {
    // Whatever somebody may have put in its place is neither followed nor waited for.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    let found = file.metadata()?;
    match found.is_file() {
        true => Ok((file, found.len())),
        false => Err(io::Error::other("it is no regular file")),
    }
}

impl Write for Bounded {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let (file, bytes) = self.file(line.len() as u64)?;
        file.write_all(line)?;
        *bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What is in the files of a folder after these events.
    fn traced(name: &str, asked: &str, bytes_max: u64, events: fn()) -> (String, String) {
        let folder =
            std::env::temp_dir().join(format!("shipmate-trace-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let subscriber = subscriber(&folder, targets(asked).0, bytes_max);
        tracing::subscriber::with_default(subscriber, events);
        let path = folder.join(FILE);
        if let Ok(meta) = fs::metadata(&path) {
            assert_eq!(meta.permissions().mode() & 0o777, 0o600);
        }
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let found = (text(&path), text(&path.with_added_extension("1")));
        fs::remove_dir_all(&folder).unwrap();
        found
    }

    fn three() {
        tracing::debug!("small");
        tracing::warn!(reason = ?"two\nlines", "large");
        tracing::error!(target: "async_nats", "of others");
    }

    #[test]
    fn what_is_at_the_level_is_written_and_nothing_else() {
        for (asked, expected) in [
            ("", "large"),
            ("info", "large"),
            ("DEBUG", "small large"),
            ("error", ""),
            ("off", ""),
            ("loud", "large"),
            ("shipmate=debug,async_nats=error", "small large others"),
            ("async_nats=error", "others"),
        ] {
            let (text, before) = traced("level", asked, BYTES_MAX, three);
            let is_there = |word: &&str| text.contains(word);
            let found: Vec<&str> =
                ["small", "large", "others"].into_iter().filter(is_there).collect();
            assert_eq!(found.join(" "), expected, "{asked}: {text}");
            assert_eq!(before, "");
            assert_eq!(text.lines().count(), found.len(), "an event is a line: {text}");
        }
        assert!(!targets("loud").1 && !targets("info,a=b=c,d").1);
    }

    #[test]
    fn a_full_file_begins_anew_and_one_more_is_kept() {
        let (text, before) = traced("full", "", 1_000, || {
            for n in 0..100 {
                tracing::info!("event {n}");
            }
        });
        assert!(text.ends_with("event 99\n") && text.len() <= 1_000, "{text}");
        assert!(!before.is_empty() && before.len() <= 1_000, "{before}");
        let last = before.lines().last().unwrap().rsplit(' ').next().unwrap();
        let next = last.parse::<u32>().unwrap() + 1;
        assert!(text.lines().next().unwrap().ends_with(&format!("event {next}")), "{before}{text}");
    }
}
