//! One key, several agents: a refusal of one holds all of them back.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use shipmate_agent::message::Message;
use tokio::sync::{Notify, mpsc};

use crate::raw::{Answer, Raw};
use crate::{Folder, Seen, ask, model, text};

const HELLO: &str = r#"
    {"choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":"stop"}]}
    [DONE]
"#;

fn too_many() -> Answer {
    Answer::new(429, "retry-after-ms: 100\r\n", "")
}

#[tokio::test]
async fn when_one_was_refused_the_other_sends_nothing_until_one_of_them_was_answered() {
    let pools = Folder::new();
    let (refusal, probe) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let answers = vec![
        too_many().held_by(&refusal),
        Answer::events(HELLO).held_by(&probe),
        Answer::events(HELLO),
    ];
    let mut server = Raw::start(answers).await;
    let agents = [model("openai", &server.url, &pools), model("openai", &server.url, &pools)];
    let (tell, mut told) = mpsc::unbounded_channel();
    let (tell_other, mut told_other) = mpsc::unbounded_channel();
    let go = [Message::user("go")];
    let (mut seen, mut seen_other) = (Seen::telling(tell), Seen::telling(tell_other));
    let refused_now = Arc::new(Notify::new());

    let one = ask(&agents[0], &go, &mut seen);
    let other = async {
        // It begins only when the first has been refused.
        refused_now.notified().await;
        ask(&agents[1], &go, &mut seen_other).await
    };
    let watch = async {
        server.come().await;
        refusal.notify_one();
        let why = told.recv().await.unwrap();
        assert!(why.starts_with("acme has had too many requests with this key (429): "), "{why}");
        refused_now.notify_one();
        // One of them asks first; the other says that it waits for that, and then cannot send.
        server.come().await;
        loop {
            let why = tokio::select! {
                why = told.recv() => why.unwrap(),
                why = told_other.recv() => why.unwrap(),
            };
            if why.ends_with("another agent asks first") {
                break;
            }
        }
        assert_eq!(server.asked().len(), 2, "nothing but the first request and the probe");
        probe.notify_one();
        server.come().await;
    };
    let (one, other, ()) = tokio::join!(one, other, watch);
    assert_eq!((text(&one.unwrap()), text(&other.unwrap())), ("Hello.".into(), "Hello.".into()));
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn agents_with_other_keys_are_not_held_back() {
    let pools = Folder::new();
    let mut refusing = Raw::start(vec![Answer::new(429, "retry-after: 50\r\n", "")]).await;
    let other = Raw::start(vec![Answer::events(HELLO)]).await;
    let held = model("openai", &refusing.url, &pools);
    let free = model("openai", &other.url, &pools);
    let (tell, mut told) = mpsc::unbounded_channel();
    let go = [Message::user("go")];
    let mut seen = Seen::telling(tell);
    let reply = async {
        refusing.come().await;
        told.recv().await.unwrap();
        ask(&free, &go, &mut Seen::default()).await.unwrap()
    };
    tokio::select! {
        _ = ask(&held, &go, &mut seen) => panic!("it is to wait for a while"),
        reply = reply => assert_eq!(text(&reply), "Hello."),
    }
}

/// Not a check: a process that takes the lock of a pool, as an agent that asks first has it.
#[test]
fn holder() {
    let Some(file) = std::env::var_os("HELD_POOL") else { return };
    let file = std::fs::File::open(file).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    println!("held");
    std::io::stdout().flush().unwrap();
    std::io::stdin().lines().for_each(drop);
}

#[tokio::test]
async fn an_agent_that_dies_while_it_asks_first_leaves_the_way_to_the_next() {
    let pools = Folder::new();
    let server = Raw::start(vec![too_many(), Answer::events(HELLO)]).await;
    let agent = model("openai", &server.url, &pools);
    let (tell, mut told) = mpsc::unbounded_channel();
    let go = [Message::user("go")];
    let mut seen = Seen::telling(tell);

    let dies = async {
        let why = told.recv().await.unwrap();
        assert!(why.contains("(429)"), "{why}");
        let file = std::fs::read_dir(pools.path()).unwrap().next().unwrap().unwrap().path();
        let mut holder = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "pools::holder", "--nocapture"])
            .env("HELD_POOL", file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("held")));
        let why = told.recv().await.unwrap();
        assert!(why.ends_with("another agent asks first"), "{why}");
        holder.kill().unwrap();
        holder.wait().unwrap();
    };
    let (reply, ()) = tokio::join!(ask(&agent, &go, &mut seen), dies);
    assert_eq!(text(&reply.unwrap()), "Hello.");
    assert_eq!(server.asked().len(), 2);
}
