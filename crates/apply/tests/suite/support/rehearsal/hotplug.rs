//! Simulated CPU hotplug: a CPU goes offline or comes back.

use super::{SimKernel, set};
use machine::CpuSet;

const ONLINE: &str = "/sys/devices/system/cpu/online";

impl SimKernel {
    /// Like [`SimKernel::boot`](super::SimKernel::boot), with CPUs that can be taken offline.
    pub fn boot_with_hotplug(rules: super::Rules) -> SimKernel {
        let kernel = SimKernel::boot(rules);
        for cpu in 1..4 {
            kernel.put(&format!("/sys/devices/system/cpu/cpu{cpu}/online"), "1\n");
        }
        kernel
    }

    /// If the last CPU of a mask goes offline, an interrupt gets all remaining CPUs (`migrate_one_irq`). A task gets
    /// all possible CPUs, and its requested mask is forgotten (`do_set_cpus_allowed`). Neither is restored.
    pub(super) fn switch(&self, cpu: u32, word: &str) {
        let cpu = CpuSet::range(cpu, cpu);
        let now = set(&self.get(ONLINE));
        let online = if word == "1" { now.or(&cpu) } else { now.minus(&cpu) };
        self.put(ONLINE, &format!("{online}\n"));
        // On v1 the CPU leaves every set below the root permanently (`cpuset_hotplug_update_tasks`).
        if self.rules != super::Rules::V2 {
            for group in self.groups().iter().filter(|group| *group != "/") {
                let path = format!("{}/cpuset.cpus", self.dir_of(group));
                let left = set(&self.get(&path)).and(&online);
                self.put(&path, &format!("{left}\n"));
            }
        }
        for irq in [1, 24, 25] {
            let path = format!("/proc/irq/{irq}/smp_affinity_list");
            if !set(&self.get(&path)).intersects(&online) {
                self.put(&path, &format!("{online}\n"));
            }
        }
        let movable = |flags: u32| flags & 0x0400_0000 == 0;
        for task in self.tasks.borrow_mut().iter_mut().filter(|task| movable(task.flags)) {
            if !task.mask.intersects(&online) {
                task.mask = set("0-3");
                task.user_mask = None;
            }
        }
        self.render();
    }
}
