//! A playbook's text as a tree: where each value of it stands, and what is wrong with it.
//!
//! Whoever finds a mistake tells it at a node; a node knows its line. One that is not in the file
//! stands where the nearest table above it does.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use shipmate_protocol::problem::{Place, Problem, Problems};
use toml::de::{DeTable, DeValue};

const MEND: &str = "mend the line; text is written in quotation marks, lists in brackets";

/// One step to a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Key(String),
    At(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Step {
        Step::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(at: usize) -> Step {
        Step::At(at)
    }
}

/// The way to a value.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(pub(crate) Vec<Step>);

/// As it is called in a message: by its last key, and its place in a list.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("the file"),
            [.., Step::Key(key)] => f.write_str(key),
            [.., Step::Key(key), Step::At(at)] => write!(f, "{key}, place {}", at + 1),
            [.., Step::At(at)] => write!(f, "place {}", at + 1),
        }
    }
}

/// A file that is TOML, while it is checked.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    file: Arc<str>,
    /// Where each line begins.
    lines: Vec<usize>,
    root: DeValue<'t>,
    told: RefCell<Vec<Told>>,
    /// What could not be read and was told: nothing more is said about it.
    torn: RefCell<BTreeSet<Vec<Step>>>,
}

#[derive(Debug)]
struct Told {
    path: Path,
    line: usize,
    /// Where in the line, for what is wrong with the form; that comes before what else is wrong.
    form: Option<usize>,
    /// It is about something that is left out from here on.
    tears: bool,
    fact: String,
    remedy: String,
}

impl<'t> Document<'t> {
    /// The file, or why it is not TOML.
    pub(crate) fn open(file: &str, text: &'t str) -> Result<Document<'t>, Vec<Problem>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let starts = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        let (root, errors) = DeTable::parse_recoverable(text);
        let document = Document {
            file: file.into(),
            lines: [0].into_iter().chain(starts).collect(),
            root: DeValue::Table(root.into_inner()),
            told: RefCell::default(),
            torn: RefCell::default(),
        };
        if errors.is_empty() {
            return Ok(document);
        }
        let mut lines = BTreeSet::new();
        let mut problems = Problems::default();
        for error in &errors {
            let start = error.span().map_or(0, |span| span.start);
            let line = document.line_at(start);
            // One mistake makes several errors, and a line is mended as a whole.
            if !lines.insert(line) {
                continue;
            }
            let before = text.get(document.lines[line - 1]..start).unwrap_or_default();
            let place = Place { file: document.file.clone(), line };
            let fact = format!("not TOML: {}", error.message());
            problems.add_at(&place, before.chars().count() + 1, fact, MEND);
        }
        Err(problems.into_list())
    }

    pub(crate) fn root(&self) -> Node<'_, 't> {
        Node { document: self, path: Path::default(), start: 0, value: Some(&self.root) }
    }

    /// What its file is called, without `.toml`; nothing where it is no such file.
    pub(crate) fn name(&self) -> Option<&str> {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        name.strip_suffix(".toml")
    }

    fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    /// Nothing more is said about this value.
    pub(crate) fn hush(&self, path: Vec<Step>) {
        self.torn.borrow_mut().insert(path);
    }

    pub(crate) fn close(self) -> Result<(), Vec<Problem>> {
        let torn = self.torn.into_inner();
        let mut told = self.told.into_inner();
        told.retain(|one| {
            let steps = &one.path.0;
            let around = steps.len() - usize::from(one.tears && !steps.is_empty());
            !is_within(&torn, &steps[..around])
        });
        told.sort_by_key(|one| (one.line, one.form.unwrap_or(usize::MAX)));
        let mut problems = Problems::default();
        for one in told {
            let place = Place { file: self.file.clone(), line: one.line };
            problems.add(&place, one.fact, one.remedy);
        }
        let problems = problems.into_list();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// Whether one of these is it, or a table around it.
fn is_within(torn: &BTreeSet<Vec<Step>>, steps: &[Step]) -> bool {
    (1..=steps.len()).any(|end| torn.contains(&steps[..end]))
}

/// A value of the file, or the place where it would stand.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a, 't> {
    pub(crate) document: &'a Document<'t>,
    pub(crate) path: Path,
    start: usize,
    pub(crate) value: Option<&'a DeValue<'t>>,
}

impl<'a, 't> Node<'a, 't> {
    pub(crate) fn to(&self, step: impl Into<Step>) -> Node<'a, 't> {
        let step = step.into();
        let found = match (&step, self.value) {
            (Step::Key(key), Some(DeValue::Table(table))) => table
                .get_key_value(key.as_str())
                .map(|(key, value)| (key.span().start, value.get_ref())),
            (Step::At(at), Some(DeValue::Array(items))) => {
                items.get(*at).map(|item| (item.span().start, item.get_ref()))
            }
            _ => None,
        };
        let mut path = self.path.clone();
        path.0.push(step);
        Node {
            document: self.document,
            path,
            start: found.map_or(self.start, |(start, _)| start),
            value: found.map(|(_, value)| value),
        }
    }

