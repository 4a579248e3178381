//! Reads and writes HdrHistogram logs (`.hlog`), one tag per CPU. The column with the interval's largest value is in
//! milliseconds, as the Java tools write it.

mod packed;

use self::packed::unpacked;
use crate::error::{Problem, ReadError, quoted};
use crate::lines::{InputLine, InputLines};
use crate::model::{Basis, Recording, Series, SeriesKind};
use crate::tally::{BucketBudget, Tally, check_series};
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use machine::OrderBy;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

pub(crate) const NAME: &str = "hlog";

/// The divisor of the column with the largest value, which all other tools use.
const MAX_DIVISOR: f64 = 1e6;

pub fn looks_like(head: &str) -> bool {
    head.lines().any(|line| {
        line.starts_with("#[Histogram log format version")
            || (!line.starts_with('#') && line.rsplit(',').next().is_some_and(|last| last.starts_with("HISTF")))
    })
}

/// Reads it; intervals with the same tag are summed.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut recording = Recording::new(NAME, "HdrHistogram", 1);
    let mut tags: BTreeMap<String, (Tally, Duration)> = BTreeMap::new();
    let mut room = BucketBudget::default();
    let mut deserializer = Deserializer::new();
    let mut plain = SeriesKind::Latency;
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        if let Some(comment) = text.strip_prefix("#[").and_then(|rest| rest.strip_suffix(']')) {
            if comment.starts_with(GAPS) {
                plain = SeriesKind::Noise;
            }
            if recording.facts.len() < 64 {
                recording.fact("comment", comment);
            }
            continue;
        }
        // The legend that the Java tools write.
        if text.is_empty() || text.starts_with('#') || text.starts_with("\"StartTimestamp\"") {
            continue;
        }
        let interval = read_interval(&line, text, &mut deserializer)?;
        let (tally, length) = tags.entry(interval.tag).or_default();
        *length = length.saturating_add(interval.length);
        if !add_histogram(tally, &interval.histogram, &mut room)? {
            return Err(line.wrong(text, Problem::TooLarge("its count".to_owned())));
        }
        check_series(tags.len())?;
    }
    add_series(&mut recording, tags, plain);
    if recording.series.is_empty() {
        return Err(ReadError::Nothing("no interval"));
    }
    recording.info(
        "unit_not_stated",
        "unit",
        "such a log does not contain what it measured: read as nanoseconds of latency, as quietcore and jHiccup write \
         it; jHiccup also adds computed samples for missed ones",
    );
    Ok(recording)
}

/// One line of the log.
struct TaggedInterval {
    tag: String,
    length: Duration,
    histogram: Histogram<u64>,
}

fn read_interval(
    line: &InputLine<'_>,
    text: &str,
    deserializer: &mut Deserializer,
) -> Result<TaggedInterval, ReadError> {
    let row = format!("{text}\n");
    let entry = IntervalLogIterator::new(row.as_bytes()).next();
    let Some(Ok(LogEntry::Interval(interval))) = entry else {
        return Err(line.unexpected());
    };
    let packed = |why: String| line.wrong(text, Problem::Packed(quoted(&why)));
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(interval.encoded_histogram())
        .map_err(|error| packed(error.to_string()))?;
    let bytes = unpacked(bytes).map_err(packed)?;
    let histogram = deserializer
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| packed(error.to_string()))?;
    let tag = interval.tag().map(|tag| tag.as_str().to_owned());
    Ok(TaggedInterval {
        tag: tag.unwrap_or_default(),
        length: interval.duration(),
        histogram,
    })
}

