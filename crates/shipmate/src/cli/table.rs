//! Aligned tables. Columns are as wide as their widest cell; on a terminal the columns that may
//! give way are cut so that a row stays one line.

use std::borrow::Cow;

use crate::cli::screen::{Paint, Screen, columns, cut, plain};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
    /// Cut first when the terminal is too narrow.
    Elastic(&'static str),
}

impl Column {
    fn title(self) -> &'static str {
        let (Column::Left(title) | Column::Right(title) | Column::Elastic(title)) = self;
        title
    }
}

/// Least columns an elastic column keeps.
const ELASTIC_MIN: usize = 12;
const GAP: usize = 2;

#[derive(Debug)]
pub(crate) struct Table<'a> {
    columns: Vec<Column>,
    /// Row after row: ten thousand of them are one allocation.
    cells: Vec<Cell<'a>>,
}

#[derive(Debug)]
pub(crate) struct Cell<'a> {
    text: Cow<'a, str>,
    columns: usize,
    paint: Paint,
}

/// A cell with text of others in it, made safe to print.
pub(crate) fn cell(text: &str) -> Cell<'_> {
    painted(text, Paint::Plain)
}

pub(crate) fn painted(text: &str, paint: Paint) -> Cell<'_> {
    let text = plain(text);
    Cell { columns: columns(&text), text, paint }
}

/// A cell of a text that was made for it.
pub(crate) fn owned<'a>(text: String, paint: Paint) -> Cell<'a> {
    let text = match plain(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(safe) => safe,
    };
    Cell { columns: columns(&text), text: Cow::Owned(text), paint }
}

impl<'a> Table<'a> {
    pub(crate) fn new(columns: &[Column]) -> Table<'a> {
        Table { columns: columns.to_vec(), cells: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell<'a>; N]) {
        assert_eq!(N, self.columns.len(), "a row has a cell for every column");
        self.cells.extend(cells);
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, Cell<'a>> {
        self.cells.chunks_exact(self.columns.len())
    }

    /// The lines of the table, ending in a newline; columns that are empty throughout are left
    /// out.
    pub(crate) fn render(&self, screen: &Screen) -> String {
        let widths = self.widths(screen.width);
        let line = widths.iter().sum::<usize>() + widths.len() * GAP;
        let mut text = String::with_capacity((self.rows().len() + 1) * (line + 16));
        let titles: Vec<Cell<'_>> =
            self.columns.iter().map(|column| painted(column.title(), Paint::Bold)).collect();
        self.push(&mut text, &titles, &widths, screen);
        for row in self.rows() {
            self.push(&mut text, row, &widths, screen);
        }
        text
    }

    fn widths(&self, terminal: Option<usize>) -> Vec<usize> {
        let mut widths = vec![0; self.columns.len()];
        for row in self.rows() {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.columns);
            }
        }
        for (width, column) in widths.iter_mut().zip(&self.columns) {
            if *width > 0 {
                *width = (*width).max(column.title().len());
            }
        }
        let Some(terminal) = terminal else { return widths };
        let shown = widths.iter().filter(|width| **width > 0).count();
        let mut over =
            (widths.iter().sum::<usize>() + shown.saturating_sub(1) * GAP).saturating_sub(terminal);
        // The widest elastic column gives way first, so that both stay readable.
        while over > 0 {
            let elastic = self.columns.iter().zip(widths.iter_mut());
            let widest = elastic
                .filter(|(column, width)| {
                    matches!(column, Column::Elastic(_)) && **width > ELASTIC_MIN
                })
                .max_by_key(|(_, width)| **width);
            let Some((_, width)) = widest else { break };
            *width -= 1;
            over -= 1;
        }
        widths
    }

    fn push(&self, text: &mut String, row: &[Cell<'_>], widths: &[usize], screen: &Screen) {
        let mut pending = 0;
        for ((cell, width), column) in row.iter().zip(widths).zip(&self.columns) {
            if *width == 0 {
                continue;
            }
            let (shown, taken) = if cell.columns > *width {
                (cut(&cell.text, *width), *width)
            } else {
                (Cow::Borrowed(cell.text.as_ref()), cell.columns)
            };
            let room = width.saturating_sub(taken);
            if matches!(column, Column::Right(_)) {
                pending += room;
            }
            if !shown.is_empty() {
                text.extend(std::iter::repeat_n(' ', pending));
                pending = 0;
                match cell.paint {
                    Paint::Plain => text.push_str(&shown),
                    paint => text.push_str(&screen.paint(paint, &shown)),
                }
            }
            if !matches!(column, Column::Right(_)) {
                pending += room;
            }
            pending += GAP;
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<'static> {
        let columns = [
            Column::Right("ID"),
            Column::Left("STATUS"),
            Column::Elastic("SUBJECT"),
            Column::Left("NONE"),
        ];
        let mut table = Table::new(&columns);
        table.row([cell("1"), cell("pending"), cell("Write the parser"), cell("")]);
        table.row([cell("10"), cell(""), cell("b\x1b"), cell("")]);
        table
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        assert_eq!(
            table().render(&Screen::of_width(None)),
            "ID  STATUS   SUBJECT\n 1  pending  Write the parser\n10           b\\x1b\n"
        );
    }

    #[test]
    fn on_a_narrow_terminal_the_elastic_column_gives_way() {
        let text = table().render(&Screen::of_width(Some(26)));
        assert_eq!(text.lines().nth(1), Some(" 1  pending  Write the pa…"));
    }
}
