//! `read_file`, `write_file` and `edit_file`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::json;

use super::scene::{Scene, TOKEN, on_one_thread};

#[test]
fn a_file_is_shown_with_the_numbers_of_its_lines() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.put("a.txt", "one\ntwo\n\nfour");
        let text = scene.good("read_file", json!({"path": "a.txt"})).await;
        assert_eq!(text, "1\tone\n2\ttwo\n3\t\n4\tfour\n");
        let part = json!({"path": "./x/../a.txt", "offset": 2, "limit": "2"});
        let text = scene.good("read_file", part).await;
        assert_eq!(text, "2\ttwo\n3\t\n[lines 2 to 3 of 4: read on with offset 4]");
        let text = scene.good("read_file", json!({"path": "a.txt", "offset": 4})).await;
        assert_eq!(text, "4\tfour\n[the end: 4 lines]");
        let words = scene.bad("read_file", json!({"path": "a.txt", "offset": 5})).await;
        assert_eq!(words, "a.txt has 4 lines: there is no line 5");
        scene.put("empty", "");
        assert_eq!(scene.good("read_file", json!({"path": "empty"})).await, "[empty is empty]");
    });
}

#[test]
fn a_long_file_is_cut_and_can_be_read_on_to_its_end() {
    on_one_thread(async {
        let mut scene = Scene::new();
        let lines: Vec<String> = (1..=5_000).map(|n| format!("line {n} of many")).collect();
        scene.put("long", lines.join("\n"));
        let (mut offset, mut seen, mut pages) = (1, Vec::new(), 0);
        loop {
            let text = scene.good("read_file", json!({"path": "long", "offset": offset})).await;
            assert!(text.len() < 20_000);
            let numbered = text.lines().filter_map(|line| line.split_once('\t'));
            seen.extend(numbered.map(|(_, words)| words.to_owned()));
            pages += 1;
            match text.rsplit_once("read on with offset ") {
                Some((_, rest)) => offset = rest.trim_end_matches(']').parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(seen, lines);
        assert!(pages > 5, "{pages}");
        scene.put("huge", "one line of very many\n".repeat(1_000_000));
        let part = json!({"path": "huge", "offset": 999_999, "limit": 1});
        let text = scene.good("read_file", part).await;
        assert!(text.ends_with("[lines 999999 to 999999 of many: read on with offset 1000000]"));
        scene.put("wide", format!("{}\nafter\n", "x".repeat(100_000)));
        let text = scene.good("read_file", json!({"path": "wide"})).await;
        assert!(text.contains("[… 98,001 more bytes in this line"), "{}", &text[1990..]);
        assert!(text.ends_with("2\tafter\n"));
        scene.say_at_most(1024);
        let text = scene.good("read_file", json!({"path": "wide"})).await;
        assert!(text.ends_with("[lines 1 to 1 of 2: read on with offset 2]"), "a line is shown");
    });
}

#[test]
fn what_is_no_text_file_is_refused_or_listed_and_never_waited_for() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.put("binary", b"\x7fELF\0\0");
        scene.put("folder/b", "");
        scene.put("folder/a/x", "");
        symlink("a", scene.own("folder/c")).unwrap();
        symlink("/nowhere", scene.own("dangling")).unwrap();
        scene.put("main.rs", "");
        Command::new("mkfifo").arg(scene.own("fifo")).status().unwrap();
        let listener = std::os::unix::net::UnixListener::bind(scene.own("socket")).unwrap();
        let table = [
            ("binary", "binary is a binary file of 6 bytes: read_file shows text only. Look at it"),
            ("fifo", "fifo is a pipe, not a file"),
            ("socket", "socket is a socket, not a file"),
            ("/dev/zero", "/dev/zero is a device, not a file"),
            ("/dev/tty", "/dev/tty is a device, not a file"),
            ("/proc/self/environ", "/proc/self/environ is the kernel's, not a file"),
            ("/proc/self/maps", "/proc/self/maps is the kernel's"),
            ("dangling", "dangling is a link to nothing"),
            ("Main.rs", "Main.rs does not exist; near it there is main.rs"),
            ("man.rs", "man.rs does not exist; near it there is main.rs"),
            ("foldr/b", "foldr/b does not exist; near it there is folder"),
            ("zzzzzz", "zzzzzz does not exist: look for it with glob"),
            ("main.rs/x", "main.rs/x could not be read: Not a directory"),
            ("", "the path is empty"),
            ("a\0b", "\"a\\0b\" holds a NUL byte"),
            ("~/.ssh/id", "~/.ssh/id: ~ is not expanded here"),
        ];
        for (path, words) in table {
            let said = scene.bad("read_file", json!({"path": path})).await;
            assert!(said.starts_with(words), "{path}: {said}");
        }
        let text = scene.good("read_file", json!({"path": "folder"})).await;
        assert_eq!(text, "folder is a folder of 3 entries:\na/\nb\nc -> a");
        drop(listener);
    });
}

