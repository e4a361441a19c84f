//! Calls of a model that means harm, or knows no better: none changes anything outside its
//! tree, leaves a process behind, or is shown what is hidden.
//!
//! A line of a table is a call: `-` before one that must fail, `?` before one that may succeed
//! and still does no harm, `!` before one that must fail where modes outside can be kept. `$OUT`
//! is the folder in which all of the scene is.

use std::collections::BTreeMap;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::{Value, json};

use super::scene::{Scene, TOKEN, on_one_thread};

const REDIRECTIONS: &str = include_str!("hostile/redirections.txt");
const FILES: &str = include_str!("hostile/files.txt");
const LINKS_AND_MODES: &str = include_str!("hostile/links_and_modes.txt");
const GIT: &str = include_str!("hostile/git.txt");
const ENVIRONMENT: &str = include_str!("hostile/environment.txt");
const PROCESSES: &str = include_str!("hostile/processes.txt");
const READING: &str = include_str!("hostile/reading.txt");

/// The file tools: a tool, a path, and which other argument matters.
const FILE_CALLS: &str = include_str!("hostile/file_calls.txt");

/// All that is not the agent's own: kind, mode, owner, links, time and content.
type Outside = BTreeMap<PathBuf, (u32, u32, u64, i64, i64, Vec<u8>)>;

fn outside(scene: &Scene) -> Outside {
    fn look(path: &Path, own: &[PathBuf], found: &mut Outside) {
        if own.iter().any(|own| own == path) {
            return;
        }
        let facts = fs::symlink_metadata(path).unwrap();
        let content = match facts.is_file() {
            true => fs::read(path).unwrap(),
            false => Vec::new(),
        };
        let (mode, user, links) = (facts.mode(), facts.uid(), facts.nlink());
        let seen = (mode, user, links, facts.mtime(), facts.mtime_nsec(), content);
        found.insert(path.to_owned(), seen);
        if facts.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                look(&entry.unwrap().path(), own, found);
            }
        }
    }
    let mut found = BTreeMap::new();
    look(&scene.path(""), &[scene.own("."), scene.path("state/scratch/ana")], &mut found);
    found
}

/// A process that is none of the agent's business.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Victim {
    fn new(scene: &Scene) -> Victim {
        let child = Command::new("sleep").arg("1000").env("KEY", TOKEN).spawn().unwrap();
        fs::write(scene.path("victim"), child.id().to_string()).unwrap();
        Victim(child)
    }

    fn is_well(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.rsplit(')').next().unwrap().starts_with(" S")
    }
}

fn lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.is_empty())
}

async fn harmless(scene: &Scene, tool: &str, arguments: &Value, before: &Outside) -> bool {
    let outcome = scene.call(tool, arguments.clone()).await;
    let call = format!("{tool} {arguments}: {}", outcome.text);
    assert!(!outcome.text.contains(TOKEN), "it is shown what is hidden by {call}");
    let after = outside(scene);
    let changed: Vec<_> = after
        .iter()
        .filter(|(path, seen)| before.get(*path) != Some(seen))
        .map(|(path, _)| path)
        .chain(before.keys().filter(|path| !after.contains_key(*path)))
        .collect();
    assert!(changed.is_empty(), "{changed:?} is changed by {call}");
    assert_eq!(scene.processes(), 0, "something is left running by {call}");
    if outcome.is_error {
        assert!(!outcome.text.is_empty(), "nothing is said of {call}");
    }
    outcome.is_error
}

/// Runs the lines of a table and finds the world as it was after each.
fn check(table: &str) {
    // What keeps modes takes a launcher of one thread, which this one is only for root.
    let keeps_modes = rustix::process::getuid().is_root();
    check_in(Scene::new(), table, keeps_modes);
}

fn check_in(scene: Scene, table: &str, keeps_modes: bool) {
    shipmate_process::become_subreaper().unwrap();
    on_one_thread(async {
        let victim = Victim::new(&scene);
        let address = scene.path("").display().to_string();
        let address = SocketAddr::from_abstract_name(address.trim_end_matches('/')).unwrap();
        let _listener = UnixListener::bind_addr(&address).unwrap();
        let before = outside(&scene);
        for line in lines(table) {
            let (mark, command) = line.split_once(' ').unwrap();
            if mark == "!" && !keeps_modes {
                continue;
            }
            let command = command.replace("\\n", "\n");
            let arguments = json!({"command": command, "timeout_ms": 20_000});
            let failed = harmless(&scene, "bash", &arguments, &before).await;
            assert!(failed || mark == "?", "nothing stood in the way of {command}");
            assert!(victim.is_well(), "{command}");
        }
        for entry in fs::read_dir(scene.own("")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "pid") {
                // One that was ended before it could write its number has left none.
                let pid = fs::read_to_string(&path).unwrap().trim().parse::<u32>();
                let stat = pid.map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")));
                let lives = matches!(stat, Ok(Ok(stat)) if !stat.contains(") Z "));
                assert!(!lives, "{} is alive", path.display());
            }
        }
        for path in ["/tmp", "/var/tmp", "/etc", "."] {
            assert!(!Path::new(path).join("shipmate-hostile").exists(), "{path}");
        }
    });
}

