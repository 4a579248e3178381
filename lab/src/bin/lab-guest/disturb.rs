//! Lists every deliberate disturbance of a CPU, with its true culprit.
//!
//! A disturbance is one file and one line in [`ALL`]; an act is one occurrence of it. A thread that [`crate::truth`]
//! creates performs the acts. The thread has the name of the disturbance, runs on the other CPU and has a real-time
//! priority, so that it acts in time.

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
mod own_entries;
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

use lab::truth::{DisturbingThread, ExpectedBlame, Injection};
use lab::{clock, random::Random};

/// All disturbances, in the order of the published table.
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
    &throttling::ADMISSION,
    &own_entries::FAULT,
    &own_entries::CALL,
    &vmstat::DISTURBANCE,
    &hotplug::DISTURBANCE,
    &backtrace::DISTURBANCE,
    &unbound_work::DISTURBANCE,
];

/// One kind of disturbance.
pub(super) struct Disturbance {
    /// Name in the table and of the injecting thread, at most 15 letters.
    pub(super) name: &'static str,
    /// A short description.
    pub(super) about: &'static str,
    /// What spins on the measured CPU.
    pub(super) probe: ProbePolicy,
    /// Returns the reason if this machine cannot produce it.
    pub(super) possible: fn(&InjectionSite) -> Result<(), String>,
    /// What `blame` must report.
    pub(super) expected: ExpectedBlame,
    /// Performs this many acts, and undoes all set-up, even on failure. An act that demonstrably had no effect is an
    /// error.
    pub(super) inject: fn(&mut InjectionSite, usize) -> Result<Vec<Injection>, String>,
}

/// The policy of the probe of `blame`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbePolicy {
    /// SCHED_OTHER, the default of `blame`: every real-time thread preempts it.
    Other,
    /// SCHED_FIFO with priority 80, for disturbances that affect only real-time threads.
    Fifo,
    /// None: this program itself is watched.
    Program,
}

/// Where and when to act.
#[derive(Clone, Debug)]
pub(super) struct InjectionSite {
    /// The CPU that is disturbed; the probe spins there.
    pub(super) measured: u32,
    /// The CPU of the injector.
    pub(super) other: u32,
    /// All online CPUs, including these two.
    pub(super) online: Vec<u32>,
    /// Whether the machine has no other use: machine-wide settings may be changed temporarily.
    pub(super) alone: bool,
    /// The running process of `blame`.
    pub(super) blame: Option<i32>,
    /// Minimum time between two acts.
    pub(super) apart_ns: u64,
    /// Source of random intervals and choices.
    pub(super) random: Random,
}

impl InjectionSite {
    /// Random time until the next act: one to three times [`InjectionSite::apart_ns`].
    pub(super) fn distance_ns(&mut self) -> u64 {
        self.apart_ns + self.random.draw() % (2 * self.apart_ns).max(1)
    }

    /// Sleeps until the time of the next act.
    pub(super) fn pause(&mut self) {
        clock::sleep_until(clock::now_ns() + self.distance_ns());
    }

    /// Performs one act in the calling thread, which is the culprit. The act must end on the measured CPU before `act`
    /// returns, or a moment later.
    pub(super) fn perform(&self, act: impl FnOnce() -> Result<(), String>) -> Result<Injection, String> {
        let culprit = me();
        let begin_raw_ns = clock::raw_ns();
        act()?;
        Ok(Injection {
            begin_raw_ns,
            end_raw_ns: clock::raw_ns(),
            culprit,
        })
    }

    /// Performs this many acts, each after a [`InjectionSite::pause`].
    pub(super) fn perform_repeatedly(
        &mut self,
        count: usize,
        mut act: impl FnMut() -> Result<(), String>,
    ) -> Result<Vec<Injection>, String> {
        let mut done = Vec::with_capacity(count);
        for _ in 0..count {
            self.pause();
            done.push(self.perform(&mut act)?);
        }
        Ok(done)
    }
}

/// The calling thread and its current CPU.
pub(super) fn me() -> DisturbingThread {
    let mut name = [0_u8; 16];
    // SAFETY: plain calls; the kernel writes at most 16 bytes of the name.
    let (pid, cpu) = unsafe {
        libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr());
        (libc::gettid(), libc::sched_getcpu())
    };
    let comm = name.split(|byte| *byte == 0).next().unwrap_or_default();
    DisturbingThread {
        pid,
        comm: String::from_utf8_lossy(comm).into_owned(),
        cpu: u32::try_from(cpu).unwrap_or(0),
    }
}

/// Sets name, CPU and policy (`fifo:95`, `other:0`) of the calling thread. Used by additional threads of a disturbance.
pub(super) fn place_thread(name: &str, cpu: u32, policy: &str) -> Result<(), String> {
    crate::population::call_myself(name);
    crate::population::pin(&[cpu])?;
    crate::population::set_policy(policy)
}

/// [`Disturbance::possible`] for disturbances that every machine can produce.
pub(super) fn always(_: &InjectionSite) -> Result<(), String> {
    Ok(())
}
