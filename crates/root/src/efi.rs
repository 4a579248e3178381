//! Writes EFI variables, which are special files that the kernel protects from an accidental `rm`.

use crate::error::{OnPath, failed};
use crate::{Live, RootError};
use rustix::fs::{IFlags, Mode, OFlags};
use rustix::io::Errno;

/// Nonvolatile, readable by loaders and by the running system (UEFI specification, `SetVariable`).
const ATTRIBUTES: u32 = 0x7;

impl Live {
    /// Sets an EFI variable to a text (UTF-16 with a NUL); `path` is below `/sys/firmware/efi/efivars`.
    ///
    /// # Errors
    /// The errno of the step that failed: `ENOENT` if the machine has no EFI, `EROFS` if it is mounted read-only.
    pub fn set_efi_text(&self, path: &str, text: &str) -> Result<(), RootError> {
        let place = self.locate(path);
        self.allow_change(path)?;
        let mut bytes = ATTRIBUTES.to_le_bytes().to_vec();
        bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(&place, flags, Mode::RUSR | Mode::WUSR).on(path, "open")?;
        // One write is one call of the firmware.
        match rustix::io::write(&file, &bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) => Err(failed(path, "write", Errno::NOSPC)),
            Err(errno) => Err(failed(path, "write", errno)),
        }
    }

    /// Variables that the kernel does not know are immutable by default (`fs/efivarfs/inode.c`,
    /// `efivar_variable_is_removable`).
    fn allow_change(&self, path: &str) -> Result<(), RootError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let Some(file) = rustix::fs::open(self.locate(path), flags, Mode::empty()).if_there(path, "open")? else {
            return Ok(());
        };
        let flags = rustix::fs::ioctl_getflags(&file).on(path, "ask for flags of")?;
        if flags.contains(IFlags::IMMUTABLE) {
            rustix::fs::ioctl_setflags(&file, flags - IFlags::IMMUTABLE).on(path, "take the protection from")?;
        }
        Ok(())
    }
}
