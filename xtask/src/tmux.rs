//! A real terminal for the tests of the screen: tmux, Debian's package, installed where it is missing.

use std::path::PathBuf;

use crate::browser::apt;
use crate::clients::{find_in_path, is_executable};

/// What the tests read. Set by hand, it wins over what is found.
pub(crate) const VARIABLE: &str = "SHIPMATE_TMUX";

/// The path of a tmux; installs it where there is none.
pub(crate) fn install() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let given = PathBuf::from(given);
        return match is_executable(&given) {
            true => Ok(given),
            false => Err(format!(
                "{VARIABLE} is set, but {} is no program; correct or unset it",
                given.display()
            )),
        };
    }
    let found = || find_in_path("tmux", std::env::var_os("PATH"));
    if let Some(tmux) = found() {
        return Ok(tmux);
    }
    let remedy =
        format!("run `apt-get install tmux` as root, or set {VARIABLE} to the path of a tmux");
    apt(&["tmux"]).map_err(|told| format!("{told}\n{remedy}"))?;
    found().ok_or_else(|| format!("there is no tmux in PATH; {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_read_the_variable_that_is_set_here() {
        let driver = include_str!("../../crates/shipmate/tests/cli/tmux.rs");
        assert!(driver.contains(&format!("\"{VARIABLE}\"")));
    }
}
