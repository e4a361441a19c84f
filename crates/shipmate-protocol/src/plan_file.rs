//! Plan files: what `shipmate run PLAN` is to do, read and checked before anything starts.
//!
//! Two formats give one result: lines of JSON with a header (`lines`) and TOML (`tables`).
//! A plan is accepted as a whole or refused with everything that is wrong with it, each problem
//! with its line and its remedy. What is accepted here keeps the limits of the board.
//!
//! Nothing here asks the coordinator or looks at the repository: whether a file or an artifact of
//! an earlier plan exists is for the run to say.

mod graph;
mod lines;
mod overlap;
mod record;
mod summary;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shipmate_model::setup::Preparation;

use crate::verbs::TaskNew;

use crate::problem::Problems;
pub use crate::problem::{Place, PlanErrors};
pub use record::{bad_name, bad_path};
pub use summary::{Summary, SummaryState, TestsSeen};

/// Most tasks of one run.
const TASKS_MAX: usize = 100_000;
/// Most tasks that the board creates at once.
const BATCH_TASKS_MAX: usize = 10_000;
/// Most bytes of tasks that are sent at once: half of what one line of the protocol may have.
const BATCH_BYTES_MAX: usize = crate::LINE_BYTES_MAX / 2;
/// Longest line of a plan: a description of the longest kind with every letter escaped.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Largest plan, over all its files.
const FILES_BYTES_MAX: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A header and tasks, one JSON object a line.
    Lines,
    Toml,
}

/// A plan that can be run.
#[derive(Debug, Clone, Default)]
pub struct PlanFile {
    pub title: String,
    pub objective: String,
    /// As the plan says; see [`team_name`] for plans that say none.
    pub team: Option<String>,
    /// Commands that are run on the merged tree.
    pub gate: Vec<String>,
    /// What trees get beyond what is committed; empty: as the configuration says.
    pub trees: Preparation,
    pub agents: BTreeMap<String, AgentEntry>,
    /// Empty: as many teammates as the run decides.
    pub teammates: Vec<TeammateEntry>,
    /// In the order of the files, unless they do not fit into one batch: then each task comes
    /// after what it waits for.
    pub tasks: Vec<(TaskNew, Place)>,
    /// The headers of plans in lines; a TOML plan has none.
    pub plans: Vec<PlanHeader>,
    /// What is worth knowing and no mistake.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    pub command: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeammateEntry {
    pub name: String,
    pub role: Option<String>,
    pub scope: Vec<String>,
    /// A key of [`PlanFile::agents`], or an agent program.
    pub agent: Option<String>,
    pub model: String,
    pub mode: Option<String>,
    pub lead: bool,
    /// Where it may run.
    pub runs: shipmate_model::host::Place,
    /// The definition of an agent that it is made from.
    pub from: String,
    /// What takes its place while its account has no room.
    pub fallback: String,
    pub place: Place,
}

#[derive(Debug, Clone)]
pub struct PlanHeader {
    /// `p-n`, and the group of its tasks.
    pub id: String,
    pub p: String,
    pub n: String,
    pub title: String,
    pub objective: String,
    pub wave: Option<i64>,
    /// Ids of plans of the same run.
    pub depends_on: Vec<String>,
    /// What plans of earlier phases have left behind.
    pub artifacts: Vec<Artifact>,
    pub files_modified: Vec<String>,
    pub place: Place,
}

/// An artifact of another phase that has to be there when the run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub plan: String,
    pub path: String,
    pub reason: String,
}

impl PlanHeader {
    /// Stands in for a header that could not be read. The tasks are named by their file.
    fn missing(place: Place) -> PlanHeader {
        PlanHeader {
            id: place.file.to_string(),
            p: String::new(),
            n: String::new(),
            title: String::new(),
            objective: String::new(),
            wave: None,
            depends_on: Vec::new(),
            artifacts: Vec::new(),
            files_modified: Vec::new(),
            place,
        }
    }
}

impl PlanFile {
    /// The tasks in portions that the board takes, in this order: no task of a portion waits for
    /// one of a later portion.
    pub fn batches(&self) -> Vec<&[(TaskNew, Place)]> {
        let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
        for (index, (task, _)) in self.tasks.iter().enumerate() {
            let size = size(task);
            if index - start == BATCH_TASKS_MAX || bytes + size > BATCH_BYTES_MAX {
                batches.push(&self.tasks[start..index]);
                (start, bytes) = (index, 0);
            }
            bytes += size;
        }
        batches.push(&self.tasks[start..]);
        batches
    }
}

/// Bytes of a task on the wire, at most: every byte may need an escape.
fn size(task: &TaskNew) -> usize {
    serde_json::to_string(task).map_or(BATCH_BYTES_MAX, |text| text.len() + 1)
}

/// A plan while it is read.
#[derive(Debug, Default)]
struct Draft {
    plan: PlanFile,
    problems: Problems,
    /// A record could not be read, so that what seems to be missing may be in it.
    torn: bool,
}

impl Draft {
    fn too_many(&mut self, place: &Place) {
        let fact = format!("the plan has more than {TASKS_MAX} tasks");
        self.problems.add(place, fact, "run it in parts");
    }

