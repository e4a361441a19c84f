//! Pieces that could be worked on side by side and share files: told before anybody starts.

use std::collections::{BTreeMap, BTreeSet};

use shipmate_model::files::{FileSet, Pattern};

use super::{Item, Work};

impl Work {
    /// Every pair of pieces that meet in a path though neither waits for the other, with what can
    /// be done about it. Two of one teammate are never worked on side by side.
    pub fn clashes(&self) -> Vec<String> {
        let waits = self.waits();
        let mut found = Vec::new();
        for (at, one) in self.items.iter().enumerate() {
            for other in &self.items[at + 1..] {
                let apart = waits[one.id.as_str()].contains(other.id.as_str())
                    || waits[other.id.as_str()].contains(one.id.as_str())
                    || one.assignee.is_some() && one.assignee == other.assignee;
                if apart {
                    continue;
                }
                if let Some(path) = meeting(one, other) {
                    let (a, b) = (&one.id, &other.id);
                    found.push(format!(
                        "{a} and {b} both own {path}: give both to one teammate (the same \
                         assigned_to), or let {b} depend on {a}"
                    ));
                }
            }
        }
        found
    }

    /// Whether its files meet those of another piece.
    pub fn is_shared(&self, item: &Item) -> bool {
        self.items.iter().any(|other| other.id != item.id && meeting(item, other).is_some())
    }

    /// What each piece waits for, however far.
    pub fn waits(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let items = self.items.iter();
        let needs = items.clone().map(|item| (item.id.as_str(), item.needs.as_slice())).collect();
        items.map(|item| (item.id.as_str(), reached(&needs, &item.id))).collect()
    }
}

/// What one waits for, however far.
pub(super) fn reached<'a>(
    needs: &BTreeMap<&str, &'a [String]>,
    from: &'a str,
) -> BTreeSet<&'a str> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        let more = needs.get(at).copied().unwrap_or_default();
        open.extend(more.iter().map(String::as_str).filter(|need| seen.insert(need)));
    }
    seen
}

/// The narrower of two patterns that meet.
fn meeting(one: &Item, other: &Item) -> Option<Pattern> {
    let (a, b) = (files(one), files(other));
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
    let mut met = pairs.filter(|(x, y)| x.overlaps(y));
    met.next().map(|(x, y)| if x.contains(y) { y.clone() } else { x.clone() })
}

fn files(item: &Item) -> FileSet {
    FileSet::new(item.files.iter().filter_map(|file| file.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, files: &[&str], needs: &[&str]) -> Item {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Item { id: id.to_owned(), files: texts(files), needs: texts(needs), ..Item::default() }
    }

    #[test]
    fn who_shares_a_path_and_waits_for_nobody_is_named_with_both_ways_out() {
        let pieces = [
            item("F001", &["./src//auth/"], &[]),
            item("F002", &["src/auth/token.rs"], &[]),
            item("F003", &["src/auth"], &["F001", "F002"]),
            item("F004", &["src/authority"], &[]),
        ];
        let mut work = Work { items: pieces.into(), ..Work::default() };
        let told = work.clashes();
        assert_eq!(
            told,
            ["F001 and F002 both own src/auth/token.rs: give both to one teammate (the same \
              assigned_to), or let F002 depend on F001"]
        );
        assert!(work.is_shared(&work.items[2]) && !work.is_shared(&work.items[3]));
        work.items[0].assignee = Some("ana".to_owned());
        work.items[1].assignee = Some("ana".to_owned());
        assert!(work.clashes().is_empty());
    }

    #[test]
    fn waiting_reaches_over_others() {
        let chain = [item("a", &["x"], &[]), item("b", &["y"], &["a"]), item("c", &["x"], &["b"])];
        let work = Work { items: chain.into(), ..Work::default() };
        assert!(work.clashes().is_empty());
    }
}
