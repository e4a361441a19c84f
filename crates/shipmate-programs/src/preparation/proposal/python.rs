//! What a project in Python seems to need: its own lock file's tool, or pip in a virtual environment with
//! what the project says that its tests need. Where it says nothing of them, that is said.

use std::collections::BTreeSet;

use toml::Table;

use super::super::LOCK_FILES;
use super::{Checkout, Proposal, quoted};

/// Runs tests of unittest too, and fails where it finds none.
const PYTEST: &str = "python -m pytest";

/// What parts, groups and files for tests are called; the first that is there has the others, as a rule.
const FOR_TESTS: [&str; 4] = ["test", "tests", "testing", "dev"];

/// The files of pip's own form in the root, of those that a set-up depends on.
pub(super) fn requirements() -> impl Iterator<Item = &'static str> {
    LOCK_FILES.into_iter().filter(|name| name.ends_with(".txt") && !name.contains('/'))
}

pub(super) fn look(checkout: &Checkout<'_>, proposal: &mut Proposal) {
    let project = checkout.text("pyproject.toml").unwrap_or_default();
    let is_project = ["[project]", "[tool.poetry]", "[build-system]"]
        .iter()
        .any(|table| project.contains(table));
    let others = ["setup.py", "setup.cfg", "Pipfile", "uv.lock", "poetry.lock"];
    let is_old = others.iter().any(|name| checkout.has(name));
    if !is_project && !requirements().any(|name| checkout.has(name)) && !is_old {
        return;
    }
    let runner = test_runner(checkout, &project);
    let with = |prefix: &str| runner.map(|runner| format!("{prefix}{runner}"));
    let table = project.parse::<Table>().unwrap_or_default();
    let extras = extras(&table);
    let (why, setup, gate): (&str, Vec<String>, Option<String>) = match () {
        () if checkout.has("uv.lock") => {
            let extras: String = extras.iter().map(|name| format!("--extra {name} ")).collect();
            // Of these uv installs `dev` by itself.
            let groups = groups(&table).into_iter().filter(|name| *name != "dev");
            let groups: String = groups.map(|name| format!("--group {name} ")).collect();
            let all = format!("{extras}{groups}");
            let setup = format!("uv sync --frozen {all}").trim_end().to_owned();
            ("uv.lock", vec![setup], with(&format!("uv run --frozen {all}")))
        }
        () if checkout.has("poetry.lock") => {
            let extras: String = extras.iter().map(|name| format!(" -E {name}")).collect();
            let install = "poetry config virtualenvs.in-project true --local && poetry install";
            ("poetry.lock", vec![format!("{install}{extras}")], with("poetry run "))
        }
        () if checkout.has("Pipfile.lock") => {
            let install = "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev".to_owned();
            ("Pipfile.lock", vec![install], with("PIPENV_VENV_IN_PROJECT=1 pipenv run "))
        }
        () => {
            let (packages, says_tests) = packages(checkout, &table, is_project, &extras);
            let mut packages = packages;
            if runner == Some(PYTEST) && !packages.iter().any(|name| name == "pytest") {
                packages.push("pytest".to_owned());
            }
            if runner.is_some() && !says_tests {
                let text = "nothing says what the tests need besides pytest: where they need more, add it \
                            to setup under [trees]";
                proposal.open.push(text.to_owned());
            }
            let install = format!(".venv/bin/pip install -q {}", packages.join(" "));
            let setup = vec!["python3 -m venv .venv".to_owned(), install];
            let first = || requirements().find(|name| checkout.has(name)).unwrap_or("setup.py");
            let why = if is_project { "pyproject.toml" } else { first() };
            // Tests call the project's own commands too.
            (why, setup, with(". .venv/bin/activate && "))
        }
    };
    if gate.is_none() {
        proposal.open.push("no tests of Python were found".to_owned());
    }
    let setup: Vec<&str> = setup.iter().map(String::as_str).collect();
    proposal.takes(why, &setup, gate.as_deref());
}

fn test_runner(checkout: &Checkout<'_>, project: &str) -> Option<&'static str> {
    let is_test = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    };
    let said = ["pytest.ini", "tox.ini", "setup.cfg", "requirements-dev.txt", "requirements.txt"];
    let is_pytest = project.contains("pytest")
        || checkout.any(|path| path.ends_with("conftest.py"))
        || said.iter().any(|name| checkout.text(name).is_some_and(|text| text.contains("pytest")));
    (is_pytest || checkout.any(is_test)).then_some(PYTEST)
}

/// What pip is to install, and whether any of it is for tests.
fn packages(
    checkout: &Checkout<'_>,
    table: &Table,
    is_project: bool,
    extras: &[&str],
) -> (Vec<String>, bool) {
    let mut all: Vec<String> =
        requirements().filter(|name| checkout.has(name)).map(|name| format!("-r {name}")).collect();
    let mut says_tests = all.iter().any(|line| line.contains("dev") || line.contains("test"))
        || !extras.is_empty()
        || checkout.text("requirements.txt").is_some_and(|text| text.contains("pytest"));
    let files = FOR_TESTS.map(|name| format!("requirements/{name}.txt"));
    let mut more: Vec<String> = files
        .iter()
        .find(|name| checkout.has(name))
        .map(|name| format!("-r {name}"))
        .into_iter()
        .collect();
    for name in groups(table) {
        let group = table["dependency-groups"][name].as_array();
        let named = group.into_iter().flatten().filter_map(toml::Value::as_str);
        more.extend(named.map(quoted));
    }
    if more.is_empty() && !says_tests {
        more = tox(&checkout.text("tox.ini").unwrap_or_default())
            .into_iter()
            .filter(|line| line.strip_prefix("-r ").is_none_or(|file| checkout.has(file)))
            .collect();
    }
    says_tests |= !more.is_empty();
    all.extend(more);
    if is_project || checkout.has("setup.py") {
        let extras =
            if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
        all.push(format!("-e '.{extras}'"));
    }
    let mut known = BTreeSet::new();
    all.retain(|line| known.insert(line.clone()));
    (all, says_tests)
}

