//! Runs beside the cpusets of Docker, libvirt and cset. They are narrowed while a partition is active and restored
//! exactly by `undo`. `apply` refuses if they would have no other CPU. The cgroups are created as runc, libvirt and
//! cset create them.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "owners",
    about: "containers and a virtual machine lose the isolated CPU and get it back; one ends and one starts during \
         that time",
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
    .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).within(150))
    .to_vec()
}

const V1: &str = "top=/sys/fs/cgroup/cpuset procs=tasks
parent() { mkdir -p $top$1; cat $top/cpuset.mems >$top$1/cpuset.mems; echo $2 >$top$1/cpuset.cpus; }
";
const V2: &str = "top=/sys/fs/cgroup procs=cgroup.procs
echo +cpuset >$top/cgroup.subtree_control
parent() { mkdir -p $top$1; [ -z \"$2\" ] || echo $2 >$top$1/cpuset.cpus; echo +cpuset >$top$1/cgroup.subtree_control; }
";

/// `container` does what runc does: it creates the parent, then the cgroup with its CPUs, then moves the process into
/// it. A container without `--cpuset-cpus` has the CPUs of its parent on v1, and none of its own on v2.
fn script(cell: &ScenarioCell) -> String {
    let (prelude, all) = match cell.layout {
        CgroupLayout::V2 => (V2, "''"),
        _ => (V1, "$(cat $top/docker/cpuset.cpus)"),
    };
    format!(
        "{prelude}leaf() {{
    mkdir -p $top$1
    [ -f $top$1/cpuset.mems ] && cat $top/cpuset.mems* 2>/dev/null | head -1 >$top$1/cpuset.mems
    [ -z \"$2\" ] || echo $2 >$top$1/cpuset.cpus
}}
inside() {{ lab-guest sleepers 2 $2 >/tmp/$2; for pid in $(cat /tmp/$2); do echo $pid >$top$1/$procs; done; }}
container() {{ leaf /docker/$1 \"$2\"; inside /docker/$1 $3; }}
cpus() {{ for set in \"$@\"; do echo \"$set=$(cat $top$set/cpuset.cpus)\"; done; }}
id=0123456789abcdef0123456789abcdef
populate
parent /docker 0-3
container stays$id 1-3 stayer
container all$id {all} wide
container ends$id 2-3 ender
parent /machine 0-3
parent /machine/qemu-1-web.libvirt-qemu 0-3
leaf /machine/qemu-1-web.libvirt-qemu/emulator 0-3
inside /machine/qemu-1-web.libvirt-qemu/emulator emulator
leaf /system 0-2
leaf /user 1-2
inside /system csets
inside /user shielded
cpus /docker /docker/stays$id /docker/all$id /machine /machine/qemu-1-web.libvirt-qemu/emulator /system /user >/tmp/cpus_before
state before
rec plan quietcore plan --cpus 3 --json
rec apply quietcore apply --cpus 3 --json
rec who lab-guest who 3
rec during sh -c 'cat '$top'/docker/stays*/cpuset.cpus '$top'/machine/cpuset.cpus'
rec stayer lab masks_of stayer
kill $(cat /tmp/ender)
sleep 0.5
rmdir $top/docker/ends$id
container starts$id {all} starter
rec starter lab masks_of starter
mkdir $top/docker/pinned$id
[ -f $top/docker/pinned$id/cpuset.mems ] && cat $top/cpuset.mems* 2>/dev/null | head -1 >$top/docker/pinned$id/cpuset.mems
rec pins sh -c 'echo 3 >'$top'/docker/pinned'$id'/cpuset.cpus'
lab-guest sleepers 1 pinned >/tmp/pinned
rec enters sh -c 'echo '$(cat /tmp/pinned)' >'$top'/docker/pinned'$id'/'$procs
rec who_pinned lab-guest who 3
rec again quietcore apply --cpus 3 --json
kill $(cat /tmp/pinned)
sleep 0.5
rmdir $top/docker/pinned$id
rec undo quietcore undo --json
cpus /docker /docker/stays$id /docker/all$id /machine /machine/qemu-1-web.libvirt-qemu/emulator /system /user >/tmp/cpus_after
rec same_cpus diff /tmp/cpus_before /tmp/cpus_after
rec starter_after lab masks_of starter
kill $(cat /tmp/starter)
sleep 0.5
rmdir $top/docker/starts$id
state after
same same before after
leaf /docker/alone$id 3
rec alone quietcore apply --cpus 3 --json
rec alone_has cat $top/docker/alone$id/cpuset.cpus

rec sets ls $top
"
    )
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in ["plan", "apply", "undo"] {
        verdict.status(seen, name, 0);
    }
    let plan = seen.get("plan").json();
    let whys: Vec<String> = plan["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| change["why"].as_str().map(str::to_owned))
        .collect();
    for name in ["Docker container stays0123456:", "emulator of virtual machine web:"] {
        verdict.that(
            whys.iter().any(|why| why.starts_with(name)),
            format!("the plan names {name}"),
        );
    }
    let strangers = super::apply_undo::movable(&verdict.status(seen, "who", 0).stdout);
    verdict.that(strangers.is_empty(), format!("movable tasks on CPU 3: {strangers:?}"));
    let plain = |name: &str| seen.get(name).text().split_whitespace().collect::<Vec<_>>().join(" ");
    verdict.equal("narrowed", plain("during").as_str(), "1-2 0-2");
    verdict.equal(
        "a container that stays",
        plain("stayer").as_str(),
        "2 Cpus_allowed_list: 1-2",
    );
    verdict.equal(
        "one that starts during that time",
        plain("starter").as_str(),
        "2 Cpus_allowed_list: 0-2",
    );
    verdict.equal("lists of the sets after undo", seen.get("same_cpus").text(), "");
    let same = seen.get("same");
    let went = |line: &str| line.contains("/docker/ends") && line.ends_with("is gone");
    let changed: Vec<&str> = same.stdout.lines().filter(|line| !went(line)).collect();
    verdict.that(changed.is_empty(), format!("state after undo: {changed:?}"));
    let undo = seen.get("undo").json();
    let notes: Vec<&str> = undo["notes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|note| note.as_str())
        .collect();
    let has_note = |part: &str| notes.iter().any(|note| note.contains(part));
    verdict.that(
        has_note("docker/ends") && has_note("no longer exists"),
        format!("the one that ended is named: {notes:?}"),
    );
    let late = super::apply_undo::movable(&verdict.status(seen, "who_pinned", 0).stdout);
    verdict.that(
        late.is_empty(),
        format!("a container that asks for CPU 3 later comes onto it: {late:?}"),
    );
    match cell.layout {
        CgroupLayout::V2 => {
            verdict.status(seen, "pins", 0);
            verdict.equal(
                "it follows its parent",
                plain("starter_after").as_str(),
                "2 Cpus_allowed_list: 0-3",
            );
        }
        _ => {
            verdict.that(
                seen.get("pins").status != 0,
                "on v1 the kernel refuses it more than its parent has",
            );
            verdict.equal(
                "it keeps what it has",
                plain("starter_after").as_str(),
                "2 Cpus_allowed_list: 0-2",
            );
            verdict.that(
                has_note("docker/starts"),
                format!("the one that came is named: {notes:?}"),
            );
        }
    }
    verdict.status(seen, "again", 0);
    let alone = seen.get("alone");
    verdict.that(
        alone.status != 0
            && format!("{}{}", alone.stdout, alone.stderr).contains("docker update --cpuset-cpus=0-2 alone0123456"),
        format!("a container with no other CPU: {} {}", alone.text(), alone.stderr),
    );
    verdict.equal("and is left alone", seen.get("alone_has").text(), "3");
    let sets = seen
        .get("sets")
        .text()
        .split_whitespace()
        .any(|set| set == "rt" || set == "quietcore-rt");
    verdict.equal("nothing is made then", sets, false);
}
