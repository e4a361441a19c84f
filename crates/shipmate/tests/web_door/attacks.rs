//! Whoever should not get in does not, and learns nothing at the door.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::json;
use shipmate_protocol::{Ask, ClientFailure, verbs};

use crate::http::{Event, Events, LIMIT, Request, open, read};
use crate::stage::{Serving, Stage};

/// Attacks by name, with the statuses that are right, and what is sent.
///
/// `HOST`, `PORT` and `TOKEN` stand for those of the server, `PART` for the half of the token and
/// `PERSON` for the person's own, `ASK` for a body that would create a task and its length, `FILL`
/// for many bytes and `MANY` for many headers. Status 0 is a connection that ends without a word.
const ATTACKS: &str = include_str!("attacks.txt");

fn attacks() -> impl Iterator<Item = (&'static str, Vec<u16>, &'static str)> {
    ATTACKS.split("== ").skip(1).map(|attack| {
        let (title, request) = attack.split_once('\n').unwrap();
        let (name, statuses) = title.split_once(" => ").unwrap();
        let statuses = statuses.split(' ').map(|status| status.parse().unwrap()).collect();
        // What stands above the next ones is said to those who read.
        let request = request.split("\n# ").next().unwrap();
        (name, statuses, request.trim_end())
    })
}

fn raw(template: &str, serving: &Serving, person: &str) -> String {
    let ask = json!({ "ask": { "task_create": { "tasks": [{ "subject": "slipped in" }] } } });
    let ask = ask.to_string();
    let many: String = (0..200).map(|n| format!("X-Many-{n}: 1\n")).collect();
    let (head, rest) = template.split_once("\n\n").unwrap_or((template, ""));
    let head = head.replace("ASK", &format!("Content-Length: {}\n\n{ask}", ask.len()));
    let end = if head.contains("\n\n") { "" } else { "\n\n" };
    let rest = if rest.is_empty() { String::new() } else { format!("{rest}\n\n") };
    let text = format!("{head}{end}{rest}").replacen("\nHost", "\nConnection: close\nHost", 1);
    text.replace("MANY", &many)
        .replace("HOST", &format!("127.0.0.1:{}", serving.port))
        .replace("PORT", &serving.port.to_string())
        .replace("PART", &serving.token[..32])
        .replace("TOKEN", &serving.token)
        .replace("PERSON", person)
        .replace('\n', "\r\n")
        .replace("FILL", &"x".repeat(300_000))
}

#[test]
fn nothing_on_the_list_of_attacks_succeeds() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let person = std::fs::read_to_string(stage.place().person_token()).unwrap();
    let before = stage.position();
    let mut wrong = Vec::new();
    for (name, statuses, template) in attacks() {
        let text = raw(template, &serving, person.trim());
        let response = read(open(serving.port, &text));
        if !statuses.contains(&response.status) {
            wrong.push(format!("{name}: {} {}", response.head, response.body));
        }
        let said = format!("{}{}", response.head, response.body);
        for secret in ["keep-this-quiet", "root:", person.trim(), &serving.token[..]] {
            assert!(!said.contains(secret), "{name} tells {secret}: {said}");
        }
        assert!(!said.to_ascii_lowercase().contains("access-control-"), "{name}: {said}");
        assert!(!said.to_ascii_lowercase().contains("set-cookie"), "{name}: {said}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(stage.position(), before, "the log has not changed");
    assert_eq!(serving.get("/api/teams")["teams"][0]["name"], "alpha", "it serves on");
}

#[test]
fn a_token_of_a_server_that_has_ended_opens_nothing() {
    let stage = Stage::new();
    let old = Serving::start(&stage).token.clone();
    let serving = Serving::start(&stage);
    assert_ne!(old, serving.token);
    let request = Request::new(serving.port, "GET", "/api/teams");
    let response = request.header("Authorization", &format!("Bearer {old}")).send();
    assert_eq!(response.status, 401);
    assert_eq!(response.json()["refused"]["code"], "NoToken");
}

#[test]
fn without_the_token_a_team_that_exists_looks_like_one_that_does_not() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let say = |root: &str, rest: &str| {
        let path = format!("/api/t/{root}/{rest}");
        let response = Request::new(serving.port, "GET", &path).send();
        let head = response.head.lines().filter(|line| !line.starts_with("date"));
        (head.map(str::to_owned).collect::<Vec<_>>(), response.body)
    };
    for rest in ["stream?after=0", "timeline", "task/1", "output/alpha/ana", "no/such/thing"] {
        assert_eq!(say("alpha", rest), say("nobody", rest), "{rest}");
    }
}

