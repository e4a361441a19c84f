//! What one leaves for the next: handoffs with the work, and notes.

use shipmate_model::limits::NOTES_KEPT;

use crate::play::play;

scenarios! {
    a_note_is_anybodys_who_is_there: "
        team alpha
        join ana
        create x
        note \"the tests need UTC\" by ana       => note.added
        note \"  x is slow \" on 1               => note.added
        note \"\" by ana                         => refused: the note is empty
        note \"lost\" on 7 by ana                => refused: there is no task 7
        note \"from nowhere\" by outside         => refused: outside may not add a note
        remove ana
        note \"late\" by ana \
            => refused: there is no teammate alpha/ana; members: none
    ",
    a_note_is_removed_by_its_author_or_a_person: "
        team alpha
        team beta under alpha
        team gamma under alpha
        join ana
        join bo
        join gamma/cy
        create x
        note \"the tests need UTC\" by ana       => note.added
        note \"x is slow\" on 1 by ana            => note.added
        note \"of beta\" in beta                => note.added
        remove-note 12 by bo \
            => refused: note 12 was written by alpha/ana@1
        remove-note 11 by ana                    => note.removed
        remove-note 11 by ana                    => refused: there is no note 11
        remove-note 10 by ana                   => refused: there is no note 10
        remove-note 13 by gamma/cy                   => refused: there is no note 13
        remove-note 12 by outside                => refused: outside may not remove a note
        remove-note 12                          => note.removed
        note \"again\" by ana                    => note.added
        ended ana
        start ana
        remove-note 16 by ana                   => note.removed
    ",
    a_handoff_goes_with_the_submission: "
        team alpha gate
        join ana
        create x
        claim 1 by ana
        submit 1 by ana handoff \"parser\"       => task.submitted
        return 1 reason \"red\"
        submit 1 by ana                          => task.submitted
        complete 1 by runtime                    => task.completed
        create y
        claim 2 by ana
        submit 2 by ana handoff \"!it is a list\" => task.submitted
    ",
}

#[test]
fn a_note_that_is_too_long_is_refused_with_its_limit() {
    let long = "x".repeat(2049);
    play(&format!(
        "
        team alpha
        join ana
        note \"{}\" by ana => note.added
        note \"{long}\" by ana => refused: the note is 2049 bytes and the limit is 2048
        ",
        &long[1..]
    ));
}

#[test]
fn the_newest_notes_stay_in_the_state() {
    let story = format!("team alpha\nnote \"the first\"\nrepeat {NOTES_KEPT} note \"again\"");
    let world = play(&story);
    let alpha = "alpha".parse().unwrap();
    let notes: Vec<_> = world.state().notes_of(&alpha).collect();
    assert_eq!(notes.len(), NOTES_KEPT);
    assert!(notes.iter().all(|note| note.text == "again"), "the first is only in the log");
    assert!(notes[0].id > notes[1].id, "the newest comes first");
}

#[test]
fn a_removed_note_is_read_by_nobody() {
    let world = play(
        "
        team alpha
        create x
        note first on 1
        note second on 1
        note third on 1
        remove-note 4
        ",
    );
    let texts = |notes: Vec<&shipmate_core::state::Note>| -> Vec<String> {
        notes.iter().map(|note| note.text.clone()).collect()
    };
    let alpha = "alpha".parse().unwrap();
    assert_eq!(texts(world.state().notes_of(&alpha).collect()), ["third", "first"]);
    let on_it = world.state().notes_of(&alpha).filter(|note| note.task == Some(1));
    assert_eq!(texts(on_it.collect()), ["third", "first"]);
}

#[test]
fn a_team_reads_the_notes_of_those_above_and_below_it() {
    let world = play(
        "
        team alpha
        team beta under alpha
        team gamma under alpha
        note \"of alpha\"
        note \"of beta\" in beta
        note \"of gamma\" in gamma
        ",
    );
    let read = |team: &str| -> Vec<String> {
        let team = team.parse().unwrap();
        world.state().notes_of(&team).map(|note| note.text.clone()).collect()
    };
    assert_eq!(read("alpha"), ["of gamma", "of beta", "of alpha"]);
    assert_eq!(read("beta"), ["of beta", "of alpha"]);
    assert_eq!(read("gamma"), ["of gamma", "of alpha"]);
}

#[test]
fn a_handoff_is_that_of_the_claim_whose_work_it_came_with() {
    let handed = |story: &str| -> Option<String> {
        let story =
            format!("team alpha gate\njoin ana\njoin bo\ncreate x\nclaim 1 by ana\n{story}");
        let world = play(&story);
        let handed = world.state().task(1).unwrap().handoff.clone();
        handed.map(|handed| format!("{}: {}", handed.by, handed.handoff.done.join(", ")))
    };
    let first = "submit 1 by ana handoff lexer\n";
    assert_eq!(handed(first).as_deref(), Some("alpha/ana@1: lexer"));
    let again = format!("{first}return 1 reason red\nclaim 1 by ana\nsubmit 1 by ana\n");
    assert_eq!(handed(&again).as_deref(), Some("alpha/ana@1: lexer"), "it stays with its claim");
    let other =
        format!("{first}return 1 reason red\nrelease 1 by ana\nclaim 1 by bo\nsubmit 1 by bo\n");
    assert_eq!(handed(&other), None, "another's work has another's handoff");
    let newer = other.replace("submit 1 by bo", "submit 1 by bo handoff parser");
    assert_eq!(handed(&newer).as_deref(), Some("alpha/bo@1: parser"));
}
