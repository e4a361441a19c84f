//! Real NATS servers on loopback, one set for each test.
//!
//! A server picks free ports by itself and says in its log which; that line, and the line that it
//! is ready, are what is waited for. It is ended by its process id when the test is over.

use super::temp::TempDir;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Far longer than a healthy server takes for anything it is asked here.
const PATIENCE: Duration = Duration::from_secs(300);

/// A running `nats-server` with JetStream, which syncs every message before it answers.
pub(crate) struct Server {
    child: Child,
    lines: Receiver<String>,
    directory: TempDir,
    name: String,
    cluster: Option<String>,
    port: u16,
    route: Option<String>,
}

impl Server {
    #[allow(dead_code, reason = "not every test is content with one server")]
    pub(crate) fn start() -> Self {
        Self::launch("alone", None, "")
    }

    /// A single server with further lines in its configuration.
    #[allow(dead_code, reason = "not every test has settings of its own")]
    pub(crate) fn start_with(settings: &str) -> Self {
        Self::launch("alone", None, settings)
    }

    /// Three servers that know each other and have agreed on a leader.
    #[allow(dead_code, reason = "not every test needs a cluster")]
    pub(crate) fn start_cluster() -> Vec<Self> {
        // A server learns the size of its cluster from the number of routes it is given, and the
        // others' addresses from whichever it reaches. So the first is given two that nobody
        // listens at, and no port has to be chosen before its server has taken it.
        let nobody = "\"nats://127.0.0.1:1\", \"nats://127.0.0.1:2\"";
        let first = Self::launch("n1", Some(nobody.into()), "");
        let routes = format!("{}, {nobody}", first.route.as_deref().unwrap());
        let mut servers = vec![first];
        for name in ["n2", "n3"] {
            servers.push(Self::launch(name, Some(routes.clone()), ""));
        }
        for server in &servers {
            server.await_line("metadata leader");
        }
        servers
    }

    fn launch(name: &str, cluster: Option<String>, settings: &str) -> Self {
        let directory = TempDir::new();
        let store = directory.join("store");
        let routes = match &cluster {
            None => String::new(),
            Some(routes) => {
                format!("cluster {{ name: crew, listen: \"127.0.0.1:-1\", routes: [{routes}] }}\n")
            }
        };
        let config = format!(
            "server_name: {name}\n\
             jetstream {{ store_dir: {store:?}, sync_interval: always }}\n{routes}{settings}\n"
        );
        std::fs::write(directory.join("server.conf"), config).unwrap();
        let (child, lines) = spawn(&directory, -1);
        let mut server =
            Self { child, lines, directory, name: name.into(), cluster, port: 0, route: None };
        server.await_ready();
        server
    }

    fn await_ready(&mut self) {
        let mut seen = Vec::new();
        let mut ready = false;
        while !ready || self.port == 0 || self.route.is_some() != self.cluster.is_some() {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("{} did not become ready: {seen:#?}", self.name);
            };
            if let Some((_, address)) = line.split_once("client connections on ") {
                self.port = address.rsplit(':').next().unwrap().parse().unwrap();
            }
            if let Some((_, address)) = line.split_once("route connections on ") {
                self.route = Some(format!("\"nats://{address}\""));
            }
            ready |= line.contains("Server is ready");
            seen.push(line);
        }
    }

    /// Waits until the server has written a line that contains `text`.
    pub(crate) fn await_line(&self, text: &str) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.expect("the server writes what is waited for");
            if line.contains(text) {
                return;
            }
        }
    }

    #[allow(dead_code, reason = "only clusters have names that matter")]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Stops the server in mid-step; connections stay open and nothing is answered.
    #[allow(dead_code, reason = "not every test freezes its server")]
    pub(crate) fn freeze(&self) {
        kill_process(self.pid(), Signal::STOP).unwrap();
        // All of its threads stand still only once the kernel says so.
        let stopped = rustix::process::waitpid(Some(self.pid()), WaitOptions::UNTRACED).unwrap();
        assert!(
            stopped.is_some_and(|(_, status)| status.stopped()),
            "the server was to stand still"
        );
    }

    #[allow(dead_code, reason = "not every test freezes its server")]
    pub(crate) fn thaw(&self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }

    /// Ends the server without a chance to tidy up.
    #[allow(dead_code, reason = "not every test kills its server")]
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server anew on the port and the store that it had.
    #[allow(dead_code, reason = "not every test restarts its server")]
    pub(crate) fn restart(&mut self) {
        (self.child, self.lines) = spawn(&self.directory, self.port.into());
        self.await_ready();
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(directory: &TempDir, port: i32) -> (Child, Receiver<String>) {
    let mut child = Command::new(binary())
        .arg("--config")
        .arg(directory.join("server.conf"))
        .args(["--addr", "127.0.0.1", "--port", &port.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = child.stderr.take().unwrap();
    let (sender, lines) = channel();
    // Reads on until the server ends, so that it can always write.
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    (child, lines)
}

fn binary() -> PathBuf {
    let path = std::env::var_os("SHIPMATE_NATS_SERVER");
    path.expect(
        "SHIPMATE_NATS_SERVER must name a nats-server binary: run `cargo xtask test`, which \
         fetches one and sets it",
    )
    .into()
}