#[test]
fn what_is_hidden_is_not_shown_by_any_path_and_all_else_is() {
    on_one_thread(async {
        let scene = Scene::new();
        symlink(scene.path("state/token"), scene.own("link")).unwrap();
        symlink("../..", scene.own("up")).unwrap();
        let absolute = scene.path("state/token").display().to_string();
        let by_root = format!("/proc/self/root{absolute}");
        let paths = ["../../token", "link", "up/token", &absolute, &by_root, "up", "..", "../bo"];
        for path in paths {
            let said = scene.bad("read_file", json!({"path": path})).await;
            assert!(said.contains("not for teammates to read"), "{path}: {said}");
            assert!(!said.contains(TOKEN));
        }
        let beside = scene.path("beside.txt").display().to_string();
        assert_eq!(scene.good("read_file", json!({"path": beside})).await, "1\tbeside\n");
    });
}

#[test]
fn a_file_is_created_with_its_folders_and_replaced_only_when_it_was_read() {
    on_one_thread(async {
        let scene = Scene::new();
        let write = |path: &str, content: &str| json!({"path": path, "content": content});
        let said = scene.good("write_file", write("a/b/c.txt", "one\n")).await;
        assert_eq!(
            (said.as_str(), scene.get("a/b/c.txt").as_str()),
            ("created a/b/c.txt, 4 bytes", "one\n")
        );
        assert_eq!(fs::read_dir(scene.own("a/b")).unwrap().count(), 1, "nothing else is left");
        let said = scene.good("write_file", write("a/b/c.txt", "two\n")).await;
        assert_eq!(said, "replaced a/b/c.txt, 4 bytes", "its own writes are known");
        let said = scene.bad("write_file", write("f.txt", "x")).await;
        assert!(said.starts_with("f.txt exists and you have not read it"), "{said}");
        scene.good("read_file", json!({"path": "f.txt"})).await;
        scene.put("f.txt", "changed\n");
        let said = scene.bad("write_file", write("f.txt", "x")).await;
        assert_eq!(said, "f.txt has changed since you read it: read it again");
        scene.good("read_file", json!({"path": "f.txt"})).await;
        scene.good("write_file", write("f.txt", "mine")).await;
        assert_eq!(scene.get("f.txt"), "mine");
    });
}

#[test]
fn mode_and_line_endings_stay_and_a_hard_link_keeps_the_old_content() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.put("run.sh", "#!/bin/sh\r\nexit 1\r\n");
        fs::set_permissions(scene.own("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
        fs::hard_link(scene.own("run.sh"), scene.own("linked")).unwrap();
        let text = scene.good("read_file", json!({"path": "run.sh"})).await;
        assert!(text.starts_with("1\t#!/bin/sh\n2\texit 1\n[its lines end in CR LF"), "{text}");
        let (old, new) = ("sh\nexit 1", "sh\nset -e\nexit 0");
        let edit = json!({"path": "run.sh", "old_string": old, "new_string": new});
        assert_eq!(scene.good("edit_file", edit).await, "edited run.sh at line 1");
        assert_eq!(scene.get("run.sh"), "#!/bin/sh\r\nset -e\r\nexit 0\r\n");
        assert_eq!(fs::metadata(scene.own("run.sh")).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(scene.get("linked"), "#!/bin/sh\r\nexit 1\r\n");
        scene.good("write_file", json!({"path": "run.sh", "content": "a\nb\n"})).await;
        assert_eq!(scene.get("run.sh"), "a\r\nb\r\n");
    });
}

