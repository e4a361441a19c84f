//! Snapshots in a stream of their own, beside the log's.
//!
//! A snapshot is cut into parts that fit into messages, stored under subjects nobody else writes
//! to; then one message, the manifest, names them. Whoever dies half-way leaves parts that no
//! manifest names, and the next snapshot clears them away. A manifest whose parts are gone or do
//! not match is ignored. Two holders that save at the same time may clear away each other's parts:
//! that costs a snapshot, which is only time.

use super::batch::HEADERS_BYTES_MAX;
use super::{JetStreamLog, JetStreamOptions, read};
use crate::contract::checksum;
use crate::{ReadFailure, Snapshot, SnapshotFailure};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RawMessageErrorKind, StorageType};
use serde::{Deserialize, Serialize};

/// Says which parts make up the newest snapshot.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    position: u64,
    /// The subject of the parts, without their numbers.
    parts_under: String,
    parts: usize,
    crc: u32,
    /// Where there is a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

pub(super) fn config(options: &JetStreamOptions) -> Config {
    Config {
        name: format!("{}-snapshots", options.stream),
        description: Some("Snapshots of shipmate teams: a cache, safe to delete".into()),
        subjects: vec![format!("snapshot.{}.>", options.stream)],
        storage: StorageType::File,
        discard: DiscardPolicy::Old,
        max_messages_per_subject: 1,
        num_replicas: options.replicas,
        ..Config::default()
    }
}

impl JetStreamLog {
    pub(super) async fn store_snapshot(
        &mut self,
        snapshot: &Snapshot,
    ) -> Result<(), SnapshotFailure> {
        let failed = |error: &dyn std::fmt::Display| SnapshotFailure(error.to_string());
        let known = self.newest_manifest().await.map_err(|failure| failed(&failure))?;
        let (newest, sequence) = known.map_or((0, 0), |(manifest, sequence)| {
            (manifest.map_or(0, |manifest| manifest.position), sequence)
        });
        if newest > snapshot.position {
            return Ok(());
        }
        let unique = self.context.client().new_inbox();
        let unique = unique.rsplit('.').next().unwrap_or_default();
        let parts_under = self.snapshot_subject(&format!("part.{}-{unique}", snapshot.position));
        let part_max = self.context.client().server_info().max_payload - HEADERS_BYTES_MAX;
        let mut first_sequence = None;
        let mut parts = 0;
        for part in snapshot.text.as_bytes().chunks(part_max) {
            let message = PublishMessage::build().payload(part.to_vec().into());
            let stored = self.put(format!("{parts_under}.{parts}"), message).await?;
            first_sequence.get_or_insert(stored);
            parts += 1;
        }
        let crc = checksum(snapshot.position, snapshot.text.as_bytes());
        let code = self.seal.as_ref().map(|seal| {
            let position = snapshot.position;
            seal.code(
                &self.snapshot_subject("newest"),
                position,
                position,
                snapshot.text.as_bytes(),
            )
        });
        let manifest = Manifest { position: snapshot.position, parts_under, parts, crc, code };
        let body = serde_json::to_vec(&manifest).map_err(|error| failed(&error))?;
        let message =
            PublishMessage::build().payload(body.into()).expected_last_subject_sequence(sequence);
        self.put(self.snapshot_subject("newest"), message).await?;
        if let Some(first) = first_sequence {
            let older = self.snapshots.purge().filter(self.snapshot_subject("part.>"));
            // What stays behind goes with the next snapshot.
            let _ = older.sequence(first).await;
        }
        Ok(())
    }

    async fn put(&self, subject: String, message: PublishMessage) -> Result<u64, SnapshotFailure> {
        let sent = self.context.send_publish(subject, message).await;
        let stored = match sent {
            Ok(acknowledgement) => acknowledgement.await,
            Err(error) => Err(error),
        };
        stored.map(|stored| stored.sequence).map_err(|error| SnapshotFailure(error.to_string()))
    }

    pub(super) async fn fetch_snapshot(&mut self) -> Result<Option<Snapshot>, ReadFailure> {
        let Some((Some(manifest), _)) = self.newest_manifest().await? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        for part in 0..manifest.parts {
            let subject = format!("{}.{part}", manifest.parts_under);
            match self.snapshot_message(&subject).await? {
                Some(message) => bytes.extend_from_slice(&message.payload),
                None => return Ok(None),
            }
        }
        if checksum(manifest.position, &bytes) != manifest.crc || !self.is_ours(&manifest, &bytes) {
            return Ok(None);
        }
        let text = String::from_utf8(bytes).ok();
        Ok(text.map(|text| Snapshot { position: manifest.position, text }))
    }

    /// A state that none of the team's machines has saved is not taken for theirs.
    fn is_ours(&self, manifest: &Manifest, bytes: &[u8]) -> bool {
        let Some(seal) = &self.seal else { return true };
        let (subject, at) = (self.snapshot_subject("newest"), manifest.position);
        let code = manifest.code.as_deref().unwrap_or_default();
        seal.proves(code, (&subject, at, at, bytes))
    }

    /// The manifest, unless it is illegible, and the sequence that it would be replaced at.
    async fn newest_manifest(&self) -> Result<Option<(Option<Manifest>, u64)>, ReadFailure> {
        let message = self.snapshot_message(&self.snapshot_subject("newest")).await?;
        Ok(message.map(|message| (serde_json::from_slice(&message.payload).ok(), message.sequence)))
    }

    async fn snapshot_message(&self, subject: &str) -> Result<Option<StreamMessage>, ReadFailure> {
        match self.snapshots.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(read::unavailable(subject, &error)),
        }
    }

    fn snapshot_subject(&self, name: &str) -> String {
        let stream = &self.stream.cached_info().config.name;
        format!("snapshot.{stream}.{}.{name}", self.subject)
    }
}
