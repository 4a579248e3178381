//! A simulated machine with a pool of CPUs, clients that request leases, and owners that end.

use super::rehearsal::acting::dies;
use super::rehearsal::{Death, Rules, SimKernel, SimTask, set};
use apply::{BusError, BusyLoops, FormerPolicy, System};
use lease::LeaseRegistry;
use machine::CpuSet;
use root::{Address, Failure, Live, Ownership, Root, RootError, Tracefs};
use session::{Reporter, Session};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

thread_local! {
    static KERNEL: RefCell<Option<Rc<SimKernel>>> = const { RefCell::new(None) };
}

/// Clients and owners have numbers from here on; the machine has none of them at the start.
const FIRST_PID: u32 = 200;

/// A machine with the pool of CPUs 1 to 3.
pub struct LeaseMachine {
    pub kernel: Rc<SimKernel>,
    pub session: Session,
    next_pid: std::cell::Cell<u32>,
    before: BTreeMap<String, String>,
}

struct SilentReporter;

impl Reporter for SilentReporter {
    fn note(&self, _text: &str) {}

    fn warn(&self, failure: &Failure) {
        panic!("no warning was expected: {failure:?}");
    }

    fn error(&self, failure: &Failure) {
        panic!("no error was expected: {failure:?}");
    }
}

impl LeaseMachine {
    pub fn boot(rules: Rules, pool: &str) -> LeaseMachine {
        let kernel = Rc::new(SimKernel::boot(rules));
        kernel.put("/etc/quietcore.toml", pool);
        KERNEL.set(Some(Rc::clone(&kernel)));
        let session = Session::on(Live::rehearsal(kernel.dir.path()), &SilentReporter);
        let session =
            session.with_system(|_| Box::new(SharedKernel(KERNEL.with_borrow(|kernel| kernel.clone().unwrap()))));
        let mut machine = LeaseMachine {
            kernel,
            session,
            next_pid: std::cell::Cell::new(FIRST_PID),
            before: BTreeMap::new(),
        };
        machine.before = machine.settings();
        machine
    }

    /// Makes a cgroup with a process, which belongs to the state at the start. The kernel has remote partitions if it has
    /// cgroup v2.
    pub fn start_service(&mut self, cgroup: &str) {
        let pid = self.next_pid.get();
        self.next_pid.set(pid + 1);
        if self.kernel.rules == Rules::V2 {
            self.kernel.have_remote_partitions();
        }
        self.kernel.start_service(cgroup, pid);
        self.before = self.settings();
    }

    /// Starts a process.
    pub fn start_process(&self) -> u32 {
        let pid = self.next_pid.get();
        self.next_pid.set(pid + 1);
        self.kernel.tasks.borrow_mut().push(SimTask {
            tid: pid,
            pid,
            ppid: 1,
            comm: "owner",
            flags: 0,
            mask: set("0-3").minus(&self.isolated()),
            user_mask: None,
            cgroup: "/".to_owned(),
        });
        self.kernel.render();
        pid
    }

    /// Ends a process.
    pub fn end_process(&self, pid: u32) {
        self.kernel.tasks.borrow_mut().retain(|task| task.pid != pid);
        std::fs::remove_dir_all(self.kernel.dir.path().join(format!("proc/{pid}"))).unwrap();
        self.kernel.render();
    }

    /// Whether a process exists.
    pub fn has_process(&self, pid: u32) -> bool {
        self.kernel.tasks.borrow().iter().any(|task| task.pid == pid)
    }

    /// Runs a command that is killed right after this number of steps. Returns whether it was.
    pub fn killed_after(&self, steps: usize, act: impl FnOnce()) -> bool {
        self.kernel.steps.set(0);
        self.kernel.death.set(Death::After(steps));
        let is_dead = dies(act);
        self.kernel.death.set(Death::Never);
        self.session.refresh();
        is_dead
    }

    /// The leases as recorded.
    pub fn registry(&self) -> LeaseRegistry {
        match self.session.state().unwrap() {
            Some(state) => LeaseRegistry::read(&*state).unwrap(),
            None => LeaseRegistry::default(),
        }
    }

