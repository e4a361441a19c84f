//! The first exchange with the program, and how its lines are read.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::super::super::rpc::LINE_BYTES_MAX;

/// What nobody reads. Deltas would be most of what a busy thread sends.
const UNHEARD: [&str; 12] = [
    "item/agentMessage/delta",
    "item/plan/delta",
    "item/commandExecution/outputDelta",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/summaryPartAdded",
    "item/reasoning/textDelta",
    "turn/diff/updated",
    "account/rateLimits/updated",
    "thread/readState/changed",
    "remoteControl/status/changed",
];

/// The first exchange: who we are, and that the experimental parts are wanted. The program's
/// answer, which every client gets.
pub(super) async fn greet(
    reader: &mut BufReader<impl AsyncRead + Unpin>,
    writer: &mut (impl AsyncWrite + Unpin),
    within: Duration,
) -> Result<Value, String> {
    let version = env!("CARGO_PKG_VERSION");
    let params = json!({
        "clientInfo": { "name": "shipmate", "title": "shipmate", "version": version },
        "capabilities": { "experimentalApi": true, "optOutNotificationMethods": UNHEARD },
    });
    let first = json!({ "id": 0, "method": "initialize", "params": params });
    let exchange = async {
        write(writer, &first).await?;
        while let Some(line) = next_line(reader).await {
            let Ok(answer) = serde_json::from_str::<Value>(&line) else { continue };
            if answer["id"] != 0 || answer.get("method").is_some() {
                continue;
            }
            if let Some(error) = answer.get("error") {
                let said = error["message"].as_str().unwrap_or("no reason given");
                return Err(format!("it refused the handshake: {said}; update it"));
            }
            write(writer, &json!({ "method": "initialized" })).await?;
            return Ok(answer["result"].clone());
        }
        Err("it ended its output".to_owned())
    };
    let late = || format!("it did not answer the handshake within {within:?}");
    tokio::time::timeout(within, exchange).await.unwrap_or_else(|_| Err(late()))
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), message: &Value) -> Result<(), String> {
    let line = format!("{message}\n");
    let written = writer.write_all(line.as_bytes()).await;
    written.map_err(|e| format!("it does not read: {e}"))
}

/// The next line that is not blank; none at the end.
pub(super) async fn next_line(reader: &mut BufReader<impl AsyncRead + Unpin>) -> Option<String> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut *reader).take(LINE_BYTES_MAX);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            return Some(text.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that has said this, and says no more until it is closed.
    async fn greeted(said: &str, ends: bool) -> Result<Value, String> {
        let within = Duration::from_millis(if said.is_empty() { 20 } else { 30_000 });
        let (mut program, ours) = tokio::io::duplex(4096);
        let (reader, mut writer) = tokio::io::split(ours);
        program.write_all(said.as_bytes()).await.unwrap();
        let _open = (!ends).then_some(program);
        greet(&mut BufReader::new(reader), &mut writer, within).await
    }

    #[tokio::test]
    async fn a_program_that_never_answers_is_not_waited_for_for_ever() {
        let reason = greeted("", false).await.unwrap_err();
        assert!(reason.contains("within 20ms"), "{reason}");
    }

    #[tokio::test]
    async fn a_program_that_is_too_old_says_so_itself() {
        let no = "{\"id\":0,\"error\":{\"code\":-32601,\"message\":\"unknown method\"}}\n";
        let reason = greeted(no, false).await.unwrap_err();
        assert!(reason.contains("unknown method") && reason.contains("update"), "{reason}");
    }

    #[tokio::test]
    async fn noise_before_the_answer_disturbs_nothing() {
        let said = "Hello!\n\n[1]\n{\"method\":\"warning\"}\n{\"id\":0,\"method\":\"ask\"}\n\
                    {\"id\":0,\"result\":{\"userAgent\":\"x\"}}\n";
        assert_eq!(greeted(said, false).await.unwrap()["userAgent"], "x");
    }

    #[tokio::test]
    async fn a_program_that_ends_instead_of_answering_is_no_wait() {
        assert!(greeted("{}\n", true).await.is_err());
    }
}
