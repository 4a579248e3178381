//! What `make bench` measures traces with: `make FROM TO EVENTS` repeats the pages of a `trace.dat` until there are so many
//! events, `decode FILE` reads every event of it with its common fields and its own, `text FILE` writes all of them as lines.

#![allow(clippy::unwrap_used, clippy::expect_used)] // No part of the product.

use events::dat::{DatWriter, PlannedBuffer, TraceFile, written};
use events::{ClockUnit, LineFormatter, StreamItem};
use std::io::Write;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["make", from, to, events] => make(from, to, events.parse().expect("a number of events")),
        ["decode", file] => decode(&std::fs::read(file).expect("the trace")),
        ["text", file] => text(&std::fs::read(file).expect("the trace")),
        _ => panic!("make FROM TO EVENTS, decode FILE or text FILE"),
    }
}

fn parsed(bytes: &[u8]) -> TraceFile<'_> {
    TraceFile::parse(bytes, 1 << 30).expect("a trace.dat")
}

/// The same pages again and again, each time later by the time that they span.
fn make(from: &str, to: &str, event_count: usize) {
    let bytes = std::fs::read(from).expect("a trace.dat");
    let file = parsed(&bytes);
    let times: Vec<u64> = file
        .events()
        .filter_map(|of| match of.event {
            StreamItem::Record { record, .. } => Some(record.at),
            _ => None,
        })
        .collect();
    let span = times.last().expect("an event") - times.first().expect("an event") + 1000;
    let buffer = &file.buffers[0];
    let endian = file.description.endian;
    let pages: Vec<Vec<u8>> = buffer
        .cpus
        .iter()
        .map(|cpu| {
            let mut all = Vec::new();
            for round in 0..event_count.div_ceil(times.len()) as u64 {
                for page in buffer.pages(cpu) {
                    let mut page = page.to_vec();
                    let at = endian.u64(*page.first_chunk().expect("a head")) + round * span;
                    page[..8].copy_from_slice(&at.to_le_bytes());
                    all.extend(page);
                }
            }
            all
        })
        .collect();
    let planned = PlannedBuffer {
        clock: buffer.clock.clone(),
        cpus: pages.iter().map(|pages| pages.len() as u64).collect(),
        ..PlannedBuffer::default()
    };
    let writing = DatWriter {
        description: &file.description,
        page_len: u32::try_from(buffer.layout.page_len).expect("a page"),
        long_len: file.long_len,
        options: &[],
        buffers: &[planned],
    };
    let whole = written(&writing, &[pages.iter().map(Vec::as_slice).collect()]);
    std::fs::write(to, whole).expect("room for the trace");
}

/// Prints how many events there are, and a sum of what stands in them, so that nothing of it is left out.
fn decode(bytes: &[u8]) {
    let file = parsed(bytes);
    let (formats, _) = file.description.formats();
    let (mut events, mut sum) = (0_u64, 0_i64);
    for of in file.events() {
        let StreamItem::Record { cpu, record } = of.event else {
            continue;
        };
        let Some(common) = formats.common(record.payload) else {
            continue;
        };
        sum = sum.wrapping_add(i64::from(common.pid) + i64::from(cpu) + record.at as i64);
        for field in formats.get(common.id).map_or(&[][..], |format| &format.fields) {
            let number = field.number(record.payload, formats.endian);
            sum = sum.wrapping_add(number.unwrap_or(0));
        }
        events += 1;
    }
    println!("{events} {sum}");
}

fn text(bytes: &[u8]) {
    let file = parsed(bytes);
    let (formats, _) = file.description.formats();
    let (names, comms) = (file.description.names(), file.description.comms());
    let mut lines = LineFormatter::new(&formats, &names, &comms, ClockUnit::Nanos);
    let mut out = std::io::BufWriter::with_capacity(1 << 18, std::io::stdout().lock());
    let mut line = String::new();
    for of in file.events() {
        if let StreamItem::Record { cpu, record } = of.event {
            line.clear();
            lines.write(&mut line, cpu, &record);
            line.push('\n');
            out.write_all(line.as_bytes()).expect("a reader");
        }
    }
    out.flush().expect("a reader");
}
