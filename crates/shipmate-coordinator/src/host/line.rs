//! What hosts say on the line: that they are there, which teams they know, what their agents print; and
//! what one asks of another.
//!
//! Words carry a code that only who has the key of the teams can make: the server can withhold them
//! and cannot invent any, nor have a question carried out twice or a sign count twice where it was heard.

use std::time::Duration;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use shipmate_log::Heard;
use shipmate_model::{Name, TeammateRef};
use shipmate_protocol::verbs::Context;
use tokio::time::{Instant, sleep_until, timeout};

use super::Here;

/// How long the code of words is.
const CODE_BYTES: usize = 32;
/// A part of an answer begins with its number and whether it is the last one.
const PART_HEAD_BYTES: usize = 5;
/// Well under what a server takes at once.
const PART_BYTES_MAX: usize = 256 * 1024;
/// How long a host that is there takes to say that it was asked something.
const TAKEN_WITHIN: Duration = Duration::from_secs(3);
/// How long a server that is there takes to say anything: whoever asks is told that it is away within two seconds.
const SERVER_ANSWERS_WITHIN: Duration = Duration::from_millis(1_200);

/// A host is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sign {
    pub(crate) host: Name,
    pub(crate) boot: String,
    /// Microseconds since that boot: of one boot no sign is heard that is not newer than the last one, so a
    /// server cannot keep a host there by saying its signs again.
    at: u64,
    /// The root teams that it knows.
    pub(crate) teams: Vec<Name>,
}

/// What is seen of a life that runs on the host that says it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Moved {
    pub(crate) host: Name,
    pub(crate) root: Name,
    pub(crate) who: TeammateRef,
    /// Nothing of it yet but that its supervisor is there.
    pub(crate) printed: Option<Printed>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Printed {
    pub(crate) bytes: u64,
    pub(crate) last_words: String,
    pub(crate) context: Option<Context>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unheard {
    /// It was not asked, and nothing is done.
    Question(String),
    /// Nor could it be: the server is away.
    Server,
    /// It was, and may be done.
    Answer(String),
}

impl std::fmt::Display for Unheard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unheard::Question(reason) | Unheard::Answer(reason) => f.write_str(reason),
            Unheard::Server => f.write_str("the NATS server cannot be reached"),
        }
    }
}

/// A question, named so that its answer is found.
#[derive(Serialize, Deserialize)]
struct Named<T> {
    id: String,
    question: T,
}

impl Here {
    /// Hosts of one stream hear each other, and no log has a subject like this.
    fn subject(&self, what: &str) -> String {
        format!("{}-line.{what}", self.file.server.subject_prefix)
    }

    pub(crate) async fn hear_signs(&self) -> Result<Heard, String> {
        self.line.hear(&self.subject("sign")).await
    }

    /// The sign of another host.
    pub(crate) fn sign(&self, subject: &str, words: &[u8]) -> Option<Sign> {
        let sign: Sign = serde_json::from_slice(self.unsealed(subject, words)?).ok()?;
        if sign.host == self.file.name {
            return None;
        }
        let mut signs = self.signs.borrow_mut();
        let last = signs.entry((sign.host.clone(), sign.boot.clone())).or_default();
        (std::mem::replace(last, sign.at.max(*last)) < sign.at).then_some(sign)
    }

    pub(crate) async fn give_sign(&self, teams: Vec<Name>) {
        let (host, boot) = (self.file.name.clone(), self.boot.clone());
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let at = up.tv_sec as u64 * 1_000_000 + up.tv_nsec as u64 / 1_000;
        let sign = Sign { host, boot, at, teams };
        let words = serde_json::to_vec(&sign).expect("a sign is JSON");
        let subject = self.subject("sign");
        let words = self.sealed(&subject, words);
        // Not heard, the next one may be.
        drop(self.line.say(&subject, words).await);
    }

    pub(crate) async fn hear_moves(&self) -> Result<Heard, String> {
        self.line.hear(&self.subject("moved")).await
    }

    /// What another host has seen of one of its lives.
    pub(crate) fn moved(&self, subject: &str, words: &[u8]) -> Option<Moved> {
        let moved: Moved = serde_json::from_slice(self.unsealed(subject, words)?).ok()?;
        (moved.host != self.file.name).then_some(moved)
    }

