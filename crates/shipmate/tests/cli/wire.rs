//! What comes over the socket from strangers: other versions, garbage, half a request.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use crate::transcript::Workspace;

fn connect(workspace: &Workspace) -> UnixStream {
    UnixStream::connect(workspace.path.join(".shipmate/state/coordinator.sock")).unwrap()
}

/// Sends bytes and returns the lines that come back until the connection ends.
fn exchange(workspace: &Workspace, bytes: &[u8]) -> Vec<String> {
    let mut stream = connect(workspace);
    // The other side may close before it has read everything.
    drop(stream.write_all(bytes));
    drop(stream.shutdown(std::net::Shutdown::Write));
    BufReader::new(stream).lines().map_while(Result::ok).collect()
}

fn hello(workspace: &Workspace, protocol: u32) -> String {
    let token = std::fs::read_to_string(workspace.path.join(".shipmate/state/person.token"));
    let token = token.unwrap();
    format!(
        "{{\"protocol\":{protocol},\"version\":\"9.9.9\",\"client\":\"stranger\",\"token\":\"{}\"}}\n",
        token.trim()
    )
}

#[test]
fn garbage_before_the_hello_is_refused_and_harms_nobody() {
    let workspace = Workspace::with_team(&[]);
    let long = vec![b'x'; 1 << 20];
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"{}\n", b"\xff\xfe\n", b"[1,2]\n", &long] {
        let replies = exchange(&workspace, bytes);
        assert!(replies.len() <= 1, "{replies:?}");
        assert!(replies.iter().all(|line| line.contains("\"refused\"")), "{replies:?}");
    }
    workspace.succeed("shipmate team list");
}

#[test]
fn a_client_of_another_version_is_told_so() {
    let workspace = Workspace::with_team(&[]);
    let replies = exchange(&workspace, hello(&workspace, 999).as_bytes());
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert!(replies[0].contains("\"code\":\"Version\""), "{replies:?}");
    assert!(replies[0].contains("\"remedy\""), "{replies:?}");
}

#[test]
fn half_a_request_changes_nothing() {
    let workspace = Workspace::with_team(&[]);
    let half = "{\"id\":1,\"ask\":{\"task_create\":{\"tasks\":[{\"subject\":\"half";
    let replies = exchange(
        &workspace,
        format!("{}{half}", hello(&workspace, shipmate_protocol::PROTOCOL)).as_bytes(),
    );
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert!(replies[0].contains("\"welcome\""), "{replies:?}");
    assert_eq!(workspace.succeed("shipmate task list --json"), "[]\n");
}

#[test]
fn a_request_that_is_none_is_refused_by_name() {
    let workspace = Workspace::with_team(&[]);
    for request in ["{\"id\":1,\"ask\":\"fly\"}", "nonsense", "{\"id\":-1,\"ask\":\"status\"}"] {
        let text = format!("{}{request}\n", hello(&workspace, shipmate_protocol::PROTOCOL));
        let replies = exchange(&workspace, text.as_bytes());
        assert_eq!(replies.len(), 2, "{replies:?}");
        assert!(replies[1].contains("\"code\":\"BadRequest\""), "{replies:?}");
    }
    workspace.succeed("shipmate team list");
}

#[test]
fn a_repeated_request_is_carried_out_once() {
    let workspace = Workspace::with_team(&[]);
    let request = "{\"id\":1,\"ask\":{\"task_create\":{\"tasks\":[{\"subject\":\"once\"}]}}}\n";
    let text = format!("{}{request}", hello(&workspace, shipmate_protocol::PROTOCOL));
    let [first, again] = [(); 2].map(|()| {
        let mut stream = connect(&workspace);
        stream.write_all(text.as_bytes()).unwrap();
        BufReader::new(stream).lines().nth(1).unwrap().unwrap()
    });
    assert!(first.contains("\"created\":{\"tasks\":[1]}"), "{first}");
    assert_eq!(first, again);
    let list = workspace.succeed("shipmate task list --json");
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&list).unwrap().len(), 1);
}
