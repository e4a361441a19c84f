//! docs/seeds.md keeps its word: every row names a test that is there.
//!
//! The page says what five described ways of running agent teams demand and which test holds each
//! demand. Pages like it rot first where a test is renamed, so a name that is not in its file is a
//! violation, and so is a number of rows that a part does not have. A demand that no test holds is
//! `open`; with `--strict` it also needs its reason in the last section. Whether a test shows what
//! its row says is for a reader to judge, not for this.

use std::collections::BTreeMap;

use crate::rust_text::{mask, words};
use crate::tree::Tree;
use crate::violation::{Violation, counted, report};

const PAGE: &str = "docs/seeds.md";

/// The parts of the page, and the sections that they must have: one that somebody dropped would be
/// missed by nobody else.
const PARTS: [(&str, &[&str]); 3] = [
    (
        "Sentences of the seeds",
        &[
            "board (001)",
            "delegate (002)",
            "departments (000)",
            "features (003)",
            "contract-first (004)",
        ],
    ),
    ("Defects of the programs that the seeds come from", &[]),
    ("Our own list", &[]),
];

/// Rows of this part name open rows of the others and say why.
const NOT_MET: &str = "Not met, with the reason";

const OPEN: &str = "open";

/// Check that docs/seeds.md names tests that exist
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Refuse open rows that have no reason in the last section
    #[arg(long)]
    pub(crate) strict: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let found = check(&Tree::read()?, args.strict);
    report("seeds", found.violations)?;
    let Counts { rows, open, unexplained } = found.counts;
    println!(
        "seeds: {}, {} held by a test, {open} open ({unexplained} without a reason)",
        counted(rows, "row"),
        rows - open
    );
    Ok(())
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    rows: usize,
    open: usize,
    /// Open rows that the last section does not name.
    unexplained: usize,
}

#[derive(Debug, Default)]
struct Found {
    counts: Counts,
    violations: Vec<Violation>,
}

impl Found {
    fn violates(&mut self, line: usize, fact: impl Into<String>, remedy: &str) {
        self.violations.push(Violation::new(PAGE, line, fact, remedy));
    }
}

/// A line of a table of the page, with the part and the section it stands in.
#[derive(Debug)]
struct Row<'a> {
    line: usize,
    part: &'a str,
    section: &'a str,
    cells: Vec<String>,
}

fn check(tree: &Tree, strict: bool) -> Found {
    let mut found = Found::default();
    let Some(page) = tree.text(PAGE) else {
        found.violates(1, "the page is missing", "write it, or take this rule out");
        return found;
    };
    let rows = rows(page);
    for (part, sections) in PARTS {
        whole(page, &rows, part, sections, &mut found);
    }
    let mut sources = BTreeMap::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let (reasons, demands): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.part == NOT_MET);
    for row in demands {
        let Some(id) = id(row, &mut found) else { continue };
        if let Some(first) = seen.insert(id, row.line) {
            let fact = format!("{id} is there already: line {first}");
            found.violates(row.line, fact, "give it the next free number");
        }
        found.counts.rows += 1;
        match row.cells[3].trim_matches('`') {
            OPEN => drop(open.insert(id, row.line)),
            _ => tests(tree, row, &mut sources, &mut found),
        }
    }
    found.counts.open = open.len();
    explained(&reasons, &mut open, &mut found);
    found.counts.unexplained = open.len();
    if strict {
        for (id, line) in open {
            let fact = format!("{id} is open and \"## {NOT_MET}\" does not name it");
            found.violates(line, fact, "name a test that holds it, or give the reason");
        }
    }
    found
}

