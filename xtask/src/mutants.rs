//! `cargo xtask mutants`: puts deliberate bugs into a copy and expects the tests to notice each.
//!
//! A test that cannot fail proves nothing. The simulator runs first, being the one that must hold
//! the guarantees, then the crate's own tests. The copy and its target folder stay under
//! `target/mutants`, so that a second run builds only the crate that changed.

mod rows;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::cargo::cargo;
use crate::tree::{self, Tree};
use table::MUTANTS;

/// Check that the tests notice deliberate bugs
///
/// Takes ten minutes on two cores, and the first run builds everything once more.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only mutants whose name contains this, or with --rows whose row
    #[arg(long, value_name = "NAME")]
    only: Option<String>,

    /// Instead: bugs that make rows of docs/seeds.md false, and the test of the row for each
    #[arg(long)]
    rows: bool,

    /// Name the mutants and do nothing
    #[arg(long)]
    list: bool,
}

/// A bug somebody could write.
#[derive(Debug)]
struct Mutant {
    name: &'static str,
    /// What must not hold with it.
    guarantee: &'static str,
    file: &'static str,
    find: &'static str,
    replace: &'static str,
}

/// How many seeds of the simulator a mutant has to get past.
const SEEDS: &str = "120";

#[derive(Debug)]
enum Fate {
    Caught {
        by: String,
    },
    Survived,
    /// It says nothing about the tests: the mutant itself is wrong.
    Unusable {
        why: String,
    },
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let wanted = |name: &str| args.only.as_ref().is_none_or(|part| name.contains(part));
    if args.rows {
        return if args.list {
            rows::list(wanted);
            Ok(())
        } else {
            rows::run(wanted)
        };
    }
    let chosen: Vec<&Mutant> = MUTANTS.iter().filter(|mutant| wanted(mutant.name)).collect();
    if args.list {
        for mutant in chosen {
            println!("{:<40} {:<14} {}", mutant.name, mutant.guarantee, mutant.file);
        }
        return Ok(());
    }
    if chosen.is_empty() {
        return Err("no mutant has that name; `cargo xtask mutants --list` names them".to_owned());
    }
    let copy = Copy::fresh(&Tree::read()?, &BTreeMap::new())?;
    println!("without a mutant everything must pass: building and testing the copy");
    if let Fate::Caught { by } | Fate::Unusable { why: by } = copy.whole_fate() {
        return Err(format!("the tests fail without any mutant: {by}"));
    }
    let mut wrong = 0;
    for mutant in &chosen {
        let start = Instant::now();
        let fate = copy.fate_of(mutant)?;
        let seconds = start.elapsed().as_secs();
        let told = match &fate {
            Fate::Caught { by } => format!("caught by {by}"),
            Fate::Survived => "SURVIVED".to_owned(),
            Fate::Unusable { why } => format!("UNUSABLE: {why}"),
        };
        wrong += usize::from(!matches!(fate, Fate::Caught { .. }));
        println!("{:<40} {:<14} {seconds:>4} s  {told}", mutant.name, mutant.guarantee);
    }
    if wrong > 0 {
        return Err(format!("{wrong} of {} mutants were not caught", chosen.len()));
    }
    println!("all {} mutants were caught", chosen.len());
    Ok(())
}

