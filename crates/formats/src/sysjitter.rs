//! Reads sysjitter's raw files (`--raw PREFIX`, one per core): every gap above the threshold with its time.

use crate::error::{Problem, ReadError, quoted};
use crate::lines::Lines;
use crate::model::{Kind, Recording, Series, Spike};
use crate::tally::{Room, Spikes, Tally};
use measure::Level;
use std::io::BufRead;

pub(crate) const NAME: &str = "sysjitter";

pub fn looks_like(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("# cpu_mhz:")) && head.contains("# n_interruptions:")
}

/// Reads it. A row is time (ns), distance to the previous gap (us), and the gap in cycles and in nanoseconds.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut recording = Recording::new(NAME, "sysjitter", 1);
    let mut series = Series::new(Kind::Noise);
    let (mut tally, mut spikes, mut room) = (Tally::default(), Spikes::default(), Room::default());
    let mut mhz = None;
    let mut lines = Lines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        if let Some(comment) = text.strip_prefix('#') {
            match comment.trim().split_once(':') {
                Some(("cpu_mhz", _)) if mhz.is_some() => {
                    return Err(line.wrong(text, Problem::Order("cpu_mhz".to_owned())));
                }
                Some(("cpu_mhz", value)) => mhz = Some(line.number(value.trim())?),
                Some(("n_interruptions", value)) => series.stated.count = Some(line.number(value.trim())?),
                Some(("core", value)) => series.cpu = Some(line.small(value.trim())?),
                _ => {}
            }
            continue;
        }
        let words: Vec<&str> = line.words().take(6).collect();
        match words.as_slice() {
            [] => {}
            [at, delta, cycles, gap] => {
                line.number(delta)?;
                line.number(cycles)?;
                let spike = Spike {
                    at_ns: line.number(at)?,
                    duration_ns: line.number(gap)?,
                    label: None,
                };
                if !tally.add_exact(spike.duration_ns, 1, &mut room)? {
                    return Err(line.wrong(gap, Problem::TooLarge(quoted(gap))));
                }
                spikes.add(spike);
            }
            words => {
                let problem = Problem::Columns {
                    found: words.len(),
                    wanted: 4,
                };
                return Err(line.wrong(line.text.trim_start(), problem));
            }
        }
    }
    let seen = spikes.seen();
    series.buckets = tally.buckets();
    series.spikes = spikes.in_order();
    series.overflow = Some(0);
    let (stated, kept) = (series.stated.count, series.spikes.len() as u64);
    recording.series.push(series);
    if mhz.is_none() && seen == 0 {
        return Err(ReadError::Nothing("neither a head nor a gap"));
    }
    if stated.is_some_and(|stated| stated != seen) {
        let message = format!(
            "{seen} gaps are in the file, whose head says {}",
            stated.unwrap_or(0)
        );
        recording.note(Level::Error, "sums_differ", "gaps", message);
    }
    if kept < seen {
        let message = format!("the {kept} longest gaps are kept with their times");
        recording.note(Level::Info, "spikes_left_out", "gaps", message);
    }
    if let Some(mhz) = mhz {
        let message = format!(
            "the counter's frequency was cut to whole MHz ({mhz}): times are wrong by up to that much"
        );
        recording.note(Level::Info, "integer_mhz", "counter", message);
    }
    let message = "the file does not say its threshold; gaps below it were not recorded";
    recording.note(Level::Info, "threshold_not_stated", "threshold", message);
    Ok(recording)
}
