//! shipmate, the one binary: a command line in front of a coordinator that it can also be.

mod cli;
mod config;
mod coordinator;
mod install;
mod mcp;
mod money;
mod output;
mod plain;
mod supervisor;
mod time;
mod trace;
mod tui;
mod web;
mod wordtable;

use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or(String::new(), |at| format!(" ({at})"));
        let what = panic.payload_as_str().unwrap_or("no message");
        eprintln!("bug: {what}{place}\n  please report this with the command that you ran");
    }));
    if let Some(code) = supervisor::invoked(std::env::args_os().skip(1)) {
        return code;
    }
    std::panic::catch_unwind(cli::main).unwrap_or_else(|_| cli::Exit::Bug.into())
}
