//! Opening a team's log: snapshot, tail, and the state they fold to.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shipmate_core::{State, Writer};
use shipmate_log::{
    AnyLog, JetStreamAccess, JetStreamLog, JetStreamOptions, Log, OpenFailure, ReadFailure, Seal,
    Snapshot, SqliteLog,
};
use shipmate_protocol::refused;
use shipmate_protocol::{Code, Refused};

use crate::settings::{Durability, Nats, Settings, Store};
use crate::unsaid;

/// Grows when the state's shape changes; an older snapshot is then folded anew.
const SNAPSHOT_FORMAT: u32 = 5;
/// How often, and how long after the other, a log is tried that is in use.
const LOCK_TRIES_MAX: usize = 50;
const LOCK_AGAIN_AFTER: Duration = Duration::from_millis(20);
/// Records read at once while folding.
const PAGE: usize = 4096;

#[derive(Serialize, Deserialize)]
struct Saved<S> {
    format: u32,
    state: S,
}

#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) log: AnyLog,
    pub(crate) writer: Writer,
    /// Position of the snapshot it was opened from.
    pub(crate) snapshot: u64,
}

pub(crate) fn folder(settings: &Settings, root: &str) -> PathBuf {
    settings.place.teams().join(root)
}

pub(crate) async fn open(settings: &Settings, root: &str) -> Result<Opened, Refused> {
    let failed = |refused: Refused| {
        tracing::warn!(root, code = %refused.code, reason = ?refused.message, "a log cannot be opened");
        refused
    };
    let log = open_log(settings, root).await;
    let mut log = log.map_err(|e| failed(open_refusal(&e)))?;
    let (state, snapshot) = fold(&mut log).await.map_err(|e| failed(read_refusal(&e)))?;
    tracing::info!(root, position = state.position, snapshot, "a log is open");
    Ok(Opened { log, writer: Writer::new(state).revised(unsaid::without_secrets), snapshot })
}

async fn open_log(settings: &Settings, root: &str) -> Result<AnyLog, OpenFailure> {
    let folder = folder(settings, root);
    settings.place.make(&folder).map_err(|e| {
        OpenFailure::Unsuitable(format!("{}: {e}; check its permissions", folder.display()))
    })?;
    match &settings.store {
        Store::Sqlite(durability) => sqlite(&folder, *durability).await,
        Store::Nats(nats) => jetstream(nats, root).await,
    }
}

pub(crate) async fn sqlite(folder: &Path, durability: Durability) -> Result<AnyLog, OpenFailure> {
    let durability = match durability {
        Durability::Power => shipmate_log::Durability::Power,
        Durability::Process => shipmate_log::Durability::Process,
    };
    open_sqlite(&folder.join("log.db"), durability).await.map(AnyLog::Sqlite)
}

/// A coordinator that is killed gives its locks free one after the other: whoever has its
/// place already may have to wait a moment for its log.
async fn open_sqlite(
    path: &Path,
    durability: shipmate_log::Durability,
) -> Result<SqliteLog, OpenFailure> {
    for _ in 0..LOCK_TRIES_MAX {
        match SqliteLog::open(path, durability) {
            Err(OpenFailure::InUse { .. }) => {
                tokio::time::sleep_until(tokio::time::Instant::now() + LOCK_AGAIN_AFTER).await;
            }
            opened => return opened,
        }
    }
    SqliteLog::open(path, durability)
}

/// A deleted team's log is closed for ever, so its name goes on with the next
/// generation of its subject.
pub(crate) async fn jetstream(nats: &Nats, root: &str) -> Result<AnyLog, OpenFailure> {
    for generation in 1.. {
        let subject = format!("{}.{root}.{generation}", nats.subject_prefix);
        let mut log = AnyLog::JetStream(JetStreamLog::open(options(nats, &subject)).await?);
        let (state, _) = fold(&mut log).await.map_err(|failed| match failed {
            ReadFailure::Damaged { position, place, reason } => {
                OpenFailure::Damaged { place, reason: format!("record {position}: {reason}") }
            }
            ReadFailure::Unavailable(reason) => OpenFailure::Unavailable(reason),
        })?;
        if !state.is_over() {
            return Ok(log);
        }
    }
    unreachable!("there is always a next generation")
}

