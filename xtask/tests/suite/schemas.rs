//! Checks that every JSON document that the product names has a schema in the book, and that the book links to it.

use crate::support::{none, product, sample, top};
use std::collections::BTreeSet;

const FOLDER: &str = "docs/src/reference/schemas";

/// Names of documents in a text: `quietcore.check/1`.
fn names(text: &str) -> Vec<&str> {
    let starts = text.match_indices("quietcore.").map(|(start, _)| &text[start..]);
    let name = |rest: &str| {
        let is_part = |letter: char| letter.is_ascii_lowercase() || matches!(letter, '.' | '-' | '_');
        let version = rest.trim_start_matches(is_part).strip_prefix('/')?;
        let digits = version.len() - version.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        (digits > 0).then_some(rest.len() - version.len() + digits)
    };
    starts.filter_map(|rest| name(rest).map(|end| &rest[..end])).collect()
}

/// Names in the sources of the product, without its unit tests.
fn named(files: &[(String, String)]) -> BTreeSet<String> {
    let files = files.iter().filter(|(path, _)| !path.ends_with("/tests.rs"));
    let codes = files.map(|(_, text)| text.split("#[cfg(test)]\nmod ").next().unwrap_or_default());
    codes.flat_map(names).map(str::to_owned).collect()
}

/// The file of a document's schema, without its folder.
fn file_name(name: &str) -> String {
    let name = name
        .trim_start_matches("quietcore.")
        .split('/')
        .next()
        .unwrap_or_default();
    format!("{name}.schema.json")
}

#[test]
fn every_document_has_a_schema_that_the_book_links_to() {
    let page = std::fs::read_to_string(top().join("docs/src/reference/json.md")).unwrap();
    let named = named(&product());
    let mut missing = Vec::new();
    for name in &named {
        let file = file_name(name);
        let schema = std::fs::read_to_string(top().join(FOLDER).join(&file)).unwrap_or_default();
        if !schema.contains(&format!("\"title\": \"{name}\"")) {
            missing.push(format!("{FOLDER}/{file} does not describe {name}"));
        }
        if !page.contains(&format!("[`{name}`](schemas/{file})")) {
            missing.push(format!("json.md does not link to the schema of {name}"));
        }
    }
    let files: BTreeSet<String> = named.iter().map(|name| file_name(name)).collect();
    for entry in std::fs::read_dir(top().join(FOLDER)).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        if !files.contains(&file) {
            missing.push(format!("no document has the schema {file}"));
        }
    }
    none(
        &missing,
        "`make bless` writes the schemas; add new ones to crates/cli/src/schemas.rs and json.md",
    );
    assert!(named.len() >= 28, "{named:?}");
}

#[test]
fn names_of_documents_are_found() {
    let text = "\"quietcore.a-b.c_d/12\"\nquietcore.toml\n#[cfg(test)]\nmod tests { \"quietcore.x/1\" }";
    let found = named(&sample("crates/cli/src/lib.rs", text));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["quietcore.a-b.c_d/12"]);
    assert_eq!(file_name("quietcore.a-b.c_d/12"), "a-b.c_d.schema.json");
}
