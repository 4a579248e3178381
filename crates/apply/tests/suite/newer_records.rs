//! Level 3: a record of a newer version stops every command that would use it, and its file is left unchanged.

use crate::support::rehearsal::acting::undo;
use crate::support::rehearsal::{Rules, SimDisk, SimKernel};
use crate::{boot_line, every_step, installing, released_ledgers};
use apply::{ApplyError, Force, Journal, UndoTarget};
use std::fs;
use std::path::PathBuf;

/// Records that this version does not know: an event, a field, a format.
const RECORDS: [(&str, &str); 3] = [
    ("qc1", r#"{"seq":SEQ,"at_ns":7,"by":"9.1.0","event":"teleported"}"#),
    (
        "qc1",
        r#"{"seq":SEQ,"at_ns":7,"by":"9.1.0","event":"confirmed","layer":null,"until":3}"#,
    ),
    (
        "qc9",
        r#"{"seq":SEQ,"at_ns":7,"by":"9.1.0","event":"confirmed","layer":null}"#,
    ),
];

fn line(record: (&str, &str), seq: usize) -> Vec<u8> {
    let body = record.1.replace("SEQ", &seq.to_string());
    let checksum = crc32fast::hash(body.as_bytes());
    format!("{} {:08x} {checksum:08x} {body}\n", record.0, body.len()).into_bytes()
}

/// Returns the file with such a record as line `at`, counted from 0.
fn with_record(bytes: &[u8], record: (&str, &str), at: usize) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes
        .split_inclusive(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let newer = line(record, at + 1);
    match lines.get_mut(at) {
        Some(line) => *line = newer,
        None => lines.push(newer),
    }
    lines.concat()
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, ApplyError>, what: &str) {
    match result {
        Err(error @ ApplyError::OtherVersion { .. }) => {
            assert!(error.to_string().contains("quietcore 9.1.0"), "{what}: {error}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

/// Runs `act` with each such record at the start, in the middle and after the end of a file, which must stay unchanged.
pub fn in_every_place(file: &PathBuf, act: impl Fn(&str)) {
    let whole = fs::read(file).unwrap();
    let lines = whole.iter().filter(|&&byte| byte == b'\n').count();
    for record in RECORDS {
        for at in [0, lines / 2, lines] {
            let bytes = with_record(&whole, record, at);
            fs::write(file, &bytes).unwrap();
            act(&format!("{record:?} as line {at}"));
            assert_eq!(fs::read(file).unwrap(), bytes, "{record:?} as line {at}");
        }
    }
    fs::write(file, whole).unwrap();
}

#[test]
fn a_journal_with_a_newer_record_is_neither_undone_nor_extended() {
    let kernel = SimKernel::boot_with_settings(Rules::V2);
    let disk = SimDisk::new(&kernel);
    let before = kernel.dump();
    every_step::isolate(&kernel, &disk, "2-3").unwrap();
    let isolated = kernel.dump();
    in_every_place(&disk.dir.path().join("journal"), |what| {
        for which in [UndoTarget::All, UndoTarget::Last] {
            for force in [Force::No, Force::Restore] {
                is_refused(undo(&kernel, &disk, which, force), what);
            }
        }
        is_refused(every_step::isolate(&kernel, &disk, "3"), what);
        is_refused(Journal::sweep(&disk), what);
        is_refused(apply::history(&disk), what);
        assert_eq!(kernel.dump(), isolated, "{what}");
    });
    undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
    assert_eq!(kernel.dump(), before);
}

/// The partition of an archived journal has ended, so the other journals are still shown.
#[test]
fn an_archived_journal_with_a_newer_record_is_reported_and_others_are_read() {
    let kernel = SimKernel::boot_with_settings(Rules::V2);
    let disk = SimDisk::new(&kernel);
    for _ in 0..2 {
        every_step::isolate(&kernel, &disk, "2-3").unwrap();
        undo(&kernel, &disk, UndoTarget::All, Force::No).unwrap();
    }
    let put_away = disk.dir.path().join("history");
    let first = fs::read_dir(&put_away)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .min()
        .unwrap();
    in_every_place(&first, |what| {
        let history = apply::history(&disk).unwrap();
        assert_eq!((history.journals.len(), history.unreadable.len()), (1, 1), "{what}");
        let error = history.unreadable[0].to_string();
        assert!(
            error.contains(&format!("history/{}", first.file_name().unwrap().display())),
            "{error}"
        );
    });
    assert_eq!(apply::history(&disk).unwrap().journals.len(), 2);
}

#[test]
fn installation_notes_with_a_newer_record_are_neither_undone_nor_extended() {
    installing::with_newer_notes(|what, result| is_refused(result, what));
    boot_line::with_newer_notes(|what, result| is_refused(result, what));
}

#[test]
fn a_ledger_with_a_newer_record_is_neither_swept_nor_extended() {
    released_ledgers::with_newer_records(|what, result| is_refused(result, what));
}
