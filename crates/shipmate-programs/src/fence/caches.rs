//! The team's caches: where package managers keep what they have fetched, apart from the person's.
//!
//! A cache is code that runs later: what an agent writes there, the person's next build would
//! compile. So the team has its own, named by variables, and of the person's it only reads: settings,
//! and packages that are there already, by links that nobody behind the fence can write through.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, symlinkat};
use rustix::io::Errno;
use shipmate_process::environment;

/// A variable, and the folder below the team's caches that it names.
const NAMED: [(&str, &str); 18] = [
    ("XDG_CACHE_HOME", "xdg"),
    ("CARGO_HOME", "cargo"),
    ("npm_config_cache", "npm"),
    ("pnpm_config_store_dir", "pnpm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("DENO_DIR", "deno"),
    ("PIP_CACHE_DIR", "pip"),
    ("UV_CACHE_DIR", "uv"),
    ("POETRY_CACHE_DIR", "poetry"),
    ("PRE_COMMIT_HOME", "pre-commit"),
    ("GOMODCACHE", "go-mod"),
    ("GOCACHE", "go-build"),
    ("GRADLE_USER_HOME", "gradle"),
    ("NUGET_PACKAGES", "nuget"),
    ("COMPOSER_CACHE_DIR", "composer"),
    ("CCACHE_DIR", "ccache"),
    ("SCCACHE_DIR", "sccache"),
];

/// What is not fetched again for each team: the person's, only read.
const KEPT: [(&str, &str); 1] = [("PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright")];

/// What tells programs where the team's caches are.
pub fn variables(caches: &Path) -> Vec<(String, String)> {
    let text = |path: PathBuf| path.display().to_string();
    let own = NAMED.iter().map(|(name, below)| ((*name).to_owned(), text(caches.join(below))));
    let home = home().unwrap_or_default();
    let kept = KEPT
        .iter()
        .filter(|(name, below)| environment::var(name).is_none() && home.join(below).is_dir());
    let kept = kept.map(|(name, below)| ((*name).to_owned(), text(home.join(below))));
    let maven = format!("-Dmaven.repo.local={}", caches.join("maven").display());
    let mut all: Vec<(String, String)> = own.chain(kept).collect();
    // Npm warns of it in whatever it prints; older releases of pnpm know no other name.
    if has_program("pnpm") {
        all.push(("npm_config_store_dir".to_owned(), text(caches.join("pnpm"))));
    }
    all.push(("MAVEN_ARGS".to_owned(), maven));
    if let Some(fetched) = downloads_of_go(&home) {
        let usual = environment::var("GOPROXY").and_then(|proxy| proxy.into_string().ok());
        let usual = usual.unwrap_or_else(|| "https://proxy.golang.org,direct".to_owned());
        all.push(("GOPROXY".to_owned(), format!("file://{},{usual}", fetched.display())));
    }
    all
}

fn has_program(name: &str) -> bool {
    let path = environment::var("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Links what the person has and a build would fetch again, beside everything else: there may be
/// many thousands. What is not linked yet is fetched.
pub(super) fn seed(caches: &Path) {
    let from = environment::var("CARGO_HOME").map(PathBuf::from);
    let Some(from) = from.or_else(|| Some(home()?.join(".cargo"))) else { return };
    let Some(caches) = opened(CWD, caches) else { return };
    // Once, and not where somebody has put something else.
    if mkdirat(&caches, "cargo", Mode::RWXU).is_err() {
        return;
    }
    let Some(cargo) = opened(&caches, "cargo") else { return };
    for file in ["config.toml", "config", "env"] {
        if from.join(file).exists() {
            let _ = symlinkat(from.join(file), &cargo, file);
        }
    }
    let from = from.join("registry");
    let Some(to) = below(&cargo, "registry") else { return };
    std::thread::spawn(move || {
        for name in ["cache", "index"] {
            if let Some(to) = below(&to, name) {
                link_files(&from.join(name), &to);
            }
        }
    });
}

/// The same folders, with a link for each file. Agents write there meanwhile, so every folder is
/// held open: none is entered that they have put in the place of another.
fn link_files(from: &Path, to: &OwnedFd) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if let Some(to) = below(to, entry.file_name()) {
                    link_files(&entry.path(), &to);
                }
            }
            // One that is there already was fetched meanwhile.
            _ => drop(symlinkat(entry.path(), to, entry.file_name())),
        }
    }
}

/// A folder in this one, made if it is not there.
fn below(folder: &OwnedFd, name: impl AsRef<OsStr>) -> Option<OwnedFd> {
    let name = name.as_ref();
    match mkdirat(folder, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => opened(folder, name),
        Err(_) => None,
    }
}

fn opened(folder: impl AsFd, name: impl AsRef<Path>) -> Option<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name.as_ref(), flags, Mode::empty()).ok()
}

fn downloads_of_go(home: &Path) -> Option<PathBuf> {
    let named = environment::var("GOMODCACHE").map(PathBuf::from);
    let path = environment::var("GOPATH").map(|path| PathBuf::from(path).join("pkg/mod"));
    let cache = named.or(path).unwrap_or_else(|| home.join("go/pkg/mod"));
    Some(cache.join("cache/download")).filter(|folder| folder.is_dir())
}

pub(super) fn home() -> Option<PathBuf> {
    environment::var("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_linked_has_the_same_names_and_is_read_through() {
        let name = format!("shipmate-caches-{}", std::process::id());
        let top = std::env::temp_dir().join(name);
        fs::create_dir_all(top.join("from/a/b")).unwrap();
        fs::write(top.join("from/a/b/x.crate"), "crate").unwrap();
        let to = below(&opened(CWD, &top).unwrap(), "to").unwrap();
        link_files(&top.join("from"), &to);
        assert_eq!(fs::read_to_string(top.join("to/a/b/x.crate")).unwrap(), "crate");
        assert!(top.join("to/a/b/x.crate").is_symlink() && !top.join("to/a").is_symlink());
        // What somebody has put in a folder's place is not entered.
        fs::create_dir_all(top.join("theirs/b")).unwrap();
        fs::remove_dir_all(top.join("to/a")).unwrap();
        symlink(top.join("theirs"), top.join("to/a")).unwrap();
        link_files(&top.join("from"), &to);
        assert!(!top.join("theirs/b/x.crate").exists());
        fs::remove_dir_all(&top).unwrap();
    }
}
