//! Findings about conditions that limit the meaning of a measurement.

use crate::Lane;
use crate::result::ResultMoment;
use crate::{
    BreakSample, Clock, CounterInfo, Environment, GapLabel, IdleStates, MeasureRequest, MeasurementKind, Note,
    NoteLevel, SystemCalls, ThreadResult, counter, rights,
};
use NoteLevel::{Error, Info, Warning};
use machine::{CpuId, CpuSet, Nanos, Policy};
use root::Root;

/// Builds a note; its texts are complete sentences.
pub fn note(level: NoteLevel, id: &str, subject: impl ToString, message: String, fix: &str) -> Note {
    Note {
        id: id.to_owned(),
        level,
        subject: subject.to_string(),
        message,
        fix: fix.to_owned(),
    }
}

fn os_text(errno: i32) -> String {
    std::io::Error::from_raw_os_error(errno).to_string()
}

/// A result that does not cover the planned time, because it is intermediate or the run was stopped.
pub(crate) fn about_end(moment: ResultMoment, stopped_after_ns: Option<u64>) -> Option<Note> {
    match (moment, stopped_after_ns) {
        (ResultMoment::Passing, _) => Some(note(
            Warning,
            "still_measuring",
            "measurement",
            "This was written during the measurement; if no later result replaces it, the measurement was killed."
                .to_owned(),
            "measure again for the whole time, and for values that are known only at the end",
        )),
        (ResultMoment::End, Some(after)) => Some(note(
            Info,
            "interrupted",
            "measurement",
            format!("It was stopped after {}.", Nanos(after)),
            "",
        )),
        (ResultMoment::End, None) => None,
    }
}

/// A sampler process that died early.
pub(crate) fn early_exit_note(how: &str, system_calls: SystemCalls) -> Note {
    note(
        Error,
        "sampler_died",
        "sampler process",
        format!("The sampler process ended early ({how}). The result contains what it had recorded until then."),
        match system_calls {
            SystemCalls::Trusted => "look for the out-of-memory killer in the kernel log, and measure again",
            SystemCalls::Enforced => {
                "signal 31 comes from the system call filter: a clock that needs a system call, or a bug in quietcore"
            }
        },
    )
}

/// A sampler that had to be killed.
pub(crate) fn about_overdue() -> Note {
    note(
        Error,
        "sampler_overdue",
        "sampler process",
        "A sampler did not finish in time and was killed: something kept it off the CPU.".to_owned(),
        "look for real-time tasks on the measured CPUs, or for a stopped process",
    )
}

/// A sample above the limit that ended the measurement.
pub(crate) fn about_break(broke: Option<BreakSample>) -> Option<Note> {
    let broke = broke?;
    let (what, late) = match broke.kind {
        MeasurementKind::Noise => ("A gap took", ""),
        MeasurementKind::Latency | MeasurementKind::All => ("A wake-up came", " late"),
    };
    let message = format!(
        "{what} {}{late}: the limit of {} ended the measurement.",
        Nanos(broke.value_ns),
        Nanos(broke.limit_ns)
    );
    Some(note(Info, "threshold_hit", format!("cpu{}", broke.cpu), message, ""))
}

/// Measured CPUs that went offline.
pub(crate) fn about_offline(offline_cpus: &CpuSet) -> Note {
    note(
        Error,
        "cpu_went_offline",
        format!("cpus {offline_cpus}"),
        format!(
            "CPU {offline_cpus} went offline during the measurement, which ended it. The last samples may come from \
             another CPU."
        ),
        "bring it online again, and measure again",
    )
}

