//! A network of a test's own: nodes with a network namespace each, on one bridge in a namespace of its own.
//!
//! Nothing of it is part of the machine's network. The kernel removes a namespace, its links and its addresses
//! when nobody holds it any more: no process, and no open file of the test. So a test that is killed leaves
//! nothing behind either. Making namespaces needs the rights of root.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

/// What the tests read; `ip` is of Debian's package iproute2.
const IP: &str = "SHIPMATE_IP";
/// The bridge that all nodes are on, and the one for those that are split off.
const BRIDGES: [&str; 2] = ["main", "split"];
/// Nobody's address on the wire.
const NOBODY: &str = "02:00:00:00:00:00";

/// A network namespace, for as long as somebody holds it.
#[derive(Debug)]
struct Space(File);

impl Space {
    fn new() -> Result<Space, String> {
        let made = std::thread::spawn(|| {
            #[expect(deprecated, reason = "only unsharing open files is unsafe")]
            rustix::thread::unshare(UnshareFlags::NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        });
        let made = made.join().expect("making a namespace does not panic");
        made.map(Space).map_err(|e| {
            format!("no network namespace can be made: {e}\n  run this test as root, where the kernel has them")
        })
    }

    /// How others reach it for as long as this process lives.
    fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }

    fn enter(&self) {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))
            .expect("who made a namespace may enter it");
    }

    /// On a thread of its own, which ends with it: no other work is ever done in there.
    fn within<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter();
                what()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn ip(&self, words: &str) -> Result<(), String> {
        let program = std::env::var_os(IP).unwrap_or_else(|| "ip".into());
        let mut command = Command::new(&program);
        command.args(words.split(' '));
        let output = self.within(|| command.output()).map_err(|e| missing(&program, &e))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Every process in it; threads of this one that are in there do not count.
    fn processes(&self) -> Vec<u32> {
        let Ok(own) = self.0.metadata().map(|file| (file.st_dev(), file.st_ino())) else {
            return Vec::new();
        };
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_in = |pid: &u32| {
            let found = std::fs::metadata(format!("/proc/{pid}/ns/net"));
            found.is_ok_and(|file| (file.st_dev(), file.st_ino()) == own)
        };
        pids.filter(is_in).collect()
    }
}

fn missing(program: &OsString, e: &io::Error) -> String {
    format!("{}: {e}\n  run `cargo xtask test`, or set {IP}", program.to_string_lossy())
}

/// All nodes of a test, and what is between them.
#[derive(Debug)]
pub struct Network {
    switch: Arc<Space>,
    nodes: u8,
}

impl Network {
    /// Without any node yet.
    ///
    /// # Errors
    /// Namespaces or links cannot be made here, with what to do about it.
    pub fn new() -> Result<Network, String> {
        let switch = Space::new()?;
        for bridge in BRIDGES {
            switch.ip(&format!("link add {bridge} type bridge"))?;
            switch.ip(&format!("link set {bridge} up"))?;
        }
        Ok(Network { switch: Arc::new(switch), nodes: 0 })
    }

    /// A further node, which reaches all others and nothing else.
    ///
    /// # Errors
    /// The system's.
    pub fn node(&mut self) -> Result<Node, String> {
        self.nodes += 1;
        let address = Ipv4Addr::new(10, 77, 0, self.nodes);
        let port = format!("port{}", self.nodes);
        let space = Space::new()?;
        let there = space.path();
        self.switch
            .ip(&format!("link add {port} type veth peer name eth0 netns {}", there.display()))?;
        self.switch.ip(&format!("link set {port} master {}", BRIDGES[0]))?;
        self.switch.ip(&format!("link set {port} up"))?;
        space.ip("link set lo up")?;
        space.ip(&format!("address add {address}/24 dev eth0"))?;
        space.ip("link set eth0 up")?;
        Ok(Node { address, port, space: Arc::new(space), switch: Arc::clone(&self.switch) })
    }
}

/// One machine of the network.
#[derive(Debug, Clone)]
pub struct Node {
    address: Ipv4Addr,
    port: String,
    space: Arc<Space>,
    switch: Arc<Space>,
}

