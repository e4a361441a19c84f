//! `cargo xtask shots`: pictures of every screen, for the manual.
//!
//! They are taken by a test that always runs, so they can always be taken; here they are kept.

use crate::browser;
use crate::cargo::{cargo, run as run_command};
use crate::tree;

/// Take pictures of every screen into docs/screens, in light, in dark and on a phone
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

const TEST: &str = "a_picture_of_every_screen_is_taken_in_every_look";

pub(crate) fn run(_: &Args) -> Result<(), String> {
    let folder = tree::root().join("docs/screens");
    std::fs::create_dir_all(&folder)
        .map_err(|e| format!("{} could not be made: {e}", folder.display()))?;
    let mut test = cargo(["test", "--package", "shipmate", "--test", "web", TEST]);
    run_command(test.envs(browser::install()?).env("SHIPMATE_SHOTS", &folder))?;
    println!("the pictures are in {}; look at them", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_test_that_takes_them_is_called_so() {
        let tests = include_str!("../../crates/shipmate/tests/web/overview.rs");
        assert!(tests.contains(&format!("fn {}()", super::TEST)));
        assert!(tests.contains("\"SHIPMATE_SHOTS\""));
    }
}
