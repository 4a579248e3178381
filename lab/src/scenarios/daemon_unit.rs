//! The daemon as a unit of a real systemd, inside of what that unit forbids it: it hears, writes its log, repairs, is watched,
//! and what one that ended has told is no news to the next.

use crate::kernels::{K6_1, K7};
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::{Layout, Shape, USUAL};
use crate::verdict::Verdict;
use serde_json::Value;

/// With systemd 252 on 6.1, and with the newest on the newest.
pub const SCENARIO: Scenario = Scenario {
    name: "daemon_unit",
    about: "watch --daemon as a unit of systemd tells, repairs, is restarted when it hangs, and tells nothing twice",
    cells,
    script,
    check,
};

/// With room for systemd in the archive that it boots from.
const ROOMY: Shape = Shape {
    memory_mib: 512,
    ..USUAL
};

fn cells() -> Vec<Cell> {
    let cell = |kernel| {
        Cell::new(kernel, Layout::V2)
            .on(ROOMY)
            .within(400)
            .under_systemd()
    };
    [K6_1, K7].map(cell).into()
}

/// What is broken.
const MASK: &str = "/proc/irq/default_smp_affinity";

/// The watchdog is shortened, so that a hang is seen while somebody waits; how long the unit's own is, is looked at before.
const SCRIPT: &str = r#"log=/var/log/quietcore/watch.jsonl
mask=/proc/irq/default_smp_affinity
shown() { systemctl show quietcore-watch -p "$1" --value; }
# told EVENT COUNT: whether that was told of the mask so often.
told() { [ $(grep "\"event\":\"$1\"" $log | grep -c $mask) -ge $2 ]; }
started() { [ $(grep -c '"event":"started"' $log) -ge $1 ]; }
active() { [ $(shown ActiveState) = active ]; }
find /etc/systemd -type f -o -type l | sort >/tmp/files_before
cat $mask >/tmp/mask_before
rec apply quietcore apply --cpus 3 --profile minimal --json
rec install quietcore watch --daemon --install-unit --json
systemctl daemon-reload
rec start systemctl start quietcore-watch
note active $(shown ActiveState) $(shown SubState) $(shown WatchdogUSec) $(shown NRestarts)
rec sources cat /run/quietcore/watch/state
rec place grep Cpus_allowed_list /proc/$(shown MainPID)/status
echo f >$mask
note found $(wait_for 60 told appeared 1 && echo yes)
rec restart systemctl restart quietcore-watch
wait_for 60 started 2
mkdir -p /run/systemd/system/quietcore-watch.service.d
printf '[Service]\nWatchdogSec=8\nRestartSec=1\n' >/run/systemd/system/quietcore-watch.service.d/sooner.conf
systemctl daemon-reload
rec again systemctl restart quietcore-watch
wait_for 60 started 3
first=$(shown MainPID)
sleep 20
note lived $(shown ActiveState) $([ $first = $(shown MainPID) ] && echo the same) $(shown NRestarts)
kill -STOP $first
note hung $(wait_for 90 started 4 && echo started again) $(shown NRestarts)
wait_for 60 active
printf '[watch]\nrepair = true\n' >/etc/quietcore.toml
rec reload systemctl reload quietcore-watch
note over $(wait_for 60 told gone 1 && echo yes) $(cat $mask)
rec stop systemctl stop quietcore-watch
note ended $(shown ActiveState) $(shown Result)
rec log cat $log
rm /etc/quietcore.toml
rec remove quietcore watch --daemon --remove-unit --json
find /etc/systemd -type f -o -type l | sort >/tmp/files_after
rec files diff /tmp/files_before /tmp/files_after
rec undo quietcore undo --json
rec mask diff /tmp/mask_before $mask
"#;

fn script(_: &Cell) -> String {
    SCRIPT.to_owned()
}

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    for name in [
        "apply", "install", "start", "restart", "again", "reload", "stop", "remove", "files", "undo", "mask",
    ] {
        verdict.status(seen, name, 0);
    }
    let state = seen.get("sources").json();
    let sources = state["sources"].as_array().cloned().unwrap_or_default();
    let deaf: Vec<&Value> = sources.iter().filter(|source| source[1] != "").collect();
    verdict.that(
        sources.len() == 4 && deaf.is_empty(),
        format!("inside of the unit it hears nothing of {deaf:?}"),
    );
    let place = seen.get("place").stdout;
    verdict.that(place.trim().ends_with("0-2"), format!("it may run on {place}"));
    for (name, wanted) in [
        ("active", "active running 1min 0"),
        ("found", "yes"),
        ("lived", "active the same 0"),
        ("hung", "started again 1"),
        ("over", "yes 7"),
        ("ended", "inactive success"),
    ] {
        verdict.equal(name, seen.get(name).text(), wanted);
    }
    let text = seen.get("log").stdout;
    let lines: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    verdict.equal("lines that are JSON", lines.len(), text.lines().count());
    let is_of_all = |line: &Value| line["subject"] == MASK || line["subject"].is_null();
    // Four daemons, of which systemd began each; what stands is told by the first, that it is over by the last.
    for (event, times) in [("started", 4), ("appeared", 1), ("gone", 1), ("repaired", 1)] {
        let told = lines
            .iter()
            .filter(|line| line["event"] == event && is_of_all(line));
        verdict.equal(event, told.count(), times);
    }
    let is_it = |line: &&Value| line["event"] == "appeared" && line["subject"] == MASK;
    let appeared = lines.iter().find(is_it);
    verdict.that(
        appeared.is_some_and(|line| line["by"].as_array().is_some_and(|by| !by.is_empty())),
        format!("nobody is named: {appeared:?}"),
    );
}
