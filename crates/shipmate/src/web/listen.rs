//! Takes connections on loopback and serves them, each within limits.
//!
//! Whoever connects and says nothing, or says it byte by byte, is hung up on; so is whoever sends
//! heads without end, and whoever asks and takes nothing of the answers. Anybody on this machine
//! can connect, so where all seats are taken somebody gives way at once to whoever comes: see
//! [`Seats`]. Nothing here knows what is served.

use std::io::Result;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::web::patience::Patient;
use crate::web::seats::{self, Seat, Seats};

const CONNECTIONS_MAX: usize = 256;
/// From the first moment of a connection, or the end of the request before, to a whole head.
const HEAD_MAX: Duration = Duration::from_secs(20);
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 64;
/// How long whoever is answered may take nothing of it. It needs no token to ask for the page's
/// files, so without an end to this anybody on the machine could keep every seat.
const READ_NOTHING_MAX: Duration = Duration::from_secs(30);
/// How long no connection is taken when the system has nothing left to take one with.
const BREATH: Duration = Duration::from_secs(1);

/// A door that only this machine can knock at.
pub(crate) fn bind(port: u16) -> Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves until it is dropped, and then ends every connection with it.
pub(crate) async fn serve(listener: std::net::TcpListener, routes: Router) -> Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let seats = Seats::new(CONNECTIONS_MAX);
    let mut connections = tokio::task::JoinSet::new();
    loop {
        seats.room().await;
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let seat = seats.take();
                let task = connections.spawn(one(stream, routes.clone(), Arc::clone(&seat)));
                seat.belongs_to(task);
            }
            // The one who came has gone again, or there is nothing left to let it in with.
            Err(_) => tokio::time::sleep_until(Instant::now() + BREATH).await,
        }
    }
}

async fn one(stream: TcpStream, routes: Router, seat: Arc<Seat>) {
    // What is shown is shown at once. Where that cannot be had it is only slower.
    drop(stream.set_nodelay(true));
    let stream = Patient::new(stream, READ_NOTHING_MAX);
    let _taken = seat.taken();
    let routes = routes.layer(middleware::from_fn_with_state(seat, seats::attend));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    // How a connection ends is the business of whoever was at its other end.
    drop(connection.await);
}
