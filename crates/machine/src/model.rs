//! Combines all parts of one machine.

use crate::irqbalance::{ConfiguredBan, UnknownIrqbalanceRule};
use crate::neighbours::{CpuManager, Tuned};
use crate::reading::{RootReader, UnreadableFile};
use crate::tasks::{CpuTasks, MaskCount};
use crate::{Cgroups, CpuSet, Interrupt, Isolation, Kernel, Task, Topology, Version};
use crate::{cgroups, interrupts, irqbalance, isolation, kernel, neighbours, tasks, topology};
use root::{Origin, Root};
use std::borrow::Cow;

/// A machine as read from a [`root::Root`].
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Live or captured.
    pub origin: Origin,
    /// The kernel.
    pub kernel: Kernel,
    /// CPUs, caches, nodes.
    pub topology: Topology,
    /// What is already isolated.
    pub isolation: Isolation,
    /// cpuset cgroups.
    pub cgroups: Cgroups,
    /// Names of the sockets on which irqbalance listens; none on a captured machine.
    pub irqbalance_sockets: Vec<String>,
    /// The CPUs that its files make it ban when it starts.
    pub irqbalance_bans: Vec<ConfiguredBan>,
    /// Parts of irqbalance's configuration that cannot be judged.
    pub irqbalance_unjudged: Vec<UnknownIrqbalanceRule>,
    /// TuneD's files, if TuneD was ever set up.
    pub tuned: Option<Tuned>,
    /// The state of the kubelet's CPU manager, if there is one.
    pub cpu_manager: Option<CpuManager>,
    /// Every thread, by number; `None` until requested, or if `/proc` shows none.
    pub tasks: Option<Vec<Task>>,
    /// Kernel threads and the daemons that isolation must work with, if not every thread was requested.
    pub planning_tasks: Option<Vec<Task>>,
    /// The masks of all tasks, if not every task was requested.
    pub mask_counts: Option<Vec<MaskCount>>,
    /// The tasks on some CPUs, if not every task was requested.
    pub tasks_on: Option<CpuTasks>,
    /// Every numbered interrupt; `None` until requested, or unknown.
    pub interrupts: Option<Vec<Interrupt>>,
    /// What exists but could not be read, so that no command mistakes it for absent.
    pub unreadable: Vec<UnreadableFile>,
}

impl Machine {
    /// Reads everything except tasks and interrupts. Never fails: what is absent is unknown, and what exists but cannot
    /// be read is listed in `unreadable`.
    #[must_use]
    pub fn read(root: &Root) -> Machine {
        let reader = RootReader::new(root);
        let kernel = kernel::read(&reader);
        let topology = topology::read(&reader);
        let cgroups = cgroups::read(&reader);
        let isolation = isolation::read(&reader, &kernel, &topology, &cgroups);
        let tuned = neighbours::tuned(&reader, &topology);
        Machine {
            origin: root.origin(),
            kernel,
            topology,
            isolation,
            cgroups,
            irqbalance_sockets: irqbalance::sockets(&reader),
            irqbalance_bans: irqbalance::configured(&reader),
            irqbalance_unjudged: irqbalance::unjudged(&reader),
            tuned,
            cpu_manager: neighbours::cpu_manager(&reader),
            tasks: None,
            planning_tasks: None,
            mask_counts: None,
            tasks_on: None,
            interrupts: None,
            unreadable: reader.into_unreadable(),
        }
    }

    /// Whether this was read from a captured machine, where no running program can be queried.
    #[must_use]
    pub fn is_captured(&self) -> bool {
        self.origin == Origin::Captured
    }

    /// Adds every thread, from the same root.
    #[must_use]
    pub fn with_tasks(mut self, root: &Root) -> Machine {
        let (tasks, unreadable) = tasks::read_all(root);
        self.tasks = tasks;
        self.unreadable.extend(unreadable);
        self
    }

    /// Adds the few threads that a plan mentions, or every thread if the kernel does not list them.
    #[must_use]
    pub fn with_planning_tasks(mut self, root: &Root) -> Machine {
        self.planning_tasks = tasks::read_planning_tasks(root);
        if self.planning_tasks.is_none() {
            return self.with_tasks(root);
        }
        self
    }

    /// Adds what a plan needs: how many tasks have which mask, the threads that it mentions, and every numbered interrupt.
    #[must_use]
    pub fn for_plan(self, root: &Root) -> Machine {
        let mut machine = self.with_planning_tasks(root).with_interrupts(root);
        if machine.tasks.is_none() && machine.has_all_cpus_online() {
            machine.mask_counts = machine
                .task_lists()
                .and_then(|lists| tasks::read_mask_counts(root, lists));
        }
        if machine.tasks.is_none() && machine.mask_counts.is_none() {
            return machine.with_tasks(root);
        }
        machine
    }

