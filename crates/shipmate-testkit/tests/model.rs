//! The scripted model over HTTP, as a plain client sees it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use shipmate_testkit::model::{Script, Server};

/// A request on a connection of its own.
struct Exchange(TcpStream);

struct Answer {
    status: u16,
    head: String,
    body: String,
    /// Whether the body came to its end.
    whole: bool,
}

impl Exchange {
    fn begin(url: &str, method: &str, path: &str, body: &str) -> Self {
        let address = url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nx-api-key: secret\r\n\
             x-session: s1\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        Self(stream)
    }

    fn end(mut self) -> Answer {
        let mut bytes = Vec::new();
        // A reply that is cut ends in an error; what came before it is what counts.
        let _ = self.0.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let is_chunked = head.contains("transfer-encoding: chunked");
        let (body, whole) = if is_chunked { unchunked(body) } else { (body.to_owned(), true) };
        Answer { status, head: head.to_owned(), body, whole }
    }
}

/// The text in the chunks, and whether the last one came.
fn unchunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return (body, true);
        }
        let Some(chunk) = after.get(..length) else { break };
        body.push_str(chunk);
        rest = after[length..].trim_start_matches("\r\n");
    }
    (body, false)
}

fn message(texts: &[&str], stream: bool) -> String {
    let messages: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let role = if index % 2 == 0 { "user" } else { "assistant" };
            json!({"role": role, "content": text})
        })
        .collect();
    json!({"model": "m", "stream": stream, "messages": messages, "tools": [{"name": "Bash"}]})
        .to_string()
}

fn post(server: &Server, body: &str) -> Answer {
    Exchange::begin(&server.url(), "POST", "/v1/messages", body).end()
}

