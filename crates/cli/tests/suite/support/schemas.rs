//! The JSON Schemas of all documents, made from the types of the program, and the validation of documents against them.

use jsonschema::JSONSchema;
use quietcore::schemas::document_forms;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

/// A document's schema, and its compiled form.
pub struct DocumentSchema {
    /// The schema.
    pub schema: Value,
    compiled: JSONSchema,
}

/// The schemas by the name of the document: `quietcore.check/1`.
pub static SCHEMAS: LazyLock<BTreeMap<&'static str, DocumentSchema>> = LazyLock::new(|| {
    let mut names: Vec<&str> = document_forms().into_iter().map(|(name, _)| name).collect();
    names.dedup();
    let compiled = |name| {
        let schema = schema(name);
        let compiled = JSONSchema::compile(&schema).map_err(|error| error.to_string()).unwrap();
        (name, DocumentSchema { schema, compiled })
    };
    names.into_iter().map(compiled).collect()
});

/// The file of a document's schema in the book.
pub fn file(name: &str) -> PathBuf {
    let name = name.trim_start_matches("quietcore.").split('/').next().unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/schemas");
    folder.join(format!("{name}.schema.json"))
}

/// Makes the schema of a document from the types of its forms.
fn schema(name: &str) -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let forms = document_forms().into_iter().filter(|(known, _)| *known == name);
    let forms: Vec<Value> = forms.map(|(_, form)| form(&mut generator).to_value()).collect();
    let mut types = generator.take_definitions(true);
    for form in &forms {
        let form = types.get_mut(type_name(form)).unwrap();
        if let Some(of_name) = form.pointer_mut("/properties/schema") {
            *of_name = json!({ "description": "Name and version of the format.", "type": "string", "const": name });
            add_required(form, "schema");
        }
    }
    let mut root = Map::new();
    root.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    match forms.as_slice() {
        [only] => root.extend(types.remove(type_name(only)).unwrap().as_object().unwrap().clone()),
        several => {
            root.insert("anyOf".to_owned(), json!(several));
        }
    }
    root.insert("title".to_owned(), json!(name));
    if !types.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(types));
    }
    let mut root = Value::Object(root);
    for_readers(&mut root);
    root
}

fn type_name(reference: &Value) -> &str {
    reference["$ref"].as_str().unwrap().trim_start_matches("#/$defs/")
}

fn add_required(form: &mut Value, field: &str) {
    let required = form["required"].as_array_mut().unwrap();
    if !required.contains(&json!(field)) {
        required.insert(0, json!(field));
    }
}

/// Turns what derives from Rust into what readers of JSON need: descriptions in its terms, no required field that readers of older
/// files have a default for, and no closed object, because later versions may add fields.
fn for_readers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let defaulted: Vec<String> = defaulted(fields);
            if let Some(Value::Array(required)) = fields.get_mut("required") {
                required.retain(|field| !defaulted.iter().any(|name| field == name));
            }
            fields.remove("default");
            fields.retain(|name, value| name != "additionalProperties" || *value != json!(false));
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace("`None`", "`null`").replace("[`", "`").replace("`]", "`");
            }
            fields.values_mut().for_each(for_readers);
        }
        Value::Array(items) => items.iter_mut().for_each(for_readers),
        _ => {}
    }
}

/// Fields of an object that have a default.
fn defaulted(object: &Map<String, Value>) -> Vec<String> {
    let fields = object
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let with_default = fields.filter(|(_, field)| field.get("default").is_some());
    with_default.map(|(name, _)| name.clone()).collect()
}

/// Why a document does not match its schema. A line of a recording after the first one has no name of its own.
pub fn errors(document: &Value, name: &str) -> Vec<String> {
    let Some(known) = SCHEMAS.get(name) else {
        return vec![format!("{name} has no schema")];
    };
    match known.compiled.validate(document) {
        Ok(()) => Vec::new(),
        Err(errors) => errors
            .map(|error| format!("{name} {}: {:.300}", error.instance_path, error.to_string()))
            .collect(),
    }
}

/// Parses JSON that the program wrote. A document that names its schema must match it.
pub fn document(text: impl AsRef<[u8]>) -> serde_json::Result<Value> {
    let value: Value = serde_json::from_slice(text.as_ref())?;
    if let Some(name) = value["schema"].as_str().filter(|name| name.starts_with("quietcore.")) {
        assert_eq!(errors(&value, name), [""; 0]);
    }
    Ok(value)
}
