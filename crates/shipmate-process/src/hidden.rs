//! Words that this process writes down nowhere: the secrets of files that were copied into trees.
//!
//! An agent or a gate may print what it was given, and what is printed is kept, recorded and shown. So
//! each of them is replaced by its name wherever shipmate keeps the words of others. This is for what
//! happens by accident: whoever means to tell a secret can write it backwards.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

/// A word, and what is shown instead. The longest first: one may be part of another.
static HIDDEN: RwLock<Vec<(String, String)>> = RwLock::new(Vec::new());

/// Hides these as well from now on, also as they stand in JSON and in JSON that is told as text in JSON.
pub fn hide(words: impl IntoIterator<Item = (String, String)>) {
    let words: Vec<(String, String)> = words.into_iter().collect();
    if words.is_empty() {
        return;
    }
    let mut hidden = HIDDEN.write().unwrap_or_else(PoisonError::into_inner);
    let mut known: HashSet<String> = hidden.iter().map(|(word, _)| word.clone()).collect();
    for (word, shown) in words {
        let escaped = in_json(&word);
        for form in [in_json(&escaped), escaped, word] {
            if !form.is_empty() && known.insert(form.clone()) {
                hidden.push((form, shown.clone()));
            }
        }
    }
    hidden.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
}

fn in_json(word: &str) -> String {
    word.replace('\\', r"\\").replace('"', r#"\""#).replace('\t', r"\t")
}

/// All of them, for another process that is to hide the same.
pub fn words() -> Vec<(String, String)> {
    HIDDEN.read().unwrap_or_else(PoisonError::into_inner).clone()
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

/// What is printed piece by piece, without them: the beginning of a word waits for the next piece.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<u8>);

impl Pieces {
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.0);
        bytes.extend_from_slice(piece);
        self.0 = bytes.split_off(may_go_on(&bytes));
        shown_bytes(&bytes).into_owned()
    }

    /// What waits, when nothing more comes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        shown_bytes(&std::mem::take(&mut self.0)).into_owned()
    }
}

/// Where a word begins that may go on behind the last byte, or the word that ends in its middle.
fn may_go_on(bytes: &[u8]) -> usize {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    let begins = |word: &str| {
        let first = (bytes.len() + 1).saturating_sub(word.len());
        (first..bytes.len()).find(|at| word.as_bytes().starts_with(&bytes[*at..]))
    };
    let cut = hidden.iter().filter_map(|(word, _)| begins(word)).min().unwrap_or(bytes.len());
    let lies_across = |word: &str| {
        let first = (cut + 1).saturating_sub(word.len());
        (first..cut).find(|at| bytes[*at..].starts_with(word.as_bytes()))
    };
    hidden.iter().filter_map(|(word, _)| lies_across(word)).min().unwrap_or(cut)
}

/// Bytes without them. A word that comes in two pieces is not seen.
pub fn shown_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
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
        let mut pieces = Pieces::default();
        let all =
            [&b"a k3y-of"[..], b"-te", b"sts-", b"2\nk3y-of-t"].map(|piece| pieces.push(piece));
        let text = [all.concat(), pieces.rest()].concat();
        assert_eq!(text, b"a [B]\nk3y-of-t");
        hide([("abab".to_owned(), "[C]".to_owned()), ("a\"quote".to_owned(), "[Q]".to_owned())]);
        assert_eq!([pieces.push(b"xabab"), pieces.rest()].concat(), b"x[C]");
        assert_eq!(
            shown(r#"{"a":"a\"quote","b":"{\"c\":\"a\\\"quote\"}"}"#),
            r#"{"a":"[Q]","b":"{\"c\":\"[Q]\"}"}"#
        );
    }
}
