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
use shipmate_log::{JetStreamOptions, PackFailure, Packs};
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