/// Findings about the machine.
pub(crate) fn about_machine(
    environment: &Environment,
    kind: MeasurementKind,
    counter: counter::CounterSource,
) -> Vec<Note> {
    let mut notes = Vec::new();
    if environment.emulated {
        notes.push(note(
            Warning,
            "emulated",
            "machine",
            "The processor is emulated in software: counts are valid, times are not.".to_owned(),
            "measure on the real machine",
        ));
    }
    let clocksource = environment.clocksource.as_deref();
    if !clocksource.is_some_and(counter::readable_in_user_space) {
        notes.push(note(
            Warning,
            "clock_needs_system_call",
            clocksource.unwrap_or("unknown clock source"),
            "Reading this clock may need a system call, which is part of every sample and of every loop.".to_owned(),
            "see `current_clocksource`; `tsc` or `arch_sys_counter` can be read without a system call",
        ));
    }
    if kind != MeasurementKind::Latency && counter == counter::CounterSource::Monotonic {
        notes.push(note(
            Info,
            "counter_is_clock",
            counter.name(),
            "There is no reliable counter here, so the loop reads CLOCK_MONOTONIC and is slower.".to_owned(),
            "none needed: times are right, but gaps near the threshold may hide in a longer loop",
        ));
    }
    notes
}

/// A counter with an offset from the others: times of two CPUs cannot be compared.
pub(crate) fn about_counter(cpu: CpuId, counter: &CounterInfo) -> Option<Note> {
    /// A larger offset changes the apparent order of events on two CPUs.
    const APART_NS: u64 = 1_000;
    let offset = counter.offset?;
    let certain = offset.offset_ns.unsigned_abs().saturating_sub(offset.uncertainty_ns);
    (certain > APART_NS).then(|| {
        let way = if offset.offset_ns < 0 { "behind" } else { "ahead of" };
        note(
            Warning,
            "counters_apart",
            format!("cpu{cpu}"),
            format!(
                "Its counter is {} {way} that of CPU {}, +-{}: times of these CPUs cannot be compared.",
                Nanos(offset.offset_ns.unsigned_abs()),
                offset.against,
                Nanos(offset.uncertainty_ns)
            ),
            "lengths of gaps are right; to compare times across CPUs, look for a BIOS update",
        )
    })
}

/// Findings about the sampler's memory.
pub(crate) fn about_memory(locked: i32) -> Option<Note> {
    (locked != 1).then(|| {
        note(
            Warning,
            "memory_not_locked",
            "mlockall",
            match (locked, rights::locked_memory()) {
                (0, _) => "Memory was not locked.".to_owned(),
                (_, Some(limit)) if matches!(-locked, libc::ENOMEM | libc::EPERM) => format!(
                    "Memory could not be locked: without CAP_IPC_LOCK it is limited to {} KiB (RLIMIT_MEMLOCK); page faults \
                     may disturb the samplers.",
                    limit / 1024
                ),
                (errno, _) => format!(
                    "Memory could not be locked ({}); page faults may disturb the samplers.",
                    os_text(-errno)
                ),
            },
            "run as root, or `ulimit -l unlimited` before it; if that is refused, put `USER - memlock unlimited` into \
             /etc/security/limits.conf and log in again",
        )
    })
}

/// Findings about the request for idle states.
pub(crate) fn about_idle(requested: IdleStates, refused: Option<i32>) -> Option<Note> {
    let errno = refused.filter(|_| requested == IdleStates::Hold)?;
    Some(note(
        Info,
        "idle_states_not_held",
        root::latency::DEVICE,
        format!(
            "CPUs may enter deep idle states during the measurement: {}.",
            os_text(errno)
        ),
        "run as root; a kernel or container without this device cannot prevent it",
    ))
}

/// Findings about one thread's policy.
pub(crate) fn about_policy(lane: &Lane, result: &ThreadResult, errno: i32, root: &Root) -> Option<Note> {
    (errno != 0).then(|| {
        let (why, fix) = rights::about_refused_policy(lane, errno, root);
        note(
            Warning,
            "policy_refused",
            format!("cpu{}", result.cpu),
            format!(
                "{:?} {} was refused ({why}); the sampler ran as an ordinary task.",
                lane.policy, lane.priority,
            ),
            &fix,
        )
    })
}

