//! Kinds of handoffs as JSON Schema documents, for programs that send or read them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shipmate_model::playbook::{Field, Kind, Shape};

pub fn document(name: &str, kind: &Kind) -> Value {
    let mut schema = object(&kind.fields);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(name);
    if !kind.about.is_empty() {
        schema["description"] = json!(kind.about);
    }
    schema
}

/// Fields that nobody described are let through: what one side adds must not stop the other.
fn object(fields: &BTreeMap<String, Field>) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, field)| (name.clone(), shape(&field.shape))).collect();
    let required: Vec<&String> =
        fields.iter().filter(|(_, field)| field.required).map(|(name, _)| name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::OneOf(texts) => json!({ "type": "string", "enum": texts }),
        Shape::List(item) => json!({ "type": "array", "items": self::shape(item) }),
        Shape::Object(fields) => object(fields),
        Shape::Any => json!({}),
    }
}
