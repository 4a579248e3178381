//! Models in which every text is replaced by a given one.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the model with this text in every place that accepts any text.
pub fn with_text<T: Serialize + DeserializeOwned>(model: &T, text: &str) -> T {
    let mut value = serde_json::to_value(model).unwrap();
    let mut found = Vec::new();
    texts(&value, "", &mut found);
    assert!(!found.is_empty());
    for at in found {
        let before = std::mem::replace(value.pointer_mut(&at).unwrap(), Value::from(text));
        if serde_json::from_value::<T>(value.clone()).is_err() {
            *value.pointer_mut(&at).unwrap() = before;
        }
    }
    serde_json::from_value(value).unwrap()
}

/// Collects the JSON pointers of all texts in a document.
fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(values) => {
            let places = values.iter().enumerate();
            places.for_each(|(place, value)| texts(value, &format!("{at}/{place}"), found));
        }
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            texts(value, &format!("{at}/{name}"), found);
        }),
        _ => {}
    }
}
