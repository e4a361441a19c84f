//! `shipmate playbook`: ways of working, and which of them is used here.

mod check;
mod harness;
mod init;
mod list;
mod show;
mod r#use;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{PLAYBOOK_BYTES_MAX, PlaybookFile};
use shipmate_protocol::view::PlaybookRow;

use crate::cli::exit::Exit;
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Playbooks: list, show, check, use, init
///
/// A playbook is a way of working: phases, who works in them, who may write to whom, and what has
/// to be there before it goes on. docs/playbooks.md tells how to write one.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum PlaybookCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Check(check::CheckArgs),
    Use(r#use::UseArgs),
    Init(init::InitArgs),
}

pub(crate) fn run(command: PlaybookCommand, session: Session) -> Result<Exit, Failure> {
    match command {
        PlaybookCommand::List(args) => list::run(&args, session).map(|()| Exit::Done),
        PlaybookCommand::Show(args) => show::run(args, session).map(|()| Exit::Done),
        PlaybookCommand::Check(args) => check::run(&args, session),
        PlaybookCommand::Use(args) => r#use::run(&args, session).map(|()| Exit::Done),
        PlaybookCommand::Init(args) => init::run(args, session).map(|()| Exit::Done),
    }
}

/// Which playbook a run works by that names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    None,
    One {
        name: String,
        why: String,
    },
    /// The files of several are there.
    Several(Vec<(String, String)>),
}

/// What the settings say stands above what is in the repository.
pub(crate) fn choice(session: &mut Session) -> Result<Choice, Failure> {
    let loaded = session.config()?;
    match loaded.config.playbook.as_str() {
        "" => Ok(by_files(&rows(session)?)),
        "none" => Ok(Choice::None),
        name => {
            let why = format!("the {} says so", loaded.source("playbook").word());
            Ok(Choice::One { name: name.to_owned(), why })
        }
    }
}

fn by_files(rows: &[PlaybookRow]) -> Choice {
    let found = rows.iter().filter_map(|row| Some((row.name.clone(), row.found.clone()?)));
    let found: Vec<(String, String)> = found.collect();
    match found.as_slice() {
        [] => Choice::None,
        [(name, file)] => Choice::One { name: name.clone(), why: format!("{file} is here") },
        _ => Choice::Several(found),
    }
}

pub(crate) fn rows(session: &mut Session) -> Result<Vec<PlaybookRow>, Failure> {
    session.ask(verbs::Playbooks)
}

/// A file, not one of the names there are.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// A playbook as it is asked for. A file is read here: the coordinator reads none that a request
/// names, and its path is from where one stands.
pub(crate) fn given(name: &str) -> Result<PlaybookFile, Failure> {
    if !is_path(name) {
        return Ok(PlaybookFile::named(name));
    }
    let mut bytes = Vec::new();
    let most = PLAYBOOK_BYTES_MAX as u64 + 1;
    let read = fs::File::open(name).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|e| {
        Failure::Usage(format!(
            "{name} cannot be read: {e}\n  `shipmate playbook list` names those there are"
        ))
    })?;
    if bytes.len() > PLAYBOOK_BYTES_MAX {
        let text = format!("{name} is longer than {PLAYBOOK_BYTES_MAX} bytes");
        return Err(Failure::Usage(format!("{text}\n  a playbook is a short TOML file")));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::Usage(format!("{name} is not UTF-8\n  save the file as UTF-8")))?;
    Ok(PlaybookFile { name: name.to_owned(), text: Some(text) })
}

/// Writes a file of the project in one step, unless it is not what it was: `before`, or not there.
pub(crate) fn write(path: &Path, before: Option<&str>, text: &str) -> Result<(), Failure> {
    let written = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // A link stays one: what it leads to is replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let fresh = path.with_extension(format!("toml.{}", std::process::id()));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&fresh)?;
        let put = || match before {
            Some(before) if fs::read_to_string(&path)? == before => fs::rename(&fresh, &path),
            Some(_) => Err(std::io::Error::other("it was changed meanwhile")),
            None => fs::hard_link(&fresh, &path),
        };
        let done =
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| put());
        // Gone where it took the other's place.
        drop(fs::remove_file(&fresh));
        done
    };
    written().map_err(|e: std::io::Error| {
        Failure::Storage(format!(
            "{} cannot be written: {e}\n  the workspace must be writable by you",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_meanwhile_is_not_written_over_and_a_link_stays_one() {
        let folder = std::env::temp_dir().join(format!("shipmate-use-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        let (link, path) = (folder.join("config.toml"), folder.join("real.toml"));
        let text = || fs::read_to_string(&path).unwrap();
        write(&path, None, "one").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, Some("one"), "two").unwrap();
        assert!(link.is_symlink());
        assert_eq!(text(), "two");
        for before in [None, Some("one")] {
            assert!(write(&path, before, "three").is_err());
            assert_eq!(text(), "two");
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing half written is left");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_files_of_a_repository_choose_one_playbook_and_never_two() {
        let row = |name: &str, found: Option<&str>| PlaybookRow {
            name: name.to_owned(),
            found: found.map(str::to_owned),
            ..PlaybookRow::default()
        };
        let (a, b) = (row("a", None), row("b", Some("b.json")));
        assert_eq!(by_files(std::slice::from_ref(&a)), Choice::None);
        let one = Choice::One { name: "b".to_owned(), why: "b.json is here".to_owned() };
        assert_eq!(by_files(&[a, b.clone()]), one);
        let several = by_files(&[b, row("c", Some("c/"))]);
        assert!(matches!(several, Choice::Several(found) if found.len() == 2));
    }
}
