//! The simulated disk of the journal: it dies with the kernel, tears records and fills up.

use super::{RecordPart, SimKernel, io};
use apply::Storage;
use root::RootError;
use std::cell::Cell;
use std::fs;
use std::path::Path;

/// A journal that counts its steps on the simulated kernel.
pub struct SimDisk<'a> {
    pub kernel: &'a SimKernel,
    pub dir: tempfile::TempDir,
    /// The remaining space in bytes.
    pub room: Cell<usize>,
}

impl<'a> SimDisk<'a> {
    pub fn new(kernel: &'a SimKernel) -> SimDisk<'a> {
        SimDisk {
            kernel,
            dir: directory(),
            room: Cell::new(usize::MAX),
        }
    }
}

impl Storage for SimDisk<'_> {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RootError> {
        Ok(fs::read(self.dir.path().join(name)).ok())
    }

    fn append(&self, name: &str, record: &[u8]) -> Result<(), RootError> {
        self.kernel.step(|part| {
            let bytes = match part {
                RecordPart::Whole => record,
                RecordPart::Half => &record[..record.len() / 2],
            };
            if bytes.len() > self.room.get() {
                return Err(io(name, libc::ENOSPC));
            }
            self.room.set(self.room.get() - bytes.len());
            let mut content = fs::read(self.dir.path().join(name)).unwrap_or_default();
            content.extend_from_slice(bytes);
            fs::write(self.dir.path().join(name), content).unwrap();
            Ok(())
        })
    }

    fn replace(&self, name: &str, content: &[u8]) -> Result<(), RootError> {
        self.kernel.step(|part| {
            let place = self.dir.path().join(name);
            match part {
                // The half-written content is in a temporary file.
                RecordPart::Half => {}
                RecordPart::Whole if content.len() > self.room.get() => return Err(io(name, libc::ENOSPC)),
                RecordPart::Whole => {
                    fs::create_dir_all(place.parent().unwrap()).unwrap();
                    fs::write(place, content).unwrap();
                }
            }
            Ok(())
        })
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), RootError> {
        self.kernel.step(|_| {
            let to = self.dir.path().join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::rename(self.dir.path().join(from), to).unwrap();
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> Result<(), RootError> {
        self.kernel.step(|_| {
            fs::remove_file(self.dir.path().join(name)).unwrap();
            Ok(())
        })
    }

    fn names(&self, sub: &str) -> Result<Vec<String>, RootError> {
        let Ok(entries) = fs::read_dir(self.dir.path().join(sub)) else {
            return Ok(Vec::new());
        };
        Ok(entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect())
    }
}

/// In memory if possible, because these tests write hundreds of thousands of small files.
pub fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).unwrap_or_else(|_| tempfile::tempdir().unwrap())
}
