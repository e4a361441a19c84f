//! Nobody's token goes to another user, and nobody else is served.
//!
//! Only root can become somebody else: where these run as another user there is nothing to try.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::process::Uid;
use shipmate_protocol::{Ask, ClientFailure};

use super::Workspace;

const OTHER: u32 = 65534;

/// Does this as another user, on a thread of its own.
fn as_another<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    rustix::process::getuid().is_root().then(|| {
        let other = || {
            rustix::thread::set_thread_uid(Uid::from_raw(OTHER)).unwrap();
            work()
        };
        std::thread::scope(|scope| scope.spawn(other).join().unwrap())
    })
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn a_client_sends_its_token_to_no_other_user() {
    let workspace = Workspace::new("");
    workspace.team(&[]);
    workspace.kill();
    let socket = workspace.place().socket();
    drop(std::fs::remove_file(&socket));
    for path in [workspace.path(), workspace.place().project(), workspace.place().state()] {
        open_to_all(&path);
    }
    let Some(listener) = as_another(|| UnixListener::bind(&socket).unwrap()) else { return };
    match workspace.person().ask(Ask::Status) {
        Err(ClientFailure::Start(text)) => {
            assert!(text.contains("user 65534 listens there, not you"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    let mut heard = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut heard).unwrap();
    assert_eq!(String::from_utf8_lossy(&heard), "");
    std::fs::remove_file(&socket).unwrap();
}

#[test]
fn the_coordinator_answers_no_other_user() {
    let workspace = Workspace::new("");
    workspace.team(&[]);
    let (socket, token) = (workspace.place().socket(), workspace.person_token());
    let folders = [workspace.path(), workspace.place().project(), workspace.place().state()];
    folders.iter().chain([&socket]).for_each(|path| open_to_all(path));
    let heard = as_another(|| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        let hello = format!(
            "{{\"protocol\":1,\"version\":\"0\",\"client\":\"other\",\"token\":\"{token}\"}}\n"
        );
        // It may have been hung up on by now.
        drop(stream.write_all(hello.as_bytes()));
        let mut heard = Vec::new();
        drop(stream.read_to_end(&mut heard));
        String::from_utf8(heard).unwrap()
    });
    assert_eq!(heard.unwrap_or_default(), "");
}
