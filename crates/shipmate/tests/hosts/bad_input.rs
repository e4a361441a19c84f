//! What is wrong with a machine or a server is said with a remedy before anything is done, and the same
//! command goes on once it is mended. The `ssh` here runs its line on this machine, in a bad way of its own.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::machines::Machines;
use crate::nats::Server;
use crate::sshd::in_path;
use crate::temp::TempDir;

/// A line takes the port that it is told, which is the server's own here.
const SSH: &str = r#"#!/bin/sh
forward=
while [ "$1" != "--" ]; do
    if [ "$1" = "-R" ]; then forward=yes; fi
    shift
done
way=$(cat "$ROOT/way")
if [ -n "$forward" ]; then
    case "$way" in
        port-taken) echo "Error: remote port forwarding failed for listen port 1" >&2; exit 255 ;;
        no-forwarding) echo "administratively prohibited" >&2; exit 255 ;;
    esac
    exec sleep 100000
fi
if [ "$way" = no-shell ]; then echo "This account is currently not available." >&2; exit 1; fi
unset SHIPMATE_LIFE
export HOME="$ROOT/far-home" PATH="$ROOT/$way.bin:$ROOT/common.bin"
exec sh -c "$3"
"#;

/// What the machine has, unless it lacks it.
const TOOLS: [&str; 12] =
    ["sh", "git", "uname", "ls", "cat", "mkdir", "chmod", "mv", "rm", "sed", "env", "sleep"];

fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

struct Far(Machines);

impl Far {
    fn new() -> Far {
        let mut at = Machines::new(1);
        at.expect("far");
        let root = at.root();
        let ssh = SSH.replace("$ROOT", &root.display().to_string());
        program(&root.join("bin/ssh"), &ssh);
        std::fs::create_dir_all(root.join("far-home")).unwrap();
        std::fs::create_dir_all(root.join("common.bin")).unwrap();
        let far = Far(at);
        for name in TOOLS {
            far.has("common", name);
        }
        far
    }

    fn has(&self, way: &str, name: &str) {
        let folder = self.0.root().join(format!("{way}.bin"));
        std::fs::create_dir_all(&folder).unwrap();
        symlink(in_path(name), folder.join(name)).unwrap();
    }

    fn stub(&self, way: &str, name: &str, text: &str) {
        program(&self.0.root().join(format!("{way}.bin")).join(name), text);
    }

    /// A machine that has this release is not given a copy.
    fn has_shipmate(&self, way: &str) {
        let program = env!("CARGO_BIN_EXE_shipmate");
        self.stub(way, "shipmate", &format!("#!/bin/sh\nexec {program} \"$@\"\n"));
    }

    fn is(&self, way: &str) {
        std::fs::write(self.0.root().join("way"), way).unwrap();
    }

    fn destination(&self) -> String {
        format!("far:{}", self.0.workspace("far").display())
    }

    /// Is refused with this fact and a remedy, and has done nothing there.
    #[track_caller]
    fn refuses(&self, way: &str, fact: &str, remedy: &str) {
        self.is(way);
        let said = self.0.refused("home", &["host", "add", &self.destination()]);
        assert!(said.contains(fact) && said.contains(remedy), "{way}: {said}");
        assert_eq!(self.0.processes("home", "line"), vec![], "{way}");
        assert!(!self.0.workspace("far").exists(), "{way}");
    }
}

