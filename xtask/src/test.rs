//! `cargo xtask test`: everything that has to hold, in one command.
//!
//! The README names it and CI runs it, so there is one answer to "does it work". Cheap steps come
//! first. Every test runs or is named with the reason why it did not.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{cargo, has_subcommand, output, run as run_command, run_seeing, shown};
use crate::debian::{IP, SSHD, STRACE, TMUX};
use crate::ignored::{self, Ignored};
use crate::memory::with_tmp_in_memory;
use crate::step::Steps;
use crate::tree::Tree;
use crate::{browser, clients, debian, docs, layers, nats, page, seeds, tidy};

/// Run the tests and every rule of the project
///
/// The first run fetches a nats-server, Claude Code, Codex, TypeScript and axe-core into the user's
/// cache folder and installs Debian's chromium where there is none; later runs need no network. With
/// a FILTER only the tests whose name contains it, or of the test binary that is called so, are run,
/// and nothing else. The FILTER `clients` is special: it installs the heavier agent programs too and
/// runs the tests that need them, which every other run leaves out; a further FILTER selects among
/// those.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Run only tests whose name contains one of these
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// Leave out fmt, clippy and rustdoc
    #[arg(long)]
    no_lint: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let mut steps = Steps::default();
    let everything = args.filters.is_empty();
    let lint = everything && !args.no_lint;

    if lint {
        steps.run("fmt", || run_command(&mut cargo(["fmt", "--all", "--check"])));
    }
    if everything {
        steps.run("tidy", || tidy::run(&tidy::Args {}));
        steps.run("layers", || layers::run(&layers::Args {}));
        steps.run("seeds", || seeds::run(&seeds::Args { strict: true }));
        steps.run("page", page::rules);
        steps.run("page tests", page::unit_tests);
    }
    if lint {
        steps.run("clippy", clippy);
    } else if everything {
        steps.not_run("fmt, clippy, rustdoc", "--no-lint");
    }

    let with_clients = args.filters.first().is_some_and(|filter| filter == CLIENTS);
    let agents: &[&str] = if with_clients { &[] } else { &clients::ALWAYS };
    let programs = programs(&mut steps, agents);
    let tests = Tests { programs, filters: &args.filters };
    if with_clients {
        steps.run("tests with agent programs", || tests.with_clients(&args.filters[1..]));
    } else if has_subcommand("nextest") {
        steps.run("tests", || tests.with_nextest());
    } else {
        println!("\ncargo-nextest is not installed, so cargo test runs the tests");
        steps.run("tests", || tests.with_libtest(&["--lib", "--bins", "--tests", "--examples"]));
    }

    if everything {
        steps.run("doc tests", || tests.with_libtest(&["--doc"]));
        if lint {
            steps.run("rustdoc", rustdoc);
        }
        steps.run("reference pages", docs::check);
        if has_subcommand("deny") {
            let own = ["deny", "check", "bans", "licenses", "sources"];
            steps.run("deny", || run_command(&mut cargo(own)));
            match run_command(&mut cargo(["deny", "fetch", "db"])) {
                Ok(()) => {
                    let check = ["deny", "--offline", "check", "advisories"];
                    steps.run("advisories", || run_command(&mut cargo(check)));
                }
                Err(_) => steps.not_run("advisories", "their database cannot be fetched from here"),
            }
        } else {
            let reason = "cargo-deny is not installed (cargo install cargo-deny)";
            steps.not_run("deny", reason);
            steps.not_run("advisories", reason);
        }
    } else {
        steps.not_run("rules, page tests and doc tests", "a FILTER selects among the other tests");
    }
    steps.finish()
}

/// Installs the programs that tests need, and tells by which variable a test finds each.
pub(crate) fn programs(steps: &mut Steps, agents: &[&str]) -> Vec<(&'static str, PathBuf)> {
    let mut programs = Vec::new();
    steps.run("nats-server", || {
        programs.push((nats::VARIABLE, nats::server()?));
        Ok(())
    });
    steps.run("agent programs", || {
        programs.extend(clients::install(agents)?);
        Ok(())
    });
    steps.run("browser", || {
        programs.extend(browser::install()?);
        Ok(())
    });
    steps.run("tmux, strace", || {
        for package in [TMUX, STRACE, SSHD, IP] {
            programs.push((package.variable, debian::install(package)?));
        }
        Ok(())
    });
    for (variable, path) in &programs {
        println!("{variable}={}", path.display());
    }
    programs
}

