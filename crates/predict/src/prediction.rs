//! Predicts the outcome of each change from one watch.

use crate::blocks::{BLOCKS, WatchSums, WatchTime, ranges, totals};
use crate::change::{Cures, Proposal, ProposalKind, ProposedChange, moves};
use crate::input::{ChangeSelection, OtherCpus, PredictionInput, SHORT_NS, UntracedShares};
use crate::outcome::{Estimate, Outcome, WatchScale, outcome};
use crate::removal::for_each_remaining;
use blame::{BlameResult, Confidence, CpuAnswer, Cure, CureAction, Interruption, intent_includes};
use machine::CpuSet;
use machine::OrderBy;
use plan::Intent;
use serde::Serialize;

/// A change that was seen in fewer blocks of the watch than this needs a longer watch.
const ENOUGH_BLOCKS: usize = 10;
/// The number of events that fill about so many of 40 blocks.
const ENOUGH_EVENTS: u64 = 12;

/// The causes that remain are listed up to this number.
const MOST_REMAINING: usize = 8;

/// Why nothing can be predicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PredictionRefusal {
    /// No CPU was watched for any time.
    NotWatched,
    /// Gaps of a CPU were counted, but not one is listed.
    NoSingleGaps,
    /// The machine refuses the CPUs, for this reason.
    Refused(String),
    /// A partition already has the requested profile or a higher one, or the CPUs are in several partitions.
    AlreadyActive,
}

/// What was predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// The watched CPUs.
    pub cpus: CpuSet,
    /// The time of the watch, of each CPU, in nanoseconds.
    pub watched_ns: u64,
    /// The number of gaps.
    pub gaps: u64,
    /// Events that the kernel lost: causes may be missing.
    pub lost_events: u64,
    /// Gaps at the end of the watch that are not listed because memory was full. The prediction covers the time before them.
    pub unlisted_gaps: u64,
    /// The CPUs to which work may move, during the watch; `None` for a recording, and if there are none.
    pub others: Option<OtherCpus>,
    /// The median latency of wake-ups of a real-time thread (FIFO 80) in a second without a trace, in nanoseconds. Most of
    /// them meet no gap, so delays come in addition. `None` if it was not measured, as for a recording.
    pub base_latency_ns: Option<u64>,
    /// What is left without the trace, from a second without it. The lower ends of stolen time, and of the gaps from 0 and from
    /// 10 us on, are reduced by the rest. `None` if it was not measured, as for a recording.
    pub untraced: Option<UntracedShares>,
    /// Without any change.
    pub now: Outcome,
    /// The changes: first all together, then those that remove most time.
    pub changes: Vec<PredictedChange>,
    /// What no change removes, most time first.
    pub remaining: Vec<RemainingCause>,
    /// Time without a known cause, in nanoseconds per second and CPU. It always remains.
    pub unexplained_ns_per_s: f64,
}

/// A change and its prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictedChange {
    /// The change.
    #[serde(flatten)]
    pub change: ProposedChange,
    /// The stolen time that it removes, in nanoseconds per second and CPU.
    pub removed_ns_per_s: Estimate,
    /// The time that moves to other CPUs, at most. It may exceed the time that is removed, because time without a known cause
    /// then shows in its place.
    pub moved_ns_per_s: f64,
    /// The share of their time in which the other CPUs are busy then, at most; `None` if they are unknown.
    pub others_busy_share: Option<f64>,
    /// The part of it whose cause is inferred, not traced.
    pub inferred_ns_per_s: f64,
    /// What is left.
    pub outcome: Outcome,
    /// The watch that is needed for a reliable range, in nanoseconds. Absent if this one is long enough, and if nothing was
    /// seen that the change removes.
    pub needs_watch_ns: Option<u64>,
}

/// A cause that no change removes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemainingCause {
    /// The interruption.
    pub name: String,
    /// Its time, in nanoseconds per second and CPU.
    pub stolen_ns_per_s: f64,
    /// Why no change removes it.
    pub why: String,
}

/// Predicts what each of these partitions of the watched CPUs would leave, in their order. The machine must not be isolated
/// yet.
///
/// # Errors
/// As [`predict`].
pub fn predict_partitions(input: &PredictionInput, intents: &[Intent]) -> Result<PartitionOutcomes, PredictionRefusal> {
    let watch = Watch::new(input)?;
    let left_by = |intent| {
        let remainder = watch.remainder(&|action| intent_includes(intent, action));
        remainder.outcome(watch.scale)
    };
    Ok(PartitionOutcomes {
        now: outcome(&watch.now, None, watch.scale),
        partitions: intents.iter().map(left_by).collect(),
    })
}

