//! Event formats, and the lines that are printed with them from a payload that is too short or that no kernel wrote.

use super::{FuzzTarget, text};
use events::{Endian, EventFormat, KernelNames, NoNames, PageLayout, Printer};

const FILE: &str = include_str!("../../fixtures/traces/6.18-x86_64/formats");

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "event_formats",
    seeds: || {
        let all = FILE.split("system: ").filter_map(|one| one.split_once('\n'));
        // One in ten is enough, with the remaining bytes as payload.
        all.step_by(10)
            .map(|(_, text)| [text.as_bytes(), b"\x00", &[7; 96]].concat())
            .collect()
    },
    run: |bytes| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let (format, payload) = bytes.split_at(end);
        let _ = PageLayout::parse(&text(format), Endian::Little);
        let _ = KernelNames::parse(&text(format), &text(payload));
        let Ok(format) = EventFormat::parse("any", &text(format)) else {
            return;
        };
        let printer = Printer::of(&format);
        for endian in [Endian::Little, Endian::Big] {
            for len in [0, payload.len() / 2, payload.len()] {
                let mut out = String::new();
                printer.print(&mut out, &format, &payload[..len], endian, &NoNames);
            }
        }
    },
};
