//! What this machine has of a program: is it there, which version, logged in or not.
//!
//! A program that never answers is ended after [`LIMIT`]; whatever one prints is only looked at
//! for a version. Nothing is run of programs that are not known: what an argument such as
//! `--version` does there, nobody can say.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use shipmate_process::{Launcher, Marker, Output, Program, Spec, run};
use shipmate_protocol::Place;
use shipmate_protocol::view::AgentView;
use tokio::task::JoinSet;

use super::known::{CODEX, Known};
use super::version::Version;
use super::{Around, Profile};

/// Node programs take seconds to say their version on a busy machine.
const LIMIT: Duration = Duration::from_secs(20);
const OUTPUT_BYTES_MAX: usize = 4096;
/// A credential or settings file that is larger is not looked through.
const LOGIN_FILE_BYTES_MAX: u64 = 1 << 20;
const SHOWN_CHARS_MAX: usize = 80;

/// Looks at all of them at once.
pub(crate) async fn probe_all(
    profiles: Vec<Profile>,
    around: &Around,
    launcher: &Launcher,
    place: &Place,
) -> Vec<AgentView> {
    let mut probes = JoinSet::new();
    for (at, profile) in profiles.into_iter().enumerate() {
        let (around, launcher) = (around.clone(), launcher.clone());
        let marker = Marker::new(&place.digest(), "probe", &profile.name);
        let repository = place.workspace.clone();
        probes.spawn_local(async move {
            let view = match marker {
                Ok(marker) => probe(&profile, &around, &repository, launcher, marker, LIMIT).await,
                Err(e) => seen(&profile, "broken", e.to_string(), String::new()),
            };
            (at, view)
        });
    }
    let mut views = probes.join_all().await;
    views.sort_by_key(|(at, _)| *at);
    views.into_iter().map(|(_, view)| view).collect()
}

pub(super) async fn probe(
    profile: &Profile,
    around: &Around,
    repository: &Path,
    launcher: Launcher,
    marker: Marker,
    limit: Duration,
) -> AgentView {
    let Some(program) = profile.program(around) else {
        let names = profile.programs.join(" or ");
        let place = if names.contains('/') { "" } else { " in PATH" };
        let remedy = match profile.known {
            Some(known) => {
                format!("install it ({}), or set agents.{}.program", known.install, profile.name)
            }
            None => format!("install it, or correct agents.{}.program", profile.name),
        };
        return seen(profile, "not_installed", format!("{names} was not found{place}"), remedy);
    };
    let view = AgentView { program: Some(program.display().to_string()), ..view(profile) };
    let Some(known) = profile.known else {
        let why = "found; nothing more is known about it".to_owned();
        return AgentView { state: "ready".to_owned(), why, ..view };
    };
    let asked = Asked { profile, known, program: &program, around, repository };
    match asked.version(launcher.clone(), marker.clone(), limit).await {
        Err((why, remedy)) => AgentView { state: "broken".to_owned(), why, remedy, ..view },
        Ok(version) => {
            let view = AgentView { version: Some(version.to_string()), ..view };
            let says = match version < known.oldest {
                true => None,
                false => asked.says(launcher, marker, limit).await,
            };
            let (state, why, remedy) = asked.state(version, says);
            AgentView { state: state.to_owned(), why, remedy, ..view }
        }
    }
}

struct Asked<'a> {
    profile: &'a Profile,
    known: &'static Known,
    program: &'a Path,
    around: &'a Around,
    repository: &'a Path,
}

