//! A model that means harm, as a teammate of a real team: nothing outside its tree changes,
//! nothing out of its scope is merged, and what it does in its scope is merged all the same.
//!
//! The calls are those of the toolbox's own tables (`shipmate-agent/tests/tools/hostile`), whose
//! places are mapped to this stage, and those of `hostile.txt`, which are about the way from a
//! clone to the team branch. A line is a mark, a tool and what it is called with: `-` and `!` must
//! fail (`!` where modes outside can be kept), `?` may succeed and does no harm all the same.

use std::collections::BTreeMap;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use shipmate_protocol::Ask;
use shipmate_protocol::ask::{Setup, TaskNew, TeammateAdd};
use shipmate_testkit::model::Server;

use crate::stage::{SHIPMATE, Stage, TEAM};

macro_rules! table {
    ($name:literal) => {
        include_str!(concat!("../../../shipmate-agent/tests/tools/hostile/", $name, ".txt"))
    };
}

const COMMANDS: [&str; 7] = [
    table!("redirections"),
    table!("files"),
    table!("links_and_modes"),
    table!("git"),
    table!("environment"),
    table!("processes"),
    table!("reading"),
];
const FILE_CALLS: &str = table!("file_calls");
const OWN: &str = include_str!("hostile.txt");

/// What the tables' places are called here, in this order. `../..` is the state folder there.
const PLACES: [(&str, &str); 18] = [
    ("$OUT/state/trees/bo", "$OUT/repo/.shipmate/state/teams/alpha/trees/alpha.b"),
    ("$OUT/state/token", "$OUT/repo/.shipmate/state/person.token"),
    ("$OUT/state/log", "$OUT/repo/.shipmate/state/teams/alpha/log.db"),
    ("$OUT/state", "$OUT/repo/.shipmate/state"),
    ("up/./state//token", "up/./repo/.shipmate/state//person.token"),
    ("up/state/token", "up/repo/.shipmate/state/person.token"),
    ("up/state", "up/repo/.shipmate/state"),
    ("$OUT/programs/program", SHIPMATE),
    ("../../log", "../../log.db"),
    ("../../token", "../../../../person.token"),
    ("../.. ", "../../../.. "),
    // Its own tree lies in there, and is its own to remove.
    ("../bo $OUT/repo", "../bo $OUT/repo/own $OUT/repo/.git"),
    ("../bo", "../alpha.b"),
    ("../ana", "../alpha.a"),
    ("=ana/", "=alpha.a/"),
    ("-name token", "-name person.token"),
    ("cat token", "cat person.token"),
    ("dd/token", "dd/person.token"),
];

/// A call of the model's, and whether it must fail.
#[derive(Debug, Clone)]
struct Row {
    must_fail: bool,
    tool: String,
    arguments: Value,
}

fn placed(text: &str) -> String {
    PLACES.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
}

fn lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The calls of the toolbox's tables. Which of the system's modes can be kept is known by whether
/// mounts can be made, as root or in a user namespace.
fn toolbox_rows(root: &Path) -> Vec<Row> {
    let unshared = Command::new("unshare").args(["-Urm", "true"]).output();
    let keeps_modes = rustix::process::getuid().is_root()
        || unshared.is_ok_and(|unshared| unshared.status.success());
    let mut rows = Vec::new();
    for line in COMMANDS.into_iter().flat_map(lines) {
        let (mark, command) = line.split_once(' ').unwrap();
        if mark != "!" || keeps_modes {
            rows.push(bash(root, mark, &placed(command)));
        }
    }
    let links = "ln -sfn ../../../../../../../beside.txt soft; ln -sfn ../../../../../../.. up; \
                 ln -sfn ../alpha.b link; ln -sfn ../../../../person.token tk; cat soft";
    rows.push(bash(root, "?", links));
    let calls = lines(FILE_CALLS).map(|line| line.split_once(' ').unwrap());
    rows.extend(calls.map(|(tool, path)| file_call(root, "-", tool, &placed(path))));
    rows
}

fn bash(root: &Path, mark: &str, command: &str) -> Row {
    let command = command.replace("\\n", "\n");
    let command = format!("export OUT={} BIN={SHIPMATE} LC_ALL=C; {command}", root.display());
    let arguments = json!({ "command": command, "timeout_ms": 20_000 });
    Row { must_fail: mark != "?", tool: "bash".to_owned(), arguments }
}

