//! What a gate's output says in short: the names of the tests that failed, and its end.
//!
//! The forms are those of the common test runners. They are looked for line by line, so a runner
//! that nobody thought of yields no names rather than wrong ones.

const NAMES_MAX: usize = 20;
const NAME_CHARS_MAX: usize = 200;

/// The names of failing tests in the order of their first mention.
///
/// A file or package is named only if no test is: most runners print both.
pub fn failing_tests(output: &str) -> Vec<String> {
    let plain = without_escapes(output);
    let dialect = Dialect {
        mocha: plain.lines().any(|line| line.trim().ends_with(" failing")),
        bullets: plain.lines().any(|line| bullet(line.trim()).is_some()),
    };
    let (mut fine, mut coarse) = (Vec::new(), Vec::new());
    let mut case = None;
    for line in plain.lines() {
        if let Some(name) = junit(line, &mut case).or_else(|| test_name(line, &dialect)) {
            add(&mut fine, &name);
        } else if let Some(name) = group_name(line) {
            add(&mut coarse, &name);
        }
    }
    if fine.is_empty() { coarse } else { fine }
}

fn add(names: &mut Vec<String>, name: &str) {
    let name: String = name.trim().chars().take(NAME_CHARS_MAX).collect();
    if !name.is_empty() && names.len() < NAMES_MAX && !names.contains(&name) {
        names.push(name);
    }
}

struct Dialect {
    /// `1) name` is a failure only under a runner that counts failures this way.
    mocha: bool,
    /// Where failures are repeated with their full names, the short ones are left out.
    bullets: bool,
}

fn test_name(line: &str, dialect: &Dialect) -> Option<String> {
    let text = line.trim();
    let cargo = || text.strip_prefix("test ")?.strip_suffix(" ... FAILED");
    let go = || Some(text.strip_prefix("--- FAIL: ")?.split(" (").next().unwrap_or_default());
    let crosses = || {
        let name = text.strip_prefix(['✕', '✗', '✖', '×'])?.trim();
        (!dialect.bullets).then(|| without_time(name))
    };
    let mocha = || {
        let (number, name) = text.split_once(") ")?;
        let counts = dialect.mocha && number.parse::<u32>().is_ok();
        counts.then(|| name.trim_end_matches(':'))
    };
    let found = cargo()
        .or_else(go)
        .or_else(|| nextest(text))
        .or_else(|| tap(text))
        .or_else(|| bullet(text))
        .or_else(crosses)
        .or_else(mocha)
        .or_else(|| labelled(text))
        .or_else(|| trailing(text));
    found.map(str::to_owned)
}

/// `FAIL [   0.004s] (1/3) package module::name`
fn nextest(text: &str) -> Option<&str> {
    let (word, rest) = text.split_once(char::is_whitespace)?;
    let failed =
        ["FAIL", "TIMEOUT", "ABORT", "LEAK-FAIL"].contains(&word) || word.starts_with("SIG");
    let (time, name) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let name = name.trim_start();
    let counted = name.strip_prefix('(').and_then(|name| name.split_once(')'));
    let name = counted.map_or(name, |(_, name)| name);
    (failed && time.trim().ends_with('s')).then_some(name)
}

/// `not ok 3 - name # time=1ms`
fn tap(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("not ok")?.trim_start();
    let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    let directive = directive.to_ascii_uppercase();
    if directive.starts_with("TODO") || directive.starts_with("SKIP") {
        return None;
    }
    let unnumbered = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let unnumbered = unnumbered.trim_start_matches("- ");
    Some(if unnumbered.is_empty() { name } else { unnumbered })
}

/// `● suite › name`
fn bullet(text: &str) -> Option<&str> {
    text.strip_prefix("● ").filter(|name| name.contains(" › "))
}

/// `FAILED tests/a.py::name - why`, `FAIL: name (class)`, `FAIL  a.test.ts > suite > name`
fn labelled(text: &str) -> Option<&str> {
    let (label, name) = text.split_once([' ', ':'])?;
    let colon = text[label.len()..].starts_with(':');
    let name = name.trim();
    let plausible = name.starts_with(|c: char| c.is_alphanumeric() || "_./<@".contains(c));
    let is_name = match label {
        "FAILED" => plausible,
        "FAIL" => plausible && (colon || name.contains(" > ")),
        "ERROR" => plausible && (name.contains("::") || (colon && name.starts_with("test"))),
        _ => false,
    };
    is_name.then(|| name.split(" - ").next().unwrap_or(name))
}