impl Asked<'_> {
    async fn version(
        &self,
        launcher: Launcher,
        marker: Marker,
        limit: Duration,
    ) -> Result<Version, (String, String)> {
        let line = [&[self.profile.name.as_str()], self.known.version_args].concat().join(" ");
        let by_hand = || {
            format!(
                "run `{} {}` by hand; install it anew ({})",
                self.program.display(),
                self.known.version_args.join(" "),
                self.known.install
            )
        };
        let spec = self.spec(self.known.version_args, launcher, marker);
        let ran = run(spec, limit).await.map_err(|e| (e.to_string(), by_hand()))?;
        if ran.timed_out {
            let why = format!("`{line}` gave no answer within {} s", limit.as_secs_f64());
            return Err((why, by_hand()));
        }
        let said = format!("{}\n{}", ran.stdout.text(), ran.stderr.text());
        let shown = shown(&said);
        if !ran.exit.is_success() {
            return Err((format!("`{line}` failed ({}): {shown}", ran.exit), by_hand()));
        }
        Version::found_in(&said)
            .ok_or_else(|| (format!("`{line}` printed no version: {shown}"), by_hand()))
    }

    fn spec(&self, args: &[&str], launcher: Launcher, marker: Marker) -> Spec {
        let argv =
            std::iter::once(self.program.as_os_str().to_owned()).chain(args.iter().map(Into::into));
        let around = self.around.0.iter().map(|(name, value)| (name.into(), value.clone()));
        let own = self.profile.env.iter().map(|(name, value)| (name.into(), value.into()));
        Spec {
            env: around.chain(own).collect(),
            output: Output::Capture { bytes_max: OUTPUT_BYTES_MAX },
            launcher,
            ..Spec::new(Program::Argv(argv.collect()), "/", marker)
        }
    }

    /// What it says itself about its login; nothing where it cannot be asked, or says something else.
    async fn says(&self, launcher: Launcher, marker: Marker, limit: Duration) -> Option<bool> {
        let known = self.known;
        if known.status_args.is_empty() {
            return None;
        }
        if let Some(has_key) = self.provider_has_key() {
            return Some(has_key);
        }
        let ran = run(self.spec(known.status_args, launcher, marker), limit).await.ok()?;
        let said = format!("{}\n{}", ran.stdout.text(), ran.stderr.text());
        if let Ok(status) = serde_json::from_str::<serde_json::Value>(ran.stdout.text().trim()) {
            return status["loggedIn"].as_bool();
        }
        match () {
            () if said.contains("Not logged in") => Some(false),
            () if said.contains("Logged in") || said.contains("API key configured") => Some(true),
            () => None,
        }
    }

    /// For codex with a provider of the person's own: whether the key that it names is there. Codex itself
    /// speaks only of its own login.
    fn provider_has_key(&self) -> Option<bool> {
        let path = self.profile.path(self.around, CODEX, "config.toml")?;
        if self.known.protocol != super::Protocol::Codex || !holds(&path, "model_provider") {
            return None;
        }
        let table: toml::Table = fs::read_to_string(path).ok()?.parse().ok()?;
        let name = table.get("model_provider")?.as_str()?;
        let provider = table.get("model_providers")?.get(name)?;
        let key = provider.get("env_key").and_then(toml::Value::as_str);
        Some(key.is_none_or(|key| self.profile.var(self.around, key).is_some()))
    }

    fn state(&self, version: Version, says: Option<bool>) -> (&'static str, String, String) {
        let known = self.known;
        if version < known.oldest {
            let why =
                format!("{version} is installed, and {} is the oldest that works", known.oldest);
            return ("too_old", why, format!("update it: {}", known.install));
        }
        let not = |why: &str| ("not_logged_in", why.to_owned(), known.log_in.to_owned());
        match (self.login(), says) {
            (_, Some(false)) => not("it says itself that it is not logged in"),
            (Login::By(by), Some(true)) => ("ready", format!("logged in by {by}"), String::new()),
            (Login::By(by), None) => {
                ("ready", format!("a login is there, not tried: {by}"), String::new())
            }
            // Codex takes a file without a key for a login, Claude Code one that has expired.
            (Login::Void(path), _) => not(&format!("{path} holds no login that is still good")),
            (Login::None, Some(true)) => {
                ("ready", "logged in, as it says itself".to_owned(), String::new())
            }
            (Login::None, None) => not("no login was found"),
        }
    }

    /// By what it is logged in, as far as that can be seen.
    fn login(&self) -> Login {
        let variables = self.known.login_variables.iter();
        let set = |name: &&&str| self.profile.var(self.around, name).is_some();
        if let Some(name) = variables.into_iter().find(set) {
            return Login::By((*name).to_owned());
        }
        let mut void = Login::None;
        for (base, path, text) in self.known.login_files {
            let Some(path) = self.profile.path(self.around, *base, path) else { continue };
            match text.is_empty() {
                false if holds(&path, text) => return Login::By(path.display().to_string()),
                false => {}
                true => match login_in(&path) {
                    Some(true) => return Login::By(path.display().to_string()),
                    Some(false) => void = Login::Void(path.display().to_string()),
                    None => {}
                },
            }
        }
        let named = self.known.login_in_repository.iter();
        let mut named = named.map(|(path, text)| (self.repository.join(path), text));
        match named.find(|(path, text)| holds(path, text)) {
            Some((path, _)) => Login::By(path.display().to_string()),
            None => void,
        }
    }
}

enum Login {
    By(String),
    /// A file that would hold one does not.
    Void(String),
    None,
}

/// Whether a login is in this file; nothing where there is no such file.
fn login_in(path: &Path) -> Option<bool> {
    if !holds(path, "") {
        return None;
    }
    let held = fs::read(path).ok().filter(|held| held.len() as u64 <= LOGIN_FILE_BYTES_MAX)?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // What is no JSON is the program's own affair.
    let value = serde_json::from_slice::<serde_json::Value>(&held);
    Some(value.map_or(true, |value| is_login(&value, since.as_millis() as f64)))
}

/// Whether there is a secret in it that is not over, or that can be renewed.
fn is_login(value: &serde_json::Value, now_ms: f64) -> bool {
    const ENDS: [&str; 3] = ["expiresAt", "expiry_date", "expires"];
    const RENEWS: [&str; 3] = ["refreshToken", "refresh_token", "refresh"];
    const NO_SECRET: [&str; 5] = ["auth_mode", "last_refresh", "type", "scope", "scopes"];
    match value {
        serde_json::Value::String(text) => !text.is_empty(),
        serde_json::Value::Array(all) => all.iter().any(|one| is_login(one, now_ms)),
        serde_json::Value::Object(all) => {
            let ends = ENDS.iter().find_map(|name| all.get(*name)?.as_f64());
            let renews = |name: &&str| all.get(*name).and_then(|text| text.as_str());
            let is_over = ends.is_some_and(|ends| ends > 0.0 && ends < now_ms)
                && RENEWS.iter().filter_map(renews).all(str::is_empty);
            let mut secrets = all.iter().filter(|(name, _)| !NO_SECRET.contains(&name.as_str()));
            !is_over && secrets.any(|(_, one)| is_login(one, now_ms))
        }
        _ => false,
    }
}

fn holds(path: &Path, text: &str) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return false };
    if !metadata.is_file() || metadata.len() == 0 {
        return false;
    }
    text.is_empty()
        || metadata.len() <= LOGIN_FILE_BYTES_MAX
            && fs::read(path).is_ok_and(|held| String::from_utf8_lossy(&held).contains(text))
}

/// One line of what was said, fit to be shown.
fn shown(said: &str) -> String {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
    line.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS_MAX).collect()
}

fn view(profile: &Profile) -> AgentView {
    AgentView {
        name: profile.name.clone(),
        protocol: profile.protocol.word().to_owned(),
        ..AgentView::default()
    }
}

fn seen(profile: &Profile, state: &str, why: String, remedy: String) -> AgentView {
    AgentView { state: state.to_owned(), why, remedy, ..view(profile) }
}
