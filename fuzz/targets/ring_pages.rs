//! Pages of the trace ring buffer as the kernel hands them out while they come: what they say in text, and to `blame`.

use super::Target;
use blame::{Hwlat, Reader};
use events::{Endian, Event, Flow, Format, Formats, Layout, Lines, NoNames, Page, Unit};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::OnceLock;

const FORMATS: &str = include_str!("../../fixtures/traces/6.18-x86_64/formats");
const HEADER: &str = include_str!("../../fixtures/traces/6.18-x86_64/header_page");
const PAGES: [&[u8]; 2] = [
    include_bytes!("../../fixtures/traces/6.18-x86_64/raw0"),
    include_bytes!("../../fixtures/traces/6.18-x86_64/raw1"),
];

/// The length of a page that is given here: a mutation reaches the end of a short one.
const PAGE: usize = 512;

pub const TARGET: Target = Target {
    name: "ring_pages",
    seeds: || {
        let pages = PAGES.iter().flat_map(|cpu| cpu.chunks(4096).take(3));
        // The first entries of some pages: the head is cut to what is left.
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
        static KERNEL: OnceLock<(Formats, Layout, Reader)> = OnceLock::new();
        let (formats, layout, reader) = KERNEL.get_or_init(kernel);
        let comms = HashMap::new();
        let mut lines = Lines::new(formats, &NoNames, &comms, Unit::Nanos);
        let mut hwlat = Hwlat::new(formats, 0..2);
        let mut flow = Flow::of(&[0, 1], *layout, 1);
        for (number, page) in bytes.chunks(PAGE).enumerate() {
            if let Ok(page) = Page::parse(page, layout) {
                let _ = (page.end(), page.records().count());
            }
            flow.put(number % 2, page);
        }
        let mut line = String::new();
        while !flow.take(None, 64, |event| {
            if let Some(hwlat) = &mut hwlat {
                hwlat.event(&event);
            }
            if let Event::Record { cpu, record } = event {
                line.clear();
                lines.write(&mut line, cpu, &record);
                let _ = reader.read(&record);
            }
            ControlFlow::Continue(())
        }) {}
    },
};

fn kernel() -> (Formats, Layout, Reader) {
    let mut formats = Formats::new(Endian::native());
    for one in FORMATS.split("system: ") {
        if let Some((system, text)) = one.split_once('\n')
            && let Ok(format) = Format::parse(system, text)
        {
            let _ = formats.add(format);
        }
    }
    let layout = Layout::parse(HEADER, Endian::native()).expect("a layout");
    let reader = Reader::new(formats.clone());
    (formats, layout, reader)
}
