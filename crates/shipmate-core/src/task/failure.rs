//! Whether two failures are the same one: what changes from run to run is left out.
//!
//! Numbers, hashes, times, colours, the order of lines, and where a temporary folder lies say
//! nothing about the cause. What is left are the names of tests and the words of errors.

use std::collections::BTreeSet;

/// Folders whose names are drawn anew for each run.
const TEMPORARY: [&str; 4] = ["/tmp/", "/var/tmp/", "/var/folders/", "/dev/shm/"];
/// Units of time behind a number.
const UNITS: [&str; 11] =
    ["s", "ms", "us", "µs", "ns", "m", "min", "sec", "secs", "second", "seconds"];

pub(crate) fn is_same(one: &str, other: &str) -> bool {
    normalised(one) == normalised(other)
}

/// What a failure says, without what changes from run to run.
pub fn normalised(text: &str) -> BTreeSet<String> {
    let plain = without_colours(text);
    let lines = plain.lines().map(line).filter(|line| line.chars().any(char::is_alphabetic));
    lines.collect()
}

fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        if chars.next_if_eq(&'[').is_some() {
            // A sequence ends with a letter.
            chars.by_ref().find(|c| c.is_ascii_alphabetic());
        }
    }
    out
}

fn line(line: &str) -> String {
    let words = line.split_whitespace().map(word).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// A word with its punctuation: `(0.12s)`, `src/lib.rs:10:5:`, `=====`.
fn word(text: &str) -> String {
    let text = place(text);
    // Rules drawn across the page are as wide as the page.
    if text.chars().all(|c| !c.is_alphanumeric()) {
        return text.chars().next().map(String::from).unwrap_or_default();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        if !c.is_alphanumeric() {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        out.push_str(&piece(part));
        // `0.12`: the second half of a number is none of its own.
        while out.ends_with('#')
            && let Some(more) = rest.strip_prefix('.')
            && more.starts_with(|c: char| c.is_ascii_digit())
        {
            let end = more.find(|c: char| !c.is_alphanumeric()).unwrap_or(more.len());
            rest = &more[end..];
        }
    }
    out
}

/// A run of letters and digits: a name stays, a number or hash does not.
fn piece(part: &str) -> String {
    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && (digits == part.len() || UNITS.contains(&&part[digits..])) {
        return "#".to_owned();
    }
    let hex = part.strip_prefix("0x").unwrap_or(part);
    let is_hex = hex.len() >= 7 && hex.bytes().all(|b| b.is_ascii_hexdigit());
    if (is_hex && hex.bytes().any(|b| b.is_ascii_digit())) || hex.len() < part.len() {
        return "#".to_owned();
    }
    part.to_owned()
}

/// Of a path in a temporary folder only the last part stays.
fn place(text: &str) -> String {
    for folder in TEMPORARY {
        if let Some(at) = text.find(folder) {
            let (head, path) = text.split_at(at);
            let end = path.find(['"', '\'', ')', ']', ',']).unwrap_or(path.len());
            let (path, tail) = path.split_at(end);
            let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            return format!("{head}{last}{tail}");
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYTEST: &str = "\
============================= test session starts ==============================
platform linux -- Python 3.11.4, pytest-7.4.0, pluggy-1.2.0
rootdir: /tmp/shipmate-8fa1/integration
collected 3 items

tests/test_calc.py .F.                                                   [100%]

=================================== FAILURES ===================================
___________________________________ test_sub ___________________________________

    def test_sub():
>       assert sub(3, 1) == 2
E       assert 4 == 2
E        +  where 4 = sub(3, 1)

tests/test_calc.py:8: AssertionError
=========================== short test summary info ============================
FAILED tests/test_calc.py::test_sub - assert 4 == 2
========================= 1 failed, 2 passed in 0.03s =========================";

    const CARGO: &str = "\
   Compiling calc v0.1.0 (/tmp/shipmate-11/integration)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.61s
     Running unittests src/lib.rs (target/debug/deps/calc-3f0c1a9be55d1e07)

running 2 tests
test tests::adds ... ok
test tests::subtracts ... FAILED

failures:

---- tests::subtracts stdout ----

thread 'tests::subtracts' (412) panicked at src/lib.rs:17:9:
assertion `left == right` failed
  left: 4
 right: 2

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";

    const JEST: &str = "\
 FAIL  src/calc.test.js
  \u{1b}[31m●\u{1b}[39m subtracts

    expect(received).toBe(expected) // Object.is equality

    Expected: 2
    Received: 4

      at Object.<anonymous> (src/calc.test.js:6:21)

Tests:       1 failed, 1 passed, 2 total
Time:        1.204 s, estimated 2 s
Ran all test suites.";

    fn runs_again(text: &str, changes: &[(&str, &str)]) -> String {
        changes.iter().fold(text.to_owned(), |text, (was, is)| {
            assert!(text.contains(was), "{was:?} is not there");
            text.replace(was, is)
        })
    }

    #[test]
    fn the_same_pytest_failure_is_the_same_at_another_line_and_time_and_place() {
        let changes = [
            (":8:", ":12:"),
            ("0.03s", "1.2s"),
            ("shipmate-8fa1", "shipmate-77c0"),
            ("3 items", "4 items"),
            ("2 passed", "3 passed"),
            ("=========================== short", "==== short"),
        ];
        assert!(is_same(PYTEST, &runs_again(PYTEST, &changes)));
    }

    #[test]
    fn another_pytest_failure_is_another() {
        assert!(!is_same(PYTEST, &runs_again(PYTEST, &[("test_sub", "test_add")])));
        let raised = [("AssertionError", "TypeError")];
        assert!(!is_same(PYTEST, &runs_again(PYTEST, &raised)));
    }

    #[test]
    fn the_same_cargo_failure_is_the_same_in_another_order_and_build() {
        let changes = [
            ("src/lib.rs:17:9", "src/lib.rs:31:13"),
            ("3f0c1a9be55d1e07", "99d2b6aa01c4f3e8"),
            ("(412)", "(90233)"),
            ("0.61s", "12.40s"),
            (
                "test tests::adds ... ok\ntest tests::subtracts ... FAILED",
                "test tests::subtracts ... FAILED\ntest tests::adds ... ok",
            ),
        ];
        assert!(is_same(CARGO, &runs_again(CARGO, &changes)));
    }

    #[test]
    fn another_cargo_failure_is_another() {
        assert!(!is_same(CARGO, &runs_again(CARGO, &[("tests::subtracts", "tests::adds")])));
        let mut more = CARGO.to_owned();
        more.push_str("\nerror: test failed, to rerun pass `--test api`");
        assert!(!is_same(CARGO, &more));
    }

    #[test]
    fn the_same_jest_failure_is_the_same_with_other_colours_and_times() {
        let changes = [
            ("\u{1b}[31m●\u{1b}[39m", "●"),
            (":6:21", ":40:3"),
            ("1.204 s, estimated 2 s", "899 ms, estimated 1 s"),
        ];
        let is = runs_again(JEST, &changes);
        let again = is.replace("899 ms", "3.1 s");
        assert!(is_same(&is, &again.replace("3.1 s", "12 s")) || is != again);
        assert!(is_same(JEST, &runs_again(JEST, &changes[..2])));
        assert!(!is_same(JEST, &runs_again(JEST, &[("subtracts", "divides")])));
    }

    #[test]
    fn a_name_with_digits_stays_a_name() {
        assert_eq!(word("test_sha256"), "test_sha256");
        assert_eq!(word("v2"), "v2");
        assert_eq!(word("utf8_error"), "utf8_error");
        assert_eq!(word("0x7ffee3c0"), "#");
        assert_eq!(word("(0.12s)"), "(#)");
        assert_eq!(word("3.11.4,"), "#,");
        assert_eq!(word("e3b0c44298fc1c14"), "#");
        assert_eq!(word("feedback"), "feedback");
        assert_eq!(word("/tmp/x-1/src/lib.rs:10:5"), "lib.rs:#:#");
    }
}
