//! Measures how busy the CPUs are to which a partition would move work.

use machine::{CpuId, CpuSet};
use observe::CpuTimes;
use predict::OtherCpus;
use session::Session;
use std::collections::BTreeMap;

/// The CPU times at the start of a watch.
pub(crate) struct BusyTimes {
    start: BTreeMap<u32, CpuTimes>,
}

impl BusyTimes {
    /// Starts.
    pub(crate) fn start(session: &Session) -> BusyTimes {
        BusyTimes { start: read(session) }
    }

    /// How busy the CPUs were since then that are neither watched nor isolated; `None` if there are none.
    pub(crate) fn end(self, session: &Session, watched: &CpuSet) -> Option<OtherCpus> {
        let intents = session.in_force();
        let left_out = watched.or(&CpuSet::union(intents.iter().map(|intent| &intent.cpus)));
        let end = read(session);
        let others = end.iter().filter(|(cpu, _)| !left_out.contains(CpuId(**cpu)));
        let (start, end): (Vec<_>, Vec<_>) = others
            .filter_map(|(cpu, now)| Some((self.start.get(cpu)?, now)))
            .unzip();
        let percent = CpuTimes::sum(end.iter().copied()).load_since(&CpuTimes::sum(start))?;
        Some(OtherCpus {
            count: end.len(),
            busy_share: percent / 100.0,
        })
    }
}

fn read(session: &Session) -> BTreeMap<u32, CpuTimes> {
    let text = session.root().readable_text("/proc/stat");
    text.map_or_else(BTreeMap::new, |text| observe::parse_stat(&text))
}
