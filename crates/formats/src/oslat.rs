//! Reads oslat's text (rt-tests): one row per microsecond, or per `-W` width; one column per core. The last row also holds
//! all larger values.

mod rows;

pub(crate) use rows::{OslatRows, gcd, rule};

use crate::error::{Problem, ReadError};
use crate::lines::{InputLine, InputLines, is_digits};
use crate::model::{Recording, Series, SeriesKind};
use crate::tally::{MOST_BUCKETS, check_series};
use std::io::BufRead;

pub(crate) const NAME: &str = "oslat";

/// The output of `--bias` after the pre-heat.
const BIAS: &str = "Global bias set to ";

/// The version of files that do not state theirs and label the frequency like 1.x.
const OLD: &str = "1.0";

/// With `-W` below a microsecond times have three decimals.
const DECIMAL: u64 = 1_000;

pub fn looks_like(head: &str) -> bool {
    let has = |start: &str| head.lines().any(|line| line.trim_start().starts_with(start));
    head.lines().any(|line| line.starts_with("oslat V ")) || has("Counter Freq:") || (has("CPU Freq:") && has("Core:"))
}

pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut recording = Recording::new(NAME, "oslat", DECIMAL);
    let mut table = OslatTable::default();
    let mut lines = InputLines::of(input);
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
            None if table.wide.is_empty() && text.starts_with(BIAS) => table.bias(&line, text, &mut recording)?,
            None => return Err(line.unexpected()),
        }
        if recording.facts.len() > 64 {
            return Err(line.unexpected());
        }
    }
    table.end(&mut recording)?;
    Ok(recording)
}

/// The data of one core.
struct CoreData {
    series: Series,
    /// Upper end in thousandths of a microsecond, and count.
    rows: Vec<(u64, u64)>,
}

#[derive(Default)]
struct OslatTable {
    wide: Vec<CoreData>,
    rows: u64,
    last_row: u64,
    has_ended: bool,
    decimals: bool,
    mhz: Vec<u64>,
    /// Label as in 1.x.
    is_old: bool,
    bias_ns: u64,
}

impl OslatTable {
    /// `Global bias set to 1 (us)`
    fn bias(&mut self, line: &InputLine, text: &str, recording: &mut Recording) -> Result<(), ReadError> {
        let value = text.strip_prefix(BIAS).unwrap_or_default().trim();
        let number = value.split_whitespace().next().unwrap_or_default();
        self.bias_ns = line.time(number, DECIMAL)?;
        recording.fact("global bias", value);
        Ok(())
    }

    fn cores(&mut self, line: &InputLine, values: &str) -> Result<(), ReadError> {
        if !self.wide.is_empty() {
            return Err(line.wrong(line.text, Problem::Order("Core".to_owned())));
        }
        for word in values.split_whitespace() {
            let mut series = Series::new(SeriesKind::Noise);
            series.cpu = Some(line.small(word)?);
            self.wide.push(CoreData {
                series,
                rows: Vec::new(),
            });
            check_series(self.wide.len())?;
        }
        Ok(())
    }

