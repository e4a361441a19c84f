//! The files of the repository as the rules see them: what git tracks, and what it would.
//!
//! Held in memory, so that a rule is a function of a tree and its tests need no disk. Ignored
//! files are absent on purpose: a link to one resolves here and breaks for everybody else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path from the root with `/`, to the text; `None` for a file that is not text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree(BTreeMap<String, Option<String>>);

impl Tree {
    /// Reads the working tree that this command was built from.
    pub(crate) fn read() -> Result<Self, String> {
        let root = root();
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .map_err(|e| format!("git could not be started ({e}); install git"))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "git ls-files failed: {}; run this in a git checkout of the project",
                told.trim()
            ));
        }

        let mut files = BTreeMap::new();
        for path in String::from_utf8_lossy(&output.stdout).split_terminator('\0') {
            // A tracked file that was deleted but not yet committed is listed and is not there, and
            // an editor or a build may remove one between the listing and the reading.
            let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
            files.insert(path.to_owned(), String::from_utf8(bytes).ok());
        }
        Ok(Self(files))
    }

    /// The text files, in the order of their paths.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Those that are no text.
    pub(crate) fn others(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, text)| text.is_none()).map(|(path, _)| path.as_str())
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }

    /// Whether `path` is a file of the tree, or a folder that holds one.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        path.is_empty()
            || self.0.contains_key(path)
            || self.0.range(folder.clone()..).next().is_some_and(|(k, _)| k.starts_with(&folder))
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        Self(files.map(|(path, text)| (path.to_owned(), Some(text.to_owned()))).into())
    }
}

#[cfg(test)]
impl FromIterator<(String, String)> for Tree {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(files: I) -> Self {
        Self(files.into_iter().map(|(path, text)| (path, Some(text))).collect())
    }
}

/// The root of the workspace.
///
/// What cargo says at run time comes first: with a target folder shared by two checkouts, the
/// binary of one may be started in the other.
pub(crate) fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_when_a_file_is_in_it() {
        let tree = Tree::from([("docs/manual/a.md", ""), ("docs-old.md", "")]);
        assert!(tree.has("docs"));
        assert!(tree.has("docs/manual/"));
        assert!(tree.has("docs/manual/a.md"));
        assert!(!tree.has("docs/man"));
        assert!(!tree.has("doc"));
    }

    #[test]
    fn the_tree_of_this_repository_holds_this_file_and_no_build_output() {
        let tree = Tree::read().unwrap();
        assert!(tree.text("xtask/src/tree.rs").is_some());
        assert!(!tree.has("target"));
    }
}
