//! The agent's own tools: files, search and a shell in its tree.
//!
//! What must hold: no tool panics on what a model sends, every refusal names the fact and what
//! to do instead, and what is too long for a model is in a file that it can read. Whether a tool
//! may be used is the supervisor's to say: [`Toolbox::leave`] tells what to ask for. That a file
//! is written only in the tree is held here.
//!
//! Belongs to one thread, in a [`tokio::task::LocalSet`].

mod arguments;
mod grounds;
mod offer;
mod output;
mod read;
mod search;
mod shell;
mod skill;
mod write;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use shipmate_process::hidden;
use shipmate_protocol::native::{Does, FenceOrder, Limits, Offered};
use tokio::sync::watch;

use arguments::Arguments;
use grounds::Grounds;
use read::Print;
use shell::Shells;

/// Every tool there is.
pub const NAMES: [&str; 8] =
    ["bash", "bash_output", "read_file", "write_file", "edit_file", "glob", "grep", "Skill"];

/// Where an agent works, and what holds there.
#[derive(Debug, Clone, Default)]
pub struct Place {
    pub tree: PathBuf,
    /// Its own folder: `outputs` and `tmp` are made in it. Only `tmp` is for shells to write;
    /// where the fence lets them write all of it, they could lead the agent's own writes astray.
    pub scratch: PathBuf,
    pub fence: FenceOrder,
    /// This very program, which knows `exec-tree`.
    pub program: PathBuf,
    /// The agent's own; each shell gets one below it.
    pub marker: String,
    pub limits: Limits,
    /// Variables that shells never get.
    pub secrets: Vec<String>,
}

/// What a model is told of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    pub text: String,
    pub is_error: bool,
}

impl ToolOutcome {
    fn good(text: String) -> Self {
        Self { text, is_error: false }
    }
}

/// What to ask the supervisor for before a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leave {
    pub does: Does,
    /// Absolute, without links; those in the tree begin with it as it was given.
    pub paths: Vec<PathBuf>,
    /// The command, the pattern, or nothing more than the path.
    pub detail: String,
}

#[derive(Debug)]
pub struct Toolbox {
    place: Place,
    grounds: Grounds,
    /// What was read or written of each file last, by its path without links.
    seen: RefCell<HashMap<PathBuf, Print>>,
    shells: Rc<Shells>,
}

/// A call whose arguments are in order.
#[derive(Debug)]
enum Order {
    Bash(shell::Wanted),
    BashOutput { id: String, wait_ms: u64, stop: bool },
    ReadFile(read::Wanted),
    WriteFile { target: grounds::Target, content: String },
    EditFile { target: grounds::Target, old: String, new: String, replace_all: bool },
    Glob { pattern: String, path: PathBuf },
    Grep { wanted: search::Wanted, path: PathBuf },
    Skill { name: String },
}

impl Toolbox {
    pub fn new(place: Place) -> Self {
        let fence = &place.fence;
        let grounds = Grounds::new(&place.tree, &place.scratch, &fence.hidden, &fence.write);
        Self { place, grounds, seen: RefCell::default(), shells: Rc::new(Shells::new()) }
    }

    /// These tools as a model is told of them, as far as they are to be had here.
    pub fn offered(&self, names: &[String]) -> Vec<Offered> {
        let skills = skill::all(&self.grounds);
        names.iter().filter_map(|name| offer::tool(name, &skills)).collect()
    }

    /// Whether calls of this tool may run beside others.
    pub fn is_reading(tool: &str) -> bool {
        matches!(tool, "read_file" | "glob" | "grep" | "Skill")
    }

    /// What to ask for before this call runs. What is refused here never would run: the words
    /// are for the model.
    pub fn leave(&self, tool: &str, arguments: &Value) -> Result<Leave, String> {
        let order = self.order(tool, arguments)?;
        let leave = |does, path: Option<PathBuf>, detail: &str| Leave {
            does,
            paths: path.into_iter().collect(),
            detail: detail.to_owned(),
        };
        Ok(match &order {
            Order::Bash(wanted) => leave(Does::Run, None, &wanted.command),
            Order::BashOutput { id, .. } => leave(Does::Read, None, id),
            Order::ReadFile(wanted) => {
                leave(Does::Read, Some(self.grounds.asked(&wanted.path)), "")
            }
            Order::WriteFile { target, .. } | Order::EditFile { target, .. } => {
                leave(Does::Write, Some(target.path.clone()), "")
            }
            Order::Glob { pattern, path } => {
                leave(Does::Search, Some(self.grounds.asked(path)), pattern)
            }
            Order::Grep { wanted, path } => {
                leave(Does::Search, Some(self.grounds.asked(path)), &wanted.pattern)
            }
            Order::Skill { name } => leave(Does::Read, None, name),
        })
    }

