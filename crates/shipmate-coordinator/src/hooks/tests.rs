//! Hooks with real scripts: every row of the table in `docs/hooks.md`, and what must hold besides.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use shipmate_process::{Launcher, Marker, marked};

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shipmate-hooks-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn script(&self, name: &str, body: &str) -> PathBuf {
        self.file(name, &format!("#!/bin/sh\n{body}\n"))
    }

    /// Written by another process: a file that this one holds open for writing while another test
    /// forks cannot be executed.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = std::process::Command::new("sh");
        writer.args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""]);
        assert!(writer.arg(&path).arg(text).status().unwrap().success());
        path
    }

    fn scene(&self) -> Scene {
        let digest = self.0.file_name().unwrap().to_str().unwrap();
        Scene {
            cwd: self.0.clone(),
            project_dir: self.0.join("project"),
            marker: Marker::new(digest, "hook", "one").unwrap(),
            launcher: Launcher::direct(),
            env: vec![("ONE_MORE".into(), "here".into())],
            env_remove: Vec::new(),
            fence: None,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const LONG: Duration = Duration::from_secs(300);

fn one(event: HookEvent, command: HookCommand, timeout: Duration) -> Hooks {
    Hooks {
        list: vec![Hook { event, command, timeout }],
        registered: Vec::new(),
        strangers: Vec::new(),
    }
}

async fn fired(folder: &Folder, event: HookEvent, line: &str) -> Fired {
    let hooks = one(event, HookCommand::Line(line.into()), LONG);
    fire(&hooks, &Payload::sample(event, "/"), &folder.scene()).await
}

fn reason(fired: &Fired) -> &str {
    match &fired.verdict {
        Verdict::Rejected { reason } => reason,
        Verdict::Accepted { .. } => panic!("it was accepted: {fired:?}"),
    }
}

/// The rows of the effects table: the first column and the two outcomes.
fn table() -> Vec<[String; 3]> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hooks.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.split("| the hook |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        let cells: Vec<String> = row.split('|').map(|cell| cell.trim().to_owned()).collect();
        [cells[1].clone(), cells[2].clone(), cells[3].clone()]
    };
    rows.map(cells).collect()
}

/// A hook that does what a row says, and a part of what it must be heard to say.
fn performing(row: &str, folder: &Folder) -> (HookCommand, Duration, &'static str) {
    let file = |body: &str| HookCommand::File(folder.script("hook", body));
    let (command, said) = match row {
        "exits with 0" => (file("exit 0"), ""),
        "exits with 0 and prints text" => (file("echo all is well"), ""),
        "exits with 0 and prints malformed JSON" => (file("echo '{\"continue\": false'"), ""),
        "exits with 2 and says why on standard error" => {
            (file("echo too red >&2; exit 2"), "too red")
        }
        "exits with 2 and says nothing on standard error" => {
            (file("echo on the wrong stream; exit 2"), "on the wrong stream")
        }
        "exits with any other code" => (file("echo broken >&2; exit 7"), "exit code 7"),
        "is ended by a signal" => (file("kill -SEGV $$"), "signal 11"),
        "does not end within its time" => {
            return (file("sleep 1000"), Duration::from_millis(50), "0.05 seconds");
        }
        "is a file that is not there" => {
            (HookCommand::File(folder.0.join("missing")), "was not found")
        }
        "is a file that is not executable" => {
            let path = folder.script("plain", "exit 0");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            (HookCommand::File(path), "chmod +x")
        }
        "cannot be started" => {
            (HookCommand::File(folder.file("lost", "#!/no/such/interpreter\n")), "interpreter")
        }
        printing => {
            let json = printing.split('`').nth(1).expect("the row shows what is printed");
            (file(&format!("echo '{}'", json.replace('…', "because"))), "because")
        }
    };
    (command, LONG, said)
}

#[tokio::test]
async fn every_row_of_the_documented_table_holds() {
    let rows = table();
    assert_eq!(rows.len(), 15);
    for [row, at_gate, at_report] in rows {
        for (event, expected) in
            [(HookEvent::TaskCompleted, at_gate), (HookEvent::TeammateStarted, at_report)]
        {
            let folder = Folder::new();
            let (command, timeout, said) = performing(&row, &folder);
            let hooks = one(event, command, timeout);
            let fired = fire(&hooks, &Payload::sample(event, "/"), &folder.scene()).await;
            let (outcome, words) = match &fired.verdict {
                Verdict::Rejected { reason } => ("rejected", reason.clone()),
                Verdict::Accepted { notes } if notes.is_empty() => ("accepted", String::new()),
                Verdict::Accepted { notes } => ("noted", notes.join("\n")),
            };
            assert_eq!(outcome, expected, "{row}, at {event}: {fired:?}");
            assert!(words.contains(said), "{row}, at {event}: {words}");
            if outcome == "rejected" {
                assert!(words.starts_with(&format!("{event} hook feedback:\n[")), "{words}");
            }
        }
    }
}

#[tokio::test]
async fn a_rejection_is_worded_as_claude_code_words_it() {
    let folder = Folder::new();
    let fired = fired(&folder, HookEvent::TaskCompleted, "echo mend it >&2; exit 2").await;
    let expected = "TaskCompleted hook feedback:\n[echo mend it >&2; exit 2]: mend it";
    assert_eq!(reason(&fired), expected);
    assert_eq!(fired.runs[0].how, How::Rejected);
}

#[tokio::test]
async fn a_failing_test_is_not_hidden_behind_a_pipe() {
    let folder = Folder::new();
    let fired = fired(&folder, HookEvent::TaskCompleted, "false | tail -n 20").await;
    assert!(reason(&fired).contains("exit code 1"));
}

#[tokio::test]
async fn the_first_rejection_ends_the_round() {
    let folder = Folder::new();
    let event = HookEvent::PlanSubmitted;
    let lines = ["echo '{\"systemMessage\": \"hm\"}'", "exit 2", "touch reached"];
    let lines = lines.map(|line| (event, line.to_owned())).to_vec();
    let hooks = Hooks::load(lines, Vec::new(), &folder.0.join("none"), LONG).unwrap();
    let fired = fire(&hooks, &Payload::sample(event, "/"), &folder.scene()).await;
    assert_eq!(fired.runs.len(), 2);
    assert!(reason(&fired).contains("no reason"));
    assert!(!fs::exists(folder.0.join("reached")).unwrap());
}

#[tokio::test]
async fn all_hooks_of_a_report_are_told() {
    let folder = Folder::new();
    let event = HookEvent::TeamShutdown;
    let lines = ["exit 2", "exit 9", "touch reached"].map(|line| (event, line.to_owned()));
    let hooks = Hooks::load(lines.to_vec(), Vec::new(), &folder.0.join("none"), LONG).unwrap();
    let fired = fire(&hooks, &Payload::sample(event, "/"), &folder.scene()).await;
    assert!(matches!(&fired.verdict, Verdict::Accepted { notes } if notes.len() == 2));
    assert!(fs::exists(folder.0.join("reached")).unwrap());
}

#[tokio::test]
async fn a_hook_gets_the_payload_the_folder_and_the_environment() {
    let folder = Folder::new();
    let line = "pwd; echo $CLAUDE_PROJECT_DIR $SHIPMATE_PROJECT_DIR $ONE_MORE; cat";
    let fired = fired(&folder, HookEvent::TaskCompleted, line).await;
    let said: Vec<&str> = fired.runs[0].stdout.lines().collect();
    let (here, project) = (folder.0.display(), folder.0.join("project"));
    assert_eq!(said[0], here.to_string());
    assert_eq!(said[1], format!("{here} {} here", project.display()));
    let payload: serde_json::Value = serde_json::from_str(said[2]).unwrap();
    assert_eq!(payload["hook_event_name"], "TaskCompleted");
    assert_eq!(payload["task_id"], "1", "a text, as Claude Code sends it");
    assert_eq!(payload["task_subject"], "A sample task");
    assert_eq!(payload["task_description"], "It exists only to try this hook.");
    assert_eq!(payload["teammate_name"], "ana");
    assert!(payload.get("plan").is_none(), "what has no value is left out");
}

#[test]
fn every_event_has_a_sample_that_survives_being_written() {
    for event in HookEvent::ALL {
        let sample = Payload::sample(event, "/");
        let text = serde_json::to_string(&sample).unwrap();
        assert_eq!(serde_json::from_str::<Payload>(&text).unwrap(), sample);
        assert!(text.contains(&format!("\"hook_event_name\":\"{event}\"")));
        assert_eq!(event.to_string().parse(), Ok(event));
    }
    assert!("Taskcompleted".parse::<HookEvent>().is_err());
}

#[tokio::test]
async fn a_flood_of_output_still_gets_its_verdict() {
    let folder = Folder::new();
    let line = "yes the same again | head -c 100000000 >&2; echo the last word >&2; exit 2";
    let fired = fired(&folder, HookEvent::TaskCompleted, line).await;
    let reason = reason(&fired);
    assert!(reason.ends_with("the last word") && reason.contains("bytes left out"));
    assert!(reason.len() <= 8192, "{} bytes", reason.len());
    assert!(fired.runs[0].stderr.len() <= 4096);
}

#[tokio::test]
async fn a_hook_that_hangs_is_ended_with_everything_it_started() {
    let folder = Folder::new();
    let scene = folder.scene();
    let line = "setsid sleep 1000 & yes";
    let limit = Duration::from_millis(200);
    let hooks = one(HookEvent::TaskCompleted, HookCommand::Line(line.into()), limit);
    let payload = Payload::sample(HookEvent::TaskCompleted, "/");
    let fired = fire(&hooks, &payload, &scene).await;
    assert_eq!(fired.runs[0].how, How::TimedOut);
    assert!(reason(&fired).contains("did not end within 0.2 seconds"));
    assert_eq!(marked(scene.marker.digest()), vec![]);
}

#[test]
fn the_folder_is_read_in_the_documented_order() {
    let folder = Folder::new();
    let names = [
        "TaskCompleted.sh",
        "TaskCompleted",
        "TaskCompleted.d/20-b",
        "TaskCompleted.d/10-a",
        "TaskCreated.py",
        "TaskComplete.sh",
        "README.md",
        ".hidden",
        "TaskCompleted.sh~",
    ];
    for name in names {
        folder.script(name, "");
    }
    let lines = vec![(HookEvent::TaskCompleted, "true".to_owned())];
    let hooks = Hooks::load(lines, Vec::new(), &folder.0, LONG).unwrap();
    let root = format!("{}/", folder.0.display());
    let of = |event| -> Vec<String> {
        hooks.of(event).map(|hook| hook.command.to_string().replace(&root, "")).collect()
    };
    let expected = [
        "true",
        "TaskCompleted",
        "TaskCompleted.sh",
        "TaskCompleted.d/10-a",
        "TaskCompleted.d/20-b",
    ];
    assert_eq!(of(HookEvent::TaskCompleted), expected);
    assert_eq!(of(HookEvent::TaskCreated), ["TaskCreated.py"]);
    assert_eq!(hooks.strangers(), [folder.0.join("TaskComplete.sh")]);
}

#[test]
fn the_digest_changes_with_what_would_run_and_not_with_where_it_lies() {
    let (here, there) = (Folder::new(), Folder::new());
    let digest =
        |folder: &Folder| Hooks::load(vec![], Vec::new(), &folder.0, LONG).unwrap().digest();
    here.script("TaskCompleted", "exit 0");
    there.script("TaskCompleted", "exit 0");
    assert_eq!(digest(&here), digest(&there));
    there.script("TaskCompleted", "exit 2");
    assert_ne!(digest(&here), digest(&there));
    there.script("TaskCompleted", "exit 0");
    there.script("TaskCreated", "exit 0");
    assert_ne!(digest(&here), digest(&there));
}
