//! Connecting, and making sure that the stream is one that can hold a log.

use super::batch::HEADERS_BYTES_MAX;
use super::{JetStreamAccess, JetStreamLog, JetStreamOptions, Tail, credentials, snapshot};
use crate::{OpenFailure, ReadFailure};
use async_nats::jetstream::context::{ContextBuilder, CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{Context, ErrorCode};
use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often the server is asked whether it is there: a cut says nothing of itself, and whoever does not
/// notice asks a server that is away while others are there.
const PING_EVERY: Duration = Duration::from_secs(2);

impl JetStreamLog {
    /// Opens the log, creating its streams if they do not exist.
    pub async fn open(options: JetStreamOptions) -> Result<Self, OpenFailure> {
        let client = connect(&options).await?;
        let payload_max = client.server_info().max_payload;
        let context = ContextBuilder::new().timeout(options.answer_within).build(client);
        let stream = open_stream(&context, log_config(&options)).await?;
        let stream = widen(&context, stream, &options).await?;
        let config = &stream.cached_info().config;
        let flaws = flaws(config, &options.subject);
        if !flaws.is_empty() {
            return Err(OpenFailure::Unsuitable(format!(
                "the stream {} cannot hold a log, because it {}: name another stream, or change \
                 its settings",
                options.stream,
                flaws.join(" and ")
            )));
        }
        let message_max = usize::try_from(config.max_message_size).unwrap_or(usize::MAX);
        let message_max = if message_max == 0 { usize::MAX } else { message_max };
        let append_bytes_max = payload_max.min(message_max).saturating_sub(HEADERS_BYTES_MAX);
        let snapshots = open_stream(&context, snapshot::config(&options)).await?;
        let mut log = Self {
            context,
            stream,
            snapshots,
            subject: options.subject,
            seal: options.seal,
            answer_within: options.answer_within,
            append_bytes_max,
            tail: Tail::default(),
            landmarks: BTreeMap::new(),
            replay: None,
            follower: None,
            recent: Default::default(),
        };
        match log.look_up_tail().await {
            Ok(_) => Ok(log),
            Err(ReadFailure::Unavailable(reason)) => Err(OpenFailure::Unavailable(reason)),
            Err(ReadFailure::Damaged { place, reason, .. }) => {
                Err(OpenFailure::Damaged { place, reason })
            }
        }
    }
}

impl JetStreamOptions {
    /// That its credentials are not valid any more, and since when.
    pub(super) fn expired(&self) -> Option<String> {
        match &self.access {
            JetStreamAccess::CredentialsFile(path) => credentials::describe_expiry(path),
            _ => None,
        }
    }
}

pub(super) async fn connect(options: &JetStreamOptions) -> Result<Client, OpenFailure> {
    connect_with(options, |connect| connect).await
}

pub(super) async fn connect_with(
    options: &JetStreamOptions,
    also: impl FnOnce(ConnectOptions) -> ConnectOptions,
) -> Result<Client, OpenFailure> {
    let connect = match &options.access {
        JetStreamAccess::CredentialsFile(path) => credentials::connect(path)?,
        _ => ConnectOptions::new(),
    };
    let connect = also(connect)
        .name("shipmate")
        .ping_interval(PING_EVERY)
        .connection_timeout(options.answer_within)
        .request_timeout(Some(options.answer_within));
    let connect = match &options.access {
        JetStreamAccess::Open | JetStreamAccess::CredentialsFile(_) => connect,
        JetStreamAccess::Token(token) => connect.token(token.clone()),
        JetStreamAccess::Password { user, password } => {
            connect.user_and_password(user.clone(), password.clone())
        }
        JetStreamAccess::Nkey(seed) => connect.nkey(seed.clone()),
    };
    let connect = match &options.ca {
        Some(ca) => connect.add_root_certificates(ca.clone()),
        None => connect,
    };
    let servers: Vec<&str> = options.url.split(',').map(str::trim).collect();
    connect.connect(servers.as_slice()).await.map_err(|error| match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            let expired = options.expired();
            let why = expired.unwrap_or_else(|| error.to_string());
            OpenFailure::Unsuitable(format!("the NATS server did not let us in: {why}"))
        }
        ConnectErrorKind::ServerParse => OpenFailure::Unsuitable(format!(
            "the address of the NATS server cannot be understood ({error}): it looks like \
             nats://host:4222"
        )),
        _ => OpenFailure::Unavailable(format!("the NATS server cannot be reached: {error}")),
    })
}

const DESCRIPTION: &str = "The log of a shipmate team";

