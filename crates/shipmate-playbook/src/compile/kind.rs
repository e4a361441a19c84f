//! Kinds of handoffs: what each of their fields holds.

use std::collections::BTreeMap;

use shipmate_model::playbook::{Field, Shape};
use shipmate_protocol::problem::{nearest, quoted};
use toml::de::DeValue;

use crate::document::Node;

const SHAPES: &str = "write \"text\", \"number\", \"flag\", \"any\", \"[text]\"";

pub(crate) fn fields(table: &Node<'_, '_>) -> BTreeMap<String, Field> {
    let mut found = BTreeMap::new();
    for (written, node) in table.entries() {
        let (key, required) = match written.strip_suffix('?') {
            Some(key) => (key, false),
            None => (written, true),
        };
        let shape = shape(written, &node);
        if found.insert(key.to_owned(), Field { shape, required }).is_some() {
            let fact = format!("the field {} is there twice", quoted(key));
            node.add(fact, "keep one of them, with or without ?");
        }
    }
    found
}

fn shape(key: &str, node: &Node<'_, '_>) -> Shape {
    if let Some(word) = node.value.and_then(as_text) {
        return shape_word(key, node, &word);
    }
    match node.value {
        Some(DeValue::Table(_)) => Shape::Object(fields(node)),
        Some(DeValue::Array(items)) if items.len() == 1 && items[0].get_ref().is_table() => {
            Shape::List(Box::new(Shape::Object(fields(&node.to(0)))))
        }
        Some(DeValue::Array(items)) => {
            let texts: Vec<String> =
                items.iter().filter_map(|item| as_text(item.get_ref())).collect();
            if texts.len() != items.len() || texts.is_empty() {
                let fact = format!("the field {key} is a list, but not of texts");
                let remedy = "name the texts it may be, or one table that describes a piece";
                node.add(fact, remedy);
            }
            Shape::OneOf(texts)
        }
        _ => {
            let fact = format!("the field {key} is described by a number or a flag");
            node.add(fact, format!("{SHAPES}, a list of texts, or a table"));
            Shape::Any
        }
    }
}

/// A date is a text that needs no quotation marks.
fn as_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Datetime(moment) => Some(moment.to_string()),
        _ => None,
    }
}

fn shape_word(key: &str, node: &Node<'_, '_>, word: &str) -> Shape {
    match word {
        "text" => Shape::Text,
        "number" => Shape::Number,
        "flag" => Shape::Flag,
        "any" => Shape::Any,
        list if list.starts_with('[') && list.ends_with(']') => {
            Shape::List(Box::new(shape_word(key, node, &list[1..list.len() - 1])))
        }
        other => {
            let fact = format!("the field {key} has no shape {}", quoted(other));
            let near = nearest(other, ["text", "number", "flag", "any"]);
            let near = near.map_or(String::new(), |near| format!("did you mean {near:?}? "));
            node.add(fact, format!("{near}{SHAPES}"));
            Shape::Any
        }
    }
}
