//! Reads `rtla timerlat top`, `rtla osnoise top` and `rtla hwnoise`: one line per CPU with rtla's statistics, without a
//! distribution. Without `-q` rtla reprints the table, with terminal escape codes; the last table counts.
//!
//! Source: `timerlat_top.c` and `osnoise_top.c` of the kernel's `tools/tracing/rtla`.

use crate::error::ReadError;
use crate::lines::{InputLine, InputLines};
use crate::model::{Recording, Series, SeriesKind, WakeUpPart};
use crate::tally::check_series;
use RtlaTool::{Hwnoise, Osnoise, Timerlat};
use std::borrow::Cow;
use std::io::BufRead;

pub(crate) const NAME: &str = "rtla-top";

pub fn looks_like(head: &str) -> bool {
    let has = |is_it: &dyn Fn(&str) -> bool| head.lines().any(|line| is_it(&plain(line)));
    has(&|line| line.contains(UNITS))
        || has(&|line| RtlaTool::of_title(line).is_some()) && has(&|line| line.starts_with("CPU Period "))
}

/// The text above timerlat's columns, before the unit.
const UNITS: &str = "IRQ Timer Latency (";

/// Removes colour and clear-screen codes from a line.
fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                if letters.next() == Some('[') {
                    let _ = letters.find(char::is_ascii_alphabetic);
                }
            }
            letter => text.push(letter),
        }
    }
    Cow::Owned(text)
}

/// The tool that printed a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RtlaTool {
    Timerlat,
    Osnoise,
    Hwnoise,
}

impl RtlaTool {
    fn of_title(line: &str) -> Option<RtlaTool> {
        match line.trim() {
            "Timer Latency" => Some(Timerlat),
            "Operating System Noise" => Some(Osnoise),
            "Hardware-related Noise" => Some(Hwnoise),
            _ => None,
        }
    }

    fn command(self) -> &'static str {
        match self {
            Timerlat => "timerlat top",
            Osnoise => "osnoise top",
            Hwnoise => "hwnoise",
        }
    }
}

/// The columns of osnoise after CPU and period, and their names among the facts of a CPU.
const COLUMNS: [&str; 10] = [
    "runtime_us",
    "noise_us",
    "available_percent",
    "largest_noise_of_a_period_us",
    "largest_single_noise_us",
    "hw",
    "nmi",
    "irq",
    "softirq",
    "thread",
];

/// hwnoise has no interrupts, softirqs and threads.
const OF_HWNOISE: usize = 7;

#[derive(Default)]
struct RtlaTopState {
    table: Option<RtlaTool>,
    unit_ns: Option<u64>,
    duration: Option<String>,
    series: Vec<Series>,
    /// From the table before the current one.
    former: Vec<Series>,
    within: bool,
    stopped: Option<String>,
}

/// Reads it.
///
/// # Errors
/// An invalid line in a table, with its position. Text around tables is ignored.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut state = RtlaTopState::default();
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = plain(line.text);
        let line = InputLine {
            number: line.number,
            text: &text,
        };
        state.take(&line)?;
    }
    state.end()
}

