//! Writes the table of the page's files, which the program carries in itself.
//!
//! A file that lies in `src/web/page` is served, and nothing else can be: names are looked up in
//! this table, never on a disk.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")).join("src/web/page");
    let mut files = Vec::new();
    collect(&folder, "", &mut files);
    files.sort();
    let mut table = String::from("&[\n");
    for (name, path) in &files {
        writeln!(table, "    ({name:?}, include_bytes!({path:?})),").expect("a text has room");
    }
    table.push_str("]\n");
    let out = Path::new(&variable("OUT_DIR")).join("page.rs");
    fs::write(&out, table).unwrap_or_else(|e| panic!("{}: {e}", out.display()));
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|e| panic!("cargo sets {name}: {e}"))
}

/// Files by their path below the folder. Types and settings for those who write them stay out.
fn collect(folder: &Path, below: &str, files: &mut Vec<(String, PathBuf)>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let entry = entry.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let (path, name) = (entry.path(), entry.file_name());
        let name = format!("{below}{}", name.to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files);
        } else if is_served(&name) {
            println!("cargo::rerun-if-changed={}", path.display());
            files.push((name, path));
        }
    }
}

fn is_served(name: &str) -> bool {
    [".html", ".js", ".css", ".svg"].iter().any(|end| name.ends_with(end))
}
