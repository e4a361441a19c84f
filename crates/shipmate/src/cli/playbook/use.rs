//! `shipmate playbook use`.

use std::fs;
use std::io::ErrorKind;
use std::ops::Range;

use shipmate_protocol::verbs::PlaybookFile;
use toml::de::DeTable;

use super::write;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Make runs here work by a playbook unless they name another
///
/// Writes one line of .shipmate/config.toml and leaves the rest of it as it is.
#[derive(clap::Args, Debug)]
#[command(override_usage = "shipmate playbook use [OPTIONS] <NAME|--none>")]
#[command(after_help = "\
Examples:
  shipmate playbook use features
  shipmate playbook use --none        take the line out again")]
pub(crate) struct UseArgs {
    /// One of `shipmate playbook list`; `none`: no playbook, whatever is in the repository
    #[arg(required_unless_present = "none", conflicts_with = "none")]
    name: Option<String>,

    /// Take the line out: the files in the repository choose
    #[arg(long)]
    none: bool,
}

pub(crate) fn run(args: &UseArgs, mut session: Session) -> Result<(), Failure> {
    if let Some(name) = args.name.as_deref().filter(|name| *name != "none") {
        if super::is_path(name) {
            return Err(Failure::Usage(format!(
                "{name:?} is a path\n  put the file into .shipmate/playbooks/ and give its name"
            )));
        }
        session.ask(PlaybookFile::named(name))?;
    }
    let path = session.place.config();
    let before = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => {
            return Err(Failure::Storage(format!(
                "{} cannot be read: {e}\n  check its permissions",
                path.display()
            )));
        }
    };
    // What is wrong in it already is told with its line, and not written over.
    session.config()?;
    let after = with(before.as_deref().unwrap_or_default(), args.name.as_deref());
    let changed = after != before.as_deref().unwrap_or_default();
    if changed {
        write(&path, before.as_deref(), &after)?;
    }
    if session.screen.json {
        let view = serde_json::json!({ "playbook": args.name, "changed": changed });
        return session.screen.json(&view);
    }
    let file = ".shipmate/config.toml";
    session.screen.line(&match (&args.name, changed) {
        (Some(name), true) => format!("wrote playbook = {name:?} into {file}"),
        (Some(name), false) => format!("nothing to change: {file} says playbook = {name:?}"),
        (None, true) => format!("took playbook out of {file}: the repository's files choose"),
        (None, false) => format!("nothing to change: {file} names no playbook"),
    })
}

/// The file with this playbook, or with none; everything else as it is.
fn with(text: &str, name: Option<&str>) -> String {
    let line = name.map(|name| format!("playbook = {}", toml::Value::String(name.to_owned())));
    let commented = || {
        let start = text.find("\n#playbook = ").map(|at| at + 1)?;
        Some(start..end_of_line(text, start))
    };
    match (there(text), line) {
        (Some(range), Some(line)) => {
            format!("{}{line}{}", &text[..range.start], &text[range.end..])
        }
        (Some(range), None) => {
            let end = end_of_line(text, range.end);
            let end = if text[end..].starts_with('\n') { end + 1 } else { end };
            format!("{}{}", &text[..range.start], &text[end..])
        }
        (None, None) => text.to_owned(),
        (None, Some(line)) => match commented() {
            Some(range) => format!("{}{line}{}", &text[..range.start], &text[range.end..]),
            None if text.is_empty() => format!("{line}\n"),
            // Above everything: below a table it would be a key of that table.
            None => format!("{line}\n\n{text}"),
        },
    }
}

fn end_of_line(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |at| from + at)
}

/// Where the key and its value stand.
fn there(text: &str) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let (key, value) = document.get_ref().get_key_value("playbook")?;
    Some(key.span().start..value.span().end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULT_FILE;

    #[test]
    fn one_line_is_written_and_the_rest_stays() {
        assert_eq!(with("", Some("a")), "playbook = \"a\"\n");
        let other = "# mine\nlease-seconds = 5\n\n[team]\ncap = 2\n";
        let used = with(other, Some("a"));
        assert_eq!(used, format!("playbook = \"a\"\n\n{other}"));
        assert_eq!(with(&used, Some("b")), format!("playbook = \"b\"\n\n{other}"));
        assert_eq!(with(&used, None), format!("\n{other}"));
        assert_eq!(with(other, None), other);
        let marked = "lease-seconds = 5\nplaybook = 'a' # ours\n[team]\n";
        assert_eq!(with(marked, Some("b")), marked.replace("'a'", "\"b\""));
        assert_eq!(with(marked, None), "lease-seconds = 5\n[team]\n");
        // The same word in a table is another setting.
        let inside = "[team]\nplaybook = \"x\"\n";
        assert_eq!(with(inside, None), inside);
    }

    #[test]
    fn the_line_of_the_commented_file_is_the_one_that_is_changed() {
        let used = with(DEFAULT_FILE, Some("features"));
        assert_eq!(used, DEFAULT_FILE.replace("#playbook = \"\"", "playbook = \"features\""));
        assert!(used != DEFAULT_FILE);
    }
}
