//! Reads `rtla timerlat hist` and `rtla osnoise hist`: one column per CPU, or per CPU and part of the wake-up.

use crate::error::{Problem, ReadError, quoted};
use crate::lines::{InputLine, InputLines};
use crate::model::{Recording, Series, SeriesKind, WakeUpPart};
use crate::oslat::gcd;
use crate::tally::{BucketBudget, Tally, check_series};
use std::io::BufRead;

/// The minimum of an empty column: rtla starts from the largest 64-bit number, and `timerlat hist` printed it
/// until the kernel's commit 01b05fc0e5f3 of 2024. Newer ones print `-`.
const UNSET: &str = "18446744073709551615";

pub(crate) const NAME: &str = "rtla";

pub fn looks_like(head: &str) -> bool {
    head.lines().any(|line| kind_of(line).is_some())
}

fn kind_of(line: &str) -> Option<SeriesKind> {
    match line.trim() {
        "# RTLA timerlat histogram" => Some(SeriesKind::Latency),
        "# RTLA osnoise histogram" => Some(SeriesKind::Noise),
        _ => None,
    }
}

#[derive(Default)]
struct RtlaTable {
    kind: Option<SeriesKind>,
    unit_ns: Option<u64>,
    duration: Option<String>,
    columns: Vec<(Series, Tally)>,
    head: bool,
    rows: Vec<u64>,
    has_ended: bool,
    /// The block about all CPUs together, which rtla appends since 6.11; it is redundant.
    all: bool,
    room: BucketBudget,
}

pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut table = RtlaTable { ..RtlaTable::default() };
    // Two passes over the rows would need the whole file. Counts are therefore stored under the row's number, and the width
    // of the buckets is set at the end.
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        table.take(&line)?;
    }
    table.end()
}

impl RtlaTable {
    fn take(&mut self, line: &InputLine) -> Result<(), ReadError> {
        if let Some(kind) = kind_of(line.text) {
            if self.kind.replace(kind).is_some() {
                return Err(line.wrong(line.text, Problem::Order(quoted(line.text.trim()))));
            }
            return Ok(());
        }
        let mut words = line.words();
        let Some(first) = words.next() else { return Ok(()) };
        if first == "#" {
            let rest: Vec<&str> = words.take(8).collect();
            match rest.as_slice() {
                ["Time", "unit", "is", "nanoseconds", ..] => self.unit_ns = Some(1),
                ["Time", "unit", "is", "microseconds", ..] => self.unit_ns = Some(1_000),
                ["Duration:", rest @ ..] => self.duration = Some(rest.join(" ")),
                _ => {}
            }
            return Ok(());
        }
        let rest: Vec<&str> = words.collect();
        check_series(rest.len())?;
        match first.trim_end_matches(':') {
            "Index" if !self.head => self.columns(line, &rest),
            "ALL" => {
                self.all = true;
                Ok(())
            }
            "over" | "count" | "min" | "avg" | "max" if self.all => Ok(()),
            name @ ("over" | "count" | "min" | "avg" | "max") if self.head => self.summary(line, name, &rest),
            // rtla's message at its end, such as `timerlat hit stop tracing`.
            _ if self.has_ended && first.starts_with(char::is_alphabetic) => Ok(()),
            _ if self.head && !self.has_ended => self.row(line, first, &rest),
            _ => Err(line.unexpected()),
        }
    }

    fn columns(&mut self, line: &InputLine, names: &[&str]) -> Result<(), ReadError> {
        self.head = true;
        for name in names {
            let (part, cpu) = name.split_once('-').ok_or_else(|| line.unexpected())?;
            let part = match part {
                "IRQ" => Some(WakeUpPart::Irq),
                "Thr" => Some(WakeUpPart::Thread),
                "Usr" => Some(WakeUpPart::User),
                "CPU" => None,
                _ => return Err(line.unexpected_word(name)),
            };
            let mut series = Series::new(self.kind.unwrap_or(SeriesKind::Latency));
            series.cpu = Some(line.small(cpu)?);
            series.part = part;
            self.columns.push((series, Tally::default()));
        }
        Ok(())
    }

    fn check(&self, line: &InputLine, first: &str, found: usize) -> Result<(), ReadError> {
        match found == self.columns.len() {
            true => Ok(()),
            false => Err(line.columns(first, found + 1, self.columns.len() + 1)),
        }
    }

    fn unit(&self) -> u64 {
        self.unit_ns.unwrap_or(1_000)
    }

