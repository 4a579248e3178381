//! Well-formed compressed members with very large content: archives of each kind, and the kernel's configuration in
//! one. The first byte selects the kind, the second the size; the rest is the repeated content.

use super::FuzzTarget;
use super::archives::{packed, with_file};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

const ENDINGS: [&str; 5] = [".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst"];

/// The kernel's configuration, compressed.
const CONFIG: &str = "/proc/config.gz";

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "packed_files",
    // Small seeds, because the ordinary tests try hundreds of mutations of each.
    seeds: || (0..6).map(|kind| vec![kind, 12, b'a', b'=', b'y', b'\n']).collect(),
    run: |bytes| {
        let [kind, power, content @ ..] = bytes else {
            return;
        };
        let content = if content.is_empty() { b"0" } else { content };
        let archive = match ENDINGS.get(usize::from(*kind) % 6) {
            Some(ending) => packed(ending, &[("/proc/version", &text(content, 1 << (power % 21)))]),
            None => {
                let config = gzip(content, 1 << (power % 28));
                tar(&[(CONFIG, &config)])
            }
        };
        with_file(&archive, |root| {
            if let Ok(Some(config)) = root.inflated(CONFIG) {
                assert!(config.len() as u64 <= root::MAX_INFLATED);
                let _ = machine::kernel::parse_config(&config);
            }
            let _ = (root.text("/proc/version"), root.names("/"));
        });
    },
};

fn text(content: &[u8], length: usize) -> String {
    let text = super::text(content);
    text.repeat(length / text.len() + 1)
}

/// A gzip stream with content of at least this length, compressed piece by piece, so that the whole content is never in
/// memory.
fn gzip(content: &[u8], length: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let piece = content.repeat(4096 / content.len() + 1);
    for _ in 0..=length / piece.len() {
        encoder.write_all(&piece).expect("memory");
    }
    encoder.finish().expect("memory")
}

/// An archive of these files, as bytes.
pub(super) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ::tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = ::tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o444);
        archive
            .append_data(&mut header, format!("machine{path}"), *content)
            .expect("memory");
    }
    archive.into_inner().expect("memory")
}
