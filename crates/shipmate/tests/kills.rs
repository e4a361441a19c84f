//! Commands that are killed at calls spread over all they do, and what is found after each.
//!
//! A small part of `cargo xtask kills`, which tries every moment. strace is Debian's package; `cargo
//! xtask test` installs it where it is missing.

use std::path::Path;

use shipmate_testkit::kills::{Kills, Moments, Subject, Target};

/// So many moments for each way of being killed.
const KILLS: u64 = 3;

#[track_caller]
fn holds(subject: Subject) {
    let program = Path::new(env!("CARGO_BIN_EXE_shipmate"));
    let mut kills = Kills::new(program, subject.name()).expect("the kills can be made ready");
    let mut story = Vec::new();
    let mut violations = Vec::new();
    for target in Target::ALL {
        let moments = Moments::Spread { kills: KILLS };
        let swept = kills.sweep(subject, target, moments, |line| story.push(line.to_owned()));
        let swept = swept.unwrap_or_else(|e| panic!("{e}\n{}", story.join("\n")));
        assert!(swept.fired > 0, "nothing was killed\n{}", story.join("\n"));
        violations.extend(swept.violations.iter().map(ToString::to_string));
    }
    if !violations.is_empty() {
        kills.end();
        panic!("{}\n{}", violations.join("\n"), story.join("\n"));
    }
    kills.remove();
}

#[test]
fn a_team_whose_creation_is_killed_is_there_or_not_and_works() {
    holds(Subject::Create);
}

#[test]
fn a_resume_that_is_killed_is_said_again_and_finishes_the_work() {
    holds(Subject::Resume);
}

#[test]
fn a_merge_that_is_killed_leaves_the_repository_as_before_or_as_after() {
    holds(Subject::Merge);
}

#[test]
fn a_deletion_that_is_killed_loses_no_work() {
    holds(Subject::Delete);
}
