//! The same server over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::{Client, ClientFailure};

use crate::pipe::{LIMIT, text_of};
use crate::stage::{SHIPMATE, Stage};

pub(crate) struct Serving {
    child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Serving {
    pub(crate) fn start(stage: &Stage) -> Serving {
        let mut command = stage.command(SHIPMATE);
        let mut child =
            command.args(["--json", "serve"]).stdout(Stdio::piped()).spawn().expect("it is built");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = said["mcp"].as_str().unwrap();
        let port = url.strip_prefix("http://127.0.0.1:").unwrap().strip_suffix("/mcp").unwrap();
        let token = said["token"].as_str().unwrap().to_owned();
        Serving { child, port: port.parse().unwrap(), token }
    }

    /// A request with these headers; status, headers and body of the response.
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        request(self.port, "POST", headers, body)
    }

    /// Ends it as an operator does.
    pub(crate) fn terminate(mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    pub(crate) fn session(&self, token: &str) -> Session {
        let mut session = Session { port: self.port, token: token.to_owned(), id: None, next: 0 };
        let begin = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "probe", "version": "1" },
        });
        session.result("initialize", begin);
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) struct Session {
    port: u16,
    token: String,
    id: Option<String>,
    next: u64,
}

impl Session {
    fn send(&self, message: &Value) -> (u16, String, String) {
        self.request("POST", &message.to_string())
    }

    /// Ends the session.
    pub(crate) fn delete(self) {
        let (status, head, _) = self.request("DELETE", "");
        assert!(status < 300, "{head}");
    }

    fn request(&self, method: &str, body: &str) -> (u16, String, String) {
        let token = format!("Bearer {}", self.token);
        let mut headers = vec![("Authorization", token.as_str())];
        if let Some(id) = &self.id {
            headers.push(("Mcp-Session-Id", id));
            headers.push(("MCP-Protocol-Version", "2025-11-25"));
        }
        request(self.port, method, &headers, body)
    }

    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        let (status, head, body) = self.send(&request);
        assert_eq!(status, 200, "{method}: {head}\n{body}");
        for line in head.lines() {
            if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("mcp-session-id")
            {
                self.id = Some(value.to_owned());
            }
        }
        let answer = answer_in(&body);
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].clone()
    }

    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({ "name": tool, "arguments": arguments }))
    }
}

/// What a path of the same server answers.
fn get(port: u16, path: &str, headers: &[(&str, &str)]) -> (u16, String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    write!(stream, "{head}Connection: close\r\n\r\n").unwrap();
    response(stream)
}

/// Sends a request; the response is there to be read.
fn begin(port: u16, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let named = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let mut head = format!("{method} /mcp HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
    if !named("host") {
        head.push_str(&format!("Host: 127.0.0.1:{}\r\n", port));
    }
    head.push_str("Connection: close\r\nContent-Type: application/json\r\n");
    head.push_str("Accept: application/json, text/event-stream\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    // A server that refuses early may close before it has read everything.
    drop(write!(stream, "{head}\r\n{body}"));
    stream
}

fn request(port: u16, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
    response(begin(port, method, headers, body))
}

fn response(mut stream: TcpStream) -> (u16, String, String) {
    let mut text = Vec::new();
    drop(stream.read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    (status, head.to_owned(), body.to_owned())
}

/// The answer among the events of a stream, or the body that is one.
#[track_caller]
fn answer_in(body: &str) -> Value {
    let events = body.lines().filter_map(|line| line.strip_prefix("data: ").or(Some(line)));
    let mut messages = events.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    messages.find(|message| message.get("id").is_some()).unwrap_or_else(|| panic!("{body}"))
}

#[test]
fn without_a_good_token_a_loopback_host_and_an_own_origin_nobody_comes_in() {
    let stage = Stage::new();
    stage.team(&["ana"]);
    let serving = Serving::start(&stage);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "probe", "version": "1" } } })
    .to_string();
    let good = format!("Bearer {}", serving.token);
    let status = |headers: &[(&str, &str)]| serving.post(headers, &ping).0;
    assert_eq!(status(&[]), 401);
    assert_eq!(status(&[("Authorization", "Bearer ")]), 401);
    assert_eq!(status(&[("Authorization", "Bearer made-up")]), 401);
    assert_eq!(status(&[("Authorization", &serving.token)]), 401);
    let short = &good[..good.len() - 1];
    assert_eq!(status(&[("Authorization", short)]), 401);
    let asked = serving.post(&[("Authorization", "Bearer made-up")], &ping);
    assert!(asked.1.to_lowercase().contains("www-authenticate: bearer"), "{}", asked.1);
    let auth = ("Authorization", good.as_str());
    assert_eq!(status(&[auth, ("Host", "evil.example")]), 403);
    assert_eq!(status(&[auth, ("Origin", "http://evil.example")]), 403);
    assert_eq!(status(&[auth]), 200);
    let ana = format!("Bearer {}", stage.token("ana"));
    assert_eq!(status(&[("Authorization", &ana)]), 200);
    let own = format!("http://127.0.0.1:{}", serving.port);
    assert_eq!(status(&[auth, ("Origin", &own)]), 200);
    let large = " ".repeat(5 * 1024 * 1024);
    assert!([413, 0].contains(&serving.post(&[auth], &large).0));
}