/// The optional parts that tests are likely to need.
fn extras(table: &Table) -> Vec<&'static str> {
    let optional = table.get("project").and_then(|project| project.get("optional-dependencies"));
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry")?.get("extras"));
    let has = |name: &&str| {
        [optional, poetry].into_iter().flatten().any(|parts| parts.get(*name).is_some())
    };
    FOR_TESTS.into_iter().filter(has).collect()
}

/// The same, of those that are for nobody but developers.
fn groups(table: &Table) -> Vec<&'static str> {
    let groups = table.get("dependency-groups");
    FOR_TESTS
        .into_iter()
        .filter(|name| groups.is_some_and(|all| all.get(*name).is_some()))
        .collect()
}

/// What tox installs for its tests, where no line depends on which of them.
fn tox(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut is_tests, mut is_deps) = (false, false);
    for line in text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim_end()) {
        let bare = line.trim();
        let mut said = bare;
        if let Some(section) = bare.strip_prefix('[') {
            (is_tests, is_deps) = (section.starts_with("testenv]"), false);
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            let value = bare.split_once('=').filter(|(key, _)| key.trim() == "deps");
            is_deps = is_tests && value.is_some();
            said = value.map_or("", |(_, value)| value.trim());
        }
        let is_plain = !said.is_empty() && !said.contains(['{', ':', '#']);
        if is_deps && is_plain {
            found.push(match said.strip_prefix("-r") {
                Some(file) => format!("-r {}", quoted(file.trim())),
                None => quoted(said),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lines, look_at};

    const PROJECT: &str = "[project]\nname = \"x\"\n";

    fn pip(files: &[(&str, &str)]) -> (String, bool) {
        let found = look_at(files, &[]);
        assert_eq!(found.gate, [". .venv/bin/activate && python -m pytest"], "{found:?}");
        assert_eq!(found.setup[0], "python3 -m venv .venv");
        let says_unsure = found.open.iter().any(|text| text.contains("what the tests need"));
        let install = found.setup[1].strip_prefix(".venv/bin/pip install -q ").unwrap();
        (install.to_owned(), says_unsure)
    }

    #[test]
    fn pip_installs_what_the_project_says_that_its_tests_need() {
        let test = ("tests/test_a.py", "import pytest\n");
        let extra = format!("{PROJECT}[project.optional-dependencies]\ndev = [\"pytest\"]\n");
        let group =
            format!("{PROJECT}[dependency-groups]\ntest = [\"freezegun>=1\", {{ x = 1 }}]\n");
        let tox = "[tox]\nenvlist = py\n[testenv]\ndeps =\n  -r requirements/tests.txt\n  freezegun # for time\n  \
                   py38: old\n  {[x]deps}\ncommands = pytest\n[testenv:docs]\ndeps = sphinx\n";
        let plain = ("pyproject.toml", PROJECT);
        for (files, install, says_unsure) in [
            (vec![("requirements.txt", "flask\n"), test], "-r requirements.txt pytest", true),
            (vec![("requirements.txt", "pytest\n"), test], "-r requirements.txt pytest", false),
            (vec![("pyproject.toml", &*extra), test], "-e '.[dev]' pytest", false),
            (vec![("pyproject.toml", &*group), test], "'freezegun>=1' -e '.' pytest", false),
            (vec![plain, test], "-e '.' pytest", true),
            (vec![plain, test, ("tox.ini", tox)], "freezegun -e '.' pytest", false),
            (
                vec![plain, test, ("tox.ini", tox), ("requirements/tests.txt", "")],
                "-r requirements/tests.txt -e '.' pytest",
                false,
            ),
        ] {
            assert_eq!(pip(&files), (install.to_owned(), says_unsure), "{files:?}");
        }
    }

    #[test]
    fn uv_and_poetry_install_the_parts_for_tests_too() {
        let project = format!(
            "{PROJECT}[project.optional-dependencies]\ndev = [\"pytest\"]\n[dependency-groups]\ntests = []\n\
             dev = []\n"
        );
        let with = |lock: &str| {
            look_at(&[("pyproject.toml", project.as_str()), (lock, ""), ("test_x.py", "")], &[])
        };
        let uv = "uv sync --frozen --extra dev --group tests";
        let gate = "uv run --frozen --extra dev --group tests python -m pytest";
        assert_eq!(lines(&with("uv.lock")), (vec![uv], vec![gate]));
        let poetry = with("poetry.lock");
        assert!(poetry.setup[0].ends_with("poetry install -E dev"), "{poetry:?}");
        let bare = [("pyproject.toml", PROJECT), ("uv.lock", ""), ("tests/test_x.py", "")];
        let expected = (vec!["uv sync --frozen"], vec!["uv run --frozen python -m pytest"]);
        assert_eq!(lines(&look_at(&bare, &[])), expected);
    }
}
