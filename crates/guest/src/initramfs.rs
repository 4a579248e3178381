//! Writes the `newc` cpio format, as the kernel unpacks it (`Documentation/driver-api/early-userspace/buffer-format.rst`).

/// An archive under construction. The owner is root and times are 0, so equal content gives equal bytes.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

impl Archive {
    /// Adds a directory. Its parents must be added first.
    pub fn dir(&mut self, path: &str) {
        self.entry(path, 0o040_755, &[]);
    }

    /// Adds an executable file.
    pub fn program(&mut self, path: &str, content: &[u8]) {
        self.entry(path, 0o100_755, content);
    }

    /// Adds a file that is not executable.
    pub fn file(&mut self, path: &str, content: &[u8]) {
        self.entry(path, 0o100_644, content);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.entry(path, 0o120_777, target.as_bytes());
    }

    /// The finished archive, padded to blocks of 512 bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.pad(512);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.inode += 1;
        let name = path.trim_start_matches('/');
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_size = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        // ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        let fields = [self.inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad(4);
        self.bytes.extend_from_slice(content);
        self.pad(4);
    }

    fn pad(&mut self, to: usize) {
        let length = self.bytes.len().next_multiple_of(to);
        self.bytes.resize(length, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpio_entries_have_the_layout_of_the_kernel() {
        let mut archive = Archive::default();
        archive.dir("bin");
        archive.program("/bin/true", b"12345");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 512, 0);
        let text = String::from_utf8_lossy(&bytes);
        // 110 bytes of header, "bin\0" makes 114, padded to 116: the second header starts there.
        assert_eq!(&text[116..122], "070701");
        assert_eq!(&text[116 + 110..116 + 110 + 8], "bin/true");
        // Header and name end at 116 + 119 = 235, so the content starts at 236.
        assert_eq!(&text[236..241], "12345");
        assert!(text.contains("TRAILER!!!"));
    }
}
