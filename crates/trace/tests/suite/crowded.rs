//! A recorder whose memory is full of the events of one CPU, while another CPU is silent or while it reads.

use events::{Endian, PageLayout, StreamItem};
use machine::CpuId;
use std::ops::ControlFlow;
use std::path::Path;
use trace::{DrainEnd, PageAccess, PageMemory, Recorder};

const PAGE: usize = 256;

fn layout() -> PageLayout {
    PageLayout::of_64_bit(Endian::Little, PAGE)
}

/// A page at this time, with one event of one word.
fn page(at: u64) -> Vec<u8> {
    let mut page = at.to_le_bytes().to_vec();
    page.extend(8_u64.to_le_bytes());
    page.extend(1_u32.to_le_bytes());
    page.extend(0_u32.to_le_bytes());
    page.resize(PAGE, 0);
    page
}

/// The buffers of CPUs as files. Appending to a file simulates new events.
struct BufferFiles(tempfile::TempDir);

impl BufferFiles {
    fn new(cpus: u32) -> BufferFiles {
        let buffers = BufferFiles(tempfile::tempdir().unwrap());
        for cpu in 0..cpus {
            std::fs::create_dir_all(buffers.file(cpu).parent().unwrap()).unwrap();
            std::fs::write(buffers.file(cpu), []).unwrap();
        }
        buffers
    }

    fn file(&self, cpu: u32) -> std::path::PathBuf {
        self.0.path().join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"))
    }

    fn add_events(&self, cpu: u32, times: impl Iterator<Item = u64>) {
        add_events(&self.file(cpu), times);
    }

    fn recorder(&self, cpus: u32, most: usize) -> Recorder {
        let cpus: Vec<CpuId> = (0..cpus).map(CpuId).collect();
        let dir = self.0.path().to_str().unwrap();
        let memory = PageMemory {
            undelivered_bytes: most,
            kept_pages: 0,
        };
        Recorder::open(dir, &cpus, layout(), memory, PageAccess::Read).unwrap()
    }
}

fn add_events(file: &Path, times: impl Iterator<Item = u64>) {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
    file.write_all(&times.flat_map(page).collect::<Vec<u8>>()).unwrap();
}

/// Takes the events that may be delivered and returns their times.
fn given(recorder: &mut Recorder, until: Option<u64>) -> Vec<u64> {
    let mut times = Vec::new();
    let is_all = recorder.take(until, usize::MAX, |event| {
        if let StreamItem::Record { record, .. } = event {
            times.push(record.at);
        }
        ControlFlow::Continue(())
    });
    assert!(is_all);
    times
}

/// One CPU is silent while the other fills the memory with later events. The silent CPU must still be read.
#[test]
fn full_memory_does_not_stop_reading_the_silent_cpu() {
    const SECOND: u64 = 1_000_000_000;
    let buffers = BufferFiles::new(2);
    let mut recorder = buffers.recorder(2, 1);
    assert_eq!(recorder.drain(|| SECOND).unwrap(), DrainEnd::Empty);
    // Events within the time in which an earlier one may still arrive.
    buffers.add_events(0, SECOND..SECOND + 100);
    let later = SECOND + 1_000;
    assert_eq!(recorder.drain(|| later).unwrap(), DrainEnd::Full);
    let until = recorder.read_until_ns();
    assert_eq!(given(&mut recorder, Some(until)), [0_u64; 0]);
    buffers.add_events(1, SECOND + 50..SECOND + 60);

    recorder.ends();
    let mut times = Vec::new();
    for turn in 0.. {
        assert!(turn < 1_000, "it goes on for ever; so far {times:?}");
        let drained = recorder.drain(|| later).unwrap();
        let until = recorder.read_until_ns();
        times.extend(given(&mut recorder, Some(until)));
        assert!(recorder.waiting() <= 10 * PAGE, "{}", recorder.waiting());
        if drained == DrainEnd::Empty {
            break;
        }
    }
    times.extend(given(&mut recorder, None));
    let mut wanted: Vec<u64> = (SECOND..SECOND + 100).chain(SECOND + 50..SECOND + 60).collect();
    wanted.sort_unstable();
    assert_eq!(times, wanted);
}

/// Reading on a traced CPU causes events there, so each read finds a new one.
#[test]
fn events_that_arrive_during_a_read_are_left_for_the_next_one() {
    let buffers = BufferFiles::new(1);
    let mut recorder = buffers.recorder(1, 100 * PAGE);
    buffers.add_events(0, 1..4);
    let file = buffers.file(0);
    let now = std::cell::Cell::new(10);
    let clock = || {
        now.set(now.get() + 1);
        add_events(&file, std::iter::once(now.get()));
        now.get()
    };
    assert_eq!(recorder.drain(clock).unwrap(), DrainEnd::Empty);
    let times = given(&mut recorder, None);
    assert_eq!(times.get(..3), Some([1, 2, 3].as_slice()));
    assert!(times.len() < 8, "{times:?}");
}

/// A virtual CPU was stopped while it wrote an event, so the event can be read only 90 ms later.
#[test]
fn an_event_that_can_be_read_only_later_keeps_its_place() {
    const MS: u64 = 1_000_000;
    let buffers = BufferFiles::new(2);
    let mut recorder = buffers.recorder(2, 100 * PAGE);
    buffers.add_events(0, [900 * MS, 920 * MS].into_iter());
    assert_eq!(recorder.drain(|| 1_000 * MS).unwrap(), DrainEnd::Empty);
    let until = recorder.read_until_ns();
    let mut times = given(&mut recorder, Some(until));
    buffers.add_events(1, std::iter::once(910 * MS));
    recorder.ends();
    assert_eq!(recorder.drain(|| 1_001 * MS).unwrap(), DrainEnd::Empty);
    times.extend(given(&mut recorder, None));
    assert_eq!(times, [900 * MS, 910 * MS, 920 * MS]);
}
