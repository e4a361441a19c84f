//! The driver of Claude Code: its stream of JSON lines with the control protocol, the team's
//! tools served on the same pipe.
//!
//! One process lives from the first piece of work to the end of the supervisor, and its
//! conversation beyond that: it is taken up again in the next process. Messages go into the
//! running turn. The program's permission mode is always the asking one, whatever the user's
//! settings say, so what a teammate may do is decided here. Its own tools for teams, timers and
//! background work are taken from it: a model finds exactly one SendMessage, and what goes on
//! behind a turn that has ended could not be handed in. A user's own MCP servers stay.

mod pipe;
mod turn;
mod words;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_model::definition::{Definition, bare};
use shipmate_process::{Exit, Tree};
use shipmate_programs::definitions;
use shipmate_protocol::tools::envelope::envelope;
use shipmate_protocol::view::InboxMessage;
use tokio::sync::watch;

use super::brief;
use super::desk::{Desk, SERVER};
use super::driver::{Driver, Finished, Injected, NotGiven, Progress, Work};
use super::program::{Running, Starter};
use super::servers;
use super::spending::Spending;
use super::transcript::Transcript;
use crate::permission::patterns;
use pipe::{Pipe, Surroundings, Whose};
use turn::Turns;

/// How long the program may take to answer its first request.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(60);
/// How long the last words of a program that has ended may take to come through.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(2);

/// The program's own tools that would pass for the team's, wake it by themselves, or work on
/// after a turn; those that share a name with one of the team's are added.
const NOT_OFFERED: [&str; 22] = [
    "SendMessage",
    "ListAgents",
    "TeamCreate",
    "TeamDelete",
    "TaskCreate",
    "TaskUpdate",
    "TaskList",
    "TaskGet",
    "TaskStop",
    "TaskOutput",
    "TodoWrite",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "EnterWorktree",
    "ExitWorktree",
    "CronCreate",
    "CronDelete",
    "CronList",
    "ScheduleWakeup",
    "Monitor",
    "Workflow",
];
/// How hard its model thinks; one that does not know it does as it is set to.
const EFFORT: &str = "CLAUDE_CODE_EFFORT_LEVEL";
/// Nothing the program starts goes on by itself once a turn has ended.
const BACKGROUND: &str = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS";

#[derive(Debug)]
pub(crate) struct ClaudeAgent {
    desk: Desk,
    starter: Starter,
    transcript: Transcript,
    spending: Spending,
    running: Option<Process>,
    session: Option<String>,
    /// The turn was broken off from here.
    cancelled: bool,
    /// With a request of which nobody will tell.
    cuts_request: bool,
    handshake_within: Duration,
}

#[derive(Debug)]
struct Process {
    tree: Tree,
    pipe: Pipe,
    cwd: PathBuf,
    /// It has taken up an earlier conversation.
    resumed: bool,
    /// What its fence was built for.
    read_only: bool,
}

/// Why a program is not there to be talked to.
enum NoStart {
    /// It does not know the conversation that it was to take up.
    UnknownConversation,
    Reason(NotGiven),
}

impl ClaudeAgent {
    pub(crate) fn new(desk: Desk, starter: Starter, transcript: Transcript) -> ClaudeAgent {
        let session = Some(desk.order().session.clone()).filter(|session| !session.is_empty());
        ClaudeAgent {
            spending: Spending::new(&desk),
            desk,
            starter,
            transcript,
            running: None,
            session,
            cancelled: false,
            cuts_request: false,
            handshake_within: HANDSHAKE_WITHIN,
        }
    }

    /// Whether the program that runs is the one for this tree and this mode.
    fn fits(&self, tree: &Path) -> bool {
        let read_only = self.desk.is_read_only();
        self.running.as_ref().is_some_and(|process| {
            process.cwd == tree && process.read_only == read_only && !process.pipe.is_closed()
        })
    }

    /// The program in this tree, started if need be, with its conversation where there is one.
    async fn process(&mut self, tree: &Path) -> Result<(), NotGiven> {
        if !self.fits(tree) {
            self.stop(self.grace()).await;
            let mut tried = self.start(tree).await;
            if let Err(NoStart::UnknownConversation) = tried {
                self.transcript
                    .say("(claude does not know the earlier conversation here: a new one begins)");
                self.session = None;
                tried = self.start(tree).await;
            }
            match tried {
                Ok(()) => {}
                Err(NoStart::Reason(reason)) => return Err(reason),
                Err(NoStart::UnknownConversation) => {
                    return Err("claude does not begin a conversation".to_owned().into());
                }
            }
        }
        Ok(())
    }

