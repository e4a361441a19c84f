//! Kinds of handoffs as JSON Schema documents, for programs that send or read them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shipmate_model::playbook::{Field, Kind, Shape};

pub fn document(name: &str, kind: &Kind) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(name));
    if !kind.about.is_empty() {
        schema.insert("description".to_owned(), json!(kind.about));
    }
    object(&kind.fields, &mut schema);
    Value::Object(schema)
}

/// Fields that nobody described are let through: what one side adds must not stop the other.
fn object(fields: &BTreeMap<String, Field>, schema: &mut Map<String, Value>) {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, field)| (name.clone(), shape(&field.shape))).collect();
    let required: Vec<&String> =
        fields.iter().filter(|(_, field)| field.required).map(|(name, _)| name).collect();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required));
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::OneOf(texts) => json!({ "type": "string", "enum": texts }),
        Shape::List(item) => json!({ "type": "array", "items": self::shape(item) }),
        Shape::Object(fields) => {
            let mut schema = Map::new();
            object(fields, &mut schema);
            Value::Object(schema)
        }
        Shape::Any => json!({}),
    }
}
