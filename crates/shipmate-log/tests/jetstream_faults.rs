//! What a JetStream log does when the server, the network or somebody else on it misbehaves.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/nats.rs"]
mod nats;
#[path = "support/temp.rs"]
mod temp;

use async_nats::jetstream::stream::{Config, DiscardPolicy};
use nats::Server;
use shipmate_log::conformance::{records, run};
use shipmate_log::{
    AppendFailure, JetStreamAccess, JetStreamLog, JetStreamOptions, Log, OpenFailure, ReadFailure,
    Seal, Snapshot,
};
use std::time::Duration;

/// A server may stand still for a while.
fn options(server: &Server) -> JetStreamOptions {
    let options = JetStreamOptions::new(server.url(), "TEAM", "team.log");
    JetStreamOptions { answer_within: Duration::from_secs(120), ..options }
}

/// A log with one record, for tests in which an answer never comes: it waits for none for long.
/// What it could not do because the server stood still is done again.
async fn impatient(server: &Server) -> JetStreamLog {
    let options = JetStreamOptions { answer_within: Duration::from_secs(2), ..options(server) };
    let mut log = loop {
        match JetStreamLog::open(options.clone()).await {
            Ok(log) => break log,
            Err(OpenFailure::Unavailable(_)) => {}
            Err(failure) => panic!("{failure}"),
        }
    };
    let first = append_when_back(&mut log, 0, &records("a", 1)).await;
    assert!(matches!(first, Ok(1) | Err(AppendFailure::Conflict { end: 1 })), "{first:?}");
    log
}

/// What an append comes to that is asked for until it is answered. One that was stored without an
/// answer is in the way of the next.
async fn append_when_back(
    log: &mut JetStreamLog,
    end: u64,
    texts: &[String],
) -> Result<u64, AppendFailure> {
    loop {
        match log.append(end, texts).await {
            Err(AppendFailure::Unconfirmed(_)) => {}
            outcome => return outcome,
        }
    }
}

async fn raw(server: &Server) -> async_nats::jetstream::Context {
    async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap())
}

async fn all_texts(log: &mut JetStreamLog) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        let page = match log.read(texts.len() as u64, 100).await {
            Err(ReadFailure::Unavailable(_)) => continue,
            page => page.unwrap(),
        };
        if page.is_empty() {
            return texts;
        }
        for record in page {
            assert_eq!(record.position, texts.len() as u64 + 1);
            texts.push(record.text);
        }
    }
}

/// The end, once a server that was away answers again.
async fn end_when_back(log: &mut JetStreamLog) -> u64 {
    loop {
        match log.end().await {
            Ok(end) => return end,
            Err(ReadFailure::Unavailable(_)) => {}
            Err(failure) => panic!("{failure}"),
        }
    }
}

#[test]
fn an_append_to_a_frozen_server_is_unconfirmed_and_reading_tells_what_became_of_it() {
    run(async {
        let server = Server::start();
        let mut log = impatient(&server).await;
        server.freeze();
        let outcome = log.append(1, &records("b", 2)).await;
        assert!(matches!(outcome, Err(AppendFailure::Unconfirmed(_))), "{outcome:?}");
        let outcome = log.append(1, &[]).await;
        assert!(matches!(outcome, Err(AppendFailure::Unconfirmed(_))), "{outcome:?}");
        assert!(matches!(log.read(0, 9).await, Err(ReadFailure::Unavailable(_))));
        server.thaw();
        // It was in the server's socket, so it is stored before anything that is asked later.
        assert_eq!(end_when_back(&mut log).await, 3);
        let again = append_when_back(&mut log, 1, &records("b", 2)).await;
        assert_eq!(again, Err(AppendFailure::Conflict { end: 3 }));
        assert_eq!(all_texts(&mut log).await, [records("a", 1), records("b", 2)].concat());
    });
}

