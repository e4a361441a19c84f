//! The team's scratchpad: notes are added, and looked through newest first.

use shipmate_core::state::Note;
use shipmate_model::Act;
use shipmate_protocol::Refused;
use shipmate_protocol::verbs::{NOTES_MAX, NoteAdd, Notes};
use shipmate_protocol::view::NoteView;

use super::{Beside, Decides, Looks};
use crate::scene::Scene;
use crate::views;

impl Decides for NoteAdd {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let task = self.task.as_deref().map(|task| scene.task(task)).transpose()?;
        Ok(Act::AddNote { team: scene.team.clone(), text: self.text.clone(), task })
    }
}

impl Looks for Notes {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<Vec<NoteView>, Refused> {
        let task = self.task.as_deref().map(|task| scene.task(task)).transpose()?;
        let before = self.before.unwrap_or(u64::MAX);
        let words: Vec<String> = self
            .search
            .iter()
            .flat_map(|text| text.split_whitespace())
            .map(str::to_lowercase)
            .collect();
        let is_found = |note: &&Note| {
            note.id < before
                && task.is_none_or(|task| note.task == Some(task))
                && has_all(note, &words)
        };
        let limit = self.limit.unwrap_or(NOTES_MAX).clamp(1, NOTES_MAX);
        let found = scene.state.notes_of(scene.team).filter(is_found).take(limit);
        Ok(found.map(views::handoff::note).collect())
    }
}

/// Its text, or the name of its author, has each word.
fn has_all(note: &Note, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let text = note.text.to_lowercase();
    let is_by = |word: &String| note.by.to_string().to_lowercase().contains(word);
    words.iter().all(|word| text.contains(word) || is_by(word))
}
