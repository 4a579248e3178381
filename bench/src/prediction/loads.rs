//! Disturbances of known kinds at fixed rates, which do not depend on the isolation: the loads of `study` do less work when
//! they lose a CPU, and then a prediction for the same load cannot be checked. Those that are tasks run on the CPU of the study
//! until a partition moves them; the others run beside it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A disturbance.
pub struct Disturbance {
    /// Its name.
    pub name: &'static str,
    /// How often it does its work.
    period: Duration,
    /// What it does there. `None` is no disturbance.
    kind: Option<Kind>,
}

/// The kinds of work.
enum Kind {
    /// A task on the CPU of the study, which takes this much time.
    Task(Duration),
    /// Work beside it, which this function prepares.
    Beside(fn(&LoadPlace) -> io::Result<Work>),
}

/// Where a disturbance works.
pub struct LoadPlace<'a> {
    /// The CPU of the study.
    pub cpu: usize,
    /// A directory on a disk.
    pub folder: &'a Path,
}

/// What is done once in each period.
type Work = Box<dyn FnMut() -> io::Result<()> + Send>;

/// The disturbances. Ticks are part of each.
pub const DISTURBANCES: &[Disturbance] = &[
    Disturbance {
        name: "idle",
        period: Duration::ZERO,
        kind: None,
    },
    // 50 ms of each second.
    Disturbance {
        name: "tasks",
        period: Duration::from_millis(10),
        kind: Some(Kind::Task(Duration::from_micros(500))),
    },
    Disturbance {
        name: "timers",
        period: Duration::from_millis(2),
        kind: Some(Kind::Task(Duration::ZERO)),
    },
    Disturbance {
        name: "interrupts",
        period: Duration::from_millis(4),
        kind: Some(Kind::Beside(disk_reads)),
    },
    Disturbance {
        name: "unbound_work",
        period: Duration::from_millis(50),
        kind: Some(Kind::Beside(synchronous_writes)),
    },
    Disturbance {
        name: "ipis",
        period: Duration::from_millis(10),
        kind: Some(Kind::Beside(cross_calls)),
    },
];

/// A disturbance that runs until it is ended.
pub struct RunningDisturbance {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Disturbance {
    /// Starts it.
    ///
    /// # Errors
    /// Its work is impossible on this machine.
    pub fn start(&self, place: &LoadPlace) -> io::Result<RunningDisturbance> {
        let stop = Arc::new(AtomicBool::new(false));
        let work = match &self.kind {
            None => None,
            Some(Kind::Task(busy)) => Some((LoadCpus::Only(place.cpu), on_cpu(*busy))),
            Some(Kind::Beside(work)) => Some((LoadCpus::Beside(place.cpu), work(place)?)),
        };
        let thread = work.map(|(cpus, work)| {
            let (stop, period) = (Arc::clone(&stop), self.period);
            std::thread::spawn(move || {
                cpus.enter()?;
                repeat(work, &stop, period)
            })
        });
        Ok(RunningDisturbance { stop, thread })
    }
}

impl RunningDisturbance {
    /// Ends it.
    ///
    /// # Errors
    /// The work failed.
    pub fn end(self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.map(JoinHandle::join) {
            None => Ok(()),
            Some(ended) => ended.unwrap_or_else(|_| Err(io::Error::other("the thread panicked"))),
        }
    }
}

fn repeat(mut work: Work, stop: &AtomicBool, period: Duration) -> io::Result<()> {
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        work()?;
        // A late period is left out, so that the rate never rises.
        let now = Instant::now();
        next = (next + period).max(now);
        std::thread::sleep(next - now);
    }
    Ok(())
}

/// Takes this much time of the CPU of the study.
fn on_cpu(busy: Duration) -> Work {
    Box::new(move || {
        let start = thread_time();
        while thread_time().saturating_sub(start) < busy {
            std::hint::spin_loop();
        }
        Ok(())
    })
}

/// The CPU time of this thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to a structure of the right type.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Where this thread may run.
#[derive(Clone, Copy)]
enum LoadCpus {
    /// On this CPU, until it is moved.
    Only(usize),
    /// On all others.
    Beside(usize),
}

impl LoadCpus {
    fn enter(self) -> io::Result<()> {
        // SAFETY: the set is plain data, and the kernel only reads it.
        let result = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            match self {
                LoadCpus::Only(cpu) => libc::CPU_SET(cpu, &mut set),
                LoadCpus::Beside(cpu) => {
                    (0..libc::CPU_SETSIZE as usize).for_each(|other| libc::CPU_SET(other, &mut set));
                    libc::CPU_CLR(cpu, &mut set);
                }
            }
            libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// A block in the alignment that direct reads need.
#[repr(align(4096))]
struct Block([u8; 4096]);

const BLOCKS: u64 = 1_024;

fn disk_reads(place: &LoadPlace) -> io::Result<Work> {
    let path = place.folder.join("disturbance");
    std::fs::write(&path, vec![7; 4_096 * BLOCKS as usize])?;
    File::open(&path)?.sync_all()?;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path)?;
    let mut block = Box::new(Block([0; 4_096]));
    let mut at = 0;
    Ok(Box::new(move || {
        at = (at + 389) % BLOCKS;
        file.read_exact_at(&mut block.0, at * 4_096)
    }))
}

fn synchronous_writes(place: &LoadPlace) -> io::Result<Work> {
    let file = File::create(place.folder.join("disturbance"))?;
    let mut at = 0;
    Ok(Box::new(move || {
        at = (at + 1) % BLOCKS;
        file.write_all_at(&[9; 65_536], at * 65_536)?;
        file.sync_data()
    }))
}

/// Counts a software event of the CPU, and starts and stops it: each is a function call to that CPU
/// (`kernel/events/core.c`, `event_function_call`).
fn cross_calls(place: &LoadPlace) -> io::Result<Work> {
    const SIZE: u32 = 64; // PERF_ATTR_SIZE_VER0
    // type, size, config, sample period and type, read format, flags: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, disabled.
    let mut attributes = [0_u8; SIZE as usize];
    attributes[..4].copy_from_slice(&1_u32.to_ne_bytes());
    attributes[4..8].copy_from_slice(&SIZE.to_ne_bytes());
    attributes[8..16].copy_from_slice(&3_u64.to_ne_bytes());
    attributes[40..48].copy_from_slice(&1_u64.to_ne_bytes());
    // SAFETY: the attributes have the stated size; the descriptor is new and has no other owner.
    let counter = unsafe {
        let descriptor = libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), -1, place.cpu, -1, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor as i32)
    };
    let mut is_on = false;
    Ok(Box::new(move || {
        const ENABLE: libc::c_ulong = 0x2400;
        is_on = !is_on;
        // SAFETY: the request has no argument.
        let result = unsafe { libc::ioctl(counter.as_raw_fd(), (ENABLE + u64::from(!is_on)) as _, 0) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }))
}
