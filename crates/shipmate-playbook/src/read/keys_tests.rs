//! Every key that a playbook may have, as the structs of `file` say themselves.
//!
//! A deserializer that makes up a value for whatever it is asked, and writes down what that was.
//! It is there to hold the manual to the truth.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use super::Unreadable;
use crate::compile::compile;
use crate::file::File;
use crate::formats::FORMATS;

type Seen = RefCell<BTreeSet<String>>;

struct Asked<'a> {
    seen: &'a Seen,
    at: String,
}

impl Asked<'_> {
    fn at(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) }
    }
}

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_str("")
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_bool(false)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_u32(0)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_u64(0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_seq(Made { asked: self, keys: vec![""] })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let mut seen = self.seen.borrow_mut();
        seen.remove(&self.at);
        seen.insert(self.at("NAME"));
        drop(seen);
        visitor.visit_map(Made { asked: self, keys: vec!["NAME"] })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        // The same wherever there are some.
        if ["Back", "Condition", "Weight"].contains(&name) {
            self.at.clear();
        }
        self.seen.borrow_mut().extend(keys.iter().map(|key| self.at(key)));
        visitor.visit_map(Made { asked: self, keys: keys.iter().rev().copied().collect() })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct enum identifier ignored_any
    }
}

/// One of each key that is left.
struct Made<'a> {
    asked: Asked<'a>,
    keys: Vec<&'static str>,
}

impl<'de> de::SeqAccess<'de> for Made<'_> {
    type Error = Unreadable;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Unreadable> {
        let Some(_) = self.keys.pop() else { return Ok(None) };
        let asked = Asked { seen: self.asked.seen, at: self.asked.at.clone() };
        seed.deserialize(asked).map(Some)
    }
}

impl<'de> de::MapAccess<'de> for Made<'_> {
    type Error = Unreadable;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Unreadable> {
        let Some(key) = self.keys.last() else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, Unreadable> {
        let key = self.keys.pop().expect("a value follows its key");
        seed.deserialize(Asked { seen: self.asked.seen, at: self.asked.at(key) })
    }
}

const MANUAL: &str = include_str!("../../../../docs/playbooks.md");

#[test]
fn the_manual_explains_every_key_and_no_other() {
    let seen = Seen::default();
    File::deserialize(Asked { seen: &seen, at: String::new() }).unwrap();
    let rows = MANUAL.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | `"));
    let mut explained = BTreeSet::new();
    for (key, rest) in rows {
        let example = rest.split_once('`').unwrap().0;
        let last = key.rsplit('.').find(|part| *part != "NAME").unwrap();
        assert!(example.contains(last), "the example of {key} does not have it: {example}");
        assert!(explained.insert(key.to_owned()), "{key} is explained twice");
    }
    let known = seen.into_inner();
    let missing: Vec<_> = known.difference(&explained).collect();
    let unknown: Vec<_> = explained.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing {missing:?}, unknown {unknown:?}");
}

#[test]
fn the_manual_names_every_format_that_is_written() {
    for name in FORMATS {
        assert!(MANUAL.contains(&format!("| `{name}` | ")), "the manual does not explain {name}");
    }
}

/// What stands in the manual behind this line, up to the end of its block.
fn block(begins: &str) -> &'static str {
    let (_, rest) = MANUAL.split_once(begins).unwrap();
    rest.split_once("```").unwrap().0
}

fn told(text: &str) -> String {
    let problems = compile("pairs.toml", text).err().unwrap_or_default();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn the_playbook_of_the_manual_can_be_used() {
    assert_eq!(told(block("```toml\n")), "");
}

#[test]
fn mistakes_in_the_playbook_of_the_manual_are_told_as_it_says() {
    let text = block("```toml\n")
        .replacen("reports-to = \"lead\"", "reports-to = \"led\"", 1)
        .replacen("roles = [", "role = [", 1);
    let said = block("$ shipmate playbook check pairs.toml\n");
    assert_eq!(format!("{}pairs.toml: 2 problems\n", told(&text)), said);
}
