//! Counts ticks and interrupts of isolated CPUs over a window while something runs there: a program that is already there,
//! or, on a CPU without programs, our busy loop at the lowest priority. A CPU with a sleeping program is left alone.
//!
//! A loop on a CPU of a partition must be started from inside it: this process enters the partition to start it, and leaves again.

use machine::{CpuId, CpuSet, Machine, MapEntries, Task};
use measure::MeasureError;
use measure::load::{LoadKind, RunningLoad};
use observe::{Activity, Class, CloseSample, CounterSample, CpuActivity, activity, close_up};
use plan::boot_check::{CountWindow, CpuCounts, CpuOccupant};
use root::{Failure, Root};
use session::{Session, cpuset_entry};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A task that arrives on a CPU gets its first ticks before they stop.
const SETTLE: Duration = Duration::from_millis(500);

/// What runs on a CPU.
enum Resident {
    Idle,
    Running(u32, String),
    Sleeping(String),
}

/// What was counted.
pub struct WindowCounts {
    /// The counts.
    pub window: CountWindow,
    /// What this process could not restore about itself.
    pub unrestored: Vec<String>,
}

impl WindowCounts {
    /// An empty count, with the reason.
    #[must_use]
    pub fn nothing(why: &str) -> WindowCounts {
        let why = why.to_owned();
        WindowCounts {
            window: CountWindow::Nothing { why },
            unrestored: Vec::new(),
        }
    }
}

/// Counts on the CPUs.
pub fn count(session: &Session, cpus: &CpuSet, window: Duration) -> WindowCounts {
    let root = session.root();
    let mut amiss = Vec::new();
    let before = residents(session, cpus);
    let empty: CpuSet = before
        .iter()
        .filter(|(_, resident)| matches!(resident, Resident::Idle))
        .map(|(cpu, _)| *cpu)
        .collect();
    let mut load = match empty.is_empty() {
        true => Ok(Vec::new()),
        false => busy_loops(session, &empty, &mut amiss),
    };
    std::thread::sleep(SETTLE);
    let first = CounterSample::take(root);
    std::thread::sleep(window);
    let last = CounterSample::take(root);
    let refused = match &mut load {
        Err(why) => Some(format!("a busy loop could not be started there: {why}")),
        // A loop that has ended proves nothing about ticks.
        Ok(loads) => {
            let running: usize = loads.iter_mut().map(|load| load.running().len()).sum();
            (running < empty.len()).then(|| "a busy loop there ended too soon".to_owned())
        }
    };
    drop(load);
    let residents = Residents {
        before,
        after: residents(session, cpus),
    };
    let idle = || match &refused {
        None => CpuOccupant::OwnLoop,
        Some(why) => CpuOccupant::Idle(why.clone()),
    };
    let window = residents.window(&activity(&first, &last), cpus, &idle);
    WindowCounts {
        window,
        unrestored: amiss,
    }
}

/// Counts without starting anything: on CPUs without programs, the tick has no reason to run.
pub fn watch(session: &Session, cpus: &CpuSet, window: Duration) -> (Activity, WindowCounts) {
    let root = session.root();
    let machine = session.machine().with_tasks_on(root, cpus);
    let before = residents_of(&machine, cpus);
    let tasks: Vec<Task> = machine
        .tasks_that_may_run_on(cpus)
        .map_or_else(Vec::new, |tasks| tasks.into_iter().cloned().collect());
    let closely = CloseSample::take(root, cpus, &tasks);
    let first = CounterSample::take(root);
    std::thread::sleep(window);
    let mut seen = activity(&first, &CounterSample::take(root));
    let mut closely = close_up(&closely, &CloseSample::take(root, cpus, &tasks));
    seen.cpus
        .iter_mut()
        .for_each(|one| one.close = closely.remove(&one.cpu));
    let residents = Residents {
        before,
        after: residents(session, cpus),
    };
    let idle = || {
        CpuOccupant::Idle("no program runs there; `quietcore boot check` measures with its own busy loop".to_owned())
    };
    let window = residents.window(&seen, cpus, &idle);
    (
        seen,
        WindowCounts {
            window,
            unrestored: Vec::new(),
        },
    )
}

/// The programs on the CPUs before and after a window.
struct Residents {
    before: BTreeMap<CpuId, Resident>,
    after: BTreeMap<CpuId, Resident>,
}

impl Residents {
    /// The counts of the CPUs; `nobody` is what ran on CPUs without programs.
    fn window(&self, seen: &Activity, cpus: &CpuSet, idle: &dyn Fn() -> CpuOccupant) -> CountWindow {
        CountWindow::Counted {
            duration_ns: seen.duration_ns,
            cpus: seen
                .cpus
                .iter()
                .filter(|one| cpus.contains(one.cpu))
                .map(|one| CpuCounts {
                    cpu: one.cpu,
                    ticks: one.ticks,
                    devices: devices(one),
                    busy: self.busy(one.cpu, idle),
                })
                .collect(),
        }
    }

    fn busy(&self, cpu: CpuId, idle: &dyn Fn() -> CpuOccupant) -> CpuOccupant {
        match (self.before.get(&cpu), self.after.get(&cpu)) {
            (Some(Resident::Idle), _) => idle(),
            (Some(Resident::Running(one, comm)), Some(Resident::Running(other, _))) if one == other => {
                CpuOccupant::OtherProgram(comm.clone())
            }
            (Some(Resident::Running(_, comm) | Resident::Sleeping(comm)), _) => CpuOccupant::Idle(format!(
                "{comm} runs there and was sleeping, so no busy loop was started"
            )),
            (None, _) => CpuOccupant::Idle("its tasks are unknown".to_owned()),
        }
    }
}

