//! Reads cyclictest's output. Rows are identified by their first column, because rt-tests 2.7 and later omit empty rows.
//! `-H` adds a column with the sum of the others, which the summary below the rows reveals.

use super::{NAME, SKIPS};
use crate::error::{Problem, ReadError, quoted};
use crate::lines::{InputLine, InputLines, is_digits};
use crate::model::{Recording, Series, SeriesKind, Spike};
use crate::statistics::as_f64;
use crate::tally::{BucketBudget, Spikes, Tally, check_series};
use measure::NoteLevel;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;

/// cyclictest counts in microseconds, and with `-N` in nanoseconds without stating it.
const UNIT_NS: u64 = 1_000;

pub fn looks_like(head: &str) -> bool {
    let mut lines = head.lines().map(plain).map(|line| line.into_owned());
    let bare_row = |line: &str| {
        let mut words = line.split_whitespace();
        let bucket = words.next().unwrap_or_default();
        bucket.len() >= 6
            && line.starts_with(bucket)
            && is_digits(bucket)
            && words.clone().count() > 0
            && words.all(is_digits)
    };
    lines.any(|line| {
        line.trim() == "# Histogram"
            || line.starts_with("# /dev/cpu_dma_latency set to")
            || (line.starts_with("T:") && line.contains("Min:"))
            || single(&line).is_some()
            || bare_row(&line)
    })
}

pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut state = CyclictestState::new();
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = plain(line.text);
        match text {
            Cow::Borrowed(_) => state.take(&line)?,
            Cow::Owned(text) => state.take(&InputLine {
                number: line.number,
                text: &text,
            })?,
        }
    }
    state.end()
}

/// Removes the escape sequences with which cyclictest redraws its screen from a line.
fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut pieces = line.split('\u{1b}');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece
            .strip_prefix('[')
            .map(|rest| rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';'));
        // Other text is kept; the parser then rejects the line.
        match rest.and_then(|rest| rest.strip_prefix(|letter: char| letter.is_ascii_alphabetic())) {
            Some(rest) => text.push_str(rest),
            None => text.push_str(piece),
        }
    }
    Cow::Owned(text)
}

/// `thread: cycle: latency` of `-v`.
fn single(line: &str) -> Option<[&str; 3]> {
    let mut words = line.split(':').map(str::trim);
    let found = [words.next()?, words.next()?, words.next()?];
    (words.next().is_none() && found.iter().all(|word| is_digits(word))).then_some(found)
}

/// The data of one thread.
#[derive(Default)]
struct CyclictestThread {
    singles: Tally,
    spikes: Spikes,
    series: Option<Series>,
}

/// The data so far.
#[derive(Default)]
struct CyclictestState {
    columns: Vec<Tally>,
    sums: Vec<u64>,
    last_row: Option<u64>,
    /// Whether every row's last column was the sum of the others so far.
    sum_column: bool,
    in_rows: bool,
    totals: BTreeMap<&'static str, Vec<u64>>,
    threads: BTreeMap<u32, CyclictestThread>,
    cpus: BTreeMap<u32, (u32, Option<u64>)>,
    noise: bool,
    room: BucketBudget,
}

/// Lines below the rows: their prefix, and whether their numbers are times.
const SUMMARY: [&str; 5] = [
    "Total",
    "Min Latencies",
    "Avg Latencies",
    "Max Latencies",
    "Histogram Overflows",
];

/// Lines without data about latencies.
const IGNORED_LINES: [&str; 9] = [
    "Max CPUs",
    "Online CPUs",
    "Using ",
    "WARN",
    "INFO",
    "policy:",
    "spikes =",
    "defaulting ",
    "running ",
];

impl CyclictestState {
    fn new() -> CyclictestState {
        CyclictestState {
            sum_column: true,
            ..CyclictestState::default()
        }
    }

    fn take(&mut self, line: &InputLine) -> Result<(), ReadError> {
        let text = line.text.trim();
        if text.is_empty() || IGNORED_LINES.iter().any(|start| text.starts_with(start)) {
            return Ok(());
        }
        if let Some(comment) = text.strip_prefix('#') {
            return self.comment(line, comment.trim());
        }
        if let Some(rest) = text.strip_prefix("T:") {
            return self.thread_line(line, rest);
        }
        if let Some(words) = single(text) {
            return self.single(line, words);
        }
        if let Some(rest) = text.strip_prefix("Thread ") {
            return self.placed(line, rest);
        }
        if text.starts_with(|letter: char| letter.is_ascii_digit()) {
            return self.row(line);
        }
        Err(line.unexpected())
    }

    fn comment(&mut self, line: &InputLine, comment: &str) -> Result<(), ReadError> {
        if comment == "Histogram" {
            if self.in_rows {
                return Err(line.wrong(line.text, Problem::Order("# Histogram".to_owned())));
            }
            self.in_rows = true;
        } else if comment == crate::cyclictest::write::NOISE {
            self.noise = true;
        } else if let Some(rest) = comment.strip_prefix("Thread ") {
            return self.read_own_comment(line, rest);
        } else if let Some((name, values)) = comment.split_once(':')
            && let Some(name) = SUMMARY.iter().find(|known| **known == name)
        {
            let values: Result<Vec<u64>, ReadError> = values.split_whitespace().map(|word| line.number(word)).collect();
            if self.totals.insert(name, values?).is_some() {
                return Err(line.wrong(line.text, Problem::Order(quoted(name))));
            }
        }
        Ok(())
    }

