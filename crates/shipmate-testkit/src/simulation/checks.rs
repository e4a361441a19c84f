//! The guarantees, as functions over the history: each names the one it holds.
//!
//! Commands are checked in the order of the log, each against the account of what stood before
//! it. A command that was refused although it had to be accepted is a breach as well: a team that
//! is stuck is as broken as one that does a thing twice.

mod board;
mod course;
mod expect;
mod expect_talk;
mod health;
mod hosts;
mod ledger;
mod mail;
mod routes;
mod state;

use shipmate_core::{Outcome, State, apply};
use shipmate_model::event::{Event, Record};
use shipmate_model::{Act, Command, Refusal};

use super::model::Model;
use crate::Random;

/// A guarantee that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    pub guarantee: &'static str,
    pub fact: String,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.guarantee, self.fact)
    }
}

pub(crate) type Check = Result<(), Breach>;

/// The check itself, so that each function reads as a list of facts that must hold.
pub(crate) fn hold(guarantee: &'static str, holds: bool, fact: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(Breach { guarantee, fact: fact() }) }
}

/// One command of a batch that the log has, and what became of it.
#[derive(Debug)]
pub(crate) struct Confirmed<'a> {
    pub(crate) command: &'a Command,
    /// A second act of the same request, decided on what the first has changed.
    pub(crate) then: Option<&'a Act>,
    pub(crate) outcome: &'a Outcome,
    /// How long whoever appended it had known the claim it lets expire, on its own clock.
    pub(crate) waited_ms: Option<u64>,
}

/// What has been appended so far, twice: as the model sees it and as the core folds it.
#[derive(Debug)]
pub(crate) struct Checker {
    pub(crate) model: Model,
    /// Folded from the text of the log, record by record.
    pub(crate) reference: State,
    pub(crate) records: Vec<Record>,
    sample: Random,
}

impl Checker {
    pub(crate) fn new(seed: u64) -> Checker {
        Checker {
            model: Model::default(),
            reference: State::default(),
            records: Vec::new(),
            sample: Random::new(seed ^ 0x5a5a),
        }
    }

