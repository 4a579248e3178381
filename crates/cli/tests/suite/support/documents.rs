//! The commands that README.md and the pages of `docs` show.

use std::path::{Path, PathBuf};

/// A piece of a page.
pub struct ShownText {
    /// The page and the line.
    pub place: String,
    pub text: String,
    pub kind: ShownKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ShownKind {
    /// A block that a reader pastes, or a line after a prompt.
    Shell,
    /// Text between backquotes. It may leave out arguments, and name them with placeholders.
    Inline,
}

/// The folder of the repository.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and all pages of `docs`.
pub fn pages() -> Vec<PathBuf> {
    let top = top();
    let mut open = vec![top.join("docs")];
    let mut pages = vec![top.join("README.md")];
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
    pages.sort();
    pages
}

/// Shell blocks, lines after a prompt, and text between backquotes.
pub fn shown(page: &Path) -> Vec<ShownText> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut all: Vec<ShownText> = Vec::new();
    let mut fence = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mut add = |text: &str, kind: ShownKind| {
            let place = format!("{}:{number}", page.display());
            let text = text.to_owned();
            all.push(ShownText { place, text, kind });
        };
        match (fence, line.trim_start().strip_prefix("```")) {
            (None, Some(kind)) => {
                fence = Some(kind);
                if kind == "sh" {
                    add("", ShownKind::Shell);
                }
            }
            (Some(_), Some(_)) => fence = None,
            (Some("sh"), None) => {
                if let Some(block) = all.last_mut() {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
            }
            (Some(_), None) => {
                let prompt = ["$ ", "# "].iter().find_map(|prompt| line.strip_prefix(prompt));
                prompt.into_iter().for_each(|command| add(command, ShownKind::Shell));
            }
            (None, None) => line
                .split('`')
                .skip(1)
                .step_by(2)
                .for_each(|text| add(text, ShownKind::Inline)),
        }
    }
    all
}
