//! Sets where each numbered interrupt may fire.
//!
//! The kernel refuses a new mask (EIO up to 6.11, EPERM later) for interrupts whose mask it manages itself, for its
//! timers, and for those that no chip can route; findings name these. Per-CPU interrupts are not moved.

use super::{Knob, KnobUse, Presence, declare};
use crate::{Change, Finding, FindingId, KnobRefusal, Level, Plan, PlanContext, PlanRefusal, Profile, RefusalPolicy};
use machine::{CpuSet, ImmovableReason, Interrupt};

/// Vectors of one x86 CPU that devices can use: 256 minus the first 32 and the system's own at the top
/// (`FIRST_SYSTEM_VECTOR`), with a reserve for interrupts that are requested later.
const VECTORS_PER_CPU: usize = 180;

const MANAGED: &str =
    "the kernel manages its mask, it is a per-CPU interrupt (a timer, an IPI), or no chip can route it";

pub(super) const KNOB: Knob = Knob {
    name: "irq_affinity",
    what: "the CPUs that an interrupt of a device may fire on",
    since: "2.4; effective_affinity 4.13",
    usage: KnobUse::From(Profile::Minimal),
    stops: &["device"],
    side_effects: "an idle interrupt moves only when it fires next",
    isolation: "the housekeeping CPUs; with --irq-here PATTERN the interrupts of your own program move to the isolated \
         ones; managed interrupts refuse both",
    files: &["/proc/irq/N/smp_affinity_list"],
    related: &["/proc/irq/N/smp_affinity"],
    aliases: &["smp_affinity_list"],
    refused: &[
        (declare::EIO, MANAGED),
        (declare::EPERM, MANAGED),
        (
            declare::EINVAL,
            "the kernel accepts no online CPU of the new mask for it",
        ),
        (declare::ENOSPC, "these CPUs have no free interrupt vector"),
        (declare::EBUSY, "the interrupt chip is busy"),
    ],
    verify: "/proc/irq/N/effective_affinity_list, and the columns of /proc/interrupts over time",
    peers: &["partrt", "tuna", "TuneD", "pyperf", "irqbalance"],
    plan,
    ..Knob::PLAIN
};

/// What to do about an interrupt whose new mask the kernel refused with this errno.
#[must_use]
pub fn advice(errno: i32) -> &'static str {
    match errno {
        declare::ENOSPC => {
            "keep more CPUs for everything else, or give its device fewer queues (`ethtool -L`), and apply again"
        }
        declare::EINVAL => "leave a CPU of its effective_affinity_list to housekeeping, and apply again",
        declare::EBUSY => "undo the partition and apply it again: the chip may be free then",
        _ => {
            "nothing at run time; managed interrupts follow isolcpus=managed_irq,... at boot (kernel 5.6 and later), \
             and per-CPU interrupts stay"
        }
    }
}

fn plan(_: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let Some(interrupts) = &scene.machine.interrupts else {
        return Presence::Absent;
    };
    let (mut moved, mut resident) = (0, 0);
    for interrupt in interrupts {
        if is_for_isolated_program(scene, interrupt) {
            move_to_isolated(scene, interrupt, plan);
            continue;
        }
        let immovable = interrupt.immovable();
        // Its mask names all CPUs and means nothing: it fires on the CPU that has work for it.
        if immovable == Some(ImmovableReason::PerCpu) {
            continue;
        }
        let Some(affinity) = interrupt
            .affinity
            .as_ref()
            .filter(|now| now.intersects(scene.isolated()))
        else {
            resident += usize::from(!interrupt.name.is_empty());
            continue;
        };
        match immovable {
            Some(ImmovableReason::Managed) => plan.findings.push(managed(scene, interrupt)),
            // One that no driver has requested fires nowhere.
            Some(_) if interrupt.name.is_empty() => {}
            Some(reason) => plan.findings.push(fixed(scene, interrupt, reason)),
            None => {
                moved += 1;
                plan.changes.push(evacuate(scene, interrupt, affinity));
            }
        }
    }
    let room = scene.housekeeping.len() * VECTORS_PER_CPU;
    // Only x86 has so few: an arm GIC numbers its interrupts for all CPUs together.
    let is_arm = interrupts.iter().any(|interrupt| interrupt.chip.contains("GIC"));
    if moved > 0 && moved + resident > room && !is_arm {
        let message = format!(
            "{} interrupts would share the vectors of {} CPUs",
            moved + resident,
            scene.housekeeping.len()
        );
        plan.findings.push(
            Finding::warning(FindingId::VECTOR_SPACE, "interrupts", message)
                .fix("keep more housekeeping CPUs, or fewer queues per device"),
        );
    }
    Presence::Here
}

/// Every pattern of `--irq-here` must match a requested interrupt.
///
/// # Errors
/// [`KnobRefusal::NoInterrupt`] with the first that does not match.
pub(crate) fn refuse_unmatched(scene: &PlanContext) -> Result<(), PlanRefusal> {
    let interrupts = scene.machine.interrupts.as_deref().unwrap_or_default();
    let lost = |pattern: &&String| !interrupts.iter().any(|interrupt| fits(pattern, interrupt));
    let Some(pattern) = scene.intent.irq_here.iter().find(lost) else {
        return Ok(());
    };
    let pattern = pattern.chars().take(60).collect();
    Err(KnobRefusal::NoInterrupt { pattern }.into())
}

fn is_for_isolated_program(scene: &PlanContext, interrupt: &Interrupt) -> bool {
    let patterns = &scene.intent.irq_here;
    patterns.iter().any(|pattern| fits(pattern, interrupt))
}

