//! The page's server as programs meet it that are no browser: the real binary on loopback, raw
//! requests, a real coordinator behind it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../shipmate-log/tests/support/temp.rs"]
mod temp;

#[path = "web_door/attacks.rs"]
mod attacks;
#[path = "web_door/http.rs"]
mod http;
#[path = "web_door/outputs.rs"]
mod outputs;
#[path = "web_door/reads.rs"]
mod reads;
#[path = "web_door/serve.rs"]
mod serve;
#[path = "web_door/stage.rs"]
mod stage;
#[path = "web_door/streams.rs"]
mod streams;
