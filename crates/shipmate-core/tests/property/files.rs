//! File patterns against a brute-force oracle: every short path over a small alphabet.
//!
//! With segments of at most two characters and patterns of at most three segments,
//! two patterns that meet at all meet in a path of at most five segments of at most
//! two letters, so looking at all of those is a proof for the pair.

use proptest::prelude::*;
use shipmate_model::files::{FileSet, Pattern};

use crate::config;

const TEXTS: [&str; 6] = ["a", "b", "aa", "ab", "ba", "bb"];
const DEPTH: usize = 5;
const PATTERNS_PER_CASE: usize = 96;

/// All paths, folders before what is in them: path `n` lies in path `(n - 1) / 6`.
fn paths() -> Vec<Vec<&'static str>> {
    let mut all = vec![Vec::new()];
    let mut folder = 0;
    while all[folder].len() < DEPTH {
        for text in TEXTS {
            let mut path: Vec<&str> = all[folder].clone();
            path.push(text);
            all.push(path);
        }
        folder += 1;
    }
    all
}

/// The definition, written as a definition: a pattern covers a path when it matches
/// the path or a folder above it.
fn covers(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => true,
        (Some((&"**", rest)), None) => covers(rest, path),
        (Some((&"**", rest)), Some((_, below))) => covers(rest, path) || covers(pattern, below),
        (Some(_), None) => false,
        (Some((part, rest)), Some((text, below))) => {
            matches(part.as_bytes(), text.as_bytes()) && covers(rest, below)
        }
    }
}

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) if matches(rest, text) => true,
        (Some((b'*', _)), Some((_, below))) => matches(pattern, below),
        (Some((b'?', rest)), Some((_, below))) => matches(rest, below),
        (Some((letter, rest)), Some((found, below))) => letter == found && matches(rest, below),
        _ => false,
    }
}

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ab*?]{1,2}", 1 => Just("**".to_owned())]
}

fn pattern() -> impl Strategy<Value = String> {
    proptest::collection::vec(segment(), 1..=3).prop_map(|segments| segments.join("/"))
}

fn bits(pattern: &str, paths: &[Vec<&str>]) -> Vec<u64> {
    let segments: Vec<&str> = pattern.split('/').collect();
    let mut bits = vec![0u64; paths.len().div_ceil(64)];
    for (at, path) in paths.iter().enumerate().skip(1) {
        // What a folder is covered by covers what is in it: no need to look again.
        let folder = (at - 1) / TEXTS.len();
        let with_folder = bits[folder / 64] >> (folder % 64) & 1 == 1;
        bits[at / 64] |= u64::from(with_folder || covers(&segments, path)) << (at % 64);
    }
    bits
}

/// One prefix is the other or a folder above it.
fn related(a: &str, b: &str) -> bool {
    let above = |a: &str, b: &str| {
        a.is_empty() || a == b || b.strip_prefix(a).is_some_and(|rest| rest.starts_with('/'))
    };
    above(a, b) || above(b, a)
}

proptest! {
    #![proptest_config(config(24))]

    /// 24 cases of 96 patterns are 111,744 unordered pairs.
    #[test]
    fn overlap_is_what_looking_at_every_path_says(
        texts in proptest::collection::vec(pattern(), PATTERNS_PER_CASE),
    ) {
        let paths = paths();
        let covered: Vec<Vec<u64>> = texts.iter().map(|text| bits(text, &paths)).collect();
        let patterns: Vec<Pattern> = texts.iter().map(|text| text.parse().unwrap()).collect();
        for (i, a) in patterns.iter().enumerate() {
            for (j, b) in patterns.iter().enumerate().skip(i) {
                let meet = covered[i].iter().zip(&covered[j]).any(|(a, b)| a & b != 0);
                prop_assert_eq!(a.overlaps(b), meet, "{} and {}", a, b);
                prop_assert_eq!(b.overlaps(a), meet, "{} and {}", b, a);
                prop_assert!(!meet || related(a.literal_prefix(), b.literal_prefix()));
                let inside = |a: usize, b: usize| {
                    covered[b].iter().zip(&covered[a]).all(|(b, a)| b & !a == 0)
                };
                prop_assert!(!a.contains(b) || inside(i, j), "{} in {}", b, a);
                prop_assert!(!b.contains(a) || inside(j, i), "{} in {}", a, b);
                prop_assert!(a.contains(a));
            }
        }
    }

    #[test]
    fn covers_is_what_the_definition_says(text in pattern(), more in pattern()) {
        let segments: Vec<&str> = text.split('/').collect();
        let pattern: Pattern = text.parse().unwrap();
        let set = FileSet::new(vec![pattern.clone(), more.parse().unwrap()]);
        let more: Vec<&str> = more.split('/').collect();
        for path in paths().into_iter().skip(1).step_by(7) {
            let file: Pattern = path.join("/").parse().unwrap();
            let covered = covers(&segments, &path);
            prop_assert_eq!(pattern.covers(&file), covered, "{} and {}", pattern, file);
            prop_assert_eq!(set.covers(&file), covered || covers(&more, &path));
        }
    }
}

proptest! {
    #![proptest_config(config(4096))]

    #[test]
    fn normalising_twice_is_normalising_once(text in "[ab*?./]{1,14}") {
        if let Ok(pattern) = text.parse::<Pattern>() {
            let again: Pattern = pattern.as_str().parse().unwrap();
            prop_assert_eq!(&again, &pattern);
            let json = serde_json::to_string(&pattern).unwrap();
            prop_assert_eq!(serde_json::from_str::<Pattern>(&json).unwrap(), pattern);
        }
    }

    #[test]
    fn normalising_keeps_the_meaning(text in "[ab*./]{1,10}", path in "[ab]{1,2}(/[ab]{1,2}){0,3}") {
        if let Ok(pattern) = text.parse::<Pattern>() {
            let raw = text.split('/').filter(|part| !part.is_empty() && *part != ".");
            let raw: Vec<&str> = raw.collect();
            // A star beside a star is a star, unless the segment is exactly two of them.
            let file: Vec<&str> = path.split('/').collect();
            prop_assert_eq!(pattern.covers(&path.parse().unwrap()), covers(&raw, &file));
        }
    }

    #[test]
    fn a_pattern_stays_inside_the_repository(text in "(\\PC|[./*\\\\]|\\.\\.){0,12}") {
        if let Ok(pattern) = text.parse::<Pattern>() {
            prop_assert!(!pattern.as_str().starts_with('/'));
            prop_assert!(!pattern.as_str().split('/').any(|part| part == ".." || part.is_empty()));
        }
    }
}
