//! A model at the other end of HTTP: one request after the other until there is a reply.
//!
//! What must hold: the key goes to the base URL's host alone and into no text; a reply that broke
//! off is thrown away whole and asked for again; a wrong base URL is told within seconds.
//! Redirects are not followed: they would carry the key along.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::{Stream, StreamExt};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url, redirect};
use shipmate_protocol::native::{ModelOrder, Window};
use tokio::time::{Instant, sleep_until, timeout};

use super::incoming::{Incoming, Protocol, Spoiled};
use super::pool::{Pass, Pool};
use super::price::{estimate_blocks, estimate_tokens};
use super::quirks::Quirks;
use super::retry::{self, Patience};
use super::verdict::{Told, Whom, judge, shown};
use super::{Failure, Reply, Request, Tokens, Watch, limits};

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// The end of a stream follows its last event at once; a connection that has seen it is used again.
const END_WITHIN: Duration = Duration::from_millis(250);
/// Of the body of a refusal no more is read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// A provider that wants to be left alone for so long has no room for this account.
const PARKED_FROM: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Remote {
    protocol: Protocol,
    client: Client,
    url: Url,
    headers: HeaderMap,
    whom: Whom,
    key: Secret,
    pool: Pool,
    quirks: Mutex<Quirks>,
    /// Something has answered here before.
    reached: AtomicBool,
    /// What the provider told of its windows last.
    windows: Mutex<Vec<Window>>,
    pub(super) patience: Patience,
}

struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// Why one request had no reply.
struct Trouble {
    failure: Failure,
    told: Option<Told>,
    /// There was no connection at all.
    unreached: bool,
    /// What to look at, told once all attempts have failed.
    remedy: &'static str,
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble { failure, told: None, unreached: false, remedy: "" }
    }
}

impl Remote {
    pub(super) fn new(
        protocol: Protocol,
        order: &ModelOrder,
        pools: &Path,
    ) -> Result<Remote, Failure> {
        let key = key(order)?;
        let headers = headers(protocol, order, &key)?;
        let url = url(protocol, order)?;
        let mut shown_url = url.clone();
        // What of a URL may be secret; neither can fail for one that has a host.
        let _ = (shown_url.set_username(""), shown_url.set_password(None));
        shown_url.set_query(None);
        let pool = Pool::open(pools, &order.provider, &order.base_url, &key.0);
        let pool = pool.map_err(|error| Failure::Final {
            text: format!("the folder {} cannot be made: {error}", pools.display()),
        })?;
        Ok(Remote {
            protocol,
            client: client(&order.provider, &url)?,
            headers,
            whom: Whom {
                provider: order.provider.clone(),
                model: order.model.clone(),
                url: shown_url.to_string(),
                key_variable: order.key_variable.clone(),
            },
            key,
            pool,
            quirks: Mutex::new(Quirks::of(url.host_str().unwrap_or_default())),
            reached: AtomicBool::new(false),
            windows: Mutex::default(),
            patience: Patience::default(),
            url,
        })
    }

    pub(super) async fn ask(
        &self,
        request: &Request<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Reply, Failure> {
        let mut failed = 0;
        let mut waited = Duration::ZERO;
        loop {
            let asked = Instant::now();
            let left = self.patience.waits_max.saturating_sub(waited);
            let pass = self.pool.pass(left, watch).await?;
            waited += asked.elapsed();
            let trouble = match self.send(request, pass, watch).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            if trouble.told.as_ref().is_some_and(|told| self.quirks().learn(told)) {
                continue;
            }
            let after = match &trouble.failure {
                Failure::TooMany { after, .. } | Failure::Later { after, .. } => *after,
                _ => return Err(trouble.failure),
            };
            failed += 1;
            let unreached = trouble.unreached && !self.reached.load(Ordering::Relaxed);
            let attempts_max = match unreached {
                true => self.patience.unreached_attempts_max,
                false => self.patience.attempts_max,
            };
            // So long nobody sits and waits: the account is parked.
            if matches!(trouble.failure, Failure::TooMany { .. })
                && after.is_some_and(|after| after >= PARKED_FROM)
            {
                return Err(counted(trouble, failed));
            }
            let wait = self.patience.wait(failed, after, random());
            waited += wait;
            if failed >= attempts_max || waited > self.patience.waits_max {
                return Err(counted(trouble, failed));
            }
            let why = format!(
                "{}: again in {}, attempt {} of {attempts_max}",
                trouble.failure,
                retry::shown(wait),
                failed + 1
            );
            watch.waits(&why, wait);
            sleep_until(Instant::now() + wait).await;
        }
    }

    async fn send(
        &self,
        request: &Request<'_>,
        pass: Pass,
        watch: &mut dyn Watch,
    ) -> Result<Reply, Trouble> {
        let quirks = *self.quirks();
        let body = self.protocol.body(&self.whom.model, request, &quirks).to_string();
        let sent = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = match timeout(self.patience.silence_max, sent.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unreachable(&error)),
            Err(_) => return Err(self.silent().into()),
        };
        self.reached.store(true, Ordering::Relaxed);
        self.tell_windows(response.headers(), watch);
        let status = response.status().as_u16();
        if !response.status().is_success() {
            let told = self.told(response).await;
            let trouble = self.refused(told);
            // The pool hears of a refusal before the next one in line may ask.
            match status {
                429 | 500.. => drop(pass),
                _ => pass.answered(),
            }
            return Err(trouble);
        }
        pass.answered();
        self.read(response, request, watch).await
    }