    pub(crate) async fn tell_moved(&self, root: Name, who: TeammateRef, printed: Option<Printed>) {
        let moved = Moved { host: self.file.name.clone(), root, who, printed };
        let words = serde_json::to_vec(&moved).expect("a move is JSON");
        let subject = self.subject("moved");
        let words = self.sealed(&subject, words);
        // Not heard, the next one may be.
        drop(self.line.say(&subject, words).await);
    }

    pub(crate) async fn hear_questions(&self) -> Result<Heard, String> {
        self.line.hear(&self.subject(&format!("ask.{}", self.file.id))).await
    }

    /// Whether the server says anything, also where the line to it has only begun.
    pub(crate) async fn is_reached(&self) -> bool {
        let mut line = self.line.clone();
        let is_answered = async {
            while !line.is_up() {
                line.changed().await;
            }
            self.line.is_answered(SERVER_ANSWERS_WITHIN).await
        };
        matches!(timeout(SERVER_ANSWERS_WITHIN, is_answered).await, Ok(true))
    }

    /// Whether the server says that it keeps nothing.
    pub(crate) async fn is_without_store(&self) -> bool {
        self.line.is_without_store(SERVER_ANSWERS_WITHIN).await
    }

    /// Asks the host with this id, and waits for as long as it says that it is at it.
    ///
    /// It says first that it was asked, with a word that it made for this; only when that word comes back
    /// it begins. So a question that is heard late, or again, is carried out for nobody.
    pub(crate) async fn ask(
        &self,
        host: &str,
        question: &impl Serialize,
    ) -> Result<Vec<u8>, Unheard> {
        let not_asked = |reason: String| Unheard::Question(reason);
        let id = fresh_id().map_err(|e| not_asked(e.to_string()))?;
        let (asks, begins) = (self.subject(&format!("ask.{host}")), self.begins(&id));
        let answers = self.answers(&id);
        let words = serde_json::to_vec(&Named { id, question }).expect("a question is JSON");
        let away = |_| Unheard::Server;
        let mut heard = self.line.hear(&answers).await.map_err(away)?;
        self.line.say(&asks, self.sealed(&asks, words)).await.map_err(away)?;
        let (mut answer, mut parts) = (Vec::new(), 0_u32);
        let mut line = self.line.clone();
        let server_is_silent = async {
            if self.line.is_answered(SERVER_ANSWERS_WITHIN).await {
                std::future::pending().await
            }
        };
        let mut server_is_silent = std::pin::pin!(server_is_silent);
        loop {
            let within = if parts == 0 { TAKEN_WITHIN } else { self.lease };
            let next = tokio::select! {
                biased;
                next = timeout(within, heard.next()) => next,
                () = &mut server_is_silent, if parts == 0 => return Err(Unheard::Server),
                () = line.down() => {
                    return Err(match parts {
                        0 => Unheard::Server,
                        _ => Unheard::Answer(Unheard::Server.to_string()),
                    });
                }
            };
            let Ok(Some((subject, words))) = next else {
                let reason = "it gives no sign".to_owned();
                return Err(match parts {
                    0 => Unheard::Question(reason),
                    _ => Unheard::Answer(reason),
                });
            };
            let Some(part) = self.unsealed(&subject, &words) else { continue };
            let Some((head, bytes)) = part.split_at_checked(PART_HEAD_BYTES) else { continue };
            if head[..4] != parts.to_le_bytes() {
                return Err(Unheard::Answer("a part of its answer was lost".to_owned()));
            }
            match parts {
                0 => {
                    let word = self.sealed(&begins, bytes.to_vec());
                    self.line.say(&begins, word).await.map_err(not_asked)?;
                }
                _ => answer.extend_from_slice(bytes),
            }
            parts += 1;
            if head[4] == 1 {
                return Ok(answer);
            }
        }
    }

    fn begins(&self, id: &str) -> String {
        self.subject(&format!("begin.{id}"))
    }

    fn answers(&self, id: &str) -> String {
        self.subject(&format!("answer.{id}"))
    }

    /// A question of another host.
    pub(crate) fn question<T>(&self, subject: &str, words: &[u8]) -> Option<(String, T)>
    where
        T: serde::de::DeserializeOwned,
    {
        let Named { id, question } = serde_json::from_slice(self.unsealed(subject, words)?).ok()?;
        Some((id, question))
    }

