//! Views: files beside the log that show what is on record, in formats that others read.
//!
//! They are for reading only: replaced in one step, never read back, and made anew with the next
//! record when somebody has changed or deleted one. Whatever else lies in their folder is no view
//! and is removed, so what is gone from the team is gone from the files. A crash leaves the old
//! file or the new one, and what was half written is swept out.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use shipmate_core::State;
use shipmate_core::state::TeamPhase;
use shipmate_model::{Act, Address};
use shipmate_playbook::fill::{self, fill};
use shipmate_process::blocking;
use tokio::time::{Instant, sleep_until};

use super::replace::replace;
use super::{Files, Sight, drops, now_s, placed, render, talk};
use crate::phases::Phases;

/// How much longer than it took to make the views nobody makes them again: a large board is shown a
/// little later, and its views never take more than a tenth of the coordinator's time.
const REST: u32 = 9;

/// Keeps the views of a board up to date, one pass at a time.
#[derive(Debug, Default)]
pub(crate) struct Views {
    running: Cell<bool>,
    written: Cell<u64>,
    /// What the last pass wrote.
    known: RefCell<BTreeSet<PathBuf>>,
    told: RefCell<BTreeSet<String>>,
    /// What git was told to leave alone.
    hidden: RefCell<BTreeSet<String>>,
}

/// Writes the views anew where something has happened since.
pub(crate) fn view(phases: &Rc<Phases>) {
    let has_views = phases.board.with_state(|state| {
        let books = state.teams.values().filter_map(|team| team.setup.playbook.as_ref());
        books.flat_map(|book| &book.artifacts).any(|artifact| !artifact.on_branch)
    });
    let position = phases.board.with_state(|state| state.position);
    if !has_views || phases.views.written.get() == position || phases.views.running.replace(true) {
        return;
    }
    let this = Rc::clone(phases);
    phases.beside(async move {
        this.views.written.set(position);
        let root = this.settings.place.team(this.board.root.as_str()).join("views");
        let began = Instant::now();
        let (files, drops) = this.board.with_state(rendered);
        let rests_until = began + began.elapsed() * (1 + REST);
        let known: BTreeSet<PathBuf> = files.iter().map(|(path, _)| root.join(path)).collect();
        let before = this.views.known.replace(known);
        let workspace = this.settings.place.workspace.clone();
        let in_repository = this.settings.agents.views_in_repository;
        let ground = if in_repository { workspace.clone() } else { root.clone() };
        let places: BTreeMap<Address, PathBuf> =
            drops.iter().map(|(who, path)| (who.clone(), ground.join(path))).collect();
        let kept: BTreeSet<PathBuf> = places.values().cloned().collect();
        let paths: Vec<String> = drops.into_values().collect();
        let all = || placed::patterns(files.iter().map(|(path, _)| path).chain(&paths));
        let hidden = in_repository.then(all).filter(|all| *this.views.hidden.borrow() != *all);
        let hides = hidden.clone();
        // Mail is taken in where the team is at home.
        let is_home = this.is_home(&this.board.root);
        let wrote = blocking(move || {
            let team = root.parent().unwrap_or(&root).to_owned();
            let placed = match in_repository {
                true => placed::write(&workspace, &team, &files, hidden.as_ref())?,
                // They may have been there before.
                false => placed::clear(&workspace, &team).map(|()| Vec::new())?,
            };
            let strange = write(&root, files, &before, &kept)?;
            let usable = match in_repository {
                true => placed::make_drops(&workspace, &team, &paths)?,
                false => {
                    for path in &paths {
                        drops::make(&root.join(path)).map_err(|e| format!("{path}: {e}"))?;
                    }
                    paths.into_iter().collect()
                }
            };
            Ok((strange, placed, usable))
        });
        match wrote.await {
            Ok((strange, left, usable)) => {
                if let Some(hides) = hides {
                    this.views.hidden.replace(hides);
                }
                for path in strange {
                    tracing::warn!(?path, "what is no view was removed");
                }
                if let Some(first) = left.first() {
                    let others = match left.len() {
                        1 => String::new(),
                        many => format!(", and {} more", many - 1),
                    };
                    this.views.tell_once(&this, format!("{first}{others}"));
                }
                let is_usable = |path: &PathBuf| {
                    let path = path.strip_prefix(&ground).unwrap_or(path);
                    is_home && usable.contains(&*path.to_string_lossy())
                };
                let places = places.into_iter().filter(|(_, path)| is_usable(path)).collect();
                if let Err(text) = drops::at(&this, places) {
                    tracing::warn!(reason = ?text, "mail from outside is not taken in");
                }
            }
            Err(text) => tracing::warn!(reason = ?text, "the views are not written"),
        }
        sleep_until(rests_until).await;
        this.views.running.set(false);
        this.board.look();
    });
}

