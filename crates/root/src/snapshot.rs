//! Writes the archive of `snapshot`: tar, compressed according to the name of the output, with one folder at the top.

use crate::RootError;
use crate::error::OnPath;
use crate::output::{Draft, ReadAccess};
use std::io::{BufWriter, Error, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// Size of a Zstandard frame: our encoder takes a whole frame at a time.
const ZSTD_FRAME: usize = 8 << 20;
/// A good compromise of time and size for text; higher presets are many times slower.
const XZ_PRESET: u32 = 3;

/// An archive that is being written. It appears under its name when it is finished.
pub struct Snapshot {
    path: PathBuf,
    top: String,
    mtime: u64,
    builder: Builder<Packer>,
}

impl Snapshot {
    /// Starts an archive whose entries are in the folder `top`, all with the same time (seconds since 1970).
    ///
    /// # Errors
    /// [`RootError::Ending`] for an unsupported file name extension; the errno of open.
    pub fn create(path: &Path, top: &str, mtime: u64) -> Result<Snapshot, RootError> {
        let format = SnapshotFormat::of(path)?;
        let draft = BufWriter::with_capacity(1 << 16, Draft::create(path, ReadAccess::Owner)?);
        let packer = Packer::new(format, draft).on(path, "write")?;
        Ok(Snapshot {
            path: path.to_owned(),
            top: top.to_owned(),
            mtime,
            builder: Builder::new(packer),
        })
    }

    /// Adds a file. `path` is absolute on the captured machine.
    ///
    /// # Errors
    /// The errno of write.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<(), RootError> {
        let mut header = self.header(EntryType::Regular, mode, content.len() as u64);
        let name = self.name(path);
        self.builder
            .append_data(&mut header, name, content)
            .on(&self.path, "write")
    }

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// The errno of write.
    pub fn link(&mut self, path: &str, target: &str) -> Result<(), RootError> {
        let mut header = self.header(EntryType::Symlink, 0o777, 0);
        let name = self.name(path);
        self.builder
            .append_link(&mut header, name, target)
            .on(&self.path, "write")
    }

    /// Adds a directory that may be empty; those of files need not be added.
    ///
    /// # Errors
    /// The errno of write.
    pub fn dir(&mut self, path: &str) -> Result<(), RootError> {
        let mut header = self.header(EntryType::Directory, 0o755, 0);
        let name = format!("{}/", self.name(path));
        self.builder
            .append_data(&mut header, name, std::io::empty())
            .on(&self.path, "write")
    }

    /// Ends the archive and moves it to its place.
    ///
    /// # Errors
    /// The errno of write, fsync or rename.
    pub fn finish(self) -> Result<(), RootError> {
        let Snapshot { path, builder, .. } = self;
        let written = builder.into_inner().and_then(Packer::finish).on(&path, "write")?;
        let draft = written.into_inner().on(&path, "write")?;
        draft.finish()
    }

    fn name(&self, path: &str) -> String {
        format!("{}/{}", self.top, path.trim_matches('/'))
    }

    fn header(&self, kind: EntryType, mode: u32, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode & 0o7777);
        header.set_mtime(self.mtime);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(size);
        header
    }
}

/// Checks whether the extension of an output is a format that [`Snapshot::create`] can write.
///
/// # Errors
/// [`RootError::Ending`] otherwise.
pub fn check_name(path: &Path) -> Result<(), RootError> {
    SnapshotFormat::of(path).map(|_| ())
}

#[derive(Clone, Copy)]
enum SnapshotFormat {
    Plain,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl SnapshotFormat {
    fn of(path: &Path) -> Result<SnapshotFormat, RootError> {
        let endings = [
            (".tar", SnapshotFormat::Plain),
            (".tar.gz", SnapshotFormat::Gzip),
            (".tgz", SnapshotFormat::Gzip),
            (".tar.bz2", SnapshotFormat::Bzip2),
            (".tbz2", SnapshotFormat::Bzip2),
            (".tar.xz", SnapshotFormat::Xz),
            (".txz", SnapshotFormat::Xz),
            (".tar.zst", SnapshotFormat::Zstd),
            (".tzst", SnapshotFormat::Zstd),
        ];
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let found = endings
            .into_iter()
            .find(|(ending, _)| name.ends_with(ending) && name.len() > ending.len());
        found
            .map(|(_, format)| format)
            .ok_or_else(|| RootError::Ending { path: path.to_owned() })
    }
}

type Output = BufWriter<Draft>;

enum Packer {
    Plain(Output),
    Gzip(flate2::write::GzEncoder<Output>),
    Bzip2(bzip2::write::BzEncoder<Output>),
    Xz(Box<lzma_rust2::XzWriter<Output>>),
    Zstd(ZstdWriter),
}

impl Packer {
    fn new(format: SnapshotFormat, output: Output) -> Result<Packer, Error> {
        Ok(match format {
            SnapshotFormat::Plain => Packer::Plain(output),
            SnapshotFormat::Gzip => Packer::Gzip(flate2::write::GzEncoder::new(output, flate2::Compression::default())),
            SnapshotFormat::Bzip2 => Packer::Bzip2(bzip2::write::BzEncoder::new(output, bzip2::Compression::best())),
            SnapshotFormat::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(XZ_PRESET);
                Packer::Xz(Box::new(lzma_rust2::XzWriter::new(output, options)?))
            }
            SnapshotFormat::Zstd => Packer::Zstd(ZstdWriter {
                output,
                frame: Vec::new(),
            }),
        })
    }