    /// `# Thread 0 is CPU 1: expected 27 missed 3` is added by our own writer; `# Thread 0: 00419 ...` are cycles.
    fn read_own_comment(&mut self, line: &InputLine, rest: &str) -> Result<(), ReadError> {
        let words: Vec<&str> = rest.split_whitespace().take(9).collect();
        if let [thread, "is", "CPU", cpu, rest @ ..] = words.as_slice() {
            let missed = match rest {
                ["expected", _, "missed", missed] => Some(line.number(missed)?),
                _ => None,
            };
            let cpu = line.small(cpu.trim_end_matches(':'))?;
            self.cpus.insert(line.small(thread)?, (cpu, missed));
            check_series(self.cpus.len())?;
        }
        Ok(())
    }

    /// `Thread 0 using cpu 1.` and `Thread 0 Interval: 1500` of `-v`.
    fn placed(&mut self, line: &InputLine, rest: &str) -> Result<(), ReadError> {
        let words: Vec<&str> = rest.split_whitespace().take(5).collect();
        match words.as_slice() {
            [thread, "using", "cpu", cpu] => {
                let cpu = line.small(cpu.trim_end_matches('.'))?;
                self.cpus.insert(line.small(thread)?, (cpu, None));
                check_series(self.cpus.len())
            }
            [_, "Interval:", _] => Ok(()),
            _ => Err(line.unexpected()),
        }
    }

    fn thread(&mut self, number: u32) -> Result<&mut CyclictestThread, ReadError> {
        check_series(self.threads.len())?;
        Ok(self.threads.entry(number).or_default())
    }

    fn single(&mut self, line: &InputLine, [thread, _, latency]: [&str; 3]) -> Result<(), ReadError> {
        let value = line.number(latency)?;
        let number = line.small(thread)?;
        check_series(self.threads.len())?;
        let thread = self.threads.entry(number).or_default();
        if !thread.singles.add_exact(value, UNIT_NS, &mut self.room)? {
            return Err(line.too_large(latency));
        }
        Ok(())
    }

    /// `T: 0 ( 5843) P:80 I:1000 C:    996 Min:     19 Act:   21 Avg:   50 Max:    3218`, or a spike. Redrawn screens
    /// contain many of these lines; the last one counts.
    fn thread_line(&mut self, line: &InputLine, rest: &str) -> Result<(), ReadError> {
        let number = rest.split(['(', 'S']).next().unwrap_or_default().trim();
        let number = line.small(number)?;
        if let Some((_, rest)) = rest.split_once("Spike:") {
            let (duration, at) = rest.split_once(": TS:").ok_or_else(|| line.unexpected())?;
            let spike = Spike {
                at_ns: line.time(at.trim(), UNIT_NS)?,
                duration_ns: line.time(duration.trim(), UNIT_NS)?,
                label: None,
            };
            self.thread(number)?.spikes.add(spike);
            return Ok(());
        }
        let value = |name: &str| {
            let rest = rest.split_once(name).map(|(_, rest)| rest);
            rest.and_then(|rest| rest.split_whitespace().next())
                .ok_or_else(|| line.unexpected())
        };
        let mut series = Series::new(SeriesKind::Latency);
        let (min, max) = (line.time(value("Min:")?, UNIT_NS)?, line.time(value("Max:")?, UNIT_NS)?);
        let mean = as_f64(line.time(value("Avg:")?, UNIT_NS)?);
        let cycles = line.number(value("C:")?)?;
        series.stated.count = Some(cycles);
        // Before the first sample the minimum is a large number.
        if cycles > 0 {
            series.stated.min_ns = Some(min);
            series.stated.max_ns = Some(max);
            series.stated.mean_ns = Some(mean);
        }
        self.thread(number)?.series = Some(series);
        Ok(())
    }

    fn row(&mut self, line: &InputLine) -> Result<(), ReadError> {
        let mut words = line.words();
        let first = words.next().unwrap_or_default();
        let value = line.number(first)?;
        if self.last_row.is_some_and(|last| last >= value) {
            return Err(line.out_of_order(first));
        }
        let low_ns = line.time(first, UNIT_NS)?;
        let counts: Vec<&str> = words.collect();
        check_series(counts.len())?;
        if self.last_row.is_none() {
            self.columns.resize_with(counts.len(), Tally::default);
            self.sums.resize(counts.len(), 0);
        }
        if counts.len() != self.columns.len() || counts.is_empty() {
            return Err(line.columns(first, counts.len() + 1, self.columns.len().max(1) + 1));
        }
        self.last_row = Some(value);
        let (mut before, mut last) = (0_u64, 0);
        for ((word, tally), sum) in counts.iter().zip(&mut self.columns).zip(&mut self.sums) {
            let count = line.number(word)?;
            tally.add(low_ns, UNIT_NS, count, &mut self.room)?;
            *sum = line.add(word, *sum, count)?;
            before = before.saturating_add(last);
            last = count;
        }
        self.sum_column &= before == last;
        Ok(())
    }

