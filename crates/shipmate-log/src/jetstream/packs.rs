//! Files that travel between machines, in an object store beside the log's stream.
//!
//! A pack is named by what it holds and never changes: putting one again under its name is putting the
//! same bytes, so whoever is not sure whether it arrived puts it again. The store cuts it into messages
//! and hashes it; one whose parts do not match its hash is damaged and is never handed out.

use super::JetStreamOptions;
use super::open::connect;
use crate::OpenFailure;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::object_store::{GetErrorKind, ObjectStore};
use async_nats::jetstream::stream::{self, DiscardPolicy, StorageType};
use std::path::Path;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// As much as a part of a pack has.
const PIECE_BYTES: usize = 128 * 1024;

/// Files of one stream's teams.
#[derive(Clone)]
pub struct Packs {
    store: ObjectStore,
    answer_within: Duration,
}

impl std::fmt::Debug for Packs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packs").finish_non_exhaustive()
    }
}

/// Why a pack is not there, or not here.
#[derive(Debug, thiserror::Error)]
pub enum PackFailure {
    /// Nobody has put it yet.
    #[error("there is no pack {0}")]
    Absent(String),
    #[error("the pack {name} is damaged: {reason}")]
    Damaged { name: String, reason: String },
    #[error("the pack {name} has {bytes} bytes, and {limit} are taken")]
    TooLarge { name: String, bytes: u64, limit: u64 },
    /// Try again later.
    #[error("the NATS server did not answer: {0}")]
    Unavailable(String),
    #[error(transparent)]
    File(#[from] std::io::Error),
}

impl Packs {
    /// Opens the store beside a log's stream, creating it if it does not exist.
    pub async fn open(options: &JetStreamOptions) -> Result<Packs, OpenFailure> {
        let client = connect(options).await?;
        let answer_within = options.answer_within;
        let context = ContextBuilder::new().timeout(answer_within).build(client);
        let store = open_store(&context, options).await?;
        Ok(Packs { store, answer_within })
    }

    /// Whether somebody has put it.
    pub async fn has(&self, name: &str) -> bool {
        self.store.info(name).await.is_ok_and(|info| !info.deleted)
    }

    /// Stores a file under a name.
    pub async fn put(&self, name: &str, file: &Path) -> Result<(), PackFailure> {
        if self.has(name).await {
            return Ok(());
        }
        let mut file = File::open(file).await?;
        let put = self.store.put(name, &mut file).await;
        put.map(drop).map_err(|error| PackFailure::Unavailable(error.to_string()))
    }

    /// Takes a pack out. One that is not there is out already.
    pub async fn remove(&self, name: &str) -> Result<(), PackFailure> {
        if !self.has(name).await {
            return Ok(());
        }
        let removed = timeout(self.answer_within, self.store.delete(name)).await;
        let removed = removed.map_err(|late| PackFailure::Unavailable(late.to_string()))?;
        removed.map_err(|error| PackFailure::Unavailable(error.to_string()))
    }

    /// Writes a pack to a file; at most so many bytes.
    pub async fn get(&self, name: &str, file: &Path, limit: u64) -> Result<(), PackFailure> {
        let object = timeout(self.answer_within, self.store.get(name)).await;
        let object = object.map_err(|late| PackFailure::Unavailable(late.to_string()))?;
        let mut object = object.map_err(|error| match error.kind() {
            GetErrorKind::NotFound => PackFailure::Absent(name.to_owned()),
            _ => PackFailure::Unavailable(error.to_string()),
        })?;
        let bytes = object.info().size as u64;
        if bytes > limit {
            return Err(PackFailure::TooLarge { name: name.to_owned(), bytes, limit });
        }
        let mut into = File::create(file).await?;
        let mut piece = vec![0; PIECE_BYTES];
        let mut copied: u64 = 0;
        let damaged = |reason: String| PackFailure::Damaged { name: name.to_owned(), reason };
        loop {
            // A part that does not come is not waited for: the next try asks another server.
            let read = timeout(self.answer_within, object.read(&mut piece)).await;
            match read.map_err(|late| PackFailure::Unavailable(late.to_string()))? {
                Ok(0) => break,
                Ok(count) => {
                    copied += count as u64;
                    if copied > bytes {
                        return Err(damaged(format!("more than {bytes} bytes came")));
                    }
                    into.write_all(&piece[..count]).await?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(damaged(error.to_string()));
                }
                Err(error) => return Err(PackFailure::Unavailable(error.to_string())),
            }
        }
        if copied != bytes {
            return Err(damaged(format!("{copied} of {bytes} bytes came")));
        }
        into.sync_all().await.map_err(PackFailure::from)
    }
}

/// The store as a stream of its own: one whose leader alone answers. Of several servers one that was cut off a
/// moment ago would say of what is there that it is not.
async fn open_store(
    context: &Context,
    options: &JetStreamOptions,
) -> Result<ObjectStore, OpenFailure> {
    let bucket = format!("{}-packs", options.stream);
    let failed = |error: &dyn std::fmt::Display| {
        OpenFailure::Unavailable(format!("the object store {bucket} cannot be had: {error}"))
    };
    let name = format!("OBJ_{bucket}");
    match context.get_stream(&name).await {
        Ok(stream) => {
            let mut config = stream.cached_info().config.clone();
            // Who may not change it has the store as it is: what is not found is asked for again.
            if std::mem::replace(&mut config.allow_direct, false)
                && let Err(error) = context.update_stream(config).await
            {
                tracing::warn!(bucket, %error, "any server may answer for packs, also one that lags");
            }
        }
        Err(_) => {
            let config = stream::Config {
                name,
                description: Some(
                    "Commits of a shipmate team on their way between machines".to_owned(),
                ),
                subjects: vec![format!("$O.{bucket}.C.>"), format!("$O.{bucket}.M.>")],
                storage: StorageType::File,
                num_replicas: options.replicas,
                max_bytes: options.stream_bytes_max.map_or(-1, |bytes| bytes as i64),
                discard: DiscardPolicy::New,
                allow_rollup: true,
                allow_direct: false,
                ..stream::Config::default()
            };
            context.create_stream(config).await.map_err(|e| failed(&e))?;
        }
    }
    context.get_object_store(&bucket).await.map_err(|e| failed(&e))
}
