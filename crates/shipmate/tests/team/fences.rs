//! The fence around everybody: the same moves by a plain command in every mode, by a gate and by a
//! hook. None of them reads the state, writes outside, or acts as somebody else.
//!
//! The moves are those of the tables in `hostile.rs`, run by a shell, and those below. A script says
//! at its end which of those that must fail did not. That it can tell is shown by the same script
//! without a fence.

use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use shipmate_protocol::verbs::{Setup, TaskNew, TeammateAdd};

use crate::bystanders::{Outside, World};
use crate::hostile::{REACHING, WRITING, marked, may_mount, placed};
use crate::stage::{SHIPMATE, Stage};

/// As the person, as a peer, and by what belongs to the runtime.
const OWN: &str = r#"
- env -u SHIPMATE_TOKEN $BIN --workspace $OUT/repo send b forged
- env -u SHIPMATE_TOKEN -u SHIPMATE_FENCED $BIN --workspace $OUT/repo teammate mode a normal
- SHIPMATE_TOKEN=x $BIN --workspace $OUT/repo task list
- SHIPMATE_TOKEN=$(cat $OUT/repo/.shipmate/state/person.token) $BIN --workspace $OUT/repo team pause
- env -u SHIPMATE_TOKEN $BIN --workspace $OUT/repo coordinator stop
- env -u SHIPMATE_TOKEN $BIN --workspace $OUT/repo teammate add pwn --command true
- cat $OUT/repo/.shipmate/state/secret.key
- cat $OUT/repo/.shipmate/state/teams/alpha/lives/alpha.a@1/order.json
- cat $OUT/repo/.shipmate/state/teams/alpha/lives/alpha.b@1/order.json
- echo x >> $OUT/repo/.shipmate/state/teams/alpha/lives/alpha.a@1/order.json
- rm $OUT/repo/.shipmate/state/teams/alpha/lives/alpha.a@1/order.json
- touch $OUT/repo/.shipmate/state/teams/alpha/lives/alpha.a@1/over
- echo x > $OUT/repo/.shipmate/state/teams/alpha/lives/alpha.b@1/hand/result
- cat $OUT/repo/.shipmate/state/teams/alpha/log.db
- cat /proc/self/root/$OUT/repo/.shipmate/state/person.token
- ln $OUT/repo/.shipmate/state/person.token mine && cat mine
- mv $OUT/repo/.shipmate/state/person.token mine
- mv $OUT/repo/.shipmate/state $OUT/repo/.shipmate/mine && cat $OUT/repo/.shipmate/mine/person.token
- mv $OUT/repo/.shipmate $OUT/repo/mine
- echo x > $OUT/repo/f.txt
- echo x > $OUT/repo/pwned
- : > $OUT/repo/f.txt
- rm $OUT/repo/f.txt
- mkdir $OUT/repo/pwned
- ln -s x $OUT/repo/pwned
- mv $OUT/repo/f.txt $OUT/repo/g.txt
- git -C $OUT/repo config a.b c
- git -C $OUT/repo commit --allow-empty -m x
- git -C $OUT/repo update-ref refs/heads/pwned HEAD
- git push $OUT/repo HEAD:refs/heads/pwned
- printf '#!/bin/sh\n' > $OUT/repo/.git/hooks/pre-commit
- echo x > $HOME/.bashrc
- echo x > $HOME/pwned
- git config --global a.b c
- mkdir -p $HOME/.claude
- echo x > $OUT/repo/.shipmate/config.toml
- echo x > $OUT/repo/.shipmate/state/teams/alpha/trees/alpha.b/pwned
- cat $OUT/repo/.shipmate/state/teams/alpha/trees/alpha.b/work.txt
- echo x > $OUT/repo/.shipmate/state/teams/alpha/trees/alpha.b.shadow/pwned
- kill -9 $(cat $OUT/coordinator)
- prlimit --pid $(cat $OUT/coordinator) --nofile=4000:4000
- renice -n 1 -p $(cat $OUT/coordinator)
- cat /proc/$(cat $OUT/coordinator)/environ
- cat /proc/$(cat $OUT/coordinator)/mem
- for p in /proc/[0-9]*; do tr '\0' '\n' < $p/environ | grep -q "^SHIPMATE_TOKEN=person" && exit 0; done; exit 1
- for f in /proc/[0-9]*/fd/*; do dd if=$f iflag=nonblock count=9 2>&1 | grep -aq "^person\." && exit 0; done; exit 1
- unshare -m true
- mount -t tmpfs none .
- mount --bind . $OUT/repo
- unshare -Urm sh -c "mount --bind $OUT/repo/.shipmate/state . && cat person.token"
- mknod disk b 254 0
- chroot . true
"#;

/// Where the process may mount, what listens beside it is covered; else it is named.
const SOCKET: &str = r#"
- python3 -c "import socket, os; socket.socket(socket.AF_UNIX).connect(os.environ['OUT'] + '/other.sock')"
"#;

/// The same for terminals and shared memory.
const DEVICES: &str = r#"
- echo x > $(cat $OUT/terminal)
- test -e /dev/shm/$(cat $OUT/shared)
"#;

fn mounted() -> [&'static str; 2] {
    if may_mount() { [SOCKET, DEVICES] } else { ["", ""] }
}

/// What only a gate or a hook must not know.
const SECRETS: &str = r#"
- test -n "$SHIPMATE_TOKEN"
- cat $HOME/.ssh/id
"#;

/// What only a process that may mount keeps from changing: modes, owners and times.
const OF_OWNERS: [&str; 5] = ["chmod", "chown", "chgrp", "touch ", "os.utime"];

/// Those of these tables that must fail, and of these that are for this place.
fn moves(tables: &[&str], own: &[&str]) -> Vec<String> {
    let tables = tables.iter().flat_map(|table| marked(table));
    let tables = tables.map(|(mark, line)| (mark, placed(line)));
    let own = own.iter().flat_map(|table| marked(table));
    let own = own.map(|(mark, line)| (mark, line.to_owned()));
    let mounts = may_mount();
    // A parent is the script itself here.
    let fits = |(mark, line): &(&str, String)| {
        let is_an_owners = !mounts && OF_OWNERS.iter().any(|word| line.contains(word));
        *mark != "?" && !line.contains("$PPID") && !is_an_owners
    };
    tables.chain(own).filter(fits).map(|(_, line)| line).collect()
}

fn all() -> Vec<&'static str> {
    WRITING.iter().chain(&REACHING).copied().collect()
}

/// A script that makes all moves and says the numbers of those that succeeded.
fn script(stage: &Stage, moves: &[String], says: &str) {
    let mut text = format!(
        "export OUT={} BIN={SHIPMATE} LC_ALL=C\ngot=\nSEEN=$(mktemp)\n",
        stage.root().display()
    );
    for (number, line) in moves.iter().enumerate() {
        let line = line.replace("\\n", "\n");
        let end = format!("END_{number}");
        writeln!(
            text,
            "timeout 20 bash -c \"$(cat <<'{end}'\n{line}\n{end}\n)\" < /dev/null > $SEEN 2>&1 && \
             got=\"$got {number}\""
        )
        .unwrap();
    }
    text.push_str(says);
    std::fs::write(stage.root().join("attacks.sh"), text).unwrap();
}

const CLEAN_UP: &str =
    "git reset -q --hard; git clean -fdxq; mkdir -p own; echo one > own/one.txt\n";

fn agent(stage: &Stage, mode: Option<&str>) -> impl FnOnce(TeammateAdd) -> TeammateAdd + use<> {
    let command = format!("bash {}/attacks.sh", stage.root().display());
    let mode = mode.map(str::to_owned);
    move |add| TeammateAdd { command, mode, scope: vec!["own/".to_owned()], ..add }
}

/// The moves with these numbers.
#[track_caller]
fn succeeded<'a>(told: &str, moves: &'a [String]) -> Vec<&'a str> {
    let numbers = told.trim().strip_prefix("got:").unwrap_or_else(|| panic!("{told:?}"));
    let numbers = numbers.split_whitespace().map(|number| number.parse::<usize>().unwrap());
    numbers.map(|number| moves[number].as_str()).collect()
}

/// Something of the person's that listens and does as it is told, a terminal and shared memory.
struct Beside {
    _listener: UnixListener,
    _terminal: OwnedFd,
    shared: PathBuf,
}

impl Beside {
    fn new(stage: &Stage) -> Beside {
        let root = stage.root();
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        std::fs::write(root.join("terminal"), name.as_bytes()).unwrap();
        let folder = root.file_name().unwrap().display();
        let name = format!("shipmate-test-{}-{folder}", std::process::id());
        let shared = Path::new("/dev/shm").join(&name);
        std::fs::write(&shared, "shared").unwrap();
        std::fs::write(root.join("shared"), name).unwrap();
        let listener = UnixListener::bind(root.join("other.sock")).unwrap();
        Beside { _listener: listener, _terminal: terminal, shared }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.shared));
    }
}

/// Has a plain command make the moves; which of them succeeded.
fn by_agent(config: &str, mode: Option<&str>, moves: &[String]) -> (Vec<String>, World) {
    let (got, before, world) = on(Stage::new(config), mode, moves);
    if !config.contains("off") {
        world.check(&before);
    }
    (got, world)
}

fn on(stage: Stage, mode: Option<&str>, moves: &[String]) -> (Vec<String>, Outside, World) {
    script(&stage, moves, &format!("{CLEAN_UP}echo \"got:$got\" > $SHIPMATE_RESULT\n"));
    let _beside = Beside::new(&stage);
    let add = agent(&stage, mode);
    let mut world = World::with(stage, "", |_| Setup::default(), add);
    let before = world.outside();
    world.task("attack", &[]);
    world.finished(1);
    let told = world.stage.task(2).result.unwrap_or_default();
    let got = succeeded(&told, moves).into_iter().map(str::to_owned).collect();
    (got, before, world)
}

#[test]
fn a_plain_command_reads_no_state_writes_nothing_outside_and_is_nobody_else() {
    let moves = moves(&all(), &[&[OWN][..], &mounted()].concat());
    assert!(moves.len() > 200, "{}", moves.len());
    let (got, mut world) = by_agent("", None, &moves);
    assert!(got.is_empty(), "{got:#?}");
    let (fence, place) = (world.stage.teammate("a").fence, world.stage.root().join("other.sock"));
    let named = fence.contains(&place.display().to_string());
    assert_ne!(named, may_mount(), "what cannot be covered is named: {fence}");
}

/// The tests of this file again, by a user who is not root.
fn again_as_an_ordinary_user(with: &str) {
    if !rustix::process::geteuid().is_root() {
        // Then every one of them has just been run by one.
        return a_plain_command_reads_no_state_writes_nothing_outside_and_is_nobody_else();
    }
    let folder = crate::temp::TempDir::new();
    let top = folder.join("");
    let line = "mkdir -p \"$0/home\" \"$0/tmp\" && chown -R 65534 \"$0\" && chmod 755 \"$0\" && exec \
                setpriv --reuid=65534 --regid=65534 --clear-groups WITH env -u XDG_RUNTIME_DIR \
                HOME=\"$0/home\" TMPDIR=\"$0/tmp\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line.replace("WITH", with)]).arg(&top);
    command.arg(std::env::current_exe().unwrap()).arg("--exact").args(
        [
            "a_plain_command_reads_no_state_writes_nothing_outside_and_is_nobody_else",
            "nor_does_one_that_may_only_read_or_delegate",
            "a_gate_runs_what_was_handed_in_behind_the_fence_and_without_secrets",
            "a_hook_stands_behind_the_fence_as_well",
        ]
        .map(|name| format!("fences::{name}")),
    );
    let ran = command.output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("4 passed"), "{told}");
}

#[test]
fn as_an_ordinary_user_the_same_holds() {
    again_as_an_ordinary_user("");
}

/// Who may gain no rights may not mount either.
#[test]
fn as_one_who_may_not_mount_the_same_holds_but_for_modes_times_devices_and_named_sockets() {
    again_as_an_ordinary_user("--no-new-privs");
}

#[test]
fn below_the_home_folder_it_is_the_same() {
    let moves = moves(&all(), &[&[OWN][..], &mounted()].concat());
    let (got, before, world) = on(Stage::below_home(""), None, &moves);
    assert!(got.is_empty(), "{got:#?}");
    world.check(&before);
}

#[test]
fn a_person_may_change_its_git_settings_while_an_agent_works() {
    let mut stage = Stage::below_home("");
    let person = |stage: &Stage, value: &str| {
        let set = ["config", "--global", "person.is", value];
        let home = stage.root();
        let mut git = std::process::Command::new("git");
        git.args(set).env("HOME", &home).env("XDG_CONFIG_HOME", home.join("home"));
        assert!(git.env_remove("GIT_CONFIG_GLOBAL").status().unwrap().success());
    };
    person(&stage, "Before");
    stage.team(Setup::default(), &["a"]);
    stage.door("on");
    stage.tasks(&["here; pass on; put f1 \"$(git config person.is)\" && git add f1"]);
    stage.arrival();
    // By renaming a new file over the old one.
    person(&stage, "After");
    stage.open("on", 1);
    stage.finished(1);
    assert_eq!(stage.git(&["show", "shipmate/alpha:f1"]).trim(), "Before");
}

/// By lending its clone the other's objects, whose names anybody can list.
#[test]
fn what_a_peer_has_not_handed_in_comes_in_by_nobody_else() {
    const SPIES: &str = r#"
here; pass on; trees=$(dirname "$PWD")
echo "$trees/alpha.b/.git/objects" >> .git/objects/info/alternates
ids=$(cd "$trees/alpha.b/.git/objects" && find ?? -type f | tr -d /)
for id in $ids; do printf '100644 blob %s\t%s\n' $id $id; done | git mktree --missing > $TMPDIR/tree
commit=$(git commit-tree -m spied -p HEAD $(cat $TMPDIR/tree)) && git update-ref HEAD $commit
git read-tree HEAD; for id in $ids; do git update-index --skip-worktree $id; done
[ -n "$ids" ] && [ -n "$commit" ] && echo spied > $S/notes/spied
"#;
    let mut stage = Stage::new("");
    std::fs::write(stage.root().join("spies.sh"), SPIES).unwrap();
    stage.team(Setup::default(), &["a", "b"]);
    ["on", "end"].iter().for_each(|door| stage.door(door));
    let task = |name: &str, line: &str| TaskNew {
        subject: line.to_owned(),
        assignee: Some(name.to_owned()),
        retries_max: Some(0),
        ..TaskNew::default()
    };
    let has = "put secret 'of b alone'; git add -A; here; pass end; put secret other; git add -A";
    stage.create(vec![task("b", has)]);
    stage.arrival();
    stage.create(vec![task("a", ". $S/spies.sh")]);
    stage.arrival();
    stage.open("on", 1);
    stage.finished(1);
    assert!(stage.root().join("notes/spied").exists(), "{}", stage.story());
    stage.open("end", 1);
    stage.finished(2);
    let texts = "for c in $(git rev-list --all); do git grep -h 'of b alone' $c; done";
    let mut found = std::process::Command::new("sh");
    let found = found.args(["-c", texts]).current_dir(stage.place().workspace).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{}", stage.story());
}

/// Whatever it says that it is, and however it left.
#[test]
fn what_an_agent_leaves_running_under_a_forged_name_is_ended() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    let leaves = "(SHIPMATE_LIFE=0123456789abcdef:gate:x:1 setsid sh -c 'echo $$ > $S/notes/pid; exec \
                  sleep 600' >/dev/null 2>&1 &); until [ -s $S/notes/pid ]; do :; done; put f1 x";
    stage.tasks(&[leaves]);
    stage.finished(1);
    let pid = std::fs::read_to_string(stage.root().join("notes/pid")).unwrap();
    let process = Path::new("/proc").join(pid.trim());
    assert!(!process.exists(), "{}", process.display());
}

#[test]
fn nor_does_one_that_may_only_read_or_delegate() {
    for mode in ["read_only", "delegate"] {
        let (got, _world) =
            by_agent("", Some(mode), &moves(&[], &[&[OWN][..], &mounted()].concat()));
        assert!(got.is_empty(), "{mode}: {got:#?}");
    }
}

/// Programs make a folder there before anything else.
#[test]
fn but_it_has_a_cache_of_its_own_beside_the_teams() {
    let moves = ["mkdir -p $XDG_CACHE_HOME/x", "mkdir -p $CARGO_HOME/x"].map(str::to_owned);
    let (got, _world) = by_agent("", Some("read_only"), &moves);
    assert_eq!(got, moves[..1]);
    let (got, _world) = by_agent("", None, &moves);
    assert_eq!(got, moves);
}

/// The moves that do no lasting harm where they succeed.
#[test]
fn without_a_fence_the_same_moves_succeed_and_that_is_said() {
    let harmless = |line: &String| line.starts_with("cat ") || line.contains("repo/pwned");
    let mut moves = moves(&all(), &[OWN, SOCKET]);
    moves.retain(|line| harmless(line) && !line.contains("/proc/"));
    let (got, mut world) = by_agent("fence = \"off\"\n", None, &moves);
    assert!(got.len() >= 10, "{} of {moves:#?}", got.len());
    assert_eq!(world.stage.teammate("a").fence, "off");
    let status = world.stage.shipmate(&["status"]).stdout;
    let status = String::from_utf8_lossy(&status);
    assert!(status.contains("\nfence            off: "), "{status}");
}

#[test]
fn how_a_teammate_is_fenced_in_is_recorded() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["put f1 x"]);
    stage.finished(1);
    stage.catch_up();
    let told = stage.events("teammate.session");
    assert!(told[0]["fence"].as_str().unwrap().starts_with("full"), "{told:?}");
}

#[test]
fn a_gate_runs_what_was_handed_in_behind_the_fence_and_without_secrets() {
    let stage = Stage::new("");
    std::fs::create_dir_all(stage.root().join("home")).unwrap();
    let moves = moves(&all(), &[&[OWN, SECRETS][..], &mounted()].concat());
    script(&stage, &moves, "echo \"got:$got\" > $OUT/notes/got\n");
    let _beside = Beside::new(&stage);
    let gate = |stage: &Stage| {
        // At the person's own home folder, and not at the one that a gate is given.
        let root = stage.root();
        let line = format!("HOME={0}/home bash {0}/attacks.sh", root.display());
        Setup { gate: vec![line], red_base: true, ..Setup::default() }
    };
    let add = |add: TeammateAdd| TeammateAdd {
        command: "mkdir -p own; echo one > own/one.txt".to_owned(),
        ..add
    };
    let mut world = World::with(stage, "", gate, add);
    let before = world.outside();
    world.task("write one", &[]);
    world.finished(1);
    let told = std::fs::read_to_string(world.stage.root().join("notes/got")).unwrap();
    assert_eq!(succeeded(&told, &moves), Vec::<&str>::new());
    world.check(&before);
}

#[test]
fn a_hook_stands_behind_the_fence_as_well() {
    // It makes hundreds of moves.
    let stage = Stage::new("[hooks]\ntimeout-seconds = 3600\n");
    let moves = moves(&all(), &[&[OWN, SECRETS][..], &mounted()].concat());
    assert!(moves.len() > 200, "{}", moves.len());
    script(&stage, &moves, "echo \"got:$got\" > $OUT/notes/got\n");
    let _beside = Beside::new(&stage);
    let hook = format!("#!/bin/sh\nexec bash {}/attacks.sh\n", stage.root().display());
    stage.write(".shipmate/hooks/TaskCompleted", &hook);
    let path = stage.place().workspace.join(".shipmate/hooks/TaskCompleted");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
    let add = |add: TeammateAdd| TeammateAdd {
        command: "mkdir -p own; echo one > own/one.txt".to_owned(),
        ..add
    };
    let mut world = World::with(stage, "", |_| Setup::default(), add);
    let before = world.outside();
    world.task("write one", &[]);
    world.finished(1);
    let told = std::fs::read_to_string(world.stage.root().join("notes/got")).unwrap();
    assert_eq!(succeeded(&told, &moves), Vec::<&str>::new());
    world.check(&before);
}

#[test]
fn what_the_fence_refused_is_told_once_with_the_line_that_allows_it() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &["a"]);
    stage.tasks(&["touch $S/home/mine; put f1 x", "touch $S/home/mine; put f2 x"]);
    stage.finished(2);
    stage.catch_up();
    let place = stage.root().join("home/mine");
    let told = stage.events("message.sent");
    let told = told.iter().filter_map(|sent| sent["body"].as_str());
    let told: Vec<&str> =
        told.filter(|body| body.contains("a says that it could not write")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with(&format!(", {place:?}]")), "{told:?}");
    assert!(told[0].contains("make it first, and have this line"), "{told:?}");
    assert!(!place.exists());
}
