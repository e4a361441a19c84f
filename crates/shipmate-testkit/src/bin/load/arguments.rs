//! The words after the workload: `--name value`, and `--name` alone for a switch.
//!
//! By hand, because a test binary needs no help pages; what nobody asked for is refused, so that a
//! misspelt option cannot quietly measure something else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Debug, Default)]
pub(crate) struct Arguments {
    given: BTreeMap<String, Option<String>>,
}

impl Arguments {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut given = BTreeMap::new();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").ok_or_else(|| format!("{word} is no option"))?;
            let value = words.next_if(|next| !next.starts_with("--"));
            if given.insert(name.to_owned(), value).is_some() {
                return Err(format!("--{name} is given twice"));
            }
        }
        Ok(Arguments { given })
    }

    /// Whether a switch is given.
    pub(crate) fn switch(&mut self, name: &str) -> bool {
        self.given.remove(name).is_some()
    }

    pub(crate) fn optional(&mut self, name: &str) -> Option<String> {
        self.given.remove(name).flatten()
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<String, String> {
        self.optional(name).ok_or_else(|| format!("--{name} is missing"))
    }

    pub(crate) fn path(&mut self, name: &str) -> Result<PathBuf, String> {
        self.text(name).map(PathBuf::from)
    }

    pub(crate) fn number<T: FromStr>(&mut self, name: &str, default: T) -> Result<T, String> {
        match self.optional(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("--{name} {text}: not a number")),
        }
    }

    /// Call it when everything was taken: what is left, nobody knows.
    pub(crate) fn finish(self) -> Result<(), String> {
        match self.given.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("--{name} means nothing here")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_have_values_and_switches_have_none() {
        let mut arguments = parse("--tasks 5 --literal --folder a").unwrap();
        assert_eq!(arguments.number("tasks", 1), Ok(5));
        assert_eq!(arguments.number("workers", 8), Ok(8));
        assert!(arguments.switch("literal"));
        assert_eq!(arguments.path("folder"), Ok(PathBuf::from("a")));
        assert_eq!(arguments.finish(), Ok(()));
    }

    #[test]
    fn what_nobody_knows_is_refused() {
        assert_eq!(parse("tasks").unwrap_err(), "tasks is no option");
        assert_eq!(parse("--a 1 --a 2").unwrap_err(), "--a is given twice");
        assert_eq!(parse("--taks 5").unwrap().finish(), Err("--taks means nothing here".into()));
        let mut arguments = parse("--tasks many").unwrap();
        assert_eq!(arguments.number("tasks", 1), Err("--tasks many: not a number".into()));
    }
}