fn log_config(options: &JetStreamOptions) -> Config {
    let subjects = if options.holds.is_empty() { &options.subject } else { &options.holds };
    Config {
        name: options.stream.clone(),
        description: Some(DESCRIPTION.into()),
        subjects: vec![subjects.clone()],
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        num_replicas: options.replicas,
        max_bytes: options.stream_bytes_max.map_or(-1, |bytes| bytes as i64),
        deny_delete: true,
        deny_purge: true,
        ..Config::default()
    }
}

/// A stream that an earlier release made for its first team alone is made to hold the others too.
async fn widen(
    context: &Context,
    stream: Stream,
    options: &JetStreamOptions,
) -> Result<Stream, OpenFailure> {
    let config = &stream.cached_info().config;
    let holds = config.subjects.iter().any(|held| covers(held, &options.subject));
    if holds || config.description.as_deref() != Some(DESCRIPTION) {
        return Ok(stream);
    }
    let wider = Config { subjects: log_config(options).subjects, ..config.clone() };
    let failed = |error: &dyn std::fmt::Display| {
        let reason = format!("the stream {} cannot be made wider: {error}", options.stream);
        OpenFailure::Unsuitable(reason)
    };
    context.update_stream(wider).await.map_err(|error| failed(&error))?;
    context.get_stream(&options.stream).await.map_err(|error| failed(&error))
}

async fn open_stream(context: &Context, config: Config) -> Result<Stream, OpenFailure> {
    let name = config.name.clone();
    context.get_or_create_stream(config).await.map_err(|error: CreateStreamError| {
        let reason = format!("the stream {name} cannot be had: {error}");
        match error.kind() {
            CreateStreamErrorKind::TimedOut | CreateStreamErrorKind::Response => {
                OpenFailure::Unavailable(reason)
            }
            CreateStreamErrorKind::JetStream(answer) if passing(answer.error_code()) => {
                OpenFailure::Unavailable(reason)
            }
            _ => OpenFailure::Unsuitable(reason),
        }
    })
}

/// Whether a cluster may give another answer once its servers have found each other.
fn passing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::CLUSTER_NOT_AVAILABLE
            | ErrorCode::CLUSTER_NOT_LEADER
            | ErrorCode::CLUSTER_NO_PEERS
    )
}

/// What about a stream would let a log forget or change records.
fn flaws(config: &Config, subject: &str) -> Vec<&'static str> {
    let checks = [
        (config.subjects.iter().any(|held| covers(held, subject)), "does not hold the subject"),
        (config.retention == RetentionPolicy::Limits, "forgets messages once they are read"),
        (config.storage == StorageType::File, "is kept in memory only"),
        (config.discard == DiscardPolicy::New, "drops old messages when it is full"),
        (config.max_age.is_zero(), "drops messages by age"),
        (config.max_messages_per_subject <= 0, "limits the messages of a subject"),
        (config.deny_delete && config.deny_purge, "allows messages to be deleted"),
        (!config.allow_rollup, "allows messages to be rolled up"),
        (!config.allow_message_ttl, "allows messages to expire"),
        (config.mirror.is_none() && config.sources.is_none(), "copies another stream"),
    ];
    checks.into_iter().filter(|(sound, _)| !sound).map(|(_, flaw)| flaw).collect()
}

/// Whether a subject pattern of a stream includes a plain subject.
fn covers(pattern: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for wanted in pattern.split('.') {
        match (wanted, tokens.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (wanted, Some(token)) if wanted == token => {}
            _ => return false,
        }
    }
    tokens.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_what_its_wildcards_say() {
        for (pattern, subject, covered) in [
            ("team.a", "team.a", true),
            ("team.*", "team.a", true),
            ("team.>", "team.a.b", true),
            (">", "team", true),
            ("team.*", "team.a.b", false),
            ("team.>", "team", false),
            ("team.a", "team.b", false),
            ("team.a.b", "team.a", false),
        ] {
            assert_eq!(covers(pattern, subject), covered, "{pattern} {subject}");
        }
    }

    #[test]
    fn a_stream_as_created_has_no_flaw_and_a_default_one_has_several() {
        let options = JetStreamOptions::new("nats://localhost", "TEAM", "team.log");
        assert_eq!(flaws(&log_config(&options), "team.log"), Vec::<&str>::new());
        let plain = Config { subjects: vec!["team.log".into()], ..Config::default() };
        let found = flaws(&plain, "team.log");
        assert!(found.contains(&"drops old messages when it is full"), "{found:?}");
        assert!(found.contains(&"allows messages to be deleted"), "{found:?}");
    }
}
