//! The SQLite log when its process is killed or its disk fails: what was acknowledged is there.
//!
//! The process that dies is this test binary again, running the same test: a variable in its
//! environment tells it to play the victim, and it prints each position it was acknowledged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/random.rs"]
mod random;
#[path = "support/temp.rs"]
mod temp;

use random::Random;
use shipmate_log::{AppendFailure, Durability, Snapshot, SqliteLog};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use temp::TempDir;

const VICTIM: &str = "SHIPMATE_LOG_VICTIM";

/// What stands at a position, so that everybody can tell whether it is right.
fn text_at(position: u64) -> String {
    let filler = "x".repeat((position * 37 % 600) as usize);
    format!(r#"{{"position":{position},"filler":"{filler}"}}"#)
}

/// The path of the log to work on, if this process is a victim.
fn victim_path() -> Option<PathBuf> {
    std::env::var_os(VICTIM).map(PathBuf::from)
}

/// This test binary, set to run one test as a victim.
fn victim(test: &str, log: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(VICTIM, log);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// Appends until the process is killed, with snapshots and checkpoints in between.
fn append_until_killed(path: &Path, durability: Durability) {
    let mut log = SqliteLog::open(path, durability).unwrap();
    let mut end = log.verify_now().unwrap().records;
    for turn in 0_u64.. {
        let batch: Vec<String> = (end + 1..=end + 1 + turn % 9).map(text_at).collect();
        end = log.append_now(end, &batch).unwrap();
        println!("acknowledged {end}");
        if turn % 16 == 7 {
            let text = format!("state {end}");
            log.save_snapshot_now(&Snapshot { position: end, text }).unwrap();
        }
        if turn % 64 == 63 {
            log.rest_now();
        }
    }
}

fn kill_again_and_again(test: &str, durability: Durability) {
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let mut random = Random(durability as u64);
    let mut last = 0;
    for _ in 0..40 {
        let mut child = victim(test, &path).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let patience = random.below(120);
        for _ in 0..patience {
            let line = lines.next().unwrap().unwrap();
            last = acknowledged(&line).unwrap_or(last);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it had printed before it died was acknowledged too. A line may be cut short.
        for line in lines.map_while(Result::ok) {
            last = acknowledged(&line).unwrap_or(0).max(last);
        }
        let mut log = SqliteLog::open(&path, durability).unwrap();
        let end = log.verify_now().unwrap().records;
        assert!(end >= last, "{last} was acknowledged and the log ends at {end}");
        check_texts(&mut log, end);
        let snapshot = log.load_snapshot_now().unwrap();
        assert!(snapshot.is_none_or(|kept| kept.text == format!("state {}", kept.position)));
    }
    assert!(last > 0, "the victims got something done");
}

fn check_texts(log: &mut SqliteLog, end: u64) {
    let mut position = 0;
    while position < end {
        for record in log.read_now(position, 1000).unwrap() {
            position += 1;
            assert_eq!((record.position, record.text), (position, text_at(position)));
        }
    }
}

#[test]
fn killing_the_process_loses_nothing_acknowledged_under_power_durability() {
    match victim_path() {
        Some(path) => append_until_killed(&path, Durability::Power),
        None => kill_again_and_again(
            "killing_the_process_loses_nothing_acknowledged_under_power_durability",
            Durability::Power,
        ),
    }
}

#[test]
fn killing_the_process_loses_nothing_acknowledged_under_process_durability() {
    match victim_path() {
        Some(path) => append_until_killed(&path, Durability::Process),
        None => kill_again_and_again(
            "killing_the_process_loses_nothing_acknowledged_under_process_durability",
            Durability::Process,
        ),
    }
}

/// Appends until the first failure and tells what came of it.
fn append_until_failure(path: &Path) {
    let mut log = SqliteLog::open(path, Durability::Power).unwrap();
    let mut end = log.verify_now().unwrap().records;
    let failure = loop {
        match log.append_now(end, &[text_at(end + 1)]) {
            Ok(grown) => end = grown,
            Err(failure) => break failure,
        }
    };
    println!("acknowledged {end}");
    println!("failed with {}", kind(&failure));
    println!("then {}", kind(&log.append_now(end, &[text_at(end + 1)]).unwrap_err()));
    check_texts(&mut log, end);
    println!("read {end}");
}

fn kind(failure: &AppendFailure) -> &'static str {
    match failure {
        AppendFailure::Conflict { .. } => "conflict",
        AppendFailure::Unconfirmed(_) => "unconfirmed",
        AppendFailure::Full(_) => "full",
        AppendFailure::TooLarge { .. } => "too large",
        AppendFailure::Broken(_) => "broken",
    }
}

/// The kernel refuses to let the victim's files grow beyond a limit, which SQLite sees as a failed
/// write.
#[test]
fn a_failed_write_breaks_the_handle_and_loses_nothing_acknowledged() {
    if let Some(path) = victim_path() {
        return append_until_failure(&path);
    }
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let test = "a_failed_write_breaks_the_handle_and_loses_nothing_acknowledged";
    let direct = victim(test, &path);
    let output = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; ulimit -f 512; exec "$@""#, "sh"])
        .arg(direct.get_program())
        .args(direct.get_args())
        .env(VICTIM, &path)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let last = printed.lines().find_map(acknowledged);
    let last = last.unwrap_or_else(|| panic!("{printed} {:?}", output.stderr));
    assert!(last > 10, "{printed}");
    for expected in ["failed with broken".into(), "then broken".into(), format!("read {last}")] {
        assert!(printed.lines().any(|line| line == expected), "{expected}: {printed}");
    }
    let mut log = SqliteLog::open(&path, Durability::Power).unwrap();
    let end = log.verify_now().unwrap().records;
    assert!(end == last || end == last + 1, "the failed one may or may not have been stored");
    check_texts(&mut log, end);
    assert_eq!(log.append_now(end, &[text_at(end + 1)]), Ok(end + 1));
}

/// Opens a log that a killed process left, on a disk without any space.
fn open_without_space(path: &Path) {
    let mut log = SqliteLog::open(path, Durability::Power).unwrap();
    let end = log.append_now(0, &(1..=200).map(text_at).collect::<Vec<_>>()).unwrap();
    let left = path.with_file_name("left.db");
    for suffix in ["", "-wal", ".mark"] {
        let of = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        std::fs::copy(of(path), of(&left)).unwrap();
    }
    let filler = path.with_file_name("filler");
    let mut full = std::fs::File::create(&filler).unwrap();
    let is_full = (0..100_000).any(|_| std::io::Write::write_all(&mut full, &[0; 512]).is_err());
    assert!(is_full, "the disk has no end");

    let mut log = SqliteLog::open(&left, Durability::Power).unwrap();
    check_texts(&mut log, end);
    println!("read {end}");
    println!("failed with {}", kind(&log.append_now(end, &[text_at(end + 1)]).unwrap_err()));
    check_texts(&mut log, end);
    // Its space is free when nobody has it open.
    drop(full);
    std::fs::remove_file(&filler).unwrap();
    println!("then {}", log.append_now(end, &[text_at(end + 1)]).unwrap());
}

#[test]
fn a_log_on_a_full_disk_is_read_and_goes_on_when_there_is_space() {
    if let Some(path) = victim_path() {
        return open_without_space(&path);
    }
    let directory = TempDir::new();
    let path = directory.join("log.db");
    let direct = victim("a_log_on_a_full_disk_is_read_and_goes_on_when_there_is_space", &path);
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .args([r#"mount -t tmpfs -o size=2m small "$1" && shift && exec "$@""#, "sh"])
        .arg(path.parent().unwrap())
        .arg(direct.get_program())
        .args(direct.get_args())
        .env(VICTIM, &path)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    for expected in ["read 200", "failed with full", "then 201"] {
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(printed.lines().any(|line| line == expected), "{expected}: {printed} {told}");
    }
}
