//! The baseline: one JSON file per task and a lock file beside it, as seed 002 keeps its board.
//!
//! Faithful to what that code does: a claim takes the task's blocking `flock`, reads and parses the
//! file, checks it and what it depends on, and writes the whole file over; a completion does the
//! same. Writing truncates in place, as Go's `os.WriteFile` does, and nothing is synced. The fields
//! are its fields.
//!
//! Finding a task is what it leaves open. `literal` lists the folder, parses every file and sorts by
//! creation for each claim, as its `GetUnblocked` does. `cursor` reads the folder once and goes on
//! from where it was, which is the strongest form that keeps its files. `spread` lets each
//! process begin elsewhere, so that they hardly meet: no longer anybody's order of work, but the
//! most that one file per task can give.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::drain::{Plan, words};
use crate::measure::{now_ns, pass};
use crate::worker::{Board, Taken};

/// How long a process waits when all that is left is blocked: files can only be looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

pub(crate) fn create(folder: &Path, plan: &Plan) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (index, on) in plan.layers().into_iter().flatten().enumerate() {
        let (subject, description) = words(index, plan.tasks);
        let on: Vec<String> = on.iter().map(ToString::to_string).collect();
        let now = now_ns();
        let task = json!({
            "id": index.to_string(), "subject": subject, "description": description,
            "status": "pending", "assignedTo": "", "claimedBy": "", "dependsOn": on,
            "createdBy": "lead", "createdAt": now, "updatedAt": now,
        });
        fs::write(folder.join(format!("{index}.json")), task.to_string())?;
    }
    Ok(())
}

/// Tasks that are not completed, by their files.
pub(crate) fn unfinished(folder: &Path) -> io::Result<usize> {
    let tasks = list(folder)?;
    Ok(tasks.iter().filter(|task| task["status"] != "completed").count())
}

/// Every task, oldest first; a file that is just being written over is skipped.
fn list(folder: &Path) -> io::Result<Vec<Value>> {
    let mut tasks = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json")
            && let Ok(task) = read(&path)
        {
            tasks.push(task);
        }
    }
    tasks.sort_by_key(|task| task["createdAt"].as_u64());
    Ok(tasks)
}

fn read(path: &Path) -> Result<Value, String> {
    let text = fs::read(path).map_err(|e| e.to_string())?;
    serde_json::from_slice(&text).map_err(|e| e.to_string())
}

#[derive(Debug, PartialEq, Eq)]
enum Form {
    Literal,
    Cursor,
}

#[derive(Debug)]
pub(crate) struct FileBoard {
    folder: PathBuf,
    me: String,
    form: Form,
    /// Tasks that may still be free, as far as this process has seen, from the cursor on.
    left: Vec<usize>,
    cursor: usize,
}

/// What came of trying one task.
enum Tried {
    Taken(u64),
    Gone,
    Blocked,
}

impl FileBoard {
    pub(crate) fn open(arguments: &mut Arguments) -> Result<FileBoard, String> {
        let folder = arguments.path("folder")?;
        let me: usize = arguments.number("me", 0)?;
        let of: usize = arguments.number("of", 1)?;
        let form = arguments.text("form")?;
        let tasks = list(&folder).map_err(|e| e.to_string())?;
        let id = |task: &Value| task["id"].as_str().and_then(|id| id.parse().ok());
        let mut left: Vec<usize> = tasks.iter().filter_map(id).collect();
        if form == "spread" && !left.is_empty() {
            let begin = me * left.len() / of;
            left.rotate_left(begin);
        }
        let form = if form == "literal" { Form::Literal } else { Form::Cursor };
        Ok(FileBoard { folder, me: format!("w{me}"), form, left, cursor: 0 })
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn lock(&self, id: &str) -> Result<File, String> {
        let path = self.folder.join(format!("{id}.lock"));
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|e| e.to_string())?;
        flock(&file, FlockOperation::LockExclusive).map_err(|e| e.to_string())?;
        Ok(file)
    }

    fn claim(&self, id: &str) -> Result<Tried, String> {
        let _locked = self.lock(id)?;
        let path = self.path(id);
        let mut task = read(&path)?;
        if task["status"] != "pending" || task["claimedBy"] != "" {
            return Ok(Tried::Gone);
        }
        for on in task["dependsOn"].as_array().into_iter().flatten() {
            let on = on.as_str().unwrap_or_default();
            // Read without its lock, as there; a file that is being written over reads as broken.
            let done = read(&self.path(on)).is_ok_and(|on| on["status"] == "completed");
            if !done {
                return Ok(Tried::Blocked);
            }
        }
        let now = now_ns();
        task["status"] = json!("in_progress");
        task["claimedBy"] = json!(self.me);
        task["updatedAt"] = json!(now);
        fs::write(&path, task.to_string()).map_err(|e| e.to_string())?;
        Ok(Tried::Taken(now))
    }

    fn next_by_cursor(&mut self) -> Result<Option<Taken>, String> {
        while !self.left.is_empty() {
            let mut kept = self.cursor;
            let mut taken = None;
            while self.cursor < self.left.len() && taken.is_none() {
                let task = self.left[self.cursor];
                self.cursor += 1;
                match self.claim(&task.to_string())? {
                    Tried::Taken(token) => {
                        taken = Some(Taken { task: task as u64, token, is_end: false });
                    }
                    Tried::Gone => {}
                    Tried::Blocked => {
                        self.left[kept] = task;
                        kept += 1;
                    }
                }
            }
            self.left.drain(kept..self.cursor);
            self.cursor = kept;
            if taken.is_some() {
                return Ok(taken);
            }
            // All that is left was blocked when it was looked at: begin again.
            self.cursor = 0;
            if !self.left.is_empty() {
                pass(LOOK_AGAIN);
            }
        }
        Ok(None)
    }

    fn next_by_list(&mut self) -> Result<Option<Taken>, String> {
        loop {
            let tasks = list(&self.folder).map_err(|e| e.to_string())?;
            let open = tasks.iter().filter(|t| t["status"] == "pending" && t["claimedBy"] == "");
            let mut any = false;
            for task in open {
                any = true;
                let on = task["dependsOn"].as_array().into_iter().flatten();
                let met = on
                    .clone()
                    .all(|on| tasks.iter().any(|t| t["id"] == *on && t["status"] == "completed"));
                let id = task["id"].as_str().unwrap_or_default();
                if met && let Tried::Taken(token) = self.claim(id)? {
                    let task = id.parse().map_err(|_| format!("{id} is no number"))?;
                    return Ok(Some(Taken { task, token, is_end: false }));
                }
            }
            if !any {
                return Ok(None);
            }
            pass(LOOK_AGAIN);
        }
    }
}

impl Board for FileBoard {
    fn next(&mut self) -> Result<Option<Taken>, String> {
        match self.form {
            Form::Literal => self.next_by_list(),
            Form::Cursor => self.next_by_cursor(),
        }
    }

    fn complete(&mut self, taken: Taken) -> Result<(), String> {
        let id = taken.task.to_string();
        let _locked = self.lock(&id)?;
        let path = self.path(&id);
        let mut task = read(&path)?;
        if task["status"] == "completed" {
            return Err(format!("task {id} is already completed"));
        }
        task["status"] = json!("completed");
        task["updatedAt"] = json!(now_ns());
        fs::write(&path, task.to_string()).map_err(|e| e.to_string())
    }
}
