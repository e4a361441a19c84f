//! What a tree is started with, and why it could not be.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::fence::Fence;
use crate::launch::Launcher;
use crate::marker::Marker;
use crate::program::Program;

/// A capture that nobody sized keeps this much of each stream.
const CAPTURE_BYTES_MAX: usize = 256 * 1024;

/// Everything about a tree before it starts. The environment is this process's own, with the
/// changes given here.
#[derive(Clone, Debug)]
pub struct Spec {
    pub program: Program,
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    pub env_remove: Vec<OsString>,
    pub stdin: Stdin,
    pub output: Output,
    pub marker: Marker,
    pub launcher: Launcher,
    /// Built by the launcher; not to be had without one.
    pub fence: Option<Fence>,
    pub distrusts: Distrust,
}

/// Whose markers are not believed. Whoever comes out of the tree is of it then, whatever marker it
/// carries: one that is not ours was forged to get away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distrust {
    #[default]
    Nobody,
    /// Those who may gain no rights, as everybody behind a fence. What this process starts besides
    /// in groups of their own may, unless it may not itself.
    Fenced,
    /// For a process that starts nothing but trees.
    Everybody,
}

impl Spec {
    /// No input, output captured, no launcher, no fence.
    pub fn new(program: Program, cwd: impl Into<PathBuf>, marker: Marker) -> Self {
        Self {
            program,
            cwd: cwd.into(),
            env: Vec::new(),
            env_remove: Vec::new(),
            stdin: Stdin::Null,
            output: Output::Capture { bytes_max: CAPTURE_BYTES_MAX },
            marker,
            launcher: Launcher::direct(),
            fence: None,
            distrusts: Distrust::Nobody,
        }
    }

    pub(crate) fn search_path(&self) -> Option<OsString> {
        let is_path = |name: &OsString| name == "PATH";
        if let Some((_, value)) = self.env.iter().rev().find(|(name, _)| is_path(name)) {
            return Some(value.clone());
        }
        if self.env_remove.iter().any(is_path) {
            return None;
        }
        crate::environment::var("PATH")
    }
}

#[derive(Clone, Debug)]
pub enum Stdin {
    Null,
    /// Written as far as the program reads; that it never does is no error.
    Bytes(Vec<u8>),
    /// See [`crate::Tree::take_stdin`].
    Piped,
}

#[derive(Clone, Debug)]
pub enum Output {
    /// Head and tail of each stream in memory, at most `bytes_max` of each.
    Capture {
        bytes_max: usize,
    },
    /// Both streams, interleaved as they came, at the end of one file: at most `bytes_max` in
    /// `path`, and what came last beyond that in `path.more`, at most `bytes_max` again.
    Files {
        path: PathBuf,
        bytes_max: u64,
    },
    /// Standard output to the caller, see [`crate::Tree::take_stdout`]; standard error as in
    /// `Files`.
    Stream {
        errors: PathBuf,
        bytes_max: u64,
    },
    Null,
}
