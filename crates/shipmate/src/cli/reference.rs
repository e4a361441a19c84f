//! `shipmate reference`: the reference pages, written from what the program itself uses.
//!
//! Hidden, because it is for whoever builds shipmate: `cargo xtask docs` calls it, and a test
//! compares its pages with those in the repository.

mod commands;
#[cfg(test)]
mod json_page;

use std::path::PathBuf;

use crate::cli::exit::EXITS;
use crate::cli::failure::Failure;
use crate::config::{self, Config, DEFAULT_FILE};

/// Write the reference pages
#[derive(clap::Args, Debug)]
pub(crate) struct ReferenceArgs {
    /// The folder to write them to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &ReferenceArgs) -> Result<(), Failure> {
    let unwritable = |e: std::io::Error| {
        Failure::Storage(format!("{} cannot be written: {e}", args.out.display()))
    };
    std::fs::create_dir_all(&args.out).map_err(unwritable)?;
    for (name, text) in pages() {
        std::fs::write(args.out.join(name), text).map_err(unwritable)?;
    }
    Ok(())
}

fn pages() -> [(&'static str, String); 4] {
    [
        ("cli.md", commands::page()),
        ("config.md", config_page()),
        ("environment.md", environment_page()),
        ("exit-codes.md", exit_page()),
    ]
}

/// Every page says where it comes from, so that nobody edits the copy.
fn head(title: &str) -> String {
    format!("# {title}\n\nWritten by `cargo xtask docs` from the program itself; do not edit.\n\n")
}

fn config_page() -> String {
    let mut text = head("Configuration");
    text.push_str(
        "`shipmate config init` writes this file to `.shipmate/config.toml`; `shipmate config` \
         shows\nwhat is in force and from where. A setting that is unknown or out of its range is \
         an error\nthat names its line.\n\n```toml\n",
    );
    text.push_str(DEFAULT_FILE);
    text.push_str("```\n");
    text
}

/// Variables that are no settings.
const VARIABLES: [(&str, &str); 9] = [
    ("SHIPMATE_WORKSPACE", "The workspace, as `--workspace`."),
    ("SHIPMATE_TEAM", "The team to act on, as `--team`."),
    (
        "SHIPMATE_TOKEN",
        "The token of a teammate: every command acts as it. Stands above `--as`, so that an agent \
         that was given a token acts as nobody else.",
    ),
    (
        "SHIPMATE_RUNTIME_DIR",
        "A folder of yours for the coordinator's socket, where it cannot lie in the workspace. The \
         same for every command of a workspace.",
    ),
    (
        crate::trace::VARIABLE,
        "How much the coordinator and the supervisors of agents write to their `trace.log`: `off`, `error`, \
         `warn`, `info` (the default), `debug` or `trace`, or a list such as \
         `shipmate_coordinator=debug,async_nats=warn`.",
    ),
    ("XDG_CONFIG_HOME", "Where the user's `shipmate/config.toml` lies, else `~/.config`."),
    ("NO_COLOR", "Set and not empty: no colour."),
    ("TERM", "`dumb`: no colour."),
    ("TMPDIR", "Where `shipmate demo` plays unless it is told with `--keep`."),
];

fn environment_page() -> String {
    let mut text = head("Environment variables");
    text.push_str("| variable | meaning |\n|---|---|\n");
    for (name, meaning) in VARIABLES {
        text.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
    text.push_str(
        "\nEach setting of the [configuration](config.md) has a variable that stands above the \
         files:\n\n| variable | setting |\n|---|---|\n",
    );
    for (setting, _) in Config::default().entries() {
        text.push_str(&format!("| `{}` | `{setting}` |\n", config::variable(setting)));
    }
    text
}

fn exit_page() -> String {
    let mut text = head("Exit codes");
    text.push_str("| code | word | meaning |\n|---|---|---|\n");
    for (exit, word, meaning) in EXITS {
        text.push_str(&format!("| {} | {word} | {meaning} |\n", exit as u8));
    }
    text.push_str(
        "\nA refusal is printed on standard error as `refused: <fact>` with what to do about it on \
         the\nnext lines; any other failure as `error: <fact>`. With `--json` it is one line of \
         JSON there\nand nothing on standard output:\n\n```json\n\
         {\"refused\":{\"code\":\"AlreadyClaimed\",\"message\":\"task 1 is claimed by \
         alpha/ana@1\",\"remedy\":\"take another task\"}}\n\
         {\"failed\":{\"code\":\"Usage\",\"message\":\"plan.jsonl holds no task\",\"remedy\":\"…\"}}\n\
         ```\n\nThe `code` of a refusal is stable; its message may be worded better in a later \
         release. The\n`code` of a failure is the word of its exit code. A command line that \
         cannot be parsed is\nreported as text even with `--json`.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_ends_in_one_newline_and_no_line_in_a_space() {
        for (name, text) in pages() {
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
            let space = text.lines().position(|line| line.ends_with(' '));
            assert_eq!(space, None, "{name} has a line that ends in a space");
        }
    }
}