    /// The CPUs that the kernel isolates.
    pub fn isolated(&self) -> CpuSet {
        CpuSet::union(self.partitions().values())
    }

    /// The partitions of the kernel by name. They have no CPU in common.
    pub fn partitions(&self) -> BTreeMap<String, CpuSet> {
        let mount = self
            .kernel
            .dir
            .path()
            .join(self.kernel.mount_point().trim_start_matches('/'));
        let mut found = BTreeMap::new();
        let mut all = CpuSet::new();
        for entry in std::fs::read_dir(mount).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let cpus = std::fs::read_to_string(entry.path().join("cpuset.cpus")).unwrap_or_default();
            let cpus = CpuSet::parse_list(cpus.trim()).unwrap();
            if name.contains("lease-") && !cpus.is_empty() {
                assert!(!all.intersects(&cpus), "CPU {} has two owners", all.and(&cpus));
                all = all.or(&cpus);
                found.insert(name, cpus);
            }
        }
        found
    }

    /// Checks that everything is as at the start, except for processes.
    pub fn assert_restored(&self, what: &str) {
        let now = self.settings();
        let differs = |path: &&String| now.get(*path) != self.before.get(*path);
        let all: Vec<&String> = now.keys().chain(self.before.keys()).filter(differs).collect();
        assert!(all.is_empty(), "{what}: {all:?} differ");
    }

    /// Every file but those that list processes, and our own.
    fn settings(&self) -> BTreeMap<String, String> {
        let mut files = self.kernel.dump();
        files.retain(|path, _| {
            let pid = path.strip_prefix("proc/").and_then(|rest| rest.split('/').next());
            let is_started = pid
                .and_then(|pid| pid.parse().ok())
                .is_some_and(|pid: u32| pid >= FIRST_PID);
            let is_list = ["cgroup.procs", "cgroup.threads", "tasks"]
                .iter()
                .any(|name| path.ends_with(name));
            !is_started && !is_list && !path.starts_with("run/")
        });
        files
    }
}

/// The access of a session to the simulated kernel, which the test keeps.
struct SharedKernel(Rc<SimKernel>);

impl System for SharedKernel {
    fn root(&self) -> &Root {
        self.0.root()
    }

    fn write(&self, path: &str, value: &str) -> Result<(), RootError> {
        self.0.write(path, value)
    }

    fn make_dir(&self, path: &str) -> Result<(), RootError> {
        self.0.make_dir(path)
    }

    fn remove_dir(&self, path: &str) -> Result<(), RootError> {
        self.0.remove_dir(path)
    }

    fn ownership(&self, path: &str) -> Result<Option<Ownership>, RootError> {
        self.0.ownership(path)
    }

    fn set_ownership(&self, path: &str, ownership: Ownership) -> Result<(), RootError> {
        self.0.set_ownership(path, ownership)
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> Result<(), RootError> {
        self.0.set_affinity(tid, cpus)
    }

    fn demote(&self, tid: u32) -> Result<(), RootError> {
        self.0.demote(tid)
    }

    fn set_policy(&self, tid: u32, policy: FormerPolicy) -> Result<(), RootError> {
        self.0.set_policy(tid, policy)
    }

    fn start_slice(&self, unit: &str, nodes: &CpuSet) -> Result<(), BusError> {
        self.0.start_slice(unit, nodes)
    }

    fn stop_unit(&self, unit: &str) -> Result<(), BusError> {
        self.0.stop_unit(unit)
    }

    fn query_daemon(&self, addresses: &[Address], question: &str) -> Result<String, RootError> {
        self.0.query_daemon(addresses, question)
    }

    fn tracefs(&self) -> Result<Option<Tracefs>, RootError> {
        self.0.tracefs()
    }

    fn keep_busy(&self, cpus: &CpuSet, list: &str) -> BusyLoops {
        self.0.keep_busy(cpus, list)
    }

    fn pause(&self, time: Duration) {
        self.0.pause(time);
    }
}
