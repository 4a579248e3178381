//! Reads the version from a kernel image, so that a file that is not a kernel image is refused before anything starts.

/// Bytes of an image that are read: the setup code is never longer (`Documentation/arch/x86/boot.rst`).
pub const HEAD_BYTES: u64 = 64 << 10;

/// Why a file is not a usable kernel image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Not a kernel image.
    #[error("it is not an x86 bzImage: the mark HdrS is not at 0x202")]
    NoImage,
    /// An image without a version.
    #[error("it is an x86 image without a release")]
    NoRelease,
}

/// The release of an x86 image (`uname -r`), from its first [`HEAD_BYTES`].
///
/// # Errors
/// It is not a kernel image, or its boot protocol is older than 2.02 (Linux 2.4).
pub fn release(head: &[u8]) -> Result<String, ImageError> {
    if head.get(0x202..0x206) != Some(b"HdrS") {
        return Err(ImageError::NoImage);
    }
    let place = head
        .get(0x20e..0x210)
        .and_then(|bytes| <[u8; 2]>::try_from(bytes).ok())
        .map(u16::from_le_bytes)
        .filter(|place| *place > 0)
        .ok_or(ImageError::NoRelease)?;
    let text = head.get(usize::from(place) + 0x200..).ok_or(ImageError::NoRelease)?;
    let end = text
        .iter()
        .position(|byte| matches!(byte, 0 | b' '))
        .ok_or(ImageError::NoRelease)?;
    let release = std::str::from_utf8(text.get(..end).unwrap_or_default()).ok();
    release
        .filter(|release| !release.is_empty() && release.bytes().all(|byte| byte.is_ascii_graphic()))
        .map(str::to_owned)
        .ok_or(ImageError::NoRelease)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(place: u16, version: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&place.to_le_bytes());
        bytes.extend_from_slice(version);
        bytes
    }

    #[test]
    fn the_release_is_read_from_an_image_and_other_files_are_refused() {
        let message = b"6.1.0-56-amd64 (debian-kernel@lists.debian.org) #1 SMP\0";
        assert_eq!(release(&image(0x200, message)).as_deref(), Ok("6.1.0-56-amd64"));
        for (bytes, why) in [
            (Vec::new(), ImageError::NoImage),
            (b"\x7fELF".repeat(0x100), ImageError::NoImage),
            (image(0, message), ImageError::NoRelease),
            (image(u16::MAX, message), ImageError::NoRelease),
            (image(0x200, b"6.1.0"), ImageError::NoRelease),
            (image(0x200, b" \0"), ImageError::NoRelease),
            (image(0x200, b"6.1\x1b[2J \0"), ImageError::NoRelease),
        ] {
            assert_eq!(release(&bytes), Err(why));
        }
    }
}
