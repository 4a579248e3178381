//! Reads sysjitter's raw files (`--raw PREFIX`, one per core): every gap above the threshold with its time.

use crate::error::{Problem, ReadError};
use crate::lines::{InputLine, InputLines};
use crate::model::{Recording, Series, SeriesKind, Spike};
use crate::tally::{BucketBudget, Spikes, Tally};
use std::io::BufRead;

pub(crate) const NAME: &str = "sysjitter";

pub fn looks_like(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("# cpu_mhz:")) && head.contains("# n_interruptions:")
}

/// Reads it. A row is time (ns), distance to the previous gap (us), and the gap in cycles and in nanoseconds.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut recording = Recording::new(NAME, "sysjitter", 1);
    let mut head = SysjitterHead::default();
    let (mut tally, mut spikes, mut room) = (Tally::default(), Spikes::default(), BucketBudget::default());
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        if let Some(comment) = line.text.trim().strip_prefix('#') {
            head.read(&line, comment)?;
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
                    return Err(line.too_large(gap));
                }
                spikes.add(spike);
            }
            words => {
                return Err(line.columns(line.text.trim_start(), words.len(), 4));
            }
        }
    }
    let seen = spikes.seen();
    if head.mhz.is_none() && seen == 0 {
        return Err(ReadError::Nothing("neither a head nor a gap"));
    }
    let mut series = Series::of_samples(SeriesKind::Noise, head.core, tally, spikes);
    series.stated.count = head.count;
    let kept = series.spikes.len() as u64;
    recording.series.push(series);
    head.note(&mut recording, seen, kept);
    Ok(recording)
}

/// What the comments before the gaps state.
#[derive(Default)]
struct SysjitterHead {
    mhz: Option<u64>,
    count: Option<u64>,
    core: Option<u32>,
}

impl SysjitterHead {
    fn read(&mut self, line: &InputLine<'_>, comment: &str) -> Result<(), ReadError> {
        match comment.trim().split_once(':') {
            Some(("cpu_mhz", _)) if self.mhz.is_some() => {
                return Err(line.wrong(line.text.trim(), Problem::Order("cpu_mhz".to_owned())));
            }
            Some(("cpu_mhz", value)) => self.mhz = Some(line.number(value.trim())?),
            Some(("n_interruptions", value)) => self.count = Some(line.number(value.trim())?),
            Some(("core", value)) => self.core = Some(line.small(value.trim())?),
            _ => {}
        }
        Ok(())
    }

    /// Notes what limits the recording. Of the `seen` gaps, `kept` have their times.
    fn note(&self, recording: &mut Recording, seen: u64, kept: u64) {
        if self.count.is_some_and(|stated| stated != seen) {
            let message = format!(
                "{seen} gaps are in the file, but its head states {}",
                self.count.unwrap_or(0)
            );
            recording.error("sums_differ", "gaps", message);
        }
        if kept < seen {
            let message = format!("the {kept} longest gaps are recorded with their times");
            recording.info("spikes_left_out", "gaps", message);
        }
        if let Some(mhz) = self.mhz {
            let message = format!(
                "the counter's frequency was truncated to whole MHz ({mhz}): times are wrong by up to that \
                     much"
            );
            recording.info("integer_mhz", "counter", message);
        }
        recording.info(
            "threshold_not_stated",
            "threshold",
            "the file does not contain its threshold; gaps below it were not recorded",
        );
    }
}
