//! One run of a command: the workspace, who acts, the connection and the screen.
//!
//! Nothing is connected before a command asks something, so that `config` and `--help` work where
//! no coordinator can.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;

use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::problem::nearest;
use shipmate_protocol::socket::Silence;
use shipmate_protocol::{
    Answer, Ask, BadPlace, Client, ClientFailure, Code, Notice, Place, Verb, answers, verbs,
};

use crate::cli::failure::{Failure, unexpected};
use crate::cli::screen::Screen;
use crate::config::{self, FenceConfig, Loaded};
use crate::mcp::Caller;

/// Variables that are about the shell a command is typed in, not about the person's setup.
const OF_THE_SHELL: [&str; 7] = ["PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES"];

/// Options that every command takes.
#[derive(clap::Args, Debug, Clone)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// The workspace [default: the nearest folder above with .shipmate or .git, else this one]
    #[arg(long, global = true, value_name = "DIR", env = "SHIPMATE_WORKSPACE")]
    #[arg(hide_env_values = true)]
    pub(crate) workspace: Option<PathBuf>,

    /// The team to act on; may be left out where there is only one
    #[arg(long = "team", global = true, value_name = "NAME", env = "SHIPMATE_TEAM")]
    #[arg(hide_env_values = true)]
    pub(crate) for_team: Option<String>,

    /// Act as this teammate instead of as the person [env: SHIPMATE_TOKEN, its token]
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub(crate) acting: Option<String>,

    /// Print JSON for programs; the shapes are in docs/reference/json.md
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) place: Place,
    pub(crate) screen: Screen,
    pub(crate) client: Client,
    globals: Globals,
    /// The coordinator has this command's environment, or is not to have it.
    renewed: bool,
}

impl Session {
    pub(crate) fn open(globals: &Globals) -> Result<Session, Failure> {
        let place = place(globals.workspace.as_deref())?;
        let launch = launch(&place)?;
        let (team, token) = identity(globals, &place)?;
        let renewed = !matches!(token, TokenSource::Person);
        let mut client = Client::new(place.clone(), launch, token);
        client.team = team;
        client.on_silence = if globals.json { tell_programs_of_silence } else { tell_of_silence };
        client.without_state = Some(crate::coordinator::without_state);
        let screen = Screen::new(globals.json);
        Ok(Session { place, screen, client, globals: globals.clone(), renewed })
    }

    /// The same identity on a connection of its own, which starts no coordinator.
    pub(crate) fn without_starting(&self) -> Client {
        let mut client = Client::new(self.place.clone(), Launch::Never, TokenSource::Person);
        client.on_silence = self.client.on_silence;
        client
    }

    /// The same identity on a connection of its own.
    pub(crate) fn again(&self) -> Result<Session, Failure> {
        let mut session = Session::open(&self.globals)?;
        session.client.team.clone_from(&self.client.team);
        Ok(session)
    }

    pub(crate) fn ask<V: Verb>(&mut self, verb: V) -> Result<V::Answer, Failure> {
        self.ask_hearing(verb, |_| {})
    }

    /// The same, and hands on what the coordinator tells before it answers.
    pub(crate) fn ask_hearing<V: Verb>(
        &mut self,
        verb: V,
        each: impl FnMut(Notice),
    ) -> Result<V::Answer, Failure> {
        let ask: Ask = verb.into();
        if !self.renewed && !ask.only_looks() {
            self.renewed = true;
            match self.client.ask(verbs::Renew { environment: environment() }) {
                // A coordinator of an earlier release keeps what it began with.
                Err(ClientFailure::Refused(refused)) if refused.code == Code::BadRequest => {}
                renewed => drop(renewed?),
            }
        }
        let answer = self.client.ask_hearing(ask, each)?;
        Ok(<V::Answer as shipmate_protocol::answers::FromAnswer>::from_answer(answer)
            .map_err(|other| ClientFailure::Nonsense(format!("{} as an answer", other.word())))?)
    }

    /// Carries out a change and says so in words, or that nothing had to change.
    pub(crate) fn change(&mut self, ask: impl Into<Ask>, said: &str) -> Result<(), Failure> {
        let answer = self.ask(ask.into())?;
        self.tell(&answer, said)
    }

