//! Unpacks a tar archive, plain or compressed, into a [`ArchiveTree`]. The content decides the format, never the name.

use crate::RootError;
use crate::error::OnPath;
use crate::files::{hostile, not_a_machine};
use crate::tree::{ArchiveTree, TreeBuilder};
use crate::zstd::ZstdFrames;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{BufReader, Cursor, Error, ErrorKind, Read};
use std::path::Path;
use std::rc::Rc;
use tar::EntryType;

/// Maximum unpacked size of an archive. A machine with 100,000 threads has about a tenth.
const MAX_BYTES: u64 = if usize::BITS < 64 { 512 << 20 } else { 2 << 30 };
/// Maximum number of entries: more than ten times those of such a machine.
const MAX_ENTRIES: usize = 4_000_000;
/// Maximum ratio of unpacked to packed bytes. Kernel files are repetitive (a few hundred); bombs have many thousands.
const MAX_RATIO: u64 = 5_000;
/// Small archives may have any ratio.
const RATIO_COUNTS_FROM: u64 = 64 << 20;
/// Maximum memory of a decoder, without its output. `xz -9` needs 65 MiB; zstd's decoder has its own limit.
const MAX_DECODER_KIB: u32 = 100 << 10;
/// Header, long name and extensions of one entry.
const MAX_HEADER: u64 = 1 << 20;
/// Maximum data after the end mark of the archive: padding to the block size of a tape.
const MAX_TRAILER: u64 = 16 << 20;

/// `PATH_MAX`: a longer name cannot come from a file system.
const MAX_NAME: usize = 4096;

const BLOCK: usize = 512;

/// Unpacks an archive.
pub(crate) fn unpack(path: &Path) -> Result<ArchiveTree, RootError> {
    let file = File::open(path).on(path, "open")?;
    let meter = Rc::new(Meter::default());
    let outcome = fill(file, &meter).and_then(TreeBuilder::finish);
    match outcome {
        Ok(Some(tree)) => Ok(tree),
        Ok(None) => Err(not_a_machine(path)),
        Err(RootError::Archive { why, .. }) => Err(RootError::Archive {
            path: path.to_owned(),
            why,
        }),
        Err(error) => Err(error),
    }
}

fn fill(file: File, meter: &Rc<Meter>) -> Result<TreeBuilder, RootError> {
    let bad = |error: &Error| unreadable(meter, error);
    let content = decoder(CompressedInput {
        inner: file,
        meter: Rc::clone(meter),
    })
    .map_err(|error| bad(&error))?;
    let mut archive = tar::Archive::new(DecompressedInput {
        inner: BufReader::with_capacity(1 << 16, content),
        meter: Rc::clone(meter),
    });
    let mut builder = TreeBuilder::new();
    let mut count = 0;
    meter.allow(MAX_HEADER);
    for entry in archive.entries().map_err(|error| bad(&error))? {
        let mut entry = entry.map_err(|error| match count {
            0 if meter.why.borrow().is_none() && error.kind() != ErrorKind::OutOfMemory => {
                broken("it is not a tar archive, plain or compressed with gzip, bzip2, xz or zstd (or it is truncated)")
            }
            _ => bad(&error),
        })?;
        count += 1;
        add(&mut builder, &mut entry, meter)?;
        if count.max(builder.len()) > MAX_ENTRIES {
            return Err(broken(&format!(
                "it has more than {MAX_ENTRIES} entries, so it is not a captured machine"
            )));
        }
        meter.allow(MAX_HEADER);
    }
    if meter.unpacked.get() == 0 {
        return Err(broken("it is empty"));
    }
    if !meter.ends_in_zeros.get() {
        return Err(broken("it is truncated: its end mark is missing"));
    }
    // The compressed format has its checksum at the end, after what tar reads.
    meter.allow(MAX_TRAILER);
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink()).map_err(|error| bad(&error))?;
    Ok(builder)
}

