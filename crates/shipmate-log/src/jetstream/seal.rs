//! A code that only whoever has the key of the teams can make: it tells what their machines have written
//! from what a server, or anybody who gets at its streams, may have put there.
//!
//! It covers the place of what it seals. A server can withhold what comes last, and cannot change,
//! invent, move or repeat anything.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Seals what is written to a stream, and demands it of what is read.
#[derive(Clone)]
pub struct Seal {
    key: Vec<u8>,
    after: u64,
}

/// A key is in no diagnostics.
impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seal").field("after", &self.after).finish_non_exhaustive()
    }
}

impl Seal {
    /// Messages of the stream up to the sequence `after` were there before there was a key.
    pub fn new(key: Vec<u8>, after: u64) -> Seal {
        Seal { key, after }
    }

    fn mac(&self, subject: &str, first: u64, last: u64, body: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("any length is a key");
        mac.chain_update((subject.len() as u64).to_le_bytes())
            .chain_update(subject)
            .chain_update(first.to_le_bytes())
            .chain_update(last.to_le_bytes())
            .chain_update(body)
    }

    pub(super) fn code(&self, subject: &str, first: u64, last: u64, body: &[u8]) -> String {
        HEXLOWER.encode(&self.mac(subject, first, last, body).finalize().into_bytes())
    }

    pub(super) fn proves(
        &self,
        code: &str,
        (subject, first, last, body): (&str, u64, u64, &[u8]),
    ) -> bool {
        let code = HEXLOWER.decode(code.as_bytes()).unwrap_or_default();
        self.mac(subject, first, last, body).verify_slice(&code).is_ok()
    }

    /// Whether a message at this sequence is from before there was a key.
    pub(super) fn is_older(&self, sequence: u64) -> bool {
        sequence <= self.after
    }
}
