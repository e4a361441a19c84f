//! The pipes between a tree and this process: made before it starts, served while it runs.

use std::ffi::OsStr;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::capture::Captured;
use crate::failure::SpawnFailure;
use crate::log_file::LogFile;
use crate::pump::{Activity, Pump, Sink};
use crate::spec::{Output, Stdin};

/// Our ends of the pipes, with nobody at them yet.
pub(crate) struct Streams {
    stdin: Option<pipe::Sender>,
    input: Option<Vec<u8>>,
    stdout: Option<pipe::Receiver>,
    pumped: Vec<(pipe::Receiver, Sink)>,
}

/// Our ends of the pipes while the tree runs.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) stdin: Option<pipe::Sender>,
    pub(crate) stdout: Option<pipe::Receiver>,
    pub(crate) activity: watch::Receiver<Activity>,
    feeder: Option<JoinHandle<()>>,
    pumps: Vec<JoinHandle<Sink>>,
    gone: watch::Sender<bool>,
}

/// What was kept of a tree's output.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) dropped: u64,
}

impl Streams {
    pub(crate) fn open(
        stdin: Stdin,
        output: &Output,
        program: &OsStr,
        command: &mut Command,
    ) -> Result<Self, SpawnFailure> {
        let failed = |source| SpawnFailure::system(program, source);
        let mut streams = Self { stdin: None, input: None, stdout: None, pumped: Vec::new() };
        match output {
            Output::Null => {
                command.stdout(Stdio::null()).stderr(Stdio::null());
            }
            Output::Capture { bytes_max } => {
                let (out, to_out) = output_pipe().map_err(failed)?;
                let (err, to_err) = output_pipe().map_err(failed)?;
                command.stdout(to_out).stderr(to_err);
                let memory = || Sink::Memory(Captured::new(*bytes_max));
                streams.pumped = vec![(out, memory()), (err, memory())];
            }
            Output::Files { path, bytes_max } => {
                let (both, to_both) = output_pipe().map_err(failed)?;
                command.stdout(to_both.try_clone().map_err(failed)?).stderr(to_both);
                streams.pumped.push((both, disk(path, *bytes_max)?));
            }
            Output::Stream { errors, bytes_max } => {
                let (out, to_out) = output_pipe().map_err(failed)?;
                let (err, to_err) = output_pipe().map_err(failed)?;
                command.stdout(to_out).stderr(to_err);
                streams.pumped.push((err, disk(errors, *bytes_max)?));
                streams.stdout = Some(out);
            }
        }
        streams.input = match stdin {
            Stdin::Null => {
                command.stdin(Stdio::null());
                return Ok(streams);
            }
            Stdin::Bytes(bytes) => Some(bytes),
            Stdin::Piped => None,
        };
        let (reader, writer) = io::pipe().map_err(failed)?;
        command.stdin(reader);
        streams.stdin = Some(pipe::Sender::from_owned_fd(OwnedFd::from(writer)).map_err(failed)?);
        Ok(streams)
    }

    pub(crate) fn start(mut self) -> Flow {
        let (activity_sender, activity) = watch::channel(Activity::default());
        let activity_sender = Arc::new(activity_sender);
        let (gone, gone_receiver) = watch::channel(false);
        let pumps = self.pumped.into_iter().map(|(from, into)| {
            let (activity, gone) = (Arc::clone(&activity_sender), gone_receiver.clone());
            tokio::spawn(Pump { from, into, activity, gone }.run())
        });
        let pumps = pumps.collect();
        let feeder = self.input.and_then(|bytes| {
            let pipe = self.stdin.take()?;
            Some(tokio::spawn(feed(pipe, bytes)))
        });
        Flow { stdin: self.stdin, stdout: self.stdout, activity, feeder, pumps, gone }
    }
}

impl Flow {
    /// Takes what the tree printed to its end. The tree is gone by now.
    pub(crate) async fn finish(&mut self) -> Kept {
        if let Some(feeder) = self.feeder.take() {
            feeder.abort();
        }
        let _ = self.gone.send(true);
        let (mut captured, mut dropped) = (Vec::new(), 0);
        for pump in self.pumps.drain(..) {
            match pump.await {
                Ok(Sink::Memory(stream)) => captured.push(stream),
                Ok(Sink::Disk(file)) => dropped += file.dropped(),
                Err(_) => {}
            }
        }
        let mut captured = captured.into_iter();
        let mut next = || captured.next().unwrap_or_default();
        Kept { stdout: next(), stderr: next(), dropped }
    }
}

fn output_pipe() -> io::Result<(pipe::Receiver, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    Ok((pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?, writer))
}

fn disk(path: &Path, bytes_max: u64) -> Result<Sink, SpawnFailure> {
    let failed = |source| SpawnFailure::NoOutput { path: path.to_owned(), source };
    LogFile::open(path, bytes_max).map(Sink::Disk).map_err(failed)
}

async fn feed(mut pipe: pipe::Sender, bytes: Vec<u8>) {
    // A program that does not read its input is within its rights.
    let _ = pipe.write_all(&bytes).await;
}
