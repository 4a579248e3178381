//! Tests `/etc/quietcore.toml`: applied, recreated at boot within the lock-out rules, delegated to a user, removed
//! again.

use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2, and with the boot parameter that disables everything.
pub const SCENARIO: Scenario = Scenario {
    name: "declared",
    about: "declared partitions come by apply and at boot, an owner moves himself in, and undo --all leaves no trace",
    cells,
    script,
    check,
};

/// A guest with the real boot parameter that disables quietcore.
const OFF: GuestShape = GuestShape {
    name: "off",
    boot: "quietcore=off",
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    vec![
        ScenarioCell::new(K6_1, CgroupLayout::V1).within(300),
        ScenarioCell::new(K7, CgroupLayout::V2).within(300),
        ScenarioCell::new(K7, CgroupLayout::V2).on(OFF),
    ]
}

const FILE: &str = "export LAB_STATE_LEAVES=/run/quietcore/journal
q() { quietcore \"$@\" --quiet; }
etc() { find /etc /var/lib \\( -type f -exec md5sum {} \\; \\) -o \\( -type l -exec ls -l {} \\; \\) -o -print | sort; }
echo 'ana:x:1000:1000::/:/bin/sh' >/etc/passwd
echo 'audio:x:29:ana' >/etc/group
populate
write_file() {
    cat >/etc/quietcore.toml <<END
# What this machine is for.
[[partition]]
name = \"rt\"
cpus = \"3\"     # the last one

[[partition]]
name = \"net\"
cpus = \"2\"
profile = \"minimal\"
at_boot = false
END
}
";

const APPLY: &str = "etc >/tmp/etc_before
rec owner_before sh -c \"stat -c '%a %u:%g %n' /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/cpuset/tasks 2>/dev/null\"
state before
write_file
rec dry quietcore apply --dry-run --json
state dry
same same_dry before dry
rec first quietcore apply --json
size=$(wc -c </run/quietcore/journal)
state in_force
rec second quietcore apply --json
state in_force_again
same same_second in_force in_force_again
rec grew expr $(wc -c </run/quietcore/journal) - $size
rec other quietcore apply --partition rt --cpus 1
sed 's/\"3\" /\"1\" /' </etc/quietcore.toml >/tmp/other.toml
rec other_file quietcore apply --config /tmp/other.toml --json
printf '[[partition]]\\ncpus = \"3\"\\n\\ncolour = \"red\"\\n' >/tmp/bad.toml
rec bad quietcore apply --config /tmp/bad.toml
rec undo_net quietcore undo --partition net --json
rec third quietcore apply --json
q undo; q undo
state middle
same same_middle before middle
";

/// Simulates another boot by mounting another boot ID over the current one.
const BOOT: &str = "rec boot_1 quietcore apply --at-boot --good-after 1h --json
rec note ls /var/lib/quietcore/boot-attempt
rec boot_again quietcore apply --at-boot --good-after 1h --json
rec stop quietcore undo --at-boot --json
echo 99999999-2222-3333-4444-555555555555 >/tmp/boot_id
mount -o bind /tmp/boot_id /proc/sys/kernel/random/boot_id
state next_boot
rec skipped quietcore apply --at-boot --json
state skipped
same same_skipped next_boot skipped
rec confirm quietcore confirm --json
rec boot_2 quietcore apply --at-boot --good-after 2s --json
sleep 4
rec note_gone ls /var/lib/quietcore/boot-attempt
rec stop_2 quietcore undo --at-boot --json
umount /proc/sys/kernel/random/boot_id
";

const OWNER: &str = "case $(cat /proc/cmdline) in
    *lab.cgroup=v2*) list=/sys/fs/cgroup/quietcore-rt/cgroup.procs ;;
    *) list=/sys/fs/cgroup/cpuset/rt/tasks ;;
