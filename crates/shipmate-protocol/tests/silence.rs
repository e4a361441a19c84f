//! A coordinator that lets one wait, and one that answers nobody.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::socket::{self, Patience, SilenceCause};
use shipmate_protocol::{Answer, Ask, Client, ClientFailure, Place, verbs};

const AT_ONCE: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_secs(300);
const WELCOME: &str = r#"{"welcome":{"protocol":2,"version":"0","pid":1,"actor":"person"}}"#;

/// A workspace in whose place the test itself is the coordinator.
struct Stage {
    folder: PathBuf,
    listener: UnixListener,
}

impl Stage {
    fn new(name: &str) -> Stage {
        let name = format!("shipmate-silence-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let place = Place { workspace: folder.clone() };
        std::fs::create_dir_all(place.state()).unwrap();
        let listener = socket::bind(&place.socket()).unwrap();
        Stage { folder, listener }
    }

    fn client(&self, patience: Patience) -> Client {
        let place = Place { workspace: self.folder.clone() };
        let token = TokenSource::Given("t".to_owned());
        let mut client = Client::new(place, Launch::Never, token);
        client.patience = patience;
        client
    }

    /// Takes a connection and its hello.
    fn accept(&self) -> (BufReader<UnixStream>, String) {
        let mut reader = BufReader::new(self.listener.accept().unwrap().0);
        let mut hello = String::new();
        reader.read_line(&mut hello).unwrap();
        (reader, hello)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

fn say(connection: &mut BufReader<UnixStream>, line: &str) {
    connection.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
}

#[test]
fn a_request_may_take_as_long_as_it_needs_while_the_coordinator_answers_others() {
    let stage = Stage::new("slow");
    let patience = Patience { probe_after: AT_ONCE, tell_after: LONG, give_up_after: LONG };
    let mut client = stage.client(patience);
    client.on_silence = |_| panic!("it answers");
    let asking = std::thread::spawn(move || {
        client.ask(Ask::TaskNext(verbs::TaskNext { lease_ms: None, wait: true }))
    });
    let (mut asked, hello) = stage.accept();
    assert!(hello.contains("\"token\":\"t\""));
    say(&mut asked, WELCOME);
    for _ in 0..3 {
        let (mut probe, hello) = stage.accept();
        assert!(!hello.contains("token"), "a probe is nobody: {hello}");
        say(&mut probe, r#"{"refused":{"id":0,"refused":{"code":"Version","message":""}}}"#);
    }
    say(&mut asked, r#"{"answer":{"id":1,"answer":"unchanged"}}"#);
    assert!(matches!(asking.join().unwrap(), Ok(Answer::Unchanged)));
}

#[test]
fn a_coordinator_that_answers_nobody_is_told_of_once_and_then_given_up() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    let stage = Stage::new("stopped");
    let patience = Patience { probe_after: AT_ONCE, tell_after: AT_ONCE, give_up_after: AT_ONCE };
    let mut client = stage.client(patience);
    client.on_silence = |_| {
        TOLD.fetch_add(1, Ordering::Relaxed);
    };
    let failure = client.ask(Ask::Status).unwrap_err();
    let ClientFailure::Silent(silence) = &failure else { panic!("{failure}") };
    assert_eq!(silence.pid, Some(std::process::id()), "whoever listens is named");
    assert_eq!(TOLD.load(Ordering::Relaxed), 1);
}

#[test]
fn a_queue_that_nobody_takes_anyone_from_is_no_reason_to_wait_for_ever() {
    let stage = Stage::new("full");
    rustix::net::listen(&stage.listener, 1).unwrap();
    let socket = Place { workspace: stage.folder.clone() }.socket();
    let mut waiting = Vec::new();
    while let Ok(connection) = socket::connect(&socket) {
        waiting.push(connection);
    }
    let patience = Patience { probe_after: AT_ONCE, tell_after: AT_ONCE, give_up_after: AT_ONCE };
    let failure = stage.client(patience).ask(Ask::Status).unwrap_err();
    assert!(matches!(failure, ClientFailure::Silent(_)), "{failure}");
}

/// Takes the coordinator's lock, as one does that serves.
fn lock(place: &Place) -> File {
    let mut file = File::options().create_new(true).write(true).open(place.lock()).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    write!(file, "{}", std::process::id()).unwrap();
    file
}

#[test]
fn a_coordinator_without_a_socket_is_named_and_the_one_that_waits_for_it_is_ended() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    let stage = Stage::new("unheard");
    let place = Place { workspace: stage.folder.canonicalize().unwrap() };
    std::fs::remove_file(place.socket()).unwrap();
    let _held = lock(&place);
    let launch = Launch::Program {
        program: "flock".into(),
        args: vec![place.lock().into_os_string(), "true".into()],
    };
    let mut client = Client::new(place, launch, TokenSource::Given("t".to_owned()));
    client.patience =
        Patience { probe_after: AT_ONCE, tell_after: AT_ONCE, give_up_after: AT_ONCE };
    client.on_silence = |silence| {
        assert_eq!(silence.cause, SilenceCause::NoSocket);
        TOLD.fetch_add(1, Ordering::Relaxed);
    };
    let failure = client.ask(Ask::Status).unwrap_err();
    let ClientFailure::Silent(silence) = &failure else { panic!("{failure}") };
    assert_eq!(silence.pid, Some(std::process::id()), "whoever has the lock is named");
    assert!(failure.to_string().contains("`shipmate coordinator stop`"), "{failure}");
    assert_eq!(TOLD.load(Ordering::Relaxed), 1);
    // No other test of this file starts a process.
    let left = rustix::process::wait(rustix::process::WaitOptions::NOHANG);
    assert_eq!(left.unwrap_err(), rustix::io::Errno::CHILD, "the child was left waiting");
}
