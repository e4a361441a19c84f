//! A workspace as a supervisor lays it out: a repository, a state folder that is hidden, and in
//! it the trees of two teammates.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_agent::tools::{Place, ToolOutcome, Toolbox};
use shipmate_process::Marker;
use shipmate_protocol::native::{FenceOrder, Limits};

use super::launcher;

/// Far longer than anything here takes; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
pub(crate) const TOKEN: &str = "tok-5ec2e7-of-a-person";

pub(crate) struct Scene {
    root: PathBuf,
    digest: String,
    pub(crate) toolbox: Toolbox,
    place: Place,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Scene {
    pub(crate) fn new() -> Scene {
        Scene::with(|_| ())
    }

    pub(crate) fn with(change: impl FnOnce(&mut Place)) -> Scene {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let digest = format!("tools-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(format!("shipmate-{digest}"));
        fs::create_dir(&root).unwrap();
        let root = root.canonicalize().unwrap();
        for folder in ["repo", "home/.ssh", "state/trees/bo", "state/scratch/ana", "programs"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (file, text) in [
            ("home/.ssh/id", "a key of a person"),
            ("home/.bashrc", "# as it was"),
            ("state/token", TOKEN),
            ("state/log", TOKEN),
            ("state/trees/bo/work.txt", "the work of bo"),
            ("beside.txt", "beside"),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        git(&root.join("repo"), "init -q -b main .");
        fs::write(root.join("repo/f.txt"), "one\n").unwrap();
        git(&root.join("repo"), "add f.txt");
        git(&root.join("repo"), "commit -qm one");
        git(&root, "clone -q --shared repo state/trees/ana");
        let tree = root.join("state/trees/ana");
        let mut place = Place {
            scratch: root.join("state/scratch/ana"),
            fence: FenceOrder {
                write: vec![tree.clone()],
                hidden: vec![root.join("state")],
                required: true,
                ..FenceOrder::default()
            },
            program: launcher::program(&root.join("programs"), &root.join("home"), ""),
            marker: Marker::new(&digest, "agent", "alpha.ana@1").unwrap().to_string(),
            limits: Limits::default(),
            secrets: vec!["CARGO_PKG_NAME".to_owned()],
            tree,
        };
        change(&mut place);
        Scene { root, digest, toolbox: Toolbox::new(place.clone()), place }
    }

    /// From now on no answer is longer.
    pub(crate) fn say_at_most(&mut self, output_bytes_max: usize) {
        self.place.limits.output_bytes_max = output_bytes_max;
        self.toolbox = Toolbox::new(self.place.clone());
    }

    /// As when the agent itself is behind a fence: its shells can mount nothing.
    pub(crate) fn within_a_fence() -> Scene {
        Scene::with(|place| {
            let folder = place.program.parent().unwrap();
            let home = folder.with_file_name("home");
            launcher::program(folder, &home, "setpriv --no-new-privs");
        })
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    pub(crate) fn own(&self, below: &str) -> PathBuf {
        self.root.join("state/trees/ana").join(below)
    }

    pub(crate) fn put(&self, below: &str, content: impl AsRef<[u8]>) {
        let path = self.own(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, below: &str) -> String {
        fs::read_to_string(self.own(below)).unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutcome {
        let run = self.toolbox.run(tool, &arguments);
        tokio::time::timeout(PATIENCE, run).await.expect("a tool answers")
    }

    /// What it says when it does what it was asked for.
    pub(crate) async fn good(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments.clone()).await;
        assert!(!outcome.is_error, "{tool} {arguments}: {}", outcome.text);
        outcome.text
    }

    pub(crate) async fn bad(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments.clone()).await;
        assert!(outcome.is_error, "{tool} {arguments}: {}", outcome.text);
        outcome.text
    }

    pub(crate) async fn bash(&self, command: &str) -> ToolOutcome {
        self.call("bash", json!({"command": command})).await
    }

    /// Live processes that carry a marker of this scene.
    pub(crate) fn processes(&self) -> usize {
        shipmate_process::marked(&self.digest).len()
    }
}

pub(crate) fn git(folder: &Path, line: &str) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(line.split(' '))
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// As the agent's own loop: one thread, on which all of it lives.
pub(crate) fn on_one_thread(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work);
}
