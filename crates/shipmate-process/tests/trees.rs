//! Trees as a supervisor sees them: how they end, what is left, what was printed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/launcher.rs"]
mod launcher;
#[path = "support/shell.rs"]
mod shell;
#[path = "support/stage.rs"]
mod stage;
#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

use std::fs;
use std::path::Path;
use std::time::Duration;

use launcher::launcher;
use shell::{marker, sh};
use shipmate_process::{
    Exit, Launcher, Marker, Output, Pid, Program, Signal, SpawnFailure, Spec, Stdin, Tree, Watched,
    has_pipefail, marked, run, sweep,
};
use stage::{PATIENCE, Talking, lives};
use temp::TempDir;
use tokio::io::AsyncWriteExt;

const GRACE: Duration = Duration::from_millis(50);

/// Whether the process ends without further ado.
async fn ends(process: &Watched) -> bool {
    tokio::time::timeout(PATIENCE, process.gone()).await.is_ok()
}

#[tokio::test]
async fn an_exit_code_is_seen() {
    let tree = Tree::spawn(sh("exit 7")).unwrap();
    assert_eq!(tree.exited().await, Exit::Code(7));
    assert_eq!(tree.exited().await, Exit::Code(7), "asking again gives the same answer");
    assert_eq!(tree.clean().await.exit, Exit::Code(7));
}

#[tokio::test]
async fn a_deadly_signal_is_seen() {
    let tree = Tree::spawn(sh("kill -USR1 $$")).unwrap();
    assert_eq!(tree.exited().await, Exit::Signal(Signal::USR1.as_raw()));
}

#[tokio::test]
async fn both_streams_are_captured_apart() {
    let ran = run(sh("echo out; echo err >&2"), PATIENCE).await.unwrap();
    assert_eq!((ran.stdout.text().as_str(), ran.stderr.text().as_str()), ("out\n", "err\n"));
    assert_eq!((ran.exit, ran.timed_out, ran.left_behind), (Exit::Code(0), false, 0));
}

#[tokio::test]
async fn input_reaches_the_program_and_ends() {
    let spec = Spec { stdin: Stdin::Bytes(b"some words".to_vec()), ..sh("cat") };
    assert_eq!(run(spec, PATIENCE).await.unwrap().stdout.text(), "some words");
}

#[tokio::test]
async fn a_program_that_never_reads_a_large_input_still_ends() {
    let spec = Spec { stdin: Stdin::Bytes(vec![b'x'; 8 << 20]), ..sh("exit 3") };
    assert_eq!(run(spec, PATIENCE).await.unwrap().exit, Exit::Code(3));
}

#[tokio::test]
async fn piped_input_is_written_while_the_program_runs() {
    let mut talking = Talking::start(Spec {
        stdin: Stdin::Piped,
        ..sh("while read line; do echo \"got $line\"; done")
    });
    let mut stdin = talking.tree.take_stdin().unwrap();
    stdin.write_all(b"one\n").await.unwrap();
    assert_eq!(talking.line().await, "got one");
    stdin.write_all(b"two\n").await.unwrap();
    assert_eq!(talking.line().await, "got two");
    drop(stdin);
    assert_eq!(talking.tree.exited().await, Exit::Code(0));
}

#[tokio::test]
async fn twenty_megabytes_of_output_are_capped_to_head_and_tail() {
    let line = "echo first; yes | head -c 20000000; echo last";
    let spec = Spec { output: Output::Capture { bytes_max: 1000 }, ..sh(line) };
    let ran = run(spec, PATIENCE).await.unwrap();
    let text = ran.stdout.text();
    assert!(text.starts_with("first\ny\n") && text.ends_with("y\nlast\n"), "{text}");
    assert!(text.len() < 1100, "{} bytes were kept", text.len());
    assert_eq!(ran.stdout.dropped(), 20_000_000 + "first\nlast\n".len() as u64 - 1000);
}

#[tokio::test]
async fn an_exit_is_seen_although_a_daemon_holds_the_pipes() {
    let spec = sh("setsid sh -c 'read line < /dev/zero' & echo started; exit 4");
    let tree = Tree::spawn(spec).unwrap();
    assert_eq!(tree.exited().await, Exit::Code(4));
    let ended = tree.clean().await;
    assert_eq!((ended.exit, ended.stdout.text().as_str()), (Exit::Code(4), "started\n"));
    assert!(ended.left_behind >= 1);
}

