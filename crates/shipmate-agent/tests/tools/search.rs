//! `glob` and `grep`.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use super::scene::{Scene, TOKEN, on_one_thread};

fn planted() -> Scene {
    let scene = Scene::new();
    for (path, text) in [
        ("src/main.rs", "fn main() {\n    run();\n}\n"),
        ("src/run/mod.rs", "// runs\nfn run() {}\n\n\n\n\n\nfn Run() {}\n"),
        ("src/run/old.txt", "run\n"),
        (".hidden/notes.md", "run here\n"),
        ("target/out.rs", "fn run() {}\n"),
        (".gitignore", "target\n*.log\n"),
        ("a.log", "run\n"),
    ] {
        scene.put(path, text);
    }
    scene.put("data.bin", b"run\0run\n");
    symlink(scene.path("state"), scene.own("out")).unwrap();
    symlink("src/main.rs", scene.own("link.rs")).unwrap();
    Command::new("mkfifo").arg(scene.own("src/fifo.rs")).status().unwrap();
    scene
}

#[test]
fn files_are_found_by_name_in_order_without_ignored_ones() {
    on_one_thread(async {
        let scene = planted();
        let table = [
            ("*.rs", "", "link.rs\nsrc/fifo.rs\nsrc/main.rs\nsrc/run/mod.rs"),
            ("src/*.rs", "", "src/fifo.rs\nsrc/main.rs"),
            ("./src/**/*.rs", "", "src/fifo.rs\nsrc/main.rs\nsrc/run/mod.rs"),
            ("**/*.{md,txt}", "", ".hidden/notes.md\nf.txt\nsrc/run/old.txt"),
            ("*.rs", "src/run", "src/run/mod.rs"),
            ("*.log", "", "no file matches \"*.log\" (ignored files are left out)"),
            ("token", "", "no file matches \"token\" (ignored files are left out)"),
            ("HEAD", "", "no file matches \"HEAD\" (ignored files are left out)"),
        ];
        for (pattern, path, found) in table {
            let path = if path.is_empty() { json!(null) } else { json!(path) };
            let text = scene.good("glob", json!({"pattern": pattern, "path": path})).await;
            assert_eq!(text, found, "{pattern}");
        }
        let absolute = format!("{}/src/*.rs", scene.own("").display());
        let text = scene.good("glob", json!({"pattern": absolute})).await;
        assert_eq!(text, "src/fifo.rs\nsrc/main.rs");
    });
}

#[test]
fn lines_are_found_by_content_with_what_is_around_them() {
    on_one_thread(async {
        let scene = planted();
        let text = scene.good("grep", json!({"pattern": "fn run"})).await;
        assert_eq!(text, "src/run/mod.rs\n2:fn run() {}");
        let text = scene.good("grep", json!({"pattern": "RUN\\(", "ignore_case": true})).await;
        assert_eq!(text, "src/main.rs\n2:    run();\nsrc/run/mod.rs\n2:fn run() {}\n8:fn Run() {}");
        let around = json!({"pattern": "(?i)fn run", "path": "src/run", "context": 1});
        let text = scene.good("grep", around).await;
        assert_eq!(text, "src/run/mod.rs\n1-// runs\n2:fn run() {}\n3-\n--\n7-\n8:fn Run() {}");
        let names = json!({"pattern": "run", "files_only": true});
        let text = scene.good("grep", names).await;
        assert_eq!(text, ".hidden/notes.md\nsrc/main.rs\nsrc/run/mod.rs\nsrc/run/old.txt");
        let only = json!({"pattern": "run", "glob": "*.txt"});
        assert_eq!(scene.good("grep", only).await, "src/run/old.txt\n1:run");
        let one = json!({"pattern": "run", "path": "a.log"});
        assert_eq!(scene.good("grep", one).await, "a.log\n1:run", "named is not ignored");
        let text = scene.good("grep", json!({"pattern": "zz"})).await;
        assert_eq!(text, "nothing matches \"zz\" (ignored and binary files are left out)");
    });
}

#[test]
fn what_cannot_be_searched_is_refused_with_the_reason() {
    on_one_thread(async {
        let scene = planted();
        let state = scene.path("state").display().to_string();
        let table = [
            ("glob", json!({"pattern": "a["}), "is no pattern for files: "),
            ("glob", json!({"pattern": "!a"}), "a pattern cannot exclude"),
            ("glob", json!({"pattern": ""}), "it is empty"),
            ("glob", json!({"pattern": "/etc/*"}), "it is absolute; give the folder as path"),
            ("glob", json!({"pattern": "*", "path": "nowhere"}), "nowhere does not exist"),
            ("glob", json!({"pattern": "*", "path": "src/fifo.rs"}), "neither a file nor a folder"),
            ("glob", json!({"pattern": "*", "path": "/proc/self"}), "is the kernel's"),
            ("glob", json!({"pattern": "*", "path": state}), "not for teammates to read"),
            ("grep", json!({"pattern": "("}), "\"(\" is no regular expression: "),
            ("grep", json!({"pattern": "a\nb"}), "is no regular expression: "),
            ("grep", json!({"pattern": "x{99999999}"}), "is no regular expression: "),
            ("grep", json!({"pattern": "a", "glob": "["}), "is no pattern for files: "),
            ("grep", json!({"pattern": ".", "path": "out"}), "not for teammates to read"),
            ("grep", json!({"pattern": ".", "path": "out/token"}), "not for teammates to read"),
            ("grep", json!({"pattern": ".", "path": "/proc/self/environ"}), "is the kernel's"),
            ("grep", json!({"pattern": ".", "path": "/proc"}), "is the kernel's"),
            ("grep", json!({"pattern": 3}), "must be a string"),
            ("grep", json!({"pattern": "a", "regex": true}), "has no argument \"regex\""),
        ];
        for (tool, arguments, words) in table {
            let said = scene.bad(tool, arguments.clone()).await;
            assert!(said.contains(words), "{tool} {arguments}: {said}");
        }
    });
}

#[test]
fn a_search_above_the_hidden_passes_it_by() {
    on_one_thread(async {
        let scene = planted();
        let root = scene.path("").display().to_string();
        let text = scene.good("grep", json!({"pattern": "tok-|beside|run", "path": root})).await;
        assert!(!text.contains(TOKEN), "{text}");
        assert!(text.contains("1:beside") && text.contains("src/run/old.txt"), "{text}");
    });
}

#[test]
fn too_much_is_cut_and_says_so() {
    on_one_thread(async {
        let mut scene = Scene::new();
        for n in 0..1_200 {
            scene.put(&format!("many/{n:04}.txt"), "needle\n".repeat(2));
        }
        let text = scene.good("glob", json!({"pattern": "*.txt"})).await;
        assert!(text.starts_with("f.txt\nmany/0000.txt\n"));
        assert!(text.contains("[there is more: narrow the pattern or the path]"));
        let text = scene.good("grep", json!({"pattern": "needle"})).await;
        assert!(text.ends_with("\n2:needle\n[there is more: narrow the pattern or the path]"));
        scene.say_at_most(2000);
        let text = scene.good("grep", json!({"pattern": "needle"})).await;
        assert!(text.len() < 2_200 && text.contains(" more bytes: narrow"), "{}", text.len());
        scene.put("wide", format!("needle {}", "x".repeat(5_000)));
        let text = scene.good("grep", json!({"pattern": "needle", "path": "wide"})).await;
        assert!(text.ends_with("xxx…") && text.len() < 400, "{text}");
    });
}