    async fn start(&mut self, tree: &Path) -> Result<(), NoStart> {
        let words = self.arguments();
        let fence = self.desk.fence(tree, &[]).map_err(|why| NoStart::Reason(why.into()))?;
        let Running { tree: processes, stdin, stdout } =
            self.starter.start(tree, &words, fence).map_err(NoStart::Reason)?;
        let around = Surroundings {
            desk: self.desk.clone(),
            transcript: self.transcript.clone(),
            spending: self.spending.clone(),
            folder: self.starter.folder().clone(),
            cwd: tree.to_owned(),
        };
        let turns = Turns::new(self.session.is_some());
        let pipe = Pipe::start(stdin, stdout, turns, around);
        let hooks = match self.asks_about_all() {
            true => json!({ "PreToolUse": [{ "matcher": null, "hookCallbackIds": ["ask"] }] }),
            false => Value::Null,
        };
        let hello = json!({ "subtype": "initialize", "hooks": hooks, "sdkMcpServers": [SERVER] });
        let answer = pipe.control(hello);
        // Kept before anything is waited for: a supervisor that is told to end ends it too.
        let resumed = self.session.is_some();
        let (cwd, read_only) = (tree.to_owned(), self.desk.is_read_only());
        self.running = Some(Process { tree: processes, pipe, cwd, resumed, read_only });
        let reason = match tokio::time::timeout(self.handshake_within, answer).await {
            Ok(Ok(Ok(_))) => return Ok(()),
            Ok(Ok(Err(error))) => {
                format!("claude refuses to be driven ({error}): update it, it may be too old")
            }
            Ok(Err(_)) => return Err(self.did_not_begin().await),
            Err(_) => format!(
                "claude did not answer within {} seconds: run `claude -p hello` by hand to see why",
                self.handshake_within.as_secs()
            ),
        };
        self.stop(Duration::ZERO).await;
        Err(NoStart::Reason(reason.into()))
    }

    /// It ended, or closed its output, before it answered.
    async fn did_not_begin(&mut self) -> NoStart {
        let process = self.running.take().expect("it was started");
        if process.pipe.turns(|turns| turns.is_unknown_conversation()) {
            process.tree.stop(Duration::ZERO).await;
            return NoStart::UnknownConversation;
        }
        let (reason, exit) = self.obituary(process).await;
        NoStart::Reason(match exit {
            Exit::Signal(_) => NotGiven::Died(reason),
            Exit::Code(_) => NotGiven::Unable(reason),
        })
    }

    async fn obituary(&self, process: Process) -> (String, Exit) {
        process.pipe.close();
        let exited = tokio::time::timeout(LAST_WORDS_WITHIN, process.tree.exited()).await;
        let ended = process.tree.stop(Duration::ZERO).await;
        let exit = exited.unwrap_or(ended.exit);
        (self.starter.obituary(exit), exit)
    }

