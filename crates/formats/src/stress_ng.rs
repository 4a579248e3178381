//! Reads `stress-ng --cyclic`: statistics, percentiles, and with `--cyclic-dist` the start of the distribution.

use crate::error::{Problem, ReadError};
use crate::lines::{InputLine, InputLines};
use crate::model::{Recording, Series, SeriesKind};
use crate::statistics::whole;
use crate::tally::{BucketBudget, Tally};
use std::io::BufRead;

pub(crate) const NAME: &str = "stress-ng";

pub fn looks_like(head: &str) -> bool {
    head.lines()
        .any(|line| line.starts_with("stress-ng:") && line.contains(" cyclic:"))
}

#[derive(Default)]
struct StressNgState {
    recording: Recording,
    series: Series,
    tally: Tally,
    room: BucketBudget,
    step_ns: Option<u64>,
    /// The end of the last row: the next one starts there or later.
    end_ns: Option<u64>,
    requested_ns: Option<u64>,
    cut: bool,
}

pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut state = StressNgState {
        recording: Recording::new(NAME, "stress-ng", 1),
        series: Series::new(SeriesKind::Latency),
        ..StressNgState::default()
    };
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        let Some(rest) = text.strip_prefix("stress-ng:") else {
            return Err(line.unexpected());
        };
        if let Some((_, rest_of_line)) = rest.split_once("] cyclic:") {
            state.take(&line, rest_of_line.trim())?;
        }
    }
    state.end()
}

impl StressNgState {
    fn take(&mut self, line: &InputLine, text: &str) -> Result<(), ReadError> {
        let words: Vec<&str> = text.split_whitespace().take(10).collect();
        let stated = &mut self.series.stated;
        match words.as_slice() {
            ["sched", policy, delay, "ns", "delay,", samples, "samples"] => {
                if self.requested_ns.is_some() {
                    return Err(line.wrong(text, Problem::Order("sched".to_owned())));
                }
                self.recording.fact("policy", policy.trim_end_matches(':'));
                self.recording.fact("delay_ns", line.number(delay)?.to_string());
                self.requested_ns = Some(line.number(samples)?);
            }
            ["mean:", mean, "ns,", "mode:", mode, "ns"] => {
                stated.mean_ns = Some(line.decimal(mean)?);
                stated.mode_ns = Some(line.number(mode)?);
            }
            ["min:", min, "ns,", "max:", max, "ns,", "std.dev.", stddev] => {
                stated.min_ns = Some(line.number(min)?);
                stated.max_ns = Some(line.number(max)?);
                stated.stddev_ns = Some(line.decimal(stddev)?);
            }
            [share, value, "ns"] if share.ends_with("%:") => {
                let share = line.decimal(share.trim_end_matches("%:"))? / 100.0;
                let value = line.number(value)?;
                if stated.quantiles.len() < 100 {
                    stated.quantiles.push((share, value));
                }
                if (share - 0.5).abs() < 1e-9 {
                    stated.median_ns = Some(value);
                }
            }
            ["latency", "distribution", step, "ns", "intervals):"] => {
                self.step_ns = Some(line.number(step.trim_start_matches('('))?.max(1));
            }
            ["(for", "the", "first", ..] => self.cut = true,
            ["Note:", "--cyclic-samples", "needed", "to", "be", samples, ..] => {
                let message = format!(
                    "it kept the first {} of {} samples; the rest was not measured",
                    self.requested_ns.unwrap_or(0),
                    line.number(samples)?
                );
                self.recording.warning("samples_lost", "samples", message);
                self.series.stated.count = self.requested_ns;
            }
            [low, count] if self.step_ns.is_some() && low.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                self.row(line, low, count)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn row(&mut self, line: &InputLine, low: &str, count: &str) -> Result<(), ReadError> {
        let low_ns = line.number(low)?;
        if self.end_ns.is_some_and(|end| low_ns < end) {
            return Err(line.out_of_order(low));
        }
        let width = self.step_ns.unwrap_or(1);
        self.end_ns = Some(low_ns.saturating_add(width));
        self.tally.add(low_ns, width, line.number(count)?, &mut self.room)?;
        Ok(())
    }

    fn end(mut self) -> Result<Recording, ReadError> {
        let series = &mut self.series;
        if series.stated.mean_ns.is_none() && series.stated.min_ns.is_none() {
            return Err(ReadError::Nothing(
                "no latency; the output of the stressor shows why it could not run",
            ));
        }
        series.buckets = self.tally.buckets();
        series.overflow_from_ns = self.end_ns.unwrap_or(0);
        let inside = series.in_buckets();
        series.overflow = match series.stated.count {
            _ if series.buckets.is_empty() => None,
            Some(count) => Some(count.saturating_sub(inside)),
            None if self.cut => None,
            None => Some(0),
        };
        let recording = &mut self.recording;
        if series.buckets.is_empty() {
            recording.info(
                "no_histogram",
                "histogram",
                "there is no distribution (--cyclic-dist): only what the tool itself computed is known",
            );
        } else if self.cut {
            let message = format!("the distribution shows the first 250 buckets: {inside} samples are in them");
            recording.warning("rows_omitted", "histogram", message);
        }
        recording.warning(
            "relative_sleep",
            "schedule",
            "its sleep is relative, so that late wake-ups shift all later ones: none is ever missed, and the numbers \
             cannot be compared with those of a fixed schedule",
        );
        let mean = series.stated.mean_ns.unwrap_or(0.0);
        if series.stated.max_ns.is_some_and(|max| whole(mean) > max) {
            recording.error("sums_differ", "mean", "the mean is above the maximum");
        }
        recording.series.push(self.series);
        Ok(self.recording)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_closer_than_the_interval_are_refused() {
        let head = "stress-ng: info:  [7] cyclic:   mean: 2.51 ns, mode: 2 ns\n";
        let interval = |ns: u64| format!("stress-ng: info:  [7] cyclic: latency distribution ({ns} ns intervals):\n");
        let row = |low: u64| format!("stress-ng: info:  [7] cyclic: {low} 10\n");
        let wide = format!("{head}{}{}", interval(5_000), row(60_000));
        assert!(read(&mut format!("{wide}{}", row(65_000)).as_bytes()).is_ok());
        assert!(read(&mut format!("{wide}{}", row(64_999)).as_bytes()).is_err());
        // A second table with a shorter interval also starts after the last row.
        assert!(read(&mut format!("{wide}{}{}", interval(10), row(60_010)).as_bytes()).is_err());
    }
}
