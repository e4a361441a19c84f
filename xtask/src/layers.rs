//! Which crate may use which, what a front end may see, and that no modules import each other.
//!
//! The number of crates helps nobody; what each may not use does. The table below is the one of
//! ARCHITECTURE.md, in a form that a computer keeps.

mod cycles;

use std::path::Path;

use serde_json::Value;

use crate::cargo::{cargo, output};
use crate::rust_text::{line_at, mask, words};
use crate::tree::{self, Tree};
use crate::violation::{Violation, report};

/// Check which crate uses which
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

/// Our crates, and those of ours that each may use. Build dependencies count as normal ones.
const LAYERS: [(&str, &[&str]); 14] = [
    ("shipmate-model", &[]),
    ("shipmate-core", &["shipmate-model"]),
    ("shipmate-protocol", &["shipmate-model"]),
    ("shipmate-log", &[]),
    ("shipmate-process", &[]),
    ("shipmate-workspace", &["shipmate-process"]),
    (
        "shipmate-programs",
        &["shipmate-model", "shipmate-protocol", "shipmate-process", "shipmate-workspace"],
    ),
    (
        "shipmate-playbook",
        &["shipmate-model", "shipmate-protocol", "shipmate-process", "shipmate-workspace"],
    ),
    ("shipmate-agent", &["shipmate-protocol", "shipmate-process"]),
    (
        "shipmate-supervisor",
        &[
            "shipmate-model",
            "shipmate-protocol",
            "shipmate-process",
            "shipmate-workspace",
            "shipmate-programs",
        ],
    ),
    (
        "shipmate-coordinator",
        &[
            "shipmate-model",
            "shipmate-core",
            "shipmate-log",
            "shipmate-protocol",
            "shipmate-process",
            "shipmate-workspace",
            "shipmate-playbook",
            "shipmate-programs",
        ],
    ),
    (
        "shipmate",
        &[
            "shipmate-model",
            "shipmate-protocol",
            "shipmate-process",
            "shipmate-programs",
            "shipmate-agent",
            "shipmate-supervisor",
            "shipmate-coordinator",
        ],
    ),
    ("shipmate-testkit", &["shipmate-model", "shipmate-core", "shipmate-log", "shipmate-protocol"]),
    ("xtask", &[]),
];

/// Code that does not ship, for the tests of any crate.
const TESTKIT: &str = "shipmate-testkit";

/// The crates that are pure, by having nothing to be impure with, and all that they may use besides ours.
const PURE: [&str; 2] = ["shipmate-model", "shipmate-core"];
const PURE_DEPENDENCIES: [&str; 2] = ["serde", "thiserror"];

/// Heavy dependencies, each kept in one place.
const ONLY_IN: [(&str, &str); 3] =
    [("async-nats", "shipmate-log"), ("rusqlite", "shipmate-log"), ("reqwest", "shipmate-agent")];

/// Dependencies that a crate may not have, in whatever section.
const NEVER_IN: [(&str, &str); 3] =
    [("tokio", "shipmate-model"), ("tokio", "shipmate-core"), ("tokio", "shipmate-protocol")];

/// The front ends of the binary: a module file each, with a folder of the same name.
const FRONT_ENDS: [&str; 4] = ["cli", "mcp", "web", "tui"];

/// What a front end reaches only through the protocol.
const BEHIND_THE_PROTOCOL: [&str; 5] = [
    "shipmate_core",
    "shipmate_log",
    "shipmate_programs",
    "shipmate_supervisor",
    "shipmate_coordinator",
];

pub(crate) fn run(_: &Args) -> Result<(), String> {
    report("layers", check_workspace()?)?;
    println!(
        "layers: every crate keeps to the table, and no modules import each other in a circle"
    );
    Ok(())
}

fn check_workspace() -> Result<Vec<Violation>, String> {
    let json = output(&mut cargo(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata = serde_json::from_str(&json)
        .map_err(|e| format!("the output of cargo metadata could not be read: {e}"))?;
    let mut found = dependencies(&packages(&metadata, &tree::root()));
    let tree = Tree::read()?;
    found.extend(front_ends(&tree));
    found.extend(cycles::check(&tree));
    Ok(found)
}

#[derive(Debug)]
struct Package {
    name: String,
    /// The path of its Cargo.toml from the root.
    manifest: String,
    dependencies: Vec<Dependency>,
    features: Vec<String>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    for_tests: bool,
}

fn packages(metadata: &Value, root: &Path) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&metadata["packages"])
        .iter()
        .map(|package| Package {
            name: text(&package["name"]),
            manifest: {
                let path = text(&package["manifest_path"]);
                let path = Path::new(&path);
                path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
            },
            dependencies: list(&package["dependencies"])
                .iter()
                .map(|d| Dependency { name: text(&d["name"]), for_tests: d["kind"] == "dev" })
                .collect(),
            features: package["features"]
                .as_object()
                .map(|features| features.keys().cloned().collect())
                .unwrap_or_default(),
        })
        .collect()
}

