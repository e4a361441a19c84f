//! One append as one message: the records joined by line feeds, their positions in the headers.
//!
//! A person can read the body with the `nats` tool. The checksum covers the first position and the
//! body; the server has one of its own, but it does not reach from end to end. Where there is a key,
//! a code covers the subject too, and a message without it is none of ours.

use super::seal::Seal;
use crate::Record;
use crate::contract::checksum;
use async_nats::HeaderMap;
use async_nats::jetstream::message::PublishMessage;

const FIRST: &str = "Shipmate-First";
const LAST: &str = "Shipmate-Last";
const CHECKSUM: &str = "Shipmate-Crc32";
const CODE: &str = "Shipmate-Mac";

/// What the headers of a message may take, ours and the server's conditions together. The size of
/// a message is limited with its headers.
pub(super) const HEADERS_BYTES_MAX: usize = 512;

/// A message on the subject, with its place in the log known and its body not yet looked at.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) sequence: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    crc: u32,
    code: Option<String>,
    body: Vec<u8>,
}

pub(super) fn encode(
    subject: &str,
    seal: Option<&Seal>,
    first: u64,
    records: &[String],
) -> PublishMessage {
    let last = first + records.len() as u64 - 1;
    let body = records.join("\n");
    let crc = checksum(first, body.as_bytes());
    let message = PublishMessage::build()
        .header(FIRST, first.to_string().as_str())
        .header(LAST, last.to_string().as_str())
        .header(CHECKSUM, format!("{crc:08x}").as_str());
    let message = match seal {
        Some(seal) => {
            message.header(CODE, seal.code(subject, first, last, body.as_bytes()).as_str())
        }
        None => message,
    };
    message.payload(body.into())
}

/// The last position in a message, which is all that a follower needs.
pub(super) fn last_position(headers: &HeaderMap) -> Option<u64> {
    headers.get(LAST)?.as_str().parse().ok()
}

impl Batch {
    /// Reads the headers. A message without them was not written by a log.
    pub(super) fn decode(sequence: u64, headers: &HeaderMap, body: Vec<u8>) -> Option<Self> {
        let first = headers.get(FIRST)?.as_str().parse().ok()?;
        let last = last_position(headers)?;
        let crc = u32::from_str_radix(headers.get(CHECKSUM)?.as_str(), 16).ok()?;
        let code = headers.get(CODE).map(|code| code.as_str().to_owned());
        (1 <= first && first <= last).then_some(Self { sequence, first, last, crc, code, body })
    }

    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }

    /// One that holds nothing but its place and size.
    #[cfg(test)]
    pub(super) fn of(first: u64, last: u64, bytes: usize) -> Self {
        Self { sequence: last, first, last, crc: 0, code: None, body: vec![b'a'; bytes] }
    }

    /// The records in the body, once they are known to be those that were appended.
    pub(super) fn records(
        &self,
        subject: &str,
        seal: Option<&Seal>,
    ) -> Result<Vec<Record>, String> {
        if let Some(seal) = seal.filter(|seal| !seal.is_older(self.sequence)) {
            let sealed = (subject, self.first, self.last, self.body.as_slice());
            match &self.code {
                Some(code) if seal.proves(code, sealed) => {}
                Some(_) => return Err("none of the team's machines has written it so".into()),
                None => return Err("none of the team's machines has written it".into()),
            }
        }
        if checksum(self.first, &self.body) != self.crc {
            return Err("the checksum of its message does not match".into());
        }
        let text = std::str::from_utf8(&self.body).map_err(|error| error.to_string())?;
        let numbered = (self.first..).zip(text.split('\n'));
        let records: Vec<Record> =
            numbered.map(|(position, text)| Record { position, text: text.to_owned() }).collect();
        if records.len() as u64 != self.last - self.first + 1 {
            let count = records.len();
            return Err(format!("its message holds {count} records instead of those announced"));
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(first: &str, last: &str, crc: u32) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(FIRST, first);
        headers.insert(LAST, last);
        headers.insert(CHECKSUM, format!("{crc:08x}").as_str());
        headers
    }

    fn records(batch: &Batch) -> Result<Vec<Record>, String> {
        batch.records("t", None)
    }

    /// Sealed with one key, for one place of one log.
    #[test]
    fn what_is_not_sealed_with_the_key_is_refused() {
        let seal = |key: &[u8], after| Seal::new(key.to_vec(), after);
        let with = |code: Option<String>, body: &[u8], first: u64| {
            let mut headers = headers(&first.to_string(), "5", checksum(first, body));
            if let Some(code) = code {
                headers.insert(CODE, code.as_str());
            }
            Batch::decode(9, &headers, body.to_vec()).unwrap()
        };
        let (own, other) = (seal(b"own", 0), seal(b"other", 0));
        let code = own.code("t", 4, 5, b"a\nb");
        let whole = with(Some(code.clone()), b"a\nb", 4);
        assert_eq!(whole.records("t", Some(&own)).unwrap().len(), 2);
        assert!(whole.records("u", Some(&own)).is_err(), "of another log");
        assert!(whole.records("t", Some(&other)).is_err(), "with another key");
        let forged = [
            with(None, b"a\nb", 4),
            with(Some(code.clone()), b"a\nc", 4),
            with(Some(code.clone()), b"b", 5),
            with(Some(other.code("t", 4, 5, b"a\nb")), b"a\nb", 4),
            with(Some("no hex".to_owned()), b"a\nb", 4),
        ];
        for forged in forged {
            assert!(forged.records("t", Some(&own)).is_err(), "{forged:?}");
        }
        // From before there was a key, and the first one after.
        assert!(with(None, b"a\nb", 4).records("t", Some(&seal(b"own", 9))).is_ok());
        assert!(with(None, b"a\nb", 4).records("t", Some(&seal(b"own", 8))).is_err());
    }

    #[test]
    fn a_message_without_sound_headers_is_not_a_batch() {
        assert!(Batch::decode(1, &HeaderMap::new(), vec![]).is_none());
        assert!(Batch::decode(1, &headers("0", "0", 0), vec![]).is_none());
        assert!(Batch::decode(1, &headers("2", "1", 0), vec![]).is_none());
        assert!(Batch::decode(1, &headers("1", "x", 0), vec![]).is_none());
    }

    #[test]
    fn a_changed_body_or_place_is_noticed() {
        let crc = checksum(4, b"a\nb");
        let whole = Batch::decode(9, &headers("4", "5", crc), b"a\nb".to_vec()).unwrap();
        assert_eq!(records(&whole).unwrap()[1], Record { position: 5, text: "b".into() });
        let changed = Batch::decode(9, &headers("4", "5", crc), b"a\nc".to_vec()).unwrap();
        assert!(records(&changed).is_err());
        let moved = Batch::decode(9, &headers("5", "6", crc), b"a\nb".to_vec()).unwrap();
        assert!(records(&moved).is_err());
        let miscounted = Batch::decode(9, &headers("4", "6", crc), b"a\nb".to_vec()).unwrap();
        assert!(records(&miscounted).is_err());
    }
}
