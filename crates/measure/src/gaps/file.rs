//! Defines the gap file's format: comments with `#`, one line per gap, and a trailer that summarises the content. The
//! crate `formats` parses it.

use super::GapEntry;
use crate::accumulate::Cause;
use machine::CpuId;
use root::output::Appender;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;

/// Start of the first line; the version number follows.
pub const HEAD: &str = "# quietcore gaps ";

/// The last line of a complete file.
pub const END: &str = "# end";

/// Start of the last line of an incomplete file.
pub const TORN: &str = "# incomplete";

/// The names of the columns.
const COLUMNS: &str = "at_monotonic_ns,cpu,duration_ns,cause";

/// The first lines of a gap file: when it was started, and each CPU's threshold.
pub(super) fn head(started_at: &str, thresholds: &[(CpuId, u64)]) -> String {
    let mut text = format!("{HEAD}1\n# started {started_at}\n");
    for (cpu, threshold_ns) in thresholds {
        let _ = writeln!(text, "# cpu {cpu} threshold_ns {threshold_ns}");
    }
    let _ = writeln!(text, "{COLUMNS}");
    text
}

/// What was written, and the error that stopped it.
#[derive(Debug, Default)]
pub(super) struct GapFileState {
    pub(super) by_cpu: BTreeMap<CpuId, u64>,
    pub(super) failed: Option<String>,
    file: Option<Appender>,
}

/// Writes gaps until all senders are gone. Writes nothing after an error: the last line may be incomplete.
pub(super) fn write(file: Appender, blocks: &Receiver<Vec<GapEntry>>, waiting: &AtomicUsize) -> GapFileState {
    let mut written = GapFileState {
        file: Some(file),
        ..GapFileState::default()
    };
    let mut text = String::new();
    while let Ok(block) = blocks.recv() {
        text.clear();
        for entry in &block {
            let cause = match entry.cause {
                Cause::Others => "",
                Cause::OwnWakeUp => "own_wake_up",
            };
            let GapEntry {
                at_ns,
                cpu,
                duration_ns,
                ..
            } = entry;
            let _ = writeln!(text, "{at_ns},{cpu},{duration_ns},{cause}");
        }
        if written.append(&text) {
            for entry in &block {
                *written.by_cpu.entry(entry.cpu).or_default() += 1;
            }
        }
        waiting.fetch_sub(block.len(), Ordering::AcqRel);
    }
    written
}

impl GapFileState {
    fn append(&mut self, text: &str) -> bool {
        let (Some(file), None) = (&mut self.file, &self.failed) else {
            return false;
        };
        match file.append(text.as_bytes()) {
            Ok(()) => true,
            Err(error) => {
                self.failed = Some(error.to_string());
                false
            }
        }
    }

    /// Writes the last lines. If the last line is incomplete, a separate line reports it, if there is space.
    pub(super) fn finish_file(&mut self, seen: &BTreeMap<CpuId, u64>) {
        if self.failed.is_some() {
            if let Some(file) = &mut self.file {
                let _ = file.append(format!("\n{TORN}\n").as_bytes());
            }
            return;
        }
        let mut text = String::new();
        for (cpu, seen) in seen {
            let written = self.by_cpu.get(cpu).copied().unwrap_or(0);
            let lost = seen.saturating_sub(written);
            let _ = writeln!(text, "# cpu {cpu} seen {seen} written {written} lost {lost}");
        }
        let _ = writeln!(text, "{END}");
        if self.append(&text)
            && let Some(file) = self.file.take()
            // A pipe or a device has nothing to sync.
            && let Err(error) = file.finish()
            && !matches!(error.errno(), Some(libc::EINVAL | libc::EROFS))
        {
            self.failed = Some(error.to_string());
        }
    }
}
