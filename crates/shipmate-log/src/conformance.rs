//! The promises of a log, one function each, run on every implementation.
//!
//! For tests only, and public only so that tests outside this crate's library can use it. The doc
//! comment of a function is the promise; [`conformance!`](crate::conformance!) turns all of them
//! into tests for one log.

use crate::{AppendFailure, Log, Snapshot};
use std::time::Duration;

/// How a log under test is opened. Dropping it removes what it left behind.
#[allow(async_fn_in_trait, reason = "tests run on a single-threaded executor")]
pub trait Opener {
    type Log: Log;

    /// Opens the log; called again, after the handle before was dropped, it opens the same one.
    async fn open(&mut self) -> Self::Log;

    /// Opens a second handle beside the first, where the log may have several.
    async fn open_beside(&mut self) -> Option<Self::Log>;

    /// Changes the stored snapshot behind the log's back. No handle is open meanwhile.
    async fn damage_snapshot(&mut self);
}

/// Generates a module with one test for each promise.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $opener:expr) => {
        mod $name {
            use super::*;
            $crate::conformance!(@tests $opener;
                an_append_is_read_back_in_order_and_dense
                an_empty_append_still_checks_the_end
                a_stale_expected_end_conflicts_and_writes_nothing
                an_expected_end_beyond_the_end_conflicts_and_writes_nothing
                several_records_are_appended_together
                what_was_acknowledged_is_there_after_reopening
                positions_have_no_gap_after_a_conflict
                reads_page_without_gaps_or_repeats
                reading_may_start_anywhere
                reading_after_the_end_is_empty
                a_waiter_wakes_on_an_append_and_not_before
                a_waiter_that_comes_after_the_append_returns_at_once
                a_waiter_wakes_on_an_append_of_another_holder
                a_dropped_wait_loses_no_wake_up
                no_snapshot_is_found_where_none_was_saved
                the_newest_snapshot_wins_and_survives_reopening
                a_large_snapshot_is_kept_byte_for_byte
                a_damaged_snapshot_is_ignored
                a_record_up_to_the_limit_is_kept
                a_record_over_the_limit_is_refused_and_writes_nothing
                records_survive_byte_for_byte
                of_concurrent_appenders_exactly_one_wins_each_position
                a_whole_log_verifies
            );
        }
    };
    (@tests $opener:expr; $($promise:ident)*) => {
        $(
            #[test]
            fn $promise() {
                $crate::conformance::run($crate::conformance::$promise($opener));
            }
        )*
    };
}

/// Runs one promise on an executor like the coordinator's, and ends it if it hangs.
pub fn run(promise: impl Future<Output = ()>) {
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let limit = Duration::from_secs(300);
    executor
        .expect("an executor starts")
        .block_on(async { tokio::time::timeout(limit, promise).await })
        .expect("a promise is kept within five minutes");
}

