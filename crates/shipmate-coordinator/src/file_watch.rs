//! Watching files that others write: the kernel says when something changes, and nobody looks before it has.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Watch(tokio::task::JoinHandle<()>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watch {
    #[expect(
        deprecated,
        reason = "the new constructor is unsafe because a foreign type may close its descriptor; \
                  OwnedFd does not"
    )]
    /// Says once that it has begun, because what came before was not seen, and then whenever
    /// something changes.
    pub(crate) fn begin(
        paths: BTreeSet<PathBuf>,
        changed: impl Fn() + 'static,
    ) -> io::Result<Watch> {
        let kernel = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        look_at(&kernel, &paths)?;
        let kernel = AsyncFd::with_interest(kernel, Interest::READABLE)?;
        Ok(Watch(tokio::task::spawn_local(async move {
            changed();
            while let Ok(mut ready) = kernel.readable().await {
                let mut buffer = [0; 4096];
                while rustix::io::read(kernel.get_ref(), &mut buffer).is_ok_and(|read| read > 0) {}
                ready.clear_ready();
                // A folder that was missing may be there now. One that cannot be watched is gone
                // again, which is a change of its own.
                drop(look_at(kernel.get_ref(), &paths));
                changed();
            }
        })))
    }
}

/// Watches the folder of each file, or the nearest one above it that is there.
fn look_at(kernel: &OwnedFd, paths: &BTreeSet<PathBuf>) -> io::Result<()> {
    let what = WatchFlags::CREATE
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    for path in paths {
        let folder = path.ancestors().skip(1).find(|folder| folder.is_dir());
        let folder = folder.ok_or(io::ErrorKind::NotFound)?;
        inotify::add_watch(kernel, folder, what)?;
    }
    Ok(())
}
