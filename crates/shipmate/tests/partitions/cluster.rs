//! Three NATS servers that know each other, each on a node of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use shipmate_testkit::network::{Network, Node};

use crate::LIMIT;

const PORT: u16 = 4222;
const NAMES: [&str; 3] = ["s1", "s2", "s3"];

/// One of the servers.
pub(crate) struct Server {
    pub(crate) node: Node,
    config: PathBuf,
    child: Child,
    lines: Receiver<String>,
}

impl Server {
    pub(crate) fn url(&self) -> String {
        format!("nats://{}:{PORT}", self.node.address())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// As if its machine lost power, but for what the kernel has of its files.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn restart(&mut self) {
        *self = launch(self.node.clone(), &self.config);
    }

    fn await_line(&self, text: &str) {
        loop {
            let line = self.lines.recv_timeout(LIMIT).expect("the server says what is waited for");
            if line.contains(text) {
                return;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Servers that have agreed on a leader and sync every message.
pub(crate) fn start(network: &mut Network, root: &Path) -> Vec<Server> {
    let nodes = NAMES.map(|_| network.node().unwrap());
    let routes: Vec<String> =
        nodes.iter().map(|node| format!("\"nats://{}:6222\"", node.address())).collect();
    let started = NAMES.iter().zip(&nodes).map(|(name, node)| {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let (at, store) = (node.address(), folder.join("store"));
        // Whoever reaches a server by a proxy is not told a way around it.
        let config = format!(
            "server_name: {name}\nlisten: \"{at}:{PORT}\"\nmax_payload: 8MB\n\
             jetstream {{ store_dir: {store:?}, sync_interval: always }}\n\
             cluster {{ name: crew, listen: \"{at}:6222\", no_advertise: true, routes: [{}] }}\n",
            routes.join(", ")
        );
        let file = folder.join("server.conf");
        std::fs::write(&file, config).unwrap();
        launch(node.clone(), &file)
    });
    let servers: Vec<Server> = started.collect();
    for server in &servers {
        server.await_line("metadata leader");
    }
    servers
}

fn launch(node: Node, config: &Path) -> Server {
    let program = std::env::var_os("SHIPMATE_NATS_SERVER");
    let program =
        PathBuf::from(program.expect("run `cargo xtask test`, or set SHIPMATE_NATS_SERVER"));
    let mut command = Command::new(program);
    command.arg("--config").arg(config).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = node.spawn(&mut command).unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    let (tell, lines) = channel();
    let kept = config.with_extension("log");
    // Read to its end, so that it can always write.
    std::thread::spawn(move || {
        let kept = std::fs::OpenOptions::new().create(true).append(true).open(kept);
        let mut kept = kept.unwrap();
        for line in said.lines().map_while(Result::ok) {
            drop(std::io::Write::write_all(&mut kept, format!("{line}\n").as_bytes()));
            drop(tell.send(line));
        }
    });
    Server { node, config: config.to_owned(), child, lines }
}
