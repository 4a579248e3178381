//! Leases CPUs of a pool to processes and cgroups. They end with their owner, at the next command or at once with the
//! daemon; SIGKILL of clients, owners, commands and the daemon never gives a CPU two owners, and everything is restored.

use super::sigkill_anywhere::swept;
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "leases",
    about: "CPUs of a pool are leased to owners; they end with them, in order, also in a storm of SIGKILL",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    [(K6_1, CgroupLayout::V1), (K7, CgroupLayout::V2)]
        .map(|(kernel, layout)| ScenarioCell::new(kernel, layout).within(900))
        .to_vec()
}

/// Rounds of each of the three clients of the storm.
const ROUNDS: u32 = 5;

/// A client of the storm: an owner, a lease, and a moment later the end of the owner. A directory per CPU shows that no
/// other client has it. One round of four kills the command, one the owner while the command runs.
const CLIENT: &str = r#"
n=0
while [ $n -lt ROUNDS ]; do
    n=$((n + 1))
    sleep 1000 & owner=$!
    quietcore lease --count 1 --wait 60s --for pid:$owner --json >/tmp/storm_$1 2>>/tmp/storm_said & client=$!
    case $((($(od -An -N1 -tu1 /dev/urandom) + $1) % 4)) in
        0) sleep 0.7; kill -9 $client; echo killed >>/tmp/storm_log ;;
        1) sleep 0.7; kill -9 $owner; echo orphaned >>/tmp/storm_log ;;
    esac
    wait $client 2>/dev/null
    cpu=$(sed -n 's/.*"QUIETCORE_CPUS": *"\([0-9]*\)".*/\1/p' /tmp/storm_$1)
    if [ -n "$cpu" ] && kill -0 $owner 2>/dev/null; then
        mkdir /tmp/owned_$cpu 2>/dev/null || echo "CPU $cpu has two owners" >>/tmp/storm_wrong
        echo granted >>/tmp/storm_log
        sleep 0.3
        rmdir /tmp/owned_$cpu
    fi
    kill -9 $owner 2>/dev/null
    wait $owner 2>/dev/null
done
"#;

