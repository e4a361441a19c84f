//! What is read from a features file, and what is said about a bad one.

use serde_json::json;

use super::*;

fn feature(id: &str, more: Value) -> Value {
    let mut feature = json!({
        "id": id, "description": format!("Build {id}"), "priority": 1, "status": "pending",
        "scope": [format!("src/{id}/")], "depends_on": [], "assigned_to": null,
        "test_file": null, "coverage": null, "notes": null,
    });
    feature.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    feature
}

fn file(features: &[Value]) -> String {
    format!("{:#}", json!({ "passing": 0, "total_features": 1, "features": features }))
}

fn work_of(features: &[Value]) -> Work {
    read("f.json", &file(features), false).unwrap()
}

#[track_caller]
fn refused(feature: Value, wanted: &str) {
    let told = read("f.json", &file(&[feature]), false).unwrap_err();
    assert!(told.contains(wanted), "{wanted:?} is missing in: {told}");
    assert!(told.contains("--set malformed=leave-out"), "{told}");
}

#[test]
fn a_scope_may_be_a_layer_or_a_flow_that_the_file_names() {
    let one = feature("F001", json!({ "scope": ["the payment flow", "docs/pay.md"] }));
    let two = feature("F002", json!({ "scope": ["api"] }));
    let scopes = json!({ "api": ["src/api/"], "the payment flow": ["src/pay/", "web/pay/"] });
    let text = json!({ "scopes": scopes, "features": [one, two] }).to_string();
    let work = read("f.json", &text, false).unwrap();
    assert_eq!(work.items[0].files, ["src/pay/", "web/pay/", "docs/pay.md"]);
    assert_eq!(work.items[1].files, ["src/api/"]);
    let told = read("f.json", &text.replace("[\"src/api/\"]", "7"), false).unwrap_err();
    assert!(told.contains("\"scopes\" is a list of paths for each name"), "{told}");
}

