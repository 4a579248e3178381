//! Runs a study that restarts its machine under a real systemd: its unit continues the study after each boot, and
//! systemd itself restarts the machine. `study resume` is never called manually. The power fails once in the middle.

use super::boot_disk::STATE_COMMANDS;
use super::boot_grub::SHAPE;
use super::study_reboots::{last_boot, measured};
use crate::kernels::K6_1;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with systemd 252 and GRUB.
pub const SCENARIO: Scenario = Scenario {
    name: "study_unit",
    about: "under systemd a study continues with its unit after each restart and after a power cut, and removes the \
         unit at its end",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    vec![
        ScenarioCell::new(K6_1, CgroupLayout::V2)
            .on(SHAPE)
            .within(560)
            .under_systemd(),
    ]
}

/// When the script ends, the study and the machine continue without it. The first boot waits for its record, although
/// systemd ends all services and unmounts `/tmp` as soon as the study requests the restart.
const SCRIPT: &str = r#"alone() { sleep 400; exit 0; }
units() { rec units sh -c "find /etc/systemd -name '*quietcore*' | sort"; }
if [ $LAB_BOOT = 1 ]; then
    look
    cat >/study.toml <<END
repetitions = 1
seed = 4
cool_down = "1s"
[measure]
what = "noise"
cpus = "3"
for = "2s"
policy = "other"
[axes]
isolation = ["none", "isolcpus", "isolcpus_and_cpuset"]
preemption = ["full"]
END
    trap '' TERM
    rec run quietcore study run /study.toml --out /results --reboot
    units
    trap - TERM
    alone
fi
rec line cat /proc/cmdline
if [ -e /var/lib/quietcore/study ] || grep -q quietcore.trial /proc/cmdline; then
    if [ ! -e /cut ] && grep -q isolcpus=3 /proc/cmdline; then
        touch /cut; sync
        wait_for 120 sh -c 'ls /results/isolcpus*/1.json'
        rec before_cut sh -c 'ls /results/*/*.json; systemctl is-active quietcore-study'
        sleep 2
        echo b >/proc/sysrq-trigger
    fi
    alone
fi
look
rec cut ls /cut
rec lasting ls -d /var/lib/quietcore
units
rec loaded systemctl show quietcore-study -p LoadState --value
rec results sh -c 'ls /results/*/*.json'
rec report quietcore study report /results
for result in /results/*/*.json; do
    name=${result#/results/}
    rec "of_$(echo ${name%.json} | tr / _)" cat $result
done
"#;

fn script(_: &ScenarioCell) -> String {
    format!("{STATE_COMMANDS}{SCRIPT}")
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let last = last_boot(seen);
    let at_end = |name: &str| format!("{last}/{name}");
    verdict.note(format!("{last} boots"));
    verdict.status(seen, "1/run", 0);
    verdict.equal(
        "its unit is there while it is under way",
        seen.get("1/units").stdout.lines().count(),
        2,
    );
    verdict.status(seen, &at_end("cut"), 0);
    let before_cut = (2..=last).find_map(|boot| {
        let name = format!("{boot}/before_cut");
        seen.names().any(|one| *one == name).then(|| seen.get(&name).stdout)
    });
    verdict.that(
        before_cut.as_ref().is_some_and(|text| text.ends_with("activating\n")),
        format!("the power went while the unit measured: {before_cut:?}"),
    );
    // Six boots: one with `preempt=` alone, two with `isolcpus=` as well (the power failed in one), and the machine's
    // own boots before, after the power failure, and at the end.
    verdict.equal("boots", last, 6);
    for isolation in ["none", "isolcpus", "isolcpus_and_cpuset"] {
        let cell = format!("{isolation}-idle-full");
        let result = measured(seen, last, &cell, 1, verdict);
        verdict.equal(
            &format!("{cell}: preemption"),
            result["environment"]["preemption"].as_str(),
            Some("full"),
        );
    }
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
    verdict.equal("no unit is left", seen.get(&at_end("units")).stdout, String::new());
    verdict.equal("systemd knows of none", seen.get(&at_end("loaded")).text(), "not-found");
    verdict.status(seen, &at_end("report"), 0);
}
