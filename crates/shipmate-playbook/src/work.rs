//! Pieces of work: what is to be done, read from the formats that people and programs write it in.
//!
//! Every format gives the same: pieces with files and what they wait for, in groups. What a format
//! holds beyond that is kept in a piece's fields, where templates can name it.

mod features;
mod layers;
mod overlap;

use std::collections::BTreeMap;

use shipmate_model::Name;
use shipmate_model::event::TaskSpec;
use shipmate_model::files::Pattern;
use shipmate_model::playbook::{Each, PIECE, Phase, TaskTemplate};
use shipmate_model::playbook::{Source, SourceFormat};
use shipmate_protocol::plan_file;

use super::fill::placeholders;
use super::fill::{Values, fill};
use super::project_files::ProjectFiles;

/// A piece of work.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// Its handle, unique in the run.
    pub id: String,
    pub subject: String,
    pub description: String,
    pub files: Vec<String>,
    /// Handles of others, or `group:NAME`.
    pub needs: Vec<String>,
    pub group: Option<String>,
    pub role: Option<String>,
    pub assignee: Option<String>,
    pub priority: Option<i32>,
    pub duration_ms: Option<u64>,
    /// How many files it is about: those it names, and those in folders it names; absent where
    /// a folder is not there yet.
    pub size: Option<usize>,
    /// Everything else, for templates.
    pub fields: Values,
}

#[derive(Debug, Clone, Default)]
pub struct Work {
    pub items: Vec<Item>,
    /// Pieces that are done already, for work about them.
    pub done: Vec<Item>,
    /// Values of each group, for templates.
    pub groups: BTreeMap<String, Values>,
    /// Files of others that a group needs: the group, the path, and why.
    pub needs: Vec<(String, String, String)>,
    /// How many pieces can be worked on side by side, where the format knows better than what
    /// they wait for.
    pub independent: Option<usize>,
    /// Why it is not clear what is whose.
    pub unclear: Option<String>,
    /// There is nothing to read, and where it would be.
    pub absent: Option<String>,
    /// What a person should know about how it was read.
    pub notes: Vec<String>,
}

/// The first feature of a code base, which its authors build patterns with.
pub const FIRST: &str = "first";

/// What templates can name of a piece of work and of a group, beyond what every piece has.
pub fn fields(format: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match format {
        "plan-lines" => (
            &["verify", "done", "spec", "tests", "checkpoint", "type", "effort", "skills", "wave"],
            &["plan", "plan_title", "objective", "p", "n"],
        ),
        "features" => (
            &[
                "test_file",
                "coverage",
                "coverage_target",
                "notes",
                "correction_cycles",
                FIRST,
                "research",
            ],
            &[],
        ),
        "layers" => (
            &["layer", "excerpt", "owned", "tests", "test_folder", "path", "member"],
            &["shared", "layers"],
        ),
        _ => (&[], &[]),
    }
}

pub fn read(source: &Source, ground: &ProjectFiles, values: &Values) -> Result<Work, String> {
    let mut files = Vec::new();
    for pattern in &source.files {
        for path in ground.find(&fill(pattern, values))? {
            if let Some(text) = ground.read(&path)? {
                files.push((path, text));
            }
        }
    }
    if files.is_empty() {
        let filled = fill(&source.files.join(" or "), values);
        let absent = match placeholders(&filled).first() {
            Some(unset) => format!("no --set {unset}= says where its work is"),
            None => format!("there is no {filled}"),
        };
        return Ok(Work { absent: Some(absent), ..Work::default() });
    }
    let mut work = match source.format {
        SourceFormat::PlanLines => plans(&files),
        SourceFormat::Layers => layers::read(&files),
        SourceFormat::Features => {
            let (path, text) = &files[0];
            features::read(path, text, fill(&source.malformed, values) == "leave-out")
        }
    }?;
    let all = ground.find(".")?;
    for item in work.items.iter_mut().chain(&mut work.done) {
        item.size = size(&item.files, &all);
    }
    Ok(work)
}

