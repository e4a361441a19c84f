//! Layers: a plan in Markdown, with the table of files under "Files to Modify".
//!
//! A layer is a value of the table's column Layer; without that column, a folder. Each becomes one
//! piece of work with its own files. Where it is not clear which file is whose, nothing is guessed:
//! the work is for one, no piece has files of its own, and the reason is said.

use std::collections::{BTreeMap, BTreeSet};

use super::{Item, Work};
use crate::fill::{Values, is_test, quoted};

mod table;

use table::Row;

const SECTION: &str = "Files to Modify";

/// What a layer is, by its name: it says what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Models,
    Service,
    Routes,
    /// The lead's, when all layers are done.
    Integration,
    Other,
}

const KINDS: [(Kind, &[&str]); 4] = [
    (Kind::Integration, &["integration", "integrate", "shared", "lead", "wiring"]),
    (Kind::Models, &["model", "models", "type", "types", "schema", "entity", "entities", "data"]),
    (Kind::Service, &["service", "services", "logic", "domain", "core", "usecase", "usecases"]),
    (
        Kind::Routes,
        &["api", "route", "routes", "router", "handler", "handlers", "endpoint", "endpoints"],
    ),
];

struct Layer<'a> {
    name: String,
    kind: Kind,
    rows: Vec<&'a Row>,
}

pub(crate) fn read(files: &[(String, String)]) -> Result<Work, String> {
    let mut found = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".md")) {
        if let Some(rows) = table::under(SECTION, path, text)? {
            found.push((path, text, rows));
        }
    }
    let (path, text, rows) = match found.as_slice() {
        [one] => one,
        [] => {
            let names: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
            return Err(format!(
                "{}: there is no section {SECTION:?} with a table of File | Change | Layer | Agent",
                names.join(", ")
            ));
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(path, ..)| path.as_str()).collect();
            return Err(format!("{} are several plans; name one of them", names.join(", ")));
        }
    };
    let (layers, unclear) = layers(path, rows);
    known_after(path, rows, &layers)?;
    let mut work = Work::default();
    for layer in layers.iter().filter(|layer| layer.kind != Kind::Integration) {
        work.items.push(layer.item(&layers, text));
    }
    no_circle(path, &layers, &work.items)?;
    if unclear.is_some() {
        // What nobody can tell apart is no bar to whoever does it all: no piece names its files.
        let all = layers.iter().filter(|layer| layer.kind != Kind::Integration);
        let all: BTreeSet<&str> =
            all.flat_map(|layer| &layer.rows).map(|row| row.file.as_str()).collect();
        for item in &mut work.items {
            item.fields.insert("owned".to_owned(), bullets(all.iter()));
            item.files.clear();
        }
    }
    work.unclear = unclear;
    // The contracts stand in for the models, so waiting for these is no bar to working side by side.
    let models: Vec<String> = of(&layers, Kind::Models).map(|layer| slug(&layer.name)).collect();
    let free = work.items.iter().filter(|item| item.needs.iter().all(|on| models.contains(on)));
    work.independent = Some(free.count());
    let shared = of(&layers, Kind::Integration).flat_map(|layer| layer.rows.iter());
    let shared: Vec<&str> = shared.map(|row| row.file.as_str()).collect();
    let all: Vec<&str> = work.items.iter().map(|item| item.subject.as_str()).collect();
    let values = [("shared", shared.join(", ")), ("layers", all.join(", "))];
    let values = values.map(|(key, value)| (key.to_owned(), value));
    work.groups.insert("integration".to_owned(), Values::from(values));
    Ok(work)
}

fn of<'a, 'b>(layers: &'a [Layer<'b>], kind: Kind) -> impl Iterator<Item = &'a Layer<'b>> {
    layers.iter().filter(move |layer| layer.kind == kind)
}

