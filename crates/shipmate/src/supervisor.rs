//! This program as what stands behind a teammate: its supervisor, and the door through
//! which an agent is started.
//!
//! Both are invoked by the program itself, never by a person, and neither parses options:
//! an agent is started through here for every task.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs as one of them, if the arguments say so.
pub(crate) fn invoked(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    match args.next()?.to_str()? {
        "exec-tree" => {
            let failure = shipmate_runtime::exec_tree(args.collect());
            eprintln!("{failure}");
            Some(ExitCode::from(127))
        }
        "supervise" => {
            let folder = args.next()?;
            Some(match shipmate_runtime::supervisor::run(folder.into()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(reason) => {
                    eprintln!("{reason}");
                    ExitCode::FAILURE
                }
            })
        }
        _ => None,
    }
}
