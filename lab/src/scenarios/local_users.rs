//! What any local user can place, own or send: none of it decides where root writes, what root runs at boot, or how much CPU
//! time the daemon uses.

use crate::kernels::{K6_1, K7};
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::Layout;
use crate::verdict::Verdict;

/// On v1 and on v2.
pub const SCENARIO: Scenario = Scenario {
    name: "local_users",
    about: "links, binaries, connections and writes of local users: refused, or without effect on root's files and on the daemon",
    cells: || {
        vec![
            Cell::new(K6_1, Layout::V1).within(240),
            Cell::new(K7, Layout::V2).within(240),
        ]
    },
    script,
    check,
};

/// Maximum CPU share that the daemon's rate limits allow while a user writes endlessly: a fifth for checks, a tenth for
/// processes that change their names, a twentieth for writes (`watch::drift::Pace`).
const MOST_SHARE: f64 = 0.35;

/// For how long that user writes, and how many clock ticks (`USER_HZ`) a second has.
const SCRIBBLE_S: u32 = 6;
const TICKS_PER_S: f64 = 100.0;

fn script(_: &Cell) -> String {
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
spent() {{ cut -d' ' -f14,15 /proc/$daemon/stat; }}
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

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
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
    let spent = |name: &str| -> f64 {
        let text = seen.get(name).stdout;
        text.split_whitespace()
            .filter_map(|ticks| ticks.parse::<f64>().ok())
            .sum()
    };
    verdict.status(seen, "scribbled", 0);
    let share = (spent("spent_after") - spent("spent_before")) / TICKS_PER_S / f64::from(SCRIBBLE_S);
    verdict.that(
        share < MOST_SHARE,
        format!(
            "the daemon had {share:.2} of a CPU beside {} writes",
            seen.get("scribbled").text()
        ),
    );
    verdict.note(format!(
        "beside writes without end the daemon had {share:.3} of a CPU"
    ));
    verdict.equal("the daemon's end", seen.get("ended").text(), "0");
    let same = verdict.status(seen, "same", 0);
    verdict.equal("state", same.text(), "");
}
