//! What a rule found: a place, a fact and a remedy.
//!
//! Printed as `path:line: fact; remedy`, which editors can jump to and a person can act on without
//! knowing the rule.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    /// The first line is 1.
    pub(crate) line: usize,
    pub(crate) fact: String,
    pub(crate) remedy: String,
}

impl Violation {
    pub(crate) fn new(
        path: &str,
        line: usize,
        fact: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { path: path.to_owned(), line, fact: fact.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.fact, self.remedy)
    }
}

/// One violation per line, in the order of the files; an error if there is any.
pub(crate) fn report(rule: &str, mut violations: Vec<Violation>) -> Result<(), String> {
    if violations.is_empty() {
        return Ok(());
    }
    violations.sort();
    let lines: Vec<String> = violations.iter().map(Violation::to_string).collect();
    Err(format!("{rule} found {}:\n{}", counted(lines.len(), "violation"), lines.join("\n")))
}

pub(crate) fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_sorted_line_per_violation() {
        let found = vec![
            Violation::new("b.rs", 2, "a line ends in a space", "remove it"),
            Violation::new("a.rs", 1, "there is no header", "write one"),
        ];
        assert_eq!(
            report("tidy", found).unwrap_err(),
            "tidy found 2 violations:\n\
             a.rs:1: there is no header; write one\n\
             b.rs:2: a line ends in a space; remove it"
        );
        assert_eq!(report("tidy", Vec::new()), Ok(()));
    }
}
