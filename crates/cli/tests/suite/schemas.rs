//! The JSON Schemas of the book (`docs/src/reference/schemas`) are made from the types of the program, and its documents match
//! them.
//!
//! `QUIETCORE_BLESS=1` writes them again. Documents of other tests are checked where those run the program
//! (`support::schemas::document`).

use crate::support::schemas::{SCHEMAS, document, errors, file};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_schemas_of_the_book_are_those_of_the_types() {
    let bless = std::env::var_os("QUIETCORE_BLESS").is_some();
    for (name, known) in &*SCHEMAS {
        let (path, text) = (file(name), format!("{:#}\n", known.schema));
        if bless {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            continue;
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        let differs = written.lines().zip(text.lines()).find(|(written, now)| written != now);
        assert!(
            written == text,
            "the schema of {name} is not up to date, `make bless` writes it again: {differs:?}"
        );
    }
}

/// The fields of a schema with their places. An alternative describes the word that chooses it, and its only value.
fn fields<'a>(schema: &'a Value, place: &str, found: &mut Vec<(String, &'a Value)>) {
    let is_alternative = place.ends_with("/oneOf") && schema["description"].is_string();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let own: Vec<(&String, &Value)> = properties
        .filter(|(_, field)| !is_alternative || field.get("const").is_none())
        .collect();
    if !is_alternative || own.len() > 1 {
        let fields = own.into_iter();
        found.extend(fields.map(|(name, field)| (format!("{place}/{name}"), field)));
    }
    match schema {
        Value::Object(parts) => parts
            .iter()
            .for_each(|(name, part)| fields(part, &format!("{place}/{name}"), found)),
        Value::Array(parts) => parts.iter().for_each(|part| fields(part, place, found)),
        _ => {}
    }
}

#[test]
fn every_field_is_described_without_paths_of_rust() {
    for (name, known) in &*SCHEMAS {
        let mut all = Vec::new();
        fields(&known.schema, "", &mut all);
        let nameless = all
            .iter()
            .filter(|(_, field)| field["description"].as_str().is_none_or(str::is_empty));
        let nameless: Vec<&String> = nameless.map(|(place, _)| place).collect();
        assert!(nameless.is_empty(), "{name}: {nameless:?}");
        let text = known.schema.to_string();
        let foreign = ["::", "`None`", "[`", "`]", "`Some"].map(|word| text.split(word).nth(1).map(|_| word));
        assert_eq!(foreign, [None; 5], "{name}");
    }
}

/// The documents in a file: those that name a schema, and the moments of a recording.
fn documents(path: &Path) -> Vec<(String, Value)> {
    // A fixture of a machine may be a file that its user alone may read.
    let bytes = fs::read(path).unwrap_or_default();
    let mut name = String::new();
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_slice(&bytes)
        .into_iter::<Value>()
        .map_while(Result::ok)
    {
        match value["schema"].as_str() {
            Some(schema) if schema.starts_with("quietcore.") => schema.clone_into(&mut name),
            None if name.starts_with("quietcore.watch/") => {}
            _ => return found,
        }
        found.push((name.clone(), value));
    }
    found
}

/// The documents of the golden files and of results that earlier versions wrote, with their files.
fn fixtures() -> Vec<(PathBuf, String, Value)> {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => {
                    found.extend(
                        documents(&path)
                            .into_iter()
                            .map(|(name, one)| (path.clone(), name, one)),
                    );
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn golden_documents_match_their_schemas() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (path, name, document) in fixtures() {
        assert_eq!(errors(&document, &name), [""; 0], "{}", path.display());
        *counts.entry(name).or_default() += 1;
    }
    let least = [
        ("boot", 1),
        ("check", 1),
        ("compare", 1),
        ("inspect", 9),
        ("measure", 1),
        ("report", 1),
        ("watch", 2),
    ];
    for (name, least) in least {
        let count = counts.get(&format!("quietcore.{name}/1")).copied().unwrap_or_default();
        assert!(count >= least, "{count} documents of {name}: {counts:?}");
    }
}

/// Commands that read a captured machine and print a document.
const READING: [&[&str]; 13] = [
    &["status"],
    &["cpus", "all"],
    &["inspect", "--tasks", "--irqs"],
    &["plan", "--count", "1"],
    &["plan", "--count", "1", "--export", "shell"],
    &["check"],
    &["boot", "show"],
    &["boot", "check"],
    &["boot", "clear", "--dry-run"],
    &["explain", "irq_affinity"],
    &["explain", "--list"],
    &["explain", "--cmdline", "isolcpus=3 nohz_full=9"],
    &["snapshot", "copy.tar"],
];

#[test]
fn reading_commands_print_documents_that_match_their_schemas() {
    let machine = "4x86-2p2c-v2-boot-line-6.1.tar.gz";
    let machine = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/machines")
        .join(machine);
    let dir = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quietcore"));
        let output = command
            .args(words)
            .arg("--json")
            .current_dir(dir.path())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        document(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {message}"))
    };
    let root = machine.to_str().unwrap();
    let named = READING.map(|words| run(&[words, &["--root", root]].concat()));
    let both = run(&["diff", root, root]);
    for (words, document) in READING.iter().copied().zip(&named).chain([(&["diff"][..], &both)]) {
        let name = document["schema"]
            .as_str()
            .unwrap_or_else(|| panic!("{words:?}: {document}"));
        assert!(SCHEMAS.contains_key(name), "{words:?} prints {name}");
    }
}

/// Every value of a document, as a JSON pointer, except those in long lists.
fn places(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            places(field, &format!("{place}/{name}"), found);
        }),
        Value::Array(items) => {
            let few = items.iter().take(3).enumerate();
            few.for_each(|(number, item)| places(item, &format!("{place}/{number}"), found));
        }
        _ => {}
    }
    found.push(place.to_owned());
}