/// `tests/a.py::name FAILED [ 50%]`, `SuiteTest > name FAILED`, `name … <<< FAILURE!`
fn trailing(text: &str) -> Option<&str> {
    if text.ends_with("<<< FAILURE!") || text.ends_with("<<< ERROR!") {
        let name = text.split(" Time elapsed").next()?.trim_start_matches("[ERROR]");
        return (!name.contains("Tests run")).then(|| name.trim_end_matches(['-', ' ']));
    }
    let (name, rest) = text.rsplit_once(" FAILED")?;
    let ends_there = rest.is_empty() || (rest.trim().starts_with('[') && rest.ends_with("%]"));
    (ends_there && (name.contains("::") || name.contains(" > "))).then_some(name)
}

/// A `<testcase>` whose `<failure>` or `<error>` comes before the next.
fn junit(line: &str, case: &mut Option<String>) -> Option<String> {
    if let Some((_, attributes)) = line.split_once("<testcase ") {
        let value = |key: &str| Some(attributes.split_once(key)?.1.split('"').next()?.to_owned());
        let name = value(" name=\"")
            .or_else(|| attributes.starts_with("name=").then(|| value("name=\""))?);
        let class = value("classname=\"").filter(|class| !class.is_empty());
        *case = name.map(|name| class.map_or(name.clone(), |class| format!("{class}.{name}")));
    }
    let failed = line.contains("<failure") || line.contains("<error");
    if failed { case.take() } else { None }
}

/// `FAIL src/a.test.js` of jest, `FAIL example.org/pkg [build failed]` of go
fn group_name(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("FAIL")?;
    let name = rest.starts_with(char::is_whitespace).then(|| rest.split_whitespace().next())??;
    let is_path = name.contains(['/', '.']) && !name.starts_with('[');
    is_path.then(|| name.to_owned())
}

fn without_time(name: &str) -> &str {
    let Some((before, last)) = name.rsplit_once(' ') else { return name };
    let digits = last.trim_start_matches('(').trim_end_matches(')').trim_end_matches("ms");
    let is_time = last.contains("ms") && digits.parse::<f64>().is_ok();
    let before = before.trim_end();
    match before.rsplit_once(' ') {
        // `name (5 ms)`
        _ if is_time => before,
        Some((name, number)) if last == "ms)" && number.starts_with('(') => name,
        _ => name,
    }
}

fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if chars.next() == Some('[') {
            // A control sequence ends with its first letter or similar.
            let _ = chars.find(|c| ('@'..='~').contains(c));
        }
    }
    plain
}

