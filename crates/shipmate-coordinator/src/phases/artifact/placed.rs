//! Views in the repository itself (`views.at = "repository"`), where the programs look that their
//! formats come from.
//!
//! Everything there but what stands in our list is the person's: a file in the place of a view, or a
//! link on the way to it, is left as it is and told. The list is written before the files, and a file
//! counts as ours only while it is read-only, so a crash between the two takes nothing of theirs.
//! Git does not see them: a part of `.git/info/exclude` is ours, between two lines that say so.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use shipmate_process::regular_file::read_whole;
use shipmate_workspace::Repository;

use super::replace::{MODE, replace};
use super::{Files, drops};

const LIST: &str = "views-placed.json";
const LIST_BYTES_MAX: usize = 64 << 20;
const EXCLUDE_BYTES_MAX: usize = 16 << 20;

/// Makes the workspace hold these views, and takes away those that are none any more. What stood in
/// the way is given back. Git is told of what it is to leave alone where that is given.
pub(super) fn write(
    workspace: &Path,
    team: &Path,
    files: &Files,
    hidden: Option<&BTreeSet<String>>,
) -> Result<Vec<String>, String> {
    let list = team.join(LIST);
    let before = ours(&list)?;
    if before.is_empty() && files.is_empty() {
        return Ok(Vec::new());
    }
    let (mut wanted, mut left) = (BTreeSet::new(), Vec::new());
    for (path, _) in files {
        let place = workspace.join(path);
        let why = match clear_way(workspace, path)? {
            None if is_there(&place) && !(before.contains(path) && is_view(&place)) => {
                Some("it is yours".to_owned())
            }
            why => why,
        };
        match why {
            Some(why) => left.push(format!("{path} is left as it is: {why}")),
            None => drop(wanted.insert(path.clone())),
        }
    }
    let all: BTreeSet<String> = before.union(&wanted).cloned().collect();
    if all != before {
        save(&list, &all)?;
    }
    if let Some(hidden) = hidden {
        exclude(workspace, team, hidden)?;
    }
    for (path, text) in files.iter().filter(|(path, _)| wanted.contains(path)) {
        replace(&workspace.join(path), text.as_bytes()).map_err(|e| format!("{path}: {e}"))?;
    }
    for path in before.difference(&wanted) {
        remove(workspace, path);
    }
    if all != wanted {
        save(&list, &wanted)?;
    }
    Ok(left)
}

/// Takes every view of a team out of the workspace.
pub(crate) fn clear(workspace: &Path, team: &Path) -> Result<(), String> {
    make_drops(workspace, team, &[])?;
    write(workspace, team, &Vec::new(), Some(&BTreeSet::new())).map(drop)
}

/// The files into which mail may be dropped that we made.
const DROPS: &str = "views-drops.json";

/// Makes the workspace hold these files for mail from outside; which of them can be used. One that
/// was there before stays when the others go.
pub(super) fn make_drops(
    workspace: &Path,
    team: &Path,
    paths: &[String],
) -> Result<BTreeSet<String>, String> {
    let list = team.join(DROPS);
    let mut made = ours(&list)?;
    let gone: Vec<String> = made.iter().filter(|path| !paths.contains(path)).cloned().collect();
    for path in gone {
        if matches!(clear_way(workspace, &path), Ok(None)) && is_file(&workspace.join(&path)) {
            drop(std::fs::remove_file(workspace.join(&path)));
        }
        made.remove(&path);
        save(&list, &made)?;
    }
    let mut usable = BTreeSet::new();
    for path in paths {
        if clear_way(workspace, path)?.is_some() {
            continue;
        }
        let place = workspace.join(path);
        if !is_there(&place) {
            if made.insert(path.clone()) {
                save(&list, &made)?;
            }
            drops::make(&place).map_err(|e| format!("{path}: {e}"))?;
        }
        if is_file(&place) {
            usable.insert(path.clone());
        }
    }
    Ok(usable)
}

fn ours(list: &Path) -> Result<BTreeSet<String>, String> {
    match read_whole(list, LIST_BYTES_MAX) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", list.display())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(e) => Err(format!("{}: {e}", list.display())),
    }
}

fn save(list: &Path, paths: &BTreeSet<String>) -> Result<(), String> {
    let text = serde_json::to_vec(paths).expect("paths are JSON");
    replace(list, &text).map_err(|e| format!("{}: {e}", list.display()))
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_file())
}

fn is_view(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o7777 == MODE)
}

