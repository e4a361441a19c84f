//! Which lines a change has written.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::git::Failure;
use super::{Commit, Repository, path_text};

impl Repository {
    /// The lines of each file that are new or other in `to`. A file that is no text has none.
    pub fn touched(
        &self,
        from: &Commit,
        to: &Commit,
    ) -> Result<BTreeMap<String, Vec<RangeInclusive<u32>>>, Failure> {
        let git = self.git().args(["-c", "core.quotePath=false", "diff-tree", "-r", "-p", "-U0"]);
        let git = git.args(["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"]);
        let git = git.args(["--src-prefix=a/", "--dst-prefix=b/"]).arg(from).arg(to);
        let output = git.run()?;
        let text = path_text(&output.stdout);
        let mut found: BTreeMap<String, Vec<RangeInclusive<u32>>> = BTreeMap::new();
        let mut file = None;
        let mut left = 0;
        for line in text.lines() {
            // Within a hunk every line is content, whatever it looks like.
            if left > 0 && line.starts_with(['+', '-', '\\']) {
                left -= u64::from(!line.starts_with('\\'));
            } else if let Some(name) = line.strip_prefix("+++ ") {
                file = name.trim_matches('"').strip_prefix("b/").map(str::to_owned);
            } else if let Some((gone, (start, count))) = line.strip_prefix("@@ -").and_then(hunk) {
                left = gone + u64::from(count);
                if let Some(file) = file.clone().filter(|_| count > 0) {
                    found.entry(file).or_default().push(start..=start + count - 1);
                }
            }
        }
        Ok(found)
    }
}

/// `3,2 +4,5 @@`: how many lines went, and from where how many came.
fn hunk(text: &str) -> Option<(u64, (u32, u32))> {
    let (before, after) = text.split_once(" +")?;
    let count = |text: &str| match text.split_once(',') {
        None => Some(1),
        Some((_, count)) => count.parse::<u32>().ok(),
    };
    let after = after.split(' ').next()?;
    let start = after.split(',').next()?.parse().ok()?;
    Some((u64::from(count(before)?), (start, count(after)?)))
}
