//! Every event of a real kernel's buffers, formatted as a line, equals the line that the kernel printed.

use events::{
    ClockUnit, Endian, EventFormat, Formats, KernelNames, LineFormatter, Merge, PageLayout, PageSource, StreamItem,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn kernels() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let mut found: Vec<PathBuf> = std::fs::read_dir(all)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no captured traces");
    found
}

fn text(kernel: &Path, name: &str) -> String {
    std::fs::read_to_string(kernel.join(name)).unwrap()
}

fn formats(kernel: &Path) -> Formats {
    let mut formats = Formats::new(Endian::Little);
    let all = text(kernel, "formats");
    for one in all.split("system: ").filter(|one| !one.is_empty()) {
        let (system, rest) = one.split_once('\n').unwrap();
        formats.add(EventFormat::parse(system, rest).unwrap()).unwrap();
    }
    formats
}

fn comms(kernel: &Path) -> HashMap<i32, String> {
    let all = text(kernel, "saved_cmdlines");
    let pair = |line: &str| {
        line.split_once(' ')
            .map(|(pid, comm)| (pid.parse().unwrap(), comm.to_owned()))
    };
    all.lines().filter_map(pair).collect()
}

#[test]
fn every_printed_line_equals_the_one_of_the_kernel() {
    for kernel in kernels() {
        let formats = formats(&kernel);
        let layout = PageLayout::parse(&text(&kernel, "header_page"), Endian::Little).unwrap();
        let names = KernelNames::parse(&text(&kernel, "kallsyms"), &text(&kernel, "printk_formats"));
        let comms = comms(&kernel);
        let mut lines = LineFormatter::new(&formats, &names, &comms, ClockUnit::Nanos);
        let mut compared = 0;
        for cpu in 0.. {
            let Ok(raw) = std::fs::read(kernel.join(format!("raw{cpu}"))) else {
                break;
            };
            let expected = text(&kernel, &format!("text{cpu}"));
            let mut expected = expected.lines().filter(|line| !line.starts_with('#'));
            for event in Merge::new(vec![PageSource::new(cpu, layout, raw.chunks(layout.page_len))]) {
                let record = match event {
                    StreamItem::Record { record, .. } => record,
                    // These buffers had overflowed when they were read.
                    StreamItem::Lost { .. } => continue,
                    other => panic!("{kernel:?}: {other:?}"),
                };
                let mut line = String::new();
                lines.write(&mut line, cpu, &record);
                // A buffer with lost events reports that at its beginning.
                let own = expected.by_ref().find(|line| !line.contains("EVENTS ****"));
                // The address of a page depends on a base that only the running kernel knows.
                let own = own.map(|own| match (own.split_once(": page="), own.find(" pfn=")) {
                    (Some((before, _)), Some(pfn)) => format!("{before}: page=?{}", &own[pfn..]),
                    _ => own.to_owned(),
                });
                assert_eq!(
                    Some(line.trim_end()),
                    own.as_deref().map(str::trim_end),
                    "{kernel:?} CPU {cpu}"
                );
                compared += 1;
            }
            assert_eq!(expected.next(), None, "{kernel:?}: the kernel wrote more");
        }
        assert!(compared > 500, "{kernel:?}: only {compared} lines");
    }
}

#[test]
fn every_event_is_printed_by_its_own_format() {
    for kernel in kernels() {
        let formats = formats(&kernel);
        let without: Vec<String> = formats
            .all()
            .iter()
            .filter(|format| !events::Printer::of(format).is_own_wording())
            .map(|format| format!("{}: {}", format.name, format.print))
            .collect();
        assert!(without.is_empty(), "{kernel:?}: {}", without.join("\n"));
    }
}