    /// Finds out what was asked, once it is known that somebody waits for it, and says until then that
    /// somebody is at it.
    pub(crate) async fn answer(&self, id: &str, found: impl Future<Output = Vec<u8>>) {
        let (Ok(word), begins) = (fresh_id(), self.begins(id)) else { return };
        let Ok(mut heard) = self.line.hear(&begins).await else { return };
        let mut parts = Parts { here: self, subject: self.answers(id), said: 0 };
        parts.say(word.as_bytes(), false).await;
        let is_waited_for = async {
            while let Some((subject, words)) = heard.next().await {
                if self.unsealed(&subject, &words) == Some(word.as_bytes()) {
                    return true;
                }
            }
            false
        };
        if !matches!(timeout(TAKEN_WITHIN, is_waited_for).await, Ok(true)) {
            return;
        }
        let mut found = std::pin::pin!(found);
        let answer = loop {
            tokio::select! {
                answer = &mut found => break answer,
                () = sleep_until(Instant::now() + self.lease / 3) => parts.say(&[], false).await,
            }
        };
        let mut pieces = answer.chunks(PART_BYTES_MAX).peekable();
        while let Some(piece) = pieces.next() {
            parts.say(piece, pieces.peek().is_none()).await;
        }
        if answer.is_empty() {
            parts.say(&[], true).await;
        }
    }

    /// What tells whether something is the same as before, to nobody who has not the key.
    pub(crate) fn mark(&self, bytes: &[u8]) -> String {
        HEXLOWER.encode(&self.code("mark", bytes).finalize().into_bytes())
    }

    fn closing_key(&self, host: &Name) -> LessSafeKey {
        let key = self.code("copies", host.as_str().as_bytes()).finalize().into_bytes();
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).expect("a code is as long as a key");
        LessSafeKey::new(key)
    }

    /// Words for one host that the server cannot read either.
    pub(crate) fn closed(&self, host: &Name, mut words: Vec<u8>) -> Option<Vec<u8>> {
        let mut random = [0_u8; NONCE_LEN];
        getrandom::fill(&mut random).ok()?;
        let nonce = Nonce::assume_unique_for_key(random);
        self.closing_key(host).seal_in_place_append_tag(nonce, Aad::empty(), &mut words).ok()?;
        Some([random.to_vec(), words].concat())
    }

    /// The words of [`Here::closed`] that were for this one.
    pub(crate) fn opened(&self, closed: &[u8]) -> Option<Vec<u8>> {
        let (random, words) = closed.split_at_checked(NONCE_LEN)?;
        let (nonce, mut words) = (Nonce::try_assume_unique_for_key(random).ok()?, words.to_vec());
        let key = self.closing_key(&self.file.name);
        Some(key.open_in_place(nonce, Aad::empty(), &mut words).ok()?.to_vec())
    }

    fn code(&self, subject: &str, words: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("any length is a key");
        mac.chain_update(subject).chain_update([0]).chain_update(words)
    }

    fn sealed(&self, subject: &str, words: Vec<u8>) -> Vec<u8> {
        let mut sealed = self.code(subject, &words).finalize().into_bytes().to_vec();
        sealed.extend(words);
        sealed
    }

    /// The words, if somebody said them here who has the key.
    fn unsealed<'a>(&self, subject: &str, sealed: &'a [u8]) -> Option<&'a [u8]> {
        let (code, words) = sealed.split_at_checked(CODE_BYTES)?;
        self.code(subject, words).verify_slice(code).ok()?;
        Some(words)
    }
}

/// An answer as it goes over the line.
struct Parts<'a> {
    here: &'a Here,
    subject: String,
    said: u32,
}

impl Parts<'_> {
    async fn say(&mut self, piece: &[u8], is_last: bool) {
        let mut part = self.said.to_le_bytes().to_vec();
        part.push(u8::from(is_last));
        part.extend_from_slice(piece);
        self.said += 1;
        // Who does not hear it asks again.
        drop(self.here.line.say(&self.subject, self.here.sealed(&self.subject, part)).await);
    }
}

/// A name that nobody else has.
///
/// # Errors
/// The system has no random bytes.
pub fn fresh_id() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random)?;
    Ok(HEXLOWER.encode(&random))
}
