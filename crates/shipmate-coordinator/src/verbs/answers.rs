//! Answers from the records that a request wrote. Asked again, it gets its answer from the same
//! records.

use shipmate_core::State;
use shipmate_model::event::Event;
use shipmate_model::{Record, TeammateRef};
use shipmate_protocol::answers::{
    Changed, Claimed, Created, Enrolled, FromAnswer, Opened, Sent, Started, Submitted,
};
use shipmate_protocol::view::InboxMessage;

use crate::secret::Secrets;
use crate::signs::Signs;
use crate::views;

/// What a request wrote, and what its answer may be made from besides.
pub(crate) struct Wrote<'a> {
    /// At least one.
    pub(crate) records: &'a [Record],
    pub(crate) state: &'a State,
    pub(crate) secrets: &'a Secrets,
    /// What was handed out, where that is what it did.
    pub(crate) mail: Vec<InboxMessage>,
}

impl<'a> Wrote<'a> {
    fn first(&self) -> u64 {
        self.records.first().expect("a request that is done wrote a record").n
    }

    fn find<T>(&self, look: impl Fn(&'a Record) -> Option<T>) -> Option<T> {
        self.records.iter().find_map(look)
    }

    fn started(&self) -> Option<&'a TeammateRef> {
        self.find(|record| match &record.event {
            Event::TeammateStarted { who, .. } => Some(who),
            _ => None,
        })
    }
}

/// An answer that is made from records.
pub(crate) trait FromRecords: FromAnswer {
    /// None where the records are another request's: an id was used twice.
    fn from_records(wrote: &Wrote<'_>) -> Option<Self>;
}

impl FromRecords for Changed {
    fn from_records(wrote: &Wrote<'_>) -> Option<Changed> {
        let last = wrote.records.last().expect("a request that is done wrote a record").n;
        Some(Changed::Done { first: wrote.first(), last })
    }
}

impl FromRecords for Opened {
    fn from_records(wrote: &Wrote<'_>) -> Option<Opened> {
        Some(Opened { id: wrote.first() })
    }
}

impl FromRecords for Created {
    fn from_records(wrote: &Wrote<'_>) -> Option<Created> {
        let made = wrote.records.iter().filter_map(|record| match record.event {
            Event::TaskCreated { task, .. } => Some(task),
            _ => None,
        });
        Some(Created { tasks: made.collect() })
    }
}

/// The claim that was made, or the one that was renewed by asking for it again.
fn claimed(wrote: &Wrote<'_>) -> Option<Claimed> {
    wrote.find(|record| {
        let (task, token) = match record.event {
            Event::TaskClaimed { task, .. } => (task, record.n),
            Event::TaskRenewed { task, token, .. } => (task, token),
            _ => return None,
        };
        let task = wrote.state.task(task).expect("a claimed task exists");
        Some(Claimed { task: Box::new(views::task(wrote.state, task)), token })
    })
}

impl FromRecords for Claimed {
    fn from_records(wrote: &Wrote<'_>) -> Option<Claimed> {
        claimed(wrote)
    }
}

impl FromRecords for Submitted {
    fn from_records(wrote: &Wrote<'_>) -> Option<Submitted> {
        let only = || Changed::from_records(wrote).map(Submitted::Only);
        claimed(wrote).map(Submitted::AndClaimed).or_else(only)
    }
}

impl FromRecords for Sent {
    fn from_records(wrote: &Wrote<'_>) -> Option<Sent> {
        let sent = wrote.find(|record| match &record.event {
            Event::MessageSent { to, .. } => {
                Some(Sent { message: record.n, to: to.iter().map(ToString::to_string).collect() })
            }
            _ => None,
        });
        // What climbs to somebody who cannot be written to is recorded all the same.
        Some(sent.unwrap_or_else(|| Sent { message: wrote.first(), to: Vec::new() }))
    }
}

impl FromRecords for Started {
    fn from_records(wrote: &Wrote<'_>) -> Option<Started> {
        let who = wrote.started()?;
        let token = wrote.secrets.token(wrote.state, who);
        Some(Started { who: who.to_string(), token })
    }
}

impl FromRecords for Enrolled {
    fn from_records(wrote: &Wrote<'_>) -> Option<Enrolled> {
        let (who, state) = (wrote.started()?, wrote.state);
        // The seat may be gone since.
        let mate = state.member(&who.address)?;
        let seat = views::teammate(state, &who.address, mate, &Signs::default());
        Some(Enrolled { seat: Box::new(seat), token: wrote.secrets.token(state, who) })
    }
}

impl FromRecords for Vec<InboxMessage> {
    fn from_records(wrote: &Wrote<'_>) -> Option<Vec<InboxMessage>> {
        Some(wrote.mail.clone())
    }
}

/// Nothing is the answer only where nothing was written.
impl<T: FromRecords> FromRecords for Option<T> {
    fn from_records(wrote: &Wrote<'_>) -> Option<Option<T>> {
        T::from_records(wrote).map(Some)
    }
}