/// Predicts what each change would gain.
///
/// # Errors
/// A watch from which nothing can be predicted.
pub fn predict(input: &PredictionInput) -> Result<Prediction, PredictionRefusal> {
    let answer = input.answer;
    let watch = Watch::new(input)?;
    if let ChangeSelection::Only {
        profile: Some(profile), ..
    } = input.selection
        && input.context.profile_command(profile).is_none()
    {
        return Err(PredictionRefusal::AlreadyActive);
    }
    let mut changes: Vec<PredictedChange> = watch
        .cures
        .proposals(input.context, input.selection)
        .into_iter()
        .map(|proposal| watch.predicted(proposal))
        .collect();
    // The sum of all changes leads the list, also where a single one removes as much.
    changes.order_by(|a, b| {
        let is_single = |change: &PredictedChange| change.change.kind != ProposalKind::Everything;
        let order = b.removed_ns_per_s.value.total_cmp(&a.removed_ns_per_s.value);
        let order = is_single(a).cmp(&is_single(b)).then(order);
        order.then_with(|| a.change.name.cmp(&b.change.name))
    });
    let (remaining, unexplained_ns_per_s) = watch.remaining();
    Ok(Prediction {
        cpus: answer.watched(),
        watched_ns: watch.longest_ns(),
        gaps: sum(answer.cpus.iter().map(|cpu| cpu.gaps)),
        lost_events: sum(answer.cpus.iter().map(|cpu| cpu.lost_events)),
        unlisted_gaps: sum(answer.cpus.iter().map(|cpu| cpu.stories_left_out)),
        others: input.others,
        base_latency_ns: input.base_latency_ns,
        untraced: input.untraced,
        now: outcome(&watch.now, None, watch.scale),
        changes,
        remaining,
        unexplained_ns_per_s,
    })
}

/// What partitions would leave.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionOutcomes {
    /// Without a partition.
    pub now: Outcome,
    /// With each partition.
    pub partitions: Vec<Outcome>,
}

/// What is left of a watch after changes.
struct Remainder {
    left: WatchSums,
    /// The same if only rows with certain causes are removed.
    certain: WatchSums,
}

impl Remainder {
    /// The removed time whose cause is inferred.
    fn inferred_ns(&self) -> f64 {
        totals(&self.certain.blocks)[0] - totals(&self.left.blocks)[0]
    }

    fn outcome(&self, scale: WatchScale) -> Outcome {
        let upper = (self.inferred_ns() > 0.0).then_some(&self.certain);
        outcome(&self.left, upper, scale)
    }
}

/// A watch and the cures of its rows.
struct Watch<'a> {
    input: &'a PredictionInput<'a>,
    cures: Cures,
    times: Vec<WatchTime>,
    /// By CPU: the time of each row, and last the time without a row.
    row_times: Vec<Vec<u64>>,
    now: WatchSums,
    scale: WatchScale,
}

