//! Stores the bytes of an unpacked archive: in memory while they are few, else in an unnamed temporary file, of which
//! nothing remains however the process ends. The captures of ordinary machines never exceed memory.

use std::fs::File;
use std::io::{Error, Read, Result, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Maximum size in memory: ten times the capture of a machine with 8 CPUs.
const IN_MEMORY: usize = 8 << 20;

/// Bytes written to the file at once.
const PIECE: usize = 1 << 18;

/// A range of bytes in a [`Store`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoreSpan {
    /// The first.
    pub start: u32,
    /// How many.
    pub len: u32,
}

/// An arena that only grows. It can be read only when it is [finished](Store::finish).
#[derive(Default)]
pub(crate) struct Store {
    /// All bytes, or those that are not yet in the file.
    memory: Vec<u8>,
    file: Option<File>,
    /// Bytes in the file.
    filed: u64,
    /// Set if no file can be created, or it could not be written completely.
    no_file: bool,
}

impl Store {
    /// Appends the content of a stream, at most `size` bytes.
    pub(crate) fn append_from(&mut self, stream: &mut impl Read, size: u64) -> Result<StoreSpan> {
        let start = self.filed + self.memory.len() as u64;
        let mut left = size;
        while left > 0 {
            let before = self.memory.len();
            let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            self.memory.resize(before + length, 0);
            let read = stream.read(self.memory.get_mut(before..).unwrap_or_default());
            self.memory.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => break,
                Ok(read) => left -= read as u64,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            self.grown()?;
        }
        Ok(StoreSpan {
            start: u32::try_from(start).map_err(Error::other)?,
            len: u32::try_from(size - left).map_err(Error::other)?,
        })
    }

    fn grown(&mut self) -> Result<()> {
        if self.file.is_none() && !self.no_file && self.memory.len() > IN_MEMORY {
            self.file = nameless();
            self.no_file = self.file.is_none();
        }
        if self.file.is_some() && self.memory.len() >= PIECE {
            self.flush()?;
        }
        Ok(())
    }

    /// Ends the growth.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.memory.shrink_to_fit();
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        match file.write_all(&self.memory) {
            Ok(()) => {
                self.filed += self.memory.len() as u64;
                self.memory.clear();
                Ok(())
            }
            // A full disk: then all of it must be in memory after all.
            Err(_) => self.load_into_memory(),
        }
    }

    fn load_into_memory(&mut self) -> Result<()> {
        self.no_file = true;
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let mut all = vec![0; usize::try_from(self.filed).map_err(Error::other)?];
        file.read_exact_at(&mut all, 0)?;
        all.append(&mut self.memory);
        self.memory = all;
        self.filed = 0;
        Ok(())
    }

    /// Appends the bytes of a span to `out`.
    pub(crate) fn read_into(&self, span: StoreSpan, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        out.resize(before + span.len as usize, 0);
        let room = out.get_mut(before..).unwrap_or_default();
        self.read_at(room, span.start)
    }

    fn read_at(&self, room: &mut [u8], start: u32) -> Result<()> {
        if let Some(file) = &self.file {
            return file.read_exact_at(room, start.into());
        }
        let start = start as usize;
        let found = self.memory.get(start..start + room.len());
        room.copy_from_slice(found.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// The bytes of a span as a stream.
    pub(crate) fn stream(&self, span: StoreSpan) -> Stream<'_> {
        Stream {
            store: self,
            rest: span,
        }
    }
}

/// Reads one span of the store.
pub(crate) struct Stream<'a> {
    store: &'a Store,
    rest: StoreSpan,
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let len = buffer.len().min(self.rest.len as usize);
        let room = buffer.get_mut(..len).unwrap_or_default();
        self.store.read_at(room, self.rest.start)?;
        let read = u32::try_from(len).map_err(Error::other)?;
        self.rest.start += read;
        self.rest.len -= read;
        Ok(len)
    }
}