/// Why nothing can be written there: something on the way is no folder.
pub(super) fn clear_way(workspace: &Path, path: &str) -> Result<Option<String>, String> {
    let mut at = workspace.to_owned();
    for part in Path::new(path).parent().into_iter().flat_map(Path::components) {
        at.push(part);
        match at.symlink_metadata() {
            Ok(there) if there.is_dir() => {}
            Ok(_) => return Ok(Some(format!("{} is no folder", at.display()))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(format!("{}: {e}", at.display())),
        }
    }
    Ok(None)
}

/// The view, and folders above it that are empty then.
fn remove(workspace: &Path, path: &str) {
    let place = workspace.join(path);
    if !matches!(clear_way(workspace, path), Ok(None)) || !is_view(&place) {
        return;
    }
    drop(std::fs::remove_file(&place));
    let mut above = Path::new(path).parent();
    while let Some(folder) = above.filter(|folder| !folder.as_os_str().is_empty()) {
        if std::fs::remove_dir(workspace.join(folder)).is_err() {
            return;
        }
        above = folder.parent();
    }
}

/// Says in the repository's own exclude file that these are not for git.
fn exclude(workspace: &Path, team: &Path, patterns: &BTreeSet<String>) -> Result<(), String> {
    let Ok(repository) = Repository::open(workspace) else { return Ok(()) };
    let file = repository.exclude_file().map_err(|e| e.to_string())?;
    let named = |e: io::Error| format!("{}: {e}", file.display());
    let text = match read_whole(&file, EXCLUDE_BYTES_MAX) {
        // What is no text is left alone: it would not be written back as it was.
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => return Ok(()),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(named(e)),
    };
    let name = team.file_name().unwrap_or_default().to_string_lossy();
    // Patterns begin at the repository's own folder.
    let below = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let below = below.strip_prefix(repository.root()).unwrap_or(Path::new("")).to_string_lossy();
    let below = if below.is_empty() { String::new() } else { format!("/{below}") };
    let patterns: BTreeSet<String> =
        patterns.iter().map(|pattern| format!("{below}{pattern}")).collect();
    let wanted = with_part(&text, &name, &patterns);
    if wanted == text {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(named)?;
    }
    let fresh = file.with_extension(format!("{name}.{}", std::process::id()));
    std::fs::write(&fresh, wanted).and_then(|()| std::fs::rename(&fresh, &file)).map_err(named)
}

/// The text with the part of this team as it should be; none where there is nothing to hide.
fn with_part(text: &str, team: &str, patterns: &BTreeSet<String>) -> String {
    let (begin, end) = (format!("# shipmate: views of {team}"), "# shipmate: end of views");
    let mut kept = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        match inside {
            false if bare == begin => inside = true,
            true if bare == end => inside = false,
            false => kept.push_str(line),
            true => {}
        }
    }
    // Where the end is gone, nobody knows what is ours.
    if inside {
        return text.to_owned();
    }
    if patterns.is_empty() {
        return kept;
    }
    if !kept.is_empty() && !kept.ends_with('\n') {
        kept.push('\n');
    }
    kept.push_str(&format!("{begin}\n"));
    for pattern in patterns {
        kept.push_str(&format!("{pattern}\n"));
    }
    kept.push_str(&format!("{end}\n"));
    kept
}

/// A line for each name; numbers in it stand for all, so that the file does not change with each task.
pub(super) fn patterns<'a>(paths: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let special = |c: char| "\\*?[]! #".contains(c);
    paths
        .map(|path| {
            let mut pattern = String::from("/");
            for c in path.chars() {
                match c {
                    '0'..='9' if pattern.ends_with("[0-9]*") => {}
                    '0'..='9' => pattern.push_str("[0-9]*"),
                    c if special(c) => pattern.extend(['\\', c]),
                    c => pattern.push(c),
                }
            }
            pattern
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Files {
        all.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn what_is_the_person_s_stays_and_what_is_ours_goes_again() {
        let folder = std::env::temp_dir().join(format!("shipmate-placed-{}", std::process::id()));
        let (work, team) = (folder.join("work"), folder.join("team"));
        std::fs::create_dir_all(work.join(".tasks")).unwrap();
        std::fs::create_dir_all(work.join("elsewhere")).unwrap();
        std::fs::create_dir_all(&team).unwrap();
        std::fs::write(work.join(".tasks/task_2.json"), "mine").unwrap();
        std::os::unix::fs::symlink("elsewhere", work.join(".teams")).unwrap();
        let all = [
            (".tasks/task_1.json", "1"),
            (".tasks/task_2.json", "2"),
            (".teams/a", "x"),
            ("b/c/d", "y"),
        ];
        let left = write(&work, &team, &files(&all), None).unwrap();
        assert_eq!(left.len(), 2, "{left:?}");
        let read = |path: &str| std::fs::read_to_string(work.join(path)).ok();
        // Nor at the next time, though it may be read only.
        let theirs = std::fs::Permissions::from_mode(MODE);
        std::fs::set_permissions(work.join(".tasks/task_2.json"), theirs).unwrap();
        assert_eq!(write(&work, &team, &files(&all), None).unwrap(), left);
        assert_eq!(read(".tasks/task_1.json").as_deref(), Some("1"));
        assert_eq!(read(".tasks/task_2.json").as_deref(), Some("mine"));
        assert_eq!(read("elsewhere/a"), None, "no link is followed");
        assert_eq!(read("b/c/d").as_deref(), Some("y"));
        // One that somebody made theirs is not taken back.
        let place = work.join("b/c/d");
        std::fs::remove_file(&place).unwrap();
        std::fs::write(&place, "now mine").unwrap();
        clear(&work, &team).unwrap();
        assert_eq!(read(".tasks/task_1.json"), None);
        assert_eq!(read(".tasks/task_2.json").as_deref(), Some("mine"));
        assert_eq!(read("b/c/d").as_deref(), Some("now mine"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_part_of_the_exclude_file_changes_with_names_and_not_with_numbers() {
        let paths = |all: &[&str]| {
            let all: Vec<String> = all.iter().map(|path| (*path).to_owned()).collect();
            patterns(all.iter())
        };
        let one = with_part("*.log", "alpha", &paths(&[".tasks/task_1.json"]));
        assert_eq!(
            one,
            "*.log\n# shipmate: views of alpha\n/.tasks/task_[0-9]*.json\n# shipmate: end of views\n"
        );
        let two = with_part(&one, "alpha", &paths(&[".tasks/task_1.json", ".tasks/task_22.json"]));
        assert_eq!(two, one);
        let both = with_part(&one, "beta", &paths(&["a b"]));
        assert!(both.contains("views of beta\n/a\\ b\n"), "{both}");
        assert_eq!(with_part(&both, "beta", &paths(&[])), one);
        assert_eq!(with_part(&one, "alpha", &paths(&[])), "*.log\n");
        let torn = one.replace("# shipmate: end of views\n", "mine\n");
        assert_eq!(with_part(&torn, "alpha", &paths(&[])), torn);
    }
}
