//! A simulated kernel in a directory, close enough to the kernel's cgroup rules to test apply and undo: attaching,
//! masks that follow cpusets, partitions, EBUSY on removal. It can "die" at any chosen step.

pub mod acting;
mod balancer;
mod cgroups;
mod disk;
pub mod domains;
mod hotplug;
pub mod moving;
mod probes;
mod services;
mod settings;
mod system;

pub use disk::{SimDisk, directory};

use acting::KILLED;
use machine::CpuSet;
use root::{Live, Ownership, Root, RootError};
use settings::SETTINGS;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::panic::panic_any;
use std::path::Path;

/// The kernel version whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// cgroup v1 before 6.2: an attach gives a task the whole mask of the set.
    V1DropsPins,
    /// cgroup v1 from 6.2 on: the kernel remembers the user's mask.
    V1KeepsPins,
    /// cgroup v2 with isolated partitions.
    V2,
}

/// When the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Never.
    Never,
    /// Right before step N.
    Before(usize),
    /// Right after step N.
    After(usize),
    /// In the middle of step N, if it writes the journal: half of the record is on disk.
    Torn(usize),
}

#[derive(Clone)]
pub struct SimTask {
    pub tid: u32,
    /// The process of the task.
    pub pid: u32,
    pub ppid: u32,
    pub comm: &'static str,
    pub flags: u32,
    pub mask: CpuSet,
    /// The mask that a `sched_setaffinity` requested.
    pub user_mask: Option<CpuSet>,
    pub cgroup: String,
}

pub struct SimKernel {
    pub dir: tempfile::TempDir,
    pub rules: Rules,
    pub tasks: RefCell<Vec<SimTask>>,
    pub death: Cell<Death>,
    pub steps: Cell<usize>,
    /// A CPU that goes offline right before step N.
    pub goes: Cell<Option<(usize, u32)>>,
    /// Tasks that are being forked: they become visible right after the next write to `cpuset.cpus.partition`, with the
    /// masks of before.
    pub unborn: RefCell<Vec<SimTask>>,
    /// Policy and real-time priority of tasks that have one. These tasks are always running.
    pub policies: RefCell<BTreeMap<u32, (u32, u32)>>,
    /// Files that refuse a write, with the errno.
    pub refusals: RefCell<BTreeMap<String, i32>>,
    /// Files with an ownership other than [`ROOTS`].
    pub owners: RefCell<BTreeMap<String, Ownership>>,
    /// The CPUs that left the scheduling domains, and those kept busy during the write.
    pub domains: RefCell<domains::Domains>,
    /// irqbalance, if it runs.
    pub balancer: RefCell<Option<balancer::Balancer>>,
    /// What `put` wrote last, so that rendering writes only what changed.
    shown: RefCell<BTreeMap<String, String>>,
    root: Root,
    live: Live,
}

/// The ownership of a new file in a cgroup.
pub const ROOTS: Ownership = Ownership {
    uid: 0,
    gid: 0,
    mode: 0o644,
};

pub const KTHREAD: u32 = 0x0020_0000;
pub const BOUND: u32 = 0x0420_0000;

/// Returns whether a `cpuset.cpus.partition` takes the CPUs away from all other cgroups.
pub fn is_partition_root(partition: &str) -> bool {
    matches!(partition, "isolated" | "root")
}

pub fn set(text: &str) -> CpuSet {
    CpuSet::parse_list(text).unwrap()
}

