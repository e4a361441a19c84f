//! The name that every process of a tree carries in its environment.
//!
//! `<workspace digest>:<kind>:<label>:<random>`. The random part makes each tree's marker its own,
//! so that a later tree with the same label is never mistaken for an earlier one. A tree within a
//! tree adds to the random part of the outer one: who ends the outer tree ends it too, and who
//! ends the inner one spares its brothers. The form is read from processes that an older shipmate
//! started, so it does not change.

use std::fmt;
use std::str::FromStr;

/// The environment variable that holds the marker.
pub const MARKER_VARIABLE: &str = "SHIPMATE_LIFE";

const FIELD_BYTES_MAX: usize = 256;

/// Says which workspace a process belongs to and what started it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Marker {
    digest: String,
    kind: String,
    label: String,
    nonce: String,
}

/// A text that cannot be a marker or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot be part of a process marker: \
     use 1 to {FIELD_BYTES_MAX} letters, digits or any of ._@/+-"
)]
pub struct MarkerInvalid(String);

impl Marker {
    /// A marker that no other tree has.
    pub fn new(digest: &str, kind: &str, label: &str) -> Result<Self, MarkerInvalid> {
        Self::of(digest, kind, label, &nonce())
    }

    /// A marker for a tree that is part of this one's.
    pub fn below(&self) -> Result<Self, MarkerInvalid> {
        let nonce = format!("{}/{}", self.nonce, nonce());
        Self::of(&self.digest, &self.kind, &self.label, &nonce)
    }

    /// Whether a tree with the other marker is this one's, or part of it.
    pub fn covers(&self, other: &Self) -> bool {
        covers(&self.to_string(), &other.to_string())
    }

    fn of(digest: &str, kind: &str, label: &str, nonce: &str) -> Result<Self, MarkerInvalid> {
        for field in [digest, kind, label, nonce] {
            let fits = (1..=FIELD_BYTES_MAX).contains(&field.len());
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._@/+-".contains(&b);
            if !fits || !field.bytes().all(allowed) {
                return Err(MarkerInvalid(field.to_owned()));
            }
        }
        let [digest, kind, label, nonce] = [digest, kind, label, nonce].map(str::to_owned);
        Ok(Self { digest, kind, label, nonce })
    }

    /// The workspace.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What sort of tree it is, such as `agent` or `hook`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Which one of its sort, such as `ana@3`.
    pub fn label(&self) -> &str {
        &self.label
    }
}

fn nonce() -> String {
    let mut random = [0; 8];
    getrandom::fill(&mut random).expect("the system gives random bytes");
    format!("{:016x}", u64::from_ne_bytes(random))
}

/// The same of the texts that processes carry.
pub(crate) fn covers(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.digest, self.kind, self.label, self.nonce)
    }
}

impl FromStr for Marker {
    type Err = MarkerInvalid;

    fn from_str(text: &str) -> Result<Self, MarkerInvalid> {
        let fields: Vec<&str> = text.split(':').collect();
        let [digest, kind, label, nonce] = fields[..] else {
            return Err(MarkerInvalid(text.to_owned()));
        };
        Self::of(digest, kind, label, nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_survives_being_written_and_read() {
        let marker = Marker::new("ab12", "agent", "ana@3").unwrap();
        assert_eq!(marker.to_string().parse(), Ok(marker.clone()));
        assert_eq!((marker.digest(), marker.kind(), marker.label()), ("ab12", "agent", "ana@3"));
    }

    #[test]
    fn two_markers_of_the_same_name_differ() {
        let of = || Marker::new("ab12", "agent", "ana@3").unwrap();
        assert_ne!(of(), of());
    }

    #[test]
    fn a_marker_covers_those_below_it_and_no_others() {
        let outer = Marker::new("ab12", "agent", "ana@3").unwrap();
        let (inner, brother) = (outer.below().unwrap(), outer.below().unwrap());
        assert!(outer.covers(&outer) && outer.covers(&inner) && outer.covers(&brother));
        assert!(!inner.covers(&outer) && !inner.covers(&brother));
        let like = format!("{outer}0").parse().unwrap();
        assert!(!outer.covers(&like));
        assert_eq!(inner.to_string().parse(), Ok(inner.clone()));
    }

    #[test]
    fn a_field_that_would_break_the_form_is_refused() {
        for bad in ["", "a:b", "a b", "a\nb", "a=b", &"x".repeat(257)] {
            assert!(Marker::new("ab12", "agent", bad).is_err(), "{bad:?}");
        }
        for bad in ["", "a:b:c", "a:b:c:d:e", "a::c:d"] {
            assert!(bad.parse::<Marker>().is_err(), "{bad:?}");
        }
    }
}
