//! Keys and settings that change while a coordinator runs, and disks that are full when it starts.

use crate::transcript::Workspace;

const KEYS: [&str; 5] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "SHIPMATE_MODELS_DEFAULT",
];

/// What a command prints that has no keys but those in its line.
fn printed(workspace: &Workspace, line: &str) -> String {
    let mut command = workspace.command(line);
    for key in KEYS.iter().filter(|key| !line.starts_with(**key)) {
        command.env_remove(key);
    }
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{line}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

fn pid(workspace: &Workspace) -> Option<u64> {
    let status = workspace.succeed("shipmate coordinator status --json");
    serde_json::from_str::<serde_json::Value>(&status).unwrap()["pid"].as_u64()
}

#[test]
fn a_key_that_is_set_later_reaches_the_coordinator_that_runs() {
    let workspace = Workspace::new();
    printed(&workspace, "shipmate team create alpha");
    assert!(printed(&workspace, "shipmate agents").contains("not_logged_in"));
    let coordinator = pid(&workspace);
    let with_key = printed(&workspace, "OPENAI_API_KEY=k shipmate agents");
    assert!(with_key.contains("thinks with gpt-5"), "{with_key}");
    let without = printed(&workspace, "shipmate agents");
    assert!(without.contains("thinks with gpt-5"), "another terminal takes nothing: {without}");
    assert_eq!(pid(&workspace), coordinator, "nobody was restarted for it");
}

#[test]
fn a_coordinator_that_a_supervisor_starts_has_the_key_that_was_set_last() {
    let workspace = Workspace::with_repository();
    let go = workspace.pipe("go");
    let text = "team = \"alpha\"\n[[tasks]]\nid = \"one\"\nsubject = \"one\"\nfiles = [\"one\"]\n";
    workspace.write("../plan.toml", text);
    let agent = format!("cat {}; env > one", go.display());
    let run = format!("shipmate run ../plan.toml --detach --agent '{agent}'");
    printed(&workspace, &run);
    workspace.until("task.claimed");
    printed(&workspace, "OPENAI_API_KEY=newest shipmate agents");
    let before = pid(&workspace).unwrap();
    let raw = rustix::process::Pid::from_raw(i32::try_from(before).unwrap()).unwrap();
    rustix::process::kill_process(raw, rustix::process::Signal::KILL).unwrap();
    // Asking for the status starts nobody: the agent's supervisor does.
    let after = loop {
        match pid(&workspace) {
            Some(after) if after != before => break after,
            _ => {}
        }
    };
    let has = std::fs::read(format!("/proc/{after}/environ")).unwrap();
    let has = String::from_utf8_lossy(&has).into_owned();
    assert!(has.split('\0').any(|one| one == "OPENAI_API_KEY=newest"), "{has}");
    std::fs::write(&go, "").unwrap();
}

#[test]
fn a_setting_that_changes_is_shown_beside_what_is_in_force_and_taken_by_the_next_beginning() {
    let workspace = Workspace::new();
    let config = |model: &str| {
        let text = format!(
            "[models]\ndefault = \"local/{model}\"\n[models.local]\nbase-url = \
             \"http://127.0.0.1:9/v1\"\n"
        );
        workspace.write(".shipmate/config.toml", &text);
    };
    config("one");
    printed(&workspace, "shipmate team create alpha");
    assert!(printed(&workspace, "shipmate agents").contains("thinks with one"));
    config("two");
    // What a coordinator has that stands still is left out after three seconds, so it is asked for
    // again: often enough for a minute.
    let shown_with = |line: &str, part: &str| {
        let mut shown = (0..40).map(|_| printed(&workspace, line));
        shown.find(|shown| shown.contains(part)).unwrap_or_else(|| printed(&workspace, line))
    };
    let still = "the running coordinator still has:\n  models.default = \"local/one\"\n";
    let shown = shown_with("shipmate config", still);
    assert!(shown.contains(still), "{shown}");
    let shown = shown_with("shipmate config --json", "\"running\"");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["models.default"]["value"], "local/two");
    assert_eq!(shown["models.default"]["running"], "\"local/one\"");
    assert_eq!(shown["lease-seconds"].get("running"), None);
    assert!(printed(&workspace, "shipmate agents").contains("thinks with two"));
    assert!(!printed(&workspace, "shipmate config").contains("still has"));
}

#[test]
fn a_coordinator_that_starts_on_a_full_disk_reads_and_refuses_to_write() {
    let workspace = Workspace::new();
    let script = r#"
        set -e
        mount -t tmpfs -o size=4m small . && cd "$PWD"
        shipmate() { "$SHIPMATE" "$@"; }
        shipmate team create alpha
        long=$(head -c 60000 /dev/zero | tr '\0' x)
        for n in 1 2 3 4 5; do shipmate task create task-$n --description $long; done
        kill -9 $(cat .shipmate/state/coordinator.lock)
        cat /dev/zero > filler 2> /dev/null || echo full
        shipmate task list
        shipmate status > /dev/null
        shipmate log > /dev/null
        shipmate task create more --description $long || echo "exit $?"
        rm filler
        shipmate task create more --description $long
        shipmate coordinator stop
    "#;
    let plain = workspace.command("shipmate");
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    command.current_dir(&workspace.path).env("SHIPMATE", plain.get_program());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{printed}{told}");
    let after = printed.split_once("full\n").unwrap_or_else(|| panic!("{printed}{told}")).1;
    for expected in ["task-1", "task-5", "exit 7", "created task 6", "stopped the coordinator"] {
        assert!(after.contains(expected), "{expected}: {printed}{told}");
    }
    assert!(told.contains("make room; nothing was lost and reading goes on"), "{told}");
}
