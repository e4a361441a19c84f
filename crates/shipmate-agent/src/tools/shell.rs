//! `bash` and `bash_output`: commands in the tree, each a process tree of its own behind the
//! shells' fence.
//!
//! What must hold: nothing of a command outlives it, daemons included, unless it was started in
//! the background; then it lives until it ends, is stopped, or the toolbox is. A run that was
//! stopped stays stopped, whatever its end looks like. A run is driven by a task of its own: it
//! ends when told to, whoever waits for it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use shipmate_process::{
    Distrust, Exit, Fence, Launcher, Marker, Output, Program, SpawnFailure, Spec, Tree, covers,
};
use shipmate_protocol::native::Limits;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::output::{Printed, readable};
use super::{Place, ToolOutcome, grounds};

pub(super) const TIMEOUT_MS_MAX: u64 = 3_600_000;
const WAIT_MS_MAX: u64 = 15_000;
/// The kernel's own limit on one argument is a little more.
const COMMAND_BYTES_MAX: usize = 100_000;
const BACKGROUND_MAX: usize = 16;
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
const SUMMARY_CHARS_MAX: usize = 500;
/// What a run that is told to end may do to tidy up.
const GRACE: Duration = Duration::from_millis(500);

/// What a program says when the fence was in its way.
const HELD: [&str; 3] = ["ermission denied", "peration not permitted", "ead-only file system"];

const NOT_FOR_SHELLS: [&str; 3] = ["SHIPMATE_TOKEN", "SHIPMATE_TASK_TOKEN", "SHIPMATE_TEAM"];

#[derive(Debug)]
pub(super) struct Shells {
    runs: RefCell<BTreeMap<String, Rc<Run>>>,
    notices: RefCell<Vec<String>>,
    noticed: Notify,
    printed: watch::Sender<u64>,
}

#[derive(Debug)]
struct Run {
    id: String,
    command: String,
    in_background: bool,
    output: Printed,
    stop: watch::Sender<Option<How>>,
    done: watch::Sender<Option<Done>>,
}

/// Why a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Exited,
    TimedOut(Duration),
    Stopped,
    Cancelled,
}

#[derive(Debug, Clone, Copy)]
struct Done {
    how: How,
    exit: Exit,
    left_behind: usize,
}

/// What is wanted of a shell.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) command: String,
    pub(super) timeout_ms: Option<u64>,
    pub(super) in_background: bool,
}

impl Wanted {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.command.trim().is_empty() {
            return Err("the command is empty".to_owned());
        }
        if self.command.contains('\0') {
            return Err("the command holds a NUL byte: no command may".to_owned());
        }
        if self.command.len() > COMMAND_BYTES_MAX {
            return Err(format!(
                "the command has {} bytes, more than {COMMAND_BYTES_MAX}: put it into a file with \
                 write_file and run that",
                self.command.len()
            ));
        }
        if self.timeout_ms.is_some_and(|ms| !(1..=TIMEOUT_MS_MAX).contains(&ms)) {
            return Err(format!("timeout_ms goes from 1 to {TIMEOUT_MS_MAX}"));
        }
        Ok(())
    }
}

/// Ends a run for which nobody waits any more.
struct EndedWhenDropped(Rc<Run>);

impl Drop for EndedWhenDropped {
    fn drop(&mut self) {
        self.0.end(How::Cancelled);
    }
}

impl Run {
    fn end(&self, how: How) {
        self.stop.send_if_modified(|stop| stop.is_none() && stop.replace(how).is_none());
    }

    fn is_done(&self) -> bool {
        self.done.borrow().is_some()
    }

    async fn over(&self) -> Done {
        let mut done = self.done.subscribe();
        let done = done.wait_for(Option::is_some).await.expect("the run holds the sender");
        done.expect("it was waited for")
    }

