//! The small world that simulated plans speak about: names, and paths with patterns over them.
//!
//! Few names, so that they collide. Few paths, so that "do these files meet" can be answered by
//! trying every path, with a matcher of its own that shares nothing with the core's.

use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::{Alias, Name};

use crate::Random;

pub(crate) const TEAMS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
pub(crate) const MATES: [&str; 8] = ["ana", "bo", "cy", "dee", "eve", "finn", "gus", "hal"];
pub(crate) const ACCOUNTS: [&str; 2] = ["claude-1", "codex-1"];
pub(crate) const HOSTS: [&str; 3] = ["here", "box", "rack"];
pub(crate) const ROLES: [&str; 3] = ["dev", "qa", "ops"];
pub(crate) const GROUPS: [&str; 4] = ["plan-1", "plan-2", "plan-3", "plan-4"];
pub(crate) const ALIASES: [&str; 6] = ["01/T1", "01/T2", "01/T3", "02/T1", "02/T2", "x.y"];

const PATTERNS: [&str; 15] = [
    "src/a",
    "src/a/b.rs",
    "./src//a",
    "src/*.rs",
    "src/**/x.rs",
    "src/a?",
    "src/c",
    "docs",
    "docs/*",
    "docs/i.md",
    "tests/t1.rs",
    "tests/t2.rs",
    "**/b.rs",
    "lib/[id]",
    ".",
];

/// Every two patterns above that meet at all meet on one of these, and of two of which neither
/// lies in the other each covers one that the other does not.
const PATHS: [&str; 30] = [
    "src/a",
    "src/a/b.rs",
    "src/a/x.rs",
    "src/a/b.rs/x.rs",
    "src/x.rs",
    "src/b.rs",
    "src/c/x.rs",
    "src/c/b.rs",
    "src/c/d.txt",
    "src/ab",
    "src/ab/x.rs",
    "src/ab/b.rs",
    "docs/i.md",
    "docs/b.rs",
    "tests/t1.rs",
    "tests/t1.rs/b.rs",
    "tests/t2.rs/b.rs",
    "lib/[id]/b.rs",
    "docs/i.md/b.rs",
    "docs",
    "docs/other",
    "src/a/c.txt",
    "src/c",
    "src/x.rs/c.txt",
    "src/q/w/x.rs",
    "tests/t1.rs/c.txt",
    "tests/t2.rs",
    "lib/[id]",
    "b.rs",
    "docs/i.md/c.txt",
];

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect("the simulated names are names")
}

pub(crate) fn pick_name(random: &mut Random, from: &[&str]) -> Name {
    name(from[random.index(from.len())])
}

pub(crate) fn pick_alias(random: &mut Random) -> Alias {
    let text = ALIASES[random.index(ALIASES.len())];
    text.parse().expect("the simulated aliases are aliases")
}

/// None, one or two patterns.
pub(crate) fn pick_files(random: &mut Random) -> FileSet {
    let some = |random: &mut Random| {
        // The whole tree stands last and would stop everything if it came often.
        let end = if random.chance(30) { PATTERNS.len() } else { PATTERNS.len() - 1 };
        pattern(PATTERNS[random.index(end)])
    };
    match random.below(10) {
        0..4 => FileSet::default(),
        4..8 => FileSet::new(vec![some(random)]),
        _ => FileSet::new(vec![some(random), some(random)]),
    }
}

fn pattern(text: &str) -> Pattern {
    text.parse().expect("the simulated patterns are patterns")
}

/// The paths of each pattern of a set.
pub(crate) fn patterns(files: &FileSet) -> Vec<u64> {
    files.iter().map(|one| paths(&FileSet::new(vec![one.clone()]))).collect()
}

/// The paths that a set covers, as bits.
pub(crate) fn paths(files: &FileSet) -> u64 {
    let mut bits = 0;
    for pattern in files.iter() {
        for (bit, path) in PATHS.iter().enumerate() {
            if covers(pattern.as_str(), path) {
                bits |= 1 << bit;
            }
        }
    }
    bits
}

/// The pattern matches the path or a folder above it.
fn covers(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').filter(|s| !s.is_empty() && *s != ".").collect();
    let path: Vec<&str> = path.split('/').collect();
    (0..=path.len()).any(|end| matches(&pattern, &path[..end]))
}

fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|skip| matches(rest, &path[skip..])),
        ([one, rest @ ..], [first, left @ ..]) => {
            within(one.as_bytes(), first.as_bytes()) && matches(rest, left)
        }
        _ => false,
    }
}

fn within(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=text.len()).any(|skip| within(rest, &text[skip..])),
        ([b'?', rest @ ..], [_, left @ ..]) => within(rest, left),
        ([a, rest @ ..], [b, left @ ..]) => a == b && within(rest, left),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_every_path_agrees_with_the_core_on_every_pair() {
        for a in PATTERNS {
            for b in PATTERNS {
                let (a, b) = (FileSet::new(vec![pattern(a)]), FileSet::new(vec![pattern(b)]));
                let tried = paths(&a) & paths(&b) != 0;
                assert_eq!(tried, a.overlaps(&b), "of {a:?} and {b:?}");
                let inside = paths(&b) & !paths(&a) == 0;
                let one = b.iter().next().expect("a pattern");
                assert_eq!(inside, a.contains(one), "of {b:?} in {a:?}");
            }
        }
    }
}
