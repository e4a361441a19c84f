//! Who plays, and what is on the board.

use shipmate_protocol::ask::TaskNew;

pub(super) const TEAM: &str = "demo";

/// The workers, each with its role. Dan is the one who dies.
pub(super) const WORKERS: [(&str, Option<&str>); 4] =
    [("ana", None), ("bo", None), ("tess", Some("tester")), (VICTIM, None)];
pub(super) const VICTIM: &str = "dan";
/// The victim holds on to this one of its tasks until it is killed.
pub(super) const STALLS_AT: usize = 2;

/// How long a claim holds without a sign of life. Short, so that nobody waits long for the dead.
pub(super) const LEASE_MS: u64 = 1_200;
/// How long the teammates have to answer the shutdown at the end.
pub(super) const DEADLINE_MS: u64 = 600;

/// The attempt at a task with this mark fails the first time.
pub(super) const FAILS_ONCE: &str = "fails-once";

/// alias, subject, blocked by, files, and a word for role, group or mark.
type Line = (&'static str, &'static str, &'static str, &'static str, &'static str);

const BOARD: [Line; 24] = [
    ("design", "Sketch the design", "", "", ""),
    ("build", "Set up the build", "", "Cargo.toml", ""),
    ("tokens", "Write the tokenizer", "design", "src/tokens.rs", ""),
    ("parser", "Write the parser", "tokens", "src/parser.rs", ""),
    ("printer", "Write the printer", "design", "src/printer.rs", ""),
    ("eval", "Write the evaluator", "parser", "src/eval.rs", ""),
    ("errors", "Word the error messages", "design", "src", ""),
    ("test-tokens", "Test the tokenizer", "tokens", "tests/tokens.rs", "role:tester"),
    ("test-parser", "Test the parser", "parser", "tests/parser.rs", "role:tester"),
    ("test-printer", "Test the printer", "printer", "tests/printer.rs", "role:tester"),
    ("test-eval", "Test the evaluator", "eval", "tests/eval.rs", "role:tester"),
    ("bench", "Measure the parser", "parser", "benches", "mark:fails-once"),
    ("doc-tokens", "Describe the tokens", "tokens", "docs/tokens.md", "group:docs"),
    ("doc-grammar", "Describe the grammar", "parser", "docs/grammar.md", "group:docs"),
    ("doc-eval", "Describe the evaluation", "eval", "docs/eval.md", "group:docs"),
    ("doc-map", "Draw the map of the code", "design", "docs/map.svg", "group:docs"),
    ("links", "Check every link", "group:docs", "", ""),
    ("ci", "Set up continuous integration", "build", ".ci", ""),
    ("names", "Review the public names", "errors printer", "", ""),
    ("fuzz", "Fuzz the parser", "test-parser", "", "role:tester"),
    ("changelog", "Write the changelog", "eval printer", "CHANGELOG.md", ""),
    ("package", "Package the release", "ci links changelog names", "", ""),
    ("try", "Try the package on a clean machine", "package fuzz test-eval", "", "role:tester"),
    ("announce", "Announce the release", "try", "", ""),
];

pub(super) fn board() -> Vec<TaskNew> {
    let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let task = |(alias, subject, blocked_by, files, word): &Line| {
        let marked = |kind: &str| word.strip_prefix(kind).map(str::to_owned);
        TaskNew {
            subject: (*subject).to_owned(),
            alias: Some((*alias).to_owned()),
            blocked_by: list(blocked_by),
            files: list(files),
            role: marked("role:"),
            group: marked("group:"),
            metadata: marked("mark:").map(|mark| (mark, "yes".to_owned())).into_iter().collect(),
            ..TaskNew::default()
        }
    };
    BOARD.iter().map(task).collect()
}

/// How long the work on a task takes: between 60 and 220 ms, the same in every run.
pub(super) fn work_ms(task: u32) -> u64 {
    60 + u64::from(task.wrapping_mul(2_654_435_761) >> 24) * 160 / 255
}
