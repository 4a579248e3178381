//! Finds kernel releases in entries of loaders: which entry starts which release, and the error if none does.

use crate::TrialError;
use machine::cmdline::words;

/// Prefixes of kernel file names before the release (`/etc/grub.d/10_linux`, `kernel-install`).
const BEGINNINGS: [&str; 3] = ["vmlinuz-", "vmlinux-", "kernel-"];

/// The release in the path of a kernel image, as `uname -r` will report it: that of `/boot/vmlinuz-RELEASE`, and of
/// `/MACHINE/RELEASE/linux` as `kernel-install` places it. `None` for names without one (Arch's `vmlinuz-linux`).
pub(crate) fn of_image(path: &str) -> Option<&str> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    // Ubuntu's name for it if the firmware checks signatures.
    let name = name.strip_suffix(".efi.signed").unwrap_or(name);
    let release = match name {
        "linux" => above.rsplit('/').next()?,
        name => BEGINNINGS.iter().find_map(|beginning| name.strip_prefix(beginning))?,
    };
    is_release(release).then_some(release)
}

/// Whether a text is a release. It is written into scripts, so characters special to a shell or `sed` are refused.
pub(crate) fn is_release(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".+-_~".contains(letter);
    text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(plain) && !text.contains("rescue")
}

/// Whether a boot line is one for rescue.
pub(crate) fn is_rescue_line(line: &str) -> bool {
    words(line).any(|word| matches!(word, "single" | "recovery" | "rescue" | "systemd.unit=rescue.target"))
}

/// The first of these that starts a release.
///
/// # Errors
/// [`TrialError::NoKernel`], with the available releases.
pub(crate) fn choose<T>(
    loader: &str,
    release: &str,
    found: impl IntoIterator<Item = (String, T)>,
) -> Result<T, TrialError> {
    let mut there: Vec<String> = Vec::new();
    for (known, what) in found {
        if known == release {
            return Ok(what);
        }
        if !there.contains(&known) {
            there.push(known);
        }
    }
    Err(TrialError::NoKernel {
        loader: loader.to_owned(),
        release: release.to_owned(),
        there: match there.is_empty() {
            true => "none whose name contains its release".to_owned(),
            false => there.join(", "),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_found_in_the_image_name_or_its_directory() {
        for (path, release) in [
            ("/boot/vmlinuz-6.1.0-30-amd64", Some("6.1.0-30-amd64")),
            ("/vmlinuz-6.11.4-301.fc41.x86_64", Some("6.11.4-301.fc41.x86_64")),
            ("/0f1e/6.1.0-18-rt-amd64/linux", Some("6.1.0-18-rt-amd64")),
            ("/boot/vmlinux-6.12.117+deb13~1", Some("6.12.117+deb13~1")),
            ("/vmlinuz-6.8.0-49-generic.efi.signed", Some("6.8.0-49-generic")),
            ("/vmlinuz-linux", None),
            ("/vmlinuz", None),
            ("/linux", None),
            ("/boot/memtest86+x64.bin", None),
            ("/vmlinuz-0-rescue-0f1e", None),
            ("/boot/vmlinuz-6.1'; reboot", None),
        ] {
            assert_eq!(of_image(path), release, "{path}");
        }
    }
}
