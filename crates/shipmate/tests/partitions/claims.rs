//! Claims as their clients see them, and whether one board that does one thing at a time could have given
//! the same answers.
//!
//! The check is by Wing and Gong's algorithm in a crate that is not ours. It is done for each task by itself,
//! because tasks are independent and what holds for each of them holds for all.

use std::collections::BTreeMap;

use todc_utils::{Action, History, Specification, WGLChecker};

/// Who asked: the number of a life of a client.
pub(crate) type Hand = usize;

/// The runtime, which takes back what was held on a machine that is lost.
pub(crate) const RUNTIME: Hand = usize::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Claim,
    Release { token: u64 },
    Complete { token: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    /// Done; with the token of the claim.
    Done { token: u64 },
    /// Another holds it.
    HeldByOther,
    /// It is completed.
    IsCompleted,
    /// This claim is over, or nobody holds the task.
    NotHeld,
    /// Nobody knows whether it was done, or will be.
    Unknown,
}

/// One request of a client, with when it was asked and answered on the one clock of the test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) hand: Hand,
    pub(crate) task: u32,
    pub(crate) asked: Asked,
    pub(crate) answered: Answered,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

/// One task on a board that does one thing at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// The newest token that was ever given out for it.
    Free {
        last: u64,
    },
    /// The token of a claim whose answer never came is not known yet.
    Held {
        by: Hand,
        token: Option<u64>,
        last: u64,
    },
    Completed,
}

pub(crate) struct Board;

impl Specification for Board {
    type State = Task;
    type Operation = Call;

    fn init() -> Task {
        Task::Free { last: 0 }
    }

    fn apply(call: &Call, task: &Task) -> (bool, Task) {
        let (did, then) = carry_out(call, task);
        let is_so = match call.answered {
            // It was done now, later, or never; whichever, nobody was told.
            Answered::Unknown => true,
            answered => answered == did,
        };
        (is_so, if is_so { then } else { *task })
    }
}

/// What the board answers, and what the task is then. Only a claim that is not known to the clients has a
/// token that the call itself names.
fn carry_out(call: &Call, task: &Task) -> (Answered, Task) {
    let given = match call.answered {
        Answered::Done { token } => Some(token),
        _ => None,
    };
    let hand = call.hand;
    match (call.asked, *task) {
        (Asked::Claim, Task::Free { last }) => match given {
            // A later claim has a greater token: that is what fences the earlier one off.
            Some(token) if token <= last => (Answered::NotHeld, *task),
            _ => {
                let last = given.unwrap_or(last);
                let then = Task::Held { by: hand, token: given, last };
                (given.map_or(Answered::Unknown, |token| Answered::Done { token }), then)
            }
        },
        // The holder asks again: the claim stays what it is, and its token is told.
        (Asked::Claim, Task::Held { by, token, last }) if by == hand => match (token, given) {
            (Some(token), _) => (Answered::Done { token }, *task),
            (None, Some(given)) if given > last => {
                let then = Task::Held { by, token: Some(given), last: given };
                (Answered::Done { token: given }, then)
            }
            (None, _) => (Answered::Unknown, *task),
        },
        (Asked::Claim, Task::Held { .. }) => (Answered::HeldByOther, *task),
        (Asked::Claim, Task::Completed) => (Answered::IsCompleted, *task),
        // One whose answer never came may be taken back before anybody was told its token.
        (Asked::Release { token }, Task::Held { token: held, last, .. })
            if hand == RUNTIME && held.is_none_or(|held| held == token) && token >= last =>
        {
            (Answered::Done { token }, Task::Free { last: token })
        }
        (Asked::Release { token }, Task::Held { by, token: held, .. })
            if by == hand && held == Some(token) =>
        {
            (Answered::Done { token }, Task::Free { last: token })
        }
        (Asked::Complete { token }, Task::Held { by, token: held, .. })
            if by == hand && held == Some(token) =>
        {
            (Answered::Done { token }, Task::Completed)
        }
        (Asked::Release { .. } | Asked::Complete { .. }, _) => (Answered::NotHeld, *task),
    }
}

/// What the runtime took back, at a time that no client knows: judged by the log.
pub(crate) fn taken_back(log: &[serde_json::Value]) -> impl Iterator<Item = Call> + '_ {
    let released = log.iter().filter_map(|record| record["event"].get("task.released"));
    let taken = released.filter(|event| event["cause"] != "given_back");
    taken.map(|event| {
        let (task, token) = (event["task"].as_u64().unwrap(), event["token"].as_u64().unwrap());
        let (asked, answered) = (Asked::Release { token }, Answered::Done { token });
        Call { hand: RUNTIME, task: task as u32, asked, answered, from_ns: 0, to_ns: u64::MAX }
    })
}

/// The first task whose answers no such board could have given, with all that was said about it.
pub(crate) fn refuted(calls: &[Call]) -> Option<Vec<Call>> {
    let mut by_task: BTreeMap<u32, Vec<Call>> = BTreeMap::new();
    calls.iter().for_each(|call| by_task.entry(call.task).or_default().push(*call));
    by_task.into_values().find(|calls| !WGLChecker::<Board>::is_linearizable(history(calls)))
}

