//! Foreign formats on the command line: chosen by name for writing, and read by what stands in a file.

use crate::CommandError;
use formats::{Format, ReadError, Recording};
use std::io::BufRead;
use std::path::Path;

/// How a recording is written, chosen by name.
#[derive(Clone, Copy)]
pub struct WrittenAs(&'static Format);

impl WrittenAs {
    /// The text, and what the format has no place for, in words.
    pub fn write(self, recording: &Recording) -> (String, Option<String>) {
        let text = self.0.write.map_or_else(String::new, |write| write(recording));
        (text, formats::omissions(self.0, recording))
    }
}

/// Reads the name of a format that can be written.
///
/// # Errors
/// The names that there are.
pub fn written_as(name: &str) -> Result<WrittenAs, String> {
    formats::format_written(name).map(WrittenAs).ok_or_else(|| {
        let names: Vec<&str> = formats::writers().map(|format| format.name).collect();
        format!("there are {}", names.join(", "))
    })
}

/// Reads a result of any tool; `-` is standard input.
///
/// # Errors
/// Wrong usage: there is no such file, or it is in no format that we know, or is broken.
pub fn recording(path: &Path) -> Result<Recording, CommandError> {
    if path == Path::new("-") {
        return read("standard input", &mut std::io::stdin().lock());
    }
    let name = report::safe(&path.display().to_string());
    let mut input = root::input::lines(path).map_err(|error| match error.errno() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::EISDIR) => CommandError::usage(
            format!("{name} cannot be read"),
            error.to_string(),
            "name a file that a measuring tool wrote, or `-` for standard input",
        ),
        _ => error.into(),
    })?;
    read(&name, &mut input)
}

fn read(name: &str, input: &mut dyn BufRead) -> Result<Recording, CommandError> {
    formats::read(input).map_err(|error| {
        let next = match error {
            ReadError::Unknown => {
                let readers = formats::FORMATS.iter().filter(|format| format.reader.is_some());
                let known: Vec<&str> = readers.map(|format| format.what).collect();
                format!("give it one of these: {}", known.join("; "))
            }
            ReadError::Io(_) => "look at the disk that it is on".to_owned(),
            _ => "give it the whole output of one run, as the tool wrote it".to_owned(),
        };
        CommandError::usage(format!("{name} cannot be understood"), error.to_string(), next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_name() {
        for format in formats::writers() {
            assert!(written_as(format.name).is_ok());
        }
        let names = written_as("xml").err().unwrap_or_default();
        assert!(
            names.contains("cyclictest-2.7") && names.contains("openmetrics"),
            "{names}"
        );
    }
}
