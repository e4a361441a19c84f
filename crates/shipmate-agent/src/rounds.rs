//! Whether an agent goes round in circles: the same calls, again and again.
//!
//! A round is what one answer called for and what came of it. A few rounds that follow each
//! other again and again, with the same results, lead nowhere: the model is told so, and then its
//! turn ends, long before its requests are used up. Asking for the output of something that still
//! runs is no circle, for a good while.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::message::{Arguments, Call, CallResult};

/// The longest circle that is looked for, in rounds.
const LENGTH_MAX: usize = 4;
/// So often the same circle is told to the model, and so often it ends the turn.
const TOLD_AT: [usize; 2] = [3, 6];
const TIMES_MAX: usize = 8;
/// So often the same calls end it, whatever came of them.
const CALLED_MAX: usize = 200;
/// Asks for what somebody else is at: that nothing came yet is no reason not to ask again.
const WAITS: &str = "bash_output";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    calls: u64,
    results: u64,
    waits: bool,
}

/// The last rounds of a turn.
#[derive(Debug, Default)]
pub(crate) struct Rounds(VecDeque<Round>);

/// What is to be done about a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Circle {
    None,
    /// The model is to hear of it.
    Told {
        times: usize,
    },
    /// It has gone on for too long.
    Over {
        times: usize,
    },
}

impl Rounds {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes a round and says whether it closes a circle.
    pub(crate) fn note<'a>(
        &mut self,
        calls: impl Iterator<Item = &'a Call>,
        results: &[CallResult],
    ) -> Circle {
        let mut called = DefaultHasher::new();
        let mut waits = false;
        for call in calls {
            waits |= call.tool == WAITS;
            call.tool.hash(&mut called);
            match &call.arguments {
                Arguments::Json(value) => value.to_string().hash(&mut called),
                Arguments::Broken { text, .. } => text.hash(&mut called),
            }
        }
        let mut came = DefaultHasher::new();
        for result in results {
            (&result.text, result.is_error).hash(&mut came);
        }
        if self.0.len() >= LENGTH_MAX * CALLED_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Round { calls: called.finish(), results: came.finish(), waits });
        self.circle()
    }

    fn circle(&self) -> Circle {
        let mut told = Circle::None;
        for length in 1..=LENGTH_MAX {
            let same = self.follows(length, |a, b| a == b && !a.waits);
            let times = same / length + 1;
            if times >= TIMES_MAX {
                return Circle::Over { times };
            }
            if same.is_multiple_of(length) && TOLD_AT.contains(&times) {
                told = Circle::Told { times };
            }
            let times = self.follows(length, |a, b| a.calls == b.calls) / length + 1;
            if times >= CALLED_MAX {
                return Circle::Over { times };
            }
        }
        told
    }

    /// How many rounds up to the last are like those `length` before them.
    fn follows(&self, length: usize, alike: impl Fn(&Round, &Round) -> bool) -> usize {
        let earlier = self.0.iter().rev().skip(length);
        self.0.iter().rev().zip(earlier).take_while(|(a, b)| alike(a, b)).count()
    }
}