/// Findings about the quality of one thread's numbers.
pub(crate) fn about_thread(result: &ThreadResult, dropped: u64) -> Vec<Note> {
    let mut notes = about_own_work(result, dropped);
    let cpu = format!("cpu{}", result.cpu);
    if dropped > 0 {
        let message = format!("{dropped} samples were dropped because the collector was late; they count as missed.");
        let fix = "use less load on the other CPUs, or a higher threshold";
        notes.push(note(Warning, "samples_dropped", &cpu, message, fix));
    }
    if let Some(early) = &result.early {
        let message = format!(
            "{} wake-ups were early, by at most {}, and count as 0 ns in the histogram.",
            early.count,
            Nanos(early.max_ns)
        );
        let fix = match result.clock {
            Some(Clock::Realtime | Clock::Tai) => "this clock can be set; --clock monotonic cannot",
            _ => "do not rely on the clock of this machine",
        };
        notes.push(note(Error, "woken_early", &cpu, message, fix));
    }
    if let (Some(turn), Some(threshold)) = (result.turn_ns_min, result.threshold_ns)
        && turn.saturating_mul(2) > threshold
    {
        let message = format!("One loop takes {}, which is too close to the threshold.", Nanos(turn));
        let fix = "raise the threshold";
        notes.push(note(Warning, "threshold_too_low", &cpu, message, fix));
    }
    notes.extend(about_kernel_gaps(result));
    notes
}

/// Page faults and sleeps of the sampler itself.
fn about_own_work(result: &ThreadResult, dropped: u64) -> Vec<Note> {
    let mut notes = Vec::new();
    let Some(own) = result.own else { return notes };
    let cpu = format!("cpu{}", result.cpu);
    if own.page_faults > 0 {
        let message = format!("The sampler itself had {} page faults.", own.page_faults);
        let fix = "run as root, so that memory can be locked";
        notes.push(note(Warning, "own_page_faults", &cpu, message, fix));
    }
    let sleeps = result.recorded.saturating_add(dropped);
    if result.kind == MeasurementKind::Latency && own.voluntary_switches > sleeps.saturating_add(2) {
        let slept = own.voluntary_switches;
        let message = format!("The sampler slept {slept} times for {sleeps} wake-ups.");
        let fix = "please report this: something else blocked the sampler";
        notes.push(note(Warning, "own_extra_sleeps", &cpu, message, fix));
    }
    notes
}

/// Gaps that the kernel makes in real-time threads.
fn about_kernel_gaps(result: &ThreadResult) -> Option<Note> {
    let labels = result.gaps.iter().flatten().filter_map(|gap| gap.label);
    let labelled = labels.filter(|&label| label != GapLabel::OwnWakeUp);
    let (culprit, fix) = match labelled.clone().next()? {
        GapLabel::RtThrottling => (
            "real-time throttling",
            "measure as an ordinary task, or set kernel.sched_rt_runtime_us -1",
        ),
        GapLabel::OwnWakeUp => ("our own wake-ups", ""),
        GapLabel::FairServer => (
            "the fair server",
            "measure as an ordinary task, or set the fair server's runtime to 0",
        ),
    };
    let message = format!(
        "{} gaps, {} in all, were caused by {culprit}, which stops real-time threads that never sleep. They are not in \
         stolen_ns.",
        labelled.count(),
        Nanos(result.own_ns.unwrap_or(0)),
    );
    Some(note(Info, "own_gaps", format!("cpu{}", result.cpu), message, fix))
}

/// A real-time thread that never sleeps, on a kernel that does not throttle it.
pub(crate) fn about_starvation(request: &MeasureRequest<'_>) -> Option<Note> {
    let spins = |lane: &&Lane| lane.kind == MeasurementKind::Noise && matches!(lane.policy, Policy::Fifo | Policy::Rr);
    let cpus: CpuSet = request.lanes.iter().filter(spins).map(|lane| lane.cpu).collect();
    (!cpus.is_empty()).then(|| {
        note(
            Info,
            "real_time_spinner",
            format!("cpus {cpus}"),
            "A real-time thread spins here: kernel work that is bound to these CPUs waits for it.".to_owned(),
            "measure noise as an ordinary task",
        )
    })
}
