//! The project's own commands: `cargo xtask test` and the rules it runs.
//!
//! One entry for a person and for CI, in Rust, so that a fresh machine needs no other tool than
//! cargo. A rule is a module whose check is a function of text: its tests prove that it can fail,
//! and one more test holds this repository to it, so plain `cargo test` catches what CI would.
//!
//! A subcommand is a module with `Args` and `run(&Args) -> Result<(), String>`, and one line in
//! [`Command`] and in `main`. The error is plain text because nothing branches on it: a person
//! reads it, so it says what is wrong and what to do.

mod bench;
mod browser;
mod cargo;
mod clients;
mod debian;
mod docs;
mod ignored;
mod kills;
mod layers;
mod memory;
mod mutants;
mod nats;
mod page;
mod page_files;
mod partitions;
mod rust_text;
mod seeds;
mod shots;
mod step;
mod test;
mod tidy;
mod tree;
mod violation;
mod wire_types;
mod word_table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands
#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    #[command(visible_alias = "ci")]
    Test(test::Args),
    Tidy(tidy::Args),
    Layers(layers::Args),
    Seeds(seeds::Args),
    Docs(docs::Args),
    NatsServer(nats::Args),
    Clients(clients::Args),
    Browser(browser::Args),
    Page(page::Args),
    Shots(shots::Args),
    Bench(bench::Args),
    Mutants(mutants::Args),
    Kills(kills::Args),
    Chaos(kills::ChaosArgs),
    Partitions(partitions::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Test(args) => test::run(&args),
        Command::Tidy(args) => tidy::run(&args),
        Command::Layers(args) => layers::run(&args),
        Command::Seeds(args) => seeds::run(&args),
        Command::Docs(args) => docs::run(&args),
        Command::NatsServer(args) => nats::run(&args),
        Command::Clients(args) => clients::run(&args),
        Command::Browser(args) => browser::run(&args),
        Command::Page(args) => page::run(&args),
        Command::Shots(args) => shots::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Mutants(args) => mutants::run(&args),
        Command::Kills(args) => kills::run(&args),
        Command::Chaos(args) => kills::run_chaos(&args),
        Command::Partitions(args) => partitions::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
