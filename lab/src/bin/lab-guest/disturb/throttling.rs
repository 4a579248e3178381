//! The kernel limits a real-time thread that never sleeps. Before 6.12 it stops the thread for a part of each second.
//! Since then the fair server runs ordinary threads that need the CPU.

use super::preempt::busy;
use super::traced::TracedEvent;
use super::{Disturbance, InjectionSite, ProbePolicy, me, place_thread};
use lab::clock;
use lab::truth::{ExpectedBlame, ExpectedCulprit, Injection};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// The real-time thread is stopped, and no other thread needs the CPU.
pub(super) const THROTTLED: Disturbance = Disturbance {
    name: "rt-throttle",
    about: "a FIFO probe has used up sched_rt_runtime_us of a second: it is stopped and the CPU idles",
    probe: ProbePolicy::Fifo,
    possible: |_| throttles(),
    expected: ExpectedBlame {
        classes: &["preemption"],
        name: &["<idle>"],
        culprit: ExpectedCulprit::Via(&["real-time throttling"]),
        callsite: &[],
        reporting_events: &[],
    },
    inject: throttled,
};

/// An ordinary thread waits until it may run.
pub(super) const ADMISSION: Disturbance = Disturbance {
    name: "fair-server",
    about: "a SCHED_OTHER thread wants the CPU of a FIFO probe for 5 ms: the fair server admits it",
    probe: ProbePolicy::Fifo,
    possible: |place| serves(place.measured),
    expected: ExpectedBlame {
        classes: &["preemption"],
        name: &[],
        culprit: ExpectedCulprit::Itself,
        callsite: &[],
        reporting_events: &[],
    },
    inject: inject_admissions,
};

/// Maximum number of acts. Each takes a second.
const MOST: usize = 4;
/// Seconds to wait for all of them, twice as long as needed.
const SECONDS: usize = 2 * MOST;
const SECOND_NS: u64 = 1_000_000_000;
/// Tolerance: the stop lasts for milliseconds, and the kernel's times are truncated to microseconds.
const CUT_NS: u64 = 2_000;

const SCHED: &str = "/sys/kernel/debug/sched";

/// Whether debugfs, which shows the setting, is available.
fn check_debugfs() -> Result<(), String> {
    lab::tracefs::reach_debugfs()?;
    match Path::new(SCHED).is_dir() {
        true => Ok(()),
        false => Err(format!("{SCHED} is not there, which says what this kernel does")),
    }
}

fn throttles() -> Result<(), String> {
    check_debugfs()?;
    if Path::new(SCHED).join("fair_server").is_dir() {
        return Err("this kernel has a fair server, and stops no real-time thread when no other task waits".to_owned());
    }
    let path = "/proc/sys/kernel/sched_rt_runtime_us";
    match std::fs::read_to_string(path) {
        Ok(text) if text.trim() == "-1" => Err(format!("{path} is -1: real-time threads are not stopped")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

fn serves(cpu: u32) -> Result<(), String> {
    check_debugfs()?;
    let path = format!("{SCHED}/fair_server/cpu{cpu}/runtime");
    let serves = match std::fs::read_to_string(&path) {
        Ok(text) if text.trim() == "0" => Err(format!("{path} is 0: the fair server is switched off")),
        // A locked-down kernel does not allow reading its scheduler switches, and no user can have disabled this one.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(format!("this kernel has no fair server: {path}: {error}")),
    };
    serves.and_then(|()| tried(cpu).map_err(|why| format!("this kernel has a fair server, but {why}")))
}

/// CPU time that the ordinary thread needs.
const NEEDED_NS: u64 = 5_000_000;
/// Time limit for the ordinary thread. It may run once a second, and an emulator is slow.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(10);

/// A thread that occasionally needs a CPU. Waiting for it has a time limit, because it may never run while a real-time
/// thread has the CPU.
struct OrdinaryThread {
    request: Sender<()>,
    reply: Receiver<Result<Injection, String>>,
}

impl OrdinaryThread {
    fn on(cpu: u32) -> OrdinaryThread {
        let (want, wants) = mpsc::channel::<()>();
        let (say, replies) = mpsc::channel();
        std::thread::spawn(move || {
            // The new thread inherits the policy of a real-time thread. With a real-time priority below that of the
            // probe it would never run.
            let result =
                crate::population::set_policy("other:0").and_then(|()| place_thread(ADMISSION.name, cpu, "other:0"));
            if let Err(why) = result {
                return say.send(Err(why));
            }
            wants.into_iter().try_for_each(|()| say.send(Ok(busy(NEEDED_NS))))
        });
        OrdinaryThread {
            request: want,
            reply: replies,
        }
    }

    fn wait_for_admission(&self) -> Result<Injection, String> {
        self.request
            .send(())
            .map_err(|_| "the ordinary thread has ended".to_owned())?;
        self.reply
            .recv_timeout(ADMISSION_TIMEOUT)
            .map_err(|_| format!("nobody let an ordinary thread in for {ADMISSION_TIMEOUT:?}"))?
    }
}

fn inject_admissions(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let ordinary = OrdinaryThread::on(place.measured);
    let mut done = Vec::new();
    for _ in 0..count.min(MOST) {
        place.pause();
        done.push(ordinary.wait_for_admission()?);
    }
    Ok(done)
}

/// Checks without `blame` whether the limit works: a thread like the probe takes the CPU, and an ordinary thread needs
/// it.
fn tried(cpu: u32) -> Result<(), String> {
    let ends = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (takes, taken) = mpsc::channel();
        scope.spawn(move || {
            let result = place_thread("like-probe", cpu, "fifo:80");
            let spins = result.is_ok();
            takes.send(result).ok();
            while spins && !ends.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let result = taken.recv().map_err(|error| error.to_string())?;
        let tried = result.and_then(|()| OrdinaryThread::on(cpu).wait_for_admission());
        ends.store(true, Ordering::Relaxed);
        tried.map(drop)
    })
}

/// The probe itself triggers the stop. A private trace shows its time: while the probe needs the CPU, only the stop
/// makes it idle.
fn throttled(place: &mut InjectionSite, count: usize) -> Result<Vec<Injection>, String> {
    let idles = TracedEvent::start(
        "sched/sched_switch",
        &format!("CPU == {} && next_pid == 0", place.measured),
    )?;
    let mut done = Vec::new();
    for _ in 0..SECONDS {
        clock::sleep_until(clock::now_ns() + SECOND_NS);
        done = idles
            .times("prev_comm=sampler/")?
            .into_iter()
            .map(|begin_raw_ns| Injection {
                begin_raw_ns,
                end_raw_ns: begin_raw_ns + CUT_NS,
                culprit: me(),
            })
            .collect();
        if done.len() >= count.min(MOST) {
            break;
        }
    }
    Ok(done)
}
