//! What a model wrote as a call's arguments, read with patience: a number or a truth value in
//! quotes is one. An argument that a tool has not is refused, because a misspelt one that is
//! passed over does something else than was meant.

use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a> {
    tool: &'a str,
    given: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    pub(super) fn of(tool: &'a str, value: &'a Value, known: &[&str]) -> Result<Self, String> {
        let names = known.join(", ");
        let Value::Object(given) = value else {
            return Err(format!("{tool} takes a JSON object with {names}"));
        };
        if let Some(odd) = given.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("{tool} has no argument {odd:?}; it has {names}"));
        }
        Ok(Self { tool, given })
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        self.text_or_none(name)?.ok_or_else(|| format!("{} needs {name:?}", self.tool))
    }

    pub(super) fn text_or_none(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{name:?} of {} must be a string", self.tool)),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(_) => Err(format!("{name:?} of {} must be true or false", self.tool)),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match number_in(value) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{name:?} of {} must be a whole number, 0 or more", self.tool)),
        }
    }
}

fn number_in(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => {
            // Some models write every number with a point.
            let whole = |real: f64| (real >= 0.0 && real.fract() == 0.0).then_some(real as u64);
            number.as_u64().or_else(|| number.as_f64().and_then(whole))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_model_writes_is_read_with_patience_or_refused_in_words() {
        let table = [
            (json!({"n": 3}), "Ok(Some(3))"),
            (json!({"n": "3"}), "Ok(Some(3))"),
            (json!({"n": 3.0}), "Ok(Some(3))"),
            (json!({"n": null}), "Ok(None)"),
            (json!({}), "Ok(None)"),
            (json!({"n": -1}), r#"Err("\"n\" of t must be a whole number, 0 or more")"#),
            (json!({"n": 1.5}), r#"Err("\"n\" of t must be a whole number, 0 or more")"#),
            (json!({"n": [3]}), r#"Err("\"n\" of t must be a whole number, 0 or more")"#),
            (json!({"m": 3}), r#"Err("t has no argument \"m\"; it has n")"#),
            (json!([3]), r#"Err("t takes a JSON object with n")"#),
            (json!("3"), r#"Err("t takes a JSON object with n")"#),
        ];
        for (value, expected) in table {
            let read = Arguments::of("t", &value, &["n"]).and_then(|given| given.number("n"));
            assert_eq!(format!("{read:?}"), expected, "{value}");
        }
    }

    #[test]
    fn texts_and_flags_are_told_from_what_they_are_not() {
        let value = json!({"a": "x", "b": "true", "c": 1});
        let given = Arguments::of("t", &value, &["a", "b", "c", "d"]).unwrap();
        assert_eq!(
            (given.text("a"), given.flag("b"), given.flag("d")),
            (Ok("x"), Ok(true), Ok(false))
        );
        assert_eq!(given.text("c").unwrap_err(), "\"c\" of t must be a string");
        assert_eq!(given.text("d").unwrap_err(), "t needs \"d\"");
        assert_eq!(given.flag("c").unwrap_err(), "\"c\" of t must be true or false");
    }
}
