//! Checks `nohz_full=` by `/sys/devices/system/cpu/nohz_full` and by ticks counted while a program runs there.

use super::case::{ParameterCase, ParameterFamily, seconds};
use super::{CheckAnswer, CpuOccupant};
use machine::CpuSet;

pub(super) const FAMILY: ParameterFamily = ParameterFamily {
    names: &["nohz_full"],
    complaints: &["Housekeeping:", "nohz_full: ", "NO_HZ: "],
    defeated_by: &["nohz-off-defeats-nohz-full", "unstable-clock-keeps-tick"],
    acceptance,
    works,
};

/// Ticks per second if the configuration does not say: the lowest rate in use, which makes the limit strict.
const LOWEST_HZ: u64 = 100;

/// A running tick fires at the full rate, a stopped one at most a few times per second.
const OF_THE_RATE: u64 = 10;

fn acceptance(case: &ParameterCase) -> Option<CheckAnswer> {
    let requested = case.cpus()?;
    let seen = case.evidence.machine.isolation.nohz_full.as_ref()?;
    let missing = requested.minus(seen);
    let path = format!("/sys/devices/system/cpu/nohz_full has `{seen}`");
    if missing.is_empty() {
        return Some(CheckAnswer::yes(path));
    }
    let why = case.why_missing(&missing);
    let why = match (
        why.is_empty(),
        FAMILY.complaints.iter().find_map(|part| case.message(part)),
    ) {
        (true, Some(message)) => format!(": the kernel said `{message}`"),
        _ => why,
    };
    Some(CheckAnswer::no(format!("{path}, without CPU {missing}{why}")))
}

fn works(case: &ParameterCase) -> CheckAnswer {
    match case.cpus() {
        Some(cpus) => stopped(case, &cpus),
        None => CheckAnswer::unknown("its list of CPUs cannot be parsed"),
    }
}

/// Whether the tick stops on these CPUs.
pub(super) fn stopped(case: &ParameterCase, cpus: &CpuSet) -> CheckAnswer {
    let (duration_ns, counted) = match case.counted(cpus) {
        Ok(found) => found,
        Err(why) => return CheckAnswer::unknown(why),
    };
    let online = cpus.and(&case.evidence.machine.topology.online);
    if duration_ns == 0 || counted.len() < online.len() || counted.is_empty() {
        return CheckAnswer::unknown(format!("nothing could be counted on CPU {online}"));
    }
    let config = case.evidence.facts.config.as_ref();
    let hz = config.and_then(|config| config.get("CONFIG_HZ")?.parse().ok());
    let hz: u64 = hz.unwrap_or(LOWEST_HZ);
    let (mut ticking, mut unknown, mut quiet) = (Vec::new(), Vec::new(), Vec::new());
    for one in counted {
        let Some(ticks) = one.ticks else {
            unknown.push(format!(
                "no row of /proc/interrupts counts the ticks of CPU {}",
                one.cpu
            ));
            continue;
        };
        let text = format!("{ticks} ticks in {} on CPU {}", seconds(duration_ns), one.cpu);
        let goes_on =
            u128::from(ticks) * 1_000_000_000 * u128::from(OF_THE_RATE) >= u128::from(hz) * u128::from(duration_ns);
        match (&one.busy, goes_on) {
            (CpuOccupant::Idle(why), _) => unknown.push(format!(
                "{text}, which was idle ({why}): an idle CPU has no \
                 tick anyway"
            )),
            (CpuOccupant::OwnLoop, false) => quiet.push(format!("{text}, with a busy loop there")),
            (CpuOccupant::OtherProgram(comm), false) => quiet.push(format!("{text}, with {comm} there")),
            (_, true) => ticking.push(format!(
                "{text}, where a full tick has {hz} a second or more: it does not stop (a second task, a POSIX \
                 CPU-time timer, a perf event or an unstable clock keeps it running)"
            )),
        }
    }
    match (ticking.is_empty(), unknown.is_empty()) {
        (false, _) => CheckAnswer::no(ticking.join("; ")),
        (true, false) => CheckAnswer::unknown(unknown.join("; ")),
        (true, true) => CheckAnswer::yes(quiet.join("; ")),
    }
}
