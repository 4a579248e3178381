//! Tests quietcore's packages for Debian with Debian's own dpkg and systemd: installed, upgraded under an active
//! partition, removed, purged, and active at boot by the installed unit.

use super::systemd::same_states;
use crate::disk::{Disk, PLAIN};
use crate::kernels::{K6_1, K7};
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs with the dpkg and systemd of Debian 12, and with the newest ones.
pub const SCENARIO: Scenario = Scenario {
    name: "packages",
    about: "dpkg installs, upgrades, removes and purges the packages; a partition survives the upgrade, and nothing survives the purge",
    cells,
    script,
    check,
};

const DISK: Disk = Disk { size_mib: 512, ..PLAIN };

const SHAPE: GuestShape = GuestShape {
    memory_mib: 768,
    modules: &["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"],
    debs: &["quietcore-1.deb", "quietcore-2.deb", "quietcore-frontends.deb"],
    disk: Some(&DISK),
    ..USUAL
};

fn cells() -> Vec<ScenarioCell> {
    let cell = |kernel| {
        ScenarioCell::new(kernel, CgroupLayout::V2)
            .on(SHAPE)
            .within(400)
            .under_systemd()
    };
    [K6_1, K7].map(cell).into()
}

/// `files` lists everything that a package may leave, but dpkg's own database and the state of systemd.
const COMMANDS: &str = r#"export PATH=/usr/sbin:/usr/bin:/bin LAB_STATE_LEAVES=/run/quietcore/journal
METRICS=/var/lib/prometheus/node-exporter/quietcore.prom
partition=/sys/fs/cgroup/quietcore-rt/cpuset.cpus.partition
look() { note "$1" "$(cat $partition 2>/dev/null || echo gone)"; }
files() {
    {
        find /etc /usr /var /root ! -path '/var/lib/dpkg*' ! -path '/var/lib/systemd*'
        find /etc -type f -exec md5sum {} +
    } | sort >"/files_$1"
}
# left NAME FILE...: what exists of these files, and of files of quietcore in /etc.
left() { name=$1; shift; rec "$name" /tmp/left "$@"; }
printf '#!/bin/sh\nls -d "$@" 2>/dev/null\nfind /etc -name "*quietcore*"\n' >/tmp/left
chmod +x /tmp/left
"#;

/// First boot: everything by hand, between two states of the machine.
const BY_HAND: &str = r#"mkdir -p /var/lib/dpkg/info /var/lib/dpkg/updates /var/lib/dpkg/triggers /var/log /var/tmp
touch /var/lib/dpkg/status /var/lib/dpkg/available
# dpkg starts only if it finds this program, which it runs for libraries.
mkdir -p /usr/sbin; ln -s /bin/true /usr/sbin/ldconfig
mkdir -p /var/lib/prometheus/node-exporter
files before
state before
rec dpkg dpkg --version
rec install dpkg -i /root/quietcore-1.deb
note units $(systemctl is-enabled quietcore quietcore-watch) $(systemctl is-active quietcore quietcore-watch)
rec frontends dpkg -i /root/quietcore-frontends.deb
for name in cset partrt bitcalc count_ticks systress; do rec as_$name /usr/bin/$name --help; done
rec no_frontends dpkg --purge quietcore-frontends
mkdir -p /tmp/cpuset/DEBIAN /tmp/cpuset/usr/bin
printf 'Package: cpuset\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.example>\nDescription: the real one\n' >/tmp/cpuset/DEBIAN/control
echo real >/tmp/cpuset/usr/bin/cset
chmod 755 /tmp/cpuset/DEBIAN
rec build_cpuset dpkg-deb -Znone --build /tmp/cpuset /tmp/cpuset.deb
rec cpuset dpkg -i /tmp/cpuset.deb
rec conflict dpkg -i /root/quietcore-frontends.deb
note cset $(cat /usr/bin/cset)
rec no_cpuset dpkg --purge cpuset
rec apply /usr/bin/quietcore apply --cpus 3 --profile minimal --save
rec unit /usr/bin/quietcore apply --install-unit
look applied
state applied
printf '[watch]\ntextfile = "%s"\n' $METRICS >>/etc/quietcore.toml
rec watch systemctl start quietcore-watch
wait_for 30 grep -q ^quietcore_ $METRICS
first=$(systemctl show quietcore-watch -p MainPID --value)
rec upgrade dpkg -i /root/quietcore-2.deb
second=$(systemctl show quietcore-watch -p MainPID --value)
note watch_is $(systemctl is-active quietcore-watch) $([ $first = $second ] && echo the first || echo another)
systemctl stop quietcore-watch
look upgraded
state upgraded
same same_upgraded applied upgraded
# Neither the former value nor ours.
echo b >/proc/irq/default_smp_affinity
rec refused dpkg --remove quietcore
rec stays ls /usr/bin/quietcore /etc/quietcore.toml
echo 7 >/proc/irq/default_smp_affinity
rec remove dpkg --remove quietcore
look removed
rec config cat /etc/quietcore.toml
mkdir /var/lib/quietcore
echo '{}' >/var/lib/quietcore/noise.json
left left_removed /var/lib/quietcore $METRICS
state removed
same same_removed before removed
rec purge dpkg --purge quietcore
left left_purged /run/quietcore /var/lib/quietcore /var/log/quietcore $METRICS
files after
rec files diff /files_before /files_after
rec reinstall dpkg -i /root/quietcore-1.deb
printf '[[partition]]\ncpus = "3"\nprofile = "minimal"\n' >/etc/quietcore.toml
rec enable systemctl enable quietcore.service
again
"#;