/// Files that are named count, whether they are there or not.
fn size(files: &[String], there: &[String]) -> Option<usize> {
    if files.is_empty() {
        return None;
    }
    let mut count = 0;
    for file in files {
        let pattern: Pattern = file.parse().ok()?;
        let covered = |path: &&String| path.parse().is_ok_and(|path| pattern.covers(&path));
        let is_folder = file.ends_with('/') || file.contains(['*', '?']);
        count += match there.iter().filter(covered).count() {
            0 if is_folder => return None,
            0 => 1,
            found => found,
        };
    }
    Some(count)
}

impl Work {
    /// The piece that a task is about.
    pub fn item_of(&self, spec: &TaskSpec) -> Option<&Item> {
        let piece = spec.metadata.get(PIECE)?;
        self.items.iter().chain(&self.done).find(|item| item.id == *piece)
    }
}

fn plans(files: &[(String, String)]) -> Result<Work, String> {
    let plan = plan_file::parse_lines(files).map_err(|e| e.to_string())?;
    let mut work = Work::default();
    for header in &plan.plans {
        let values = [
            ("plan", &header.id),
            ("plan_title", &header.title),
            ("objective", &header.objective),
            ("p", &header.p),
            ("n", &header.n),
        ];
        let values = values.map(|(key, value)| (key.to_owned(), value.clone()));
        work.groups.insert(header.id.clone(), Values::from(values));
        let needs = header.artifacts.iter();
        let needs = needs.map(|one| (header.id.clone(), one.path.clone(), one.reason.clone()));
        work.needs.extend(needs);
    }
    for (task, _) in plan.tasks {
        let mut fields = task.metadata;
        if let Some(header) = plan.plans.iter().find(|own| Some(&own.id) == task.group.as_ref()) {
            fields.insert("plan".to_owned(), header.id.clone());
            fields.insert("plan_title".to_owned(), header.title.clone());
            fields.extend(header.wave.map(|wave| ("wave".to_owned(), wave.to_string())));
        }
        work.items.push(Item {
            id: task.alias.unwrap_or_default(),
            subject: task.subject,
            description: task.description,
            files: task.files,
            needs: task.blocked_by,
            group: task.group,
            role: task.role,
            assignee: task.assignee,
            priority: task.priority,
            duration_ms: task.duration_ms,
            fields,
            size: None,
        });
    }
    Ok(work)
}

impl Item {
    /// A field that says something.
    pub fn has(&self, key: &str) -> bool {
        self.fields.get(key).is_some_and(|value| !value.trim().is_empty())
    }

    pub fn notes(&self) -> Values {
        let mut notes = self.fields.clone();
        notes.insert(PIECE.to_owned(), self.id.clone());
        notes
    }

    pub fn values(&self) -> Values {
        let mut values = self.fields.clone();
        for (key, value) in [
            ("id", self.id.clone()),
            ("subject", self.subject.clone()),
            ("description", self.description.clone()),
            ("files", self.files.join(", ")),
            ("group", self.group.clone().unwrap_or_default()),
        ] {
            values.insert(key.to_owned(), value);
        }
        values
    }
}

pub fn needs_work(phase: &Phase) -> bool {
    phase.tasks.iter().any(|template| template.each != Each::Once)
}

/// Some of its tasks are the pieces of work themselves.
pub fn are_pieces(phase: &Phase) -> bool {
    phase.tasks.iter().any(|template| template.each == Each::Item && is_piece(template))
}

/// Some task about all of them waits for every piece: none of them can come later.
pub fn needs_all_pieces(phase: &Phase) -> bool {
    let each = |name: &Name| phase.tasks.iter().find(|own| own.id == *name).map(|own| own.each);
    let later = |need: &Name| each(need).is_some_and(|each| each != Each::Once);
    let others = phase.tasks.iter().filter(|own| own.each != Each::Item);
    others.flat_map(|own| &own.needs).any(later)
}

/// The template that is the piece of work itself.
pub const TASK: &str = "task";

pub fn is_piece(template: &TaskTemplate) -> bool {
    template.id.as_str() == TASK
}
