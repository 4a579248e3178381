//! Lists all formats and detects the format of a file: from its content, never from its name.

use crate::error::ReadError;
use crate::model::Recording;
use crate::{
    csv, cyclictest, gaps, gnuplot, hgrm, hlog, hwlat, hwlatdetect, jitterdebugger, openmetrics, oslat, quietcore_json,
    rt_tests_json, rtla, rtla_top, stress_ng, sysjitter, systress,
};
use std::io::BufRead;

/// One foreign format.
pub struct ForeignFormat {
    /// Its name for `--format` and `--as`.
    pub name: &'static str,
    /// Its description.
    pub what: &'static str,
    /// Reads it.
    pub reader: Option<FormatReader>,
    /// Writes it.
    pub write: Option<fn(&Recording) -> String>,
    /// The data that it can hold, if it can be written.
    pub capacity: FormatCapability,
}

/// The parts of a recording that a format can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatCapability {
    /// Everything except the kernel's counters during the measurement, which only our own results and pages hold.
    Everything,
    /// Everything except single samples with their times.
    NoTimes,
    /// The histograms, of both kinds and by every basis.
    Histograms,
    /// The samples of one kind.
    Samples,
}

/// The reader of a format.
pub struct FormatReader {
    /// Whether the start of a file looks like it.
    pub looks_like: fn(&str) -> bool,
    /// Reads a whole file. The error is an invalid line, with its position.
    pub read: fn(&mut dyn BufRead) -> Result<Recording, ReadError>,
}

const fn reader(
    looks_like: fn(&str) -> bool,
    read: fn(&mut dyn BufRead) -> Result<Recording, ReadError>,
) -> Option<FormatReader> {
    Some(FormatReader { looks_like, read })
}

/// All formats. A file has the first format that matches.
#[rustfmt::skip] // One line each.
pub const FORMATS: &[ForeignFormat] = &[
    ForeignFormat { name: quietcore_json::NAME, what: "a result of quietcore", reader: reader(quietcore_json::looks_like, quietcore_json::read), write: None, capacity: FormatCapability::Everything },
    ForeignFormat { name: gaps::NAME, what: "every gap with its time, of measure noise --gaps", reader: reader(gaps::looks_like, gaps::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: rt_tests_json::NAME, what: "--json of cyclictest, also of oslat for reading", reader: reader(rt_tests_json::looks_like, rt_tests_json::read), write: Some(rt_tests_json::write), capacity: FormatCapability::Samples },
    ForeignFormat { name: jitterdebugger::NAME, what: "results.json of jitterdebugger", reader: reader(jitterdebugger::looks_like, jitterdebugger::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: hlog::NAME, what: "an HdrHistogram log, one tag per CPU", reader: reader(hlog::looks_like, hlog::read), write: Some(hlog::write), capacity: FormatCapability::Histograms },
    ForeignFormat { name: hgrm::NAME, what: "a percentile table of HdrHistogram (.hgrm), also of wrk2", reader: reader(hgrm::looks_like, hgrm::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: rtla::NAME, what: "rtla timerlat hist and osnoise hist", reader: reader(rtla::looks_like, rtla::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: rtla_top::NAME, what: "rtla timerlat top, osnoise top and hwnoise", reader: reader(rtla_top::looks_like, rtla_top::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: sysjitter::NAME, what: "a raw file of sysjitter", reader: reader(sysjitter::looks_like, sysjitter::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: stress_ng::NAME, what: "stress-ng --cyclic", reader: reader(stress_ng::looks_like, stress_ng::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: hwlat::NAME, what: "a trace of the kernel's hwlat tracer", reader: reader(hwlat::looks_like, hwlat::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: hwlatdetect::NAME, what: "hwlatdetect, and the file of its --report", reader: reader(hwlatdetect::looks_like, hwlatdetect::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: oslat::NAME, what: "the text of oslat", reader: reader(oslat::looks_like, oslat::read), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: systress::NAME, what: "the text file of systress", reader: reader(systress::looks_like, systress::read), write: Some(systress::write), capacity: FormatCapability::Samples },
    ForeignFormat { name: cyclictest::NAME, what: "the text of cyclictest; written as -h prints it, with every row", reader: reader(cyclictest::looks_like, cyclictest::read), write: Some(cyclictest::every_row), capacity: FormatCapability::Samples },
    ForeignFormat { name: "cyclictest-2.7", what: "the same without rows that have no sample", reader: None, write: Some(cyclictest::rows_with_samples), capacity: FormatCapability::Samples },
    ForeignFormat { name: jitterdebugger::SAMPLES, what: "jitterdebugger's samples: cpu;seconds;us", reader: reader(jitterdebugger::looks_like_samples, jitterdebugger::read_samples), write: None, capacity: FormatCapability::Samples },
    ForeignFormat { name: csv::NAME, what: "a table of ours with one line per bucket, single sample and statistic", reader: reader(csv::looks_like, csv::read), write: Some(csv::write), capacity: FormatCapability::Everything },
    ForeignFormat { name: "gnuplot", what: "a gnuplot script that holds its data", reader: None, write: Some(gnuplot::write), capacity: FormatCapability::Everything },
    ForeignFormat { name: "openmetrics", what: "OpenMetrics text, histograms in seconds", reader: None, write: Some(openmetrics::write), capacity: FormatCapability::NoTimes },
];

/// The number of bytes used for detection.
const HEAD: usize = 1 << 16;

/// Reads a file in any format.
///
/// # Errors
/// A file that is empty, unknown, or invalid, with position and reason.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut head = Vec::new();
    while head.len() < HEAD {
        let chunk = input.fill_buf().map_err(ReadError::Io)?;
        if chunk.is_empty() {
            break;
        }
        let used = chunk.len().min(HEAD - head.len());
        head.extend_from_slice(&chunk[..used]);
        input.consume(used);
    }
    if head.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty);
    }
    let text = String::from_utf8_lossy(&head);
    let mut readers = FORMATS.iter().filter_map(|format| format.reader.as_ref());
    let reader = readers
        .find(|reader| (reader.looks_like)(&text))
        .ok_or(ReadError::Unknown)?;
    let mut whole = std::io::Read::chain(head.as_slice(), input);
    let mut recording = (reader.read)(&mut whole)?;
    for series in &mut recording.series {
        series.unit_ns = recording.unit_ns;
        for beside in &mut series.beside {
            beside.unit_ns = recording.unit_ns;
        }
    }
    Ok(recording)
}

/// The formats that can be written.
pub fn writers() -> impl Iterator<Item = &'static ForeignFormat> {
    FORMATS.iter().filter(|format| format.write.is_some())
}

/// The writable format with this name, and its writer.
#[must_use]
pub fn writer(name: &str) -> Option<fn(&Recording) -> String> {
    format_written(name)?.write
}

/// The writable format with this name.
#[must_use]
pub fn format_written(name: &str) -> Option<&'static ForeignFormat> {
    writers().find(|format| format.name == name)
}
