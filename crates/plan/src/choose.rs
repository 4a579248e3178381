//! Chooses the CPUs to isolate if the user names none, and reports what is unwise about named CPUs.
//!
//! [`limits`] defines which CPUs may never be taken and [`rules`] which of the rest are better. [`search`] finds the
//! best choice exactly. [`runners_up`] lists the alternatives and why they lost.

mod context;
mod limits;
mod near;
mod places;
mod refuse;
mod rules;
mod runners_up;
mod search;
mod unwise;

pub use near::NearbyCpus;
pub use runners_up::RunnerUp;
pub(crate) use unwise::findings;

use crate::words::cpus_or_none;
use crate::{FindingId, FindingRow, PlanRefusal};
use context::ChoiceContext;
use limits::{CandidateLimits, LiftableLimit};
use machine::{CoreKind, CpuSet, Machine};
use rules::{COST, ChoiceCost, RULES};
use search::Search;
use serde::Serialize;

/// What the user wants from the CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuRequest {
    /// How many; `None` is one whole core, anywhere.
    pub count: Option<usize>,
    /// The place they should be near.
    pub near: Option<NearbyCpus>,
    /// Close together or far apart.
    pub shape: PlacementShape,
    /// Which kind of core; `None` is the fast kind if there are enough of them.
    pub kind: Option<CoreKind>,
    /// CPUs reserved for housekeeping.
    pub keep: CpuSet,
    /// Memory nodes that have devices.
    pub device_nodes: Vec<u32>,
}

/// How several CPUs are placed relative to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacementShape {
    /// Close together: few nodes, few caches.
    #[default]
    Pack,
    /// Evenly over nodes and caches.
    Spread,
}

/// A choice with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// The chosen CPUs.
    pub cpus: CpuSet,
    /// Which rules led to them.
    pub reasons: Vec<Reason>,
    /// The alternatives.
    pub runners_up: Vec<RunnerUp>,
}

/// One rule that took part in a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// Stable identifier of the rule.
    pub rule: String,
    /// Its effect here.
    pub message: String,
    /// Why the rule exists.
    pub because: String,
}

impl CpuRequest {
    /// The minimum number of CPUs.
    pub(crate) fn count(&self) -> usize {
        self.count.unwrap_or(1)
    }
}

/// Chooses CPUs. The same machine and the same wish always give the same choice.
///
/// # Errors
/// [`PlanRefusal::NotSoMany`] with the rule that prevents the choice and the nearest one that works, and other errors of an
/// unusable wish or machine.
pub fn choose(machine: &Machine, request: &CpuRequest) -> Result<Choice, PlanRefusal> {
    if request.count == Some(0) {
        return Err(PlanRefusal::NoCpus);
    }
    let best = match best_of_kinds(machine, request, None)? {
        Some(best) => best,
        // A wish without a number gets a core even if every node is that small.
        None if request.count.is_none() => {
            let best = best_of_kinds(machine, request, Some(LiftableLimit::Nodes))?;
            best.ok_or_else(|| refuse::not_so_many(machine, request))?
        }
        None => return Err(refuse::not_so_many(machine, request)),
    };
    let context = ChoiceContext::new(machine, request, &best.limits);
    let mut reasons = best.limits.reasons.clone();
    reasons.extend(reasons_of(&context, &best.cpus, &best.cost));
    Ok(Choice {
        runners_up: runners_up::of(machine, request, &context, &best),
        cpus: best.cpus,
        reasons,
    })
}

/// One whole core: the default of `prove` and `apply`.
///
/// # Errors
/// As [`choose`].
pub fn choose_one_core(machine: &Machine) -> Result<CpuSet, PlanRefusal> {
    choose(machine, &CpuRequest::default()).map(|choice| choice.cpus)
}

