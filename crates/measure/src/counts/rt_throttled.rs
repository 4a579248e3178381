//! Checks whether the real-time tasks of a CPU were throttled at the time of the reading
//! (`print_rt_rq` in `kernel/sched/debug.c`). Since 6.12 only kernels with RT_GROUP_SCHED report it.

use super::{CountMethod, CountRow, CountValue, NotCounted, each};
use machine::{CpuId, CpuSet};
use root::Root;
use std::collections::BTreeMap;

/// The file since 5.13, and the earlier one.
const FILES: &[&str] = &["/sys/kernel/debug/sched/debug", "/proc/sched_debug"];

pub(super) const ROW: CountRow = CountRow {
    name: "rt_throttled_seen",
    unit: "of 2 looks",
    source: "rt_throttled of rt_rq[#] in /sys/kernel/debug/sched/debug, before and after the run",
    way: CountMethod::Seen(read),
};

fn read(root: &Root, cpus: &CpuSet) -> BTreeMap<CpuId, CountValue> {
    let mut seen = None;
    for path in FILES {
        let mut states = States::default();
        if matches!(root.lines(path, &mut |line| states.line(line)), Ok(true)) {
            seen = Some(states.by_cpu);
            break;
        }
    }
    each(cpus, |cpu| match &seen {
        None => Err(NotCounted::Because(
            "/sys/kernel/debug/sched/debug does not exist, or only root may read it",
        )),
        Some(by_cpu) => by_cpu.get(&cpu).copied().ok_or(NotCounted::Because(
            "this kernel does not throttle real-time tasks, or does not report it",
        )),
    })
}

/// `rt_rq[3]:` and, below it, `  .rt_throttled                  : 0`. With groups a CPU has several.
#[derive(Default)]
struct States {
    cpu: Option<CpuId>,
    by_cpu: BTreeMap<CpuId, u64>,
}

impl States {
    fn line(&mut self, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else {
            return;
        };
        let text = text.trim();
        if let Some((name, rest)) = text.split_once('[').filter(|(name, _)| name.ends_with("_rq")) {
            let number = rest.split(']').next().and_then(|number| number.parse().ok());
            self.cpu = number.map(CpuId).filter(|_| name == "rt_rq");
        }
        if let Some(cpu) = self.cpu
            && let Some((name, value)) = text.split_once(':')
            && name.trim() == ".rt_throttled"
            && let Ok(value) = value.trim().parse::<u64>()
        {
            let state = self.by_cpu.entry(cpu).or_default();
            *state = (*state).max(value.min(1));
        }
    }
}
