//! Formats systress's screen: a row per timer thread, the load of the CPUs, and the final summary. The columns are those of
//! the article on `isolcpus` and cpusets (section 4.3.4); latencies are whole microseconds, truncated.

use machine::CpuId;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// The data of one timer thread on the screen. Latencies in nanoseconds; `None` before the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimerRow {
    /// Its index in the file.
    pub index: u32,
    /// Its number.
    pub tid: u32,
    /// Samples so far.
    pub samples: u64,
    /// Smallest.
    pub min_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
    /// The last one.
    pub last_ns: Option<u64>,
    /// Mean.
    pub mean_ns: Option<f64>,
}

/// The rows, then the load of each CPU and the total, in percent.
#[must_use]
pub fn systress_screen(rows: &[TimerRow], loads: &[(CpuId, f64)], all: Option<f64>) -> String {
    let mut text = String::from("Index     TID   Samples    L_min    L_max    L_cur    L_avg\n");
    let cut = |ns: Option<u64>| ns.map_or(String::new(), |ns| (ns / 1_000).to_string());
    for row in rows {
        let mean = row.mean_ns.map(|ns| ns.max(0.0) as u64);
        let _ = writeln!(
            text,
            "{:>5} {:>7} {:>9} {:>8} {:>8} {:>8} {:>8}",
            row.index,
            row.tid,
            row.samples,
            cut(row.min_ns),
            cut(row.max_ns),
            cut(row.last_ns),
            cut(mean)
        );
    }
    if !loads.is_empty() {
        text.push('\n');
    }
    for (cpu, percent) in loads {
        let _ = writeln!(text, "CPU#{:<2}: {percent:>5.1}%", cpu.0);
    }
    if let Some(percent) = all {
        let _ = writeln!(text, "CPU   : {percent:>5.1}%");
    }
    text
}

/// The location of a thread's statistics.
#[must_use]
pub fn systress_statistics(thread: &str, file: &Path) -> String {
    format!("Statistics for {thread} in '{}'\n", file.display())
}

/// The elapsed time.
#[must_use]
pub fn systress_elapsed(time: Duration) -> String {
    let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
    let nanoseconds = time.subsec_nanos();
    let mut parts = Vec::new();
    if minutes > 0 {
        parts.push(format!("{minutes} minutes"));
    }
    if seconds > 0 {
        parts.push(format!("{seconds} seconds"));
    }
    parts.push(format!("{nanoseconds} nanoseconds"));
    format!("Total elapsed time: {}\n", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_equals_the_one_in_the_article() {
        let row = TimerRow {
            index: 0,
            tid: 256_845,
            samples: 59_992,
            min_ns: Some(3_999),
            max_ns: Some(4_230_000),
            last_ns: Some(6_100),
            mean_ns: Some(6_900.5),
        };
        let loads = [(CpuId(0), 100.0), (CpuId(7), 11.84), (CpuId(12), 0.0)];
        let words: Vec<Vec<String>> = systress_screen(&[row], &loads, Some(89.4))
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        assert_eq!(words[0].join(" "), "Index TID Samples L_min L_max L_cur L_avg");
        assert_eq!(words[1].join(" "), "0 256845 59992 3 4230 6 6");
        assert_eq!(words[2].len(), 0);
        assert_eq!(words[3].join(" "), "CPU#0 : 100.0%");
        assert_eq!(words[4].join(" "), "CPU#7 : 11.8%");
        assert_eq!(words[5].join(" "), "CPU#12: 0.0%");
        assert_eq!(words[6].join(" "), "CPU : 89.4%");
    }

    #[test]
    fn a_thread_without_samples_has_no_numbers() {
        let text = systress_screen(&[TimerRow::default()], &[], None);
        assert_eq!(text.lines().count(), 2);
        assert_eq!(text.lines().nth(1).unwrap().split_whitespace().count(), 3);
    }

    #[test]
    fn elapsed_time_is_formatted_as_by_systress() {
        let check =
            |time, expected: &str| assert_eq!(systress_elapsed(time), format!("Total elapsed time: {expected}\n"));
        check(Duration::new(60, 15_254_842), "1 minutes, 15254842 nanoseconds");
        check(Duration::new(600, 23_959_755), "10 minutes, 23959755 nanoseconds");
        check(Duration::new(83, 5), "1 minutes, 23 seconds, 5 nanoseconds");
        check(Duration::from_millis(1), "1000000 nanoseconds");
    }
}