fn add(builder: &mut TreeBuilder, entry: &mut tar::Entry<'_, impl Read>, meter: &Meter) -> Result<(), RootError> {
    let path = clean(&entry.path_bytes())?.into_owned();
    let shown = || String::from_utf8_lossy(&path).into_owned();
    if path.len() > MAX_NAME {
        return Err(hostile(
            &shown().chars().take(60).collect::<String>(),
            "a name longer than the kernel allows",
        ));
    }
    match entry.header().entry_type() {
        EntryType::Directory => {
            builder.dir(&path);
            Ok(())
        }
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => add_file(builder, &path, entry, meter),
        EntryType::Symlink => {
            let target = entry.link_name_bytes().unwrap_or_default();
            if path.is_empty() || target.is_empty() || target.contains(&0) {
                return Err(hostile(&shown(), "a symbolic link without a name or target"));
            }
            builder.link(&path, &target);
            Ok(())
        }
        EntryType::Link => {
            let target = entry.link_name_bytes().unwrap_or_default();
            let target = clean(&target)?;
            builder.same(&path, &target);
            Ok(())
        }
        EntryType::XGlobalHeader => Ok(()),
        EntryType::Char | EntryType::Block => Err(hostile(&shown(), "a device node")),
        EntryType::Fifo => Err(hostile(&shown(), "a fifo")),
        _ => Err(hostile(&shown(), "an entry of a kind that tar does not define")),
    }
}

fn add_file(
    builder: &mut TreeBuilder,
    path: &[u8],
    entry: &mut tar::Entry<'_, impl Read>,
    meter: &Meter,
) -> Result<(), RootError> {
    let shown = || String::from_utf8_lossy(path).into_owned();
    if path.is_empty() {
        return Err(hostile(&shown(), "a file without a name"));
    }
    let size = entry.size();
    let mode = entry.header().mode().unwrap_or(0o644);
    // The archive's own size is checked as it is read; a sparse file can claim more than it has.
    meter.allow(size.saturating_add(MAX_HEADER));
    meter.promise(size).map_err(|error| unreadable(meter, &error))?;
    let got = builder
        .file(path, mode, size, entry)
        .map_err(|error| unreadable(meter, &error))?;
    match got < size {
        true => Err(broken(&format!(
            "it is truncated: {} has {got} of {size} bytes",
            shown()
        ))),
        false => Ok(()),
    }
}

/// The path without empty parts and `.`.
fn clean(path: &[u8]) -> Result<Cow<'_, [u8]>, RootError> {
    let shown = || String::from_utf8_lossy(path).into_owned();
    if path.starts_with(b"/") {
        return Err(hostile(&shown(), "an absolute name"));
    }
    if path.contains(&0) {
        return Err(hostile(&shown(), "a name with a NUL in it"));
    }
    // Nearly all are clean already, except for the slash after a folder.
    let trimmed = path.strip_suffix(b"/").unwrap_or(path);
    if trimmed
        .split(|&byte| byte == b'/')
        .all(|name| !matches!(name, b"" | b"." | b".."))
    {
        return Ok(Cow::Borrowed(trimmed));
    }
    let mut cleaned = Vec::with_capacity(path.len());
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => continue,
            b".." => return Err(hostile(&shown(), "a name that leaves the archive with `..`")),
            _ if !cleaned.is_empty() => cleaned.push(b'/'),
            _ => {}
        }
        cleaned.extend_from_slice(name);
    }
    Ok(Cow::Owned(cleaned))
}

/// Selects the decoder by the first bytes.
fn decoder(mut packed: CompressedInput) -> Result<Box<dyn Read>, Error> {
    let mut head = Vec::with_capacity(BLOCK);
    packed.by_ref().take(BLOCK as u64).read_to_end(&mut head)?;
    let begins = |magic: &[u8]| head.starts_with(magic);
    let kind = if begins(&[0x1f, 0x8b]) {
        ArchiveCompression::Gzip
    } else if begins(b"BZh") {
        ArchiveCompression::Bzip2
    } else if begins(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        ArchiveCompression::Xz
    } else if begins(&[0x28, 0xb5, 0x2f, 0xfd]) {
        ArchiveCompression::Zstd
    } else {
        ArchiveCompression::None
    };
    let whole = BufReader::with_capacity(1 << 16, Cursor::new(head).chain(packed));
    Ok(match kind {
        ArchiveCompression::None => Box::new(whole),
        ArchiveCompression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(whole)),
        ArchiveCompression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(whole)),
        ArchiveCompression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(whole, true, MAX_DECODER_KIB)),
        ArchiveCompression::Zstd => Box::new(ZstdFrames::new(whole)),
    })
}

