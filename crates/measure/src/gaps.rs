//! Writes the `--gaps` file: every gap with its time, written as gaps arrive, so that memory does not limit a run's length.
//!
//! The collector takes the gaps from the samplers' rings and passes them to a separate thread on the same CPUs. That
//! thread writes them, because a disk may take seconds for one block. The queue is bounded. Gaps that do not fit are
//! lost, counted, and reported, also in the file. This is the only thread that we start beside the collector.

mod file;

pub use file::{END, HEAD, TORN};

use crate::accumulate::Cause;
use crate::findings::note;
use crate::{MeasureError, Note, NoteLevel};
use file::GapFileState;
use machine::CpuId;
use root::output::Appender;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// One gap for the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GapEntry {
    /// Its start, on `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: CpuId,
    /// Its length.
    pub duration_ns: u64,
    /// Its cause.
    pub cause: Cause,
}

/// Maximum number of gaps in the queue: about 8 MB.
const ROOM: usize = 1 << 18;

/// An open file and its writer thread.
pub(crate) struct GapWriter {
    path: PathBuf,
    sender: Sender<Vec<GapEntry>>,
    writer: JoinHandle<GapFileState>,
    waiting: Arc<AtomicUsize>,
    /// Per CPU, the number of gaps that did not fit.
    lost: BTreeMap<CpuId, u64>,
}

/// The final state of the file.
pub(crate) struct GapFileOutcome {
    /// Number of gaps in the file.
    pub written: u64,
    /// Number of gaps that are not in it.
    pub lost: u64,
    /// The finding.
    pub note: Note,
}

impl GapWriter {
    /// Creates the file and writes its header: when and what.
    ///
    /// # Errors
    /// The file cannot be created, its header cannot be written, or the thread cannot be started.
    pub(crate) fn create(
        path: &Path,
        started_at: &str,
        thresholds: &[(CpuId, u64)],
    ) -> Result<GapWriter, MeasureError> {
        let mut file = Appender::create(path)?;
        file.append(file::head(started_at, thresholds).as_bytes())?;
        GapWriter::onto(path, file)
    }

    /// Starts the writer thread.
    fn onto(path: &Path, file: Appender) -> Result<GapWriter, MeasureError> {
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let writer = std::thread::Builder::new()
            .name("gaps".to_owned())
            .spawn(move || file::write(file, &receiver, &left))
            .map_err(|error| MeasureError::Os {
                operation: "start the thread that writes the gaps",
                errno: error.raw_os_error().unwrap_or(libc::EAGAIN),
            })?;
        Ok(GapWriter {
            path: path.to_owned(),
            sender,
            writer,
            waiting,
            lost: BTreeMap::new(),
        })
    }

    /// Queues gaps, or counts them as lost if the queue is full.
    pub(crate) fn queue(&mut self, entries: Vec<GapEntry>) {
        let count = entries.len();
        if count == 0 {
            return;
        }
        let waiting = self.waiting.fetch_add(count, Ordering::AcqRel);
        if waiting + count > ROOM {
            self.waiting.fetch_sub(count, Ordering::AcqRel);
            entries
                .iter()
                .for_each(|entry| *self.lost.entry(entry.cpu).or_default() += 1);
        } else if let Err(refused) = self.sender.send(entries) {
            refused
                .0
                .iter()
                .for_each(|entry| *self.lost.entry(entry.cpu).or_default() += 1);
        }
    }

    /// Waits for the writer. `seen` is the total of each CPU; gaps that did not fit in the rings are lost as well.
    pub(crate) fn end(self, seen: &BTreeMap<CpuId, u64>) -> GapFileOutcome {
        drop(self.sender);
        let written = self.writer.join().unwrap_or_default();
        written.finish(&self.path, seen)
    }
}

impl GapFileState {
    /// Finishes the file, and returns the finding.
    fn finish(mut self, path: &Path, seen: &BTreeMap<CpuId, u64>) -> GapFileOutcome {
        let total: u64 = seen.values().sum();
        let count: u64 = self.by_cpu.values().sum();
        self.finish_file(seen);
        let lost = total.saturating_sub(count);
        let subject = path.display().to_string();
        let note = match (&self.failed, lost) {
            (Some(why), _) => note(
                NoteLevel::Error,
                "gaps_incomplete",
                subject,
                format!("{why}: {count} of {total} gaps are in the file."),
                "free some space for it, or raise the threshold, and measure again",
            ),
            (None, 0) => note(
                NoteLevel::Info,
                "gaps_written",
                subject,
                format!("All {total} gaps are in the file, with their times."),
                "",
            ),
            (None, lost) => note(
                NoteLevel::Warning,
                "gaps_lost",
                subject,
                format!("{lost} of {total} gaps were dropped before they reached the file, which records this."),
                "use less load on the other CPUs, a faster disk, or a higher threshold",
            ),
        };
        GapFileOutcome {
            written: count,
            lost,
            note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at_ns: u64) -> GapEntry {
        GapEntry {
            at_ns,
            cpu: CpuId(3),
            duration_ns: 1_500,
            cause: Cause::Others,
        }
    }

    #[test]
    fn lost_gaps_are_counted_and_reported_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gaps.csv");
        let mut file = GapWriter::create(&path, "now", &[(CpuId(3), 1_000)]).unwrap();
        file.queue((0..100).map(entry).collect());
        // More than the queue can hold.
        file.queue((0..=ROOM as u64).map(entry).collect());
        file.queue(vec![]);
        let seen = BTreeMap::from([(CpuId(3), 100 + ROOM as u64 + 1 + 7)]);
        let outcome = file.end(&seen);
        assert_eq!((outcome.written, outcome.lost), (100, ROOM as u64 + 8));
        assert_eq!(
            (outcome.note.id.as_str(), outcome.note.level),
            ("gaps_lost", NoteLevel::Warning)
        );
        let text = std::fs::read_to_string(&path).unwrap();
        let rows = text.lines().filter(|line| line.ends_with(",3,1500,")).count();
        assert_eq!(rows, 100);
        let end = format!("# cpu 3 seen {} written 100 lost {}\n{END}\n", 108 + ROOM, ROOM + 8);
        assert!(text.starts_with(HEAD) && text.ends_with(&end), "{text}");
    }

    #[test]
    fn a_full_disk_is_reported_and_does_not_stop_the_run() {
        let full = Path::new("/dev/full");
        // The header needs space as well.
        assert!(GapWriter::create(full, "now", &[]).is_err());
        let mut file = GapWriter::onto(full, Appender::create(full).unwrap()).unwrap();
        (0..9).for_each(|at| file.queue(vec![entry(at)]));
        let outcome = file.end(&BTreeMap::from([(CpuId(3), 9)]));
        assert_eq!((outcome.written, outcome.lost), (0, 9));
        assert_eq!(
            (outcome.note.id.as_str(), outcome.note.level),
            ("gaps_incomplete", NoteLevel::Error)
        );
        assert!(
            outcome.note.message.contains("No space left"),
            "{}",
            outcome.note.message
        );
    }
}