/// Why no busy loop runs.
enum NoLoad {
    /// Our own mask could not be read: the errno.
    Mask(i32),
    /// There would be no way back from the cpuset of the CPUs.
    NoWayBack,
    /// The cpuset of the CPUs could not be entered.
    Entry(Failure),
    /// The loop could not be started.
    Start(MeasureError),
}

impl fmt::Display for NoLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoLoad::Mask(errno) => write!(f, "errno {errno} of sched_getaffinity"),
            NoLoad::NoWayBack => f.write_str("the cpuset of quietcore itself is unknown"),
            NoLoad::Entry(error) => f.write_str(&error.why),
            NoLoad::Start(error) => error.fmt(f),
        }
    }
}

/// Starts one busy loop on each CPU. `isolcpus=` removes these CPUs from the initial mask of every program, so ours is
/// widened while the loops start. A cpuset without these CPUs refuses that; then we enter the cpuset that has them.
fn busy_loops(session: &Session, cpus: &CpuSet, amiss: &mut Vec<String>) -> Result<Vec<RunningLoad>, NoLoad> {
    let root = session.root();
    let mut mask = Vec::new();
    root::sched::affinity(0, &mut mask).map_err(NoLoad::Mask)?;
    let machine = session.machine();
    let own = OwnPlace {
        mask,
        door: own_door(root, &machine),
    };
    let mut by_door: BTreeMap<Option<String>, CpuSet> = BTreeMap::new();
    for cpu in cpus.iter() {
        let door = cpuset_entry::door(root, &machine, &CpuSet::range(cpu.0, cpu.0));
        by_door.entry(door).or_default().insert(cpu);
    }
    let loads = by_door
        .iter()
        .map(|(door, cpus)| inside(session, door.as_deref(), cpus, &own, amiss))
        .collect();
    if let Err(errno) = root::sched::set_affinity(0, &own.mask) {
        amiss.push(format!(
            "the CPU affinity of quietcore itself could not be restored: errno {errno}; it ends with this command"
        ));
    }
    loads
}

/// Where this process was before it entered another cpuset.
struct OwnPlace {
    mask: Vec<u64>,
    /// The file that moves it back to its cgroup.
    door: Option<String>,
}

/// Starts the loops on some CPUs from inside the cpuset that has them.
fn inside(
    session: &Session,
    door: Option<&str>,
    cpus: &CpuSet,
    own: &OwnPlace,
    amiss: &mut Vec<String>,
) -> Result<RunningLoad, NoLoad> {
    let pid = std::process::id();
    let back = own.door.as_deref();
    // Do not enter without a way out.
    let way = door.map(|door| back.map(|back| (door, back)).ok_or(NoLoad::NoWayBack));
    let way = way.transpose()?;
    cpuset_entry::enter(session, door, pid).map_err(NoLoad::Entry)?;
    let mut wider = CpuSet::new();
    wider.set_words(&own.mask);
    // If this is refused, the load reports which CPUs it may not use.
    let _ = root::sched::set_affinity(0, &wider.or(cpus).words());
    let load = RunningLoad::start(cpus, &[LoadKind::Cpu]).map_err(NoLoad::Start);
    if let Some((door, back)) = way
        && let Err(error) = cpuset_entry::enter(session, Some(back), pid)
    {
        amiss.push(format!(
            "quietcore itself could not leave {door}: {}; it ends with this command",
            error.why
        ));
    }
    load
}

/// The file that moves this process back to its current cgroup.
fn own_door(root: &Root, machine: &Machine) -> Option<String> {
    let hierarchy = machine.cgroups.cpuset.as_ref()?;
    let own = machine::tasks::cgroup_of(root, std::process::id(), hierarchy.version)?;
    Some(hierarchy.door(&own))
}

fn devices(cpu: &CpuActivity) -> Vec<(String, String, u64)> {
    let all = cpu.interrupts.iter().filter(|one| one.class == Class::Device);
    all.map(|one| (one.name.clone(), one.what.clone(), one.count)).collect()
}

/// The programs (not kernel threads) that last ran on each CPU; running takes precedence over sleeping. Empty if the tasks
/// could not be read.
fn residents(session: &Session, cpus: &CpuSet) -> BTreeMap<CpuId, Resident> {
    residents_of(&session.machine().with_tasks_on(session.root(), cpus), cpus)
}

fn residents_of(machine: &Machine, cpus: &CpuSet) -> BTreeMap<CpuId, Resident> {
    let Some(tasks) = machine.tasks_that_may_run_on(cpus) else {
        return BTreeMap::new();
    };
    let one = |cpu: CpuId| {
        let there = || {
            tasks
                .iter()
                .filter(move |task| task.cpu == Some(cpu) && !task.is_kernel())
        };
        let runs = there().find(|task| task.state == 'R');
        let sleeps = there().next();
        match (runs, sleeps) {
            (Some(task), _) => Resident::Running(task.key.tid, task.comm.clone()),
            (None, Some(task)) => Resident::Sleeping(task.comm.clone()),
            (None, None) => Resident::Idle,
        }
    };
    cpus.iter().map(|cpu| (cpu, one(cpu))).into_map()
}
