//! Builds the command lines of QEMU.
//!
//! A guest has two serial ports, for which every kernel has a built-in driver: its console, and the port for frames. The port
//! for frames is the standard output of QEMU.

use std::ffi::OsString;
use std::path::Path;

/// The program.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// The device of the port for frames in the guest.
pub const PORT: &str = "/dev/ttyS1";

/// Maximum number of CPUs of a guest: the limit of `-M q35`.
pub const MOST_CPUS: u32 = 255;

/// How the guest's processor is provided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// By the machine's own processor.
    Kvm,
    /// By emulation: actions and counts are real, times are meaningless.
    Tcg,
}

impl Accelerator {
    /// QEMU's name for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }

    /// QEMU's arguments for it, on x86.
    #[must_use]
    pub fn arguments(self) -> [&'static str; 4] {
        match self {
            Accelerator::Kvm => ["-accel", "kvm", "-cpu", "host"],
            // With several threads the translator races with kernels that patch their own text (`Oops: int3`).
            Accelerator::Tcg => ["-accel", "tcg,thread=single", "-cpu", "max,vendor=GenuineIntel"],
        }
    }
}

/// The size of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestSize {
    /// CPUs: 1 to [`MOST_CPUS`], cores of one package.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
}

/// The files of a guest.
#[derive(Clone, Copy, Debug)]
pub struct GuestFiles<'a> {
    /// The kernel's image.
    pub kernel: &'a Path,
    /// The initramfs.
    pub initramfs: &'a Path,
    /// The file for its console output.
    pub console: &'a Path,
}

/// The command that starts a guest. QEMU exits where the guest would reboot.
#[must_use]
pub fn start(accelerator: Accelerator, sizes: GuestSize, files: &GuestFiles, line: &str) -> Vec<OsString> {
    let mut words = sized(accelerator, sizes);
    let mut option = |name: &str, value: OsString| words.extend([OsString::from(name), value]);
    let of_file = |what: &str, path: &Path| {
        let mut word = OsString::from(what);
        // A comma ends a value; two commas are a literal one.
        word.push(path.to_string_lossy().replace(',', ",,"));
        word
    };
    option("-chardev", of_file("file,id=console,path=", files.console));
    option("-serial", "chardev:console".into());
    option("-chardev", "stdio,id=frames,signal=off".into());
    option("-serial", "chardev:frames".into());
    option("-kernel", files.kernel.into());
    option("-initrd", files.initramfs.into());
    option("-append", line.into());
    words.push("-no-reboot".into());
    words
}

/// The command that checks whether such a guest can start: QEMU quits before its first instruction. It reads [`QUIT`].
#[must_use]
pub fn trial(accelerator: Accelerator) -> Vec<OsString> {
    let mut words = machine(accelerator);
    words.extend(["-S", "-monitor", "stdio"].map(OsString::from));
    words
}

/// The command that checks whether a kernel runs at all: its console is the standard output, and it has nothing to do.
#[must_use]
pub fn first_word(accelerator: Accelerator, sizes: GuestSize, kernel: &Path) -> Vec<OsString> {
    let mut words = sized(accelerator, sizes);
    words.extend(["-serial", "stdio", "-no-reboot", "-append"].map(OsString::from));
    words.push(line(accelerator, &[]).into());
    words.extend([OsString::from("-kernel"), kernel.into()]);
    words
}

/// The input that ends a [`trial`], with status 0 where it could start.
pub const QUIT: &[u8] = b"quit\n";

/// The kernel's command line: our words, then those of the study.
#[must_use]
pub fn line(accelerator: Accelerator, words: &[String]) -> String {
    let mut line = vec!["console=ttyS0", "panic=-1", "oops=panic"];
    if accelerator == Accelerator::Tcg {
        // Some kernels compare the emulated clock with one that stops while the host is busy, and then disable it.
        line.push("tsc=reliable");
    }
    line.extend(words.iter().map(String::as_str));
    line.join(" ")
}

fn sized(accelerator: Accelerator, GuestSize { cpus, memory_mib }: GuestSize) -> Vec<OsString> {
    let mut words = machine(accelerator);
    let sizes = [
        "-smp".to_owned(),
        format!("{cpus},sockets=1,cores={cpus}"),
        "-m".to_owned(),
        format!("{memory_mib}M"),
    ];
    words.extend(sizes.map(OsString::from));
    words
}

fn machine(accelerator: Accelerator) -> Vec<OsString> {
    let fixed = ["-M", "q35", "-display", "none", "-nodefaults", "-no-user-config"];
    let all = fixed.into_iter().chain(accelerator.arguments());
    all.map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_has_its_files_boot_line_and_two_ports() {
        let files = GuestFiles {
            kernel: Path::new("/boot/vmlinuz"),
            initramfs: Path::new("/tmp/i"),
            console: Path::new("/tmp/a,b"),
        };
        let sizes = GuestSize {
            cpus: 4,
            memory_mib: 512,
        };
        let line = line(Accelerator::Tcg, &["isolcpus=3".to_owned()]);
        let words = start(Accelerator::Tcg, sizes, &files, &line);
        let text: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let text = text.join(" ");
        for part in [
            "-accel tcg,thread=single",
            "-smp 4,sockets=1,cores=4 -m 512M",
            "-chardev file,id=console,path=/tmp/a,,b -serial chardev:console",
            "-chardev stdio,id=frames,signal=off -serial chardev:frames",
            "-append console=ttyS0 panic=-1 oops=panic tsc=reliable isolcpus=3 -no-reboot",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let kvm = super::line(Accelerator::Kvm, &[]);
        assert_eq!(kvm, "console=ttyS0 panic=-1 oops=panic");
    }
}