esac
own=\"echo \\$\\$ >$list && grep Cpus_allowed_list /proc/self/status\"
lab-guest as 1001 lab-guest sleepers 1 of_bob >/tmp/bob
lab-guest sleepers 1 of_root >/tmp/root
rec owner quietcore apply --cpus 3 --owner ana --json
rec list ls -ln $list
rec ana lab-guest as 1000 sh -c \"$own\"
rec bob lab-guest as 1001 sh -c \"$own\"
rec ana_moves_bob lab-guest as 1000 sh -c \"echo $(cat /tmp/bob) >$list\"
rec ana_moves_root lab-guest as 1000 sh -c \"echo $(cat /tmp/root) >$list\"
rec ana_is_started_there quietcore run --user ana -- sh -c 'sh -c \"id -u; grep Cpus_allowed_list /proc/self/status\"'
rec owner_again quietcore apply --cpus 3 --owner ana --json
q undo
rec wide quietcore apply --cpus 3 --owner ana:audio --with owner_ancestor --json
rec wide_list ls -ln $list
rec wide_ana lab-guest as 1000 sh -c \"$own\"
rec wide_bob lab-guest as 1001 sh -c \"$own\"
rec wide_ana_moves_bob lab-guest as 1000 sh -c \"echo $(cat /tmp/bob) >$list\"
rec wide_ana_moves_root lab-guest as 1000 sh -c \"echo $(cat /tmp/root) >$list\"
rec wide_undo quietcore undo --json
rec owner_after sh -c \"stat -c '%a %u:%g %n' /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/cpuset/tasks 2>/dev/null\"
kill $(cat /tmp/bob /tmp/root)
";

const TRACES: &str = "rec all_by_hand quietcore undo --all --json
rec kept cmp /etc/quietcore.toml.bak /tmp/mine
rm /etc/quietcore.toml.bak
state by_hand
same same_by_hand before by_hand
etc >/tmp/etc_by_hand
rec etc_by_hand diff /tmp/etc_before /tmp/etc_by_hand
mkdir -p /etc/systemd/system /etc/init.d
echo '# of somebody else' >/etc/systemd/system/quietcore.service
etc >/tmp/etc_before
rec save quietcore apply --cpus 3 --save --json
rec save_again quietcore apply --cpus 3 --save --json
rec save_other quietcore apply --partition b --cpus 3 --save
rec saved cat /etc/quietcore.toml
rec unit quietcore apply --install-unit systemd --json
rec unit_text cat /etc/systemd/system/multi-user.target.wants/quietcore.service
rec script quietcore apply --install-unit --json
q undo
rec start /etc/rc2.d/S99quietcore start
rec started lab-guest who 3
rec status /etc/init.d/quietcore status
rec stop_3 /etc/rc0.d/K01quietcore stop
q apply
rec all quietcore undo --all --json
rec all_again quietcore undo --all --json
state after
same same before after
etc >/tmp/etc_after
rec etc diff /tmp/etc_before /tmp/etc_after
";

fn script(cell: &ScenarioCell) -> String {
    if cell.shape.name == OFF.name {
        let off = "state before
write_file
etc >/tmp/etc_before
rec off quietcore apply --at-boot --json
echo '[[broken' >/etc/quietcore.toml
rec off_broken quietcore apply --at-boot
write_file
state after
same same before after
etc >/tmp/etc_after
rec etc diff /tmp/etc_before /tmp/etc_after
rec by_hand quietcore apply --json
";
        return format!("{FILE}{off}");
    }
    format!("{FILE}{APPLY}{BOOT}cp /etc/quietcore.toml /tmp/mine\n{OWNER}{TRACES}")
}

fn check(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    if cell.shape.name == OFF.name {
        let off = verdict.status(seen, "off", 0).json();
        verdict.that(
            off["skipped"].as_str().is_some_and(|why| why.contains("quietcore=off")),
            format!("off: {off}"),
        );
        verdict.status(seen, "off_broken", 0);
        silent(seen, verdict, &["same", "etc"]);
        states(seen, verdict, "by_hand", &[("rt", "applied"), ("net", "applied")]);
        return;
    }
    check_apply(seen, verdict);
    check_boot(seen, verdict);
    check_owner(cell, seen, verdict);
    check_traces(seen, verdict);
}

