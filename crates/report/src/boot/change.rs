//! Formats a change of boot files: before it is made, and its result.

use super::BOOT_SCHEMA;
use crate::style::{safe, safe_lines};
use ::boot::{FileEdit, Loader, ToolRun, Work, diff};
use serde::Serialize;

/// How much of a change is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeMode {
    /// The whole change.
    Real,
    /// Only the preview.
    Preview,
}

impl ChangeMode {
    /// The whole change where `may_change` holds a lock.
    #[must_use]
    pub fn under<T>(may_change: Option<&T>) -> ChangeMode {
        may_change.map_or(ChangeMode::Preview, |_| ChangeMode::Real)
    }
}

/// JSON of the changing verbs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootChangeJson<'a> {
    schema: &'static str,
    /// The command below `boot`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["set", "trial", "confirm", "clear"])))]
    verb: &'static str,
    /// The boot loader; `None` if the boot files have nothing of quietcore.
    loader: Option<&'static str>,
    /// Words of the boot line that the command is about.
    words: &'a [String],
    /// Whether it is only a preview.
    dry_run: bool,
    /// Whether boot files were changed.
    changed: bool,
    /// The files and their new content.
    edits: Vec<EditJson<'a>>,
    /// Command lines of the loader's tools, in order.
    runs: Vec<String>,
    /// What the user should know.
    notes: &'a [String],
    /// What another program changed since, and was left alone.
    drift: &'a [String],
    /// What to do next.
    next: Option<&'a str>,
}

impl BootChangeJson<'_> {
    /// Of a machine whose boot files have nothing of quietcore.
    #[must_use]
    pub fn nothing(verb: &'static str, mode: ChangeMode) -> BootChangeJson<'static> {
        BootChangeJson {
            schema: BOOT_SCHEMA,
            verb,
            loader: None,
            words: &[],
            dry_run: mode == ChangeMode::Preview,
            changed: false,
            edits: Vec::new(),
            runs: Vec::new(),
            notes: &[],
            drift: &[],
            next: None,
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct EditJson<'a> {
    /// The file.
    path: &'a str,
    /// Its content before; `None` if it does not exist.
    before: Option<&'a str>,
    /// Its content after; `None` if it is removed.
    after: Option<&'a str>,
}

/// The preview of a change.
pub struct ChangeView<'a> {
    /// The verb.
    pub verb: &'static str,
    /// The boot loader.
    pub loader: &'static Loader,
    /// The words.
    pub words: &'a [String],
    /// The change.
    pub work: &'a Work,
    /// Whether it is made.
    pub mode: ChangeMode,
}

impl ChangeView<'_> {
    /// The difference, the tools and the remarks, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = safe_lines(&diff(&self.work.edits));
        let word = match self.mode {
            ChangeMode::Real => "then runs",
            ChangeMode::Preview => "then would run",
        };
        for run in &self.work.runs {
            text.push_str(&format!("{word}: {}\n", safe(&run.text())));
        }
        for note in &self.work.notes {
            text.push_str(&format!("note: {}\n", safe(note)));
        }
        for left in &self.work.left {
            text.push_str(&format!("left alone: {}\n", safe(left)));
        }
        text
    }

    /// The last line for people, and the document. `next` says what to do after a real change.
    #[must_use]
    pub fn outcome<'b>(&'b self, next: &'b str) -> (String, BootChangeJson<'b>) {
        let end = match (self.work.is_nothing(), self.mode) {
            (true, _) => "Nothing needs to be changed.\n".to_owned(),
            (false, ChangeMode::Preview) => "Nothing was written (--dry-run).\n".to_owned(),
            (false, ChangeMode::Real) => format!("{next}\n"),
        };
        let document = BootChangeJson {
            schema: BOOT_SCHEMA,
            verb: self.verb,
            loader: Some(self.loader.name),
            words: self.words,
            dry_run: self.mode == ChangeMode::Preview,
            changed: !self.work.is_nothing() && self.mode == ChangeMode::Real,
            edits: self.work.edits.iter().map(edit_json).collect(),
            runs: self.work.runs.iter().map(ToolRun::text).collect(),
            notes: &self.work.notes,
            drift: &self.work.left,
            next: Some(next),
        };
        (end, document)
    }
}

fn edit_json(edit: &FileEdit) -> EditJson<'_> {
    EditJson {
        path: &edit.path,
        before: edit.before.as_deref(),
        after: edit.after.as_deref(),
    }
}
