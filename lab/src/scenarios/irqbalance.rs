//! Runs with the real irqbalance: after a request over its socket it leaves an isolated CPU alone, and `undo` restores
//! its list.

use crate::kernels::{K6_1, K7};
use crate::packages::IRQBALANCE;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "irqbalance",
    about: "Debian's irqbalance is notified which CPU is isolated, keeps interrupts off it, and has its own list \
         after undo",
    cells,
    script,
    check,
};

/// Three disk controllers with movable interrupts, each with a disk.
const DISKS: GuestShape = GuestShape {
    modules: &["ahci", "sd_mod"],
    devices: &[
        "-device",
        "ahci,id=a1",
        "-device",
        "ahci,id=a2",
        "-device",
        "ahci,id=a3",
        "-blockdev",
        "null-co,node-name=n1,size=67108864",
        "-blockdev",
        "null-co,node-name=n2,size=67108864",
        "-blockdev",
        "null-co,node-name=n3,size=67108864",
        "-device",
        "ide-hd,drive=n1,bus=a1.0",
        "-device",
        "ide-hd,drive=n2,bus=a2.0",
        "-device",
        "ide-hd,drive=n3,bus=a3.0",
    ],
    packages: Some(&IRQBALANCE),
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    [(K6_1, CgroupLayout::V1), (K7, CgroupLayout::V2)]
        .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).on(DISKS).within(300))
        .to_vec()
}