    /// `    001 (us):   126326476 126139519`, or one of the lines below the rows.
    fn row(&mut self, line: &InputLine, name: &str, values: &str) -> Result<(), ReadError> {
        let columns: Vec<&str> = values
            .split_whitespace()
            .take_while(|word| !word.starts_with('('))
            .collect();
        if columns.len() != self.wide.len() {
            return Err(line.columns(values, columns.len(), self.wide.len()));
        }
        let value = |word: &str| line.number(word);
        match name {
            "Counter Freq" | "CPU Freq" => {
                self.is_old |= name == "CPU Freq";
                self.mhz = columns.iter().map(|word| value(word)).collect::<Result<_, _>>()?;
            }
            "Minimum" | "Maximum" => {
                for (word, wide) in columns.iter().zip(&mut self.wide) {
                    let time = Some(thousandths(line, word)?);
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

    fn bucket(&mut self, line: &InputLine, name: &str, columns: &[&str], last: bool) -> Result<(), ReadError> {
        let number = name
            .strip_suffix("(us)")
            .map(str::trim)
            .ok_or_else(|| line.unexpected())?;
        let end_ns = thousandths(line, number)?;
        if end_ns <= self.last_row || self.has_ended {
            return Err(line.out_of_order(number));
        }
        self.rows += columns.len() as u64;
        if self.rows > MOST_BUCKETS {
            return Err(ReadError::TooMuch {
                what: "rows",
                most: MOST_BUCKETS,
            });
        }
        (self.last_row, self.has_ended) = (end_ns, last);
        self.decimals |= number.contains('.');
        for (word, wide) in columns.iter().zip(&mut self.wide) {
            wide.rows.push((end_ns, line.number(word)?));
        }
        Ok(())
    }

    fn end(self, recording: &mut Recording) -> Result<(), ReadError> {
        if self.last_row == 0 {
            return Err(ReadError::Nothing("no row of a histogram"));
        }
        let unit_ns = if self.decimals { 1 } else { 1_000 };
        recording.unit_ns = unit_ns;
        let ends: Vec<u64> = self
            .wide
            .iter()
            .flat_map(|wide| &wide.rows)
            .map(|row| row.0.saturating_sub(self.bias_ns))
            .collect();
        let version = recording.version.as_deref().or(self.is_old.then_some(OLD));
        let width_ns = OslatRows::width(&ends, unit_ns);
        let smallest = self.wide.iter().filter_map(|wide| wide.series.stated.min_ns).min();
        let mut all = self.wide.iter().flat_map(|wide| &wide.rows);
        let is_used = all.any(|(end_ns, count)| *end_ns == width_ns && *count > 0);
        let rows = OslatRows {
            rule: rule(version, smallest, is_used),
            unit_ns,
            width_ns,
            bias_ns: self.bias_ns,
        };
        for mut wide in self.wide {
            if !rows.fill(&mut wide.series, &wide.rows, self.has_ended)? {
                return Err(ReadError::Nothing("a count is too large"));
            }
            recording.series.push(wide.series);
        }
        if !self.has_ended || recording.series.iter().any(|series| series.stated.max_ns.is_none()) {
            recording.warning("truncated", "summary", "the end of the table is missing");
        }
        if self.bias_ns > 0 {
            recording.info(
                "bias",
                "histogram",
                "with --bias the first row also holds everything below it",
            );
        }
        notes(recording, &self.mhz);
        Ok(())
    }
}

/// Converts microseconds, with three decimals or none, to nanoseconds.
fn thousandths(line: &InputLine, word: &str) -> Result<u64, ReadError> {
    let Some((whole, rest)) = word.split_once('.').filter(|(_, rest)| rest.len() == 3) else {
        return line.time(word, DECIMAL);
    };
    let whole = line.time(whole, DECIMAL)?;
    let rest = rest.parse::<u64>().ok().filter(|_| is_digits(rest));
    rest.and_then(|rest| whole.checked_add(rest))
        .ok_or_else(|| line.no_number(word))
}

/// The transformations that oslat applies to its numbers.
pub(crate) fn notes(recording: &mut Recording, mhz: &[u64]) {
    let overflows = recording.series.iter().filter_map(|series| series.overflow);
    if overflows.fold(0_u64, u64::saturating_add) > 0 {
        recording.warning(
            "overflow",
            "histogram",
            "the last row also contains everything above it: its samples are counted as overflows, and only their \
             number and the largest of them are known",
        );
    }
    recording.info(
        "every_turn",
        "samples",
        "every loop is a sample, so percentiles are of loops and not of time; rows are named by their upper ends, and \
         the file's own mean uses that value for every sample",
    );
    if mhz.is_empty() {
        return;
    }
    let list: Vec<String> = mhz.iter().map(u64::to_string).collect();
    let message = format!(
        "the counter's frequency was measured per thread and truncated to whole MHz ({}): times are wrong by up to \
         that much",
        list.join(", ")
    );
    recording.info("integer_mhz", "counter", message);
}
