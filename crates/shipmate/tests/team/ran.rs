//! A `shipmate run` beside a test, and one that is over.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Nothing here takes so long, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        Ran { code, out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// It ended with this code and said all of that, in this order.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        let mut rest = self.out.as_str();
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else {
                panic!("{part:?} is missing in:\n{}\n{}", self.out, self.err);
            };
            rest = after;
        }
    }
}

/// A run beside the test.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    heard: String,
}

impl Running {
    pub(crate) fn begin(mut command: Command) -> Running {
        let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Running { child, lines, heard: String::new() }
    }

    /// Waits for a line that holds this.
    #[track_caller]
    pub(crate) fn says(&mut self, part: &str) -> String {
        loop {
            let Ok(line) = self.lines.recv_timeout(LIMIT) else {
                panic!("{part:?} was never said:\n{}", self.heard);
            };
            self.heard.push_str(&line);
            self.heard.push('\n');
            if line.contains(part) {
                return line;
            }
        }
    }

    pub(crate) fn ended(mut self) -> Ran {
        for line in self.lines.iter() {
            self.heard.push_str(&line);
            self.heard.push('\n');
        }
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Ran { code, out: std::mem::take(&mut self.heard), err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves it; one that is over is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