impl SimKernel {
    /// Boots with four CPUs, a few pinned tasks, and three interrupts of which one refuses.
    pub fn boot(rules: Rules) -> SimKernel {
        let dir = directory();
        let live = Live::rehearsal(dir.path());
        let kernel = SimKernel {
            rules,
            tasks: RefCell::new(Vec::new()),
            death: Cell::new(Death::Never),
            steps: Cell::new(0),
            goes: Cell::new(None),
            unborn: RefCell::default(),
            policies: RefCell::new(BTreeMap::new()),
            refusals: RefCell::new(BTreeMap::new()),
            owners: RefCell::new(BTreeMap::new()),
            domains: RefCell::default(),
            balancer: RefCell::new(None),
            shown: RefCell::new(BTreeMap::new()),
            root: Root::of(&live),
            live,
            dir,
        };
        kernel.put("/sys/devices/system/cpu/online", "0-3\n");
        kernel.put("/sys/devices/system/cpu/possible", "0-3\n");
        kernel.put("/sys/devices/system/cpu/present", "0-3\n");
        for cpu in 0..4 {
            kernel.put(
                &format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"),
                "0\n",
            );
            kernel.put(
                &format!("/sys/devices/system/cpu/cpu{cpu}/topology/core_id"),
                &format!("{cpu}\n"),
            );
            kernel.put(
                &format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"),
                &format!("{cpu}\n"),
            );
        }
        kernel.put("/sys/devices/virtual/workqueue/cpumask", "f\n");
        kernel.put("/proc/irq/default_smp_affinity", "f\n");
        kernel.put(
            "/proc/sys/kernel/random/boot_id",
            "11111111-2222-3333-4444-555555555555\n",
        );
        kernel.put("/proc/sys/kernel/osrelease", "6.1.0-sim\n");
        let mut interrupts = "           CPU0       CPU1       CPU2       CPU3\n".to_owned();
        for (irq, name) in [(1, "i8042"), (24, "virtio0-req.0"), (25, "eth0")] {
            interrupts.push_str(&format!(" {irq}:  1 2 3 4   IO-APIC   {irq}-edge      {name}\n"));
            kernel.put(
                &format!("/proc/irq/{irq}/smp_affinity_list"),
                if irq == 25 { "3\n" } else { "0-3\n" },
            );
            kernel.put(&format!("/proc/irq/{irq}/effective_affinity_list"), "3\n");
        }
        kernel.put("/proc/interrupts", &interrupts);
        kernel.refuse("/proc/irq/24/smp_affinity_list", libc::EIO);
        kernel.mount();
        let task = |tid, ppid, comm, flags, mask: &str, user: Option<&str>| SimTask {
            tid,
            pid: tid,
            ppid,
            comm,
            flags,
            mask: set(mask),
            user_mask: user.map(set),
            cgroup: "/".to_owned(),
        };
        *kernel.tasks.borrow_mut() = vec![
            task(1, 0, "init", 0, "0-3", None),
            task(2, 0, "kthreadd", KTHREAD, "0-3", None),
            task(15, 2, "migration/3", BOUND, "3", None),
            task(30, 2, "kswapd0", KTHREAD, "0-1", None),
            task(100, 1, "a (b) c", 0, "0-3", None),
            task(101, 100, "pinned to 3", 0, "3", Some("3")),
            task(102, 100, "pinned to 1", 0, "1", Some("1")),
            task(103, 100, "pinned to 1-3", 0, "1-3", Some("1-3")),
        ];
        kernel.render();
        kernel
    }

    /// Like [`SimKernel::boot`], with every setting that the profile `strict` changes. It takes many more steps.
    pub fn boot_with_settings(rules: Rules) -> SimKernel {
        let kernel = SimKernel::boot(rules);
        for (path, text) in SETTINGS {
            kernel.put(path, &format!("{text}\n"));
        }
        kernel
    }

    /// Like [`SimKernel::boot_with_settings`], with the files of all knobs of all profiles.
    pub fn boot_with_all_knobs(rules: Rules) -> SimKernel {
        let kernel = SimKernel::boot_with_settings(rules);
        for (path, text) in settings::of_other_knobs() {
            kernel.put(&path, &format!("{text}\n"));
        }
        kernel
    }

