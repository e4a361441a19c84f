//! The parts of Markdown that a plan needs: sections by their heading, and one table.

use shipmate_protocol::plan_file::bad_path;
use shipmate_protocol::problem::{nearest, quoted};

/// What a column may be called. Others are for people.
const FILE: [&str; 3] = ["file", "files", "path"];
const CHANGE: [&str; 3] = ["change", "changes", "description"];
const LAYER: [&str; 2] = ["layer", "layers"];
const AGENT: [&str; 2] = ["agent", "owner"];
const AFTER: [&str; 4] = ["after", "depends on", "depends", "blocked by"];
const COLUMNS: [&[&str]; 5] = [&FILE, &CHANGE, &LAYER, &AGENT, &AFTER];

/// A row of the table of files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) file: String,
    pub(crate) change: String,
    pub(crate) layer: String,
    pub(crate) agent: String,
    /// Layers that come first, where the plan has such a column.
    pub(crate) after: String,
}

/// The table under a heading, or everything that is wrong with it; none where the heading is not
/// there.
pub(crate) fn under(heading: &str, path: &str, text: &str) -> Result<Option<Vec<Row>>, String> {
    let mut inside = false;
    let mut columns: Option<Vec<String>> = None;
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some((_, title)) = heading_of(line) {
            inside = title.eq_ignore_ascii_case(heading);
            continue;
        }
        if !inside || !line.trim_start().starts_with('|') {
            // The table ends where it ends; text may follow it.
            inside = inside && (columns.is_none() || rows.is_empty() && wrong.is_empty());
            continue;
        }
        let cells = cells(line);
        let Some(columns) = &columns else {
            let found: Vec<String> = cells.iter().map(|cell| cell.to_lowercase()).collect();
            let misspelt = misspelt(&found);
            if !misspelt.is_empty() {
                let told = misspelt.iter().map(|fact| format!("{path}:{}: {fact}", at + 1));
                return Err(told.collect::<Vec<_>>().join("\n"));
            }
            columns = Some(found);
            continue;
        };
        if cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-: ".contains(c))) {
            continue;
        }
        match row(path, at + 1, columns, &cells) {
            Ok(row) => rows.push(row),
            Err(why) => wrong.push(why),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    match (columns, rows.is_empty()) {
        (None, _) => Ok(None),
        (Some(_), true) => Err(format!("{path}: the table under {heading:?} names no file")),
        (Some(_), false) => Ok(Some(rows)),
    }
}

/// A column that is nearly one that counts, which is not there, would be left out in silence.
fn misspelt(columns: &[String]) -> Vec<String> {
    let is_there = |names: &&[&str]| columns.iter().any(|own| names.contains(&own.as_str()));
    let absent = COLUMNS.iter().filter(|names| !is_there(names));
    let absent: Vec<&str> = absent.flat_map(|names| names.iter().copied()).collect();
    let known = |own: &str| COLUMNS.iter().any(|names| names.contains(&own));
    let strange = columns.iter().filter(|own| !known(own));
    let told = strange.filter_map(|own| {
        let meant = nearest(own, absent.iter().copied())?;
        Some(format!("the table has a column {}: did you mean {meant:?}?", quoted(own)))
    });
    told.collect()
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
    let file = cell(&FILE);
    if file.is_empty() {
        return Err(format!("{path}:{line}: the row names no file in a column File"));
    }
    if let Some((fact, remedy)) = bad_path(&file) {
        return Err(format!("{path}:{line}: {fact}: {remedy}"));
    }
    Ok(Row {
        line,
        file: file.trim_start_matches("./").to_owned(),
        change: cell(&CHANGE),
        layer: cell(&LAYER),
        agent: cell(&AGENT),
        after: cell(&AFTER),
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
pub(crate) fn sections_about(text: &str, name: &str) -> Vec<String> {
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
        let text =
            "# Files to Modify\n| File | Change |\n|--|--|\n|  | b |\n| ../b | c |\n| /c | |\n";
        let why = under("Files to Modify", "p.md", text).unwrap_err();
        assert_eq!(
            why.lines().collect::<Vec<_>>(),
            [
                "p.md:4: the row names no file in a column File",
                "p.md:5: \"../b\" climbs with '..': name a file inside the repository",
                "p.md:6: \"/c\" is absolute: write it relative to the repository",
            ]
        );
    }

    #[test]
    fn a_column_that_is_nearly_one_is_named_and_one_for_people_is_not() {
        let table = |columns: &str| {
            let text = format!("# Files to Modify\n{columns}\n|--|--|--|\n| a | b | c |\n");
            under("Files to Modify", "p.md", &text).map(|rows| rows.unwrap().len())
        };
        let why = table("| File | Chnage | Lyer |").unwrap_err();
        assert_eq!(
            why,
            "p.md:2: the table has a column \"chnage\": did you mean \"change\"?\n\
             p.md:2: the table has a column \"lyer\": did you mean \"layer\"?"
        );
        assert_eq!(table("| File | Layer | Lines |"), Ok(1), "there is a column Layer already");
        assert_eq!(table("| File | Change | Reviewed by |"), Ok(1));
    }

    #[test]
    fn a_section_belongs_to_the_layer_that_its_heading_names() {
        let text = "# Plan\n## 1. Models\nfields\n### Detail\nmore\n## API models layer\nx\n## Remodels\ny\n";
        let about = sections_about(text, "models");
        assert_eq!(about, ["## 1. Models\nfields\n### Detail\nmore", "## API models layer\nx"]);
    }
}
