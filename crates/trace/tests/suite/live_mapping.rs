//! A mapped buffer gives the same events and the same number of lost ones as one that is read, wherever a page is cut.
//! Runs on this kernel, in tracing instances of its own.

use events::{PageLayout, StreamItem};
use machine::CpuId;
use root::{Root, Tracefs};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use trace::{BufferSource, DrainEnd, PageAccess, PageMemory, Recorder, RecordingOutcome, catalogue};

/// A tracing instance with a writable marker; removed on drop.
struct Instance {
    dir: PathBuf,
    /// Closed before the instance is removed, because the kernel refuses to remove an open one.
    marker: Option<fs::File>,
}

impl Instance {
    fn create(tracefs: &Tracefs, name: &str, buffer_kib: &str) -> Instance {
        let dir = PathBuf::from(tracefs.file(&format!("instances/test-{name}-{}", std::process::id())));
        fs::create_dir(&dir).unwrap();
        for (file, text) in [
            ("trace_clock", "mono"),
            ("buffer_size_kb", buffer_kib),
            ("tracing_on", "1"),
        ] {
            fs::write(dir.join(file), text).unwrap();
        }
        let marker = fs::OpenOptions::new()
            .write(true)
            .open(dir.join("trace_marker"))
            .unwrap();
        Instance {
            dir,
            marker: Some(marker),
        }
    }

    fn recorder(&self, layout: PageLayout, way: PageAccess) -> Recorder {
        let cpus: Vec<CpuId> = vec![CpuId(0)];
        let memory = PageMemory {
            undelivered_bytes: 64 << 20,
            kept_pages: 0,
        };
        Recorder::open(self.dir.to_str().unwrap(), &cpus, layout, memory, way).unwrap()
    }

    fn finish(&self, recorder: Recorder) -> RecordingOutcome {
        recorder.finish(&Root::live(), self.dir.to_str().unwrap()).unwrap()
    }

    /// Writes the mark `number`, with a text whose length depends on it.
    fn mark(&mut self, number: usize) {
        let text = format!("{number} {}", "x".repeat(number % 61));
        self.marker.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.marker = None;
        let gone = fs::remove_dir(&self.dir);
        // After a panic, files are still open.
        if !std::thread::panicking() {
            gone.unwrap();
        }
    }
}

