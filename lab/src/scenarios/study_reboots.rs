//! Runs a study that restarts its machine, through a real boot loader. The power fails once in the middle, a boot that
//! never succeeds is given up, and `undo` ends a study of two kernels. Each result contains the boot line and the
//! kernel under which it was measured.

use super::boot_disk::STATE_COMMANDS;
use super::boot_grub::SHAPE;
use crate::kernels::{K6_1, K6_1_RT};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape};
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs with GRUB, which clears its choice for the next boot before that boot starts, even if the power fails.
pub const SCENARIO: Scenario = Scenario {
    name: "study_reboots",
    about: "a study restarts its machine through GRUB, also with another kernel, survives a power cut, gives up a boot that never \
            comes, is ended by undo, and puts all back",
    cells,
    script,
    check,
};

/// The sequence with a power failure.
const CUT: &str = "cut";

/// The sequence with a line that cannot boot.
const FALLBACK: &str = "fallback";

/// The sequence that boots every installed kernel, with `undo` in between.
const KERNELS: &str = "kernels";

fn cells() -> Vec<ScenarioCell> {
    let cell = |(name, beside)| {
        let shape = GuestShape { name, beside, ..SHAPE };
        ScenarioCell::new(K6_1, CgroupLayout::V2).on(shape).within(560)
    };
    [(CUT, None), (FALLBACK, None), (KERNELS, Some(K6_1_RT))]
        .map(cell)
        .into()
}

/// Script of all sequences. The study starts in the first boot, and each boot continues it until nothing of it is left
/// on the disk and in the boot line. In the first boot with `isolcpus=` the power fails when one of its two cells is
/// done and the other is being measured.
const SCRIPT: &str = r#"STORY=$story
case $LAB_BOOT in
1)
    look
    case $STORY in
    cut) isolation='"none", "isolcpus", "isolcpus_and_cpuset"'; more= ;;
    kernels) isolation='"none"'; more="kernel = [$(ls /boot | sed -n 's/^vmlinuz-\(.*\)/"\1"/p' | tr '\n' ',')]" ;;
    *) isolation='"none", "broken"'; more='[isolation.broken]
profile = "none"
boot = ["rdinit=/nowhere"]' ;;
    esac
    cat >/study.toml <<END
repetitions = 2
seed = 4
cool_down = "1s"
[measure]
what = "noise"
cpus = "3"
for = "2s"
policy = "other"
[axes]
isolation = [$isolation]
$more
END
    rec plan quietcore study plan /study.toml --json
    rec refused quietcore study run /study.toml --out /results
    files; rec files_refused cat /tmp/files
    rec nothing ls -d /results /var/lib/quietcore
    rec run quietcore study run /study.toml --out /results --reboot
    rec other quietcore study run /study.toml --out /elsewhere --reboot
    again ;;