    fn status(&self) -> String {
        match *self.done.borrow() {
            None => "running".to_owned(),
            Some(Done { how: How::Exited, exit: Exit::Code(0), .. }) => "completed".to_owned(),
            Some(Done { how: How::Exited, exit, .. }) => format!("error, {exit}"),
            Some(Done { how: How::TimedOut(limit), .. }) => {
                format!("error, over its time limit of {} ms", limit.as_millis())
            }
            Some(Done { how: How::Stopped | How::Cancelled, .. }) => "stopped".to_owned(),
        }
    }
}

impl Shells {
    pub(super) fn new() -> Self {
        Self {
            runs: RefCell::default(),
            notices: RefCell::default(),
            noticed: Notify::new(),
            printed: watch::Sender::new(0),
        }
    }

    pub(super) async fn bash(
        self: &Rc<Self>,
        place: &Place,
        limits: &Limits,
        wanted: Wanted,
    ) -> Result<ToolOutcome, String> {
        wanted.check()?;
        if wanted.in_background {
            let running = self.running(|run| run.in_background);
            if running.len() >= BACKGROUND_MAX {
                let ids: Vec<&str> = running.iter().map(|run| run.id.as_str()).collect();
                return Err(format!(
                    "{BACKGROUND_MAX} background runs are going on ({}): stop one with bash_output",
                    ids.join(", ")
                ));
            }
            let run = self.start(place, wanted, None)?;
            return Ok(ToolOutcome::good(format!(
                "started as {0}; a notice comes at its end. Its output so far: bash_output with id \
                 {0}",
                run.id
            )));
        }
        let limit = Duration::from_millis(wanted.timeout_ms.unwrap_or(limits.shell_timeout_ms));
        let run = self.start(place, wanted, Some(limit))?;
        let waiting = EndedWhenDropped(Rc::clone(&run));
        let done = run.over().await;
        drop(waiting);
        self.runs.borrow_mut().remove(&run.id);
        Ok(outcome(&run, &done, place, limits))
    }

    fn start(
        self: &Rc<Self>,
        place: &Place,
        wanted: Wanted,
        limit: Option<Duration>,
    ) -> Result<Rc<Run>, String> {
        let limit = limit.or(wanted.timeout_ms.map(Duration::from_millis));
        let id = fresh_id(&self.runs.borrow());
        let folder = place.scratch.join("outputs");
        let made = fs::create_dir_all(&folder);
        made.map_err(|error| format!("{} could not be created: {error}", folder.display()))?;
        let output = Printed { path: folder.join(format!("{id}.txt")) };
        let tree = spawn(place, &wanted.command, &output)?;
        let run = Rc::new(Run {
            id: id.clone(),
            command: wanted.command,
            in_background: wanted.in_background,
            output,
            stop: watch::Sender::new(None),
            done: watch::Sender::new(None),
        });
        self.runs.borrow_mut().insert(id, Rc::clone(&run));
        tokio::task::spawn_local(drive(Rc::clone(self), Rc::clone(&run), tree, limit));
        Ok(run)
    }

    fn running(&self, which: impl Fn(&Run) -> bool) -> Vec<Rc<Run>> {
        let runs = self.runs.borrow();
        runs.values().filter(|run| !run.is_done() && which(run)).cloned().collect()
    }

    /// The output so far; waits for the end or brings it about where that is wanted.
    pub(super) async fn output(
        &self,
        id: &str,
        wait_ms: u64,
        stop: bool,
        limits: &Limits,
    ) -> Result<String, String> {
        let run = self.runs.borrow().get(id).filter(|run| run.in_background).cloned();
        let Some(run) = run else {
            let runs = self.runs.borrow();
            let ids: Vec<String> = runs
                .values()
                .filter(|run| run.in_background)
                .map(|run| format!("{} ({})", run.id, run.status()))
                .collect();
            return Err(match ids.as_slice() {
                [] => format!("there is no background run {id:?}, nor any other"),
                ids => format!("there is no background run {id:?}; there are {}", ids.join(", ")),
            });
        };
        if stop {
            run.end(How::Stopped);
            run.over().await;
        } else if wait_ms > 0 {
            let wait = Duration::from_millis(wait_ms.min(WAIT_MS_MAX));
            // That it has not ended by then is an answer too.
            let _ = timeout(wait, run.over()).await;
        }
        let text = run.output.shown(limits.output_bytes_max).text;
        let command: String = run.command.chars().take(200).collect();
        Ok(format!("[{id}, {}: {command}]\n{text}", run.status()))
    }

