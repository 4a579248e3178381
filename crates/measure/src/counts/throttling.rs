//! Gaps that the kernel caused because the sampler thread itself ran too long (see [`crate::labels`]).

use super::{CountMethod, CountRow, CountValue, NotCounted};
use crate::labels::RealtimeLimits;
use crate::{GapLabel, MeasurementKind, ThreadResult};
use machine::Policy;

pub(super) const REAL_TIME: CountRow = CountRow {
    name: "rt_throttling_gaps",
    unit: "gaps",
    source: "gaps whose length and distance match kernel.sched_rt_runtime_us",
    way: CountMethod::Found(|result, limits| labelled(result, limits, GapLabel::RtThrottling)),
};

pub(super) const FAIR_SERVER: CountRow = CountRow {
    name: "fair_server_gaps",
    unit: "gaps",
    source: "gaps whose length and distance match /sys/kernel/debug/sched/fair_server/cpu#",
    way: CountMethod::Found(|result, limits| labelled(result, limits, GapLabel::FairServer)),
};

fn labelled(result: &ThreadResult, limits: &RealtimeLimits, label: GapLabel) -> CountValue {
    if result.kind != MeasurementKind::Noise {
        return Err(NotCounted::Because("only a thread that never sleeps can detect gaps"));
    }
    // Neither mechanism stops an ordinary task.
    let may_be = matches!(result.policy, Policy::Fifo | Policy::Rr);
    if may_be && limits.rt_runtime_us.is_none() && limits.fair_server.is_none() {
        return Err(NotCounted::Because("the limits of the kernel could not be read"));
    }
    let gaps = result.gaps.iter().flatten();
    Ok(gaps.filter(|gap| gap.label == Some(label)).count() as u64)
}