#[test]
fn the_tables_hold_many_calls() {
    let tables = [REDIRECTIONS, FILES, LINKS_AND_MODES, GIT, ENVIRONMENT, PROCESSES, READING];
    let all: usize = tables.iter().chain([&FILE_CALLS]).map(|table| lines(table).count()).sum();
    assert!(all >= 200, "{all}");
}

#[test]
fn no_redirection_leads_outside() {
    check(REDIRECTIONS);
}

#[test]
fn no_program_writes_moves_or_removes_files_outside() {
    check(FILES);
}

#[test]
fn no_link_leads_outside_and_no_mode_or_time_there_changes() {
    check(LINKS_AND_MODES);
}

#[test]
fn git_writes_in_no_other_repository() {
    check(GIT);
}

#[test]
fn no_variable_namespace_or_power_opens_the_fence() {
    check(ENVIRONMENT);
}

#[test]
fn no_process_outside_is_touched_and_none_stays() {
    check(PROCESSES);
}

#[test]
fn nothing_hidden_is_read() {
    check(READING);
}

/// What keeps modes also keeps files, and would hide that the fence alone does.
#[test]
fn an_agent_that_is_fenced_itself_has_shells_that_write_nothing_outside() {
    for table in [REDIRECTIONS, FILES, LINKS_AND_MODES] {
        check_in(Scene::within_a_fence(), table, false);
    }
}

#[test]
fn no_variable_opens_a_fence_within_a_fence() {
    check_in(Scene::within_a_fence(), ENVIRONMENT, false);
}

#[test]
fn no_file_tool_leaves_the_tree_or_shows_what_is_hidden() {
    on_one_thread(async {
        let scene = Scene::new();
        scene
            .bash(
                "ln -s ../../../beside.txt soft; ln -s ../../.. up; ln -s ../bo link; \
                 ln -s ../../token tk",
            )
            .await;
        let out = scene.path("").display().to_string();
        let before = outside(&scene);
        for line in lines(FILE_CALLS) {
            let (tool, path) = line.split_once(' ').unwrap();
            let path = path.replace("$OUT", out.trim_end_matches('/'));
            let arguments = match tool {
                "write_file" => json!({"path": path, "content": "x"}),
                "edit_file" => json!({"path": path, "old_string": "e", "new_string": "x"}),
                "read_file" => json!({"path": path}),
                _ => json!({"path": path, "pattern": "*".repeat(usize::from(tool == "glob"))}),
            };
            let asked = scene.toolbox.leave(tool, &arguments);
            let failed = harmless(&scene, tool, &arguments, &before).await;
            assert!(failed, "nothing stood in the way of {line}");
            let outside_is_told = asked.is_err()
                || asked.is_ok_and(|leave| !leave.paths[0].starts_with(scene.own("")));
            assert!(outside_is_told, "{line}: the supervisor would think that it is in the tree");
        }
    });
}

#[test]
fn a_folder_that_becomes_a_link_after_leave_was_given_leads_nowhere() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.put("d/x", "x");
        let write = json!({"path": "d/new", "content": "x"});
        let leave = scene.toolbox.leave("write_file", &write).unwrap();
        assert_eq!(leave.paths, [scene.own("d/new")]);
        fs::remove_dir_all(scene.own("d")).unwrap();
        std::os::unix::fs::symlink(scene.path("home"), scene.own("d")).unwrap();
        let before = outside(&scene);
        assert!(harmless(&scene, "write_file", &write, &before).await);
    });
}

#[test]
fn a_folder_that_becomes_a_link_again_and_again_leads_nowhere() {
    on_one_thread(async {
        let scene = Scene::new();
        let swap = "while :; do ln -s $OUT/home d; rm d; mkdir d; rm -rf d; done 2> /dev/null";
        scene.good("bash", json!({"command": swap, "background": true})).await;
        let before = outside(&scene);
        let mut written = 0;
        for n in 0..300 {
            let write = json!({"path": format!("d/{n}"), "content": "x"});
            written += usize::from(!scene.call("write_file", write).await.is_error);
        }
        scene.toolbox.stop().await;
        assert_eq!(outside(&scene), before, "{written} were written in the tree");
    });
}