    fn end(mut self) -> Result<Recording, ReadError> {
        let mut recording = Recording::new(NAME, "cyclictest", UNIT_NS);
        let kind = if self.noise {
            SeriesKind::Noise
        } else {
            SeriesKind::Latency
        };
        let columns = std::mem::take(&mut self.columns);
        if columns.is_empty() {
            self.without_rows(&mut recording);
        } else {
            self.with_rows(columns, kind, &mut recording);
        }
        if recording.series.is_empty() {
            return Err(ReadError::Nothing("neither a histogram nor a line of a thread"));
        }
        if self.noise {
            return Ok(recording);
        }
        let subject = "missed wake-ups";
        if recording.series.iter().any(|series| series.missed.is_none()) {
            recording.warning("missed_not_counted", subject, SKIPS);
        }
        let smallest = recording.series.iter().filter_map(|series| series.stated.min_ns).min();
        let level = match smallest {
            Some(ns) if ns >= 1_000 * UNIT_NS => NoteLevel::Warning,
            _ => NoteLevel::Info,
        };
        let message = "the text does not contain its unit: read as microseconds, which is right unless cyclictest ran \
             with -N (then all times here are 1,000 times too long)";
        recording.note(level, "unit_not_stated", "unit", message);
        Ok(recording)
    }

    fn with_rows(&mut self, mut columns: Vec<Tally>, kind: SeriesKind, recording: &mut Recording) {
        let stated = self.totals.get("Min Latencies").map(Vec::len);
        let summed = columns.len() > 1
            && match stated {
                Some(threads) => threads + 1 == columns.len(),
                None => self.sum_column && self.sums.iter().any(|sum| *sum > 0),
            };
        if summed {
            columns.pop();
        }
        let count = columns.len();
        let of = |name: &str, place: usize| self.totals.get(name).and_then(|values| values.get(place)).copied();
        let mut wrong = Vec::new();
        for (place, tally) in columns.into_iter().enumerate() {
            let mut series = Series::new(kind);
            series.thread = u32::try_from(place).ok();
            series.buckets = tally.buckets();
            series.overflow = of("Histogram Overflows", place);
            series.overflow_from_ns = self.last_row.map_or(0, |last| (last + 1).saturating_mul(UNIT_NS));
            let time = |name| of(name, place).map(|value: u64| value.saturating_mul(UNIT_NS));
            let total = of("Total", place);
            series.stated.count = total.map(|total| total.saturating_add(series.overflow.unwrap_or(0)));
            if series.stated.count != Some(0) {
                series.stated.min_ns = time("Min Latencies");
                series.stated.max_ns = time("Max Latencies");
                series.stated.mean_ns = time("Avg Latencies").map(as_f64);
            }
            if total.is_some_and(|total| total != series.in_buckets()) {
                wrong.push(place);
            }
            if let Some((cpu, missed)) = series.thread.and_then(|thread| self.cpus.get(&thread)) {
                series.cpu = Some(*cpu);
                series.missed = *missed;
            }
            recording.series.push(series);
        }
        for place in wrong {
            recording.error(
                "sums_differ",
                &format!("thread {place}"),
                "the sum of its rows differs from its total",
            );
        }
        if stated.is_none_or(|stated| stated != count) {
            let message = if summed {
                "the summary below the rows is missing; the last column is read as the sum of the others, as -H adds it"
            } else {
                "the summary below the rows is missing or incomplete"
            };
            recording.warning("truncated", "summary", message);
        }
        recording.note_overflows();
        if stated.is_some() {
            recording.info(
                "mean_truncated",
                "mean",
                "the mean in the file is truncated to whole microseconds",
            );
        }
    }

    fn without_rows(&mut self, recording: &mut Recording) {
        let mut dropped = 0;
        let (mut single, mut stated) = (false, false);
        for (number, thread) in std::mem::take(&mut self.threads) {
            let mut series = thread.series.unwrap_or_else(|| Series::new(SeriesKind::Latency));
            stated |= series.stated.count.is_some();
            series.thread = Some(number);
            series.cpu = self.cpus.get(&number).map(|(cpu, _)| *cpu);
            series.buckets = thread.singles.buckets();
            if !series.buckets.is_empty() {
                single = true;
                series.overflow = Some(0);
            }
            dropped += thread.spikes.seen();
            series.spikes = thread.spikes.in_order();
            dropped -= series.spikes.len() as u64;
            recording.series.push(series);
        }
        if single {
            recording.info(
                "samples_may_be_lost",
                "samples",
                "cyclictest -v prints from a ring of 16,384 values, and loses samples if the output is too slow",
            );
        } else if stated {
            recording.warning(
                "no_histogram",
                "histogram",
                "there is no histogram: percentiles, median and deviation are unknown",
            );
        }
        if dropped > 0 {
            let message = format!("the {dropped} shortest spikes were left out");
            recording.info("spikes_left_out", "spikes", message);
        }
    }
}
