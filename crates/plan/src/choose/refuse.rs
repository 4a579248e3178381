//! Explains why a wish cannot be met, and what is possible instead.

use super::context::ChoiceContext;
use super::limits::{CandidateLimits, LiftableLimit};
use super::search::Search;
use super::{CpuRequest, best_of_kinds, kinds};
use crate::PlanRefusal;
use machine::Machine;

/// The refusal of a wish that no set of CPUs meets: the limit whose removal would help, and how many CPUs are possible
/// under it.
pub(super) fn not_so_many(machine: &Machine, request: &CpuRequest) -> PlanRefusal {
    let most = most(machine, request, None);
    let applies = |limit: &LiftableLimit| match limit {
        LiftableLimit::Keep => !request.keep.is_empty(),
        LiftableLimit::Near => request.near.is_some(),
        LiftableLimit::Kind => machine.topology.is_hybrid(),
        LiftableLimit::Nodes => true,
    };
    let count = request.count();
    let in_the_way = LiftableLimit::ALL.into_iter().filter(applies).map(|limit| {
        let lifted = self::most(machine, request, Some(limit));
        (limit, lifted)
    });
    // The first limit that suffices by itself; else the one that helps most, if any helps.
    let all: Vec<(LiftableLimit, usize)> = in_the_way.filter(|&(_, lifted)| lifted > most).collect();
    let sole = all.iter().find(|&&(_, lifted)| lifted >= count);
    let found = sole.or_else(|| all.iter().max_by_key(|&&(_, lifted)| lifted));
    let online = &machine.topology.online;
    let rule = found.map_or_else(
        || {
            let lowest = online.first().map_or(0, |cpu| cpu.0);
            format!(
                "of the online CPUs {online}, housekeeping keeps at least the lowest, CPU {lowest}, and the boot CPU"
            )
        },
        |(limit, _)| limit.rule(request),
    );
    let mut offers = Vec::new();
    if most > 0 {
        offers.push(format!("use --count {most} or less"));
    }
    if let Some(&(limit, lifted)) = found {
        let nearest = best_of_kinds(machine, request, Some(limit)).ok().flatten();
        offers.push(match nearest {
            Some(best) => format!("{} CPU {} is possible", limit.lifted(), best.cpus),
            None => format!("{} up to {lifted} are possible", limit.lifted()),
        });
    }
    if offers.is_empty() {
        offers.push("use a machine with more CPUs".to_owned());
    }
    PlanRefusal::NotSoMany {
        count,
        most,
        rule,
        offer: offers.join(", or "),
    }
}

/// The largest possible number of CPUs; 0 if the limits themselves cannot be met.
fn most(machine: &Machine, request: &CpuRequest, lifted: Option<LiftableLimit>) -> usize {
    let all = machine.topology.online.len();
    let kinds = kinds(machine, request).unwrap_or_default();
    let mosts = kinds.into_iter().filter_map(|kind| {
        let limits = CandidateLimits::of(machine, request, kind, lifted).ok()?;
        let context = ChoiceContext::new(machine, request, &limits);
        Some(Search::new(&context, &limits.available, all).most())
    });
    mosts.max().unwrap_or(0)
}