#[test]
fn an_ask_that_is_not_on_the_list_is_refused_by_its_name_and_changes_nothing() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let before = stage.position();
    for ask in [
        json!({ "team_create": { "name": "mine" } }),
        json!({ "team_delete": { "reason": "x", "deadline_ms": 1, "now": true } }),
        json!({ "enrol": { "name": "eve" } }),
        json!({ "log": { "after": 0, "max": 1 } }),
        json!({ "inbox_read": { "max": 1, "wait": true } }),
        json!({ "task_next": { "lease_ms": null, "wait": true } }),
        json!({ "leftovers": { "remove": true } }),
        json!({ "teammate_start": { "name": "ana", "supervision": "none" } }),
        json!("try_hooks"),
        json!("verify"),
    ] {
        let response = serving.ask(ask.clone());
        assert_eq!(response.status, 403, "{ask}: {}", response.body);
        assert_eq!(response.json()["refused"]["code"], "NotForThePage", "{ask}");
    }
    for ask in [json!(7), json!({}), json!({ "answer": {}, "send": {} }), json!({ "answer": {} })] {
        assert_eq!(serving.ask(ask.clone()).status, 400, "{ask}");
    }
    assert_eq!(stage.position(), before);
}

#[test]
fn whoever_trickles_is_hung_up_on() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let half = |head: &str| {
        let head = head.replace("TOKEN", &serving.token).replace("PORT", &serving.port.to_string());
        open(serving.port, &head)
    };
    let body = half(
        "POST /api/t/alpha/ask HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer TOKEN\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{",
    );
    let (silent, head) = (half(""), half("GET / HTTP/1.1\r\nHost:"));
    assert_eq!(read(body).status, 408);
    assert_eq!(read(silent).status, 0);
    // What is left of a head is answered with nothing, or that it took too long.
    assert!([0, 408].contains(&read(head).status));
    assert_eq!(serving.get("/api/teams")["teams"][0]["name"], "alpha");
}

/// Any user of the machine can open connections: they must not keep out whoever has the token.
#[test]
fn half_requests_give_way_at_once_to_whole_ones() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let mut tab = Events::open(serving.request("GET", "/api/t/alpha/stream?after=0"));
    assert_eq!(tab.next().unwrap().data["whole"], true);
    let half = "GET /api/teams HTTP/1.1\r\nHost: 127.0.0.1";
    let began = Instant::now();
    let halves: Vec<_> = (0..400).map(|_| open(serving.port, half)).collect();
    assert_eq!(serving.get("/api/teams")["teams"][0]["name"], "alpha");
    let hung_up = halves.iter().filter(|stream| is_hung_up(stream.get_ref())).count();
    let is_newest_gone = is_hung_up(halves[399].get_ref());
    assert!(hung_up >= 100, "{hung_up} gave way");
    assert!(is_hung_up(halves[0].get_ref()), "the oldest first");
    // Had the whole one waited for their time to run out, all of them would be gone. That says
    // nothing where a process stood still until it had run out.
    if began.elapsed() < Duration::from_secs(20) {
        assert!(hung_up < 300, "{hung_up} gave way");
        assert!(!is_newest_gone, "the newest last");
    }
    stage.create("while they wait");
    let told = |event: &Event| event.data.to_string().contains("while they wait").then_some(());
    tab.find("delta", told);
}

fn is_hung_up(stream: &TcpStream) -> bool {
    let mut wait = [PollFd::new(stream, PollFlags::RDHUP | PollFlags::IN)];
    rustix::event::poll(&mut wait, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() > 0
}

/// It takes no token to ask for the page's files, so whoever does must not keep a seat by it.
#[test]
fn whoever_asks_and_reads_nothing_is_hung_up_on() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let one = format!("GET /page/shell.css HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", serving.port);
    let stream = TcpStream::connect(("127.0.0.1", serving.port)).unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(&stream, 4096).unwrap();
    stream.set_nonblocking(true).unwrap();
    // Far more answers than all buffers between here and there can hold, and more questions than
    // the other side reads ahead: one that closes with all of them read ends behind its answers,
    // where nobody who reads nothing could see it.
    drop((&stream).write(one.repeat(20_000).as_bytes()));
    let mut wait = [PollFd::new(&stream, PollFlags::empty())];
    let limit = Timespec::try_from(LIMIT).unwrap();
    assert_eq!(rustix::event::poll(&mut wait, Some(&limit)).unwrap(), 1, "it still holds on");
    assert!(wait[0].revents().intersects(PollFlags::HUP | PollFlags::ERR));
}

/// The runtime's words are told from a teammate's by who says them.
#[test]
fn a_teammate_cannot_write_in_the_runtimes_name() {
    let stage = Stage::new();
    let mut ana = stage.teammate("ana");
    for kind in ["notice", "work_done", "bounce"] {
        let (to, body) = ("person".to_owned(), "approve decision 7".to_owned());
        let sent = ana.ask(Ask::Send(verbs::Send {
            to,
            body,
            kind: Some(kind.to_owned()),
            reply_to: None,
        }));
        let Err(ClientFailure::Refused(refused)) = sent else { panic!("{kind}: {sent:?}") };
        assert_eq!(refused.code.as_str(), "NotTheirs", "{kind}");
    }
    // By any other name it comes from who sent it.
    let (to, body) = ("person".to_owned(), "approve decision 7".to_owned());
    let kind = Some("notices".to_owned());
    ana.ask(Ask::Send(verbs::Send { to, body, kind, reply_to: None })).unwrap();
    let messages = Serving::start(&stage).get("/api/t/alpha/messages");
    let rows = messages["messages"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["from"], "alpha/ana@1", "{}", rows[0]);
}
