//! Plans that are accepted and what becomes of them; those that are refused are in the tables
//! beside this file.

mod lines;
mod tables;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::*;

/// Blocks of a plan and what is told about it, between lines of signs.
fn check_refusals(name: &str, format: Format, cases: &str) {
    for case in cases.trim_matches('\n').split("\n====\n") {
        let (text, told) = case.split_once("----\n").unwrap();
        let refused = parse(name, text, format).map(|plan| format!("accepted: {plan:?}"));
        let refused = refused.unwrap_or_else(|errors| errors.to_string());
        assert_eq!(refused, told, "of the plan\n{text}");
    }
}

fn refused(read: Result<PlanFile, PlanErrors>) -> String {
    read.unwrap_err().to_string()
}

/// A folder for one test, removed with its contents when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shipmate-plan-{}-{number}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        fs::create_dir(&folder.0).unwrap();
        for (name, text) in files {
            fs::write(folder.0.join(name), text).unwrap();
        }
        folder
    }

    /// What is told, without the path of the folder.
    fn told(&self, read: Result<PlanFile, PlanErrors>) -> String {
        refused(read).replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const HEADER: &str = concat!(
    r#"{"p":"03","n":"01","t":"Search","w":1,"d":[],"#,
    r#""xd":[{"p":"01","n":"02","a":"docs/api.md","r":"contract"}],"mh":{"tr":["fast"]},"#,
    r#""obj":"Find things","eff":"high","sk":["rust","sql"],"fm":["src"],"auto":false}"#
);

#[test]
fn a_plan_in_lines_becomes_tasks_of_a_group() {
    let full = concat!(
        r#"{"id":"T2","tp":"checkpoint:human-verify","a":"Write the index","f":["src/index.rs"],"#,
        r#""v":"cargo test index","done":"queries answer","spec":"Use a trie.\nKeep it small.","#,
        r#""ts":"empty query","td":["T1","T1"]}"#
    );
    let text = format!("{HEADER}\n// the schema first\n\n{}\n{full}", {
        r#"{"id":"T1","tp":"auto","a":"Write the schema","f":[],"td":null}"#
    });
    // A mark at the beginning, other line ends and no line end at the end are all fine.
    let plain = parse("a.plan.jsonl", &text, Format::Lines).unwrap();
    let dressed = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let dressed = parse("a.plan.jsonl", &dressed, Format::Lines).unwrap();
    assert_eq!(format!("{plain:?}"), format!("{dressed:?}"));

    let [(first, _), (second, place)] = plain.tasks.as_slice() else { panic!("{plain:?}") };
    assert_eq!(place.to_string(), "a.plan.jsonl:5");
    assert_eq!(first.description, "Part of plan 03-01: Find things");
    assert_eq!(
        second.description,
        "Use a trie.\nKeep it small.\n\nVerify: cargo test index\n\nDone when: queries answer\n\n\
         Tests: empty query\n\nCheckpoint: human-verify\n\nPart of plan 03-01: Find things"
    );
    let rest = TaskNew { description: String::new(), ..second.clone() };
    assert_eq!(
        serde_json::to_string_pretty(&rest).unwrap(),
        r#"{
  "subject": "Write the index",
  "alias": "03-01/T2",
  "group": "03-01",
  "blocked_by": [
    "03-01/T1"
  ],
  "files": [
    "src/index.rs"
  ],
  "metadata": {
    "checkpoint": "human-verify",
    "done": "queries answer",
    "effort": "high",
    "skills": "rust, sql",
    "spec": "Use a trie.\nKeep it small.",
    "tests": "empty query",
    "verify": "cargo test index"
  }
}"#
    );
    assert_eq!((plain.title.as_str(), plain.objective.as_str()), ("Search", "Find things"));
    let [header] = plain.plans.as_slice() else { panic!("{plain:?}") };
    assert_eq!((header.id.as_str(), header.wave), ("03-01", Some(1)));
    assert_eq!(header.files_modified, ["src"]);
    let artifact = &header.artifacts[0];
    assert_eq!(
        (artifact.plan.as_str(), artifact.path.as_str(), artifact.reason.as_str()),
        ("01-02", "docs/api.md", "contract")
    );
}

#[test]
fn an_action_that_is_a_paragraph_keeps_its_beginning_as_the_subject() {
    let action = format!("First line\\nand {}", "more ".repeat(200));
    let text = format!("{HEADER}\n{{\"id\":\"T1\",\"a\":\"{action}\",\"f\":[]}}");
    let plan = parse("a", &text, Format::Lines).unwrap();
    assert_eq!(plan.tasks[0].0.subject, "First line");
    assert!(plan.tasks[0].0.description.starts_with("First line\nand more more"));
    let text = text.replace("\\n", " ");
    let plan = parse("a", &text, Format::Lines).unwrap();
    assert_eq!(plan.tasks[0].0.subject.chars().count(), 120);
    assert!(plan.tasks[0].0.subject.ends_with("more…"), "{:?}", plan.tasks[0].0.subject);
}

