//! Archives as bytes: plain, compressed, damaged, hostile. Opening an archive reads all of it.

use super::FuzzTarget;
use root::Root;
use root::snapshot::Snapshot;
use std::io::Write;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "archives",
    seeds: || {
        [".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst"]
            .map(|ending| packed(ending, &[("/proc/version", "Linux version 6.12.0\n")]))
            .into()
    },
    run: |bytes| {
        with_file(bytes, |root| {
            let mut open = vec![String::from("/")];
            let mut seen = 0;
            while let Some(dir) = open.pop().filter(|_| seen < 1_000) {
                for name in root.names(&dir).ok().flatten().unwrap_or_default() {
                    seen += 1;
                    let path = format!("{}/{name}", dir.trim_end_matches('/'));
                    let _ = (root.text(&path), root.mode(&path), root.link(&path));
                    if root.kind(&path).is_ok_and(|kind| kind == Some(root::PathKind::Dir)) && path.len() < 400 {
                        open.push(path);
                    }
                }
            }
        });
    },
};

/// Writes an archive with these files, and returns its bytes.
pub(super) fn packed(ending: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join(format!("seed{ending}"));
    let mut snapshot = Snapshot::create(&path, "machine", 1).expect("an archive");
    for (path, content) in files {
        snapshot.file(path, 0o444, content.as_bytes()).expect("a file");
    }
    snapshot
        .link("/sys/devices/system/node/node0/cpu0", "../../cpu/cpu0")
        .expect("a link");
    snapshot.finish().expect("the end");
    std::fs::read(path).expect("its bytes")
}

/// Opens the bytes as an archive.
pub(super) fn with_file(bytes: &[u8], then: impl Fn(&Root)) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room");
    if let Ok(root) = Root::open(file.path()) {
        then(&root);
    }
}
