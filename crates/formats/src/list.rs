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
    pub write: Option<FormatWriter>,
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
    pub looks_like: FormatDetector,
    /// Reads a whole file. The error is an invalid line, with its position.
    pub read: FormatParser,
}

/// Whether the start of a file looks like a format.
pub type FormatDetector = fn(&str) -> bool;
/// Reads a whole file.
pub type FormatParser = fn(&mut dyn BufRead) -> Result<Recording, ReadError>;
/// Writes a file.
pub type FormatWriter = fn(&Recording) -> String;

/// A format that can be read.
const fn reads(
    name: &'static str,
    what: &'static str,
    looks_like: FormatDetector,
    read: FormatParser,
) -> ForeignFormat {
    ForeignFormat {
        name,
        what,
        reader: Some(FormatReader { looks_like, read }),
        write: None,
        capacity: FormatCapability::Samples,
    }
}

/// A format that can be written.
const fn writes(
    name: &'static str,
    what: &'static str,
    write: FormatWriter,
    capacity: FormatCapability,
) -> ForeignFormat {
    ForeignFormat {
        name,
        what,
        reader: None,
        write: Some(write),
        capacity,
    }
}

impl ForeignFormat {
    /// The same format, which can be written too.
    const fn written_by(self, write: FormatWriter, capacity: FormatCapability) -> ForeignFormat {
        ForeignFormat {
            write: Some(write),
            capacity,
            ..self
        }
    }
}

/// All formats. A file has the first format that matches.
#[rustfmt::skip] // One line each.
pub const FORMATS: &[ForeignFormat] = &[
    reads(quietcore_json::NAME, "a result of quietcore", quietcore_json::looks_like, quietcore_json::read),
    reads(gaps::NAME, "every gap with its time, of measure noise --gaps", gaps::looks_like, gaps::read),
    reads(rt_tests_json::NAME, "--json of cyclictest, also of oslat for reading", rt_tests_json::looks_like, rt_tests_json::read)
        .written_by(rt_tests_json::write, FormatCapability::Samples),
    reads(jitterdebugger::NAME, "results.json of jitterdebugger", jitterdebugger::looks_like, jitterdebugger::read),
    reads(hlog::NAME, "an HdrHistogram log, one tag per CPU", hlog::looks_like, hlog::read)
        .written_by(hlog::write, FormatCapability::Histograms),
    reads(hgrm::NAME, "a percentile table of HdrHistogram (.hgrm), also of wrk2", hgrm::looks_like, hgrm::read),
    reads(rtla::NAME, "rtla timerlat hist and osnoise hist", rtla::looks_like, rtla::read),
    reads(rtla_top::NAME, "rtla timerlat top, osnoise top and hwnoise", rtla_top::looks_like, rtla_top::read),
    reads(sysjitter::NAME, "a raw file of sysjitter", sysjitter::looks_like, sysjitter::read),
    reads(stress_ng::NAME, "stress-ng --cyclic", stress_ng::looks_like, stress_ng::read),
    reads(hwlat::NAME, "a trace of the kernel's hwlat tracer", hwlat::looks_like, hwlat::read),
    reads(hwlatdetect::NAME, "hwlatdetect, and the file of its --report", hwlatdetect::looks_like, hwlatdetect::read),
    reads(oslat::NAME, "the text of oslat", oslat::looks_like, oslat::read),
    reads(systress::NAME, "the text file of systress", systress::looks_like, systress::read)
        .written_by(systress::write, FormatCapability::Samples),
    reads(cyclictest::NAME, "the text of cyclictest; written as -h prints it, with every row", cyclictest::looks_like, cyclictest::read)
        .written_by(cyclictest::every_row, FormatCapability::Samples),
    writes("cyclictest-2.7", "the same without rows that have no sample", cyclictest::rows_with_samples, FormatCapability::Samples),
    reads(jitterdebugger::SAMPLES, "jitterdebugger's samples: cpu;seconds;us", jitterdebugger::looks_like_samples, jitterdebugger::read_samples),
    reads(csv::NAME, "a table of ours with one line per bucket, single sample and statistic", csv::looks_like, csv::read)
        .written_by(csv::write, FormatCapability::Everything),
    writes("gnuplot", "a gnuplot script that holds its data", gnuplot::write, FormatCapability::Everything),
    writes("openmetrics", "OpenMetrics text, histograms in seconds", openmetrics::write, FormatCapability::NoTimes),
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
pub fn writer(name: &str) -> Option<FormatWriter> {
    format_written(name)?.write
}

/// The writable format with this name.
#[must_use]
pub fn format_written(name: &str) -> Option<&'static ForeignFormat> {
    writers().find(|format| format.name == name)
}
