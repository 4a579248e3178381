//! Checks that files named in the documents for contributors exist.

use crate::support::{none, top};
use std::path::PathBuf;

/// Documents for contributors.
const DOCUMENTS: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/contributing/testing.md",
    "docs/contributing/fuzzing.md",
    "docs/contributing/knobs.md",
    "docs/contributing/release.md",
    "SECURITY.md",
];

/// Folders of the repository whose files the documents name.
const FOLDERS: &[&str] = &[
    "bench/",
    "crates/",
    "docs/",
    "fixtures/",
    "fuzz/",
    "lab/",
    "packaging/",
    "scripts/",
    "xtask/",
];

/// Backquoted text that is a plain path of the repository.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| {
            word.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
        })
        .collect()
}

/// Whether a path names one file: a placeholder (`NAME.rs`) stands for any file, and artifacts exist only after a run.
fn is_concrete(path: &str) -> bool {
    let is_placeholder = |part: &str| part.starts_with(|letter: char| letter.is_ascii_uppercase());
    !path.split('/').any(is_placeholder) && !path.starts_with("fuzz/artifacts") && !path.starts_with("fuzz/corpus")
}

#[test]
fn documents_name_files_that_exist() {
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(top().join(document)).unwrap();
        let named = paths(&text).into_iter().filter(|path| is_concrete(path));
        missing.extend(
            named
                .filter(|path| !top().join(path).exists())
                .map(|path| format!("{document}: {path}")),
        );
    }
    none(&missing, "a document names a file that does not exist");
    assert_eq!(
        paths("see `crates/none/src/x.rs`, `make check` and `crates/*/src`"),
        ["crates/none/src/x.rs"]
    );
}

/// The files of the book and the documents beside it.
pub fn documents() -> Vec<PathBuf> {
    let mut open = vec![top().join("docs")];
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "SECURITY.md",
    ]
    .map(|name| top().join(name))
    .to_vec();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false if path.extension().is_some_and(|end| end == "md") => pages.push(path),
                false => {}
            }
        }
    }
    pages
}

/// Targets of Markdown links, outside of code.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let starts = prose.flat_map(|prose| prose.split("](").skip(1));
    starts.filter_map(|rest| rest.split([')', ' ', '\n']).next()).collect()
}

/// The anchors of a page's headings, as mdBook and GitHub make them.
fn anchors(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let heads = prose.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let letters = line.trim_start_matches('#').trim().to_lowercase();
        let keeps = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
        letters
            .chars()
            .filter(keeps)
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    };
    heads.map(anchor).collect()
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for page in documents() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links(&text)
            .into_iter()
            .filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
        {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            let is_whole = match std::fs::read_to_string(&target) {
                Ok(text) if target.extension().is_some_and(|end| end == "md") => {
                    anchor.is_empty() || anchors(&text).iter().any(|one| one == anchor)
                }
                _ => target.exists(),
            };
            checked += 1;
            if !is_whole {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    none(&broken, "a link leads nowhere");
    assert!(checked > 100, "only {checked} links were found");
}

#[test]
fn the_readme_stays_short() {
    let bytes = std::fs::metadata(top().join("README.md")).unwrap().len();
    assert!(
        bytes <= 12_000,
        "README.md has {bytes} bytes: its details belong in docs/src"
    );
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let book = top().join("docs/src");
    let summary = std::fs::read_to_string(book.join("SUMMARY.md")).unwrap();
    let listed = links(&summary);
    let is_missing = |page: &PathBuf| {
        let name = page.strip_prefix(&book).ok().and_then(|path| path.to_str());
        name.is_some_and(|name| name != "SUMMARY.md" && !listed.contains(&name))
    };
    let missing: Vec<String> = documents()
        .iter()
        .filter(|page| is_missing(page))
        .map(|page| page.display().to_string())
        .collect();
    none(&missing, "a page is not in docs/src/SUMMARY.md");
}

#[test]
fn each_readme_of_the_book_is_redirected_to_its_page() {
    let book = top().join("docs/src");
    let settings = std::fs::read_to_string(top().join("docs/book.toml")).unwrap();
    let redirect = |page: PathBuf| {
        let folder = page.strip_prefix(&book).ok()?.parent()?.to_str()?.to_owned();
        page.ends_with("README.md")
            .then(|| format!("\"/{folder}/README.html\" = \"index.html\""))
    };
    let missing: Vec<String> = documents()
        .into_iter()
        .filter_map(redirect)
        .filter(|line| !settings.lines().any(|other| other == line))
        .collect();
    none(&missing, "docs/book.toml has no redirect");
}
