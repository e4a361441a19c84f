//! `glob` and `grep`: what is in a folder, by name and by content.
//!
//! Ignored files and `.git` are left out, other dot files are not. Links are never followed and
//! no other file system is entered. Both run beside the conversation's thread, in the order of
//! the paths, and stop when they have enough, take too long, or nobody waits any more.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use rustix::fs::OFlags;
use shipmate_process::beginning;

use super::grounds::Grounds;
use super::output::{cut, readable};

const FILES_MAX: usize = 1_000;
const MATCHES_MAX: usize = 1_000;
const CONTEXT_MAX: u64 = 20;
const LINE_CHARS_MAX: usize = 300;
const WITHIN: Duration = Duration::from_secs(10);
/// A line that is longer is in no file that people read.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
const NARROW: &str = "narrow the pattern or the path";

/// Where a search looks, and for how long.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) grounds: Grounds,
    /// A folder or a file, by its real path.
    pub(super) root: PathBuf,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) bytes_max: usize,
}

#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) pattern: String,
    pub(super) glob: Option<String>,
    pub(super) context: u64,
    pub(super) ignore_case: bool,
    pub(super) files_only: bool,
}

/// When a search is to end, whatever it has found.
#[derive(Debug, Clone)]
struct Deadline {
    at: Instant,
    stop: Arc<AtomicBool>,
}

impl Deadline {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Instant::now() > self.at
    }
}

/// A file that ends when the search does.
struct Hurried<'a> {
    file: File,
    deadline: &'a Deadline,
}

impl Read for Hurried<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.deadline.is_over() { Ok(0) } else { self.file.read(into) }
    }
}

/// Why a search ended before it had seen all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Enough,
    Late,
}

impl Field {
    fn deadline(&self) -> Deadline {
        Deadline { at: Instant::now() + WITHIN, stop: Arc::clone(&self.stop) }
    }

    fn entries(&self, deadline: &Deadline) -> impl Iterator<Item = Result<DirEntry, Cut>> {
        let grounds = self.grounds.clone();
        let walk = WalkBuilder::new(&self.root)
            .hidden(false)
            .git_global(false)
            .same_file_system(true)
            .sort_by_file_path(Path::cmp)
            .filter_entry(move |entry| {
                entry.file_name() != ".git" && grounds.is_on_the_way(entry.path())
            })
            .build();
        let timely = |entry| if deadline.is_over() { Err(Cut::Late) } else { Ok(entry) };
        walk.filter_map(Result::ok).map(timely)
    }

    /// The files whose paths below the root match.
    fn globs(&self, pattern: &str) -> Result<Override, String> {
        let refused = |why: &str| format!("{pattern:?} is no pattern for files: {why}");
        if pattern.is_empty() {
            return Err(refused("it is empty; ** matches everything"));
        }
        if pattern.starts_with('!') {
            return Err(refused("it begins with !, and a pattern cannot exclude"));
        }
        let plain = pattern.strip_prefix("./").unwrap_or(pattern);
        let plain = match plain.strip_prefix('/') {
            None => plain.to_owned(),
            Some(_) => {
                let below = Path::new(plain).strip_prefix(&self.root);
                let below = below.or_else(|_| Path::new(plain).strip_prefix(self.grounds.tree()));
                let below =
                    below.map_err(|_| refused("it is absolute; give the folder as path"))?;
                format!("/{}", below.display())
            }
        };
        let mut builder = OverrideBuilder::new(&self.root);
        builder.add(&plain).map_err(|error| refused(&error.to_string()))?;
        builder.build().map_err(|error| refused(&error.to_string()))
    }

    fn end(&self, cut_by: Option<Cut>, text: String, none: &str) -> String {
        let text = if text.is_empty() { none.to_owned() } else { text };
        let text = cut(text, self.bytes_max, NARROW);
        match cut_by {
            None => text,
            Some(Cut::Enough) => format!("{text}\n[there is more: {NARROW}]"),
            Some(Cut::Late) => {
                format!("{text}\n[not all was seen in {} s: {NARROW}]", WITHIN.as_secs())
            }
        }
    }
}