impl<'a> Watch<'a> {
    fn new(input: &'a PredictionInput<'a>) -> Result<Watch<'a>, PredictionRefusal> {
        if input.answer.cpus.iter().all(|cpu| cpu.duration_ns == 0) {
            return Err(PredictionRefusal::NotWatched);
        }
        let is_missing = |cpu: &CpuAnswer| cpu.stories.is_empty() && cpu.gaps > 0;
        if input.answer.cpus.iter().any(is_missing) {
            return Err(PredictionRefusal::NoSingleGaps);
        }
        if let Some(reason) = &input.context.refusal {
            return Err(PredictionRefusal::Refused(reason.clone()));
        }
        let cures = Cures::of(input);
        let times = times_of(input.answer);
        let mut watch = Watch {
            input,
            cures,
            scale: WatchScale {
                watched_ns: sum(times.iter().map(|time| time.duration_ns)),
                longest_ns: 0,
                trace: Default::default(),
            },
            times,
            row_times: input.answer.cpus.iter().map(row_times).collect(),
            now: WatchSums::new(),
        };
        watch.now = watch.without(&|_, _| false);
        if let Some(shares) = input.untraced {
            let [_, gaps, gaps_10us, ..] = totals(&watch.now.blocks);
            let short_ns = short_ns(input.answer) as f64;
            let sums = [
                (short_ns, shares.stolen),
                (gaps, shares.gaps),
                (gaps_10us, shares.gaps_10us),
            ];
            for (trace, (sum, share)) in watch.scale.trace.iter_mut().zip(sums) {
                *trace = sum * (1.0 - share);
            }
        }
        watch.scale.longest_ns = watch
            .now
            .lengths
            .iter()
            .map(|(length_ns, _)| *length_ns)
            .max()
            .unwrap_or(0);
        Ok(watch)
    }

    /// The time of the CPU that was watched longest.
    fn longest_ns(&self) -> u64 {
        self.times.iter().map(|time| time.duration_ns).max().unwrap_or(0)
    }

    /// The sums without the rows that the function accepts: index of the CPU, index of the row.
    fn without(&self, is_removed: &dyn Fn(usize, usize) -> bool) -> WatchSums {
        let mut sums = WatchSums::new();
        let cpus = self.input.answer.cpus.iter().zip(&self.times).zip(&self.row_times);
        for (at, ((cpu, time), row_times)) in cpus.enumerate() {
            let removed: Vec<bool> = (0..cpu.interruptions.len()).map(|row| is_removed(at, row)).collect();
            let mut remaining = Vec::new();
            for_each_remaining(&cpu.stories, &removed, cpu.transitions, |gap| remaining.push(gap));
            let left_ns = sum(remaining.iter().map(|gap| gap.length_ns));
            let time = WatchTime {
                exposure: exposure(row_times, left_ns, time.duration_ns),
                ..*time
            };
            for gap in remaining {
                sums.add(gap, time, self.input.threshold_ns);
            }
        }
        sums
    }

    fn row(&self, cpu: usize, row: usize) -> Option<&Interruption> {
        self.input.answer.cpus.get(cpu)?.interruptions.get(row)
    }

    /// The time of the rows that the function accepts.
    fn time_of(&self, is_of: &dyn Fn(usize, usize) -> bool) -> u64 {
        let cpus = self.row_times.iter().enumerate();
        sum(cpus.flat_map(|(cpu, rows)| {
            let (_, explained) = rows.split_last().unwrap_or((&0, &[]));
            let rows = explained.iter().enumerate();
            rows.filter(move |(row, _)| is_of(cpu, *row))
                .map(|(_, time_ns)| *time_ns)
        }))
    }

    /// The action that cures a row.
    fn action(&self, cpu: usize, row: usize) -> Option<&CureAction> {
        match self.cures.cpus.get(cpu)?.get(row)? {
            Cure::Command { action, .. } => Some(action),
            Cure::Nothing { .. } => None,
        }
    }

    /// What is left after the actions that the function accepts.
    fn remainder(&self, is_made: &dyn Fn(&CureAction) -> bool) -> Remainder {
        let is_removed = |cpu: usize, row: usize| self.action(cpu, row).is_some_and(is_made);
        let is_certain = |cpu: usize, row: usize| {
            let row = self.row(cpu, row);
            row.is_some_and(|row| row.confidence != Confidence::Inferred)
        };
        Remainder {
            left: self.without(&is_removed),
            certain: self.without(&|cpu, row| is_removed(cpu, row) && is_certain(cpu, row)),
        }
    }

    fn predicted(&self, proposal: Proposal) -> PredictedChange {
        let is_made = |action: &CureAction| proposal.actions.contains(action);
        let remainder = self.remainder(&is_made);
        let removed = remainder.left.less_than(&self.now);
        let mut range = ranges(&removed)[0];
        if remainder.inferred_ns() > 0.0 {
            range.0 = ranges(&remainder.certain.less_than(&self.now))[0].0;
        }
        let moved_ns = self.time_of(&|cpu, row| {
            let class = self.row(cpu, row).map(|row| row.class);
            let action = self.action(cpu, row).filter(|action| is_made(action));
            action.is_some_and(|action| moves(action, class))
        });
        PredictedChange {
            change: proposal.change,
            removed_ns_per_s: self.scale.estimate(totals(&removed)[0], range),
            moved_ns_per_s: self.per_s(moved_ns),
            others_busy_share: self.others_busy_share(moved_ns),
            inferred_ns_per_s: self.scale.per_s(remainder.inferred_ns()),
            outcome: remainder.outcome(self.scale),
            needs_watch_ns: self.needs_watch_ns(removed.iter().filter(|block| block[0] > 0.0).count()),
        }
    }

    /// The watch in which interruptions of that many blocks would fill [`ENOUGH_BLOCKS`]; `None` if this one is long enough.
    fn needs_watch_ns(&self, blocks: usize) -> Option<u64> {
        match blocks {
            0 => None,
            ENOUGH_BLOCKS..=BLOCKS => None,
            few => Some(self.longest_ns().saturating_mul(ENOUGH_EVENTS).div_ceil(few as u64)),
        }
    }

    /// How busy the other CPUs are if this time of the watched ones moves there.
    fn others_busy_share(&self, moved_ns: u64) -> Option<f64> {
        let others = self.input.others.filter(|others| others.count > 0)?;
        let moved = self.per_s(moved_ns) / 1e9 * self.times.len() as f64 / others.count as f64;
        Some((others.busy_share + moved).min(1.0))
    }

    fn per_s(&self, sum_ns: u64) -> f64 {
        self.scale.per_s(sum_ns as f64)
    }

    /// What no change removes, and the time without a cause.
    fn remaining(&self) -> (Vec<RemainingCause>, f64) {
        let mut causes: Vec<(&str, &str, u64)> = Vec::new();
        let mut unexplained_ns = 0_u64;
        let cpus = self.input.answer.cpus.iter().zip(&self.cures.cpus);
        for ((cpu, cures), times_ns) in cpus.zip(&self.row_times) {
            unexplained_ns = unexplained_ns.saturating_add(times_ns.last().copied().unwrap_or(0));
            for ((row, cure), time_ns) in cpu.interruptions.iter().zip(cures).zip(times_ns) {
                if let Cure::Nothing { why } = cure {
                    causes.push((&row.name, why, *time_ns));
                }
            }
        }
        // The same cause on several CPUs, or with several culprits, is one.
        causes.sort_unstable();
        causes.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 = kept.2.saturating_add(if is_same { next.2 } else { 0 });
            is_same
        });
        causes.order_by_key(|(name, _, total_ns)| (std::cmp::Reverse(*total_ns), *name));
        let causes = causes
            .into_iter()
            .take(MOST_REMAINING)
            .map(|(name, why, total_ns)| RemainingCause {
                name: name.to_owned(),
                stolen_ns_per_s: self.per_s(total_ns),
                why: why.to_owned(),
            });
        (causes.collect(), self.per_s(unexplained_ns))
    }
}

