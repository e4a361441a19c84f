//! Notes: the scratchpad of a team, for what one found out and the next should know.
//!
//! Nothing is decided by a note. The newest stay in the state, so that adding one costs the same
//! however many there are; older ones are in the log.

use shipmate_model::event::{Event, NoteId, Record, TaskId};
use shipmate_model::limits::{NOTE_BYTES_MAX, NOTES_KEPT};
use shipmate_model::name::{Actor, Name};
use shipmate_model::refusal::Refusal;

use crate::shared::Shared;
use crate::size::check_texts;
use crate::state::{Note, State};

pub(crate) fn decide_add(
    state: &State,
    by: &Actor,
    team: &Name,
    text: &str,
    task: Option<TaskId>,
) -> Result<Vec<Event>, Refusal> {
    if *by == Actor::Outside {
        return Err(Refusal::NotTheirs { by: by.clone(), what: "add a note" });
    }
    state.require_present(by)?;
    state.require_active_team(team)?;
    let text = text.trim();
    if text.is_empty() {
        return Err(Refusal::Empty { what: "the note" });
    }
    check_texts(&[("the note", text, NOTE_BYTES_MAX)])?;
    if let Some(task) = task {
        state.require_task(task)?;
    }
    Ok(vec![Event::NoteAdded { team: team.clone(), text: text.to_owned(), task }])
}

pub(crate) fn apply_added(
    state: &mut State,
    record: &Record,
    team: &Name,
    text: &str,
    task: Option<TaskId>,
) {
    if state.notes.len() >= NOTES_KEPT {
        state.notes.pop_front();
    }
    state.notes.push_back(Shared::new(Note {
        id: record.n,
        at: record.at,
        by: record.by.clone(),
        team: team.clone(),
        task,
        text: text.to_owned(),
    }));
}

pub(crate) fn decide_remove(
    state: &State,
    by: &Actor,
    note: NoteId,
) -> Result<Vec<Event>, Refusal> {
    let unknown = || Refusal::UnknownNote { note };
    let known =
        state.notes.get(position(state, note).ok_or_else(unknown)?).expect("it was found there");
    match by {
        Actor::Person => {}
        Actor::Teammate(who) => {
            state.require_present(by)?;
            // What its team does not read is not there for it.
            if !state.notes_of(&who.address.team).any(|read| read.id == note) {
                return Err(unknown());
            }
            // Its lives before this one were the same teammate.
            if !matches!(&known.by, Actor::Teammate(author) if author.address == who.address) {
                return Err(Refusal::NoteOfAnother { note, by: known.by.clone() });
            }
        }
        Actor::Runtime | Actor::Outside => {
            return Err(Refusal::NotTheirs { by: by.clone(), what: "remove a note" });
        }
    }
    Ok(vec![Event::NoteRemoved { note, task: known.task }])
}

pub(crate) fn apply_removed(state: &mut State, note: NoteId) {
    // Another may have been the last to be kept meanwhile.
    if let Some(at) = position(state, note) {
        state.notes.remove(at);
    }
}

/// Where it is among those that are kept: they are in the order of their ids.
fn position(state: &State, note: NoteId) -> Option<usize> {
    state.notes.binary_search_by_key(&note, |note| note.id).ok()
}

impl State {
    /// The notes that a team reads, newest first: its own, and those of teams above and below it.
    /// What departments may say to each other goes by their routes.
    pub fn notes_of<'a>(&'a self, team: &'a Name) -> impl Iterator<Item = &'a Note> {
        let above: Vec<&Name> = self.names_above(team).collect();
        let is_read = move |note: &&Note| {
            above.contains(&&note.team) || self.names_above(&note.team).any(|name| name == team)
        };
        self.notes.iter().rev().map(|note| &**note).filter(is_read)
    }

    /// The team and those above it.
    fn names_above<'a>(&'a self, team: &'a Name) -> impl Iterator<Item = &'a Name> {
        let above = |team: &&'a Name| self.teams.get(*team)?.parent.as_ref();
        std::iter::successors(Some(team), above)
    }
}