fn dependencies(packages: &[Package]) -> Vec<Violation> {
    let mut found = Vec::new();
    for package in packages {
        let name = package.name.as_str();
        let mut refuse = |fact: String, remedy: &str| {
            found.push(Violation::new(&package.manifest, 1, fact, remedy));
        };
        let Some((_, may_use)) = LAYERS.iter().find(|(crate_name, _)| *crate_name == name) else {
            refuse(
                format!("{name} has no place in the table of crates"),
                "make it a module, or give it a place in xtask/src/layers.rs and say what it buys",
            );
            continue;
        };
        for feature in &package.features {
            refuse(
                format!("{name} has the cargo feature `{feature}`"),
                "leave it out: every combination would have to be tested",
            );
        }
        for dependency in &package.dependencies {
            if let Some((fact, remedy)) = refused(name, may_use, dependency, packages) {
                refuse(fact, remedy);
            }
        }
    }
    found
}

fn refused(
    name: &str,
    may_use: &[&str],
    dependency: &Dependency,
    packages: &[Package],
) -> Option<(String, &'static str)> {
    let used = dependency.name.as_str();
    let ours =
        packages.iter().any(|p| p.name == used) || LAYERS.iter().any(|(layer, _)| *layer == used);
    let fact = format!("{name} uses {used}");
    if ours {
        let allowed = may_use.contains(&used) || (dependency.for_tests && used == TESTKIT);
        return (!allowed)
            .then_some((fact, "the table of crates does not allow it: turn it round"));
    }
    if ONLY_IN.iter().any(|(heavy, home)| *heavy == used && *home != name) {
        return Some((fact, "it is kept in one place: use the interface of shipmate-log"));
    }
    if NEVER_IN.contains(&(used, name)) {
        return Some((fact, "this crate is plain data and rules: leave async to its users"));
    }
    let is_pure = PURE.contains(&name) && !dependency.for_tests;
    if is_pure && !PURE_DEPENDENCIES.contains(&used) {
        return Some((fact, "the model and the core may use serde and thiserror only"));
    }
    None
}

/// A front end that saw the state itself could show or do what the protocol does not allow.
fn front_ends(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| is_front_end(path)) {
        let masked = mask(text);
        for name in BEHIND_THE_PROTOCOL {
            for at in words(&masked, name) {
                found.push(Violation::new(
                    path,
                    line_at(&masked, at),
                    format!("a front end uses {name}"),
                    "ask through shipmate_protocol; only coordinator.rs starts the coordinator",
                ));
            }
        }
    }
    found
}

