//! The fence around the vendors' programs: whatever their model has them do, in every mode, none
//! reads the state, writes outside or acts as somebody else. The moves are a few of those in
//! `team/fences.rs`, which has all of them for a plain command.

use std::fmt::Write;

use shipmate_protocol::Ask;
use shipmate_protocol::verbs;
use shipmate_protocol::verbs::Supervision;
use shipmate_testkit::model::{Request, Server};

use crate::cast::{self, CLAUDE, CODEX, GEMINI, Kind, OPENCODE, task};
use crate::stage::{SHIPMATE, Stage};

/// Each of them must fail.
const MOVES: [&str; 22] = [
    "cat $OUT/repo/.shipmate/state/person.token",
    "cat $OUT/repo/.shipmate/state/secret.key",
    "cat $OUT/repo/.shipmate/state/teams/alpha/lives/alpha.ana@1/order.json",
    "cat $OUT/repo/.shipmate/state/teams/alpha/log.db",
    "cat /proc/self/root/$OUT/repo/.shipmate/state/person.token",
    "ln $OUT/repo/.shipmate/state/person.token mine && cat mine",
    "mv $OUT/repo/.shipmate/state $OUT/repo/.shipmate/mine",
    "env -u SHIPMATE_TOKEN $BIN --workspace $OUT/repo send ana forged",
    "env -u SHIPMATE_TOKEN -u SHIPMATE_FENCED $BIN --workspace $OUT/repo teammate mode ana normal",
    "env -u SHIPMATE_TOKEN $BIN --workspace $OUT/repo coordinator stop",
    "echo x > $OUT/repo/pwned",
    "echo x >> $OUT/repo/README",
    "git -C $OUT/repo update-ref refs/heads/pwned HEAD",
    "git push -q $OUT/repo HEAD:refs/heads/pwned",
    "printf '#!/bin/sh' > $OUT/repo/.git/hooks/pre-commit",
    "echo x > $OUT/home/.bashrc",
    "mkdir -p $OUT/home/.claude && echo '{}' > $OUT/home/.claude/settings.json",
    "mkdir -p $OUT/home/.codex && echo x >> $OUT/home/.codex/config.toml",
    "mkdir -p $OUT/home/.gemini && echo '{}' > $OUT/home/.gemini/settings.json",
    "echo x > $OUT/repo/.shipmate/config.toml",
    "mount -t tmpfs none .",
    "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ | grep -q '^SHIPMATE_TOKEN=person' && \
     exit 0; done; exit 1",
];

const MODES: [&str; 4] = ["normal", "read_only", "delegate", "plan"];

/// All moves, with the numbers of those that succeeded at its end.
fn attacks(stage: &Stage) -> String {
    let mut text = format!("OUT={} BIN={SHIPMATE}\nexport OUT BIN\ngot=\n", stage.root().display());
    for (number, line) in MOVES.iter().enumerate() {
        let line = line.replace('\'', "'\\''");
        let line = format!("timeout 20 bash -c '{line}' < /dev/null > /dev/null 2>&1");
        writeln!(text, "{line} && got=\"$got {number}\"").unwrap();
    }
    text + "echo \"got:$got.\"\n"
}

/// What ana's model has it do: the moves by its shell, and a file in its tree by its own tool.
fn script(root: &str) -> String {
    format!(
        "as ana\non \"look around\"\n  shell bash {root}/attacks.sh\n  write by-tool x\n  \
         tool TaskUpdate {{\"taskId\":\"1\",\"status\":\"completed\",\"result\":\"looked\"}}\n  \
         say I looked.\n"
    )
}

fn bodies(requests: &[Request]) -> String {
    requests.iter().map(|request| request.body.to_string() + "\n").collect()
}

fn keeps_to_its_place(kind: &Kind) {
    for mode in MODES {
        let server = Server::start("as nobody\n");
        let mut stage = cast::stage(kind, &server);
        let root = stage.root().display().to_string();
        server.replace_script(&script(&root));
        std::fs::write(stage.root().join("attacks.sh"), attacks(&stage)).unwrap();
        cast::team(&mut stage, kind, |add| {
            add.mode = Some(mode.to_owned());
            add.when_needed = false;
        });
        let before = outside(&stage);
        stage.ask(task("look around", ""));
        let (name, supervision) = ("ana".to_owned(), Supervision::Supervised);
        stage.ask(Ask::TeammateStart(verbs::TeammateStart { name, supervision }));
        // What it is asked with after its last move.
        server.wait_for(|request| request.contains("by-tool"));
        let token = std::fs::read_to_string(stage.place().person_token()).unwrap();
        let told = bodies(&server.requests());
        assert!(!told.contains(token.trim()), "{} {mode}: it has read the token", kind.agent);
        let said: Vec<&str> = told.split("got:").skip(1).collect();
        let failed = said.iter().all(|rest| rest.starts_with('.'));
        assert!(failed, "{} {mode}: {:?}", kind.agent, said.first().map(|rest| &rest[..60]));
        // Who may write may use its shell; of the others some may not.
        assert!(mode != "normal" || !said.is_empty(), "{}: the moves were made", kind.agent);
        assert_eq!(outside(&stage), before, "{} {mode}", kind.agent);
        let wrote = stage.tree("ana").join("by-tool").exists();
        assert!(mode == "normal" || !wrote, "{} {mode}: it wrote in its tree", kind.agent);
        stage.catch_up();
        let forged = stage.events("message.sent").iter().any(|sent| sent["body"] == "forged");
        assert!(!forged, "{} {mode}", kind.agent);
    }
}

