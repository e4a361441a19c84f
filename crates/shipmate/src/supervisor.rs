//! This program as what stands behind a teammate: its supervisor, the program that several
//! share, and the door through which an agent is started.
//!
//! All are invoked by the program itself, never by a person, and none parses options:
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
        "supervise" => Some(ended(shipmate_runtime::supervisor::run(args.next()?.into()))),
        "host-agent" => Some(ended(shipmate_runtime::supervisor::host(args.next()?.into()))),
        _ => None,
    }
}

fn ended(how: Result<(), String>) -> ExitCode {
    match how {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