    /// Adds the tasks that may run on these CPUs, and the threads that a check mentions. Where they cannot be found by their
    /// masks, every task.
    #[must_use]
    pub fn with_tasks_on(self, root: &Root, cpus: &CpuSet) -> Machine {
        let mut machine = self.with_planning_tasks(root);
        if machine.tasks.is_none() && cpus.is_subset(&machine.topology.online) {
            machine.tasks_on = machine
                .task_lists()
                .and_then(|lists| tasks::read_tasks_on(root, lists, cpus));
        }
        match (&machine.tasks, &machine.tasks_on) {
            (None, None) => machine.with_tasks(root),
            _ => machine,
        }
    }

    /// The tasks that may run on these CPUs; `None` if tasks were not requested, or only those of other CPUs.
    #[must_use]
    pub fn tasks_that_may_run_on(&self, cpus: &CpuSet) -> Option<Vec<&Task>> {
        let all = match (&self.tasks, &self.tasks_on) {
            (Some(all), _) => all,
            (None, Some(on)) if cpus.and(&self.topology.online).is_subset(&on.cpus) => &on.tasks,
            _ => return None,
        };
        let may_run = |task: &&Task| task.allowed.as_ref().is_some_and(|mask| mask.intersects(cpus));
        Some(all.iter().filter(may_run).collect())
    }

