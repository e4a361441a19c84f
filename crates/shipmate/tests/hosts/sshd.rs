//! A real sshd that knows one key, and an `ssh` that finds it as `far`.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use shipmate_testkit::network::Node;

/// What a login without git has.
const BARE: [&str; 9] = ["sh", "uname", "ls", "cat", "mkdir", "chmod", "mv", "rm", "sed"];

/// Other ways to it, by the names that `ssh` knows them by: `stranger`, whose host key is not known, `changed`,
/// whose host key is known as another one, `locked`, where the key is not let in, and `bare`, which has no git.
pub(crate) struct Sshd(Child);

impl Sshd {
    /// On this machine.
    pub(crate) fn start(root: &Path) -> Sshd {
        Sshd::listen(root, Ipv4Addr::LOCALHOST.into())
    }

    /// On another machine of the test's network, which is reached by it only.
    pub(crate) fn on(node: &Node, root: &Path) -> Sshd {
        node.within(|| Sshd::listen(root, node.address()))
    }

    fn listen(root: &Path, at: IpAddr) -> Sshd {
        let folder = root.join("ssh");
        let home = folder.join("home");
        std::fs::create_dir_all(&home).unwrap();
        let [host, other, user] = ["host", "other", "user"].map(|name| key(&folder.join(name)));
        let [port, bare] = [(); 2].map(|()| TcpListener::bind((at, 0)).unwrap());
        let [port, bare] = [port, bare].map(|free| free.local_addr().unwrap().port());
        let bare_bin = folder.join("bare.bin");
        std::fs::create_dir_all(&bare_bin).unwrap();
        for name in BARE {
            symlink(in_path(name), bare_bin.join(name)).unwrap();
        }
        let (bare_path, home) = (bare_bin.display(), home.display());
        let config = format!(
            "Port {port}\nPort {bare}\nListenAddress {at}\nHostKey {}\nAuthorizedKeysFile {}.pub\nPidFile \
             none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nMatch LocalPort {bare}\n SetEnv \
             HOME={home} PATH={bare_path}\nMatch all\n SetEnv HOME={home} PATH=/usr/bin:/bin\n",
            host.path, user.path
        );
        std::fs::write(folder.join("sshd.conf"), config).unwrap();
        let known = |name: &str, keys: &[(u16, &Key)]| {
            let lines = keys.iter().map(|(port, key)| format!("[{at}]:{port} {}", key.public));
            let path = folder.join(name);
            std::fs::write(&path, lines.collect::<String>()).unwrap();
            path.display().to_string()
        };
        let right = known("known", &[(port, &host), (bare, &host)]);
        let wrong = known("wrong", &[(port, &other)]);
        let ways = [
            ("far", port, right.as_str(), &user),
            ("bare", bare, &right, &user),
            ("stranger", port, "/dev/null", &user),
            ("changed", port, &wrong, &user),
            ("locked", port, &right, &other),
        ];
        let client = ways.map(|(name, port, known, key)| {
            format!(
                "Host {name}\n HostName {at}\n Port {port}\n UserKnownHostsFile {known}\n IdentityFile \
                 {}\n IdentitiesOnly yes\n",
                key.path
            )
        });
        std::fs::write(folder.join("client.conf"), client.concat()).unwrap();
        let bin = root.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let own = format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n",
            folder.join("client.conf").display()
        );
        std::fs::write(bin.join("ssh"), own).unwrap();
        std::fs::set_permissions(bin.join("ssh"), PermissionsExt::from_mode(0o755)).unwrap();
        let program =
            std::env::var("SHIPMATE_SSHD").expect("run `cargo xtask test`, or set SHIPMATE_SSHD");
        // Where it goes when it has the rights of root.
        drop(std::fs::create_dir_all("/run/sshd"));
        let mut command = Command::new(program);
        command.args(["-D", "-e", "-f"]).arg(folder.join("sshd.conf")).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut lines = said.lines().map_while(Result::ok);
        let mut listens = || lines.any(|line| line.contains("listening on"));
        assert!(listens() && listens(), "sshd does not listen");
        // Somebody has to read what it says.
        std::thread::spawn(move || lines.for_each(drop));
        Sshd(child)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

struct Key {
    path: String,
    public: String,
}

fn key(path: &Path) -> Key {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path);
    assert!(command.status().unwrap().success());
    let public = std::fs::read_to_string(path.with_extension("pub")).unwrap();
    Key { path: path.display().to_string(), public }
}

pub(crate) fn in_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    { found }.find(|path| path.is_file()).unwrap()
}