/// Two children of the main process: one in a session of its own, one that forked twice.
const DAEMONS: &str = "
    setsid sh -c 'echo $$; exec sleep 1000' &
    (sh -c 'echo $$; exec sleep 1000' &)
";

#[tokio::test]
async fn daemons_end_with_a_tree_that_is_stopped() {
    let mut talking = Talking::start(sh(&format!("{DAEMONS} exec sleep 1000")));
    let daemons = [talking.process().await, talking.process().await];
    let ended = talking.tree.stop(PATIENCE).await;
    assert_eq!(ended.exit, Exit::Signal(Signal::TERM.as_raw()));
    assert!(daemons.iter().all(|daemon| !lives(daemon)));
}

#[tokio::test]
async fn daemons_end_when_their_main_process_has() {
    let mut talking = Talking::start(sh(&format!("{DAEMONS} exit 0")));
    let daemons = [talking.process().await, talking.process().await];
    assert_eq!(talking.tree.exited().await, Exit::Code(0));
    let ended = talking.tree.clean().await;
    assert_eq!((ended.left_behind, ended.remaining), (2, vec![]));
    assert!(daemons.iter().all(|daemon| !lives(daemon)));
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed_after_the_grace() {
    let line = "trap '' TERM; echo $$; while :; do sleep 1000; done";
    let mut talking = Talking::start(sh(line));
    let main = talking.process().await;
    let ended = talking.tree.stop(GRACE).await;
    assert_eq!(ended.exit, Exit::Signal(Signal::KILL.as_raw()));
    assert!(!lives(&main));
}

#[tokio::test]
async fn a_stopped_process_is_killed_too() {
    let mut talking = Talking::start(sh("setsid sh -c 'echo $$; kill -STOP $$' & wait"));
    let stopped = talking.process().await;
    assert_eq!(talking.tree.stop(GRACE).await.remaining, vec![]);
    assert!(!lives(&stopped));
}

#[tokio::test]
async fn sigterm_comes_once_to_each_process() {
    // It is ready when what it waits for is a program of its own: before that a signal may be lost.
    let line = "trap 'echo told; left=' TERM; left=1
        while [ \"$left\" ]; do sh -c 'echo ready; exec sleep 1000' & wait $!; done; sleep 0.05; exit 0";
    let mut talking = Talking::start(sh(line));
    assert_eq!(talking.line().await, "ready");
    let stop = tokio::spawn(talking.tree.stop(PATIENCE));
    let (mut told, mut lines) = (0, talking.lines);
    while let Ok(Some(line)) = lines.next_line().await {
        told += usize::from(line == "told");
    }
    assert_eq!((told, stop.await.unwrap().exit), (1, Exit::Code(0)));
}

#[tokio::test]
async fn a_dropped_tree_is_killed() {
    let mut talking = Talking::start(sh("setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000"));
    let daemon = talking.process().await;
    let main = Watched::open(talking.tree.pid()).unwrap();
    drop(talking);
    assert!(ends(&daemon).await && ends(&main).await);
}

#[tokio::test]
async fn somebody_elses_marker_spares_a_process_and_what_stands_below_it() {
    let other = marker();
    let line =
        format!("SHIPMATE_LIFE={other} setsid sh -c 'echo $$; sleep 1000 & echo $!; wait' & wait");
    let mut talking = Talking::start(sh(&line));
    let spared = [talking.process().await, talking.process().await];
    let ended = talking.tree.clean().await;
    assert_eq!(ended.left_behind, 0);
    assert!(spared.iter().all(lives));
    assert_eq!(sweep(&other, PATIENCE).await.ended, 2);
    assert!(!spared.iter().any(lives));
}

#[tokio::test]
async fn a_group_that_holds_somebody_elses_process_is_not_signalled_as_a_whole() {
    let other = marker();
    let line = format!("SHIPMATE_LIFE={other} sh -c 'echo $$; exec sleep 1000' & wait");
    let mut talking = Talking::start(sh(&line));
    let spared = talking.process().await;
    let main = Watched::open(talking.tree.pid()).unwrap();
    talking.tree.clean().await;
    assert!(lives(&spared) && !lives(&main));
    spared.signal(Signal::KILL).unwrap();
}

#[tokio::test]
async fn output_held_open_by_somebody_else_does_not_hold_up_the_end() {
    let other = marker();
    let line = format!("SHIPMATE_LIFE={other} setsid sh -c 'exec sleep 1000' & echo $!");
    let ran = run(sh(&line), PATIENCE).await.unwrap();
    assert!(!ran.timed_out && ran.took < PATIENCE);
    sweep(&other, PATIENCE).await;
}

#[tokio::test]
async fn a_tree_within_a_tree_ends_alone_or_with_the_outer_one() {
    let outer = Marker::new("digest", "check", "one@1").unwrap();
    let start = |marker: Marker| Talking::start(Spec { marker, ..sh("echo $$; exec sleep 1000") });
    let mut inner = start(outer.below().unwrap());
    let mut brother = start(outer.below().unwrap());
    let (first, second) = (inner.process().await, brother.process().await);
    inner.tree.stop(PATIENCE).await;
    assert!(!lives(&first) && lives(&second));
    assert_eq!(sweep(&outer, PATIENCE).await.ended, 1);
    assert!(!lives(&second));
}

#[tokio::test]
async fn a_workspace_lists_its_live_processes() {
    let mine = Marker::new("some-workspace", "agent", "ana@1").unwrap();
    let tree = Tree::spawn(Spec { marker: mine.clone(), ..sh("exec sleep 1000") }).unwrap();
    assert_eq!(marked("some-workspace"), vec![(tree.pid(), mine.clone())]);
    assert!(Watched::carrying(tree.pid(), &mine).is_some());
    assert!(Watched::carrying(tree.pid(), &marker()).is_none());
    tree.clean().await;
    assert_eq!(marked("some-workspace"), vec![]);
}

#[tokio::test]
async fn a_run_over_its_time_is_ended_with_its_daemons() {
    let dir = TempDir::new();
    let pid_file = dir.join("pid");
    let line = format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000' &
        while [ ! -e {0} ]; do :; done; echo before; sleep 1000",
        pid_file.display()
    );
    // One that stands still may have done nothing by then.
    for limit_ms in [500, 5_000, 100_000] {
        drop(fs::remove_file(&pid_file));
        let ran = run(sh(&line), Duration::from_millis(limit_ms)).await.unwrap();
        assert!(ran.timed_out);
        let said = ran.stdout.text();
        if (ran.exit, said.as_str()) == (Exit::Signal(15), "before\n") {
            assert!(ran.left_behind >= 1);
            let pid = fs::read_to_string(&pid_file).unwrap();
            assert!(!fs::exists(format!("/proc/{}/cwd", pid.trim())).unwrap_or(false));
            return;
        }
        assert!(limit_ms < 100_000, "{:?} after {said:?}", ran.exit);
    }
}

#[tokio::test]
async fn a_shell_line_fails_when_the_first_part_of_a_pipe_does() {
    assert!(has_pipefail(), "this machine has bash");
    let spec = Spec { program: Program::Shell("false | cat".into()), ..sh("") };
    assert_eq!(run(spec, PATIENCE).await.unwrap().exit, Exit::Code(1));
}

#[tokio::test]
async fn activity_tells_how_much_was_printed_and_the_last_line() {
    let tree = Tree::spawn(Spec { stdin: Stdin::Piped, ..sh("echo one; echo two; cat") }).unwrap();
    let mut activity = tree.activity();
    let seen = tokio::time::timeout(PATIENCE, activity.wait_for(|seen| seen.bytes == 8)).await;
    assert_eq!(seen.unwrap().unwrap().last_line, "two");
    tree.clean().await;
}

/// Written by another process: a file that this one holds open for writing while another test
/// forks cannot be executed.
fn write_program(path: &Path, text: &str) {
    let mut writer = std::process::Command::new("sh");
    writer.args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""]);
    assert!(writer.arg(path).arg(text).status().unwrap().success());
}