#[test]
fn a_machine_that_lacks_something_says_what_and_is_added_once_it_has_it() {
    let far = Far::new();
    far.refuses("no-shell", "gives no shell that can be used", "must work");

    std::fs::remove_file(far.0.root().join("common.bin/git")).unwrap();
    far.refuses("no-git", "has no git", "install it there");
    far.has("common", "git");

    let machine = "#!/bin/sh\ncase \"$1\" in -s) echo Linux ;; *) echo pdp11 ;; esac\n";
    far.stub("pdp11", "uname", machine);
    far.refuses("pdp11", "far is Linux pdp11, and this program is for", "install shipmate");

    let full = "#!/bin/sh\necho 'cat: write error: No space left on device' >&2\nexit 1\n";
    far.stub("full", "cat", full);
    far.refuses("full", "No space left on device", "make room there");
    let copies = far.0.root().join("far-home/.local/share/shipmate");
    assert_eq!(std::fs::read_dir(copies).unwrap().count(), 0, "half a program was left");

    for way in ["port-taken", "no-forwarding", "good"] {
        far.has_shipmate(way);
    }
    far.refuses("port-taken", "no port is free on far", "see what listens there");
    far.refuses("no-forwarding", "administratively prohibited", "AllowTcpForwarding");

    far.is("good");
    let destination = far.destination();
    let added = far.0.ok("home", &["host", "add", &destination, "--slots", "1"]);
    assert!(added.contains("host far is there"), "{added}");
    // The same words again change nothing.
    let again = far.0.ok("home", &["host", "add", &destination, "--slots", "1"]);
    assert!(again.contains("a host already") && again.contains("host far is there"), "{again}");
    let hosts: serde_json::Value =
        serde_json::from_str(&far.0.ok("home", &["host", "list", "--json"])).unwrap();
    assert_eq!(hosts.as_array().unwrap().len(), 2, "{hosts}");
    assert_eq!(far.0.processes("home", "line").len(), 1);
}

#[test]
fn a_name_that_no_host_can_have_and_a_second_home_are_refused_before_anything_is_done() {
    let far = Far::new();
    far.is("good");
    far.has_shipmate("good");
    let destination = far.destination();
    for option in [["--name", "a/b"], ["--name", "a.b"], ["--label", "a/b"]] {
        let args = [&["host", "add", &destination][..], &option].concat();
        let said = far.0.refused("home", &args);
        assert!(said.contains(option[1]) && said.contains("letters, digits"), "{said}");
    }
    let said = far.0.refused("home", &["host", "invite", "a/b", "--file", "/nowhere/a.join"]);
    assert!(said.contains("letters, digits"), "{said}");
    let said = far.0.refused("home", &["host", "home", "far"]);
    assert!(said.contains("far"), "{said}");
    // Whom no file could be given to is not let in.
    far.0.refused("home", &["host", "invite", "far", "--file", "/nowhere/far.join"]);
    let server = far.0.place("home").state().join("nats/server.json");
    assert!(!std::fs::read_to_string(server).unwrap().contains("far"));
    assert!(!far.0.workspace("far").exists());
    assert_eq!(far.0.processes("home", "line"), vec![]);

    // A machine with teams of its own is their home.
    let invitation = far.0.root().join("far.join").display().to_string();
    far.0.ok("home", &["host", "invite", "far", "--file", &invitation]);
    plain(&far.0, "far");
    far.0.ok("far", &["team", "create", "beta"]);
    let url = far.0.url();
    let said = far.0.refused("far", &["host", "join", &url, "--token-file", &invitation]);
    assert!(
        said.contains("has teams of its own, beta") && said.contains("another folder"),
        "{said}"
    );
    assert!(!far.0.place("far").host_file().exists());
}

/// A repository that knows nothing of shipmate.
pub(crate) fn plain(at: &Machines, name: &str) {
    std::fs::create_dir_all(at.workspace(name)).unwrap();
    std::fs::create_dir_all(at.root().join("users").join(name)).unwrap();
    at.git(name, &["init", "--quiet"]);
}

#[track_caller]
pub(crate) fn says(mut command: Command, fact: &str, remedy: &str) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{command:?}");
    assert!(said.contains(fact) && said.contains(remedy), "{fact:?}, {remedy:?}: {said}");
}

#[test]
fn a_machine_without_a_server_that_will_do_keeps_its_logs_and_is_told_what_to_install() {
    let mut at = Machines::new(1);
    at.expect("plain");
    plain(&at, "plain");
    at.ok("plain", &["team", "create", "beta"]);
    let old = at.root().join("old/nats-server");
    program(&old, "#!/bin/sh\necho 'nats-server: v2.9.25'\n");
    let moved = |server: Option<&Path>| {
        let mut command = at.command("plain", &["log", "move", "nats", "--name", "plain"]);
        match server {
            Some(server) => command.env("SHIPMATE_NATS_SERVER", server),
            None => command.env_remove("SHIPMATE_NATS_SERVER"),
        };
        command.env("PATH", at.root().join("common.bin"));
        command
    };
    std::fs::create_dir_all(at.root().join("common.bin")).unwrap();
    symlink(in_path("git"), at.root().join("common.bin/git")).unwrap();
    says(moved(None), "nats-server is not on this machine", "the package nats-server");
    says(moved(Some(&old)), "is release 2.9.25", "2.10 or later is needed");
    says(moved(Some(&at.root().join("gone"))), "gone", "nats-server");
    assert!(!at.place("plain").host_file().exists());
    assert!(at.ok("plain", &["team", "list"]).contains("beta"));
    at.ok("plain", &["log", "move", "nats", "--name", "plain"]);
    assert!(at.ok("plain", &["team", "list"]).contains("beta"));
}

