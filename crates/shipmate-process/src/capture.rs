//! Output kept in memory: its beginning and its end, and how much there was between them.

use std::collections::VecDeque;

/// What a stream carried, bounded.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Captured {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { half: bytes_max / 2, ..Self::default() }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        let fits = rest.len().min(self.half);
        let over = (self.tail.len() + fits).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(&rest[rest.len() - fits..]);
        self.dropped += (over + rest.len() - fits) as u64;
    }

    /// How many bytes are missing between the beginning and the end.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// All that was kept, with a line that says what was not. Bytes that are not UTF-8 are
    /// replaced.
    pub fn text(&self) -> String {
        let (front, back) = self.tail.as_slices();
        if self.dropped == 0 {
            let all = [&self.head, front, back].concat();
            return String::from_utf8_lossy(&all).into_owned();
        }
        let tail = [front, back].concat();
        format!(
            "{}\n[{} bytes left out]\n{}",
            String::from_utf8_lossy(&self.head),
            self.dropped,
            String::from_utf8_lossy(&tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_kept_whole() {
        let mut captured = Captured::new(10);
        captured.push(b"01234");
        captured.push(b"56789");
        assert_eq!((captured.text().as_str(), captured.dropped()), ("0123456789", 0));
    }

    #[test]
    fn head_and_tail_stay_however_the_bytes_arrive() {
        for chunk in 1..30 {
            let mut captured = Captured::new(10);
            let all: Vec<u8> = (0..26).map(|n| b'a' + n).collect();
            all.chunks(chunk).for_each(|bytes| captured.push(bytes));
            assert_eq!(captured.text(), "abcde\n[16 bytes left out]\nvwxyz", "chunks of {chunk}");
        }
    }
}
