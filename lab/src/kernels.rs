//! Lists the kernels that the lab boots, and finds Debian's newest package of each.
//!
//! No version is fixed: the lab uses the newest package of each series on the mirror.

use crate::unpack::UnpackedKernel;

/// A kernel that scenarios may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabKernel {
    /// The lab's name: the series, with `-rt` for the real-time flavour. `7` is the newest kernel of Debian unstable.
    pub id: &'static str,
    /// The prefix of matching package versions.
    series: &'static str,
    /// Suites of Debian that contain it.
    pub suites: &'static [&'static str],
    /// The suffix of Debian's package names (`amd64`, `rt-amd64`, `arm64`, `armmp`).
    pub flavour: &'static str,
    /// Debian's architecture name.
    pub arch: &'static str,
}

/// 5.10, of Debian 11.
pub const K5_10: LabKernel = x86("5.10", "5.10.", &["bullseye-security"], "amd64");
/// 6.1, of Debian 12.
pub const K6_1: LabKernel = x86("6.1", "6.1.", BOOKWORM, "amd64");
/// 6.1 with the real-time patches.
pub const K6_1_RT: LabKernel = x86("6.1-rt", "6.1.", BOOKWORM, "rt-amd64");
/// 6.12, of Debian 13.
pub const K6_12: LabKernel = x86("6.12", "6.12.", TRIXIE, "amd64");
/// 6.12, real-time.
pub const K6_12_RT: LabKernel = x86("6.12-rt", "6.12.", TRIXIE, "rt-amd64");
/// The newest kernel of Debian unstable.
pub const K7: LabKernel = x86("7", "7.", &["sid"], "amd64");
/// The newest kernel of Debian unstable, real-time.
pub const K7_RT: LabKernel = x86("7-rt", "7.", &["sid"], "rt-amd64");
/// 6.1 for arm64.
pub const ARM64: LabKernel = LabKernel {
    id: "6.1-arm64",
    series: "6.1.",
    suites: BOOKWORM,
    flavour: "arm64",
    arch: "arm64",
};
/// 6.1 for armv7.
pub const ARMHF: LabKernel = LabKernel {
    id: "6.1-armhf",
    series: "6.1.",
    suites: BOOKWORM,
    flavour: "armmp",
    arch: "armhf",
};

/// Every kernel of the lab.
pub const ALL: &[LabKernel] = &[K5_10, K6_1, K6_1_RT, K6_12, K6_12_RT, K7, K7_RT, ARM64, ARMHF];

const BOOKWORM: &[&str] = &["bookworm", "bookworm-security"];
const TRIXIE: &[&str] = &["trixie", "trixie-security"];

const fn x86(
    id: &'static str,
    series: &'static str,
    suites: &'static [&'static str],
    flavour: &'static str,
) -> LabKernel {
    LabKernel {
        id,
        series,
        suites,
        flavour,
        arch: "amd64",
    }
}

/// An unpacked kernel that can be booted.
#[derive(Clone, Debug)]
pub struct BootableKernel {
    /// The kernel's entry in the list.
    pub kernel: LabKernel,
    /// Its `uname -r`.
    pub release: String,
    /// Its image and modules.
    pub unpacked: UnpackedKernel,
}

impl LabKernel {
    /// The newest kernel of this series: its release, and the names of the packages to download.
    ///
    /// Since 7.x `linux-image` is an empty package, and the content is in `linux-binary` and `linux-modules`.
    #[must_use]
    pub fn newest(&self, available: &[String]) -> Option<(String, Vec<String>)> {
        let newest_of = |prefix: &str| {
            let releases = available
                .iter()
                .filter_map(|name| self.release_of(name.strip_prefix(prefix)?));
            releases.max_by_key(|release| version_key(release))
        };
        if let Some(release) = newest_of("linux-binary-") {
            let names = vec![format!("linux-binary-{release}"), format!("linux-modules-{release}")];
            return Some((release, names));
        }
        let release = newest_of("linux-image-")?;
        let names = vec![format!("linux-image-{release}")];
        Some((release, names))
    }

    /// Parses `text` as a release of this series: `6.1.0-56-rt-amd64` is not a release of the flavour `amd64`, and a
    /// meta package (`6.1-amd64`) is not a release at all.
    fn release_of(&self, text: &str) -> Option<String> {
        let version = text.strip_suffix(self.flavour)?.strip_suffix('-')?;
        let abi = version.strip_prefix(self.series)?;
        let is_abi = abi
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".-+deb".contains(&byte));
        (is_abi && abi.starts_with(|first: char| first.is_ascii_digit())).then(|| text.to_owned())
    }
}

/// The numbers of a release, so that 6.12.117 is newer than 6.12.96.
#[must_use]
pub fn version_key(release: &str) -> Vec<u64> {
    release
        .split(|byte: char| !byte.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_newest_package_of_a_series_and_flavour_is_found() {
        let available = names(&[
            "linux-image-6.1-amd64",
            "linux-image-6.1.0-9-amd64",
            "linux-image-6.1.0-56-amd64",
            "linux-image-6.1.0-56-amd64-unsigned",
            "linux-image-6.1.0-57-rt-amd64",
            "linux-image-6.12.117+deb12-amd64",
            "linux-image-6.12.96+deb13-amd64",
        ]);
        let release = |kernel: LabKernel| kernel.newest(&available).map(|(release, _)| release);
        assert_eq!(release(K6_1).as_deref(), Some("6.1.0-56-amd64"));
        assert_eq!(release(K6_1_RT).as_deref(), Some("6.1.0-57-rt-amd64"));
        assert_eq!(release(K6_12).as_deref(), Some("6.12.117+deb12-amd64"));
        assert_eq!(release(K7), None);
    }

    #[test]
    fn split_packages_of_kernel_7_are_preferred_to_the_empty_image() {
        let available = names(&[
            "linux-image-7.2.13+deb14-amd64",
            "linux-binary-7.2.13+deb14-amd64",
            "linux-binary-7.2.13+deb14-rt-amd64",
        ]);
        let (release, packages) = K7.newest(&available).unwrap();
        assert_eq!(release, "7.2.13+deb14-amd64");
        assert_eq!(
            packages,
            ["linux-binary-7.2.13+deb14-amd64", "linux-modules-7.2.13+deb14-amd64"]
        );
    }
}
