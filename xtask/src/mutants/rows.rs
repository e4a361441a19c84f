//! `cargo xtask mutants --rows`: for rows of docs/seeds.md, a bug that makes the row false, and the
//! test that has to notice it.
//!
//! All bugs are built at once, each behind a switch, so there is one build and not one for each.
//! Only a test that ran and failed has noticed a bug; one that cannot be built or found has not.

mod table;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use super::{Copy, first_error, write};
use crate::cargo::{cargo, has_subcommand};
use crate::clients;
use crate::step::Steps;
use crate::test;
use crate::tree::Tree;
use table::ROWS;

/// A bug that makes a row of docs/seeds.md false.
#[derive(Debug)]
struct RowMutant {
    row: &'static str,
    file: &'static str,
    /// An expression; its text stands once in the file.
    find: &'static str,
    /// Another of its type.
    replace: &'static str,
    /// One of the tests that the row names, as it names them.
    test: &'static str,
}

/// What nextest ends with when a test ran and failed.
const TESTS_FAILED: i32 = 100;

pub(super) fn list(wanted: impl Fn(&str) -> bool) {
    for mutant in ROWS.iter().filter(|mutant| wanted(mutant.row)) {
        println!("{:<8} {:<56} {}", mutant.row, mutant.file, mutant.test);
    }
}

pub(super) fn run(wanted: impl Fn(&str) -> bool) -> Result<(), String> {
    if !has_subcommand("nextest") {
        return Err("cargo-nextest is needed: cargo install cargo-nextest".to_owned());
    }
    let chosen: Vec<(usize, &RowMutant)> =
        ROWS.iter().enumerate().filter(|(_, mutant)| wanted(mutant.row)).collect();
    if chosen.is_empty() {
        return Err("no mutant has that row; `cargo xtask mutants --rows --list` names them".into());
    }
    let tree = Tree::read()?;
    let switch = Copy::place().join("switch");
    let copy = Copy::fresh(&tree, &with_bugs(&tree, &switch.display().to_string())?)?;
    let mut steps = Steps::default();
    let programs = test::programs(&mut steps, &clients::ALWAYS);
    steps.finish()?;
    let switched = Switched { copy, switch, programs };
    println!("with every bug switched off the tests must pass: building and testing the copy");
    let every = chosen.iter().map(|(_, mutant)| selection(mutant.test));
    let every = every.collect::<Vec<_>>().join(" | ");
    match switched.tests(None, &every)? {
        Some(0) => {}
        code => return Err(format!("they do not: {}", ended(code))),
    }
    let mut missed = 0;
    for &(number, mutant) in &chosen {
        let told = match switched.tests(Some(number), &selection(mutant.test))? {
            Some(TESTS_FAILED) => "noticed by",
            Some(0) => "SURVIVED",
            _ => "NOT RUN",
        };
        missed += usize::from(told != "noticed by");
        println!("{:<8} {told} {}", mutant.row, mutant.test);
    }
    if missed > 0 {
        return Err(format!("{missed} of {} bugs were not noticed", chosen.len()));
    }
    println!("all {} bugs were noticed", chosen.len());
    Ok(())
}

fn ended(code: Option<i32>) -> String {
    code.map_or("nextest was ended".to_owned(), |code| format!("nextest ended with {code}"))
}

/// The copy with every bug in it.
#[derive(Debug)]
struct Switched {
    copy: Copy,
    /// A file with the number of the bug that is on.
    switch: PathBuf,
    programs: Vec<(&'static str, PathBuf)>,
}

impl Switched {
    /// The exit status of the chosen tests, with this bug or with none.
    fn tests(&self, bug: Option<usize>, which: &str) -> Result<Option<i32>, String> {
        write(&self.switch, &bug.map(|number| number.to_string()).unwrap_or_default())?;
        let mut command = cargo(["nextest", "run", "--workspace", "--no-fail-fast", "-E", which]);
        command.current_dir(&self.copy.root).env("CARGO_TARGET_DIR", &self.copy.target);
        command.envs(self.programs.iter().map(|(variable, path)| (variable, path)));
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|e| format!("cargo could not be started: {e}"))?;
        let told = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            code @ (Some(0) | Some(TESTS_FAILED)) => {
                if bug.is_none() && code != Some(0) {
                    println!("{told}");
                }
                Ok(code)
            }
            code => Err(format!("{}: {}", ended(code), first_error(&told))),
        }
    }
}

