//! Coverage of the lines that a task touched, from the report that its gate has written.
//!
//! Three forms are read: lcov, the JSON of coverage.py and Cobertura's XML. Only lines that the
//! report knows count: a comment is no code. A touched file of a kind that the report knows, and
//! which is not in it, was reached by no test at all, so each of its lines counts as missed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde_json::Value;

/// Lines of files, each reached by a test or not.
pub type Report = BTreeMap<String, BTreeMap<u32, bool>>;
/// Lines of files that a change wrote.
pub type Touched = BTreeMap<String, Vec<RangeInclusive<u32>>>;

/// How many uncovered places a reason names.
const PLACES_SHOWN: usize = 20;

/// Reads a report; paths in it become those of the tree it was made in.
pub fn read(path: &str, text: &str, tree: &Path) -> Result<Report, String> {
    let begin = text.trim_start();
    let found = match begin.chars().next() {
        Some('{') => json(text),
        Some('<') => xml(begin),
        _ => Ok(lcov(text)),
    };
    let found = found.map_err(|e| format!("{path}: {e}"))?;
    if found.is_empty() {
        return Err(format!(
            "{path} names no file: it is no lcov, coverage.py or Cobertura report"
        ));
    }
    let tree = format!("{}/", tree.display());
    let inside = |path: String| {
        let path = path.strip_prefix(&tree).unwrap_or(&path);
        path.strip_prefix("./").unwrap_or(path).to_owned()
    };
    let mut report = Report::new();
    for (path, lines) in found {
        let own = report.entry(inside(path)).or_default();
        // The same file in several parts of a report: reached in one of them is reached.
        for (line, hit) in lines {
            *own.entry(line).or_default() |= hit;
        }
    }
    Ok(report)
}

type Parts = Vec<(String, Vec<(u32, bool)>)>;

fn lcov(text: &str) -> Parts {
    let mut found: Parts = Vec::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            found.push((path.trim().to_owned(), Vec::new()));
        } else if let Some(data) = line.strip_prefix("DA:")
            && let Some((_, lines)) = found.last_mut()
        {
            let mut numbers = data.split(',').map(str::trim);
            let number = numbers.next().and_then(|n| n.parse().ok());
            let hits = numbers.next().and_then(|n| n.parse::<i64>().ok());
            lines.extend(number.zip(hits).map(|(number, hits)| (number, hits > 0)));
        }
    }
    found
}

fn json(text: &str) -> Result<Parts, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let files = value.get("files").and_then(Value::as_object);
    let files = files.ok_or("it has no \"files\", as coverage.py writes them")?;
    let lines = |file: &Value, key: &str, hit: bool| {
        let numbers = file.get(key).and_then(Value::as_array).into_iter().flatten();
        let numbers = numbers.filter_map(|n| Some((u32::try_from(n.as_u64()?).ok()?, hit)));
        numbers.collect::<Vec<_>>()
    };
    let parts = files.iter().map(|(path, file)| {
        let mut all = lines(file, "executed_lines", true);
        all.extend(lines(file, "missing_lines", false));
        (path.clone(), all)
    });
    Ok(parts.collect())
}