    pub(crate) fn list(&self) -> Vec<Node<'a, 't>> {
        match self.value {
            Some(DeValue::Array(items)) => (0..items.len()).map(|at| self.to(at)).collect(),
            _ => Vec::new(),
        }
    }

    /// The entries of a table with their keys, in the order of these.
    pub(crate) fn entries(&self) -> Vec<(&'a str, Node<'a, 't>)> {
        let Some(DeValue::Table(table)) = self.value else { return Vec::new() };
        let mut keys: Vec<&str> = table.keys().map(|key| key.get_ref().as_ref()).collect();
        keys.sort_unstable();
        keys.into_iter().map(|key| (key, self.to(key))).collect()
    }

    /// The same in the order of the file.
    pub(crate) fn entries_as_written(&self) -> Vec<(&'a str, Node<'a, 't>)> {
        let mut entries = self.entries();
        entries.sort_by_key(|(_, entry)| entry.start);
        entries
    }

    /// Everything below on such a way: `phases.*.tasks`, where a star is each of a list or a table.
    pub(crate) fn all(&self, way: &str) -> Vec<Node<'a, 't>> {
        way.split('.').fold(vec![self.clone()], |nodes, step| {
            let below = |node: &Node<'a, 't>| match (step, node.value) {
                ("*", Some(DeValue::Array(_))) => node.list(),
                ("*", _) => node.entries().into_iter().map(|(_, entry)| entry).collect(),
                (key, _) => vec![node.to(key)],
            };
            nodes.iter().flat_map(below).collect()
        })
    }

    /// Whether it is in the file.
    pub(crate) fn is_there(&self) -> bool {
        self.value.is_some()
    }

    /// Absent where nothing is there; empty where it is no text.
    pub(crate) fn maybe_text(&self) -> Option<&'a str> {
        self.value.map(|_| self.text())
    }

    /// A text; empty where there is none.
    pub(crate) fn text(&self) -> &'a str {
        self.value.and_then(DeValue::as_str).unwrap_or_default()
    }

    pub(crate) fn texts(&self) -> Vec<&'a str> {
        self.list().iter().map(Node::text).collect()
    }

    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(DeValue::as_bool).unwrap_or_default()
    }

    /// A whole number. What does not fit is the largest that there is: whoever knows the range of
    /// the key tells of it, by what the file says.
    pub(crate) fn number(&self) -> Option<u32> {
        let number = self.value?.as_integer()?;
        let value = i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok();
        Some(value.and_then(|value| u32::try_from(value).ok()).unwrap_or(u32::MAX))
    }

    pub(crate) fn line(&self) -> usize {
        self.document.line_at(self.start)
    }

    pub(crate) fn add(&self, fact: String, remedy: impl Into<String>) {
        self.tell(None, false, fact, remedy.into());
    }

    /// What is wrong with how it is written, found at this offset of the file.
    fn tell(&self, form: Option<usize>, tears: bool, fact: String, remedy: String) {
        let (path, line) = (self.path.clone(), self.line());
        self.document.told.borrow_mut().push(Told { path, line, form, tears, fact, remedy });
    }

    /// Another kind of value is wanted here: it is told, and read as if it were empty.
    pub(crate) fn wrong(&self, wanted: &str, example: &str) {
        let fact = format!("{} is {}, and must be {wanted}", self.path, self.kind());
        let remedy = match self.path.0.last() {
            Some(Step::Key(key)) => format!("write {key} = {example}"),
            _ => format!("write {example}"),
        };
        self.tell(Some(self.start), true, fact, remedy);
        self.document.hush(self.path.0.clone());
    }

    /// A key of this table that it cannot have.
    pub(crate) fn unknown(&self, key: &str, fact: String, remedy: String) {
        self.to(key).tell(Some(self.start), false, fact, remedy);
    }

    fn kind(&self) -> String {
        match self.value {
            None => "nothing",
            Some(DeValue::Table(_)) => "a table",
            Some(DeValue::String(_)) => "text",
            Some(DeValue::Integer(_)) => "a number",
            Some(DeValue::Float(number)) => number.as_str(),
            Some(DeValue::Boolean(true)) => "true",
            Some(DeValue::Boolean(false)) => "false",
            Some(DeValue::Datetime(_)) => "a date",
            Some(DeValue::Array(_)) => "a list",
        }
        .to_owned()
    }

    /// Whether enough was said about this value, or about a table around it.
    pub(crate) fn is_torn(&self) -> bool {
        is_within(&self.document.torn.borrow(), &self.path.0)
    }
}
