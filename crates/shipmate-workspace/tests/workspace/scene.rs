//! A repository of a user, teammates' trees beside it, and git as each of them would run it.
//!
//! The code under test takes its environment from the process. So that it is the same everywhere, a
//! test runs its body in a process of its own: the test binary again, for that one test, with a
//! home of its own and no git config of the machine.

use std::any::type_name;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use shipmate_workspace::{
    Author, Commit, Keep, MergeText, Merged, Parent, Paths, PlannedMerge, Repository, Tree,
    UserMergeFailure, WorkKey,
};

const INSIDE: &str = "SHIPMATE_TEST_INSIDE";

/// Runs the body in a clean process. Call it first, and with everything inside.
pub(crate) fn alone<F: FnOnce(&Scene)>(body: F) {
    run_alone(body, None);
}

/// The same as a user whom permissions stop, whoever runs the tests.
pub(crate) fn alone_without_rights<F: FnOnce(&Scene)>(body: F) {
    const NOBODY: u32 = 65534;
    run_alone(body, rustix::process::geteuid().is_root().then_some(NOBODY));
}

fn run_alone<F: FnOnce(&Scene)>(body: F, user: Option<u32>) {
    if std::env::var_os(INSIDE).is_some() {
        return body(&Scene::new());
    }
    let closure = type_name::<F>();
    let test = closure.trim_end_matches("::{{closure}}").split_once("::").unwrap().1;
    let folder = TempDir::new();
    let mut command = Command::new(std::env::current_exe().unwrap());
    if let Some(user) = user {
        std::os::unix::fs::chown(&folder.0, Some(user), Some(user)).unwrap();
        command.uid(user).gid(user);
    }
    let output = command
        .current_dir("/")
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", &folder.0)
        .env("TMPDIR", &folder.0)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        // As if started from a hook of some other repository.
        .env("GIT_DIR", "/nowhere/.git")
        .env("GIT_INDEX_FILE", "/nowhere/index")
        .env("GIT_WORK_TREE", "/nowhere")
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} failed in its own process");
    assert!(said.contains("1 passed"), "{test} did not run in its own process");
}

pub(crate) struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shipmate-workspace-{}-{number}", std::process::id());
        let path = std::env::temp_dir().canonicalize().unwrap().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { folder: TempDir::new() };
        fs::create_dir(scene.path("state of it")).unwrap();
        scene.make_repository("sha1");
        scene
    }

    /// One commit with `a.txt`, `b.txt` and `src/lib.rs`, on `main`. Paths have spaces.
    pub(crate) fn make_repository(&self, format: &str) {
        let _ = fs::remove_dir_all(self.user());
        fs::create_dir_all(self.user()).unwrap();
        git(&self.user(), &["init", "-q", "-b", "main", &format!("--object-format={format}")]);
        git(&self.user(), &["config", "user.name", "User"]);
        git(&self.user(), &["config", "user.email", "user@example.com"]);
        write(&self.user(), "a.txt", "one\ntwo\nthree\n");
        write(&self.user(), "b.txt", "b\n");
        write(&self.user(), "src/lib.rs", "// lib\n");
        write(&self.user(), ".gitignore", "target/\n*.log\n");
        commit_all(&self.user(), "first");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.0.join(name)
    }

    pub(crate) fn user(&self) -> PathBuf {
        self.path("the user's repo")
    }

    pub(crate) fn open(&self) -> Repository {
        Repository::open(&self.user()).unwrap()
    }

    /// A repository with the branch of `crew` begun at the user's head.
    pub(crate) fn begun(&self) -> (Repository, Commit) {
        let repository = self.open();
        let base = repository.head().unwrap().commit;
        repository.begin("crew", &base).unwrap();
        (repository, base)
    }

    pub(crate) fn tree_path(&self, name: &str) -> PathBuf {
        self.path("state of it").join("trees").join(name)
    }

    /// A teammate's tree, brought up to the team's tip.
    pub(crate) fn tree(&self, repository: &Repository, name: &str) -> Tree {
        let tree = Tree::prepare(repository, &self.tree_path(name), name, &author(name)).unwrap();
        tree.bring_up(&repository.tip("crew").unwrap().unwrap(), Keep::Nothing).unwrap();
        tree
    }
}

pub(crate) fn author(name: &str) -> Author {
    Author { name: name.to_owned(), email: format!("{name}@shipmate") }
}

pub(crate) fn key(task: u32, token: u64) -> WorkKey {
    WorkKey { team: "crew".to_owned(), task, token }
}

pub(crate) fn about(teammate: &str, key: &WorkKey) -> MergeText {
    MergeText {
        subject: format!("task {}", key.task),
        author: author(teammate),
        teammate: teammate.to_owned(),
        key: key.clone(),
    }
}

/// Commits what is in the tree, through the code under test.
pub(crate) fn save(tree: &Tree) -> Commit {
    tree.snapshot(Paths::All, "work\n", Parent::Head).unwrap().commit.unwrap()
}

/// Takes work in, merges it and advances the team branch.
pub(crate) fn land(repository: &Repository, tree: &Tree, work: &Commit, key: &WorkKey) -> Commit {
    repository.take_in(tree, work, key).unwrap();
    let onto = repository.tip("crew").unwrap().unwrap();
    let merged = repository.merge(&onto, work, &about(tree.branch(), key)).unwrap();
    let Merged::Landed(commit) = merged else { panic!("{merged:?}") };
    repository.advance("crew", &onto, &commit).unwrap();
    commit
}

/// Merges into the user's branch, where there is something to merge.
pub(crate) fn deliver(scene: &Scene, repository: &Repository) -> Result<Commit, UserMergeFailure> {
    let planned = repository.plan_merge("crew")?;
    let PlannedMerge::Ready(ready) = planned else { panic!("{planned:?}") };
    repository.merge_into_user(&ready, &scene.path("merge"), "d1")
}

/// A hook of the user's.
pub(crate) fn hook(scene: &Scene, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = scene.user().join(".git/hooks").join(name);
    write(&scene.user(), &format!(".git/hooks/{name}"), &format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Git as a person or an agent runs it in a folder, with that folder's own config and hooks.
pub(crate) fn git(at: &Path, args: &[&str]) -> String {
    let output = plain_git(at).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(crate) fn plain_git(at: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(at);
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"] {
        git.env_remove(name);
    }
    git
}

pub(crate) fn commit_all(at: &Path, message: &str) -> Commit {
    git(at, &["add", "-A"]);
    git(at, &["commit", "-q", "--allow-empty", "-m", message]);
    Commit::parse(&git(at, &["rev-parse", "HEAD"])).unwrap()
}

pub(crate) fn write(at: &Path, name: &str, text: &str) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn read(at: &Path, name: &str) -> String {
    fs::read_to_string(at.join(name)).unwrap()
}

/// The files of a commit in the user's repository or a clone.
pub(crate) fn files(at: &Path, commit: &Commit) -> Vec<String> {
    let text = git(at, &["ls-tree", "-r", "-z", "--name-only", commit.as_str()]);
    text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Every file, folder and link below a place with its bytes, for comparing before and after.
pub(crate) fn bytes_of(at: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![at.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let bytes = if kind.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if kind.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}
