//! Writes the file of `--out` and the page of `--page`.
//!
//! Both are checked before the measurement. During the run, a complete and valid newer version replaces them about every
//! second, so that an aborted run keeps its results.

use measure::Measurement;
use root::output::{Draft, OutputDurability, OutputTarget, ReadAccess};
use root::{Failure, RootError, Status};
use std::path::{Path, PathBuf};

/// The files of a result: its JSON, its page, or both.
pub struct ResultFile {
    json: Option<ResultOutput>,
    page: Option<ResultOutput>,
}

/// One file of a result.
struct ResultOutput {
    path: PathBuf,
    /// A device or a pipe is written only at the end.
    target: OutputTarget,
}

impl ResultFile {
    /// Checks that the files can be written.
    ///
    /// # Errors
    /// Wrong usage, whatever the obstacle is: nothing has been done yet.
    pub fn at(json: Option<&Path>, page: Option<&Path>) -> Result<ResultFile, Failure> {
        if let Some(json) = json {
            refuse_page(json)?;
        }
        Ok(ResultFile {
            json: json.map(ResultOutput::at).transpose()?,
            page: page.map(ResultOutput::at).transpose()?,
        })
    }

    /// Writes the results so far. A failure does not stop the run: the earlier version stays, space may become free again,
    /// and [`ResultFile::end`] reports the final state.
    pub fn so_far(&self, result: &Measurement) {
        for (output, content) in self.contents(result).into_iter().flatten() {
            if output.target == OutputTarget::File {
                let _ = output.write(&content, OutputDurability::Cached);
            }
        }
    }

    /// Writes the final version.
    ///
    /// # Errors
    /// [`Status::Failed`]: a file could not be written, and contains at most an earlier version.
    pub fn end(&self, result: &Measurement) -> Result<(), Failure> {
        for (output, content) in self.contents(result)? {
            let written = output.write(&content, OutputDurability::Synced);
            written.map_err(|error| incomplete(&output.path, &error))?;
        }
        Ok(())
    }

    /// The path of the page, for a message.
    pub fn page(&self) -> Option<&Path> {
        self.page.as_ref().map(|page| page.path.as_path())
    }

    /// The content of each file.
    fn contents(&self, result: &Measurement) -> Result<Vec<(&ResultOutput, Vec<u8>)>, Failure> {
        let mut contents = Vec::new();
        if let Some(json) = &self.json {
            let mut bytes = serde_json::to_vec(result)
                .map_err(|error| Failure::bug("the result could not be written as JSON", error))?;
            bytes.push(b'\n');
            contents.push((json, bytes));
        }
        if let Some(page) = &self.page {
            let json = self
                .json
                .as_ref()
                .map_or_else(|| page.path.with_extension("json"), |json| json.path.clone());
            let name = json.file_name().unwrap_or_default().to_string_lossy();
            contents.push((page, report::measurement_html(result, &name).into_bytes()));
        }
        Ok(contents)
    }
}

impl ResultOutput {
    fn at(path: &Path) -> Result<ResultOutput, Failure> {
        Ok(ResultOutput {
            path: path.to_owned(),
            target: root::output::check_named(path)?,
        })
    }

    fn write(&self, content: &[u8], durability: OutputDurability) -> Result<(), RootError> {
        let mut draft = Draft::create(&self.path, ReadAccess::All)?;
        draft.append(content)?;
        draft.place(durability)
    }
}

/// Refuses JSON in a file that a browser would open, and a page that would replace the result.
fn refuse_page(json: &Path) -> Result<(), Failure> {
    match json.extension().is_some_and(|ending| ending == "html") {
        false => Ok(()),
        true => Err(Failure::usage(
            format!("--out {}", json.display()),
            "the result is JSON, and .html is the ending of its page",
            "name the result .json; --page writes the page beside it",
        )),
    }
}

fn incomplete(path: &Path, error: &RootError) -> Failure {
    Failure::new(
        Status::Failed,
        format!("{} is incomplete", path.display()),
        format!("{error}; it contains at most what was measured before"),
        "the result was printed above; free space for its file, and measure again",
    )
}
