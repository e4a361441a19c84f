//! Servers that send nonsense, too little, too much or nothing at all: each is survived.

use std::time::Duration;

use serde_json::json;
use shipmate_agent::message::{Arguments, Block, Message};
use shipmate_agent::model::{Failure, Patience, Stop, Tokens};

use crate::raw::{Answer, Raw};
use crate::{Folder, Seen, ask, asked, hasty, model, text};

const ANTHROPIC: &str = r#"
    {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}
    {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
    {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße, "}}
    {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ana."}}
    {"type":"content_block_stop","index":0}
    {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}
    {"type":"message_stop"}
"#;

const CHAT: &str = r#"
    {"choices":[{"index":0,"delta":{"role":"assistant","content":"Grüße, "}}]}
    {"choices":[{"index":0,"delta":{"content":"ana."}}]}
    {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
    {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}
    [DONE]
"#;

const BOTH: [(&str, &str); 2] = [("anthropic", ANTHROPIC), ("openai", CHAT)];

#[tokio::test]
async fn a_stream_may_come_in_any_pieces() {
    for (protocol, events) in BOTH {
        for piece_bytes in [1, 37, 0] {
            let server = Raw::start(vec![Answer::events(events).in_pieces(piece_bytes)]).await;
            let (reply, seen) = asked(protocol, &server.url).await;
            let reply = reply.unwrap();
            assert_eq!(text(&reply), "Grüße, ana.");
            assert_eq!(reply.tokens, Tokens { input: 5, output: 7, ..Tokens::default() });
            assert_eq!(seen.waits, [""; 0]);
        }
    }
}

#[tokio::test]
async fn a_stream_that_stays_open_after_its_end_is_whole() {
    for (protocol, events) in BOTH {
        let answer = Answer::events(events).promising(1_000_000).and_stays();
        let server = Raw::start(vec![answer]).await;
        assert_eq!(text(&asked(protocol, &server.url).await.0.unwrap()), "Grüße, ana.");
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    for (protocol, events) in BOTH {
        let server = Raw::start(vec![Answer::events(events).in_pieces(100).kept()]).await;
        let pools = Folder::new();
        let model = model(protocol, &server.url, &pools);
        for _ in 0..3 {
            ask(&model, &[Message::user("go")], &mut Seen::default()).await.unwrap();
        }
        assert_eq!((server.asked().len(), server.connections()), (3, 1));
    }
}

#[tokio::test]
async fn what_is_cut_malformed_or_closed_is_asked_for_again() {
    for (protocol, events) in BOTH {
        let garbage =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let spoiled = [
            (Answer::events(events).cut(events.len() / 2), "the answer of acme broke off: "),
            (Answer::raw(b""), "acme cannot be reached at 127.0.0.1:"),
            (Answer::raw(b"no HTTP at all\r\n\r\n"), "acme cannot be reached at 127.0.0.1:"),
            (
                Answer::raw(format!("{garbage}data: {{\"type\": oh\n\n").as_bytes()),
                "acme sent what cannot be understood: expected value",
            ),
            (
                Answer::raw(&[garbage.as_bytes(), b"data: \xff\xfe\n\n"].concat()),
                "acme sent what cannot be understood: an event is not UTF-8",
            ),
            (
                Answer::raw(format!("{garbage}data: {{\"type\": \"ping\"").as_bytes()),
                "the answer of acme broke off: the stream ended early",
            ),
            (
                Answer::raw(garbage.as_bytes()),
                "the answer of acme broke off: the stream ended early",
            ),
        ];
        for (answer, why) in spoiled {
            let server = Raw::start(vec![answer, Answer::events(events)]).await;
            let (reply, seen) = asked(protocol, &server.url).await;
            assert_eq!(text(&reply.unwrap()), "Grüße, ana.", "of {protocol} after {why}");
            assert_eq!(seen.waits.len(), 1, "{:?}", seen.waits);
            assert!(seen.waits[0].starts_with(why), "{} instead of {why}", seen.waits[0]);
        }
    }
}

#[tokio::test]
async fn a_reply_that_broke_off_is_told_with_about_what_went_in() {
    for (protocol, events) in BOTH {
        let cut = Answer::events(events).cut(events.len() / 2);
        let server = Raw::start(vec![cut, Answer::events(events)]).await;
        let (reply, seen) = asked(protocol, &server.url).await;
        assert_eq!(text(&reply.unwrap()), "Grüße, ana.");
        assert!(matches!(&seen.broken[..], [tokens] if tokens.input > 0), "{:?}", seen.broken);
        let server = Raw::start(vec![Answer::raw(b""), Answer::events(events)]).await;
        let (_, seen) = asked(protocol, &server.url).await;
        assert_eq!(seen.broken, [], "nobody has thought about a request that did not arrive");
    }
}

#[tokio::test]
async fn windows_in_the_headers_of_replies_and_refusals_are_told_once() {
    for (protocol, events) in BOTH {
        let told = "anthropic-ratelimit-unified-5h-utilization: 0.5\r\n\
                    anthropic-ratelimit-unified-5h-reset: 4000000000\r\n";
        let with = |answer: Answer| answer.with_headers(told);
        let refused = Answer::new(429, "retry-after-ms: 1\r\n", "");
        let answers = vec![with(refused), with(Answer::events(events)), Answer::events(events)];
        let server = Raw::start(answers).await;
        let (reply, seen) = asked(protocol, &server.url).await;
        assert_eq!(text(&reply.unwrap()), "Grüße, ana.");
        let windows = seen.windows.iter().map(|window| (&*window.name, window.used, window.pace));
        assert_eq!(windows.collect::<Vec<_>>(), [("5 hours", Some(500), false)]);
    }
}

#[tokio::test]
async fn an_error_in_the_midst_of_a_stream_is_told_apart_too() {
    let begun = r#"{"type":"message_start","message":{"usage":{"input_tokens":5}}}"#;
    let error = |kind: &str, message: &str| {
        let error = json!({"type": "error", "error": {"type": kind, "message": message}});
        Answer::events(&format!("{begun}\n{error}"))
    };
    let overloaded = error("overloaded_error", "Overloaded");
    let server = Raw::start(vec![overloaded, Answer::events(ANTHROPIC)]).await;
    let (reply, seen) = asked("anthropic", &server.url).await;
    assert_eq!(text(&reply.unwrap()), "Grüße, ana.");
    let expected = "acme is overloaded (529): Overloaded: again in 0 ms, attempt 2 of 8";
    assert_eq!(seen.waits, [expected]);

    let server =
        Raw::start(vec![error("invalid_request_error", "prompt is too long: 9 > 8")]).await;
    let failure = asked("anthropic", &server.url).await.0.unwrap_err();
    assert!(matches!(failure, Failure::TooLong { .. }), "{failure:?}");
}

#[tokio::test]
async fn what_never_ends_is_given_up() {
    let event = format!("data: {}", "a".repeat(5 << 20));
    let reply = format!("data: {{\"type\":\"{}\"}}\n\n", "a".repeat(1 << 20)).repeat(33);
    for (protocol, _) in BOTH {
        for (body, why) in [
            (&event, "acme sends too much: one event is larger than 4 MiB"),
            (&reply, "acme sends too much: one reply is larger than 32 MiB"),
        ] {
            let answer = Answer::new(200, "content-type: text/event-stream\r\n", body);
            let server = Raw::start(vec![answer]).await;
            let failure = asked(protocol, &server.url).await.0.unwrap_err();
            assert_eq!(failure, Failure::Final { text: why.to_owned() });
            assert_eq!(server.asked().len(), 1, "asking again would not change it");
        }
    }
}

#[tokio::test]
async fn silence_is_bounded_before_and_within_an_answer() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n";
    for (bytes, why) in [(&b""[..], "acme does not answer"), (head, "the answer of acme broke off")]
    {
        // A server that stands still for longer has not begun its answer by then.
        for (silence_ms, silence) in [(20, "20 ms"), (2_000, "2 s"), (100_000, "100 s")] {
            let server = Raw::start(vec![Answer::raw(bytes).and_stays()]).await;
            let pools = Folder::new();
            let silence_max = Duration::from_millis(silence_ms);
            let patience = Patience { silence_max, attempts_max: 2, ..hasty() };
            let model = model("openai", &server.url, &pools).with_patience(patience);
            let asked = ask(&model, &[Message::user("go")], &mut Seen::default()).await;
            let text = format!("{why}: nothing came for {silence} (2 attempts)");
            let expected = Err(Failure::Later { text, after: None });
            if asked == expected {
                break;
            }
            assert!(silence_ms < 100_000, "{asked:?} instead of {expected:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let chat = r#"{"choices":[{"message":{"content":"Hello.","tool_calls":[{"id":"call_0",
        "function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},"finish_reason":"stop"}]}"#;
    let messages = r#"{"type":"message","content":[{"type":"text","text":"Hello."},
        {"type":"tool_use","id":"call_0","name":"bash","input":{"command":"ls"}}]}"#;
    for (protocol, body) in [("openai", chat), ("anthropic", messages)] {
        let server = Raw::start(vec![Answer::error(200, body).in_pieces(37)]).await;
        let reply = asked(protocol, &server.url).await.0.unwrap();
        assert_eq!(text(&reply), "Hello.");
        let Some(Block::Call(call)) = reply.blocks.get(1) else { panic!("{reply:?}") };
        assert_eq!(call.arguments, Arguments::Json(json!({"command": "ls"})));
        assert_ne!(call.id, "call_0", "ids are our own");
        assert!(reply.tokens.input > 0 && reply.tokens.output > 0, "estimated, as none were told");
    }
}

#[tokio::test]
async fn a_call_with_broken_arguments_leaves_the_reply_whole() {
    let events = r#"
        {"choices":[{"delta":{"content":"I try.",
            "tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\": "}}]}}]}
        {"choices":[{"delta":{},"finish_reason":"length"}]}
        [DONE]
    "#;
    let server = Raw::start(vec![Answer::events(events)]).await;
    let reply = asked("openai", &server.url).await.0.unwrap();
    assert_eq!((text(&reply).as_str(), reply.stop), ("I try.", Stop::Length));
    let Some(Block::Call(call)) = reply.blocks.get(1) else { panic!("{reply:?}") };
    let Arguments::Broken { text, reason } = &call.arguments else { panic!("{call:?}") };
    assert_eq!(text, "{\"command\": ");
    assert_eq!(reason, "the answer was cut here: it was longer than it may be");
}

#[tokio::test]
async fn a_web_page_is_no_model() {
    let answer = Answer::new(200, "content-type: text/html; charset=utf-8\r\n", "<html>Hi</html>");
    let server = Raw::start(vec![answer]).await;
    let failure = asked("openai", &server.url).await.0.unwrap_err();
    let expected = format!(
        "acme answers at {}/chat/completions with a web page instead of a model's reply. Is the \
         base URL right?",
        server.url
    );
    assert_eq!(failure, Failure::Final { text: expected });
}