#[test]
fn all_fields_are_read_and_unknown_ones_are_kept() {
    let one = feature(
        "F001",
        json!({ "priority": 7, "coverage_target": 80, "risk": "elevated", "design": {"a": 1},
                "require_plan_approval": true, "delivered": false }),
    );
    let work = work_of(&[one]);
    let item = &work.items[0];
    assert_eq!((item.id.as_str(), item.subject.as_str()), ("F001", "Build F001"));
    assert_eq!((item.priority, item.files.clone()), (Some(7), vec!["src/F001/".to_owned()]));
    let field = |key: &str| item.fields.get(key).map(String::as_str);
    assert_eq!(field("coverage_target"), Some("80"));
    assert_eq!(field("risk"), Some("elevated"));
    assert_eq!(field("design"), Some(r#"{"a":1}"#));
    assert_eq!(field("require_plan_approval"), Some("true"));
    assert_eq!((field("delivered"), field("test_file")), (None, None));
}

#[test]
fn each_field_that_is_missing_or_of_a_wrong_kind_is_named_with_its_place_and_remedy() {
    let ten =
        "id description priority status scope depends_on assigned_to test_file coverage notes";
    assert_eq!(FIELDS.map(|(key, ..)| key).join(" "), ten);
    for (key, ..) in FIELDS {
        let mut one = feature("F001", json!({}));
        one.as_object_mut().unwrap().remove(key);
        refused(one, &format!("has no {key}: write"));
        let kind = if key == "coverage" { json!([1]) } else { json!(true) };
        refused(feature("F001", json!({ key: kind })), &format!("{key} is "));
    }
    let told = read("f.json", &file(&[feature("F001", json!({ "priority": 0 }))]), false);
    assert!(told.unwrap_err().contains("f.json:3: F001: priority is 0: write a whole number"));
    refused(feature("F001", json!({ "status": "done" })), "pending, in-progress, blocked, passing");
    refused(feature("F001", json!({ "scope": ["../x"] })), "F001: scope: ");
    refused(feature("F001", json!({ "coverage_target": 101 })), "write 1 to 100");
    refused(json!("F001"), "feature 1 is no object");
}

#[test]
fn what_waits_for_nobody_or_for_itself_is_named() {
    refused(
        feature("F001", json!({ "depends_on": ["F009"] })),
        "F001 depends on F009, which is not",
    );
    let circle = [
        feature("F001", json!({ "depends_on": ["F002"] })),
        feature("F002", json!({ "depends_on": ["F001"] })),
        feature("F002", json!({})),
    ];
    let told = read("f.json", &file(&circle), false).unwrap_err();
    for part in ["F001 waits for itself", "F002 waits for itself", "F002 is there twice, first at"]
    {
        assert!(told.contains(part), "{part:?} is missing in: {told}");
    }
    let broken = read("f.json", "{\n \"a\": 1\n \"b\": 2\n}", false).unwrap_err();
    assert_eq!(broken, "f.json:3: not JSON: expected `,` or `}`");
    let no_list = read("f.json", "{\n \"features\": {}\n}", false).unwrap_err();
    assert!(no_list.starts_with("f.json:2: \"features\" is no list"), "{no_list}");
    assert!(read("f.json", "{}", false).unwrap_err().contains("no list \"features\""));
}

#[test]
fn what_is_right_runs_without_the_rest_only_where_it_is_asked_for() {
    let features = [
        feature("F001", json!({ "status": "wrong" })),
        feature("F002", json!({ "depends_on": ["F001"] })),
        feature("F003", json!({})),
    ];
    assert!(read("f.json", &file(&features), false).is_err());
    let work = read("f.json", &file(&features), true).unwrap();
    assert_eq!(work.items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["F003"]);
    assert!(work.notes[0].contains("left out: f.json:3: F001: status is \"wrong\""));
    assert!(work.notes[1].contains("F002 depends on F001"));
}

#[test]
fn passing_counts_as_done_and_blocked_is_not_believed() {
    let work = work_of(&[
        feature("F001", json!({ "status": "passing" })),
        feature("F002", json!({ "status": "blocked", "depends_on": ["F001"] })),
        feature("F003", json!({ "status": "blocked", "depends_on": ["F001", "F002"] })),
        feature("F004", json!({ "status": "blocked", "notes": "waits for the vendor" })),
        feature("F005", json!({ "status": "failed" })),
    ]);
    let open: Vec<(&str, usize)> =
        work.items.iter().map(|item| (item.id.as_str(), item.needs.len())).collect();
    assert_eq!(open, [("F002", 0), ("F003", 1), ("F005", 0)]);
    assert_eq!(work.done[0].id, "F001");
    let notes = work.notes.join("\n");
    assert!(notes.contains("F002 is called blocked, and waits for nothing"), "{notes}");
    assert!(notes.contains("F004 is blocked from outside and left out: waits for the vendor"));
    assert!(notes.contains("says passing is 0, and it is 1: corrected"), "{notes}");
    assert!(notes.contains("says total_features is 1, and it is 5: corrected"), "{notes}");
}

#[test]
fn what_a_run_that_is_over_had_begun_is_taken_up_by_the_same_teammate() {
    let taken = json!({ "status": "in-progress", "assigned_to": "ana" });
    let work = work_of(&[feature("F001", taken)]);
    assert_eq!(work.items[0].assignee.as_deref(), Some("ana"));
    assert!(work.notes.join("\n").contains("F001 was in progress by ana in a run that is over"));
}

#[test]
fn the_first_feature_of_a_code_base_is_known() {
    let first = |work: &Work| {
        let first = work.items.iter().filter(|item| item.has("first"));
        first.map(|item| item.id.clone()).collect::<Vec<_>>()
    };
    let later = feature("F001", json!({ "priority": 2 }));
    let open = [later.clone(), feature("F002", json!({}))];
    assert_eq!(first(&work_of(&open)), ["F002"]);
    assert!(first(&work_of(&[later, feature("F002", json!({ "status": "passing" }))])).is_empty());
}

#[test]
fn the_file_in_the_manual_is_one() {
    const MANUAL: &str = include_str!("../../../../../docs/playbook-files.md");
    let (_, rest) = MANUAL.split_once("```json\n").unwrap();
    let work = read("f.json", rest.split_once("```").unwrap().0, false).unwrap();
    assert_eq!((work.items.len(), work.notes), (2, Vec::new()));
    for (key, ..) in FIELDS {
        assert!(MANUAL.contains(&format!("| `{key}` | ")), "the manual does not explain {key}");
    }
}
