//! Runs the tutorial of cset, and the calls that other programs make to cset, with the front end. Compares the state of
//! the machine before and after.

use super::apply_undo::movable;
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "cset",
    about: "cset's tutorial and its callers' command lines run unchanged, and reset restores the former state",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    [
        (K6_1, CgroupLayout::V1),
        (K6_1, CgroupLayout::V2),
        (K7, CgroupLayout::V2),
    ]
    .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).within(400))
    .to_vec()
}

/// The shield as the tutorial and Krun use it, then manually created sets as in the tutorial's last chapters.
fn script(cell: &ScenarioCell) -> String {
    "export LAB_STATE_LEAVES=/run/quietcore/journal
mkdir /tmp/bin
ln -s \"$(command -v quietcore)\" /tmp/bin/cset
export PATH=/tmp/bin:$PATH
mkdir -p /etc
echo root:x:0:0:root:/:/bin/sh >/etc/passwd
populate
lab-guest sleepers 4 mover >/tmp/mover
set -- $(cat /tmp/mover)
first=$1 second=$2 third=$3
state before
rec none cset shield
rec shield cset shield -c 1-3
rec who lab-guest who 3
rec status cset shield
rec kthread cset shield -k on
rec who_kthread lab-guest who 3
rec listed cset set -lr
rec exec cset shield --exec -- sh -c 'grep Cpus_allowed_list /proc/self/status; exit 7'
rec spread cset shield -e -- sh -c 'for n in 1 2 3; do lab-guest spin - other:0 3 & done; wait'
rec bring cset shield --shield --pid=$first,$second
rec inside cset shield -s -v
rec machine cset -m proc -l user
rec out cset shield -u -p $second
rec smaller cset shield --cpu=3
rec still lab masks_of mover
rec bash cset sh -- sh -c 'grep Cpus_allowed_list /proc/self/status'
rec reset cset shield --reset
state after
same same before after
rec journal ls /run/quietcore/journal
rec again cset shield --reset
rec rebench cset shield -c 2-3 -k on --sysset=free --userset=cage
rec cage cset shield --userset=cage --sysset=free --user=root --exec -- sh -c 'grep Cpus_allowed_list /proc/self/status'
rec cage_reset cset shield --userset=cage --sysset=free -r
state after_cage
same same_cage before after_cage
rec make_sys cset set -c 0 -s sys
rec make_all cset set -c 0-3 prio_all
rec make_high cset set -c 1-3 /prio_all/prio_high
rec make_med cset set -c 2-3 /prio_all/prio_high/prio_med
rec make_low cset set -c 3 /prio_all/prio_high/prio_med/prio_low
rec tree cset -m set -l -r
rec move cset proc -m -p $first,$second -t MED
rec move_low cset proc -m $third prio_low
rec masks lab masks_of mover
rec run cset proc --set prio_low --exec -- sh -c 'grep Cpus_allowed_list /proc/self/status'
rec wrong cset proc -s prio_low -e blah-blah
rec has_subsets cset set -d prio_high
rec everything cset proc -m -f root -t sys
rec left cset -m set -l root
rec wider cset set -c 2-3 prio_low
rec rename cset set -n prio_least prio_low
rec renamed cset proc -l prio_least
rec gone cset set -d -r --force prio_all
rec masks_gone lab masks_of mover
rec tree_gone cset -m set -lr
rec undo quietcore undo --all --json
state after_hand
same same_hand before after_hand
rec exclusive cset set -c 3 --cpu_exclusive own
rec exclusive_list cset -m set -l own
rec destroy cset set -d own
rec journal_ends ls /run/quietcore/journal
state end
same same_end before end
"
    .replace("MED", med(cell))
}

/// The set into which two tasks move. On v2 only leaf sets accept tasks.
fn med(cell: &ScenarioCell) -> &'static str {
    match cell.layout {
        CgroupLayout::V2 => "/prio_all/prio_high/prio_med/prio_low",
        _ => "/prio_all/prio_high/prio_med",
    }
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    the_shield(cell, seen, verdict);
    the_callers(seen, verdict);
    by_hand(cell, seen, verdict);
    for name in ["same", "same_cage", "same_hand", "same_end"] {
        let same = seen.get(name);
        verdict.equal(name, same.text(), "");
    }
    for name in ["journal", "journal_ends"] {
        verdict.that(seen.get(name).status != 0, format!("{name}: no journal is left"));
    }
}

