//! A line that can be bad: a TCP proxy whose connections are delayed, stalled or reset at a word.
//!
//! A cut link says nothing and loses nothing that is said again; here are the faults that it does not show.
//! What is stalled stays in the proxy in its order and goes on later; what is reset is lost with the
//! connection, wherever in a message that happens to be.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;

use crate::network::Node;

/// What happens to bytes on their way, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    Fair,
    /// Each piece comes so much later; later pieces come after it.
    Slow(Duration),
    /// Nothing comes, and connections stay open.
    Stalled,
}

/// A proxy, for as long as it is held.
#[derive(Debug)]
pub struct Proxy {
    node: Node,
    at: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    weather: Weather,
    /// Both ends of every connection.
    streams: Vec<TcpStream>,
    is_closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the state of a proxy")
    }

    /// Holds a piece back for as long as the weather says; whether it may go on then.
    fn hold(&self) -> bool {
        let came = Instant::now();
        let mut state = self.lock();
        loop {
            let left = match state.weather {
                _ if state.is_closed => return false,
                Weather::Fair => return true,
                Weather::Slow(by) => by.saturating_sub(came.elapsed()),
                Weather::Stalled => Duration::MAX,
            };
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.expect("nobody panics with the state of a proxy").0;
        }
    }

    fn pump(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(bytes @ 1..) = from.read(&mut piece) {
            if !self.hold() || to.write_all(&piece[..bytes]).is_err() {
                break;
            }
        }
        drop(from.shutdown(Shutdown::Both));
        drop(to.shutdown(Shutdown::Both));
    }
}

impl Proxy {
    /// Listens on the loopback of a node and leads from there to an address of its network.
    ///
    /// # Errors
    /// The system's.
    pub fn start(node: &Node, to: SocketAddr) -> io::Result<Proxy> {
        let listener = node.within(|| TcpListener::bind("127.0.0.1:0"))?;
        let at = listener.local_addr()?;
        let state = State { weather: Weather::Fair, streams: Vec::new(), is_closed: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let (own, there) = (Arc::clone(&shared), node.clone());
        std::thread::spawn(move || {
            there.enter();
            for near in listener.incoming().map_while(Result::ok) {
                if own.lock().is_closed {
                    return;
                }
                let own = Arc::clone(&own);
                // Connecting takes long where the link is cut, and others do not wait for it.
                std::thread::spawn(move || connect(&own, near, to));
            }
        });
        Ok(Proxy { node: node.clone(), at, shared })
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    pub fn set(&self, weather: Weather) {
        self.shared.lock().weather = weather;
        self.shared.changed.notify_all();
    }

    /// Ends every connection at once, with whatever is on its way.
    pub fn reset(&self) {
        for stream in self.shared.lock().streams.drain(..) {
            end(&stream);
        }
    }
}

/// By a reset, where the system lets us.
fn end(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
    drop(stream.shutdown(Shutdown::Both));
}

fn connect(shared: &Arc<Shared>, near: TcpStream, to: SocketAddr) {
    let Ok(far) = TcpStream::connect(to) else { return end(&near) };
    let clones = [&near, &near, &far, &far].map(TcpStream::try_clone);
    let [Ok(near_kept), Ok(near_read), Ok(far_kept), Ok(far_read)] = clones else { return };
    {
        let mut state = shared.lock();
        if state.is_closed {
            return;
        }
        state.streams.extend([near_kept, far_kept]);
    }
    let back = Arc::clone(shared);
    std::thread::spawn(move || back.pump(far_read, near));
    shared.pump(near_read, far);
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        self.reset();
        // Whoever listens looks up, and ends.
        drop(self.node.within(|| TcpStream::connect(self.at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;

    const SILENCE: Duration = Duration::from_millis(200);

    #[test]
    fn a_stalled_line_gives_later_what_it_took_and_a_reset_one_gives_nothing() {
        let mut network = Network::new().unwrap();
        let [here, there] = std::array::from_fn(|_| network.node().unwrap());
        let listener = there.within(|| TcpListener::bind((there.address(), 0))).unwrap();
        let proxy = Proxy::start(&here, listener.local_addr().unwrap()).unwrap();
        let connect = || {
            let near = here.within(|| TcpStream::connect(proxy.address())).unwrap();
            (near, listener.accept().unwrap().0)
        };
        let (mut near, mut far) = connect();
        let mut heard = [0; 3];
        near.write_all(b"one").unwrap();
        far.read_exact(&mut heard).unwrap();
        proxy.set(Weather::Stalled);
        near.write_all(b"two").unwrap();
        far.set_read_timeout(Some(SILENCE)).unwrap();
        assert!(far.read(&mut heard).is_err());
        far.set_read_timeout(None).unwrap();
        proxy.set(Weather::Slow(Duration::from_millis(1)));
        far.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"two");
        proxy.set(Weather::Stalled);
        near.write_all(b"six").unwrap();
        proxy.reset();
        assert!(matches!(far.read(&mut heard), Ok(0) | Err(_)));
        proxy.set(Weather::Fair);
        let (mut near, mut far) = connect();
        far.write_all(b"ten").unwrap();
        near.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"ten");
    }
}
