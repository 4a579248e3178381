//! Compares what actually arrived on the CPUs during the observation with what was promised.
//!
//! The promise is that no movable device interrupt arrives. The tick stops only if `nohz_full=` names the CPU, and IPIs
//! and softirqs have other causes: these are reported, but break no promise.

mod close;

use super::{IsolationLayer, LayerName};
use crate::{CheckCase, CheckEvidence, CheckFinding, ObservedActivity};
use machine::Machine;
use observe::{Class, CloseActivity, CounterIncrease, CpuActivity};
use plan::{FindingId, Level};
use std::collections::BTreeMap;

pub(super) const LAYER: IsolationLayer = IsolationLayer {
    name: LayerName::Effects,
    what: "ticks, interrupts, IPIs, softirqs, context switches, page faults, idle states and stolen time, counted on each CPU",
    judge,
};

/// A moved interrupt may fire once more: an I/O APIC moves it only then.
const ONCE_MORE: u64 = 1;

fn judge(evidence: &CheckEvidence, case: &CheckCase, found: &mut Vec<CheckFinding>) {
    let ObservedActivity::Seen(activity) = evidence.counters else {
        return;
    };
    let seconds = activity.duration_ns as f64 / 1e9;
    for cpu in activity.cpus.iter().filter(|one| case.cpus.contains(one.cpu)) {
        let window = ObservationWindow { cpu, seconds };
        devices(evidence.machine, case, &window, found);
        found.extend(tick(evidence.machine, &window));
        found.extend(window.sum(FindingId::IPI_ARRIVED, "IPIs", &cpu.interrupts, is_ipi));
        found.extend(softirqs(case, &window));
        found.extend(switches(&window));
        if let Some(close) = &cpu.close {
            close::judge(case, &window, close, found);
        }
        if let Some(steal) = cpu.steal_ns.filter(|steal| *steal > 0) {
            let message = format!("the hypervisor took {:.1} ms of {seconds:.1} s", steal as f64 / 1e6);
            found.push(
                CheckFinding::new(Level::Warning, FindingId::STEAL, window.subject(), message)
                    .fix("pin the virtual CPU to its own host CPU; no setting inside the guest can stop this"),
            );
        }
    }
}

/// Without a domain no CPU balances, except one that idled when it left its domain and has not left `nohz.idle_cpus_mask`
/// since: busy CPUs ask it to, by a function call each time (`nohz_csd_func` in `kernel/sched/core.c`).
fn softirqs(case: &CheckCase, window: &ObservationWindow) -> Option<CheckFinding> {
    let all = &window.cpu.softirqs;
    let found = window.sum(FindingId::SOFTIRQ_RAN, "softirqs", all, |_| true)?;
    let is_requested = all
        .iter()
        .any(|one| one.class == Class::SoftSched && one.count > ONCE_MORE);
    let has_partition = case.isolation.applied.contains("cpuset_partition");
    if !is_requested || !has_partition || case.isolation.intent.balances_inside() {
        return Some(found);
    }
    Some(found.fix(format!(
        "SCHED: busy CPUs ask it to balance load for them, because it was idle when it left the scheduler's domains; \
         `quietcore apply --resize {}` recreates the partition and keeps the CPU busy at that moment",
        case.isolation.intent.arguments()
    )))
}

/// The kernel's most accurate count; without its statistics, the sum over threads that existed throughout.
fn switches(window: &ObservationWindow) -> Option<CheckFinding> {
    let close = window.cpu.close.as_ref();
    let of_threads = |close: &CloseActivity| {
        let counts = close.threads.iter().filter_map(|thread| thread.switches);
        counts.fold(0, u64::saturating_add)
    };
    let (count, what) = match (
        window.cpu.context_switches,
        close.and_then(|close| close.timeslices),
        close,
    ) {
        (Some(count), _, _) => (count, "the scheduler was called"),
        (None, Some(count), _) => (count, "a task was scheduled on the CPU"),
        (None, None, Some(close)) => (of_threads(close), "threads of the partition were switched"),
        (None, None, None) => return None,
    };
    (count > 0).then(|| window.info(FindingId::SWITCHES, &format!("{what} {}", times(count))))
}

/// How often something happened, in words.
fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

/// One CPU and how long it was observed.
pub(super) struct ObservationWindow<'a> {
    cpu: &'a CpuActivity,
    seconds: f64,
}

