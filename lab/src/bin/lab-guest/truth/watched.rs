//! Runs `blame`: starts it, waits until its probe spins, stops it, and reads its two output files.

use crate::disturb::ProbePolicy;
use lab::truth::{OwnRow, ReportedGap, ReportedKprobe};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Duration that is passed to `blame`, longer than any run: `blame` is always stopped earlier.
const AT_MOST: &str = "3600s";
/// Maximum time until the trace and the probe run. An emulated machine is slow.
const START: Duration = Duration::from_secs(300);
/// The end of the line in which `blame` reports that its window has started.
const WINDOW_STARTED: &str = "from now on";

/// `blame` while it watches.
pub(super) struct BlameRun {
    child: Option<Child>,
    gaps: PathBuf,
    /// File with its standard error.
    error_file: PathBuf,
}

/// The results of `blame`.
pub(super) struct BlameOutput {
    pub(super) gaps: Vec<ReportedGap>,
    pub(super) absent: Vec<String>,
    /// Kprobes that replaced absent events.
    pub(super) kprobes: Vec<ReportedKprobe>,
    pub(super) lost_events: u64,
    /// Kernel entries that the watched program itself made.
    pub(super) own: Vec<OwnRow>,
}

impl BlameRun {
    /// Starts `blame`, and returns when its probe spins on that CPU and its trace runs.
    pub(super) fn start(
        quietcore: &Path,
        cpu: u32,
        buffer_kib: Option<u32>,
        probe: ProbePolicy,
    ) -> Result<BlameRun, String> {
        let file = |what: &str| std::env::temp_dir().join(format!("quietcore-truth-{}.{what}", std::process::id()));
        let (gaps, says) = (file("gaps"), file("says"));
        let error_log = File::create(&says).map_err(|error| format!("{}: {error}", says.display()))?;
        let mut command = Command::new(quietcore);
        command.args([
            "--json",
            "blame",
            "--for",
            AT_MOST,
            "--cpus",
            &cpu.to_string(),
            "--gaps",
        ]);
        command.arg(&gaps);
        if let Some(buffer_kib) = buffer_kib {
            command.args(["--buffer", &buffer_kib.to_string()]);
        }
        match probe {
            ProbePolicy::Other => {}
            ProbePolicy::Fifo => {
                command.args(["--policy", "fifo:80"]);
            }
            ProbePolicy::Program => {
                command.args(["--pid", &std::process::id().to_string()]);
            }
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(error_log)
            .spawn()
            .map_err(|error| format!("{}: {error}", quietcore.display()))?;
        let mut watched = BlameRun {
            child: Some(child),
            gaps,
            error_file: says,
        };
        watched.wait_until_it_watches()?;
        Ok(watched)
    }

    /// Its PID.
    pub(super) fn pid(&self) -> i32 {
        self.child.as_ref().map_or(0, |child| child.id().cast_signed())
    }

    fn error_text(&self) -> String {
        std::fs::read_to_string(&self.error_file).unwrap_or_default()
    }

    fn wait_until_it_watches(&mut self) -> Result<(), String> {
        let until = Instant::now() + START;
        while !self.error_text().lines().any(|line| line.ends_with(WINDOW_STARTED)) {
            let ended = self.child.as_mut().map(Child::try_wait);
            if !matches!(ended, Some(Ok(None))) || Instant::now() > until {
                let report = self.finish();
                return Err(format!("blame does not watch: {}", report.err().unwrap_or_default()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Stops `blame` and reads its results. Keeps only relevant gaps: all of them are too many for a small machine.
    pub(super) fn end(mut self, matters: impl Fn(&ReportedGap) -> bool) -> Result<BlameOutput, String> {
        let answer = self.finish()?;
        let named = |why: String| format!("{}: {why}", self.gaps.display());
        let file = File::open(&self.gaps).map_err(|error| named(error.to_string()))?;
        let gaps = gaps(BufReader::new(file), matters).map_err(named)?;
        let lost = |cpu: &Value| cpu["lost_events"].as_u64().unwrap_or(0);
        let cpus = answer["cpus"].as_array().map(Vec::as_slice).unwrap_or_default();
        if answer["trace_full"] == true {
            return Err("the trace was full: blame has no names for the end of the run".to_owned());
        }
        Ok(BlameOutput {
            gaps,
            absent: serde_json::from_value(answer["absent_events"].clone())
                .map_err(|error| format!("absent_events: {error}"))?,
            kprobes: serde_json::from_value::<Option<_>>(answer["senders"]["probes"].clone())
                .map_err(|error| format!("senders: {error}"))?
                .unwrap_or_default(),
            lost_events: cpus.iter().map(lost).sum(),
            own: cpus.iter().flat_map(own).collect(),
        })
    }

    fn finish(&mut self) -> Result<Value, String> {
        let child = self.child.take().ok_or("it has ended")?;
        // SAFETY: a plain call; the child is not reaped yet, so its PID cannot have been reused.
        unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        let errors = self.error_text();
        if !output.status.success() {
            return Err(format!("blame ended with {}: {}", output.status, errors.trim()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| format!("what blame printed: {error}"))
    }
}

impl Drop for BlameRun {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.finish().ok();
        }
        std::fs::remove_file(&self.gaps).ok();
        std::fs::remove_file(&self.error_file).ok();
    }
}

/// Reads one gap per line. The last line has the number of omitted gaps.
fn gaps(text: impl BufRead, matters: impl Fn(&ReportedGap) -> bool) -> Result<Vec<ReportedGap>, String> {
    let mut gaps = Vec::new();
    let mut last = String::new();
    for line in text.lines() {
        let line = line.map_err(|error| error.to_string())?;
        if !last.is_empty() {
            let gap: ReportedGap = serde_json::from_str(&last).map_err(|error| error.to_string())?;
            if matters(&gap) {
                gaps.push(gap);
            }
        }
        last = line;
    }
    let last: Value = serde_json::from_str(&last).map_err(|error| error.to_string())?;
    match last["left_out"].as_u64() {
        Some(0) => Ok(gaps),
        _ => Err(format!("gaps are left out: {last}")),
    }
}

/// The kernel entries that the program itself made on a CPU. Empty if a probe was watched.
fn own(cpu: &Value) -> Vec<OwnRow> {
    serde_json::from_value(cpu["own"].clone()).unwrap_or_default()
}

/// Waits until this is the only run, because two concurrent runs would disturb each other. The lock is held while the
/// file is open.
pub(super) fn alone() -> Result<File, String> {
    let path = std::env::temp_dir().join("quietcore-truth.lock");
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::create(&path).map_err(failed)?;
    // SAFETY: a plain call on a descriptor that is open.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return Err(failed(std::io::Error::last_os_error()));
    }
    Ok(file)
}

/// CPUs that are online.
pub(super) fn online() -> Result<Vec<u32>, String> {
    let path = "/sys/devices/system/cpu/online";
    let list = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let mut cpus = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<u32>().map_err(|error| format!("{path}: {list}: {error}"));
        cpus.extend(number(first)?..=number(last)?);
    }
    Ok(cpus)
}

/// `uname -r`.
pub(super) fn release() -> Result<String, String> {
    let path = "/proc/sys/kernel/osrelease";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"{"cpu":1,"start_ns":5,"end_ns":7,"parts":[]}
{"cpu":1,"start_ns":50,"end_ns":70}
"#;

    #[test]
    fn relevant_gaps_are_read_and_an_incomplete_file_is_an_error() {
        let of = |text: &str, from: u64| gaps(text.as_bytes(), |gap| gap.start_ns >= from);
        let whole = format!("{TWO}{{\"left_out\":0}}\n");
        assert_eq!(of(&whole, 0).unwrap().len(), 2);
        let late = of(&whole, 6).unwrap();
        assert_eq!(late.first().map(|gap| (gap.start_ns, late.len())), Some((50, 1)));
        for wrong in [
            format!("{TWO}{{\"left_out\":3}}\n"),
            TWO.to_owned(),
            format!("{TWO}x\n{{\"left_out\":0}}\n"),
            String::new(),
        ] {
            assert!(of(&wrong, 0).is_err(), "{wrong}");
        }
    }
}
