//! Reads our own file of gaps (`measure noise --gaps`): every gap with its time, one line each.

use crate::error::ReadError;
use crate::lines::{InputLine, InputLines};
use crate::model::{Recording, Series, SeriesKind, Spike};
use crate::tally::{BucketBudget, Spikes, Tally, check_series};
use measure::gaps::{END, HEAD, TORN};
use std::collections::BTreeMap;
use std::io::BufRead;

pub(crate) const NAME: &str = "gaps";

pub fn looks_like(head: &str) -> bool {
    head.starts_with(HEAD)
}

/// The data of one CPU.
#[derive(Default)]
struct GapFileCpu {
    tally: Tally,
    spikes: Spikes,
    seen: Option<u64>,
    lost: Option<u64>,
    own: u64,
}

/// Reads it. A partial last line comes from a run that died: it is skipped, and a note reports it.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut recording = Recording::new(NAME, "quietcore", 1);
    let mut cpus: BTreeMap<u32, GapFileCpu> = BTreeMap::new();
    let mut room = BucketBudget::default();
    let (mut torn, mut whole) = (None, false);
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        if text.is_empty() || text == TORN {
            continue;
        }
        if let Some(error) = torn.take() {
            return Err(error);
        }
        whole = text == END;
        match text.strip_prefix('#') {
            Some(comment) => of_comment(&line, comment, &mut recording, &mut cpus)?,
            // The names of the columns.
            None if text.starts_with("at_") => {}
            None => match text.split(',').count() {
                4 => of_row(&line, text, &mut cpus, &mut room)?,
                found => torn = Some(line.columns(line.text.trim_start(), found, 4)),
            },
        }
        check_series(cpus.len())?;
    }
    if recording.started_at.is_none() && cpus.is_empty() {
        return Err(ReadError::Nothing("neither a head nor a gap"));
    }
    let totals = add_series(&mut recording, cpus);
    if !whole {
        recording.error(
            "gaps_incomplete",
            "gaps",
            "the file has no end: the run was killed, or the disk was full; everything until then was read",
        );
    }
    totals.note(&mut recording);
    Ok(recording)
}

/// Adds one series per CPU, and a note where the gaps differ from their stated number.
fn add_series(recording: &mut Recording, cpus: BTreeMap<u32, GapFileCpu>) -> GapTotals {
    let mut totals = GapTotals::default();
    for (number, cpu) in cpus {
        let seen = cpu.spikes.seen();
        let mut series = Series::of_samples(SeriesKind::Noise, Some(number), cpu.tally, cpu.spikes);
        series.missed = cpu.lost;
        series.stated.count = cpu.seen.map(|all| all.saturating_sub(cpu.lost.unwrap_or(0)));
        totals.left_out |= series.spikes.len() as u64 != seen;
        totals.lost = totals.lost.saturating_add(cpu.lost.unwrap_or(0));
        totals.own = totals.own.saturating_add(cpu.own);
        if series.stated.count.is_some_and(|stated| stated != seen) {
            let message = format!(
                "{seen} gaps are in the file, but its end states {}",
                series.stated.count.unwrap_or(0)
            );
            recording.error("sums_differ", &series.label(), message);
        }
        recording.series.push(series);
    }
    totals
}

/// Facts about the gaps of all CPUs.
#[derive(Default)]
struct GapTotals {
    lost: u64,
    own: u64,
    /// Gaps are in a histogram only, without their times.
    left_out: bool,
}

impl GapTotals {
    fn note(&self, recording: &mut Recording) {
        let GapTotals { lost, own, left_out } = self;
        if *lost > 0 {
            let message = format!("{lost} gaps were dropped before they reached the file; they count as missed");
            recording.warning("gaps_lost", "gaps", message);
        }
        if *own > 0 {
            let message = format!("{own} gaps are wake-ups of the tool itself");
            recording.info("own_gaps", "gaps", message);
        }
        if *left_out {
            recording.info(
                "spikes_left_out",
                "gaps",
                "the longest gaps of each CPU are recorded with their times",
            );
        }
    }
}

/// `# started TIME`, `# cpu N threshold_ns N`, `# cpu N seen N written N lost N`; other comments are the user's.
fn of_comment(
    line: &InputLine<'_>,
    comment: &str,
    recording: &mut Recording,
    cpus: &mut BTreeMap<u32, GapFileCpu>,
) -> Result<(), ReadError> {
    let words: Vec<&str> = comment.split_whitespace().take(9).collect();
    match words.as_slice() {
        ["quietcore", "gaps", "1"] => {}
        ["quietcore", "gaps", _] => {
            return Err(ReadError::Nothing("it was written by another version of quietcore"));
        }
        ["started", at] => recording.started_at = Some((*at).to_owned()),
        ["cpu", cpu, "threshold_ns", threshold] => {
            cpus.entry(line.small(cpu)?).or_default();
            recording.fact(
                &format!("threshold_ns of CPU {cpu}"),
                line.number(threshold)?.to_string(),
            );
        }
        ["cpu", cpu, "seen", seen, "written", _, "lost", lost] => {
            let (seen, lost) = (line.number(seen)?, line.number(lost)?);
            let cpu = cpus.entry(line.small(cpu)?).or_default();
            (cpu.seen, cpu.lost) = (Some(seen), Some(lost));
        }
        _ => {}
    }
    Ok(())
}

