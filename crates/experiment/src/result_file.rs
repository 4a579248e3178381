//! Writes the file of `--out` and the page beside it.
//!
//! Both are checked before the measurement. During the run, a complete and valid newer version replaces them about every
//! second, so that an aborted run keeps its results.

use measure::Measurement;
use root::output::{Draft, OutputDurability, OutputTarget, ReadAccess};
use root::{Failure, RootError, Status};
use std::path::{Path, PathBuf};

/// A result's file, and its page.
pub struct ResultFile {
    json: PathBuf,
    /// `None` where the file is a device or a pipe; these are written only at the end.
    page: Option<PathBuf>,
}

impl ResultFile {
    /// Checks that both files can be written.
    ///
    /// # Errors
    /// Wrong usage, whatever the obstacle is: nothing has been done yet.
    pub fn at(path: &Path) -> Result<ResultFile, Failure> {
        let page = path.with_extension("html");
        if page == path {
            return Err(Failure::usage(
                format!("--out {}", path.display()),
                "the page of the result gets the ending .html, so the result cannot have it",
                "give the result another one, such as .json",
            ));
        }
        let is_file = root::output::check_named(path)? == OutputTarget::File;
        if is_file {
            root::output::check_named(&page)?;
        }
        Ok(ResultFile {
            json: path.to_owned(),
            page: is_file.then_some(page),
        })
    }

    /// Writes the results so far. A failure does not stop the run: the earlier version stays, space may become free again,
    /// and [`ResultFile::end`] reports the final state.
    pub fn so_far(&self, result: &Measurement) {
        if self.page.is_some() {
            let _ = self.write(result, OutputDurability::Cached);
        }
    }

    /// Writes the final version.
    ///
    /// # Errors
    /// [`Status::Failed`]: a file could not be written, and contains at most an earlier version.
    pub fn end(&self, result: &Measurement) -> Result<(), Failure> {
        self.write(result, OutputDurability::Synced)
    }

    /// The path of the page, for a message.
    pub fn page(&self) -> Option<&Path> {
        self.page.as_deref()
    }

    fn write(&self, result: &Measurement, durability: OutputDurability) -> Result<(), Failure> {
        let mut bytes = serde_json::to_vec(result)
            .map_err(|error| Failure::bug("the result could not be written as JSON", error))?;
        bytes.push(b'\n');
        write_bytes(&self.json, &bytes, durability).map_err(|error| incomplete(&self.json, &error))?;
        let Some(page) = &self.page else { return Ok(()) };
        let name = self.json.file_name().unwrap_or_default().to_string_lossy();
        write_bytes(page, report::measurement_html(result, &name).as_bytes(), durability)
            .map_err(|error| incomplete(page, &error))
    }
}

fn write_bytes(path: &Path, content: &[u8], durability: OutputDurability) -> Result<(), RootError> {
    let mut draft = Draft::create(path, ReadAccess::All)?;
    draft.append(content)?;
    draft.place(durability)
}

fn incomplete(path: &Path, error: &RootError) -> Failure {
    Failure::new(
        Status::Failed,
        format!("{} is incomplete", path.display()),
        format!("{error}; it holds at most what was measured earlier"),
        "the result was printed above; make room for its file, and measure again",
    )
}
