//! The last lines of what a teammate prints.

use std::collections::VecDeque;

use super::message::Output;

/// Lines that are kept; `shipmate attach --from-start` shows all of them.
const LINES_MAX: usize = 5_000;

#[derive(Debug, Default)]
pub(super) struct Tail {
    /// Which life printed it.
    pub(super) who: String,
    pub(super) lines: VecDeque<String>,
    /// Why there is nothing.
    pub(super) why: Option<String>,
    /// The last line goes on.
    open: bool,
}

impl Tail {
    /// Takes in what this teammate printed, and nothing else.
    pub(super) fn take(&mut self, address: &str, output: &Output) {
        match output {
            Output::Life { address: of, who } if of == address && *who != self.who => {
                if !self.who.is_empty() {
                    self.lines.push_back(format!("{who} starts"));
                }
                self.who.clone_from(who);
                (self.open, self.why) = (false, None);
            }
            Output::Text { address: of, text } if of == address => self.text(text),
            Output::None { address: of, why } if of == address => self.why = Some(why.clone()),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        // A bar that is drawn over and over again becomes lines.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        for line in text.split_inclusive('\n') {
            let ends = line.ends_with('\n');
            let line = line.trim_end_matches('\n');
            match self.lines.back_mut() {
                Some(last) if self.open => last.push_str(line),
                _ => self.lines.push_back(format!("│ {line}")),
            }
            self.open = !ends;
        }
        while self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_in_pieces_is_shown_in_lines() {
        let mut tail = Tail::default();
        let address = "alpha/ana".to_owned();
        let life =
            |n: u32| Output::Life { address: address.clone(), who: format!("alpha/ana@{n}") };
        let text = |text: &str| Output::Text { address: address.clone(), text: text.to_owned() };
        for output in [life(1), text("one\r\ntw"), text("o"), life(2), text("three\n")] {
            tail.take(&address, &output);
        }
        tail.take("alpha/bo", &text("not mine"));
        assert_eq!(tail.lines, ["│ one", "│ two", "alpha/ana@2 starts", "│ three"]);
    }
}
