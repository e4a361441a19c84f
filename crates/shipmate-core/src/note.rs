//! Notes: the scratchpad of a team, for what one found out and the next should know.
//!
//! Nothing is decided by a note. The newest stay in the state, so that adding one costs the same
//! however many there are; older ones are in the log.

use shipmate_model::event::{Event, Record, TaskId};
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

    /// The notes about a task, newest first.
    pub fn notes_on(&self, task: TaskId) -> impl Iterator<Item = &Note> {
        self.notes.iter().rev().map(|note| &**note).filter(move |note| note.task == Some(task))
    }

    /// The team and those above it.
    fn names_above<'a>(&'a self, team: &'a Name) -> impl Iterator<Item = &'a Name> {
        let above = |team: &&'a Name| self.teams.get(*team)?.parent.as_ref();
        std::iter::successors(Some(team), above)
    }
}
