//! Where a path lies, seen from a teammate: its tree, its scope, what is protected.
//!
//! A path is taken both ways that programs take it: with `..` removed in the text first, and
//! as the kernel walks it, symbolic links followed. The two differ only for a path that climbs
//! out of a link, and then the worse one counts. What a link points to may change after the
//! answer; the check of the diff at hand-in holds that.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use shipmate_model::files::{FileSet, Pattern};

use super::Place;

/// As many links as the kernel follows.
const LINKS_MAX: usize = 40;

/// What is whose. Empty files or an empty scope mean anywhere in the tree.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    pub tree: PathBuf,
    pub scope: FileSet,
    /// Of the task in hand.
    pub files: FileSet,
    /// What the lead or a person gave beyond these, protected or not.
    pub granted: FileSet,
    pub protected: FileSet,
    /// What of it the teammate's role may write.
    pub may: FileSet,
    /// Other folders that are its own to write: temporary ones, its program's settings.
    pub free: Vec<PathBuf>,
    /// Its own outputs that were too long to be shown, in shipmate's state.
    pub notes: Vec<PathBuf>,
    /// Where shipmate keeps its state. A tree may lie in there.
    pub sealed: Vec<PathBuf>,
}

/// Where the worst of the paths lies.
pub fn place(paths: &[PathBuf], bounds: &Bounds) -> Place {
    let tree = walk(&bounds.tree).unwrap_or_else(|| bounds.tree.clone());
    let places = paths.iter().flat_map(|path| places_of(path, &tree, bounds));
    places.max_by_key(|place| hardness(*place)).unwrap_or(Place::Unknown)
}

/// No column of the table allows what one before it in this order does not.
fn hardness(place: Place) -> u8 {
    match place {
        Place::Unknown => 0,
        Place::Inside => 1,
        Place::Beside => 2,
        Place::Protected => 3,
        Place::Outside => 4,
        Place::Sealed => 5,
    }
}

fn places_of(path: &Path, tree: &Path, bounds: &Bounds) -> [Place; 2] {
    // Some tools expand it, and a folder of that name is nobody's loss.
    if path.components().next().is_some_and(|first| first.as_os_str() == "~") {
        return [Place::Outside; 2];
    }
    let full = bounds.tree.join(path);
    [lexical(&full), full].map(|path| match walk(&path) {
        Some(path) => resolved(&path, tree, bounds),
        None => Place::Outside,
    })
}

fn resolved(path: &Path, tree: &Path, bounds: &Bounds) -> Place {
    let Ok(inner) = path.strip_prefix(tree) else {
        let is_below = |folder: &PathBuf| walk(folder).is_some_and(|real| path.starts_with(real));
        // In this order: an agent's own notes lie in the state, which may lie below a temporary
        // folder.
        return if bounds.notes.iter().any(is_below) {
            Place::Inside
        } else if bounds.sealed.iter().any(is_below) {
            Place::Sealed
        } else if bounds.free.iter().any(is_below) {
            Place::Inside
        } else {
            Place::Outside
        };
    };
    if inner.components().any(|part| part.as_os_str() == ".git") {
        return Place::Protected;
    }
    let text = if inner.as_os_str().is_empty() { "." } else { inner.to_str().unwrap_or("") };
    // A name that no pattern can hold is in nobody's scope.
    let Ok(pattern) = text.parse::<Pattern>() else { return Place::Beside };
    let may = |set: &FileSet| set.is_empty() || set.covers(&pattern);
    if bounds.granted.covers(&pattern) {
        Place::Inside
    } else if bounds.protected.covers(&pattern) && !bounds.may.covers(&pattern) {
        Place::Protected
    } else if may(&bounds.scope) && may(&bounds.files) {
        Place::Inside
    } else {
        Place::Beside
    }
}

fn lexical(path: &Path) -> PathBuf {
    let mut kept = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                kept.pop();
            }
            part => kept.push(part),
        }
    }
    kept
}

