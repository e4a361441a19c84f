//! Files that travel between machines, on a real server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/nats.rs"]
mod nats;
#[path = "support/temp.rs"]
mod temp;

use async_nats::jetstream;
use futures_util::StreamExt as _;
use nats::Server;
use shipmate_log::conformance::run;
use shipmate_log::{JetStreamAccess, JetStreamOptions, PackFailure, Packs};
use std::fs;
use std::time::Duration;
use temp::TempDir;

const LIMIT: u64 = 64 * 1024 * 1024;

async fn open(server: &Server) -> Packs {
    let options = JetStreamOptions::new(server.url(), "TEAM", "team.log");
    // A server may stand still for a while.
    let options = JetStreamOptions { answer_within: Duration::from_secs(120), ..options };
    Packs::open(&options).await.unwrap()
}

/// More than a message holds, and never the same byte for long.
fn bytes() -> Vec<u8> {
    (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn what_one_machine_puts_another_gets_byte_for_byte() {
    run(async {
        let (server, folder) = (Server::start(), TempDir::new());
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, bytes()).unwrap();
        let (here, there) = (open(&server).await, open(&server).await);
        let absent = there.get("work/1-10", &to, LIMIT).await;
        assert!(matches!(absent, Err(PackFailure::Absent(_))), "{absent:?}");
        here.put("work/1-10", &from).await.unwrap();
        there.get("work/1-10", &to, LIMIT).await.unwrap();
        assert!(fs::read(&to).unwrap() == bytes());
        // Whoever is not sure puts it again; the first one stays.
        fs::write(&from, b"other").unwrap();
        there.put("work/1-10", &from).await.unwrap();
        here.get("work/1-10", &to, LIMIT).await.unwrap();
        assert!(fs::read(&to).unwrap() == bytes());
        let large = here.get("work/1-10", &to, 1_000).await;
        assert!(matches!(large, Err(PackFailure::TooLarge { bytes: 3_000_000, .. })), "{large:?}");
    });
}

/// The client of the library makes stores that any server answers for.
#[test]
fn a_store_that_may_not_be_changed_is_used_as_it_is() {
    run(async {
        let server = Server::start_with(
            "authorization { users: [ { user: operator, password: o }, { user: host, password: h, \
             permissions: { publish: { deny: [\"$JS.API.STREAM.UPDATE.>\"] } } } ] }",
        );
        let operator = async_nats::ConnectOptions::new();
        let operator = operator.user_and_password("operator".to_owned(), "o".to_owned());
        let client = operator.connect(server.url()).await.unwrap();
        let config = jetstream::object_store::Config {
            bucket: "TEAM-packs".to_owned(),
            ..jetstream::object_store::Config::default()
        };
        let context = jetstream::new(client);
        context.create_object_store(config).await.unwrap();
        let is_direct = async || {
            let stream = context.get_stream("OBJ_TEAM-packs").await.unwrap();
            stream.cached_info().config.allow_direct
        };
        assert!(is_direct().await);
        let options = |user: &str, password: &str| JetStreamOptions {
            access: JetStreamAccess::Password { user: user.into(), password: password.into() },
            answer_within: Duration::from_secs(1),
            ..JetStreamOptions::new(server.url(), "TEAM", "team.log")
        };
        let packs = Packs::open(&options("host", "h")).await.unwrap();
        let folder = TempDir::new();
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, "one").unwrap();
        packs.put("work/1-10", &from).await.unwrap();
        packs.get("work/1-10", &to, LIMIT).await.unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"one");
        assert!(is_direct().await);
        // Who may change it does.
        Packs::open(&options("operator", "o")).await.unwrap();
        assert!(!is_direct().await);
    });
}

#[test]
fn a_pack_that_was_changed_on_the_server_is_damaged() {
    run(async {
        let (server, folder) = (Server::start(), TempDir::new());
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, bytes()).unwrap();
        let packs = open(&server).await;
        packs.put("work/1-10", &from).await.unwrap();
        // Somebody on the server takes a part away and puts another in its place.
        let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
        let stream = context.get_stream("OBJ_TEAM-packs").await.unwrap();
        let subjects = stream.info_with_subjects("$O.TEAM-packs.C.>").await.unwrap();
        let part = subjects.collect::<Vec<_>>().await.remove(0).unwrap().0;
        let last = stream.get_last_raw_message_by_subject(&part).await.unwrap();
        stream.delete_message(last.sequence).await.unwrap();
        let mut changed = last.payload.to_vec();
        changed[7] ^= 1;
        context.publish(part, changed.into()).await.unwrap().await.unwrap();
        let damaged = packs.get("work/1-10", &to, LIMIT).await;
        assert!(matches!(damaged, Err(PackFailure::Damaged { .. })), "{damaged:?}");
    });
}

#[test]
fn a_pack_that_was_taken_out_is_absent_and_may_come_again() {
    run(async {
        let (server, folder) = (Server::start(), TempDir::new());
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, bytes()).unwrap();
        let packs = open(&server).await;
        packs.put("work/1-10", &from).await.unwrap();
        packs.put("work/2-20", &from).await.unwrap();
        packs.remove("work/1-10").await.unwrap();
        packs.remove("work/1-10").await.unwrap();
        packs.remove("work/3-30").await.unwrap();
        assert!(!packs.has("work/1-10").await);
        let absent = packs.get("work/1-10", &to, LIMIT).await;
        assert!(matches!(absent, Err(PackFailure::Absent(_))), "{absent:?}");
        packs.get("work/2-20", &to, LIMIT).await.unwrap();
        assert_eq!(fs::read(&to).unwrap(), bytes());
        // Its bytes are gone with it.
        let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
        let stream = context.get_stream("OBJ_TEAM-packs").await.unwrap();
        assert!(stream.get_info().await.unwrap().state.bytes < 2 * bytes().len() as u64);
        packs.put("work/1-10", &from).await.unwrap();
        packs.get("work/1-10", &to, LIMIT).await.unwrap();
        assert_eq!(fs::read(&to).unwrap(), bytes());
    });
}
