//! Files of trace-cmd, read with the same result as trace-cmd. Files of quietcore, read by quietcore and, if installed,
//! by trace-cmd.

use events::dat::{CpuPages, DatError, DatOption, DatWriter, PlannedBuffer, TraceFile, id, planned, written};
use events::text::{TextEvent, TextItem, TextReader};
use events::{ClockUnit, LineFormatter, StreamItem};
use proptest::prelude::*;
use std::path::PathBuf;

/// The memory limit for compressed data.
const ROOM: usize = 1 << 24;

fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/trace-dat");
    std::fs::read(folder.join(name)).unwrap()
}

fn parse(bytes: &[u8]) -> TraceFile<'_> {
    TraceFile::parse(bytes, ROOM).unwrap()
}

/// The contents of an event, without the columns that only one of two reports has.
#[derive(Clone, Debug, PartialEq)]
struct ReportedEvent {
    instance: String,
    task: String,
    pid: i32,
    cpu: u32,
    at: u64,
    name: String,
    fields: Vec<(String, String)>,
}

/// Converts values that trace-cmd prints differently from the kernel. It prefixes hexadecimal numbers and addresses
/// with `0x` and does not know the names of constants. Up to 3.1.6 it prints timer flags without the mask.
fn as_trace_cmd(event: &TextEvent, at: u64) -> ReportedEvent {
    let value = |key: &str, value: &str| match (event.name, key, value) {
        (_, "mode", _) | ("timer_start", "flags", _) => String::from("?"),
        (_, _, value) => value.trim_start_matches("0x").to_owned(),
    };
    let fields = event.fields().into_iter();
    ReportedEvent {
        instance: event.instance.unwrap_or_default().to_owned(),
        task: event.task.to_owned(),
        pid: event.pid,
        cpu: event.cpu,
        at,
        name: event.name.to_owned(),
        fields: fields.map(|(key, text)| (key.to_owned(), value(key, text))).collect(),
    }
}

