//! Reads results of measuring tools from files and standard input, in every format that `formats` knows.

use formats::{ReadError, Recording};
use root::Failure;
use std::io::BufRead;
use std::path::Path;

/// Reads a result of any tool; `-` is standard input.
///
/// # Errors
/// A usage error: the file does not exist, has no known format, or is damaged.
pub fn read_recording(path: &Path) -> Result<Recording, Failure> {
    if path == Path::new("-") {
        return read("standard input", &mut std::io::stdin().lock());
    }
    let name = report::safe_path(path);
    let mut input = root::input::lines(path).map_err(|error| match error.errno() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::EISDIR) => Failure::usage(
            format!("{name} cannot be read"),
            error,
            "name a file that a measuring tool wrote, or `-` for standard input",
        ),
        _ => error.into(),
    })?;
    read(&name, &mut input)
}

fn read(name: &str, input: &mut dyn BufRead) -> Result<Recording, Failure> {
    formats::read(input).map_err(|error| {
        let next = match error {
            ReadError::Unknown => "pass a file in one of the formats that `quietcore report --help` lists".to_owned(),
            ReadError::Io(_) => "check the disk that contains it".to_owned(),
            _ => "pass the whole output of one run, as the tool wrote it".to_owned(),
        };
        Failure::usage(format!("{name} cannot be parsed"), error, next)
    })
}
