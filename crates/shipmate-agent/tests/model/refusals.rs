//! What is refused, by whom and what the one who asked is told.

use std::time::Duration;

use serde_json::json;
use shipmate_agent::message::Message;
use shipmate_agent::model::{Failure, Model, Patience};
use shipmate_protocol::native::ModelOrder;
use tokio::net::TcpListener;

use crate::raw::{Answer, Raw};
use crate::{Folder, KEY, Seen, ask, asked, hasty, model, order, text};

const HELLO: &str = r#"
    {"choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":"stop"}]}
    [DONE]
"#;

/// The failure that one answer leads to, and how often it was asked for.
async fn refused(protocol: &str, answer: Answer) -> (Failure, usize) {
    let server = Raw::start(vec![answer]).await;
    let failure = asked(protocol, &server.url).await.0.unwrap_err();
    (failure, server.asked().len())
}

fn error(kind: &str, message: &str) -> String {
    json!({"error": {"type": kind, "message": message}}).to_string()
}

#[tokio::test]
async fn a_wrong_key_is_told_at_once_and_never_shown() {
    let echo = error("authentication_error", &format!("invalid key: {KEY}"));
    for protocol in ["anthropic", "openai"] {
        let (failure, asked) = refused(protocol, Answer::error(401, &echo)).await;
        let expected = "acme does not accept the key in CARGO_PKG_NAME for big-1 (401): invalid \
                        key: [key]. Set CARGO_PKG_NAME to a key that is valid and may use the \
                        model, then start again";
        assert_eq!(failure, Failure::Key { text: expected.to_owned() });
        assert_eq!(asked, 1);
    }
}

#[tokio::test]
async fn the_key_goes_where_the_protocol_has_it_and_nowhere_else() {
    let server = Raw::start(vec![Answer::events(HELLO)]).await;
    asked("openai", &server.url).await.0.unwrap();
    let seen = server.asked().remove(0);
    assert_eq!(seen.path, "/chat/completions");
    assert!(seen.head.contains(&format!("\nauthorization: bearer {KEY}\r\n")), "{}", seen.head);
    assert!(!seen.body.to_string().contains(KEY));

    let ended = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let server = Raw::start(vec![Answer::events(ended)]).await;
    asked("anthropic", &server.url).await.0.unwrap();
    let seen = server.asked().remove(0);
    assert_eq!(seen.path, "/v1/messages");
    assert!(seen.head.contains(&format!("\nx-api-key: {KEY}\r\n")), "{}", seen.head);
    assert!(!seen.head.contains("authorization"), "{}", seen.head);

    let pools = Folder::new();
    let debug = format!("{:?}", model("openai", "http://127.0.0.1:1", &pools));
    assert!(!debug.contains(KEY), "{debug}");
}

