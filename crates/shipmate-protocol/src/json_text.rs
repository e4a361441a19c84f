//! JSON as text: where its values stand, and how to change one and leave every other byte alone.
//!
//! A file that people and other programs keep is never written anew from what we understand of
//! it: order, spacing and unknown members stay as they were.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Where a value stands in the text.
pub type Span = Range<usize>;

/// The members of the object at this place, in their order.
pub fn parse_members(text: &str, at: &Span) -> serde_json::Result<Vec<(String, Span)>> {
    let found: Members<'_> = serde_json::from_str(&text[at.clone()])?;
    Ok(found.0.into_iter().map(|(key, raw)| (key, span(text, raw))).collect())
}

/// The items of the list at this place.
pub fn parse_items(text: &str, at: &Span) -> serde_json::Result<Vec<Span>> {
    let found: Vec<&RawValue> = serde_json::from_str(&text[at.clone()])?;
    Ok(found.into_iter().map(|raw| span(text, raw)).collect())
}

/// The same; an error begins with its line.
pub fn members(text: &str, at: &Span) -> Result<Vec<(String, Span)>, String> {
    parse_members(text, at).map_err(|e| told(&e))
}

/// The same; an error begins with its line.
pub fn items(text: &str, at: &Span) -> Result<Vec<Span>, String> {
    parse_items(text, at).map_err(|e| told(&e))
}

/// The line of a place, as people count them.
pub fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Texts that are to stand at places, collected and put in at once.
#[derive(Debug, Default)]
pub struct Edits(Vec<(Span, String)>);

impl Edits {
    /// Sets a member of the object at this place, unless it says the same already.
    pub fn set(
        &mut self,
        text: &str,
        at: &Span,
        members: &[(String, Span)],
        key: &str,
        value: &Value,
    ) {
        if let Some((_, span)) = members.iter().find(|(own, _)| own == key) {
            if serde_json::from_str::<Value>(&text[span.clone()]).ok().as_ref() != Some(value) {
                self.0.push((span.clone(), value.to_string()));
            }
            return;
        }
        let member = format!("{}: {value}", Value::from(key));
        let Some((_, last)) = members.last() else {
            self.0.push((at.clone(), format!("{{{member}}}")));
            return;
        };
        let joint = match text[at.clone()].contains('\n') {
            true => format!(",\n{}", indent(text, last.start)),
            false => ", ".to_owned(),
        };
        self.0.push((last.end..last.end, format!("{joint}{member}")));
    }

    pub fn apply(mut self, text: &str) -> String {
        // From the back, so that places before stay true; two at one place in their order.
        self.0.sort_by_key(|(span, _)| span.start);
        let mut out = text.to_owned();
        for (span, piece) in self.0.into_iter().rev() {
            out.replace_range(span, &piece);
        }
        out
    }
}

/// What stands before the first letter of the line of a place.
fn indent(text: &str, at: usize) -> &str {
    let from = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[from..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// With its line in front: `3: not JSON: expected a comma`.
fn told(e: &serde_json::Error) -> String {
    let text = e.to_string();
    let fact = text.split(" at line ").next().unwrap_or(&text);
    let fact = if e.is_data() { fact.to_owned() } else { format!("not JSON: {fact}") };
    format!("{}: {fact}", e.line())
}

/// A borrowed value is a part of the text it was read from.
fn span(text: &str, raw: &RawValue) -> Span {
    let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + raw.get().len()
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    found.push(entry);
                }
                Ok(Members(found))
            }
        }
        deserializer.deserialize_map(Ordered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, key: &str, value: Value) -> String {
        let at = 0..text.trim_end().len();
        let mut edits = Edits::default();
        edits.set(text, &at, &members(text, &at).unwrap(), key, &value);
        edits.apply(text)
    }

    #[test]
    fn a_value_is_replaced_and_every_other_byte_stays() {
        let text = "{ \"z\" : 1,\n\t\"a\":[1 , 2],\"k\":null }\n";
        assert_eq!(set(text, "k", "v".into()), "{ \"z\" : 1,\n\t\"a\":[1 , 2],\"k\":\"v\" }\n");
        assert_eq!(set(text, "a", serde_json::json!([1, 2])), text);
    }

    #[test]
    fn a_new_member_comes_last_as_the_others_are_written() {
        assert_eq!(set("{\"a\": 1}", "b", true.into()), "{\"a\": 1, \"b\": true}");
        assert_eq!(set("{}", "b", true.into()), "{\"b\": true}");
        let text = "{\n    \"a\": 1\n}\n";
        assert_eq!(set(text, "b", true.into()), "{\n    \"a\": 1,\n    \"b\": true\n}\n");
    }

    #[test]
    fn members_keep_their_order_and_items_their_places() {
        let text = "{\"b\": [1, {\"x\": 2}], \"a\": 0}";
        let found = members(text, &(0..text.len())).unwrap();
        assert_eq!(found.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        let list = items(text, &found[0].1).unwrap();
        assert_eq!(&text[list[1].clone()], "{\"x\": 2}");
    }
}