/// Beginning and end of a text, together at most so many bytes.
pub(super) fn ends(text: &str, bytes_max: usize) -> String {
    const MARK_BYTES_MAX: usize = 64;
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let half = bytes_max.saturating_sub(MARK_BYTES_MAX) / 2;
    let (head, end) = (&text[..text.floor_char_boundary(half)], shipmate_process::tail(text, half));
    let left_out = text.len() - head.len() - end.len();
    format!("{head}\n[{left_out} bytes left out]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: &[&str]) {
        assert_eq!(failing_tests(output), expected, "{output}");
    }

    #[test]
    fn cargo_tests_are_named_once() {
        check(
            "running 3 tests\ntest a::works ... ok\ntest a::breaks ... FAILED\n\
             test b::too ... FAILED\n\nfailures:\n\n---- a::breaks stdout ----\nboom\n\n\
             failures:\n    a::breaks\n    b::too\n\ntest result: FAILED. 1 passed; 2 failed\n",
            &["a::breaks", "b::too"],
        );
    }

    #[test]
    fn nextest_names_the_package_with_the_test() {
        check(
            "        PASS [   0.003s] (1/3) pkg a::works\n\
             \u{1b}[31;1m        FAIL\u{1b}[0m [   0.004s] (2/3) \u{1b}[35mpkg\u{1b}[0m a::breaks\n\
             \x20    SIGABRT [   0.004s] (3/3) pkg b::dies\n\
             ────────\n     Summary [   0.010s] 3 tests run: 1 passed, 2 failed\n\
             \x20       FAIL [   0.004s] (2/3) pkg a::breaks\n",
            &["pkg a::breaks", "pkg b::dies"],
        );
    }

    #[test]
    fn pytest_is_read_with_and_without_detail() {
        check(
            "tests/test_a.py::test_ok PASSED [ 50%]\ntests/test_a.py::test_x FAILED [100%]\n\
             === short test summary info ===\n\
             FAILED tests/test_a.py::test_x - AssertionError: assert 1 == 2\n\
             ERROR tests/test_b.py::test_y - fixture 'z' not found\n\
             === 1 failed, 1 passed, 1 error in 0.02s ===\n",
            &["tests/test_a.py::test_x", "tests/test_b.py::test_y"],
        );
    }

    #[test]
    fn unittest_is_read() {
        check(
            "FAIL: test_x (test_a.Case.test_x)\n-----\nERROR: test_y (test_a.Case.test_y)\n\
             FAILED (failures=1, errors=1)\n",
            &["test_x (test_a.Case.test_x)", "test_y (test_a.Case.test_y)"],
        );
    }

    #[test]
    fn go_tests_and_broken_packages_are_read() {
        check(
            "--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/sub_case (0.00s)\n    a_test.go:5: no\n\
             FAIL\nFAIL\texample.org/pkg\t0.005s\nFAIL\n",
            &["TestX", "TestX/sub_case"],
        );
        check("FAIL\texample.org/pkg [build failed]\nFAIL\n", &["example.org/pkg"]);
    }

    #[test]
    fn jest_vitest_and_mocha_are_read() {
        check(
            "FAIL src/a.test.js\n  suite\n    ✓ works (2 ms)\n    ✕ breaks (5 ms)\n\n\
             \x20 ● suite › breaks\n\n    expect(1).toBe(2)\n",
            &["suite › breaks"],
        );
        check("FAIL src/a.test.js\n  ● Test suite failed to run\n", &["src/a.test.js"]);
        check(
            " ❯ a.test.ts (2 tests | 1 failed) 5ms\n FAIL  a.test.ts > suite > breaks\n",
            &["a.test.ts > suite > breaks"],
        );
        check("   × breaks 5ms\n   ✕ other (12 ms)\n", &["breaks", "other"]);
        check("  suite\n    1) breaks\n\n  0 passing (3ms)\n  1 failing\n", &["breaks"]);
        check("Steps:\n  1) read\n  2) write\n", &[]);
    }

    #[test]
    fn tap_junit_and_gradle_are_read() {
        check(
            "ok 1 - works\nnot ok 2 - breaks # time=3ms\nnot ok 3 - later # TODO\nnot ok 4\n",
            &["breaks", "4"],
        );
        check(
            "<testcase classname=\"a.B\" name=\"works\"/>\n\
             <testcase name=\"breaks\" classname=\"a.B\" time=\"0.1\">\n\
             \x20 <failure message=\"no\"/>\n",
            &["a.B.breaks"],
        );
        check("BTest > breaks() FAILED\n    org.junit.Failed\n", &["BTest > breaks()"]);
        check("[ERROR] a.BTest.breaks  Time elapsed: 0.1 s  <<< FAILURE!\n", &["a.BTest.breaks"]);
    }

    #[test]
    fn plain_words_about_failure_name_no_test() {
        check("BUILD FAILED\nFAILED\nThe build FAILED (see log)\nnothing failed\n", &[]);
    }

    #[test]
    fn at_most_twenty_are_named() {
        let many: String = (0..50).map(|n| format!("test t{n} ... FAILED\n")).collect();
        assert_eq!(failing_tests(&many).len(), 20);
    }

    #[test]
    fn the_ends_of_a_text_keep_to_their_limit() {
        let text: String = (0..1000).map(|n| format!("line {n} ä\n")).collect();
        let short = ends(&text, 500);
        assert!(short.len() <= 500 && short.starts_with("line 0 ä\n"));
        assert!(short.ends_with("line 999 ä\n") && short.contains("bytes left out"));
    }
}
