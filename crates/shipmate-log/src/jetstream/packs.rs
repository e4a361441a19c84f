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
use async_nats::jetstream::object_store::{Config, GetErrorKind, ObjectStore};
use async_nats::jetstream::stream::StorageType;
use std::path::Path;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

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
        self.store.info(name).await.is_ok()
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
        let copied = tokio::io::copy(&mut (&mut object).take(limit + 1), &mut into).await;
        match copied {
            Ok(copied) if copied == bytes => into.sync_all().await.map_err(PackFailure::from),
            Ok(copied) => {
                let reason = format!("{copied} of {bytes} bytes came");
                Err(PackFailure::Damaged { name: name.to_owned(), reason })
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                Err(PackFailure::Damaged { name: name.to_owned(), reason: error.to_string() })
            }
            Err(error) => Err(PackFailure::Unavailable(error.to_string())),
        }
    }
}

async fn open_store(
    context: &Context,
    options: &JetStreamOptions,
) -> Result<ObjectStore, OpenFailure> {
    let bucket = format!("{}-packs", options.stream);
    if let Ok(store) = context.get_object_store(&bucket).await {
        return Ok(store);
    }
    let config = Config {
        bucket: bucket.clone(),
        description: Some("Commits of a shipmate team on their way between machines".into()),
        storage: StorageType::File,
        num_replicas: options.replicas,
        max_bytes: options.stream_bytes_max.map_or(-1, |bytes| bytes as i64),
        ..Config::default()
    };
    let made = context.create_object_store(config).await;
    made.map_err(|error| {
        OpenFailure::Unavailable(format!("the object store {bucket} cannot be had: {error}"))
    })
}
