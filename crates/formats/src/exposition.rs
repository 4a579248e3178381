//! Writes the text that Prometheus reads, in both formats: families of metrics, each with its metadata and lines.
//!
//! Exported results and the live metrics of `watch` both use this module, so that names, escapes and numbers are the same.
//! The formats differ only in the family name in the metadata, the unit, and the last line.

use std::fmt::{Display, Write as _};

/// One of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The older text format 0.0.4, which the textfile collector of `node_exporter` also accepts.
    Text,
}

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// Only increases, as long as the counting process lives.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// Counts by upper bounds.
    Histogram,
    /// Always 1: the labels hold the information.
    Info,
}

/// The labels of one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSet(String);

/// The text under construction.
#[derive(Debug)]
pub struct Exposition {
    form: ExpositionFormat,
    text: String,
    name: String,
    suffix: &'static str,
}

impl ExpositionFormat {
    /// The HTTP content type.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            ExpositionFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            ExpositionFormat::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

impl LabelSet {
    /// Adds one label. Invalid characters in the name are replaced; the value may be any text.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> LabelSet {
        let between = if self.0.is_empty() { "" } else { "," };
        let _ = write!(
            self.0,
            "{between}{}=\"{}\"",
            label_name(name),
            escaped(&value.to_string())
        );
        self
    }

    fn braced(&self) -> String {
        match self.0.as_str() {
            "" => String::new(),
            labels => format!("{{{labels}}}"),
        }
    }
}

impl Exposition {
    /// An empty text.
    #[must_use]
    pub fn new(form: ExpositionFormat) -> Exposition {
        Exposition {
            form,
            text: String::new(),
            name: String::new(),
            suffix: "",
        }
    }

    /// Starts a family. `name` is without `_total` and `_info`; a name that ends in a base unit declares the unit.
    pub fn family(&mut self, sort: MetricType, name: &str, help: &str) {
        let (sort_word, suffix) = match sort {
            MetricType::Counter => ("counter", "_total"),
            MetricType::Gauge => ("gauge", ""),
            MetricType::Histogram => ("histogram", ""),
            MetricType::Info => ("info", "_info"),
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a string does not fail.
        let _ = match self.form {
            ExpositionFormat::OpenMetrics => {
                let unit = ["seconds", "bytes"].into_iter().find(|unit| name.ends_with(unit));
                let unit = unit.map_or_else(String::new, |unit| format!("# UNIT {name} {unit}\n"));
                let help = help.replace('"', "\\\"");
                write!(self.text, "# TYPE {name} {sort_word}\n{unit}# HELP {name} {help}\n")
            }
            // The older format has no `info`, and its metadata uses the full names of the lines.
            ExpositionFormat::Text => {
                let sort_word = if sort == MetricType::Info { "gauge" } else { sort_word };
                write!(
                    self.text,
                    "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {sort_word}\n"
                )
            }
        };
        name.clone_into(&mut self.name);
        self.suffix = suffix;
    }

    /// Adds a line to the current family.
    pub fn line(&mut self, labels: &LabelSet, value: impl Display) {
        let _ = writeln!(self.text, "{}{}{} {value}", self.name, self.suffix, labels.braced());
    }

    /// Adds the lines of a histogram: the number of values at or below each bound, in nanoseconds, then their total number and sum
    /// in seconds.
    pub fn histogram(&mut self, labels: &LabelSet, up_to: impl Iterator<Item = (u64, u64)>, count: u64, sum_s: f64) {
        let name = &self.name;
        for (bound_ns, below) in up_to {
            let labels = labels.clone().with("le", seconds(bound_ns));
            let _ = writeln!(self.text, "{name}_bucket{} {below}", labels.braced());
        }
        let all = labels.clone().with("le", "+Inf");
        let _ = write!(
            self.text,
            "{name}_bucket{} {count}\n{name}_sum{labels} {sum_s}\n{name}_count{labels} {count}\n",
            all.braced(),
            labels = labels.braced()
        );
    }

    /// The whole text, with its last line if the format has one.
    #[must_use]
    pub fn end(mut self) -> String {
        if self.form == ExpositionFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// Seconds as a canonical decimal number of OpenMetrics: `0.0001`, `1.0`.
#[must_use]
pub fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') {
        format!("{short}0")
    } else {
        short.to_owned()
    }
}

/// A name of a label: letters, digits and underscores.
pub(crate) fn label_name(name: &str) -> String {
    let name = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    match name.starts_with(|letter: char| letter.is_ascii_digit()) || name.is_empty() {
        true => format!("_{name}"),
        false => name,
    }
}

/// A label value. Both formats have three escapes; other control characters would reach a terminal.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    value.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(fill: impl Fn(&mut Exposition)) -> [String; 2] {
        [ExpositionFormat::OpenMetrics, ExpositionFormat::Text].map(|form| {
            let mut exposition = Exposition::new(form);
            fill(&mut exposition);
            exposition.end()
        })
    }

    #[test]
    fn counters_and_infos_are_written_in_both_formats() {
        let [open, text] = both(|exposition| {
            exposition.family(MetricType::Counter, "steal_seconds", "Time \"taken\".");
            exposition.line(&LabelSet::default().with("cpu", 3), seconds(1_500_000_000));
            exposition.family(MetricType::Info, "build", "What it is.");
            exposition.line(&LabelSet::default(), 1);
        });
        assert_eq!(
            open,
            "# TYPE steal_seconds counter\n# UNIT steal_seconds seconds\n# HELP steal_seconds Time \\\"taken\\\".\n\
             steal_seconds_total{cpu=\"3\"} 1.5\n# TYPE build info\n# HELP build What it is.\nbuild_info 1\n# EOF\n"
        );
        assert_eq!(
            text,
            "# HELP steal_seconds_total Time \"taken\".\n# TYPE steal_seconds_total counter\n\
             steal_seconds_total{cpu=\"3\"} 1.5\n# HELP build_info What it is.\n# TYPE build_info gauge\nbuild_info 1\n"
        );
    }

    #[test]
    fn hostile_label_values_are_escaped() {
        let labels = LabelSet::default().with("a\"b", "x\"} 1\ny\\z\u{1b}[2J").with("0", "");
        assert_eq!(labels.0, "a_b=\"x\\\"} 1\\ny\\\\z [2J\",_0=\"\"");
    }

    #[test]
    fn seconds_are_written_with_a_point_and_no_trailing_zeros() {
        assert_eq!(
            [1_000_000_000, 100, 0, u64::MAX].map(seconds),
            ["1.0", "0.0000001", "0.0", "18446744073.709551615"]
        );
    }
}
