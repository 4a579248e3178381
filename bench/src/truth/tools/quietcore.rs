//! Our two samplers: JSON on standard output.

use super::{INTERVAL_NS, PRIORITY, Run, words};
use crate::truth::seen::{Bin, Seen};
use serde_json::Value;

pub(crate) fn noise_words(run: &Run) -> Vec<String> {
    let Run { cpu, seconds, .. } = run;
    words(format!(
        "measure noise --cpus {cpu} --for {seconds}s --threshold 1us --policy fifo:{PRIORITY} --json"
    ))
}

pub(crate) fn latency_words(run: &Run) -> Vec<String> {
    let Run { cpu, seconds, .. } = run;
    let interval_us = INTERVAL_NS / 1_000;
    words(format!(
        "measure latency --cpus {cpu} --for {seconds}s --interval {interval_us}us --policy fifo:{PRIORITY} --json"
    ))
}

pub(crate) fn read_noise(_: &Run, printed: &str) -> Result<Seen, String> {
    let (thread, mut seen) = what_both_say(printed)?;
    let kept = thread["gaps"].as_array().into_iter().flatten();
    let start = number(&thread, "started_monotonic_ns")?;
    let gaps: Option<Vec<(u64, u64)>> = kept
        .map(|gap| {
            let begin = start + gap["at_ns"].as_u64()?;
            Some((begin, begin + gap["duration_ns"].as_u64()?))
        })
        .collect();
    // With every gap there to see, the durations are exact and not those of a histogram.
    if let Some(gaps) = gaps.filter(|gaps| gaps.len() as u64 == seen.recorded) {
        let mut bins: Vec<Bin> = gaps.iter().map(|(begin, end)| exactly(end - begin, 1)).collect();
        bins.sort_unstable_by_key(|bin| bin.low_ns);
        seen.bins = bins;
        seen.gaps = Some(gaps);
    }
    seen.floor_ns = number(&thread, "threshold_ns")?;
    seen.turns = Some(number(&thread, "turns")?);
    seen.turn_min_ns = Some(number(&thread, "turn_ns_min")?);
    Ok(seen)
}

pub(crate) fn read_latency(_: &Run, printed: &str) -> Result<Seen, String> {
    what_both_say(printed).map(|(_, seen)| seen)
}

fn what_both_say(printed: &str) -> Result<(Value, Seen), String> {
    let said: Value = serde_json::from_str(printed).map_err(|error| error.to_string())?;
    if said["complete"] != Value::Bool(true) {
        return Err("the measurement is not complete".into());
    }
    let thread = said["threads"][0].clone();
    let rows = thread["histogram"].as_array().ok_or("no histogram")?;
    let bins: Option<Vec<Bin>> = rows
        .iter()
        .map(|row| Some(exactly(row[0].as_u64()?, row[1].as_u64()?)))
        .collect();
    let own = &thread["own"];
    let seen = Seen {
        bins: bins.ok_or("a row of the histogram has no number")?,
        duration_ns: number(&thread, "duration_ns")?,
        expected: Some(number(&thread, "expected")?),
        recorded: number(&thread, "recorded")?,
        missed: Some(number(&thread, "missed")?),
        own: own["page_faults"]
            .as_u64()
            .zip(own["voluntary_switches"].as_u64()),
        ..Seen::default()
    };
    Ok((thread, seen))
}

fn exactly(low_ns: u64, count: u64) -> Bin {
    Bin {
        low_ns,
        high_ns: Some(low_ns + 1),
        count,
    }
}

fn number(thread: &Value, key: &str) -> Result<u64, String> {
    thread[key].as_u64().ok_or_else(|| format!("no {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: &str = r#"{"complete":true,"threads":[{"expected":3,"recorded":3,"missed":0,"duration_ns":2000,
        "histogram":[[1024,2],[5000,1]],"own":{"page_faults":0,"voluntary_switches":0},"started_monotonic_ns":100,"threshold_ns":1000,
        "gaps":[{"at_ns":10,"duration_ns":5003},{"at_ns":7000,"duration_ns":1025},{"at_ns":9000,"duration_ns":1026}],
        "turns":100,"turn_ns_min":7}]}"#;

    fn run() -> Run {
        Run {
            cpu: 1,
            other: 0,
            seconds: 4,
            folder: "/nowhere".into(),
        }
    }

    #[test]
    fn gaps_are_on_the_clock_and_exact() {
        let seen = read_noise(&run(), NOISE).unwrap();
        assert_eq!(
            seen.gaps.as_deref(),
            Some(&[(110, 5113), (7100, 8125), (9100, 10126)][..])
        );
        assert_eq!(seen.bins[2], exactly(5003, 1));
        assert_eq!((seen.expected, seen.recorded, seen.missed), (Some(3), 3, Some(0)));
        assert_eq!(
            (seen.turns, seen.turn_min_ns, seen.own),
            (Some(100), Some(7), Some((0, 0)))
        );
    }

    #[test]
    fn without_all_gaps_the_histogram_counts_and_nothing_overlaps() {
        let seen = read_noise(&run(), &NOISE.replace(r#""recorded":3"#, r#""recorded":4"#)).unwrap();
        assert_eq!(seen.gaps, None);
        assert_eq!(seen.bins, [exactly(1024, 2), exactly(5000, 1)]);
    }

    #[test]
    fn half_a_result_is_none() {
        assert!(read_noise(&run(), &NOISE.replace("true", "false")).is_err());
        assert!(read_latency(&run(), "").is_err());
        assert!(read_noise(&run(), &NOISE.replace("turn_ns_min", "x")).is_err());
    }
}