    /// Says what a change came to.
    pub(crate) fn tell(&self, answer: &Answer, said: &str) -> Result<(), Failure> {
        match answer {
            Answer::Done { first, last } if self.screen.json => {
                self.screen.json(&serde_json::json!({ "first": first, "last": last }))
            }
            Answer::Opened(answers::Opened { id }) if self.screen.json => {
                self.screen.json(&serde_json::json!({ "id": id }))
            }
            Answer::Unchanged if self.screen.json => {
                self.screen.json(&serde_json::json!({ "unchanged": true }))
            }
            Answer::Done { .. } | Answer::Opened(_) => self.screen.line(said),
            Answer::Unchanged => self.screen.line("nothing to change: it is so already"),
            _ => Err(unexpected("a change")),
        }
    }

    pub(crate) fn config(&self) -> Result<Loaded, Failure> {
        Ok(config::load(&self.place.config())?)
    }

    /// Said whenever somebody is started.
    pub(crate) fn say_if_unfenced(&self) -> Result<(), Failure> {
        if self.screen.json || self.config()?.config.fence != FenceConfig::Off {
            return Ok(());
        }
        self.screen
            .line("note: fence = \"off\": every agent, gate and hook can do whatever you can")
    }

    /// The token of a claim: the one given, else that of the claim this very life holds.
    ///
    /// Looking it up is for people at a prompt. An agent should pass the token it was given: after
    /// a lease has run out and the same life has claimed again, only that tells its two attempts
    /// apart.
    pub(crate) fn claim_token(&mut self, task: &str, given: Option<u64>) -> Result<u64, Failure> {
        if let Some(token) = self.held_token(task, given)? {
            return Ok(token);
        }
        let actor = self.client.welcome()?.actor;
        if actor == "person" {
            return Err(Failure::Usage(
                "a person holds no claims\n  act as the holder with --as NAME, or pass the \
                 claim's own token with --token N"
                    .to_owned(),
            ));
        }
        Err(Failure::Lost(format!(
            "{actor} holds no claim on task {task}\n  `shipmate task show {task}` says who does; \
             claim it first, or pass the token of the claim with --token N"
        )))
    }

    /// The same where a person may act without a claim.
    pub(crate) fn held_token(
        &mut self,
        task: &str,
        given: Option<u64>,
    ) -> Result<Option<u64>, Failure> {
        if given.is_some() {
            return Ok(given);
        }
        let actor = self.client.welcome()?.actor;
        if actor == "person" {
            return Ok(None);
        }
        let view = self.ask(verbs::TaskShow { task: task.to_owned() })?;
        Ok(view.token.filter(|_| view.row.owner.as_deref() == Some(actor.as_str())))
    }

    /// A duration of the command line, else the configured one.
    pub(crate) fn lease_ms(&self, given: Option<u64>) -> Result<u64, Failure> {
        match given {
            Some(ms) => Ok(ms),
            None => Ok(self.config()?.config.lease_seconds * 1000),
        }
    }

    pub(crate) fn deadline_ms(&self, given: Option<u64>) -> Result<u64, Failure> {
        match given {
            Some(ms) => Ok(ms),
            None => Ok(self.config()?.config.shutdown_deadline_seconds * 1000),
        }
    }

    /// The repository that is worked on, where it is another folder than the one the person
    /// stands in.
    pub(crate) fn repository_elsewhere(&self) -> Option<&Path> {
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok()?;
        let root = self.place.workspace.ancestors().find(|at| at.join(".git").exists())?;
        (root != here).then_some(root)
    }

