//! Lists the export formats of a study besides its screen and its JSON: one file per format, one line in [`STUDY_FORMS`].

mod csv;
mod gnuplot;
mod markdown;

use crate::study_page::{StudyPage, study_html};

/// An export format of a study.
#[derive(Clone, Copy, Debug)]
pub struct StudyForm {
    /// Its keyword.
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
    /// Writes it.
    pub write: fn(&StudyPage) -> String,
}

/// All formats.
pub const STUDY_FORMS: [StudyForm; 4] = [
    StudyForm {
        name: "html",
        about: "one self-contained page",
        write: study_html,
    },
    StudyForm {
        name: "markdown",
        about: "the same tables, for a wiki or a review",
        write: markdown::write,
    },
    StudyForm {
        name: "csv",
        about: "every number of every run on its own line",
        write: csv::write,
    },
    StudyForm {
        name: "gnuplot",
        about: "a self-contained script that draws every cell's distribution over the others",
        write: gnuplot::write,
    },
];
