//! The version of a program, as it prints it.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) [u64; 3]);

impl Version {
    /// The first thing in the text that looks like one.
    pub(super) fn found_in(text: &str) -> Option<Version> {
        let edges = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_'));
        text.split(edges).find_map(|word| {
            let word = word.strip_prefix(['v', 'V']).unwrap_or(word);
            let release = word.split(['-', '+', '_']).next()?;
            let numbers: Option<Vec<u64>> = release.split('.').map(|n| n.parse().ok()).collect();
            match numbers?[..] {
                [major, minor] => Some(Version([major, minor, 0])),
                [major, minor, patch] => Some(Version([major, minor, patch])),
                _ => None,
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}