    async fn read(
        &self,
        response: Response,
        request: &Request<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Reply, Trouble> {
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/html")) {
            let Whom { provider, url, .. } = &self.whom;
            let text = format!(
                "{provider} answers at {url} with a web page instead of a model's reply. Is the \
                 base URL right?"
            );
            return Err(Failure::Final { text }.into());
        }
        let mut incoming = Incoming::new(self.protocol);
        let mut bytes_read = 0;
        let mut stream = response.bytes_stream();
        let broken = loop {
            if incoming.is_over() {
                let _ = timeout(END_WITHIN, ended(&mut stream)).await;
                break None;
            }
            match timeout(self.patience.silence_max, stream.next()).await {
                Ok(Some(Ok(bytes))) => {
                    watch.busy(bytes.len() as u64);
                    bytes_read += bytes.len() as u64;
                    incoming.feed(&bytes).map_err(|spoiled| self.spoiled(spoiled, None))?;
                }
                Ok(None) => break None,
                Ok(Some(Err(error))) => break Some(reason(&error)),
                Err(_) => break Some(silence(self.patience.silence_max)),
            }
        };
        let ended = incoming.end();
        if matches!(ended, Err(Spoiled::Cut)) && bytes_read > 0 {
            // It was thought about, and is paid for.
            watch.broke_off(Tokens { input: estimate_tokens(request), ..Tokens::default() });
        }
        let mut reply = ended.map_err(|spoiled| self.spoiled(spoiled, broken))?;
        if reply.tokens == Tokens::default() {
            let input = estimate_tokens(request);
            let output = estimate_blocks(&reply.blocks);
            reply.tokens = Tokens { input, output, ..Tokens::default() };
        }
        Ok(reply)
    }

