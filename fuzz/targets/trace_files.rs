//! Files of trace-cmd: whatever they contain, what was read can be written and read again without a change.

use super::FuzzTarget;
use events::dat::{Buffer, DatWriter, TraceFile, planned, written};
use events::{ClockUnit, LineFormatter, StreamItem};

/// Memory limit for decompressed data.
const ROOM: usize = 1 << 20;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "trace_files",
    seeds: || {
        let files: [&[u8]; 4] = [
            include_bytes!("../../fixtures/trace-dat/events.v6.dat"),
            include_bytes!("../../fixtures/trace-dat/events.v7.dat"),
            include_bytes!("../../fixtures/trace-dat/instance.v6.dat"),
            include_bytes!("../../fixtures/trace-dat/instance.v7.dat"),
        ];
        files.iter().map(|file| file.to_vec()).collect()
    },
    run: |bytes| {
        let Ok(file) = TraceFile::parse(bytes, ROOM) else {
            return;
        };
        let (formats, _) = file.description.formats();
        let (names, comms) = (file.description.names(), file.description.comms());
        let mut lines = LineFormatter::new(&formats, &names, &comms, ClockUnit::Nanos);
        let mut line = String::new();
        for of in file.events().take(2_000) {
            if let StreamItem::Record { cpu, record } = of.event {
                line.clear();
                lines.write(&mut line, cpu, &record);
            }
        }
        let _ = (file.correction().apply(u64::MAX), file.machine());
        // A damaged CPU number creates many empty CPUs.
        let many = |buffer: &Buffer| buffer.cpus.iter().any(|cpu| cpu.cpu > 1_000);
        if file.buffers.iter().any(many) || file.buffers.is_empty() {
            return;
        }
        again(&file);
    },
};

fn again(file: &TraceFile) {
    let (buffers, pages) = planned(&file.buffers);
    let writing = DatWriter {
        description: &file.description,
        page_len: 4096,
        long_len: file.long_len,
        options: &[],
        buffers: &buffers,
    };
    let bytes = written(&writing, &pages);
    let read = TraceFile::parse(&bytes, 0).expect("what was written can be read");
    let (_, after) = planned(&read.buffers);
    for (before, after) in pages.iter().zip(&after) {
        // Shorter buffers are padded to the length of the longest.
        assert!(before[..] == after[..before.len()], "other pages");
    }
}