/// The workspace once more, where bugs do no harm.
#[derive(Debug)]
struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn place() -> PathBuf {
        tree::root().join("target/mutants")
    }

    /// Brings the copy up to date, touching only what differs: cargo looks at times. Files that
    /// were changed on purpose are there as they were changed.
    fn fresh(tree: &Tree, changed: &BTreeMap<String, String>) -> Result<Copy, String> {
        let place = Self::place();
        let copy = Copy { root: place.join("tree"), target: place.join("target") };
        for (path, text) in tree.texts() {
            let text = changed.get(path).map_or(text, String::as_str);
            let to = copy.root.join(path);
            if std::fs::read_to_string(&to).is_ok_and(|there| there == text) {
                continue;
            }
            write(&to, text)?;
        }
        for path in tree.others() {
            let (from, to) = (tree::root().join(path), copy.root.join(path));
            if !to.exists() {
                write(&to, "")?;
                std::fs::copy(&from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
            }
        }
        copy.remove_others(&copy.root, tree)?;
        Ok(copy)
    }

    fn remove_others(&self, folder: &Path, tree: &Tree) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                self.remove_others(&path, tree)?;
            } else if !tree.has(&path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy()) {
                std::fs::remove_file(&path).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn fate_of(&self, mutant: &Mutant) -> Result<Fate, String> {
        let path = self.root.join(mutant.file);
        let before = std::fs::read_to_string(&path)
            .map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        let found = before.matches(mutant.find).count();
        if found != 1 {
            return Ok(Fate::Unusable {
                why: format!("its text stands {found} times in the file"),
            });
        }
        write(&path, &before.replacen(mutant.find, mutant.replace, 1))?;
        let fate = if mutant.file.starts_with("crates/shipmate-log/") {
            self.fate_in_log()
        } else {
            self.fate_in_core()
        };
        write(&path, &before)?;
        Ok(fate)
    }

    fn whole_fate(&self) -> Fate {
        match self.fate_in_core() {
            Fate::Survived => self.fate_in_log(),
            fate => fate,
        }
    }

    fn fate_in_core(&self) -> Fate {
        let simulator = ["-p", "shipmate-testkit", "--bin", "simulate"];
        let (built, told) = self.cargo("build", &simulator, &[]);
        if !built {
            return Fate::Unusable { why: format!("it does not compile: {}", first_error(&told)) };
        }
        let (passed, told) = self.cargo("run", &simulator, &["--seeds", SEEDS]);
        if !passed {
            return Fate::Caught { by: format!("the simulator: {}", first_breach(&told)) };
        }
        self.fate_in_tests(&["-p", "shipmate-core"])
    }

    fn fate_in_log(&self) -> Fate {
        self.fate_in_tests(&["-p", "shipmate-log", "--test", "conformance"])
    }

    fn fate_in_tests(&self, which: &[&str]) -> Fate {
        let (built, told) = self.cargo("test", &[which, &["--no-run"][..]].concat(), &[]);
        if !built {
            return Fate::Unusable { why: format!("it does not compile: {}", first_error(&told)) };
        }
        let (passed, told) = self.cargo("test", which, &[]);
        if passed {
            return Fate::Survived;
        }
        Fate::Caught { by: failed_test(&told) }
    }

    /// Without optimisation: a mutant is built once and caught within a few seeds.
    fn cargo(&self, verb: &str, args: &[&str], after: &[&str]) -> (bool, String) {
        let mut command: Command = cargo([verb]);
        command.args(args).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        for crate_name in ["shipmate-core", "shipmate-testkit"] {
            command.arg("--config").arg(format!("profile.dev.package.{crate_name}.opt-level=0"));
        }
        command.arg("--").args(after).stdin(Stdio::null());
        match command.output() {
            Ok(output) => {
                let told = [output.stdout, output.stderr].concat();
                (output.status.success(), String::from_utf8_lossy(&told).into_owned())
            }
            Err(error) => (false, format!("error: cargo could not be started: {error}")),
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{} cannot be written: {e}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}

fn first_line_with<'a>(told: &'a str, part: &str) -> Option<&'a str> {
    told.lines().find(|line| line.contains(part)).map(str::trim)
}

fn first_error(told: &str) -> String {
    first_line_with(told, "error").unwrap_or("no message").to_owned()
}

/// `seed 7 breaks G1: …`, cut to what a table can show.
fn first_breach(told: &str) -> String {
    let line = first_line_with(told, " breaks ").unwrap_or("no message");
    line.chars().take(110).collect()
}

fn failed_test(told: &str) -> String {
    let line = first_line_with(told, "... FAILED").unwrap_or("a test that could not be named");
    line.trim_start_matches("test ").trim_end_matches(" ... FAILED").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_has_its_place() {
        let tree = Tree::read().unwrap();
        for mutant in MUTANTS {
            let text = tree.text(mutant.file).unwrap_or_default();
            let found = text.matches(mutant.find).count();
            assert_eq!(
                found, 1,
                "the text of mutant {} stands {found} times in {}; move the mutant along with it",
                mutant.name, mutant.file
            );
            assert_ne!(mutant.find, mutant.replace, "mutant {} changes nothing", mutant.name);
        }
    }

    #[test]
    fn mutants_have_names_of_their_own() {
        let mut names: Vec<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), MUTANTS.len());
    }

    #[test]
    fn what_caught_a_mutant_is_named() {
        let told =
            "seed 3\n   1 person …\nseed 3 breaks G1: task 2 was claimed while held\nreplay: …";
        assert_eq!(first_breach(told), "seed 3 breaks G1: task 2 was claimed while held");
        let told = "running 2 tests\ntest tasks::a ... ok\ntest tasks::b ... FAILED\n";
        assert_eq!(failed_test(told), "tasks::b");
    }
}