    fn mount(&self) {
        match self.rules {
            Rules::V1DropsPins | Rules::V1KeepsPins => {
                self.mounts("cgroup", "/sys/fs/cgroup/cpuset", "rw,cpuset");
                self.put(
                    "/proc/cgroups",
                    "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t3\t1\t1\n",
                );
                self.v1_files("/sys/fs/cgroup/cpuset", "0-3", "0", 1);
                self.put("/sys/fs/cgroup/cpuset/release_agent", "\n");
            }
            Rules::V2 => {
                self.mounts("cgroup2", "/sys/fs/cgroup", "rw");
                self.put(
                    "/proc/cgroups",
                    "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t1\t1\n",
                );
                self.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
                self.put("/sys/fs/cgroup/cgroup.subtree_control", "cpu\n");
                self.put("/sys/fs/cgroup/cgroup.procs", "");
                self.put("/sys/fs/cgroup/cgroup.threads", "");
                self.put("/sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
                self.put("/sys/fs/cgroup/cpuset.mems.effective", "0\n");
            }
        }
    }

    fn mounts(&self, kind: &str, path: &str, options: &str) {
        self.put(
            "/proc/self/mountinfo",
            &format!("30 20 0:26 / {path} rw,nosuid - {kind} none {options}\n"),
        );
        self.put("/proc/mounts", &format!("none {path} {kind} {options} 0 0\n"));
        self.put("/proc/self/mounts", &format!("none {path} {kind} {options} 0 0\n"));
    }

    fn v1_files(&self, dir: &str, cpus: &str, mems: &str, exclusive: u8) {
        for (name, value) in [
            ("cpuset.cpus", cpus),
            ("cpuset.effective_cpus", cpus),
            ("cpuset.mems", mems),
            ("cpuset.effective_mems", mems),
            ("cpuset.cpu_exclusive", if exclusive == 1 { "1" } else { "0" }),
            ("cpuset.mem_exclusive", "0"),
            ("cpuset.sched_load_balance", "1"),
        ] {
            self.put(&format!("{dir}/{name}"), &format!("{value}\n"));
        }
        self.put(&format!("{dir}/tasks"), "");
        self.put(&format!("{dir}/cgroup.procs"), "");
    }

    pub fn put(&self, path: &str, text: &str) {
        let place = self.live.locate(path);
        if self.shown.borrow().get(path).is_some_and(|shown| shown == text) && place.exists() {
            return;
        }
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
        self.shown.borrow_mut().insert(path.to_owned(), text.to_owned());
    }

    /// Makes this file refuse writes from now on.
    pub fn refuse(&self, path: &str, errno: i32) {
        self.refusals.borrow_mut().insert(path.to_owned(), errno);
    }

    /// Makes the file accept writes again.
    pub fn allow(&self, path: &str) {
        self.refusals.borrow_mut().remove(path);
    }

    /// Removes a file, as hotplug does.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.live.locate(path)).unwrap();
        self.shown.borrow_mut().remove(path);
    }

    pub fn get(&self, path: &str) -> String {
        fs::read_to_string(self.live.locate(path))
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    pub fn mount_point(&self) -> &'static str {
        if self.rules == Rules::V2 {
            "/sys/fs/cgroup"
        } else {
            "/sys/fs/cgroup/cpuset"
        }
    }

    /// Returns the current state of a task.
    pub fn task(&self, tid: u32) -> SimTask {
        let tasks = self.tasks.borrow();
        tasks.iter().find(|task| task.tid == tid).unwrap().clone()
    }

    /// Writes every file that shows a task.
    pub fn render(&self) {
        let tasks = self.tasks.borrow();
        let mut members: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
        for task in tasks.iter() {
            let SimTask {
                tid,
                pid,
                ppid,
                comm,
                flags,
                mask,
                cgroup,
                ..
            } = task;
            let start = 1000 + tid;
            let own = self.policies.borrow().get(tid).copied();
            let (policy, priority) = own.unwrap_or_default();
            let state = if own.is_some() { 'R' } else { 'S' };
            let stat = format!(
                "{tid} ({comm}) {state} {ppid} 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 {priority} {policy} 0 0 0 0 0 0 0 0 0 0 0\n"
            );
            let status =
                format!("Name:\t{comm}\nTgid:\t{pid}\nPid:\t{tid}\nPPid:\t{ppid}\nCpus_allowed_list:\t{mask}\n");
            let line = if self.rules == Rules::V2 {
                format!("0::{cgroup}\n")
            } else {
                format!("3:cpuset:{cgroup}\n")
            };
            for dir in [format!("/proc/{tid}"), format!("/proc/{pid}/task/{tid}")] {
                self.put(&format!("{dir}/stat"), &stat);
                self.put(&format!("{dir}/status"), &status);
                self.put(&format!("{dir}/cgroup"), &line);
                self.put(&format!("{dir}/comm"), &format!("{comm}\n"));
            }
            members.entry(cgroup.clone()).or_default().push((*tid, *pid));
        }
        let threads = if self.rules == Rules::V2 {
            "cgroup.threads"
        } else {
            "tasks"
        };
        for group in self.groups() {
            let dir = self.dir_of(&group);
            let inside = members.remove(&group).unwrap_or_default();
            let listed = |numbers: Vec<u32>| numbers.iter().map(|number| format!("{number}\n")).collect();
            let tids: String = listed(inside.iter().map(|(tid, _)| *tid).collect());
            let mut pids: Vec<u32> = inside.iter().map(|(_, pid)| *pid).collect();
            pids.dedup();
            // `cgroup.procs` of a threaded cgroup cannot be read in the kernel; here it is empty.
            let pids: String = listed(if self.is_threaded(&group) { Vec::new() } else { pids });
            self.put(&format!("{dir}/{threads}"), &tids);
            self.put(&format!("{dir}/cgroup.procs"), &pids);
            if group != "/" && self.rules == Rules::V2 {
                let populated = u8::from(!tids.is_empty());
                self.put(
                    &format!("{dir}/cgroup.events"),
                    &format!("populated {populated}\nfrozen 0\n"),
                );
            }
        }
    }