/// Returns the tracing files of this kernel and pins this thread to CPU 0, or the reason why that is not possible.
fn kernel() -> Result<(Tracefs, PageLayout), String> {
    let tracefs = match Tracefs::find() {
        Ok(Some(tracefs)) => tracefs,
        Ok(None) => return Err("this kernel has no tracefs".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    root::sched::set_affinity(0, &[1]).map_err(|errno| format!("CPU 0: errno {errno}"))?;
    let known = catalogue(&Root::live(), &tracefs.file("."), &["sched/sched_switch"]);
    let layout = known.map_err(|error| error.to_string())?.layout;
    Ok((tracefs, layout))
}

/// Returns a kernel with mappable buffers. Prints a skip message if there is none.
fn mapping_kernel(test: &str) -> Option<(Tracefs, PageLayout)> {
    let found = kernel().and_then(|(tracefs, layout)| {
        let probe = Instance::create(&tracefs, &format!("probe-{test}"), "64");
        let path = probe.dir.join("per_cpu/cpu0/trace_pipe_raw");
        match BufferSource::open(path.to_str().unwrap(), PageAccess::Mapped).unwrap() {
            BufferSource::Mapped(..) => Ok((tracefs, layout)),
            BufferSource::Read(_) => Err("this kernel maps no buffers (6.10)".to_owned()),
        }
    });
    found.map_err(|why| println!("SKIP: {test}: {why}")).ok()
}

/// Reads everything available and returns the number of bytes.
fn read_bytes(recorder: &mut Recorder) -> usize {
    let before = recorder.waiting();
    assert_eq!(recorder.drain(|| u64::MAX).unwrap(), DrainEnd::Empty);
    recorder.waiting() - before
}

/// Returns the numbers of the marks and how many events were lost.
fn numbers(recording: &RecordingOutcome) -> (Vec<usize>, u64) {
    let (mut numbers, mut lost, mut last) = (Vec::new(), 0, 0);
    for event in recording.last.stored_events() {
        match event {
            StreamItem::Record { record, .. } => {
                assert!(record.at >= last, "{} after {last}", record.at);
                last = record.at;
                // Common fields, the address of the caller, then the text.
                let text = String::from_utf8_lossy(record.payload.get(16..).unwrap());
                numbers.push(text.split(' ').next().unwrap().parse().unwrap());
            }
            StreamItem::Lost { count, .. } => lost += count.unwrap(),
            StreamItem::Broken { error, .. } => panic!("{error}"),
        }
    }
    (numbers, lost)
}

#[test]
fn mapping_and_reading_a_buffer_give_the_same_events() {
    let Some((tracefs, layout)) = mapping_kernel("mapped_and_read") else {
        return;
    };
    let mut both = ["read", "mapped"].map(|name| Instance::create(&tracefs, name, "1024"));
    let mut recorders = [
        both[0].recorder(layout, PageAccess::Read),
        both[1].recorder(layout, PageAccess::Mapped),
    ];
    let (mut at, mut step) = (0, 7);
    while at < 20_000 {
        for number in at..at + step {
            both.iter_mut().for_each(|one| one.mark(number));
        }
        at += step;
        // From less than one event to several pages between two reads.
        step = step * 5 % 997;
        recorders
            .iter_mut()
            .for_each(|recorder| assert!(read_bytes(recorder) > 0));
        assert_eq!(read_bytes(&mut recorders[1]), 0, "nothing is given twice");
    }
    let recordings: Vec<RecordingOutcome> = both
        .iter()
        .zip(recorders)
        .map(|(one, recorder)| one.finish(recorder))
        .collect();
    for recording in &recordings {
        let (found, lost) = numbers(recording);
        assert!(
            found.iter().copied().eq(0..at) && lost == 0,
            "{} of {at}, {lost} lost",
            found.len()
        );
        let stats = recording.stats.first().unwrap().1;
        assert_eq!((stats.read, stats.lost()), (Some(at as u64), Some(0)), "{stats:?}");
    }
    let spans: Vec<BTreeMap<usize, u64>> = recordings
        .iter()
        .map(|recording| {
            let times = recording.last.stored_events().filter_map(|event| match event {
                StreamItem::Record { record, .. } => Some(record.at),
                _ => None,
            });
            times.enumerate().collect()
        })
        .collect();
    // Each mark was written to one instance right before the other. A wrong time base of a page would shift all its
    // marks.
    for (number, read_at) in &spans[0] {
        let next_at = spans[0].get(&(number + 1)).copied().unwrap_or(u64::MAX);
        let mapped_at = spans[1][number];
        assert!(
            (*read_at..next_at).contains(&mapped_at),
            "{number}: {read_at} {mapped_at} {next_at}"
        );
    }
}

#[test]
fn losses_of_a_small_buffer_are_counted_by_both_methods() {
    let Some((tracefs, layout)) = mapping_kernel("small_buffer") else {
        return;
    };
    for (name, way) in [("small-read", PageAccess::Read), ("small-mapped", PageAccess::Mapped)] {
        let mut one = Instance::create(&tracefs, name, "16");
        let mut recorder = one.recorder(layout, way);
        let mut at = 0;
        for burst in [40, 3_000, 10, 2_000, 1] {
            (at..at + burst).for_each(|number| one.mark(number));
            at += burst;
            recorder.drain(|| u64::MAX).unwrap();
        }
        let recording = one.finish(recorder);
        let (found, lost) = numbers(&recording);
        let stats = recording.stats.first().unwrap().1;
        assert!(lost > 3_000, "{name}: {lost}");
        assert_eq!(found.len() as u64 + lost, at as u64, "{name}");
        assert_eq!(
            (stats.read, stats.lost()),
            (Some(found.len() as u64), Some(lost)),
            "{name}"
        );
        assert_eq!(found.last(), Some(&(at - 1)), "{name}: the newest are there");
        assert!(found.is_sorted(), "{name}");
    }
}
