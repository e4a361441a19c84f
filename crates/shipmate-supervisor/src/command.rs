//! The plain command as an agent: one run for each task.
//!
//! The command gets its task as JSON on standard input and the same in its environment,
//! works in its tree, and says by its exit code whether the task is done. Whatever it
//! leaves running is ended with it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use shipmate_model::limits::HANDOFF_BYTES_MAX;
use shipmate_process::regular_file::{read_end, read_start};
use shipmate_process::{
    Distrust, Exit, Fence, Launcher, Marker, Output, Program, Spec, Stdin, Tree, hidden,
};
use shipmate_programs::order::{LifeFolder, Order};
use shipmate_protocol::handoff;
use shipmate_protocol::tools::Board;
use shipmate_protocol::verbs;
use shipmate_protocol::view::{InboxMessage, PlanState};
use shipmate_protocol::{Handoff, Mode};
use tokio::sync::watch;

use super::desk::Desk;
use super::driver::{Driver, Finished, Injected, NotGiven, Progress, Work};

/// A shell says with these that the command was not there or not executable.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// Most of a result that is handed in.
const RESULT_BYTES_MAX: usize = 16 * 1024;
/// Most of what it printed that is its plan: the end of it.
const PLAN_BYTES_MAX: usize = 16 * 1024;
/// What is said of one that must plan where nothing keeps it from writing.
const UNFENCED: &str = "it must show its plan before it writes, and a command is kept to that by a \
    fence alone; name a program that can be talked to (`shipmate agents` lists them), or let it \
    work behind a fence";
const PLAN_NOTE: &str = "Say how you would do this task, and change nothing: what you print is your \
                         plan. You are run again to do it when the plan is approved.";

#[derive(Debug)]
pub(crate) struct CommandAgent {
    order: Order,
    folder: LifeFolder,
    marker: Marker,
    desk: Desk,
    running: Option<Tree>,
    session: Option<String>,
    tell: watch::Sender<Progress>,
    /// Bytes of earlier runs.
    before: u64,
}

impl CommandAgent {
    pub(crate) fn new(
        order: &Order,
        folder: &LifeFolder,
        marker: Marker,
        desk: Desk,
    ) -> CommandAgent {
        CommandAgent {
            desk,
            order: order.clone(),
            folder: folder.clone(),
            marker,
            running: None,
            session: (!order.session.is_empty()).then(|| order.session.clone()),
            tell: watch::Sender::new(Progress::default()),
            before: 0,
        }
    }

    fn environment(&self, work: &Work, fence: Option<&Fence>) -> Vec<(OsString, OsString)> {
        let order = &self.order;
        let task = work.task.as_ref();
        let text = |pick: fn(&shipmate_protocol::view::TaskView) -> String| {
            task.map(pick).unwrap_or_default()
        };
        let pairs: Vec<(&str, String)> = vec![
            ("SHIPMATE_WORKSPACE", order.workspace.display().to_string()),
            ("SHIPMATE_TOKEN", order.token.clone()),
            ("SHIPMATE_BIN", order.program.display().to_string()),
            ("SHIPMATE_TEAM", work.team.clone()),
            ("SHIPMATE_TEAMMATE", work.teammate.clone()),
            ("SHIPMATE_EPOCH", work.epoch.to_string()),
            ("SHIPMATE_TASK", text(|task| task.row.id.to_string())),
            ("SHIPMATE_TASK_TOKEN", work.token.map(|n| n.to_string()).unwrap_or_default()),
            ("SHIPMATE_TASK_ALIAS", text(|task| task.row.alias.clone().unwrap_or_default())),
            ("SHIPMATE_SUBJECT", text(|task| task.row.subject.clone())),
            ("SHIPMATE_FILES", text(|task| task.files.join("\n"))),
            ("SHIPMATE_ATTEMPT", text(|task| (task.retries + 1).to_string())),
            ("SHIPMATE_SCOPE", work.scope.join("\n")),
            ("SHIPMATE_TREE", work.tree.display().to_string()),
            ("SHIPMATE_FEEDBACK", self.feedback(work)),
            ("SHIPMATE_MODE", self.mode().to_owned()),
            ("SHIPMATE_INSTRUCTIONS", self.instructions()),
            ("SHIPMATE_PLAN", self.desk.decided().map(|plan| plan.body).unwrap_or_default()),
            ("SHIPMATE_RESULT", self.folder.result().display().to_string()),
            ("SHIPMATE_HANDOFF", self.folder.handoff().display().to_string()),
            ("SHIPMATE_SESSION", self.session.clone().unwrap_or_default()),
            ("SHIPMATE_SESSION_FILE", self.folder.session().display().to_string()),
        ];
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        pairs.chain(order.environment(fence)).collect()
    }

