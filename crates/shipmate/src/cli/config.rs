//! `shipmate config`: what is in force, from where, and the file to change it with.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::socket::Patience;
use shipmate_protocol::{Client, Place, verbs};

use crate::cli::failure::Failure;
use crate::cli::screen::{Paint, Screen, plain};
use crate::cli::session::{Globals, place};
use crate::cli::table::{Column, Table, owned};
use crate::config::{self, DEFAULT_FILE, Loaded};

/// Show the settings in force, or make a file to change them
///
/// Settings come from the defaults, ~/.config/shipmate/config.toml, .shipmate/config.toml of the
/// workspace and the environment; the later ones win.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate config                 what is in force, and from where
  shipmate config --default       every setting with its explanation
  shipmate config init            write that as .shipmate/config.toml
  shipmate config path            the files that are read")]
pub(crate) struct ConfigArgs {
    /// Print the commented default file
    #[arg(long)]
    default: bool,

    #[command(subcommand)]
    command: Option<ConfigCommand>,
}

#[derive(clap::Subcommand, Debug)]
enum ConfigCommand {
    /// Write the commented default file into the workspace
    Init,
    /// Print the paths of the files that are read, the project's first
    Path,
}

pub(crate) fn run(args: &ConfigArgs, globals: &Globals) -> Result<(), Failure> {
    let screen = Screen::new(globals.json);
    if args.default {
        return screen.print(DEFAULT_FILE);
    }
    let place = place(globals.workspace.as_deref())?;
    match args.command {
        None => show(&config::load(&place.config())?, &in_force(&place), &screen),
        Some(ConfigCommand::Init) => {
            init(&place.project(), &place.config())?;
            let path = place.config().display().to_string();
            match screen.json {
                true => screen.json(&serde_json::json!({ "path": path })),
                false => screen.line(&format!("wrote {path}")),
            }
        }
        Some(ConfigCommand::Path) => {
            let files = [Some(place.config()), config::user_file()].into_iter().flatten();
            let files: Vec<(String, bool)> =
                files.map(|path| (path.display().to_string(), path.exists())).collect();
            if screen.json {
                let files = files
                    .iter()
                    .map(|(path, exists)| serde_json::json!({ "path": path, "exists": exists }));
                return screen.json(&files.collect::<Vec<_>>());
            }
            let line = |(path, exists): &(String, bool)| {
                format!("{path}{}\n", if *exists { "" } else { "  (not there)" })
            };
            screen.print(&files.iter().map(line).collect::<String>())
        }
    }
}

/// What the running coordinator goes by, where one runs and answers.
fn in_force(place: &Place) -> BTreeMap<String, String> {
    let mut client = Client::new(place.clone(), Launch::Never, TokenSource::Person);
    // The files are shown in any case.
    let soon = Duration::from_secs(1);
    client.patience = Patience { probe_after: soon, tell_after: soon, give_up_after: soon };
    client.ask(verbs::Settings).unwrap_or_default()
}

fn show(
    loaded: &Loaded,
    in_force: &BTreeMap<String, String>,
    screen: &Screen,
) -> Result<(), Failure> {
    let entries = loaded.config.entries();
    let shown = loaded.config.shown();
    let other: BTreeMap<&str, &str> = shown
        .iter()
        .filter(|_| !in_force.is_empty())
        .filter(|(name, value)| in_force.get(*name) != Some(value))
        .map(|(name, _)| (name.as_str(), in_force.get(name).map_or("none", String::as_str)))
        .collect();
    if screen.json {
        let field = |name: &str, value: serde_json::Value, source: &str| {
            let mut field = serde_json::json!({ "value": value, "source": source });
            if let Some(other) = other.get(name) {
                field["running"] = (*other).into();
            }
            (name.to_owned(), field)
        };
        let fields = entries.iter().map(|(name, value)| {
            field(name, serde_json::to_value(value).unwrap_or_default(), loaded.source(name).word())
        });
        let tables = tables(loaded);
        let tables = tables.into_iter().map(|(name, value, of)| field(&name, value.into(), of));
        return screen.json(&fields.chain(tables).collect::<serde_json::Map<_, _>>());
    }
    let mut table =
        Table::new(&[Column::Left("SETTING"), Column::Left("VALUE"), Column::Left("SOURCE")]);
    for (name, value) in entries {
        let source = loaded.source(name);
        let paint = match source {
            config::Source::Default => Paint::Dim,
            _ => Paint::Plain,
        };
        table.row([
            owned(name.to_owned(), Paint::Plain),
            owned(value.to_string(), Paint::Plain),
            owned(source.word().to_owned(), paint),
        ]);
    }
    for (name, value, source) in tables(loaded) {
        table.row([
            owned(name, Paint::Plain),
            owned(value, Paint::Plain),
            owned(source.to_owned(), Paint::Plain),
        ]);
    }
    screen.print(&table.render(screen))?;
    if !other.is_empty() {
        screen.line("\nthe running coordinator still has:")?;
        for (name, value) in &other {
            screen.line(&plain(&format!("  {name} = {value}")))?;
        }
        screen.line(
            "`shipmate resume` and whatever else begins something reads them again; durability, \
             log,\nidle-exit-seconds and nats need `shipmate coordinator stop`",
        )?;
    }
    Ok(())
}

/// What the user has given names: agent programs and providers of models.
fn tables(loaded: &Loaded) -> Vec<(String, String, &'static str)> {
    let programs = loaded.config.agents.programs.iter();
    let programs =
        programs.map(|(name, own)| (format!("agents.{name}"), own.line(), own.source.word()));
    let providers = loaded.config.models.providers.iter();
    let providers =
        providers.map(|(name, own)| (format!("models.{name}"), own.line(), own.source.word()));
    programs.chain(providers).collect()
}

/// The file is part of the project; the state beside it ignores itself.
fn init(project: &Path, path: &Path) -> Result<(), Failure> {
    let unwritable = |at: &Path, e: &std::io::Error| {
        Failure::Storage(format!(
            "{} cannot be written: {e}\n  the workspace must be writable by you",
            plain(&at.display().to_string())
        ))
    };
    fs::create_dir_all(project).map_err(|e| unwritable(project, &e))?;
    let mut file = match fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            return Err(Failure::Usage(format!(
                "{} exists already\n  edit it; `shipmate config --default` prints the defaults",
                path.display()
            )));
        }
        Err(e) => return Err(unwritable(path, &e)),
    };
    file.write_all(DEFAULT_FILE.as_bytes()).map_err(|e| unwritable(path, &e))
}