    fn add(&mut self, file: &Arc<str>, text: &str, format: Format) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match format {
            Format::Lines => lines::parse(file, text, self),
            Format::Toml => tables::parse(file, text, self),
        }
    }

    fn unreadable(&mut self, path: &Path, fact: String, remedy: &str) {
        let place = Place { file: path.display().to_string().into(), line: 0 };
        self.problems.add(&place, fact, remedy);
        self.torn = true;
    }

    /// Everything that needs all files together.
    fn finish(mut self) -> Result<PlanFile, PlanErrors> {
        lines::link(&mut self);
        let graph = graph::build(&self.plan.tasks, self.torn, &mut self.problems);
        self.problems.into_result()?;
        let mut plan = self.plan;
        plan.notes.extend(overlap::notes(&plan.tasks, &graph));
        if plan.batches().len() > 1 {
            let mut tasks: Vec<Option<(TaskNew, Place)>> =
                plan.tasks.into_iter().map(Some).collect();
            let order = graph.order.iter().filter(|node| **node < tasks.len()).copied();
            let order: Vec<usize> = order.collect();
            plan.tasks = order.into_iter().filter_map(|index| tasks[index].take()).collect();
        }
        if let [first, others @ ..] = plan.plans.as_slice() {
            plan.title.clone_from(&first.title);
            if !others.is_empty() {
                plan.title = format!("{} and {} more", first.title, others.len());
            }
            let objectives = plan.plans.iter().filter(|header| !header.objective.is_empty());
            let objectives: Vec<&str> =
                objectives.map(|header| header.objective.as_str()).collect();
            plan.objective = objectives.join("\n");
        }
        Ok(plan)
    }
}

/// Reads a plan, or all `*.plan.jsonl` of a folder.
#[cfg(test)]
fn read(path: &Path) -> Result<PlanFile, PlanErrors> {
    read_all(&[path.to_owned()])
}

/// Reads several files as one plan.
pub fn read_all(paths: &[PathBuf]) -> Result<PlanFile, PlanErrors> {
    let mut draft = Draft::default();
    let mut left = FILES_BYTES_MAX;
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(folder(path, &mut draft)),
            false => files.push(path.clone()),
        }
    }
    for path in &files {
        let Some(format) = format_of(path, files.len(), &mut draft) else { continue };
        let name: Arc<str> = path.display().to_string().into();
        let mut bytes = Vec::new();
        let read =
            std::fs::File::open(path).and_then(|file| file.take(left + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) if bytes.len() as u64 > left => {
                let fact = format!("the plan has more than {FILES_BYTES_MAX} bytes");
                draft.unreadable(path, fact, "run it in parts");
                break;
            }
            Ok(_) => {
                left -= bytes.len() as u64;
                add_bytes(&name, &bytes, format, &mut draft);
            }
            Err(e) => {
                let fact = format!("it cannot be read: {e}");
                draft.unreadable(path, fact, "name an existing plan file");
            }
        }
    }
    draft.finish()
}

/// The same for a text that is there already.
pub fn parse(name: &str, text: &str, format: Format) -> Result<PlanFile, PlanErrors> {
    let mut draft = Draft::default();
    draft.add(&name.into(), text, format);
    draft.finish()
}

/// The same for several texts in lines, each with its name.
pub fn parse_lines(files: &[(String, String)]) -> Result<PlanFile, PlanErrors> {
    let mut draft = Draft::default();
    for (name, text) in files {
        draft.add(&name.as_str().into(), text, Format::Lines);
    }
    draft.finish()
}

fn add_bytes(name: &Arc<str>, bytes: &[u8], format: Format, draft: &mut Draft) {
    match std::str::from_utf8(bytes) {
        Ok(text) => draft.add(name, text, format),
        Err(e) => {
            let before = &bytes[..e.valid_up_to()];
            let line = before.iter().filter(|b| **b == b'\n').count() + 1;
            let column = before.rsplit(|b| *b == b'\n').next().map_or(0, <[u8]>::len) + 1;
            let place = Place { file: name.clone(), line };
            let fact = format!("byte {:#04x} is not UTF-8", bytes[e.valid_up_to()]);
            draft.problems.add_at(&place, column, fact, "save the file as UTF-8");
            draft.torn = true;
        }
    }
}

fn folder(path: &Path, draft: &mut Draft) -> Vec<PathBuf> {
    let is_plan = |path: &PathBuf| path.to_string_lossy().ends_with(".plan.jsonl");
    let read = std::fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>());
    match read {
        Ok(mut files) => {
            files.retain(is_plan);
            files.sort();
            if files.is_empty() {
                let fact = "the folder has no *.plan.jsonl".to_owned();
                draft.unreadable(path, fact, "name the plan file itself");
            }
            files
        }
        Err(e) => {
            let fact = format!("the folder cannot be read: {e}");
            draft.unreadable(path, fact, "name the plan file itself");
            Vec::new()
        }
    }
}

fn format_of(path: &Path, count: usize, draft: &mut Draft) -> Option<Format> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl") => Some(Format::Lines),
        Some("toml") if count == 1 => Some(Format::Toml),
        Some("toml") => {
            let fact = "a TOML plan is run alone".to_owned();
            draft.unreadable(path, fact, "give only this file, or put its tasks into one file");
            None
        }
        _ => {
            let fact = "the name says neither .toml nor .jsonl".to_owned();
            draft.unreadable(path, fact, "name the plan file PLAN.toml or PLAN.plan.jsonl");
            None
        }
    }
}

/// A team's name for a plan that gives none: that of its file or folder.
pub fn team_name(path: &Path) -> String {
    const NAME_CHARS_MAX: usize = 64;
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let ends = [".jsonl", ".toml", ".md"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let name = name.strip_suffix(".plan").unwrap_or(name);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_matches(['-', '_']);
    let name = &name[..name.len().min(NAME_CHARS_MAX)];
    match record::bad_name(name) {
        None => name.to_owned(),
        Some(_) => "run".to_owned(),
    }
}
