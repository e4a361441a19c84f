//! Lives on other machines as they are seen here: what their hosts say of them, and what they print,
//! which is copied here for as long as somebody looks.
//!
//! A copy lies where the output of a life of this machine would: whoever shows it need not know where
//! the teammate is.

use std::io;
use std::rc::Rc;

use shipmate_model::{Event, Record, TeammateRef};
use shipmate_protocol::Notice;
use shipmate_protocol::wire::Reply;

use super::Crew;
use crate::host::{Here, Moved, Printed, Printing, Question, Unheard};

/// A copy that is kept up.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    news: tokio::sync::Notify,
    last: std::cell::RefCell<Option<Printed>>,
}

impl Crew {
    /// Another host has seen something of one of its lives.
    pub(crate) fn heard_of(&self, moved: &Moved) {
        let who = &moved.who;
        let is_there = self.board.with_state(|state| {
            let mate = state.teammates.get(&who.address);
            mate.is_some_and(|mate| {
                mate.epoch == who.epoch && mate.host.as_ref() == Some(&moved.host)
            })
        });
        if !is_there || self.life(who).is_some() {
            return;
        }
        self.board
            .signs
            .borrow_mut()
            .lives
            .retain(|life, _| life.address != who.address || life.epoch == who.epoch);
        let copied = self.copied.borrow().get(who).cloned();
        match (&moved.printed, copied) {
            (None, _) => self.seen(who, |_| {}),
            (Some(printed), None) => self.shows(who, printed),
            (Some(printed), Some(copied)) => {
                copied.last.replace(Some(printed.clone()));
                copied.news.notify_one();
            }
        }
        self.moved.notify_waiters();
    }

    fn shows(&self, who: &TeammateRef, printed: &Printed) {
        self.progress(who, printed, None);
    }

    /// Tells the other hosts what is seen of a life of this one.
    pub(crate) fn tell_moved(&self, who: &TeammateRef, printed: Option<Printed>) {
        let Some(here) = self.here.clone().filter(|_| self.has_other_hosts()) else { return };
        let (root, who) = (self.board.root.clone(), who.clone());
        tokio::task::spawn_local(async move { here.tell_moved(root, who, printed).await });
    }

    /// Has what a life on another machine has printed here, and keeps it up while somebody looks.
    pub(crate) async fn copy(
        self: &Rc<Self>,
        here: &Rc<Here>,
        host: &str,
        who: &TeammateRef,
    ) -> Result<(), Unheard> {
        self.copy_once(here, host, who).await?;
        self.tell_sign(who);
        if self.copied.borrow().contains_key(who) {
            return Ok(());
        }
        let copied = Rc::new(Copied::default());
        self.copied.borrow_mut().insert(who.clone(), Rc::clone(&copied));
        let (crew, here) = (Rc::downgrade(self), Rc::clone(here));
        let (host, who) = (host.to_owned(), who.clone());
        tokio::task::spawn_local(async move {
            loop {
                copied.news.notified().await;
                let Some(this) = crew.upgrade() else { return };
                if !this.is_looked_at() {
                    this.copied.borrow_mut().remove(&who);
                    return;
                }
                // What cannot be had now comes with the next.
                drop(this.copy_once(&here, &host, &who).await);
                let is_over = this.board.with_state(|state| {
                    let mate = state.teammates.get(&who.address);
                    mate.is_none_or(|mate| mate.epoch != who.epoch || !mate.is_running())
                });
                if is_over {
                    this.copied.borrow_mut().remove(&who);
                    this.told_last(&who);
                    return;
                }
                let printed = copied.last.borrow().clone();
                if let Some(printed) = printed {
                    this.shows(&who, &printed);
                }
            }
        });
        Ok(())
    }

    /// All of it is here: whoever is attached reads it once more.
    fn told_last(&self, who: &TeammateRef) {
        let bytes = self.board.signs.borrow().lives.get(who).map_or(0, |sign| sign.bytes);
        for (of, connection) in self.attached.borrow().iter() {
            if of.address == who.address {
                let who = who.to_string();
                connection.notify(&Reply::Notice(Notice::Output { who, bytes }));
            }
        }
        self.tell_sign(who);
    }

    /// What a life that has ended printed last is got too.
    pub(crate) fn copy_ends(&self, records: &[Record]) {
        for record in records {
            let (Event::TeammateStopped { who, .. } | Event::TeammateDisappeared { who, .. }) =
                &record.event
            else {
                continue;
            };
            if let Some(copied) = self.copied.borrow().get(who) {
                copied.news.notify_one();
            }
        }
    }

    fn is_looked_at(&self) -> bool {
        let attached = self.attached.borrow();
        attached.iter().any(|(_, connection)| connection.is_open())
            || self.onlookers.borrow().iter().any(|connection| connection.is_open())
    }

    async fn copy_once(&self, here: &Here, host: &str, who: &TeammateRef) -> Result<(), Unheard> {
        let _one_at_a_time = self.copying.lock().await;
        let folder = self.folder(who);
        let make = self.settings.place.make(&folder.0);
        make.map_err(|e| Unheard::Question(format!("{}: {e}", folder.0.display())))?;
        let path = folder.output();
        let failed = |e: io::Error| Unheard::Answer(format!("{}: {e}", path.display()));
        loop {
            let since = Printing::of(&path).map_err(failed)?;
            let (root, who) = (self.board.root.clone(), who.clone());
            let question = Question::Output { root, who, since };
            let answer = here.ask(host, &question).await?;
            if !Printing::take(&path, &answer).map_err(failed)? {
                return Ok(());
            }
        }
    }

    /// What a life of this machine has printed since, as it goes over the line.
    pub(crate) async fn printed_since(&self, who: &TeammateRef, since: Printing) -> Vec<u8> {
        let path = self.folder(who).output();
        let read = move || since.give(&path).map_err(|e| e.to_string());
        // Nothing is no output: whoever asked says so.
        shipmate_process::blocking(read).await.unwrap_or_default()
    }
}