    fn arguments(&self) -> Vec<String> {
        let mut config = json!({ "mcpServers": { SERVER: { "type": "sdk", "name": SERVER } } });
        let definition = self.desk.order().definition.as_deref();
        for (name, server) in definition.iter().flat_map(|one| &one.servers) {
            config["mcpServers"][name] = servers::as_claude(server);
        }
        let offered = self.desk.tools_ahead();
        let mut hidden: BTreeSet<&str> = offered.iter().map(|tool| tool.name).collect();
        hidden.extend(NOT_OFFERED);
        let denied = definition.iter().flat_map(|one| &one.denied);
        let denied: Vec<String> = denied.flat_map(|entry| rules(entry)).collect();
        hidden.extend(denied.iter().map(String::as_str));
        let hidden = Vec::from_iter(hidden).join(",");
        let mut words: Vec<String> = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            "default",
            "--permission-prompt-tool",
            "stdio",
            "--settings",
            &self.settings_of(definition),
            "--mcp-config",
            &self.config_of(definition.is_some_and(|one| !one.servers.is_empty()), config),
            "--allowedTools",
            &format!("mcp__{SERVER}"),
            "--disallowedTools",
            &hidden,
            "--append-system-prompt",
            &self.desk.standing(),
        ]
        .map(str::to_owned)
        .into();
        match &self.session {
            Some(session) => words.extend(["--resume".to_owned(), session.clone()]),
            None => words.extend(["--session-id".to_owned(), uuid()]),
        }
        if !self.desk.order().model.is_empty() {
            words.extend(["--model".to_owned(), self.desk.order().model.clone()]);
        }
        if let Some(turns) = definition.map(|one| one.turns_max).filter(|turns| *turns > 0) {
            words.extend(["--max-turns".to_owned(), turns.to_string()]);
        }
        if self.desk.is_closed() {
            // None of the program's own.
            words.extend(["--tools", ""].map(str::to_owned));
        } else if let Some(tools) = definition.and_then(|one| one.tools.as_ref()) {
            let own = tools.iter().map(|tool| bare(tool)).filter(|tool| !tool.starts_with("mcp__"));
            let own: Vec<&str> = own.collect();
            if !own.contains(&"*") {
                words.extend(["--tools".to_owned(), own.join(",")]);
            }
        }
        words
    }

    /// What is filled in for a server may be a secret, and whoever lists processes reads their words: then it
    /// is in a file that only its owner can read.
    fn config_of(&self, by_file: bool, config: Value) -> String {
        if !by_file {
            return config.to_string();
        }
        self.private_file("servers.json", &config.to_string()).unwrap_or_else(|reason| {
            self.transcript.say(&format!("[its MCP servers are left out: {reason}]"));
            json!({ "mcpServers": { SERVER: { "type": "sdk", "name": SERVER } } }).to_string()
        })
    }

    /// The same of the commands that a definition has it run.
    fn settings_of(&self, definition: Option<&Definition>) -> String {
        let mut settings = self.settings();
        let Some(definition) = definition else { return settings.to_string() };
        if let Some(effort) = definitions::effort(definition, "claude") {
            settings["env"][EFFORT] = json!(effort);
        }
        let plain = settings.to_string();
        let Ok(hooks) = serde_json::from_str(&definition.hooks) else { return plain };
        settings["hooks"] = hooks;
        self.private_file("settings.json", &settings.to_string()).unwrap_or_else(|reason| {
            self.transcript.say(&format!("[its hooks are left out: {reason}]"));
            plain
        })
    }

    /// The path of a file with this text that only its owner can read, or why there is none.
    fn private_file(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.desk.order().grounds.own.join(name);
        let written = std::fs::remove_file(&path).or_else(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(e),
        });
        let written = written.and_then(|()| {
            let mut options = std::fs::OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())
        });
        let shown = path.display();
        written.map(|()| shown.to_string()).map_err(|e| format!("{shown}: {e}"))
    }

    /// A hook of a definition may say that a call is allowed, and some calls the program allows by itself:
    /// then it is asked to ask about each.
    fn asks_about_all(&self) -> bool {
        let definition = self.desk.order().definition.as_deref();
        definition.is_some_and(|one| !one.hooks.is_empty() || patterns::has_any(one))
    }

    fn settings(&self) -> Value {
        let program = self.desk.order().program.display().to_string();
        // What the checkout says there and has not committed is nobody's here, and what it has is in the tree.
        let checkout = &self.desk.order().workspace;
        let twice = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/**"];
        let twice = twice.map(|name| checkout.join(name).display().to_string());
        json!({
            "env": { BACKGROUND: "1" },
            "claudeMdExcludes": twice,
            // The person's own way to the team: a teammate that went by it would be somebody else.
            "deniedMcpServers": [
                { "serverName": "shipmate" },
                { "serverCommand": ["shipmate", "mcp"] },
                { "serverCommand": [program, "mcp"] },
            ],
        })
    }

    fn grace(&self) -> Duration {
        Duration::from_millis(self.desk.order().stop_grace_ms)
    }

    /// Reports and tells what the turns since the last report have used. Of one that did not end
    /// the program tells nothing: what was seen of it stands.
    async fn account(&self, pipe: &Pipe) {
        let (used, fill, ended) =
            pipe.turns(|turns| (turns.used(), turns.context(), turns.is_over()));
        match ended {
            // What the program tells then is without the request that was broken off.
            true if self.cuts_request => self.spending.broke_off(used).await,
            true => self.spending.over(used).await,
            false => self.spending.broke_off(None).await,
        }
        let Some(used) = used else { return };
        let fill = fill.and_then(|context| context.percent());
        let fill = fill.map(|percent| format!(", context {percent} % full")).unwrap_or_default();
        self.transcript.say(&format!(
            "({} tokens in, of them {} cached, {} out, ${:.4}{fill})",
            used.tokens_in,
            used.tokens_cached,
            used.tokens_out,
            used.cost_micros as f64 / 1e6,
        ));
    }
}

impl Driver for ClaudeAgent {
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven> {
        (self.cancelled, self.cuts_request) = (false, false);
        self.desk.look_at_mode().await;
        self.spending.begin(&brief::whole_turn(work)).await.map_err(NotGiven::Spent)?;
        let knew = self.fits(&work.tree);
        if let Err(not) = self.process(&work.tree).await {
            // Nothing was sent of what was set aside.
            self.spending.over(None).await;
            return Err(not);
        }
        let process = self.running.as_ref().expect("it runs");
        let line = uuid();
        process.pipe.turns(|turns| turns.begin(line.clone()));
        let knows = knew || process.resumed;
        let text = if knows { brief::turn(work) } else { brief::whole_turn(work) };
        process.pipe.user(&line, &text, Whose::Users);
        Ok(())
    }

    async fn over(&mut self) {
        let Some(Process { tree, pipe, .. }) = &self.running else { return };
        tokio::select! {
            () = pipe.over() => {}
            _ = tree.exited() => {
                // What it left running may hold its output open for ever.
                drop(tokio::time::timeout(LAST_WORDS_WITHIN, pipe.ended()).await);
            }
            () = self.spending.overstays(self.grace()) => {}
        }
    }

    async fn conclude(&mut self) -> Finished {
        let broken_off = "the turn was broken off".to_owned();
        let Some(process) = self.running.take() else {
            // It was stopped in the middle of its turn.
            match self.cuts_request {
                true => self.spending.broke_off(None).await,
                false => self.spending.over(None).await,
            }
            return Finished::Failed { reason: broken_off };
        };
        self.account(&process.pipe).await;
        let (over, named, outgrown) = process
            .pipe
            .turns(|turns| (turns.is_over(), turns.session.clone(), turns.is_too_long()));
        self.session = named.or(self.session.take());
        let spent = self.spending.finished().await;
        if !over {
            let (reason, _) = self.obituary(process).await;
            self.transcript.say(&format!("({reason})"));
            return spent.unwrap_or(Finished::Died { reason });
        }
        let finished = process.pipe.turns(Turns::outcome);
        self.running = Some(process);
        if outgrown {
            self.stop(self.grace()).await;
            self.session = None;
        }
        match finished {
            _ if self.cancelled => Finished::Failed { reason: broken_off },
            finished => spent.unwrap_or(finished),
        }
    }

    async fn inject(&mut self, message: &InboxMessage) -> Injected {
        let Some(process) = &self.running else { return Injected::Later };
        let line = uuid();
        if process.pipe.is_closed() || !process.pipe.turns(|turns| turns.add(line.clone())) {
            return Injected::Later;
        }
        let whose = if message.from == "person" { Whose::Users } else { Whose::Others };
        process.pipe.user(&line, &envelope(message), whose);
        Injected::Now
    }

    fn session(&self) -> Option<String> {
        self.session.clone()
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.transcript.progress()
    }

    async fn cancel(&mut self, grace: Duration) {
        self.cancelled = true;
        let Some(process) = &self.running else { return };
        self.cuts_request = process.pipe.turns(|turns| turns.asks);
        drop(process.pipe.interrupt());
        if tokio::time::timeout(grace, self.over()).await.is_err() {
            self.stop(grace).await;
        }
    }

    async fn stop(&mut self, grace: Duration) {
        let Some(Process { tree, pipe, .. }) = self.running.take() else { return };
        // Idle, it saves its session and goes; in a turn it would wait for the model first.
        pipe.close();
        if pipe.turns(|turns| turns.is_over()) {
            drop(tokio::time::timeout(grace / 2, tree.exited()).await);
        }
        tree.stop(grace).await;
    }
}

/// A denied tool as its rules name it: one for each pattern.
fn rules(entry: &str) -> Vec<String> {
    match patterns::of(entry) {
        Some((tool, patterns)) => patterns.map(|one| format!("{tool}({one})")).collect(),
        None => vec![entry.to_owned()],
    }
}

/// A name that nobody else has.
fn uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[cfg(test)]
#[path = "claude/fake_tests.rs"]
mod tests;
