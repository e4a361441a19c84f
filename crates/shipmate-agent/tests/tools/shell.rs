//! `bash` and `bash_output`.

use std::fs;

use serde_json::{Value, json};
use shipmate_process::{Pid, Watched};

use super::scene::{PATIENCE, Scene, on_one_thread};

fn in_background(command: &str) -> Value {
    json!({"command": command, "background": true})
}

/// The id in the answer to a command that was put into the background.
async fn started(scene: &Scene, command: &str) -> String {
    let said = scene.good("bash", in_background(command)).await;
    said.strip_prefix("started as ").unwrap().split(';').next().unwrap().to_owned()
}

/// Whose number a command has printed, if it lives.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn a_command_runs_in_the_tree_and_its_streams_stay_in_order() {
    on_one_thread(async {
        let scene = Scene::new();
        let table = [
            ("pwd", format!("{}", scene.own("").display()).trim_end_matches('/').to_owned(), false),
            ("echo a; echo b >&2; echo c", "a\nb\nc".to_owned(), false),
            ("true", "[no output]".to_owned(), false),
            ("echo a; exit 3", "a\n[exit code 3]".to_owned(), true),
            ("kill -9 $$", "[signal 9]".to_owned(), true),
            ("cat; echo end", "end".to_owned(), false),
            ("[[ a == a ]] && echo bash", "bash".to_owned(), false),
            ("yes | head -1", "y".to_owned(), false),
            (
                r"printf 'a\xffb\0c\033[31mred\033[0m\rnext\r\n'",
                "a\u{fffd}b\u{fffd}cred\nnext".to_owned(),
                false,
            ),
            ("echo $PAGER $GIT_PAGER $TERM $SHIPMATE_FENCED", "cat cat dumb 1".to_owned(), false),
            ("for i in 1 2\ndo echo $i\ndone", "1\n2".to_owned(), false),
        ];
        for (command, text, is_error) in table {
            let outcome = scene.bash(command).await;
            assert_eq!((outcome.text, outcome.is_error), (text, is_error), "{command}");
        }
        let outputs = fs::read_dir(scene.path("state/scratch/ana/outputs")).unwrap();
        assert_eq!(outputs.count(), 0, "what was shown whole is not kept");
    });
}

#[test]
fn a_command_is_refused_before_it_starts_when_it_cannot_be_one() {
    on_one_thread(async {
        let scene = Scene::new();
        let table = [
            (json!({}), "bash needs \"command\""),
            (json!({"command": " "}), "the command is empty"),
            (json!({"command": "a\0b"}), "holds a NUL byte"),
            (json!({"command": "x".repeat(100_001)}), "put it into a file with write_file"),
            (json!({"command": "ls", "timeout_ms": 0}), "timeout_ms goes from 1 to 3600000"),
            (json!({"command": "ls", "timeout_ms": 1e9}), "timeout_ms goes from 1 to 3600000"),
            (json!({"command": "ls", "timeout_ms": "soon"}), "must be a whole number"),
            (json!({"command": "ls", "seconds": 3}), "has no argument \"seconds\"; it has command"),
            (json!({"command": ["ls"]}), "must be a string"),
            (json!("ls"), "bash takes a JSON object with command"),
        ];
        for (arguments, words) in table {
            let said = scene.bad("bash", arguments.clone()).await;
            assert!(said.contains(words), "{said}");
        }
        let broken = Scene::with(|place| place.program = "/no/such/program".into());
        assert!(broken.bash("ls").await.is_error);
    });
}

#[test]
fn a_shell_has_no_secrets_and_its_temporary_folder_is_its_own() {
    on_one_thread(async {
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "it stands for a secret");
        let scene = Scene::new();
        let text = scene.bash("env").await.text;
        assert!(!text.contains("CARGO_PKG_NAME=") && !text.contains("SHIPMATE_TOKEN"), "{text}");
        let made = scene.bash("f=$(mktemp) && echo kept > $f && cat $f && echo $f").await.text;
        let tmp = scene.path("state/scratch/ana/tmp").display().to_string();
        assert!(made.starts_with("kept\n") && made.contains(&tmp), "{made}");
    });
}

#[test]
fn too_long_an_output_shows_its_ends_and_names_the_file_with_all_of_it() {
    on_one_thread(async {
        let scene = Scene::new();
        let outcome = scene.bash("echo first; seq 100000; echo last; exit 2").await;
        assert!(outcome.text.starts_with("first\n1\n2\n") && outcome.text.len() < 17_500);
        assert!(outcome.text.ends_with("100000\nlast\n[exit code 2]"), "{}", outcome.text);
        let (_, after) = outcome.text.split_once("the whole output: ").unwrap();
        let file = after.split_once(". Read it").unwrap().0;
        let whole = fs::read_to_string(file).unwrap();
        assert!(whole.starts_with("first\n1\n") && whole.ends_with("100000\nlast\n"));
        let found = scene.good("grep", json!({"pattern": "^77777$", "path": file})).await;
        assert!(found.ends_with("77778:77777"), "{found}");
        scene.good("read_file", json!({"path": file, "offset": 500, "limit": 3})).await;
    });
}

