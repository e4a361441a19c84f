//! A workspace is removed between a client's look and the start of its coordinator: nothing is made anew.

use std::path::PathBuf;

use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::{Ask, Client};

use super::{SHIPMATE, Workspace};

/// Removes `what` of the workspace at the moment a client starts a coordinator, and what the client says.
fn removed_at_the_start(what: &str) -> (PathBuf, String) {
    let workspace = Workspace::new("");
    let (mut person, _) = workspace.team(&[]);
    person.ask(Ask::Status).unwrap();
    workspace.kill();
    let place = workspace.place();
    let line = format!("rm -rf \"$0/{what}\"; exec \"$@\"");
    let mut args = vec!["-c".into(), line.into(), workspace.path().into(), SHIPMATE.into()];
    args.extend(["--workspace".into(), workspace.path().into()]);
    args.extend(["coordinator".into(), "run".into()]);
    let launch = Launch::Program { program: "sh".into(), args };
    let mut client = Client::new(place.clone(), launch, TokenSource::Person);
    let failure = client.ask(Ask::Status).unwrap_err().to_string();
    (place.workspace.join(what), failure)
}

#[test]
fn a_state_that_is_removed_while_a_coordinator_starts_is_not_made_anew() {
    let (removed, failure) = removed_at_the_start(".shipmate/state");
    assert!(failure.ends_with("is gone, and the team with it"), "{failure}");
    assert!(!removed.exists());
}

#[test]
fn a_workspace_that_is_removed_while_a_coordinator_starts_is_not_made_anew() {
    let (removed, failure) = removed_at_the_start("");
    assert!(failure.ends_with("is gone"), "{failure}");
    assert!(!removed.exists());
}
