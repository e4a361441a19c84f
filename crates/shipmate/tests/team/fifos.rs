//! How agents tell a test where they are, and how they are made to wait there.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

/// An agent that has said where it is.
#[allow(dead_code, reason = "not every test needs all of it")]
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) task: u32,
    pub(crate) name: String,
    pub(crate) epoch: u32,
    pub(crate) pid: u32,
    pub(crate) words: String,
}

/// A fifo that is open at both ends, so that neither side waits for the other to come.
pub(crate) fn fifo(path: &Path) -> File {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

#[allow(dead_code, reason = "not every test needs it")]
/// Hands on what agents say, line by line, until nobody wants it.
pub(crate) fn listen(file: &File) -> Receiver<Arrival> {
    let (tell, told) = channel();
    let lines = BufReader::new(file.try_clone().unwrap());
    std::thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            let mut words = line.splitn(5, ' ');
            let mut next = || words.next().unwrap_or_default().to_owned();
            let (task, name, epoch, pid, words) = (next(), next(), next(), next(), next());
            let arrival = Arrival {
                task: task.parse().unwrap_or_default(),
                name,
                epoch: epoch.parse().unwrap_or_default(),
                pid: pid.parse().unwrap_or_default(),
                words,
            };
            if tell.send(arrival).is_err() {
                return;
            }
        }
    });
    told
}