    fn finish(self) -> Result<Output, Error> {
        match self {
            Packer::Plain(output) => Ok(output),
            Packer::Gzip(packer) => packer.finish(),
            Packer::Bzip2(packer) => packer.finish(),
            Packer::Xz(packer) => packer.finish(),
            Packer::Zstd(mut packer) => {
                packer.end_frame()?;
                Ok(packer.output)
            }
        }
    }
}

impl Write for Packer {
    fn write(&mut self, content: &[u8]) -> Result<usize, Error> {
        match self {
            Packer::Plain(packer) => packer.write(content),
            Packer::Gzip(packer) => packer.write(content),
            Packer::Bzip2(packer) => packer.write(content),
            Packer::Xz(packer) => packer.write(content),
            Packer::Zstd(packer) => packer.write(content),
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        // Flushing a compressor in the middle only makes the output larger.
        Ok(())
    }
}

struct ZstdWriter {
    output: Output,
    frame: Vec<u8>,
}

impl ZstdWriter {
    fn write(&mut self, content: &[u8]) -> Result<usize, Error> {
        self.frame.extend_from_slice(content);
        if self.frame.len() >= ZSTD_FRAME {
            self.end_frame()?;
        }
        Ok(content.len())
    }

    fn end_frame(&mut self) -> Result<(), Error> {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let packed = ruzstd::encoding::compress_to_vec(self.frame.as_slice(), level);
        self.frame.clear();
        self.output.write_all(&packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    #[test]
    fn every_archive_format_can_be_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let long = format!("/sys/{}/file", "a-rather-long-name/".repeat(20).trim_end_matches('/'));
        let large: Vec<u8> = (0..9_000_000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 28) as u8)
            .collect();
        for ending in ["tar", "tar.gz", "tgz", "tar.bz2", "tar.xz", "tar.zst"] {
            let path = dir.path().join(format!("m.{ending}"));
            let mut snapshot = Snapshot::create(&path, "host", 0).unwrap();
            snapshot.file("/proc/version", 0o444, b"Linux\n").unwrap();
            snapshot.file("/proc/empty", 0o444, b"").unwrap();
            snapshot.file("/proc/large", 0o600, &large).unwrap();
            snapshot.file(&long, 0o644, b"long").unwrap();
            snapshot.link("/sys/link", "../proc/version").unwrap();
            snapshot.dir("/sys/fs/cgroup/none").unwrap();
            assert!(!path.exists());
            snapshot.finish().unwrap();
            let root = Root::open(&path).unwrap_or_else(|error| panic!("{ending}: {error}"));
            assert_eq!(root.value("/sys/link").unwrap().as_deref(), Some("Linux"), "{ending}");
            assert_eq!(
                root.bytes("/proc/empty").unwrap().as_deref(),
                Some(&b""[..]),
                "{ending}"
            );
            assert_eq!(root.bytes("/proc/large").unwrap().as_ref(), Some(&large), "{ending}");
            assert_eq!(root.mode("/proc/large").unwrap(), Some(0o600), "{ending}");
            assert_eq!(root.value(&long).unwrap().as_deref(), Some("long"), "{ending}");
            assert_eq!(root.names("/sys/fs/cgroup/none").unwrap(), Some(Vec::new()), "{ending}");
        }
    }

    #[test]
    fn unknown_file_extensions_are_refused() {
        for name in ["m", "m.zip", "m.tar.lz4", ".tar", "tar", "m.gz", ".tar.gz"] {
            assert!(
                matches!(check_name(Path::new(name)), Err(RootError::Ending { .. })),
                "{name}"
            );
        }
        assert!(check_name(Path::new("/x/m.tar.zst")).is_ok());
    }
}
