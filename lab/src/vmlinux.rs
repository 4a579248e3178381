//! Decompresses a kernel.
//!
//! QEMU starts an ELF kernel at its PVH entry. That saves each guest the seconds that an emulated processor needs to
//! decompress it. The layout of a compressed image: `Documentation/arch/x86/boot.rst`.

use crate::error::LabError;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes `vmlinux` beside a compressed image, unless it exists.
///
/// # Errors
/// [`LabError`] when the image does not follow the boot protocol, or its compression is not supported here.
pub fn beside(image: &Path) -> Result<(), LabError> {
    let to = image.with_file_name("vmlinux");
    if to.is_file() {
        return Ok(());
    }
    let bytes = std::fs::read(image).map_err(LabError::file(image))?;
    let wrong = |why: &str| LabError::Program {
        program: image.display().to_string(),
        why: why.to_owned(),
    };
    let packed = payload(&bytes).ok_or_else(|| wrong("no packed kernel in this image"))?;
    let program = unpacker(packed.data).ok_or_else(|| wrong("neither xz nor zstd has packed this kernel"))?;
    let plain = piped(program, packed.data)?;
    if plain.len() != packed.unpacked {
        return Err(wrong(&format!(
            "{program} gives {} bytes, the image names {}",
            plain.len(),
            packed.unpacked
        )));
    }
    // Guests that start at this time see either the complete file or none.
    let part = image.with_file_name(format!("vmlinux.{}", std::process::id()));
    std::fs::write(&part, plain).map_err(LabError::file(&part))?;
    std::fs::rename(&part, &to).map_err(LabError::file(&to))
}

/// The compressed kernel of an image.
struct Payload<'a> {
    data: &'a [u8],
    /// Its decompressed size, which the kernel build appends to it.
    unpacked: usize,
}

fn payload(image: &[u8]) -> Option<Payload<'_>> {
    let number = |at: usize| -> Option<usize> {
        let field = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(field)).ok()
    };
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    // Zero means four sectors.
    let sectors = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + number(0x248)?;
    let end = start.checked_add(number(0x24c)?)?;
    let size_at = end.checked_sub(4)?;
    Some(Payload {
        data: image.get(start..size_at)?,
        unpacked: number(size_at)?,
    })
}

fn unpacker(data: &[u8]) -> Option<&'static str> {
    match data {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        _ => None,
    }
}

/// The output of `PROGRAM -dc` for these bytes.
fn piped(program: &str, bytes: &[u8]) -> Result<Vec<u8>, LabError> {
    let failed = |why: String| LabError::Program {
        program: program.to_owned(),
        why,
    };
    let mut child = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let input = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // A program that exits early reports the reason itself.
        scope.spawn(move || input.map(|mut input| input.write_all(bytes)));
        child.wait_with_output()
    });
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image of one setup sector whose payload is at its very end.
    fn image(data: &[u8], unpacked: u32) -> Vec<u8> {
        let mut image = vec![0; 5 * 512];
        image[0x1f1] = 4;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        let length = u32::try_from(data.len() + 4).unwrap();
        image[0x24c..0x250].copy_from_slice(&length.to_le_bytes());
        image.extend(data);
        image.extend(unpacked.to_le_bytes());
        image
    }

    #[test]
    fn the_payload_of_an_image_is_found_with_its_size() {
        let whole = image(b"packed", 77);
        let found = payload(&whole).unwrap();
        assert_eq!((found.data, found.unpacked), (&b"packed"[..], 77));
    }

    #[test]
    fn a_file_that_is_no_image_has_no_payload() {
        let whole = image(b"packed", 77);
        assert!(payload(&whole[..whole.len() - 1]).is_none(), "cut off");
        assert!(payload(b"").is_none());
        let mut other = whole;
        other[0x202] = b'x';
        assert!(payload(&other).is_none(), "another signature");
    }
}