/// The rules that a choice can break, with their reasons.
pub(crate) fn rule_findings() -> impl Iterator<Item = FindingRow> {
    RULES.iter().filter_map(|rule| {
        let breach = rule.breach.as_ref()?;
        Some(FindingRow {
            id: FindingId::of_rule(rule.id),
            about: "chosen CPUs",
            what: rule.because,
            level: breach.level,
            fix: breach.advice,
        })
    })
}

/// The best set within certain limits.
struct BestSet {
    cpus: CpuSet,
    cost: ChoiceCost,
    limits: CandidateLimits,
}

/// The better of the best sets of each allowed kind of core.
fn best_of_kinds(
    machine: &Machine,
    request: &CpuRequest,
    lifted: Option<LiftableLimit>,
) -> Result<Option<BestSet>, PlanRefusal> {
    let mut best: Option<BestSet> = None;
    for kind in kinds(machine, request)? {
        let limits = CandidateLimits::of(machine, request, kind, lifted)?;
        let context = ChoiceContext::new(machine, request, &limits);
        let Some(cpus) = best_set(&context, &limits.available) else {
            continue;
        };
        let cost = rules::weigh(&context, &cpus);
        if best.as_ref().is_none_or(|known| cost < known.cost) {
            best = Some(BestSet { cpus, cost, limits });
        }
    }
    Ok(best)
}

/// The best set with the requested number of CPUs, or with the few more that whole cores need.
fn best_set(context: &ChoiceContext, available: &CpuSet) -> Option<CpuSet> {
    let cores = context.places.iter().filter(|place| place.is_core());
    let threads = cores.map(|core| core.len).max().unwrap_or(1);
    if context.count > available.len() {
        return None;
    }
    let most = context.count + threads - 1;
    Search::new(context, available, most).best(context.count, most)
}

/// The kinds of core to try.
fn kinds(machine: &Machine, request: &CpuRequest) -> Result<Vec<Option<CoreKind>>, PlanRefusal> {
    match (machine.topology.is_hybrid(), request.kind) {
        (true, Some(kind)) => Ok(vec![Some(kind)]),
        (true, None) => Ok(vec![Some(CoreKind::Performance), Some(CoreKind::Efficiency)]),
        (false, None) => Ok(vec![None]),
        (false, Some(kind)) => Err(PlanRefusal::OneKind {
            wanted: kind_word(kind),
        }),
    }
}

pub(crate) fn kind_word(kind: CoreKind) -> &'static str {
    match kind {
        CoreKind::Performance => "performance",
        CoreKind::Efficiency => "efficiency",
    }
}

/// What each rule achieved, or could not achieve.
fn reasons_of(context: &ChoiceContext, set: &CpuSet, cost: &ChoiceCost) -> Vec<Reason> {
    const MAX_LISTED: usize = 2;
    let mut reasons = Vec::with_capacity(COST);
    for (rule, &cost) in RULES.iter().zip(cost) {
        let message = match &rule.breach {
            Some(breach) if cost > 0 => {
                let shares = rules::broken(context, rule, set);
                let mut messages: Vec<String> = shares.iter().take(MAX_LISTED).map(breach.message).collect();
                if shares.len() > MAX_LISTED {
                    messages.push(format!("and {} more", shares.len() - MAX_LISTED));
                }
                Some(format!("unavoidable: {}", messages.join("; ")))
            }
            _ if rule.id == "no-more-than-asked" && cost > 0 => {
                Some(format!("{} CPUs instead of {}", set.len(), context.count))
            }
            _ if rule.id == "isolated-at-boot" && cost > 0 => Some(format!(
                "CPU {} was isolated at boot, CPU {} was not",
                cpus_or_none(&set.and(&context.boot_isolated)),
                set.minus(&context.boot_isolated)
            )),
            _ if rule.id == "performance-cores" && cost > 0 => None,
            _ => (rule.achievement)(context, set),
        };
        reasons.extend(message.map(|message| Reason {
            rule: rule.id.to_owned(),
            message,
            because: rule.because.to_owned(),
        }));
    }
    reasons
}
