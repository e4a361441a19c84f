//! Trees that build: copies, links, set-up and ports in every tree, and nothing of it in anybody's work.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use shipmate_model::setup::Preparation;
use shipmate_protocol::Ask;
use shipmate_protocol::verbs::{Setup, TaskNew, TeamCreate};

use shipmate_testkit::model::Server;

use crate::native;
use crate::stage::{SHIPMATE, Stage, TEAM, hermetic};

const SECRET: &str = "hunter2-in-a-file";

/// A repository whose gate needs settings, dependencies and a port.
fn stage() -> Stage {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 0.3\n");
    stage.write(".gitignore", ".env\ndeps/\n");
    stage.write("package-lock.json", "1\n");
    let gate = "set -e\n. ./.env\ntest \"${API_KEY#hunter2-}\" = in-a-file\ntest -f deps/installed\n\
                test \"$URL\" = \"http://localhost:$PORT_1\"\n";
    stage.write("gate.sh", gate);
    stage.commit();
    stage.write(".env", &format!("API_KEY={SECRET}\n"));
    stage
}

fn preparation() -> Preparation {
    Preparation {
        copy: vec![".env".to_owned()],
        setup: vec!["mkdir -p deps && echo x >> deps/installed && echo set up here".to_owned()],
        ports: 2,
        env: BTreeMap::from([("URL".to_owned(), "http://localhost:${PORT_1}".to_owned())]),
        ..Preparation::default()
    }
}

fn setup(preparation: Preparation) -> Setup {
    Setup { gate: vec!["sh gate.sh".to_owned()], preparation, ..Setup::default() }
}

