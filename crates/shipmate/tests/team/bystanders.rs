//! Those whom a hostile teammate must leave alone: a person with a home and uncommitted work, a
//! process of the person's, the repository, shipmate's own state, and a teammate at work.
//!
//! All of it is looked at before and after. What the runtime itself writes while a team works
//! (logs, locks, new objects and its own refs) is left out.

use std::collections::BTreeMap;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::{Setup, TaskNew, TeammateAdd};
use shipmate_testkit::model::Server;

use crate::hostile::may_mount;
use crate::stage::Stage;

/// Mode, owner, links, time and content of what is not the agent's own.
pub(crate) type Seen = (u32, u32, u64, i64, i64, Vec<u8>);
pub(crate) type Outside = BTreeMap<PathBuf, Seen>;

/// A process that is none of the agent's business.
struct Victim(Child);

impl Victim {
    fn new() -> Victim {
        Victim(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap())
    }

    fn is_well(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.rsplit(')').next().unwrap().starts_with(" S")
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A team of `a`, whom nobody should trust, and `b`, who is in the middle of its work.
pub(crate) struct World {
    pub(crate) stage: Stage,
    victim: Victim,
    _listener: UnixListener,
}

impl World {
    /// `b` does this and more, and waits at a door before it hands it in.
    pub(crate) fn new(server: &Server, more: &str) -> World {
        let config = format!(
            "fence = \"required\"\n[agents]\nstop-grace-seconds = 1\n[models]\ndefault = \
             \"test/scripted\"\n[models.test]\nprotocol = \"anthropic\"\nbase-url = \"{}\"\n\
             key-variable = \"\"\ncontext-tokens = 1000000\n",
            server.url()
        );
        let native = |add| TeammateAdd {
            command: String::new(),
            agent: "native".to_owned(),
            scope: vec!["own/".to_owned()],
            ..add
        };
        World::with(Stage::new(&config), more, |_| Setup::default(), native)
    }

    /// The same with another `a`, in a team of another kind.
    pub(crate) fn with(
        mut stage: Stage,
        more: &str,
        setup: impl FnOnce(&Stage) -> Setup,
        a: impl FnOnce(TeammateAdd) -> TeammateAdd,
    ) -> World {
        let root = stage.root();
        let victim = Victim::new();
        fs::create_dir(root.join("home/.ssh")).unwrap();
        for (file, text) in [
            ("home/.ssh/id", "a key of a person"),
            ("home/.bashrc", "# as it was"),
            ("beside.txt", "beside"),
            ("victim", &victim.0.id().to_string()),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        let address = SocketAddr::from_abstract_name(root.to_str().unwrap()).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        for (file, text) in [
            ("f.txt", "one\n"),
            ("own/begun.txt", "begun\n"),
            ("other/theirs.txt", "theirs\n"),
            ("other/run.sh", "true\n"),
            ("ci/run", "true\n"),
        ] {
            stage.write(file, text);
        }
        stage.commit();
        let protected = vec!["ci/".to_owned()];
        let setup = setup(&stage);
        stage.team(Setup { protected, ..setup }, &["b"]);
        fs::write(root.join("coordinator"), stage.coordinator().to_string()).unwrap();
        stage.write("notes.txt", "what the person has not committed\n");
        stage.add("a", a);
        stage.door("last");
        let subject = format!("put work.txt 'the work of b'; {more} here; pass last");
        let assignee = Some("b".to_owned());
        stage.create(vec![TaskNew { subject, assignee, ..TaskNew::default() }]);
        stage.arrival();
        World { stage, victim, _listener: listener }
    }

    /// A task of `a`, which waits for these.
    pub(crate) fn task(&mut self, subject: &str, after: &[&str]) {
        self.stage.create(vec![TaskNew {
            subject: subject.to_owned(),
            assignee: Some("a".to_owned()),
            files: vec!["own/".to_owned()],
            blocked_by: after.iter().map(|id| (*id).to_owned()).collect(),
            ..TaskNew::default()
        }]);
    }

    /// Waits until so many tasks have an end; whoever asks for more than its scope is refused.
    pub(crate) fn finished(&mut self, count: usize) {
        let ends = ["task.completed", "task.failed"];
        let ended = |stage: &Stage| ends.map(|end| stage.events(end).len()).iter().sum::<usize>();
        while ended(&self.stage) < count {
            let record = self.stage.hear(|event| {
                event.get("question.asked").is_some() || ends.iter().any(|e| event.get(e).is_some())
            });
            if record["event"].get("question.asked").is_some() {
                let question = record["n"].as_u64().unwrap();
                self.stage.ask(Ask::Answer(verbs::QuestionAnswer {
                    question,
                    answer: "refuse".to_owned(),
                }));
            }
        }
    }

    /// All that `a` may not change: mode, owner, links, time and content.
    pub(crate) fn outside(&self) -> Outside {
        let (root, place) = (self.stage.root(), self.stage.place());
        // What the runtime writes while a team works; of its state, what it does not is below.
        let state = place.state();
        let git = place.workspace.join(".git");
        let skipped = [
            root.join("here"),
            root.join("notes"),
            state.clone(),
            git.join("objects"),
            git.join("refs/shipmate"),
            git.join("refs/heads/shipmate"),
            git.join("logs"),
        ];
        let mut found = BTreeMap::new();
        let mounts = may_mount();
        let tree = self.stage.tree("b");
        let mut wait = vec![root, state.join("person.token"), self.stage.life("b", 1)];
        wait.extend([tree.with_added_extension("shadow"), tree]);
        while let Some(path) = wait.pop() {
            if skipped.contains(&path) {
                continue;
            }
            let facts = fs::symlink_metadata(&path).unwrap();
            let content = if facts.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            // Folders in which git makes and removes locks.
            let folder = facts.is_dir() && path.starts_with(&git);
            let time = if folder { (0, 0) } else { (facts.mtime(), facts.mtime_nsec()) };
            let links = if facts.is_dir() { 0 } else { facts.nlink() };
            // Without mounts, their owner can change these.
            let (mode, time) = match mounts {
                true => (facts.mode(), time),
                false => (0, (0, 0)),
            };
            let seen = (mode, facts.uid(), links, time.0, time.1, content);
            if facts.is_dir() {
                wait.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
            found.insert(path, seen);
        }
        found
    }

    /// Nothing outside has changed since, nobody there was harmed, and nothing runs on.
    pub(crate) fn check(&self, before: &Outside) {
        let after = self.outside();
        let differs = |(path, seen): &(&PathBuf, &Seen)| before.get(*path) != Some(seen);
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        let changed: Vec<_> =
            after.iter().filter(differs).map(|(path, _)| path).chain(gone).collect();
        assert!(changed.is_empty(), "{changed:?} changed\n{}", self.stage.story());
        for path in ["/tmp", "/var/tmp", "/etc", "."] {
            assert!(!Path::new(path).join("shipmate-hostile").exists(), "{path}");
        }
        assert!(self.victim.is_well());
    }

    /// No process stands in anybody's tree, also none that has cleared its environment.
    pub(crate) fn nobody_stays(&self) {
        let root = self.stage.root();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let at = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            assert!(!at.starts_with(&root), "{:?} is left in {at:?}", entry.file_name());
        }
        assert!(self.victim.is_well());
    }

    /// Tokens are where they must be, and in nothing that was said, kept or merged.
    pub(crate) fn nobody_told(&self, server: &Server, tokens: &[String]) {
        let has = |text: &[u8]| tokens.iter().any(|token| finds(text, token.as_bytes()));
        for request in server.requests() {
            let text = request.body.to_string();
            assert!(!has(text.as_bytes()), "a model was told: {text}");
        }
        let mut wait = vec![self.stage.place().workspace];
        while let Some(path) = wait.pop() {
            let facts = fs::symlink_metadata(&path).unwrap();
            let name = path.file_name().unwrap_or_default();
            if facts.is_dir() {
                wait.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if facts.is_file() && name != "person.token" && name != "order.json" {
                assert!(!has(&fs::read(&path).unwrap()), "{}", path.display());
            }
        }
    }

    /// The tokens of the person and of everybody who lives.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let place = self.stage.place();
        let person = fs::read_to_string(place.person_token()).unwrap().trim().to_owned();
        let mut tokens = vec![person];
        for name in ["a", "b"] {
            let order = fs::read_to_string(self.stage.life(name, 1).join("order.json")).unwrap();
            let order: Value = serde_json::from_str(&order).unwrap();
            tokens.push(order["token"].as_str().unwrap().to_owned());
        }
        assert!(tokens.iter().all(|token| token.len() >= 16), "{tokens:?}");
        tokens
    }
}

fn finds(text: &[u8], sought: &[u8]) -> bool {
    text.windows(sought.len()).any(|window| window == sought)
}