/// The document with a value of another type at each place.
fn with_wrong_types(document: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    places(document, "", &mut all);
    let wrong = |place: String| {
        let mut changed = document.clone();
        let value = changed.pointer_mut(&place).unwrap();
        *value = match value {
            Value::Object(_) | Value::Array(_) | Value::String(_) => json!(1.5),
            Value::Number(_) | Value::Bool(_) => json!({}),
            Value::Null => json!([["x"]]),
        };
        (place, changed)
    };
    all.into_iter().map(wrong).collect()
}

/// The document without each of the fields that its schema requires.
fn without_required(document: &Value, form: &Value) -> Vec<(String, Value)> {
    let required = form["required"].as_array().unwrap();
    let without = |field: &Value| {
        let mut changed = document.clone();
        let field = field.as_str().unwrap();
        changed.as_object_mut().unwrap().remove(field).unwrap();
        (field.to_owned(), changed)
    };
    required.iter().map(without).collect()
}

fn is_refused(name: &str, changed: &[(String, Value)]) {
    let accepted = changed.iter().filter(|(_, document)| errors(document, name).is_empty());
    let accepted: Vec<&String> = accepted.map(|(place, _)| place).collect();
    assert!(
        accepted.is_empty(),
        "{name} accepts a document that is wrong at {accepted:?}"
    );
}

#[test]
fn a_golden_document_with_a_wrong_type_anywhere_is_refused() {
    let smallest: BTreeMap<String, Value> = fixtures().into_iter().fold(BTreeMap::new(), |mut all, (_, name, one)| {
        let size = |value: &Value| value.to_string().len();
        // The lines of a recording are separate forms; the first is the smallest.
        let is_smaller = all.get(&name).is_none_or(|known| size(&one) < size(known));
        if is_smaller {
            all.insert(name, one);
        }
        all
    });
    assert!(smallest.len() >= 7, "{:?}", smallest.keys());
    for (name, document) in &smallest {
        is_refused(name, &with_wrong_types(document));
    }
}

/// A document that a schema describes, with every field, one item in each list, and the first of all alternatives.
fn example(schema: &Value, root: &Value, depth: usize) -> Value {
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[0].clone();
    }
    if let Some(reference) = schema["$ref"].as_str() {
        return example(root.pointer(&reference[1..]).unwrap(), root, depth + 1);
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array())
        && schema.get("properties").is_none()
    {
        return example(&choices[0], root, depth);
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => &kinds[0],
        kind => kind,
    };
    match kind.as_str() {
        Some("object") => object_example(schema, root, depth),
        Some("array") => array_example(schema, root, depth),
        Some("string") => json!("x".repeat(schema["minLength"].as_u64().unwrap_or_default() as usize)),
        Some("integer" | "number") => json!(0),
        Some("boolean") => json!(false),
        other => panic!("no example of {other:?}: {schema}"),
    }
}

fn object_example(schema: &Value, root: &Value, depth: usize) -> Value {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let mut object: Map<String, Value> = fields
        .map(|(name, field)| (name.clone(), example(field, root, depth)))
        .collect();
    if let Some(values) = schema.get("additionalProperties") {
        object.insert("name".to_owned(), example(values, root, depth));
    }
    Value::Object(object)
}

/// A type that holds itself ends with an empty list.
fn array_example(schema: &Value, root: &Value, depth: usize) -> Value {
    if let Some(items) = schema["prefixItems"].as_array() {
        return items.iter().map(|item| example(item, root, depth)).collect();
    }
    let least = schema["minItems"].as_u64().unwrap_or(1);
    let most = schema["maxItems"].as_u64().unwrap_or(1);
    let count = if depth > 12 { 0 } else { least.min(most) };
    (0..count).map(|_| example(&schema["items"], root, depth)).collect()
}

/// The forms of a document.
fn forms(schema: &Value) -> Vec<&Value> {
    let resolved = |form: &'_ Value| schema.pointer(&form["$ref"].as_str().unwrap()[1..]).unwrap();
    match schema["anyOf"].as_array() {
        Some(forms) => forms.iter().map(resolved).collect(),
        None => vec![schema],
    }
}

#[test]
fn every_schema_refuses_missing_fields_and_wrong_types() {
    for (name, known) in &*SCHEMAS {
        for form in forms(&known.schema) {
            let document = example(form, &known.schema, 0);
            assert_eq!(errors(&document, name), [""; 0], "{document}");
            is_refused(name, &without_required(&document, form));
            is_refused(name, &with_wrong_types(&document));
        }
    }
}

/// Scripts see documents of later versions.
#[test]
fn every_schema_accepts_fields_of_later_versions() {
    for (name, known) in &*SCHEMAS {
        let mut document = example(forms(&known.schema)[0], &known.schema, 0);
        document["of_a_later_version"] = json!({ "a": 1 });
        assert_eq!(errors(&document, name), [""; 0]);
        assert!(
            !known.schema.to_string().contains("\"additionalProperties\":false"),
            "{name}"
        );
    }
}
