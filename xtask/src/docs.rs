//! What is written down once in the code and copied for readers: the reference pages, as the binary
//! itself prints them, and the page's files that come from Rust.
//!
//! Commands, exit codes, environment and settings are written down once, in the code that has
//! them; `docs/reference` is their copy for readers. The folder belongs to this command: a page that
//! the binary no longer writes is removed. [`BY_HAND`] is the one page of it that is written there,
//! and held to the program by a test of the binary.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cargo::{cargo, output, run as run_command};
use crate::page_files;
use crate::tree;
use crate::violation::counted;

const FOLDER: &str = "docs/reference";
const BY_HAND: &str = "json.md";

/// Write the reference pages and the generated files of the web page, or check that they are up to date
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Change nothing, and fail if a file differs from what would be written
    #[arg(long)]
    check: bool,

    /// Only the files of the web page, which need no build of the binary
    #[arg(long)]
    web: bool,
}

/// File name to text.
type Pages = BTreeMap<String, String>;

pub(crate) fn run(args: &Args) -> Result<(), String> {
    match (args.check, args.web) {
        (true, true) => return page_files::check(),
        (true, false) => return check(),
        (false, true) => return page_files::write(),
        (false, false) => page_files::write()?,
    }
    let folder = tree::root().join(FOLDER);
    let (now, wanted) = (read(&folder)?, generate()?);
    fs::create_dir_all(&folder)
        .map_err(|e| format!("{} could not be made: {e}", folder.display()))?;
    let changes = compare(&now, &wanted);
    for (page, change) in &changes {
        let path = folder.join(page);
        match wanted.get(page) {
            Some(text) => fs::write(&path, text),
            None => fs::remove_file(&path),
        }
        .map_err(|e| format!("{} could not be changed: {e}", path.display()))?;
        println!("{FOLDER}/{page}: {change}");
    }
    println!("docs: {} of {} changed", changes.len(), counted(wanted.len(), "page"));
    Ok(())
}

pub(crate) fn check() -> Result<(), String> {
    page_files::check()?;
    let wanted = generate()?;
    let changes = compare(&read(&tree::root().join(FOLDER))?, &wanted);
    if changes.is_empty() {
        println!("docs: {} up to date", counted(wanted.len(), "page"));
        return Ok(());
    }
    let lines = changes.iter().map(|(page, change)| {
        format!("\n{FOLDER}/{page}:1: the page is to be {change}; run `cargo xtask docs`")
    });
    Err(format!("{} not up to date:{}", counted(changes.len(), "page"), lines.collect::<String>()))
}

/// Each page that differs, with what has to happen to it.
fn compare(now: &Pages, wanted: &Pages) -> Vec<(String, &'static str)> {
    let mut changes = Vec::new();
    for (page, text) in wanted {
        match now.get(page) {
            None => changes.push((page.clone(), "added")),
            Some(old) if old != text => changes.push((page.clone(), "changed")),
            Some(_) => {}
        }
    }
    let stale = now.keys().filter(|page| !wanted.contains_key(*page) && *page != BY_HAND);
    changes.extend(stale.map(|page| (page.clone(), "removed")));
    changes
}

/// Has the binary of this workspace write its pages.
fn generate() -> Result<Pages, String> {
    let binary = build()?;
    // Beside the binary, not in the system's temporary folder: it is build output.
    let folder = binary.with_file_name(format!("reference.{}", std::process::id()));
    let mut command = std::process::Command::new(&binary);
    command.arg("reference").arg("--out").arg(&folder).current_dir(tree::root());
    let pages = run_command(&mut command).and_then(|()| read(&folder));
    let _ = fs::remove_dir_all(&folder);
    let pages = pages?;
    if pages.is_empty() {
        return Err("`shipmate reference --out` wrote no page".to_owned());
    }
    Ok(pages)
}

/// Builds the binary and returns its path, as cargo tells it: a target folder can be anywhere.
///
/// The whole workspace is named, and a test, so that dependencies have the features they have where
/// the tests are built: without a test cargo leaves out those that tests alone ask for, and builds nearly all
/// of it a second time.
fn build() -> Result<PathBuf, String> {
    let args = ["build", "--quiet", "--workspace", "--bin", "shipmate", "--test", "kills"];
    let mut command = cargo(args);
    command.arg("--message-format=json-render-diagnostics");
    executable(&output(&mut command)?)
        .ok_or_else(|| "cargo built no binary named shipmate".to_owned())
}

fn executable(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|m| m["reason"] == "compiler-artifact" && m["target"]["name"] == "shipmate")
        .find_map(|m| m["executable"].as_str().map(PathBuf::from))
}

/// The pages in a folder; none if it does not exist.
fn read(folder: &Path) -> Result<Pages, String> {
    let mut pages = Pages::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(pages) };
    for entry in entries {
        let path =
            entry.map_err(|e| format!("{} could not be read: {e}", folder.display()))?.path();
        if path.extension().is_none_or(|e| e != "md") {
            continue;
        }
        let text = fs::read_to_string(&path)
            .map_err(|e| format!("{} could not be read: {e}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        pages.insert(name, text);
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages<const N: usize>(pages: [(&str, &str); N]) -> Pages {
        pages.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
    }

    #[test]
    fn the_reference_is_what_the_binary_prints() {
        let result = check();
        assert!(result.is_ok(), "{}", result.unwrap_err());
    }

    #[test]
    fn a_page_that_differs_is_named_with_what_happens_to_it() {
        let now = pages([("cli.md", "a"), ("exit.md", "b"), ("old.md", "c"), (BY_HAND, "d")]);
        let wanted = pages([("cli.md", "a"), ("exit.md", "B"), ("new.md", "d")]);
        assert_eq!(
            compare(&now, &wanted),
            [
                ("exit.md".to_owned(), "changed"),
                ("new.md".to_owned(), "added"),
                ("old.md".to_owned(), "removed"),
            ]
        );
        assert_eq!(compare(&wanted, &wanted), []);
    }

    #[test]
    fn the_binary_is_found_in_what_cargo_tells() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"name":"serde"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"shipmate"},"executable":"/t/debug/shipmate"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Some("/t/debug/shipmate".into()));
        assert_eq!(executable(""), None);
    }
}