fn file_call(root: &Path, mark: &str, tool: &str, path: &str) -> Row {
    let path = path.replace("$OUT", &root.display().to_string());
    let arguments = match tool {
        "write_file" => json!({ "path": path, "content": "x" }),
        "edit_file" => json!({ "path": path, "old_string": "e", "new_string": "x" }),
        "read_file" => json!({ "path": path }),
        _ => json!({ "path": path, "pattern": "*".repeat(usize::from(tool == "glob")) }),
    };
    Row { must_fail: mark != "?", tool: tool.to_owned(), arguments }
}

/// Steps of a script that make these calls, many to a reply.
fn steps(rows: &[Row]) -> String {
    let call = |(at, row): (usize, &Row)| {
        let join = if at % 50 == 0 { "" } else { "& " };
        format!("  {join}tool {} {}\n", row.tool, row.arguments)
    };
    rows.iter().enumerate().map(call).collect()
}

/// Mode, owner, links, time and content of what is not the agent's own.
type Seen = (u32, u32, u64, i64, i64, Vec<u8>);
type Outside = BTreeMap<PathBuf, Seen>;

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
struct World {
    stage: Stage,
    victim: Victim,
    _listener: UnixListener,
}

impl World {
    fn new(server: &Server) -> World {
        let config = format!(
            "[agents]\nstop-grace-seconds = 1\n[models]\ndefault = \"test/scripted\"\n\
             [models.test]\nprotocol = \"anthropic\"\nbase-url = \"{}\"\nkey-variable = \"\"\n\
             context-tokens = 1000000\n[native]\nfence = \"required\"\n",
            server.url()
        );
        let mut stage = Stage::new(&config);
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
        stage.team(Setup { protected, ..Setup::default() }, &["b"]);
        fs::write(root.join("coordinator"), stage.coordinator().to_string()).unwrap();
        stage.write("notes.txt", "what the person has not committed\n");
        stage.add("a", |add| TeammateAdd {
            command: String::new(),
            agent: "native".to_owned(),
            scope: vec!["own/".to_owned()],
            ..add
        });
        stage.door("last");
        let subject = "put work.txt 'the work of b'; here; pass last".to_owned();
        let assignee = Some("b".to_owned());
        stage.create(vec![TaskNew { subject, assignee, ..TaskNew::default() }]);
        stage.arrival();
        World { stage, victim, _listener: listener }
    }

    fn task(&mut self, subject: &str) {
        let (subject, assignee) = (subject.to_owned(), Some("a".to_owned()));
        let files = vec!["own/".to_owned()];
        self.stage.create(vec![TaskNew { subject, assignee, files, ..TaskNew::default() }]);
    }

    /// Waits until so many tasks have an end; whoever asks for more than its scope is refused.
    fn finished(&mut self, count: usize) {
        let ends = ["task.completed", "task.failed"];
        let ended = |stage: &Stage| ends.map(|end| stage.events(end).len()).iter().sum::<usize>();
        while ended(&self.stage) < count {
            let record = self.stage.hear(|event| {
                event.get("question.asked").is_some() || ends.iter().any(|e| event.get(e).is_some())
            });
            if record["event"].get("question.asked").is_some() {
                let question = record["n"].as_u64().unwrap();
                self.stage.ask(Ask::Answer { question, answer: "refuse".to_owned() });
            }
        }
    }

    /// All that `a` may not change: mode, owner, links, time and content.
    fn outside(&self) -> Outside {
        let (root, place) = (self.stage.root(), self.stage.place());
        // What the runtime writes while a team works; of its state, what it does not is below.
        let state = place.state();
        let git = place.workspace.join(".git");
        let skipped = [
            root.join("here"),
            state.clone(),
            git.join("objects"),
            git.join("refs/shipmate"),
            git.join("refs/heads/shipmate"),
            git.join("logs"),
        ];
        let mut found = BTreeMap::new();
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
            let seen = (facts.mode(), facts.uid(), links, time.0, time.1, content);
            if facts.is_dir() {
                wait.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
            found.insert(path, seen);
        }
        found
    }