#[test]
fn nothing_outlives_a_command() {
    on_one_thread(async {
        shipmate_process::become_subreaper().unwrap();
        let scene = Scene::new();
        for line in [
            "sleep 1000 & echo $!",
            "setsid sleep 1000 & echo $!",
            "nohup setsid sh -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1000; done' &
             read -t 9 _ < <(:); while ! jobs %1 >/dev/null; do :; done; echo $!",
            "(env -i setsid sleep 1000 & echo $!)",
            "(SHIPMATE_LIFE=a:b:c:d setsid sleep 1000 & echo $!)",
            "python3 -c 'import os\npid = os.fork()\nif pid == 0:\n  os.setsid()\n  \
             os.execvp(\"sleep\", [\"sleep\", \"1000\"])\nprint(pid)'",
        ] {
            let outcome = scene.bash(line).await;
            assert!(!outcome.is_error, "{}", outcome.text);
            assert!(
                outcome.text.contains("[it left processes running ("),
                "{line}: {}",
                outcome.text
            );
            for pid in outcome.text.lines().filter(|line| line.parse::<u32>().is_ok()) {
                assert!(!lives(pid), "{line}: {pid}");
            }
        }
        assert_eq!(scene.processes(), 0);
    });
}

#[test]
fn a_time_limit_ends_all_of_a_command_and_shows_what_it_printed() {
    on_one_thread(async {
        let scene = Scene::new();
        let command = "echo before; (trap '' TERM; sleep 1000) & sleep 1000";
        // One that stands still may have printed nothing by then.
        for limit in [2_000, 20_000, 100_000] {
            let said = scene.bad("bash", json!({"command": command, "timeout_ms": limit})).await;
            assert_eq!(scene.processes(), 0);
            if said.starts_with(&format!("before\n[ended at its time limit of {limit} ms")) {
                return;
            }
            assert!(limit < 100_000, "{said}");
        }
    });
}

#[test]
fn a_fence_that_was_in_the_way_is_explained() {
    on_one_thread(async {
        let scene = Scene::new();
        let said = scene.bad("bash", json!({"command": "echo x > ../x"})).await;
        assert!(said.contains("[writes are possible only in your tree and in $TMPDIR, and"));
        assert!(said.contains("SendMessage"), "{said}");
        let said = scene.bad("bash", json!({"command": "exit 1"})).await;
        assert!(!said.contains("possible only"), "{said}");
        let free = Scene::with(|place| place.fence.off = true);
        free.good("bash", json!({"command": "echo x > ../x"})).await;
        assert!(free.path("state/trees/x").exists());
        let said = free.bad("bash", json!({"command": "echo Permission denied; exit 1"})).await;
        assert!(!said.contains("possible only"), "{said}");
    });
}

#[test]
fn a_background_run_goes_on_tells_its_output_and_then_its_end_once() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.bash("mkfifo go").await;
        let id = started(&scene, "echo ready; read line < go; echo got $line '<b>'; exit 4").await;
        assert!(id.starts_with('b') && id.len() == 7, "{id}");
        scene.bash("echo other").await;
        let none = scene.toolbox.take_notices();
        assert_eq!(none, Vec::<String>::new());
        let said = scene.good("bash", json!({"command": "echo word > go"})).await;
        assert_eq!(said, "[no output]");
        tokio::time::timeout(PATIENCE, scene.toolbox.noticed()).await.unwrap();
        let notices = scene.toolbox.take_notices();
        let [notice] = notices.as_slice() else { panic!("{notices:?}") };
        assert_eq!(
            notice.as_str(),
            format!(
                "<task-notification><task-id>{id}</task-id><status>error</status>Summary: echo \
                 ready; read line &lt; go; echo got $line '&lt;b&gt;'; exit 4\nexit code \
                 4\nready\ngot word &lt;b&gt;</task-notification>"
            )
        );
        assert_eq!(scene.toolbox.take_notices(), Vec::<String>::new());
        let text = scene.good("bash_output", json!({"id": id})).await;
        assert!(text.starts_with(&format!("[{id}, error, exit code 4: echo ready")), "{text}");
        assert!(text.ends_with("]\nready\ngot word <b>\n"), "{text}");
    });
}

