//! Reads and writes systress's text file: rows of microseconds and occurrences, then its summary. Rows that an article
//! left out (`[...]`) are read as omitted rows.

use crate::error::ReadError;
use crate::lines::{InputLine, InputLines, is_digits};
use crate::model::{Recording, Series, SeriesKind};
use crate::of_measurement;
use crate::statistics::{as_f64, mean_ns, quantile, statistics, stddev_ns, whole};
use crate::tally::{BucketBudget, Tally, check_series};
use machine::Nanos;
use measure::{Measurement, NoteLevel};
use std::fmt::Write as _;
use std::io::BufRead;

pub(crate) const NAME: &str = "systress";

const UNIT_NS: u64 = 1_000;

/// The maximum number of rows that we write; larger values overflow the histogram, as in systress.
const MOST_ROWS: u64 = 1_000_000;

pub fn looks_like(head: &str) -> bool {
    let first = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let begins = first.starts_with(' ') && matches!(words.as_slice(), ["0", count] if is_digits(count));
    begins
        || head
            .lines()
            .any(|line| line.starts_with('#') && line.contains("L_avg_H"))
}

struct SystressState {
    recording: Recording,
    tally: Tally,
    room: BucketBudget,
    last_row: Option<u64>,
    gap: bool,
}

/// Reads it; several concatenated files are several threads.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut state = SystressState {
        recording: Recording::new(NAME, "systress", UNIT_NS),
        tally: Tally::default(),
        room: BucketBudget::default(),
        last_row: None,
        gap: false,
    };
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        match text.strip_prefix('#') {
            _ if text.is_empty() => {}
            Some(comment) => state.comment(&line, comment)?,
            None if text == "[...]" => state.gap = true,
            None => state.row(&line)?,
        }
    }
    if state.last_row.is_some() {
        state.close(Series::new(SeriesKind::Latency), None);
        state.recording.warning(
            "truncated",
            "summary",
            "the summary below the rows is missing: the number of samples above them is unknown",
        );
    }
    let mut recording = state.recording;
    if recording.series.is_empty() {
        return Err(ReadError::Nothing("neither a row nor a summary"));
    }
    recording.note_overflows();
    recording.warning(
        "missed_not_counted",
        "missed wake-ups",
        "systress omits the wake-ups that were expected while it was late, and does not count them; its period starts \
         again at each wake-up, so it drifts",
    );
    recording.info(
        "mean_truncated",
        "mean",
        "mean, median and deviation in the file are truncated to whole microseconds",
    );
    Ok(recording)
}

impl SystressState {
    fn row(&mut self, line: &InputLine) -> Result<(), ReadError> {
        let words: Vec<&str> = line.words().take(4).collect();
        let [value, count] = words.as_slice() else {
            return Err(line.columns(line.text.trim_start(), words.len(), 2));
        };
        let low_ns = line.time(value, UNIT_NS)?;
        if self.last_row.is_some_and(|last| last >= low_ns) {
            return Err(line.out_of_order(value));
        }
        self.last_row = Some(low_ns);
        self.tally.add(low_ns, UNIT_NS, line.number(count)?, &mut self.room)?;
        Ok(())
    }

    /// `#      0 13029    60000      2    100     17      55431       16       17        3        17`
    fn comment(&mut self, line: &InputLine, comment: &str) -> Result<(), ReadError> {
        let words: Vec<&str> = comment.split_whitespace().take(12).collect();
        let [index, tid, samples, min, max, mean, inside, _, median, stddev, mode] = words.as_slice() else {
            return Ok(());
        };
        if index.starts_with(char::is_alphabetic) {
            return Ok(());
        }
        let mut series = Series::new(SeriesKind::Latency);
        series.thread = Some(line.small(index)?);
        self.recording.fact("tid", line.number(tid)?.to_string());
        let count = line.number(samples)?;
        let inside = line.number(inside)?;
        series.stated.count = Some(count);
        series.stated.min_ns = Some(line.time(min, UNIT_NS)?);
        series.stated.max_ns = Some(line.time(max, UNIT_NS)?);
        series.stated.mean_ns = Some(as_f64(line.time(mean, UNIT_NS)?));
        series.stated.median_ns = Some(line.time(median, UNIT_NS)?);
        series.stated.stddev_ns = Some(as_f64(line.time(stddev, UNIT_NS)?));
        series.stated.mode_ns = Some(line.time(mode, UNIT_NS)?);
        series.overflow = Some(count.saturating_sub(inside));
        self.close(series, Some(inside));
        check_series(self.recording.series.len())
    }