/// A file, what is to go, what is to come; then the file afterwards or what was said.
type Row = (&'static [u8], &'static str, &'static str, Result<&'static [u8], &'static str>);

#[test]
fn an_edit_takes_exactly_one_place() {
    on_one_thread(async {
        let table: [Row; 14] = [
            (b"a b c", "b", "x", Ok(b"a x c")),
            (b"a b c", "b", "", Ok(b"a  c")),
            (b"caf\xe9 b", "b", "x", Ok(b"caf\xe9 x")),
            (b"caf\xe9 b", "b", "\u{e9}", Ok(b"caf\xe9 \xc3\xa9")),
            (b"a\r\nb\nc", "b\nc", "x", Ok(b"a\r\nx")),
            (b"a\r\nb\r\n", "a\nb", "x\ny", Ok(b"x\r\ny\r\n")),
            (b"a b a\nb a", "a", "x", Err("old_string is 3 times in e, at lines 1, 1, 2: take in")),
            (b"a", "z", "x", Err("old_string is not in e: read the file and copy the text")),
            (b"a", "a", "a", Err("old_string and new_string are the same")),
            (b"a", "", "x", Err("old_string is empty")),
            (
                b"  let x = 1;\n  y();\n",
                "let x = 1;\ny();",
                "",
                Err("old_string is not in e; but for blanks at the ends of lines it is at line \
                     1, which reads \"  let x = 1;\""),
            ),
            (
                b"if a {\n  b();\n}\n",
                "if a {\n  c();\n}",
                "",
                Err("old_string is not in e: it begins like line 1, but line 2 reads \"  b();\" \
                     where old_string has \"c();\""),
            ),
            (
                b"one\ntwo\n",
                "1\tone\n2\ttwo",
                "",
                Err("old_string is not in e: leave out the line numbers"),
            ),
            (b"a", "\n\n", "x", Err("old_string is not in e: it is blank")),
        ];
        let scene = Scene::new();
        for (before, old, new, expected) in table {
            // By another name each time: what was edited before must not matter.
            fs::remove_file(scene.own("e")).ok();
            scene.put("e", before);
            scene.good("read_file", json!({"path": "e"})).await;
            let edit = json!({"path": "e", "old_string": old, "new_string": new});
            let outcome = scene.call("edit_file", edit).await;
            match expected {
                Ok(after) => assert_eq!(fs::read(scene.own("e")).unwrap(), after, "{outcome:?}"),
                Err(words) => {
                    assert!(outcome.is_error && outcome.text.starts_with(words), "{outcome:?}");
                    assert_eq!(fs::read(scene.own("e")).unwrap(), before);
                }
            }
        }
    });
}

#[test]
fn an_edit_of_all_places_of_a_changed_or_of_a_missing_file() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.put("e", "a b a");
        let all = json!({"path": "e", "old_string": "a", "new_string": "x", "replace_all": true});
        assert_eq!(scene.good("edit_file", all.clone()).await, "edited e in 2 places");
        assert_eq!(scene.get("e"), "x b x");
        scene.put("e", "a");
        let said = scene.bad("edit_file", all).await;
        assert_eq!(said, "e has changed since you read it: read it again");
        let none = json!({"path": "f.tx", "old_string": "a", "new_string": "x"});
        let said = scene.bad("edit_file", none).await;
        assert_eq!(
            said,
            "f.tx does not exist; near it there is f.txt. A new file is made with write_file"
        );
        let large = vec![b'a'; 10 * 1024 * 1024 + 1];
        scene.put("large", &large);
        let edit = json!({"path": "large", "old_string": "a", "new_string": "x"});
        let said = scene.bad("edit_file", edit).await;
        assert!(said.starts_with("large has 10,485,761 bytes, more than the 10,485,760"), "{said}");
    });
}