/// A part has as many rows as the list at the beginning says, and some in each of its sections.
fn whole(page: &str, rows: &[Row<'_>], part: &str, sections: &[&str], found: &mut Found) {
    let own: Vec<&Row<'_>> = rows.iter().filter(|row| row.part == part).collect();
    let said = format!("- **{part}**: {}.", counted(own.len(), "row"));
    if !page.lines().any(|line| line.starts_with(&said)) {
        let fact = format!("no line begins with \"{said}\"");
        found.violates(1, fact, "say there what the part is and how many rows it has");
    }
    for section in sections {
        if !own.iter().any(|row| row.section == *section) {
            let fact = format!("there is no row under \"### {section}\"");
            found.violates(1, fact, "write the section, with a table");
        }
    }
}

/// Takes the open rows that have a reason out of `open`.
fn explained(reasons: &[&Row<'_>], open: &mut BTreeMap<&str, usize>, found: &mut Found) {
    for row in reasons {
        let Some(id) = id(row, found) else { continue };
        if open.remove(id).is_none() {
            let fact = format!("{id} is no open row, or its reason is there twice");
            found.violates(row.line, fact, "take the reason out, or correct the id");
        } else if row.cells[2].is_empty() {
            found.violates(row.line, format!("{id} has no reason"), "say why it is not met");
        }
    }
}

/// The id of a whole row.
fn id<'a>(row: &'a Row<'_>, found: &mut Found) -> Option<&'a str> {
    if row.cells.len() != 4 {
        let fact = format!("the row has {}", counted(row.cells.len(), "column"));
        found.violates(row.line, fact, "write 4: id, what is said, what is done, test");
        return None;
    }
    let id = row.cells[0].as_str();
    let number = id.strip_prefix('R').unwrap_or_default();
    if number.len() < 3 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        found.violates(row.line, format!("{id:?} is no id"), "write R and three digits");
        return None;
    }
    Some(id)
}

/// The tests that the row with this id names.
#[cfg(test)]
pub(crate) fn tests_of(tree: &Tree, id: &str) -> Vec<String> {
    let rows = rows(tree.text(PAGE).unwrap_or_default());
    let row = rows.iter().find(|row| row.part != NOT_MET && row.cells[0] == id);
    row.map(|row| named(row).map(str::to_owned).collect()).unwrap_or_default()
}

fn named<'a>(row: &'a Row<'_>) -> impl Iterator<Item = &'a str> {
    let named = row.cells[3].split("<br>").flat_map(|part| part.split(", "));
    named.map(|named| named.trim().trim_matches('`'))
}

/// The last column names tests as `path::name`, or a file that is a test as its path.
fn tests<'a>(
    tree: &'a Tree,
    row: &Row<'_>,
    sources: &mut BTreeMap<&'a str, String>,
    found: &mut Found,
) {
    for named in named(row) {
        if named.is_empty() {
            found.violates(row.line, "the row names no test", "name one, or write `open`");
            continue;
        }
        let (path, name) = named.split_once("::").unwrap_or((named, ""));
        // The folder of the crates goes without saying.
        let places = [format!("crates/{path}"), path.to_owned()];
        let file = tree.texts().find(|(path, _)| places.iter().any(|place| place == path));
        let Some((path, text)) = file else {
            found.violates(row.line, format!("there is no file {path}"), "correct the path");
            continue;
        };
        let source = sources.entry(path).or_insert_with(|| mask(text));
        if !name.is_empty() && !has_test(source, name) {
            let fact = format!("{path} has no test {name}");
            found.violates(row.line, fact, "name a test that is there, or write `open`");
        }
    }
}

/// A function of that name, or a named scenario: `name: "…"` within a `scenarios!`.
fn has_test(masked: &str, name: &str) -> bool {
    let scenarios = masked.contains("scenarios! {");
    words(masked, name).any(|at| {
        let is_function = masked[..at].trim_end().ends_with("fn");
        let is_scenario = scenarios && masked[at + name.len()..].starts_with(": \"");
        is_function || is_scenario
    })
}

/// The lines of all tables but their heads.
fn rows(page: &str) -> Vec<Row<'_>> {
    let (mut part, mut section, mut found, mut in_table) = ("", "", Vec::new(), false);
    for (index, line) in page.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            (part, section) = (heading.trim(), "");
        }
        if let Some(heading) = line.strip_prefix("### ") {
            section = heading.trim();
        }
        let is_head = !in_table;
        in_table = line.starts_with('|');
        let is_rule = line.starts_with("|-");
        if in_table && !is_head && !is_rule {
            found.push(Row { line: index + 1, part, section, cells: cells(line) });
        }
    }
    found
}

