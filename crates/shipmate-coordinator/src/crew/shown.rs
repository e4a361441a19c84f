//! What is seen of the teammates and the merge queue, for those who look on. Nothing of it is
//! recorded, and nobody is waited for.

use std::rc::Rc;

use shipmate_model::TeammateRef;
use shipmate_protocol::wire::{Notice, Reply};

use super::Crew;
use crate::connection::Connection;
use crate::views;

impl Crew {
    pub(crate) fn show_signs(&self, connection: &Rc<Connection>) {
        let mut onlookers = self.onlookers.borrow_mut();
        if !onlookers.iter().any(|there| Rc::ptr_eq(there, connection)) {
            onlookers.push(Rc::clone(connection));
        }
    }

    /// Says what the merge queue does now, and whether it holds up the teammates.
    pub(crate) fn queue_does(&self, text: Option<&str>) {
        tracing::debug!(root = %self.board.root, step = text.unwrap_or("rests"), "the merge queue");
        let waiting = self.board.with_state(|state| {
            state.teams.keys().filter_map(|team| shipmate_core::full_queue(state, team)).max()
        });
        let queue = text.map(|text| match waiting {
            Some(waiting) => format!("{text}; {waiting} wait, and no further task is handed out"),
            None => text.to_owned(),
        });
        let before = {
            let mut signs = self.board.signs.borrow_mut();
            signs.queue_step = text.map(str::to_owned);
            std::mem::replace(&mut signs.queue, queue.clone())
        };
        if before != queue {
            self.show(|| Notice::Sign { teammate: None, queue, hosts: Vec::new() });
        }
    }

    pub(super) fn tell_sign(&self, who: &TeammateRef) {
        self.show(|| {
            let signs = self.board.signs.borrow();
            let teammate = self.board.with_state(|state| {
                let mate = state.member(&who.address)?;
                Some(Box::new(views::teammate(state, &who.address, mate, &signs)))
            });
            Notice::Sign { teammate, queue: signs.queue.clone(), hosts: Vec::new() }
        });
    }

    /// One of the hosts gave a sign.
    pub(crate) fn tell_hosts(&self) {
        self.show(|| {
            let signs = self.board.signs.borrow();
            let here = self.here.as_ref().map(|here| &here.file.name);
            let hosts = self.board.with_state(|state| views::hosts(state, here, &signs));
            Notice::Sign { teammate: None, queue: signs.queue.clone(), hosts }
        });
    }

    /// A notice is made only where somebody looks.
    fn show(&self, notice: impl FnOnce() -> Notice) {
        let mut onlookers = self.onlookers.borrow_mut();
        onlookers.retain(|connection| connection.is_open());
        if onlookers.is_empty() {
            return;
        }
        let notice = Reply::Notice(notice());
        for connection in onlookers.iter() {
            connection.notify(&notice);
        }
    }
}