fn the_shield(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let none = verdict.status(seen, "none", 2);
    verdict.equal("no shield", none.text(), "cset: **> shielding not active on system");
    let shield = verdict.status(seen, "shield", 0).stdout;
    let lines: Vec<&str> = shield.lines().collect();
    verdict.equal(
        "activating",
        lines.first().copied(),
        Some("cset: --> activating shielding:"),
    );
    verdict.that(
        lines.get(1).is_some_and(|line| {
            line.starts_with("cset: moving ") && line.ends_with(" tasks from root into system cpuset...")
        }),
        format!("what moves: {lines:?}"),
    );
    verdict.equal(
        "bar",
        lines.get(2).copied(),
        Some("[==================================================]%"),
    );
    let system = "cset: \"system\" cpuset of CPUSPEC(0) with ";
    verdict.that(
        lines.get(3).is_some_and(|line| line.starts_with(system)),
        format!("system: {lines:?}"),
    );
    let user = "cset: \"user\" cpuset of CPUSPEC(1-3) with 0 tasks running";
    verdict.equal("user", lines.get(4).copied(), Some(user));
    // Without `--kthread=on` kernel threads keep their CPUs.
    let programs: Vec<String> = movable(&verdict.status(seen, "who", 0).stdout)
        .into_iter()
        .filter(|task| is_program(seen, task))
        .collect();
    verdict.that(programs.is_empty(), format!("programs on CPU 3: {programs:?}"));
    let status = verdict.status(seen, "status", 0);
    verdict.that(
        status.text().starts_with("cset: --> shielding system active with") && status.text().ends_with(user),
        format!("status: {}", status.text()),
    );
    let kthread = verdict.status(seen, "kthread", 0);
    verdict.that(
        kthread.text().contains("kthread shield activated, moving ") && kthread.text().ends_with("cset: done"),
        format!("kthread: {}", kthread.text()),
    );
    let left = movable(&verdict.status(seen, "who_kthread", 0).stdout);
    verdict.that(left.is_empty(), format!("tasks on CPU 3 with kthread=on: {left:?}"));
    let listed = verdict.status(seen, "listed", 0);
    let exclusive = "         user        1-3 y       0 n     0    0 /user";
    verdict.that(
        listed.stdout.lines().any(|line| line == exclusive),
        format!("{}: the set `user` in {}", cell.label(), listed.stdout),
    );
    let exec = verdict.status(seen, "exec", 7);
    verdict.that(
        exec.text()
            .starts_with("cset: --> last message, executed args into cpuset \"/user\", new pid is: ")
            && exec.text().ends_with("\t1-3"),
        format!("exec: {}", exec.text()),
    );
    spread(&verdict.status(seen, "spread", 0).stdout, verdict);
    verdict.that(
        verdict_text(seen, "bring").ends_with("cset: done")
            && verdict_text(seen, "bring").contains("--> shielding following pidspec: "),
        format!("bring: {}", verdict_text(seen, "bring")),
    );
    let inside = verdict.status(seen, "inside", 0);
    verdict.equal("movers inside", inside.stdout.matches("sleepers 4 mover").count(), 2);
    let machine = verdict.status(seen, "machine", 0);
    verdict.that(
        machine.text().starts_with("cset: proc_list_start-user\nroot;")
            && machine.text().ends_with("proc_list_stop-user"),
        format!("machine: {}", machine.text()),
    );
    verdict.status(seen, "out", 0);
    let smaller = verdict.status(seen, "smaller", 0);
    verdict.that(
        smaller.text().starts_with("cset: --> shielding modified with:")
            && smaller
                .text()
                .ends_with("\"user\" cpuset of CPUSPEC(3) with 1 task running"),
        format!("smaller: {}", smaller.text()),
    );
    let masks = words(seen, "still");
    verdict.equal(
        "masks of movers",
        masks.as_str(),
        "3 Cpus_allowed_list: 0-2 1 Cpus_allowed_list: 3",
    );
    verdict.that(
        verdict_text(seen, "bash").ends_with("\t3"),
        format!("sh: {}", verdict_text(seen, "bash")),
    );
    let reset = verdict.status(seen, "reset", 0);
    verdict.that(
        reset.text().starts_with(
            "cset: --> deactivating/reseting shielding\ncset: moving 1 tasks from \"/user\" user set to root set...",
        ) && reset.text().ends_with(" sets\ncset: done"),
        format!("reset: {}", reset.text()),
    );
}

/// Whether a task of `lab-guest who` is not a kernel thread.
fn is_program(_: &GuestRecords, task: &str) -> bool {
    let names = [
        "sleepers",
        "mover",
        "a (b) c",
        "lab) thread",
        "hold",
        "in a cgroup",
        "init",
        "sh",
        "lab-guest",
        "inside",
    ];
    names.iter().any(|name| task.ends_with(&format!(" {name}")))
}

/// Three spinning programs share three CPUs: the shield is load-balanced inside, as callers of cset expect.
fn spread(spins: &str, verdict: &mut ScenarioVerdict) {
    let spins: Vec<serde_json::Value> = spins
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let share = |spin: &serde_json::Value| {
        Some(spin["ran_ns"].as_u64()?.saturating_mul(1000) / spin["wall_ns"].as_u64()?.max(1))
    };
    let shares: Vec<u64> = spins.iter().filter_map(share).collect();
    let all: u64 = shares.iter().sum();
    verdict.that(
        shares.len() == 3 && all > 1500,
        format!("three spinners in the shield had {shares:?} per mille of a CPU each"),
    );
    verdict.note(format!("three spinners in the shield had {all} per mille of a CPU"));
}

