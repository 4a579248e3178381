//! Explains why a wish cannot be met, and what is possible instead.

use super::ground::Ground;
use super::limits::{Limit, Limits};
use super::search::Search;
use super::{Wish, best_of_kinds, kinds};
use crate::Refusal;
use machine::Machine;

/// The refusal of a wish that no set of CPUs meets: the limit whose removal would help, and how many CPUs are possible
/// under it.
pub(super) fn not_so_many(machine: &Machine, wish: &Wish) -> Refusal {
    let most = most(machine, wish, None);
    let applies = |limit: &Limit| match limit {
        Limit::Keep => !wish.keep.is_empty(),
        Limit::Near => wish.near.is_some(),
        Limit::Kind => machine.topology.is_hybrid(),
        Limit::Nodes => true,
    };
    let count = wish.count();
    let in_the_way = Limit::ALL.into_iter().filter(applies).map(|limit| {
        let lifted = self::most(machine, wish, Some(limit));
        (limit, lifted)
    });
    // The first limit that suffices by itself; else the one that helps most, if any helps.
    let all: Vec<(Limit, usize)> = in_the_way.filter(|&(_, lifted)| lifted > most).collect();
    let sole = all.iter().find(|&&(_, lifted)| lifted >= count);
    let found = sole.or_else(|| all.iter().max_by_key(|&&(_, lifted)| lifted));
    let online = &machine.topology.online;
    let rule = found.map_or_else(
        || {
            let lowest = online.first().map_or(0, |cpu| cpu.0);
            format!(
                "of CPU {online}, which are online, housekeeping keeps at least the lowest, CPU {lowest}, \
                 and the one that the kernel booted on"
            )
        },
        |(limit, _)| limit.rule(wish),
    );
    let mut offers = Vec::new();
    if most > 0 {
        offers.push(format!("ask for --count {most} or less"));
    }
    if let Some(&(limit, lifted)) = found {
        let nearest = best_of_kinds(machine, wish, Some(limit)).ok().flatten();
        offers.push(match nearest {
            Some(best) => format!("{} CPU {} could be had", limit.lifted(), best.cpus),
            None => format!("{} up to {lifted} could be had", limit.lifted()),
        });
    }
    if offers.is_empty() {
        offers.push("use a machine with more CPUs".to_owned());
    }
    Refusal::NotSoMany {
        count,
        most,
        rule,
        offer: offers.join(", or "),
    }
}

/// The largest possible number of CPUs; 0 if the limits themselves cannot be met.
fn most(machine: &Machine, wish: &Wish, lifted: Option<Limit>) -> usize {
    let all = machine.topology.online.len();
    let kinds = kinds(machine, wish).unwrap_or_default();
    let mosts = kinds.into_iter().filter_map(|kind| {
        let limits = Limits::of(machine, wish, kind, lifted).ok()?;
        let ground = Ground::new(machine, wish, &limits);
        Some(Search::new(&ground, &limits.available, all).most())
    });
    mosts.max().unwrap_or(0)
}
