//! Everything that can be done to a CPU on purpose, with its true culprit: the one list, and what each of them is.
//!
//! A disturbance is one file and one line in [`ALL`]. Its acts are done by a thread that [`crate::truth`] has made: its name
//! is the disturbance's, it stands on the other CPU and has a real-time priority, so that it acts in time.

mod asking;
mod backtrace;
mod beside;
mod callbacks;
mod counted;
mod cpu_timer;
mod device;
mod disk;
mod hotplug;
mod instance;
mod local_table;
mod membarrier;
mod network;
mod ordinary;
mod per_cpu_work;
mod perf_read;
mod preempt;
mod processor;
mod sampling;
mod set_affinity;
mod setting;
mod signal;
mod sleeping;
mod text_patching;
mod throttling;
mod timers;
mod traced;
mod unbound_work;
mod unmap;
mod vmstat;
mod wake;
mod waking;

pub use membarrier::membarrier;

use lab::truth::{Expected, Injected, Thread};
use lab::{clock, random::Random};

/// All of them, in the order of the published table.
pub(super) const ALL: &[&Disturbance] = &[
    &preempt::DISTURBANCE,
    &wake::DISTURBANCE,
    &perf_read::DISTURBANCE,
    &timers::TIMERFD,
    &timers::STORM,
    &sleeping::NANOSLEEP,
    &sleeping::SOCKET,
    &ordinary::CFS,
    &ordinary::SECOND,
    &unmap::MUNMAP,
    &unmap::MPROTECT,
    &unmap::MADVISE,
    &membarrier::PRIVATE,
    &membarrier::GLOBAL,
    &membarrier::SYNC_CORE,
    &local_table::DISTURBANCE,
    &signal::DISTURBANCE,
    &set_affinity::DISTURBANCE,
    &sampling::SAMPLE,
    &sampling::WAKE_UP,
    &text_patching::STATIC_KEY,
    &text_patching::TRACEPOINT,
    &per_cpu_work::STAT_REFRESH,
    &per_cpu_work::DRAIN,
    &per_cpu_work::RING,
    &waking::RESCHEDULE,
    &waking::STORM,
    &network::LOCAL,
    &network::STEERED,
    &device::DISTURBANCE,
    &callbacks::DISTURBANCE,
    &processor::DISTURBANCE,
    &cpu_timer::DISTURBANCE,
    &disk::DISTURBANCE,
    &throttling::THROTTLED,
    &throttling::LET_IN,
    &asking::FAULT,
    &asking::CALL,
    &vmstat::DISTURBANCE,
    &hotplug::DISTURBANCE,
    &backtrace::DISTURBANCE,
    &unbound_work::DISTURBANCE,
];

/// One kind of disturbance.
pub(super) struct Disturbance {
    /// Name in the table, and of the thread that injects: at most 15 letters.
    pub(super) name: &'static str,
    /// What is done, in a few words.
    pub(super) about: &'static str,
    /// What spins on the measured CPU meanwhile.
    pub(super) probe: Probe,
    /// Why this machine cannot make it.
    pub(super) possible: fn(&Place) -> Result<(), String>,
    /// What `blame` has to say.
    pub(super) expected: Expected,
    /// Does it so many times, and undoes all that it set up, also when it fails. An act that demonstrably did nothing is an error.
    pub(super) inject: fn(&mut Place, usize) -> Result<Vec<Injected>, String>,
}

/// Under which policy the probe of `blame` spins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// SCHED_OTHER, as `blame` has it by default: every real-time thread preempts it.
    Other,
    /// SCHED_FIFO with priority 80, for what only real-time threads suffer from.
    Fifo,
    /// None: this program itself is watched.
    Program,
}

/// Where it is done.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The CPU that is disturbed; the probe spins there.
    pub(super) measured: u32,
    /// Where the injector stands.
    pub(super) other: u32,
    /// All CPUs that are online, these two among them.
    pub(super) online: Vec<u32>,
    /// Whether the machine is there for nothing else: settings of the whole machine may be changed for a while.
    pub(super) alone: bool,
    /// `blame`, while it runs: its process.
    pub(super) blame: Option<i32>,
    /// The shortest time between two acts.
    pub(super) apart_ns: u64,
    /// Distances, and whatever else is left to chance.
    pub(super) random: Random,
}

impl Place {
    /// How long until the next act: once to three times [`Place::apart_ns`].
    pub(super) fn distance_ns(&mut self) -> u64 {
        self.apart_ns + self.random.draw() % (2 * self.apart_ns).max(1)
    }

    /// Sleeps until the next act may come.
    pub(super) fn pause(&mut self) {
        clock::sleep_until(clock::now_ns() + self.distance_ns());
    }

    /// Does something once, by the calling thread, which is to blame. It must be over on the measured CPU when `act` returns,
    /// or a moment later.
    pub(super) fn act(&self, act: impl FnOnce() -> Result<(), String>) -> Result<Injected, String> {
        let culprit = me();
        let begin_raw_ns = clock::raw_ns();
        act()?;
        Ok(Injected {
            begin_raw_ns,
            end_raw_ns: clock::raw_ns(),
            culprit,
        })
    }

    /// Does it so many times, each after a [`Place::pause`].
    pub(super) fn acts(
        &mut self,
        count: usize,
        mut act: impl FnMut() -> Result<(), String>,
    ) -> Result<Vec<Injected>, String> {
        let mut done = Vec::with_capacity(count);
        for _ in 0..count {
            self.pause();
            done.push(self.act(&mut act)?);
        }
        Ok(done)
    }
}

/// The calling thread, where it stands now.
pub(super) fn me() -> Thread {
    let mut name = [0_u8; 16];
    // SAFETY: plain calls; the kernel writes at most 16 bytes of the name.
    let (pid, cpu) = unsafe {
        libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr());
        (libc::gettid(), libc::sched_getcpu())
    };
    let comm = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Thread {
        pid,
        comm: String::from_utf8_lossy(comm).into_owned(),
        cpu: u32::try_from(cpu).unwrap_or(0),
    }
}

/// Gives the calling thread a name, a CPU and a policy (`fifo:95`, `other:0`): for the threads that a disturbance needs
/// beside the one that injects.
pub(super) fn stand(name: &str, cpu: u32, policy: &str) -> Result<(), String> {
    crate::population::call_myself(name);
    crate::population::pin(&[cpu])?;
    crate::population::set_policy(policy)
}

/// [`Disturbance::possible`] of what every machine can make.
pub(super) fn always(_: &Place) -> Result<(), String> {
    Ok(())
}
