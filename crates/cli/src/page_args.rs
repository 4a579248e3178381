//! The option `--page`: an HTML page of a result, beside its JSON.

use experiment::ResultFile;
use root::Failure;
use std::path::{Path, PathBuf};

/// The page of a result.
#[derive(clap::Args)]
#[group(skip)]
pub struct PageArgs {
    /// Also write the result as an HTML page [FILE: that of --out, with the ending .html]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    page: Option<Option<PathBuf>>,
}

impl PageArgs {
    /// The files of a result: `out` and the page; `None` where neither is requested.
    ///
    /// # Errors
    /// A page without a name, or files that cannot be written.
    pub fn result_file(&self, out: Option<&Path>) -> Result<Option<ResultFile>, Failure> {
        match (self.path(out)?, out) {
            (None, None) => Ok(None),
            (page, out) => ResultFile::at(out, page.as_deref()).map(Some),
        }
    }

    fn path(&self, out: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
        match (&self.page, out) {
            (None, _) => Ok(None),
            (Some(Some(page)), _) => Ok(Some(page.clone())),
            (Some(None), Some(out)) => Ok(Some(out.with_extension("html"))),
            (Some(None), None) => Err(Failure::usage(
                "the page has no name",
                "--page without FILE is named after the file of --out",
                "use --page FILE, or add --out FILE",
            )),
        }
    }
}
