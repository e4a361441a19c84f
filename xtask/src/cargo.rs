//! Starting cargo from inside cargo.
//!
//! `cargo run` describes this crate to us in the environment. A cargo started by us must not
//! inherit that: build scripts that watch those variables (that of `ring` does) would run again at
//! every change between `cargo build` and `cargo xtask`, and take half the tree with them.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::tree;

/// A cargo that runs in the root of the workspace, on the same target folder as everybody's.
pub(crate) fn cargo<I: AsRef<OsStr>>(args: impl IntoIterator<Item = I>) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(args).current_dir(tree::root());
    for (name, _) in std::env::vars_os() {
        if describes_this_crate(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    if std::env::var_os("CARGO_TERM_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", colour());
    }
    command
}

fn describes_this_crate(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_")
        || variable.starts_with("CARGO_MANIFEST_")
        || matches!(variable, "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE")
}

/// Decided here, because a child whose output we read sees no terminal.
fn colour() -> &'static str {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    if wanted && std::io::stdout().is_terminal() { "always" } else { "never" }
}

/// Whether `cargo <name>` exists on this machine.
pub(crate) fn has_subcommand(name: &str) -> bool {
    cargo([name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs to the end with our own output.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| not_started(command, &e))?;
    ended(command, status)
}

/// Runs to the end, passing each line of its standard output to `see` and on to ours.
pub(crate) fn run_seeing(command: &mut Command, mut see: impl FnMut(&str)) -> Result<(), String> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| not_started(command, &e))?;
    let stdout = child.stdout.take().expect("the output of the child was asked for");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|e| format!("the output of {command:?} ended early: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        see(&line);
    }
    let status = child.wait().map_err(|e| format!("{command:?} could not be awaited: {e}"))?;
    ended(command, status)
}

/// Runs to the end and returns its standard output; its errors are shown as they come.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| not_started(command, &e))?;
    ended(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Where cargo builds.
pub(crate) fn target_folder() -> Result<PathBuf, String> {
    let json = output(&mut cargo(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&json)
        .map_err(|e| format!("the output of cargo metadata could not be read: {e}"))?;
    let folder = metadata["target_directory"].as_str();
    folder.map(PathBuf::from).ok_or_else(|| "cargo metadata names no target folder".to_owned())
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("{} could not be started: {error}", shown(command))
}

fn ended(command: &Command, status: std::process::ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    let args = command.get_args().map(|arg| format!(" {}", arg.to_string_lossy()));
    format!("`{name}{}`", args.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_this_crate_is_told_from_what_a_person_set() {
        assert!(describes_this_crate("CARGO_PKG_NAME"));
        assert!(describes_this_crate("CARGO_MANIFEST_DIR"));
        assert!(!describes_this_crate("CARGO_HOME"));
        assert!(!describes_this_crate("CARGO_TARGET_DIR"));
    }

    #[test]
    fn a_failed_command_is_named_as_typed() {
        let told = run(&mut Command::new("false")).unwrap_err();
        assert_eq!(told, "`false` ended with exit status: 1");
    }
}
