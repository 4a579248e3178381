//! Shared parts of the boot loader scenarios: the sequence that sets and clears a boot line, and the checks of each
//! boot.

use crate::records::GuestRecords;
use crate::verdict::ScenarioVerdict;

/// The CPUs that the sequences isolate.
const CPUS: &str = "2-3";

/// Shell functions. `look` records this boot's line, the CPUs that it isolates, and checksums of all files of the boot
/// loader and the settings. `ticks` records the ticks of two seconds on an ordinary and on an isolated CPU, each with a
/// running task.
pub(super) const STATE_COMMANDS: &str = "files() {
    {
        find /boot /etc -type f ! -name grubenv -exec md5sum {} + | sort -k2
        # GRUB itself leaves the name of the choice there that it has taken away.
        sed -e '/^#/d' -e '/^next_entry=$/d' /boot/grub/grubenv 2>/dev/null
    } >/tmp/files
}
look() {
    rec line cat /proc/cmdline
    rec isolated cat /sys/devices/system/cpu/isolated
    rec nohz_full cat /sys/devices/system/cpu/nohz_full
    files
    rec files cat /tmp/files
}
# As when the plug is pulled: nothing is written that is not on the disk yet. Boards without such a key sync nothing either.
again_without_power() {
    echo b >/proc/sysrq-trigger 2>/dev/null
    reboot -f -n
}
ticks() {
    for cpu in 1 3; do
        lab-guest spin $cpu other:0 4 >/dev/null &
        sleep 1
        rec before_$cpu grep -m 1 -e LOC: -e arch_timer /proc/interrupts
        sleep 2
        rec after_$cpu grep -m 1 -e LOC: -e arch_timer /proc/interrupts
        wait
    done
}
";

/// The sequence that a guest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestSequence {
    /// The line is set, and cleared.
    Set,
    /// The first trial fails, a second one is confirmed, and the line is cleared.
    Trial,
}

impl GuestSequence {
    /// The name of the guest's shape in the report.
    pub const fn name(self) -> &'static str {
        match self {
            GuestSequence::Set => "set",
            GuestSequence::Trial => "trial",
        }
    }

    /// The sequence for a shape.
    pub fn of(name: &str) -> GuestSequence {
        if name == GuestSequence::Trial.name() {
            GuestSequence::Trial
        } else {
            GuestSequence::Set
        }
    }

    /// The script of the sequence. `board` can override what depends on the machine: `$force`, `again`, `again_tried`.
    pub fn script(self, board: &str) -> String {
        let boots = match self {
            GuestSequence::Set => SET,
            GuestSequence::Trial => TRIAL,
        };
        format!("{STATE_COMMANDS}{board}{boots}")
    }

    /// Checks the records of the sequence.
    pub fn check(self, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
        match self {
            GuestSequence::Set => check_set(seen, verdict),
            GuestSequence::Trial => check_trial(seen, verdict),
        }
    }
}

/// Boots as installed, with the declared line, and after clearing it. The power fails just after the line was set.
const SET: &str = "case $LAB_BOOT in
1)
    rec save quietcore apply --cpus 2-3 --save --boot --json
    look
    rec dry quietcore boot set --cpus 2-3 --dry-run $force --json
    files; rec files_dry cat /tmp/files
    rec declared_missing quietcore apply --json
    sync
    rec set quietcore boot set $force --json
    again_without_power ;;
2)
    look
    ticks
    rec at_boot quietcore apply --at-boot --json
    rec check quietcore boot check --json
    rec snapshot quietcore snapshot /tmp/box.tar.gz
    rec check_captured quietcore boot check --root /tmp/box.tar.gz --json
    rec show_captured quietcore boot show --root /tmp/box.tar.gz --json
    rec live quietcore boot show --json
    rec plan quietcore plan --cpus 2-3 --json
    rec twice quietcore boot set --cpus 2-3 $force --json
    rec clear quietcore boot clear --json
    rec confirm quietcore confirm
    again ;;
3)
    look
    rec declared_missing quietcore apply --at-boot --json
    rec show quietcore boot show --json ;;
esac
";

fn check_set(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["1/dry", "1/set", "2/twice", "2/clear"] {
        let edit = verdict.status(seen, name, 0).json();
        let edits = edit["edits"].as_array().map_or(0, Vec::len);
        verdict.that((edits == 0) == (name == "2/twice"), format!("{name}: {edits} edits"));
    }
    same(seen, ["1/files", "1/files_dry"], verdict);
    for (boot, cpus) in [(1, ""), (2, CPUS), (3, "")] {
        isolates(seen, boot, cpus, verdict);
    }
    ticks_stopped(seen, 2, verdict);
    for (name, state) in [("2/live", Some("live")), ("3/show", None)] {
        let show = verdict.status(seen, name, 0).json();
        verdict.equal(name, show["ours"]["state"].as_str(), state);
        verdict.equal(name, show["noted"]["state"].as_str(), state);
    }
    one_intention(seen, verdict);
    captured(seen, verdict);
    let plan = verdict.status(seen, "2/plan", 0).json();
    verdict.that(
        plan["boot_line"].is_null(),
        format!("with the line in force plan still suggests {}", plan["boot_line"]),
    );
    same(seen, ["1/line", "3/line"], verdict);
    same(seen, ["1/files", "3/files"], verdict);
}