fn history(calls: &[Call]) -> History<Call> {
    let mut moments: Vec<(u64, bool, usize)> = Vec::new();
    for (n, call) in calls.iter().enumerate() {
        // What nobody was told of may still be done after everything else.
        let is_open = call.answered == Answered::Unknown;
        moments.push((call.from_ns, false, n));
        moments.push((if is_open { u64::MAX } else { call.to_ns }, true, n));
    }
    moments.sort_unstable();
    let action = |(_, is_end, n): (u64, bool, usize)| match is_end {
        false => (n, Action::Call(calls[n])),
        true => (n, Action::Response(calls[n])),
    };
    History::from_actions(moments.into_iter().map(action).collect())
}

#[cfg(test)]
mod tests {
    use super::Answered::{Done, HeldByOther, IsCompleted, NotHeld, Unknown};
    use super::Asked::{Claim, Complete, Release};
    use super::*;

    fn call(hand: Hand, when: (u64, u64), asked: Asked, answered: Answered) -> Call {
        Call { hand, task: 1, asked, answered, from_ns: when.0, to_ns: when.1 }
    }

    #[track_caller]
    fn holds(calls: &[Call]) {
        assert!(refuted(calls).is_none(), "{calls:#?}");
    }

    #[track_caller]
    fn is_refuted(calls: &[Call]) {
        assert!(refuted(calls).is_some(), "{calls:#?}");
    }

    #[test]
    fn a_claim_that_is_given_back_and_taken_by_another_could_be() {
        holds(&[
            call(0, (1, 2), Claim, Done { token: 5 }),
            call(1, (3, 4), Claim, HeldByOther),
            call(0, (5, 6), Claim, Done { token: 5 }),
            call(0, (7, 8), Release { token: 5 }, Done { token: 5 }),
            call(1, (9, 10), Claim, Done { token: 9 }),
            call(0, (11, 12), Complete { token: 5 }, NotHeld),
            call(1, (13, 14), Complete { token: 9 }, Done { token: 9 }),
            call(0, (15, 16), Claim, IsCompleted),
        ]);
    }

    #[test]
    fn two_holders_at_a_time_could_not() {
        is_refuted(&[
            call(0, (1, 2), Claim, Done { token: 5 }),
            call(1, (3, 4), Claim, Done { token: 9 }),
            call(0, (5, 6), Release { token: 5 }, Done { token: 5 }),
        ]);
        // Not even when they asked at the same time.
        is_refuted(&[
            call(0, (1, 4), Claim, Done { token: 5 }),
            call(1, (1, 4), Claim, Done { token: 9 }),
            call(0, (5, 6), Complete { token: 5 }, Done { token: 5 }),
        ]);
    }

    #[test]
    fn an_answer_out_of_the_past_could_not() {
        is_refuted(&[
            call(0, (1, 2), Claim, Done { token: 5 }),
            call(0, (3, 4), Release { token: 5 }, Done { token: 5 }),
            call(1, (5, 6), Claim, HeldByOther),
        ]);
        is_refuted(&[
            call(0, (1, 2), Claim, Done { token: 9 }),
            call(0, (3, 4), Release { token: 9 }, Done { token: 9 }),
            call(1, (5, 6), Claim, Done { token: 5 }),
        ]);
    }

    #[test]
    fn what_nobody_was_told_of_may_have_been_done_or_not() {
        let lost = call(0, (1, 2), Claim, Unknown);
        holds(&[lost, call(1, (3, 4), Claim, HeldByOther)]);
        holds(&[lost, call(1, (3, 4), Claim, Done { token: 5 })]);
        holds(&[
            lost,
            call(1, (3, 4), Claim, Done { token: 5 }),
            call(1, (5, 6), Release { token: 5 }, Done { token: 5 }),
            call(1, (7, 8), Claim, HeldByOther),
            call(0, (9, 10), Claim, Done { token: 7 }),
        ]);
        is_refuted(&[lost, call(1, (3, 4), Claim, IsCompleted)]);
    }

    #[test]
    fn what_the_runtime_takes_back_is_free_for_another_and_only_then() {
        let (first, second) = (Claim, Claim);
        let taken = |token| {
            let asked = Release { token };
            call(RUNTIME, (0, u64::MAX), asked, Done { token })
        };
        let calls =
            [call(0, (1, 2), first, Done { token: 5 }), call(1, (3, 4), second, Done { token: 9 })];
        is_refuted(&calls);
        holds(&[&calls[..], &[taken(5)]].concat());
        is_refuted(&[&calls[..], &[taken(7)]].concat());
        let late = call(0, (5, 6), Complete { token: 5 }, Done { token: 5 });
        is_refuted(&[&calls[..], &[taken(5), late]].concat());
    }

    #[test]
    fn a_history_in_which_one_answer_is_doctored_is_refused() {
        let mut calls = Vec::new();
        for n in 0..40 {
            let (hand, token, at) = ((n % 3) as usize, 10 * n + 1, 100 * n);
            calls.push(call(hand, (at, at + 10), Claim, Done { token }));
            calls.push(call((hand + 1) % 3, (at + 5, at + 20), Claim, HeldByOther));
            calls.push(call(hand, (at + 30, at + 40), Release { token }, Done { token }));
        }
        holds(&calls);
        for n in [1, 31, 61, 118] {
            let mut doctored = calls.clone();
            doctored[n].answered = match doctored[n].answered {
                HeldByOther => Done { token: 10 * (n as u64 / 3) + 2 },
                _ => HeldByOther,
            };
            is_refuted(&doctored);
        }
    }
}