    /// How to make a repository, for somebody who stands where one is missing. Never for another
    /// folder, nor for a home folder: everything in it would be added.
    pub(crate) fn advise_repository(&self, failure: Failure) -> Failure {
        let Failure::Client(ClientFailure::Refused(mut refused)) = failure else { return failure };
        let commit = "git add . && git commit -m 'first'";
        let advice = match refused.code {
            Code::NoRepository => format!("or make this folder one: git init && {commit}"),
            Code::NoCommits => commit.to_owned(),
            _ => return Failure::Client(ClientFailure::Refused(refused)),
        };
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
        let home =
            std::env::var_os("HOME").and_then(|home| PathBuf::from(home).canonicalize().ok());
        if here.as_ref() == Some(&self.place.workspace) && here != home {
            refused.remedy = Some(advice);
        }
        Failure::Client(ClientFailure::Refused(refused))
    }

    /// The options that make the next command act on the same workspace and team.
    pub(crate) fn here(&self) -> String {
        let mut options = String::new();
        if let Some(workspace) = &self.globals.workspace
            && std::env::var_os("SHIPMATE_WORKSPACE").is_none()
        {
            options.push_str(&format!(" --workspace {}", workspace.display()));
        }
        options
    }

    /// How a command about a team begins, for a person to type. The team is named where it must be.
    pub(crate) fn command_for(&self, team: Option<&str>) -> String {
        let team = team.map(|team| format!(" --team {team}")).unwrap_or_default();
        format!("shipmate{}{team}", self.here())
    }
}

/// What a coordinator takes over of this command's environment: keys, paths, proxies, settings.
/// Not what says where and as whom this command acts, nor what is only about its shell.
fn environment() -> BTreeMap<String, String> {
    let settings = config::Config::default().entries();
    let settings: Vec<String> = settings.iter().map(|(name, _)| config::variable(name)).collect();
    let named = std::env::vars_os().filter_map(|(name, value)| {
        let pair = (name.into_string().ok()?, value.into_string().ok()?);
        let ours = pair.0.starts_with("SHIPMATE_");
        let meant =
            if ours { settings.contains(&pair.0) } else { !OF_THE_SHELL.contains(&&*pair.0) };
        meant.then_some(pair)
    });
    named.collect()
}

/// Once, however many connections notice it. Nobody has to read it.
fn tell_of_silence(silence: Silence) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| drop(writeln!(std::io::stderr(), "{silence}; waiting for it")));
}

fn tell_programs_of_silence(silence: Silence) {
    static TOLD: Once = Once::new();
    let waiting = serde_json::json!({ "message": silence.to_string(), "pid": silence.pid });
    let line = serde_json::json!({ "waiting": waiting });
    TOLD.call_once(|| drop(writeln!(std::io::stderr(), "{line}")));
}

/// An explicit workspace is taken as it is; otherwise it is looked for from here upwards.
pub(crate) fn place(explicit: Option<&Path>) -> Result<Place, Failure> {
    let Some(dir) = explicit else {
        let here = std::env::current_dir()
            .map_err(|e| BadPlace::Unreadable(PathBuf::from("the current folder"), e))?;
        return Ok(Place::find(&here)?);
    };
    let workspace = match dir.canonicalize() {
        Ok(found) if found.is_dir() => found,
        Ok(found) => return Err(BadPlace::NoFolder(found).into()),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(BadPlace::NoFolder(dir.to_owned()).into());
        }
        Err(e) => return Err(BadPlace::Unreadable(dir.to_owned(), e).into()),
    };
    Ok(Place { workspace })
}

/// This very program as the coordinator of the workspace.
pub(crate) fn launch(place: &Place) -> Result<Launch, Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::Storage(format!("the path of this program is unknown: {e}")))?;
    let args = vec![
        "--workspace".into(),
        place.workspace.clone().into_os_string(),
        "coordinator".into(),
        "run".into(),
    ];
    // Behind an agent's fence it could write nothing; the agent's supervisor starts one.
    if std::env::var_os("SHIPMATE_FENCED").is_some() {
        return Ok(Launch::Never);
    }
    Ok(Launch::Program { program, args })
}

/// On whose behalf an MCP session is.
pub(crate) fn caller(globals: &Globals, place: &Place) -> Result<Caller, Failure> {
    Ok(match identity(globals, place)?.1 {
        TokenSource::Person => Caller::Person,
        TokenSource::Given(token) => Caller::Token(token),
    })
}