/// The path as the kernel would find it, what does not exist taken as written. None when its
/// links do not end.
fn walk(path: &Path) -> Option<PathBuf> {
    let mut left: VecDeque<OsString> = parts(path);
    let mut links = 0;
    let mut found = PathBuf::from("/");
    while let Some(part) = left.pop_front() {
        if part == "/" {
            found = PathBuf::from("/");
        } else if part == ".." {
            found.pop();
        } else if let Ok(target) = fs::read_link(found.join(&part)) {
            links += 1;
            if links > LINKS_MAX {
                return None;
            }
            let mut first = parts(&target);
            first.append(&mut left);
            left = first;
        } else {
            found.push(part);
        }
    }
    Some(found)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let kept = path.components().filter(|part| *part != Component::CurDir);
    kept.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// `state/t` is a tree inside shipmate's state; `elsewhere` is neither.
    struct Ground(PathBuf);

    impl Ground {
        fn new(name: &str) -> Self {
            let name = format!("shipmate-place-{}-{name}", std::process::id());
            let root = std::env::temp_dir().join(name);
            for folder in ["state/t/src/deep", "state/other", "elsewhere/in"] {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            Self(root)
        }

        fn link(&self, target: &str, at: &str) {
            let target = target.replace("ROOT", self.0.to_str().unwrap());
            symlink(target, self.0.join("state/t").join(at)).unwrap();
        }

        fn check(&self, cases: &[(&str, Place)]) {
            for (path, expected) in cases {
                let path = PathBuf::from(path.replace("ROOT", self.0.to_str().unwrap()));
                assert_eq!(
                    place(std::slice::from_ref(&path), &self.bounds()),
                    *expected,
                    "{path:?}"
                );
            }
        }

        fn bounds(&self) -> Bounds {
            let files = |text: &str| {
                let patterns = text.split_whitespace().map(|pattern| pattern.parse().unwrap());
                FileSet::new(patterns.collect())
            };
            Bounds {
                notes: Vec::new(),
                tree: self.0.join("state/t"),
                scope: files("src docs/a.md ci"),
                files: FileSet::default(),
                granted: files("ci/given"),
                protected: files("ci src/lock"),
                may: files("src/lock/mine"),
                free: vec![self.0.join("elsewhere/free")],
                sealed: vec![self.0.join("state")],
            }
        }
    }

    impl Drop for Ground {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_path_is_where_its_meaning_is() {
        Ground::new("meaning").check(&[
            ("src/a.rs", Place::Inside),
            ("./src//new/folder/a.rs", Place::Inside),
            ("ROOT/state/t/src/a.rs", Place::Inside),
            ("src/../docs/a.md", Place::Inside),
            ("docs/b.md", Place::Beside),
            (".", Place::Beside),
            ("src/deep/../../README", Place::Beside),
            ("src/a\tb", Place::Beside),
            ("ci/run", Place::Protected),
            ("src/lock", Place::Protected),
            ("src/lock/mine", Place::Inside),
            ("src/lock/other", Place::Protected),
            ("ci/given", Place::Inside),
            (".git/hooks/pre-commit", Place::Protected),
            ("src/.git/config", Place::Protected),
            ("src/.gitignore", Place::Inside),
            ("src/../../../elsewhere/x", Place::Outside),
            ("../../../../../../../../../etc/passwd", Place::Outside),
            ("ROOT/state/t2/src/a.rs", Place::Sealed),
            ("../other/order.json", Place::Sealed),
            ("ROOT/elsewhere/free/x", Place::Inside),
            ("ROOT/elsewhere/free/../x", Place::Outside),
            ("/etc/passwd", Place::Outside),
            ("~/.ssh/id", Place::Outside),
        ]);
    }

    #[test]
    fn a_link_is_where_it_leads() {
        let ground = Ground::new("links");
        ground.link("ROOT/elsewhere", "src/out");
        ground.link("ROOT/elsewhere/in", "src/far");
        ground.link("ROOT/state/other", "src/others");
        ground.link("../docs", "src/docs");
        ground.link("new.txt", "src/dangling");
        ground.link("round", "src/round");
        ground.check(&[
            ("src/out/x", Place::Outside),
            ("src/others/order.json", Place::Sealed),
            ("src/docs/b.md", Place::Beside),
            ("src/docs/a.md", Place::Inside),
            ("src/dangling", Place::Inside),
            ("src/round/x", Place::Outside),
            // Read as text it stays inside; walked, it climbs out of the link's target.
            ("src/far/../x", Place::Outside),
            // Walked it is in scope; read as text it is not.
            ("src/far/../../state/t/src/x", Place::Beside),
        ]);
    }

    #[test]
    fn a_tree_behind_a_link_is_the_same_tree() {
        let ground = Ground::new("behind");
        symlink(ground.0.join("state/t"), ground.0.join("short")).unwrap();
        let bounds = Bounds { tree: ground.0.join("short"), ..ground.bounds() };
        for path in ["src/a", "state/t/src/a", "short/src/a"] {
            let path = if path == "src/a" { path.into() } else { ground.0.join(path) };
            assert_eq!(place(&[path], &bounds), Place::Inside);
        }
    }

    #[test]
    fn the_worst_of_several_paths_counts_and_none_is_unknown() {
        let ground = Ground::new("several");
        let of = |paths: &[&str]| {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            place(&paths, &ground.bounds())
        };
        assert_eq!(of(&[]), Place::Unknown);
        assert_eq!(of(&["src/a", "docs/b", "src/c"]), Place::Beside);
        assert_eq!(of(&["ci/x", "docs/b"]), Place::Protected);
        assert_eq!(of(&["/etc/x", "ci/x"]), Place::Outside);
        assert_eq!(of(&["../other/x", "/etc/x"]), Place::Sealed);
    }

    #[test]
    fn a_tasks_files_narrow_the_scope() {
        let ground = Ground::new("files");
        let files = FileSet::new(vec!["src/a.rs".parse().unwrap()]);
        let bounds = Bounds { files, ..ground.bounds() };
        assert_eq!(place(&["src/a.rs".into()], &bounds), Place::Inside);
        assert_eq!(place(&["src/b.rs".into()], &bounds), Place::Beside);
        let bounds = Bounds { scope: FileSet::default(), files: FileSet::default(), ..bounds };
        assert_eq!(place(&["anything".into()], &bounds), Place::Inside);
    }
}
