//! A text that is being typed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::text::{safe, width};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Input {
    text: Vec<char>,
    at: usize,
}

impl Input {
    pub(super) fn of(text: &str) -> Input {
        let text: Vec<char> = text.chars().collect();
        Input { at: text.len(), text }
    }

    pub(super) fn text(&self) -> String {
        self.text.iter().collect()
    }

    pub(super) fn insert(&mut self, text: &str) {
        for c in text.chars() {
            self.text.insert(self.at, c);
            self.at += 1;
        }
    }

    /// Whether the key was one of editing.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.len(),
            KeyCode::Char('u') if control => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            KeyCode::Char('k') if control => self.text.truncate(self.at),
            KeyCode::Char('w') if control => self.erase_word(),
            KeyCode::Char(_) if control => return false,
            KeyCode::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = (self.at + 1).min(self.text.len()),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            KeyCode::Backspace if self.at > 0 => {
                self.at -= 1;
                self.text.remove(self.at);
            }
            KeyCode::Delete if self.at < self.text.len() => {
                self.text.remove(self.at);
            }
            KeyCode::Backspace | KeyCode::Delete => {}
            _ => return false,
        }
        true
    }

    fn erase_word(&mut self) {
        let end = self.at;
        let is_blank = |at: usize| self.text[at - 1].is_whitespace();
        let mut begin = end;
        while begin > 0 && is_blank(begin) {
            begin -= 1;
        }
        while begin > 0 && !is_blank(begin) {
            begin -= 1;
        }
        self.text.drain(begin..end);
        self.at = begin;
    }

    /// The text in rows of this width, and the row and column of the cursor.
    pub(super) fn rows(&self, columns: usize) -> (Vec<String>, (usize, usize)) {
        let columns = columns.max(2);
        let mut rows = vec![String::new()];
        let (mut used, mut cursor) = (0, (0, 0));
        for (at, c) in self.text.iter().enumerate() {
            if *c == '\n' {
                if at == self.at {
                    cursor = (rows.len() - 1, used);
                }
                rows.push(String::new());
                used = 0;
                continue;
            }
            let shown = safe(c.encode_utf8(&mut [0; 4]));
            let wide = width(&shown);
            if used + wide > columns {
                rows.push(String::new());
                used = 0;
            }
            if at == self.at {
                cursor = (rows.len() - 1, used);
            }
            rows.last_mut().expect("there is always a row").push_str(&shown);
            used += wide;
        }
        if self.at == self.text.len() {
            if used >= columns {
                rows.push(String::new());
                used = 0;
            }
            cursor = (rows.len() - 1, used);
        }
        (rows, cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(input: &mut Input, code: KeyCode, modifiers: KeyModifiers) {
        assert!(input.key(KeyEvent::new(code, modifiers)));
    }

    #[test]
    fn a_text_is_edited_in_its_middle() {
        let mut input = Input::of("fix the pars");
        typed(&mut input, KeyCode::Char('w'), KeyModifiers::CONTROL);
        input.insert("漢字");
        typed(&mut input, KeyCode::Left, KeyModifiers::NONE);
        typed(&mut input, KeyCode::Char('!'), KeyModifiers::NONE);
        assert_eq!(input.text(), "fix the 漢!字");
        typed(&mut input, KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!(input.text(), "字");
    }

    #[test]
    fn the_cursor_is_where_the_next_character_goes() {
        let mut input = Input::of("abcd");
        assert_eq!(input.rows(10), (vec!["abcd".to_owned()], (0, 4)));
        assert_eq!(input.rows(4), (vec!["abcd".to_owned(), String::new()], (1, 0)));
        input.insert("\n漢");
        assert_eq!(input.rows(4).1, (1, 2));
        typed(&mut input, KeyCode::Left, KeyModifiers::NONE);
        assert_eq!(input.rows(4).1, (1, 0));
    }

    #[test]
    fn what_is_pasted_cannot_drive_the_terminal() {
        let input = Input::of("a\x1b[2J");
        assert_eq!(input.rows(40).0, ["a\\x1b[2J"]);
        assert_eq!(input.text(), "a\x1b[2J", "it is sent as it was pasted");
    }
}
