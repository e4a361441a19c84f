//! Profiles as the configuration makes them, and programs of every sort that is no good.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use shipmate_process::{Launcher, Marker};
use shipmate_protocol::view::AgentView;

use super::*;
use crate::agents::FenceSetting;

/// A home of its own, with a folder of programs that is all of `PATH` but for the shell.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shipmate-programs-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("bin")).unwrap();
        Self(path)
    }

    /// Written by another process: a file that this one holds open for writing while another test
    /// forks cannot be executed.
    fn program(&self, name: &str, body: &str) {
        let mut writer = std::process::Command::new("sh");
        writer.args(["-c", "printf '#!/bin/sh\n%s\n' \"$1\" > \"$0\" && chmod 755 \"$0\""]);
        let status = writer.arg(self.0.join("bin").join(name)).arg(body).status();
        assert!(status.unwrap().success());
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn around(&self, more: &[(&str, &str)]) -> Around {
        let path = format!("{}:/usr/bin:/bin", self.0.join("bin").display());
        let own = [("HOME".to_owned(), self.0.clone().into()), ("PATH".to_owned(), path.into())];
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), value.into()));
        Around(own.into_iter().chain(more).collect())
    }

    async fn probe(&self, profile: &Profile, more: &[(&str, &str)]) -> AgentView {
        let marker = Marker::new("digest", "probe", "one").unwrap();
        let around = self.around(more);
        probe::probe(profile, &around, &self.0, Launcher::direct(), marker, LONG).await
    }

    fn text(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const LONG: Duration = Duration::from_secs(300);

fn settings(programs: &[(&str, ProgramSetting)]) -> Agents {
    Agents {
        shown: BTreeMap::new(),
        patience: Duration::from_secs(1),
        default: String::new(),
        program: "shipmate".into(),
        output_bytes_max: 0,
        stop_grace: LONG,
        hooks: BTreeMap::new(),
        hook_timeout: LONG,
        claude_hooks: false,
        views_in_repository: false,
        batch_max: 1,
        programs: programs.iter().map(|(name, p)| ((*name).to_owned(), p.clone())).collect(),
        native: crate::agents::Native::default(),
        fence: FenceSetting::On,
        fence_write: Vec::new(),
        gate_env: Vec::new(),
        gate_read: Vec::new(),
        copy_to: Vec::new(),
    }
}

fn known(name: &str) -> Profile {
    find(name, &settings(&[])).unwrap()
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told_with_its_installation() {
    let home = Home::new();
    let view = home.probe(&known("goose"), &[]).await;
    assert_eq!((view.state.as_str(), view.program), ("not_installed", None));
    assert_eq!(view.why, "goose was not found in PATH");
    let view = home.probe(&known("gemini"), &[]).await;
    assert!(view.remedy.contains("npm install -g @google/gemini-cli"), "{}", view.remedy);
}

#[tokio::test]
async fn a_file_that_may_not_be_executed_is_no_program() {
    let home = Home::new();
    home.file("bin/goose", "#!/bin/sh\n");
    assert_eq!(home.probe(&known("goose"), &[]).await.state, "not_installed");
}

#[tokio::test]
async fn an_old_program_is_told_with_the_oldest_that_works() {
    let home = Home::new();
    home.program("claude", "echo '1.9.99 (Claude Code)'");
    let view = home.probe(&known("claude"), &[("ANTHROPIC_API_KEY", "x")]).await;
    assert_eq!((view.state.as_str(), view.version.as_deref()), ("too_old", Some("1.9.99")));
    assert_eq!(view.why, "1.9.99 is installed, and 2.0.0 is the oldest that works");
    assert_eq!(view.program.as_deref(), Some(home.text("bin/claude").as_str()));
}

#[tokio::test]
async fn a_login_is_seen_by_variable_or_file_and_missed_without() {
    let home = Home::new();
    home.program("codex-acp", "echo 1.0.0");
    let codex = known("codex-acp");
    let view = home.probe(&codex, &[("OPENAI_API_KEY", "")]).await;
    assert_eq!((view.state.as_str(), view.why.as_str()), ("not_logged_in", "no login was found"));
    assert!(view.remedy.contains("codex login"));
    let view = home.probe(&codex, &[("OPENAI_API_KEY", "x")]).await;
    let why = "a login is there, not tried: OPENAI_API_KEY";
    assert_eq!((view.state.as_str(), view.why.as_str()), ("ready", why));

    home.file("elsewhere/auth.json", r#"{"OPENAI_API_KEY":"x"}"#);
    assert_eq!(home.probe(&codex, &[]).await.state, "not_logged_in");
    let folder = home.text("elsewhere");
    let view = home.probe(&codex, &[("CODEX_HOME", folder.as_str())]).await;
    assert!(view.why.ends_with(&home.text("elsewhere/auth.json")), "{}", view.why);

    home.file(".codex/config.toml", "model = \"x\"\n");
    assert_eq!(home.probe(&codex, &[]).await.state, "not_logged_in", "no provider is named");
    home.file(".codex/config.toml", "model_provider = \"mine\"\n");
    assert_eq!(home.probe(&codex, &[]).await.state, "ready");

    home.program("opencode", "echo 1.18.33");
    assert_eq!(home.probe(&known("opencode"), &[]).await.state, "not_logged_in");
    home.file("opencode.json", r#"{"provider":{"mine":{}}}"#);
    assert_eq!(home.probe(&known("opencode"), &[]).await.state, "ready", "in the repository");
}

/// What the programs themselves say of such files is in `clients/logins.rs` of the binary's tests.
#[tokio::test]
async fn a_file_counts_if_a_login_is_in_it_that_is_not_over() {
    let claude = ("claude", ".claude/.credentials.json");
    let codex = ("codex", ".codex/auth.json");
    let gemini = ("gemini", ".gemini/oauth_creds.json");
    let opencode = ("opencode", ".local/share/opencode/auth.json");
    let rows = [
        (claude, "", false),
        (claude, "{}", false),
        (claude, r#"{"claudeAiOauth":{"accessToken":"x","refreshToken":"","expiresAt":9}}"#, false),
        (claude, r#"{"claudeAiOauth":{"accessToken":"x","refreshToken":"y","expiresAt":9}}"#, true),
        (codex, r#"{"OPENAI_API_KEY":null,"auth_mode":"apikey"}"#, false),
        (codex, r#"{"OPENAI_API_KEY":"x"}"#, true),
        (gemini, r#"{"access_token":"x","expiry_date":9}"#, false),
        (gemini, r#"{"access_token":"x","refresh_token":"y","expiry_date":9}"#, true),
        (opencode, "{}", false),
        (opencode, r#"{"mine":{"type":"api","key":""}}"#, false),
        (opencode, r#"{"mine":{"type":"api","key":"x"}}"#, true),
    ];
    for ((name, path), text, is_login) in rows {
        let home = Home::new();
        home.program(name, "[ $1 = --version ] && echo 9.9.9");
        home.file(path, text);
        let view = home.probe(&known(name), &[]).await;
        let state = if is_login { "ready" } else { "not_logged_in" };
        assert_eq!(view.state, state, "{name} {text}: {}", view.why);
    }
}

#[tokio::test]
async fn a_program_that_never_answers_is_ended() {
    let home = Home::new();
    home.program("claude", "trap '' TERM; sleep 1000 & wait; wait; sleep 1000");
    let marker = Marker::new("hangs", "probe", "one").unwrap();
    let limit = Duration::from_millis(200);
    let around = home.around(&[]);
    let claude = known("claude");
    let view = probe::probe(&claude, &around, &home.0, Launcher::direct(), marker, limit);
    let view = tokio::time::timeout(LONG, view).await.expect("the bound holds");
    assert_eq!(view.state, "broken");
    assert_eq!(view.why, "`claude --version` gave no answer within 0.2 s");
    assert_eq!(shipmate_process::marked("hangs"), [], "it was ended");
}

#[tokio::test]
async fn garbage_and_failure_are_told_in_one_short_line() {
    let home = Home::new();
    home.program("claude", "head -c 100000 /dev/urandom | tr -d '0-9.'; echo");
    let view = home.probe(&known("claude"), &[]).await;
    assert_eq!(view.state, "broken");
    assert!(view.why.starts_with("`claude --version` printed no version: "), "{}", view.why);
    assert!(view.why.chars().count() < 160 && !view.why.contains(char::is_control));

    home.program("claude", "echo 'needs node 22' >&2; exit 3");
    let view = home.probe(&known("claude"), &[]).await;
    assert_eq!(view.why, "`claude --version` failed (exit code 3): needs node 22");
    assert!(view.remedy.contains("by hand"));

    home.program("claude", "");
    assert!(home.probe(&known("claude"), &[]).await.why.ends_with("printed no version: nothing"));
}

#[tokio::test]
async fn all_are_probed_at_once_and_in_order() {
    let home = Home::new();
    // Each waits for the other: one after the other, neither would answer.
    let meet = |mine: &str, other: &str| {
        let at = |name: &str| home.text(name);
        let (mine, other) = (at(mine), at(other));
        format!("echo > {mine} & read x < {other}; wait; echo 9.9.9")
    };
    for fifo in ["a", "b"] {
        let made = std::process::Command::new("mkfifo").arg(home.0.join(fifo)).status();
        assert!(made.unwrap().success());
    }
    home.program("claude", &meet("a", "b"));
    home.program("codex", &meet("b", "a"));
    let local = tokio::task::LocalSet::new();
    let profiles = profiles(&settings(&[]));
    let names: Vec<String> = profiles.iter().map(|profile| profile.name.clone()).collect();
    let around = home.around(&[("ANTHROPIC_API_KEY", "x")]);
    let place = Place { workspace: home.0.clone() };
    let views = local.run_until(probe_all(profiles, &around, &Launcher::direct(), &place)).await;
    assert_eq!(views.iter().map(|view| view.name.clone()).collect::<Vec<_>>(), names);
    let states: Vec<&str> = views.iter().map(|view| view.state.as_str()).collect();
    // The first is our own, which is no program to be found.
    assert_eq!(states[1..4], ["ready", "not_logged_in", "not_installed"]);
}

#[test]
fn an_unknown_name_is_told_the_known_ones() {
    let mine = ProgramSetting { program: "mine".into(), ..ProgramSetting::default() };
    let told = find("gemni", &settings(&[("mine", mine)])).unwrap_err().to_string();
    assert_eq!(
        told,
        "there is no agent program \"gemni\"; known are native, claude, codex, gemini, opencode, \
         goose, claude-agent-acp, codex-acp, mine. Name one of these, or add [agents.gemni] to the \
         configuration"
    );
}

#[tokio::test]
async fn a_program_of_ones_own_is_started_as_it_says() {
    let home = Home::new();
    home.program("my-agent", "echo ran > \"$HOME/ran\"");
    let mine = ProgramSetting {
        program: "my-agent".into(),
        like: String::new(),
        args: Some(vec!["serve".into()]),
        protocol: "acp".into(),
        env: [("KEY".to_owned(), "value".to_owned())].into(),
    };
    let profile = find("mine", &settings(&[("mine", mine)])).unwrap();
    let around = home.around(&[]);
    assert_eq!(profile.argv(&around), [home.text("bin/my-agent"), "serve".to_owned()]);
    assert_eq!((profile.protocol, profile.env["KEY"].as_str()), (Protocol::Acp, "value"));
    let view = home.probe(&profile, &[]).await;
    assert_eq!((view.state.as_str(), view.version), ("ready", None));
    assert!(!home.0.join("ran").exists(), "nothing of it is run");
}

#[test]
fn a_known_program_keeps_what_its_setting_leaves_out() {
    let home = Home::new();
    let around = home.around(&[]);
    let at = ProgramSetting { program: "/opt/gemini".into(), ..ProgramSetting::default() };
    let profile = find("gemini", &settings(&[("gemini", at)])).unwrap();
    assert_eq!(profile.argv(&around), ["/opt/gemini", "--acp"]);
    assert!(
        profile.at_home(&around, &home.0.join("own")).unwrap().env.contains_key("GEMINI_CLI_HOME")
    );
    let other = ProgramSetting { protocol: "command".into(), ..ProgramSetting::default() };
    let profile = find("gemini", &settings(&[("gemini", other)])).unwrap();
    assert_eq!((profile.protocol, profile.argv(&around).len()), (Protocol::Command, 1));
}

#[test]
fn a_known_program_may_be_there_twice_with_another_login() {
    let home = Home::new();
    let second = home.text(".claude-2");
    for (folder, login) in [("", "u-1"), (".claude-2", "u-2"), (".claude-2", "u-2")] {
        std::fs::create_dir_all(home.0.join(folder)).unwrap();
        let text = format!(r#"{{"oauthAccount":{{"accountUuid":"{login}"}}}}"#);
        std::fs::write(home.0.join(folder).join(".claude.json"), text).unwrap();
    }
    let env = [("CLAUDE_CONFIG_DIR".to_owned(), second.clone())].into();
    let other = ProgramSetting { like: "claude".into(), env, ..ProgramSetting::default() };
    let all = settings(&[("claude-2", other)]);
    let profile = find("claude-2", &all).unwrap();
    let around = home.around(&[]);
    assert_eq!(
        (profile.protocol, profile.programs.as_slice()),
        (Protocol::Claude, &["claude".to_owned()][..])
    );
    assert_eq!((kind("claude-2", &all), kind("codex", &all)), ("claude", "codex"));
    let read = |profile: &Profile, at: &str| {
        let made = profile.at_home(&around, &home.0.join(at)).unwrap();
        let own = PathBuf::from(&made.env["CLAUDE_CONFIG_DIR"]);
        std::fs::read_to_string(own.join(".claude.json")).unwrap_or_default()
    };
    assert!(read(&known("claude"), "one").contains("u-1"));
    assert!(read(&profile, "two").contains("u-2"));
    // Without one of its own it gets nobody else's.
    std::fs::remove_file(home.0.join(".claude-2/.claude.json")).unwrap();
    assert_eq!(read(&profile, "three"), "");
}

#[test]
fn a_program_is_at_home_in_a_folder_of_its_own_with_the_persons_settings_and_login() {
    let home = Home::new();
    let around = home.around(&[]);
    let persons = home.0.join(".claude");
    std::fs::create_dir_all(persons.join("skills/x")).unwrap();
    for (file, text) in [("settings.json", "{}"), (".credentials.json", "login"), ("log", "l")] {
        std::fs::write(persons.join(file), text).unwrap();
    }
    std::fs::write(home.0.join(".claude.json"), "theirs").unwrap();
    let at = home.0.join("own");
    let made = known("claude").at_home(&around, &at).unwrap();
    let own = PathBuf::from(&made.env["CLAUDE_CONFIG_DIR"]);
    assert_eq!(made.write, [own.clone(), persons.join(".credentials.json")]);
    assert!(own.starts_with(&at) && own.join("settings.json").is_symlink());
    assert!(own.join("skills/x").is_dir() && !own.join("log").exists());
    // A login is used where it is: what the program writes there, the person has.
    std::fs::write(own.join(".credentials.json"), "newer").unwrap();
    assert_eq!(std::fs::read_to_string(persons.join(".credentials.json")).unwrap(), "newer");
    // What it writes anew by itself is its own.
    std::fs::write(own.join(".claude.json"), "its own").unwrap();
    assert_eq!(std::fs::read_to_string(home.0.join(".claude.json")).unwrap(), "theirs");
    // The next life finds the person's settings again, whatever this one has put there.
    std::fs::remove_file(own.join("settings.json")).unwrap();
    std::fs::write(own.join("settings.json"), "its own hooks").unwrap();
    std::fs::create_dir_all(own.join("projects/kept")).unwrap();
    known("claude").at_home(&around, &at).unwrap();
    assert_eq!(std::fs::read_to_string(own.join("settings.json")).unwrap(), "{}");
    assert_eq!(std::fs::read_to_string(own.join(".claude.json")).unwrap(), "theirs");
    assert!(own.join("projects/kept").is_dir(), "sessions stay");

    let data = home.text("data");
    let around = home.around(&[("XDG_DATA_HOME", data.as_str())]);
    std::fs::create_dir_all(home.0.join("data/opencode")).unwrap();
    std::fs::write(home.0.join("data/opencode/auth.json"), "login").unwrap();
    let made = known("opencode").at_home(&around, &at).unwrap();
    let own = PathBuf::from(&made.env["XDG_DATA_HOME"]);
    assert_eq!(std::fs::read_to_string(own.join("opencode/auth.json")).unwrap(), "login");
    assert!(made.write.contains(&home.0.join("data/opencode/auth.json")));
    assert!(!made.env.contains_key("XDG_CONFIG_HOME"), "settings are read where they are");
    // A link in the place of its folder leads the next life nowhere.
    std::fs::remove_dir_all(own.join("opencode")).unwrap();
    std::os::unix::fs::symlink(home.0.join("data/opencode"), own.join("opencode")).unwrap();
    known("opencode").at_home(&around, &at).unwrap();
    assert_eq!(std::fs::read_to_string(home.0.join("data/opencode/auth.json")).unwrap(), "login");
}
