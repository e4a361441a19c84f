//! Output on disk: bounded, complete where it can be, and never in the program's way.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/shell.rs"]
mod shell;
#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

use std::fs;
use std::path::PathBuf;

use shell::sh;
use shipmate_process::{Exit, Output, Spec, Tree};
use temp::TempDir;

fn into(path: PathBuf, bytes_max: u64, line: &str) -> Spec {
    Spec { output: Output::Files { path, bytes_max }, ..sh(line) }
}

#[tokio::test]
async fn both_streams_end_up_in_one_file_in_order() {
    let dir = TempDir::new();
    let path = dir.join("out");
    let tree = Tree::spawn(into(path.clone(), 4096, "echo a; echo b >&2; echo c")).unwrap();
    tree.exited().await;
    assert_eq!(tree.clean().await.dropped, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\nc\n");
    assert!(!fs::exists(dir.join("out.more")).unwrap());
}

#[tokio::test]
async fn output_goes_on_at_the_end_of_a_file_that_exists() {
    let dir = TempDir::new();
    for word in ["one", "two"] {
        let tree = Tree::spawn(into(dir.join("out"), 4096, &format!("echo {word}"))).unwrap();
        tree.exited().await;
        tree.clean().await;
    }
    assert_eq!(fs::read_to_string(dir.join("out")).unwrap(), "one\ntwo\n");
}

#[tokio::test]
async fn a_little_too_much_output_is_kept_whole_in_two_files() {
    let dir = TempDir::new();
    let tree = Tree::spawn(into(dir.join("out"), 4096, "yes | head -c 6000")).unwrap();
    tree.exited().await;
    assert_eq!(tree.clean().await.dropped, 0);
    let text = fs::read_to_string(dir.join("out")).unwrap();
    let more = fs::read_to_string(dir.join("out.more")).unwrap();
    assert_eq!((text.len(), more.len()), (4096, 1904));
}

#[tokio::test]
async fn far_too_much_output_keeps_its_first_and_last_bytes() {
    let dir = TempDir::new();
    let line = "echo first; yes | head -c 20000000; echo last";
    let tree = Tree::spawn(into(dir.join("out"), 90_000, line)).unwrap();
    tree.exited().await;
    let dropped = tree.clean().await.dropped;
    let text = fs::read_to_string(dir.join("out")).unwrap();
    let more = fs::read_to_string(dir.join("out.more")).unwrap();
    assert!(text.starts_with("first\ny\n") && text.len() == 90_000);
    assert!(more.starts_with("\n[") && more.ends_with("y\nlast\n"), "{}", &more[..80]);
    assert!((29_000..=60_000).contains(&more.len()), "{} bytes", more.len());
    assert!(dropped > 20_000_000 - 160_000, "{dropped}");
    assert_eq!(fs::read_dir(dir.join("")).unwrap().count(), 2);
}

#[tokio::test]
async fn a_full_disk_neither_stops_nor_blocks_the_program() {
    let line = "yes | head -c 3000000; exit 6";
    let tree = Tree::spawn(into("/dev/full".into(), 1 << 30, line)).unwrap();
    assert_eq!(tree.exited().await, Exit::Code(6));
    assert_eq!(tree.clean().await.dropped, 3_000_000);
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_refused_in_words() {
    let refused = Tree::spawn(into("/no/such/out".into(), 4096, ":")).unwrap_err().to_string();
    assert!(refused.starts_with("the output file /no/such/out could not be opened"), "{refused}");
}
