//! Tests that do not run, and why.
//!
//! A test may be left out only with a reason, and the reason is shown in every run: what nobody is
//! reminded of is never repaired.

use crate::rust_text::{leading_name, line_at, mask, words};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ignored {
    pub(crate) line: usize,
    /// The function below the attribute; empty if there is none.
    pub(crate) test: String,
    pub(crate) reason: Option<String>,
}

/// Every `#[ignore]` of a Rust file, also inside a `cfg_attr`.
pub(crate) fn scan(source: &str) -> Vec<Ignored> {
    let masked = mask(source);
    let mut found = Vec::new();
    for at in words(&masked, "ignore") {
        let before = masked[..at].trim_end();
        let in_condition = before.ends_with(',') && open_attribute(before).contains("cfg_attr");
        if !before.ends_with("#[") && !in_condition {
            continue;
        }
        let test = words(&masked[at..], "fn")
            .next()
            .map_or("", |next| leading_name(&masked[at + next + 2..]));
        let reason = reason_after(&source[at + "ignore".len()..]);
        found.push(Ignored { line: line_at(&masked, at), test: test.to_owned(), reason });
    }
    found
}

/// The attribute that the end of `text` stands in.
fn open_attribute(text: &str) -> &str {
    let last = text.rfind("#[").map_or("", |at| &text[at..]);
    if last.matches('[').count() > last.matches(']').count() { last } else { "" }
}

/// The text of `= "reason"`, unless it is blank.
fn reason_after(text: &str) -> Option<String> {
    let text = text.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
    let reason = text[..text.find('"')?].trim();
    (!reason.is_empty()).then(|| reason.to_owned())
}

/// A test that the runner left out, with the reason it gave if it gave one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LeftOut {
    pub(crate) test: String,
    pub(crate) reason: Option<String>,
}

/// What `cargo test` prints as `test a::b ... ignored, reason`.
pub(crate) fn from_libtest(line: &str) -> Option<LeftOut> {
    let (test, verdict) = line.trim().strip_prefix("test ")?.split_once(" ... ")?;
    let after = verdict.strip_prefix("ignored")?;
    let reason = after.strip_prefix(',').map(|r| r.trim().to_owned()).filter(|r| !r.is_empty());
    (reason.is_some() || after.is_empty()).then(|| LeftOut { test: test.to_owned(), reason })
}

/// What `cargo nextest list --run-ignored only --message-format json` prints.
///
/// Nextest does not know reasons: they come from the source, by the name of the function.
pub(crate) fn from_nextest(json: &str, sources: &[Ignored]) -> Result<Vec<LeftOut>, String> {
    let list: serde_json::Value = serde_json::from_str(json)
        .map_err(|e| format!("the list of cargo nextest could not be read: {e}"))?;
    let mut found = Vec::new();
    for (suite, value) in list["rust-suites"].as_object().into_iter().flatten() {
        for (test, case) in value["testcases"].as_object().into_iter().flatten() {
            if case["ignored"] != true {
                continue;
            }
            let function = test.rsplit("::").next().unwrap_or(test);
            let reason = sources.iter().find(|i| i.test == function).and_then(|i| i.reason.clone());
            found.push(LeftOut { test: format!("{suite} {test}"), reason });
        }
    }
    found.sort();
    Ok(found)
}

/// Lists what was left out; an error if any of it has no reason.
pub(crate) fn account(left_out: &[LeftOut]) -> Result<(), String> {
    for LeftOut { test, reason } in left_out {
        println!("left out: {test}: {}", reason.as_deref().unwrap_or("NO REASON GIVEN"));
    }
    let silent = left_out.iter().filter(|l| l.reason.is_none()).count();
    if silent == 0 {
        return Ok(());
    }
    Err(format!(
        "{silent} of {} tests left out have no reason; write #[ignore = \"the reason\"], or in a \
         doc comment `no_run`, `compile_fail` or `text` instead of `ignore`",
        left_out.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(test: &str, reason: Option<&str>) -> LeftOut {
        LeftOut { test: test.into(), reason: reason.map(str::to_owned) }
    }

    #[test]
    fn an_attribute_is_found_with_its_test_and_its_reason() {
        let source = r#"
// #[ignore] in a comment
#[test]
#[ignore = "needs a network"]
fn a() {}
#[test] #[ignore]
#[should_panic]
fn b() {}
#[cfg_attr(not(unix), ignore)]
fn c() {}
#[cfg_attr(not(unix), ignore = "unix only")]
fn d(ignore: bool) { f(x, ignore) }
#[ignore = " "]
fn e() {}
"#;
        let found: Vec<_> = scan(source)
            .into_iter()
            .map(|i| (i.line, i.test, i.reason.unwrap_or_default()))
            .collect();
        let expected = [
            (4, "a", "needs a network"),
            (6, "b", ""),
            (9, "c", ""),
            (11, "d", "unix only"),
            (13, "e", ""),
        ];
        assert_eq!(found, expected.map(|(l, t, r)| (l, t.to_owned(), r.to_owned())));
    }

    #[test]
    fn the_lines_of_cargo_test_are_understood() {
        let table = [
            ("test a::b ... ok", None),
            ("test a::b ... ignored", Some(left_out("a::b", None))),
            ("test a::b ... ignored, slow", Some(left_out("a::b", Some("slow")))),
            (
                "test src/lib.rs - f (line 3) ... ignored",
                Some(left_out("src/lib.rs - f (line 3)", None)),
            ),
            ("test result: ok. 1 passed; 0 failed; 1 ignored", None),
        ];
        for (line, expected) in table {
            assert_eq!(from_libtest(line), expected, "of {line}");
        }
    }

    #[test]
    fn the_list_of_nextest_takes_its_reasons_from_the_source() {
        let json = r#"{"rust-suites": {"shipmate-log": {"testcases": {
            "sqlite::a": {"ignored": true}, "sqlite::b": {"ignored": true},
            "sqlite::c": {"ignored": false}}}}}"#;
        let sources = scan("#[ignore = \"needs a network\"]\nfn a() {}");
        assert_eq!(
            from_nextest(json, &sources).unwrap(),
            [
                left_out("shipmate-log sqlite::a", Some("needs a network")),
                left_out("shipmate-log sqlite::b", None)
            ]
        );
    }

    #[test]
    fn a_test_left_out_without_a_reason_is_a_failure() {
        assert!(account(&[left_out("a", Some("slow"))]).is_ok());
        let told = account(&[left_out("a", Some("slow")), left_out("b", None)]).unwrap_err();
        assert!(told.starts_with("1 of 2 tests left out have no reason"), "{told}");
    }
}