#[tokio::test]
async fn what_cannot_be_started_is_refused_in_words() {
    let dir = TempDir::new();
    let plain = dir.join("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    let lost = dir.join("lost");
    write_program(&lost, "#!/no/such/interpreter\n");
    let says = |program: &str, cwd: &str| {
        let program = Program::Argv(vec![program.into()]);
        Tree::spawn(Spec { cwd: cwd.into(), program, ..sh("") }).unwrap_err().to_string()
    };
    assert_eq!(
        says("no-such-program", "/"),
        "no-such-program was not found in PATH: install it, or correct its name"
    );
    assert_eq!(says("/no/such", "/"), "/no/such was not found: install it, or correct its name");
    let plain = plain.display().to_string();
    assert_eq!(says(&plain, "/"), format!("{plain} may not be executed: run `chmod +x {plain}`"));
    assert_eq!(says("true", "/no/such"), "the working directory /no/such does not exist");
    assert!(says(&lost.display().to_string(), "/").contains("interpreter"));
}

#[tokio::test]
async fn a_program_is_looked_for_in_the_path_it_will_have() {
    let dir = TempDir::new();
    let tool = dir.join("only-here");
    write_program(&tool, "#!/bin/sh\necho found\n");
    let program = Program::Argv(vec!["only-here".into()]);
    let env = vec![("PATH".into(), format!("{}:/usr/bin:/bin", dir.join("").display()).into())];
    let spec = Spec { program: program.clone(), env, ..sh("") };
    assert_eq!(run(spec, PATIENCE).await.unwrap().stdout.text(), "found\n");
    let refused = Tree::spawn(Spec { program, ..sh("") }).unwrap_err();
    assert!(matches!(refused, SpawnFailure::Missing { .. }));
}

#[tokio::test]
async fn a_launched_program_knows_nothing_of_its_launcher() {
    let spec = Spec { launcher: launcher(), ..sh("echo pid $$ parent ${SHIPMATE_PARENT-none}") };
    let tree = Tree::spawn(spec).unwrap();
    let pid = tree.pid().as_raw_nonzero();
    tree.exited().await;
    let text = tree.clean().await.stdout.text();
    assert!(text.ends_with(&format!("pid {pid} parent none\n")), "{text}");
}

#[tokio::test]
async fn a_launched_program_dies_with_the_process_that_started_it() {
    // The launcher's parent is a shell here; the shell is killed alone, without its group.
    let me = std::env::current_exe().unwrap();
    let line = format!(
        "LAUNCHED_ARGV=\"$(printf 'sh\\n-c\\necho $$; exec sleep 1000')\" \
         {} --exact launcher::entry --nocapture & wait",
        me.display()
    );
    let mut talking = Talking::start(sh(&line));
    let pid = loop {
        if let Ok(pid) = talking.line().await.parse() {
            break Pid::from_raw(pid).unwrap();
        }
    };
    let launched = Watched::open(pid).unwrap();
    let parent = Watched::open(talking.tree.pid()).unwrap();
    parent.signal(Signal::KILL).unwrap();
    assert!(ends(&launched).await);
}

#[tokio::test]
async fn a_launcher_whose_parent_has_gone_starts_nothing() {
    let mut spec = sh("echo started");
    let me = std::env::current_exe().unwrap();
    let line = format!(
        "IFS='\n'; export LAUNCHED_ARGV=\"$*\" SHIPMATE_PARENT=1; \
         exec {} --exact launcher::entry --nocapture",
        me.display()
    );
    spec.launcher = Launcher::through("sh".into(), vec!["-c".into(), line.into(), "sh".into()]);
    let ran = run(spec, PATIENCE).await.unwrap();
    assert_eq!(ran.exit, Exit::Code(127));
    assert!(ran.stderr.text().contains("the process that asked for it has ended"));
}

#[tokio::test]
async fn orphans_of_a_dead_supervisor_are_found_by_their_marker() {
    let lost = marker();
    let line = "(setsid sh -c 'sleep 1000 & echo $$ $!; wait' &)";
    let mut supervisor = std::process::Command::new("sh");
    supervisor.args(["-c", line]).env("SHIPMATE_LIFE", lost.to_string());
    let mut supervisor = supervisor.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let stdout = supervisor.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said).unwrap();
    supervisor.wait().unwrap();
    let open = |pid: &str| Watched::open(Pid::from_raw(pid.parse().unwrap()).unwrap()).unwrap();
    let orphans: Vec<Watched> = said.split_whitespace().map(open).collect();
    let swept = sweep(&lost, PATIENCE).await;
    assert_eq!((swept.ended, swept.remaining), (2, vec![]));
    assert!(ends(&orphans[0]).await && ends(&orphans[1]).await);
    assert_eq!(sweep(&lost, PATIENCE).await.ended, 0);
}