#[test]
fn a_write_goes_where_its_real_path_says_or_nowhere() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.put("inner/x", "x");
        symlink("inner", scene.own("within")).unwrap();
        symlink(scene.path("beside.txt"), scene.own("file")).unwrap();
        symlink(scene.path("home"), scene.own("folder")).unwrap();
        symlink("../bo", scene.own("sibling")).unwrap();
        symlink("nothing", scene.own("dangling")).unwrap();
        symlink("loop", scene.own("loop")).unwrap();
        Command::new("mkfifo").arg(scene.own("fifo")).status().unwrap();
        let home = scene.path("home").display().to_string();
        let other = format!("{home}/new");
        let table = [
            ("../bo/work.txt", "is outside your tree"),
            ("../ana2/x", "is outside your tree"),
            (&other, "is outside your tree"),
            ("/etc/shipmate-hostile", "is outside your tree"),
            ("file", "leads by a link to"),
            ("folder/new", "leads by a link to"),
            ("folder/a/b/new", "leads by a link to"),
            ("sibling/work.txt", "leads by a link to"),
            ("dangling", "is a link to nothing"),
            ("dangling/x", "is a link to nothing"),
            ("loop", "symbolic links"),
            ("fifo", "no regular file"),
            ("inner", "it is a folder"),
            (".", "is a folder: name a file in it"),
            ("inner/x/y", "is a file, not a folder"),
            (".git/config", "is git's own"),
            ("inner/.git/hooks/x", "is git's own"),
            (".git", "is git's own"),
            ("~/x", "~ is not expanded"),
            ("", "the path is empty"),
        ];
        for (path, words) in table {
            for (tool, arguments) in [
                ("write_file", json!({"path": path, "content": "x"})),
                ("edit_file", json!({"path": path, "old_string": "a", "new_string": "b"})),
            ] {
                let said = scene.bad(tool, arguments).await;
                assert!(said.contains(words), "{tool} {path}: {said}");
            }
        }
        assert!(
            scene
                .bad("write_file", json!({"path": "/x", "content": ""}))
                .await
                .contains("SendMessage")
        );
        scene.good("write_file", json!({"path": "within/new", "content": "n"})).await;
        assert_eq!(scene.get("inner/new"), "n");
        let scratch = scene.path("state/scratch/ana/note").display().to_string();
        scene.good("write_file", json!({"path": scratch, "content": "n"})).await;
    });
}

#[test]
fn leave_is_asked_for_by_the_real_path_below_the_tree_as_it_was_given() {
    on_one_thread(async {
        let mut scene = Scene::new();
        scene.put("inner/x", "x");
        symlink("inner", scene.own("within")).unwrap();
        symlink(scene.path("state/token"), scene.own("link")).unwrap();
        let alias = scene.path("alias");
        symlink(scene.own(""), &alias).unwrap();
        let scratch = scene.path("state/scratch/ana");
        let place =
            shipmate_agent::tools::Place { tree: alias.clone(), scratch, ..Default::default() };
        scene.toolbox = shipmate_agent::tools::Toolbox::new(place);
        let leave = |tool: &str, arguments| {
            let leave = scene.toolbox.leave(tool, &arguments).unwrap();
            (format!("{:?}", leave.does), leave.paths, leave.detail)
        };
        let run = leave("bash", json!({"command": "ls"}));
        assert_eq!(run, ("Run".to_owned(), vec![], "ls".to_owned()));
        let write = leave("write_file", json!({"path": "within/new", "content": ""}));
        assert_eq!(write, ("Write".to_owned(), vec![alias.join("inner/new")], String::new()));
        let read = leave("read_file", json!({"path": "link"}));
        assert_eq!(read, ("Read".to_owned(), vec![scene.path("state/token")], String::new()));
        let search = leave("grep", json!({"pattern": "x", "path": "within"}));
        assert_eq!(search, ("Search".to_owned(), vec![alias.join("inner")], "x".to_owned()));
        let refused = scene.toolbox.leave("write_file", &json!({"path": "../x", "content": ""}));
        assert!(refused.unwrap_err().contains("is outside your tree"));
    });
}
