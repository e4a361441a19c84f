//! Inside a crate no two modules import each other, directly or around a corner.
//!
//! What is below can then be read, tested and moved without what is above. A module is one that the
//! crate's root names; what lies in its folder is a part of it. Tests inside a file are left out: they
//! may look at everything.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust_text::{line_at, mask, words};
use crate::tree::Tree;
use crate::violation::Violation;

/// Circles that are still there, each with its crate: one that grows is an error, and so is one that is
/// gone and still listed.
const KNOTS: &[(&str, &[&str])] = &[];

/// Code that does not ship.
const LEFT_OUT: [&str; 1] = ["shipmate-testkit"];

/// Where a module imports another: the path and the line of the first such place.
type Arrows = BTreeMap<String, BTreeMap<String, (String, usize)>>;

/// How many are still there.
pub(super) fn left() -> usize {
    KNOTS.len()
}

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    check_but_for(KNOTS, tree)
}

fn check_but_for(knots: &[(&str, &[&str])], tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut knots: BTreeSet<(&str, &[&str])> = knots.iter().copied().collect();
    for name in crates(tree) {
        let arrows = arrows(tree, &name);
        for circle in circles(&arrows) {
            let is_it = |(own, modules): &&(&str, &[&str])| {
                **own == name && circle.iter().all(|module| modules.contains(&module.as_str()))
            };
            let known = knots.iter().find(is_it).copied();
            match known {
                Some(known) if known.1.len() == circle.len() => drop(knots.remove(&known)),
                _ => found.push(violation(&name, &circle, &arrows)),
            }
        }
    }
    for (name, modules) in knots {
        let fact = format!("{name} has no circle of {} any more", modules.join(", "));
        found.push(Violation::new(file!(), 1, fact, "take it out of KNOTS"));
    }
    found
}

fn violation(name: &str, circle: &[String], arrows: &Arrows) -> Violation {
    let first = &circle[0];
    let next = circle.iter().find_map(|other| Some((other, arrows[first].get(other)?)));
    let (other, (path, line)) = next.expect("who is in a circle imports another of it");
    let fact = format!(
        "the modules {} of {name} import each other; {first} imports {other} here",
        circle.join(", ")
    );
    Violation::new(path, *line, fact, "move what both need into a module below both")
}

/// The crates whose modules are looked at.
fn crates(tree: &Tree) -> Vec<String> {
    let roots = tree.texts().filter_map(|(path, _)| {
        let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
        (matches!(rest, "src/lib.rs" | "src/main.rs")).then(|| name.to_owned())
    });
    roots.filter(|name| !LEFT_OUT.contains(&name.as_str())).collect()
}

fn arrows(tree: &Tree, name: &str) -> Arrows {
    let src = format!("crates/{name}/src/");
    let root =
        ["lib.rs", "main.rs"].into_iter().find_map(|file| tree.text(&format!("{src}{file}")));
    let root = mask(root.unwrap_or_default());
    let modules: BTreeSet<&str> = declared(&root).collect();
    let exported = exported(&root, &modules);
    let mut arrows = Arrows::new();
    for (path, text) in tree.texts() {
        let Some(inside) = path.strip_prefix(&src).and_then(|path| path.strip_suffix(".rs")) else {
            continue;
        };
        let parts: Vec<&str> = inside.split('/').collect();
        let own = parts[0];
        let is_test = parts.last().is_some_and(|last| last.ends_with("tests"));
        if !modules.contains(own) || is_test {
            continue;
        }
        let masked = mask(text);
        let code = &masked[..masked.find("#[cfg(test)]\nmod ").unwrap_or(masked.len())];
        for (at, word) in imported(code, parts.len()) {
            let other =
                if modules.contains(word) { Some(word) } else { exported.get(word).copied() };
            if let Some(other) = other.filter(|other| *other != own) {
                let place = (path.to_owned(), line_at(code, at));
                let from = arrows.entry(own.to_owned()).or_default();
                from.entry(other.to_owned()).or_insert(place);
            }
        }
    }
    arrows
}

/// `mod name;` of a crate's root.
fn declared(root: &str) -> impl Iterator<Item = &str> {
    root.lines().filter_map(|line| {
        let rest = line.strip_suffix(';')?.split_once("mod ")?.1;
        rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'_').then_some(rest)
    })
}

/// What the root exports again, and from which module.
fn exported<'a>(root: &'a str, modules: &BTreeSet<&'a str>) -> BTreeMap<&'a str, &'a str> {
    let mut found = BTreeMap::new();
    for statement in root.split(';') {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let mut names = path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let Some(module) = names.next().and_then(|first| modules.get(first.trim())) else {
            continue;
        };
        found.extend(names.filter(|name| !name.is_empty()).map(|name| (name, *module)));
    }
    found
}