    /// Takes in a batch that is in the log: its commands in order, and its records as read back.
    pub(crate) fn batch(&mut self, confirmed: &[Confirmed<'_>], records: &[Record]) -> Check {
        let mut rest = records;
        for one in confirmed {
            let next = self.model.end + 1;
            match one.outcome {
                Outcome::Done { first, last } if *first >= next => {
                    let size = (last + 1 - first) as usize;
                    ledger::g2_an_answer_names_records_of_the_log(*first, next, size, rest.len())?;
                    let (own, later) = rest.split_at(size);
                    rest = later;
                    self.accepted_request(one, own)?;
                }
                Outcome::Done { first, last } => {
                    ledger::g2_a_repeated_request_gets_its_own_records(
                        &self.records,
                        one.command,
                        *first,
                        *last,
                    )?;
                }
                Outcome::Unchanged => {
                    self.expected(one, None)?;
                    mail::g3_an_empty_answer_means_an_empty_inbox(&self.model, one.command)?;
                }
                Outcome::Refused(Refusal::StaleRequest { .. }) => {}
                Outcome::Refused(refusal) => self.expected(one, Some(refusal))?,
            }
        }
        hold("G2", rest.is_empty(), || {
            format!("{} records belong to no command of the batch", rest.len())
        })?;
        if self.sample.chance(15) {
            self.whole_state()?;
        }
        Ok(())
    }

    fn accepted_request(&mut self, one: &Confirmed<'_>, records: &[Record]) -> Check {
        ledger::g2_no_request_is_carried_out_twice(&self.model, one.command, records)?;
        let Some(then) = one.then else { return self.accepted(one, records) };
        // What follows is a claim, which is one record; none if there was nothing to claim.
        let claims = |record: &Record| matches!(record.event, Event::TaskClaimed { .. });
        let claimed = records.last().is_some_and(claims);
        let (first, second) = records.split_at(records.len() - usize::from(claimed));
        self.accepted(one, first)?;
        let command = Command { act: then.clone(), ..one.command.clone() };
        let second_act = Confirmed { command: &command, then: None, ..*one };
        if claimed {
            return self.accepted(&second_act, second);
        }
        let expected = expect::verdict(&self.model, &self.reference, &command);
        hold("G4", expected != Some(true), || format!("{then:?} had to follow and did not"))
    }

    fn expected(&self, one: &Confirmed<'_>, refusal: Option<&Refusal>) -> Check {
        let expected = expect::verdict(&self.model, &self.reference, one.command);
        match (expected, refusal) {
            (Some(true), Some(refusal)) => Err(Breach {
                guarantee: "G4",
                fact: format!("the command had to be accepted and was refused: {refusal}"),
            }),
            (Some(false), None) => Err(Breach {
                guarantee: "G4",
                fact: format!("the command had to be refused: {:?}", one.command.act),
            }),
            _ => Ok(()),
        }
    }

    fn accepted(&mut self, one: &Confirmed<'_>, records: &[Record]) -> Check {
        // Said last, after the guarantee it would break has had its say.
        let expected = self.expected(one, None);
        health::g5_the_actor_is_current(&self.model, records)?;
        health::g10_no_lease_ends_early(&self.model, one)?;
        health::stalls_go_step_by_step(&self.model, one, records)?;
        board::g1_the_best_task_is_claimed(&self.model, &self.reference, one.command, records)?;
        board::g5_a_gate_decides(&self.model, records)?;
        mail::g3_reading_takes_the_oldest(&self.model, one.command, records)?;
        for record in records {
            let model = &self.model;
            board::g1_one_holder(model, record)?;
            board::g5_the_token_is_current(model, record)?;
            board::a_claim_respects_the_plan(model, record)?;
            board::retries_have_a_limit(model, record)?;
            board::handles_are_unique(model, record)?;
            mail::g3_letters_have_one_fate(model, record)?;
            mail::g3_mail_goes_to_those_who_can_get_it(model, record)?;
            mail::g5_control_ends_with_its_epoch(model, record)?;
            health::g5_the_subject_is_current(model, record)?;
            health::the_breaker_is_legal(model, record)?;
            health::a_paused_team_rests(model, record)?;
            health::reservations_stay_in_the_budget(model, record)?;
            health::a_deleted_team_is_empty(model, record)?;
            hosts::a_life_has_a_place(model, record)?;
            hosts::g5_a_boot_is_one_time(model, record)?;
            course::phases_come_in_their_order(model, record)?;
            course::only_the_runtime_asks_and_only_a_person_answers(model, record)?;
            routes::mail_keeps_to_its_routes(model, record)?;
            routes::trouble_climbs_and_answers_come_down(model, record)?;
            course::nobody_goes_round_for_ever(&self.reference, record)?;
            self.model.apply(record);
            apply(&mut self.reference, record);
            state::nobody_is_overlooked(&self.reference)?;
            board::hands_have_a_limit(&self.model, record)?;
        }
        self.records.extend_from_slice(records);
        health::an_ended_life_holds_nothing(&self.model, records)?;
        health::two_strikes_open_the_breaker(&self.model, records)?;
        mail::g3_nobody_leaves_with_mail(&self.model, records)?;
        mail::a_failure_is_told(records)?;
        state::g12_everything_is_bounded(&self.reference)?;
        expected
    }

    /// Compares everything there is to compare; dear, so only now and then and at the end.
    pub(crate) fn whole_state(&mut self) -> Check {
        state::the_board_is_as_the_log_says(&self.model, &self.reference)?;
        state::the_roster_is_as_the_log_says(&self.model, &self.reference)?;
        course::each_team_is_where_the_log_says(&self.model, &self.reference)?;
        routes::trouble_lies_where_the_log_says(&self.model, &self.reference)?;
        state::g3_each_letter_is_where_the_log_says(&self.model, &self.reference)?;
        state::the_best_next_task_is_the_best_of_all(&self.model, &self.reference)?;
        state::a_snapshot_restores_the_state(&self.reference)
    }

    /// A writer that knows the whole log must be where the log leads.
    pub(crate) fn compare(&self, what: &str, state: &State) -> Check {
        if state.position != self.reference.position {
            return Ok(());
        }
        hold("replay", *state == self.reference, || {
            format!("{what} differs from the fold of the log at {}", state.position)
        })
    }
}
