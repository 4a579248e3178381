//! Validates JSON documents of quietcore against the schemas of the book.

use crate::error::{TaskResult, XtaskError, top};
use jsonschema::JSONSchema;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Where the schemas are.
const FOLDER: &str = "docs/src/reference/schemas";

/// The schemas by the name of the document: `quietcore.check/1`.
pub struct DocumentSchemas(BTreeMap<String, JSONSchema>);

impl DocumentSchemas {
    /// Reads and compiles all schemas.
    ///
    /// # Errors
    /// [`XtaskError`] when a schema cannot be read or is not valid.
    pub fn read() -> TaskResult<DocumentSchemas> {
        let folder = top().join(FOLDER);
        let mut schemas = BTreeMap::new();
        for entry in fs::read_dir(&folder).map_err(XtaskError::file(&folder))? {
            let path = entry.map_err(XtaskError::file(&folder))?.path();
            let text = fs::read_to_string(&path).map_err(XtaskError::file(&path))?;
            let invalid = |why: String| XtaskError::Program {
                program: path.display().to_string(),
                why,
            };
            let schema: Value = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
            let compiled = JSONSchema::compile(&schema).map_err(|error| invalid(error.to_string()))?;
            let name = schema["title"].as_str().unwrap_or_default();
            schemas.insert(name.to_owned(), compiled);
        }
        Ok(DocumentSchemas(schemas))
    }

    /// Why a document does not match the schema that it names; `None` if it names none of quietcore.
    #[must_use]
    pub fn errors(&self, document: &Value) -> Option<Vec<String>> {
        let name = document["schema"].as_str()?;
        if !name.starts_with("quietcore.") {
            return None;
        }
        let Some(schema) = self.0.get(name) else {
            return Some(vec![format!("{name} has no schema")]);
        };
        let errors = match schema.validate(document) {
            Ok(()) => Vec::new(),
            Err(errors) => errors
                .map(|error| format!("{name} {}: {:.300}", error.instance_path, error.to_string()))
                .collect(),
        };
        Some(errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_with_a_missing_field_or_an_unknown_name_is_reported() {
        let schemas = DocumentSchemas::read().unwrap();
        let history = json!({ "schema": "quietcore.history/1", "journals": [], "unreadable": [] });
        assert_eq!(schemas.errors(&history), Some(Vec::new()));
        let short = json!({ "schema": "quietcore.history/1", "journals": [] });
        assert!(schemas.errors(&short).unwrap()[0].contains("unreadable"));
        assert_eq!(
            schemas.errors(&json!({ "schema": "quietcore.none/1" })).unwrap().len(),
            1
        );
        assert_eq!(schemas.errors(&json!({ "schema": "other/1" })), None);
    }
}