#[test]
fn a_gate_that_needs_settings_dependencies_and_a_port_is_green_with_them_and_red_without() {
    let mut stage = stage();
    stage.team(setup(Preparation::default()), &["a"]);
    stage.tasks(&["put f x"]);
    let paused = stage.event("team.paused");
    let reason = paused["reason"].as_str().unwrap();
    assert!(reason.contains("here are also: .env") && reason.contains("shipmate init"), "{reason}");
    stage.shipmate(&["team", "delete", TEAM, "--now"]);

    let names: Vec<String> = (1..=8).map(|n| format!("dev-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    stage.log.clear();
    stage.team(setup(preparation()), &names);
    stage.door("go");
    let line = "here $SHIPMATE_PORT $PORT_1 $PORT_2 $(cat deps/installed); pass go; cat .env; \
                put f$SHIPMATE_TASK x";
    let tasks = stage.tasks(&[line; 8]);
    let arrived = stage.arrivals(8);
    let mut ports = BTreeSet::new();
    for one in &arrived {
        let words: Vec<&str> = one.words.split(' ').collect();
        let [first, same, second, installed] = words[..] else { panic!("{words:?}") };
        assert_eq!((first, installed), (same, "x"));
        assert!(ports.insert(first.to_owned()) && ports.insert(second.to_owned()), "{ports:?}");
    }
    stage.open("go", 8);
    stage.finished(8);
    let notes: Vec<String> =
        stage.events("hook.noted").iter().map(|noted| noted["note"].to_string()).collect();
    for name in names.iter().chain(&["the gate"]) {
        let is_of = |note: &&String| note.contains(&format!("the tree of {name} was set up in"));
        assert_eq!(notes.iter().filter(is_of).count(), 1, "{name}: {notes:?}");
    }
    stage.all_once(&tasks);

    // No secret in a commit, a record, a diff or what is shown.
    let objects = stage.git(&["rev-list", "--all", "--objects"]);
    assert!(!objects.contains(".env"), "{objects}");
    let log = serde_json::to_string(&stage.log).unwrap();
    assert!(log.contains("[API_KEY]") && !log.contains(SECRET), "{log}");
    let lives = stage.place().team(TEAM).join("lives");
    for life in std::fs::read_dir(lives).unwrap() {
        let output = std::fs::read_to_string(life.unwrap().path().join("output.log")).unwrap();
        assert!(!output.contains(SECRET), "{output}");
    }
    let ended = stage.shipmate(&["team", "delete", TEAM, "--now"]);
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn a_copied_file_that_is_committed_by_force_is_not_taken_in() {
    let mut stage = stage();
    let preparation = Preparation { setup: Vec::new(), ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    stage.tasks(&[
        "git add -f .env && git commit -qm all; git rm -q --cached .env; git commit -qm off; put f x",
    ]);
    let failed = stage.event("task.failed");
    let reason = failed["reason"].as_str().unwrap();
    assert!(reason.contains("commits .env") && reason.contains("never committed"), "{reason}");
    let objects = stage.git(&["rev-list", "--all", "--objects"]);
    assert!(!objects.contains(".env"), "{objects}");
}

#[test]
fn a_set_up_that_fails_is_named_before_anybody_is_started_and_costs_no_attempt() {
    let mut stage = stage();
    let lines = ["echo no such package >&2; exit 3"];
    let setup_lines = lines.map(str::to_owned).to_vec();
    stage.team(setup(Preparation { setup: setup_lines.clone(), ..preparation() }), &["a"]);
    let tasks = stage.tasks(&["put f x"]);
    let paused = stage.event("team.paused");
    let reason = paused["reason"].as_str().unwrap();
    assert!(
        reason.contains("the set-up of the tree fails") && reason.contains("no such package"),
        "{reason}"
    );
    assert!(!stage.log.iter().any(|record| record["type"] == "teammate.started"));
    assert_eq!(stage.task(tasks[0]).retries, 0);
    stage.shipmate(&["team", "delete", TEAM, "--now"]);

    // So is it without a gate.
    stage.log.clear();
    let preparation = Preparation { setup: setup_lines, ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put f x"]);
    let paused = stage.event("team.paused");
    let reason = paused["reason"].as_str().unwrap();
    assert!(reason.contains("the set-up of the tree fails"), "{reason}");
    assert!(!stage.log.iter().any(|record| record["type"] == "teammate.started"));
    assert_eq!(stage.task(tasks[0]).retries, 0);
}

/// The settings of the checkout, which only a person mends.
fn needs_ready() -> Preparation {
    let line = "test -e \"$SHIPMATE_CHECKOUT/.env.ready\"".to_owned();
    let lock_files = vec!["lock".to_owned()];
    Preparation { setup: vec![line], lock_files, ..preparation() }
}

#[test]
fn a_set_up_that_fails_later_costs_no_attempt_where_it_fails_without_the_work_too() {
    let mut stage = Stage::new("[agents]\nstop-grace-seconds = 0.3\n");
    stage.write(".gitignore", ".env*\n");
    stage.commit();
    stage.write(".env", "x\n");
    stage.write(".env.ready", "");
    stage.team(Setup { gate: vec!["true".to_owned()], ..setup(needs_ready()) }, &["a"]);
    stage.door("go");
    let tasks = stage.tasks(&["here; pass go; put lock changed"]);
    stage.arrival();
    std::fs::remove_file(stage.place().workspace.join(".env.ready")).unwrap();
    stage.open("go", 1);
    let paused = stage.event("team.paused");
    let reason = paused["reason"].as_str().unwrap();
    assert!(reason.contains("the set-up of the tree fails"), "{reason}");
    assert_eq!(stage.task(tasks[0]).retries, 0);
    stage.write(".env.ready", "");
    let resumed = stage.shipmate(&["--team", TEAM, "resume"]);
    assert!(resumed.status.success(), "{resumed:?}");
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn a_tree_that_is_made_anew_is_set_up_again() {
    let mut stage = stage();
    stage.team(Setup { preparation: preparation(), ..Setup::default() }, &["a"]);
    stage.tasks(&["put f1 x"]);
    stage.finished(1);
    std::fs::remove_dir_all(stage.tree("a").join(".git")).unwrap();
    stage.tasks(&["here $(cat deps/installed); put f2 x"]);
    assert_eq!(stage.arrival().words, "x");
    stage.finished(2);
}

#[test]
fn hooks_and_what_runs_before_see_a_tree_that_is_set_up_and_its_variables() {
    let config = "[hooks]\nTaskCompleted = [\"test -f deps/installed && test -n \\\"$PORT_1\\\" && . ./.env\"]\n\
                  TeammateIdle = [\"test -f deps/installed && test -n \\\"$PORT_1\\\" && . ./.env\"]\n\
                  [agents]\nstop-grace-seconds = 0.3\n";
    let mut stage = Stage::new(config);
    stage.write(".gitignore", ".env\ndeps/\n");
    stage.commit();
    stage.write(".env", "A=b\n");
    stage.team(Setup { preparation: preparation(), ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put f x"]);
    stage.finished(1);
    stage.all_once(&tasks);
    assert!(stage.events("task.returned").is_empty(), "{}", stage.story());
}

#[test]
fn work_that_tells_a_secret_of_a_copied_file_is_not_taken_in() {
    let mut stage = stage();
    let preparation = Preparation { setup: Vec::new(), ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    stage.tasks(&["cp .env other; git add -A; git commit -qm all; put f x"]);
    let returned = stage.event("task.failed");
    let reason = returned["reason"].as_str().unwrap();
    assert!(reason.contains("[API_KEY] in other"), "{reason}");
    stage.tasks(&["git commit -q --allow-empty -m \"$(cat .env)\"; put g x"]);
    let failed = stage.hear(|event| {
        event["task.failed"]["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("the message of commit"))
    });
    assert!(!failed.to_string().contains(SECRET), "{failed}");
    let landed = stage.git(&["log", "-p", "--branches", "--not", &stage.base]);
    assert!(!landed.contains(SECRET), "{landed}");
}

#[test]
fn what_the_person_has_committed_as_well_is_no_secret_of_a_copied_file() {
    let mut stage = stage();
    stage.write("compose.yml", &format!("POSTGRES_PASSWORD: {SECRET}\n"));
    stage.git(&["add", "compose.yml"]);
    stage.git(&["commit", "-qm", "compose"]);
    let preparation = Preparation { setup: Vec::new(), ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["git mv compose.yml deploy.yml; git commit -qm moved; put f x"]);
    stage.finished(1);
    stage.all_once(&tasks);
}

#[test]
fn a_set_up_runs_once_in_a_tree_and_again_when_a_lock_file_has_changed() {
    let mut stage = stage();
    // What it makes and nobody ignores is not work, and what it changes of what is committed is put back.
    let line =
        "mkdir -p deps made && echo x >> deps/installed && touch made/it && echo 2 >> gate.sh";
    let preparation = Preparation { setup: vec![line.to_owned()], ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    let lines = [
        "here $(wc -l < deps/installed); put f1 x",
        "here $(wc -l < deps/installed); put package-lock.json 2",
        "here $(wc -l < deps/installed) $(ls made); put f3 x",
    ];
    let task = |(at, line): (usize, &&str)| TaskNew {
        alias: Some(format!("t{at}")),
        subject: (*line).to_owned(),
        blocked_by: (at > 0).then(|| format!("t{}", at - 1)).into_iter().collect(),
        ..TaskNew::default()
    };
    let tasks = stage.create(lines.iter().enumerate().map(task).collect());
    let seen: Vec<String> = stage.arrivals(3).into_iter().map(|one| one.words).collect();
    assert_eq!(seen, ["1", "1", "2 it"]);
    stage.finished(3);
    stage.all_once(&tasks);
    let changed = stage.git(&["diff", "--name-only", &stage.base, &format!("shipmate/{TEAM}")]);
    assert_eq!(changed, "f1\nf3\npackage-lock.json\n");
}

#[test]
fn a_set_up_of_the_gates_tree_finds_nothing_that_an_earlier_one_installed() {
    let mut stage = stage();
    let gate = vec!["test \"$(cat deps/installed)\" = x && grep -q hunter2 .env".to_owned()];
    let tasks = ["put package-lock.json 2", "put package-lock.json 3"];
    stage.team(Setup { gate, preparation: preparation(), ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&tasks);
    stage.finished(2);
    stage.all_once(&tasks);
}

#[test]
fn what_a_set_up_makes_in_a_tree_with_returned_work_is_nobodys_work() {
    let mut stage = stage();
    let line = "cp package-lock.json made.txt; cp made.txt made-$(cat made.txt).txt";
    let preparation = Preparation { setup: vec![line.to_owned()], ..preparation() };
    // Its first attempt changes the lock file and comes back.
    let gate = vec!["test ! -e f1 || test -e f2".to_owned()];
    stage.team(Setup { gate, preparation, ..Setup::default() }, &["a"]);
    let line = "put package-lock.json $SHIPMATE_ATTEMPT; put f$SHIPMATE_ATTEMPT $(cat made.txt)";
    stage.tasks(&[line]);
    stage.finished(1);
    let changed = stage.git(&["diff", "--name-only", &stage.base, &format!("shipmate/{TEAM}")]);
    assert_eq!(changed, "f1\nf2\npackage-lock.json\n");
}

#[test]
fn what_an_agent_makes_of_what_a_set_up_made_is_its_work() {
    let mut stage = stage();
    let line =
        "mkdir -p src && echo x > src/generated && echo {} > made.json && echo {} > other.json";
    let preparation = Preparation { setup: vec![line.to_owned()], ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put src/main x; put made.json longer"]);
    stage.finished(1);
    stage.all_once(&tasks);
    let changed = stage.git(&["diff", "--name-only", &stage.base, &format!("shipmate/{TEAM}")]);
    assert_eq!(changed, "made.json\nsrc/main\n");
}

#[test]
fn what_a_set_up_left_that_failed_is_nobodys_work() {
    let mut stage = stage();
    // The tree of the merge queue is well, so that the team begins.
    let line = "mkdir -p junk; echo j > junk/j; echo x >> gate.sh; \
                case $PWD in *.a) test -e \"$SHIPMATE_CHECKOUT/.env.ready\";; esac";
    let preparation = Preparation { setup: vec![line.to_owned()], ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put f x"]);
    let gone = stage.event("teammate.disappeared");
    assert!(gone["reason"].as_str().unwrap().contains("set-up.log"), "{gone}");
    stage.write(".env.ready", "");
    let resumed = stage.shipmate(&["--team", TEAM, "resume"]);
    assert!(resumed.status.success(), "{resumed:?}");
    stage.finished(1);
    stage.all_once(&tasks);
    let changed = stage.git(&["diff", "--name-only", &stage.base, &format!("shipmate/{TEAM}")]);
    assert_eq!(changed, "f\n");
}

#[test]
fn a_coordinator_that_is_killed_loses_nobody_where_files_are_copied() {
    let mut stage = stage();
    let preparation = Preparation { setup: Vec::new(), ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    stage.door("go");
    let tasks = stage.tasks(&["here; pass go; put f x"]);
    stage.arrival();
    let coordinator = stage.coordinator();
    crate::processes::kill(coordinator);
    stage.open("go", 1);
    stage.finished(1);
    stage.catch_up();
    assert_eq!(stage.events("teammate.started").len(), 1, "{}", stage.story());
    stage.all_once(&tasks);
}

#[test]
fn what_is_rescued_of_a_tree_has_no_copied_file() {
    let mut stage = stage();
    let preparation = Preparation { setup: Vec::new(), ..preparation() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    let line = "put half of-it; git add -A; git stash -q -a; git stash apply -q; git add -f .env; \
                git commit -qm all; git branch side; put f x";
    stage.tasks(&[line]);
    stage.event("task.failed");
    let ended = stage.shipmate(&["team", "delete", TEAM, "--now"]);
    assert!(ended.status.success(), "{ended:?}");
    let kept = stage.git(&["for-each-ref", "--format=%(refname)", "refs/shipmate"]);
    assert!(kept.contains("/aside/"), "{kept}");
    let objects = stage.git(&["rev-list", "--all", "--objects"]);
    assert!(objects.contains(" half") && !objects.contains(" .env"), "{objects}");
}

#[test]
fn links_lead_to_folders_of_the_checkout_that_nobody_can_write() {
    let mut stage = stage();
    stage.write("deps/installed", "x\n");
    let preparation = Preparation {
        link: vec!["deps/".to_owned()],
        copy: Vec::new(),
        setup: Vec::new(),
        ..preparation()
    };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    let line = "here $(cat deps/installed) $(git status --short | wc -l) \
                $(touch deps/y 2>/dev/null && echo w); put f x";
    let tasks = stage.tasks(&[line]);
    assert_eq!(stage.arrival().words.trim(), "x 0");
    stage.finished(1);
    stage.all_once(&tasks);
    let changed = stage.git(&["diff", "--name-only", &stage.base, &format!("shipmate/{TEAM}")]);
    assert_eq!(changed, "f\n");
}

#[test]
fn a_set_up_without_an_end_or_that_wants_a_terminal_or_the_checkout_is_refused_with_its_words() {
    let mut stage = stage();
    let checkout = stage.place().workspace.join("stolen");
    for (line, words) in [
        ("sleep 600", "did not end within 1 s"),
        ("read answer < /dev/tty", "failed with exit status"),
        ("touch \"$SHIPMATE_CHECKOUT/stolen\"", "failed with exit status"),
    ] {
        let setup_lines = vec![line.to_owned()];
        let preparation = Preparation { setup: setup_lines, timeout_ms: 1_000, ..preparation() };
        stage.team(setup(preparation), &["a"]);
        stage.tasks(&["put f x"]);
        let paused = stage.event("team.paused");
        let reason = paused["reason"].as_str().unwrap();
        assert!(reason.contains(words), "{line}: {reason}");
        assert!(!checkout.exists());
        let ended = stage.shipmate(&["team", "delete", TEAM, "--now"]);
        assert!(ended.status.success(), "{ended:?}");
        stage.log.clear();
    }
}

#[test]
fn a_set_up_that_ruins_git_or_commits_is_refused_with_what_it_did() {
    let mut stage = stage();
    let commit = "git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x";
    for (line, words) in [
        ("rm -rf .git", "it leaves a tree that git cannot use"),
        ("echo ref: > .git/HEAD", "it leaves a tree that git cannot use"),
        (commit, "it moves git's HEAD from"),
        ("git switch -q -c other", "it moves git's HEAD from"),
    ] {
        let preparation = Preparation { setup: vec![line.to_owned()], ..preparation() };
        stage.team(setup(preparation), &["a"]);
        stage.tasks(&["put f x"]);
        let paused = stage.event("team.paused");
        let reason = paused["reason"].as_str().unwrap();
        assert!(
            reason.contains("the set-up of the tree fails: it ") && reason.contains(words),
            "{line}: {reason}"
        );
        assert!(!stage.log.iter().any(|record| record["type"] == "teammate.started"));
        let ended = stage.shipmate(&["team", "delete", TEAM, "--now"]);
        assert!(ended.status.success(), "{line}: {ended:?}");
        stage.log.clear();
    }
}

#[test]
fn a_set_up_that_fails_where_the_idle_hook_runs_stops_the_team_and_sends_nobody_back() {
    let config = "[hooks]\nTeammateIdle = [\"true\"]\n[agents]\nstop-grace-seconds = 0.3\n";
    let mut stage = Stage::new(config);
    let line = "case $PWD in *hook*) echo no room here >&2; exit 3;; esac";
    let preparation = Preparation { setup: vec![line.to_owned()], ..Preparation::default() };
    stage.team(Setup { preparation, ..Setup::default() }, &["a"]);
    let tasks = stage.tasks(&["put f x"]);
    let paused = stage.event("team.paused");
    let reason = paused["reason"].as_str().unwrap();
    for words in ["the set-up of the tree fails", "no room here", "the idle hook cannot run there"]
    {
        assert!(reason.contains(words), "{words}: {reason}");
    }
    let resumed = stage.shipmate(&["--team", TEAM, "resume"]);
    assert!(resumed.status.success(), "{resumed:?}");
    stage.finished(1);
    stage.all_once(&tasks);
    assert_eq!(stage.events("team.paused").len(), 1, "{}", stage.story());
}

#[test]
fn lists_that_cannot_be_are_refused_before_a_team_is_made() {
    let mut stage = stage();
    let outside = stage.root().join("outside");
    std::fs::write(&outside, "x").unwrap();
    std::os::unix::fs::symlink(&outside, stage.place().workspace.join("led")).unwrap();
    let large = std::fs::File::create(stage.place().workspace.join("large.bin")).unwrap();
    large.set_len(5 << 30).unwrap();
    let copies = |list: &[&str]| Preparation {
        copy: list.iter().map(|name| (*name).to_owned()).collect(),
        ..Preparation::default()
    };
    for (preparation, words) in [
        (copies(&["../outside"]), "no path inside the repository"),
        (copies(&["/etc/passwd"]), "no path inside the repository"),
        (copies(&["gate.sh"]), "is tracked by git"),
        (copies(&["**/*"]), "is tracked by git"),
        (copies(&["led"]), "leads out of the repository"),
        (copies(&["large.bin"]), "link the folder instead"),
        (copies(&[".env.absent"]), "there is no .env.absent"),
        (copies(&[".git/config"]), "no path inside the repository"),
        (Preparation { link: vec!["absent".to_owned()], ..copies(&[]) }, "there is no absent"),
        (
            Preparation { link: vec!["led".to_owned()], ..copies(&[]) },
            "leads out of the repository",
        ),
    ] {
        let setup =
            Setup { trees: Some("own".to_owned()), dirty: true, preparation, ..Setup::default() };
        let create =
            TeamCreate { name: TEAM.to_owned(), setup: Some(setup), ..TeamCreate::default() };
        let refused = stage.refusal(Ask::TeamCreate(create));
        assert!(refused.message.contains(words), "{words}: {}", refused.message);
    }
    assert!(!stage.place().team(TEAM).exists());
}

const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
                   MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBALm0dS5rXbVqk3kK\n\
                   vYp0Zw7aRrPqT1cN8uXs5eJhLd2bGfM4iVxKoW6yQzE9nCtBjH3lUvAgDmIpSk+F\n\
                   -----END PRIVATE KEY-----\n";

/// Where there is something of what is copied in these bytes.
fn tells(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let words = [SECRET].into_iter().chain(KEY.lines().filter(|line| !line.starts_with('-')));
    let at = words.filter_map(|word| text.find(word)).next()?;
    let around = text.char_indices().filter(|(i, _)| at < i + 300 && *i < at + 100);
    Some(around.map(|(_, c)| c).collect())
}

/// Files below that tell of it; trees are where agents have it, and are passed over.
fn telling(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() && !folder.ends_with("trees") {
            telling(&path, found);
        } else if kind.is_file()
            && let Some(around) = tells(&std::fs::read(&path).unwrap())
        {
            found.push(format!("{}: {around}", path.display()));
        }
    }
}

/// What the page's server says to each of these, and at the end of its stream's first words: all of the team,
/// and what this teammate printed.
fn served(stage: &Stage, paths: &[String], prints: &str) -> Vec<String> {
    let mut command = hermetic(&stage.root(), SHIPMATE);
    command.arg("--workspace").arg(stage.place().workspace).args(["--json", "serve"]);
    let mut serving = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(serving.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    let link = said["page"].as_str().unwrap().strip_prefix("http://").unwrap();
    let (host, token) = link.split_once("/#token=").unwrap();
    let asked = |path: &str| {
        let mut stream = TcpStream::connect(host).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let answers = paths.iter().map(|path| {
        let mut stream = asked(path);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        answer
    });
    let mut answers: Vec<String> = answers.collect();
    let mut stream = String::new();
    let mut lines = BufReader::new(asked(&format!("/api/t/{TEAM}/stream?output={prints}")));
    let is_told = |stream: &str| {
        let printed = stream.split_once("event: output\n").map(|(_, rest)| rest);
        printed.is_some_and(|rest| rest.contains("data: ") && rest.ends_with('\n'))
    };
    while !is_told(&stream) {
        assert_ne!(lines.read_line(&mut stream).unwrap(), 0, "{stream}");
    }
    answers.push(stream);
    serving.kill().unwrap();
    serving.wait().unwrap();
    answers
}

#[test]
fn a_copied_secret_is_told_nowhere_whatever_agents_do_with_it() {
    let server = Server::start(
        r#"
as b
on "Task 9:"
  tool bash {"command":"cat .env signing.pem"}
  tool read_file {"path":".env"}
  & tool read_file {"path":"signing.pem"}
  tool TaskUpdate {"taskId":"9","status":"completed","result":"{{last 4000}}"}
  say {{last 4000}}
"#,
    );
    let mut stage = native::configured(&server, "anthropic", "");
    stage.write(".gitignore", ".env\nsigning.pem\n");
    stage.commit();
    stage.write(".env", &format!("API_KEY={SECRET}\n"));
    stage.write("signing.pem", KEY);
    let preparation = Preparation {
        copy: vec![".env".to_owned(), "signing.pem".to_owned()],
        setup: vec!["cat .env signing.pem".to_owned()],
        ..Preparation::default()
    };
    let gate = vec!["cat .env signing.pem; test ! -e red".to_owned()];
    stage.team(Setup { gate, preparation, ..Setup::default() }, &["a"]);
    native::native(&mut stage, "b", "normal");
    stage.door("go");
    let tell = "cat .env signing.pem; printf 'hunter2-in'; printf -- '-a-file\\n'; \
                cat .env signing.pem > \"$SHIPMATE_RESULT\"; cat .env > \"$SHIPMATE_SESSION_FILE\"; \
                printf '{\"done\":[\"%s\"],\"commands\":[{\"command\":\"%s\",\"exit\":0}]}' \
                \"$(cat .env)\" \"$(cat .env)\" > \"$SHIPMATE_HANDOFF\"; \
                as send person \"$(cat .env signing.pem)\"; as note add \"$(cat .env signing.pem)\"; \
                as task create \"see $(cat .env)\" --assignee c; put f1 x";
    let lines = [
        tell,
        "cp signing.pem other; here; pass go; put f2 x",
        "git commit -q --allow-empty -F signing.pem; put f3 x",
        "git -c user.name=\"$(cat .env)\" commit -q --allow-empty -m x; put f4 x",
        "git checkout -q -b \"$(cat .env)\"; cp .env other; git add -A; git commit -qm b; git checkout -q -; \
         put f5 x",
        "put \"$(cat .env)\" x; put f6 x",
        "put half \"$(cat .env signing.pem)\"; put more kept; exit 3",
        "put red x",
    ];
    let of = |subject: &str, name: &str, retries_max| TaskNew {
        subject: subject.to_owned(),
        assignee: Some(name.to_owned()),
        no_change: true,
        retries_max: Some(retries_max),
        ..TaskNew::default()
    };
    let mut new: Vec<TaskNew> = lines.iter().map(|line| of(line, "a", 0)).collect();
    new.push(of("look around", "b", 0));
    stage.create(new);
    stage.arrival();
    let live = stage.shipmate(&["--team", TEAM, "task", "diff", "2"]);
    assert!(String::from_utf8_lossy(&live.stdout).contains("+[PRIVATE KEY]"), "{live:?}");
    stage.open("go", 1);
    stage.finished(9);
    stage.catch_up();
    let failed: Vec<u32> = stage.events("task.failed").iter().map(crate::stage::task_of).collect();
    let completed = stage.events("task.completed");
    let mut ended: Vec<u32> = completed.iter().map(crate::stage::task_of).collect();
    ended.sort_unstable();
    assert_eq!((ended.len(), failed.len()), (3, 6), "{}", stage.story());
    assert_eq!(ended, [1, 5, 9], "{}", stage.story());

    let mut found = Vec::new();
    let mut look = |what: &str, bytes: &[u8]| {
        found.extend(tells(bytes).map(|around| format!("{what}: {around}")));
    };
    look("records", serde_json::to_string(&stage.log).unwrap().as_bytes());
    let position = stage.log.last().unwrap()["n"].as_u64().unwrap();
    let mut paths = vec!["/api/teams".to_owned()];
    for id in 1..=9 {
        paths.push(format!("/api/t/{TEAM}/task/{id}"));
        paths.push(format!("/api/t/{TEAM}/task/{id}/diff"));
    }
    for path in ["timeline", "costs", "messages", "moments", "output/alpha/a", "output/alpha/b"] {
        paths.push(format!("/api/t/{TEAM}/{path}"));
    }
    paths.push(format!("/api/t/{TEAM}/at/{position}"));
    let answers = served(&stage, &paths, "alpha/a");
    let stream = answers.last().unwrap();
    assert!(stream.contains("event: delta") && stream.contains("[API_KEY]"), "{stream}");
    paths.push("its stream".to_owned());
    for (path, answer) in paths.iter().zip(&answers) {
        look(path, answer.as_bytes());
    }
    let all = answers.concat();
    assert!(all.contains("[API_KEY]") && all.contains("[PRIVATE KEY]"), "{all}");
    for words in ["status", "inbox", "log", "note list", "teammate show a", "teammate show b"] {
        let args: Vec<&str> =
            ["--json", "--team", TEAM].into_iter().chain(words.split(' ')).collect();
        look(words, &stage.shipmate(&args).stdout);
    }
    let bytes = |stage: &Stage| {
        let shown = stage.git(&["cat-file", "--batch-all-objects", "--batch", "--buffer"]);
        let names = stage.git(&["for-each-ref", "--format=%(refname)"]);
        (shown, names)
    };
    let (objects, names) = bytes(&stage);
    look("objects", objects.as_bytes());
    look("refs", names.as_bytes());
    telling(&stage.place().state(), &mut found);
    assert_eq!(found, Vec::<String>::new());

    let ended = stage.shipmate(&["team", "delete", TEAM, "--now"]);
    assert!(ended.status.success(), "{ended:?}");
    let (objects, names) = bytes(&stage);
    assert!(objects.contains("kept\n") && names.contains("/aside/"), "what else was made is there");
    let mut found: Vec<String> =
        [objects, names].iter().filter_map(|text| tells(text.as_bytes())).collect();
    telling(&stage.place().state(), &mut found);
    assert_eq!(found, Vec::<String>::new());
}
