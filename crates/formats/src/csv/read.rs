//! Reads our own CSV files.

use super::{HEAD, NAME};
use crate::error::ReadError;
use crate::lines::{InputLine, InputLines};
use crate::model::{Basis, MeasurementStretch, Recording, Rounding, Series, SeriesKind, Spike, WakeUpPart};
use crate::tally::{BucketBudget, MOST_QUANTILES, Spikes, Tally, check_series};
use measure::{GapLabel, NoteLevel};
use std::io::BufRead;

/// The maximum number of facts and notes in a file.
const MOST_FACTS: usize = 1 << 16;

/// The maximum number of stretches of time in a series; our own results have at most 256.
const MOST_STRETCHES: usize = 1 << 10;

pub fn looks_like(head: &str) -> bool {
    head.lines().next().is_some_and(|line| line.trim() == HEAD)
}

pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut table = CsvTable {
        recording: Recording::new(NAME, "unknown", 1),
        open: None,
        room: BucketBudget::default(),
        facts: 0,
    };
    let mut lines = InputLines::of(input);
    let mut first = true;
    while let Some(line) = lines.next()? {
        if !std::mem::take(&mut first) && !line.text.trim().is_empty() {
            table.take(&line)?;
        }
    }
    table.close();
    if table.recording.series.is_empty() {
        return Err(ReadError::Nothing("no line of a thread"));
    }
    Ok(table.recording)
}

/// The current series.
struct OpenSeries {
    series: Series,
    tally: Tally,
    spikes: Spikes,
}

struct CsvTable {
    recording: Recording,
    open: Option<OpenSeries>,
    room: BucketBudget,
    facts: usize,
}

/// The fields of a line after those that identify its subject.
struct Fields<'a> {
    of: &'a str,
    what: &'a str,
    at_ns: &'a str,
    low_ns: &'a str,
    width_ns: &'a str,
    count: &'a str,
    value: String,
}

impl CsvTable {
    fn take(&mut self, line: &InputLine) -> Result<(), ReadError> {
        let words: Vec<&str> = line.text.splitn(11, ',').collect();
        let [kind, cpu, thread, part, of, what, at_ns, low_ns, width_ns, count, value] = words.as_slice() else {
            return Err(line.columns(line.text, words.len(), 11));
        };
        let fields = Fields {
            of,
            what,
            at_ns,
            low_ns,
            width_ns,
            count,
            value: plain(value),
        };
        if kind.is_empty() {
            return self.about(line, fields);
        }
        let series = series_of(line, [kind, cpu, thread, part, of])?;
        let same = self.open.as_ref().is_some_and(|open| {
            let (a, b) = (&open.series, &series);
            (a.kind, a.basis, a.cpu, a.thread, a.part) == (b.kind, b.basis, b.cpu, b.thread, b.part)
        });
        if !same {
            self.close();
            check_series(self.recording.series.len())?;
            self.open = Some(OpenSeries {
                series,
                tally: Tally::default(),
                spikes: Spikes::default(),
            });
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        if *what == "fact" {
            self.facts += 1;
            if self.facts > MOST_FACTS {
                return Err(line.unexpected());
            }
        }
        take(open, line, &fields, &mut self.room)
    }

    /// A line about the whole file.
    fn about(&mut self, line: &InputLine, fields: Fields) -> Result<(), ReadError> {
        self.facts += 1;
        if self.facts > MOST_FACTS {
            return Err(line.unexpected());
        }
        let recording = &mut self.recording;
        let value = fields.value;
        match fields.what {
            "tool" => recording.tool = value,
            "unit_ns" => recording.unit_ns = line.number(&value)?.max(1),
            "version" => recording.version = Some(value),
            "started_at" => recording.started_at = Some(value),
            "fact" => recording.facts.push(named(line, &value)?),
            "note" => {
                let level = match fields.of {
                    "error" => NoteLevel::Error,
                    "warning" => NoteLevel::Warning,
                    "info" => NoteLevel::Info,
                    other => return Err(line.unexpected_word(other)),
                };
                let (id, rest) = named(line, &value)?;
                let (subject, message) = rest.split_once(": ").unwrap_or(("", &rest));
                recording.note(level, &id, subject, message);
            }
            other => return Err(line.unexpected_word(other)),
        }
        Ok(())
    }

    /// The lines of a series are consecutive; the series in its `beside` follow it.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let mut series = open.series;
        series.buckets = open.tally.buckets();
        series.spikes = open.spikes.in_order();
        match self.recording.series.last_mut() {
            Some(last)
                if series.basis != Basis::Samples
                    && (last.kind, last.cpu, last.thread, last.part)
                        == (series.kind, series.cpu, series.thread, series.part) =>
            {
                last.beside.push(series);
            }
            _ => self.recording.series.push(series),
        }
    }
}