    /// Its task as JSON, and what is asked of it now: a subject by itself reads like an order.
    fn input(&self, work: &Work) -> Value {
        let mut input = serde_json::to_value(work).expect("work is JSON");
        input["mode"] = json!(self.mode());
        let instructions = self.instructions();
        if !instructions.is_empty() {
            input["instructions"] = json!(instructions);
        }
        if self.plans() {
            input["note"] = json!(PLAN_NOTE);
        }
        input
    }

    /// What its role and the definition that it is made from tell it.
    fn instructions(&self) -> String {
        let body = self.order.definition.as_ref().map_or("", |definition| definition.body.trim());
        let parts = [self.order.prompt.trim(), body];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }

    /// What was handed over is handed in: as it was written, it may tell what no record says.
    fn take_away(&self) {
        for path in [self.folder.result(), self.folder.handoff()] {
            // A folder of that name would be one that the run has made.
            drop(fs::remove_file(&path));
            drop(fs::remove_dir_all(&path));
        }
    }

    fn mode(&self) -> &'static str {
        if self.plans() { "plan" } else { self.writing_mode() }
    }

    /// It is run to say how it would do its task, and can write nothing.
    fn plans(&self) -> bool {
        self.desk.mode() == Mode::Plan && !self.desk.is_approved()
    }

    fn writing_mode(&self) -> &'static str {
        if self.desk.is_read_only() { "read_only" } else { "normal" }
    }

    /// Why its last attempt came back, or its plan.
    fn feedback(&self, work: &Work) -> String {
        let rejected = self.desk.decided().filter(|plan| plan.state == PlanState::Rejected);
        let feedback = rejected.and_then(|plan| plan.feedback);
        feedback.or_else(|| work.feedback.clone()).unwrap_or_default()
    }

    /// What it printed is its plan, or what it wrote where results go.
    async fn hand_in_plan(&self, printed: u64) -> Finished {
        let most = PLAN_BYTES_MAX as u64;
        let found = [(self.folder.result(), most), (self.folder.output(), printed.min(most))];
        let text = |(path, bytes): (PathBuf, u64)| {
            let bytes = read_end(&path, bytes).ok()?;
            Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|text| !text.is_empty())
        };
        let Some(body) = found.into_iter().find_map(text) else {
            let reason = "it was to say how it would do its task, and said nothing".to_owned();
            return Finished::Failed { reason };
        };
        let body = shipmate_process::tail(&body, PLAN_BYTES_MAX).to_owned();
        let task = self.desk.task().map(|task| task.to_string());
        match self.desk.ask(verbs::PlanSubmit { task, body: body.clone(), work: None }).await {
            Ok(_) => Finished::Done { result: body },
            Err(refused) => Finished::Failed { reason: refused.one_line() },
        }
    }

    fn outcome(&mut self, exit: Exit, last_words: &str) -> Finished {
        let command = &self.order.command;
        match exit {
            Exit::Code(0) => {
                let said = read_end(&self.folder.result(), RESULT_BYTES_MAX as u64).ok();
                let said = said.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
                let short = |text: &str| shipmate_process::tail(text, RESULT_BYTES_MAX).to_owned();
                if let Some(said) = said.filter(|text| !text.is_empty()) {
                    return Finished::Stated { result: short(&said) };
                }
                Finished::Done { result: short(last_words) }
            }
            Exit::Code(code @ (NOT_EXECUTABLE | NOT_FOUND)) => Finished::Unable {
                reason: format!(
                    "the agent command could not be run (exit status {code}): {command}: {last_words}"
                ),
            },
            Exit::Code(code) => {
                Finished::Failed { reason: said(format!("exit status {code}"), last_words) }
            }
            Exit::Signal(signal) => {
                Finished::Failed { reason: said(format!("ended by signal {signal}"), last_words) }
            }
        }
    }
}

