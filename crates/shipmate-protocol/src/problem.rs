//! What is wrong with a file, all of it: a person who mends one wants the whole list at once.
//!
//! Every problem has a place, a fact and a remedy. Text of the file inside a fact is quoted and
//! cut, so that a problem stays one line whatever the file holds.

use std::fmt;
use std::sync::Arc;

/// Problems that are printed; the rest is counted.
const SHOWN_MAX: usize = 50;
/// Problems that are kept. A file of garbage has one a line, and nobody reads them.
const KEPT_MAX: usize = 10_000;

/// Where something stands. Line 0 is the file as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: Arc<str>,
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    pub column: Option<usize>,
    pub fact: String,
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}\n  {}", self.fact, self.remedy)
    }
}

/// A plan that cannot be run. Shown as it is; nothing has been started.
#[derive(Debug)]
pub struct PlanErrors {
    problems: Vec<Problem>,
    count: usize,
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in self.problems.iter().take(SHOWN_MAX) {
            writeln!(f, "{problem}")?;
        }
        match self.count {
            1 => f.write_str("1 problem; nothing was started"),
            count if count <= SHOWN_MAX => write!(f, "{count} problems; nothing was started"),
            count => write!(f, "{SHOWN_MAX} of {count} problems are shown; nothing was started"),
        }
    }
}

impl std::error::Error for PlanErrors {}

/// Collects problems while a file is read and checked.
#[derive(Debug, Default)]
pub struct Problems {
    kept: Vec<Problem>,
    count: usize,
}

impl Problems {
    pub fn add(&mut self, place: &Place, fact: String, remedy: impl Into<String>) {
        self.push(place, None, fact, remedy.into());
    }

    pub fn add_at(&mut self, place: &Place, column: usize, fact: String, remedy: &str) {
        self.push(place, Some(column), fact, remedy.to_owned());
    }

    fn push(&mut self, place: &Place, column: Option<usize>, fact: String, remedy: String) {
        self.count += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(Problem { place: place.clone(), column, fact, remedy });
        }
    }

    /// Looking for the word that was meant costs more than reading the line, and nobody reads
    /// the hundredth guess.
    pub fn worth_a_guess(&self) -> bool {
        self.count < 2 * SHOWN_MAX
    }

    /// Nothing, or everything that was found in the order of the files' lines.
    pub fn into_result(self) -> Result<(), PlanErrors> {
        if self.count == 0 {
            return Ok(());
        }
        Err(PlanErrors { count: self.count, problems: self.into_list() })
    }

    /// Everything that was kept, in the order of the files' lines.
    pub fn into_list(self) -> Vec<Problem> {
        let mut problems = self.kept;
        problems.sort_by(|a, b| (&a.place, a.column).cmp(&(&b.place, b.column)));
        problems
    }
}

/// Text of the file inside a message: on one line and not longer than a line.
pub fn quoted(text: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    match text.char_indices().nth(SHOWN_CHARS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
    }
}

/// An id inside a message: as it is where it is one, quoted where it is something else.
pub fn shown_id(id: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:#".contains(&b);
    if id.bytes().all(plain) && (1..=128).contains(&id.len()) { id.to_owned() } else { quoted(id) }
}

/// A few of many words, and how many were left out.
pub fn listed<T: fmt::Display>(words: impl IntoIterator<Item = T>) -> String {
    const SHOWN_WORDS: usize = 12;
    let mut words = words.into_iter();
    let shown: Vec<String> =
        words.by_ref().take(SHOWN_WORDS).map(|word| word.to_string()).collect();
    match words.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The candidate that was most likely meant, if one is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const WORD_CHARS_MAX: usize = 64;
    if word.chars().count() > WORD_CHARS_MAX {
        return None;
    }
    let word = word.to_lowercase();
    let near = candidates.into_iter().map(|candidate| {
        let far = (candidate.len() / 3).max(usize::from(candidate.len() > 1));
        (distance(&word, &candidate.to_lowercase()), far, candidate)
    });
    let near = near.filter(|(steps, far, _)| steps <= far);
    near.min_by_key(|(steps, _, _)| *steps).map(|(_, _, candidate)| candidate)
}

/// Letters to insert, take out, replace or swap with their neighbour, row by row.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut steps = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                steps = steps.min(before[j - 1] + 1);
            }
            row.push(steps);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_near_and_no_other_is_offered() {
        for (word, meant) in [
            ("nedes", Some("needs")),
            ("Files", Some("files")),
            ("file", Some("files")),
            ("tdd", Some("td")),
            ("x", None),
            ("completely-different", None),
        ] {
            assert_eq!(nearest(word, ["needs", "files", "td", "a"]), meant, "{word}");
        }
    }

    #[test]
    fn fifty_problems_are_shown_and_the_rest_is_counted() {
        let mut problems = Problems::default();
        for line in (1..=120).rev() {
            problems.add(&Place { file: "a".into(), line }, "no".to_owned(), "mend it");
        }
        let told = problems.into_result().unwrap_err().to_string();
        assert!(told.starts_with("a:1: no\n  mend it\na:2: no\n"), "{told}");
        assert!(told.ends_with("\n50 of 120 problems are shown; nothing was started"), "{told}");
        assert_eq!(told.lines().count(), 101);
    }
}
