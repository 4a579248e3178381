//! Reports counts for each isolated CPU: page faults, idle states, frequency; and what this kernel does not count.

use super::{ObservationWindow, times};
use crate::{CheckCase, CheckFinding};
use observe::{CloseActivity, IdleStateEntries, ThreadActivity};
use plan::{FindingId, Level};

pub(super) fn judge(
    case: &CheckCase,
    window: &ObservationWindow,
    close: &CloseActivity,
    found: &mut Vec<CheckFinding>,
) {
    found.extend(faults(window, &close.threads));
    if let Some(entered) = close.idle.as_deref().filter(|entered| !entered.is_empty()) {
        found.push(idle(case, window, entered));
    }
    if let Some(changes) = close.frequency_changes.filter(|changes| *changes > 0) {
        let what = format!("the frequency changed {}", times(changes));
        found.push(window.info(FindingId::FREQUENCY_CHANGED, &what).fix(
            "`quietcore apply --profile strict` fixes the frequency; with most drivers the governor `performance` does \
             too",
        ));
    }
    if let Some(throttled) = close.throttled.filter(|throttled| *throttled > 0) {
        let message = format!(
            "the core was throttled for heat {} in {:.1} s",
            times(throttled),
            window.seconds
        );
        found.push(
            CheckFinding::new(Level::Warning, FindingId::THROTTLED, window.subject(), message)
                .fix("improve the cooling or use fewer CPUs; no setting stops it"),
        );
    }
    found.extend(uncounted(window, close));
}

/// Without a disk a fault costs microseconds, with one milliseconds.
fn faults(window: &ObservationWindow, threads: &[ThreadActivity]) -> Option<CheckFinding> {
    let sum = |of: fn(&ThreadActivity) -> u64| threads.iter().map(of).fold(0, u64::saturating_add);
    let (minor, major) = (sum(|one| one.minor_faults), sum(|one| one.major_faults));
    let level = match (minor, major) {
        (0, 0) => return None,
        (_, 0) => Level::Info,
        _ => Level::Warning,
    };
    let message = format!(
        "{} page faults of threads of the partition, {major} of which read from a disk, in {:.1} s",
        minor.saturating_add(major),
        window.seconds
    );
    let found = CheckFinding::new(level, FindingId::PAGE_FAULTS, window.subject(), message)
        .fix("call mlockall(MCL_CURRENT|MCL_FUTURE), and touch all memory once before the work starts");
    let of_thread = |found: CheckFinding, one: &ThreadActivity| match (one.minor_faults, one.major_faults) {
        (0, 0) => found,
        (minor, major) => found.seen(format!(
            "{} {}: {minor} without a disk read, {major} with one",
            one.tid, one.comm
        )),
    };
    Some(threads.iter().fold(found, of_thread))
}

/// A sleep within the limit is no fault: a user who wants none must set the limit, or busy-wait on the CPU.
fn idle(case: &CheckCase, window: &ObservationWindow, entered: &[IdleStateEntries]) -> CheckFinding {
    let each: Vec<String> = entered
        .iter()
        .map(|one| format!("{} {}", one.name, one.count))
        .collect();
    let each = each.join(", ");
    let limit = limit_us(case, window);
    let deepest = entered.iter().max_by_key(|one| one.latency_us);
    match (limit, deepest) {
        (Some(limit), Some(deepest)) if deepest.latency_us > limit => CheckFinding::new(
            Level::Warning,
            FindingId::IDLE_TOO_DEEP,
            window.subject(),
            format!(
                "it slept in {} ({} µs to wake) and the limit is {limit} µs; idle states entered in {:.1} s: {each}",
                deepest.name, deepest.latency_us, window.seconds
            ),
        )
        .fix(
            "this governor or driver ignores the limit: `quietcore explain pm_qos_resume_latency_us` names what \
             enforces it",
        ),
        _ => window
            .info(FindingId::IDLE_STATES, &format!("idle states entered: {each}"))
            .fix(
                "a program that polls never sleeps; otherwise use `quietcore run --latency`, or `--with \
             pm_qos_resume_latency_us=n/a`",
            ),
    }
}

/// The limit that the intention sets on this CPU. For the kernel `0` is no limit, and `n/a` allows no sleep with a
/// wake-up time.
fn limit_us(case: &CheckCase, window: &ObservationWindow) -> Option<u64> {
    let own = format!(
        "/sys/devices/system/cpu/{}/power/pm_qos_resume_latency_us",
        window.subject()
    );
    let limit_text = case.isolation.intent.with.get("pm_qos_resume_latency_us")?;
    // If the plan would still set it, the finding of the knob is more precise.
    if case
        .changes()
        .any(|change| change.target == own && case.now(change) != Some(change.after.as_str()))
    {
        return None;
    }
    match limit_text.as_deref().map(str::trim) {
        Some("n/a") => Some(0),
        Some(limit) => limit.parse().ok().filter(|limit| *limit > 0),
        None => None,
    }
}

fn uncounted(window: &ObservationWindow, close: &CloseActivity) -> Option<CheckFinding> {
    let no_scheduler = window.cpu.context_switches.or(close.timeslices).is_none();
    let all = [
        (
            no_scheduler,
            "switches to threads that started and ended (no /proc/schedstat)",
        ),
        (window.cpu.steal_ns.is_none(), "stolen time"),
        (window.cpu.ticks.is_none(), "ticks"),
        (close.idle.is_none(), "idle states (no cpuidle)"),
        (
            close.frequency_changes.is_none(),
            "frequency changes (no cpufreq statistics)",
        ),
        (close.throttled.is_none(), "throttling for heat"),
    ];
    let missing: Vec<&str> = all
        .iter()
        .filter(|(is_missing, _)| *is_missing)
        .map(|(_, what)| *what)
        .collect();
    (!missing.is_empty()).then(|| {
        let message = format!("this kernel does not count: {}", missing.join(", "));
        CheckFinding::new(Level::Info, FindingId::NOT_COUNTED, window.subject(), message)
    })
}
