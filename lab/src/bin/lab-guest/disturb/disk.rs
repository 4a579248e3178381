//! Reads of a disk whose completions come to the measured CPU, because the thread that reads stands there (`rq_affinity` 2).

use super::counted::{SOFTIRQS, count as counted, each_counted};
use super::setting::Setting;
use super::{Disturbance, Place, Probe, stand};
use lab::truth::{Expected, Injected, Who};
use std::fs::File;
use std::io::Error;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

pub(super) const DISTURBANCE: Disturbance = Disturbance {
    name: "block",
    about: "a FIFO thread there reads a disk past the cache, rq_affinity 2: BLOCK softirq",
    probe: Probe::Other,
    possible,
    expected: Expected {
        classes: &["soft_block"],
        name: &["BLOCK"],
        // An interrupt raises it on behalf of who reads.
        culprit: Who::Injector,
        callsite: &[],
        told_by: &["block/block_rq_issue"],
    },
    inject,
};

/// Something on a disk that may be read, and that disk's settings.
struct Source {
    file: File,
    queue: PathBuf,
}

/// Disks of a guest, of which nobody else reads.
const DISKS: &[&str] = &["vda", "sda"];

/// This program itself, where it lies on a disk, else a whole disk.
fn source() -> Result<Source, String> {
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
        // Those with more queues complete in the interrupt of the CPU's own.
        let queues = std::fs::read_dir(disk.join("mq")).map_or(0, |queues| queues.flatten().count());
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_DIRECT);
        if let (1, Ok(file)) = (queues, options.open(&path)) {
            return Ok(Source {
                file,
                queue: disk.join("queue/rq_affinity"),
            });
        }
    }
    Err("no disk with one queue for all CPUs that may be read past the cache".to_owned())
}

/// The kernel sends no completion to another CPU where interrupts are handled in threads (`blk_mq_complete_need_ipi`): each
/// ends where the interrupt was.
fn possible(_: &Place) -> Result<(), String> {
    let has = |path: &str, word: &str| -> Result<bool, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        Ok(text.split_whitespace().any(|other| other == word))
    };
    if has("/proc/sys/kernel/version", "PREEMPT_RT")? || has("/proc/cmdline", "threadirqs")? {
        return Err(
            "this kernel handles interrupts in threads, and then completes a read nowhere else".to_owned(),
        );
    }
    source().map(drop)
}

/// A block of the disk, as large and as aligned as reading past the cache wants it.
#[repr(align(4096))]
struct Block([u8; BLOCK]);
const BLOCK: usize = 4_096;
/// Blocks from the beginning that are read; every disk has them, and this program, too.
const BLOCKS: u64 = 256;

fn inject(place: &mut Place, count: usize) -> Result<Vec<Injected>, String> {
    let Source { file, queue } = source()?;
    let _here = Setting::put(&queue.to_string_lossy(), "2")?;
    stand(DISTURBANCE.name, place.measured, "fifo:60")?;
    let measured = place.measured;
    let mut block = Box::new(Block([0; BLOCK]));
    let mut places: Vec<u64> = (0..count).map(|_| place.random.draw() % BLOCKS).collect();
    each_counted((SOFTIRQS, "BLOCK"), measured, || {
        place.acts(count, || {
            let before = counted(SOFTIRQS, "BLOCK", measured)?;
            let at = places.pop().unwrap_or(0) * BLOCK as u64;
            // SAFETY: the buffer is as long as said and outlives the call.
            let read = unsafe {
                libc::pread(
                    file.as_raw_fd(),
                    block.0.as_mut_ptr().cast(),
                    BLOCK,
                    at as libc::off_t,
                )
            };
            match read {
                -1 => Err(format!("a read of the disk: {}", Error::last_os_error())),
                _ if counted(SOFTIRQS, "BLOCK", measured)? == before => {
                    Err("a read of the disk did not end in a softirq there".to_owned())
                }
                _ => Ok(()),
            }
        })
    })
}
