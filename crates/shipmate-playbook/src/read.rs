//! Reads a playbook into the structs of `file`, all of it, whatever is wrong with it.
//!
//! serde stops at the first mistake, and a person who mends a file wants them all. So this is a
//! deserializer that never fails: what does not fit is told with its line and read as if it were
//! empty. The structs say themselves which keys they have, so that nothing has to be kept in step
//! with them.

#[cfg(test)]
mod keys_tests;

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use shipmate_protocol::problem::{nearest, quoted};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::lines::{Page, Path, Step};

/// A struct asked for something that a playbook cannot hold: a mistake in `file`, not in a file.
#[derive(Debug)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl de::Error for Unreadable {
    fn custom<T: fmt::Display>(text: T) -> Unreadable {
        Unreadable(text.to_string())
    }
}

pub fn read<T: DeserializeOwned>(page: &Page<'_>) -> T {
    let root = Found::Table(page.root());
    let reader = Reader { page, at: Path::default(), found: root, called: None, or_text: false };
    T::deserialize(reader).expect("every key of a playbook may be missing and has a plain type")
}

#[derive(Clone, Copy)]
enum Found<'a, 't> {
    Table(&'a DeTable<'t>),
    Value(&'a DeValue<'t>),
}

impl<'a, 't> Found<'a, 't> {
    fn of(value: &'a Spanned<DeValue<'t>>) -> Found<'a, 't> {
        match value.get_ref() {
            DeValue::Table(table) => Found::Table(table),
            other => Found::Value(other),
        }
    }

    fn word(self) -> String {
        match self {
            Found::Table(_) => "a table",
            Found::Value(DeValue::String(_)) => "text",
            Found::Value(DeValue::Integer(_)) => "a number",
            Found::Value(DeValue::Float(number)) => return number.as_str().to_owned(),
            Found::Value(DeValue::Boolean(flag)) => return flag.to_string(),
            Found::Value(DeValue::Datetime(_)) => "a date",
            Found::Value(DeValue::Array(_)) => "a list",
            Found::Value(DeValue::Table(_)) => "a table",
        }
        .to_owned()
    }
}

struct Reader<'a, 't> {
    page: &'a Page<'t>,
    at: Path,
    found: Found<'a, 't>,
    /// What a table here is called, where its key does not say.
    called: Option<String>,
    /// A text would have done as well.
    or_text: bool,
}

impl<'a, 't> Reader<'a, 't> {
    fn wrong(&self, wanted: &str, example: &str) {
        let or_text = if self.or_text && wanted != "text" { "text or " } else { "" };
        let fact = format!("{} is {}, and must be {or_text}{wanted}", self.at, self.found.word());
        let remedy = match self.at.0.last() {
            Some(Step::Key(key)) => format!("write {key} = {example}"),
            _ => format!("write {example}"),
        };
        self.page.tear(&self.at, fact, remedy);
    }

    /// A whole number. What does not fit is the largest that there is: whoever knows the range
    /// of the key tells of it, by what the file says.
    fn whole(&self) -> u32 {
        let Found::Value(DeValue::Integer(number)) = self.found else {
            self.wrong("a whole number", &self.nearly_whole().unwrap_or(1).to_string());
            return 0;
        };
        let value = i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok();
        value.and_then(|value| u32::try_from(value).ok()).unwrap_or(u32::MAX)
    }

    /// The whole number that somebody meant who wrote a text or a part of one.
    fn nearly_whole(&self) -> Option<u32> {
        let text = match self.found {
            Found::Value(DeValue::String(text)) => text.trim(),
            Found::Value(DeValue::Float(number)) => number.as_str(),
            _ => return None,
        };
        text.split('.').next()?.parse().ok().filter(|number| *number > 0)
    }

    fn called(&self, name: &str) -> String {
        match (&self.called, self.at.0.last()) {
            (Some(called), _) => called.clone(),
            (None, None) => "a playbook".to_owned(),
            (None, Some(Step::Key(key))) => key.clone(),
            (None, Some(Step::At(_))) => {
                let name = name.to_lowercase();
                let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                format!("{article} {name}")
            }
        }
    }

    fn unknown(&self, called: &str, key: &str, known: &[&'static str]) {
        let fact = format!("{called} has no key {}", quoted(key));
        let remedy = match nearest(key, known.iter().copied()) {
            Some(meant) => {
                self.page.hush(&self.at.to(meant));
                format!("did you mean {meant}?")
            }
            None => format!("its keys are {}", known.join(", ")),
        };
        self.page.add(&self.at.to(key), fact, remedy);
    }

    /// The entries of a table in the order of the file.
    fn entries(&self, table: &'a DeTable<'t>) -> Vec<(String, Found<'a, 't>)> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
            .into_iter()
            .map(|(key, value)| (key.get_ref().to_string(), Found::of(value)))
            .collect()
    }