/// What the command left for those who go on. A file that is no handoff costs no work: what is wrong
/// with it is handed over in its place.
fn read_handoff(path: &Path) -> Option<Handoff> {
    // One byte more than is looked at says that it is too long.
    let read = match read_start(path, handoff::JSON_BYTES_MAX as u64 + 1) {
        Ok(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => return None,
        Ok(bytes) if bytes.len() > handoff::JSON_BYTES_MAX => {
            Err(format!("the handoff is longer than {HANDOFF_BYTES_MAX} bytes, the limit"))
        }
        Ok(bytes) => handoff::parse(&bytes).map_err(|refused| refused.message),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => Err(format!("the handoff cannot be read: {error}")),
    };
    Some(read.unwrap_or_else(|fault| Handoff { fault, ..Handoff::default() }))
        .filter(|handoff| !handoff.is_empty())
}

fn said(how: String, last_words: &str) -> String {
    match last_words {
        "" => format!("the agent command failed: {how}"),
        words => format!("the agent command failed: {how}; it said last: {words}"),
    }
}

impl Driver for CommandAgent {
    async fn give(&mut self, work: &Work) -> Result<(), NotGiven> {
        self.take_away();
        let input = format!("{}\n", self.input(work)).into_bytes();
        // Its result and its session's name are written there.
        let fence = self.desk.fence(&work.tree, &[self.folder.hand()])?;
        if self.plans() && fence.is_none() {
            return Err(NotGiven::Unable(UNFENCED.to_owned()));
        }
        let program = match self.order.argv.as_slice() {
            [] => Program::Shell(self.order.command.clone()),
            argv => Program::Argv(argv.iter().map(OsString::from).collect()),
        };
        let env = self.environment(work, fence.as_ref());
        let spec = Spec {
            env,
            stdin: Stdin::Bytes(input),
            output: Output::Files {
                path: self.folder.output(),
                bytes_max: self.order.output_bytes_max,
            },
            launcher: Launcher::through(self.order.program.clone(), vec!["exec-tree".into()]),
            fence,
            distrusts: Distrust::Fenced,
            ..Spec::new(program, work.tree.clone(), self.marker.clone())
        };
        let tree = Tree::spawn(spec)?;
        let mut activity = tree.activity();
        let (tell, before) = (self.tell.clone(), self.before);
        tokio::task::spawn_local(async move {
            while activity.changed().await.is_ok() {
                let seen = activity.borrow_and_update().clone();
                let bytes = before + seen.bytes;
                tell.send_replace(Progress {
                    bytes,
                    last_words: seen.last_line,
                    ..Progress::default()
                });
            }
        });
        self.running = Some(tree);
        Ok(())
    }

    async fn over(&mut self) {
        if let Some(tree) = &self.running {
            tree.exited().await;
        }
    }

    async fn conclude(&mut self) -> Finished {
        let Some(tree) = self.running.take() else {
            return Finished::Failed { reason: "it was stopped".to_owned() };
        };
        let exit = tree.exited().await;
        let activity = tree.activity();
        tree.clean().await;
        let last = activity.borrow().clone();
        self.before += last.bytes;
        if let Some(session) = self.folder.read_session() {
            if !hidden::words_in(&session).is_empty() {
                drop(fs::remove_file(self.folder.session()));
            }
            let session = hidden::shown(&session).into_owned();
            self.session = Some(session).filter(|session| !session.is_empty());
        }
        let ended = self.outcome(exit, last.last_line.trim());
        self.desk.hands_over(read_handoff(&self.folder.handoff()).map(Box::new));
        let ended = match (self.plans() && self.desk.task().is_some(), &ended) {
            (true, Finished::Done { .. } | Finished::Stated { .. }) => {
                self.hand_in_plan(last.bytes).await
            }
            _ => ended,
        };
        self.take_away();
        ended
    }

    async fn inject(&mut self, _message: &InboxMessage) -> Injected {
        Injected::Later
    }

    fn session(&self) -> Option<String> {
        self.session.clone()
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.tell.subscribe()
    }

    fn wakes_for_messages(&self) -> bool {
        false
    }

    fn reports(&self) -> bool {
        false
    }

    async fn stop(&mut self, grace: Duration) {
        if let Some(tree) = self.running.take() {
            tree.stop(grace).await;
        }
    }
}
