//! What the scenarios of boot loaders share: the story of a line that comes and goes, and how each boot is looked at.

use crate::records::Records;
use crate::verdict::Verdict;

/// The CPUs that the stories isolate.
const CPUS: &str = "2-3";

/// `look`: this boot's line, what it isolates, and the sums of all files of the boot loader and of the settings.
/// `ticks`: those of two seconds on an ordinary and on an isolated CPU, each with a task to run.
const LOOKS: &str = "look() {
    rec line cat /proc/cmdline
    rec isolated cat /sys/devices/system/cpu/isolated
    rec nohz_full cat /sys/devices/system/cpu/nohz_full
    find /boot /etc -type f -exec md5sum {} + | sort -k2 >/tmp/files
    rec files cat /tmp/files
}
ticks() {
    for cpu in 1 3; do
        lab-guest spin $cpu other:0 4 >/dev/null &
        sleep 1
        rec before_$cpu grep LOC: /proc/interrupts
        sleep 2
        rec after_$cpu grep LOC: /proc/interrupts
        wait
    done
}
";

/// Three boots: as installed, with the line set, and with it cleared. `edits` has the functions `set` and `clear`.
pub fn set_and_clear(edits: &str) -> String {
    format!(
        "{LOOKS}{edits}
case $LAB_BOOT in
1) look; edit_set; note set $?; again ;;
2) look; ticks; edit_clear; note clear $?; again ;;
3) look ;;
esac
"
    )
}

/// The claims of [`set_and_clear`].
pub fn check_set_and_clear(seen: &Records, verdict: &mut Verdict) {
    verdict.status(seen, "1/set", 0);
    verdict.status(seen, "2/clear", 0);
    for (boot, cpus) in [(1, ""), (2, CPUS), (3, "")] {
        isolates(seen, boot, cpus, verdict);
    }
    ticks_stopped(seen, 2, verdict);
    same(seen, 1, 3, "line", verdict);
    same(seen, 1, 3, "files", verdict);
}

/// A boot has exactly these CPUs isolated, by its line and by what the kernel made of it.
fn isolates(seen: &Records, boot: u32, cpus: &str, verdict: &mut Verdict) {
    let line = verdict.status(seen, &format!("{boot}/line"), 0);
    let word = |name: &str| {
        line.text()
            .split(' ')
            .find(|word| word.starts_with(name))
            .map(str::to_owned)
    };
    for name in ["isolcpus=", "nohz_full="] {
        let found = word(name).unwrap_or_default();
        let holds = if cpus.is_empty() {
            found.is_empty()
        } else {
            found.ends_with(cpus)
        };
        verdict.that(holds, format!("boot {boot}: {name} in {}", line.text()));
    }
    let isolated = seen.get(&format!("{boot}/isolated"));
    verdict.equal(&format!("boot {boot}: isolated"), isolated.text(), cpus);
    let stopped = seen.get(&format!("{boot}/nohz_full"));
    // Older kernels write a word where there is none.
    let stopped = stopped.text().replace("(null)", "");
    verdict.equal(&format!("boot {boot}: nohz_full"), stopped.as_str(), cpus);
}

/// Nothing of a record differs between two boots.
fn same(seen: &Records, one: u32, other: u32, name: &str, verdict: &mut Verdict) {
    let (before, after) = (
        seen.get(&format!("{one}/{name}")),
        seen.get(&format!("{other}/{name}")),
    );
    let only_in = |record: &crate::records::Record, of: &str| {
        let lines = record.stdout.lines();
        lines
            .filter(|line| !of.lines().any(|also| also == *line))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (gone, new) = (only_in(&before, &after.stdout), only_in(&after, &before.stdout));
    verdict.that(
        !before.text().is_empty() && before.stdout == after.stdout,
        format!("{name} of boot {other} and {one}: gone {gone:?}, new {new:?}"),
    );
}

/// With a task on each, the timer interrupts CPU 1 and leaves CPU 3 alone.
fn ticks_stopped(seen: &Records, boot: u32, verdict: &mut Verdict) {
    let count = |name: &str, cpu: usize| -> Option<u64> {
        let row = seen.get(&format!("{boot}/{name}_{cpu}"));
        row.text().split_whitespace().nth(cpu + 1)?.parse().ok()
    };
    let between = |cpu| count("after", cpu)?.checked_sub(count("before", cpu)?);
    let (free, isolated) = (between(1), between(3));
    verdict.that(
        free.is_some_and(|count| count > 60),
        format!("boot {boot}: ticks of 2 s on CPU 1: {free:?}"),
    );
    verdict.that(
        isolated.is_some_and(|count| count <= 20),
        format!("boot {boot}: ticks of 2 s on isolated CPU 3: {isolated:?}"),
    );
    verdict.note(format!(
        "boot {boot}: {} and {} ticks in 2 s",
        free.unwrap_or(0),
        isolated.unwrap_or(0)
    ));
}
