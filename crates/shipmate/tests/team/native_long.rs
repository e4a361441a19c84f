//! A native teammate that works for hundreds of turns in a small window.
//!
//! The model is a server of its own here: it knows how often it was asked and nothing else, and it
//! looks at each request as a provider would, so what the agent forgot would be seen.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shipmate_protocol::verbs::{Setup, TaskNew};

use crate::stage::Stage;

const TURNS: usize = 400;
const WINDOW: u64 = 8_000;

#[derive(Debug, Default)]
struct Seen {
    turns: usize,
    summaries: usize,
    /// Requests that began with a summary.
    after: usize,
    largest: usize,
    faults: Vec<String>,
}

/// What a provider would refuse, and what an agent must not forget.
fn look(body: &Value, seen: &mut Seen) {
    let mut fault = |what: &str| seen.faults.push(format!("turn {}: {what}", seen.turns));
    let size = body.to_string().len() / 4;
    seen.largest = seen.largest.max(size);
    if size as u64 > WINDOW {
        fault(&format!("{size} tokens are more than the window"));
    }
    let messages = body["messages"].as_array().unwrap();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            fault("two messages of one side follow each other");
        }
        let blocks = message["content"].as_array().unwrap();
        let of = |kind: &str, key: &str| -> Vec<&str> {
            let fits = blocks.iter().filter(|block| block["type"] == kind);
            fits.map(|block| block[key].as_str().unwrap()).collect()
        };
        if of("tool_result", "tool_use_id") != open {
            fault("a call has no result, or a result no call");
        }
        open = of("tool_use", "id");
    }
    let system = body["system"].to_string();
    let first = messages[0].to_string();
    let summarised = first.contains("was summarised");
    seen.after += usize::from(summarised);
    let known =
        ["You are ana", "in the team alpha", "Your role is counter", "You may write: counted"];
    for (text, place) in [(&system, "the standing instructions"), (&first, "the first message")] {
        let missing = known.iter().find(|known| !text.contains(**known));
        if let Some(missing) = missing.filter(|_| summarised || place.starts_with("the standing")) {
            let what = format!("{missing:?} is not in {place}");
            seen.faults.push(format!("turn {}: {what}", seen.turns));
        }
    }
    for told in ["Task 1: count to four hundred", "counted/steps.txt"] {
        if !first.contains(told) {
            seen.faults.push(format!("turn {}: {told:?} is not in the first message", seen.turns));
        }
    }
}

fn reply(body: &Value, seen: &mut Seen) -> Value {
    let last = body["messages"].as_array().unwrap().last().unwrap().to_string();
    if last.contains("Your context is nearly full") {
        seen.summaries += 1;
        return json!({ "type": "text", "text": format!("Counted to {} so far.", seen.turns) });
    }
    look(body, seen);
    seen.turns += 1;
    let (name, input) = match seen.turns {
        ..=TURNS => {
            let command = format!("echo {} >> counted/steps.txt; seq 1 400", seen.turns);
            ("bash", json!({ "command": command }))
        }
        turns if turns == TURNS + 1 => {
            ("TaskUpdate", json!({ "taskId": "1", "status": "completed", "result": "counted" }))
        }
        _ => return json!({ "type": "text", "text": "Done." }),
    };
    json!({ "type": "tool_use", "id": format!("t{}", seen.turns), "name": name, "input": input })
}

fn serve(stream: TcpStream, seen: &Mutex<Seen>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body: Value = serde_json::from_slice(&body).ok()?;
        let block = reply(&body, &mut seen.lock().unwrap());
        let text = events(&block, body.to_string().len() / 4);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
        write!(stream, "{head} {}\r\n\r\n{text}", text.len()).ok()?;
    }
}

fn events(block: &Value, tokens: usize) -> String {
    let is_call = block["type"] == "tool_use";
    let start = match is_call {
        true => {
            json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": {} })
        }
        false => json!({ "type": "text", "text": "" }),
    };
    let delta = match is_call {
        true => json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
        false => json!({ "type": "text_delta", "text": block["text"] }),
    };
    let stop = if is_call { "tool_use" } else { "end_turn" };
    let usage = json!({ "input_tokens": tokens, "output_tokens": 20 });
    let all = [
        json!({ "type": "message_start", "message": { "id": "m", "type": "message",
            "role": "assistant", "model": "m", "content": [], "usage": usage } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop },
            "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    all.iter().map(event).collect()
}

#[test]
fn four_hundred_turns_in_a_small_window_finish_a_task_and_forget_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let served = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&served);
            std::thread::spawn(move || serve(stream, &seen));
        }
    });
    let config = format!(
        "[models]\ndefault = \"test/small\"\n[models.test]\nprotocol = \"anthropic\"\nbase-url = \
         \"http://127.0.0.1:{port}\"\nkey-variable = \"\"\ncontext-tokens = {WINDOW}\n"
    );
    let mut stage = Stage::new(&config);
    stage.write("counted/.keep", "");
    stage.commit();
    stage.team(Setup::default(), &[]);
    stage.add("ana", |mut add| {
        (add.command, add.agent) = (String::new(), "native".to_owned());
        (add.role, add.scope) = (Some("counter".to_owned()), vec!["counted/".to_owned()]);
        add
    });
    let tasks = stage.create(vec![TaskNew {
        subject: "count to four hundred".to_owned(),
        files: vec!["counted/steps.txt".to_owned()],
        ..TaskNew::default()
    }]);
    stage.finished(1);
    let seen = seen.lock().unwrap();
    assert!(seen.faults.is_empty(), "{:#?}", &seen.faults[..seen.faults.len().min(5)]);
    assert_eq!(seen.turns, TURNS + 2);
    assert!(seen.summaries >= 5, "{seen:?}");
    assert!(seen.after > TURNS / 2, "{seen:?}");
    let counted: Vec<usize> =
        stage.file("counted/steps.txt").lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(counted, (1..=TURNS).collect::<Vec<_>>());
    // The whole conversation is on disk, what was summarised included.
    let kept = stage.place().team("alpha").join("native/alpha.ana/conversation.jsonl");
    let kept = std::fs::read_to_string(kept).unwrap();
    assert_eq!(kept.matches("counted/steps.txt; seq").count(), TURNS);
    assert_eq!(kept.matches("\"summary\":").count(), seen.summaries);
    println!("{} summaries, largest request {} tokens", seen.summaries, seen.largest);
    stage.all_once(&tasks);
}
