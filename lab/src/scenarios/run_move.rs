//! Starts programs in the partition and moves tasks in and out. Checks `/proc` for each, and the whole state after
//! `undo`.

use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1, where every cpuset accepts single threads, and with v2, where only a threaded one does.
pub const SCENARIO: Scenario = Scenario {
    name: "run_move",
    about: "run and move place what they should, also what forks all the time; --back and undo return all to their original cgroups",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    ScenarioCell::of_each_kind().map(|cell| cell.within(240)).to_vec()
}

fn script(_: &ScenarioCell) -> String {
    r#"mkdir -p /etc
printf 'root:x:0:0::/:/bin/sh\nana:x:1000:1000::/:/bin/sh\n' >/etc/passwd
printf 'root:x:0:\nana:x:1000:\naudio:x:29:ana\n' >/etc/group
populate
lab-guest sleepers 3 'lab moved' >/dev/null
lab-guest sleepers 1 'lab owned' >/dev/null
lab-guest as 1000 lab-guest sleepers 2 'lab owned' >/dev/null
lab-guest threads 3 'lab io' &
threads=$!
sleep 1
state before
rec none quietcore move --name 'lab moved'
rec apply quietcore apply --cpus 2-3 --json
rec self quietcore run --cpus 3 --policy fifo:80 --nice -5 --user ana --no-thp --mems 0 -- cat /proc/self/status
rec stat quietcore run --cpus 3 --policy fifo:80 --nice -5 -- cat /proc/self/stat
rec cgroup quietcore run -- cat /proc/self/cgroup
rec quiet quietcore run --cpus 2-3 -- cat /proc/self/status
rec deadline quietcore run --policy deadline:1ms/5ms/10ms -- cat /proc/self/stat
rec deadline_pinned quietcore run --cpus 3 --policy deadline:1ms/5ms/10ms -- cat /proc/self/stat
rec status quietcore run -q -- sh -c 'exit 42'
rec missing quietcore run -q -- /no/such
rec killed quietcore run -q --latency 0us -- sh -c 'kill -TERM $$'
rec handed quietcore run -q --latency 0us -- sh -c 'kill -USR1 $PPID; sleep 5'
rec latency quietcore run -q --latency 5us --latency-everywhere -- hexdump -n 4 -e '1/4 "%d"' /dev/cpu_dma_latency
cat >/bin/limits <<'EOF'
#!/bin/sh
for cpu in 1 2 3; do cat /sys/devices/system/cpu/cpu$cpu/power/pm_qos_resume_latency_us; done | tr '\n' ' '
EOF
chmod +x /bin/limits
rec limit quietcore run -q --cpus 3 --latency 5us -- limits
rec limit_all quietcore run -q --latency 0us -- limits
quietcore run -q --cpus 3 --latency 50us -- sh -c 'touch /tmp/long; while [ ! -e /tmp/short ]; do sleep 0.1; done; sleep 1' &
wait_for 20 ls /tmp/long
rec limit_two quietcore run -q --latency 7us -- limits
rec limit_one limits
touch /tmp/short; wait $!
rec limit_none limits
quietcore run -q --cpus 3 --latency 9us -- sh -c 'touch /tmp/killed; sleep 100' &
wait_for 20 ls /tmp/killed
kill -9 $!
rec limit_killed limits
rec next quietcore move --name nosuch
rec limit_after limits
rec pinned quietcore run --cpus 2 --pin 'lab io*=3' --pin 'never*=2' -- sh -c '
    lab-guest threads 2 "lab io" & sleep 1
    grep -h Cpus_allowed_list /proc/$!/task/*/status | cut -f2; kill $!; exit 9'
rec no_user quietcore run --user nosuch -- true
rec no_node quietcore run --mems 7 -- true
rec no_cpu quietcore run --cpus 1 -- true

rec where_before lab places_of 'lab moved' 'lab hold'
rec dry quietcore move --name 'lab moved' --dry-run --json
rec where_dry lab places_of 'lab moved' 'lab hold'
rec in quietcore move --name 'lab moved' --name 'lab hold' --cpus 3 --policy rr:7 --json
rec where_in lab places_of 'lab moved' 'lab hold'
rec in_again quietcore move --name 'lab moved' --json
rec out quietcore move --name 'lab moved' --name 'lab hold' --back --json
rec where_out lab places_of 'lab moved' 'lab hold'
rec owned_text quietcore move --name 'lab owned' --dry-run
rec owned_dry quietcore move --name 'lab owned' --dry-run --json
rec owned_none quietcore move --name 'lab owned' --user 4242 --dry-run
rec owned_unknown quietcore move --name 'lab owned' --user nosuch --dry-run
rec owned quietcore move --name 'lab owned' --user ana --cpus 3 --json
rec where_owned lab places_of 'lab owned'
rec owned_out quietcore move --name 'lab owned' --user 1000 --back --json
rec tid quietcore move --tid "$(ls /proc/$threads/task | tail -1)" --json
rec where_threads lab places_of 'lab io'
lab-guest storm /tmp/stop 300 >/tmp/born &
storm=$!
sleep 1
rec storm quietcore move --pid $storm --children --json
for n in 1 2 3; do rec brood$n lab-guest brood $storm; done
rec no_match quietcore move --name nosuch
rec bound quietcore move --name 'ksoftirqd/*'
rec denied lab-guest as 65534 quietcore move --pid 1
rec in_for_undo quietcore move --name 'lab moved' --name 'lab hold' --cpus 2 --policy batch --json
rec where_batch lab places_of 'lab moved'
rec undo quietcore undo --json
touch /tmp/stop
wait $storm
sleep 1
rec born cat /tmp/born
state after
same same before after
"#
    .to_owned()
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "none", 4);
    verdict.status(seen, "apply", 0);
    started(cell, seen, verdict);
    stayed(seen, verdict);
    moved(cell, seen, verdict);
    of_a_user(cell, seen, verdict);
    verdict.status(seen, "undo", 0);
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state after undo", same.text(), "");
    verdict.note(format!("{} children of a storm", seen.get("born").text()));
}

/// The cgroup of the partition.
fn partition(cell: &ScenarioCell) -> &'static str {
    if cell.layout == CgroupLayout::V1 {
        "/rt"
    } else {
        "/quietcore-rt"
    }
}

/// Priority and policy (fields 40 and 41) and nice value (19) of `/proc/PID/stat`.
fn stat(text: &str) -> Vec<&str> {
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or("?");
    vec![field(40), field(41), field(19)]
}

/// Checks the state of a program that was started in the partition.
fn started(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let own = verdict.status(seen, "self", 0).stdout;
    let line = |name: &str| {
        let found = own.lines().find_map(|line| line.strip_prefix(name));
        found.map(|rest| rest.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    for (name, expected) in [
        ("Cpus_allowed_list:", "3"),
        ("Uid:", "1000 1000 1000 1000"),
        ("Gid:", "1000 1000 1000 1000"),
        ("Groups:", "29 1000"),
        ("THP_enabled:", "0"),
        ("Mems_allowed_list:", "0"),
    ] {
        verdict.equal(name, line(name).as_deref(), Some(expected));
    }
    let fifo = verdict.status(seen, "stat", 0).stdout;
    verdict.equal("priority, policy, nice", stat(&fifo), vec!["80", "1", "-5"]);
    let deadline = verdict.status(seen, "deadline", 0).stdout;
    verdict.equal("priority, policy, nice", stat(&deadline), vec!["0", "6", "0"]);
    let pinned = verdict.status(seen, "deadline_pinned", 125);
    verdict.that(
        pinned.stderr.contains("every CPU of its scheduling domain"),
        format!("a pinned deadline program is explained: {}", pinned.stderr),
    );
    let cgroup = verdict.status(seen, "cgroup", 0);
    verdict.that(
        cgroup.stdout.lines().any(|line| line.ends_with(partition(cell))),
        format!("cgroup of the program: {}", cgroup.stdout),
    );
    verdict.that(
        cgroup.stderr.contains("does not distribute"),
        "an unpinned program is warned",
    );
    let quiet = verdict.status(seen, "quiet", 0);
    verdict.that(
        quiet.stderr.is_empty() && quiet.stdout.contains("Cpus_allowed_list:\t2-3"),
        "a pinned one is not",
    );
    verdict.status(seen, "status", 42);
    verdict.status(seen, "missing", 127);
    for name in ["no_user", "no_node", "no_cpu"] {
        verdict.status(seen, name, 125);
    }
}

/// Checks the parent process that keeps running.
fn stayed(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.status(seen, "killed", 128 + 15);
    verdict.status(seen, "handed", 128 + 10);
    let latency = verdict.status(seen, "latency", 0);
    verdict.equal("latency request", latency.text(), "5");
    for (name, expected) in [
        ("limit", "0 0 5"),
        ("limit_all", "0 n/a n/a"),
        ("limit_two", "0 7 7"),
        ("limit_one", "0 0 50"),
        ("limit_none", "0 0 0"),
        ("limit_killed", "0 0 9"),
        ("limit_after", "0 0 0"),
    ] {
        verdict.status(seen, name, 0);
        verdict.equal(name, seen.get(name).text().trim(), expected);
    }
    let pinned = verdict.status(seen, "pinned", 9);
    let mut masks: Vec<&str> = pinned.stdout.lines().collect();
    masks.sort_unstable();
    verdict.equal("threads pinned by name", masks, vec!["2", "3", "3"]);
    verdict.that(
        pinned.stderr.contains("never*") && !pinned.stderr.contains("lab io*"),
        format!("only the pattern without a match is named: {}", pinned.stderr),
    );
}

fn moved(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let partition = partition(cell);
    let before = verdict.status(seen, "where_before", 0).stdout;
    verdict.status(seen, "dry", 0);
    verdict.equal("places after a dry run", &seen.get("where_dry").stdout, &before);
    verdict.equal("moved", count(seen, "in", "moved"), Some(5));
    verdict.status(seen, "in", 0);
    let inside = verdict.status(seen, "where_in", 0);
    verdict.equal(
        "places inside",
        inside.text().split_whitespace().collect::<Vec<_>>().join(" "),
        format!("5 3 {partition} 7 2"),
    );
    verdict.status(seen, "in_again", 0);
    verdict.equal("already in", count(seen, "in_again", "already"), Some(3));
    verdict.status(seen, "out", 0);
    verdict.equal("places after --out", &seen.get("where_out").stdout, &before);
    verdict.status(seen, "tid", 0);
    verdict.that(
        seen.get("where_threads")
            .stdout
            .contains(&format!("1 2-3 {partition} ")),
        format!("a single thread is in: {}", seen.get("where_threads").stdout),
    );
    verdict.status(seen, "storm", 0);
    for n in 1..=3 {
        let brood = verdict.status(seen, &format!("brood{n}"), 0).json();
        let places: Vec<&String> = brood.as_object().into_iter().flat_map(|map| map.keys()).collect();
        verdict.that(
            places == [partition],
            format!("children of the storm are in {places:?}"),
        );
    }
    verdict.status(seen, "no_match", 2);
    let bound = verdict.status(seen, "bound", 5);
    verdict.that(
        bound.stdout.contains("(ksoftirqd/3)") && bound.stdout.contains("CPU 3"),
        format!("bound threads are named: {}", bound.stdout),
    );
    verdict.status(seen, "denied", 3);
    verdict.status(seen, "in_for_undo", 0);
    verdict.equal(
        "places before undo",
        seen.get("where_batch")
            .text()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        format!("3 2 {partition} 0 3"),
    );
}

/// Two processes of `ana` and one of root have the same name. Checks that only those of `ana` move.
fn of_a_user(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let users = |name: &str| {
        let json = seen.get(name).json();
        let tasks = json["tasks"].as_array().into_iter().flatten();
        let mut users: Vec<String> = tasks
            .map(|task| task["user"].as_str().unwrap_or("?").to_owned())
            .collect();
        users.sort_unstable();
        users
    };
    for name in ["owned_text", "owned_dry", "owned", "owned_out"] {
        verdict.status(seen, name, 0);
    }
    let text = seen.get("owned_text").stdout;
    verdict.that(
        text.contains("they belong to several users (ana, root); --user selects those of one"),
        format!("a dry run names the owners: {text}"),
    );
    verdict.equal(
        "owners in a dry run",
        users("owned_dry"),
        ["ana", "ana", "root"].map(str::to_owned).to_vec(),
    );
    for name in ["owned", "owned_out"] {
        verdict.equal(name, users(name), ["ana", "ana"].map(str::to_owned).to_vec());
        verdict.equal(name, count(seen, name, "moved"), Some(2));
    }
    let inside = format!(" 3 {} ", partition(cell));
    let places = seen.get("where_owned").stdout;
    verdict.that(
        places.lines().filter(|line| line.contains(&inside)).count() == 1
            && places
                .lines()
                .any(|line| line.trim_start().starts_with('2') && line.contains(&inside)),
        format!("those of ana alone are inside: {places}"),
    );
    let none = verdict.status(seen, "owned_none", 2);
    verdict.that(
        none.stderr.contains("no task of user 4242 is"),
        format!("a user without such a process: {}", none.stderr),
    );
    verdict.status(seen, "owned_unknown", 2);
}

fn count(seen: &GuestRecords, name: &str, field: &str) -> Option<u64> {
    seen.get(name).json()[field].as_u64()
}