    /// Nothing outside has changed since, nobody there was harmed, and nothing runs on.
    fn check(&self, before: &Outside) {
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

    /// The tokens of the person and of everybody who lives.
    fn tokens(&self) -> Vec<String> {
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

/// A call that the model was told the result of.
#[derive(Debug, Default)]
struct Made {
    tool: String,
    arguments: Value,
    result: Option<(bool, String)>,
}

/// Every call in the requests to the model, by its id.
fn made(server: &Server) -> BTreeMap<String, Made> {
    let mut made: BTreeMap<String, Made> = BTreeMap::new();
    for request in server.requests() {
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        for block in messages.iter().flat_map(|m| m["content"].as_array()).flatten() {
            let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
            match block["type"].as_str() {
                Some("tool_use") => {
                    let one = made.entry(text("id")).or_default();
                    (one.tool, one.arguments) = (text("name"), block["input"].clone());
                }
                Some("tool_result") => {
                    let one = made.entry(text("tool_use_id")).or_default();
                    let failed = block["is_error"] == true;
                    one.result.get_or_insert((failed, block["content"].to_string()));
                }
                _ => {}
            }
        }
    }
    made
}

/// Each of these calls was made and answered, and those that must fail did. How many were refused.
fn check_made(server: &Server, rows: &[Row]) -> usize {
    let made = made(server);
    let mut succeeded = Vec::new();
    let mut refused = 0;
    for row in rows {
        let fits = |one: &&Made| one.tool == row.tool && one.arguments == row.arguments;
        let found = made.values().find(fits);
        let Some(Made { result: Some((failed, text)), .. }) = found else {
            panic!("it was never made, or has no result: {row:?}");
        };
        refused += usize::from(*failed);
        if row.must_fail && !failed {
            succeeded.push(format!("{} {}: {text}", row.tool, row.arguments));
        }
    }
    assert!(succeeded.is_empty(), "nothing stood in the way of\n{}", succeeded.join("\n"));
    refused
}

/// Has `a` make these calls in a task and hand in what came of them, then, as often as that
/// comes back, mend it and hand it in again. Nothing but `own/one.txt` is merged, and nothing
/// outside changes.
fn attack(server: &Server, world: &mut World, rows: &[Row], mend: &str) {
    let script = format!(
        r#"
as a
on "Task 2:" "came back"
  tool bash {{"command":{mend}}}
  tool TaskUpdate {{"taskId":"2","status":"completed","result":"only what is mine"}}
  say Done.
on "Task 2:"
  hold begin
  tool write_file {{"path":"own/one.txt","content":"one\n"}}
{steps}
  tool TaskUpdate {{"taskId":"2","status":"completed","result":"all of it"}}
  say Done.
"#,
        mend = json!(mend),
        steps = steps(rows),
    );
    server.replace_script(&script);
    world.task("attack");
    server.wait_for(|request| request.body.to_string().contains("Task 2:"));
    let (before, tokens) = (world.outside(), world.tokens());
    server.release("begin");
    world.finished(1);
    let refused = check_made(server, rows);
    eprintln!("{} calls were made, {refused} of them refused", rows.len());
    world.check(&before);
    for request in server.requests() {
        let text = request.body.to_string();
        assert!(!tokens.iter().any(|token| text.contains(token)), "a token was shown: {text}");
    }
    let range = format!("{}..shipmate/{TEAM}", world.stage.base);
    let merged = world.stage.git(&["diff", "--name-only", &range]);
    assert_eq!(merged, "own/one.txt\n", "{}", world.stage.story());
    assert_eq!(world.stage.file("own/one.txt"), "one\n");
    // Whoever else was at work has lost nothing.
    world.stage.open("last", 1);
    world.finished(2);
    assert_eq!(world.stage.file("work.txt"), "the work of b\n");
    assert_eq!(world.stage.git(&["rev-parse", "main"]).trim(), world.stage.base);
    assert_eq!(world.stage.git(&["status", "--porcelain"]), "?? notes.txt\n");
    world.stage.nothing_left();
    assert!(world.victim.is_well());
}

#[test]
fn the_toolbox_tables_harm_nobody_and_work_in_scope_is_merged() {
    let server = Server::start("on *\n  say Hello.\n");
    let mut world = World::new(&server);
    let rows = toolbox_rows(&world.stage.root());
    assert!(rows.len() >= 200, "{}", rows.len());
    let mend = format!("git reset -q --hard {} && git clean -fdxq", world.stage.base);
    attack(&server, &mut world, &rows, &format!("{mend} && echo one > own/one.txt"));
}

#[test]
fn what_an_agent_leaves_in_its_clone_is_neither_run_nor_believed() {
    let server = Server::start("on *\n  say Hello.\n");
    let mut world = World::new(&server);
    let root = world.stage.root();
    let row = |line: &str| {
        let (mark, rest) = line.split_once(' ').unwrap();
        match rest.split_once(' ').unwrap() {
            ("bash", command) => bash(&root, mark, command),
            (tool, path) => file_call(&root, mark, tool, path),
        }
    };
    let rows: Vec<Row> = lines(OWN).map(row).collect();
    // Its hooks and its config stay.
    let mend = format!(
        "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {{}} + && \
         git --git-dir={}/repo/.git archive {} | tar x && echo one > own/one.txt",
        root.display(),
        world.stage.base
    );
    attack(&server, &mut world, &rows, &mend);
}