/// Read from event to event: a report is an agent's work, and a tree of its elements would be many times
/// as large. Entities that it declares are not expanded, and a path that uses one is refused.
fn xml(text: &str) -> Result<Parts, String> {
    let mut reader = Reader::from_str(text);
    let mut found: Parts = Vec::new();
    loop {
        let event = reader.read_event();
        let at = reader.buffer_position();
        let wrong = |e: quick_xml::Error| format!("it is no XML at byte {at}: {e}");
        let tag = match event.map_err(wrong)? {
            Event::Start(tag) | Event::Empty(tag) => tag,
            Event::Eof => return Ok(found),
            _ => continue,
        };
        match tag.local_name().into_inner() {
            "class" => {
                let path = attribute(&tag, "filename").map_err(wrong)?;
                found.extend(path.map(|path| (path, Vec::new())));
            }
            "line" => {
                let Some((_, lines)) = found.last_mut() else { continue };
                let number = attribute(&tag, "number").map_err(wrong)?;
                let hits = attribute(&tag, "hits").map_err(wrong)?;
                let number = number.and_then(|n| n.parse().ok());
                let hits = hits.and_then(|n| n.parse::<u64>().ok());
                lines.extend(number.zip(hits).map(|(number, hits)| (number, hits > 0)));
            }
            _ => {}
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> quick_xml::Result<Option<String>> {
    let mut all = tag.attributes();
    // Each is compared with all before it otherwise, and somebody may write a million.
    for one in all.with_checks(false) {
        let one = one?;
        if one.key.as_ref() == name {
            return Ok(Some(one.normalized_value(XmlVersion::Explicit1_0)?.into_owned()));
        }
    }
    Ok(None)
}

/// What was reached of what was touched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reached {
    pub covered: usize,
    pub lines: usize,
    missed: BTreeMap<String, Vec<u32>>,
    unknown: Vec<String>,
}

/// Weighs a change. `is_test` says which files are tests themselves.
pub fn weigh(report: &Report, touched: &Touched, is_test: impl Fn(&str) -> bool) -> Reached {
    let kinds: BTreeSet<&str> = report.keys().filter_map(|path| kind(path)).collect();
    let mut reached = Reached::default();
    for (path, ranges) in touched {
        let Some(lines) = report.get(path) else {
            if kind(path).is_some_and(|kind| kinds.contains(kind)) && !is_test(path) {
                let lines = ranges.iter().map(|range| (range.end() + 1 - range.start()) as usize);
                reached.lines += lines.sum::<usize>();
                reached.unknown.push(path.clone());
            }
            continue;
        };
        for (line, hit) in lines.iter().filter(|(line, _)| ranges.iter().any(|r| r.contains(line)))
        {
            reached.lines += 1;
            match hit {
                true => reached.covered += 1,
                false => reached.missed.entry(path.clone()).or_default().push(*line),
            }
        }
    }
    reached
}

fn kind(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.rsplit_once('.').map(|(_, kind)| kind)
}

impl Reached {
    /// Per cent, rounded down to a tenth: what is shown as the target has reached it.
    pub fn percent(&self) -> Option<f64> {
        let lines = (self.lines > 0).then_some(self.lines)?;
        Some((self.covered * 1000 / lines) as f64 / 10.0)
    }

    /// Why it is not enough, with every place.
    pub fn below(&self, target: f64) -> Option<String> {
        let percent = self.percent()?;
        if self.covered as f64 * 100.0 >= target * self.lines as f64 {
            return None;
        }
        let unknown = self.unknown.iter().map(|path| format!("{path} (no test reaches it)"));
        let missed = self.missed.iter().map(|(path, lines)| format!("{path}:{}", ranges(lines)));
        let mut places: Vec<String> = unknown.chain(missed).collect();
        let more = places.len().saturating_sub(PLACES_SHOWN);
        places.truncate(PLACES_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!(
            "its tests reach {} of the {} lines that it touches, {percent} %, and the target is \
             {target} %; not reached: {}{more}",
            self.covered,
            self.lines,
            places.join(", ")
        ))
    }
}

/// `3-5, 9`.
fn ranges(lines: &[u32]) -> String {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match found.last_mut() {
            Some((_, end)) if *end + 1 == *line => *end = *line,
            _ => found.push((*line, *line)),
        }
    }
    let shown = found.iter().map(|(from, to)| match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(path: &str, from: u32, to: u32) -> Touched {
        Touched::from([(path.to_owned(), vec![from..=to])])
    }

    fn report(text: &str) -> Report {
        read("r", text, Path::new("/t")).unwrap()
    }

    #[test]
    fn the_three_forms_say_the_same() {
        let lcov = "TN:\nSF:/t/src/a.py\nDA:1,1\nDA:2,0\nDA:3,7\nend_of_record\n";
        let json = r#"{"meta": {}, "files": {"src/a.py":
            {"executed_lines": [1, 3], "missing_lines": [2]}}}"#;
        let xml = r#"<?xml version="1.0"?><coverage><packages><package><classes>
            <class name="a" filename="src/a.py"><lines><line number="1" hits="1"/>
            <line number="2" hits="0"/><line hits='7' number='3'/></lines></class>
            </classes></package></packages></coverage>"#;
        let wanted = report(lcov);
        assert_eq!(wanted["src/a.py"], BTreeMap::from([(1, true), (2, false), (3, true)]));
        assert_eq!(report(json), wanted);
        assert_eq!(report(xml), wanted);
    }

    #[test]
    fn only_touched_lines_count_and_the_target_itself_is_enough() {
        let hits: String =
            (1..=1000).map(|line| format!("DA:{line},{}\n", u8::from(line > 51))).collect();
        let report = report(&format!("SF:a.py\n{hits}"));
        let reached = |from, to| weigh(&report, &touched("a.py", from, to), |_| false);
        assert_eq!(reached(52, 1000).below(100.0), None);
        // 19 of 20 is 95 %; 949 of 1000 is not.
        assert_eq!(reached(51, 70).below(95.0), None);
        let told = reached(1, 1000).below(95.0).unwrap();
        assert!(told.contains("949 of the 1000 lines that it touches, 94.9 %"), "{told}");
        assert!(told.ends_with("not reached: a.py:1-51"), "{told}");
    }

    #[test]
    fn a_file_that_no_test_reaches_is_missed_and_words_are_not_code() {
        let report = report("SF:a.py\nDA:1,1\n");
        let mut all = touched("new.py", 1, 4);
        all.extend(touched("README.md", 1, 9));
        all.extend(touched("tests/test_a.py", 1, 9));
        let reached = weigh(&report, &all, |path| path.starts_with("tests/"));
        assert_eq!((reached.covered, reached.lines), (0, 4));
        assert!(reached.below(1.0).unwrap().contains("new.py (no test reaches it)"));
        let words = weigh(&report, &touched("README.md", 1, 9), |_| false);
        assert_eq!((words.percent(), words.below(95.0)), (None, None));
    }

    #[test]
    fn a_cobertura_report_may_have_what_xml_may_have() {
        let xml = r#"
            <?xml version="1.0" ?>
            <!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
            <!-- <class filename="old.py"><line number="9" hits="9"/> -->
            <coverage><packages>
            <class filename="a &lt;b&#62; &quot;&amp;c&apos;.py" name="1 > 0">
            <methods><method name="f"><lines><line number="1" hits="2" branch="true"/></lines></method></methods>
            <![CDATA[<line number="8" hits="8"/>]]></class></packages></coverage>"#;
        let report = report(xml);
        assert_eq!(report.len(), 1, "{report:?}");
        assert_eq!(report["a <b> \"&c'.py"], BTreeMap::from([(1, true)]));
    }

    #[test]
    fn a_report_made_to_hurt_is_refused_or_read_and_takes_no_more_than_its_size() {
        let read = |text: &str| read("r", text, Path::new("/t"));
        let bomb = r#"<!DOCTYPE c [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
            <c><class filename="&b;"/></c>"#;
        let why = read(bomb).unwrap_err();
        assert!(why.starts_with("r: it is no XML at byte "), "{why}");
        let why = read("<c><class filename='a.py'></c>").unwrap_err();
        assert!(why.starts_with("r: it is no XML at byte "), "{why}");
        let deep = format!("<c><class filename='a'>{}", "<b>".repeat(300_000));
        assert!(read(&deep).is_ok());
        let many: String = (0..300_000).map(|n| format!(" a{n}=''")).collect();
        assert!(read(&format!("<c><class{many} filename='a'/></c>")).is_ok());
    }

    #[test]
    fn what_is_no_report_is_said_to_be_none() {
        assert!(read("r", "nothing", Path::new("/t")).unwrap_err().contains("r names no file"));
        assert!(read("r", "{}", Path::new("/t")).unwrap_err().contains("coverage.py"));
    }
}