    pub async fn run(&self, tool: &str, arguments: &Value) -> ToolOutcome {
        let outcome = match self.order(tool, arguments) {
            Ok(order) => self.carry_out(order).await,
            Err(words) => Err(words),
        };
        outcome.unwrap_or_else(|text| ToolOutcome { text, is_error: true })
    }

    /// Ends of background runs, each told once.
    pub fn take_notices(&self) -> Vec<String> {
        self.shells.take_notices()
    }

    /// Returns when there is a notice.
    pub async fn noticed(&self) {
        self.shells.noticed().await;
    }

    /// How many bytes shells have printed so far: a sign that something goes on.
    pub fn printed(&self) -> watch::Receiver<u64> {
        self.shells.printed()
    }

    /// What still runs in the background.
    pub fn in_background(&self) -> Vec<String> {
        self.shells.in_background()
    }

    /// Ends what runs in the foreground, with all it started.
    pub async fn cancel(&self) {
        self.shells.end(false).await;
    }

    /// Ends everything.
    pub async fn stop(&self) {
        self.shells.end(true).await;
    }

    /// What another tool said, as much as may be shown; the whole is in a file then.
    pub fn capped(&self, text: String) -> String {
        let bytes_max = self.place.limits.output_bytes_max;
        if text.len() <= bytes_max {
            return text;
        }
        let mut name = [0; 6];
        let path = getrandom::fill(&mut name).ok().map(|()| {
            let name = data_encoding::HEXLOWER.encode(&name);
            self.place.scratch.join("outputs").join(format!("{name}.txt"))
        });
        let kept = path.filter(|path| std::fs::write(path, &*hidden::shown(&text)).is_ok());
        let remedy = match kept {
            Some(path) => format!("the whole is in {}", path.display()),
            None => "ask for less".to_owned(),
        };
        output::cut(text, bytes_max, &remedy)
    }

    fn order(&self, tool: &str, arguments: &Value) -> Result<Order, String> {
        let of = |known: &[&str]| Arguments::of(tool, arguments, known);
        let folder = |given: Option<&str>| self.grounds.meant(given.unwrap_or("."));
        Ok(match tool {
            "bash" => {
                // Models know another's as well, with its words for the same.
                let others = ["description", "timeout", "run_in_background"];
                let given = of(&[&["command", "timeout_ms", "background"][..], &others].concat())?;
                let wanted = shell::Wanted {
                    command: given.text("command")?.to_owned(),
                    timeout_ms: given.number("timeout_ms")?.or(given.number("timeout")?),
                    in_background: given.flag("background")? || given.flag("run_in_background")?,
                };
                wanted.check()?;
                Order::Bash(wanted)
            }
            "bash_output" => {
                let given = of(&["id", "wait_ms", "stop"])?;
                let wait_ms = given.number("wait_ms")?.unwrap_or(0);
                let id = given.text("id")?.to_owned();
                Order::BashOutput { id, wait_ms, stop: given.flag("stop")? }
            }
            "read_file" => {
                let given = of(&["path", "offset", "limit"])?;
                Order::ReadFile(read::Wanted {
                    path: self.grounds.meant(given.text("path")?)?,
                    offset: given.number("offset")?.unwrap_or(1),
                    limit: given.number("limit")?,
                    bytes_max: self.place.limits.output_bytes_max,
                })
            }
            "write_file" => {
                let given = of(&["path", "content"])?;
                let content = given.text("content")?.to_owned();
                Order::WriteFile { target: self.grounds.target(given.text("path")?)?, content }
            }
            "edit_file" => {
                let given = of(&["path", "old_string", "new_string", "replace_all"])?;
                let target = self.grounds.target(given.text("path")?)?;
                let (old, new) = (given.text("old_string")?, given.text("new_string")?);
                let (old, new) = (old.to_owned(), new.to_owned());
                Order::EditFile { target, old, new, replace_all: given.flag("replace_all")? }
            }
            "glob" => {
                let given = of(&["pattern", "path"])?;
                let pattern = given.text("pattern")?.to_owned();
                Order::Glob { pattern, path: folder(given.text_or_none("path")?)? }
            }
            "grep" => self.grep_order(of(&[
                "pattern",
                "path",
                "glob",
                "context",
                "ignore_case",
                "files_only",
            ])?)?,
            "Skill" => Order::Skill { name: of(&["name"])?.text("name")?.to_owned() },
            _ => {
                let names = NAMES.join(", ");
                return Err(format!("there is no tool {tool:?}; your own tools are {names}"));
            }
        })
    }

    fn grep_order(&self, given: Arguments<'_>) -> Result<Order, String> {
        let wanted = search::Wanted {
            pattern: given.text("pattern")?.to_owned(),
            glob: given.text_or_none("glob")?.map(str::to_owned),
            context: given.number("context")?.unwrap_or(0),
            ignore_case: given.flag("ignore_case")?,
            files_only: given.flag("files_only")?,
        };
        let path = self.grounds.meant(given.text_or_none("path")?.unwrap_or("."))?;
        Ok(Order::Grep { wanted, path })
    }

