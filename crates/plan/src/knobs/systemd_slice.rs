//! Makes systemd keep the cpuset controller enabled, with an empty slice that requires it.
//!
//! At every `daemon-reload` systemd removes a controller that none of its units needs from the root's
//! `cgroup.subtree_control`, and the kernel then dissolves every partition (seen with 252 and 262). A unit with
//! `AllowedCPUs=`, `AllowedMemoryNodes=` or `Delegate=cpuset` makes it need the controller. The slice names all memory
//! nodes, because CPUs would conflict with a partition that owns them. The slice comes before the partition, because
//! starting it may disable and enable the controller once.
//!
//! It is beside the partition: for a unit that is isolated in place, inside the slice of the unit.

use super::{Knob, KnobUse, Presence};
use crate::{Action, Change, Plan, PlanContext, Profile};
use machine::{CpuId, CpuSet, Owner, Version};

pub(super) const KNOB: Knob = Knob {
    name: "systemd_slice",
    aliases: &["quietcore.slice"],
    files: &["/run/systemd/transient/quietcore.slice"],
    what: "an empty transient systemd slice, quietcore.slice, that requests the cpuset controller, so that systemd \
         keeps it enabled and partitions survive `systemctl daemon-reload`",
    isolation: "while the slice is active, reloads, starts and stops of units, logins and `systemctl set-property` \
         leave the partition alone; AllowedCPUs= of other slices and CPUSetPartition= are not needed in addition",
    needs: "cgroup v2 with systemd 244 or later as init, and its socket /run/systemd/private",
    usage: KnobUse::From(Profile::Minimal),
    stops: &["task"],
    side_effects: "none on tasks: no task runs in the slice; it is removed with the last partition",
    verify: "systemctl status quietcore.slice; cpuset is in /sys/fs/cgroup/cgroup.subtree_control after daemon-reload",
    peers: &["systemd AllowedMemoryNodes="],
    plan,
    ..Knob::PLAIN
};

/// The unit, and its directory below the mount. A dash makes it a child of the slice before the dash (systemd.slice(5)).
fn unit_beside(in_place: Option<&str>) -> (String, String) {
    let (mut above, mut slice) = ("", "");
    for (end, _) in in_place
        .into_iter()
        .flat_map(|cgroup| cgroup.match_indices('/').skip(1))
    {
        let path = in_place.map_or("", |cgroup| &cgroup[..end]);
        // What is inside another unit is not systemd's.
        let Some(name) = path.rsplit('/').next().and_then(|name| name.strip_suffix(".slice")) else {
            break;
        };
        (above, slice) = (path, name);
    }
    let unit = match slice {
        "" => "quietcore.slice".to_owned(),
        slice => format!("{slice}-quietcore.slice"),
    };
    let path = format!("{above}/{unit}");
    (unit, path)
}

fn plan(knob: &Knob, scene: &PlanContext, plan: &mut Plan) -> Presence {
    let hierarchy = scene
        .hierarchy()
        .filter(|hierarchy| hierarchy.version == Version::V2 && !hierarchy.read_only);
    let is_systemds = scene.machine.cgroups.owners.contains(&Owner::Systemd);
    let Some(hierarchy) = hierarchy.filter(|_| is_systemds) else {
        return Presence::Absent;
    };
    let nodes = &scene.machine.topology.nodes;
    let with_memory: CpuSet = nodes
        .iter()
        .filter(|node| node.has_memory == Some(true))
        .map(|node| CpuId(node.id))
        .collect();
    // A kernel without NUMA has the one node 0.
    let nodes = match with_memory.is_empty() {
        true => "0".to_owned(),
        false => with_memory.to_string(),
    };
    let (unit, path) = unit_beside(scene.intent.in_place.as_deref());
    let path = hierarchy.dir(&path);
    let after = format!("a transient systemd unit with AllowedMemoryNodes={nodes}");
    let action = Action::StartSlice {
        unit,
        path: path.clone(),
        nodes,
    };
    let why = "systemd manages the control groups here and disables the cpuset controller at the next daemon-reload, \
         unless one of its units requests it";
    let change = Change::new(&path, &after, "stop the unit with the last partition", action);
    plan.changes.push(change.of_knob(knob.name, why));
    Presence::Here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slice_is_beside_the_partition() {
        for (in_place, unit, path) in [
            (None, "quietcore.slice", "/quietcore.slice"),
            (Some("/init.scope"), "quietcore.slice", "/quietcore.slice"),
            (
                Some("/system.slice/a.service"),
                "system-quietcore.slice",
                "/system.slice/system-quietcore.slice",
            ),
            (
                Some("/user.slice/user-7.slice/user@7.service/app.slice/b.service"),
                "user-7-quietcore.slice",
                "/user.slice/user-7.slice/user-7-quietcore.slice",
            ),
            (Some("/lxc/vm/init"), "quietcore.slice", "/quietcore.slice"),
        ] {
            assert_eq!(unit_beside(in_place), (unit.to_owned(), path.to_owned()));
        }
    }
}