/// The cells of `| a | b |`; a `\|` is a character of its cell.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|');
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let kept = inner.replace("\\|", "\0");
    kept.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with one row in each section, and `more` rows in the first.
    fn page(more: &str, reasons: &str) -> String {
        let head = "| id | says | does | test |\n|---|---|---|---|\n";
        let (mut list, mut page, mut id, mut more) = (String::new(), String::new(), 900, more);
        for (part, sections) in PARTS {
            let sections = if sections.is_empty() { &["all"][..] } else { sections };
            let rows = counted(sections.len() + more.lines().count(), "row");
            list.push_str(&format!("- **{part}**: {rows}. What they are.\n"));
            page.push_str(&format!("## {part}\n\n"));
            for section in sections {
                let row = format!("| R{id} | a | b | `log/tests/a.rs::it_holds` |\n");
                page.push_str(&format!("### {section}\n\n{head}{row}{more}\n"));
                (id, more) = (id + 1, "");
            }
        }
        format!("{list}\n{page}## {NOT_MET}\n\n{head}{reasons}")
    }

    fn found(page: &str, strict: bool) -> Found {
        let source = "#[test]\nfn it_holds() {}\n// fn only_said() {}\nit_has: \"no\"";
        let scenario =
            "scenarios! {\n    a_claim_excludes_others: \"\n        join ana\n    \",\n}\n";
        let tree = Tree::from([
            (PAGE, page),
            ("crates/log/tests/a.rs", source),
            ("crates/core/tests/tasks.rs", scenario),
            ("xtask/src/b.rs", "fn there() {}"),
            ("crates/run/tests/board.toml", "phases = []"),
        ]);
        check(&tree, strict)
    }

    /// What is told about `more` rows that begin at line 12, as `line: fact`.
    fn facts(more: &str) -> Vec<String> {
        let found = found(&page(more, ""), false);
        found.violations.iter().map(|v| format!("{}: {}", v.line, v.fact)).collect()
    }

    #[test]
    fn the_page_of_this_repository_names_tests_that_exist() {
        let found = report("seeds", check(&Tree::read().unwrap(), true).violations);
        assert!(found.is_ok(), "{}", found.unwrap_err());
    }

    #[test]
    fn tests_are_named_by_function_scenario_or_file_and_several_in_a_row() {
        let rows = "\
            | R001 | a \\| b | c | `core/tests/tasks.rs::a_claim_excludes_others` |\n\
            | R002 | a | b | `xtask/src/b.rs::there`, `log/tests/a.rs::it_holds` |\n\
            | R003 | a | b | `log/tests/a.rs::it_holds`<br>`xtask/src/b.rs::there` |\n\
            | R1004 | a | b | `run/tests/board.toml` |\n";
        assert_eq!(facts(rows), [""; 0]);
        assert_eq!(found(&page(rows, ""), true).counts, Counts { rows: 11, ..Counts::default() });
    }

    #[test]
    fn every_mistake_of_a_row_is_told_with_its_line() {
        let table = [
            ("| R001 | a | b |", "12: the row has 3 columns"),
            ("| R001 | a | b | c | open |", "12: the row has 5 columns"),
            ("| 001 | a | b | open |", "12: \"001\" is no id"),
            ("| R01 | a | b | open |", "12: \"R01\" is no id"),
            ("| R0x1 | a | b | open |", "12: \"R0x1\" is no id"),
            ("| R900 | a | b | open |", "12: R900 is there already: line 11"),
            ("| R001 | a | b | |", "12: the row names no test"),
            ("| R001 | a | b | `x/y.rs::it_holds` |", "12: there is no file x/y.rs"),
            (
                "| R001 | a | b | `run/tests/none.toml` |",
                "12: there is no file run/tests/none.toml",
            ),
            (
                "| R001 | a | b | `log/tests/a.rs::it_hold` |",
                "12: crates/log/tests/a.rs has no test it_hold",
            ),
            (
                "| R001 | a | b | `log/tests/a.rs::only_said` |",
                "12: crates/log/tests/a.rs has no test only_said",
            ),
            (
                "| R001 | a | b | `log/tests/a.rs::it_has` |",
                "12: crates/log/tests/a.rs has no test it_has",
            ),
            (
                "| R001 | a | b | `core/tests/tasks.rs::join` |",
                "12: crates/core/tests/tasks.rs has no test join",
            ),
        ];
        for (row, fact) in table {
            assert_eq!(facts(&format!("{row}\n")), [fact], "of {row}");
        }
    }

    #[test]
    fn a_section_that_is_gone_is_missed() {
        let told = found(&page("", "").replace("## delegate (002)", "## other"), false);
        assert_eq!(told.violations[0].fact, "there is no row under \"### delegate (002)\"");
        assert_eq!(check(&Tree::from([]), false).violations[0].fact, "the page is missing");
    }

    #[test]
    fn a_part_has_as_many_rows_as_the_page_says() {
        let page = page("| R001 | a | b | open |\n", "");
        assert_eq!(found(&page, false).violations, []);
        let told = found(&page.replace("seeds**: 6 rows", "seeds**: 5 rows"), false).violations;
        assert_eq!(told.len(), 1, "{told:?}");
        let fact = "no line begins with \"- **Sentences of the seeds**: 6 rows.\"";
        assert_eq!(told[0].fact, fact);
        let told = found(&page.replace("## Our own list", "## Other"), false).violations;
        assert_eq!(told[0].fact, "no line begins with \"- **Our own list**: 0 rows.\"");
    }

    #[test]
    fn an_open_row_is_counted_and_with_strict_needs_its_reason() {
        let open = "| R001 | a | b | `open` |\n| R002 | a | b | open |\n";
        let why = "| R001 | a | it cannot be had on this system | open |\n";
        let lenient = found(&page(open, why), false);
        assert_eq!(lenient.violations, []);
        assert_eq!(lenient.counts, Counts { rows: 9, open: 2, unexplained: 1 });
        let strict = found(&page(open, why), true);
        assert_eq!(strict.violations.len(), 1);
        assert!(strict.violations[0].fact.starts_with("R002 is open and "));
        assert_eq!(strict.violations[0].line, 13);
    }

    #[test]
    fn a_reason_belongs_to_one_open_row_and_says_something() {
        let open = "| R001 | a | b | open |\n";
        for (reasons, fact) in [
            ("| R900 | a | why | open |\n", "R900 is no open row, or its reason is there twice"),
            (
                "| R001 | a | why | open |\n| R001 | a | why | open |\n",
                "R001 is no open row, or its reason is there twice",
            ),
            ("| R001 | a |  | open |\n", "R001 has no reason"),
            ("| R001 | why |\n", "the row has 2 columns"),
        ] {
            let told = found(&page(open, reasons), false).violations;
            assert_eq!(told.len(), 1, "of {reasons}: {told:?}");
            assert_eq!(told[0].fact, fact, "of {reasons}");
        }
    }
}