/// Adds the samples of a histogram; false if a sum overflows.
fn add_histogram(tally: &mut Tally, histogram: &Histogram<u64>, room: &mut BucketBudget) -> Result<bool, ReadError> {
    for step in histogram.iter_recorded() {
        let value = step.value_iterated_to();
        let low_ns = histogram.lowest_equivalent(value);
        let width = histogram
            .highest_equivalent(value)
            .saturating_sub(low_ns)
            .saturating_add(1);
        if !tally.add(low_ns, width, step.count_at_value(), room)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds one series per tag. Those that only say more about another one are put beside it.
fn add_series(recording: &mut Recording, tags: BTreeMap<String, (Tally, Duration)>, plain: SeriesKind) {
    let mut beside = Vec::new();
    for (tag, (tally, length)) in tags {
        let known = of_tag(&tag, plain);
        let mut series = known.clone().unwrap_or_else(|| Series::new(SeriesKind::Latency));
        if known.is_none() && !tag.is_empty() {
            recording.fact("tag", tag);
        }
        series.buckets = tally.buckets();
        series.overflow = Some(0);
        series.stated.duration_ns = u64::try_from(length.as_nanos()).ok();
        match series.basis {
            Basis::Samples => recording.series.push(series),
            _ => beside.push(series),
        }
    }
    beside.order_by_key(|series: &Series| series.basis);
    for one in beside {
        let mut all = recording.series.iter_mut();
        match all.find(|series| (series.kind, series.cpu) == (one.kind, one.cpu)) {
            Some(series) => series.beside.push(one),
            None => recording.series.push(one),
        }
    }
}

/// The prefix of the comment that says that no wake-ups were measured.
const GAPS: &str = "gaps in a busy loop";

/// `cpu3`, `cpu3-noise`, `cpu3-schedule`: the tags that we write. In other tools' tags only the first form has a meaning.
fn of_tag(tag: &str, plain: SeriesKind) -> Option<Series> {
    let (cpu, what) = tag.split_once('-').unwrap_or((tag, ""));
    let cpu = cpu.strip_prefix("cpu")?.parse().ok()?;
    let (kind, basis) = match what {
        "" => (plain, Basis::Samples),
        "noise" => (SeriesKind::Noise, Basis::Samples),
        other => {
            let mut known = Basis::ALL.into_iter().skip(1);
            (SeriesKind::Latency, known.find(|basis| basis.name() == other)?)
        }
    };
    let mut series = Series::new(kind);
    (series.cpu, series.basis) = (Some(cpu), basis);
    Some(series)
}

/// Writes one interval per series, and one for each series in its `beside`.
pub fn write(recording: &Recording) -> String {
    let mut bytes = Vec::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    let unit = match recording.kind() {
        SeriesKind::Latency => "latency of wake-ups",
        SeriesKind::Noise => GAPS,
    };
    builder.add_comment(&format!("[{unit}, in nanoseconds; Interval_Max in milliseconds]"));
    for series in &recording.series {
        for (count, what) in [(series.overflow, "above the histogram"), (series.missed, "missed")] {
            if let Some(count) = count.filter(|count| *count > 0) {
                let comment = format!(
                    "[{}: {count} more samples were {what}, and are not included]",
                    series.label()
                );
                builder.add_comment(&comment);
            }
        }
    }
    builder.with_max_value_divisor(MAX_DIVISOR);
    let mut serializer = V2DeflateSerializer::new();
    // Writing into memory does not fail.
    if let Ok(mut log) = builder.begin_log_with(&mut bytes, &mut serializer) {
        let all = recording.series.iter().enumerate();
        let all = all.flat_map(|(place, series)| series.with_those_beside().map(move |one| (place, one)));
        for (place, series) in all {
            let Some(histogram) = histogram_of(series) else {
                continue;
            };
            let tag = match (series.cpu, series.part) {
                // Both were measured together, and a reader would sum intervals with the same tag.
                (Some(cpu), None) if series.kind != recording.kind() => format!("cpu{cpu}-noise"),
                (Some(cpu), None) if series.basis != Basis::Samples => {
                    format!("cpu{cpu}-{}", series.basis.name())
                }
                (Some(cpu), None) => format!("cpu{cpu}"),
                (Some(_), Some(_)) => series.label().replace(' ', "-"),
                (None, _) => format!("thread{place}"),
            };
            let length = Duration::from_nanos(series.stated.duration_ns.unwrap_or(0));
            let _ = log.write_histogram(&histogram, Duration::ZERO, length, Tag::new(&tag));
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Three significant digits, as in our own results.
fn histogram_of(series: &Series) -> Option<Histogram<u64>> {
    let highest = series
        .buckets
        .last()
        .map_or(2, |bucket| bucket.low_ns.clamp(2, u64::MAX / 2));
    let mut histogram = Histogram::new_with_max(highest, 3).ok()?;
    for bucket in &series.buckets {
        histogram.saturating_record_n(bucket.low_ns, bucket.count);
    }
    Some(histogram)
}
