//! Reads numbers at an offset of a file: the registers of a processor (`/dev/cpu/N/msr`).

use crate::error::failed;
use crate::{Backend, Root, RootError};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

impl Root {
    /// The 64-bit number at an offset of a file, in the byte order of x86. `None` if the file does not exist.
    ///
    /// Reading a register of another CPU sends it an interrupt: never do this while it is measured.
    ///
    /// # Errors
    /// [`RootError::Denied`] without permission, [`RootError::Io`] if the processor has no such register (EIO).
    pub fn register(&self, path: &str, offset: u64) -> Result<Option<u64>, RootError> {
        match &self.backend {
            Backend::Live(live) => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let file = match rustix::fs::open(live.locate(path), flags, Mode::empty()) {
                    Ok(file) => file,
                    // ENXIO: the driver exists, the CPU does not.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::NXIO | Errno::NODEV) => return Ok(None),
                    Err(errno) => return Err(failed(path, "open", errno)),
                };
                let mut bytes = [0; 8];
                match rustix::io::pread(&file, &mut bytes, offset) {
                    Ok(8) => Ok(Some(u64::from_le_bytes(bytes))),
                    Ok(_) => Err(failed(path, "read", Errno::IO)),
                    Err(errno) => Err(failed(path, "read", errno)),
                }
            }
            Backend::Folder(_) | Backend::Archive(_) => {
                let Some(content) = self.bytes(path)? else {
                    return Ok(None);
                };
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let bytes = content.get(start..).and_then(|rest| rest.first_chunk::<8>());
                Ok(bytes.map(|bytes| u64::from_le_bytes(*bytes)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Live, Root};

    #[test]
    fn a_register_is_read_at_its_offset_in_any_root() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dev/cpu/3/msr");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::create_dir_all(dir.path().join("proc")).unwrap();
        let mut content = vec![0xff; 0x34];
        content.extend(0x0102_u64.to_le_bytes());
        std::fs::write(&path, &content).unwrap();
        for root in [Root::open(dir.path()).unwrap(), Root::of(&Live::rehearsal(dir.path()))] {
            assert_eq!(root.register("/dev/cpu/3/msr", 0x34).unwrap(), Some(0x0102));
            assert_eq!(root.register("/dev/cpu/4/msr", 0x34).unwrap(), None);
            // A truncated register is not read as 0.
            assert_ne!(root.register("/dev/cpu/3/msr", 0x38).ok().flatten(), Some(0));
        }
    }
}