/// The files that differ from the repository's, with each bug behind its number.
fn with_bugs(tree: &Tree, switch: &str) -> Result<BTreeMap<String, String>, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (number, mutant) in ROWS.iter().enumerate() {
        let there = tree.text(mutant.file).unwrap_or_default();
        let text = files.entry(mutant.file.to_owned()).or_insert_with(|| there.to_owned());
        if text.matches(mutant.find).count() != 1 {
            return Err(format!("the text of {} does not stand once in its file", mutant.row));
        }
        let both = format!(
            "(if crate::mutated({number}) {{ {} }} else {{ {} }})",
            mutant.replace, mutant.find
        );
        *text = text.replacen(mutant.find, &both, 1);
        let root = crate_root(tree, mutant.file);
        let there = tree.text(&root).unwrap_or_default();
        files.entry(root).or_insert_with(|| there.to_owned());
    }
    for (file, text) in &mut files {
        if *file == crate_root(tree, file) {
            text.push_str(&switch_of(switch));
        }
    }
    Ok(files)
}

/// `crates/shipmate-core/src/lib.rs` of a file in it.
fn crate_root(tree: &Tree, file: &str) -> String {
    let source = file.split_inclusive("/src/").next().unwrap_or(file);
    let library = format!("{source}lib.rs");
    if tree.has(&library) { library } else { format!("{source}main.rs") }
}

fn switch_of(path: &str) -> String {
    format!(
        "
pub(crate) fn mutated(number: usize) -> bool {{
    static ON: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
    let read = || std::fs::read_to_string({path:?}).ok()?.trim().parse().ok();
    *ON.get_or_init(read) == Some(number)
}}
"
    )
}

/// nextest's words for `shipmate/tests/team/trees.rs::a_test`.
fn selection(test: &str) -> String {
    let (file, name) = test.split_once("::").unwrap_or((test, ""));
    let mut parts = file.split('/');
    let package = parts.next().unwrap_or_default();
    let binary = match (parts.next(), parts.next()) {
        (Some("tests"), Some(binary)) => {
            format!(" & binary(={})", binary.trim_end_matches(".rs"))
        }
        _ => String::new(),
    };
    format!("(package(={package}){binary} & test(/(^|::){name}$/))")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds;

    #[test]
    fn every_bug_has_its_place_and_its_test_is_one_that_the_row_names() {
        let tree = Tree::read().unwrap();
        with_bugs(&tree, "switch").unwrap();
        for mutant in ROWS {
            let named = seeds::tests_of(&tree, mutant.row);
            assert!(
                named.iter().any(|test| test == mutant.test),
                "{} does not name {}; it names {named:?}",
                mutant.row,
                mutant.test
            );
            assert_ne!(mutant.find, mutant.replace, "{} changes nothing", mutant.row);
        }
    }

    #[test]
    fn every_row_has_one_bug() {
        let mut rows: Vec<&str> = ROWS.iter().map(|mutant| mutant.row).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), ROWS.len());
    }

    #[test]
    fn a_test_is_selected_by_its_package_its_binary_and_its_name() {
        assert_eq!(
            selection("shipmate/tests/team/trees.rs::it_holds"),
            "(package(=shipmate) & binary(=team) & test(/(^|::)it_holds$/))"
        );
        assert_eq!(
            selection("shipmate/tests/coordinator.rs::it_holds"),
            "(package(=shipmate) & binary(=coordinator) & test(/(^|::)it_holds$/))"
        );
        assert_eq!(
            selection("shipmate-core/src/task.rs::it_holds"),
            "(package(=shipmate-core) & test(/(^|::)it_holds$/))"
        );
    }
}