/// Records that must be empty.
fn silent(seen: &GuestRecords, verdict: &mut ScenarioVerdict, names: &[&str]) {
    for name in names {
        let record = seen.get(name);
        verdict.equal(name, record.text(), "");
        verdict.equal(name, record.status, 0);
    }
}

/// Checks the state that `apply` reports for each partition.
fn states(seen: &GuestRecords, verdict: &mut ScenarioVerdict, name: &str, expected: &[(&str, &str)]) {
    let report = seen.get(name).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let found: Vec<(String, String)> = report["partitions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (text(&one["partition"]), text(&one["state"])))
        .collect();
    let expected_states: Vec<(String, String)> = expected
        .iter()
        .map(|(partition, state)| ((*partition).to_owned(), (*state).to_owned()))
        .collect();
    verdict.equal(name, found, expected_states);
}

fn check_apply(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let dry = verdict.status(seen, "dry", 0).json();
    verdict.equal("plans", dry["plans"].as_array().map(Vec::len), Some(2));
    verdict.status(seen, "first", 0);
    states(seen, verdict, "first", &[("rt", "applied"), ("net", "applied")]);
    verdict.status(seen, "second", 0);
    states(seen, verdict, "second", &[("rt", "in_force"), ("net", "in_force")]);
    verdict.equal("bytes that the second run wrote", seen.get("grew").text(), "0");
    verdict.status(seen, "other", 5);
    verdict.status(seen, "other_file", 5);
    states(
        seen,
        verdict,
        "other_file",
        &[("rt", "left_alone"), ("net", "in_force")],
    );
    let bad = verdict.status(seen, "bad", 2);
    verdict.that(
        bad.stderr.contains("/tmp/bad.toml:4: ") && bad.stderr.contains("colour"),
        format!("bad: {}", bad.stderr),
    );
    let undone = verdict.status(seen, "undo_net", 0).json();
    verdict.that(
        undone["notes"]
            .to_string()
            .contains("/etc/quietcore.toml:6 still declares"),
        format!("undo --partition: {}", undone["notes"]),
    );
    verdict.status(seen, "third", 0);
    states(seen, verdict, "third", &[("rt", "in_force"), ("net", "applied")]);
    silent(seen, verdict, &["same_dry", "same_second", "same_middle"]);
}

fn check_boot(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    for (name, state) in [("boot_1", "applied"), ("boot_again", "in_force"), ("boot_2", "applied")] {
        verdict.status(seen, name, 0);
        states(seen, verdict, name, &[("rt", state)]);
    }
    verdict.status(seen, "note", 0);
    for name in ["stop", "stop_2"] {
        let stopped = verdict.status(seen, name, 0).json();
        verdict.equal(name, stopped["taken"].to_string(), "[\"rt\"]".to_owned());
    }
    let skipped = verdict.status(seen, "skipped", 5);
    verdict.that(
        skipped.stderr.contains("not followed by a good boot") && skipped.stderr.contains("quietcore confirm"),
        format!("skipped: {}", skipped.stderr),
    );
    silent(seen, verdict, &["same_skipped"]);
    let confirmed = verdict.status(seen, "confirm", 0).json();
    verdict.equal("confirm", confirmed["boot"].as_bool(), Some(true));
    verdict.that(
        seen.get("note_gone").status != 0,
        "the note went when the machine had stayed up",
    );
}

fn check_owner(cell: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let is_v2 = cell.layout == CgroupLayout::V2;
    let ids = |name: &str| {
        let found = seen.get(name).json();
        let ids = found["findings"].as_array().cloned().unwrap_or_default();
        ids.iter().map(|finding| finding["id"].to_string()).collect::<String>()
    };
    let inside = |name: &str| {
        let record = seen.get(name);
        (record.status, record.stdout.trim_end().ends_with("\t3"))
    };
    for name in ["owner", "owner_again", "wide", "wide_undo"] {
        verdict.status(seen, name, 0);
    }
    verdict.equal(
        "owner again",
        seen.get("owner_again").json()["in_force"].as_bool(),
        Some(true),
    );
    let listed = |name: &str| {
        seen.get(name)
            .text()
            .split_whitespace()
            .take(4)
            .collect::<Vec<_>>()
            .join(" ")
    };
    verdict.equal("list", listed("list").as_str(), "-rw-r--r-- 1 1000 0");
    verdict.equal(
        "list of user and group",
        listed("wide_list").as_str(),
        "-rw-rw-r-- 1 1000 29",
    );
    // On v1 the file is enough, but only for the user's own tasks. On v2 the user also needs write access to
    // `cgroup.procs` of the root cgroup.
    verdict.equal("ana moves herself in", inside("ana").0 == 0, !is_v2);
    verdict.equal("and is there", inside("ana").1, !is_v2);
    verdict.equal("ana moves herself in, root's list open", inside("wide_ana"), (0, true));
    for name in [
        "bob",
        "wide_bob",
        "ana_moves_bob",
        "ana_moves_root",
        "wide_ana_moves_root",
    ] {
        verdict.that(seen.get(name).status != 0, format!("{name} must be refused"));
    }
    verdict.equal(
        "ana moves bob, root's list open",
        seen.get("wide_ana_moves_bob").status == 0,
        is_v2,
    );
    verdict.equal("said", ids("owner").contains("owner-inside-only"), is_v2);
    verdict.equal("said of the door", ids("wide").contains("owner-ancestor"), is_v2);
    let started = verdict.status(seen, "ana_is_started_there", 0);
    verdict.that(
        started.stdout.starts_with("1000\n") && started.stdout.trim_end().ends_with("\t3"),
        format!("started there: {}", started.text()),
    );
    verdict.equal(
        "owners after",
        seen.get("owner_after").text().to_owned(),
        seen.get("owner_before").text().to_owned(),
    );
}

fn check_traces(seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let by_hand = verdict.status(seen, "all_by_hand", 0).json();
    verdict.that(
        by_hand["removed"].to_string().contains("/etc/quietcore.toml.bak"),
        format!("removed: {}", by_hand["removed"]),
    );
    silent(seen, verdict, &["kept", "same_by_hand", "etc_by_hand"]);
    let save = verdict.status(seen, "save", 0).json();
    verdict.equal("saved", save["saved"].as_str(), Some("/etc/quietcore.toml"));
    verdict.status(seen, "save_again", 0);
    verdict.status(seen, "save_other", 5);
    let saved = verdict.status(seen, "saved", 0);
    verdict.that(
        saved.stdout.ends_with("[[partition]]\nname = \"rt\"\ncpus = \"3\"\n"),
        format!("saved: {}", saved.stdout),
    );
    for name in ["unit", "script", "start", "status", "stop_3"] {
        verdict.status(seen, name, 0);
    }
    let unit = seen.get("unit_text");
    verdict.that(
        unit.stdout.contains("ExecStart=/bin/quietcore apply --at-boot"),
        format!("unit: {}", unit.text()),
    );
    let strangers = super::apply_undo::movable(&verdict.status(seen, "started", 0).stdout);
    verdict.that(strangers.is_empty(), format!("after the script: {strangers:?}"));
    let all = verdict.status(seen, "all", 0).json();
    for path in [
        "/etc/quietcore.toml",
        "/etc/systemd/system/quietcore.service",
        "/etc/init.d/quietcore",
        "/var/lib/quietcore",
    ] {
        verdict.that(
            all["removed"].to_string().contains(path),
            format!("{path} is not among the removed"),
        );
    }
    verdict.status(seen, "all_again", 0);
    silent(seen, verdict, &["same", "etc"]);
}
