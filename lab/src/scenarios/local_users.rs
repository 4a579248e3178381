//! Tests what any local user can place, own or send. None of it decides where root writes, what root runs at boot, or
//! how much CPU time the daemon uses.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "local_users",
    about: "links, binaries, connections and writes of local users: refused, or without effect on root's files and on the daemon",
    cells: || {
        vec![
            ScenarioCell::new(K6_1, CgroupLayout::V1).within(240),
            ScenarioCell::new(K7, CgroupLayout::V2).within(240),
        ]
    },
    script,
    check,
};

/// Maximum CPU share that the daemon's rate limits allow in addition to its checks while a user writes endlessly: a
/// tenth for processes that change their names, a twentieth for writes (`watch::drift::Interval`).
const EVENTS_SHARE: f64 = 0.15;

/// For how long that user writes, and the number of clock ticks (`USER_HZ`) per second.
const SCRIBBLE_S: u32 = 6;
const TICKS_PER_S: f64 = 100.0;

fn script(_: &ScenarioCell) -> String {
    format!(
        "state before
mkdir -p /open /safe /home/eve /etc
ip link set lo up
chmod 1777 /open
echo secret >/safe/file.json
chmod 600 /safe/file.json
lab-guest as 4242 ln -s /safe/file.json /open/last.json
lab-guest as 4242 ln -s /safe /open/middle
for path in last.json middle/new.json; do
    rec link_$(basename $(dirname /open/$path)) quietcore measure noise --cpus 3 --for 1s --out /open/$path
done
rec safe sh -c 'cat /safe/*; ls /safe | wc -l; stat -c %a /safe/file.json'
cp $(which quietcore) /home/eve/quietcore
chown -R 4242 /home/eve
rec unit /home/eve/quietcore apply --install-unit systemd
rec unit_file ls /etc/systemd/system/quietcore.service
cat >/etc/quietcore.toml <<'EOF'
[watch]
listen = \"127.0.0.1:9100\"
alert = [\"/bin/page\"]
EOF
cat >/bin/page <<'EOF'
#!/bin/sh
sleep 1000 &
echo $! >/tmp/left
grep SigBlk /proc/self/status >/tmp/blocked
EOF
chmod +x /bin/page
quietcore apply --cpus 3 --quiet
quietcore watch --daemon --log /tmp/log >/tmp/said 2>&1 </dev/null & daemon=$!
wait_for 60 grep -q watching /tmp/said
# The clock, then the daemon's CPU time.
spent() {{ echo $(cut -d' ' -f1 /proc/uptime) $(cut -d' ' -f14,15 /proc/$daemon/stat); }}
echo f >/proc/irq/default_smp_affinity
wait_for 60 test -s /tmp/blocked
rec blocked cat /tmp/blocked
rec left_runs sh -c 'kill -0 $(cat /tmp/left)'
lab-guest as 4242 lab-guest silent 127.0.0.1:9100 500 60 >/tmp/open_now & silent=$!
wait_for 60 grep -q open /tmp/open_now
for turn in 1 2 3; do rec scrape$turn lab-guest scrape 127.0.0.1:9100; done
rec still_silent kill -0 $silent
kill $silent
note spent_before $(spent)
rec scribbled lab-guest as 4242 lab-guest scribble /proc/self/comm eve {SCRIBBLE_S}
note spent_after $(spent)
kill -HUP $daemon
wait_for 60 grep -q '\"event\":\"configuration\"' /tmp/log
# The state is replaced after the line is written.
wait_for 60 sh -c '! test /tmp/log -nt /run/quietcore/watch/state'
rec saidx cat /tmp/said
rec state_after cat /run/quietcore/watch/state
from=$(wc -l </tmp/log)
echo 7 >/proc/irq/default_smp_affinity
wait_for 60 sh -c \"tail -n +$((from + 1)) /tmp/log | grep -q default_smp_affinity\"
rec awake sh -c \"tail -n +$((from + 1)) /tmp/log | grep default_smp_affinity\"
kill $daemon
wait $daemon
note ended $?
rec left_gone sh -c '! kill -0 $(cat /tmp/left)'
rm /etc/quietcore.toml
quietcore undo --quiet
rm -r /run/quietcore/watch
state after
same same before after
"
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for link in ["link_open", "link_middle"] {
        let refused = verdict.status(seen, link, 2);
        verdict.that(
            refused.stderr.contains("user 4242 owns a symbolic link"),
            format!("{link} names the owner: {}", refused.stderr),
        );
    }
    verdict.equal(
        "root's file, alone, with its mode",
        seen.get("safe").text(),
        "secret\n1\n600",
    );
    let unit = verdict.status(seen, "unit", 2);
    verdict.that(
        unit.stderr.contains("/home/eve/quietcore is 4242:"),
        format!("the unit's refusal names the file: {}", unit.stderr),
    );
    verdict.that(seen.get("unit_file").status != 0, "no unit is there");
    verdict.equal(
        "signals that an alert program blocks",
        seen.get("blocked").text(),
        "SigBlk:\t0000000000000000",
    );
    for name in ["left_runs", "still_silent", "awake", "left_gone"] {
        verdict.status(seen, name, 0);
    }
    for turn in 1..=3 {
        let scrape = verdict.status(seen, &format!("scrape{turn}"), 0);
        verdict.equal(
            "a scrape beside 500 silent connections",
            scrape.text(),
            "HTTP/1.1 200 OK",
        );
    }
    verdict.status(seen, "scribbled", 0);
    busy(seen, verdict);
    verdict.equal("the daemon's end", seen.get("ended").text(), "0");
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state", same.text(), "");
}

/// Checks that the daemon's CPU time during endless writes stays within its rate limits. The next check starts after
/// four times the cost of the previous one, at most after a second. On a machine where a check takes longer than a
/// quarter of a second, the share is larger.
fn busy(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let at = |name: &str| -> Vec<f64> {
        let text = seen.get(name).stdout;
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let (before, after) = (at("spent_before"), at("spent_after"));
    let ([from, user, system], [to, later_user, later_system]) = (&before[..], &after[..]) else {
        return verdict.that(false, format!("the daemon's CPU time: {before:?}, {after:?}"));
    };
    let (elapsed_s, spent_s) = (to - from, (later_user + later_system - user - system) / TICKS_PER_S);
    let check_s = seen.get("state_after").json()["asked"]["longest_ms"]
        .as_f64()
        .unwrap_or(f64::NAN)
        / 1e3;
    let most_s = elapsed_s * (EVENTS_SHARE + check_s / (check_s + (4.0 * check_s).clamp(0.1, 1.0))) + check_s;
    let text = format!(
        "beside {} writes in {elapsed_s:.2} s the daemon took {spent_s:.2} s of a CPU, {most_s:.2} s at most where a check \
         takes {check_s:.3} s",
        seen.get("scribbled").text()
    );
    verdict.note(text.clone());
    verdict.that(spent_s < most_s, text);
}
