//! Reads a disk. Completions arrive on the measured CPU, because the reading thread runs there (`rq_affinity` 2).

use super::counted::{SOFTIRQS, count as counted, each_counted, wait_until};
use super::setting::ChangedFile;
use super::{Disturbance, InjectionSite, ProbePolicy, place_thread};
use lab::random::Random;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::fs::File;
use std::io::Error;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "block",
    about: "a FIFO thread there reads a disk past the cache, rq_affinity 2: BLOCK softirq",
    probe: ProbePolicy::Other,
    possible,
    expected: ExpectedBlame {
        classes: &["soft_block"],
        name: &["BLOCK"],
        // An interrupt raises it on behalf of the reader.
        culprit: ExpectedCulprit::Injector,
        callsite: &[],
        reporting_events: &["block/block_rq_issue"],
    },
    inject,
};

/// A readable file or device, and the settings of its disk.
struct DiskSource {
    file: File,
    disk: PathBuf,
}

/// Disks of a guest that no other process reads.
const DISKS: &[&str] = &["vda", "sda"];

/// This program's own file, if it is on a disk, otherwise a whole disk.
fn source() -> Result<DiskSource, String> {
    let itself = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let device = std::fs::metadata(&itself).map_or(0, |metadata| metadata.dev());
    let of_itself = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    let disks = DISKS.iter().map(|name| {
        (
            PathBuf::from(format!("/dev/{name}")),
            PathBuf::from(format!("/sys/block/{name}")),
        )
    });
    for (path, disk) in std::iter::once((itself, PathBuf::from(of_itself))).chain(disks) {
        // Disks with several queues complete in the interrupt of the CPU's own queue.
        let queues = std::fs::read_dir(disk.join("mq")).map_or(0, |queues| queues.flatten().count());
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_DIRECT);
        if let (1, Ok(file)) = (queues, options.open(&path)) {
            return Ok(DiskSource { file, disk });
        }
    }
    Err("no disk with one queue for all CPUs that may be read past the cache".to_owned())
}

/// Where interrupts are threaded, each request completes on the CPU of the interrupt: the kernel sends no completion to
/// another CPU (`blk_mq_complete_need_ipi`).
fn possible(place: &InjectionSite) -> Result<(), String> {
    let has = |path: &str, word: &str| -> Result<bool, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        Ok(text.split_whitespace().any(|other| other == word))
    };
    if has("/proc/sys/kernel/version", "PREEMPT_RT")? || has("/proc/cmdline", "threadirqs")? {
        return Err("this kernel handles interrupts in threads, and then completes a read nowhere else".to_owned());
    }
    sent_away(place, &source()?.disk).map(drop)
}

/// A buffer with the size and alignment that direct reads need.
#[repr(align(4096))]
struct AlignedBlock([u8; BLOCK]);
const BLOCK: usize = 4_096;
/// Reads at most this many blocks from the start, or as many as exist: this program's file may be smaller, and a read
/// beyond its end does not reach the disk.
const BLOCKS: u64 = 256;

fn blocks(file: &File) -> Result<u64, String> {
    let metadata = file.metadata().map_err(|error| format!("this program: {error}"))?;
    let whole = metadata.len() / BLOCK as u64;
    match metadata.is_file() {
        true if whole == 0 => Err(format!("this program is smaller than {BLOCK} bytes")),
        true => Ok(whole.min(BLOCKS)),
        false => Ok(BLOCKS),
    }
}

/// Moves the disk's interrupts from the measured CPU to the other one. An interrupt on the measured CPU would complete
/// the read directly, without a softirq.
fn sent_away(place: &InjectionSite, disk: &Path) -> Result<Vec<ChangedFile>, String> {
    let link = disk.join("device");
    let device = link
        .canonicalize()
        .map_err(|error| format!("{}: {error}", link.display()))?;
    let above = device.ancestors().map(|device| device.join("msi_irqs"));
    // A disk without MSI has a single legacy interrupt, whose CPU does not change.
    let Some(interrupts) = above.filter_map(|folder| std::fs::read_dir(folder).ok()).next() else {
        return Ok(Vec::new());
    };
    let measured = place.measured.to_string();
    let come_here = interrupts.flatten().filter_map(|entry| {
        let interrupt = format!("/proc/irq/{}", entry.file_name().to_str()?);
        let at = std::fs::read_to_string(format!("{interrupt}/effective_affinity_list")).ok()?;
        (at.trim() == measured).then_some(interrupt)
    });
    let moved = |interrupt: String| {
        ChangedFile::replace(&format!("{interrupt}/smp_affinity_list"), &place.other.to_string()).map_err(|why| {
            format!("the disk's only interrupt comes to the measured CPU, which completes reads in it: {why}")
        })
    };
    come_here.map(moved).collect()
}

fn inject(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let DiskSource { file, disk } = source()?;
    let _here = ChangedFile::replace(&disk.join("queue/rq_affinity").to_string_lossy(), "2")?;
    let blocks = blocks(&file)?;
    let _elsewhere = sent_away(place, &disk)?;
    place_thread(DISTURBANCE.name, place.measured, "fifo:60")?;
    let measured = place.measured;
    let mut block = Box::new(AlignedBlock([0; BLOCK]));
    let mut random = Random::new(place.random.draw());
    // Whether a read completed in the softirq on the measured CPU.
    let mut ends_there = || {
        let before = counted(SOFTIRQS, "BLOCK", measured)?;
        let at = random.draw() % blocks * BLOCK as u64;
        // SAFETY: the buffer has the given length and outlives the call.
        let read = unsafe { libc::pread(file.as_raw_fd(), block.0.as_mut_ptr().cast(), BLOCK, at as libc::off_t) };
        match read {
            -1 => Err(format!("a read of the disk: {}", Error::last_os_error())),
            read if usize::try_from(read) == Ok(BLOCK) => Ok(counted(SOFTIRQS, "BLOCK", measured)? > before),
            read => Err(format!("a read of the disk at {at} gave {read} bytes")),
        }
    };
    // The interrupt moves only the next time it fires.
    wait_until("a read of the disk that ends in a softirq there", &mut ends_there)?;
    each_counted((SOFTIRQS, "BLOCK"), measured, || {
        place.perform_repeatedly(count, || match ends_there()? {
            true => Ok(()),
            false => Err("a read of the disk did not end in a softirq there".to_owned()),
        })
    })
}
