//! Selects output formats of other tools by name.

use formats::{ForeignFormat, Recording};

/// An output format, chosen by name.
#[derive(Clone, Copy)]
pub struct ForeignFormatArg(&'static ForeignFormat);

impl ForeignFormatArg {
    /// Formats a recording. Also returns what the format cannot represent.
    pub fn write(self, recording: &Recording) -> (String, Option<String>) {
        let text = self.0.write.map_or_else(String::new, |write| write(recording));
        (text, formats::omissions(self.0, recording))
    }
}

/// Parses the name of an output format.
///
/// # Errors
/// The list of valid names, with those that may be meant.
pub fn written_as(name: &str) -> Result<ForeignFormatArg, String> {
    formats::format_written(name).map(ForeignFormatArg).ok_or_else(|| {
        let names: Vec<&str> = formats::writers().map(|format| format.name).collect();
        let meant = plan::words::did_you_mean(name, names.iter().copied()).map(|question| format!("; {question}"));
        format!("there are {}{}", names.join(", "), meant.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_output_format_is_found_by_name() {
        for format in formats::writers() {
            assert!(written_as(format.name).is_ok());
        }
        let names = written_as("xml").err().unwrap_or_default();
        assert!(
            names.contains("cyclictest-2.7") && names.contains("openmetrics"),
            "{names}"
        );
        let meant = written_as("cyclic").err().unwrap_or_default();
        assert!(meant.contains("; did you mean cyclictest, "), "{meant}");
    }
}
