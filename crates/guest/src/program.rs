//! Checks whether a program can be the only file of a guest: a loader and libraries would be missing there.

/// Why a program cannot run in a guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// Not an x86-64 program.
    #[error("it is not a program for x86-64")]
    NoProgram,
    /// A dynamically linked program.
    #[error("it is not static: it needs {0}")]
    NotStatic(String),
}

/// `PT_INTERP` of ELF.
const INTERPRETER: u32 = 3;

/// Checks that this is a static program for x86-64 (ELF, System V ABI).
///
/// # Errors
/// Why it is not one.
pub fn check(bytes: &[u8]) -> Result<(), ProgramError> {
    let is_elf64 = bytes.starts_with(b"\x7fELF\x02\x01");
    if !is_elf64 || half(bytes, 18) != Some(62) {
        return Err(ProgramError::NoProgram);
    }
    let (Some(table), Some(size), Some(count)) = (long(bytes, 32), half(bytes, 54), half(bytes, 56)) else {
        return Err(ProgramError::NoProgram);
    };
    for place in 0..usize::from(count) {
        let at = table
            .checked_add(place * usize::from(size))
            .ok_or(ProgramError::NoProgram)?;
        if word(bytes, at).ok_or(ProgramError::NoProgram)? != INTERPRETER {
            continue;
        }
        let name = long(bytes, at + 8)
            .and_then(|start| bytes.get(start..))
            .and_then(|text| text.split(|byte| *byte == 0).next())
            .unwrap_or_default();
        return Err(ProgramError::NotStatic(String::from_utf8_lossy(name).into_owned()));
    }
    Ok(())
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<usize> {
    let value = u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?);
    // Offsets beyond the end are ignored, and sums with them must not overflow, also where a pointer has 32 bits.
    usize::try_from(value).ok().filter(|value| *value <= usize::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(kind: u32) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64 + 56, 0);
        bytes[18] = 62;
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes[72] = 120;
        bytes.extend_from_slice(b"/lib64/ld.so\0");
        bytes
    }

    #[test]
    fn only_static_programs_are_accepted() {
        assert_eq!(check(&elf(1)), Ok(()));
        assert_eq!(
            check(&elf(INTERPRETER)),
            Err(ProgramError::NotStatic("/lib64/ld.so".to_owned()))
        );
        for cut in [0, 5, 18, 40, 66] {
            assert_eq!(check(&elf(1)[..cut]), Err(ProgramError::NoProgram), "{cut}");
        }
        let mut far = elf(1);
        far[32..40].fill(0xff);
        assert_eq!(check(&far), Err(ProgramError::NoProgram));
        assert_eq!(check(b"#!/bin/sh\n"), Err(ProgramError::NoProgram));
    }
}
