//! Words that this process writes down nowhere: the secrets of files that were copied into trees.
//!
//! An agent or a gate may print what it was given, and what is printed is kept, recorded and shown. So
//! each of them is replaced by its name wherever shipmate keeps the words of others. This is for what
//! happens by accident: whoever means to tell a secret can write it backwards.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

/// A word, and what is shown instead. The longest first: one may be part of another.
static HIDDEN: RwLock<Vec<(String, String)>> = RwLock::new(Vec::new());

/// Hides these as well from now on.
pub fn hide(words: impl IntoIterator<Item = (String, String)>) {
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    for (word, shown) in words {
        if !word.is_empty() && !hidden.iter().any(|(known, _)| *known == word) {
            hidden.push((word, shown));
        }
    }
    hidden.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
}

/// The text without them.
pub fn shown(text: &str) -> Cow<'_, str> {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    let mut shown = Cow::Borrowed(text);
    for (word, instead) in hidden.iter() {
        if shown.contains(word) {
            shown = Cow::Owned(shown.replace(word, instead));
        }
    }
    shown
}

/// The words that this text has, each with what is shown instead.
pub fn words_in(text: &str) -> Vec<(String, String)> {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    hidden.iter().filter(|(word, _)| text.contains(word)).cloned().collect()
}

/// There is something to hide.
pub fn is_anything_hidden() -> bool {
    !HIDDEN.read().unwrap_or_else(PoisonError::into_inner).is_empty()
}

/// Bytes without them. A word that comes in two pieces is not seen.
pub(crate) fn shown_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    let mut shown = Cow::Borrowed(bytes);
    for (word, instead) in hidden.iter() {
        shown = without(shown, word.as_bytes(), instead.as_bytes());
    }
    shown
}

fn without<'b>(bytes: Cow<'b, [u8]>, word: &[u8], instead: &[u8]) -> Cow<'b, [u8]> {
    let find = |from: usize| bytes[from..].windows(word.len()).position(|part| part == word);
    let Some(mut at) = find(0) else { return bytes };
    let (mut shown, mut done) = (Vec::new(), 0);
    loop {
        shown.extend_from_slice(&bytes[done..at]);
        shown.extend_from_slice(instead);
        done = at + word.len();
        match find(done) {
            Some(next) => at = done + next,
            None => break,
        }
    }
    shown.extend_from_slice(&bytes[done..]);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_words_are_shown_by_their_names() {
        let hidden = [("k3y-of-tests", "[k3y-of-tests]"), ("k3y-of-tests-2", "[B]")];
        hide(hidden.map(|(word, shown)| (word.to_owned(), shown.to_owned())));
        assert_eq!(shown("k3y-of-tests and k3y-of-tests-2"), "[k3y-of-tests] and [B]");
        let bytes = b"\xff k3y-of-tests-2 k3y-of-tests\n";
        assert_eq!(*shown_bytes(bytes), *b"\xff [B] [k3y-of-tests]\n");
        assert_eq!(shown("plain"), "plain");
    }
}