    fn map(&self, entries: Vec<(String, Found<'a, 't>)>, of: Option<&str>) -> Entries<'a, 't> {
        Entries {
            page: self.page,
            at: self.at.clone(),
            entries: entries.into_iter(),
            next: None,
            of: of.map(str::to_owned),
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'_, '_> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.found {
            Found::Table(_) | Found::Value(DeValue::Table(_)) => self.deserialize_map(visitor),
            Found::Value(DeValue::Array(_)) => self.deserialize_seq(visitor),
            Found::Value(DeValue::String(text)) => visitor.visit_str(text),
            Found::Value(DeValue::Boolean(flag)) => visitor.visit_bool(*flag),
            Found::Value(DeValue::Datetime(moment)) => visitor.visit_str(&moment.to_string()),
            Found::Value(DeValue::Float(number)) => {
                visitor.visit_f64(number.as_str().parse().unwrap_or_default())
            }
            Found::Value(DeValue::Integer(_)) => visitor.visit_i64(self.whole().into()),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.found {
            Found::Value(DeValue::String(text)) => visitor.visit_str(text),
            Found::Value(DeValue::Integer(number)) => {
                self.wrong("text", &format!("\"{}\"", number.as_str()));
                visitor.visit_str("")
            }
            _ => {
                self.wrong("text", "\"…\"");
                visitor.visit_str("")
            }
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.deserialize_string(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let Found::Value(DeValue::Boolean(flag)) = self.found else {
            self.wrong("true or false", "true");
            return visitor.visit_bool(false);
        };
        visitor.visit_bool(*flag)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_u32(self.whole())
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_u64(self.whole().into())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let items = match self.found {
            Found::Value(DeValue::Array(items)) => items.iter().map(Found::of).collect(),
            Found::Value(DeValue::String(text)) => {
                self.wrong("a list", &format!("[{}]", quoted(text)));
                Vec::new()
            }
            _ => {
                self.wrong("a list", "[…]");
                Vec::new()
            }
        };
        visitor.visit_seq(Items { page: self.page, at: self.at, items: items.into_iter(), next: 0 })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let entries = match self.found {
            Found::Table(table) => self.entries(table),
            _ => {
                self.wrong("a table", "{ … }");
                Vec::new()
            }
        };
        let of = match self.at.0.last() {
            Some(Step::Key(key)) => key.trim_end_matches('s').to_owned(),
            _ => String::new(),
        };
        visitor.visit_map(self.map(entries, Some(&of)))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        let mut entries = match self.found {
            Found::Table(table) => self.entries(table),
            _ => {
                self.wrong("a table", "{ … }");
                Vec::new()
            }
        };
        let called = self.called(name);
        entries.retain(|(key, _)| {
            let is_known = known.contains(&key.as_str());
            if !is_known {
                self.unknown(&called, key, known);
            }
            is_known
        });
        visitor.visit_map(self.map(entries, None))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        match self.found {
            Found::Value(DeValue::String(text)) => visitor.visit_str(text),
            _ => visitor.visit_newtype_struct(Reader { or_text: true, ..self }),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char bytes byte_buf unit unit_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

struct Items<'a, 't> {
    page: &'a Page<'t>,
    at: Path,
    items: std::vec::IntoIter<Found<'a, 't>>,
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'_, '_> {
    type Error = Unreadable;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Unreadable> {
        let Some(found) = self.items.next() else { return Ok(None) };
        let at = self.at.to(self.next);
        self.next += 1;
        let reader = Reader { page: self.page, at, found, called: None, or_text: false };
        seed.deserialize(reader).map(Some)
    }
}

struct Entries<'a, 't> {
    page: &'a Page<'t>,
    at: Path,
    entries: std::vec::IntoIter<(String, Found<'a, 't>)>,
    next: Option<(String, Found<'a, 't>)>,
    /// Of a map, what each entry is: `role`.
    of: Option<String>,
}

impl<'de> de::MapAccess<'de> for Entries<'_, '_> {
    type Error = Unreadable;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Unreadable> {
        self.next = self.entries.next();
        let Some((key, _)) = &self.next else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, Unreadable> {
        let (key, found) = self.next.take().expect("a value follows its key");
        let at = self.at.to(key.as_str());
        let called = self.of.as_ref().map(|of| format!("{of} {key}"));
        seed.deserialize(Reader { page: self.page, at, found, called, or_text: false })
    }
}
