//! The files that the features playbook works by, made for a project that has none.
//!
//! What is there already is the project's and stays. The script that says whether the project is
//! well is made for what lies in the folder; where that tells nothing, it fails and says what to
//! write.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::cli::failure::Failure;

/// What tests a project, by a file that it has.
const TESTS: [(&str, &str); 7] = [
    ("Cargo.toml", "cargo test --quiet"),
    ("package.json", "npm test --silent"),
    ("pyproject.toml", "python3 -m pytest -q"),
    ("setup.py", "python3 -m pytest -q"),
    ("go.mod", "go test ./..."),
    ("Makefile", "make test"),
    ("mix.exs", "mix test"),
];

/// Makes what is missing; the paths of what was made.
pub(super) fn make(workspace: &Path) -> Result<Vec<&'static str>, Failure> {
    let files = [
        (".harness/features.json", features(workspace), 0o644),
        (".harness/init.sh", init(workspace), 0o755),
        (".harness/context_summary.md", "# What later sessions must know\n".to_owned(), 0o644),
    ];
    let mut made = Vec::new();
    for (name, text, mode) in files {
        let path = workspace.join(name);
        let failed = |e: std::io::Error| {
            Failure::Storage(format!(
                "{name} cannot be written: {e}\n  the workspace must be writable by you"
            ))
        };
        fs::create_dir_all(path.parent().unwrap_or(workspace)).map_err(failed)?;
        let opened = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        match opened {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).map_err(failed)?;
                made.push(name);
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(failed(e)),
        }
    }
    Ok(made)
}

fn features(workspace: &Path) -> String {
    let name = workspace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let empty = serde_json::json!({
        "project": name, "total_features": 0, "passing": 0, "scopes": {}, "features": [],
    });
    format!("{empty:#}\n")
}

fn init(workspace: &Path) -> String {
    let known = TESTS.iter().find(|(file, _)| workspace.join(file).is_file());
    let line = match known {
        Some((_, line)) => (*line).to_owned(),
        None => "echo 'say in .harness/init.sh how this project is built and tested' >&2\nexit 1"
            .to_owned(),
    };
    format!(
        "#!/usr/bin/env bash\n# Builds and tests the project; anything but 0 says that it is not \
         well. A report of\n# coverage (coverage.json, coverage.xml, lcov.info) tells how far the \
         tests reach.\nset -euo pipefail\ncd \"$(dirname \"$0\")/..\"\n\n{line}\n"
    )
}
