//! What a coordinator stands on: makes the folders of the workspace's state, and notices when the
//! workspace, its state or the repository is taken away, by the word of the kernel, never by looking
//! again and again. What was taken away is not made anew.

use std::fs;
use std::future::pending;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
use shipmate_protocol::Place;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The folders, readable by their owner only, and what git should not see. Without `makes_state` the state
/// has to be there already: a client that asks again meets a workspace that is being removed at any step of
/// that.
pub(crate) fn prepare(place: &Place, makes_state: bool) -> Result<(), String> {
    let made = || {
        if makes_state {
            make(&place.project(), 0o777)?;
            make(&place.state(), 0o700)?;
        }
        make(&place.teams(), 0o700)?;
        make(&place.state().join("tokens"), 0o700)?;
        if let Some(folder) = std::env::var_os("SHIPMATE_RUNTIME_DIR").map(PathBuf::from) {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
            made.map_err(|e| (folder, e))?;
        }
        // Ignores itself too: the project's repository shows nothing of it.
        let ignore = place.state().join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(|e| (ignore, e))?;
        }
        Ok(())
    };
    made().map_err(|(path, e): (PathBuf, io::Error)| match place.has_state() || makes_state {
        true => format!("{}: {e}\n  the workspace must be writable by you", path.display()),
        false => format!("{} is gone, and the team with it", place.state().display()),
    })
}

/// A folder in one that is there.
fn make(folder: &Path, mode: u32) -> Result<(), (PathBuf, io::Error)> {
    match fs::DirBuilder::new().mode(mode).create(folder) {
        Err(e) if !folder.is_dir() => Err((folder.to_owned(), e)),
        _ => Ok(()),
    }
}

#[derive(Debug)]
pub(crate) struct Ground {
    /// Nothing where the system gives no more watches.
    watch: Option<AsyncFd<OwnedFd>>,
    state: PathBuf,
    /// Which folder that is, whatever lies there later.
    is: Option<(u64, u64)>,
    needed: Vec<PathBuf>,
}

impl Ground {
    /// The workspace as it is now, with its state made. It may be taken away just now: then its lock, which
    /// this coordinator has, is not there any more.
    pub(crate) fn of(place: &Place) -> Ground {
        let state = place.state();
        let others = [place.teams(), place.workspace.join(".git")];
        let others = others.into_iter().filter(|path| path.exists());
        let needed = others.chain([place.lock()]).collect();
        let watch = watch(&[&place.workspace, &place.project(), &state]).ok();
        Ground { watch, is: identity(&state), state, needed }
    }

    /// Waits until it is gone.
    pub(crate) async fn vanished(&self) {
        while self.is_there() {
            let Some(watch) = &self.watch else { return pending().await };
            let Ok(mut ready) = watch.readable().await else { return pending().await };
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut news = Reader::new(watch, &mut buffer);
            // Only that something changed is of interest, so all of it is taken.
            while news.next().is_ok() {}
            ready.clear_ready();
        }
    }

    fn is_there(&self) -> bool {
        identity(&self.state) == self.is
            && self.needed.iter().all(|path| fs::symlink_metadata(path).is_ok())
    }
}

#[expect(
    deprecated,
    reason = "the new constructor is unsafe because a foreign type may close its descriptor; \
              OwnedFd does not"
)]
fn watch(folders: &[&Path]) -> io::Result<AsyncFd<OwnedFd>> {
    let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let flags = WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    for folder in folders {
        add_watch(&inotify, *folder, flags)?;
    }
    AsyncFd::with_interest(inotify, Interest::READABLE)
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_before_it_was_looked_at_is_gone() {
        let workspace =
            std::env::temp_dir().join(format!("shipmate-ground-{}", std::process::id()));
        let place = Place { workspace: workspace.clone() };
        fs::create_dir_all(place.teams()).unwrap();
        fs::write(place.lock(), "").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            assert!(Ground::of(&place).is_there());
            fs::remove_file(place.lock()).unwrap();
            Ground::of(&place).vanished().await;
            fs::remove_dir_all(&workspace).unwrap();
            Ground::of(&place).vanished().await;
        });
    }
}
