//! Runs the daemon as a unit of a real systemd, within the unit's restrictions. It receives events, writes its log,
//! repairs, and serves the watchdog. A later daemon does not report again what an earlier one reported. The journal of
//! systemd contains the lines of the log.

use super::daemon::lines;
use super::systemd::cells;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// Runs with systemd 252 on 6.1, and with the newest systemd on the newest kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "daemon_unit",
    about: "watch --daemon as a unit of systemd reports, repairs, is restarted when it hangs, and reports nothing \
         twice",
    cells,
    script,
    check,
};

/// The sandbox of the daemon: the six capabilities that the unit lists, by their numbers in `capability.h`, and a
/// system call filter (Seccomp 2). A systemd without `libseccomp` silently omits the filter.
const SANDBOX: &str = "CapBnd: 0000000400a81002 NoNewPrivs: 1 Seccomp: 2";

/// The file that the scenario damages.
const MASK: &str = "/proc/irq/default_smp_affinity";

/// Shortens the watchdog, so that a hang is detected during the test. The unit's own value is recorded before.
const SCRIPT: &str = r#"log=/var/log/quietcore/watch.jsonl
mask=/proc/irq/default_smp_affinity
shown() { systemctl show quietcore-watch -p "$1" --value; }
# logged EVENT COUNT: whether that was logged for the mask so often.
logged() { [ $(grep "\"event\":\"$1\"" $log | grep -c $mask) -ge $2 ]; }
started() { [ $(grep -c '"event":"started"' $log) -ge $1 ]; }
active() { [ $(shown ActiveState) = active ]; }
# in_journal FIELD=VALUE...: the entries of the journal that have all of these.
in_journal() { journalctl --quiet --no-pager --output json SYSLOG_IDENTIFIER=quietcore "$@"; }
entered() { [ $(in_journal "QUIETCORE_EVENT=$1" "QUIETCORE_SUBJECT=$mask" | wc -l) -ge 1 ]; }
find /etc/systemd -type f -o -type l | sort >/tmp/files_before
cat $mask >/tmp/mask_before
rec apply quietcore apply --cpus 3 --profile minimal --json
rec install quietcore watch --daemon --install-unit --json
systemctl daemon-reload
rec journald systemctl start systemd-journald.socket systemd-journald.service
printf '[watch]\njournal = true\n' >/etc/quietcore.toml
rec start systemctl start quietcore-watch
note active $(shown ActiveState) $(shown SubState) $(shown WatchdogUSec) $(shown NRestarts)
rec sources cat /run/quietcore/watch/state
note sandbox $(grep -h -e ^NoNewPrivs -e ^Seccomp: -e ^CapBnd /proc/$(shown MainPID)/status)
rec place grep Cpus_allowed_list /proc/$(shown MainPID)/status
echo f >$mask
note found $(wait_for 60 logged appeared 1 && echo yes)
rec restart systemctl restart quietcore-watch
wait_for 60 started 2
mkdir -p /run/systemd/system/quietcore-watch.service.d
printf '[Service]\nWatchdogSec=20\nRestartSec=1\n' >/run/systemd/system/quietcore-watch.service.d/sooner.conf
systemctl daemon-reload
rec again systemctl restart quietcore-watch
wait_for 60 started 3
first=$(shown MainPID)
sleep 50
note lived $(shown ActiveState) $([ $first = $(shown MainPID) ] && echo the same) $(shown NRestarts)
kill -STOP $first
note hung $(wait_for 90 started 4 && echo started again) $(shown NRestarts)
wait_for 60 active
printf '[watch]\nrepair = true\njournal = true\n' >/etc/quietcore.toml
rec reload systemctl reload quietcore-watch
note over $(wait_for 60 logged gone 1 && echo yes) $(cat $mask)
# Sixty calls of journalctl, which take a guest long: a field that is missing is said, and is no time limit.
note entered $(wait_for 6 entered gone && echo yes)
rec stop systemctl stop quietcore-watch
note ended $(shown ActiveState) $(shown Result)
rec log cat $log
in_journal >/tmp/journal
rec journal cat /tmp/journal
rm /etc/quietcore.toml
rec remove quietcore watch --daemon --remove-unit --json
find /etc/systemd -type f -o -type l | sort >/tmp/files_after
rec files diff /tmp/files_before /tmp/files_after
rec undo quietcore undo --json
rec mask diff /tmp/mask_before $mask
"#;

fn script(_: &ScenarioCell) -> String {
    SCRIPT.to_owned()
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in [
        "apply", "install", "journald", "start", "restart", "again", "reload", "stop", "remove", "files", "undo",
        "mask",
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
    for (name, expected) in [
        ("active", "active running 1min 0"),
        ("found", "yes"),
        ("lived", "active the same 0"),
        ("hung", "started again 1"),
        ("over", "yes 7"),
        ("entered", "yes"),
        ("ended", "inactive success"),
    ] {
        verdict.equal(name, seen.get(name).text(), expected);
    }
    verdict.equal("sandbox", seen.get("sandbox").text(), SANDBOX);
    let lines = lines(seen, "log", verdict);
    let is_of_all = |line: &Value| line["subject"] == MASK || line["subject"].is_null();
    // systemd started four daemons. The first reports the breakage, the last that it is gone.
    for (event, times) in [("started", 4), ("appeared", 1), ("gone", 1), ("repaired", 1)] {
        let reported = lines.iter().filter(|line| line["event"] == event && is_of_all(line));
        verdict.equal(event, reported.count(), times);
    }
    let is_it = |line: &&Value| line["event"] == "appeared" && line["subject"] == MASK;
    let appeared = lines.iter().find(is_it);
    verdict.that(
        appeared.is_some_and(|line| line["by"].as_array().is_some_and(|by| !by.is_empty())),
        format!("no program is named: {appeared:?}"),
    );
    journal(seen, &lines, verdict);
}

/// Each line of the log is a journal entry, in the same order. Findings have fields of their own.
fn journal(seen: &GuestRecords, log: &[Value], verdict: &mut ScenarioVerdict) {
    let entries = lines(seen, "journal", verdict);
    let events = |lines: &[Value], field: &str| -> Vec<String> {
        let words = lines.iter().filter_map(|line| line[field].as_str());
        words.map(str::to_owned).collect()
    };
    verdict.equal(
        "events in the journal",
        events(&entries, "QUIETCORE_EVENT"),
        events(log, "event"),
    );
    let is_it = |line: &&Value| line["QUIETCORE_SUBJECT"] == MASK && line["QUIETCORE_EVENT"] == "appeared";
    let entry = entries.iter().find(is_it).cloned().unwrap_or_default();
    for (field, expected) in [
        ("PRIORITY", "3"),
        ("QUIETCORE_FINDING", "knob-lost"),
        ("_SYSTEMD_UNIT", "quietcore-watch.service"),
        ("_COMM", "quietcore"),
    ] {
        verdict.equal(field, entry[field].as_str().unwrap_or_default(), expected);
    }
    let message = entry["MESSAGE"].as_str().unwrap_or_default();
    let start = format!("appeared [knob-lost] {MASK}: ");
    verdict.that(message.starts_with(&start), format!("MESSAGE={message}"));
}
