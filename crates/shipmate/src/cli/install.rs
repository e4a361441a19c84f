//! `shipmate install`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen};
use crate::cli::session::{self, Globals};
use crate::install::{self, Change, Program, Scope, Site, Unfit, Way};

/// Give an agent's program the team's tools and mail
///
/// Adds the MCP server `shipmate mcp` to its settings, and hooks that bring the mail of a session's
/// seat to it: `shipmate inbox --hook EVENT` when a session starts, with a prompt, after a tool, and
/// before it stops. The change is shown first. Everything else in the files stays as it is; --undo
/// takes back what was added, whatever was edited meanwhile.
///
/// Files of claude: .mcp.json and .claude/settings.local.json; for the user ~/.claude.json and
/// ~/.claude/settings.json. Files of codex: .codex/config.toml and .codex/hooks.json; for the user
/// those of ~/.codex. Claude asks before it uses a project's server for the first time, Codex before
/// it runs new hooks.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate install claude
  shipmate install codex --scope user --yes
  shipmate install claude --undo")]
pub(crate) struct InstallArgs {
    #[arg(value_enum)]
    program: Program,

    /// Take back what was added
    #[arg(long)]
    undo: bool,

    /// Write without asking
    #[arg(long)]
    yes: bool,

    /// Whose settings
    #[arg(long, value_enum, default_value_t = Scope::Project)]
    scope: Scope,
}

pub(crate) fn run(args: &InstallArgs, globals: &Globals) -> Result<(), Failure> {
    let place = session::place(globals.workspace.as_deref())?;
    let screen = Screen::new(globals.json);
    let home = std::env::var_os("HOME").map(PathBuf::from).ok_or_else(|| {
        Failure::Usage("HOME is not set\n  it says where your settings are".to_owned())
    })?;
    let backups = match args.scope {
        Scope::Project => place.state().join("install"),
        Scope::User => match std::env::var_os("XDG_STATE_HOME") {
            Some(state) => PathBuf::from(state).join("shipmate/install"),
            None => home.join(".local/state/shipmate/install"),
        },
    };
    let way = if args.undo { Way::Undo } else { Way::Install };
    let site = Site { workspace: place.workspace, home, command: own_command()?, backups };
    let changes = install::changes(args.program, args.scope, way, &site).map_err(unfit)?;
    if changes.is_empty() {
        return match screen.json {
            true => screen.json(&json!({ "changed": [] })),
            false => screen.line("nothing to change: it is so already"),
        };
    }
    if !screen.json {
        for change in &changes {
            screen.print(&shown(change, &screen))?;
        }
    }
    if !args.yes && !agreed(&screen)? {
        return screen.line("nothing was changed");
    }
    let mut changed = Vec::new();
    for change in &changes {
        let kept = install::write(change, way, &site.backups).map_err(unfit)?;
        if let (false, Some(kept)) = (screen.json, &kept) {
            screen.line(&format!("{}: as it was: {}", change.path.display(), kept.display()))?;
        }
        changed.push(json!({ "file": change.path, "backup": kept }));
    }
    match screen.json {
        true => screen.json(&json!({ "changed": changed })),
        false => screen.line(if args.undo { "taken back" } else { "installed" }),
    }
}

fn unfit(unfit: Unfit) -> Failure {
    Failure::Usage(unfit.0)
}

/// `shipmate` where that is this program, so that a project's settings fit every machine.
fn own_command() -> Result<String, Failure> {
    let own = std::env::current_exe()
        .map_err(|e| Failure::Storage(format!("the path of this program is unknown: {e}")))?;
    let same =
        |folder: &PathBuf| folder.join("shipmate").canonicalize().ok() == own.canonicalize().ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = std::env::split_paths(&path).find(|folder| folder.join("shipmate").is_file());
    match first.filter(same) {
        Some(_) => Ok("shipmate".to_owned()),
        None => own.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::Usage(format!(
                "the path {} is no text\n  put shipmate into a folder of PATH",
                own.display()
            ))
        }),
    }
}

fn shown(change: &Change, screen: &Screen) -> String {
    let name = |path: &Path, there: bool| match there {
        true => path.display().to_string(),
        false => "/dev/null".to_owned(),
    };
    let mut text = format!(
        "--- {}\n+++ {}\n",
        name(&change.path, change.before.is_some()),
        name(&change.path, change.after.is_some())
    );
    let before = change.before.as_deref().unwrap_or_default();
    let after = change.after.as_deref().unwrap_or_default();
    for line in install::difference(before, after).lines() {
        let line = match line.as_bytes().first() {
            Some(b'+') => screen.paint(Paint::Good, line),
            Some(b'-') => screen.paint(Paint::Bad, line),
            _ => line.to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn agreed(screen: &Screen) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "nobody is there to agree\n  look at the change above, then say --yes".to_owned(),
        ));
    }
    screen.print("Write this? [y/N] ")?;
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|e| Failure::Usage(format!("standard input cannot be read: {e}")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