/// Moves the log of a workspace to a server of somebody else's.
pub(crate) fn to(at: &Machines, url: &str, options: &[&str]) -> Command {
    let args = ["log", "move", "nats", "--url", url, "--server-is-durable", "--name", "plain"];
    at.command("plain", &[&args[..], options].concat())
}

#[test]
fn a_server_of_somebody_else_that_will_not_do_is_refused_and_the_logs_stay() {
    let mut at = Machines::new(1);
    at.expect("plain");
    plain(&at, "plain");
    at.ok("plain", &["team", "create", "beta"]);
    let [right, wrong] = ["right", "wrong"].map(|word| {
        let path = at.root().join(word);
        std::fs::write(&path, word).unwrap();
        path.display().to_string()
    });
    let guarded = Server::start_with("authorization { token: right }");
    let url = guarded.url();
    says(to(&at, &url, &[]), "did not let us in", "login");
    says(to(&at, &url, &["--server-token-file", &wrong]), "did not let us in", "login");
    says(to(&at, &url, &["--credentials", &wrong]), "credentials", "wrong");

    let without = Server::start_with("jetstream: false");
    says(to(&at, &without.url(), &[]), "JetStream", "nothing was changed");
    assert!(!at.place("plain").host_file().exists());
    assert!(at.ok("plain", &["team", "list"]).contains("beta"));

    // With the right token it goes there.
    let moved = to(&at, &url, &["--server-token-file", &right]).output().unwrap();
    assert!(moved.status.success(), "{moved:?}");
    assert!(at.ok("plain", &["team", "list"]).contains("beta"));
}

#[test]
fn a_server_that_is_full_says_so_loses_nothing_and_goes_on_being_read() {
    let mut at = Machines::new(1);
    at.expect("plain");
    plain(&at, "plain");
    at.ok("plain", &["team", "create", "beta"]);
    let folder = TempDir::new();
    let store = folder.join("store");
    let full = Server::start_with(&format!("jetstream {{ store_dir: {store:?}, max_file: 1 }}"));
    let moved = to(&at, &full.url(), &[]).output().unwrap();
    assert!(moved.status.success(), "{moved:?}");
    says(
        at.command("plain", &["--team", "beta", "task", "create", "one"]),
        "insufficient",
        "make room",
    );
    assert!(at.ok("plain", &["team", "list"]).contains("beta"));
}

#[test]
fn a_server_with_a_certificate_of_its_own_is_believed_by_that_certificate_only() {
    let mut at = Machines::new(1);
    at.expect("plain");
    plain(&at, "plain");
    at.ok("plain", &["team", "create", "beta"]);
    let [own, other] = ["own", "other"].map(|name| {
        let [key, certificate] = ["key", "pem"].map(|end| at.root().join(format!("{name}.{end}")));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        (key.display().to_string(), certificate.display().to_string())
    });
    let tls = format!("tls {{ cert_file: {:?}, key_file: {:?} }}", own.1, own.0);
    let server = Server::start_with(&tls);
    let url = server.url().replace("nats://", "tls://");
    for options in [&[][..], &["--ca", &other.1]] {
        says(to(&at, &url, options), "certificate", "--ca");
    }
    says(to(&at, &url, &["--ca", "/nowhere.pem"]), "/nowhere.pem", "certificates");
    assert!(!at.place("plain").host_file().exists());
    let moved = to(&at, &url, &["--ca", &own.1]).output().unwrap();
    assert!(moved.status.success(), "{moved:?}");
    assert!(at.ok("plain", &["team", "list"]).contains("beta"));
}