fn the_callers(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let again = verdict.status(seen, "again", 2);
    verdict.equal(
        "reset without a shield",
        again.text(),
        "cset: --> deactivating/reseting shielding\ncset: **> shielding not active on system",
    );
    let rebench = verdict.status(seen, "rebench", 0);
    verdict.that(
        rebench.text().contains("\"free\" cpuset of CPUSPEC(0-1)")
            && rebench.text().contains("\"cage\" cpuset of CPUSPEC(2-3)"),
        format!("other names: {}", rebench.text()),
    );
    let cage = verdict.status(seen, "cage", 0);
    verdict.that(cage.text().ends_with("\t2-3"), format!("in the cage: {}", cage.text()));
    verdict.status(seen, "cage_reset", 0);
}

fn by_hand(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, set) in [
        ("make_sys", "sys"),
        ("make_all", "prio_all"),
        ("make_high", "/prio_all/prio_high"),
        ("make_med", "/prio_all/prio_high/prio_med"),
        ("make_low", "/prio_all/prio_high/prio_med/prio_low"),
    ] {
        let made = verdict.status(seen, name, 0);
        verdict.equal(
            name,
            made.text(),
            format!("cset: --> created cpuset \"{set}\"").as_str(),
        );
    }
    let tree = verdict.status(seen, "tree", 0);
    for row in [
        "sys;0;n;0;n;0;0;/sys",
        "prio_all;0-3;n;0;n;0;1;/prio_all",
        "prio_low;3;n;0;n;0;0;/prio_all/prio_high/prio_med/prio_low",
    ] {
        verdict.that(
            tree.stdout.lines().any(|line| line == row),
            format!("{row} in {}", tree.stdout),
        );
    }
    let moved = verdict.status(seen, "move", 0);
    let to = format!("cset: moving 2 userspace tasks to {}\ncset: done", med(cell));
    verdict.that(moved.text().ends_with(&to), format!("move: {}", moved.text()));
    verdict.status(seen, "move_low", 0);
    let (masks, least) = match cell.layout {
        CgroupLayout::V2 => ("1 Cpus_allowed_list: 0-3 3 Cpus_allowed_list: 3", "3 tasks"),
        _ => (
            "1 Cpus_allowed_list: 0-3 2 Cpus_allowed_list: 2-3 1 Cpus_allowed_list: 3",
            "1 task",
        ),
    };
    verdict.equal("masks of movers in their sets", words(seen, "masks").as_str(), masks);
    let run = verdict.status(seen, "run", 0);
    verdict.that(run.text().ends_with("\t3"), format!("run: {}", run.text()));
    let wrong = verdict.status(seen, "wrong", 2);
    verdict.that(
        wrong.text().ends_with("cset: **> [Errno 2] No such file or directory"),
        format!("wrong: {}", wrong.text()),
    );
    let refused = verdict.status(seen, "has_subsets", 2);
    verdict.equal(
        "a set with sets below it",
        refused.text(),
        "cset: **> cpuset \"/prio_all/prio_high\" has subsets, delete them first, or use --recurse",
    );
    verdict.status(seen, "everything", 0);
    for name in ["wider", "rename", "gone"] {
        verdict.status(seen, name, 0);
    }
    let renamed = verdict.status(seen, "renamed", 0);
    let headline = format!("cset: \"prio_least\" cpuset of CPUSPEC(2-3) with {least} running");
    verdict.that(
        renamed.text().starts_with(&headline),
        format!("renamed: {}", renamed.text()),
    );
    let removed = verdict.status(seen, "tree_gone", 0);
    verdict.that(
        !removed.stdout.contains("prio_"),
        format!("after -d -r --force: {}", removed.stdout),
    );
    let undo = verdict.status(seen, "undo", 0).json();
    verdict.that(
        undo["failed"].as_array().is_some_and(Vec::is_empty),
        format!("undo: {}", undo["failed"]),
    );
    verdict.status(seen, "exclusive", 0);
    let own = verdict.status(seen, "exclusive_list", 0);
    verdict.that(
        own.stdout.lines().any(|line| line == "own;3;y;0;n;0;0;/own"),
        format!("{}: an exclusive set: {}", cell.label(), own.stdout),
    );
    verdict.status(seen, "destroy", 0);
}

fn verdict_text(seen: &GuestRecords, name: &str) -> String {
    seen.get(name).text().to_owned()
}

fn words(seen: &GuestRecords, name: &str) -> String {
    seen.get(name).text().split_whitespace().collect::<Vec<_>>().join(" ")
}
