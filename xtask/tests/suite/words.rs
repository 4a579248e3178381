//! Checks that text for users and names in code are plain technical English, and that every type name is unique.
//!
//! Each of the words is one that a reader has to translate first. Next to it is its standard term.

use crate::module_tokens::is_mark;
use crate::support::{none, sample, sources};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// A word, and its standard term.
const WORDS: &[(&str, &str)] = &[
    ("told", "reported, notified"),
    ("tells of", "reports"),
    ("take back", "undo"),
    ("takes back", "undoes"),
    ("taken back", "undone"),
    ("took back", "undid"),
    ("taking back", "undoing"),
    ("take it back", "undo it"),
    ("takes it back", "undoes it"),
    ("take them back", "undo them"),
    ("mend", "repair"),
    ("mends", "repairs"),
    ("mended", "repaired"),
    ("somebody", "another program"),
    ("nobody", "no program"),
    ("whoever", "the program that"),
    ("anew", "again"),
    ("begun", "started"),
    ("stands", "is active, exists"),
    ("goes home", "returns to its cgroup"),
    ("comes home", "returns to its cgroup"),
    ("is said to be", "is reported as"),
    ("noted", "recorded"),
    ("meanwhile", "since then, during the measurement"),
    ("kept from", "blocked from"),
    ("asked for by name", "explicitly requested"),
    ("what is wanted", "the intended state"),
    ("was due", "was expected"),
    ("were due", "were expected"),
];

/// Values of JSON, which stay as they are.
const VALUES: &[&str] = &["\"taken back ({why})\"", "\"taken back\""];

/// The user-visible text of a file: strings of several words, and in `cli` the doc comments, which clap prints.
fn texts(name: &str, text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let tokens: TokenStream = code.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut found = Vec::new();
    collect(tokens, name.starts_with("crates/cli/src/verbs"), &mut found);
    found
}

fn collect(tokens: TokenStream, with_documentation: bool, found: &mut Vec<String>) {
    let mut before = None;
    for token in tokens {
        match &token {
            TokenTree::Literal(literal) => {
                let literal = literal.to_string();
                if literal.contains('"') && literal.contains(' ') && !VALUES.contains(&literal.as_str()) {
                    found.push(literal);
                }
            }
            TokenTree::Group(group) => {
                let is_attribute = group.delimiter() == Delimiter::Bracket
                    && before
                        .as_ref()
                        .is_some_and(|before| is_mark(before, '#') || is_mark(before, '!'));
                let is_documentation = is_attribute && group.stream().to_string().starts_with("doc");
                if with_documentation || !is_documentation {
                    collect(group.stream(), with_documentation, found);
                }
            }
            _ => {}
        }
        before = Some(token);
    }
}

/// Whether a text has these words as whole words.
fn has(text: &str, words: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(words).any(|(start, _)| {
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        let after = text.get(start + words.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

/// Whether a file is compiled into the product.
fn is_product(name: &str) -> bool {
    name.contains("/src/") && !name.contains("/tests/") && !name.ends_with("/tests.rs")
}

fn unusual_texts(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in files.iter().filter(|(name, _)| is_product(name)) {
        for shown in texts(name, text) {
            let plain = shown.to_lowercase().replace("\\n", " ");
            let hits = WORDS.iter().filter(|(word, _)| has(&plain, word));
            found.extend(hits.map(|(word, term)| format!("{name}: `{word}` is `{term}`: {shown}")));
        }
    }
    found
}

/// Functions, types, modules and constants with such a word in their name.
fn unusual_names(files: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in files.iter().filter(|(name, _)| name.contains("/src/")) {
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let is_declaration =
                |word: &&str| matches!(*word, "fn" | "mod" | "struct" | "enum" | "trait" | "const" | "static");
            if let (Some(_), Some(declared)) = (words.by_ref().find(is_declaration), words.next()) {
                let parts = parts(declared);
                let hit = WORDS.iter().find(|(word, _)| parts.iter().any(|part| part == word));
                found.extend(hit.map(|(word, term)| format!("{name}: `{declared}` has `{word}`, which is `{term}`")));
            }
        }
    }
    found
}

/// The words of a name such as `was_told` or `WasTold`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let is_constant = !name.chars().any(char::is_lowercase);
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && !is_constant) {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut().filter(|_| letter != '_') {
            last.extend(letter.to_lowercase());
        }
    }
    parts
}

/// Types of the product that several files declare. Every command of `cli` has its own `Args`, named by convention of
/// clap.
fn shared_type_names(files: &[(String, String)]) -> Vec<String> {
    let mut declared: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, text) in files.iter().filter(|(name, _)| is_product(name)) {
        for line in text.lines() {
            let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
            let line = line.strip_prefix("pub(super) ").unwrap_or(line);
            let line = line.strip_prefix("pub ").unwrap_or(line);
            let Some((kind, rest)) = line.split_once(' ') else {
                continue;
            };
            let end = rest
                .find(|letter: char| !letter.is_alphanumeric())
                .unwrap_or(rest.len());
            let is_type = matches!(kind, "struct" | "enum" | "trait" | "union" | "type");
            if let Some(found) = rest.get(..end).filter(|_| is_type) {
                declared.entry(found).or_default().insert(name);
            }
        }
    }
    declared.remove("Args");
    let shared = declared.into_iter().filter(|(_, files)| files.len() > 1);
    shared.map(|(name, files)| format!("{name}: {files:?}")).collect()
}

#[test]
fn a_type_name_is_given_once() {
    none(
        &shared_type_names(&sources("crates")),
        "a name says what the type is, in any crate",
    );
    let mut broken = sample("crates/plan/src/lib.rs", "pub struct Line {\n");
    broken.extend(sample("crates/boot/src/lib.rs", "enum Line {\n"));
    assert_eq!(shared_type_names(&broken).len(), 1);
}

#[test]
fn text_for_users_is_plain() {
    none(&unusual_texts(&sources("crates")), "use the standard term");
    for line in [
        "const A: &str = \"it was told to stop\";",
        "fn f() { note!(\"x\", \"Nobody isolates {cpu}\") }",
    ] {
        let broken = sample("crates/plan/src/lib.rs", &format!("/// Told.\n{line}\n"));
        assert_eq!(unusual_texts(&broken).len(), 1, "{line}");
    }
    let help = sample("crates/cli/src/verbs/undo.rs", "/// Take back all\nstruct Args;\n");
    assert_eq!(unusual_texts(&help).len(), 1);
    let key = sample("crates/plan/src/lib.rs", "const A: &str = \"told\";\n");
    assert!(unusual_texts(&key).is_empty());
}

#[test]
fn names_are_plain() {
    let files: Vec<_> = ["bench", "crates", "lab"].into_iter().flat_map(sources).collect();
    none(&unusual_names(&files), "use the standard term");
    for line in [
        "pub fn is_told() {}",
        "struct NobodyThere;",
        "const BEGUN: u8 = 1;",
        "mod told;",
    ] {
        let broken = sample("crates/plan/src/lib.rs", &format!("{line}\n"));
        assert_eq!(unusual_names(&broken).len(), 1, "{line}");
    }
}