    async fn carry_out(&self, order: Order) -> Result<ToolOutcome, String> {
        let limits = self.place.limits;
        let text = match order {
            Order::Bash(wanted) => {
                return self.shells.bash(&self.place, &limits, wanted).await;
            }
            Order::BashOutput { id, wait_ms, stop } => {
                self.shells.output(&id, wait_ms, stop, &limits).await
            }
            Order::ReadFile(wanted) => self.read(wanted).await,
            Order::WriteFile { target, content } => self.write(&target, &content),
            Order::EditFile { target, old, new, replace_all } => {
                self.edit(&target, &old, &new, replace_all)
            }
            Order::Glob { pattern, path } => {
                self.search(&path, move |field| search::glob(field, &pattern)).await
            }
            Order::Grep { wanted, path } => {
                self.search(&path, move |field| search::grep(field, &wanted)).await
            }
            Order::Skill { name } => skill::given(&skill::all(&self.grounds), &name),
        };
        text.map(ToolOutcome::good)
    }

    async fn read(&self, wanted: read::Wanted) -> Result<String, String> {
        let grounds = self.grounds.clone();
        let page = aside(move || read::read(&grounds, &wanted)).await?;
        self.seen.borrow_mut().extend(page.seen);
        Ok(page.text)
    }

    async fn search(
        &self,
        path: &Path,
        look: impl FnOnce(&search::Field) -> Result<String, String> + Send + 'static,
    ) -> Result<String, String> {
        let shown = self.grounds.shown(path);
        let missing = |error| read::missing(&self.grounds, path, &error);
        let root = match path.metadata().map_err(missing)? {
            facts if facts.is_dir() => self.grounds.folder_to_read(path)?,
            facts if facts.is_file() => self.grounds.open_to_read(path)?.real,
            _ => return Err(format!("{shown} is neither a file nor a folder")),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let _stopped = StoppedWhenDropped(Arc::clone(&stop));
        let bytes_max = self.place.limits.output_bytes_max;
        let field = search::Field { grounds: self.grounds.clone(), root, stop, bytes_max };
        aside(move || look(&field)).await
    }

    fn write(&self, target: &grounds::Target, content: &str) -> Result<String, String> {
        let shown = self.grounds.shown(&target.path);
        let before = write::current(target, &shown)?;
        let content = match &before {
            None => content.as_bytes().to_vec(),
            Some(before) => {
                let print = read::print(&before.content);
                match self.seen.borrow().get(&target.real()) {
                    Some(seen) if *seen == print => {}
                    Some(_) => return Err(changed(&shown)),
                    None => {
                        return Err(format!(
                            "{shown} exists and you have not read it: read it first, or change \
                             parts of it with edit_file"
                        ));
                    }
                }
                write::like_before(content, before)
            }
        };
        self.put(target, &content, before.as_ref(), &shown)?;
        let done = if before.is_some() { "replaced" } else { "created" };
        Ok(format!("{done} {shown}, {} bytes", output::grouped(content.len() as u64)))
    }

    fn edit(
        &self,
        target: &grounds::Target,
        old: &str,
        new: &str,
        replace_all: bool,
    ) -> Result<String, String> {
        let shown = self.grounds.shown(&target.path);
        let Some(before) = write::current(target, &shown)? else {
            let error = std::io::ErrorKind::NotFound.into();
            let words = read::missing(&self.grounds, &target.real(), &error);
            return Err(format!("{words}. A new file is made with write_file"));
        };
        let print = read::print(&before.content);
        if self.seen.borrow().get(&target.real()).is_some_and(|seen| *seen != print) {
            return Err(changed(&shown));
        }
        let edited = write::edit(&before.content, old, new, replace_all, &shown)?;
        self.put(target, &edited.content, Some(&before), &shown)?;
        Ok(match edited.lines.as_slice() {
            [line] => format!("edited {shown} at line {line}"),
            lines => format!("edited {shown} in {} places", lines.len()),
        })
    }

    fn put(
        &self,
        target: &grounds::Target,
        content: &[u8],
        before: Option<&write::Current>,
        shown: &str,
    ) -> Result<(), String> {
        write::put(target, content, before)
            .map_err(|error| format!("{shown} could not be written: {error}"))?;
        self.seen.borrow_mut().insert(target.real(), read::print(content));
        Ok(())
    }
}

fn changed(shown: &str) -> String {
    format!("{shown} has changed since you read it: read it again")
}

/// Tells a search that nobody waits for it any more.
struct StoppedWhenDropped(Arc<AtomicBool>);

impl Drop for StoppedWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs what reads much beside this thread.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(format!("this failed by a bug of shipmate: {error}")),
    }
}
