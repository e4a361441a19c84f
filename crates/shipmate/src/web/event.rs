//! One event of a page's stream, as text that a browser reads.

use axum::body::Bytes;
use serde::Serialize;

/// An event as it goes over the line.
pub(super) fn event(name: &str, id: Option<u64>, data: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let mut text = format!("{id}event: {name}\ndata: ").into_bytes();
    // JSON has no line ends of its own.
    serde_json::to_writer(&mut text, data).expect("what is shown is JSON");
    text.extend_from_slice(b"\n\n");
    text.into()
}