impl Views {
    /// A view that could not be placed is told once.
    fn tell_once(&self, phases: &Rc<Phases>, note: String) {
        if self.told.borrow_mut().insert(note.clone()) {
            let (team, hook) = (phases.board.root.clone(), "views".to_owned());
            phases.board.tell(Act::ReportHook { team, hook, note });
        }
    }
}

/// The views, and for whom mail may be dropped where.
fn rendered(state: &State) -> (Files, BTreeMap<Address, String>) {
    let (mut files, mut drops) = (Vec::new(), BTreeMap::new());
    for (team, found) in &state.teams {
        // A lead's further team is shown as the playbook above it says.
        let playbook = state.lineage(team).find_map(|above| above.setup.playbook.as_deref());
        let Some(playbook) = playbook else { continue };
        if found.phase == TeamPhase::Deleted {
            continue;
        }
        let values = fill::resolved(playbook, [("team", team.to_string())]);
        let is_further = found.setup.playbook.is_none();
        for artifact in playbook.own_artifacts().filter(|artifact| !artifact.on_branch) {
            // Tasks have numbers of their own in the whole tree; all else is kept apart by the path.
            let is_apart =
                artifact.path.contains("{team}") || artifact.format.starts_with("tasks-");
            if is_further && !is_apart {
                continue;
            }
            let path = fill(&artifact.path, &values);
            let values = &values;
            let sight = Sight { state, team, path: &path, values, ground: None, now_s: now_s() };
            let own = talk::drops(&artifact.format, &sight);
            drops.extend(own.into_iter().filter(|(_, path)| is_inside(path)));
            match render(artifact, &sight) {
                Ok(made) => files.extend(made.into_iter().filter(|(path, _)| is_inside(path))),
                Err(text) => tracing::warn!(reason = ?text, %path, "a view is not made"),
            }
        }
    }
    (files, drops)
}