    fn groups(&self) -> Vec<String> {
        let (mut groups, mut open) = (vec!["/".to_owned()], vec![String::new()]);
        while let Some(above) = open.pop() {
            let dir = self.live.locate(&format!("{}{above}", self.mount_point()));
            for entry in fs::read_dir(dir).unwrap().flatten() {
                if entry.path().is_dir() {
                    let group = format!("{above}/{}", entry.file_name().to_string_lossy());
                    groups.push(group.clone());
                    open.push(group);
                }
            }
        }
        groups
    }

    /// Returns the CPUs that the tasks of a cgroup may use.
    fn effective(&self, group: &str) -> CpuSet {
        let dir = format!("{}{}", self.mount_point(), group.trim_end_matches('/'));
        if self.rules != Rules::V2 {
            return set(&self.get(&format!("{dir}/cpuset.cpus")));
        }
        let mut rest = set("0-3");
        for other in self.groups() {
            let Some(cpus) = self.partition_cpus(&other) else {
                continue;
            };
            if group
                .strip_prefix(&other)
                .is_some_and(|below| below.is_empty() || below.starts_with('/'))
            {
                return cpus;
            }
            rest = rest.minus(&cpus);
        }
        let listed = set(&self.get(&format!("{dir}/cpuset.cpus"))).and(&rest);
        if listed.is_empty() { rest } else { listed }
    }

    /// `update_tasks_cpumask`: every task gets the mask of its cpuset.
    fn follow_cpusets(&self, concerned: impl Fn(&SimTask) -> bool) {
        let movable = |task: &SimTask| task.flags & 0x0400_0000 == 0;
        if self.rules == Rules::V2 {
            let rest = format!("{}\n", self.effective("/"));
            self.put("/sys/fs/cgroup/cpuset.cpus.effective", &rest);
        }
        for task in self
            .tasks
            .borrow_mut()
            .iter_mut()
            .filter(|task| movable(task) && concerned(task))
        {
            let effective = self.effective(&task.cgroup);
            task.mask = self.mask_in(task, &effective);
        }
        self.render();
    }

    /// Returns every file, for a comparison byte for byte.
    pub fn dump(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(self.dir.path(), self.dir.path(), &mut files);
        let owners = self.owners.borrow();
        let given = owners
            .iter()
            .filter(|(path, owner)| **owner != ROOTS && self.live.locate(path).exists());
        files.extend(given.map(|(path, owner)| (format!("owner of {path}"), owner.to_string())));
        files
    }

    /// Counts a step, and dies if it is the chosen one.
    pub fn step(&self, act: impl FnOnce(RecordPart) -> Result<(), RootError>) -> Result<(), RootError> {
        let step = self.steps.get() + 1;
        self.steps.set(step);
        if let Some((_, cpu)) = self.goes.get().filter(|(at, _)| *at == step) {
            self.switch(cpu, "0");
        }
        match self.death.get() {
            Death::Before(at) if at == step => panic_any(KILLED),
            Death::Torn(at) if at == step => {
                let _ = act(RecordPart::Half);
                panic_any(KILLED)
            }
            Death::After(at) if at == step => {
                let _ = act(RecordPart::Whole);
                panic_any(KILLED)
            }
            _ => act(RecordPart::Whole),
        }
    }
}

/// How much of a journal record reaches the file.
pub enum RecordPart {
    Whole,
    Half,
}

fn collect(top: &Path, dir: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.insert(format!("{}/", path.strip_prefix(top).unwrap().display()), String::new());
            collect(top, &path, files);
        } else {
            let name = path.strip_prefix(top).unwrap().display().to_string();
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

fn io(path: &str, errno: i32) -> RootError {
    RootError::from_io(path, "write", &std::io::Error::from_raw_os_error(errno))
}