fn is_front_end(path: &str) -> bool {
    let Some(inside) = path.strip_prefix("crates/shipmate/src/") else { return false };
    let module = inside.split('/').next().unwrap_or_default();
    let module = module.strip_suffix(".rs").unwrap_or(module);
    path.ends_with(".rs") && FRONT_ENDS.contains(&module) && !inside.ends_with("/coordinator.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts found in a workspace with one line per crate:
    /// `name: normal dependencies; dev dependencies; features`.
    fn facts(workspace: &str) -> Vec<String> {
        let packages: Vec<Package> = workspace.trim().lines().map(package).collect();
        dependencies(&packages).into_iter().map(|v| v.fact).collect()
    }

    fn package(line: &str) -> Package {
        let (name, rest) = line.trim().split_once(':').unwrap();
        let mut lists = rest.split(';').map(|l| l.split_whitespace().map(str::to_owned));
        let mut next = || lists.next().into_iter().flatten();
        let mut dependencies: Vec<_> =
            next().map(|name| Dependency { name, for_tests: false }).collect();
        dependencies.extend(next().map(|name| Dependency { name, for_tests: true }));
        let features = next().collect();
        let manifest = format!("crates/{name}/Cargo.toml");
        Package { name: name.to_owned(), manifest, dependencies, features }
    }

    #[test]
    fn this_workspace_keeps_to_the_table() {
        let found = report("layers", check_workspace().unwrap());
        assert!(found.is_ok(), "{}", found.unwrap_err());
    }

    #[test]
    fn the_table_itself_is_allowed() {
        let all = "
            shipmate-model: serde thiserror
            shipmate-core: shipmate-model serde thiserror; serde_json proptest shipmate-testkit
            shipmate-protocol: shipmate-model serde serde_json; shipmate-testkit
            shipmate-log: async-nats rusqlite tokio
            shipmate-process: tokio
            shipmate-agent: shipmate-protocol shipmate-process
            shipmate-coordinator: shipmate-core shipmate-log shipmate-protocol shipmate-process tokio
            shipmate: shipmate-protocol shipmate-coordinator shipmate-agent clap
            shipmate-testkit: shipmate-core shipmate-log shipmate-protocol
            xtask: clap";
        assert_eq!(facts(all), [""; 0]);
    }

    #[test]
    fn a_crate_may_not_use_what_the_table_does_not_name() {
        let table = [
            ("shipmate-core: shipmate-protocol", "shipmate-core uses shipmate-protocol"),
            ("shipmate-core: ;shipmate-coordinator", "shipmate-core uses shipmate-coordinator"),
            ("shipmate-log: shipmate-core", "shipmate-log uses shipmate-core"),
            ("shipmate-agent: shipmate-coordinator", "shipmate-agent uses shipmate-coordinator"),
            ("shipmate: shipmate-core", "shipmate uses shipmate-core"),
            (
                "shipmate-testkit: shipmate-coordinator",
                "shipmate-testkit uses shipmate-coordinator",
            ),
            (
                "shipmate-coordinator: shipmate-testkit",
                "shipmate-coordinator uses shipmate-testkit",
            ),
            ("xtask: shipmate-core", "xtask uses shipmate-core"),
        ];
        for (workspace, fact) in table {
            assert_eq!(facts(workspace), [fact], "of {workspace}");
        }
    }

    #[test]
    fn the_model_and_the_core_use_serde_and_thiserror_only() {
        assert_eq!(facts("shipmate-core: serde rand"), ["shipmate-core uses rand"]);
        assert_eq!(facts("shipmate-model: serde_json"), ["shipmate-model uses serde_json"]);
    }

    #[test]
    fn heavy_crates_stay_in_one_place() {
        assert_eq!(facts("shipmate-coordinator: rusqlite"), ["shipmate-coordinator uses rusqlite"]);
        assert_eq!(facts("shipmate: ;async-nats"), ["shipmate uses async-nats"]);
        assert_eq!(facts("shipmate-protocol: ;tokio"), ["shipmate-protocol uses tokio"]);
    }

    #[test]
    fn a_new_crate_needs_a_place_and_no_crate_has_features() {
        assert_eq!(
            facts("shipmate-extra: serde"),
            ["shipmate-extra has no place in the table of crates"]
        );
        assert_eq!(
            facts("shipmate-log: ;;jetstream"),
            ["shipmate-log has the cargo feature `jetstream`"]
        );
    }

    #[test]
    fn what_cargo_prints_is_read() {
        let metadata = serde_json::json!({"packages": [{
            "name": "shipmate-log",
            "manifest_path": "/r/crates/shipmate-log/Cargo.toml",
            "dependencies": [
                {"name": "tokio", "kind": null},
                {"name": "shipmate-core", "kind": "build"},
                {"name": "shipmate-testkit", "kind": "dev"},
            ],
            "features": {"extra": []},
        }]});
        let found = dependencies(&packages(&metadata, Path::new("/r")));
        let found: Vec<String> = found.iter().map(Violation::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/shipmate-log/Cargo.toml:1: shipmate-log has"));
        assert!(found[1].contains("shipmate-log uses shipmate-core"), "{found:?}");
    }

    #[test]
    fn a_front_end_sees_only_the_protocol() {
        let uses = "//! A command.\nuse shipmate_coordinator::Coordinator;\n";
        let tree = Tree::from([
            ("crates/shipmate/src/main.rs", uses),
            ("crates/shipmate/src/cli.rs", uses),
            ("crates/shipmate/src/cli/coordinator.rs", uses),
            ("crates/shipmate/src/cli/task/claim.rs", "let a = shipmate_core::State::new();\n"),
            ("crates/shipmate/src/tui/board.rs", "// unlike shipmate_core\n"),
            ("crates/shipmate/src/web/page.rs", "use shipmate_log as log;\n"),
        ]);
        let found: Vec<String> = front_ends(&tree)
            .into_iter()
            .map(|v| {
                format!("{}:{} {}", v.path.replace("crates/shipmate/src/", ""), v.line, v.fact)
            })
            .collect();
        assert_eq!(
            found,
            [
                "cli.rs:2 a front end uses shipmate_coordinator",
                "cli/task/claim.rs:1 a front end uses shipmate_core",
                "web/page.rs:1 a front end uses shipmate_log",
            ]
        );
    }
}
