//! One append as one message: the records joined by line feeds, their positions in the headers.
//!
//! A person can read the body with the `nats` tool. The checksum covers the first position and the
//! body; the server has one of its own, but it does not reach from end to end.

use crate::Record;
use crate::contract::checksum;
use async_nats::HeaderMap;
use async_nats::jetstream::message::PublishMessage;

const FIRST: &str = "Shipmate-First";
const LAST: &str = "Shipmate-Last";
const CHECKSUM: &str = "Shipmate-Crc32";

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
    body: Vec<u8>,
}

pub(super) fn encode(first: u64, records: &[String]) -> PublishMessage {
    let last = first + records.len() as u64 - 1;
    let body = records.join("\n");
    let crc = checksum(first, body.as_bytes());
    PublishMessage::build()
        .header(FIRST, first.to_string().as_str())
        .header(LAST, last.to_string().as_str())
        .header(CHECKSUM, format!("{crc:08x}").as_str())
        .payload(body.into())
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
        (1 <= first && first <= last).then_some(Self { sequence, first, last, crc, body })
    }

    /// The records in the body, once they are known to be those that were appended.
    pub(super) fn records(&self) -> Result<Vec<Record>, String> {
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
        assert_eq!(whole.records().unwrap()[1], Record { position: 5, text: "b".into() });
        let changed = Batch::decode(9, &headers("4", "5", crc), b"a\nc".to_vec()).unwrap();
        assert!(changed.records().is_err());
        let moved = Batch::decode(9, &headers("5", "6", crc), b"a\nb".to_vec()).unwrap();
        assert!(moved.records().is_err());
        let miscounted = Batch::decode(9, &headers("4", "6", crc), b"a\nb".to_vec()).unwrap();
        assert!(miscounted.records().is_err());
    }
}