/// `count` distinct records whose texts start with `name`.
pub fn records(name: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| format!(r#"{{"from":"{name}","number":{number}}}"#)).collect()
}

async fn append(log: &mut impl Log, expected_end: u64, texts: &[String]) -> u64 {
    log.append(expected_end, texts).await.expect("the append is acknowledged")
}

/// All texts in the log, read in pages of `page`, with their positions checked.
async fn texts(log: &mut impl Log, page: usize) -> Vec<String> {
    let mut texts = Vec::new();
    loop {
        let read = log.read(texts.len() as u64, page).await.expect("the log can be read");
        assert!(read.len() <= page, "a page is not larger than asked for");
        if read.is_empty() {
            break;
        }
        for record in read {
            assert_eq!(record.position, texts.len() as u64 + 1, "positions are dense");
            texts.push(record.text);
        }
    }
    assert_eq!(log.end().await, Ok(texts.len() as u64));
    texts
}

/// Records come back in the order in which they were appended, numbered 1, 2, 3, ….
pub async fn an_append_is_read_back_in_order_and_dense(mut opener: impl Opener) {
    let mut log = opener.open().await;
    assert_eq!(log.end().await, Ok(0));
    let all = records("a", 7);
    assert_eq!(append(&mut log, 0, &all[..1]).await, 1);
    assert_eq!(append(&mut log, 1, &all[1..4]).await, 4);
    assert_eq!(append(&mut log, 4, &all[4..]).await, 7);
    assert_eq!(texts(&mut log, 100).await, all);
}

/// A refusal writes nothing, yet it must not be given on a stale view.
pub async fn an_empty_append_still_checks_the_end(mut opener: impl Opener) {
    let mut log = opener.open().await;
    assert_eq!(log.append(0, &[]).await, Ok(0));
    append(&mut log, 0, &records("a", 3)).await;
    assert_eq!(log.append(3, &[]).await, Ok(3));
    assert_eq!(log.append(2, &[]).await, Err(AppendFailure::Conflict { end: 3 }));
    assert_eq!(log.append(4, &[]).await, Err(AppendFailure::Conflict { end: 3 }));
    if let Some(mut other) = opener.open_beside().await {
        append(&mut other, 3, &records("b", 1)).await;
        assert_eq!(log.append(3, &[]).await, Err(AppendFailure::Conflict { end: 4 }));
        assert_eq!(log.append(4, &[]).await, Ok(4));
    }
}

/// Whoever has not seen the last record cannot append.
pub async fn a_stale_expected_end_conflicts_and_writes_nothing(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let kept = records("a", 3);
    append(&mut log, 0, &kept).await;
    for stale in 0..3 {
        let outcome = log.append(stale, &records("b", 2)).await;
        assert_eq!(outcome, Err(AppendFailure::Conflict { end: 3 }));
    }
    assert_eq!(texts(&mut log, 100).await, kept);
    let Some(mut other) = opener.open_beside().await else { return };
    append(&mut other, 3, &records("c", 2)).await;
    let outcome = log.append(3, &records("b", 2)).await;
    assert_eq!(outcome, Err(AppendFailure::Conflict { end: 5 }));
    assert_eq!(texts(&mut log, 100).await, [kept, records("c", 2)].concat());
}

/// An expected end that does not exist yet is no licence to leave a gap.
pub async fn an_expected_end_beyond_the_end_conflicts_and_writes_nothing(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let outcome = log.append(1, &records("b", 1)).await;
    assert_eq!(outcome, Err(AppendFailure::Conflict { end: 0 }));
    append(&mut log, 0, &records("a", 2)).await;
    let outcome = log.append(9, &records("b", 1)).await;
    assert_eq!(outcome, Err(AppendFailure::Conflict { end: 2 }));
    assert_eq!(texts(&mut log, 100).await, records("a", 2));
}

/// All records of an append are there, or none.
pub async fn several_records_are_appended_together(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let mut beside = opener.open_beside().await;
    let batch = records("a", 16);
    for round in 0..10 {
        let end = round * 16;
        append(&mut log, end, &batch).await;
        if let Some(other) = &mut beside {
            let seen = other.end().await.expect("the end can be read");
            assert_eq!(seen, end + 16, "an append is seen whole");
        }
        let outcome = log.append(end, &batch).await;
        assert_eq!(outcome, Err(AppendFailure::Conflict { end: end + 16 }));
    }
    assert_eq!(texts(&mut log, 100).await, [batch.as_slice(); 10].concat());
}

/// An acknowledged append outlives the handle.
pub async fn what_was_acknowledged_is_there_after_reopening(mut opener: impl Opener) {
    let all = records("a", 30);
    for (index, text) in all.iter().enumerate() {
        let mut log = opener.open().await;
        let end = log.end().await.expect("the end can be read");
        assert_eq!(end, index as u64);
        append(&mut log, end, std::slice::from_ref(text)).await;
    }
    let mut log = opener.open().await;
    assert_eq!(texts(&mut log, 100).await, all);
}

/// A conflict uses up no position.
pub async fn positions_have_no_gap_after_a_conflict(mut opener: impl Opener) {
    let mut log = opener.open().await;
    for end in 0..10 {
        let outcome = log.append(end + 1, &records("lost", 3)).await;
        assert_eq!(outcome, Err(AppendFailure::Conflict { end }));
        assert_eq!(append(&mut log, end, &records("kept", 1)).await, end + 1);
    }
    assert_eq!(texts(&mut log, 100).await, vec![records("kept", 1).remove(0); 10]);
}

/// Reading page after page gives every record once, whatever the size of a page or an append.
pub async fn reads_page_without_gaps_or_repeats(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let all = records("a", 200);
    let mut end = 0;
    for size in (1..=7).cycle() {
        let until = (end + size).min(all.len());
        append(&mut log, end as u64, &all[end..until]).await;
        end = until;
        if end == all.len() {
            break;
        }
    }
    for page in [1, 2, 3, 7, 64, 199, 200, 201] {
        assert_eq!(texts(&mut log, page).await, all, "in pages of {page}");
    }
}

/// Reads need not follow one another: any position may be asked for at any time.
pub async fn reading_may_start_anywhere(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let all = records("a", 60);
    for (index, pair) in all.chunks(2).enumerate() {
        append(&mut log, index as u64 * 2, pair).await;
    }
    for after in [59, 0, 30, 31, 29, 1, 58, 17, 44] {
        let read = log.read(after, 5).await.expect("the log can be read");
        let expected = &all[after as usize..(after as usize + 5).min(60)];
        assert!(read.iter().map(|record| &record.text).eq(expected), "after {after}: {read:?}");
        assert!(
            read.iter().map(|record| record.position).eq(after + 1..=after + read.len() as u64)
        );
    }
    assert_eq!(log.read(0, 0).await, Ok(vec![]));
}

/// There is nothing after the end, and asking for it is no failure.
pub async fn reading_after_the_end_is_empty(mut opener: impl Opener) {
    let mut log = opener.open().await;
    assert_eq!(log.read(0, 10).await, Ok(vec![]));
    append(&mut log, 0, &records("a", 2)).await;
    for after in [2, 3, 1000, u64::MAX] {
        assert_eq!(log.read(after, 10).await, Ok(vec![]));
    }
}

/// A waiter sleeps until there is something to read.
pub async fn a_waiter_wakes_on_an_append_and_not_before(mut opener: impl Opener) {
    let mut log = opener.open().await;
    append(&mut log, 0, &records("a", 2)).await;
    let mut watch = log.follow();
    let wait = watch.beyond(2);
    tokio::pin!(wait);
    tokio::select! {
        biased;
        end = &mut wait => panic!("woken at {end:?} though nothing was appended"),
        end = log.end() => assert_eq!(end, Ok(2)),
    }
    let next = records("b", 1);
    let (end, appended) = tokio::join!(wait, append(&mut log, 2, &next));
    assert_eq!((end, appended), (Ok(3), 3));
}

/// Nothing is missed between reading and waiting.
pub async fn a_waiter_that_comes_after_the_append_returns_at_once(mut opener: impl Opener) {
    let mut log = opener.open().await;
    append(&mut log, 0, &records("a", 2)).await;
    assert_eq!(log.follow().beyond(1).await, Ok(2));
    let mut watch = log.follow();
    append(&mut log, 2, &records("b", 1)).await;
    assert_eq!(watch.beyond(0).await.map(|end| end >= 2), Ok(true));
    assert_eq!(watch.beyond(2).await, Ok(3));
}

/// The wake-up does not depend on who appended.
pub async fn a_waiter_wakes_on_an_append_of_another_holder(mut opener: impl Opener) {
    let mut log = opener.open().await;
    append(&mut log, 0, &records("a", 1)).await;
    let mut watch = log.follow();
    let (mut first, mut second) = (watch.clone(), watch.clone());
    let beside = opener.open_beside().await;
    let appending = async {
        match beside {
            Some(mut other) => append(&mut other, 1, &records("b", 2)).await,
            None => append(&mut log, 1, &records("b", 2)).await,
        }
    };
    let (a, b, c, end) =
        tokio::join!(watch.beyond(1), first.beyond(1), second.beyond(2), appending);
    assert_eq!((a, b, c, end), (Ok(3), Ok(3), Ok(3), 3));
}

/// A wait may lose a `select!` again and again and still be woken.
pub async fn a_dropped_wait_loses_no_wake_up(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let mut watch = log.follow();
    for end in 0..20 {
        tokio::select! {
            biased;
            woken = watch.beyond(end) => panic!("woken at {woken:?} before {end} was passed"),
            () = tokio::task::yield_now() => {}
        }
        append(&mut log, end, &records("a", 1)).await;
        assert_eq!(watch.beyond(end).await, Ok(end + 1));
    }
}

/// An empty log has no snapshot.
pub async fn no_snapshot_is_found_where_none_was_saved(mut opener: impl Opener) {
    let mut log = opener.open().await;
    assert_eq!(log.load_snapshot().await, Ok(None));
    append(&mut log, 0, &records("a", 2)).await;
    assert_eq!(log.load_snapshot().await, Ok(None));
}

/// The snapshot with the highest position is loaded, in whatever order they were saved.
pub async fn the_newest_snapshot_wins_and_survives_reopening(mut opener: impl Opener) {
    let mut log = opener.open().await;
    append(&mut log, 0, &records("a", 9)).await;
    for position in [3, 9, 6] {
        let snapshot = Snapshot { position, text: format!("state {position}") };
        log.save_snapshot(&snapshot).await.expect("the snapshot is saved");
    }
    let newest = Snapshot { position: 9, text: "state 9".into() };
    assert_eq!(log.load_snapshot().await, Ok(Some(newest.clone())));
    drop(log);
    let mut log = opener.open().await;
    assert_eq!(log.load_snapshot().await, Ok(Some(newest)));
    assert_eq!(texts(&mut log, 100).await, records("a", 9));
}

/// A snapshot may be larger than an append and may have any number of lines.
pub async fn a_large_snapshot_is_kept_byte_for_byte(mut opener: impl Opener) {
    let mut log = opener.open().await;
    append(&mut log, 0, &records("a", 1)).await;
    let text = "{\"task\": \"größe\",\n \"state\": null}\n".repeat(100_000);
    let snapshot = Snapshot { position: 1, text };
    log.save_snapshot(&snapshot).await.expect("the snapshot is saved");
    drop(log);
    assert_eq!(opener.open().await.load_snapshot().await, Ok(Some(snapshot)));
}

/// A snapshot is a cache: a damaged one is as good as none, and the log goes on.
pub async fn a_damaged_snapshot_is_ignored(mut opener: impl Opener) {
    let mut log = opener.open().await;
    append(&mut log, 0, &records("a", 2)).await;
    let snapshot = Snapshot { position: 2, text: "the state".into() };
    log.save_snapshot(&snapshot).await.expect("the snapshot is saved");
    drop(log);
    opener.damage_snapshot().await;
    let mut log = opener.open().await;
    assert_eq!(log.load_snapshot().await, Ok(None));
    assert_eq!(append(&mut log, 2, &records("b", 1)).await, 3);
    let snapshot = Snapshot { position: 3, text: "the next state".into() };
    log.save_snapshot(&snapshot).await.expect("the snapshot is saved");
    assert_eq!(log.load_snapshot().await, Ok(Some(snapshot)));
}

/// The limit itself is allowed, for one record and for several together.
pub async fn a_record_up_to_the_limit_is_kept(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let max = log.append_bytes_max();
    let large = vec!["x".repeat(max - 1)];
    let halves = vec!["y".repeat(max / 2 - 1), "z".repeat(max - max / 2 - 1)];
    append(&mut log, 0, &large).await;
    append(&mut log, 1, &halves).await;
    let read = texts(&mut log, 100).await;
    assert!(read == [large, halves].concat(), "large records come back whole");
}

/// What is too large is refused with its size, and nothing of it is stored.
pub async fn a_record_over_the_limit_is_refused_and_writes_nothing(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let max = log.append_bytes_max();
    let too_large = Err(AppendFailure::TooLarge { bytes: max + 1, max });
    assert_eq!(log.append(0, &["x".repeat(max)]).await, too_large);
    let small_and_large = ["{}".into(), "x".repeat(max - 3)];
    assert_eq!(log.append(0, &small_and_large).await, too_large);
    assert_eq!(append(&mut log, 0, &records("a", 1)).await, 1);
    assert_eq!(texts(&mut log, 100).await, records("a", 1));
}

/// A text is kept as it is, whatever it holds besides a line feed.
pub async fn records_survive_byte_for_byte(mut opener: impl Opener) {
    let odd = [
        r#"{"text":"line\nfeed, \"quotes\", back\\slash, \u0000"}"#,
        "{\"text\":\"Zürich 東京 🚢 e\u{301} \u{202e}rtl\u{2028}\u{feff}\"}",
        "{\"text\":\"tab\tcarriage\rreturn\u{0}nul\u{1b}[0m\u{7f}\"}",
        "  leading and trailing spaces  ",
        "NATS/1.0 503\r",
        "'; DROP TABLE record; --",
        "[]",
        "0",
    ];
    let odd: Vec<String> = odd.into_iter().map(String::from).collect();
    let mut log = opener.open().await;
    append(&mut log, 0, &odd).await;
    for text in &odd {
        let end = log.end().await.expect("the end can be read");
        append(&mut log, end, std::slice::from_ref(text)).await;
    }
    drop(log);
    let mut log = opener.open().await;
    assert_eq!(texts(&mut log, 100).await, [odd.as_slice(), odd.as_slice()].concat());
}

/// Appenders that race see every position given to exactly one of them.
pub async fn of_concurrent_appenders_exactly_one_wins_each_position(mut opener: impl Opener) {
    const EACH: usize = 25;
    let mut log = opener.open().await;
    let beside = (opener.open_beside().await, opener.open_beside().await);
    let mut won = if let (Some(mut second), Some(mut third)) = beside {
        let (a, b, c) = tokio::join!(
            append_all(&mut log, records("a", EACH)),
            append_all(&mut second, records("b", EACH)),
            append_all(&mut third, records("c", EACH)),
        );
        [a, b, c].concat()
    } else {
        take_turns(&mut log, EACH).await
    };
    won.sort();
    let positions: Vec<u64> = won.iter().map(|(position, _)| *position).collect();
    assert!(positions.iter().copied().eq(1..=won.len() as u64), "{positions:?}");
    let expected: Vec<String> = won.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts(&mut log, 100).await, expected);
}

