//! How much a piece of work weighs: whether it takes a stronger model, a plan or a reviewer.

use std::collections::BTreeSet;

use shipmate_model::files::{FileSet, Pattern};
use shipmate_model::playbook::Weight;

use super::work::{Item, Work};

/// Folders that say nothing about the module a file belongs to.
const ROOTS: [&str; 12] = [
    "src", "lib", "tests", "test", "spec", "specs", "app", "apps", "packages", "crates",
    "internal", "pkg",
];

/// Whether a piece weighs as much: one of the rules is enough.
pub fn fits(weight: &Weight, item: &Item, work: &Work) -> bool {
    let at_least = |least: Option<u32>, found: usize| least.is_some_and(|n| found >= n as usize);
    weight.always
        || at_least(weight.files_min, item.size.unwrap_or(item.files.len()))
        || at_least(weight.modules_min, modules(item).len())
        || weight.having.iter().any(|key| item.has(key))
        || weight.shared && work.is_shared(item)
        || touches(&weight.touches, item)
        || has_word(&weight.words, item)
}

/// A file below one of the patterns; or a folder in which one that is a plain path lies. Whether a
/// pattern finds something in a folder is not known.
fn touches(patterns: &FileSet, item: &Item) -> bool {
    let mut files = item.files.iter().filter_map(|file| file.parse::<Pattern>().ok());
    let plain = |pattern: &Pattern| !pattern.as_str().contains(['*', '?']);
    files.any(|file| patterns.iter().any(|own| own.covers(&file) || plain(own) && file.covers(own)))
}

/// Words, not parts of words: `author` is not `auth`.
fn has_word(words: &[String], item: &Item) -> bool {
    let text = format!("{} {}", item.subject, item.description).to_lowercase();
    let said: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    words.iter().any(|word| said.contains(word.to_lowercase().as_str()))
}

/// The modules that its files lie in: the first folder or name that says more than `src` does.
pub fn modules(item: &Item) -> BTreeSet<String> {
    let names = item.files.iter().filter_map(|file| {
        let pattern = file.parse::<Pattern>().ok()?;
        let mut parts = pattern.as_str().split('/').filter(|part| !ROOTS.contains(part));
        let name = parts.next()?;
        let stem = name.split('.').next().unwrap_or(name);
        let stem = stem.strip_prefix("test_").unwrap_or(stem);
        let stem = ["_test", "_spec"].iter().find_map(|end| stem.strip_suffix(end)).unwrap_or(stem);
        Some(stem.to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(files: &[&str], subject: &str) -> Item {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Item { id: "a".to_owned(), subject: subject.to_owned(), files, ..Item::default() }
    }

    #[test]
    fn tests_of_a_module_are_no_second_module() {
        let one = item(&["src/auth/", "tests/auth/", "tests/test_auth.py", "src/auth.rs"], "");
        assert_eq!(modules(&one).len(), 1);
        assert_eq!(modules(&item(&["src/auth/", "src/pay/"], "")).len(), 2);
    }

    #[test]
    fn a_rule_alone_is_enough_and_none_is_not() {
        let work = Work::default();
        let piece = item(&["src/login/x.rs"], "Reset the password of an author");
        let rule = |weight: Weight| fits(&weight, &piece, &work);
        assert!(!rule(Weight::default()));
        assert!(rule(Weight { always: true, ..Weight::default() }));
        assert!(rule(Weight { words: vec!["Password".to_owned()], ..Weight::default() }));
        assert!(!rule(Weight { words: vec!["auth".to_owned()], ..Weight::default() }));
        let touches = FileSet::new(vec!["**/login".parse().unwrap()]);
        assert!(rule(Weight { touches, ..Weight::default() }));
        let touches = FileSet::new(vec!["**/auth".parse().unwrap()]);
        assert!(!rule(Weight { touches, ..Weight::default() }));
        assert!(!rule(Weight { files_min: Some(2), ..Weight::default() }));
        let ten = Item { size: Some(10), ..piece.clone() };
        assert!(fits(&Weight { files_min: Some(10), ..Weight::default() }, &ten, &work));
    }

    #[test]
    fn large_spread_and_shared_features_are_planned_and_get_the_stronger_model() {
        let features = crate::numbers::builtin("features").playbook;
        let role = &features.roles[&"feature".parse().unwrap()];
        let (plan, upgrade) = (role.plan_when.as_ref().unwrap(), &role.upgrades[0].when);
        let work = Work::default();
        let plain = item(&["src/a/x.rs"], "Build it");
        assert!(!fits(plan, &plain, &work) && !fits(upgrade, &plain, &work));
        let nine = Item { size: Some(9), ..plain.clone() };
        assert!(!fits(plan, &nine, &work) && !fits(upgrade, &nine, &work));
        let ten = Item { size: Some(10), ..plain.clone() };
        assert!(fits(plan, &ten, &work) && fits(upgrade, &ten, &work));
        assert!(fits(upgrade, &item(&["src/auth/x.rs"], "Build it"), &work));
        assert!(fits(plan, &item(&["src/auth/x.rs"], "Build it"), &work));
        for word in ["authentication", "authorization", "crypto"] {
            assert!(fits(plan, &item(&["src/a/x.rs"], word), &work), "{word}");
        }
        let tests = Item { size: Some(10), ..item(&["tests/a.rs"], "Add tests") };
        assert!(fits(plan, &tests, &work), "added tests are no exception");
        assert!(fits(plan, &item(&["src/a/x.rs", "src/b/y.rs"], "Build it"), &work));
        let other = Item { id: "b".to_owned(), ..plain.clone() };
        let shared = Work { items: vec![other], ..Work::default() };
        assert!(fits(plan, &plain, &shared) && fits(upgrade, &plain, &shared));
    }
}