fn script(cell: &ScenarioCell) -> String {
    let mount = match cell.layout {
        CgroupLayout::V2 => "/sys/fs/cgroup",
        _ => "/sys/fs/cgroup/cpuset",
    };
    let client = CLIENT.replace("ROUNDS", &ROUNDS.to_string());
    format!(
        "export LAB_STATE_LEAVES=/run/quietcore/journal
populate
rec no_pool quietcore lease --count 1 --for manual
printf '[pool]\\ncpus = \"2-3\"\\n' >/etc/quietcore.toml
mkdir {mount}/job
lab-guest sleepers 1 owner >/tmp/owner
state before
rec too_many quietcore lease --count 3 --for manual
rec outside quietcore lease --cpus 0 --for manual
rec no_owner quietcore lease --count 1 --for pid:999999
rec no_cgroup quietcore lease --count 1 --for container:0123456789ab
state refused
same same_refused before refused
rec first quietcore lease --cpus 3 --for pid:$(cat /tmp/owner) --json
rec again quietcore lease --cpus 3 --for pid:$(cat /tmp/owner) --json
rec second quietcore lease --count 1 --for cgroup:/job --json
rec check quietcore check --for 1s --json
rec program quietcore run --partition lease-1 -- sh -c 'echo $QUIETCORE_CPUS $QUIETCORE_PARTITION; grep Cpus_allowed_list /proc/self/status'
rec exhausted quietcore lease --count 1 --for manual
rec undo quietcore undo --json
(quietcore lease --count 1 --wait 60s --for manual --json >/tmp/waited 2>&1; echo $? >/tmp/waited_status) &
wait_for 30 sh -c 'quietcore leases | grep -q waiting'
rec leases quietcore leases --json
kill -9 $(cat /tmp/owner)
wait_for 60 test -s /tmp/waited_status
rec waited cat /tmp/waited
rec waited_status cat /tmp/waited_status
rmdir {mount}/job
rec released quietcore release --for manual --json
rec unknown quietcore release 3
rec none quietcore leases --json
mkdir {mount}/job
state after
same same before after
rec sweep_lease lab-guest sweep entry 19 3 -- quietcore lease --count 1 --for manual --quiet -- quietcore release --for manual --quiet
rec sweep_release lab-guest sweep-undo entry 17 2 -- quietcore lease --count 1 --for manual --quiet -- quietcore release --for manual --quiet
quietcore watch --daemon --log /tmp/watch.jsonl >/tmp/said 2>&1 </dev/null &
daemon=$!
wait_for 60 grep -q watching /tmp/said
lab-guest sleepers 1 owner >/tmp/owner
rec watched quietcore lease --count 1 --for pid:$(cat /tmp/owner) --quiet
kill -9 $(cat /tmp/owner)
wait_for 60 grep -q '\"event\":\"lease\"' /tmp/watch.jsonl
rec ended grep -c '\"event\":\"lease\"' /tmp/watch.jsonl
rec unleased quietcore leases --json
cat >/tmp/client <<'END'
{client}
END
sh /tmp/client 1 & one=$!
sh /tmp/client 2 & two=$!
sh /tmp/client 3 & three=$!
sleep 4
kill -9 $daemon
wait $one $two $three
quietcore release --for manual --quiet
rec storm_wrong cat /tmp/storm_wrong
rec storm_log sh -c 'sort /tmp/storm_log | uniq -c'
rec storm_leases quietcore leases --json
rec storm_said cat /tmp/storm_said
state stormed
same same_stormed before stormed
rec journal ls /run/quietcore/journal
"
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, status) in [
        ("no_pool", 4),
        ("too_many", 4),
        ("outside", 2),
        ("no_owner", 4),
        ("no_cgroup", 4),
    ] {
        verdict.status(seen, name, status);
    }
    verdict.status(seen, "same_refused", 0);
    let first = verdict.status(seen, "first", 0).json();
    verdict.equal("first", first["environment"]["QUIETCORE_CPUS"].as_str(), Some("3"));
    let again = verdict.status(seen, "again", 0).json();
    verdict.equal(
        "again",
        (&again["in_force"], &again["lease"]["id"]),
        (&true.into(), &1.into()),
    );
    let second = verdict.status(seen, "second", 0).json();
    verdict.equal("second", second["lease"]["cpus"].as_str(), Some("2"));
    let check = seen.get("check").json();
    let errors = check["findings"]
        .as_array()
        .map_or(1, |all| all.iter().filter(|one| one["level"] == "error").count());
    verdict.equal("errors of check", errors, 0);
    let program = verdict.status(seen, "program", 0);
    verdict.equal("program", program.text(), "3 lease-1\nCpus_allowed_list:\t3");
    verdict.status(seen, "exhausted", 5);
    let undo = verdict.status(seen, "undo", 0).json();
    verdict.equal("undo of leases", &undo["was_in_force"], &false.into());
    let leases = verdict.status(seen, "leases", 0).json();
    let count = |list: &str| leases[list].as_array().map(Vec::len);
    verdict.equal("leases", (count("leases"), count("waiting")), (Some(2), Some(1)));
    verdict.equal("waited", seen.get("waited_status").text(), "0");
    let released = verdict.status(seen, "released", 0).json();
    verdict.equal("released", released["released"][0]["cpus"].as_str(), Some("3"));
    verdict.status(seen, "unknown", 4);
    for name in ["none", "unleased", "storm_leases"] {
        let none = verdict.status(seen, name, 0).json();
        verdict.equal(name, none["leases"].as_array().map(Vec::len), Some(0));
    }
    verdict.status(seen, "same", 0);
    let stormed = seen.get("same_stormed");
    // A kernel 7.2 may warn about a process that is killed while it changes a partition (kernels.md).
    let remains = stormed
        .stdout
        .lines()
        .filter(|line| !line.starts_with("/proc/sys/kernel/tainted: \"0\" became \"512\""));
    let remains: Vec<&str> = remains.collect();
    verdict.that(
        stormed.status >= 0 && remains.is_empty(),
        format!("after the storm: {remains:?}"),
    );
    for (name, least) in [("sweep_lease", 3), ("sweep_release", 3)] {
        swept(seen, name, least, verdict);
    }
    verdict.status(seen, "watched", 0);
    verdict.status(seen, "ended", 0);
    let wrong = seen.get("storm_wrong");
    verdict.that(
        wrong.status != 0 || wrong.stdout.is_empty(),
        format!("storm: {}", wrong.text()),
    );
    let log = verdict.status(seen, "storm_log", 0);
    verdict.that(log.stdout.contains("granted"), format!("storm: {}", log.text()));
    verdict.note(format!("storm: {}", log.text().replace('\n', ", ")));
    verdict.that(seen.get("journal").status > 0, "the journal is gone".to_owned());
}