*)
    rec line cat /proc/cmdline
    if [ $STORY = cut ] && [ ! -e /cut ] && grep -q isolcpus=3 /proc/cmdline; then
        touch /cut; sync
        (wait_for 60 sh -c 'ls /results/isolcpus*/1.json'
        sleep 2
        echo b >/proc/sysrq-trigger) &
    fi
    rec resume quietcore study resume
    if [ $STORY = kernels ] && [ $LAB_BOOT = 3 ]; then rec undo quietcore undo; fi
    if [ $STORY = kernels ] && [ $LAB_BOOT = 4 ]; then
        sed '1i budget = "4s"' /study.toml >/short.toml
        rec short quietcore study run /short.toml --out /short --reboot
    fi
    rec results sh -c 'ls /results/*/*.json'
    if [ -e /var/lib/quietcore ] || grep -q quietcore.trial /proc/cmdline; then again; fi
    look
    note cut_at $(ls /cut)
    rec short_results sh -c 'ls /short/*/*.json'
    rec lasting ls -d /var/lib/quietcore
    rec not_possible cat /results/not_possible.json
    rec report quietcore study report /results
    rec idle quietcore study resume
    for result in /results/*/*.json; do
        name=${result#/results/}
        rec "of_$(echo ${name%.json} | tr / _)" cat $result
    done ;;
esac
"#;

fn script(cell: &ScenarioCell) -> String {
    format!("{STATE_COMMANDS}{}", SCRIPT.replace("$story", cell.shape.name))
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let last = last_boot(seen);
    let at_end = |name: &str| format!("{last}/{name}");
    verdict.note(format!("{last} boots"));
    let plan = verdict.status(seen, "1/plan", 0).json();
    verdict.equal("restarts in the plan", plan["restarts"].as_u64(), Some(4));
    verdict.status(seen, "1/refused", 2);
    verdict.equal("a refusal writes nothing", seen.get("1/nothing").stdout, String::new());
    verdict.equal(
        "no file",
        seen.get("1/files_refused").stdout,
        seen.get("1/files").stdout,
    );
    verdict.status(seen, "1/run", 0);
    verdict.status(seen, "1/other", 5);
    for (name, what) in [("line", "the line"), ("files", "every file")] {
        let [before, after] = [format!("1/{name}"), at_end(name)].map(|name| seen.get(&name).stdout);
        verdict.that(
            !before.is_empty() && before == after,
            format!("{what} is as before: {after}"),
        );
    }
    verdict.that(
        seen.get(&at_end("lasting")).status != 0,
        "nothing of it is left in /var/lib",
    );
    verdict.status(seen, &at_end("report"), 0);
    verdict.status(seen, &at_end("idle"), 0);
    match cell.shape.name {
        CUT => check_cut(seen, last, verdict),
        KERNELS => check_kernels(seen, last, verdict),
        _ => check_fallback(seen, last, verdict),
    }
}

/// Checks that every cell has the requested number of results, each measured under the boot line of its name.
fn check_cut(seen: &GuestRecords, last: u32, verdict: &mut ScenarioVerdict) {
    verdict.that(
        seen.get(&format!("{last}/cut_at")).text().contains("/cut"),
        "the power went",
    );
    // Four boots of the study, the boot after the power failure, and the machine's own boot at the end.
    let resumed = (2..=last).filter(|boot| seen.names().any(|name| *name == format!("{boot}/resume")));
    verdict.equal("boots that were not cut", resumed.count() as u32, last - 2);
    for cell in ["none-idle", "isolcpus-idle", "isolcpus_and_cpuset-idle"] {
        for repetition in 1..=2 {
            measured(seen, last, cell, repetition, verdict);
        }
    }
    let given_up = seen.get(&format!("{last}/not_possible"));
    verdict.that(
        given_up.status != 0,
        format!("nothing was given up: {}", given_up.text()),
    );
}

/// Checks one repetition with both kernels, each result under its own. Cells that `undo` skips are not measured.
fn check_kernels(seen: &GuestRecords, last: u32, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "3/undo", 0);
    let start = format!("{last}/of_");
    let cells: Vec<&str> = seen
        .names()
        .filter_map(|name| name.strip_prefix(&start)?.strip_suffix("_1"))
        .collect();
    verdict.equal("cells with a result", cells.len(), 2);
    for cell in cells {
        let result = measured(seen, last, cell, 1, verdict);
        let release = result["environment"]["release"].as_str().unwrap_or_default();
        // In the directory's name hyphens only separate levels.
        verdict.that(
            cell.ends_with(&release.replace('-', "_")),
            format!("{cell} was measured under {release}"),
        );
    }
    let started = (1..=last).map(|boot| seen.get(&format!("{boot}/line")).stdout);
    let real_time = started.filter(|line| line.contains("-rt-amd64")).count();
    verdict.that(
        (1..last as usize).contains(&real_time),
        format!("both kernels were started, the real-time one {real_time} times of {last}"),
    );
    verdict.status(seen, "4/short", 0);
    let used = verdict.status(seen, "5/resume", 1).stderr;
    verdict.that(used.contains("budget; 3 runs are left"), used);
    let short = seen.get(&format!("{last}/short_results")).stdout;
    verdict.equal("one result within the budget", short.lines().count(), 1);
    let again = seen
        .names()
        .any(|name| name.starts_with(&start) && name.ends_with("_2"));
    verdict.that(!again, "nothing was measured after undo");
}

/// Checks that the loader falls back three times. Then that boot is given up, and the other is measured completely.
fn check_fallback(seen: &GuestRecords, last: u32, verdict: &mut ScenarioVerdict) {
    for repetition in 1..=2 {
        measured(seen, last, "none-idle", repetition, verdict);
    }
    let given_up = verdict.status(seen, &format!("{last}/not_possible"), 0).json();
    verdict.equal(
        "the boot that never came",
        given_up[0]["boot"].as_str(),
        Some("rdinit=/nowhere"),
    );
    let why = given_up[0]["why"].as_str().unwrap_or_default().to_owned();
    verdict.that(why.contains("3 restarts") && why.contains("not on the boot line"), why);
    verdict.equal("given up once", given_up.as_array().map(Vec::len), Some(1));
    let report = seen.get(&format!("{last}/report"));
    verdict.that(
        report.stdout.contains("not possible: boot rdinit=/nowhere"),
        report.stdout,
    );
}

/// Checks the boot line and the CPU of a result, and returns the result.
pub(super) fn measured(
    seen: &GuestRecords,
    last: u32,
    cell: &str,
    repetition: u32,
    verdict: &mut ScenarioVerdict,
) -> Value {
    let name = format!("{last}/of_{cell}_{repetition}");
    let result: Value = verdict.status(seen, &name, 0).json();
    let line = result["environment"]["cmdline"].as_str().unwrap_or_default();
    let isolated = line.split(' ').any(|word| word == "isolcpus=3");
    verdict.equal(
        &format!("{name}: isolcpus=3 in {line}"),
        isolated,
        cell.starts_with("isolcpus"),
    );
    let cpu = &result["threads"][0]["cpu"];
    verdict.that(*cpu == 3, format!("{name} measured CPU {cpu}"));
    result
}

/// The number of the last boot that has records.
pub(super) fn last_boot(seen: &GuestRecords) -> u32 {
    let number = |name: &str| name.split('/').next()?.parse().ok();
    seen.names().filter_map(number).max().unwrap_or(1)
}