impl ObservationWindow<'_> {
    fn subject(&self) -> String {
        format!("cpu{}", self.cpu.cpu.0)
    }

    fn info(&self, id: FindingId, what: &str) -> CheckFinding {
        CheckFinding::new(
            Level::Info,
            id,
            self.subject(),
            format!("{what} in {:.1} s", self.seconds),
        )
    }

    /// One line for all counters of a kind, listed by name.
    fn sum(
        &self,
        id: FindingId,
        what: &str,
        counted: &[CounterIncrease],
        is_selected: fn(Class) -> bool,
    ) -> Option<CheckFinding> {
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for one in counted.iter().filter(|one| is_selected(one.class)) {
            *kinds.entry(&one.name).or_default() += one.count;
        }
        let total: u64 = kinds.values().sum();
        let each: Vec<String> = kinds.iter().map(|(name, count)| format!("{name} {count}")).collect();
        (total > 0).then(|| {
            self.info(id, &format!("{total} {what} ({})", each.join(", ")))
                .fix(format!(
                    "`quietcore blame --cpus {}` names what caused them",
                    self.cpu.cpu.0
                ))
        })
    }
}

fn is_ipi(class: Class) -> bool {
    matches!(
        class,
        Class::Reschedule | Class::FunctionCall | Class::TlbShootdown | Class::IrqWork | Class::CpuControl
    )
}

fn devices(machine: &Machine, case: &CheckCase, window: &ObservationWindow, found: &mut Vec<CheckFinding>) {
    let interrupts = machine.interrupts.as_deref().unwrap_or_default();
    let all = window.cpu.interrupts.iter();
    for one in all.filter(|one| one.class == Class::Device) {
        let number: Option<u32> = one.name.parse().ok();
        let interrupt = interrupts.iter().find(|interrupt| Some(interrupt.irq) == number);
        let is_stuck = case
            .isolation
            .refused
            .contains_key(&format!("irq_affinity/{}", one.name))
            || interrupt.is_some_and(|interrupt| interrupt.immovable().is_some());
        let is_requested = case.isolation.intent.irq_here.iter().any(|name| *name == one.name)
            || case.isolation.intent.without.contains("irq_affinity")
            || (!case.isolation.intent.irq_here.is_empty()
                && interrupt.is_some_and(|interrupt| interrupt.affinity.as_ref() == Some(&case.cpus)));
        let level = match (number, is_stuck || is_requested, one.count > ONCE_MORE) {
            (Some(_), false, true) => Level::Error,
            _ => Level::Info,
        };
        let message = format!(
            "{} interrupts {} ({}) arrived in {:.1} s",
            one.count, one.name, one.what, window.seconds
        );
        found.push(
            CheckFinding::new(
                level,
                FindingId::INTERRUPT_ARRIVED,
                format!("cpu{}/irq{}", window.cpu.cpu.0, one.name),
                message,
            )
            .fix(format!(
                "`quietcore inspect --irqs` shows where it may fire; `quietcore blame --cpus {}` shows which device \
                 raised it",
                window.cpu.cpu.0
            )),
        );
    }
}

/// The tick: only `nohz_full=` promises to stop it, while at most one task runs.
fn tick(machine: &Machine, window: &ObservationWindow) -> Option<CheckFinding> {
    let ticks = window.cpu.ticks.filter(|ticks| *ticks > 0)?;
    let is_tickless = machine
        .isolation
        .nohz_full
        .as_ref()
        .is_some_and(|set| set.contains(window.cpu.cpu));
    // The kernel itself needs one per second, and two at the edges of the observation.
    let is_much = ticks as f64 > 2.0 + 2.0 * window.seconds;
    let message = format!("{ticks} timer interrupts in {:.1} s", window.seconds);
    Some(match (is_tickless, is_much) {
        (true, true) => CheckFinding::new(
            Level::Warning,
            FindingId::TICK,
            window.subject(),
            format!("{message}, although nohz_full= names this CPU"),
        )
        .fix("run one task per CPU, without timers of its own; `quietcore boot check` measures with its own busy loop"),
        (true, false) => CheckFinding::new(Level::Info, FindingId::TICK, window.subject(), message),
        (false, _) => CheckFinding::new(Level::Info, FindingId::TICK, window.subject(), message)
            .fix(stops_tick(machine, window.cpu.cpu.0)),
    })
}

/// A kernel built without the option reads `nohz_full=` and ignores it.
fn stops_tick(machine: &Machine, cpu: u32) -> String {
    let is_built_in = machine
        .kernel
        .config
        .as_ref()
        .map(|config| config.get("CONFIG_NO_HZ_FULL").is_some_and(|value| value == "y"));
    match is_built_in {
        Some(true) => format!("boot with nohz_full={cpu} (`quietcore boot set`) to stop the tick of the scheduler"),
        Some(false) => {
            "nothing stops the tick of the scheduler on this kernel: it was built without CONFIG_NO_HZ_FULL and \
                        ignores nohz_full="
                .to_owned()
        }
        None => format!(
            "boot with nohz_full={cpu} (`quietcore boot set`) to stop the tick of the scheduler; this needs \
             CONFIG_NO_HZ_FULL, and the configuration of this kernel is not available here"
        ),
    }
}