    fn row(&mut self, line: &InputLine, first: &str, counts: &[&str]) -> Result<(), ReadError> {
        let low_ns = line.time(first, self.unit())?;
        self.check(line, first, counts.len())?;
        if self.rows.last().is_some_and(|last| *last >= low_ns) {
            return Err(line.out_of_order(first));
        }
        if self.rows.len() as u64 >= crate::tally::MOST_BUCKETS {
            return Err(ReadError::TooMuch {
                what: "rows",
                most: crate::tally::MOST_BUCKETS,
            });
        }
        self.rows.push(low_ns);
        for (word, (_, tally)) in counts.iter().zip(&mut self.columns) {
            tally.add(low_ns, 1, line.number(word)?, &mut self.room)?;
        }
        Ok(())
    }

    fn summary(&mut self, line: &InputLine, name: &str, values: &[&str]) -> Result<(), ReadError> {
        self.has_ended = true;
        // Without noise there are no columns, and one zero.
        if self.columns.is_empty() {
            return Ok(());
        }
        self.check(line, line.text.trim_start(), values.len())?;
        let unit = self.unit();
        for (word, (series, _)) in values.iter().zip(&mut self.columns) {
            if *word == "-" || name == "min" && *word == UNSET {
                continue;
            }
            match name {
                "over" => series.overflow = Some(line.number(word)?),
                "count" => series.stated.count = Some(line.number(word)?),
                "min" => series.stated.min_ns = Some(line.time(word, unit)?),
                "max" => series.stated.max_ns = Some(line.time(word, unit)?),
                _ => {
                    let mean = line.decimal(word)? * unit as f64;
                    series.stated.mean_ns = Some(mean);
                }
            }
        }
        Ok(())
    }

    fn end(self) -> Result<Recording, ReadError> {
        if !self.head {
            return Err(ReadError::Nothing("no head of a table"));
        }
        let unit = self.unit();
        let mut recording = Recording::new(NAME, "rtla", unit);
        let kind = self.kind.unwrap_or(SeriesKind::Latency);
        recording.fact(
            "command",
            match kind {
                SeriesKind::Latency => "timerlat hist",
                SeriesKind::Noise => "osnoise hist",
            },
        );
        recording
            .facts
            .extend(self.duration.map(|text| ("duration".to_owned(), text)));
        let width_ns = self.rows.iter().fold(0, |sum, row| gcd(sum, *row));
        let width_ns = if width_ns == 0 { unit } else { width_ns };
        let from = self.rows.last().map_or(0, |last| last.saturating_add(width_ns));
        recording.series = of_columns(self.columns, width_ns, from);
        sums(&mut recording);
        if !self.has_ended {
            recording.warning(
                "truncated",
                "summary",
                "the summary below the rows is missing (--no-summary, or the file was truncated)",
            );
        }
        if recording.series.is_empty() {
            recording.info(
                "no_samples",
                "CPUs",
                "no sample was above the threshold, so no CPU is named",
            );
        }
        recording.note_overflows();
        if width_ns != unit {
            let message = format!(
                "the file does not contain its bucket size (-b): {} us is the largest that fits its rows",
                width_ns / 1_000
            );
            recording.info("width_not_stated", "buckets", message);
        }
        if kind == SeriesKind::Latency {
            recording.warning(
                "missed_not_counted",
                "missed wake-ups",
                "the tracer omits the activations that were expected while it was late, and does not count them",
            );
        }
        Ok(recording)
    }
}

/// The series of the columns. The width of their buckets is known only at the end.
fn of_columns(columns: Vec<(Series, Tally)>, width_ns: u64, from_ns: u64) -> Vec<Series> {
    let finished = columns.into_iter().map(|(mut series, tally)| {
        series.buckets = tally.buckets();
        for bucket in &mut series.buckets {
            bucket.width_ns = width_ns;
        }
        series.overflow_from_ns = from_ns;
        if series.stated.count == Some(0) {
            // The releases that print `UNSET` print 0 as the maximum.
            let stated = &mut series.stated;
            (stated.min_ns, stated.mean_ns, stated.max_ns) = (None, None, None);
        }
        series
    });
    finished.collect()
}

/// Notes for columns that do not add up, and for empty ones.
fn sums(recording: &mut Recording) {
    let (mut differ, mut silent) = (Vec::new(), Vec::new());
    for series in &recording.series {
        let found = series.in_buckets().saturating_add(series.overflow.unwrap_or(0));
        match series.stated.count {
            Some(stated) if stated != found => differ.push(series.label()),
            Some(0) => silent.push(series.label()),
            _ => {}
        }
    }
    for label in differ {
        recording.error("sums_differ", &label, "the sum of its rows differs from its count");
    }
    if !silent.is_empty() {
        recording.info(
            "no_samples",
            &silent.join(", "),
            "rtla recorded no sample here: this shows neither low latency nor high",
        );
    }
}
