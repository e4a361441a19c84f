//! The socket behind which an agent's MCP process finds the desk.
//!
//! Agents start MCP servers themselves, as processes. The one they are given is this program
//! as a plain pipe to this socket: so the desk hears what the agent says about its task, and
//! no token leaves the supervisor. The socket lies in the life's folder, which is its
//! owner's alone, and is reached by way of the folder, so that no path is too long for it. Other
//! agents of the same user could connect to it: whoever does says a key first, which the MCP
//! process finds in its environment and nobody else can read.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::updates::tool_words;
use crate::desk::Desk;
use crate::pipe_mcp;
use crate::transcript::Transcript;

/// Longest message that is taken from an MCP process.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const KEY_BYTES_MAX: u64 = 256;
/// Where the MCP process finds the key.
pub(super) const KEY_VARIABLE: &str = "SHIPMATE_DESK_KEY";

#[derive(Debug)]
pub(super) struct Door {
    pub(super) path: PathBuf,
    pub(super) key: String,
    serving: JoinHandle<()>,
}

impl Door {
    /// Serves the desk at a socket in this folder until it is dropped.
    pub(super) fn open(folder: &Path, desk: &Desk, transcript: &Transcript) -> io::Result<Door> {
        let path = folder.join("desk.sock");
        // Left by a supervisor of this life that was killed.
        drop(fs::remove_file(&path));
        let by_way_of = File::open(folder)?;
        let short = format!("/proc/self/fd/{}/desk.sock", by_way_of.as_raw_fd());
        let listener = UnixListener::bind(short)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let key = data_encoding::HEXLOWER.encode(&bytes);
        let (desk, transcript, expected) = (desk.clone(), transcript.clone(), key.clone());
        let serving = tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (desk, transcript) = (desk.clone(), transcript.clone());
                tokio::task::spawn_local(serve(stream, expected.clone(), desk, transcript));
            }
        });
        Ok(Door { path, key, serving })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.serving.abort();
        drop(fs::remove_file(&self.path));
    }
}

/// Answers one MCP process until it goes. Calls may overlap.
async fn serve(stream: UnixStream, key: String, desk: Desk, transcript: Transcript) {
    let (reader, writer) = stream.into_split();
    let (replies, to_write) = mpsc::unbounded_channel();
    tokio::task::spawn_local(write(writer, to_write));
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let first = (&mut reader).take(KEY_BYTES_MAX).read_until(b'\n', &mut line).await;
    if first.is_err() || line.trim_ascii() != key.as_bytes() {
        return transcript.say("[somebody without its key came to the desk and was sent away]");
    }
    loop {
        line.clear();
        match (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // What is no JSON is answered as no request is.
        let message = match line.trim_ascii() {
            b"" => continue,
            text => serde_json::from_slice(text).unwrap_or(Value::Null),
        };
        // Said here, where the words are whole: not every agent tells what it calls.
        if let ("tools/call", Some(tool)) =
            (message["method"].as_str().unwrap_or_default(), message["params"]["name"].as_str())
        {
            transcript.say(&tool_words(tool, &message["params"]["arguments"]));
        }
        let (desk, replies) = (desk.clone(), replies.clone());
        tokio::task::spawn_local(async move {
            if let Some(reply) = pipe_mcp::answer(&desk, message).await {
                // It went without waiting for its answer.
                drop(replies.send(reply));
            }
        });
    }
}

async fn write(mut writer: OwnedWriteHalf, mut replies: mpsc::UnboundedReceiver<Value>) {
    while let Some(reply) = replies.recv().await {
        if writer.write_all(format!("{reply}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}