/// The time in short gaps.
fn short_ns(answer: &BlameResult) -> u64 {
    let stories = answer.cpus.iter().flat_map(|cpu| &cpu.stories);
    let lengths = stories.map(|story| story.gap.end.saturating_sub(story.gap.start));
    sum(lengths.filter(|length_ns| *length_ns < SHORT_NS))
}

/// A sum of numbers that a file may contain.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// How much more time of a CPU shows gaps without a known cause if its gaps are this long together.
fn exposure(row_times: &[u64], left_ns: u64, watched_ns: u64) -> f64 {
    let (_, explained) = row_times.split_last().unwrap_or((&0, &[]));
    let free_ns = watched_ns.saturating_sub(sum(explained.iter().copied()));
    let removed_ns = sum(row_times.iter().copied()).saturating_sub(left_ns);
    1.0 + removed_ns as f64 / free_ns.max(1) as f64
}

/// The time of each row in the listed gaps, and last the time without a row.
fn row_times(cpu: &CpuAnswer) -> Vec<u64> {
    let mut times_ns = vec![0_u64; cpu.interruptions.len() + 1];
    for piece in cpu.stories.iter().flat_map(|story| &story.pieces) {
        if let Some(time_ns) = times_ns.get_mut(piece.row.unwrap_or(cpu.interruptions.len())) {
            *time_ns = time_ns.saturating_add(piece.span.end.saturating_sub(piece.span.start));
        }
    }
    times_ns
}

/// The time that the listed gaps of each CPU cover. All CPUs are watched at the same time, from the first gap on at the latest.
/// Gaps that memory did not hold are the last ones, so the time before them counts.
fn times_of(answer: &BlameResult) -> Vec<WatchTime> {
    let first = |cpu: &CpuAnswer| cpu.stories.first().map(|story| story.gap.start);
    let start_ns = answer.cpus.iter().filter_map(first).min().unwrap_or(0);
    let time = |cpu: &CpuAnswer| WatchTime {
        start_ns,
        duration_ns: match (cpu.stories_left_out, cpu.stories.last()) {
            (0, _) => cpu.duration_ns,
            (_, last) => last.map_or(0, |story| story.gap.end.saturating_sub(start_ns)),
        },
        exposure: 1.0,
    };
    answer.cpus.iter().map(time).collect()
}