/// No view is written outside their folder, whatever a name holds.
fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Makes the folder hold these files and nothing else. What was there and is neither a view nor was
/// one before is given back.
fn write(
    root: &Path,
    files: Files,
    before: &BTreeSet<PathBuf>,
    drops: &BTreeSet<PathBuf>,
) -> Result<Vec<PathBuf>, String> {
    let mut wanted: BTreeSet<PathBuf> = files.iter().map(|(path, _)| root.join(path)).collect();
    wanted.extend(drops.iter().cloned());
    let mut gone = Vec::new();
    sweep(root, &wanted, &mut gone).map_err(|e| format!("{}: {e}", root.display()))?;
    for (path, text) in files {
        let path = root.join(path);
        replace(&path, text.as_bytes()).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let is_strange = |path: &PathBuf| {
        !before.is_empty()
            && !before.contains(path)
            && path.extension().is_none_or(|extension| extension != "new")
    };
    Ok(gone.into_iter().filter(is_strange).collect())
}

/// Removes what is not wanted, and folders that are empty then. No link is followed.
fn sweep(at: &Path, wanted: &BTreeSet<PathBuf>, gone: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(at) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() && !wanted.contains(&path) {
            sweep(&path, wanted, gone)?;
            // Not empty: then there are views in it.
            drop(std::fs::remove_dir(&path));
        } else if kind.is_dir() {
            std::fs::remove_dir_all(&path)?;
            gone.push(path);
        } else if !kind.is_file() || !wanted.contains(&path) {
            std::fs::remove_file(&path)?;
            gone.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("shipmate-views-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            drop(std::fs::remove_dir_all(&path));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn write(&self, files: &[(&str, &str)], before: &[&str]) -> Vec<PathBuf> {
            let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
            let before = before.iter().map(|path| self.0.join("views").join(path)).collect();
            write(&self.0.join("views"), files.collect(), &before, &BTreeSet::new()).unwrap()
        }

        fn read(&self, path: &str) -> String {
            std::fs::read_to_string(self.0.join("views").join(path)).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let mut found = Vec::new();
            let mut open = vec![self.0.join("views")];
            while let Some(at) = open.pop() {
                for entry in std::fs::read_dir(at).unwrap() {
                    let path = entry.unwrap().path();
                    let name = path.strip_prefix(self.0.join("views")).unwrap();
                    found.push(name.display().to_string());
                    if path.is_dir() && !path.is_symlink() {
                        open.push(path);
                    }
                }
            }
            found.sort();
            found
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn the_folder_holds_the_views_and_nothing_else() {
        let folder = Folder::new("sweep");
        folder.write(&[("a/1", "one"), ("a/2", "two"), ("b/1", "x")], &[]);
        assert_eq!(folder.names(), ["a", "a/1", "a/2", "b", "b/1"]);
        // One is gone from the team, one was put there by hand, one a crash left half written.
        std::fs::write(folder.0.join("views/a/mine"), "by hand").unwrap();
        std::fs::write(folder.0.join("views/a/1.new"), "ha").unwrap();
        let strange = folder.write(&[("a/1", "one")], &["a/1", "a/2", "b/1"]);
        assert_eq!(folder.names(), ["a", "a/1"]);
        assert_eq!(strange, [folder.0.join("views/a/mine")]);
    }

    #[test]
    fn a_view_that_was_edited_is_put_back_and_stays_read_only() {
        let folder = Folder::new("edit");
        folder.write(&[("a", "one")], &[]);
        let path = folder.0.join("views/a");
        let set = |mode: u32| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let mode = || path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(), 0o400);
        set(0o600);
        std::fs::write(&path, "another").unwrap();
        folder.write(&[("a", "one")], &["a"]);
        assert_eq!((folder.read("a").as_str(), mode()), ("one", 0o400));
        set(0o644);
        folder.write(&[("a", "one")], &["a"]);
        assert_eq!(mode(), 0o400, "the same text with other rights is not the same");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir_all(path.join("deep")).unwrap();
        folder.write(&[("a", "one")], &["a"]);
        assert_eq!(folder.read("a"), "one", "a folder in its place goes");
    }

    #[test]
    fn no_link_is_followed_out_of_the_folder() {
        let folder = Folder::new("link");
        let outside = folder.0.join("outside");
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("1"), "precious").unwrap();
        std::fs::create_dir_all(folder.0.join("views")).unwrap();
        std::os::unix::fs::symlink(&outside, folder.0.join("views/a")).unwrap();
        folder.write(&[("a/1", "one")], &[]);
        assert_eq!(std::fs::read_to_string(outside.join("1")).unwrap(), "precious");
        assert_eq!(folder.read("a/1"), "one");
    }

    #[test]
    fn a_reader_in_a_loop_never_sees_half_a_file() {
        let folder = Folder::new("whole");
        let long = |letter: &str| letter.repeat(200_000);
        folder.write(&[("a", &long("x"))], &[]);
        let path = folder.0.join("views/a");
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let reader = std::thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.len() == 200_000 && text.trim_start_matches(&text[..1]).is_empty());
                seen.insert(text[..1].to_owned());
            }
            seen
        });
        for round in 0..200 {
            folder.write(&[("a", &long(if round % 2 == 0 { "y" } else { "x" }))], &["a"]);
        }
        stop.send(()).unwrap();
        assert!(!reader.join().unwrap().is_empty());
    }
}
