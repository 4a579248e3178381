//! Reads HdrHistogram's percentile tables (`.hgrm`), as its libraries, wrk2 and jHiccup print them: value, share, and number
//! of samples that are not above it.
//!
//! Such a file does not state its unit. It is read as milliseconds, which wrk2, jHiccup and the plotter of HdrHistogram
//! use. Source: `outputPercentileDistribution` of HdrHistogram, `hdr_percentiles_print` of HdrHistogram_c.

use crate::error::{Problem, ReadError, quoted};
use crate::lines::{InputLine, InputLines, is_digits, problem_of};
use crate::model::{Recording, Series, SeriesKind};
use crate::tally::{BucketBudget, MOST_QUANTILES, Tally};
use std::io::BufRead;

pub(crate) const NAME: &str = "hgrm";

/// The assumed unit of a value: milliseconds.
const UNIT_NS: u64 = 1_000_000;

/// Further decimals of a value are less than a nanosecond.
const DECIMALS: u32 = 6;

pub fn looks_like(head: &str) -> bool {
    head.lines().any(is_head)
}

fn is_head(line: &str) -> bool {
    let names = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];
    line.split_whitespace().eq(names)
}

/// The last row, in nanoseconds and samples.
#[derive(Clone, Copy)]
struct HgrmRow {
    value_ns: u64,
    count: u64,
    /// The lowest time in the bucket that ends here.
    low_ns: u64,
}

#[derive(Default)]
struct HgrmTable {
    series: Series,
    tally: Tally,
    room: BucketBudget,
    last: Option<HgrmRow>,
    /// Whether the last row was that of all samples.
    is_whole: bool,
    decimals: u32,
    /// Whether the first row is that of the smallest sample.
    has_smallest: bool,
    /// The tool's buckets are at most this part of a value wide.
    half_of_sub_buckets: Option<u64>,
}

/// Reads it.
///
/// # Errors
/// An invalid line in a table, with its position. Text above and below it is ignored.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut table: Option<HgrmTable> = None;
    let mut ended = false;
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        if is_head(text) {
            if table.is_some() {
                return Err(line.out_of_order(text));
            }
            table = Some(HgrmTable {
                series: Series::new(SeriesKind::Latency),
                ..HgrmTable::default()
            });
            continue;
        }
        let Some(table) = &mut table else { continue };
        if let Some(footer) = text.strip_prefix("#[").and_then(|rest| rest.strip_suffix(']')) {
            ended = true;
            table.footer(&line, footer)?;
        } else if !ended && !text.is_empty() {
            table.row(&line)?;
        }
    }
    table.ok_or(ReadError::Nothing("no head of a table"))?.end()
}

impl HgrmTable {
    /// `   12009.471     0.100000         8622         1.11`; the last one ends with `inf`, or has no fourth column.
    fn row(&mut self, line: &InputLine) -> Result<(), ReadError> {
        let words: Vec<&str> = line.words().take(5).collect();
        let ([value, share, count] | [value, share, count, _]) = *words.as_slice() else {
            return Err(line.columns(line.text.trim_start(), words.len(), 4));
        };
        let value_ns = self.milliseconds(line, value)?;
        let (share, count) = (line.decimal(share)?, line.number(count)?);
        if share > 1.0 {
            return Err(line.wrong(line.text.trim_start(), Problem::TooLarge(quoted(words[1]))));
        }
        let (before_ns, before, low_ns) = match self.last {
            None => (0, 0, 0),
            Some(last) => (last.value_ns, last.count, last.low_ns),
        };
        if value_ns < before_ns || count < before || self.is_whole {
            return Err(line.out_of_order(value));
        }
        // Two rows may have the same value: then their samples are in one bucket.
        let low_ns = match self.last {
            None => 0,
            Some(_) if value_ns == before_ns => low_ns,
            Some(_) => before_ns.saturating_add(1),
        };
        let width_ns = (value_ns - low_ns).saturating_add(1);
        if !self.tally.add(low_ns, width_ns, count - before, &mut self.room)? {
            return Err(line.too_large(words[2]));
        }
        self.has_smallest |= self.last.is_none() && share <= 0.0;
        self.is_whole = share >= 1.0;
        if share > 0.0 && !self.is_whole && self.series.stated.quantiles.len() < MOST_QUANTILES {
            self.series.stated.quantiles.push((share, value_ns));
        }
        self.last = Some(HgrmRow {
            value_ns,
            count,
            low_ns,
        });
        Ok(())
    }