/// irqbalance rebalances once a second here. SIGHUP makes it place every interrupt again at the next iteration.
fn script(_: &ScenarioCell) -> String {
    "mkdir -p /run/irqbalance
start() {
    /usr/sbin/irqbalance --foreground --interval 1 >/tmp/irqbalance.log 2>&1 &
    daemon=$!
    socket=/run/irqbalance/irqbalance$daemon.sock
    wait_for 10 test -S $socket
}
ask() { lab-guest ask $socket \"$1\"; }
# come SECONDS: how often in that time an interrupt that can be moved had CPU 3 in its mask.
come() {
    seen=0
    for look in $(seq $1); do
        kill -HUP $daemon
        for disk in /dev/sd?; do dd if=$disk of=/dev/null bs=4k count=500 iflag=direct 2>/dev/null; done
        sleep 1
        for irq in $(grep ahci /proc/interrupts | cut -d: -f1); do
            lab-guest listhas $(cat /proc/irq/$irq/smp_affinity_list) 3 && seen=$((seen + 1))
        done
    done
    echo $seen
}
q() { quietcore \"$@\" --quiet; }
start
rec disks sh -c 'ls /dev/sd? | wc -l'
rec own lab-guest ask $socket setup
rec plan quietcore plan --cpus 3 --json
rec without quietcore apply --cpus 3 --without irqbalance --json
note brought $(come 3)
rec without_undo quietcore undo --json
rec apply quietcore apply --cpus 3 --json
note kept $(come 3)
rec setup lab-guest ask $socket setup
rec again quietcore apply --cpus 3 --json
rec second quietcore apply --cpus 1 --partition fast --json
rec first_goes quietcore undo --partition rt --json
rec left lab-guest ask $socket setup
rec undo quietcore undo --json
rec back lab-guest ask $socket setup
note freed $(come 3)
ask 'settings cpus 1'
sleep 2
q apply --cpus 3
sleep 2
rec both lab-guest ask $socket setup
q undo
rec somebodys lab-guest ask $socket setup
ask 'settings cpus NULL'
sleep 2
kill -STOP $daemon
rec silent quietcore apply --cpus 3 --json
kill -CONT $daemon
sleep 2
rec silent_undo quietcore undo --json
q apply --cpus 3
sleep 2
kill -STOP $daemon
rec stuck quietcore undo --json
kill -CONT $daemon
rec unstuck quietcore undo --json
rec unstuck_has lab-guest ask $socket setup
q apply --cpus 3
sleep 2
ask 'settings cpus 2'
sleep 2
rec changed quietcore apply --cpus 3 --json
rec drift quietcore undo --json
rec drift_has lab-guest ask $socket setup
rec forced quietcore undo --force --json
rec forced_has lab-guest ask $socket setup
q apply --cpus 3
kill $daemon
sleep 1
start
rec anew quietcore apply --cpus 3 --json
rec anew_undo quietcore undo --json
rec anew_has lab-guest ask $socket setup
kill $daemon
rec gone quietcore plan --cpus 3 --json
"
    .to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.equal("disks", seen.get("disks").text(), "3");
    for (name, mask) in [
        ("own", ""),
        ("setup", "3"),
        ("left", "1"),
        ("back", ""),
        ("both", "1,3"),
        ("somebodys", "1"),
        ("unstuck_has", ""),
        ("drift_has", "2"),
        ("forced_has", ""),
        ("anew_has", ""),
    ] {
        let answer = verdict.status(seen, name, 0);
        let text = answer.text().to_owned();
        let banned = text.split_whitespace().skip_while(|word| *word != "BANNED").nth(1);
        verdict.equal(
            &format!("{name}: banned"),
            banned.map(cpus_of).unwrap_or_default().as_str(),
            mask,
        );
    }
    let plan = verdict.status(seen, "plan", 0).json();
    let changes = plan["changes"].as_array().cloned().unwrap_or_default();
    let has_change = changes.iter().any(|change| {
        change["target"]
            .as_str()
            .is_some_and(|path| path.starts_with("/run/irqbalance/"))
            && change["after"] == "also bans 3"
    });
    verdict.that(has_change, "the plan tells irqbalance");
    for (name, status) in [
        ("without", 0),
        ("without_undo", 0),
        ("apply", 0),
        ("again", 0),
        ("second", 0),
        ("first_goes", 0),
        ("undo", 0),
        ("silent", 0),
        ("silent_undo", 0),
        ("stuck", 5),
        ("unstuck", 0),
        ("changed", 5),
        ("drift", 5),
        ("forced", 0),
        ("anew", 5),
        ("anew_undo", 0),
    ] {
        verdict.status(seen, name, status);
    }
    let count = |name: &str| seen.get(name).text().parse::<u32>().ok();
    let (brought, kept_count, freed) = (count("brought"), count("kept"), count("freed"));
    verdict.that(
        brought > Some(0),
        format!("without a ban it brings interrupts back onto CPU 3: {brought:?} times"),
    );
    verdict.equal("with a ban it brings interrupts onto CPU 3", kept_count, Some(0));
    verdict.that(
        freed > Some(0),
        format!("after undo it uses CPU 3 again: {freed:?} times"),
    );
    let findings = |name: &str, id: &str| {
        let json = seen.get(name).json();
        let list = json["findings"].as_array().cloned().unwrap_or_default();
        list.iter()
            .filter(|finding| finding["id"] == id && finding["subject"] == "irqbalance")
            .count()
    };
    for (name, id, expected) in [
        ("plan", "irqbalance-runs", 0),
        ("apply", "irqbalance-runs", 0),
        ("again", "drift", 0),
        ("silent", "irqbalance-runs", 1),
        ("changed", "drift", 1),
        ("anew", "drift", 1),
    ] {
        verdict.equal(&format!("{name}: says {id}"), findings(name, id), expected);
    }
    verdict.equal(
        "no daemon, no change",
        seen.get("gone").text().contains("irqbalance/"),
        false,
    );
    verdict.note(format!(
        "interrupts on CPU 3: without a ban {brought:?}, with one {kept_count:?}, after undo {freed:?}"
    ));
}

/// A mask of at most 32 CPUs as a list.
fn cpus_of(mask: &str) -> String {
    let bits = u32::from_str_radix(mask, 16).unwrap_or(u32::MAX);
    let cpus: Vec<String> = (0..32)
        .filter(|cpu| bits >> cpu & 1 == 1)
        .map(|cpu: u32| cpu.to_string())
        .collect();
    cpus.join(",")
}