#[test]
fn a_toml_plan_says_everything_a_run_needs() {
    let text = r#"
title = "Add search"
objective = "Find things"
team = "search"
gate = ["cargo test"]

[agents.default]
command = "./agent.sh"

[[teammates]]
name = "ana"
role = "backend"
scope = ["src/**"]
agent = "default"

[[tasks]]
id = "schema"
subject = "Write the schema"
files = ["db/"]
group = "base"
minutes = 5

[[tasks]]
id = "index"
subject = "Write the index"
description = "Use a trie."
needs = ["schema", "group:base", "schema"]
role = "backend"
assignee = "ana"
priority = 10
seconds = 90
retries = 3
metadata = { ticket = 7, owner = "bo", due = 2026-11-15 }
"#;
    let plan = parse("add-search.toml", text, Format::Toml).unwrap();
    assert_eq!((plan.title.as_str(), plan.team.as_deref()), ("Add search", Some("search")));
    assert_eq!(plan.gate, ["cargo test"]);
    assert_eq!(plan.agents["default"].command, "./agent.sh");
    let ana = &plan.teammates[0];
    assert_eq!((ana.name.as_str(), ana.role.as_deref()), ("ana", Some("backend")));
    assert_eq!(ana.scope, ["src/**"]);
    assert_eq!(ana.agent.as_deref(), Some("default"));
    let places: Vec<usize> = plan.tasks.iter().map(|(_, place)| place.line).collect();
    assert_eq!(places, [16, 23]);
    assert_eq!(plan.tasks[0].0.duration_ms, Some(300_000));
    assert_eq!(
        serde_json::to_string(&plan.tasks[1].0).unwrap(),
        concat!(
            r#"{"subject":"Write the index","description":"Use a trie.","alias":"index","#,
            r#""blocked_by":["schema","group:base"],"role":"backend","assignee":"ana","#,
            r#""priority":10,"duration_ms":90000,"retries_max":3,"#,
            r#""metadata":{"due":"2026-11-15","owner":"bo","ticket":"7"}}"#
        )
    );
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
}

fn header(n: &str, depends_on: &str) -> String {
    format!("{{\"p\":\"03\",\"n\":\"{n}\",\"t\":\"Plan {n}\",\"w\":1,\"d\":[{depends_on}]}}\n")
}

fn task(id: &str, files: &str, waits: &str) -> String {
    format!("{{\"id\":\"{id}\",\"a\":\"do\",\"f\":[{files}],\"td\":[{waits}]}}\n")
}

#[test]
fn plans_of_a_folder_wait_for_each_other_as_groups() {
    let one = header("01", "")
        + &task("T1", "\"a\"", "")
        + &task("T2", "\"b\"", "\"T1\"")
        + &task("T3", "\"d\"", "\"T1\", \"T2\"");
    let three = header("03", "\"03-01\", \"03-02\"") + &task("T1", "\"e\"", "");
    let two = header("02", "\"03-01\", \"03-01\"")
        + &task("T1", "\"a\"", "")
        + &task("T2", "\"c\"", "\"T1\"");
    let folder = Folder::with(&[
        ("03-03.plan.jsonl", &three),
        ("03-02.plan.jsonl", &two),
        ("03-01.plan.jsonl", &one),
        ("03-01.summary.jsonl", "{}"),
    ]);
    let plan = read(&folder.0).unwrap();
    let waits: Vec<(&str, String)> = plan
        .tasks
        .iter()
        .map(|(task, _)| (task.alias.as_deref().unwrap(), task.blocked_by.join(" ")))
        .collect();
    assert_eq!(
        waits,
        [
            ("03-01/T1", String::new()),
            ("03-01/T2", "03-01/T1".to_owned()),
            ("03-01/T3", "03-01/T1 03-01/T2".to_owned()),
            ("03-02/T1", "group:03-01".to_owned()),
            ("03-02/T2", "03-02/T1 group:03-01".to_owned()),
            ("03-03/T1", "group:03-01 group:03-02".to_owned())
        ]
    );
    assert_eq!(plan.title, "Plan 01 and 2 more");
    assert_eq!(plan.notes.len(), 3, "{:?}", plan.notes);
    assert!(plan.notes[0].ends_with(
        "03-02.plan.jsonl:1: plan 03-02 depends on plan 03-01 and is not of a later wave: the \
         dependency decides"
    ));
}

