//! Checks that pages are written by templates, which escape every value: no markup in strings, and a single file for
//! unescaped text.

use crate::support::{none, sample, sources};

/// The only file with text that no template escapes: styles and scripts of the pages, which are constants.
const VERBATIM: &str = "crates/report/src/page.rs";

/// Signs of markup in a string. No other code has `</`.
const MARKUP: &[&str] = &["<div", "<table", "<svg", "</"];

/// Lines of the product with one of these words, without comments, unit tests and the allowed file.
fn lines_with(files: &[(String, String)], words: &[&str], allowed: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in files {
        if !name.contains("/src/") || name == allowed {
            continue;
        }
        let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        let code = code.map(str::trim_start).filter(|line| !line.starts_with("//"));
        let hits = code.filter(|line| words.iter().any(|word| line.contains(word)));
        found.extend(hits.map(|line| format!("{name}: {line}")));
    }
    found
}

#[test]
fn unescaped_text_is_in_one_file() {
    let words = &["PreEscaped"];
    none(
        &lines_with(&sources("crates"), words, VERBATIM),
        "templates escape every value; styles and scripts are in page.rs",
    );
    let broken = sample("crates/report/src/blame_page.rs", "use maud::PreEscaped;\n");
    assert_eq!(lines_with(&broken, words, VERBATIM).len(), 1);
    let allowed = sample(VERBATIM, "use maud::PreEscaped;\n");
    assert!(lines_with(&allowed, words, VERBATIM).is_empty());
}

#[test]
fn no_string_has_markup() {
    none(
        &lines_with(&sources("crates"), MARKUP, ""),
        "pages are written with maud, in crates/report",
    );
    for line in ["page.push_str(\"<div>\");", "format!(\"{name}</td>\")"] {
        let broken = sample("crates/study/src/lib.rs", &format!("// <table\n{line}\n"));
        assert_eq!(lines_with(&broken, MARKUP, "").len(), 1, "{line}");
    }
}