#[test]
fn an_append_to_a_dead_server_is_unconfirmed_and_is_stored_at_most_once() {
    run(async {
        let mut server = Server::start();
        let mut log = impatient(&server).await;
        server.kill();
        for _ in 0..3 {
            let outcome = log.append(1, &records("b", 1)).await;
            assert!(matches!(outcome, Err(AppendFailure::Unconfirmed(_))), "{outcome:?}");
        }
        server.restart();
        // The client may still hold the lost appends and send them now; whichever comes first
        // shuts out the others and the one that is asked here.
        end_when_back(&mut log).await;
        match append_when_back(&mut log, 1, &records("b", 1)).await {
            Ok(end) | Err(AppendFailure::Conflict { end }) => assert_eq!(end, 2),
            Err(failure) => panic!("{failure}"),
        }
        assert_eq!(all_texts(&mut log).await, [records("a", 1), records("b", 1)].concat());
    });
}

#[test]
fn what_was_confirmed_survives_kills_of_the_server() {
    run(async {
        let mut server = Server::start();
        let mut confirmed: Vec<String> = Vec::new();
        for round in 0..6 {
            let mut log = JetStreamLog::open(options(&server)).await.unwrap();
            assert_eq!(all_texts(&mut log).await, confirmed);
            for batch in 0..20 {
                let texts = records(&format!("{round}-{batch}"), 1 + batch % 3);
                log.append(confirmed.len() as u64, &texts).await.unwrap();
                confirmed.extend(texts);
            }
            server.kill();
            server.restart();
        }
        let mut log = JetStreamLog::open(options(&server)).await.unwrap();
        assert_eq!(all_texts(&mut log).await, confirmed);
    });
}

#[test]
fn a_waiter_still_learns_of_appends_after_the_server_was_restarted() {
    run(async {
        let mut server = Server::start();
        let mut log = impatient(&server).await;
        let mut watch = log.follow();
        assert_eq!(watch.beyond(0).await, Ok(1));
        server.kill();
        server.restart();
        let mut other = JetStreamLog::open(options(&server)).await.unwrap();
        other.append(1, &records("b", 1)).await.unwrap();
        loop {
            match watch.beyond(1).await {
                Ok(end) => break assert_eq!(end, 2),
                Err(_) => {
                    if end_when_back(&mut log).await > 1 {
                        break;
                    }
                    watch = log.follow();
                }
            }
        }
        let learns = async {
            loop {
                // It ends where the server does not answer in time.
                if let Ok(end) = log.follow().beyond(2).await {
                    break end;
                }
            }
        };
        let (end, appended) =
            tokio::join!(learns, async { other.append(2, &records("c", 1)).await });
        assert_eq!((end, appended), (3, Ok(3)));
    });
}

#[test]
fn a_full_stream_refuses_appends_keeps_what_it_has_and_resumes_with_more_space() {
    run(async {
        let server = Server::start();
        let limited = JetStreamOptions { stream_bytes_max: Some(8 * 1024), ..options(&server) };
        let mut log = JetStreamLog::open(limited).await.unwrap();
        let text = "x".repeat(1000);
        let mut end = 0;
        let failure = loop {
            match log.append(end, std::slice::from_ref(&text)).await {
                Ok(grown) => end = grown,
                Err(failure) => break failure,
            }
        };
        assert!(matches!(failure, AppendFailure::Full(_)), "{failure:?}");
        assert!(end > 2, "some appends fit");
        assert_eq!(all_texts(&mut log).await, vec![text.clone(); end as usize]);

        let context = raw(&server).await;
        let config = context.get_stream("TEAM").await.unwrap().cached_info().config.clone();
        context.update_stream(Config { max_bytes: -1, ..config }).await.unwrap();
        assert_eq!(log.append(end, std::slice::from_ref(&text)).await, Ok(end + 1));
    });
}

#[test]
fn a_message_that_no_log_wrote_is_damage_and_not_a_record() {
    run(async {
        let server = Server::start();
        let mut log = JetStreamLog::open(options(&server)).await.unwrap();
        log.append(0, &records("a", 2)).await.unwrap();
        raw(&server).await.publish("team.log", "{}".into()).await.unwrap().await.unwrap();
        let outcome = log.append(2, &records("b", 1)).await;
        assert!(matches!(outcome, Err(AppendFailure::Unconfirmed(_))), "{outcome:?}");
        let outcome = log.read(0, 9).await;
        let Err(ReadFailure::Damaged { position, place, reason }) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(position, 3);
        assert!(place.contains("team.log") && reason.contains("message 2"), "{place}: {reason}");
        let outcome = JetStreamLog::open(options(&server)).await;
        assert!(matches!(outcome, Err(OpenFailure::Damaged { .. })), "{outcome:?}");
    });
}

