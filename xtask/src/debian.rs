//! Small programs that tests drive, from Debian's packages, installed where they are missing: tmux is a
//! real terminal for the tests of the screen, strace kills a command at exactly its n-th call,
//! ip makes networks of a test's own.

use std::path::PathBuf;

use crate::browser::apt;
use crate::clients::{find_in_path, is_executable};

/// A package, and the program of it that tests drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Package {
    name: &'static str,
    program: &'static str,
    /// What the tests read. Set by hand, it wins over what is found.
    pub(crate) variable: &'static str,
}

pub(crate) const TMUX: Package =
    Package { name: "tmux", program: "tmux", variable: "SHIPMATE_TMUX" };
pub(crate) const STRACE: Package =
    Package { name: "strace", program: "strace", variable: "SHIPMATE_STRACE" };
pub(crate) const SSHD: Package =
    Package { name: "openssh-server", program: "sshd", variable: "SHIPMATE_SSHD" };
pub(crate) const IP: Package = Package { name: "iproute2", program: "ip", variable: "SHIPMATE_IP" };

/// The path of the program; installs it where there is none.
pub(crate) fn install(package: Package) -> Result<PathBuf, String> {
    let Package { name, program, variable } = package;
    if let Some(given) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
        let given = PathBuf::from(given);
        return match is_executable(&given) {
            true => Ok(given),
            false => Err(format!(
                "{variable} is set, but {} is no program; correct or unset it",
                given.display()
            )),
        };
    }
    // What is for root is in the path of few others.
    let found = || {
        let found = find_in_path(program, std::env::var_os("PATH"));
        found.or_else(|| find_in_path(program, Some("/usr/sbin:/sbin".into())))
    };
    if let Some(found) = found() {
        return Ok(found);
    }
    let remedy =
        format!("run `apt-get install {name}` as root, or set {variable} to the path of {program}");
    apt(&[name]).map_err(|told| format!("{told}\n{remedy}"))?;
    found().ok_or_else(|| format!("there is no {program} in PATH; {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_read_the_variables_that_are_set_here() {
        let terminal = include_str!("../../crates/shipmate/tests/cli/tmux.rs");
        assert!(terminal.contains(&format!("\"{}\"", TMUX.variable)));
        let kills = include_str!("../../crates/shipmate-testkit/src/kills/trace.rs");
        assert!(kills.contains(&format!("\"{}\"", STRACE.variable)));
        let hosts = include_str!("../../crates/shipmate/tests/hosts/sshd.rs");
        assert!(hosts.contains(&format!("\"{}\"", SSHD.variable)));
        let network = include_str!("../../crates/shipmate-testkit/src/network.rs");
        assert!(network.contains(&format!("\"{}\"", IP.variable)));
    }
}