/// Second boot: the unit has applied what is declared.
const AT_BOOT: &str = r#"note unit $(systemctl is-active quietcore)
look at_boot
rec upgrade dpkg -i /root/quietcore-2.deb
note unit_then $(systemctl is-active quietcore)
look upgraded
rec remove dpkg --remove quietcore
look removed
rec config cat /etc/quietcore.toml
rec purge dpkg --purge quietcore
left left_purged /run/quietcore /var/lib/quietcore /var/log/quietcore
files after
rec files diff /files_before /files_after
"#;

fn script(_: &ScenarioCell) -> String {
    format!("{COMMANDS}if [ $LAB_BOOT = 1 ]; then\n{BY_HAND}fi\n{AT_BOOT}")
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    verdict.note(seen.get("1/dpkg").stdout.lines().next().unwrap_or_default());
    for name in [
        "1/install",
        "1/frontends",
        "1/no_frontends",
        "1/build_cpuset",
        "1/cpuset",
        "1/no_cpuset",
        "1/apply",
        "1/unit",
        "1/watch",
        "1/upgrade",
        "1/stays",
        "1/remove",
        "1/config",
        "1/purge",
        "1/reinstall",
        "1/enable",
        "2/upgrade",
        "2/remove",
        "2/config",
        "2/purge",
    ] {
        verdict.status(seen, name, 0);
    }
    for name in ["cset", "partrt", "bitcalc", "count_ticks", "systress"] {
        let answer = seen.get(&format!("1/as_{name}"));
        verdict.that(
            answer.status != 127 && answer.status != -1,
            format!("{name} does not start"),
        );
    }
    for (name, expected) in [
        ("1/units", "disabled disabled inactive inactive"),
        ("1/cset", "real"),
        ("1/applied", "isolated"),
        ("1/watch_is", "active another"),
        ("1/upgraded", "isolated"),
        ("1/removed", "gone"),
        (
            "1/left_removed",
            "/var/lib/prometheus/node-exporter/quietcore.prom\n/var/lib/quietcore\n/etc/quietcore.toml",
        ),
        ("1/left_purged", ""),
        ("1/files", ""),
        ("2/unit", "active"),
        ("2/at_boot", "isolated"),
        ("2/unit_then", "active"),
        ("2/upgraded", "isolated"),
        ("2/removed", "gone"),
        ("2/left_purged", ""),
        ("2/files", ""),
    ] {
        verdict.equal(name, seen.get(name).text(), expected);
    }
    let conflict = seen.get("1/conflict");
    verdict.that(
        conflict.status != 0 && conflict.stderr.contains("conflicts with cpuset"),
        format!("a real cset is overwritten: {}", conflict.stderr),
    );
    let refused = seen.get("1/refused");
    verdict.that(
        refused.status != 0 && refused.stderr.contains("quietcore is not removed"),
        format!("a removal that cannot undo everything: {}", refused.stderr),
    );
    // systemd itself enables controllers in its slice when a unit with `Delegate=cpuset` is loaded.
    let upgraded = seen.get("1/same_upgraded").stdout;
    let changed = upgraded
        .lines()
        .find(|line| !line.starts_with("/sys/fs/cgroup/system.slice/"));
    verdict.equal("changed by the upgrade", changed, None);
    same_states(seen, "1/same_removed", verdict);
}