enum ArchiveCompression {
    None,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

fn broken(why: &str) -> RootError {
    RootError::Archive {
        path: std::path::PathBuf::new(),
        why: why.to_owned(),
    }
}

fn unreadable(meter: &Meter, error: &Error) -> RootError {
    match meter.why.borrow().as_deref() {
        Some(why) => broken(why),
        None if error.kind() == ErrorKind::UnexpectedEof => broken("it is truncated"),
        None if error.kind() == ErrorKind::OutOfMemory => broken(&format!(
            "its decoder would need more than {} MiB of memory, so it is not a captured machine",
            MAX_DECODER_KIB >> 10
        )),
        None => broken(&format!("it is damaged or truncated ({error})")),
    }
}

/// Counts bytes on both sides of the decoder, and stops it at a limit.
#[derive(Default)]
struct Meter {
    packed: Cell<u64>,
    unpacked: Cell<u64>,
    promised: Cell<u64>,
    allowed: Cell<u64>,
    ends_in_zeros: Cell<bool>,
    zeros: Cell<usize>,
    why: RefCell<Option<String>>,
}

impl Meter {
    /// The number of bytes that may be read until the next call, so that no header can exhaust memory.
    fn allow(&self, bytes: u64) {
        self.allowed.set(bytes);
    }

    fn promise(&self, size: u64) -> Result<(), Error> {
        self.promised.set(self.promised.get().saturating_add(size));
        self.check(self.promised.get())
    }

    fn take(&self, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.len() as u64;
        self.unpacked.set(self.unpacked.get() + len);
        let blank = blank_end(bytes);
        self.zeros.set(if blank == bytes.len() {
            self.zeros.get() + blank
        } else {
            blank
        });
        if len > 0 {
            self.ends_in_zeros.set(self.zeros.get() >= BLOCK);
        }
        match self.allowed.get().checked_sub(len) {
            Some(left) => self.allowed.set(left),
            None => {
                return Err(self.refuse("it has a header or padding of a size that no tar program writes".to_owned()));
            }
        }
        self.check(self.unpacked.get())
    }

    fn check(&self, bytes: u64) -> Result<(), Error> {
        let packed = self.packed.get().max(1);
        if bytes > MAX_BYTES {
            let limit = MAX_BYTES >> 20;
            return Err(self.refuse(format!(
                "it unpacks to more than {limit} MiB, so it is not a captured machine"
            )));
        }
        if bytes > RATIO_COUNTS_FROM && bytes / packed > MAX_RATIO {
            return Err(self.refuse(format!(
                "{packed} bytes of it unpack to {bytes}: that is a decompression bomb, not a captured machine"
            )));
        }
        Ok(())
    }

    fn refuse(&self, why: String) -> Error {
        let error = Error::other(why.clone());
        *self.why.borrow_mut() = Some(why);
        error
    }
}

/// The number of zeros at the end of a read; more than the last block is not needed.
fn blank_end(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(BLOCK);
    let tail = bytes.get(tail..).unwrap_or_default();
    let words = tail.rchunks_exact(8).take_while(|word| **word == [0; 8]).count() * 8;
    let rest = tail.get(..tail.len() - words).unwrap_or_default();
    words + rest.iter().rev().take_while(|&&byte| byte == 0).count()
}

struct CompressedInput {
    inner: File,
    meter: Rc<Meter>,
}

impl Read for CompressedInput {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let read = self.inner.read(buffer)?;
        self.meter.packed.set(self.meter.packed.get() + read as u64);
        Ok(read)
    }
}

struct DecompressedInput {
    /// Tar reads headers of 512 bytes; a decoder is called for larger pieces.
    inner: BufReader<Box<dyn Read>>,
    meter: Rc<Meter>,
}

impl Read for DecompressedInput {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let read = self.inner.read(buffer)?;
        self.meter.take(buffer.get(..read).unwrap_or_default())?;
        Ok(read)
    }
}