#[test]
fn with_the_token_that_is_printed_a_session_joins_a_team_and_can_do_nothing_else() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let person = std::fs::read_to_string(stage.place().person_token()).unwrap();
    assert!(serving.token.starts_with("enrol.") && serving.token != person.trim());
    let token = TokenSource::Given(serving.token.clone());
    match Client::new(stage.place(), Launch::Never, token).welcome() {
        Err(ClientFailure::Refused(refused)) => assert_eq!(refused.code.as_str(), "BadToken"),
        other => panic!("{other:?}"),
    }
    let auth = format!("Bearer {}", serving.token);
    let (status, ..) = get(serving.port, "/api/teams", &[("Authorization", &auth)]);
    assert_eq!(status, 401, "it is not the page's");

    let mut guest = serving.session(&serving.token);
    let tools = guest.result("tools/list", json!({})).to_string();
    assert!(tools.contains("TaskUpdate") && !tools.contains("TeamCreate"), "{tools}");
    for (tool, arguments) in
        [("TeamCreate", json!({ "team_name": "mine" })), ("TaskList", json!({}))]
    {
        let refused = guest.call(tool, arguments);
        assert!(text_of(&refused).contains("there is no team to be in"), "{refused}");
    }
    let read = json!({ "jsonrpc": "2.0", "id": 90, "method": "resources/read",
        "params": { "uri": "shipmate://log" } });
    let (_, _, body) = guest.send(&read);
    assert!(answer_in(&body)["error"].is_object(), "{body}");
    assert_eq!(stage.shipmate(&["--json", "team", "list"]).trim(), "[]");

    // The person's own token does as before, for whoever wants to give it away.
    let made = serving.session(person.trim()).call("TeamCreate", json!({ "team_name": "alpha" }));
    assert!(text_of(&made).contains("You lead team alpha"), "{made}");
    let (_, _, body) = guest.send(&read);
    assert!(body.contains("teammate.started"), "it reads from the seat that it got: {body}");
    let listed = stage.shipmate(&["teammate", "list"]);
    assert!(listed.contains("probe-2@1"), "{listed}");
}

#[test]
fn serve_tells_the_persons_token_to_nobody() {
    let stage = Stage::new();
    stage.team(&[]);
    let person = std::fs::read_to_string(stage.place().person_token()).unwrap();
    let mut child =
        stage.command(SHIPMATE).arg("serve").stdout(Stdio::piped()).spawn().expect("it is built");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said: Vec<String> = lines.by_ref().take(5).collect();
    let said = said.join("\n");
    assert!(said.contains("\ntoken: enrol."), "{said}");
    assert!(said.contains("Authorization: Bearer enrol."), "{said}");
    assert!(!said.contains(person.trim()) && !said.contains("person."), "{said}");
    drop(child.kill());
    drop(child.wait());
}

