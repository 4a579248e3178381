//! Files beside the journal: holders of latency limits, trace instances and kprobes; records of the boot line,
//! installed files, boot attempts and a study with reboots; the history.

use super::journals::MemoryStorage;
use super::{FuzzTarget, text};
use apply::boot_line::{BootNotes, read_captured};
use apply::{CapturedStorage, Force, boot_attempt, history, installed, kprobes, latency, restarts, tracing};
use root::{Live, Root};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "ledgers",
    seeds: || {
        let bodies = [
            r#"{"hold":{"holder":{"pid":7,"start":9},"limit":"n/a","former":{"3":"0"}}}"#,
            r#"{"release":{"holder":{"pid":7,"start":9}}}"#,
            r#"{"hold":{"holder":{"pid":7,"start":9},"instance":"instances/quietcore-7","was":{}}}"#,
            r#"{"hold":{"holder":{"pid":7,"start":9},"group":"quietcore_7","events":["a"]}}"#,
            r#"{"seq":1,"at_ns":5,"by":"0.1.0","event":"began","out":"/a"}"#,
            r#"{"seq":2,"at_ns":5,"event":"undid","of":1}"#,
            r#"{"seq":1,"at_ns":5,"event":"will","path":"/etc/a","before":"nothing","after":"nothing"}"#,
            r#"{"boot_id":"a","at_ns":5,"tool":"0.1.0"}"#,
        ];
        bodies.iter().map(|body| body.as_bytes().to_vec()).collect()
    },
    run: |bytes| {
        read(bytes);
        // Each line of the input, with a valid checksum.
        let lines = text(bytes);
        let records: String = lines
            .lines()
            .map(|body| {
                format!(
                    "qc1 {:08x} {:08x} {body}\n",
                    body.len(),
                    crc32fast::hash(body.as_bytes())
                )
            })
            .collect();
        read(records.as_bytes());
    },
};

thread_local! {
    /// A machine without files.
    static NOTHING: (tempfile::TempDir, Root) = {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("proc")).expect("a folder");
        let root = Root::open(dir.path()).expect("a folder");
        (dir, root)
    };
}

fn read(bytes: &[u8]) {
    NOTHING.with(|(dir, root)| {
        let system = CapturedStorage(root);
        // Reading may remove records, so each reader has its own copy.
        let file = || MemoryStorage::with(bytes);
        let _ = latency::sweep(&system, &file());
        let _ = tracing::sweep(&system, &file());
        let _ = kprobes::sweep(&system, &file());
        let _ = latency::free(&system, &file(), &machine::CpuSet::range(0, 3));
        if let Ok(notes) = BootNotes::read(&file()) {
            let _ = (
                notes.own_words(),
                notes.since(Some("a")),
                notes.observed_boot(),
                notes.is_unfinished(),
            );
        }
        let _ = read_captured(bytes, Some("a"));
        let files = Live::rehearsal(dir.path());
        let _ = installed::remove_some(&files, &file(), Force::No, &[], &|_| false);
        let _ = boot_attempt::good(&file(), Some("a"));
        let _ = restarts::under_way(&file());
        let _ = history(&file());
    });
}
