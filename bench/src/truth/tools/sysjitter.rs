//! sysjitter: a raw file with one row per gap, `TIMESTAMP DELTA CYCLES NANOSECONDS`.

use super::{BenchRun, words};
use crate::truth::seen::{DurationBin, ToolReading};

/// The same threshold as ours.
const THRESHOLD_NS: u64 = 1_000;

pub(crate) fn sysjitter_words(run: &BenchRun) -> Vec<String> {
    let BenchRun { cpu, seconds, .. } = run;
    let raw = run.folder.join("raw").display().to_string();
    words(format!("--runtime {seconds} --raw {raw} --cores {cpu} {THRESHOLD_NS}"))
}

pub(crate) fn read_sysjitter(run: &BenchRun, _: &str) -> Result<ToolReading, String> {
    // The file is named after the CPU or, in older versions, numbered from 0.
    let names = [format!("raw.{}", run.cpu), "raw.0".to_owned()];
    let text = names
        .iter()
        .find_map(|name| std::fs::read_to_string(run.folder.join(name)).ok());
    raw(&text.ok_or("it wrote no raw file")?, run.seconds)
}

fn raw(text: &str, seconds: u64) -> Result<ToolReading, String> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let bins: Result<Vec<DurationBin>, String> = rows
        .map(|row| {
            let ns = row.split_whitespace().nth(3).and_then(|word| word.parse().ok());
            let low_ns: u64 = ns.ok_or_else(|| format!("not a row of sysjitter: {row}"))?;
            Ok(DurationBin {
                low_ns,
                high_ns: Some(low_ns + 1),
                count: 1,
            })
        })
        .collect();
    let mut bins = bins?;
    bins.sort_unstable_by_key(|bin| bin.low_ns);
    Ok(ToolReading {
        floor_ns: THRESHOLD_NS,
        recorded: bins.len() as u64,
        bins,
        duration_ns: seconds * 1_000_000_000,
        ..ToolReading::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_sysjitter_end_with_nanoseconds() {
        let text = "# cpu_mhz: 2597\n#   (nsec)\n  3440870   0   42718   16448\n  3512404   71   3120   1201\n";
        let seen = raw(text, 3).unwrap();
        let low: Vec<u64> = seen.bins.iter().map(|bin| bin.low_ns).collect();
        assert_eq!(low, [1_201, 16_448]);
        assert_eq!((seen.recorded, seen.duration_ns), (2, 3_000_000_000));
        assert!(raw("1 2 3\n", 3).is_err());
    }
}
