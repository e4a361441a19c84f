//! Phases: what takes a team through its playbook.
//!
//! `engine` carries out what the core owes: it looks whether a phase can begin, makes its tasks from
//! templates and the work that was read, and looks at its end. Nothing here knows any particular
//! playbook; formats of files have their readers in `shipmate-playbook` and their writers in
//! `artifact`.

mod approval;
pub(crate) mod artifact;
pub(crate) mod branch;
pub(crate) mod dispatch;
pub(crate) mod engine;
mod external_files;
pub(crate) mod final_files;
pub(crate) mod leading;
mod push;
mod revert;
mod role_members;
mod single_agent;
mod staff;
mod stage;
mod tasks;

use std::ops::Deref;
use std::rc::Rc;

pub(crate) use shipmate_model::playbook::PIECE;

use crate::crew::Crew;

/// What takes the teams of one tree through their playbooks, and what it remembers.
#[derive(Debug)]
pub(crate) struct Phases {
    crew: Rc<Crew>,
    memory: engine::Memory,
    views: artifact::Views,
    drops: artifact::drops::Drops,
    kept: artifact::Kept,
    followed: branch::Followed,
}

impl Phases {
    pub(crate) fn new(crew: &Rc<Crew>) -> Rc<Phases> {
        Rc::new(Phases {
            crew: Rc::clone(crew),
            memory: engine::Memory::default(),
            views: artifact::Views::default(),
            drops: artifact::drops::Drops::default(),
            kept: artifact::Kept::default(),
            followed: branch::Followed::default(),
        })
    }

    /// A file has changed that a phase may wait for.
    pub(crate) fn nudge(&self) {
        self.memory.nudge();
    }

    /// Writes the files and moves the branches that follow from the state.
    pub(crate) fn look(self: &Rc<Self>) {
        artifact::view(self);
        artifact::keep(self);
        branch::follow(self);
        dispatch::take_back(self);
    }

    /// Nobody is left who works here: what is written at the very end is.
    pub(crate) fn look_at_end(self: &Rc<Self>) {
        final_files::end(self);
    }
}

/// Its lives, its hooks and its board are the crew's.
impl Deref for Phases {
    type Target = Rc<Crew>;

    fn deref(&self) -> &Rc<Crew> {
        &self.crew
    }
}

/// A playbook that comes with shipmate, for tests.
#[cfg(test)]
pub(crate) fn builtin(name: &str) -> shipmate_playbook::compile::Compiled {
    let (_, text) = shipmate_playbook::BUILTIN.iter().find(|(own, _)| *own == name).unwrap();
    shipmate_playbook::compile::compile(name, text).unwrap()
}
