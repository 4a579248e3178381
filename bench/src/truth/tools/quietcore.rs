//! Our two samplers: JSON on standard output.

use super::{BenchRun, INTERVAL_NS, PRIORITY, words};
use crate::truth::seen::{DurationBin, ToolReading};
use serde_json::Value;

pub(crate) fn noise_words(run: &BenchRun) -> Vec<String> {
    let BenchRun { cpu, seconds, .. } = run;
    words(format!(
        "measure noise --cpus {cpu} --for {seconds}s --threshold 1us --policy fifo:{PRIORITY} --json"
    ))
}

pub(crate) fn latency_words(run: &BenchRun) -> Vec<String> {
    let BenchRun { cpu, seconds, .. } = run;
    let interval_us = INTERVAL_NS / 1_000;
    words(format!(
        "measure latency --cpus {cpu} --for {seconds}s --interval {interval_us}us --policy fifo:{PRIORITY} --json"
    ))
}

pub(crate) fn read_noise(_: &BenchRun, printed: &str) -> Result<ToolReading, String> {
    let (thread, mut seen) = common_result(printed)?;
    let gap_values = thread["gaps"].as_array().into_iter().flatten();
    let start = number(&thread, "started_monotonic_ns")?;
    let gaps: Option<Vec<(u64, u64)>> = gap_values
        .map(|gap| {
            let begin = start + gap["at_ns"].as_u64()?;
            Some((begin, begin + gap["duration_ns"].as_u64()?))
        })
        .collect();
    // If every gap is listed, the durations are exact and not those of a histogram.
    if let Some(gaps) = gaps.filter(|gaps| gaps.len() as u64 == seen.recorded) {
        let mut bins: Vec<DurationBin> = gaps.iter().map(|(begin, end)| exactly(end - begin, 1)).collect();
        bins.sort_unstable_by_key(|bin| bin.low_ns);
        seen.bins = bins;
        seen.gaps = Some(gaps);
    }
    seen.floor_ns = number(&thread, "threshold_ns")?;
    seen.iterations = Some(number(&thread, "turns")?);
    seen.iteration_min_ns = Some(number(&thread, "turn_ns_min")?);
    Ok(seen)
}

pub(crate) fn read_latency(_: &BenchRun, printed: &str) -> Result<ToolReading, String> {
    common_result(printed).map(|(_, seen)| seen)
}

fn common_result(printed: &str) -> Result<(Value, ToolReading), String> {
    let document: Value = serde_json::from_str(printed).map_err(|error| error.to_string())?;
    if document["complete"] != Value::Bool(true) {
        return Err("the measurement is not complete".into());
    }
    let thread = document["threads"][0].clone();
    let rows = thread["histogram"].as_array().ok_or("no histogram")?;
    let bins: Option<Vec<DurationBin>> = rows
        .iter()
        .map(|row| Some(exactly(row[0].as_u64()?, row[1].as_u64()?)))
        .collect();
    let own = &thread["own"];
    let seen = ToolReading {
        bins: bins.ok_or("a row of the histogram has no number")?,
        duration_ns: number(&thread, "duration_ns")?,
        expected: Some(number(&thread, "expected")?),
        recorded: number(&thread, "recorded")?,
        missed: Some(number(&thread, "missed")?),
        own: own["page_faults"].as_u64().zip(own["voluntary_switches"].as_u64()),
        ..ToolReading::default()
    };
    Ok((thread, seen))
}

fn exactly(low_ns: u64, count: u64) -> DurationBin {
    DurationBin {
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

    fn run() -> BenchRun {
        BenchRun {
            cpu: 1,
            other: 0,
            seconds: 4,
            folder: "/nowhere".into(),
        }
    }

    #[test]
    fn gaps_have_exact_times_on_the_monotonic_clock() {
        let seen = read_noise(&run(), NOISE).unwrap();
        assert_eq!(
            seen.gaps.as_deref(),
            Some(&[(110, 5113), (7100, 8125), (9100, 10126)][..])
        );
        assert_eq!(seen.bins[2], exactly(5003, 1));
        assert_eq!((seen.expected, seen.recorded, seen.missed), (Some(3), 3, Some(0)));
        assert_eq!(
            (seen.iterations, seen.iteration_min_ns, seen.own),
            (Some(100), Some(7), Some((0, 0)))
        );
    }

    #[test]
    fn with_an_incomplete_list_of_gaps_the_histogram_is_used() {
        let seen = read_noise(&run(), &NOISE.replace(r#""recorded":3"#, r#""recorded":4"#)).unwrap();
        assert_eq!(seen.gaps, None);
        assert_eq!(seen.bins, [exactly(1024, 2), exactly(5000, 1)]);
    }

    #[test]
    fn an_incomplete_result_is_an_error() {
        assert!(read_noise(&run(), &NOISE.replace("true", "false")).is_err());
        assert!(read_latency(&run(), "").is_err());
        assert!(read_noise(&run(), &NOISE.replace("turn_ns_min", "x")).is_err());
    }
}
