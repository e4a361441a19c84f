//! Whether a process has a lock of git in hand.

use std::fs;
use std::path::{Path, PathBuf};

/// Which gits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    TheUsers,
    Anybodys,
}

/// Whether the lock may be that of a git which the user has started since: one that has it
/// open, or that waits in one of these folders, for an editor say.
pub(super) fn is_in_use(folders: &[PathBuf], lock: &Path, whose: Whose) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.map(|entry| entry.path()).any(|process| {
        let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let has_it = open.flat_map(|fd| fs::read_link(fd.path())).any(|target| target == lock);
        let is_git = || fs::read(process.join("comm")).is_ok_and(|name| name == b"git\n");
        let is_there =
            || fs::read_link(process.join("cwd")).is_ok_and(|cwd| folders.contains(&cwd));
        let is_ours = || {
            let environ = fs::read(process.join("environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(b"SHIPMATE_LIFE="))
        };
        has_it || (is_git() && is_there() && (whose == Whose::Anybodys || !is_ours()))
    })
}
