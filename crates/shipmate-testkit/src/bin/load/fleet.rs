//! Worker processes: started together, released together, heard to the end, and ended with us.
//!
//! A worker prints `ready`, waits for a line, works, and prints one line of JSON last. What it
//! prints between is told to whoever runs the fleet.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use crate::measure::now_ns;

/// No worker of any workload is silent for so long: it hangs.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Fleet {
    children: Vec<Child>,
    heard: Receiver<(usize, String)>,
    reports: Vec<Option<Value>>,
}

/// What a worker said.
#[derive(Debug)]
pub(crate) enum Heard {
    Word(String),
    /// Its last line; all have reported when there are none to come.
    Report,
}

impl Fleet {
    /// Starts all and waits until all are ready.
    pub(crate) fn start(commands: Vec<Command>) -> Result<Fleet, String> {
        let (tell, heard) = channel();
        let reports = commands.iter().map(|_| None).collect();
        let mut fleet = Fleet { children: Vec::new(), heard, reports };
        for (index, mut command) in commands.into_iter().enumerate() {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
            let stdout = child.stdout.take().expect("its output was piped");
            fleet.children.push(child);
            let tell = tell.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if tell.send((index, line)).is_err() {
                        return;
                    }
                }
            });
        }
        for _ in 0..fleet.children.len() {
            match fleet.line()? {
                (_, word) if word == "ready" => {}
                (index, other) => return Err(format!("worker {index} said {other:?} first")),
            }
        }
        Ok(fleet)
    }

    /// Lets all of them begin; returns the instant before the first was told.
    pub(crate) fn go(&mut self) -> Result<u64, String> {
        let start = now_ns();
        for child in &mut self.children {
            let stdin = child.stdin.as_mut().expect("its input was piped");
            stdin.write_all(b"go\n").map_err(|e| format!("a worker is gone: {e}"))?;
        }
        Ok(start)
    }

    /// The next word or report, or `None` when `patience` has passed.
    pub(crate) fn hear(&mut self, patience: Duration) -> Result<Option<Heard>, String> {
        match self.heard.recv_timeout(patience) {
            Ok((index, line)) => self.take(index, line).map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err("the workers ended in silence".to_owned()),
        }
    }

    fn line(&self) -> Result<(usize, String), String> {
        self.heard.recv_timeout(SILENCE_MAX).map_err(|e| match e {
            RecvTimeoutError::Timeout => "a worker hangs".to_owned(),
            RecvTimeoutError::Disconnected => "the workers ended in silence".to_owned(),
        })
    }

    fn take(&mut self, index: usize, line: String) -> Result<Heard, String> {
        if !line.starts_with('{') {
            return Ok(Heard::Word(line));
        }
        let report = serde_json::from_str(&line).map_err(|e| format!("worker {index}: {e}"))?;
        self.reports[index] = Some(report);
        Ok(Heard::Report)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.reports.iter().all(Option::is_some)
    }

    /// Waits for what is still to come and gives the reports in the order of the commands.
    pub(crate) fn finish(mut self) -> Result<Vec<Value>, String> {
        while !self.is_done() {
            let (index, line) = self.line()?;
            self.take(index, line)?;
        }
        for child in &mut self.children {
            drop(child.stdin.take());
            let status = child.wait().map_err(|e| e.to_string())?;
            if !status.success() {
                return Err(format!("a worker ended with {status}"));
            }
        }
        Ok(self.reports.drain(..).flatten().collect())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Those that ended by themselves are reaped already, and killing them does nothing.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// This program again, as a worker.
pub(crate) fn myself(workload: &str) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command.arg(workload);
    Ok(command)
}

/// The worker's side of the barrier.
pub(crate) fn wait_for_go() -> Result<(), String> {
    say("ready")?;
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).map_err(|e| e.to_string())?;
    if read == 0 { Err("nobody said go".to_owned()) } else { Ok(()) }
}

pub(crate) fn say(word: &str) -> Result<(), String> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{word}").and_then(|()| stdout.flush()).map_err(|e| e.to_string())
}

/// A list of numbers in a report.
pub(crate) fn numbers(report: &Value, name: &str) -> Vec<u64> {
    let list = report[name].as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_u64).collect()
}