/// Whether a pattern is the number of an interrupt, or matches one of the names that share it.
fn fits(pattern: &str, interrupt: &Interrupt) -> bool {
    if interrupt.name.is_empty() {
        return false;
    }
    let mut names = interrupt.name.split(',').map(str::trim);
    pattern == interrupt.irq.to_string()
        || fits_name(pattern, &interrupt.name)
        || names.any(|name| fits_name(pattern, name))
}

/// `*` matches any text. Linear: the first possible position of each part is sufficient.
fn fits_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(place) = rest.find(part) else {
            return false;
        };
        rest = rest.get(place + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

/// An interrupt that belongs to the program on the isolated CPUs.
fn move_to_isolated(scene: &PlanContext, interrupt: &Interrupt, plan: &mut Plan) {
    let now = interrupt.affinity.as_ref();
    if now == Some(scene.isolated()) {
        return;
    }
    let (id, what, fix) = match interrupt.immovable() {
        None => {
            let why = format!(
                "interrupt {} ({}) was requested with --irq-here",
                interrupt.irq, interrupt.name
            );
            plan.changes.push(write(interrupt.irq, now, scene.isolated(), why));
            return;
        }
        Some(ImmovableReason::PerCpu) => (
            FindingId::IRQ_PER_CPU,
            "cannot be moved here, because it is a per-CPU interrupt".to_owned(),
            "none needed: the isolated CPUs already have their own",
        ),
        Some(ImmovableReason::Managed) => (
            FindingId::IRQ_MANAGED,
            "cannot be moved here, because the kernel manages its mask".to_owned(),
            "a managed interrupt arrives on the CPU that uses its queue; use the device from there",
        ),
        Some(reason) => (
            FindingId::IRQ_FIXED,
            format!("cannot be moved here: {}", reason.why()),
            "leave it out of --irq-here: no write and no boot parameter moves it",
        ),
    };
    plan.findings
        .push(finding(Level::Warning, id, interrupt, &what).fix(fix));
}

/// A finding about an interrupt, whose message begins with its number and name.
fn finding(level: Level, id: FindingId, interrupt: &Interrupt, what: &str) -> Finding {
    let message = format!("interrupt {} ({}) {what}", interrupt.irq, interrupt.name);
    Finding::new(level, id, format!("irq/{}", interrupt.irq), message)
}

fn evacuate(scene: &PlanContext, interrupt: &Interrupt, now: &CpuSet) -> Change {
    let rest = now.minus(scene.isolated());
    let rest = match rest.intersects(&scene.housekeeping) {
        true => &rest,
        false => &scene.housekeeping,
    };
    let name = match interrupt.name.as_str() {
        "" => "not requested",
        name => name,
    };
    let why = format!("interrupt {} ({name}) may fire on an isolated CPU", interrupt.irq);
    write(interrupt.irq, Some(now), rest, why)
}

fn write(irq: u32, now: Option<&CpuSet>, intended: &CpuSet, why: String) -> Change {
    let path = format!("/proc/irq/{irq}/smp_affinity_list");
    Change {
        id: format!("{}/{irq}", KNOB.name),
        ..Change::of_list(&path, now, intended, RefusalPolicy::Report, why)
    }
}

fn level(scene: &PlanContext, interrupt: &Interrupt) -> Level {
    let effective = interrupt.effective.as_ref();
    match effective.is_some_and(|set| set.intersects(scene.isolated())) {
        true => Level::Warning,
        false => Level::Info,
    }
}

/// An interrupt that nothing can move, at run time or at boot.
fn fixed(scene: &PlanContext, interrupt: &Interrupt, reason: ImmovableReason) -> Finding {
    let fix = match &interrupt.effective {
        Some(cpus) if !cpus.is_empty() => {
            format!(
                "nothing: it fires on CPU {cpus}, where the kernel routed it; isolate other CPUs if that is one of them"
            )
        }
        _ => "nothing: no write and no boot parameter moves it".to_owned(),
    };
    let what = format!("cannot be moved: {}", reason.why());
    finding(level(scene, interrupt), FindingId::IRQ_FIXED, interrupt, &what).fix(fix)
}

fn managed(scene: &PlanContext, interrupt: &Interrupt) -> Finding {
    let fix = match scene.machine.kernel.lacks_managed_irq() {
        true => "do not use the device from the isolated CPUs: isolcpus=managed_irq needs kernel 5.6".to_owned(),
        false => format!(
            "boot with isolcpus=managed_irq,domain,{}; or do not use the device from the isolated CPUs",
            scene.isolated()
        ),
    };
    let what = "has a mask that the kernel manages, and cannot be moved";
    finding(level(scene, interrupt), FindingId::IRQ_MANAGED, interrupt, what).fix(fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_patterns_match_names_and_numbers() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(fits_name(pattern, name), expected, "{pattern} {name}");
        };
        check("eth0-rx-3", "eth0-rx-3", true);
        check("eth0-rx-3", "eth0-rx-31", false);
        check("eth0*", "eth0-rx-3", true);
        check("*rx*3", "eth0-rx-3", true);
        check("*rx*4", "eth0-rx-3", false);
        check("*", "", true);
        check("a**b", "acb", true);
        check("a*a", "a", false);
        check("", "eth0", false);
        let shared = Interrupt {
            irq: 9,
            name: "acpi, i801_smbus".to_owned(),
            ..Interrupt::default()
        };
        assert!(fits("9", &shared) && fits("i801*", &shared) && !fits("99", &shared));
        assert!(!fits("*", &Interrupt::default()), "no driver has requested it");
    }
}