impl RtlaTopState {
    fn take(&mut self, line: &InputLine) -> Result<(), ReadError> {
        let text = line.text.trim();
        if let Some(table) = RtlaTool::of_title(text) {
            if self.table.is_some_and(|before| before != table) {
                return Err(line.out_of_order(text));
            }
            self.table = Some(table);
            self.within = true;
            if !self.series.is_empty() {
                self.former = std::mem::take(&mut self.series);
            }
            return Ok(());
        }
        if text.contains("hit stop tracing") && self.stopped.is_none() {
            self.stopped = Some(text.trim_matches(['#', ' ']).to_owned());
        }
        if let Some((duration, units)) = text.split_once('|').filter(|(_, rest)| rest.contains(UNITS)) {
            // A pasted table may lack its title.
            self.within |= *self.table.get_or_insert(Timerlat) == Timerlat;
            self.duration = Some(duration.trim().to_owned());
            self.unit_ns = Some(if units.contains("(ns)") { 1 } else { 1_000 });
            return Ok(());
        }
        let Some(table) = self.table.filter(|_| self.within) else {
            return Ok(());
        };
        if let Some(rest) = text.strip_prefix("duration:") {
            self.duration = Some(rest.split('|').next().unwrap_or_default().trim().to_owned());
            return Ok(());
        }
        if text.is_empty() || text.starts_with("CPU ") {
            return Ok(());
        }
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            // The summary line below the CPUs, or rtla's message at its end.
            self.within = false;
            return Ok(());
        }
        match table {
            Timerlat => self.of_timerlat(line)?,
            Osnoise => self.of_osnoise(line, COLUMNS.len())?,
            Hwnoise => self.of_osnoise(line, OF_HWNOISE)?,
        }
        check_series(self.series.len())
    }

    /// ` 21 #12318     |        0         0         0        13 |        8         3         8        28`
    fn of_timerlat(&mut self, line: &InputLine) -> Result<(), ReadError> {
        let mut groups = line.text.split('|');
        let (cpu, count) = cpu_and_count(line, groups.next().unwrap_or_default())?;
        let mut parts = [WakeUpPart::Irq, WakeUpPart::Thread, WakeUpPart::User].into_iter();
        for group in groups {
            let words: Vec<&str> = group.split_whitespace().take(5).collect();
            let (Some(part), [_, min, mean, max]) = (parts.next(), words.as_slice()) else {
                return Err(line.columns(group.trim_start(), words.len(), 4));
            };
            let unit_ns = self.unit_ns.unwrap_or(1_000);
            let time = |word: &str| known(word).map(|word| line.time(word, unit_ns)).transpose();
            let mut series = Series::new(SeriesKind::Latency);
            (series.cpu, series.part) = (Some(cpu), Some(part));
            // The column counts timer interrupts. The number of thread wake-ups is not printed.
            series.stated.count = (part == WakeUpPart::Irq).then_some(count);
            series.stated.min_ns = time(min)?;
            series.stated.max_ns = time(max)?;
            let in_ns = |units: f64| units * unit_ns as f64;
            series.stated.mean_ns = known(mean).map(|word| line.decimal(word)).transpose()?.map(in_ns);
            self.series.push(series);
        }
        match parts.len() {
            0 | 1 => Ok(()),
            _ => Err(line.unexpected()),
        }
    }

    /// `  0 #58         52200000         1031    99.99802          91           60           0  ...`
    fn of_osnoise(&mut self, line: &InputLine, columns: usize) -> Result<(), ReadError> {
        let words: Vec<&str> = line.words().take(16).collect();
        let [cpu, periods, values @ ..] = words.as_slice() else {
            return Err(line.unexpected());
        };
        if values.len() != columns {
            return Err(line.columns(cpu, words.len(), columns + 2));
        }
        let mut series = Series::new(SeriesKind::Noise);
        series.cpu = Some(line.small(cpu)?);
        let periods = periods.strip_prefix('#').unwrap_or(periods);
        series
            .facts
            .push(("periods".to_owned(), line.number(periods)?.to_string()));
        for (name, word) in COLUMNS.into_iter().zip(values) {
            match name {
                "available_percent" => {
                    line.decimal(word)?;
                }
                "largest_single_noise_us" => {
                    let largest = line.time(word, 1_000)?;
                    series.stated.max_ns = Some(largest).filter(|ns| *ns > 0);
                    // No sample was above the threshold.
                    series.stated.count = (largest == 0).then_some(0);
                }
                _ => {
                    line.number(word)?;
                }
            }
            series.facts.push((name.to_owned(), (*word).to_owned()));
        }
        self.series.push(series);
        Ok(())
    }

    fn end(mut self) -> Result<Recording, ReadError> {
        let Some(table) = self.table else {
            return Err(ReadError::Nothing("no title of a table"));
        };
        // A table truncated right after its head contains less than the one before.
        if self.series.is_empty() {
            self.series = self.former;
        }
        if self.series.is_empty() {
            return Err(ReadError::Nothing("no line of a CPU"));
        }
        let unit_ns = match table {
            Timerlat => self.unit_ns.unwrap_or(1_000),
            Osnoise | Hwnoise => 1_000,
        };
        let mut recording = Recording::new(NAME, "rtla", unit_ns);
        recording.fact("command", table.command());
        recording
            .facts
            .extend(self.duration.map(|text| ("duration".to_owned(), text)));
        recording.series = self.series;
        notes(&mut recording, table, self.stopped);
        Ok(recording)
    }
}

/// `21 #12318`
fn cpu_and_count(line: &InputLine, text: &str) -> Result<(u32, u64), ReadError> {
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    match words.as_slice() {
        [cpu, count] => {
            let count = count.strip_prefix('#').ok_or_else(|| line.unexpected())?;
            Ok((line.small(cpu)?, line.number(count)?))
        }
        _ => Err(line.unexpected()),
    }
}

/// A word that is not `-`.
fn known(word: &str) -> Option<&str> {
    Some(word).filter(|word| *word != "-")
}

/// Notes on what such a table can prove.
fn notes(recording: &mut Recording, table: RtlaTool, stopped: Option<String>) {
    if let Some(stopped) = stopped {
        let message = format!(
            "the run ended at a latency above its own limit ({stopped}): a longer run might have had a larger one"
        );
        recording.info("stopped", "run", message);
    }
    match table {
        Timerlat => {
            recording.warning(
                "no_histogram",
                "histogram",
                "there is no distribution: only smallest, mean and largest are known, as rtla computed them, and \
                 percentiles are not; the mean is truncated to whole units",
            );
            recording.info(
                "count_of_interrupts",
                "samples",
                "the count is of timer interrupts: the number of measured wake-ups of threads is not stated",
            );
            recording.warning(
                "missed_not_counted",
                "missed wake-ups",
                "the tracer omits the activations that were expected while it was late, and does not count them",
            );
        }
        Osnoise | Hwnoise => {
            recording.warning(
                "no_histogram",
                "histogram",
                "there is no distribution: only the largest single noise and sums are known, as rtla computed them; \
                 the number of noises is not stated, hw to thread are counts of what interrupted",
            );
            recording.info(
                "runtime_only",
                "runtime",
                "only the runtime was watched: nothing is known about the rest of each period",
            );
        }
    }
}