    /// What was said in an answer that is no success.
    async fn told(&self, response: Response) -> Told {
        let status = response.status();
        let headers = response.headers().clone();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        while body.len() < REFUSAL_BYTES_MAX {
            match timeout(self.patience.silence_max, stream.next()).await {
                Ok(Some(Ok(bytes))) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
        let mut told = Told::in_body(status.as_u16(), &body);
        if status.is_redirection() {
            told.message = text("location").unwrap_or_default().to_owned();
        }
        told.after = limits::after(text, SystemTime::now());
        told.shown(&self.key.0)
    }

    fn tell_windows(&self, headers: &HeaderMap, watch: &mut dyn Watch) {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let windows = limits::windows(text, SystemTime::now());
        let mut known = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if !windows.is_empty() && *known != windows {
            known.clone_from(&windows);
            watch.windows(windows);
        }
    }

    fn refused(&self, told: Told) -> Trouble {
        let mut failure = judge(&told, &self.whom);
        if let Failure::TooMany { after, .. } = &mut failure {
            // For so long the account is parked, and who lets that go on means this key too.
            let long = after.filter(|after| *after >= PARKED_FROM);
            *after = Some(long.unwrap_or_else(|| self.pool.pause(*after, random())));
        }
        Trouble { told: Some(told), ..failure.into() }
    }

    fn spoiled(&self, spoiled: Spoiled, broken: Option<String>) -> Trouble {
        let provider = &self.whom.provider;
        let later = |text| Trouble::from(Failure::Later { text, after: None });
        match spoiled {
            Spoiled::Told(told) => self.refused(told.shown(&self.key.0)),
            Spoiled::Malformed(reason) => {
                let reason = shown(&reason, &self.key.0);
                later(format!("{provider} sent what cannot be understood: {reason}"))
            }
            Spoiled::Cut => {
                let reason = broken.unwrap_or_else(|| "the stream ended early".to_owned());
                let reason = shown(&reason, &self.key.0);
                later(format!("the answer of {provider} broke off: {reason}"))
            }
            Spoiled::TooLarge(reason) => {
                let text = format!("{provider} sends too much: {reason}");
                Failure::Final { text }.into()
            }
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Trouble {
        let provider = &self.whom.provider;
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let reason = shown(&reason(error), &self.key.0);
        let text = format!("{provider} cannot be reached at {host}{port}: {reason}");
        let unreached = error.is_connect();
        let remedy = ". Is there a network, is the proxy right, is the base URL right?";
        Trouble { unreached, remedy, ..Failure::Later { text, after: None }.into() }
    }

    fn silent(&self) -> Failure {
        let (provider, silence) = (&self.whom.provider, silence(self.patience.silence_max));
        Failure::Later { text: format!("{provider} does not answer: {silence}"), after: None }
    }

    fn quirks(&self) -> std::sync::MutexGuard<'_, Quirks> {
        self.quirks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn silence(patience: Duration) -> String {
    format!("nothing came for {}", retry::shown(patience))
}

fn random() -> u64 {
    getrandom::u64().expect("the kernel has random numbers")
}

async fn ended(stream: &mut (impl Stream<Item = reqwest::Result<impl Sized>> + Unpin)) {
    while let Some(Ok(_)) = stream.next().await {}
}

/// The last cause in the chain says most; those before it repeat each other.
fn reason(error: &reqwest::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    let mut next: Option<&dyn Error> = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    let last = causes.pop().unwrap_or_else(|| "the request could not be sent".to_owned());
    match error.is_timeout() {
        true => "it took too long".to_owned(),
        false => last,
    }
}

/// The last failure, with how often it was tried.
fn counted(trouble: Trouble, attempts: u32) -> Failure {
    let remedy = trouble.remedy;
    let count = |text: String| match attempts {
        1 => format!("{text}{remedy}"),
        n => format!("{text} ({n} attempts){remedy}"),
    };
    match trouble.failure {
        Failure::TooMany { text, after } => Failure::TooMany { text: count(text), after },
        Failure::Later { text, after } => Failure::Later { text: count(text), after },
        other => other,
    }
}

fn key(order: &ModelOrder) -> Result<Secret, Failure> {
    let ModelOrder { provider, key_variable, .. } = order;
    if key_variable.is_empty() {
        return Ok(Secret(String::new()));
    }
    let key = std::env::var(key_variable).unwrap_or_default().trim().to_owned();
    if key.is_empty() {
        let text = format!(
            "there is no key for {provider}: {key_variable} is not set. Set {key_variable} to your \
             key at {provider}, then start again"
        );
        return Err(Failure::Key { text });
    }
    Ok(Secret(key))
}

fn headers(protocol: Protocol, order: &ModelOrder, key: &Secret) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let (name, value) = match protocol {
        Protocol::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            (HeaderName::from_static("x-api-key"), key.0.clone())
        }
        Protocol::Chat => (HeaderName::from_static("authorization"), format!("Bearer {}", key.0)),
    };
    if !key.0.is_empty() {
        let mut value = HeaderValue::from_str(&value).map_err(|_| Failure::Key {
            text: format!(
                "the key of {} in {} has letters that no key has. Set it anew, then start again",
                order.provider, order.key_variable
            ),
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn url(protocol: Protocol, order: &ModelOrder) -> Result<Url, Failure> {
    let base = order.base_url.trim();
    let valid = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    // Both: with a path behind it, half a URL looks like a whole one.
    let url =
        Url::parse(base).ok().filter(valid).and_then(|_| Url::parse(&protocol.url(base)).ok());
    url.ok_or_else(|| Failure::Final {
        text: format!(
            "the base URL of {} is none: `{}`. It begins with http:// or https://",
            order.provider, order.base_url
        ),
    })
}

fn client(provider: &str, url: &Url) -> Result<Client, Failure> {
    static CRYPTO: Once = Once::new();
    CRYPTO.call_once(|| {
        // Somebody may have installed one before: theirs is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut client = Client::builder()
        .http1_only()
        .connect_timeout(CONNECT_WITHIN)
        .redirect(redirect::Policy::none())
        .user_agent(concat!("shipmate/", env!("CARGO_PKG_VERSION")));
    let host = url.host_str().unwrap_or_default();
    if host == "localhost" || host.starts_with("127.") || host == "[::1]" {
        // No proxy has our loopback.
        client = client.no_proxy();
    }
    if url.scheme() == "http" {
        // The machine's certificates are not needed, and may not be there.
        client = client.tls_certs_only([]);
    }
    client.build().map_err(|error| Failure::Final {
        text: format!(
            "{provider} cannot be reached over HTTPS: {}. Are the certificates of this machine \
             installed (ca-certificates)?",
            reason(&error)
        ),
    })
}
