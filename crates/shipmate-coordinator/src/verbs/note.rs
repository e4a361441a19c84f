//! The team's scratchpad: notes are added, and looked through newest first.

use std::collections::BTreeSet;

use shipmate_core::state::Note;
use shipmate_model::Act;
use shipmate_model::refusal::Refusal;
use shipmate_protocol::Refused;
use shipmate_protocol::verbs::{
    NOTES_MAX, NoteAdd, NoteRemove, Notes, SEARCH_BYTES_MAX, SEARCH_WORDS_MAX,
};
use shipmate_protocol::view::NoteView;

use super::{Beside, Decides, Looks};
use crate::scene::{Scene, refusal};
use crate::views;

impl Decides for NoteAdd {
    fn act(&self, scene: &Scene<'_>) -> Result<Act, Refused> {
        let task = self.task.as_deref().map(|task| scene.task(task)).transpose()?;
        Ok(Act::AddNote { team: scene.team.clone(), text: self.text.clone(), task })
    }
}

impl Decides for NoteRemove {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::RemoveNote { note: self.note })
    }
}

impl Looks for Notes {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<Vec<NoteView>, Refused> {
        let task = self.task.as_deref().map(|task| scene.task(task)).transpose()?;
        let before = self.before.unwrap_or(u64::MAX);
        let words = words(self.search.as_deref().unwrap_or_default())?;
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

/// What is looked for, each word once. Every note is looked through for each of them, and everybody waits.
fn words(search: &str) -> Result<BTreeSet<String>, Refused> {
    let over =
        |size, limit, unit| refusal(&Refusal::OverLimit { what: "the search", size, limit, unit });
    if search.len() > SEARCH_BYTES_MAX {
        return Err(over(search.len(), SEARCH_BYTES_MAX, "bytes"));
    }
    let words: BTreeSet<String> = search.split_whitespace().map(str::to_lowercase).collect();
    match words.len() {
        size if size > SEARCH_WORDS_MAX => Err(over(size, SEARCH_WORDS_MAX, "words")),
        _ => Ok(words),
    }
}

/// Its text, or the name of its author, has each word.
fn has_all(note: &Note, words: &BTreeSet<String>) -> bool {
    if words.is_empty() {
        return true;
    }
    let text = format!("{}\n{}", note.text, note.by).to_lowercase();
    words.iter().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_has_a_bounded_length_and_each_word_counts_once() {
        let found = words("The the LEXER\nlexer").unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["lexer", "the"]);
        let many: Vec<String> = (0..=SEARCH_WORDS_MAX).map(|n| format!("w{n}")).collect();
        assert!(words(&many[1..].join(" ")).is_ok());
        let refused = words(&many.join(" ")).unwrap_err();
        assert!(refused.message.contains("17 words"), "{refused:?}");
        assert!(words(&"x".repeat(SEARCH_BYTES_MAX)).is_ok());
        let refused = words(&"x ".repeat(SEARCH_BYTES_MAX)).unwrap_err();
        assert!(refused.message.contains("1024 bytes"), "{refused:?}");
    }
}