/// The declared partition first lacks its boot line, then has it, then lacks it again. With the line, one verdict
/// covers both parts.
fn one_intention(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, status, id) in [
        ("1/save", 1, Some("boot-part-differs")),
        ("1/declared_missing", 1, Some("boot-part-differs")),
        ("2/at_boot", 0, None),
        ("3/declared_missing", 1, Some("boot-part-differs")),
    ] {
        let report = verdict.status(seen, name, status).json();
        let findings: Vec<&serde_json::Value> = report["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| one["level"] == "error")
            .collect();
        let ids: Vec<&str> = findings.iter().filter_map(|one| one["id"].as_str()).collect();
        verdict.equal(name, ids, id.into_iter().collect());
    }
    let check = verdict.status(seen, "2/check", 0).json();
    verdict.equal("2/check", check["verdict"].as_str(), Some("works"));
    let one = &check["declared"][0];
    let truths = [&one["answer"]["truth"], &one["run_time"]["truth"]];
    verdict.that(truths == ["yes", "yes"], format!("boot line and run time: {one}"));
}

/// A snapshot of the machine with its line produces the same report, except for counters.
fn captured(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "2/snapshot", 0);
    let check = verdict.status(seen, "2/check_captured", 4).json();
    verdict.equal("2/check_captured", check["verdict"].as_str(), Some("unknown"));
    let ours = check["parameters"].as_array().into_iter().flatten();
    let live = ours.filter(|one| one["ours"] == "live").count();
    verdict.that(live >= 3, format!("{live} words of ours are live in the snapshot"));
    let [there, here] = ["2/show_captured", "2/live"].map(|name| verdict.status(seen, name, 0).json());
    for key in ["loaders", "ours", "noted", "running"] {
        verdict.that(
            there[key] == here[key],
            format!("{key} of the snapshot: {}, of the machine: {}", there[key], here[key]),
        );
    }
}

/// The first trial boot panics, and the machine returns to its old line without intervention. The trial boot records
/// that the panic timeout is half a minute and then shortens it, so that the test need not wait.
const TRIAL: &str = "case $LAB_BOOT in
1)
    look
    rec trial quietcore boot trial --cpus 2-3 --json
    again_tried ;;
2)
    look
    rec panic cat /proc/sys/kernel/panic
    echo 1 >/proc/sys/kernel/panic
    sync
    # The kernel panics when its first process ends.
    exit 1 ;;
3)
    look
    rec too_late quietcore boot confirm --json
    rec trial quietcore boot trial --cpus 2-3 --json
    rec too_early quietcore boot confirm --json
    again_tried ;;
4)
    look
    rec confirm quietcore boot confirm --json
    again ;;
5)
    look
    rec live quietcore boot show --json
    rec clear quietcore boot clear --json
    files; rec files_cleared cat /tmp/files ;;
esac
";

fn check_trial(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["1/trial", "3/trial", "4/confirm", "5/clear"] {
        verdict.status(seen, name, 0);
    }
    for (boot, cpus) in [(1, ""), (2, CPUS), (3, ""), (4, CPUS), (5, CPUS)] {
        isolates(seen, boot, cpus, verdict);
        let line = seen.get(&format!("{boot}/line"));
        let tried = line.text().contains("panic=30");
        verdict.equal(&format!("boot {boot} is a trial"), tried, boot == 2 || boot == 4);
    }
    verdict.equal("seconds after a panic", seen.get("2/panic").text(), "30");
    for name in ["3/too_late", "3/too_early"] {
        let confirm = seen.get(name);
        verdict.that(
            !matches!(confirm.status, -1 | 0),
            format!(
                "{name}: a boot that was not of the trial is confirmed: {}",
                confirm.text()
            ),
        );
    }
    let show = verdict.status(seen, "5/live", 0).json();
    verdict.equal("confirmed", show["ours"]["state"].as_str(), Some("live"));
    verdict.that(show["trial"].is_null(), format!("still tried: {}", show["trial"]));
    same(seen, ["1/files", "5/files_cleared"], verdict);
}

/// Checks that exactly these CPUs are isolated in a boot, both by its line and according to the kernel.
fn isolates(seen: &GuestRecords, boot: u32, cpus: &str, verdict: &mut ScenarioVerdict) {
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
    // Older kernels print `(null)` for an empty list.
    let stopped = stopped.text().replace("(null)", "");
    verdict.equal(&format!("boot {boot}: nohz_full"), stopped.as_str(), cpus);
}

/// Checks that two records have the same, non-empty lines.
fn same(seen: &GuestRecords, names: [&str; 2], verdict: &mut ScenarioVerdict) {
    let [before, after] = names.map(|name| seen.get(name).stdout);
    let only_in = |text: &str, other: &str| {
        let lines = text.lines();
        let alone = lines.filter(|line| !other.lines().any(|also| also == *line));
        alone.map(str::to_owned).collect::<Vec<_>>()
    };
    let (removed, new) = (only_in(&before, &after), only_in(&after, &before));
    verdict.that(
        !before.trim().is_empty() && before == after,
        format!("{names:?}: gone {removed:?}, new {new:?}"),
    );
}

/// Checks that the tick interrupts CPU 1 but not CPU 3, with a running task on each.
fn ticks_stopped(seen: &GuestRecords, boot: u32, verdict: &mut ScenarioVerdict) {
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