pub(crate) fn options(nats: &Nats, subject: &str) -> JetStreamOptions {
    let seed = nats.login.as_ref().map(|(_, seed)| seed).or(nats.nkey.as_ref());
    let access = match (&nats.credentials, seed, &nats.token) {
        (Some(path), _, _) => JetStreamAccess::CredentialsFile(path.clone()),
        (None, Some(seed), _) => JetStreamAccess::Nkey(seed.clone()),
        (None, None, Some(token)) => JetStreamAccess::Token(token.clone()),
        (None, None, None) => JetStreamAccess::Open,
    };
    JetStreamOptions {
        access,
        holds: format!("{}.>", nats.subject_prefix),
        replicas: nats.replicas,
        ca: nats.ca.clone(),
        seal: nats.key.clone().map(|key| Seal::new(key, nats.sealed_after.unwrap_or(0))),
        ..JetStreamOptions::new(&nats.url, &nats.stream, subject)
    }
}

/// The state of the whole log, and the position of the snapshot that helped.
pub(crate) async fn fold(log: &mut AnyLog) -> Result<(State, u64), ReadFailure> {
    let (mut state, snapshot) = match log.load_snapshot().await? {
        Some(snapshot) => match serde_json::from_str::<Saved<State>>(&snapshot.text) {
            Ok(saved) if saved.format == SNAPSHOT_FORMAT => {
                (saved.state.restore(), snapshot.position)
            }
            // Of another release: only a cache, so fold from the beginning.
            _ => (State::default(), 0),
        },
        None => (State::default(), 0),
    };
    fold_from(log, &mut state, u64::MAX).await?;
    Ok((state, snapshot))
}

/// Applies what comes after the state, up to and including `until`.
pub(crate) async fn fold_from(
    log: &mut AnyLog,
    state: &mut State,
    until: u64,
) -> Result<(), ReadFailure> {
    while state.position < until {
        let page = log.read(state.position, PAGE).await?;
        if page.is_empty() {
            break;
        }
        for entry in page.iter().take_while(|entry| entry.position <= until) {
            let record = parse(&entry.text, entry.position)?;
            shipmate_core::apply(state, &record);
        }
    }
    Ok(())
}

pub(crate) fn parse(text: &str, position: u64) -> Result<shipmate_model::Record, ReadFailure> {
    let damaged = |reason: String| {
        let place = "the team's log".to_owned();
        ReadFailure::Damaged { position, place, reason }
    };
    let record: shipmate_model::Record =
        serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
    if record.n != position {
        return Err(damaged(format!("it says that it is record {}", record.n)));
    }
    Ok(record)
}

pub(crate) fn snapshot(state: &State) -> Snapshot {
    let saved = Saved { format: SNAPSHOT_FORMAT, state };
    let text = serde_json::to_string(&saved).expect("a state is JSON");
    Snapshot { position: state.position, text }
}

pub(crate) async fn save(log: &mut AnyLog, snapshot: &Snapshot) {
    if let Err(failure) = log.save_snapshot(snapshot).await {
        // Only time is lost: the next start reads more of the log.
        tracing::warn!(%failure, "a snapshot was not saved");
    }
}

pub(crate) fn open_refusal(failure: &OpenFailure) -> Refused {
    let text = failure.to_string();
    match failure {
        OpenFailure::InUse { .. } => {
            refused(Code::LogInUse, text, "stop the other coordinator: `shipmate coordinator stop`")
        }
        OpenFailure::Unsuitable(_) => refused(Code::LogUnsuitable, text, ""),
        OpenFailure::Damaged { .. } => refused(
            Code::LogDamaged,
            text,
            "restore the team's folder from a backup; nothing was changed",
        ),
        OpenFailure::Unavailable(_) => refused(Code::LogUnavailable, text, "try again later"),
    }
}

pub(crate) fn read_refusal(failure: &ReadFailure) -> Refused {
    let text = failure.to_string();
    match failure {
        ReadFailure::Damaged { .. } => refused(
            Code::LogDamaged,
            text,
            "restore the team's folder from a backup; nothing was changed",
        ),
        ReadFailure::Unavailable(_) => refused(Code::LogUnavailable, text, "try again later"),
    }
}
