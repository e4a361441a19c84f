//! The parts of Markdown that a plan needs: sections by their heading, and one table.

/// A row of the table of files.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) file: String,
    pub(super) change: String,
    pub(super) layer: String,
    pub(super) agent: String,
    /// Layers that come first, where the plan has such a column.
    pub(super) after: String,
}

/// The table under a heading; none where the heading is not there.
pub(super) fn under(heading: &str, path: &str, text: &str) -> Result<Option<Vec<Row>>, String> {
    let mut inside = false;
    let mut columns: Option<Vec<String>> = None;
    let mut rows = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some((_, title)) = heading_of(line) {
            inside = title.eq_ignore_ascii_case(heading);
            continue;
        }
        if !inside || !line.trim_start().starts_with('|') {
            // The table ends where it ends; text may follow it.
            inside = inside && (columns.is_none() || rows.is_empty());
            continue;
        }
        let cells = cells(line);
        let Some(columns) = &columns else {
            columns = Some(cells.iter().map(|cell| cell.to_lowercase()).collect());
            continue;
        };
        if cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-: ".contains(c))) {
            continue;
        }
        rows.push(row(path, at + 1, columns, &cells)?);
    }
    match (columns, rows.is_empty()) {
        (None, _) => Ok(None),
        (Some(_), true) => Err(format!("{path}: the table under {heading:?} names no file")),
        (Some(_), false) => Ok(Some(rows)),
    }
}

fn row(path: &str, line: usize, columns: &[String], cells: &[String]) -> Result<Row, String> {
    if columns.len() != cells.len() {
        return Err(format!(
            "{path}:{line}: the row has {} cells, the table has {} columns",
            cells.len(),
            columns.len()
        ));
    }
    let cell = |names: &[&str]| {
        let at = columns.iter().position(|column| names.contains(&column.as_str()));
        at.map(|at| cells[at].clone()).unwrap_or_default()
    };
    let file = cell(&["file", "files", "path"]);
    if file.is_empty() {
        return Err(format!("{path}:{line}: the row names no file in a column File"));
    }
    Ok(Row {
        line,
        file: file.trim_start_matches("./").to_owned(),
        change: cell(&["change", "changes", "description"]),
        layer: cell(&["layer"]),
        agent: cell(&["agent", "owner"]),
        after: cell(&["after", "depends on", "depends", "blocked by"]),
    })
}

/// `| a | b \| c |` is two cells; code marks around one are left out.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    let mut found = vec![String::new()];
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'|') => {
                found.last_mut().expect("there is a cell").extend(letters.next());
            }
            '|' => found.push(String::new()),
            other => found.last_mut().expect("there is a cell").push(other),
        }
    }
    let plain = |cell: &String| {
        let cell = cell.trim();
        let code = cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
        code.filter(|code| !code.contains('`')).unwrap_or(cell).trim().to_owned()
    };
    found.iter().map(plain).collect()
}

fn heading_of(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (level > 0 && title.starts_with(' ')).then(|| (level, title.trim()))
}

/// The sections whose heading names this layer, each with what belongs to it.
pub(super) fn sections_about(text: &str, name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open: Option<usize> = None;
    for line in text.lines() {
        if let Some((level, title)) = heading_of(line) {
            if open.is_some_and(|own| level <= own) {
                open = None;
            }
            if open.is_none() && names(title, name) {
                open = Some(level);
                found.push(String::new());
            }
        }
        if let (Some(_), Some(section)) = (open, found.last_mut()) {
            section.push_str(line);
            section.push('\n');
        }
    }
    found.iter().map(|section| section.trim().to_owned()).collect()
}

fn names(title: &str, name: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let apart = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        apart.map(str::to_lowercase).collect()
    };
    let (title, name) = (words(title), words(name));
    !name.is_empty() && title.windows(name.len()).any(|part| part == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_with_its_escapes_and_ends_where_it_ends() {
        let text = "## Files to Modify\n\nSee below.\n\n| File | Change |\n|:--|--:|\n\
                    | `a/b.rs` | x \\| y |\n\nlater\n| no | row |\n";
        let rows = under("files to modify", "p.md", text).unwrap().unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].file.as_str(), rows[0].change.as_str(), rows[0].line),
            ("a/b.rs", "x | y", 7)
        );
    }

    #[test]
    fn a_row_that_does_not_fit_is_named() {
        let text = "# Files to Modify\n| File | Change |\n|--|--|\n| a | b | c |\n";
        let why = under("Files to Modify", "p.md", text).unwrap_err();
        assert_eq!(why, "p.md:4: the row has 3 cells, the table has 2 columns");
        let text = "# Files to Modify\n| File | Change |\n|--|--|\n|  | b |\n";
        assert!(under("Files to Modify", "p.md", text).unwrap_err().starts_with("p.md:4: "));
    }

    #[test]
    fn a_section_belongs_to_the_layer_that_its_heading_names() {
        let text = "# Plan\n## 1. Models\nfields\n### Detail\nmore\n## API models layer\nx\n## Remodels\ny\n";
        let about = sections_about(text, "models");
        assert_eq!(about, ["## 1. Models\nfields\n### Detail\nmore", "## API models layer\nx"]);
    }
}