    /// How many tasks have which mask; of those on some CPUs, if only these were requested. `None` if no tasks were.
    #[must_use]
    pub fn task_masks(&self) -> Option<Cow<'_, [MaskCount]>> {
        if let Some(counts) = &self.mask_counts {
            return Some(Cow::Borrowed(counts));
        }
        let on = self.tasks_on.as_ref().map(|on| &on.tasks);
        let tasks = self.tasks.as_ref().or(on)?;
        Some(Cow::Owned(tasks::count_masks(tasks)))
    }

    /// The number of all tasks; `None` if tasks were not requested.
    #[must_use]
    pub fn task_count(&self) -> Option<usize> {
        let all = self.tasks.as_ref().map(Vec::len);
        all.or_else(|| self.tasks_on.as_ref().map(|on| on.total))
    }

    /// Whether `/proc` hides the tasks of other users (`hidepid=`). Every process namespace has a task 1.
    #[must_use]
    pub fn hides_tasks(&self) -> bool {
        match (&self.tasks, &self.tasks_on) {
            (Some(all), _) => !all.iter().any(|task| task.key.tid == 1),
            (None, Some(on)) => on.is_hidden,
            (None, None) => false,
        }
    }

    /// A mask that the kernel gives by system call lacks the CPUs that are offline (`sched_getaffinity` in `kernel/sched`).
    fn has_all_cpus_online(&self) -> bool {
        let present = self.topology.present.as_ref();
        present.is_none_or(|present| present.is_subset(&self.topology.online))
    }

    fn task_lists(&self) -> Option<tasks::TaskListLocation<'_>> {
        let hierarchy = self.cgroups.cpuset.as_ref()?;
        Some(tasks::TaskListLocation {
            mount: &hierarchy.mount,
            version: hierarchy.version,
        })
    }

    /// The running irqbalance, if the tasks are known.
    #[must_use]
    pub fn irqbalance(&self) -> Option<&Task> {
        let tasks = self.known_tasks().unwrap_or_default();
        let is_it = |task: &&Task| task.comm == "irqbalance" && !task.is_kernel() && task.key.tid == task.pid;
        tasks.iter().find(is_it)
    }

    /// Whether one of the sockets of irqbalance belongs to this process.
    #[must_use]
    pub fn has_irqbalance_socket(&self, pid: u32) -> bool {
        self.irqbalance_sockets.contains(&irqbalance::socket_name(pid))
    }

    /// The known threads: all, or the attendants; `None` if not requested.
    #[must_use]
    pub fn known_tasks(&self) -> Option<&[Task]> {
        self.tasks.as_deref().or(self.planning_tasks.as_deref())
    }

    /// Adds the cgroup of every thread (and the threads, if they are missing): its path in the hierarchy with the
    /// cpuset controller, or in the unified one if none has it.
    #[must_use]
    pub fn with_task_cgroups(self, root: &Root) -> Machine {
        let mut machine = match (&self.tasks, &self.tasks_on) {
            (None, None) => self.with_tasks(root),
            _ => self,
        };
        let version = machine
            .cgroups
            .cpuset
            .as_ref()
            .map_or(Version::V2, |hierarchy| hierarchy.version);
        let reader = RootReader::new(root);
        let on = machine.tasks_on.as_mut().map(|on| &mut on.tasks);
        if let Some(tasks) = machine.tasks.as_mut().or(on) {
            tasks::read_cgroups(&reader, tasks, version);
        }
        machine.unreadable.extend(reader.into_unreadable());
        machine
    }

    /// Reads tasks again before they are reported. A task that has ended is removed, and for the others the current
    /// state counts. A task that was created or ended during the first pass is seen in an inconsistent state.
    #[must_use]
    pub fn with_recheck(mut self, root: &Root, is_doubtful: impl Fn(&Task) -> bool) -> Machine {
        let version = self
            .cgroups
            .cpuset
            .as_ref()
            .map_or(Version::V2, |hierarchy| hierarchy.version);
        let again = |task: Task| {
            if !is_doubtful(&task) {
                return Some(task);
            }
            let now = tasks::read_one(root, task.key.tid)?;
            (now.key == task.key && !now.is_over()).then(|| Task {
                cgroup: tasks::cgroup_of(root, task.key.tid, version),
                ..now
            })
        };
        let read_again = |tasks: Vec<Task>| tasks.into_iter().filter_map(again).collect();
        self.tasks = self.tasks.map(read_again);
        self.tasks_on = self.tasks_on.map(|on| CpuTasks {
            tasks: read_again(on.tasks),
            ..on
        });
        self
    }

    /// Adds every numbered interrupt, from the same root.
    #[must_use]
    pub fn with_interrupts(mut self, root: &Root) -> Machine {
        let reader = RootReader::new(root);
        self.interrupts = interrupts::read_all(&reader, self.kernel.version);
        self.unreadable.extend(reader.into_unreadable());
        self
    }

    /// Whether a cgroup below cgroups that are no partitions can be a partition, whatever its `cpuset.cpus`: on cgroup v2 from
    /// 6.11 on. From 6.7 on the kernel has such partitions, but all lists on the way have to contain the CPUs too
    /// (`compute_effective_exclusive_cpumask`). No file shows the difference, so the release decides.
    #[must_use]
    pub fn has_remote_partitions(&self) -> bool {
        let is_v2 = self
            .cgroups
            .cpuset
            .as_ref()
            .is_some_and(|hierarchy| hierarchy.version == Version::V2);
        is_v2 && self.kernel.version.is_some_and(|version| version >= (6, 11))
    }

    /// Reads again what is isolated, from the same root: masks of workqueues and of later interrupts can change at run
    /// time. The kernel, the CPUs and the control groups are not read again.
    #[must_use]
    pub fn with_isolation(mut self, root: &Root) -> Machine {
        let reader = RootReader::new(root);
        self.isolation = isolation::read(&reader, &self.kernel, &self.topology, &self.cgroups);
        self.unreadable.extend(reader.into_unreadable());
        self
    }

    /// Reads again which other programs set CPUs and interrupts here, from the same root: irqbalance, TuneD and the kubelet.
    #[must_use]
    pub fn with_neighbours(mut self, root: &Root) -> Machine {
        let reader = RootReader::new(root);
        self.tuned = neighbours::tuned(&reader, &self.topology);
        self.irqbalance_sockets = irqbalance::sockets(&reader);
        self.irqbalance_bans = irqbalance::configured(&reader);
        self.irqbalance_unjudged = irqbalance::unjudged(&reader);
        self.cpu_manager = neighbours::cpu_manager(&reader);
        self.unreadable.extend(reader.into_unreadable());
        self
    }

    /// As [`Machine::with_tasks`] and [`Machine::with_interrupts`], both at the same time: on large machines most of
    /// the reading time is spent there.
    #[must_use]
    pub fn with_tasks_and_interrupts(self, root: &Root) -> Machine {
        let version = self.kernel.version;
        let (mut machine, (interrupts, unreadable)) = std::thread::scope(|scope| {
            let interrupts = scope.spawn(|| {
                let reader = RootReader::new(root);
                let interrupts = interrupts::read_all(&reader, version);
                (interrupts, reader.into_unreadable())
            });
            let machine = self.with_tasks(root);
            // A panic in the other thread would be a bug of ours and is propagated.
            let interrupts = interrupts
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (machine, interrupts)
        });
        machine.interrupts = interrupts;
        machine.unreadable.extend(unreadable);
        machine
    }
}
