//! `/proc/PID/cgroup`, `/proc/self/mountinfo` and `/proc/mounts`.

use super::{FuzzTarget, owned, text};
use machine::{Version, cgroups, tasks};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "cgroups",
    seeds: || {
        owned(&[
            "12:cpuset,cpu:/rt\n3:name=systemd:/user.slice/a:b\n0::/init.scope (deleted)\n",
            "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw,nsdelegate\n31 30 0:27 /x /sys/fs/cgroup/cpu\\040set rw - cgroup cpuset rw,cpuset,noprefix\n",
            "cgroup /dev/cpuset cgroup rw,cpuset,noprefix 0 0\nnone /sys/fs/cgroup\\134 cgroup2 rw 0 0\n",
        ])
    },
    run: |bytes| {
        let text = text(bytes);
        for version in [Version::V1, Version::V2] {
            let _ = tasks::parse_cgroup_file(&text, version);
        }
        let _ = cgroups::parse_mountinfo(&text);
        let _ = cgroups::parse_mounts(&text);
    },
};
