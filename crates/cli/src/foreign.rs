//! Formats of other tools on the command line: chosen by name for writing.

use formats::{Format, Recording};

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