#[test]
fn several_logs_share_a_stream_and_each_is_found_by_its_own_positions() {
    run(async {
        let server = Server::start();
        let config = Config {
            name: "TEAM".into(),
            subjects: vec!["team.>".into()],
            discard: DiscardPolicy::New,
            deny_delete: true,
            deny_purge: true,
            ..Config::default()
        };
        raw(&server).await.create_stream(config).await.unwrap();
        let named = |subject| JetStreamOptions { subject, ..options(&server) };
        let mut logs = Vec::new();
        for name in ["a", "b", "c"] {
            let log = JetStreamLog::open(named(format!("team.{name}"))).await.unwrap();
            logs.push((log, records(name, 300)));
        }
        // Interleaved in runs of different lengths, so that sequences say nothing of positions.
        let mut ends = [0_usize; 3];
        for turn in 0.. {
            if ends == [300; 3] {
                break;
            }
            let which = [0, 1, 0, 2, 2, 2][turn % 6];
            let (log, texts) = &mut logs[which];
            let until = (ends[which] + 1 + turn % 4).min(300);
            log.append(ends[which] as u64, &texts[ends[which]..until]).await.unwrap();
            ends[which] = until;
        }
        for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
            for after in [0, 299, 150, 37, 290, 1] {
                // A new holder has no landmarks and must search.
                let mut log = JetStreamLog::open(named(format!("team.{name}"))).await.unwrap();
                let page = log.read(after, 20).await.unwrap();
                let expected = logs[index].1[after as usize..].iter().take(20);
                assert!(page.iter().map(|record| &record.text).eq(expected), "after {after}");
                assert_eq!(page[0].position, after + 1);
            }
            assert_eq!(all_texts(&mut logs[index].0).await, records(name, 300));
        }
    });
}

#[test]
fn a_half_written_snapshot_is_ignored() {
    run(async {
        let server = Server::start();
        let mut log = JetStreamLog::open(options(&server)).await.unwrap();
        log.append(0, &records("a", 5)).await.unwrap();
        let whole = Snapshot { position: 3, text: "whole".into() };
        log.save_snapshot(&whole).await.unwrap();
        let context = raw(&server).await;
        let part = "snapshot.TEAM.team.log.part.5-x.0";
        context.publish(part, "half of it".into()).await.unwrap().await.unwrap();
        assert_eq!(log.load_snapshot().await, Ok(Some(whole)));

        let manifest = r#"{"position":5,"parts_under":"snapshot.TEAM.team.log.part.5-x",
            "parts":2,"crc":1}"#;
        let newest = "snapshot.TEAM.team.log.newest";
        context.publish(newest, manifest.into()).await.unwrap().await.unwrap();
        assert_eq!(log.load_snapshot().await, Ok(None));
        context.publish(newest, "{".into()).await.unwrap().await.unwrap();
        assert_eq!(log.load_snapshot().await, Ok(None));

        let next = Snapshot { position: 5, text: "next".into() };
        log.save_snapshot(&next).await.unwrap();
        assert_eq!(log.load_snapshot().await, Ok(Some(next)));
        let mut stream = context.get_stream("TEAM-snapshots").await.unwrap();
        let left = stream.info().await.unwrap().state.messages;
        assert_eq!(left, 2, "one part and the manifest are left");
    });
}

#[test]
fn a_snapshot_of_records_that_are_gone_is_damage() {
    run(async {
        let server = Server::start();
        let mut log = JetStreamLog::open(options(&server)).await.unwrap();
        log.append(0, &records("a", 5)).await.unwrap();
        log.save_snapshot(&Snapshot { position: 5, text: "five".into() }).await.unwrap();
        raw(&server).await.delete_stream("TEAM").await.unwrap();
        let mut log = JetStreamLog::open(options(&server)).await.unwrap();
        let outcome = log.load_snapshot().await;
        assert!(matches!(outcome, Err(ReadFailure::Damaged { position: 1, .. })), "{outcome:?}");
    });
}

