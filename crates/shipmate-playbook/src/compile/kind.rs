//! Kinds of handoffs: what each of their fields holds.

use std::collections::BTreeMap;

use shipmate_model::playbook::{Field, Shape};
use shipmate_protocol::problem::{nearest, quoted};

use super::Compiler;

const SHAPES: &str = "write \"text\", \"number\", \"flag\", \"any\", \"[text]\"";

impl Compiler<'_, '_> {
    pub(crate) fn fields(&mut self, table: &toml::Table) -> BTreeMap<String, Field> {
        let mut found = BTreeMap::new();
        for (written, value) in table {
            let (key, required) = match written.strip_suffix('?') {
                Some(key) => (key, false),
                None => (written.as_str(), true),
            };
            let shape = self.shape(written, value);
            if found.insert(key.to_owned(), Field { shape, required }).is_some() {
                let fact = format!("the field {} is there twice", quoted(key));
                self.problem(written, fact, "keep one of them, with or without ?");
            }
        }
        found
    }

    fn shape(&mut self, key: &str, value: &toml::Value) -> Shape {
        match value {
            toml::Value::String(word) => self.shape_word(key, word),
            toml::Value::Table(table) => Shape::Object(self.below(key, |this| this.fields(table))),
            toml::Value::Array(items) => match items.as_slice() {
                [toml::Value::Table(table)] => {
                    let fields = self.below(key, |this| this.below(0, |this| this.fields(table)));
                    Shape::List(Box::new(Shape::Object(fields)))
                }
                words => {
                    let texts: Vec<&str> = words.iter().filter_map(toml::Value::as_str).collect();
                    if texts.len() != words.len() || texts.is_empty() {
                        let fact = format!("the field {key} is a list, but not of texts");
                        let remedy =
                            "name the texts it may be, or one table that describes a piece";
                        self.problem(key, fact, remedy);
                    }
                    Shape::OneOf(texts.into_iter().map(str::to_owned).collect())
                }
            },
            _ => {
                let fact = format!("the field {key} is described by a number or a flag");
                self.problem(key, fact, format!("{SHAPES}, a list of texts, or a table"));
                Shape::Any
            }
        }
    }

    fn shape_word(&mut self, key: &str, word: &str) -> Shape {
        match word {
            "text" => Shape::Text,
            "number" => Shape::Number,
            "flag" => Shape::Flag,
            "any" => Shape::Any,
            list if list.starts_with('[') && list.ends_with(']') => {
                Shape::List(Box::new(self.shape_word(key, &list[1..list.len() - 1])))
            }
            other => {
                let fact = format!("the field {key} has no shape {}", quoted(other));
                let near = nearest(other, ["text", "number", "flag", "any"]);
                let near = near.map_or(String::new(), |near| format!("did you mean {near:?}? "));
                self.problem(key, fact, format!("{near}{SHAPES}"));
                Shape::Any
            }
        }
    }
}