fn reported(text: &[u8]) -> Vec<ReportedEvent> {
    let mut reader = TextReader::new(text);
    let mut all = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        match item {
            TextItem::Event(event) => all.push(as_trace_cmd(&event, event.at)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reader.unknown().lines, 0, "{:?}", reader.unknown());
    all
}

fn own_events(file: &TraceFile) -> Vec<ReportedEvent> {
    let (formats, wrong) = file.description.formats();
    assert!(wrong.is_empty(), "{wrong:?}");
    let names = file.description.names();
    let comms = file.description.comms();
    let mut all = Vec::new();
    for of in file.events() {
        let StreamItem::Record { cpu, record } = of.event else {
            panic!("{of:?}");
        };
        let buffer = &file.buffers[of.buffer];
        let mut lines = LineFormatter::new(&formats, &names, &comms, ClockUnit::of_clock(&buffer.clock));
        let mut line = String::new();
        lines.write(&mut line, cpu, &record);
        let event = TextEvent::parse(&line, None).unwrap();
        let mut one = as_trace_cmd(&event, record.at);
        one.instance.clone_from(&buffer.name);
        all.push(one);
    }
    all
}

#[test]
fn every_event_equals_the_one_that_trace_cmd_reports() {
    for (file, report, least) in [
        ("events.v6.dat", "events.report", 190),
        ("events.v7.dat", "events.report", 190),
        ("instance.v6.dat", "instance.report", 130),
        ("instance.v7.dat", "instance.report", 130),
        ("tsc.v7.dat", "tsc.report", 80),
    ] {
        let bytes = fixture(file);
        let read = own_events(&parse(&bytes));
        let expected = reported(&fixture(report));
        assert!(expected.len() > least, "{report}");
        assert_eq!(read.len(), expected.len(), "{file}");
        for (ours, theirs) in read.iter().zip(&expected) {
            assert_eq!(ours, theirs, "{file}");
        }
    }
}

#[test]
fn metadata_of_a_trace_file_is_read() {
    let bytes = fixture("instance.v7.dat");
    let file = parse(&bytes);
    assert_eq!((file.version, file.long_len, file.page_len), (7, 8, 4096));
    assert!(
        file.machine()
            .is_some_and(|name| name.starts_with("Linux ") && name.ends_with("x86_64"))
    );
    let names: Vec<(&str, &str)> = file
        .buffers
        .iter()
        .map(|buffer| (buffer.name.as_str(), buffer.clock.as_str()))
        .collect();
    assert_eq!(names, [("", "local"), ("other", "local")]);
    assert_eq!(file.correction().apply(77_895_236_952_850), 77_895_236_952_850);
    let six = fixture("instance.v6.dat");
    let six = parse(&six);
    assert_eq!(six.version, 6);
    assert_eq!(six.description, file.description);
    let tsc = fixture("tsc.v7.dat");
    assert_eq!(parse(&tsc).buffers[0].clock, "x86-tsc");
}

fn options() -> Vec<DatOption> {
    vec![
        DatOption::of_text(id::UNAME, "Linux box 6.1 x86_64"),
        DatOption::of_text(id::VERSION, "quietcore"),
    ]
}

/// Writes the file that was read.
fn again(file: &TraceFile, options: &[DatOption]) -> Vec<u8> {
    let (buffers, pages) = planned(&file.buffers);
    let writing = DatWriter {
        description: &file.description,
        page_len: 4096,
        long_len: file.long_len,
        options,
        buffers: &buffers,
    };
    written(&writing, &pages)
}

#[test]
fn written_trace_files_are_read_back_identically() {
    for name in ["events.v7.dat", "instance.v7.dat", "instance.v6.dat", "tsc.v7.dat"] {
        let bytes = fixture(name);
        let file = parse(&bytes);
        let written = again(&file, &options());
        let read = parse(&written);
        assert_eq!(own_events(&read), own_events(&file), "{name}");
        assert_eq!(read.description, file.description);
        assert_eq!(read.machine().as_deref(), Some("Linux box 6.1 x86_64"));
        assert_eq!(written.len() % 4096, 0);
        let clocks = |file: &TraceFile| {
            file.buffers
                .iter()
                .map(|buffer| buffer.clock.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(clocks(&read), clocks(&file));
    }
}

#[test]
fn a_missing_cpu_leaves_an_empty_section() {
    let bytes = fixture("events.v7.dat");
    let mut file = parse(&bytes);
    let second = file.buffers[0].cpus.pop().unwrap();
    file.buffers[0].cpus[0].cpu = 2;
    file.buffers[0].cpus.push(CpuPages { cpu: 5, ..second });
    let written = again(&file, &options());
    let read = parse(&written);
    assert_eq!(own_events(&read), own_events(&file));
    let lens: Vec<bool> = read.buffers[0].cpus.iter().map(|cpu| cpu.bytes.is_empty()).collect();
    assert_eq!(lens, [true, true, false, true, true, false]);
}

/// Runs `trace-cmd report` on a file; `None` if trace-cmd is not installed.
fn report(bytes: &[u8]) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("written.dat");
    std::fs::write(&path, bytes).unwrap();
    let mut command = std::process::Command::new("trace-cmd");
    let output = command.args(["report", "-N", "-t", "-i"]).arg(&path).output();
    let output = output.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

#[test]
fn trace_cmd_reads_what_we_write() {
    for name in ["events.v7.dat", "instance.v7.dat", "tsc.v7.dat"] {
        let bytes = fixture(name);
        let file = parse(&bytes);
        let Some(text) = report(&again(&file, &options())) else {
            println!("SKIP: trace_cmd_reads_what_we_write: there is no trace-cmd");
            return;
        };
        assert_eq!(reported(&text), own_events(&file), "{name}");
    }
}

#[test]
fn times_are_corrected_as_by_trace_cmd() {
    let bytes = fixture("tsc.v7.dat");
    let file = parse(&bytes);
    let mut options = options();
    // 2,600 MHz: nanoseconds are ticks * 0.3846.
    let mut tsc = Vec::new();
    tsc.extend(1_651_910_498_u32.to_le_bytes());
    tsc.extend(32_u32.to_le_bytes());
    tsc.extend(123_456_u64.to_le_bytes());
    options.push(DatOption {
        id: id::TSC2NSEC,
        bytes: tsc,
    });
    options.push(DatOption::of_text(id::OFFSET, "1000000007"));
    let written = again(&file, &options);
    let read = parse(&written);
    let first = read.events().find_map(|of| match of.event {
        StreamItem::Record { record, .. } => Some(record.at),
        _ => None,
    });
    let at = first.unwrap();
    let expected = ((u128::from(at) * 1_651_910_498) >> 32) as u64 + 1_000_000_007;
    assert_eq!(read.correction().apply(at), expected);
    match report(&written) {
        Some(text) => assert_eq!(reported(&text)[0].at, expected),
        None => println!("SKIP: times_are_corrected_as_by_trace_cmd: there is no trace-cmd"),
    }
}

#[test]
fn files_that_are_no_trace_are_refused_with_a_reason() {
    assert_eq!(TraceFile::parse(b"PERFILE2", ROOM).unwrap_err(), DatError::NotOne);
    let mut bytes = fixture("events.v7.dat");
    let error = TraceFile::parse(&bytes, 1000).unwrap_err();
    assert_eq!(error, DatError::TooLarge { limit: 1000 });
    bytes[10] = b'9';
    assert_eq!(
        TraceFile::parse(&bytes, ROOM).unwrap_err(),
        DatError::Version {
            version: String::from("9")
        }
    );
    bytes[10] = b'7';
    let at = bytes.windows(5).position(|some| some == b"zstd\0").unwrap();
    bytes[at..at + 4].copy_from_slice(b"lzma");
    assert_eq!(
        TraceFile::parse(&bytes, ROOM).unwrap_err(),
        DatError::Packing {
            name: String::from("lzma")
        }
    );
}

#[test]
fn a_truncated_trace_file_is_reported() {
    for name in ["events.v6.dat", "instance.v7.dat"] {
        let bytes = fixture(name);
        let whole = own_events(&parse(&bytes));
        for len in (0..bytes.len()).step_by(97) {
            // At its end, version 7 has the names of its sections, which are not needed.
            if let Ok(cut) = TraceFile::parse(&bytes[..len], ROOM) {
                assert_eq!(own_events(&cut), whole, "{name} of {len} bytes");
                assert!(len + 100 > bytes.len(), "{name} of {len} bytes");
            }
        }
    }
}

/// Compresses the file with zlib as trace-cmd does: section by section, and the pages in chunks.
fn repacked(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let file = parse(bytes);
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        let packed = encoder.finish().unwrap();
        let mut out = (packed.len() as u32).to_le_bytes().to_vec();
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(packed);
        out
    };
    let mut out = bytes[..18].to_vec();
    out.extend(b"zlib\x001.2.13\0");
    let options_at = out.len();
    out.extend([0; 8]);
    let mut options = Vec::new();
    let mut option = |id: u16, bytes: &[u8]| {
        options.extend(id.to_le_bytes());
        options.extend((bytes.len() as u32).to_le_bytes());
        options.extend(bytes);
    };
    let section = |out: &mut Vec<u8>, id: u16, flags: u16, body: &[u8]| {
        let at = out.len() as u64;
        out.extend(id.to_le_bytes());
        out.extend(flags.to_le_bytes());
        out.extend([0; 4]);
        out.extend((body.len() as u64).to_le_bytes());
        out.extend(body);
        at
    };
    let mut header = b"header_page\0".to_vec();
    for text in [&file.description.header_page, &file.description.header_event] {
        header.extend((text.len() as u64).to_le_bytes());
        header.extend(text.as_bytes());
        header.extend(b"header_event\0");
    }
    header.truncate(header.len() - 13);
    let mut formats = 1_u32.to_le_bytes().to_vec();
    formats.extend(b"sched\0");
    let sched: Vec<&(String, String)> = file
        .description
        .formats
        .iter()
        .filter(|(system, _)| system == "sched")
        .collect();
    formats.extend((sched.len() as u32).to_le_bytes());
    for (_, text) in sched {
        formats.extend((text.len() as u64).to_le_bytes());
        formats.extend(text.as_bytes());
    }
    let comms = &file.description.saved_cmdlines;
    let mut names = (comms.len() as u64).to_le_bytes().to_vec();
    names.extend(comms.as_bytes());
    for (id, body) in [(16, header), (18, formats), (21, names)] {
        let at = section(&mut out, id, 1, &pack(&body));
        option(id, &at.to_le_bytes());
    }
    let at = section(&mut out, 3, 1, &[]);
    let mut buffer = at.to_le_bytes().to_vec();
    buffer.extend(b"\0local\0");
    buffer.extend(4096_u32.to_le_bytes());
    buffer.extend((file.buffers[0].cpus.len() as u32).to_le_bytes());
    for cpu in &file.buffers[0].cpus {
        let at = out.len();
        let chunks: Vec<&[u8]> = cpu.bytes.chunks(4096).collect();
        out.extend((chunks.len() as u32).to_le_bytes());
        chunks.iter().for_each(|chunk| out.extend(pack(chunk)));
        buffer.extend(cpu.cpu.to_le_bytes());
        buffer.extend((at as u64).to_le_bytes());
        buffer.extend(((out.len() - at) as u64).to_le_bytes());
    }
    option(3, &buffer);
    option(0, &[0; 8]);
    let at = section(&mut out, 0, 1, &pack(&options));
    out[options_at..options_at + 8].copy_from_slice(&at.to_le_bytes());
    out
}

#[test]
fn zlib_compressed_files_are_read() {
    let bytes = fixture("tsc.v7.dat");
    let packed = repacked(&bytes);
    let mut expected = own_events(&parse(&bytes));
    // The original file's times are ticks and are shown unchanged; here they are nanoseconds.
    let read = own_events(&parse(&packed));
    expected.iter_mut().for_each(|one| one.instance.clear());
    assert_eq!(read, expected);
    let mut broken = packed.clone();
    let at = broken.len() / 2;
    broken[at..at + 8].fill(0xff);
    assert!(matches!(
        TraceFile::parse(&broken, ROOM),
        Err(DatError::Unpack { .. } | DatError::Cut { .. } | DatError::Wrong { .. })
    ));
}

proptest! {
    #[test]
    fn any_written_buffers_are_read_back(
        all in prop::collection::vec(
            ("[a-z]{1,8}", prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3).prop_map(|pages| pages.repeat(2048)), 1..4)),
            1..4,
        ),
        big in any::<bool>(),
    ) {
        let bytes = fixture("events.v6.dat");
        let mut description = parse(&bytes).description;
        description.endian = if big { events::Endian::Big } else { events::Endian::Little };
        let cpus = all.iter().map(|(_, cpus)| cpus.len()).max().unwrap();
        let buffers: Vec<PlannedBuffer> = all
            .iter()
            .enumerate()
            .map(|(place, (name, cpus))| PlannedBuffer {
                name: if place == 0 { String::new() } else { name.clone() },
                clock: String::from("mono"),
                cpus: cpus.iter().map(|pages| pages.len() as u64).collect(),
            })
            .collect();
        let writing = DatWriter { description: &description, page_len: 2048, long_len: 8, options: &[], buffers: &buffers };
        let pages: Vec<Vec<&[u8]>> = all.iter().map(|(_, cpus)| cpus.iter().map(Vec::as_slice).collect()).collect();
        let written = written(&writing, &pages);
        let read = parse(&written);
        prop_assert_eq!(&read.description, &description);
        for ((buffer, planned), (_, pages)) in read.buffers.iter().zip(&buffers).zip(&all) {
            prop_assert_eq!(&buffer.name, &planned.name);
            prop_assert_eq!(&buffer.clock, "mono");
            prop_assert_eq!(buffer.cpus.len(), cpus);
            for (place, cpu) in buffer.cpus.iter().enumerate() {
                let wanted: &[u8] = pages.get(place).map_or(&[], Vec::as_slice);
                prop_assert!(cpu.bytes.as_ref() == wanted);
            }
        }
    }

    #[test]
    fn no_damage_causes_a_panic(place in any::<prop::sample::Index>(), value in any::<u32>(), which in 0_usize..3) {
        let mut bytes = fixture(["events.v6.dat", "instance.v7.dat", "events.v7.dat"][which]);
        // The texts in the middle are long. The important parts are at the start and, in version 7, at the end.
        let at = place.index(bytes.len() - 4);
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        if let Ok(file) = TraceFile::parse(&bytes, ROOM) {
            let _ = (file.description.formats(), file.events().count(), file.correction(), file.machine());
        }
    }
}
