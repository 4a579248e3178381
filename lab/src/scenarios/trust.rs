//! Tests guarantees that other programs could break. An unconfirmed partition and that of a study are undone although
//! another quietcore holds the lock. `prove` and boot loader tools let other commands run at the same time. The journal
//! of a newer version is kept, a user's task cannot block an `undo`, and no number makes `run --user` keep root.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::CgroupLayout;
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2.
pub const SCENARIO: Scenario = Scenario {
    name: "trust",
    about: "guards and studies wait for the lock; prove and boot set leave it free; newer records are kept; a task's affinity stops no undo; --user never keeps root",
    cells: || {
        vec![
            ScenarioCell::new(K6_1, CgroupLayout::V1),
            ScenarioCell::new(K7, CgroupLayout::V2),
        ]
    },
    script,
    check,
};

/// A record with an unknown event and a valid length and checksum.
const NEWER: &str = r#"qc1 00000038 7567699a {"seq":2000,"at_ns":7,"by":"9.1.0","event":"teleported"}"#;

/// A boot loader whose tool runs as long as the script needs. Other scenarios test the effect of real tools.
const SLOW_LOADER: &str = r#"mkdir -p /etc/default /boot/grub /usr/sbin
echo 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"' >/etc/default/grub
cat >/usr/sbin/update-grub <<'EOF'
#!/bin/sh
touch /tmp/tool
while [ ! -e /tmp/go ]; do sleep 0.1; done
for file in /etc/default/grub /etc/default/grub.d/*.cfg; do [ ! -e $file ] || . $file; done
printf "menuentry 'Linux' {\n\tlinux /vmlinuz root=/dev/vda1 ro %s\n}\n" "$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT" >/boot/grub/grub.cfg
EOF
chmod +x /usr/sbin/update-grub
touch /tmp/go
/usr/sbin/update-grub
rm /tmp/go /tmp/tool
"#;

/// A study of two runs, one of them isolated for longer than it takes to get the lock.
const STUDY: &str = r#"cat >/tmp/study.toml <<END
repetitions = 1
seed = 4
[measure]
what = "noise"
cpus = "3"
for = "6s"
policy = "other"
[axes]
isolation = ["none", "minimal"]
END
"#;

/// The lock is held for longer than any command waits for it, from before the deadlines until long after them.
fn script(_: &ScenarioCell) -> String {
    format!(
        "{SLOW_LOADER}{STUDY}state before
rec first quietcore apply --cpus 3 --partition one --confirm-within 6s
rec second quietcore apply --cpus 2 --partition two --confirm-within 6s
lab-guest lock /run/quietcore/.lock 25 & holder=$!
sleep 1
rec refused quietcore undo
wait $holder
wait_for 30 sh -c '! test -e /run/quietcore/journal'
rec journal ls /run/quietcore/journal
state after
same same before after
rec confirmed quietcore apply --cpus 3 --confirm-within 4s
rec confirm quietcore confirm
sleep 6
rec stays ls /run/quietcore/journal
for user in 4294967295 ana; do
    rec user_$user quietcore run --user $user --group 4294967295 -- id -u
done
rec user_only quietcore run --user 4294967295 --group 0 -- id -u
rec undo quietcore undo
rec prove quietcore prove --cpus 3 --for 8s --out /tmp/prove.json & prove=$!
wait_for 120 test -e /run/quietcore/journal
sleep 3
rec beside_prove quietcore apply --cpus 2 --partition two
rec beside_undo quietcore undo --partition two
rec still_proving ls /run/quietcore/journal
wait $prove
rec proved cat /tmp/prove.json
rec study quietcore study run /tmp/study.toml --out /tmp/study & study=$!
wait_for 120 test -e /run/quietcore/journal
lab-guest lock /run/quietcore/.lock 25 & holder=$!
wait $study
rec study_left ls /run/quietcore/journal
wait $holder
rec study_results sh -c 'ls /tmp/study/*/*.json'
quietcore apply --cpus 3 --quiet
echo '{NEWER}' >>/run/quietcore/journal
cp /run/quietcore/journal /tmp/newer
for how in '' --force --keep --all; do rec newer_undo$how quietcore undo $how; done
rec newer_apply quietcore apply --cpus 2 --partition two
rec newer_kept cmp /tmp/newer /run/quietcore/journal
sed '$d' /tmp/newer >/run/quietcore/journal
rec newer_end quietcore undo
taskset 8 sleep 1000 & task=$!
sleep 1
quietcore apply --cpus 3 --quiet
taskset -p 1 $task
rec task_undo quietcore undo
rec task_apply quietcore apply --cpus 3
rec task_end quietcore undo
kill $task
rec boot_set quietcore boot set --cpus 3 & set=$!
wait_for 60 test -e /tmp/tool
rec beside_boot quietcore apply --cpus 3
rec beside_boot_undo quietcore undo
rec beside_boot_clear quietcore boot clear
touch /tmp/go
wait $set
rec boot_clear quietcore boot clear
rec boot_left ls /var/lib/quietcore
state end
same same_end before end
"
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for name in [
        "first",
        "second",
        "confirmed",
        "confirm",
        "stays",
        "undo",
        "beside_prove",
        "beside_undo",
        "still_proving",
        "study",
        "newer_kept",
        "newer_end",
        "task_apply",
        "task_end",
        "boot_set",
        "beside_boot",
        "beside_boot_undo",
        "boot_clear",
    ] {
        verdict.status(seen, name, 0);
    }
    for name in ["refused", "task_undo", "beside_boot_clear"] {
        verdict.status(seen, name, 5);
    }
    for name in ["undo", "undo--force", "undo--keep", "undo--all", "apply"] {
        let refused = verdict.status(seen, &format!("newer_{name}"), 5);
        verdict.that(
            refused.stderr.contains("quietcore 9.1.0") && refused.stderr.contains("teleported"),
            format!("newer_{name} names the version and the event: {}", refused.stderr),
        );
    }
    let proved = seen.get("proved").json();
    verdict.equal("prove: restored", proved["restored"]["equal"].as_bool(), Some(true));
    verdict.that(
        seen.get("journal").status != 0,
        "both unconfirmed partitions are undone once the lock is free",
    );
    verdict.that(
        seen.get("study_left").status != 0,
        "no partition is active when a study ends, although another process had the lock when its run ended",
    );
    verdict.equal(
        "results of the study",
        seen.get("study_results").stdout.lines().count(),
        2,
    );
    for name in ["same", "same_end"] {
        let same = verdict.status(seen, name, 0);
        verdict.equal(&format!("{name}: state"), same.text(), "");
    }
    for name in ["user_4294967295", "user_ana", "user_only"] {
        let ran = seen.get(name);
        verdict.that(
            ran.status != 0 && ran.stdout.is_empty(),
            format!(
                "{name}: refused, not run as {:?} with status {}",
                ran.text(),
                ran.status
            ),
        );
    }
}