fn of_row(
    line: &InputLine<'_>,
    text: &str,
    cpus: &mut BTreeMap<u32, GapFileCpu>,
    room: &mut BucketBudget,
) -> Result<(), ReadError> {
    let mut fields = text.split(',');
    let mut field = || fields.next().unwrap_or_default();
    let (at, cpu, duration, cause) = (field(), field(), field(), field());
    let spike = Spike {
        at_ns: line.number(at)?,
        duration_ns: line.number(duration)?,
        label: crate::csv::label(cause),
    };
    let cpu = cpus.entry(line.small(cpu)?).or_default();
    if !cpu.tally.add_exact(spike.duration_ns, 1, room)? {
        return Err(line.too_large(duration));
    }
    cpu.own += u64::from(!cause.is_empty());
    cpu.spikes.add(spike);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "# quietcore gaps 1\n# started 2026-01-02T03:04:05Z\n# cpu 1 threshold_ns 1000\n# cpu 3 threshold_ns 1000\n\
        at_monotonic_ns,cpu,duration_ns,cause\n5000,3,1500,\n6000,3,90000,own_wake_up\n\
        # cpu 1 seen 0 written 0 lost 0\n# cpu 3 seen 7 written 2 lost 5\n# end\n";

    fn ids(recording: &Recording) -> Vec<&str> {
        recording.notes.iter().map(|note| note.id.as_str()).collect()
    }

    #[test]
    fn a_complete_gap_file_states_the_lost_gaps() {
        assert!(looks_like(WHOLE));
        let recording = crate::read(&mut WHOLE.as_bytes()).unwrap();
        assert_eq!(
            (recording.format, recording.started_at.as_deref()),
            (NAME, Some("2026-01-02T03:04:05Z"))
        );
        let [quiet, noisy] = recording.series.as_slice() else {
            panic!("{recording:?}")
        };
        assert_eq!((quiet.cpu, quiet.samples(), quiet.missed), (Some(1), Some(0), Some(0)));
        assert_eq!((noisy.cpu, noisy.samples(), noisy.missed), (Some(3), Some(2), Some(5)));
        assert_eq!((noisy.kind, noisy.stated.count), (SeriesKind::Noise, Some(2)));
        assert_eq!(
            noisy.spikes[1],
            Spike {
                at_ns: 6_000,
                duration_ns: 90_000,
                label: Some(measure::GapLabel::OwnWakeUp),
            }
        );
        assert_eq!(ids(&recording), ["gaps_lost", "own_gaps"]);
    }

    #[test]
    fn a_truncated_gap_file_gives_its_complete_rows() {
        let rows = WHOLE.find("5000,3").unwrap();
        for length in rows..WHOLE.len() - 2 {
            let recording = crate::read(&mut &WHOLE.as_bytes()[..length]).unwrap();
            let gaps: u64 = recording.series.iter().map(Series::in_buckets).sum();
            let lines = WHOLE[rows..length].matches(",\n").count() as u64;
            assert!(gaps == lines || gaps <= 2, "{gaps} of {length} bytes");
            assert!(ids(&recording).contains(&"gaps_incomplete"), "{length}");
            for spike in recording.series.iter().flat_map(|series| &series.spikes) {
                assert!(
                    matches!((spike.at_ns, spike.duration_ns), (5_000, 1_500) | (6_000, 90_000)),
                    "{spike:?}"
                );
            }
        }
        let full = format!("{}\n{TORN}\n", &WHOLE[..rows + 9]);
        let recording = crate::read(&mut full.as_bytes()).unwrap();
        assert_eq!(
            (recording.series[1].samples(), ids(&recording)),
            (Some(0), vec!["gaps_incomplete"])
        );
    }

    #[test]
    fn invalid_rows_are_reported_with_their_position() {
        for (wrong, right) in [
            ("5000,3,15", "5000,3,1500,"),
            ("x,3,1,", "5000,3,1500,"),
            ("5000,3,,", "5000,3,1500,"),
        ] {
            let text = WHOLE.replace(right, wrong);
            let error = crate::read(&mut text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("line 6"), "{wrong}: {error}");
        }
        let newer = WHOLE.replace("gaps 1", "gaps 2");
        assert!(crate::read(&mut newer.as_bytes()).is_err());
        let differs = WHOLE.replace("seen 7", "seen 9");
        let recording = crate::read(&mut differs.as_bytes()).unwrap();
        assert!(ids(&recording).contains(&"sums_differ"));
    }
}
