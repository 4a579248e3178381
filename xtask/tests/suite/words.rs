//! Checks that text for users and names in code are plain technical English, and that every type name is unique.

use crate::documents::documents;
use crate::module_tokens::is_mark;
use crate::support::{none, sample, sources, top};
use crate::terms::WORDS;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// Values of JSON, which stay as they are.
const VALUES: &[&str] = &[
    "\"taken back ({why})\"",
    "\"taken back\"",
    "\"put away\"",
    "\"in force\"",
];

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

/// Installed and exported files that are no Rust source: units, rules, dashboards, scripts.
const INSTALLED: &[&str] = &[
    "packaging/grafana/quietcore.json",
    "packaging/init.d/quietcore",
    "packaging/prometheus/quietcore.rules.yml",
    "packaging/systemd/quietcore-study.service",
    "packaging/systemd/quietcore-watch.service",
    "packaging/systemd/quietcore.service",
    "crates/report/src/export/shell/functions.sh",
    "crates/report/src/export/shell/verbs.sh",
];

/// Lines of a text with such a word outside of variable names.
fn unusual_lines(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let plain = line.to_lowercase();
        let hits = WORDS.iter().filter(|(word, _)| has(&plain, word));
        found.extend(hits.map(|(word, term)| format!("{name}: `{word}` is `{term}`: {line}")));
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
fn installed_files_are_plain() {
    let read = |name: &&str| std::fs::read_to_string(top().join(name)).unwrap();
    let found: Vec<String> = INSTALLED
        .iter()
        .flat_map(|name| unusual_lines(name, &read(name)))
        .collect();
    none(&found, "use the standard term");
    assert_eq!(unusual_lines("unit", "# Nobody stops it\nExecStart=x\n").len(), 1);
}

/// The lines of a document without code: blocks between fences or indented, and text in backquotes.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence && !line.starts_with("    ") {
            lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join(" "));
        }
    }
    lines.join("\n")
}

#[test]
fn documents_are_plain() {
    let found: Vec<String> = documents()
        .iter()
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            unusual_lines(&path.display().to_string(), &prose(&text))
        })
        .collect();
    none(&found, "use the standard term");
    let text = "Nobody stops it.\n```text\nnobody\n```\nThe value `nobody` stays.\n";
    assert_eq!(unusual_lines("page", &prose(text)).len(), 1);
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
