//! The conversation on disk: every message as it was, in one file of JSON lines.
//!
//! It is only ever added to, and a line is whole before what it says counts. A summary drops
//! nothing from the file: it says how many of the messages before it are still shown. A last
//! line that was cut off by a death is not there.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use shipmate_process::hidden;

use crate::context::Context;
use crate::message::Message;
use crate::turn::Kept;

#[derive(Debug)]
pub struct Conversation {
    file: File,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    at: u64,
    #[serde(flatten)]
    what: What,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Message(Message),
    About(String),
    Summary { text: String, tail: usize },
}

impl Conversation {
    /// Opens the file and brings what it holds into the context; whether there was anything.
    /// Where another process still has it, a new one is begun beside it.
    pub fn open(path: &Path, context: &mut Context) -> io::Result<(Conversation, bool)> {
        let open = |path: &Path| {
            OpenOptions::new().read(true).create(true).append(true).mode(0o600).open(path)
        };
        let mut file = open(path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            file = open(&path.with_added_extension(std::process::id().to_string()))?;
        }
        let (mut whole, mut resumed) = (0, false);
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            whole += line.len() as u64;
            // What some other release wrote and this one cannot read is passed over.
            let read = serde_json::from_slice::<Line>(&line);
            line.clear();
            let Ok(read) = read else { continue };
            resumed = true;
            match read.what {
                What::Message(message) => context.push(message),
                What::About(about) => context.set_about(about),
                What::Summary { text, tail } => context.begin_again(&text, tail),
            }
        }
        file.set_len(whole)?;
        let mut conversation = Conversation { file };
        if let Some(mended) = context.mend() {
            conversation.keep(&[Kept::Message(mended)])?;
        }
        Ok((conversation, resumed))
    }

    pub fn keep(&mut self, all: &[Kept]) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut text = Vec::new();
        for kept in all {
            let what = match kept.clone() {
                Kept::Message(message) => What::Message(message),
                Kept::About(about) => What::About(about),
                Kept::Summary { text, tail } => What::Summary { text, tail },
            };
            let line = Line { at: now.as_millis() as u64, what };
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        self.file.write_all(&hidden::shown_bytes(&text))
    }
}