impl Node {
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address.into()
    }

    /// Has this thread be on the node from now on, and whatever it starts.
    pub fn enter(&self) {
        self.space.enter();
    }

    /// Does something on the node: what is bound or connected there stays there.
    pub fn within<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        self.space.within(what)
    }

    /// Starts a program on the node.
    ///
    /// # Errors
    /// The system's.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.within(|| command.spawn())
    }

    /// Runs a program on the node to its end.
    ///
    /// # Errors
    /// The system's.
    pub fn run(&self, command: &mut Command) -> io::Result<Output> {
        self.within(|| command.output())
    }

    /// Every process on the node.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        self.space.processes()
    }

    /// Takes its link down: nothing reaches it, and nobody is told.
    pub fn cut(&self) {
        self.set("down");
    }

    /// Gives it its link back, its place among the others, and its voice.
    pub fn mend(&self) {
        self.set(&format!("master {}", BRIDGES[0]));
        self.set("up");
        self.have("neighbour flush dev eth0 nud permanent");
    }

    /// What it sends to this one is lost from now on, and nobody is told; the other way all arrives.
    pub fn mute(&self, to: &Node) {
        self.have(&format!(
            "neighbour replace {} lladdr {NOBODY} dev eth0 nud permanent",
            to.address
        ));
    }

    /// Splits it off: it reaches only those that are split off too.
    pub fn split(&self) {
        self.set(&format!("master {}", BRIDGES[1]));
    }

    fn set(&self, words: &str) {
        let set = self.switch.ip(&format!("link set {} {words}", self.port));
        set.expect("a link that was made can be changed");
    }

    fn have(&self, words: &str) {
        self.space.ip(words).expect("what a node knows of its neighbours can be changed");
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::time::Duration;

    use super::*;

    /// Only a link that is down takes so long.
    const SILENCE: Duration = Duration::from_millis(300);
    /// Nothing here takes so long, even on a loaded machine.
    const LIMIT: Duration = Duration::from_secs(60);
    const TRIES_MAX: u32 = 100;

    fn connects(from: &Node, to: &TcpListener, within: Duration) -> bool {
        let at = to.local_addr().unwrap();
        from.within(|| TcpStream::connect_timeout(&at, within).is_ok())
    }

    /// A link that is back is found again in its time: an address that was asked for in vain is asked for anew.
    fn reaches(from: &Node, to: &TcpListener) -> bool {
        (0..TRIES_MAX).any(|_| connects(from, to, LIMIT))
    }

    fn is_cut(from: &Node, to: &TcpListener) -> bool {
        !connects(from, to, SILENCE)
    }

    #[test]
    fn nodes_reach_each_other_unless_cut_or_split_and_nobody_else_does() {
        let mut network = Network::new().unwrap();
        let [a, b, c] = std::array::from_fn(|_| network.node().unwrap());
        let listener = a.within(|| TcpListener::bind((a.address(), 0))).unwrap();
        assert!(reaches(&b, &listener) && reaches(&c, &listener));
        let at = listener.local_addr().unwrap();
        assert!(
            TcpStream::connect_timeout(&at, SILENCE).is_err(),
            "the machine itself is not on it"
        );
        b.cut();
        assert!(is_cut(&b, &listener) && reaches(&c, &listener));
        b.mend();
        assert!(reaches(&b, &listener));
        a.split();
        b.split();
        assert!(reaches(&b, &listener) && is_cut(&c, &listener));
        a.mend();
        b.mend();
        assert!(reaches(&c, &listener));
    }

    #[test]
    fn who_is_muted_hears_and_is_not_heard() {
        let mut network = Network::new().unwrap();
        let [a, b, c] = std::array::from_fn(|_| network.node().unwrap());
        let [at_a, at_b, at_c] = [&a, &b, &c].map(|node| {
            let socket = node.within(|| UdpSocket::bind((node.address(), 0))).unwrap();
            socket.set_read_timeout(Some(SILENCE)).unwrap();
            socket
        });
        let reaches = |from: &UdpSocket, to: &UdpSocket| {
            from.send_to(b"x", to.local_addr().unwrap()).unwrap();
            to.recv(&mut [0]).is_ok()
        };
        let all = |expected: [bool; 3]| {
            let found = [reaches(&at_a, &at_b), reaches(&at_b, &at_a), reaches(&at_a, &at_c)];
            found == expected
        };
        assert!((0..TRIES_MAX).any(|_| all([true; 3])));
        a.mute(&b);
        assert!(all([false, true, true]));
        a.mend();
        assert!((0..TRIES_MAX).any(|_| all([true; 3])));
    }

    #[test]
    fn what_was_said_during_a_cut_arrives_after_it() {
        let mut network = Network::new().unwrap();
        let [a, b] = std::array::from_fn(|_| network.node().unwrap());
        let listener = a.within(|| TcpListener::bind((a.address(), 0))).unwrap();
        let at = listener.local_addr().unwrap();
        let mut said = b.within(|| TcpStream::connect(at)).unwrap();
        let (mut heard, _) = listener.accept().unwrap();
        b.cut();
        said.write_all(b"x").unwrap();
        heard.set_read_timeout(Some(SILENCE)).unwrap();
        assert!(heard.read(&mut [0]).is_err());
        b.mend();
        heard.set_read_timeout(None).unwrap();
        assert_eq!(heard.read(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn processes_are_found_by_the_node_they_are_on() {
        let mut network = Network::new().unwrap();
        let [a, b] = std::array::from_fn(|_| network.node().unwrap());
        let mut child = a.spawn(Command::new("cat").stdin(std::process::Stdio::piped())).unwrap();
        assert_eq!((a.processes(), b.processes()), (vec![child.id()], vec![]));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(a.processes(), Vec::<u32>::new());
    }
}
