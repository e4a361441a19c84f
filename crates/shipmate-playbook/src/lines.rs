//! A playbook's text with its lines: where each key of it stands, and what is wrong with it.
//!
//! Whoever finds a mistake names the key by its path; the line is looked up here. A path that is
//! not in the file stands where the nearest table above it does.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use shipmate_protocol::problem::{Place, Problem, Problems};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const MEND: &str = "mend the line; text is written in quotation marks, lists in brackets";

/// One step to a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
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

/// The way to a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

impl Path {
    pub fn to(&self, step: impl Into<Step>) -> Path {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Path(steps)
    }
}

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

/// `way!["phases", 2, "tasks"]`.
macro_rules! way {
    ($($step:expr),*) => {
        $crate::lines::Path(vec![$($crate::lines::Step::from($step)),*])
    };
}
pub(crate) use way;

/// A file that is TOML, while it is checked.
#[derive(Debug)]
pub struct Page<'t> {
    file: Arc<str>,
    /// Where each line begins.
    lines: Vec<usize>,
    root: Spanned<DeTable<'t>>,
    problems: RefCell<Problems>,
    /// What could not be read and was told: nothing more is said about it.
    torn: RefCell<BTreeSet<Path>>,
}

impl<'t> Page<'t> {
    /// The file, or why it is not TOML.
    pub fn open(file: &str, text: &'t str) -> Result<Page<'t>, Vec<Problem>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let starts = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        let (root, errors) = DeTable::parse_recoverable(text);
        let page = Page {
            file: file.into(),
            lines: [0].into_iter().chain(starts).collect(),
            root,
            problems: RefCell::default(),
            torn: RefCell::default(),
        };
        if errors.is_empty() {
            return Ok(page);
        }
        let mut told = BTreeSet::new();
        let mut problems = Problems::default();
        for error in &errors {
            let start = error.span().map_or(0, |span| span.start);
            let line = page.line_at(start);
            // One mistake makes several errors, and a line is mended as a whole.
            if !told.insert(line) {
                continue;
            }
            let before = text.get(page.lines[line - 1]..start).unwrap_or_default();
            let place = Place { file: page.file.clone(), line };
            let fact = format!("not TOML: {}", error.message());
            problems.add_at(&place, before.chars().count() + 1, fact, MEND);
        }
        Err(problems.into_list())
    }

    pub fn root(&self) -> &DeTable<'t> {
        self.root.get_ref()
    }

    /// What its file is called, without `.toml`; nothing where it is no such file.
    pub fn name(&self) -> Option<&str> {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        name.strip_suffix(".toml")
    }

    fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset)
    }

    /// Whether the key is in the file.
    pub fn has(&self, path: &Path) -> bool {
        self.find(path).1.is_some()
    }

    /// A number as the file has it.
    pub fn number(&self, path: &Path) -> Option<&str> {
        match self.find(path).1 {
            Some(DeValue::Integer(number)) => Some(number.as_str()),
            _ => None,
        }
    }

    /// The line of a key or of the table above it, and what it says.
    fn find(&self, path: &Path) -> (usize, Option<&DeValue<'t>>) {
        let mut line = 1;
        let mut table = Some(self.root.get_ref());
        let mut value: Option<&DeValue<'t>> = None;
        for step in &path.0 {
            let next = match step {
                Step::Key(key) => {
                    let found = table.and_then(|table| table.get_key_value(key.as_str()));
                    found.map(|(key, value)| (key.span().start, value.get_ref()))
                }
                Step::At(at) => {
                    let items = value.and_then(DeValue::as_array);
                    let item = items.and_then(|items| items.get(*at));
                    item.map(|item| (item.span().start, item.get_ref()))
                }
            };
            let Some((start, next)) = next else { return (line, None) };
            line = self.line_at(start);
            table = next.as_table();
            value = Some(next);
        }
        (line, value)
    }

    /// The line of a key, for a message about another one.
    pub fn line(&self, path: &Path) -> usize {
        self.find(path).0
    }

    pub fn add(&self, path: &Path, fact: String, remedy: impl Into<String>) {
        if self.is_torn(path) {
            return;
        }
        let place = Place { file: self.file.clone(), line: self.line(path) };
        self.problems.borrow_mut().add(&place, fact, remedy);
    }

    /// The same about something that is left out from here on.
    pub fn tear(&self, path: &Path, fact: String, remedy: impl Into<String>) {
        self.add(path, fact, remedy);
        self.hush(path);
    }

    /// Whether enough was said about this key, or about a table around it.
    pub fn is_torn(&self, path: &Path) -> bool {
        let torn = self.torn.borrow();
        (1..=path.0.len()).any(|end| torn.contains(&Path(path.0[..end].to_vec())))
    }

    /// Nothing more is said about this key.
    pub fn hush(&self, path: &Path) {
        self.torn.borrow_mut().insert(path.clone());
    }

    pub fn close(self) -> Result<(), Vec<Problem>> {
        let problems = self.problems.into_inner().into_list();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}