#[test]
fn a_session_is_its_tokens_and_nobody_elses() {
    let stage = Stage::new();
    stage.team(&["ana", "bo"]);
    let serving = Serving::start(&stage);
    let mut ana = serving.session(&stage.token("ana"));
    let mut bo = serving.session(&stage.token("bo"));
    let sent = bo.call("SendMessage", json!({ "to": "ana", "message": "hi", "summary": "s" }));
    assert_ne!(sent["isError"], true, "{sent}");
    let heard = text_of(&ana.call("TaskList", json!({})));
    assert!(heard.contains("from=\"bo\""), "{heard}");
    bo.id.clone_from(&ana.id);
    let list = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list" });
    let (_, _, body) = bo.send(&list);
    assert!(body.contains("begun with another token"), "{body}");
}

#[test]
fn a_client_without_sessions_acts_as_its_token() {
    let stage = Stage::new();
    stage.team(&["ana"]);
    let serving = Serving::start(&stage);
    let token = format!("Bearer {}", stage.token("ana"));
    let headers = [
        ("Authorization", token.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "TaskCreate"),
    ];
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "TaskCreate", "arguments": { "subject": "Stateless", "description": "d" },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "probe", "version": "1" },
        } } });
    let (status, head, body) = serving.post(&headers, &call.to_string());
    assert_eq!(status, 200, "{head}\n{body}");
    assert!(!head.to_lowercase().contains("mcp-session-id"), "{head}");
    let made = stage.shipmate(&["task", "show", "1"]);
    assert!(made.contains("Stateless") && made.contains("ana"), "{made}");
}

#[test]
fn a_client_without_sessions_is_gone_when_it_listens_no_longer() {
    let stage = Stage::new();
    stage.team(&[]);
    let serving = Serving::start(&stage);
    let token = format!("Bearer {}", serving.token);
    let send = |method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "probe", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let headers = [
            ("Authorization", token.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
            ("Mcp-Name", "TaskList"),
        ];
        let headers = if method == "tools/call" { &headers[..] } else { &headers[..3] };
        begin(serving.port, "POST", headers, &body.to_string())
    };
    let mut stream = send(
        "subscriptions/listen",
        json!({ "notifications": {
        "toolsListChanged": true, "resourceSubscriptions": ["shipmate://board"] } }),
    );
    let mut first = [0; 4096];
    let count = stream.read(&mut first).unwrap();
    assert!(first[..count].starts_with(b"HTTP/1.1 200"), "{:?}", &first[..count]);
    let mut answer = String::new();
    let call = json!({ "name": "TaskList", "arguments": {} });
    send("tools/call", call).read_to_string(&mut answer).unwrap();
    assert!(answer.contains("No tasks"), "{answer}");
    let listed = stage.shipmate(&["teammate", "list"]);
    assert!(listed.contains("probe@1") && listed.contains("idle"), "{listed}");
    stage.shipmate(&["task", "create", "Parse"]);
    let mut told = String::new();
    while !told.contains("notifications/resources/updated") {
        let count = stream.read(&mut first).unwrap();
        assert_ne!(count, 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&first[..count]));
    }
    drop(stream);
    crate::seats::stopped(&stage, "probe");
}

#[test]
fn two_hundred_sessions_work_at_once_and_a_bound_refuses_clearly() {
    let stage = Stage::new();
    stage.team(&["ana"]);
    let serving = Serving::start(&stage);
    let token = stage.token("ana");
    let mut sessions: Vec<Session> = (0..200).map(|_| serving.session(&token)).collect();
    std::thread::scope(|scope| {
        for many in sessions.chunks_mut(25) {
            scope.spawn(|| {
                for session in many {
                    let listed = session.call("TaskList", json!({}));
                    assert_ne!(listed["isError"], true, "{listed}");
                }
            });
        }
    });
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "probe", "version": "1" } } })
    .to_string();
    let auth = format!("Bearer {token}");
    let answers = (0..400).map(|_| serving.post(&[("Authorization", &auth)], &begin));
    let refused = answers.into_iter().find(|(status, ..)| *status != 200);
    let (status, _, body) = refused.expect("there is a bound");
    assert_eq!(status, 503);
    assert!(body.contains("512 sessions are open"), "{body}");
    // Those that are there go on.
    sessions[0].call("TaskList", json!({}));
}
