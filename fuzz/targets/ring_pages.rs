//! Pages of the trace ring buffer in the kernel's live format: their text, and what `blame` reads from them.

use super::FuzzTarget;
use blame::{Hwlat, RecordDecoder};
use events::{ClockUnit, Endian, EventFormat, Flow, Formats, LineFormatter, NoNames, Page, PageLayout, StreamItem};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::OnceLock;

const FORMATS: &str = include_str!("../../fixtures/traces/6.18-x86_64/formats");
const HEADER: &str = include_str!("../../fixtures/traces/6.18-x86_64/header_page");
const PAGES: [&[u8]; 2] = [
    include_bytes!("../../fixtures/traces/6.18-x86_64/raw0"),
    include_bytes!("../../fixtures/traces/6.18-x86_64/raw1"),
];

/// Length of the test pages. Short pages let a mutation reach the end.
const PAGE: usize = 512;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "ring_pages",
    seeds: || {
        let pages = PAGES.iter().flat_map(|cpu| cpu.chunks(4096).take(3));
        // The first entries of some pages. The length in the header is reduced accordingly.
        let cut = |page: &[u8]| {
            let mut page = page[..PAGE].to_vec();
            page[8..16].copy_from_slice(&(PAGE as u64 - 16).to_ne_bytes());
            page
        };
        let mut seeds: Vec<Vec<u8>> = pages.map(cut).collect();
        seeds.push(seeds.concat());
        seeds
    },
    run: |bytes| {
        static KERNEL: OnceLock<(Formats, PageLayout, RecordDecoder)> = OnceLock::new();
        let (formats, layout, reader) = KERNEL.get_or_init(kernel);
        let comms = HashMap::new();
        let mut lines = LineFormatter::new(formats, &NoNames, &comms, ClockUnit::Nanos);
        let mut hwlat = Hwlat::new(formats, 0..2);
        let mut flow = Flow::of(&[0, 1], *layout, 1);
        for (number, page) in bytes.chunks(PAGE).enumerate() {
            if let Ok(page) = Page::parse(page, layout) {
                let _ = (page.end(), page.records().count());
            }
            flow.add_page(number % 2, page);
        }
        let mut line = String::new();
        while !flow.take(None, 64, |event| {
            if let Some(hwlat) = &mut hwlat {
                hwlat.event(&event);
            }
            if let StreamItem::Record { cpu, record } = event {
                line.clear();
                lines.write(&mut line, cpu, &record);
                let _ = reader.read(&record);
            }
            ControlFlow::Continue(())
        }) {}
    },
};

fn kernel() -> (Formats, PageLayout, RecordDecoder) {
    let mut formats = Formats::new(Endian::native());
    for one in FORMATS.split("system: ") {
        if let Some((system, text)) = one.split_once('\n')
            && let Ok(format) = EventFormat::parse(system, text)
        {
            let _ = formats.add(format);
        }
    }
    let layout = PageLayout::parse(HEADER, Endian::native()).expect("a layout");
    let reader = RecordDecoder::new(formats.clone());
    (formats, layout, reader)
}