/// What is the person's: files with their texts, and refs.
fn outside(stage: &Stage) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let repo = stage.place().workspace;
    for name in ["README", "pwned", ".shipmate/config.toml", ".git/hooks/pre-commit"] {
        found.push((name.to_owned(), std::fs::read(repo.join(name)).unwrap_or_default()));
    }
    let home = stage.root().join("home");
    let settings = [".claude/settings.json", ".codex/config.toml", ".gemini/settings.json"];
    for name in settings.iter().chain(&[".bashrc"]) {
        found.push(((*name).to_owned(), std::fs::read(home.join(name)).unwrap_or_default()));
    }
    let heads = stage.git(&["for-each-ref", "refs/heads/pwned"]);
    found.push(("pwned".to_owned(), heads.into_bytes()));
    found
}

/// What a teammate does all day: it builds, installs and commits.
const BUILDS: &str = r#"
set -e
PATH=$(dirname CARGO):$PATH
mkdir -p c/src n/dep
printf '[package]\nname = "c"\nversion = "0.1.0"\nedition = "2024"\n' > c/Cargo.toml
echo 'fn main() { println!("{}", 6 * 7); }' > c/src/main.rs
(cd c && cargo run -q --offline | grep -x 42)
echo '{"name": "dep", "version": "1.0.0"}' > n/dep/package.json
echo '{"name": "n", "version": "1.0.0"}' > n/package.json
(cd n && npm install --offline --no-audit --no-fund ./dep && npm pack)
echo 'c/target' > .gitignore
echo 'n/node_modules' >> .gitignore
python3 -c 'import tempfile; tempfile.mkstemp()'
git add -A && git commit -qm "what was built" && echo "built:."
"#;

fn builds_and_commits(kind: &Kind) {
    let server = Server::start("as nobody\n");
    let mut stage = cast::stage(kind, &server);
    let lines = BUILDS.replace("CARGO", &std::env::var("CARGO").unwrap());
    std::fs::write(stage.root().join("builds.sh"), lines).unwrap();
    server.replace_script(&format!(
        "as ana\non \"build it\"\n  shell bash {}/builds.sh\n  tool TaskUpdate \
         {{\"taskId\":\"1\",\"status\":\"completed\",\"result\":\"built\"}}\n  say I built it.\n",
        stage.root().display()
    ));
    cast::team(&mut stage, kind, |_| {});
    stage.ask(task("build it", ""));
    stage.finished(1);
    let told = bodies(&server.requests());
    assert!(told.contains("built:."), "{}: {}", kind.agent, stage.story());
    let landed = stage.git(&["ls-tree", "-r", "--name-only", "shipmate/alpha"]);
    let names = [".gitignore", "c/Cargo.lock", "c/src/main.rs", "n/n-1.0.0.tgz", "n/package.json"];
    for name in names {
        assert!(landed.lines().any(|line| line == name), "{}: {landed}", kind.agent);
    }
    for cache in [".cargo", ".npm"] {
        assert!(!stage.root().join("home").join(cache).exists(), "{}: {cache}", kind.agent);
    }
}

#[test]
fn a_claude_builds_and_commits_behind_the_fence() {
    builds_and_commits(&CLAUDE);
}

#[test]
fn a_codex_builds_and_commits_behind_the_fence() {
    builds_and_commits(&CODEX);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn a_gemini_builds_and_commits_behind_the_fence() {
    builds_and_commits(&GEMINI);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn an_opencode_builds_and_commits_behind_the_fence() {
    builds_and_commits(&OPENCODE);
}

#[test]
fn a_claude_keeps_to_its_place_in_every_mode() {
    keeps_to_its_place(&CLAUDE);
}

#[test]
fn a_codex_keeps_to_its_place_in_every_mode() {
    keeps_to_its_place(&CODEX);
}

#[test]
#[ignore = "needs gemini: cargo xtask test clients"]
fn a_gemini_keeps_to_its_place_in_every_mode() {
    keeps_to_its_place(&GEMINI);
}

#[test]
#[ignore = "needs opencode: cargo xtask test clients"]
fn an_opencode_keeps_to_its_place_in_every_mode() {
    keeps_to_its_place(&OPENCODE);
}