fn series_of(line: &InputLine, [kind, cpu, thread, part, of]: [&str; 5]) -> Result<Series, ReadError> {
    let unknown = |word: &str| line.unexpected_word(word);
    let mut series = Series::new(match kind {
        "latency" => SeriesKind::Latency,
        "noise" => SeriesKind::Noise,
        other => return Err(unknown(other)),
    });
    let number = |word: &str| match word {
        "" => Ok(None),
        word => line.small(word).map(Some),
    };
    (series.cpu, series.thread) = (number(cpu)?, number(thread)?);
    series.part = match part {
        "" => None,
        "irq" => Some(WakeUpPart::Irq),
        "thread" => Some(WakeUpPart::Thread),
        "user" => Some(WakeUpPart::User),
        other => return Err(unknown(other)),
    };
    let mut known = Basis::ALL.into_iter();
    series.basis = known.find(|basis| basis.name() == of).ok_or_else(|| unknown(of))?;
    Ok(series)
}

fn take(open: &mut OpenSeries, line: &InputLine, fields: &Fields, room: &mut BucketBudget) -> Result<(), ReadError> {
    let OpenSeries { series, tally, spikes } = open;
    let (low_ns, count) = (|| line.number(fields.low_ns), || line.number(fields.count));
    let stated = &mut series.stated;
    match fields.what {
        "bucket" => {
            let (low_ns, width_ns) = (low_ns()?, line.number(fields.width_ns)?.max(1));
            if !tally.add(low_ns, width_ns, count()?, room)? {
                return Err(line.too_large(fields.count));
            }
        }
        "above" => {
            series.overflow_from_ns = low_ns()?;
            if !fields.count.is_empty() {
                series.overflow = Some(count()?);
            }
        }
        "rounded_up" => series.rounding = Rounding::Up,
        "missed" => series.missed = Some(count()?),
        "stated" => stated.count = Some(count()?),
        "smallest" => stated.min_ns = Some(low_ns()?),
        "median" => stated.median_ns = Some(low_ns()?),
        "mode" => stated.mode_ns = Some(low_ns()?),
        "largest" => stated.max_ns = Some(low_ns()?),
        "duration" => stated.duration_ns = Some(low_ns()?),
        "mean" => stated.mean_ns = Some(line.decimal(&fields.value)?),
        "deviation" => stated.stddev_ns = Some(line.decimal(&fields.value)?),
        "quantile" if stated.quantiles.len() < MOST_QUANTILES => {
            stated.quantiles.push((line.decimal(&fields.value)?, low_ns()?));
        }
        "spike" => spikes.add(Spike {
            at_ns: line.number(fields.at_ns)?,
            duration_ns: low_ns()?,
            label: label(&fields.value),
        }),
        "stretch" if series.stretches.len() < MOST_STRETCHES => series.stretches.push(MeasurementStretch {
            at_ns: line.number(fields.at_ns)?,
            length_ns: line.number(fields.width_ns)?,
            value_ns: low_ns()?,
        }),
        "fact" => series.facts.push(named(line, &fields.value)?),
        other => return Err(line.unexpected_word(other)),
    }
    Ok(())
}

/// The cause of a gap, by its name in files.
pub(crate) fn label(name: &str) -> Option<GapLabel> {
    match name {
        "rt_throttling" => Some(GapLabel::RtThrottling),
        "own_wake_up" => Some(GapLabel::OwnWakeUp),
        "fair_server" => Some(GapLabel::FairServer),
        _ => None,
    }
}

/// `name=value`
fn named(line: &InputLine, text: &str) -> Result<(String, String), ReadError> {
    let (name, value) = text.split_once('=').ok_or_else(|| line.unexpected())?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The last field without its quotes.
fn plain(field: &str) -> String {
    let inner = field
        .strip_prefix('"')
        .and_then(|rest| rest.trim_end().strip_suffix('"'));
    inner.map_or_else(|| field.trim_end().to_owned(), |inner| inner.replace("\"\"", "\""))
}