    /// `Mean    =    28490.000, StdDeviation   =    11920.000`, and so on.
    fn footer(&mut self, line: &InputLine, text: &str) -> Result<(), ReadError> {
        for part in text.split(", ").take(4) {
            let Some((name, value)) = part.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
                continue;
            };
            // Without samples there is no mean and no deviation.
            if value.trim_start_matches('-').eq_ignore_ascii_case("nan") {
                continue;
            }
            let in_ns = |milliseconds: f64| milliseconds * UNIT_NS as f64;
            match name {
                "Mean" => self.series.stated.mean_ns = Some(in_ns(line.decimal(value)?)),
                "StdDeviation" => self.series.stated.stddev_ns = Some(in_ns(line.decimal(value)?)),
                "Max" => self.series.stated.max_ns = Some(self.milliseconds(line, value)?),
                "Total count" => self.series.stated.count = Some(line.number(value)?),
                "SubBuckets" => self.half_of_sub_buckets = Some(line.number(value)? / 2),
                _ => {}
            }
        }
        Ok(())
    }

    /// A value with its decimals, in nanoseconds.
    fn milliseconds(&mut self, line: &InputLine, word: &str) -> Result<u64, ReadError> {
        let (whole, rest) = word.split_once('.').unwrap_or((word, "0"));
        if !is_digits(rest) {
            return Err(line.wrong(word, problem_of(word)));
        }
        let digits: String = rest
            .chars()
            .chain(std::iter::repeat('0'))
            .take(DECIMALS as usize)
            .collect();
        if word.contains('.') {
            self.decimals = self
                .decimals
                .max(u32::try_from(rest.len()).unwrap_or(DECIMALS).min(DECIMALS));
        }
        let whole = line.time(whole, UNIT_NS)?;
        line.add(word, whole, line.number(&digits)?)
    }

    fn end(self) -> Result<Recording, ReadError> {
        let Some(last) = self.last else {
            return Err(ReadError::Nothing("no row of the table"));
        };
        let unit_ns = 10_u64.pow(DECIMALS - self.decimals);
        let mut recording = Recording::new(NAME, "HdrHistogram", unit_ns);
        let mut series = self.series;
        series.unit_ns = unit_ns;
        series.buckets = self.tally.buckets();
        let half = self.half_of_sub_buckets.filter(|half| *half > 0 && self.has_smallest);
        if let (Some(first), Some(half)) = (series.buckets.first_mut(), half) {
            // The first row has the samples of one bucket of the tool.
            let high_ns = first.high_ns();
            let low_ns = high_ns - high_ns / half;
            if first.low_ns == 0 {
                (first.low_ns, first.width_ns) = (low_ns, high_ns - low_ns + 1);
            }
        }
        let total = series.stated.count;
        series.overflow = match total {
            Some(total) => total.checked_sub(last.count).filter(|missing| *missing == 0),
            None => self.is_whole.then_some(0),
        };
        if last.count == 0 && series.overflow == Some(0) {
            // Without samples the maximum is printed as 0.
            series.stated = crate::StatedStatistics {
                count: Some(0),
                ..crate::StatedStatistics::default()
            };
            recording.info("no_samples", "samples", "nothing was recorded");
        } else if total.is_some_and(|total| total < last.count) {
            recording.error(
                "sums_differ",
                "samples",
                "its rows have more samples than its total count",
            );
        } else if series.overflow.is_none() {
            recording.warning(
                "truncated",
                "table",
                "the end of the table is missing: the number of samples above its last row is unknown",
            );
        }
        notes(&mut recording);
        recording.series.push(series);
        Ok(recording)
    }
}

/// Notes on what such a table can prove.
fn notes(recording: &mut Recording) {
    recording.warning(
        "unit_not_stated",
        "unit",
        "the file contains neither a unit nor what it measured: read as milliseconds of latency, as wrk2 and jHiccup \
         print it; if that is wrong, all times here are wrong by the same factor",
    );
    recording.info(
        "percentiles_only",
        "values",
        "counts are exact, but values are only known at the printed percentiles: between two of them a sample may be \
         anywhere; jHiccup also adds computed samples for missed ones, and the file does not mark them",
    );
}
