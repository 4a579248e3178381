//! Shows a change of boot files: before it is made, and its result.

use boot::{FileEdit, Loader, ToolRun, Work, diff};
use serde::Serialize;
use session::ChangeLock;
use terminal::Screen;

/// How much of a change is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeMode {
    /// The whole change.
    Real,
    /// Only the preview.
    Preview,
}

impl ChangeMode {
    /// The whole change where the right to change was acquired.
    #[must_use]
    pub fn under(changing: Option<&ChangeLock>) -> ChangeMode {
        changing.map_or(ChangeMode::Preview, |_| ChangeMode::Real)
    }
}

/// JSON of the changing verbs.
#[derive(Serialize)]
pub struct BootChangeJson<'a> {
    schema: &'static str,
    verb: &'static str,
    loader: &'static str,
    words: &'a [String],
    dry_run: bool,
    changed: bool,
    edits: Vec<EditJson<'a>>,
    runs: Vec<String>,
    notes: &'a [String],
    drift: &'a [String],
    next: Option<&'a str>,
}

#[derive(Serialize)]
struct EditJson<'a> {
    path: &'a str,
    before: Option<&'a str>,
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
    /// Prints the difference, the tools and the remarks.
    pub fn show(&self, screen: &mut Screen) {
        let mut text = report::safe_lines(&diff(&self.work.edits));
        let word = match self.mode {
            ChangeMode::Real => "then runs",
            ChangeMode::Preview => "then would run",
        };
        for run in &self.work.runs {
            text.push_str(&format!("{word}: {}\n", report::safe(&run.text())));
        }
        for note in &self.work.notes {
            text.push_str(&format!("note: {}\n", report::safe(note)));
        }
        for left in &self.work.left {
            text.push_str(&format!("left alone: {}\n", report::safe(left)));
        }
        screen.text(&text);
    }

    /// Prints the last line, and the JSON.
    pub fn finish(&self, next: Option<&str>, screen: &mut Screen) {
        let end = match (self.work.is_nothing(), self.mode) {
            (true, _) => "Nothing has to be changed.\n".to_owned(),
            (false, ChangeMode::Preview) => "Nothing was written (--dry-run).\n".to_owned(),
            (false, ChangeMode::Real) => next.map(|next| format!("{next}\n")).unwrap_or_default(),
        };
        screen.text(&end);
        screen.json(&BootChangeJson {
            schema: "quietcore.boot/1",
            verb: self.verb,
            loader: self.loader.name,
            words: self.words,
            dry_run: self.mode == ChangeMode::Preview,
            changed: !self.work.is_nothing() && self.mode == ChangeMode::Real,
            edits: self.work.edits.iter().map(edit_json).collect(),
            runs: self.work.runs.iter().map(ToolRun::text).collect(),
            notes: &self.work.notes,
            drift: &self.work.left,
            next,
        });
    }
}

fn edit_json(edit: &FileEdit) -> EditJson<'_> {
    EditJson {
        path: &edit.path,
        before: edit.before.as_deref(),
        after: edit.after.as_deref(),
    }
}
