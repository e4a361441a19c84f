//! Starts processes, keeps what they print, and ends them with everything they started.
//!
//! A [`Tree`] is a process and all its offspring. What must hold: after [`Tree::stop`] or
//! [`Tree::clean`] nothing of it is alive, however it tried to get away (`setsid`, double fork, an
//! emptied environment), and no process is ever signalled that is not part of it. Three things
//! make that so: the tree runs in a process group of its own, every process of it inherits a
//! [`Marker`] in its environment, and orphans come to the process that called
//! [`become_subreaper`].
//!
//! A program that calls [`become_subreaper`] owes this crate one thing: a child that it starts by
//! other means stays in the program's own process group (the default) or carries a marker of its
//! own. An unmarked child in another group is taken for an orphan of a tree.
//!
//! Deliberately absent: anything between fork and exec in this process. That needs `unsafe`, so a
//! [`Launcher`] does it in a process of its own. Only Linux is supported: 5.4 or later, for pidfds.

mod blocking;
mod capture;
mod census;
pub mod environment;
mod failure;
mod fence;
pub mod hidden;
mod launch;
mod log_file;
mod marker;
mod program;
mod pump;
mod registry;
pub mod regular_file;
mod remove;
mod run;
mod spec;
mod streams;
mod sweep;
mod text;
mod tree;
mod watched;

pub use blocking::blocking;
pub use capture::Captured;
pub use environment::PARENT_VARIABLE;
pub use failure::SpawnFailure;
pub use fence::sockets::in_reach;
pub use fence::{Fence, Level, achieved, covers};
pub use launch::{Launcher, become_subreaper, close_inherited, exec_tree, leave_no_core};
pub use log_file::LogFile;
pub use marker::{MARKER_VARIABLE, Marker, MarkerInvalid};
pub use program::{Program, has_pipefail};
pub use pump::Activity;
pub use remove::{open_folders, remove_folder};
pub use run::{Ran, run};
pub use rustix::process::{Pid, Signal};
pub use spec::{Distrust, Output, Spec, Stdin};
pub use sweep::{Swept, forsaken, marked, sweep};
pub use text::{beginning, one_line, tail};
pub use tree::{Ended, Exit, Tree};
pub use watched::Watched;
