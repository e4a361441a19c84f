//! Temporary files of the tests in memory, where whoever runs them may mount.
//!
//! The tests make and delete some hundred thousand small files. A disk's file system spends more
//! time on finding a place for each than the tests spend on everything else. Nobody outside sees
//! the mount: it is in a namespace of its own and ends with the tests. `TMPDIR` keeps them on a
//! disk: it is where whoever sets it wants them.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::tree;

const TMP: &str = "/tmp";

/// Mounts and becomes the command that follows. The first argument is a folder to mount on for a
/// moment, the second one that has to be seen below `/tmp`, or nothing.
const MOUNT: &str = r#"set -e
new=$1 kept=$2; shift 2
mkdir -p "$new"
mount -t tmpfs -o mode=1777 tests "$new"
if [ -n "$kept" ]; then
    mkdir -p "$new${kept#/tmp}"
    mount --rbind "$kept" "$new${kept#/tmp}"
fi
mount --move "$new" /tmp
exec "$@""#;

/// The same command, with `/tmp` in memory if that can be.
pub(crate) fn with_tmp_in_memory(command: Command) -> Command {
    let below =
        |variable| std::env::var_os(variable).is_some_and(|at| Path::new(&at).starts_with(TMP));
    let needed_there = ["HOME", "CARGO_HOME", "RUSTUP_HOME"].into_iter().any(below);
    if std::env::temp_dir() != Path::new(TMP) || needed_there || !can_mount() {
        println!("temporary files of the tests are on the disk");
        return command;
    }
    println!("temporary files of the tests are in memory");
    let mut wrapped = mounting(&tree::root());
    wrapped.arg(command.get_program()).args(command.get_args());
    for (variable, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(variable, value),
            None => wrapped.env_remove(variable),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    wrapped
}

/// Without the command that is run in there. The documents beside the repository stay in sight.
fn mounting(repository: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "sh", "-c", MOUNT, "sh"]);
    command.arg(repository.join("target/memory"));
    let kept = repository.parent().filter(|beside| beside.starts_with(TMP) && *beside != TMP);
    let kept = kept.or_else(|| repository.starts_with(TMP).then_some(repository));
    command.arg(kept.unwrap_or(Path::new("")));
    command
}

fn can_mount() -> bool {
    let mut probe = mounting(&tree::root());
    probe.arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_below_tmp_stays_in_sight() {
        let kept = |path: &str| {
            let command = mounting(Path::new(path));
            command.get_args().last().map(|last| last.to_string_lossy().into_owned())
        };
        assert_eq!(kept("/path/to/shipmate").as_deref(), Some(""));
        assert_eq!(kept("/tmp/work/shipmate").as_deref(), Some("/tmp/work"));
        assert_eq!(kept("/tmp/shipmate").as_deref(), Some("/tmp/shipmate"));
    }
}