/// Warnings are denied by an argument, not by RUSTFLAGS: those would build everything twice.
fn clippy() -> Result<(), String> {
    run_command(&mut cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn rustdoc() -> Result<(), String> {
    let mut flags = std::env::var_os("RUSTDOCFLAGS").unwrap_or_default();
    flags.push(" -D warnings");
    run_command(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", flags))
}

/// The FILTER for tests that need the heavier programs. They are in a test binary of this name or
/// in a module of this name, and marked `#[ignore = "needs …: cargo xtask test clients"]`.
const CLIENTS: &str = "clients";

struct Tests<'a> {
    /// Variables that tell the tests where programs are.
    programs: Vec<(&'static str, PathBuf)>,
    filters: &'a [String],
}

impl Tests<'_> {
    fn cargo(&self, args: &[&str]) -> Command {
        let mut command = cargo(args);
        command.envs(self.programs.iter().map(|(variable, path)| (variable, path)));
        command
    }

    fn with_clients(&self, filters: &[String]) -> Result<(), String> {
        if !has_subcommand("nextest") {
            let mut binary = self.cargo(&["test", "--workspace", "--test", CLIENTS]);
            run_command(binary.args(["--", "--ignored"]).args(filters))?;
            let mut modules = self.cargo(&["test", "--workspace", "--lib", "--bins", "--tests"]);
            return run_command(modules.args(["--", "--ignored", &format!("{CLIENTS}::")]));
        }
        let mut command = self.cargo(&["nextest", "run", "--workspace", "--run-ignored", "only"]);
        command.args(["--profile", profile(std::env::var_os("CI"))]);
        command.args(["-E", &format!("binary({CLIENTS}) | test(/(^|::){CLIENTS}::/)")]);
        run_command(command.args(filters))
    }

    fn with_nextest(&self) -> Result<(), String> {
        let mut command = self.cargo(&["nextest", "run", "--workspace"]);
        command.args(["--profile", profile(std::env::var_os("CI"))]);
        let tree = Tree::read()?;
        for filter in self.filters {
            command.args(["-E", &selection(&tree, filter)]);
        }
        let failed = format!("{} failed", shown(&command));
        let result = run_command(&mut with_tmp_in_memory(command)).map_err(|_| failed);
        if !self.filters.is_empty() {
            return result;
        }
        // A build that failed has no list of tests, and its own message is the one to read.
        result?;

        let mut list = self.cargo(&["nextest", "list", "--workspace", "--run-ignored", "only"]);
        list.args(["--message-format", "json", "--cargo-quiet"]);
        let left_out = ignored::from_nextest(&output(&mut list)?, &reasons()?)?;
        ignored::account(&left_out)
    }

    /// `cargo test` for the targets that are named, which says itself what it left out and why.
    fn with_libtest(&self, targets: &[&str]) -> Result<(), String> {
        let mut command = self.cargo(&["test", "--workspace", "--no-fail-fast"]);
        command.args(targets).arg("--").args(self.filters);
        let mut left_out = Vec::new();
        let failed = format!("{} failed", shown(&command));
        let mut command = with_tmp_in_memory(command);
        let result = run_seeing(&mut command, |line| left_out.extend(ignored::from_libtest(line)));
        result.map_err(|_| failed).and(ignored::account(&left_out))
    }
}

/// nextest's words for the tests that a FILTER selects. It refuses the name of a binary that is
/// not there.
fn selection(tree: &Tree, filter: &str) -> String {
    let ends = [format!("/tests/{filter}.rs"), format!("/tests/{filter}/main.rs")];
    let is_binary = tree.texts().any(|(path, _)| ends.iter().any(|end| path.ends_with(end)));
    let tests = format!("test({filter})");
    if is_binary { format!("{tests} | binary(={filter})") } else { tests }
}

fn profile(ci: Option<OsString>) -> &'static str {
    if ci.is_some_and(|v| !v.is_empty() && v != "false" && v != "0") { "ci" } else { "default" }
}

/// Every `#[ignore]` of the repository.
fn reasons() -> Result<Vec<Ignored>, String> {
    let tree = Tree::read()?;
    let sources = tree.texts().filter(|(path, _)| path.ends_with(".rs"));
    Ok(sources.flat_map(|(_, text)| ignored::scan(text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_selects_tests_by_name_and_a_binary_where_there_is_one() {
        let tree = Tree::read().unwrap();
        assert_eq!(selection(&tree, "claim"), "test(claim)");
        assert_eq!(selection(&tree, "coordinator"), "test(coordinator) | binary(=coordinator)");
        assert_eq!(selection(&tree, "scenario"), "test(scenario) | binary(=scenario)");
    }

    #[test]
    fn the_profile_follows_the_variable_that_ci_sets() {
        assert_eq!(profile(None), "default");
        assert_eq!(profile(Some("".into())), "default");
        assert_eq!(profile(Some("false".into())), "default");
        assert_eq!(profile(Some("true".into())), "ci");
    }
}