/// The first names behind the crate's root, of a file so many folders deep: `crate::a`, `crate::{a, b::c}`,
/// and as many `super::` as lead there.
fn imported(code: &str, depth: usize) -> Vec<(usize, &str)> {
    let supers = "super::".repeat(depth);
    let mut found = Vec::new();
    for at in words(code, "crate") {
        if let Some(rest) = code[at..].strip_prefix("crate::") {
            found.extend(first_names(rest).into_iter().map(|name| (at, name)));
        }
    }
    for at in words(code, "super") {
        let is_first = !code[..at].ends_with("super::");
        if let Some(rest) = code[at..].strip_prefix(&supers).filter(|_| is_first) {
            found.extend(first_names(rest).into_iter().map(|name| (at, name)));
        }
    }
    found
}

fn first_names(path: &str) -> Vec<&str> {
    let name = |text: &str| {
        text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
    };
    let Some(group) = path.strip_prefix('{') else { return vec![&path[..name(path)]] };
    let (mut depth, mut found, mut begins) = (0, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && depth == 0 && !c.is_whitespace() => {
                found.push(&group[at..at + name(&group[at..])]);
                begins = false;
            }
            _ => {}
        }
    }
    found
}

/// The groups of modules of which each leads to each other, the names in order.
fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|from| (from, reach(from, arrows))).collect();
    let leads = |from: &String, to: &String| reached.get(from).is_some_and(|all| all.contains(to));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for module in arrows.keys() {
        if seen.contains(module) || !leads(module, module) {
            continue;
        }
        let own: Vec<String> = arrows
            .keys()
            .filter(|other| leads(module, other) && leads(other, module))
            .cloned()
            .collect();
        seen.extend(own.iter().cloned());
        found.push(own);
    }
    found
}

/// All that a module imports, directly or through others.
fn reach<'a>(from: &String, arrows: &'a Arrows) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&String> = arrows.get(from).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(arrows.get(module).into_iter().flat_map(BTreeMap::keys));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
        check_but_for(&[], &Tree::from(files))
            .into_iter()
            .map(|v| format!("{}:{}: {}", v.path, v.line, v.fact))
            .collect()
    }

    #[test]
    fn modules_that_import_each_other_are_named_with_a_place() {
        let root = ("crates/x/src/lib.rs", "mod a;\nmod b;\npub(crate) mod c;\npub use c::Kept;\n");
        let straight = [
            root,
            ("crates/x/src/a.rs", "use crate::b::One;\n"),
            ("crates/x/src/b.rs", "use crate::c;\n"),
            ("crates/x/src/c.rs", "// crate::a is above\n"),
        ];
        assert_eq!(facts(straight), [""; 0]);
        for (path, text) in [
            ("crates/x/src/c.rs", "\nuse crate::a::Two;\n"),
            ("crates/x/src/c/deep.rs", "\nuse super::super::a;\n"),
            ("crates/x/src/c.rs", "\nuse crate::{state, a::{Two, Three}};\n"),
            ("crates/x/src/c.rs", "\nfn f() { super::a::two() }\n"),
        ] {
            let files = [straight[0], straight[1], straight[2], (path, text)];
            let found = facts(files);
            let fact = "the modules a, b, c of x import each other; a imports b here";
            assert_eq!(found, [format!("crates/x/src/a.rs:1: {fact}")], "of {text}");
        }
    }

    #[test]
    fn what_the_root_exports_again_is_its_modules() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::{One, Two};\n"),
            ("crates/x/src/a.rs", "use crate::b;\n"),
            ("crates/x/src/b.rs", "use crate::Two;\n"),
        ];
        assert_eq!(facts(files).len(), 1);
    }

    #[test]
    fn tests_and_what_does_not_ship_may_look_at_everything() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\n"),
            ("crates/x/src/a.rs", "use crate::b;\n"),
            ("crates/x/src/b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n"),
            ("crates/x/src/b/tests.rs", "use crate::a;\n"),
            ("crates/shipmate-testkit/src/lib.rs", "mod a;\nmod b;\n"),
            ("crates/shipmate-testkit/src/a.rs", "use crate::b;\n"),
            ("crates/shipmate-testkit/src/b.rs", "use crate::a;\n"),
        ];
        assert_eq!(facts(files), [""; 0]);
    }

    #[test]
    fn a_circle_that_is_known_may_stay_and_may_not_grow_or_be_forgotten() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\n"),
            ("crates/x/src/a.rs", "use crate::b;\n"),
            ("crates/x/src/b.rs", "use crate::a;\n"),
        ];
        let found = |knots: &[(&str, &[&str])]| check_but_for(knots, &Tree::from(files)).len();
        assert_eq!(found(&[("x", &["a", "b"])]), 0);
        assert_eq!(found(&[]), 1);
        // It names a module that is in no circle any more.
        assert_eq!(found(&[("x", &["a", "b", "c"])]), 2);
        assert_eq!(found(&[("y", &["a", "b"])]), 2);
    }
}
