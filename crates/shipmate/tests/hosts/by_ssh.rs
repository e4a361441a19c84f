//! `host add` by a real sshd: one command from nothing to a machine at work.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::machines::Machines;

/// A real sshd on loopback that knows one key, and an `ssh` that finds it as `far`.
struct Sshd(Child);

impl Sshd {
    fn start(root: &Path) -> Sshd {
        let folder = root.join("ssh");
        let home = folder.join("home");
        std::fs::create_dir_all(&home).unwrap();
        let key = |name: &str| {
            let path = folder.join(name);
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path);
            assert!(command.status().unwrap().success());
            (
                path.display().to_string(),
                std::fs::read_to_string(path.with_extension("pub")).unwrap(),
            )
        };
        let ((host_key, host_public), (user_key, _)) = (key("host"), key("user"));
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "Port {free}\nListenAddress 127.0.0.1\nHostKey {host_key}\nAuthorizedKeysFile \
             {user_key}.pub\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             SetEnv HOME={} PATH=/usr/bin:/bin\n",
            home.display()
        );
        std::fs::write(folder.join("sshd.conf"), config).unwrap();
        let known = format!("[127.0.0.1]:{free} {host_public}");
        std::fs::write(folder.join("known"), known).unwrap();
        let client = format!(
            "Host far\n HostName 127.0.0.1\n Port {free}\n IdentityFile {user_key}\n IdentitiesOnly \
             yes\n UserKnownHostsFile {}\nHost stranger\n HostName 127.0.0.1\n Port {free}\n \
             UserKnownHostsFile /dev/null\n IdentityFile {user_key}\nHost locked\n HostName \
             127.0.0.1\n Port {free}\n UserKnownHostsFile {0}\n IdentityFile {host_key}\n \
             IdentitiesOnly yes\n",
            folder.join("known").display()
        );
        std::fs::write(folder.join("client.conf"), client).unwrap();
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
        let mut child = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(folder.join("sshd.conf"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut lines = said.lines().map_while(Result::ok);
        let listens = lines.find(|line| line.contains("listening on"));
        assert!(listens.is_some(), "sshd does not listen");
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

#[test]
fn a_machine_is_added_by_ssh_in_one_command_and_its_line_comes_back() {
    let mut at = Machines::new(1);
    let sshd = Sshd::start(&at.root());
    at.expect("far");
    let there = format!("far:{}", at.workspace("far").display());
    let dry = at.ok("home", &["host", "add", &there, "--dry-run"]);
    assert!(dry.contains("nothing was done"), "{dry}");
    assert!(!at.workspace("far").exists());
    let added = at.ok("home", &["host", "add", &there, "--slots", "2", "--label", "gpu"]);
    assert!(added.contains("far: there is no shipmate on its PATH; by hand it is /"), "{added}");
    at.hear(|event| event["host.joined"]["host"] == "far");
    let looked = at.shipmate("home", &["doctor"]);
    let looked = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(looked.contains("far is there") && !looked.contains("by ssh"), "{looked}");
    at.add(&["ana", "bo"]);
    at.door("go");
    for name in ["one", "two"] {
        at.task(&format!("here $PWD; pass go; put {name} {name}"));
    }
    let two = [at.arrival(), at.arrival()];
    let far = at.workspace("far").display().to_string();
    assert!(two.iter().any(|one| one.words.starts_with(&far)), "{two:?}");
    // The line is cut in the middle of the work, and comes back.
    let line = at.processes("home", "line").pop().unwrap();
    crate::processes::kill(line.pid);
    // It may be away for longer than the lease, which is short here: then another begins anew.
    at.open("go", 6);
    at.completed(2);
    assert_eq!(
        (at.landed("home", "one"), at.landed("home", "two")),
        ("one\n".into(), "two\n".into())
    );
    let is_new = |at: &Machines| at.processes("home", "line").iter().any(|one| one.pid != line.pid);
    at.until("the line comes back", is_new);
    // Said again it is there already, and another folder is another host.
    let said = at.refused("home", &["host", "add", "far:elsewhere"]);
    assert!(said.contains("already") && said.contains("--name"), "{said}");
    // Nothing that is secret is in an argument or on record.
    let file = std::fs::read_to_string(at.place("home").state().join("nats/server.json")).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&file).unwrap();
    let passwords = kept["users"].as_object().unwrap();
    for password in passwords.values().map(|word| word.as_str().unwrap()) {
        assert!(!at.story().contains(password));
        for name in ["home", "far"] {
            assert!(at.processes(name, "").iter().all(|one| !one.words.contains(password)));
        }
    }
    at.ok("home", &["host", "remove", "far", "--now"]);
    assert_eq!(at.processes("home", "line"), vec![]);
    assert!(!at.place("far").host_file().exists());
    let file = std::fs::read_to_string(at.place("home").state().join("nats/server.json")).unwrap();
    assert!(!file.contains("far"), "{file}");
    drop(sshd);
}

#[test]
fn a_machine_that_does_not_fit_is_refused_with_the_reason_and_nothing_is_done() {
    let at = Machines::new(1);
    let sshd = Sshd::start(&at.root());
    let full = at.root().join("full");
    std::fs::create_dir_all(&full).unwrap();
    std::fs::write(full.join("file"), "").unwrap();
    let other = at.root().join("other");
    for args in [
        &["init", "--quiet"][..],
        &[
            "-c",
            "user.name=O",
            "-c",
            "user.email=o@o",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "o",
        ],
    ] {
        std::fs::create_dir_all(&other).unwrap();
        assert!(Command::new("git").arg("-C").arg(&other).args(args).status().unwrap().success());
    }
    let [full, other] = [full, other].map(|path| format!("far:{}", path.display()));
    for (destination, fact) in [
        ("stranger", "Host key verification failed"),
        ("locked", "Permission denied"),
        ("nowhere.invalid", "Could not resolve"),
        (full.as_str(), "has files and is no repository"),
        (other.as_str(), "is another repository"),
        (":dir", "names no machine"),
        ("-oProxyCommand=true", "names no machine"),
    ] {
        let said = at.refused("home", &["host", "add", "--", destination]);
        assert!(said.contains(fact), "{destination}: {said}");
        assert!(said.lines().count() > 1, "{destination} has no remedy: {said}");
    }
    let said = at.refused("home", &["host", "add", "far", "--name", "a.b"]);
    assert!(said.contains("a.b"), "{said}");
    assert_eq!(at.processes("home", "line"), vec![]);
    drop(sshd);
}
