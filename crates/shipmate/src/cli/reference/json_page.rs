//! `docs/reference/json.md` is written by hand, and held here to the types that commands print:
//! an example is read as its type and written again the same, every field of it is explained, and
//! nothing is explained that is not there.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shipmate_model::Record;
use shipmate_protocol::answers::Claimed;
use shipmate_protocol::view::{
    AccountView, AgentView, DecidedRow, DecisionView, HostView, InboxMessage, Leftover, Merged,
    MessageTrace, NoteView, PhaseView, PlanView, PlaybookChecked, PlaybookView, QuestionView,
    Resumed, Status, TaskDiff, TaskRow, TaskView, TeamView, TeammateView,
};

use crate::cli::decisions::Listed;

/// Fails where an example is not what the program would print.
type Hold = fn(&Value);

/// Every section of the page, in its order.
const SHAPES: [(&str, Hold); 29] = [
    ("Task of a list", same::<Vec<TaskRow>>),
    ("Task", same::<TaskView>),
    ("What a task has changed", same::<TaskDiff>),
    ("Claim", same::<Claimed>),
    ("Team", same::<Vec<TeamView>>),
    ("Teammate", same::<Vec<TeammateView>>),
    ("Host", same::<Vec<HostView>>),
    ("Account", same::<Vec<AccountView>>),
    ("Status", same::<Status>),
    ("Message", same::<Vec<InboxMessage>>),
    ("Note", same::<Vec<NoteView>>),
    ("Trace", same::<MessageTrace>),
    ("Plan", same::<Vec<PlanView>>),
    ("Question", same::<Vec<QuestionView>>),
    ("Decision", decisions),
    ("Record", same::<Record>),
    ("The board as it was", |then| {
        same::<Status>(&then["status"]);
        same::<Vec<TaskRow>>(&then["tasks"]);
    }),
    ("Resumed", |resumed| {
        same::<Vec<Resumed>>(&resumed["teammates"]);
        same::<Vec<TaskRow>>(&resumed["in_flight"]);
    }),
    ("Merged", same::<Merged>),
    ("Left over", same::<Vec<Leftover>>),
    ("Agent program", same::<Vec<AgentView>>),
    ("Proposal", same::<Value>),
    ("Definitions of agents", same::<Value>),
    ("Playbook", same::<PlaybookView>),
    ("Playbook that was checked", same::<Vec<PlaybookChecked>>),
    ("Phases", |teams| same::<Vec<PhaseView>>(&teams[0]["phases"])),
    ("Run", same::<Value>),
    ("Finding", same::<Value>),
    ("Change", same::<Value>),
];

fn same<T: DeserializeOwned + Serialize>(example: &Value) {
    let read: T = serde_json::from_value(example.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), *example);
}

/// They are made from two other types, with other names for the same moments, and only written.
fn decisions(example: &Value) {
    let mut open = example[0].clone();
    open["at"] = open["asked_at"].clone();
    let open: DecisionView = serde_json::from_value(open).unwrap();
    let mut decided = example[1].clone();
    (decided["at"], decided["n"]) = (decided["decided_at"].clone(), decided["record"].clone());
    let decided: DecidedRow = serde_json::from_value(decided).unwrap();
    let listed = [Listed::open(open), Listed::decided(decided)];
    assert_eq!(serde_json::to_value(listed).unwrap(), *example);
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/json.md");
    std::fs::read_to_string(path).unwrap()
}

/// The first column of a section's table.
fn explained(section: &str) -> BTreeSet<String> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    rows.skip(1).map(|field| field.trim_matches('`').to_owned()).collect()
}

/// The fields of an example; of a list, those that any of its members has.
fn fields(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Array(many) => many.iter().flat_map(fields).collect(),
        Value::Object(one) => one.keys().cloned().collect(),
        other => panic!("{other} is no shape"),
    }
}

#[test]
fn every_example_is_what_the_program_prints_and_every_field_is_explained() {
    let page = page();
    let mut sections = page.split("\n## ").skip(1);
    let rows = explained(page.split("\n## ").nth(1).unwrap());
    for (title, hold) in SHAPES {
        let section = sections.next().unwrap().strip_prefix(title).expect(title);
        assert!(section.starts_with("\n\nPrinted as "), "{title}");
        let example = section.split("```json\n").nth(1).and_then(|rest| rest.strip_suffix("```\n"));
        let example: Value = serde_json::from_str(example.expect(title)).unwrap();
        hold(&example);
        let mut named = explained(section);
        if named.remove("id, subject, …") {
            // Left out there where they are absent, so they need not be in the example.
            let present = fields(&example);
            named.extend(rows.iter().filter(|field| present.contains(*field)).cloned());
        }
        assert_eq!(fields(&example), named, "{title}");
    }
    assert!(sections.next().unwrap().starts_with("Short answers\n"));
    assert_eq!(sections.next(), None);
}

#[test]
fn the_short_answers_are_json() {
    let page = page();
    let rows = page.split("\n## Short answers\n").nth(1).unwrap().lines().skip(3);
    for row in rows {
        let example = row.rsplit(" | ").next().and_then(|last| last.strip_suffix(" |")).expect(row);
        assert!(serde_json::from_str::<Value>(example.trim_matches('`')).is_ok(), "{row}");
    }
}

/// The types of the web page are generated from the same structs, so that a field that an example
/// leaves out is known too.
#[test]
fn what_is_left_out_when_it_is_empty_is_explained_for_a_task() {
    let types = include_str!("../../web/page/wire.d.ts");
    let page = page();
    for (title, interface) in [
        ("Task of a list", "TaskRow"),
        ("Task", "TaskView"),
        ("What a task has changed", "TaskDiff"),
    ] {
        let section = page.split("\n## ").find(|section| section.lines().next() == Some(title));
        let body = types.split(&format!("\nexport interface {interface} ")).nth(1).unwrap();
        let body = body.split("\n}\n").next().unwrap();
        let is_name = |name: &str| name.bytes().all(|b| b == b'_' || b.is_ascii_lowercase());
        let fields =
            body.lines().filter_map(|line| line.strip_prefix("  ")?.split([':', '?']).next());
        let explained = explained(section.unwrap());
        for field in fields.filter(|field| is_name(field)) {
            assert!(explained.contains(field), "{field} of {interface}");
        }
    }
}
