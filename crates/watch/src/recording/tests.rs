//! Tests recordings that are complete, truncated, foreign, of another version, and hostile.

use super::*;
use crate::ThreadRuntime;

fn header_line() -> Vec<u8> {
    line(&Header {
        schema: SCHEMA.to_owned(),
        kernel: "6.12.1".to_owned(),
        every_ns: 1_000_000_000,
    })
}

fn moment(number: u64) -> Moment {
    Moment {
        number,
        unix_s: 1_700_000_000 + number,
        ran: vec![ThreadRuntime {
            tid: 7,
            times: 3,
            ran_ns: 99,
        }],
        scene: (number == 0).then(WatchScene::default),
        ..Moment::default()
    }
}

fn whole() -> Vec<u8> {
    [header_line(), line(&moment(0)), line(&moment(1))].concat()
}

#[test]
fn a_complete_recording_is_read() {
    let read = parse(&whole()).unwrap();
    assert_eq!(read.moments, [moment(0), moment(1)]);
    assert_eq!((read.torn, read.header.kernel.as_str()), (false, "6.12.1"));
}

#[test]
fn every_truncation_is_an_error_or_reported() {
    let whole = whole();
    for end in 0..whole.len() {
        match parse(&whole[..end]) {
            Ok(read) => {
                let at_an_end = whole[..end].ends_with(b"\n");
                assert_eq!((read.moments.len(), read.torn), (1, !at_an_end), "cut at {end}");
            }
            Err(error) => assert!(
                matches!(error, RecordingError::Foreign | RecordingError::Empty),
                "{error}"
            ),
        }
    }
}

#[test]
fn foreign_files_and_versions_are_refused() {
    assert_eq!(parse(b""), Err(RecordingError::Foreign));
    assert_eq!(parse(b"\x7fELF\x02\x01\n"), Err(RecordingError::Foreign));
    assert_eq!(
        parse(b"{\"schema\":\"quietcore.check/1\"}\n"),
        Err(RecordingError::Foreign)
    );
    let other = parse(b"{\"schema\":\"quietcore.watch/2\"}\n").unwrap_err();
    assert_eq!(other, RecordingError::Version("quietcore.watch/2".to_owned()));
    assert!(other.to_string().contains("quietcore.watch/1"), "{other}");
    assert_eq!(parse(&header_line()), Err(RecordingError::Empty));
}

#[test]
fn an_invalid_line_is_reported_with_its_number() {
    let refusal = |line: &[u8]| {
        parse(&[whole(), line.to_vec(), b"\n".to_vec()].concat())
            .unwrap_err()
            .to_string()
    };
    assert!(refusal(b"nonsense").starts_with("line 4: "), "{}", refusal(b"nonsense"));
    assert!(refusal(b"").starts_with("line 4: "));
    assert!(refusal(&[0xff, 0xfe]).starts_with("line 4: "));
    let far = br#"{"number":0,"unix_s":1,"activity":{"duration_ns":1,"cpus":[{"cpu":4294967295,"ticks":0,"interrupts":[],"softirqs":[],"context_switches":null,"steal_ns":null}]}}"#;
    assert!(
        refusal(far).starts_with("line 4: no machine has a CPU 4294967295: the highest possible number is 65535"),
        "{}",
        refusal(far)
    );
    let deep = "[".repeat(100_000);
    assert!(refusal(deep.as_bytes()).starts_with("line 4: "));
    let unplaced = parse(&[header_line(), line(&moment(1))].concat()).unwrap_err();
    assert_eq!(unplaced.to_string(), "line 2: the first sample does not list the CPUs");
}