    pub(super) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.borrow_mut())
    }

    pub(super) async fn noticed(&self) {
        while self.notices.borrow().is_empty() {
            self.noticed.notified().await;
        }
    }

    pub(super) fn printed(&self) -> watch::Receiver<u64> {
        self.printed.subscribe()
    }

    pub(super) fn in_background(&self) -> Vec<String> {
        self.running(|run| run.in_background).iter().map(|run| run.id.clone()).collect()
    }

    /// Ends those in the foreground, or all.
    pub(super) async fn end(&self, all: bool) {
        let runs = self.running(|run| all || !run.in_background);
        for run in &runs {
            run.end(How::Cancelled);
        }
        for run in &runs {
            run.over().await;
        }
    }
}

fn fresh_id(runs: &BTreeMap<String, Rc<Run>>) -> String {
    loop {
        let mut random = [0; 3];
        getrandom::fill(&mut random).expect("the system gives random bytes");
        let [a, b, c] = random;
        let id = format!("b{a:02x}{b:02x}{c:02x}");
        if !runs.contains_key(&id) {
            return id;
        }
    }
}

fn spawn(place: &Place, command: &str, output: &Printed) -> Result<Tree, String> {
    let marker = place.marker.parse::<Marker>().and_then(|marker| marker.below());
    let marker = marker.map_err(|error| error.to_string())?;
    let temporary = place.scratch.join("tmp");
    let made = fs::create_dir_all(&temporary);
    made.map_err(|error| format!("{} could not be created: {error}", temporary.display()))?;
    let fence = (!place.fence.off).then(|| {
        let mut write = place.fence.write.clone();
        // Where the folder around it may be written, this name may have become a link to anywhere.
        if !write.iter().any(|path| temporary.starts_with(path)) {
            write.push(temporary.clone());
        }
        let hidden = place.fence.hidden.clone();
        Fence {
            write,
            hidden,
            read: place.fence.read.clone(),
            freeze: covers(),
            required: place.fence.required,
            // The agent around it has its own `/tmp` where there is one.
            ..Fence::default()
        }
    });
    let mut env: Vec<(OsString, OsString)> =
        [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("TERM", "dumb"), ("GIT_TERMINAL_PROMPT", "0")]
            .map(|(name, value)| (name.into(), value.into()))
            .into();
    env.push(("TMPDIR".into(), temporary.into()));
    if fence.is_some() {
        env.push(("SHIPMATE_FENCED".into(), "1".into()));
    }
    let removed = place.secrets.iter().map(String::as_str).chain(NOT_FOR_SHELLS);
    let spec = |shell: &str| Spec {
        env: env.clone(),
        env_remove: removed.clone().map(OsString::from).collect(),
        output: Output::Files { path: output.path.clone(), bytes_max: FILE_BYTES_MAX },
        launcher: Launcher::through(place.program.clone(), vec!["exec-tree".into()]),
        fence: fence.clone(),
        distrusts: Distrust::Everybody,
        ..Spec::new(
            Program::Argv([shell, "-c", command].map(OsString::from).into()),
            place.tree.clone(),
            marker.clone(),
        )
    };
    let started = match Tree::spawn(spec("bash")) {
        Err(SpawnFailure::Missing { .. }) => Tree::spawn(spec("sh")),
        other => other,
    };
    started.map_err(|error| error.to_string())
}

