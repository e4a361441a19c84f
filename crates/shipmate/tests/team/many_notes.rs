//! A scratchpad with more notes than are kept: every answer stays small, and what is old is in the log.

use std::time::Instant;

use serde_json::Value;
use shipmate_model::limits::NOTES_KEPT;
use shipmate_protocol::verbs::{self, Setup};
use shipmate_protocol::{Answer, Ask};

use crate::stage::Stage;

fn found(stage: &mut Stage, notes: verbs::Notes) -> Vec<String> {
    let Answer::Notes(found) = stage.ask(Ask::Notes(notes)) else { panic!("it lists notes") };
    found.into_iter().map(|note| note.text).collect()
}

#[test]
fn more_notes_than_are_kept_are_added_listed_and_searched_a_page_at_a_time() {
    let mut stage = Stage::new("");
    stage.team(Setup::default(), &[]);
    let begun = Instant::now();
    for n in 0..=NOTES_KEPT {
        let text = format!("note number {n} says that the tests need UTC {}", "x".repeat(100));
        stage.ask(Ask::NoteAdd(verbs::NoteAdd { text, task: None }));
    }
    println!("{} notes added in {:?}", NOTES_KEPT + 1, begun.elapsed());

    let begun = Instant::now();
    let all = verbs::Notes { limit: Some(usize::MAX), ..verbs::Notes::default() };
    assert_eq!(found(&mut stage, all).len(), verbs::NOTES_MAX, "an answer is a page");
    println!("a page of {} in {:?}", verbs::NOTES_MAX, begun.elapsed());
    let search =
        |text: &str| verbs::Notes { search: Some(text.to_owned()), ..verbs::Notes::default() };
    let begun = Instant::now();
    assert_eq!(found(&mut stage, search("number 1 utc")).len(), verbs::NOTES_MAX);
    assert_eq!(found(&mut stage, search("nowhere to be found")), Vec::<String>::new());
    println!("two searches in {:?}", begun.elapsed());
    // The first is no longer kept; its record is.
    let oldest = found(&mut stage, verbs::Notes { before: Some(9), ..verbs::Notes::default() });
    assert!(
        !oldest.is_empty() && oldest.iter().all(|text| !text.contains("number 0 ")),
        "{oldest:?}"
    );
    stage.catch_up();
    assert_eq!(stage.events("note.added").len(), NOTES_KEPT + 1);

    let begun = Instant::now();
    let listed = stage.shipmate(&["note", "list", "--limit", "200", "--json"]);
    let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed.len(), 200);
    println!("`shipmate note list` in {:?}", begun.elapsed());
    let told = String::from_utf8(stage.shipmate(&["note", "list"]).stdout).unwrap();
    assert!(told.contains("there may be older ones: --before"), "{told}");
    // A coordinator that begins anew knows them.
    let begun = Instant::now();
    stage.without_coordinator(|_| {});
    assert_eq!(found(&mut stage, search(&format!("number {NOTES_KEPT}"))).len(), 1);
    println!("they are there again after {:?}", begun.elapsed());
}
