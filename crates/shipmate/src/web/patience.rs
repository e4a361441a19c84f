//! A connection that is given up when its other end takes nothing of what it is told.
//!
//! Whoever asks without ever reading would otherwise keep its seat for good, and what is said
//! without a token can be asked for by anybody on the machine.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

#[derive(Debug)]
pub(super) struct Patient {
    stream: TcpStream,
    most: Duration,
    /// Runs while something waits to be taken.
    waits: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub(super) fn new(stream: TcpStream, most: Duration) -> Patient {
        Patient { stream, most, waits: None }
    }

    fn wait<T>(&mut self, context: &mut Context<'_>, took: Poll<Result<T>>) -> Poll<Result<T>> {
        if took.is_ready() {
            self.waits = None;
            return took;
        }
        let until = Instant::now() + self.most;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep_until(until)));
        match waits.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(Error::from(ErrorKind::TimedOut))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let took = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wait(context, took)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let took = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wait(context, took)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
