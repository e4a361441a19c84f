//! What carries out what a board owes: lives, merges and phases, each told its part.

use std::ops::Deref;
use std::rc::Rc;

use shipmate_core::Effect;
use shipmate_model::{Act, Record};

use crate::board::Attendant;
use crate::crew::Crew;
use crate::merge::Queue;
use crate::phases::{Phases, engine};

#[derive(Debug)]
pub(crate) struct Attendance {
    crew: Rc<Crew>,
    pub(crate) queue: Rc<Queue>,
    pub(crate) phases: Rc<Phases>,
}

impl Attendance {
    pub(crate) fn new(crew: Rc<Crew>) -> Rc<Attendance> {
        let phases = Phases::new(&crew);
        Rc::new(Attendance { crew, queue: Rc::default(), phases })
    }

    pub(crate) fn crew(&self) -> &Rc<Crew> {
        &self.crew
    }
}

impl Attendant for Attendance {
    fn carry_out(self: Rc<Self>, effects: Vec<Effect>) -> bool {
        let mut verify = false;
        let mut lives = Vec::new();
        for effect in effects {
            match effect {
                Effect::Verify { .. } | Effect::TryGate { .. } => verify = true,
                Effect::EnterPhase { team } => engine::enter(&self.phases, team),
                Effect::LeavePhase { team } => engine::leave(&self.phases, team),
                effect @ (Effect::Start(_) | Effect::Spawn { .. } | Effect::EndProcess { .. }) => {
                    lives.push(effect);
                }
            }
        }
        self.crew.watch_accounts();
        self.crew.carry_out(lives);
        if verify {
            self.queue.look();
        }
        self.phases.look();
        self.crew.look_at_hosts();
        self.crew.attend_to_all();
        if self.crew.is_alone() {
            self.phases.look_at_end();
        }
        verify || self.crew.has_somebody()
    }

    fn saw(self: Rc<Self>, records: &[Record]) {
        self.crew.report_records(records);
        self.crew.shut_out(records);
        self.crew.copy_ends(records);
        self.crew.forget_landed(records);
        self.crew.keep_accounts(records);
    }

    fn may_tell(&self, act: &Act) -> bool {
        self.crew.may_tell(act)
    }
}

/// Whoever needs the lives, the hooks or the board alone is given the crew.
impl Deref for Attendance {
    type Target = Rc<Crew>;

    fn deref(&self) -> &Rc<Crew> {
        &self.crew
    }
}
