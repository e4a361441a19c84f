//! Colours, or none: what a colour says is also said by a sign and a word.

use ratatui::style::{Color, Modifier, Style};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Dim,
    Bold,
    Notice,
    Good,
    Busy,
    Bad,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    pub(crate) colour: bool,
}

impl Theme {
    pub(super) fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let painted = match tone {
            Tone::Plain => return style,
            Tone::Dim => return style.add_modifier(Modifier::DIM),
            Tone::Bold => return style.add_modifier(Modifier::BOLD),
            Tone::Notice => Color::Cyan,
            Tone::Good => Color::Green,
            Tone::Busy => Color::Yellow,
            Tone::Bad => Color::Red,
        };
        match (self.colour, tone) {
            (true, _) => style.fg(painted),
            (false, Tone::Bad) => style.add_modifier(Modifier::BOLD),
            (false, _) => style,
        }
    }

    /// A row that keys act on; a sign at its margin says so too.
    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