/// The team that requests name, and the token that says who acts.
fn identity(globals: &Globals, place: &Place) -> Result<(Option<String>, TokenSource), Failure> {
    let (team, name) = match globals.acting.as_deref().and_then(|who| who.split_once('/')) {
        Some((team, name)) => (Some(team.to_owned()), Some(name)),
        None => (globals.for_team.clone(), globals.acting.as_deref()),
    };
    // Stands above --as: an agent that was given a token can act as nobody else.
    if let Ok(token) = std::env::var("SHIPMATE_TOKEN") {
        // Empty is what a failed `teammate start` leaves behind. Acting as the person
        // then would be a promotion.
        if token.trim().is_empty() {
            return Err(Failure::Usage(
                "SHIPMATE_TOKEN is set and empty\n  unset it to act as the person, or give it the \
                 token of a teammate"
                    .to_owned(),
            ));
        }
        return Ok((team, TokenSource::Given(token.trim().to_owned())));
    }
    let Some(name) = name else { return Ok((team, TokenSource::Person)) };
    let path = token_file(place, team.as_deref(), name)?;
    match fs::read_to_string(&path) {
        Ok(token) => Ok((team, TokenSource::Given(token.trim().to_owned()))),
        Err(e) if e.kind() == ErrorKind::NotFound => Err(no_token(place, team.as_deref(), name)),
        Err(e) => Err(Failure::Usage(format!(
            "the token file {} cannot be read: {e}\n  only the user who started the teammate can \
             act as it",
            path.display()
        ))),
    }
}

fn token_file(place: &Place, team: Option<&str>, name: &str) -> Result<PathBuf, Failure> {
    for part in team.into_iter().chain([name]) {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if part.is_empty() || part.len() > 64 || !part.bytes().all(plain) {
            return Err(Failure::Usage(format!(
                "{part:?} is not a name\n  names are letters, digits, '_' and '-', at most 64"
            )));
        }
    }
    if let Some(team) = team {
        return Ok(place.teammate_token(team, name));
    }
    let folder = place.teammate_token("team", name);
    let folder = folder.parent().unwrap_or(Path::new(""));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == name))
        .collect();
    found.sort();
    match found.len() {
        0 => Err(no_token(place, None, name)),
        1 => Ok(found.remove(0)),
        _ => {
            let stems = found.iter().filter_map(|path| path.file_stem());
            let who: Vec<String> =
                stems.map(|team| format!("{}/{name}", team.to_string_lossy())).collect();
            Err(Failure::Usage(format!(
                "{name} is ambiguous: {}\n  write it as --as team/name",
                who.join(", ")
            )))
        }
    }
}

/// Names who can be acted as; a second teammate is no cure for a slip of the keys.
fn no_token(place: &Place, team: Option<&str>, name: &str) -> Failure {
    let folder = place.teammate_token("team", name);
    let entries = fs::read_dir(folder.parent().unwrap_or(Path::new("")));
    let entries = entries.into_iter().flatten().flatten();
    let mut known: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let file = entry.file_name();
            let (team, name) = file.to_str()?.split_once('.')?;
            Some((team.to_owned(), name.to_owned()))
        })
        .filter(|(of, _)| team.is_none_or(|team| team == of.as_str()))
        .collect();
    known.sort();
    let near = nearest(name, known.iter().map(|(_, name)| name.as_str()));
    let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    let all: Vec<String> = known.iter().map(|(team, name)| format!("{team}/{name}")).collect();
    let all = match all.is_empty() {
        true => String::new(),
        false => format!("  there is one for {}\n", all.join(", ")),
    };
    Failure::Usage(format!(
        "there is no token file for {name} in this workspace{near}\n{all}  `shipmate teammate start \
         {name}` begins a life of a teammate by hand, and makes one"
    ))
}

/// Text of an argument, or of standard input where it is `-`.
pub(crate) fn text_or_stdin(words: &[String]) -> Result<String, Failure> {
    if words == ["-"] {
        return read_stdin();
    }
    Ok(words.join(" "))
}

pub(crate) fn read_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|e| Failure::Usage(format!("standard input cannot be read: {e}")))?;
    Ok(text)
}