/// Appends each text on its own, catching up whenever another was faster.
async fn append_all(log: &mut impl Log, all: Vec<String>) -> Vec<(u64, String)> {
    let mut won = Vec::new();
    let mut end = 0;
    for text in all {
        end = loop {
            match log.append(end, std::slice::from_ref(&text)).await {
                Ok(end) => break end,
                Err(AppendFailure::Conflict { end: moved }) => {
                    assert!(moved > end, "a conflict means that the end has moved on");
                    end = moved;
                }
                Err(failure) => panic!("{failure}"),
            }
            tokio::task::yield_now().await;
        };
        won.push((end, text));
        tokio::task::yield_now().await;
    }
    won
}

/// The same on a log with one handle: three deciders, each of which knows only what it wrote.
async fn take_turns(log: &mut impl Log, each: usize) -> Vec<(u64, String)> {
    let mut won = Vec::new();
    let mut known = [0; 3];
    for turn in 0..each * 3 {
        let decider = turn % 3;
        let text = format!(r#"{{"from":{decider},"number":{turn}}}"#);
        loop {
            match log.append(known[decider], std::slice::from_ref(&text)).await {
                Ok(end) => {
                    known[decider] = end;
                    won.push((end, text));
                    break;
                }
                Err(AppendFailure::Conflict { end }) => known[decider] = end,
                Err(failure) => panic!("{failure}"),
            }
        }
    }
    won
}

/// A log that nobody tampered with is found whole.
pub async fn a_whole_log_verifies(mut opener: impl Opener) {
    let mut log = opener.open().await;
    let all = records("a", 40);
    append(&mut log, 0, &all).await;
    log.rest().await;
    append(&mut log, 40, &all).await;
    let found = log.verify().await.expect("the log is whole");
    let bytes: usize = all.iter().map(String::len).sum();
    assert_eq!((found.records, found.bytes), (80, 2 * bytes as u64));
}