async fn drive(shells: Rc<Shells>, run: Rc<Run>, tree: Tree, limit: Option<Duration>) {
    let how = {
        let mut stop = run.stop.subscribe();
        let stopped = async {
            let how = stop.wait_for(Option::is_some).await.expect("the run holds the sender");
            how.expect("it was waited for")
        };
        let late = async {
            match limit {
                Some(limit) => sleep_until(Instant::now() + limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            how = stopped => how,
            _ = tree.exited() => How::Exited,
            () = late => How::TimedOut(limit.unwrap_or_default()),
            never = count(&shells, tree.activity()) => match never {},
        }
    };
    let grace = match how {
        How::Exited | How::Cancelled => Duration::ZERO,
        How::TimedOut(_) | How::Stopped => GRACE,
    };
    let ended = tree.stop(grace).await;
    let done = Done { how, exit: ended.exit, left_behind: ended.left_behind };
    run.done.send_replace(Some(done));
    if run.in_background && matches!(how, How::Exited | How::TimedOut(_)) {
        shells.notices.borrow_mut().push(notice(&run));
        shells.noticed.notify_waiters();
    }
}

/// Tells how much is printed, for as long as anything is.
async fn count(
    shells: &Shells,
    mut activity: watch::Receiver<shipmate_process::Activity>,
) -> std::convert::Infallible {
    let mut before = 0;
    while activity.changed().await.is_ok() {
        let now = activity.borrow_and_update().bytes;
        shells.printed.send_modify(|printed| *printed += now - before);
        before = now;
    }
    std::future::pending().await
}

/// The words that a model is shown of a run that is over.
fn outcome(run: &Run, done: &Done, place: &Place, limits: &Limits) -> ToolOutcome {
    let shown = run.output.shown(limits.output_bytes_max);
    if shown.whole {
        run.output.remove();
    }
    let is_error = done.how != How::Exited || !done.exit.is_success();
    let mut parts = vec![shown.text.trim_end_matches('\n').to_owned()];
    match (done.how, done.exit) {
        (How::Exited, Exit::Code(0)) => {}
        (How::Exited, exit) => parts.push(format!("[{exit}]")),
        (How::TimedOut(limit), _) => parts.push(format!(
            "[ended at its time limit of {} ms; what it printed until then is above. For longer \
             work set timeout_ms, or background]",
            limit.as_millis()
        )),
        (How::Stopped | How::Cancelled, _) => parts.push("[cancelled]".to_owned()),
    }
    if done.how == How::Exited && done.left_behind > 0 {
        parts.push(format!(
            "[it left processes running ({}), which were ended: start what is to go on with \
             background]",
            done.left_behind
        ));
    }
    if is_error && !place.fence.off && HELD.iter().any(|words| shown.text.contains(words)) {
        parts.push(format!(
            "[writes are possible only in your tree and in $TMPDIR, and the trees of others are \
             not to be read. {}]",
            grounds::ASK
        ));
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        parts.push("[no output]".to_owned());
    }
    ToolOutcome { text: parts.join("\n"), is_error }
}

/// What was printed cannot end the notice, nor look like another.
fn notice(run: &Run) -> String {
    let printed = run.output.shown(4 * SUMMARY_CHARS_MAX).text;
    let status = run.status();
    let (status, why) = status.split_once(", ").unwrap_or((status.as_str(), ""));
    let command: String = run.command.chars().take(100).collect();
    let mut summary = readable(command.as_bytes());
    for part in [why, printed.trim()].into_iter().filter(|part| !part.is_empty()) {
        summary = format!("{summary}\n{part}");
    }
    let summary: String = summary.chars().take(SUMMARY_CHARS_MAX).collect();
    let summary = summary.replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<task-notification><task-id>{}</task-id><status>{status}</status>Summary: {summary}\
         </task-notification>",
        run.id
    )
}