#[test]
fn a_background_run_is_waited_for_and_stopped_for_good() {
    on_one_thread(async {
        let scene = Scene::new();
        let quick = started(&scene, "echo done").await;
        let text = loop {
            let text = scene.good("bash_output", json!({"id": quick, "wait_ms": 15000})).await;
            if !text.starts_with(&format!("[{quick}, running")) {
                break text;
            }
        };
        assert!(text.starts_with(&format!("[{quick}, completed: echo done]\ndone")), "{text}");
        tokio::time::timeout(PATIENCE, scene.toolbox.noticed()).await.unwrap();
        assert_eq!(scene.toolbox.take_notices().len(), 1);

        // A process that ends well when it is told to: its run is stopped all the same.
        let line = "trap 'exit 0' TERM; setsid sleep 1000 & echo ready; wait";
        let slow = started(&scene, line).await;
        let text = scene.good("bash_output", json!({"id": slow, "wait_ms": 1})).await;
        assert!(text.starts_with(&format!("[{slow}, running")), "{text}");
        let text = scene.good("bash_output", json!({"id": slow, "stop": true})).await;
        assert!(text.starts_with(&format!("[{slow}, stopped: trap")), "{text}");
        assert_eq!(scene.processes(), 0);
        let text = scene.good("bash_output", json!({"id": slow})).await;
        assert!(text.starts_with(&format!("[{slow}, stopped: trap")), "{text}");
        assert_eq!(scene.toolbox.take_notices(), Vec::<String>::new(), "who stops it knows");

        let said = scene.bad("bash_output", json!({"id": "b000000"})).await;
        assert!(said.starts_with("there is no background run \"b000000\"; there are b"), "{said}");
        assert!(said.contains("(stopped)") && said.contains("(completed)"), "{said}");
    });
}

#[test]
fn background_runs_have_a_limit_in_number_and_in_time_where_one_is_set() {
    on_one_thread(async {
        let scene = Scene::new();
        let short = json!({"command": "sleep 1000", "background": true, "timeout_ms": 50});
        scene.good("bash", short).await;
        tokio::time::timeout(PATIENCE, scene.toolbox.noticed()).await.unwrap();
        let notice = scene.toolbox.take_notices().remove(0);
        assert!(notice.contains("<status>error</status>"), "{notice}");
        assert!(notice.contains("over its time limit of 50 ms"), "{notice}");
        for _ in 0..16 {
            started(&scene, "sleep 1000").await;
        }
        let said = scene.bad("bash", in_background("true")).await;
        assert!(said.starts_with("16 background runs are going on (b"), "{said}");
        scene.toolbox.stop().await;
        assert_eq!(scene.processes(), 0);
        assert_eq!(scene.toolbox.take_notices(), Vec::<String>::new());
    });
}

#[test]
fn cancelling_ends_what_runs_in_the_foreground_and_nothing_else() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.bash("mkfifo up").await;
        let behind = started(&scene, "sleep 1000").await;
        let command = json!({"command": "echo begun; trap '' TERM; (setsid sleep 1000 &) ; \
                                         echo > up; sleep 1000"});
        let run = scene.toolbox.run("bash", &command);
        let cancel = async {
            // Opened for reading at once: it ends when the command has come that far.
            let up = scene.own("up");
            tokio::task::spawn_blocking(move || fs::read(up).unwrap()).await.unwrap();
            scene.toolbox.cancel().await;
            assert_eq!(scene.processes(), 1, "the one in the background");
        };
        let (outcome, ()) = tokio::join!(run, cancel);
        assert_eq!((outcome.text.as_str(), outcome.is_error), ("begun\n[cancelled]", true));
        let text = scene.good("bash_output", json!({"id": behind})).await;
        assert!(text.contains(", running: "), "{text}");
        scene.toolbox.cancel().await;
        scene.toolbox.stop().await;
        assert_eq!(scene.processes(), 0);
    });
}

#[test]
fn a_call_that_nobody_waits_for_any_more_ends_its_command() {
    on_one_thread(async {
        let scene = Scene::new();
        scene.bash("mkfifo up").await;
        let command = json!({"command": "echo $$ > up; sleep 1000"});
        let up = scene.own("up");
        let pid = tokio::task::spawn_blocking(move || fs::read_to_string(up).unwrap());
        let pid = tokio::select! {
            biased;
            pid = pid => pid.unwrap(),
            outcome = scene.toolbox.run("bash", &command) => panic!("{outcome:?}"),
        };
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        if let Some(watched) = Watched::open(pid) {
            tokio::time::timeout(PATIENCE, watched.gone()).await.unwrap();
        }
        scene.toolbox.cancel().await;
        assert_eq!(scene.processes(), 0);
    });
}

#[test]
fn what_is_printed_is_a_sign_of_work() {
    on_one_thread(async {
        let scene = Scene::new();
        let mut printed = scene.toolbox.printed();
        scene.bash("mkfifo go").await;
        started(&scene, "echo 12345; read x < go").await;
        let heard = printed.wait_for(|bytes| *bytes == 6);
        tokio::time::timeout(PATIENCE, heard).await.unwrap().unwrap();
        scene.toolbox.stop().await;
    });
}
