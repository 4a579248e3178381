//! oslat's text (rt-tests): one row per microsecond, one column per core. The last row holds everything above, too.

use crate::error::{Problem, ReadError, quoted};
use crate::lines::{Line, Lines};
use crate::model::{Kind, Recording, Series};
use crate::tally::{Room, Tally, check_series};
use measure::Level;
use std::io::BufRead;

/// Its name in our list.
pub(crate) const NAME: &str = "oslat";

pub(crate) const UNIT_NS: u64 = 1_000;

/// Whether the beginning of a file is of oslat.
#[must_use]
pub fn looks_like(head: &str) -> bool {
    let mut lines = head.lines();
    lines.any(|line| line.starts_with("oslat V ") || line.trim_start().starts_with("Counter Freq:"))
}

/// Reads it.
///
/// # Errors
/// What does not belong into such a file, with its place.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut recording = Recording::new(NAME, "oslat", UNIT_NS);
    let mut table = Table::new();
    let mut lines = Lines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        match text.split_once(':') {
            _ if table.wide.is_empty() && text.starts_with("oslat V ") => {
                recording.version = text.strip_prefix("oslat V ").map(str::to_owned);
            }
            Some(("Core", values)) => table.cores(&line, values)?,
            Some((name, values)) if !table.wide.is_empty() => table.row(&line, name.trim(), values)?,
            Some((name, value)) => recording.fact(&name.to_lowercase(), value.trim()),
            None if text == "..." || !text.contains(char::is_numeric) => {}
            None if table.wide.is_empty() && text.starts_with("Pre-heat") => {}
            None => return Err(line.unexpected()),
        }
        if recording.facts.len() > 64 {
            return Err(line.unexpected());
        }
    }
    table.end(&mut recording)?;
    Ok(recording)
}

struct Wide {
    series: Series,
    tally: Tally,
}

struct Table {
    wide: Vec<Wide>,
    last_row: u64,
    ended: bool,
    room: Room,
    mhz: Vec<u64>,
}

impl Table {
    fn new() -> Table {
        Table {
            wide: Vec::new(),
            last_row: 0,
            ended: false,
            room: Room::new(),
            mhz: Vec::new(),
        }
    }

    fn cores(&mut self, line: &Line, values: &str) -> Result<(), ReadError> {
        if !self.wide.is_empty() {
            return Err(line.wrong(line.text, Problem::Order("Core".to_owned())));
        }
        for word in values.split_whitespace() {
            let mut series = Series::new(Kind::Noise);
            series.cpu = Some(line.small(word)?);
            self.wide.push(Wide {
                series,
                tally: Tally::default(),
            });
            check_series(self.wide.len())?;
        }
        Ok(())
    }

    /// `    001 (us):   126326476 126139519`, or one of the lines below the rows.
    fn row(&mut self, line: &Line, name: &str, values: &str) -> Result<(), ReadError> {
        let columns: Vec<&str> = values
            .split_whitespace()
            .take_while(|word| !word.starts_with('('))
            .collect();
        if columns.len() != self.wide.len() {
            let problem = Problem::Columns {
                found: columns.len(),
                wanted: self.wide.len(),
            };
            return Err(line.wrong(values, problem));
        }
        let value = |word: &str| line.number(word);
        match name {
            "Counter Freq" => {
                self.mhz = columns.iter().map(|word| value(word)).collect::<Result<_, _>>()?;
            }
            "Minimum" | "Maximum" => {
                for (word, wide) in columns.iter().zip(&mut self.wide) {
                    let time = Some(line.time(word, UNIT_NS)?);
                    match name {
                        "Minimum" => wide.series.stated.min_ns = time,
                        _ => wide.series.stated.max_ns = time,
                    }
                }
            }
            "Average" | "Duration" => {
                for (word, wide) in columns.iter().zip(&mut self.wide) {
                    let value = line.decimal(word)?;
                    match name {
                        "Average" => wide.series.stated.mean_ns = Some(value * 1e3),
                        _ => wide.series.stated.duration_ns = Some(crate::statistics::whole(value * 1e9)),
                    }
                }
            }
            "Max-Min" => {}
            _ => return self.bucket(line, name, &columns, values.contains("including overflows")),
        }
        Ok(())
    }

    fn bucket(&mut self, line: &Line, name: &str, columns: &[&str], last: bool) -> Result<(), ReadError> {
        let number = name
            .strip_suffix("(us)")
            .map(str::trim)
            .ok_or_else(|| line.unexpected())?;
        let us = line.number(number)?;
        if us <= self.last_row || self.ended {
            return Err(line.wrong(number, Problem::Order(quoted(number))));
        }
        let low_ns = line.time(number, UNIT_NS)?;
        (self.last_row, self.ended) = (us, last);
        for (word, wide) in columns.iter().zip(&mut self.wide) {
            let count = line.number(word)?;
            if last {
                wide.series.overflow = Some(count);
                wide.series.overflow_from_ns = low_ns;
                continue;
            }
            let (low_ns, width_ns) = bucket_of(us, low_ns);
            if !wide.tally.add(low_ns, width_ns, count, &mut self.room)? {
                return Err(line.wrong(word, Problem::TooLarge(quoted(word))));
            }
        }
        Ok(())
    }

    fn end(self, recording: &mut Recording) -> Result<(), ReadError> {
        if self.last_row == 0 {
            return Err(ReadError::Nothing("no row of a histogram"));
        }
        for wide in self.wide {
            let mut series = wide.series;
            series.buckets = wide.tally.buckets();
            series.stated.count = None;
            recording.series.push(series);
        }
        if !self.ended
            || recording
                .series
                .iter()
                .any(|series| series.stated.max_ns.is_none())
        {
            let message = "the end of the table is missing";
            recording.note(Level::Warning, "truncated", "summary", message);
        }
        notes(recording, &self.mhz);
        Ok(())
    }
}

/// Where the samples of a row are: the first one holds everything below two microseconds.
pub(crate) fn bucket_of(us: u64, low_ns: u64) -> (u64, u64) {
    match us {
        1 => (0, 2 * UNIT_NS),
        _ => (low_ns, UNIT_NS),
    }
}

/// What oslat does to its numbers.
pub(crate) fn notes(recording: &mut Recording, mhz: &[u64]) {
    let overflows = recording.series.iter().filter_map(|series| series.overflow);
    if overflows.fold(0_u64, u64::saturating_add) > 0 {
        let message = "the last row holds everything above it as well: its samples are counted as overflows, and only \
             their number and the largest of them are known";
        recording.note(Level::Warning, "overflow", "histogram", message);
    }
    let message = "every turn of the loop is a sample, so percentiles are of turns and not of time; the first row holds \
         everything below 2 us, and the file's own minimum cannot be below 1 us";
    recording.note(Level::Info, "every_turn", "samples", message);
    if mhz.is_empty() {
        return;
    }
    let list: Vec<String> = mhz.iter().map(u64::to_string).collect();
    let message = format!(
        "the counter's frequency was measured per thread and cut to whole MHz ({}): times are wrong by up to that much",
        list.join(", ")
    );
    recording.note(Level::Info, "integer_mhz", "counter", message);
}