/// Creates a temporary file, preferably on a disk: `/tmp` is often in memory.
fn nameless() -> Option<File> {
    let requested = std::env::var_os("TMPDIR").map(PathBuf::from);
    let usual = ["/var/tmp", "/tmp"].map(PathBuf::from);
    requested
        .into_iter()
        .chain(usual)
        .find_map(|dir| tempfile::tempfile_in(dir).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(place: usize) -> u8 {
        (place % 251) as u8
    }

    fn append(store: &mut Store, mut bytes: &[u8]) {
        let size = bytes.len() as u64;
        assert_eq!(u64::from(store.append_from(&mut bytes, size).unwrap().len), size);
    }

    fn filled(mut store: Store, bytes: usize) -> Store {
        let content: Vec<u8> = (0..bytes).map(byte).collect();
        for part in content.chunks(70_001) {
            append(&mut store, part);
        }
        store.finish().unwrap();
        assert_eq!(store.filed + store.memory.len() as u64, bytes as u64);
        store
    }

    fn check(store: &Store, bytes: usize) {
        for (start, len) in [(0, 10), (bytes / 2, 100_000), (bytes - 5, 5), (bytes, 0)] {
            let span = StoreSpan {
                start: start as u32,
                len: len as u32,
            };
            let expected: Vec<u8> = (start..start + len).map(byte).collect();
            let (mut whole, mut streamed) = (vec![], vec![]);
            store.read_into(span, &mut whole).unwrap();
            store.stream(span).read_to_end(&mut streamed).unwrap();
            assert!(whole == expected && streamed == expected, "{start} {len}");
        }
        let behind = StoreSpan {
            start: bytes as u32 - 1,
            len: 2,
        };
        assert!(store.read_into(behind, &mut vec![]).is_err());
    }

    #[test]
    fn few_bytes_stay_in_memory() {
        let store = filled(Store::default(), 1 << 20);
        assert!(store.file.is_none() && store.memory.len() == 1 << 20);
        check(&store, 1 << 20);
    }

    #[test]
    fn many_bytes_move_to_a_file() {
        let bytes = IN_MEMORY * 2 + 12_345;
        let store = filled(Store::default(), bytes);
        if store.file.is_none() {
            println!("SKIP: many_bytes_move_to_a_file: no temporary file can be made here");
        } else {
            assert!(store.memory.capacity() < 2 * PIECE, "{}", store.memory.capacity());
        }
        check(&store, bytes);
    }

    #[test]
    fn without_a_usable_file_the_bytes_stay_in_memory() {
        let bytes = IN_MEMORY * 2 + 12_345;
        let none = Store {
            no_file: true,
            ..Store::default()
        };
        check(&filled(none, bytes), bytes);
        // The file exists but cannot be written: it is open for reading only.
        let mut full = Store::default();
        append(&mut full, &(0..100).map(byte).collect::<Vec<u8>>());
        full.file = Some(File::open("/dev/null").unwrap());
        let mut store = full;
        let rest: Vec<u8> = (100..bytes).map(byte).collect();
        rest.chunks(70_001).for_each(|part| append(&mut store, part));
        store.finish().unwrap();
        assert!(store.file.is_none());
        check(&store, bytes);
    }

    #[test]
    fn when_the_disk_fills_up_the_file_is_loaded_into_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes = 3 * PIECE;
        let mut store = Store {
            file: Some(
                File::create_new(&path)
                    .and_then(|_| File::options().read(true).write(true).open(&path))
                    .unwrap(),
            ),
            ..Store::default()
        };
        let content: Vec<u8> = (0..bytes).map(byte).collect();
        let (first, rest) = content.split_at(2 * PIECE);
        append(&mut store, first);
        assert_eq!(store.filed, 2 * PIECE as u64);
        // From here on it can only be read.
        store.file = Some(File::open(&path).unwrap());
        append(&mut store, rest);
        store.finish().unwrap();
        assert!(store.file.is_none() && store.filed == 0);
        check(&store, bytes);
    }
}
