//! Names and references: what a team, a teammate and a task are called.
//!
//! A `Name` can only be built from text that passed the rule, so that no name
//! anywhere in the state can leave a directory, break a line or be confused with
//! a reference (`team/name@epoch`).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::limits::{ALIAS_BYTES_MAX, NAME_BYTES_MAX};

/// Position of a record in the log: 1, 2, 3, … without gaps.
pub type Position = u64;

/// Why a text is not a name. The message is for the person or model that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("a name must not be empty")]
    Empty,
    #[error("the name {0:?}… is longer than {NAME_BYTES_MAX} characters")]
    TooLong(String),
    #[error(
        "{0:?} is not a name: use letters, digits, '_' and '-', beginning with a letter or digit"
    )]
    Characters(String),
    #[error("{0:?} is a reserved word and cannot be a name")]
    Reserved(String),
    #[error("{0:?} is not a reference to a teammate (expected team/name@epoch)")]
    Reference(String),
    #[error(
        "{0:?} is not an alias: use letters, digits and any of _ - . / : #, at most \
         {ALIAS_BYTES_MAX} characters, and not a plain number"
    )]
    Alias(String),
}

/// Words that mean someone else than a member wherever a name may stand.
const RESERVED: [&str; 4] = ["person", "runtime", "all", "lead-of"];

/// A checked name: `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$` and not a reserved word.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        if text.is_empty() {
            return Err(BadName::Empty);
        }
        if text.len() > NAME_BYTES_MAX {
            return Err(BadName::TooLong(text.chars().take(24).collect()));
        }
        let bytes = text.as_bytes();
        let plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-';
        if !bytes[0].is_ascii_alphanumeric() || !bytes.iter().all(plain) {
            return Err(BadName::Characters(text.to_owned()));
        }
        if RESERVED.contains(&text) {
            return Err(BadName::Reserved(text.to_owned()));
        }
        Ok(Name(Arc::from(text)))
    }
}

/// Another handle of a task, chosen by whoever made it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alias(Arc<str>);

impl Alias {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Alias {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let bytes = text.as_bytes();
        let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-./:#".contains(b);
        let number = bytes.iter().all(u8::is_ascii_digit);
        if number || text.len() > ALIAS_BYTES_MAX || !bytes.iter().all(plain) || text.contains("..")
        {
            return Err(BadName::Alias(text.chars().take(48).collect()));
        }
        Ok(Alias(Arc::from(text)))
    }
}

/// A member of a team, whatever its epoch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    pub team: Name,
    pub name: Name,
}

impl FromStr for Address {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let (team, name) =
            text.split_once('/').ok_or_else(|| BadName::Reference(text.to_owned()))?;
        Ok(Address { team: team.parse()?, name: name.parse()? })
    }
}

/// One life of a teammate. The epoch grows each time the name is started again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TeammateRef {
    pub address: Address,
    pub epoch: u32,
}

impl FromStr for TeammateRef {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let bad = || BadName::Reference(text.to_owned());
        let (address, epoch) = text.split_once('@').ok_or_else(bad)?;
        Ok(TeammateRef { address: address.parse()?, epoch: epoch.parse().map_err(|_| bad())? })
    }
}

/// Who acts. Never taken from a field of a request: the connection's token says it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    Person,
    /// The coordinator and what it runs: gates, timers, supervisors' reports.
    Runtime,
    /// A program that is in no team, and may write to who is.
    Outside,
    Teammate(TeammateRef),
}

impl FromStr for Actor {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        match text {
            "person" => Ok(Actor::Person),
            "runtime" => Ok(Actor::Runtime),
            "outside" => Ok(Actor::Outside),
            _ => Ok(Actor::Teammate(text.parse()?)),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.team, self.name)
    }
}

impl fmt::Display for TeammateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.address, self.epoch)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Person => f.write_str("person"),
            Actor::Runtime => f.write_str("runtime"),
            Actor::Outside => f.write_str("outside"),
            Actor::Teammate(who) => who.fmt(f),
        }
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Serialize for Alias {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// References are written together from their parts.
macro_rules! written_out {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}
written_out!(Address, TeammateRef, Actor);

/// These types are text on the wire and in the log, and checked again when read.
macro_rules! text_on_the_wire {
    ($($type:ty),*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(stringify!($type))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    )*};
}
text_on_the_wire!(Name, Alias, Address, TeammateRef, Actor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_folder_or_break_a_line() {
        for bad in
            ["", "a/b", "..", ".", "a b", "a\n", "a\0", "-a", "_a", "ä", "%2e%2e", "a@1", "person"]
        {
            assert!(bad.parse::<Name>().is_err(), "{bad:?} was accepted");
        }
        assert!("a".repeat(64).parse::<Name>().is_ok());
        assert!("a".repeat(65).parse::<Name>().is_err());
    }

    #[test]
    fn a_reference_reads_back_what_it_printed() {
        let who: TeammateRef = "alpha/ana@3".parse().unwrap();
        assert_eq!(who.to_string(), "alpha/ana@3");
        assert!("alpha/ana".parse::<TeammateRef>().is_err());
        assert!("ana@1".parse::<TeammateRef>().is_err());
    }

    #[test]
    fn an_alias_is_never_a_number_and_never_climbs() {
        assert!("03-01/T3".parse::<Alias>().is_ok());
        for bad in ["12", "", "a/../b", "a b"] {
            assert!(bad.parse::<Alias>().is_err(), "{bad:?} was accepted");
        }
    }
}
