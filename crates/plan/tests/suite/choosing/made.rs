//! Generated machines: packages, nodes, caches, cores, threads, gaps in the numbering, two kinds of cores.

use machine::Machine;
use root::Root;
use std::path::Path;

/// The order in which the kernel numbered the threads.
#[derive(Clone, Copy, Debug)]
pub enum Numbering {
    /// The threads of a core have adjacent numbers.
    Adjacent,
    /// All first threads, then all second ones.
    Split,
    /// The packages alternate.
    Turns,
}

/// The shape of a machine. Each number is per enclosing unit.
#[derive(Clone, Debug)]
pub struct MachineShape {
    pub packages: u32,
    pub nodes: u32,
    pub llcs: u32,
    pub l2s: u32,
    pub cores: u32,
    pub threads: u32,
    pub numbering: Numbering,
    pub offline: &'static [u32],
    pub boot_isolated: &'static str,
    /// Nodes without memory.
    pub bare_nodes: &'static [u32],
    /// The efficiency cores.
    pub efficiency: &'static str,
}

pub const PLAIN: MachineShape = MachineShape {
    packages: 1,
    nodes: 1,
    llcs: 1,
    l2s: 1,
    cores: 1,
    threads: 1,
    numbering: Numbering::Adjacent,
    offline: &[],
    boot_isolated: "",
    bare_nodes: &[],
    efficiency: "",
};

/// One hardware thread: package, node, last-level cache, level-2 cache, core (all machine-wide), thread.
type ThreadPosition = [u32; 6];

impl MachineShape {
    pub fn machine(&self) -> Machine {
        let dir = tempfile::tempdir().unwrap();
        self.write(dir.path());
        Machine::read(&Root::open(dir.path()).unwrap())
    }

    fn seats(&self) -> Vec<ThreadPosition> {
        let mut seats = Vec::new();
        let cores = self.packages * self.nodes * self.llcs * self.l2s * self.cores;
        for core in 0..cores {
            let l2 = core / self.cores;
            let llc = l2 / self.l2s;
            let node = llc / self.llcs;
            seats.extend((0..self.threads).map(|thread| [node / self.nodes, node, llc, l2, core, thread]));
        }
        match self.numbering {
            Numbering::Adjacent => {}
            Numbering::Split => seats.sort_by_key(|seat| (seat[5], seat[4])),
            Numbering::Turns => {
                let per_package = cores / self.packages;
                seats.sort_by_key(|seat| (seat[5], seat[4] % per_package, seat[0]));
            }
        }
        seats
    }

    fn write(&self, dir: &Path) {
        let put = |path: &str, text: &str| {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        };
        let seats = self.seats();
        let list = |test: &dyn Fn(u32, &ThreadPosition) -> bool| {
            let cpus = seats.iter().enumerate().map(|(cpu, seat)| (cpu as u32, seat));
            let cpus = cpus
                .filter(|(cpu, seat)| test(*cpu, seat))
                .map(|(cpu, _)| cpu.to_string());
            cpus.collect::<Vec<_>>().join(",")
        };
        let is_on = |cpu: u32| !self.offline.contains(&cpu);
        put("proc/version", "Linux version 6.12.0 (x) #1 SMP");
        let base = "sys/devices/system/cpu";
        put(&format!("{base}/online"), &list(&|cpu, _| is_on(cpu)));
        put(&format!("{base}/present"), &list(&|_, _| true));
        put(&format!("{base}/possible"), &list(&|_, _| true));
        put(&format!("{base}/isolated"), self.boot_isolated);
        if !self.efficiency.is_empty() {
            let slow = machine::CpuSet::parse_list(self.efficiency).unwrap();
            put("sys/devices/cpu_atom/cpus", self.efficiency);
            let fast = list(&|cpu, _| !slow.contains(machine::CpuId(cpu)));
            put("sys/devices/cpu_core/cpus", &fast);
        }
        for (cpu, seat) in seats.iter().enumerate() {
            let same = |level: usize| list(&|cpu, other| is_on(cpu) && other[level] == seat[level]);
            let own = format!("{base}/cpu{cpu}");
            std::fs::create_dir_all(dir.join(&own)).unwrap();
            if !is_on(cpu as u32) {
                continue;
            }
            put(&format!("{own}/topology/physical_package_id"), &seat[0].to_string());
            put(&format!("{own}/topology/core_id"), &seat[4].to_string());
            put(&format!("{own}/topology/core_cpus_list"), &same(4));
            put(&format!("{own}/topology/package_cpus_list"), &same(0));
            for (index, level, shared) in [(0, 2, same(3)), (1, 3, same(2))] {
                put(&format!("{own}/cache/index{index}/level"), &level.to_string());
                put(&format!("{own}/cache/index{index}/type"), "Unified");
                put(&format!("{own}/cache/index{index}/shared_cpu_list"), &shared);
            }
        }
        for node in 0..self.packages * self.nodes {
            let cpus = list(&|cpu, seat| is_on(cpu) && seat[1] == node);
            put(&format!("sys/devices/system/node/node{node}/cpulist"), &cpus);
        }
        let with_memory = (0..self.packages * self.nodes).filter(|node| !self.bare_nodes.contains(node));
        let with_memory: Vec<String> = with_memory.map(|node| node.to_string()).collect();
        put("sys/devices/system/node/has_memory", &with_memory.join(","));
    }
}
