//! A real Chromium for the tests of the page, the rules of accessibility, and a type checker.
//!
//! The browser is Debian's package, because that is one that gets its security fixes with the
//! machine; it is installed where it is missing and left alone where it is there. A page without a
//! font has no text to look at, so a font comes with it. axe-core and TypeScript come through npm
//! at pinned versions into the user's cache, and are used by tests and checks alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{cache, find_in_path, installed, is_executable, launcher, node};
use crate::nats::quietly;

/// What the tests read. Set by hand, each wins over what is found or fetched.
const CHROMIUM: &str = "SHIPMATE_CHROMIUM";
const AXE: &str = "SHIPMATE_AXE";

/// The same for everybody: what a test proves, it proves of these versions.
const AXE_VERSION: &str = "4.14.0";
const TYPESCRIPT_VERSION: &str = "7.0.2";

const FONTS: &str = "/usr/share/fonts";

/// Install Chromium and axe-core for the tests of the page and print where they are
///
/// For a test run by hand: env $(cargo xtask browser) cargo nextest run -p shipmate --test web
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<(), String> {
    for (variable, path) in install()? {
        println!("{variable}={}", path.display());
    }
    Ok(())
}

/// Variables and paths of what the tests of the page need; installs what is missing.
pub(crate) fn install() -> Result<Vec<(&'static str, PathBuf)>, String> {
    Ok(vec![(CHROMIUM, chromium()?), (AXE, axe()?)])
}

/// A type checker that reads JavaScript.
pub(crate) fn tsc() -> Result<PathBuf, String> {
    let folder = cache()?.join(format!("typescript-{TYPESCRIPT_VERSION}"));
    let node = node()?;
    installed(&folder, &format!("typescript@{TYPESCRIPT_VERSION}"))?;
    launcher(&folder.join("tsc"), &node, &folder.join("node_modules/.bin/tsc"))
}

fn axe() -> Result<PathBuf, String> {
    if let Some(given) = given(AXE) {
        return if given.is_file() { Ok(given) } else { Err(wrong(AXE, &given, "file")) };
    }
    let folder = cache()?.join(format!("axe-core-{AXE_VERSION}"));
    installed(&folder, &format!("axe-core@{AXE_VERSION}"))?;
    Ok(folder.join("node_modules/axe-core/axe.min.js"))
}

fn chromium() -> Result<PathBuf, String> {
    if let Some(given) = given(CHROMIUM) {
        let fits = is_executable(&given);
        return if fits { Ok(given) } else { Err(wrong(CHROMIUM, &given, "program")) };
    }
    let found = || find_in_path("chromium", std::env::var_os("PATH"));
    let missing = missing(found().is_some(), has_file(Path::new(FONTS)));
    if !missing.is_empty() {
        apt(&missing).map_err(|told| format!("{told}\n{}", remedy(&missing)))?;
    }
    found().ok_or_else(|| format!("there is no chromium in PATH; {}", remedy(&missing)))
}

fn given(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from)
}

fn wrong(variable: &str, given: &Path, kind: &str) -> String {
    format!("{variable} is set, but {} is no {kind}; correct or unset it", given.display())
}

/// The packages that the machine lacks.
fn missing(has_browser: bool, has_font: bool) -> Vec<&'static str> {
    let browser = (!has_browser).then_some("chromium");
    browser.into_iter().chain((!has_font).then_some("fonts-dejavu-core")).collect()
}

/// Whether a file is anywhere below.
fn has_file(folder: &Path) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        !is_folder || has_file(&entry.path())
    })
}

/// Installs Debian's packages, as root or as somebody who may become it without a password.
pub(crate) fn apt(packages: &[&str]) -> Result<(), String> {
    let apt = |words: &[&str]| {
        let mut command = if is_root() {
            Command::new("apt-get")
        } else {
            let mut sudo = Command::new("sudo");
            sudo.args(["-n", "apt-get"]);
            sudo
        };
        quietly(command.env("DEBIAN_FRONTEND", "noninteractive").args(words))
    };
    eprintln!("installing {}", packages.join(" "));
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    // The lists of a fresh machine are empty or old; with good ones the first try is enough.
    apt(&install)
        .or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
        .map_err(|told| format!("apt-get could not install it:\n{told}"))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn remedy(packages: &[&str]) -> String {
    format!(
        "run `apt-get install {}` as root, or set {CHROMIUM} to the path of a Chromium",
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_installed() {
        assert_eq!(missing(true, true), [""; 0]);
        assert_eq!(missing(false, true), ["chromium"]);
        assert_eq!(missing(true, false), ["fonts-dejavu-core"]);
        assert_eq!(missing(false, false), ["chromium", "fonts-dejavu-core"]);
    }

    #[test]
    fn who_may_not_install_is_told_what_to_do() {
        let told = remedy(&["chromium"]);
        assert!(told.starts_with("run `apt-get install chromium` as root, or set"), "{told}");
        let told = wrong(CHROMIUM, Path::new("/nowhere"), "program");
        assert!(told.contains("/nowhere is no program; correct or unset it"), "{told}");
    }

    #[test]
    fn tests_read_the_variables_that_are_set_here() {
        let driver = include_str!("../../crates/shipmate-testkit/src/browser.rs");
        for variable in [CHROMIUM, AXE] {
            assert!(driver.contains(&format!("\"{variable}\"")), "{variable}");
        }
    }
}