/// What a row comes after is a layer of the table.
fn known_after(path: &str, rows: &[Row], layers: &[Layer<'_>]) -> Result<(), String> {
    let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
    for row in rows {
        let named = row.after.split(',').filter(|after| words(after).any(|word| word != "none"));
        for after in named {
            if !layers.iter().any(|layer| slug(&layer.name) == slug(after)) {
                let (after, names) = (after.trim(), names.join(", "));
                return Err(format!("{path}:{}: {after} is no layer; there are {names}", row.line));
            }
        }
    }
    Ok(())
}

/// Some layer can be begun, and then the next.
fn no_circle(path: &str, layers: &[Layer<'_>], items: &[Item]) -> Result<(), String> {
    let mut left: Vec<&Item> = items.iter().collect();
    loop {
        let open: BTreeSet<&str> = left.iter().map(|item| item.id.as_str()).collect();
        let before = left.len();
        left.retain(|item| item.needs.iter().any(|need| open.contains(need.as_str())));
        if left.is_empty() {
            return Ok(());
        }
        if left.len() == before {
            let rows = layers.iter().filter(|layer| open.contains(slug(&layer.name).as_str()));
            let line = rows.flat_map(|layer| &layer.rows).map(|row| row.line).min().unwrap_or(1);
            let names: Vec<&str> = open.into_iter().collect();
            let names = names.join(", ");
            return Err(format!("{path}:{line}: layers that wait for each other: {names}"));
        }
    }
}

/// The layers in the order in which they are first named, and why it is not clear which they are.
fn layers<'a>(path: &str, rows: &'a [Row]) -> (Vec<Layer<'a>>, Option<String>) {
    let by_column = rows.iter().any(|row| !row.layer.is_empty());
    let mut found: Vec<Layer<'a>> = Vec::new();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let mut unclear = None;
    for row in rows {
        let name = match by_column {
            true => row.layer.as_str(),
            false => row.file.rsplit_once('/').map_or("", |(folder, _)| folder),
        };
        if name.is_empty() {
            let why = if by_column { "has no layer" } else { "lies in no folder" };
            unclear.get_or_insert(format!("{path}:{}: {} {why}", row.line, row.file));
        }
        if let Some(other) = owners.insert(&row.file, name).filter(|other| *other != name) {
            let text = format!("{path}:{}: {} is of {other} and of {name}", row.line, row.file);
            unclear.get_or_insert(text);
        }
        let name = if name.is_empty() { "rest" } else { name };
        match found.iter_mut().find(|layer| slug(&layer.name) == slug(name)) {
            Some(layer) => layer.rows.push(row),
            None => {
                found.push(Layer { name: name.to_owned(), kind: kind(name), rows: vec![row] });
            }
        }
    }
    (found, unclear)
}

fn kind(name: &str) -> Kind {
    let words: Vec<String> = words(name).collect();
    let is = |known: &&(Kind, &[&str])| words.iter().any(|word| known.1.contains(&word.as_str()));
    KINDS.iter().find(is).map_or(Kind::Other, |(kind, _)| *kind)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let apart = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    apart.map(str::to_lowercase)
}

/// A name for the board and for the teammate.
fn slug(name: &str) -> String {
    let words: Vec<String> = words(name).collect();
    if words.is_empty() { "rest".to_owned() } else { words.join("-") }
}

impl Layer<'_> {
    /// What it waits for: what its rows name, and what its kind says.
    fn needs(&self, all: &[Layer<'_>]) -> Vec<String> {
        let others = all.iter().filter(|other| other.name != self.name);
        let named = |other: &Layer<'_>| {
            let own = slug(&other.name);
            self.rows.iter().any(|row| row.after.split(',').any(|after| slug(after) == own))
        };
        let by_kind = |other: &Layer<'_>| {
            other.kind == Kind::Models
                && match self.kind {
                    Kind::Routes => true,
                    Kind::Service => self.imports(other),
                    _ => false,
                }
        };
        others
            .filter(|other| other.kind != Kind::Integration && (named(other) || by_kind(other)))
            .map(|other| slug(&other.name))
            .collect()
    }

    /// What its rows say names the models.
    fn imports(&self, models: &Layer<'_>) -> bool {
        let known: Vec<String> =
            words(&models.name).chain(["model", "models"].map(str::to_owned)).collect();
        self.rows.iter().any(|row| words(&row.change).any(|word| known.contains(&word)))
    }

    /// A folder of tests in which no other layer has anything: the place of its fixtures.
    fn own(&self, folder: &str, all: &[Layer<'_>]) -> Option<String> {
        let inside = format!("{folder}/");
        let others = all.iter().filter(|other| other.name != self.name);
        let shared = others.flat_map(|other| &other.rows).any(|row| row.file.starts_with(&inside));
        // The folder of all tests is nobody's, even where only one layer has tests.
        let nested = folder.contains('/') && is_test(&format!("{folder}/x"));
        (nested && !shared).then(|| folder.to_owned())
    }

    fn item(&self, all: &[Layer<'_>], plan: &str) -> Item {
        let files: Vec<String> = self.rows.iter().map(|row| row.file.clone()).collect();
        let tests: Vec<&String> = files.iter().filter(|file| is_test(file)).collect();
        let folder = tests.first().and_then(|test| test.rsplit_once('/')).map(|(folder, _)| folder);
        let rows = self.rows.iter().map(|row| format!("{}: {}", row.file, row.change));
        let mut excerpt = bullets(rows.map(|row| row.trim_end_matches([':', ' ']).to_owned()));
        for section in table::sections_about(plan, &self.name) {
            excerpt.push_str(&format!("\n\n{section}"));
        }
        let path: Vec<String> = match tests.is_empty() {
            true => files.iter().map(|file| quoted(file)).collect(),
            false => tests.iter().map(|file| quoted(file)).collect(),
        };
        let owned = bullets(files.iter());
        let files = files.iter().cloned().chain(folder.and_then(|folder| self.own(folder, all)));
        let agents = self.rows.iter().map(|row| row.agent.as_str());
        let agent = agents.into_iter().find(|agent| !agent.is_empty()).unwrap_or_default();
        let own = if agent.is_empty() || is_shared(all, agent) { &self.name } else { agent };
        let fields = [
            ("layer", self.name.clone()),
            ("excerpt", excerpt),
            ("owned", owned),
            ("tests", tests.iter().map(|test| test.as_str()).collect::<Vec<_>>().join(", ")),
            ("test_folder", folder.unwrap_or_default().to_owned()),
            ("path", path.join(" ")),
            ("member", slug(own)),
        ];
        Item {
            id: slug(&self.name),
            subject: format!("the {} layer", self.name),
            description: String::new(),
            files: files.collect(),
            needs: self.needs(all),
            fields: Values::from(fields.map(|(key, value)| (key.to_owned(), value))),
            ..Item::default()
        }
    }
}

fn bullets(names: impl Iterator<Item = impl std::fmt::Display>) -> String {
    names.map(|name| format!("- {name}")).collect::<Vec<_>>().join("\n")
}

/// Several layers name it: then it says nothing about who is who.
fn is_shared(all: &[Layer<'_>], agent: &str) -> bool {
    let has = |layer: &&Layer<'_>| layer.rows.iter().any(|row| slug(&row.agent) == slug(agent));
    all.iter().filter(has).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rows: &str) -> Work {
        let text = format!("# Plan\n\n## Files to Modify\n\n{rows}\n\n## Risks\nnone\n");
        read(&[("plan.md".to_owned(), text)]).unwrap()
    }

    fn needs(work: &Work) -> Vec<(&str, Vec<&str>)> {
        let all = work.items.iter();
        all.map(|item| (item.id.as_str(), item.needs.iter().map(String::as_str).collect()))
            .collect()
    }

    #[test]
    fn layers_come_from_their_column_and_wait_as_the_template_says() {
        let work = plan(
            "| File | Change | Layer | Agent |\n|---|---|---|---|\n\
             | `src/user.py` | fields | Models | |\n\
             | src/store.py | keeps what it is given | Service | |\n\
             | src/greet.py | greets a model User | Logic | |\n\
             | src/routes.py | GET /users | API | ana |\n\
             | tests/test_routes.py | of GET /users | API | ana |\n\
             | src/app.py | register | Integration | lead |",
        );
        let waits = vec![
            ("models", vec![]),
            ("service", vec![]),
            ("logic", vec!["models"]),
            ("api", vec!["models"]),
        ];
        assert_eq!(needs(&work), waits, "service imports no models, logic does");
        assert_eq!((work.independent, &work.unclear), (Some(4), &None));
        let api = &work.items[3];
        assert_eq!(api.files, ["src/routes.py", "tests/test_routes.py"]);
        assert_eq!(
            (&api.fields["member"], &api.fields["path"]),
            (&"ana".to_owned(), &"'tests/test_routes.py'".to_owned())
        );
        assert_eq!(work.groups["integration"]["shared"], "src/app.py");
    }

    #[test]
    fn a_folder_of_tests_that_no_other_layer_uses_is_the_layers() {
        let work = plan(
            "| File | Change | Layer |\n|---|---|---|\n\
             | src/a.py | | a |\n| tests/a/test_a.py | | a |\n\
             | tests/both/test_b.py | | b |\n| tests/both/test_c.py | | c |\n\
             | tests/test_d.py | | d |\n| src/e/e.test.ts | | e |",
        );
        let files: Vec<&[String]> = work.items.iter().map(|item| &item.files[..]).collect();
        assert_eq!(files[0], ["src/a.py", "tests/a/test_a.py", "tests/a"]);
        assert_eq!(files[1], ["tests/both/test_b.py"], "two share it");
        assert_eq!(files[2], ["tests/both/test_c.py"], "two share it");
        assert_eq!(files[3], ["tests/test_d.py"], "it is everybody's");
        assert_eq!(files[4], ["src/e/e.test.ts"], "it is no folder of tests");
        assert_eq!(work.items[0].fields["owned"], "- src/a.py\n- tests/a/test_a.py");
    }

    #[test]
    fn without_the_column_a_layer_is_a_folder() {
        let work = plan(
            "| File | Change |\n|---|---|\n| src/a/x.rs | x |\n| src/b/y.rs | y |\n| src/b/z.rs | z |",
        );
        assert_eq!(needs(&work), vec![("src-a", vec![]), ("src-b", vec![])]);
        assert_eq!(work.items[1].files, ["src/b/y.rs", "src/b/z.rs"]);
    }

    #[test]
    fn what_is_not_clear_is_said_and_not_guessed() {
        let head = "| File | Change | Layer |\n|---|---|---|\n";
        let twice = plan(&format!("{head}| a.rs | x | Models |\n| a.rs | y | API |"));
        assert_eq!(twice.unclear.as_deref(), Some("plan.md:8: a.rs is of Models and of API"));
        let none = plan(&format!("{head}| a.rs | x | Models |\n| b.rs | y | |"));
        assert_eq!(none.unclear.as_deref(), Some("plan.md:8: b.rs has no layer"));
        let both = "- a.rs\n- b.rs";
        for item in &none.items {
            assert!(item.files.is_empty(), "{item:?}");
            assert_eq!(item.fields["owned"], both);
        }
        let flat = plan("| File | Change |\n|---|---|\n| a.rs | x |");
        assert_eq!(flat.unclear.as_deref(), Some("plan.md:7: a.rs lies in no folder"));
    }

    #[test]
    fn what_a_layer_comes_after_is_another_one_and_not_itself_in_the_end() {
        let told = |rows: &str| {
            let head =
                "## Files to Modify\n\n| File | Change | Layer | After |\n|---|---|---|---|\n";
            read(&[("plan.md".to_owned(), format!("{head}{rows}"))]).map(|_| ()).unwrap_err()
        };
        assert_eq!(
            told("| a/x.py | x | A | - |\n| b/x.py | x | B | Bee |\n"),
            "plan.md:6: Bee is no layer; there are A, B"
        );
        assert_eq!(
            told("| a/x.py | x | A | B |\n| b/x.py | x | B | A |\n| c/x.py | x | C | |\n"),
            "plan.md:5: layers that wait for each other: a, b"
        );
    }

    #[test]
    fn layers_that_name_what_they_come_after_are_not_independent() {
        let work = plan(
            "| File | Change | Layer | After |\n|---|---|---|---|\n\
             | a/a | | a | |\n| b/b | | b | a |\n| c/c | | c | b |",
        );
        assert_eq!(work.independent, Some(1));
        assert_eq!(needs(&work), vec![("a", vec![]), ("b", vec!["a"]), ("c", vec!["b"])]);
    }

    #[test]
    fn the_plan_in_the_manual_is_one_and_every_word_that_makes_a_layer_wait_is_explained() {
        const MANUAL: &str = include_str!("../../../../docs/playbook-files.md");
        let (_, rest) = MANUAL.split_once("```md\n").unwrap();
        let text = rest.split_once("```").unwrap().0.to_owned();
        let work = read(&[("plan.md".to_owned(), text)]).unwrap();
        let waits = vec![("models", vec![]), ("service", vec!["models"]), ("api", vec!["models"])];
        assert_eq!(needs(&work), waits);
        for word in KINDS.iter().flat_map(|(_, words)| *words) {
            let one = word.trim_end_matches('s').replace("entitie", "entity");
            assert!(MANUAL.contains(&one), "the manual does not explain {word}");
        }
    }
}
