//! Messages in the account of the log: each letter, a message at one recipient, has one fate.

use shipmate_model::event::{Event, Record};

use super::{Fate, MessageFacts, Model};

impl Model {
    pub(super) fn apply_to_mail(&mut self, record: &Record) {
        match &record.event {
            Event::MessageSent { to, epoch, .. } => {
                self.messages.insert(record.n, MessageFacts { epoch: *epoch });
                for recipient in to {
                    self.letters.insert((record.n, recipient.clone()), Fate::Waiting);
                }
            }
            Event::MessageAcknowledged { to, messages } => {
                for id in messages {
                    self.letters.insert((*id, to.clone()), Fate::Read);
                }
            }
            Event::MessageExpired { to, messages, .. } => {
                for id in messages {
                    self.letters.insert((*id, to.clone()), Fate::Expired);
                }
            }
            Event::MessageBounced { to, messages, .. } => {
                for id in messages {
                    self.letters.insert((*id, to.clone()), Fate::Bounced);
                }
            }
            _ => {}
        }
    }
}
