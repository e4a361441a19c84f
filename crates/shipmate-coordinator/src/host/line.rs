//! What hosts say on the line: that they are there, and which teams they know.
//!
//! Words carry a code that only who has the key of the teams can make: the server can withhold them
//! and cannot invent any.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use shipmate_log::Heard;
use shipmate_model::Name;

use super::Here;

/// How long the code of words is.
const CODE_BYTES: usize = 32;

/// A host is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sign {
    pub(crate) host: Name,
    /// The root teams that it knows.
    pub(crate) teams: Vec<Name>,
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
        (sign.host != self.file.name).then_some(sign)
    }

    pub(crate) async fn give_sign(&self, teams: Vec<Name>) {
        let sign = Sign { host: self.file.name.clone(), teams };
        let words = serde_json::to_vec(&sign).expect("a sign is JSON");
        let subject = self.subject("sign");
        let words = self.sealed(&subject, words);
        // Not heard, the next one may be.
        drop(self.line.say(&subject, words).await);
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

/// A name that no other host has: for the file that says who this one is.
pub(super) fn fresh_id() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random)?;
    Ok(HEXLOWER.encode(&random))
}