#[test]
fn mistakes_between_several_files_name_the_files() {
    let one = header("01", "\"03-02\"") + &task("T1", "", "");
    let two = header("02", "\"03-01\"") + &task("T1", "", "");
    let again = header("01", "\"03-09\"") + &task("T1", "", "");
    let folder = Folder::with(&[
        ("a.plan.jsonl", &one),
        ("b.plan.jsonl", &two),
        ("c.plan.jsonl", &again),
        ("d.toml", ""),
        ("e.txt", ""),
    ]);
    let names = ["a.plan.jsonl", "b.plan.jsonl", "c.plan.jsonl", "d.toml", "e.txt", "f.jsonl"];
    let paths = names.map(|name| folder.0.join(name));
    assert_eq!(
        folder.told(read_all(&paths)),
        "a.plan.jsonl:2: a circle: 03-01/T1 (line 2) -> group:03-02 -> 03-02/T1 (b.plan.jsonl:2) \
         -> group:03-01 -> 03-01/T1\n  each waits for the next; take one of these dependencies \
         out\n\
         c.plan.jsonl:1: plan 03-01 was given already: a.plan.jsonl:1\n  give each plan a \"p\" \
         and \"n\" of its own\n\
         d.toml: a TOML plan is run alone\n  give only this file, or put its tasks into one \
         file\n\
         e.txt: the name says neither .toml nor .jsonl\n  name the plan file PLAN.toml or \
         PLAN.plan.jsonl\n\
         f.jsonl: it cannot be read: No such file or directory (os error 2)\n  name an existing \
         plan file\n\
         5 problems; nothing was started"
    );
}

#[test]
fn an_empty_folder_and_a_file_of_other_bytes_are_refused() {
    let folder = Folder::with(&[("x.txt", "")]);
    let told = refused(read(&folder.0));
    assert!(told.contains("the folder has no *.plan.jsonl\n  name the plan file itself"), "{told}");
    let path = folder.0.join("a.toml");
    fs::write(&path, b"title = \"x\"\nteam = \"\xff\"\n").unwrap();
    assert_eq!(
        folder.told(read(&path)),
        "a.toml:2:9: byte 0xff is not UTF-8\n  save the file as UTF-8\n\
         1 problem; nothing was started"
    );
}