fn said(answer: &Answer) -> String {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    body["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_held_reply_waits_until_it_is_let_go_and_is_on_record_meanwhile() {
    let server = Server::start("on \"one\"\n hold gate\n say Through.");
    let held = Exchange::begin(&server.url(), "POST", "/v1/messages", &message(&["one"], false));
    let request = server.wait_for(|request| request.contains("one"));
    assert_eq!((request.reply.as_str(), request.answered_ms), ("line 1 step 1", None));
    let release = Exchange::begin(&server.url(), "POST", "/release/gate", "").end();
    assert_eq!(release.status, 204);
    assert_eq!(said(&held.end()), "Through.");
    let request = server.wait_for(|request| request.answered_ms.is_some());
    assert!(request.answered_ms.unwrap() >= request.at_ms, "{request:?}");
    // Once let go, it stays open.
    assert_eq!(said(&post(&server, &message(&["one"], false))), "Through.");
}

#[test]
fn an_error_comes_so_often_for_one_position_and_then_the_reply() {
    let script = "on \"one\"\n error 2 times 429 retry-after 7 slow down\n say Here.";
    let server = Server::start(script);
    for _ in 0..2 {
        let answer = post(&server, &message(&["one"], false));
        assert_eq!(answer.status, 429);
        assert!(answer.head.contains("retry-after: 7"), "{}", answer.head);
        assert!(answer.body.contains("rate_limit_error"), "{}", answer.body);
        assert!(answer.body.contains("slow down"), "{}", answer.body);
    }
    assert_eq!(said(&post(&server, &message(&["one"], false))), "Here.");
    let elsewhere = message(&["hello", "Hm.", "one"], false);
    assert_eq!(post(&server, &elsewhere).status, 429, "another conversation has its own errors");
}

#[test]
fn a_reply_that_is_cut_breaks_off_once() {
    let server =
        Server::start("on \"one\"\n cut\n say A text of some length to cut in the middle.");
    let cut = post(&server, &message(&["one"], true));
    assert!(cut.body.contains("message_start"), "{}", cut.body);
    assert!(!cut.whole && !cut.body.contains("message_stop"), "{}", cut.body);
    let whole = post(&server, &message(&["one"], true));
    assert!(whole.whole && whole.body.contains("message_stop"), "{}", whole.body);
}

#[test]
fn no_rule_is_no_error_and_unknown_paths_say_so() {
    let server = Server::start("on \"one\"\n say Yes.");
    let answer = post(&server, &message(&["two"], false));
    assert_eq!(said(&answer), "There is nothing for me to do.");
    let get = |path| Exchange::begin(&server.url(), "GET", path, "").end();
    assert_eq!(get("/v1/models?limit=1").status, 200);
    assert_eq!(get("/v1/responses").status, 404);
    assert_eq!(post(&server, "no json").status, 400);
    let count = Exchange::begin(&server.url(), "POST", "/v1/messages/count_tokens", "{}").end();
    assert!(count.body.contains("input_tokens"), "{}", count.body);
    let stray = Exchange::begin(&server.url(), "CONNECT", "example.org:443", "").end();
    assert_eq!(stray.status, 403);
    assert_eq!(server.requests().last().unwrap().reply, "stray");
}

#[test]
fn requests_are_awaited_read_back_and_recorded_without_keys() {
    let file = std::env::temp_dir().join(format!("shipmate-record-{}", std::process::id()));
    let script: Script = "as ana\non *\n say Yes.".parse().unwrap();
    let record = std::fs::File::create(&file).unwrap();
    let server = Server::open(script, 0, Some(record)).unwrap();
    let waiting = Exchange::begin(&server.url(), "GET", "/await?contains=two%20words", "");
    post(&server, &message(&["You are ana, not one word"], false));
    post(&server, &message(&["You are ana: two words"], false));
    let found: Value = serde_json::from_str(&waiting.end().body).unwrap();
    assert_eq!((&found["number"], &found["actor"]), (&json!(2), &json!("ana")));
    assert_eq!(found["headers"]["x-session"], "s1");

    let late = "/await?contains=two%20words&since=2&timeout_ms=1";
    assert_eq!(Exchange::begin(&server.url(), "GET", late, "").end().status, 408);
    let since = Exchange::begin(&server.url(), "GET", "/requests?since=1", "").end();
    let since: Value = serde_json::from_str(&since.body).unwrap();
    assert_eq!(since.as_array().unwrap().len(), 1);

    drop(server);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("secret"), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let bodies: Vec<_> = lines.iter().filter(|line| line.get("body").is_some()).collect();
    assert_eq!((bodies.len(), lines.len()), (2, 4), "{text}");
    assert!(bodies[0]["at_ms"].as_f64().unwrap() <= bodies[1]["at_ms"].as_f64().unwrap());
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_script_is_replaced_while_the_server_runs() {
    let server = Server::start("on *\n say Old.");
    assert_eq!(said(&post(&server, &message(&["x"], false))), "Old.");
    server.replace_script("on *\n say New.");
    assert_eq!(said(&post(&server, &message(&["x"], false))), "New.");
    let refused = Exchange::begin(&server.url(), "POST", "/script", "on *\n sing").end();
    assert_eq!(refused.status, 400);
    assert!(refused.body.starts_with("line 2 of the script"), "{}", refused.body);
    let replaced = Exchange::begin(&server.url(), "POST", "/script", "on *\n say Newer.").end();
    assert_eq!(replaced.status, 204);
    assert_eq!(said(&post(&server, &message(&["x"], false))), "Newer.");
}

#[test]
fn a_server_that_is_dropped_lets_go_of_who_waits() {
    let server = Server::start("on *\n hold never\n say Never.");
    let held = Exchange::begin(&server.url(), "POST", "/v1/messages", &message(&["x"], false));
    server.wait_for(|request| request.contains("x"));
    drop(server);
    let mut rest = Vec::new();
    let mut stream = held.0;
    let ended = stream.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{ended:?} {rest:?}");
}

/// A process that ends with the test, however that ends.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_program_prints_its_url_first_and_refuses_a_wrong_script() {
    let child = Command::new(env!("CARGO_BIN_EXE_model"))
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Running(child);
    child.0.stdin.take().unwrap().write_all(b"on *\n say Hello.").unwrap();
    let mut url = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let body = message(&["x"], false);
    let answer = Exchange::begin(url.trim(), "POST", "/v1/messages", &body).end();
    assert_eq!(said(&answer), "Hello.");
    drop(child);

    let file = std::env::temp_dir().join(format!("shipmate-script-{}", std::process::id()));
    std::fs::write(&file, "on *\n\n sing").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_model")).arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(": line 3 of the script: `sing ` is no step"), "{told}");
    let help = Command::new(env!("CARGO_BIN_EXE_model")).arg("--help").output().unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("hold NAME"));
}
