//! Waiting for views: they follow the log, a moment later.

use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::Value;

use crate::stage::{Stage, TEAM};

/// Nothing here takes so long, even on a loaded machine.
const LIMIT: Timespec = Timespec { tv_sec: 300, tv_nsec: 0 };

/// Where the team's views lie.
pub(crate) fn views(stage: &Stage) -> PathBuf {
    stage.place().team(TEAM).join("views")
}

pub(crate) fn json_of(path: &Path) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

/// Waits until something holds of the files below a folder, and gives it.
#[track_caller]
pub(crate) fn until<T>(root: &Path, fits: impl Fn() -> Option<T>) -> T {
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
    loop {
        // First the watches, then the look: what changes in between is heard.
        let there = root.ancestors().find(|at| at.is_dir()).unwrap_or(root);
        follow(&watch, there);
        if let Some(found) = fits() {
            return found;
        }
        // It came between the look for it and the watch on what is above it.
        if there != root && root.is_dir() {
            continue;
        }
        let mut wait = [PollFd::new(&watch, PollFlags::IN)];
        if poll(&mut wait, Some(&LIMIT)).unwrap() == 0 {
            panic!("the files below {} stay as they are:\n{}", root.display(), shown(root));
        }
        let mut space = [MaybeUninit::<u8>::uninit(); 4096];
        let mut heard = inotify::Reader::new(&watch, &mut space);
        while heard.next().is_ok() {}
    }
}

fn follow(watch: impl std::os::fd::AsFd + Copy, at: &Path) {
    let events = WatchFlags::CREATE
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::ONLYDIR;
    if inotify::add_watch(watch, at, events).is_err() {
        return;
    }
    for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            follow(watch, &entry.path());
        }
    }
}

/// Every file below a folder with what it holds.
pub(crate) fn shown(root: &Path) -> String {
    let mut text = String::new();
    let mut open = vec![root.to_owned()];
    let mut files = Vec::new();
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ => files.push(entry.path()),
            }
        }
    }
    files.sort();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file);
        let held = std::fs::read_to_string(&file).unwrap_or_default();
        text.push_str(&format!("{}: {held}\n", name.display()));
    }
    text
}