    /// The rows so far belong to this thread.
    fn close(&mut self, mut series: Series, inside: Option<u64>) {
        series.buckets = std::mem::take(&mut self.tally).buckets();
        series.overflow_from_ns = self.last_row.map_or(0, |last| last.saturating_add(UNIT_NS));
        let found = series.in_buckets();
        let label = series.label();
        if let Some(inside) = inside.filter(|inside| *inside != found) {
            // The positions of the missing samples are unknown, so no quantile can be computed.
            series.overflow = None;
            let (level, id) = match self.gap {
                true => (NoteLevel::Warning, "rows_omitted"),
                false => (NoteLevel::Error, "sums_differ"),
            };
            let message = format!("its rows contain {found} of the {inside} samples that its summary counts in them");
            self.recording.note(level, id, &label, message);
        }
        (self.last_row, self.gap) = (None, false);
        self.recording.series.push(series);
    }
}

/// Writes every thread as a systress file, one after the other.
pub fn write(recording: &Recording) -> String {
    let recording = &*recording.of_one_kind();
    let mut text = String::new();
    for (place, series) in recording.series.iter().enumerate() {
        let rows = series.buckets.iter().map(|bucket| bucket.low_ns / UNIT_NS);
        let last = rows.filter(|us| *us < MOST_ROWS).max();
        table(&mut text, series, place, tid(recording, place), last);
    }
    text
}

/// The file of one described timer thread: its index, and all rows from 0 to the size of its histogram, including
/// empty ones.
#[must_use]
pub fn systress_file(measurement: Measurement, index: u32, size: Option<Nanos>) -> String {
    let Some(size) = size else {
        return write(&of_measurement(measurement));
    };
    let recording = of_measurement(measurement);
    let mut text = String::new();
    for (place, series) in recording.series.iter().enumerate() {
        let last = (size.0 / UNIT_NS).min(MOST_ROWS - 1);
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        table(&mut text, series, index, tid(&recording, place), Some(last));
    }
    text
}

/// The thread number of a series: series of one kind are in the order of their threads.
fn tid(recording: &Recording, place: usize) -> u32 {
    let Some(own) = &recording.own else { return 0 };
    let noise = recording.kind() == SeriesKind::Noise;
    let mut threads = own
        .threads
        .iter()
        .filter(|thread| (thread.kind == measure::MeasurementKind::Noise) == noise);
    threads.nth(place).and_then(|thread| thread.tid).unwrap_or(0)
}

/// Rows from 0 to the last, and the summary; samples above the last row are only in the first half of the summary.
fn table(text: &mut String, series: &Series, index: usize, tid: u32, last: Option<u64>) {
    let mut buckets = series.buckets.iter().peekable();
    let mut inside = series.clone();
    inside
        .buckets
        .retain(|bucket| last.is_some_and(|last| bucket.low_ns / UNIT_NS <= last));
    inside.overflow = Some(0);
    for us in 0..last.map_or(0, |last| last + 1) {
        let mut count = 0_u64;
        while let Some(bucket) = buckets.next_if(|bucket| bucket.low_ns / UNIT_NS <= us) {
            count = count.saturating_add(bucket.count);
        }
        let _ = writeln!(text, "{us:>8} {count:>8}");
    }
    text.push_str("\n#                            SUMMARY\n#\n");
    text.push_str("# Index    TID  Samples  L_min  L_max  L_avg  Samples_H  L_avg_H  L_med_H  L_std_H  L_mode_H\n#\n");
    let first = series.buckets.first().map_or(0, |bucket| bucket.low_ns);
    let end = series.buckets.last().map_or(0, |bucket| bucket.low_ns);
    let us = |ns: f64| whole(ns / 1e3);
    let _ = writeln!(
        text,
        "#{index:>7} {tid:>5} {:>8} {:>6} {:>6} {:>6} {:>10} {:>8} {:>8} {:>8} {:>9}",
        series.samples().unwrap_or(0),
        series.stated.min_ns.unwrap_or(first) / UNIT_NS,
        series.stated.max_ns.unwrap_or(end) / UNIT_NS,
        us(crate::statistics::best_mean_ns(series).unwrap_or(0.0)),
        inside.in_buckets(),
        us(mean_ns(&inside).unwrap_or(0.0)),
        quantile(&inside, 0.5).map_or(0, |span| span.low_ns / UNIT_NS),
        us(stddev_ns(&inside).unwrap_or(0.0)),
        statistics(&inside).mode.map_or(0, |span| span.low_ns / UNIT_NS),
    );
}
