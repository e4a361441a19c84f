//! Inside a crate no two modules import each other, directly or around a corner.
//!
//! What is below can then be read, tested and moved without what is above. That holds of the modules of a
//! crate, and of those in the folder of a module: what lies in a folder is a part of the module above,
//! and the two may know each other. Tests are left out: they may look at everything.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust_text::{line_at, mask, words};
use crate::tree::Tree;
use crate::violation::Violation;

/// Code that does not ship.
const LEFT_OUT: [&str; 1] = ["shipmate-testkit"];

/// Where a module imports another: the path and the line of the first such place.
type Arrows = BTreeMap<String, BTreeMap<String, (String, usize)>>;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for name in crates(tree) {
        let arrows = arrows(tree, &name);
        found.extend(circles(&arrows).iter().map(|circle| violation(&name, circle, &arrows)));
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

/// The arrows between modules that lie beside each other: of the crate, or of one of its modules. A module
/// is named by its whole path.
fn arrows(tree: &Tree, name: &str) -> Arrows {
    let src = format!("crates/{name}/src/");
    let root =
        ["lib.rs", "main.rs"].into_iter().find_map(|file| tree.text(&format!("{src}{file}")));
    let root = mask(root.unwrap_or_default());
    let files = tree.texts().filter_map(|(path, text)| {
        let inside = path.strip_prefix(&src)?.strip_suffix(".rs")?;
        let parts: Vec<&str> = inside.split('/').collect();
        let is_root = matches!(inside, "lib" | "main") || inside.starts_with("bin/");
        let is_test = parts.iter().any(|part| part.ends_with("tests"));
        (!is_root && !is_test).then_some((path, parts, text))
    });
    let files: Vec<(&str, Vec<&str>, &str)> = files.collect();
    let all = files.iter().flat_map(|(_, parts, _)| (1..=parts.len()).map(|end| &parts[..end]));
    let modules: BTreeSet<&[&str]> = all.collect();
    let exported = exported(&root);
    let mut arrows = Arrows::new();
    for (path, own, text) in &files {
        let masked = mask(text);
        let code = &masked[..tests_begin(&masked)];
        for (at, mut target) in imported(code, own) {
            if let Some(home) = target.first().and_then(|first| exported.get(first)) {
                target.insert(0, home);
            }
            let common = own.iter().zip(&target).take_while(|(one, other)| one == other).count();
            let (Some(_), Some(to)) = (own.get(common), target.get(..=common)) else { continue };
            if modules.contains(to) {
                let from = arrows.entry(own[..=common].join("::")).or_default();
                from.entry(to.join("::")).or_insert((path.to_string(), line_at(code, at)));
            }
        }
    }
    arrows
}

/// Where the tests inside a file begin: a module that stands there, not one that a file holds.
fn tests_begin(masked: &str) -> usize {
    const TESTS: &str = "#[cfg(test)]\nmod ";
    let is_here = |at: &usize| {
        let line = masked[at + TESTS.len()..].lines().next().unwrap_or_default();
        line.trim_end().ends_with('{')
    };
    masked.match_indices(TESTS).map(|(at, _)| at).find(is_here).unwrap_or(masked.len())
}

/// What the root exports again, and from which module.
fn exported(root: &str) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    for statement in root.split(';') {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let mut names = path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let Some(module) = names.next().filter(|first| !first.starts_with("shipmate_")) else {
            continue;
        };
        found.extend(names.filter(|name| !name.is_empty()).map(|name| (name, module)));
    }
    found
}

/// The paths from the crate's root that a file names, with the place of each: `crate::a::b`,
/// `crate::{a, b::{c, d}}`, and what `super::` leads to.
fn imported<'a>(code: &'a str, own: &[&'a str]) -> Vec<(usize, Vec<&'a str>)> {
    let mut found = Vec::new();
    for at in words(code, "crate") {
        if let Some(rest) = code[at..].strip_prefix("crate::") {
            paths(rest, &[], &mut |path| found.push((at, path)));
        }
    }
    for at in words(code, "super") {
        if code[..at].ends_with("super::") {
            continue;
        }
        let (mut rest, mut base) = (&code[at..], own.to_vec());
        while let Some(next) = rest.strip_prefix("super::") {
            (rest, _) = (next, base.pop());
        }
        paths(rest, &base, &mut |path| found.push((at, path)));
    }
    found
}

/// Each path that a text names below another; how much of the text that is.
fn paths<'a>(text: &'a str, base: &[&'a str], tell: &mut dyn FnMut(Vec<&'a str>)) -> usize {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut path = base.to_vec();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        if !name.is_empty() {
            path.push(name);
            at += name.len();
            match text[at..].starts_with("::") {
                true => at += 2,
                false => break,
            }
        } else if rest.starts_with('{') {
            at += 1;
            while let Some(c) = text[at..].chars().next() {
                match c {
                    '}' => return at + 1,
                    c if is_name(c) => at += paths(&text[at..], &path, tell),
                    c => at += c.len_utf8(),
                }
            }
            return at;
        } else {
            break;
        }
    }
    tell(path);
    at
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
        check(&Tree::from(files))
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
    fn modules_in_a_folder_do_not_import_each_other_but_may_know_the_one_above() {
        let files = |c: &'static str| {
            [
                ("crates/x/src/lib.rs", "mod a;\n"),
                ("crates/x/src/a.rs", "mod b;\nmod c;\nuse b::One;\n"),
                ("crates/x/src/a/b.rs", "use super::{Top, c::{Two, Three}};\n"),
                ("crates/x/src/a/c.rs", c),
            ]
        };
        assert_eq!(facts(files("use super::Top;\nuse crate::a;\n")), [""; 0]);
        for text in ["use super::b::One;\n", "fn f() { crate::a::b::one() }\n"] {
            let fact = "the modules a::b, a::c of x import each other; a::b imports a::c here";
            assert_eq!(facts(files(text)), [format!("crates/x/src/a/b.rs:1: {fact}")], "of {text}");
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
    fn what_comes_after_tests_that_lie_in_a_file_of_their_own_is_looked_at() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\n"),
            ("crates/x/src/a.rs", "#[cfg(test)]\nmod tests;\n\nuse crate::b;\n"),
            ("crates/x/src/b.rs", "use crate::a;\n"),
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
}