#[tokio::test]
async fn a_wrong_url_or_model_is_told_with_both_and_what_to_look_at() {
    let server = Raw::start(vec![Answer::error(404, r#"{"detail":"Not Found"}"#)]).await;
    let failure = asked("openai", &server.url).await.0.unwrap_err();
    let expected = format!(
        "acme knows nothing at {}/chat/completions or no model big-1 (404): Not Found. Is the base \
         URL right (many servers want it to end in /v1)? Is the model's name right?",
        server.url
    );
    assert_eq!(failure, Failure::Final { text: expected });
}

#[tokio::test]
async fn what_is_too_long_is_told_apart_from_what_is_wrong() {
    let long = error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
    let (failure, asked) = refused("anthropic", Answer::error(400, &long)).await;
    assert!(matches!(failure, Failure::TooLong { .. }), "{failure:?}");
    assert_eq!(asked, 1);
    let wrong = error("invalid_request_error", "tools.0.name: too short");
    let (failure, asked) = refused("anthropic", Answer::error(400, &wrong)).await;
    assert!(
        matches!(&failure, Failure::Final { text } if text.contains("tools.0.name: too short"))
    );
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_no_reason_to_wait() {
    let body = json!({"error": {"code": "insufficient_quota", "message": "You exceeded it"}});
    let (failure, asked) = refused("openai", Answer::error(429, &body.to_string())).await;
    assert!(matches!(failure, Failure::Key { .. }), "{failure:?}");
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Raw::start(vec![Answer::events(HELLO)]).await;
    for status in [301, 302, 307, 308] {
        let location = format!("location: {}/v1/chat/completions\r\n", elsewhere.url);
        let (failure, asked) = refused("openai", Answer::new(status, &location, "")).await;
        assert!(matches!(&failure, Failure::Final { text } if text.contains(&elsewhere.url)));
        assert_eq!(asked, 1);
    }
    assert_eq!(elsewhere.asked().len(), 0, "the key stays with its host");
}

#[tokio::test]
async fn the_word_of_the_provider_on_when_to_come_back_is_kept() {
    let busy = |header: &str| Answer::new(529, &format!("{header}\r\n"), "");
    let past = busy("retry-after: Sun, 06 Nov 1994 08:49:37 GMT");
    let server = Raw::start(vec![busy("retry-after-ms: 3"), past, Answer::events(HELLO)]).await;
    let pools = Folder::new();
    // Without that word, nobody would come back in time.
    let patience = Patience { first_wait: Duration::from_secs(900), ..Patience::default() };
    let model = Model::new(order("openai", &server.url), pools.path()).unwrap();
    let model = model.with_patience(Patience { wait_max: Duration::from_secs(900), ..patience });
    let mut seen = Seen::default();
    let reply = ask(&model, &[Message::user("go")], &mut seen).await.unwrap();
    assert_eq!(text(&reply), "Hello.");
    let expected = [
        "acme is overloaded (529): again in 3 ms, attempt 2 of 8",
        "acme is overloaded (529): again in 0 ms, attempt 3 of 8",
    ];
    assert_eq!(seen.waits, expected);
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_the_callers_to_decide() {
    for (status, header) in [(429, "retry-after: 1800\r\n"), (503, "retry-after: 1800\r\n")] {
        let (failure, asked) = refused("openai", Answer::new(status, header, "")).await;
        let (Failure::TooMany { after, .. } | Failure::Later { after, .. }) = &failure else {
            panic!("{failure:?}")
        };
        assert_eq!(*after, Some(Duration::from_secs(1_800)), "{failure:?}");
        assert_eq!(asked, 1);
    }
}

#[tokio::test]
async fn nobody_at_the_base_url_is_told_after_three_attempts() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (reply, seen) = asked("anthropic", &format!("http://{address}")).await;
    let told = format!("acme cannot be reached at {address}: Connection refused (os error 111)");
    let remedy = "Is there a network, is the proxy right, is the base URL right?";
    let expected = format!("{told} (3 attempts). {remedy}");
    assert_eq!(reply.unwrap_err(), Failure::Later { text: expected, after: None });
    assert_eq!(seen.waits.len(), 2);
    assert_eq!(seen.waits[1], format!("{told}: again in 0 ms, attempt 3 of 3"));
}

#[tokio::test]
async fn a_host_that_has_answered_once_is_waited_for_longer() {
    let server = Raw::start(vec![Answer::events(HELLO)]).await;
    let pools = Folder::new();
    let model = model("openai", &server.url, &pools);
    ask(&model, &[Message::user("go")], &mut Seen::default()).await.unwrap();
    server.stop().await;
    let mut seen = Seen::default();
    let failure = ask(&model, &[Message::user("go")], &mut seen).await.unwrap_err();
    assert!(failure.to_string().contains("(8 attempts)"), "{failure}");
}

#[tokio::test]
async fn what_a_server_does_not_take_is_left_out_from_then_on() {
    let refusal = |message: &str| Answer::error(400, &error("invalid_request_error", message));
    let answers = vec![
        refusal("Unknown parameter: 'stream_options'."),
        refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        Answer::events(HELLO),
    ];
    let server = Raw::start(answers).await;
    let pools = Folder::new();
    let model = model("openai", &server.url, &pools);
    let mut seen = Seen::default();
    for _ in 0..2 {
        let reply = ask(&model, &[Message::user("go")], &mut seen).await.unwrap();
        assert_eq!(text(&reply), "Hello.");
    }
    assert_eq!(seen.waits, [""; 0]);
    let taken: Vec<_> = server
        .asked()
        .iter()
        .map(|asked| {
            let has = |name: &str| asked.body.get(name).is_some();
            (has("stream_options"), has("max_tokens"), has("max_completion_tokens"))
        })
        .collect();
    let expected =
        [(true, true, false), (false, true, false), (false, false, true), (false, false, true)];
    assert_eq!(taken, expected);
}

#[test]
fn without_a_key_nothing_begins() {
    let pools = Folder::new();
    let wanting = |key_variable: &str| {
        let key_variable = key_variable.to_owned();
        let order = ModelOrder { key_variable, ..order("anthropic", "http://127.0.0.1:1") };
        Model::new(order, pools.path())
    };
    let failure = wanting("SHIPMATE_NO_SUCH_KEY").unwrap_err();
    let expected = "there is no key for acme: SHIPMATE_NO_SUCH_KEY is not set. Set \
                    SHIPMATE_NO_SUCH_KEY to your key at acme, then start again";
    assert_eq!(failure, Failure::Key { text: expected.to_owned() });
    assert!(wanting("").is_ok(), "where none is needed, none is looked for");
}

#[tokio::test]
async fn a_server_that_wants_no_key_gets_none_and_one_that_does_says_so() {
    let server = Raw::start(vec![Answer::events(HELLO), Answer::error(401, "")]).await;
    let pools = Folder::new();
    let keyless = ModelOrder { key_variable: String::new(), ..order("openai", &server.url) };
    let model = Model::new(keyless, pools.path()).unwrap().with_patience(hasty());
    ask(&model, &[Message::user("go")], &mut Seen::default()).await.unwrap();
    assert!(!server.asked()[0].head.contains("authorization"));
    let failure = ask(&model, &[Message::user("go")], &mut Seen::default()).await.unwrap_err();
    let expected =
        "acme wants a key (401). Name the variable that holds it in the settings of acme";
    assert_eq!(failure, Failure::Key { text: expected.to_owned() });
}

#[test]
fn an_order_that_makes_no_sense_is_refused() {
    let pools = Folder::new();
    let refused = |protocol: &str, base_url: &str| {
        Model::new(order(protocol, base_url), pools.path()).unwrap_err().to_string()
    };
    for base_url in ["", "acme.test", "ftp://acme.test", "http://"] {
        let expected = format!(
            "the base URL of acme is none: `{base_url}`. It begins with http:// or https://"
        );
        assert_eq!(refused("openai", base_url), expected);
    }
    let expected = "acme has an unknown protocol: `grpc`. There are anthropic, openai and recorded";
    assert_eq!(refused("grpc", "http://acme.test"), expected);
    assert!(Model::new(order("anthropic", "https://acme.test"), pools.path()).is_ok());
}
