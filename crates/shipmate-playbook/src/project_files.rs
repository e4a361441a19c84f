//! What files there are: on the team's branch, or in the workspace of a team without trees.
//!
//! The branch holds what has passed its gate, and nothing else counts for a phase: a file that
//! somebody has in its own tree is not there yet.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shipmate_model::files::Pattern;
use shipmate_process::regular_file;
use shipmate_workspace::{Commit, Repository};

/// Longest file that is looked into.
const FILE_BYTES_MAX: usize = 32 * 1024 * 1024;

#[derive(Debug, Clone)]
pub enum ProjectFiles {
    Branch { repository: Arc<Repository>, tip: Commit },
    Folder(PathBuf),
}

impl ProjectFiles {
    /// The files of a commit; of the workspace itself where there is none.
    pub fn at(workspace: &Path, commit: Option<&str>) -> Result<ProjectFiles, String> {
        let Some(commit) = commit else { return Ok(ProjectFiles::Folder(workspace.to_owned())) };
        let repository = Repository::open(workspace).map_err(|e| e.to_string())?;
        let tip = Commit::parse(commit).ok_or("the team's base is no commit")?;
        Ok(ProjectFiles::Branch { repository: Arc::new(repository), tip })
    }

    /// The files that a pattern covers, in order.
    pub fn find(&self, pattern: &str) -> Result<Vec<String>, String> {
        let pattern: Pattern = pattern.parse().map_err(|e| format!("{e}"))?;
        match self {
            ProjectFiles::Branch { repository, tip } => {
                let files = repository.files_of(tip).map_err(|e| e.to_string())?;
                Ok(covered(&pattern, files))
            }
            ProjectFiles::Folder(root) => {
                let mut found = Vec::new();
                walk(root, &root.join(pattern.literal_prefix()), &mut found);
                found.sort();
                Ok(covered(&pattern, found))
            }
        }
    }

    /// Those of them that are other than at a commit; all where there are no commits.
    pub fn changed(&self, since: Option<&Commit>, pattern: &str) -> Result<Vec<String>, String> {
        let (ProjectFiles::Branch { repository, tip }, Some(since)) = (self, since) else {
            return self.find(pattern);
        };
        let pattern: Pattern = pattern.parse().map_err(|e| format!("{e}"))?;
        let files = repository.changed_between(since, tip).map_err(|e| e.to_string())?;
        Ok(covered(&pattern, files))
    }

    /// What a file holds, as text.
    pub fn read(&self, path: &str) -> Result<Option<String>, String> {
        let bytes = match self {
            ProjectFiles::Branch { repository, tip } => {
                repository.read_file(tip, path).map_err(|e| e.to_string())?
            }
            ProjectFiles::Folder(root) => match read_inside(root, path) {
                Ok(bytes) => Some(bytes),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
                Err(e) => return Err(format!("{path}: {e}")),
            },
        };
        match bytes {
            Some(bytes) if bytes.len() > FILE_BYTES_MAX => {
                Err(format!("{path} has {} bytes, the limit is {FILE_BYTES_MAX}", bytes.len()))
            }
            Some(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            None => Ok(None),
        }
    }

    /// What a file held at another commit; nothing where there are no commits.
    pub fn read_at(&self, commit: Option<&Commit>, path: &str) -> Result<Option<String>, String> {
        match (self, commit) {
            (ProjectFiles::Branch { repository, .. }, Some(commit)) => {
                let bytes = repository.read_file(commit, path).map_err(|e| e.to_string())?;
                Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            }
            _ => Ok(None),
        }
    }
}

fn covered(pattern: &Pattern, files: Vec<String>) -> Vec<String> {
    let is_covered = |path: &String| path.parse().is_ok_and(|path| pattern.covers(&path));
    files.into_iter().filter(is_covered).collect()
}

pub fn read_inside(root: &Path, path: &str) -> io::Result<Vec<u8>> {
    regular_file::read_inside(root, Path::new(path), FILE_BYTES_MAX)
}

fn walk(root: &Path, at: &Path, found: &mut Vec<String>) {
    let Ok(meta) = std::fs::symlink_metadata(at) else { return };
    if meta.is_file() {
        let path = at.strip_prefix(root).ok().and_then(|path| path.to_str());
        found.extend(path.map(str::to_owned));
        return;
    }
    if !meta.is_dir() || at.file_name().is_some_and(|name| name == ".git") {
        return;
    }
    for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
        walk(root, &entry.path(), found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_inside_a_folder_are_read() {
        let top = std::env::temp_dir().join(format!("shipmate-ground-{}", std::process::id()));
        let root = top.join("root");
        std::fs::create_dir_all(root.join("deep")).unwrap();
        std::fs::write(top.join("outside"), "secret").unwrap();
        std::fs::write(root.join("deep/file"), "text").unwrap();
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        link("deep/file", "inward");
        link("../outside", "outward");
        link("..", "up");
        link("/dev/zero", "zero");
        let pipe = std::process::Command::new("mkfifo").arg(root.join("pipe")).status();
        assert!(pipe.unwrap().success());
        let ground = ProjectFiles::Folder(root.clone());
        for path in ["deep/file", "inward"] {
            assert_eq!(ground.read(path).unwrap().as_deref(), Some("text"), "{path}");
        }
        assert_eq!(ground.read("nothing"), Ok(None));
        for path in ["outward", "up/outside", "../outside", "zero", "pipe", "deep"] {
            assert!(ground.read(path).is_err(), "{path}");
        }
        std::fs::remove_dir_all(&top).unwrap();
    }
}