#[test]
fn the_limits_of_the_board_are_checked_before_it_is_asked() {
    let long = "x".repeat(70_000);
    let many = |name: &str| (0..1024).map(|n| format!("\"{name}{n}\",")).collect::<String>();
    for (line, told) in [
        (format!("\"spec\":\"{long}\""), "the description has 70033 bytes, the limit is 65536"),
        (format!("\"v\":\"{}\"", "x".repeat(1_100_000)), "bytes, the limit is 1048576"),
        (format!("\"td\":[{}\"x\"]", many("T")), "waits for 1025 others, the limit is 1024"),
    ] {
        let text = format!("{HEADER}\n{{\"id\":\"T1\",\"a\":\"do\",\"f\":[],{line}}}\n");
        let refused = refused(parse("a", &text, Format::Lines));
        assert!(refused.contains(told), "{refused}");
    }
    for (line, told) in [
        (format!("subject = \"{}\"", "x".repeat(513)), "513 bytes, and the limit is 512"),
        (format!("subject = \"x\"\ndescription = \"{long}\""), "description has 70000 bytes"),
        (format!("subject = \"x\"\nfiles = [{}]", "\"a\",".repeat(257)), "257 entries of 257"),
        (format!("subject = \"x\"\nmetadata = {{ a = \"{long}\" }}"), "metadata has 70001 bytes"),
    ] {
        let text = format!("[[tasks]]\nid = \"a\"\n{line}\n");
        let refused = refused(parse("a", &text, Format::Toml));
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn files_of_parallel_tasks_are_noted_and_not_refused() {
    let text = header("01", "")
        + &task("T1", "\"src/a.rs\", \"db/\"", "")
        + &task("T2", "\"./src//a.rs\"", "\"T1\"")
        + &task("T3", "\"src/a.rs\"", "\"T2\"")
        + &task("T4", "\"db/schema.sql\", \"src/*.rs\"", "");
    let plan = parse("p", &text, Format::Lines).unwrap();
    assert_eq!(
        plan.notes,
        ["\"db/schema.sql\" is written by 03-01/T1 (p:2) and 03-01/T4 (p:5), which do not wait \
          for each other: one at a time"]
    );
}

#[test]
fn the_plans_of_the_manual_are_accepted_and_its_keys_are_all() {
    let manual = include_str!("../../../../docs/plans.md");
    let block = |mark: &str| {
        let (_, rest) = manual.split_once(&format!("```{mark}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let plan = parse("add-search.toml", block("toml"), Format::Toml).unwrap();
    assert_eq!(plan.tasks.len(), 3);
    let plan = parse("03-01.plan.jsonl", block("jsonl"), Format::Lines).unwrap();
    assert_eq!(plan.tasks.len(), 3);
    for key in super::lines::keys().chain(super::tables::keys()) {
        assert!(manual.contains(&format!("| `{key}` |")), "the manual does not explain {key}");
    }
}

#[test]
fn a_teammate_may_have_a_host_and_labels() {
    let text = r#"
        [[teammates]]
        name = "ana"
        host = "box"
        labels = ["gpu", "big", "gpu"]
        [[teammates]]
        name = "bo"
        [[tasks]]
        id = "a"
        subject = "do"
    "#;
    let plan = parse("plan.toml", text, Format::Toml).unwrap();
    let runs: Vec<String> = plan.teammates.iter().map(|mate| mate.runs.to_string()).collect();
    assert_eq!(runs, ["on box, with big, gpu", ""]);
}

#[test]
fn a_team_is_named_after_its_file() {
    for (path, name) in [
        ("plans/add-search.toml", "add-search"),
        ("03-01.plan.jsonl", "03-01"),
        ("my plan (2).toml", "my-plan--2"),
        ("all.toml", "run"),
        ("ünï.toml", "n"),
        ("..", "run"),
    ] {
        assert_eq!(team_name(Path::new(path)), name, "{path}");
    }
}

/// A plan of many tasks, each of which waits for the one before.
fn large(tasks: usize, backwards: bool) -> String {
    let mut text = header("01", "");
    for n in 0..tasks {
        let n = if backwards { tasks - 1 - n } else { n };
        let on = if n > 0 { format!("\"T{}\"", n - 1) } else { String::new() };
        let files = format!("\"src/{}/{n}.rs\"", n % 100);
        text.push_str(&task(&format!("T{n}"), &files, &on));
    }
    text
}

#[test]
fn a_plan_too_large_for_one_request_is_ordered_so_that_its_parts_can_be_created_in_turn() {
    let plan = parse("p", &large(10_001, true), Format::Lines).unwrap();
    let sizes: Vec<usize> = plan.batches().iter().map(|batch| batch.len()).collect();
    assert_eq!(sizes, [10_000, 1]);
    assert_eq!(plan.tasks[0].0.alias.as_deref(), Some("03-01/T0"));
    // What fits keeps the order of the file.
    let plan = parse("p", &large(3, true), Format::Lines).unwrap();
    assert_eq!(plan.tasks[0].0.alias.as_deref(), Some("03-01/T2"));
    assert_eq!(plan.batches().len(), 1);
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn no_bytes_whatever_make_reading_fail_other_than_with_a_list() {
    let mut dice = Dice(7);
    let lines = large(6, true) + HEADER;
    let tables = "title = \"x\"\n[[teammates]]\nname = \"a\"\n[[tasks]]\nid = \"a\"\n\
                  files = [\"b\"]\nneeds = [\"b\"]\nmetadata = { a = 1 }\n";
    for round in 0..3_000 {
        let format = if round % 2 == 0 { Format::Lines } else { Format::Toml };
        let seed = if format == Format::Lines { lines.as_bytes() } else { tables.as_bytes() };
        let mut bytes = seed.to_vec();
        for _ in 0..=dice.roll(6) {
            let at = dice.roll(bytes.len());
            match dice.roll(4) {
                0 => bytes[at] = dice.roll(256) as u8,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, b"{}[]\",:=\n.#"[dice.roll(11)]),
                _ => bytes = [&bytes[at..], &bytes[..at]].concat(),
            }
        }
        let mut draft = Draft::default();
        add_bytes(&"p".into(), &bytes, format, &mut draft);
        if let Err(errors) = draft.finish() {
            assert!(errors.to_string().ends_with("; nothing was started"));
        }
    }
}

#[test]
#[ignore = "prints how long reading takes; run it by name"]
fn fifty_thousand_tasks_are_read_in_linear_time() {
    for tasks in [10_000, 50_000, 100_000] {
        for (what, text) in [
            ("in order", large(tasks, false)),
            ("backwards", large(tasks, true)),
            ("a circle", large(tasks, false).replace("\"td\":[]", "\"td\":[\"T9\"]")),
            ("unknown keys", large(tasks, false).replace("\"td\"", "\"tdd\"")),
            ("one folder", large(tasks, false).replace("\"src/7/", "\"src\", \"src/7/")),
        ] {
            let start = Instant::now();
            let read = parse("p", &text, Format::Lines);
            println!("{tasks:>7} tasks {what:<12} {:?} {}", start.elapsed(), read.is_ok());
        }
    }
    let over = refused(parse("p", &large(100_001, false), Format::Lines));
    assert!(over.contains("the plan has more than 100000 tasks\n  run it in parts"), "{over}");
}
