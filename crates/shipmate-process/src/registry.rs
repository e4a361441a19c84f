//! The main processes of the trees that this process has alive.
//!
//! The lock is also held while a process is spawned and while processes are looked at: between
//! fork and exec a new tree does not carry its marker yet and would be taken for an orphan.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;

static TREES: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

pub(crate) fn lock() -> MutexGuard<'static, Vec<Pid>> {
    TREES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a tree's main process off the list when dropped.
#[derive(Debug)]
pub(crate) struct Enrolled(Pid);

impl Enrolled {
    pub(crate) fn enter(trees: &mut Vec<Pid>, pid: Pid) -> Self {
        trees.push(pid);
        Self(pid)
    }
}

impl Drop for Enrolled {
    fn drop(&mut self) {
        lock().retain(|pid| *pid != self.0);
    }
}