#[test]
fn a_stream_that_could_lose_records_is_refused_with_its_flaws() {
    run(async {
        let server = Server::start();
        let config = Config {
            name: "TEAM".into(),
            subjects: vec!["team.*".into()],
            max_age: Duration::from_secs(3600),
            ..Config::default()
        };
        raw(&server).await.create_stream(config).await.unwrap();
        let failure = JetStreamLog::open(options(&server)).await.unwrap_err();
        let OpenFailure::Unsuitable(text) = failure else { panic!("{failure:?}") };
        for flaw in ["TEAM", "by age", "old messages when it is full", "to be deleted"] {
            assert!(text.contains(flaw), "{flaw}: {text}");
        }
    });
}

/// Whoever has the server and not the key can add to a stream, and nobody takes it for the team's.
#[test]
fn what_a_server_puts_into_a_sealed_log_is_read_by_nobody() {
    run(async {
        let server = Server::start();
        let sealed = |key: &[u8], after| JetStreamOptions {
            seal: Some(Seal::new(key.to_vec(), after)),
            ..options(&server)
        };
        // Without a key first, as a log that is older than its hosts.
        let mut plain = JetStreamLog::open(options(&server)).await.unwrap();
        plain.append(0, &records("a", 2)).await.unwrap();
        let mut log = JetStreamLog::open(sealed(b"key", 0)).await.unwrap();
        assert!(matches!(log.read(0, 9).await, Err(ReadFailure::Damaged { .. })));
        let mut log = JetStreamLog::open(sealed(b"key", 1)).await.unwrap();
        log.append(2, &records("b", 2)).await.unwrap();
        assert_eq!(log.read(0, 9).await.unwrap().len(), 4);
        let snapshot = Snapshot { position: 4, text: "the state".into() };
        log.save_snapshot(&snapshot).await.unwrap();
        assert_eq!(log.load_snapshot().await, Ok(Some(snapshot)));
        // By one who has another key, and by one who has none: all headers but the code are right.
        for access in [sealed(b"other", 9), options(&server)] {
            let mut forger = JetStreamLog::open(access).await.unwrap();
            let end = forger.end().await.unwrap();
            let state = Snapshot { position: end, text: "another state".into() };
            forger.save_snapshot(&state).await.unwrap();
            assert_eq!(log.load_snapshot().await, Ok(None), "a state that nobody of ours saved");
            forger.append(end, &records("forged", 1)).await.unwrap();
        }
        let mut log = JetStreamLog::open(sealed(b"key", 1)).await.unwrap();
        assert_eq!(log.read(2, 2).await.unwrap().len(), 2);
        let failure = log.read(4, 9).await.unwrap_err();
        let ReadFailure::Damaged { position, reason, .. } = failure else { panic!("{failure:?}") };
        assert!(position == 5 && reason.contains("machines"), "{position}: {reason}");
    });
}

#[test]
fn a_server_without_jetstream_or_out_of_reach_or_closed_to_us_is_told_apart() {
    run(async {
        let mut server = Server::start_with("authorization { user: ana, password: secret }");
        let failure = JetStreamLog::open(options(&server)).await.unwrap_err();
        assert!(matches!(failure, OpenFailure::Unsuitable(_)), "{failure:?}");
        let access = JetStreamAccess::Password { user: "ana".into(), password: "secret".into() };
        let welcome = JetStreamOptions { access, ..options(&server) };
        assert!(!format!("{welcome:?}").contains("secret"));
        JetStreamLog::open(welcome.clone()).await.unwrap();
        server.kill();
        let failure = JetStreamLog::open(welcome).await.unwrap_err();
        assert!(matches!(failure, OpenFailure::Unavailable(_)), "{failure:?}");
    });
}

#[test]
fn a_smaller_message_limit_of_the_server_is_the_limit_of_an_append() {
    run(async {
        let server = Server::start_with("max_payload: 65536");
        let mut log = JetStreamLog::open(options(&server)).await.unwrap();
        let max = log.append_bytes_max();
        assert!(max < 65536);
        assert_eq!(log.append(0, &["x".repeat(max - 1)]).await, Ok(1));
        let outcome = log.append(1, &["x".repeat(max)]).await;
        assert_eq!(outcome, Err(AppendFailure::TooLarge { bytes: max + 1, max }));
        let large = Snapshot { position: 1, text: "s".repeat(1_000_000) };
        log.save_snapshot(&large).await.unwrap();
        assert_eq!(log.load_snapshot().await, Ok(Some(large)));
    });
}