pub(super) fn glob(field: &Field, pattern: &str) -> Result<String, String> {
    let globs = field.globs(pattern)?;
    let (mut found, mut cut_by) = (Vec::new(), None);
    for entry in field.entries(&field.deadline()) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(cut) => {
                cut_by = Some(cut);
                break;
            }
        };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if is_folder || !globs.matched(entry.path(), false).is_whitelist() {
            continue;
        }
        if found.len() == FILES_MAX {
            cut_by = Some(Cut::Enough);
            break;
        }
        found.push(field.grounds.shown(entry.path()));
    }
    let none = format!("no file matches {pattern:?} (ignored files are left out)");
    Ok(field.end(cut_by, found.join("\n"), &none))
}

pub(super) fn grep(field: &Field, wanted: &Wanted) -> Result<String, String> {
    let pattern = &wanted.pattern;
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(wanted.ignore_case)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| format!("{pattern:?} is no regular expression: {error}"))?;
    let globs = wanted.glob.as_deref().map(|glob| field.globs(glob)).transpose()?;
    let context = usize::try_from(wanted.context.min(CONTEXT_MAX)).expect("it is small");
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LINE_BYTES_MAX))
        .before_context(context)
        .after_context(context)
        .build();
    let mut hits = Hits { files_only: wanted.files_only, ..Hits::default() };
    let (mut cut_by, deadline) = (None, field.deadline());
    for entry in field.entries(&deadline) {
        match entry {
            Err(cut) => {
                cut_by = Some(cut);
                break;
            }
            Ok(entry) => {
                let named = globs
                    .as_ref()
                    .is_none_or(|globs| globs.matched(entry.path(), false).is_whitelist());
                if named && entry.file_type().is_some_and(|kind| kind.is_file()) {
                    hits.name = field.grounds.shown(entry.path());
                    search(&mut searcher, &matcher, entry.path(), &deadline, &mut hits);
                }
            }
        }
        if deadline.is_over() {
            cut_by = Some(Cut::Late);
            break;
        }
        if hits.matches >= MATCHES_MAX || hits.text.len() > 4 * field.bytes_max {
            cut_by = Some(Cut::Enough);
            break;
        }
    }
    let none = format!("nothing matches {pattern:?} (ignored and binary files are left out)");
    Ok(field.end(cut_by, hits.text, &none))
}

/// What cannot be read is passed over, as grep does with many files.
fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &Path,
    deadline: &Deadline,
    hits: &mut Hits,
) {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let Ok(file) = file else { return };
    if file.metadata().is_ok_and(|facts| facts.is_file()) {
        let _ = searcher.search_reader(matcher, Hurried { file, deadline }, &mut *hits);
        hits.begun = false;
        hits.broken = false;
    }
}

#[derive(Default)]
struct Hits {
    files_only: bool,
    name: String,
    text: String,
    matches: usize,
    /// Whether the file's name stands above its lines.
    begun: bool,
    /// Whether lines were left out before the next.
    broken: bool,
}

impl Hits {
    fn push(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        if !self.begun {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(&self.name);
            self.begun = true;
        }
        if self.files_only {
            return;
        }
        if std::mem::take(&mut self.broken) {
            self.text.push_str("\n--");
        }
        let line = readable(line);
        let line = beginning(line.trim_end_matches('\n'), LINE_CHARS_MAX);
        self.text.push_str(&format!("\n{}{mark}{line}", number.unwrap_or_default()));
    }
}

impl Sink for Hits {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        self.push(found.line_number(), ':', found.bytes());
        Ok(!self.files_only && self.matches < MATCHES_MAX)
    }

    fn context(&mut self, _: &Searcher, beside: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.push(beside.line_number(), '-', beside.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.broken = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> Result<(), Self::Error> {
        Ok(())
    }
}
